"""The engine's prediction against plain traversal in NumPy, and its summaries against SciPy."""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr, stdtr

from helpers.processes import run_python, run_with_each_instruction_set
from obliquebart import _core

N_LEVELS = [3, 40, 64]


class Columns(NamedTuple):
    x_cont: np.ndarray  # float32 (p_cont, n)
    x_cat: np.ndarray  # uint32 (p_cat, n)

    @property
    def n(self) -> int:
        return self.x_cont.shape[1]

    def core(self) -> _core.Data:
        return _core.Data(self.x_cont, self.x_cat, N_LEVELS[: len(self.x_cat)])


def columns(rng, n: int, p_cont: int = 4, p_cat: int = 3, missing: float = 0.0) -> Columns:
    x_cont = rng.uniform(-1, 1, (p_cont, n)).astype(np.float32)
    x_cont[rng.random((p_cont, n)) < missing] = np.nan
    levels = [rng.integers(0, k, n) for k in N_LEVELS[:p_cat]]
    return Columns(x_cont, np.array(levels, dtype=np.uint32).reshape(p_cat, n))


def chain(x: Columns, rng, n_draws: int = 20, n_burn: int = 60, **settings) -> _core.Sampler:
    y = rng.standard_normal(x.n)
    if len(x.x_cont):
        y += 3 * np.nan_to_num(x.x_cont[0]) ** 2 + np.nan_to_num(x.x_cont[-1])
    if len(x.x_cat):
        y += x.x_cat[0]
    chosen = _core.Settings()
    for name, value in {"n_trees": 20, "leaf_sd": 0.3, **settings}.items():
        setattr(chosen, name, value)
    sampler = _core.Sampler(x.core(), (y - y.mean()) / y.std(), None, chosen, 1, 0)
    sampler.run(n_burn, n_draws, 1, _core.Control())
    return sampler


# ---- plain traversal, in the engine's float32 ----------------------------------------------------


