"""What does noise="varying" cost where the noise is the same at all rows, and gain where it is not?

Friedman's function with normal noise; the log score is that of 2,000 new outcomes. The difference
to noise="constant" should be within 0.01 if the noise is constant.
"""

from __future__ import annotations

import argparse

import numpy as np
from table import print_table

from obliquebart import ObliqueBARTRegressor

N_NEW = 2000
LENGTH = {"n_burn": 2000, "n_draws": 400, "n_thin": 5, "n_chains": 4}


def friedman(x: np.ndarray) -> np.ndarray:
    """Return Friedman's function of the first five columns."""
    curve = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2
    return np.asarray(curve + 10 * x[:, 3] + 5 * x[:, 4])


def outcomes(kind: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return columns and outcomes."""
    rng = np.random.default_rng([seed, n])
    x = rng.uniform(size=(n, 6))
    sd = np.ones(n) if kind == "constant" else np.exp(2.0 * x[:, 0] - 1.0)
    return x, friedman(x) + sd * rng.normal(size=n)


def log_score(noise: str, kind: str, n: int, seed: int) -> float:
    """Fit and score one model."""
    model = ObliqueBARTRegressor(
        noise=noise, soft=False, random_state=seed, progress=False, **LENGTH
    )
    model.fit(*outcomes(kind, n, seed))
    return model.log_score(*outcomes(kind, N_NEW, 1000 + seed))


def main() -> None:
    """Print a table of log scores and their differences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, nargs="+", default=[200, 500, 1000])
    arguments = parser.parse_args()
    rows = []
    for kind in ("constant", "varying"):
        for n in arguments.rows:
            scores = {
                noise: np.array([log_score(noise, kind, n, s) for s in range(arguments.seeds)])
                for noise in ("constant", "varying")
            }
            gain = scores["varying"] - scores["constant"]
            rows.append(
                {
                    "noise of the data": kind,
                    "rows": n,
                    **{f"noise={name}": f"{values.mean():.3f}" for name, values in scores.items()},
                    "gain": f"{gain.mean():+.4f}",
                    "standard error": f"{gain.std(ddof=1) / np.sqrt(len(gain)):.4f}",
                }
            )
            print(rows[-1], flush=True)
    print_table(rows)


if __name__ == "__main__":
    main()
