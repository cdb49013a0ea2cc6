"""
A categorical column with hundreds of levels
============================================

There are 300 shops in 12 regions. Sales depend on the region, but the table has only the shop. A
rule sends a set of levels to the left and the others to the right, so shops that behave alike can
share a leaf. No column is turned into 300 columns.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from obliquebart import ObliqueBARTRegressor, UnseenLevelWarning

rng = np.random.default_rng(0)
n_shops, n_rows = 300, 4000
region = rng.integers(0, 12, n_shops)
effect = rng.normal(0, 2, 12)[region]
shop = rng.integers(0, n_shops, n_rows)
table = pd.DataFrame(
    {
        "shop": pd.Categorical([f"shop {code:03}" for code in shop]),
        "price": rng.uniform(1, 10, n_rows),
        "rain": rng.gamma(2.0, 2.0, n_rows),
    }
)
sales = 20 + effect[shop] - 0.8 * table["price"] + rng.normal(0, 1.5, n_rows)
train, test = np.arange(n_rows) < 2000, np.arange(n_rows) >= 2000

# %%
# A categorical or text column of a data frame is used as it is. There are about 7 training rows
# per shop.

model = ObliqueBARTRegressor(n_chains=2, random_state=0, progress=False)
model.fit(table[train], sales[train])

without = ObliqueBARTRegressor(n_chains=2, random_state=0, progress=False)
without.fit(table.loc[train, ["price", "rain"]], sales[train])


def rmse(prediction):
    """Error on the test rows."""
    return np.sqrt(np.mean((prediction - sales[test]) ** 2))


print(f"noise                     {1.5:.2f}")
print(f"RMSE with the shop        {rmse(model.predict(table[test])):.2f}")
print(f"RMSE without it           {rmse(without.predict(table.loc[test, ['price', 'rain']])):.2f}")

# %%
# At each rule, a level that was not in the training data goes to the side with more training rows.
# One warning reports it.

new = table[test].head(1).assign(shop="shop 999")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", UnseenLevelWarning)
    model.predict(new)
print(caught[-1].message)

# %%
# The estimated effect of every shop, at one price, against the true one.

shops = table["shop"].cat.categories
at = pd.DataFrame({"shop": shops, "price": 5.0, "rain": 4.0})
low, high = model.predict_interval(at, kind="mean").T
mean = model.predict(at)

figure, axis = plt.subplots(figsize=(6.4, 4.8), layout="constrained")
axis.vlines(effect, low, high, color="0.7", linewidth=1)
axis.plot(effect, mean, "o", markersize=3, color="black")
axis.axline((0, 16), slope=1, linestyle="--", color="0.3")
axis.set(xlabel="true effect of the shop", ylabel="f at price 5, rain 4, with 90% interval")
plt.show()