class Tree:
    """One structure of `Draws.to_arrays`, walked recursively in preorder."""

    def __init__(self, arrays: dict[str, np.ndarray], structure: int):
        self.arrays = arrays
        before = arrays["node_kind"][: arrays["node_begin"][structure]] & 3
        self.node = int(arrays["node_begin"][structure])
        self.continuous = int((before == 1).sum())
        self.categorical = int((before == 2).sum())
        self.phi = int(arrays["phi_count"][: self.continuous].sum())
        used = arrays["cat_column"][: self.categorical]
        self.words = int(sum((N_LEVELS[j] + 31) // 32 for j in used))

    def leaves(self, x: Columns, rows: np.ndarray) -> list[np.ndarray]:
        """Give the rows of each leaf, in preorder, among `rows`."""
        kind = int(self.arrays["node_kind"][self.node])
        self.node += 1
        if kind & 3 == 0:
            return [rows]
        right = (self._oblique if kind & 3 == 1 else self._levels)(x, rows, kind)
        return self.leaves(x, rows[~right]) + self.leaves(x, rows[right])

    def _oblique(self, x: Columns, rows: np.ndarray, kind: int) -> np.ndarray:
        cut = self.arrays["cut"][self.continuous]
        count = int(self.arrays["phi_count"][self.continuous])
        score = None
        for k in range(self.phi, self.phi + count):
            column = x.x_cont[self.arrays["phi_column"][k], rows]
            term = self.arrays["phi_value"][k] * column
            score = term if score is None else score + term
        self.continuous += 1
        self.phi += count
        if score is None:
            return np.zeros(len(rows), dtype=bool)
        return np.where(np.isnan(score), bool(kind & 4), score >= cut)

    def _levels(self, x: Columns, rows: np.ndarray, kind: int) -> np.ndarray:
        column = int(self.arrays["cat_column"][self.categorical])
        n_levels = N_LEVELS[column]
        words = self.arrays["level_words"][self.words : self.words + (n_levels + 31) // 32]
        self.categorical += 1
        self.words += len(words)
        right = [bool(words[k // 32] >> np.uint32(k % 32) & 1) for k in range(n_levels)]
        # The side with more training rows, for a level that training did not see.
        right.append(bool(kind & 8))
        return np.array(right)[np.minimum(x.x_cat[column, rows], n_levels)]


def leaf_numbers(arrays: dict[str, np.ndarray], x: Columns, draw: int, tree: int) -> np.ndarray:
    out = np.empty(x.n, dtype=np.int64)
    structure = int(arrays["structure_of"][draw, tree])
    for number, rows in enumerate(Tree(arrays, structure).leaves(x, np.arange(x.n))):
        out[rows] = number
    return out


def plain_predict(draws: _core.Draws, x: Columns) -> np.ndarray:
    arrays = draws.to_arrays()
    out = np.zeros((draws.n_draws, x.n), dtype=np.float32)
    sizes = np.diff(arrays["node_begin"].astype(np.int64)) // 2 + 1  # leaves of a structure
    first = 0
    for draw in range(draws.n_draws):
        for tree in range(draws.n_trees):
            n_leaves = sizes[arrays["structure_of"][draw, tree]]
            outputs = arrays["outputs"][first : first + n_leaves]
            out[draw] += outputs[leaf_numbers(arrays, x, draw, tree)]
            first += n_leaves
    assert first == len(arrays["outputs"])
    return out


CASES = {
    "continuous": {"p_cat": 0},
    "categorical": {"p_cont": 0},
    "mixed": {},
    "missing": {"missing": 0.2},
}


@pytest.mark.parametrize("case", CASES)
def test_predict_is_plain_traversal(case, rng):
    shape = CASES[case]
    draws = chain(columns(rng, 200, **shape), rng, n_draws=6).draws
    # One row, few rows and one more than those, a part of a block, a whole block, and more.
    for n in (1, 3, 8, 9, 100, 256, 257, 264, 265):
        x = columns(rng, n, **shape)
        np.testing.assert_array_equal(draws.predict(x.core()), plain_predict(draws, x))


def test_paper_prior_with_zero_rules(rng):
    x = columns(rng, 150)
    draws = chain(x, rng, n_draws=6, min_samples_leaf=0, theta=0.3, theta_fixed=True).draws
    assert (draws.to_arrays()["phi_count"] == 0).any()
    np.testing.assert_array_equal(draws.predict(x.core()), plain_predict(draws, x))


def test_wide_trees(rng):
    """More than 16 leaves: the tables of the kernels no longer fit a register."""
    x = columns(rng, 1500, missing=0.05)
    wide = {"n_trees": 3, "alpha": 0.6, "beta": 0.0, "leaf_sd": 0.6}
    draws = chain(x, rng, 4, 700, **wide, sigma=0.2, sigma_fixed=True).draws
    arrays = draws.to_arrays()
    assert (np.diff(arrays["node_begin"].astype(np.int64)) // 2 + 1).max() > 17
    np.testing.assert_array_equal(draws.predict(x.core()), plain_predict(draws, x))
    for tree in range(3):
        expected = leaf_numbers(arrays, x, 2, tree)
        np.testing.assert_array_equal(draws.leaf_codes(x.core(), 2, tree), expected)


def test_levels_that_training_did_not_see(rng):
    draws = chain(columns(rng, 200), rng, n_draws=6).draws
    x = columns(rng, 90)
    x.x_cat[:, ::2] = 1000
    x.x_cat[2, 1::4] = N_LEVELS[2]
    np.testing.assert_array_equal(draws.predict(x.core()), plain_predict(draws, x))


def test_missing_values_that_training_did_not_have(rng):
    draws = chain(columns(rng, 200), rng, n_draws=6).draws
    x = columns(rng, 90, missing=0.5)
    np.testing.assert_array_equal(draws.predict(x.core()), plain_predict(draws, x))


def test_far_outside_the_training_range(rng):
    draws = chain(columns(rng, 200), rng, n_draws=6).draws
    x = columns(rng, 90)
    x.x_cont[:] *= 1e6
    np.testing.assert_array_equal(draws.predict(x.core()), plain_predict(draws, x))


@pytest.mark.parametrize("shape", [{}, {"min_samples_leaf": 0, "theta": 0.3, "theta_fixed": True}])
def test_few_rows_have_the_bits_of_many(shape, rng):
    sampler = chain(columns(rng, 150, missing=0.1), rng, n_draws=70, **shape)
    draws, noise = sampler.draws, sampler.trace["sigma"]
    x = columns(rng, 100, missing=0.3)
    x.x_cat[:, ::5] = 1000
    many = [
        draws.predict(x.core()),
        draws.predict(x.core(), "probit", 0.3),
        *draws.summarise(x.core(), "probit", 0.3, quantiles=[0.1, 0.5]).values(),
        *draws.summarise(x.core(), quantiles=[0.1, 0.9], noise_scale=noise).values(),
    ]
    for first, n in ((0, 1), (7, 2), (20, 8), (99, 1)):
        rows = slice(first, first + n)
        data = Columns(x.x_cont[:, rows].copy(), x.x_cat[:, rows].copy()).core()
        few = [
            draws.predict(data),
            draws.predict(data, "probit", 0.3),
            *draws.summarise(data, "probit", 0.3, quantiles=[0.1, 0.5]).values(),
            *draws.summarise(data, quantiles=[0.1, 0.9], noise_scale=noise).values(),
        ]
        for one, other in zip(few, many, strict=True):
            np.testing.assert_array_equal(one, other[..., rows])


# ---- summaries -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted() -> tuple[_core.Sampler, Columns]:
    rng = np.random.default_rng(5)
    x = columns(rng, 300)
    return chain(x, rng, n_draws=150), columns(rng, 1000)


def test_threads_change_nothing(fitted):
    sampler, x = fitted
    data, draws = x.core(), sampler.draws
    one = draws.predict(data)
    noise = sampler.trace["sigma"]
    summary = draws.summarise(data, quantiles=[0.1, 0.9], noise_scale=noise)
    for n_threads in (2, 3, 7):
        np.testing.assert_array_equal(draws.predict(data, n_threads=n_threads), one)
        again = draws.summarise(data, quantiles=[0.1, 0.9], noise_scale=noise, n_threads=n_threads)
        for name, values in summary.items():
            np.testing.assert_array_equal(again[name], values)


def test_summary_of_the_draws(fitted):
    sampler, x = fitted
    data, draws = x.core(), sampler.draws
    f = draws.predict(data).astype(np.float64)
    levels = [0.0, 0.025, 0.5, 0.9, 1.0]
    summary = draws.summarise(data, quantiles=levels)
    np.testing.assert_allclose(summary["mean"], f.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(summary["sd"], f.std(axis=0, ddof=1), rtol=1e-5)
    np.testing.assert_allclose(summary["quantiles"], np.quantile(f, levels, axis=0), atol=1e-6)


def test_probabilities(fitted):
    sampler, x = fitted
    data, draws = x.core(), sampler.draws
    f = draws.predict(data).astype(np.float64)
    # From the far lower tail, where a relative error counts, to the upper end.
    for offset in (-9.0, -3.0, 0.2, 4.0):
        expected = ndtr(offset + f)
        found = draws.predict(data, "probit", offset)
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        summary = draws.summarise(data, "probit", offset, quantiles=[0.1])
        np.testing.assert_allclose(summary["mean"], expected.mean(axis=0), rtol=1e-5)
        found = np.quantile(expected, 0.1, axis=0)
        np.testing.assert_allclose(summary["quantiles"][0], found, rtol=1e-5)


def mixture_quantile(f: np.ndarray, scale: np.ndarray, df: np.ndarray | None, q: float) -> float:
    def excess(x: float) -> float:
        z = (x - f) / scale if q <= 0.5 else (f - x) / scale
        tail = ndtr(z) if df is None else stdtr(df, z)
        return float(np.log(tail.mean()) - np.log(min(q, 1 - q)))

    width = (20 if df is None else 200) * scale.max()
    return float(brentq(excess, f.min() - width, f.max() + width, xtol=1e-12))


@pytest.mark.parametrize(
    "df", [None, 4, 6, 16, 30, (30, 4, 4, 10, 20)], ids=lambda df: f"df {df}" if df else "normal"
)
@pytest.mark.parametrize("noise", ["as sampled", "small", "large", "very different"])
def test_quantiles_of_the_mixture(fitted, noise, df, rng):
    """Against SciPy: no further from the exact quantile than 1e-5 of the mixture's sd."""
    sampler, x = fitted
    data, draws = x.core(), sampler.draws
    noise_scale = {
        "as sampled": sampler.trace["sigma"],
        "small": np.full(draws.n_draws, 0.01),  # the mixture has a mode for each draw
        "large": np.full(draws.n_draws, 30.0),
        "very different": np.exp(rng.normal(size=draws.n_draws)),
    }[noise]
    levels = [1e-5, 0.01, 0.05, 0.3, 0.5, 0.6, 0.95, 0.999]
    if df is not None:
        df = np.resize(np.array(df, float), draws.n_draws)
    summary = draws.summarise(data, quantiles=levels, noise_scale=noise_scale, noise_df=df)
    f = draws.predict(data).astype(np.float64)
    noise_variance = np.mean(noise_scale**2 * (1.0 if df is None else df / (df - 2)))
    sd = np.sqrt(f.var(axis=0, ddof=1) + noise_variance)
    np.testing.assert_allclose(summary["mean"], f.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(summary["sd"], sd, rtol=1e-5)
    for row in range(0, x.n, 111):
        for k, q in enumerate(levels):
            exact = mixture_quantile(f[:, row], noise_scale, df, q)
            assert abs(summary["quantiles"][k, row] - exact) < 1e-5 * sd[row], (row, q)


def test_ends_of_the_mixture(fitted):
    sampler, x = fitted
    noise = sampler.trace["sigma"]
    ends = sampler.draws.summarise(x.core(), quantiles=[0.0, 1.0], noise_scale=noise)["quantiles"]
    assert (ends[0] == -np.inf).all()
    assert (ends[1] == np.inf).all()


def test_mixture_without_noise(fitted):
    """A constant outcome has no noise: the quantiles are those of the draws, but for steps."""
    sampler, x = fitted
    draws, data = sampler.draws, x.core()
    levels = [0.05, 0.305, 0.95]
    found = draws.summarise(data, quantiles=levels, noise_scale=np.zeros(draws.n_draws))
    f = draws.predict(data).astype(np.float64)
    below = np.quantile(f, levels, axis=0, method="lower")
    above = np.quantile(f, levels, axis=0, method="higher")
    assert (found["quantiles"] > below - 1e-4).all()
    assert (found["quantiles"] < above + 1e-4).all()


def test_bad_requests(fitted):
    sampler, x = fitted
    draws, data = sampler.draws, x.core()
    with pytest.raises(ValueError, match="noise_scale must not be negative"):
        draws.summarise(data, noise_scale=np.full(draws.n_draws, -1.0))
    with pytest.raises(ValueError, match="one entry per draw"):
        draws.summarise(data, noise_scale=np.ones(3))
    with pytest.raises(ValueError, match="df must be an even number"):
        draws.summarise(
            data, noise_scale=np.ones(draws.n_draws), noise_df=np.full(draws.n_draws, 5.0)
        )
    with pytest.raises(ValueError, match="noise_df must have one entry per draw"):
        draws.summarise(data, noise_scale=np.ones(draws.n_draws), noise_df=np.ones(2))
    with pytest.raises(ValueError, match="identity link"):
        draws.summarise(data, "probit", noise_scale=np.ones(draws.n_draws))
    with pytest.raises(ValueError, match="quantiles"):
        draws.summarise(data, quantiles=[1.5])
    with pytest.raises(ValueError, match="other columns"):
        draws.predict(_core.Data(x.x_cont[:2], x.x_cat, N_LEVELS))


BITS = """
import hashlib
import numpy as np
from core import test_predict as t
from obliquebart import _core
rng = np.random.default_rng(3)
sampler = t.chain(t.columns(rng, 300), rng, n_draws=40)
x = t.columns(rng, 500).core()
noise = sampler.trace["sigma"]
summary = sampler.draws.summarise(x, quantiles=[0.05, 0.9], noise_scale=noise)
values = [sampler.draws.predict(x, "probit", 0.3), *summary.values()]
for df in ([4.0], [30.0], [4.0, 30.0, 14.0]):
    df = np.resize(df, len(noise))
    summary = sampler.draws.summarise(x, quantiles=[0.05, 0.9], noise_scale=noise, noise_df=df)
    values += summary.values()
print(_core.simd_level(), hashlib.sha256(b"".join(v.tobytes() for v in values)).hexdigest())
"""


def test_same_bits_at_every_instruction_set():
    found = run_with_each_instruction_set(BITS)
    assert all(words[0] == level for level, words in found.items())
    assert len({digest for _, digest in found.values()}) == 1


# ---- memory --------------------------------------------------------------------------------------

MEMORY = """
import resource
import numpy as np
from core import test_predict as t
rng = np.random.default_rng(0)
sampler = t.chain(t.columns(rng, 200, 2, 0), rng, n_draws=200, n_trees=2)
x = t.columns(rng, 1_000_000, 2, 0).core()
noise = sampler.trace["sigma"]
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
sampler.draws.summarise(t.columns(rng, 1000, 2, 0).core(), quantiles=[0.5], noise_scale=noise)
before = peak()
summary = sampler.draws.summarise(x, quantiles=[0.05, 0.95], noise_scale=noise, n_threads=2)
print(peak() - before, sum(values.nbytes for values in summary.values()))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss is in KiB on Linux")
def test_a_million_rows_stream():
    """200 draws at a million rows would be 800 MB; beyond the result there is next to nothing."""
    kibibytes, result = map(int, run_python(MEMORY))
    assert result == 32_000_000
    assert 1024 * kibibytes < result + 16_000_000
