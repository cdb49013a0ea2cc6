"""
Counts with exposure
====================

Damage to cargo ships by waves: counts of incidents, from 34 groups of ships that were in service
for between 45 and 44,882 months. The data are those of McCullagh and Nelder, Generalized Linear
Models (1989), section 6.3.2.
"""

from io import StringIO

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from obliquebart import ObliqueBARTCountRegressor, plots

ships = pd.read_csv(
    StringIO(
        """type,built,period,months,incidents
A,60,60,127,0
A,60,75,63,0
A,65,60,1095,3
A,65,75,1095,4
A,70,60,1512,6
A,70,75,3353,18
A,75,75,2244,11
B,60,60,44882,39
B,60,75,17176,29
B,65,60,28609,58
B,65,75,20370,53
B,70,60,7064,12
B,70,75,13099,44
B,75,75,7117,18
C,60,60,1179,1
C,60,75,552,1
C,65,60,781,0
C,65,75,676,1
C,70,60,783,6
C,70,75,1948,2
C,75,75,274,1
D,60,60,251,0
D,60,75,105,0
D,65,60,288,0
D,65,75,192,0
D,70,60,349,2
D,70,75,1208,11
D,75,75,2051,4
E,60,60,45,0
E,65,60,789,7
E,65,75,437,7
E,70,60,1157,5
E,70,75,2161,12
E,75,75,542,1
"""
    )
)
y = ships.pop("incidents")

# %%
# The months in service are the exposure: a column of the table that is left out of the rules. The
# model learns the rate per month. Ships of type B have most of the incidents, but not the highest
# rate: they were at sea for longest.

model = ObliqueBARTCountRegressor(n_chains=4, random_state=0, progress=False)
model.fit(ships, y, exposure="months")
print(model.importance())

rate = 1000 * model.posterior_.mean(ships)
low, high = 1000 * model.predict_interval(ships, kind="mean", exposure=1).T
shown = ships.assign(incidents=y, rate=rate.round(1), low=low.round(1), high=high.round(1))
print(shown.sort_values("rate").to_string(index=False))

# %%
# How much do counts vary beyond chance? Rates of similar groups differ by some thirty percent.
# McCullagh and Nelder found overdispersion too.

dispersion = model.posterior_.trace["dispersion"]
print(f"dispersion {dispersion.mean():.2f}: rates vary by {np.sqrt(dispersion).mean():.0%}")

# %%
# Predictions for a new group depend on its exposure: the expected number of incidents, an interval
# of whole numbers, and the probability of none.

new = pd.DataFrame({"type": ["E"], "built": [65], "period": [75], "months": [100]})
for months in (10, 100, 1000):
    new["months"] = months
    least, most = model.predict_interval(new)[0]
    print(
        f"{months:5} months: {model.predict(new)[0]:5.2f} incidents, 90% from {least:.0f} to "
        f"{most:.0f}, none with probability {model.predict_probability(new, 0)[0]:.0%}"
    )

# %%
# Effects are rates: expected incidents per month.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
plots.effects(model.effects(ships, "type"), ax=left)
plots.fit(model, ships, y, ax=right)
plt.show()
