"""
Effects of a training programme
===============================

What did a job programme do for the earnings of its participants? In the 1970s the National
Supported Work programme (NSW) drew its participants by lot, so the answer is known from an
experiment. Lalonde (1986) replaced the experiment's controls by men from a survey, and asked
whether a statistician would have found the same answer. We do the same. The data are those of
Dehejia and Wahba (1999), from the package ``causaldata``: ``pip install causaldata``.
"""

import warnings

import matplotlib.pyplot as plt
import pandas as pd
from causaldata import cps_mixtape, nsw_mixtape

from obliquebart import ObliqueBARTCausal, OverlapWarning, plots

nsw = nsw_mixtape.load_pandas().data.drop(columns="data_id")
cps = cps_mixtape.load_pandas().data.drop(columns="data_id")

# %%
# The experiment: 185 men were drawn into the programme, 260 were not. The outcome is what they
# earned in 1978, in dollars. The other columns were known before: age, years of school, race,
# marriage, no degree, earnings in 1974 and 1975. The lot makes the difference of means, 1,794
# dollars, an unbiased estimate. As nobody chose, the model needs no propensities.
#
# Earnings have a long tail. The noise is normal by default, so the effect is that on the mean;
# Student's t noise (``noise="student_t"``) would count the best earners less.

settings = {"n_chains": 4, "n_draws": 250, "progress": False}


def fit(table, **parameters):
    model = ObliqueBARTCausal(**settings, **parameters, random_state=0)
    return model.fit(table.drop(columns="re78"), table["re78"], treatment="treat")


def plain_difference(table):
    mean = table.groupby("treat")["re78"].mean()
    return mean[1] - mean[0]


experiment = fit(nsw, propensity=None)
print(f"difference of means: {plain_difference(nsw):,.0f}")
print(experiment.att())

# %%
# Now forget the experiment's controls, and take men from the Current Population Survey (CPS)
# instead; a sample of 3,000 of them, to be quick. They earned 8,500 dollars more than the
# participants: they are older, married, better educated, and most had work before. ``fit`` warns
# that many have no counterparts among the participants.

participants = nsw[nsw["treat"] == 1]
survey = pd.concat([participants, cps.sample(3000, random_state=0)], ignore_index=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    first = fit(survey)
print(f"difference of means: {plain_difference(survey):,.0f}")
for warning in caught:
    if issubclass(warning.category, OverlapWarning):
        print(str(warning.message)[:120], "...")
print(first.overlap())

# %%
# The picture shows it: most men of the survey would never have been in the programme. What it
# would have done for them these data cannot say, and the average over all men is the model's
# guess, with a wide interval. The effect on the participants is the better question, because most
# of them have counterparts. In so small a sample these are few, and the answer is uncertain.

plots.overlap(first)
plt.show()
print(first.ate())
print(first.att())

# %%
# Better still is to keep only men who could have been either, and to fit again. The first model
# gives propensities for all 15,992 men of the survey. Where to draw the line is a choice, so here
# are three.

everyone = pd.concat([participants, cps], ignore_index=True)
chance = first.overlap(everyone.drop(columns="re78")).propensity[:, 0]
estimates = {"the experiment": experiment.att(), "3,000 men of the survey": first.att()}
for least in (0.1, 0.2, 0.3):
    alike = everyone[chance > least].reset_index(drop=True)
    effect = estimates[f"propensity above {least}"] = fit(alike).att()
    others = len(alike) - effect.n_rows
    print(f"propensity above {least}: {effect.n_rows} participants, {others} others")
    print(f"  difference of means {plain_difference(alike):,.0f}, effect {effect.mean:,.0f}")

# %%
# All estimates of the effect on the participants, with 95% intervals. The dotted line is the
# experiment's difference of means.

fig, ax = plt.subplots(figsize=(8, 3), layout="constrained")
for row, effect in enumerate(estimates.values()):
    ax.plot([effect.low, effect.high], [row, row], color="C0", lw=3)
    ax.plot(effect.mean, row, "ks")
ax.set_yticks(range(len(estimates)), list(estimates))
ax.invert_yaxis()
ax.axvline(plain_difference(nsw), color="k", ls=":")
ax.axvline(0, color="k", lw=0.8)
ax.set_xlabel("effect on earnings in 1978, dollars")
plt.show()

# %%
# Among comparable men the answers are near the experiment's, where the difference of means was off
# by 10,000 dollars. That is good news, with three reservations:
#
# - The intervals span nearly 3,000 dollars. They contain the right answer and many others.
# - Without the experiment nobody would know that they are right. One would have to argue that
#   nothing unmeasured, such as health or motivation, decided who joined.
# - It works because of earnings in 1974 and 1975, and because some men of the survey resemble the
#   participants. Lalonde's point stands: overlap and the right columns matter more than the method.
