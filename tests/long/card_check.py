"""Fits on a card and on the processor, with the same bits; for NVIDIA's compute-sanitizer.

    compute-sanitizer --tool racecheck python tests/long/card_check.py [--weights]

Needs a card, and CUDA's toolkit for the sanitizer; memcheck, racecheck and synccheck take seconds.
"""

from __future__ import annotations

import argparse
import math
import sys

import numpy as np

from obliquebart import ObliqueBARTRegressor


def main() -> int:
    """Return 1 if the draws differ."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--trees", type=int, default=12)
    parser.add_argument("--sweeps", type=int, default=12)
    parser.add_argument("--weights", action="store_true")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(options.rows, 5))
    X[:50, 1] = np.nan
    y = np.sin(6 * X[:, 0]) + X[:, 2] * X[:, 3] + 0.1 * rng.normal(size=options.rows)
    weights = rng.uniform(0.5, 2, options.rows) if options.weights else None

    def fitted(device: str) -> ObliqueBARTRegressor:
        model = ObliqueBARTRegressor(
            n_trees=options.trees,
            n_burn=options.sweeps // 2,
            n_draws=options.sweeps - options.sweeps // 2,
            n_chains=2,
            n_jobs=2,
            noise_df=math.inf,
            sigma=0.2,
            device=device,
            random_state=1,
            progress=False,
        )
        return model.fit(X, y, weights)

    card, processor = fitted("cuda"), fitted("cpu")
    names = ("theta", "leaf_sd")
    same = np.array_equal(card.predict(X), processor.predict(X)) and all(
        np.array_equal(card.posterior_.trace[name], processor.posterior_.trace[name])
        for name in names
        if name in card.posterior_.trace
    )
    print(f"{card.device_}: {'the same draws' if same else 'OTHER DRAWS'} as on the processor")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
