"""
Save a model and serve it
=========================

A fitted model is one file without code in it. Another process loads it and answers requests with
the same predictions, bit for bit.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from obliquebart import ObliqueBARTRegressor, load

rng = np.random.default_rng(0)
table = pd.DataFrame(
    {
        "area": rng.uniform(20, 200, 600),
        "age": rng.uniform(0, 90, 600),
        "street": rng.choice(["north", "south", "harbour"], 600),
    }
)
rent = 200 + 9 * table["area"] - 2 * table["age"] + 300 * (table["street"] == "harbour")
rent += rng.normal(0, 80, 600)
model = ObliqueBARTRegressor(n_chains=2, random_state=0, progress=False).fit(table, rent)

# %%
# ``include_state=False`` leaves out what only ``sample_more`` needs, and with it the residuals of
# the training rows.

path = Path(tempfile.mkdtemp()) / "rent.obart"
model.save(path, include_state=False)
print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB for {model.posterior_}")

# %%
# The serving side: load once, then answer. Columns are found by name and checked.

served = load(path)


def answer(request):
    """Return the expected rent and a 90% interval for a flat, given as a dictionary."""
    row = pd.DataFrame([request])
    low, high = served.predict_interval(row)[0]
    return {"rent": float(served.predict(row)[0]), "low": float(low), "high": float(high)}


start = time.perf_counter()
reply = answer({"area": 75.0, "age": 30.0, "street": "harbour"})
print({name: round(value) for name, value in reply.items()})
print(f"answered in {1000 * (time.perf_counter() - start):.0f} ms")

# %%
# Another process gives the same predictions, bit for bit.

code = "import sys, pandas as pd; from obliquebart import load; "
code += "row = pd.DataFrame([{'area': 75.0, 'age': 30.0, 'street': 'harbour'}]); "
code += "print(float(load(sys.argv[1]).predict(row)[0]).hex())"
elsewhere = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
print("equal:", elsewhere.stdout.strip() == reply["rent"].hex())

# %%

area = np.linspace(20, 200, 100)
figure, axis = plt.subplots(layout="constrained")
for street, style in (("harbour", "-"), ("south", "--")):
    rows = pd.DataFrame({"area": area, "age": 30.0, "street": street})
    low, high = served.predict_interval(rows, kind="mean").T
    axis.plot(area, served.predict(rows), style, color="black", label=street)
    axis.fill_between(area, low, high, color="0.85")
axis.set(xlabel="area", ylabel="expected rent, 90% interval")
axis.legend()
plt.show()
