"""The random engine and its distributions.

Every statistical test has a fixed seed and fails if its p-value is below 1e-5. There are about
100 p-values in this file, so a correct change of the streams would make it fail once in 1,000
times. The exact tests (known answers, digests, limits) have no false alarms.
"""

from __future__ import annotations

import decimal
import hashlib
import sys

import numpy as np
import pytest
from scipy import special, stats

from helpers.probes import probes

ALARM = 1e-5
TINY = np.finfo(np.float64).tiny
BELOW_ONE = 1 - 2.0**-53
TAIL_START = 3.6541528853610088  # of the ziggurat

WORD = 2**64 - 1
JUMP = (0x180EC6D33CFD0ABA, 0xD5A61266F0C9392C, 0xA9582618E03FC9AA, 0x39ABDC4529B1661C)


def rotate(x: int, k: int) -> int:
    return ((x << k) | (x >> (64 - k))) & WORD


class Xoshiro:
    """The published xoshiro256++, word by word."""

    def __init__(self, state: list[int]) -> None:
        self.state = list(state)

    @classmethod
    def seeded(cls, seed: int) -> Xoshiro:
        state = []
        for _ in range(4):
            seed = (seed + 0x9E3779B97F4A7C15) & WORD
            z = ((seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9) & WORD
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
            state.append(z ^ (z >> 31))
        return cls(state)

    def next(self) -> int:
        s = self.state
        result = (rotate((s[0] + s[3]) & WORD, 23) + s[0]) & WORD
        shifted = (s[1] << 17) & WORD
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= shifted
        s[3] = rotate(s[3], 45)
        return result

    def jump(self) -> None:
        target = [0, 0, 0, 0]
        for word in JUMP:
            for bit in range(64):
                if word >> bit & 1:
                    target = [a ^ b for a, b in zip(target, self.state, strict=True)]
                self.next()
        self.state = target


def assert_p(p: float) -> None:
    assert p > ALARM, f"p-value {p:.3g}"


def assert_uniform(u: np.ndarray) -> None:
    assert_p(stats.kstest(u, "uniform").pvalue)


def assert_normal_score(z: float) -> None:
    assert_p(2 * special.ndtr(-abs(z)))


def assert_count(count: int, n: int, p: float) -> None:
    assert_p(stats.binomtest(int(count), n, p).pvalue)


# -- The engine -------------------------------------------------------------------------------


def test_reference_gives_the_published_words() -> None:
    engine = Xoshiro([1, 2, 3, 4])
    assert [engine.next() for _ in range(10)] == [
        41943041,
        58720359,
        3588806011781223,
        3591011842654386,
        9228616714210784205,
        9973669472204895162,
        14011001112246962877,
        12406186145184390807,
        15849039046786891736,
        10450023813501588000,
    ]
    assert Xoshiro.seeded(1234567).state == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
    ]


@pytest.mark.parametrize(
    ("seed", "stream"), [(0, 0), (1, 0), (2**64 - 1, 0), (0, 1), (7, 2), (7, 5), (123456789, 1000)]
)
def test_uniform_is_the_engine(seed: int, stream: int) -> None:
    engine = Xoshiro.seeded(seed)
    for _ in range(stream):
        engine.jump()
    expected = [((engine.next() >> 12) + 0.5) * 2.0**-52 for _ in range(200)]
    np.testing.assert_array_equal(probes.Rng(seed, stream).uniform(200), expected)


def test_streams_share_no_draw(seed: int) -> None:
    streams = [0, 1, 2, 3, 63, 64, 2**32, 2**63, 2**64 - 1]
    n = 100_000
    draws = np.concatenate([probes.Rng(seed, s).uniform(n) for s in streams])
    # Two of 900,000 equal by chance: 1e-4; one shifted stream in another: almost all.
    assert np.unique(draws).size >= draws.size - 2


def test_same_seed_same_draws(seed: int) -> None:
    one, two = probes.Rng(seed, 3), probes.Rng(seed, 3)
    np.testing.assert_array_equal(one.normal(1000), two.normal(1000))
    parts = probes.Rng(seed, 3)
    together = np.concatenate([parts.normal(1), parts.normal(999)])
    np.testing.assert_array_equal(probes.Rng(seed, 3).normal(1000), together)


@pytest.mark.skipif(sys.byteorder != "little", reason="the digests are of little-endian bytes")
@pytest.mark.parametrize(
    ("name", "arguments", "digest"),
    [
        ("uniform", (), "c56540408f31d9ce"),
        ("normal", (), "b99f8153a901f533"),
        ("exponential", (), "5f446d83d6e215c2"),
        ("gamma", (0.03,), "68292fc84c66b9c4"),
        ("gamma", (2.5,), "c02570aec632af82"),
        ("beta", (0.5, 0.25), "7cfcda87183a2760"),
        ("beta", (200.0, 1800.0), "2970dfd5408edf7a"),
        ("normal_above", (-1.0,), "9dab1b4cdcb2680d"),
        ("normal_above", (6.0,), "372ee4e61baaf9a4"),
        ("normal_between", (-0.5, 1.0), "ed6ded6332a2f340"),
        ("normal_between", (-9.0, -6.0), "9df843af6febad9a"),
        ("below", (1000,), "445d00113f76817d"),
    ],
)
def test_same_bits_on_every_machine(name: str, arguments: tuple[float, ...], digest: str) -> None:
    draws = getattr(probes.Rng(2024, 1), name)(*arguments, 200_000)
    assert hashlib.sha256(np.ascontiguousarray(draws).tobytes()).hexdigest()[:16] == digest


# -- Logarithm and exponential ----------------------------------------------------------------


def relative_error(values: np.ndarray, x: np.ndarray, function: str) -> float:
    with decimal.localcontext(decimal.Context(prec=40, Emin=-9999, Emax=9999)):
        exact = [getattr(decimal.Decimal(float(v)), function)() for v in x]
        errors = [
            abs(decimal.Decimal(float(v)) / e - 1)
            for v, e in zip(values, exact, strict=True)
            if e != 0
        ]
        return float(max(errors))


def test_det_log_is_accurate(rng: np.random.Generator) -> None:
    x = np.concatenate(
        [
            np.exp(rng.uniform(-708, 709, 2000)),
            rng.uniform(0.5, 2, 2000),
            1 + rng.normal(0, 1e-6, 2000),
            1 + 2.0**-52 * np.arange(-20, 21),
            2.0 ** np.arange(-1074, 1024, 7),
        ]
    )
    assert relative_error(probes.det_log(x), x, "ln") < 2.5e-16


def test_det_exp_is_accurate(rng: np.random.Generator) -> None:
    x = np.concatenate(
        [
            rng.uniform(-708, 709.78, 2000),
            rng.normal(0, 1, 2000),
            rng.normal(0, 1e-6, 2000),
            (np.arange(-1020, 1022, 7) + 0.5) * np.log(2),
        ]
    )
    assert relative_error(probes.det_exp(x), x, "exp") < 2.5e-16


def test_det_log_and_det_exp_at_the_ends() -> None:
    inf, nan = np.inf, np.nan
    x = np.array([0.0, -0.0, 1.0, inf, -1.0, -inf, nan])
    np.testing.assert_array_equal(probes.det_log(x), [-inf, -inf, 0, inf, nan, nan, nan])
    x = np.array([0.0, -0.0, inf, -inf, nan, 709.79, -746.0, 5e-324])
    np.testing.assert_array_equal(probes.det_exp(x), [1, 1, inf, 0, nan, inf, 0, 1])
    # Subnormal results are rounded to their coarse spacing, not flushed to 0.
    x = np.linspace(-745, -708.4, 50)
    np.testing.assert_allclose(probes.det_exp(x), np.exp(x), rtol=0, atol=5e-324)


# -- Uniform and integers ---------------------------------------------------------------------


def test_uniform(seed: int) -> None:
    u = probes.Rng(seed, 0).uniform(1_000_000)
    assert u.min() > 0
    assert u.max() < 1
    assert_uniform(u)
    assert_normal_score(np.corrcoef(u[1:], u[:-1])[0, 1] * np.sqrt(u.size))


@pytest.mark.parametrize("k", [1, 2, 3, 7, 17, 256, 1000])
def test_below(k: int, seed: int) -> None:
    draws = probes.Rng(seed, 0).below(k, 200_000)
    counts = np.bincount(draws, minlength=k)
    assert counts.size == k
    if k > 1:
        assert_p(stats.chisquare(counts).pvalue)


def test_below_has_no_bias_for_large_n(seed: int) -> None:
    # Without rejection the multiplication would give one residue of three twice as often.
    k = 3 * 2**30
    draws = probes.Rng(seed, 0).below(k, 200_000)
    assert draws.max() < k
    assert_p(stats.chisquare(np.bincount(draws % 3, minlength=3)).pvalue)
    assert_uniform((draws + 0.5) / k)


# -- Normal -----------------------------------------------------------------------------------


def test_normal(seed: int) -> None:
    x = probes.Rng(seed, 0).normal(4_000_000)
    assert_p(stats.kstest(x, "norm").pvalue)
    root = np.sqrt(x.size)
    # Sums of x^1 .. x^4 against the exact mean and variance of each power.
    for power, mean, variance in [(1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)]:
        assert_normal_score((np.mean(x**power) - mean) * root / np.sqrt(variance))
    # A word shared by two draws, or by a draw and its sign, shows here.
    square = x * x - 1
    assert_normal_score(np.mean(x[1:] * x[:-1]) * root)
    assert_normal_score(np.mean(square[1:] * square[:-1]) * root / 2)
    assert_normal_score(np.mean(np.sign(x) * square) * root / np.sqrt(2))


def test_normal_has_no_steps_at_the_layers(seed: int) -> None:
    # 4,096 bins of equal probability: a wrong layer of the ziggurat moves mass between bins.
    x = probes.Rng(seed, 0).normal(8_000_000)
    counts = np.bincount((special.ndtr(x) * 4096).astype(np.int64), minlength=4096)
    assert_p(stats.chisquare(counts).pvalue)


def check_normal_tail(seed: int, n_blocks: int) -> None:
    block = 2_000_000
    probe = probes.Rng(seed, 0)
    tail = []
    for _ in range(n_blocks):
        x = probe.normal(block)
        tail.append(x[np.abs(x) > 3.0])
    x = np.concatenate(tail)
    n = n_blocks * block
    for start in (3.0, 3.65, TAIL_START, 4.0, 4.5):
        assert_count(np.sum(np.abs(x) > start), n, 2 * special.ndtr(-start))
    beyond = np.abs(x[np.abs(x) > TAIL_START])
    assert_uniform(special.ndtr(-beyond) / special.ndtr(-TAIL_START))
    assert_count(np.sum(x > TAIL_START), beyond.size, 0.5)


def test_normal_tail(seed: int) -> None:
    check_normal_tail(seed, n_blocks=10)


@pytest.mark.long
def test_normal_tail_long(seed: int) -> None:
    check_normal_tail(seed, n_blocks=500)


@pytest.mark.parametrize(
    "a", [-40, -8, -2, -0.5, 0, 0.2, 0.39, 0.4, 0.41, 1, 2, 3.7, 6, 10, 20, 38, 40]
)
def test_normal_above(a: float, seed: int) -> None:
    x = probes.Rng(seed, 0).normal_above(a, 300_000)
    assert x.min() > a
    assert_uniform(np.exp(special.log_ndtr(-x) - special.log_ndtr(-a)))


def test_normal_above_ends_for_any_bound(seed: int) -> None:
    probe = probes.Rng(seed, 0)
    for a in (1e8, 1e200, np.inf):
        np.testing.assert_array_equal(probe.normal_above(a, 5), a)
    assert np.isnan(probe.normal_above(np.nan, 1)).all()
    assert np.isfinite(probe.normal_above(-np.inf, 5)).all()


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (-np.inf, 0.3),
        (1.0, np.inf),
        (-0.5, 0.5),
        (-3.0, 4.0),
        (-0.1, 6.0),
        (-5.0, 0.01),
        (0.0, 0.2),
        (0.2, 1.5),
        (2.0, 2.1),
        (6.0, 9.0),
        (-30.0, -29.99),
        (-38.0, -20.0),
        (1.0, 1.0 + 1e-9),
    ],
)
def test_normal_between(a: float, b: float, seed: int) -> None:
    x = probes.Rng(seed, 0).normal_between(a, b, 200_000)
    assert a <= x.min()
    assert x.max() <= b
    # On the side of zero where both tails are small.
    if a + b < 0:
        x, a, b = -x, -b, -a
    above = np.exp(special.log_ndtr(-x) - special.log_ndtr(-a))
    last = np.exp(special.log_ndtr(-b) - special.log_ndtr(-a))
    if b - a < 1e-6:
        assert_uniform((x - a) / (b - a))
    else:
        assert_uniform((above - last) / (1 - last))


def test_normal_between_ends_for_any_bounds(seed: int) -> None:
    probe = probes.Rng(seed, 0)
    for a, b in ((1e8, np.inf), (1e200, 2e200), (1e9, 1e9 + 1e-6), (-1e12, -1e11)):
        x = probe.normal_between(a, b, 5)
        assert ((a <= x) & (x <= b)).all()
    np.testing.assert_array_equal(probe.normal_between(2.0, 1.0, 3), 1.5)
    close = np.nextafter(3.0, 4.0)
    assert np.isin(probe.normal_between(3.0, close, 20), (3.0, close)).all()


@pytest.mark.parametrize("a", [-3.0, -1.9, 0.0, 1.5, 2.5, 30.0])
@pytest.mark.parametrize("n_terms", [0, 1, 3, 600, 10**6])
def test_sum_above(n_terms: int, a: float, seed: int) -> None:
    x = probes.Rng(seed, 0).sum_above(n_terms, a, 20_000)
    mean, variance = stats.truncnorm.stats(a, np.inf, moments="mv")
    if n_terms == 0:
        assert (x == 0).all()
        return
    z = (x - n_terms * mean) / np.sqrt(n_terms * variance)
    assert_normal_score(z.mean() * np.sqrt(z.size))
    # Of a single term, and of many, the fourth moment is at most nine.
    assert abs(z.var() - 1) < 5 * np.sqrt(8 / z.size)


# -- Exponential, gamma, beta, Poisson ---------------------------------------------------------


def test_exponential(seed: int) -> None:
    x = probes.Rng(seed, 0).exponential(1_000_000)
    assert x.min() > 0
    assert_uniform(-np.expm1(-x))


@pytest.mark.parametrize("shape", [0.02, 0.1, 0.5, 0.999, 1, 1.001, 1.5, 3, 50, 1e3, 1e6])
def test_gamma(shape: float, seed: int) -> None:
    x = probes.Rng(seed, 0).gamma(shape, 300_000)
    assert_uniform(special.gammainc(shape, x))
    assert_normal_score((x.mean() - shape) / np.sqrt(shape / x.size))


@pytest.mark.parametrize("shape", [1e10, 1e16, 1e20])
def test_gamma_of_a_huge_shape_is_normal(shape: float, seed: int) -> None:
    x = probes.Rng(seed, 0).gamma(shape, 100_000)
    assert_p(stats.kstest((x - shape) / np.sqrt(shape), "norm").pvalue)


@pytest.mark.parametrize("shape", [1e-3, 1e-4])
def test_gamma_of_a_tiny_shape(shape: float, seed: int) -> None:
    # A large share of the draws is below the smallest normal double and is returned as that.
    x = probes.Rng(seed, 0).gamma(shape, 500_000)
    assert x.min() == TINY
    at_floor = special.gammainc(shape, TINY)
    assert_count(np.sum(x == TINY), x.size, at_floor)
    above = x[x > TINY]
    assert_uniform((special.gammainc(shape, above) - at_floor) / (1 - at_floor))


@pytest.mark.parametrize("shape", [1e-320, 1e-300, 1e-12, 1e300, 1e308])
def test_gamma_is_positive_and_finite(shape: float, seed: int) -> None:
    x = probes.Rng(seed, 0).gamma(shape, 10_000)
    assert (x >= TINY).all()
    assert np.isfinite(x).all()


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, 1),
        (0.5, 0.5),
        (0.1, 0.2),
        (0.3, 40),
        (1, 9),
        (2, 5),
        (200, 1800),
        (200, 19_800),
        (1e6, 1e6),
        (5, 1e12),
    ],
)
def test_beta(a: float, b: float, seed: int) -> None:
    x = probes.Rng(seed, 0).beta(a, b, 300_000)
    assert x.min() > 0
    assert x.max() < 1
    # Near 1 doubles are coarse, so look closely at the lower part only.
    assert_count(np.sum(x < 0.5), x.size, special.betainc(a, b, 0.5))
    low = x[x < 0.9]
    assert_uniform(special.betainc(a, b, low) / special.betainc(a, b, 0.9))
    mean, sd = a / (a + b), np.sqrt(a * b / (a + b + 1)) / (a + b)
    assert_normal_score((x.mean() - mean) / sd * np.sqrt(x.size))


@pytest.mark.parametrize(
    ("a", "b"), [(1e-3, 1e-3), (1e-12, 3e-12), (1e-300, 3e-300), (2e-320, 1e-320)]
)
def test_beta_of_tiny_shapes_is_a_coin(a: float, b: float, seed: int) -> None:
    # Both gamma draws underflow; the ends keep their probabilities b : a.
    x = probes.Rng(seed, 0).beta(a, b, 300_000)
    assert x.min() == TINY
    assert x.max() == BELOW_ONE
    assert_count(np.sum(x > 0.5), x.size, a / (a + b))


@pytest.mark.parametrize(
    ("a", "b"),
    [(1e308, 1e308), (1e-310, 2), (2, 1e-310), (1e308, 1e-308), (1e-308, 1e308), (2, 1e308)],
)
def test_beta_stays_inside(a: float, b: float, seed: int) -> None:
    x = probes.Rng(seed, 0).beta(a, b, 10_000)
    assert (x >= TINY).all()
    assert (x <= BELOW_ONE).all()
    mean = 1 / (1 + b / a)
    np.testing.assert_allclose(x.mean(), mean, atol=1e-12)


@pytest.mark.parametrize("mean", [0.0, 1e-3, 0.7, 5.0, 9.99, 10.0, 14.0, 100.0, 1e4, 1e6])
def test_poisson(mean: float, seed: int) -> None:
    n = 300_000
    k = probes.Rng(seed, 0).poisson(mean, n)
    # About forty groups of values that are likely enough to be counted.
    edges = np.unique(stats.poisson.ppf(np.linspace(0, 1, 41)[1:-1], mean))
    expected = n * np.diff(np.concatenate([[0], stats.poisson.cdf(edges, mean), [1]]))
    found = np.bincount(np.searchsorted(edges, k), minlength=len(expected))
    if mean == 0.0:
        assert (k == 0).all()
        return
    assert_p(stats.chi2.sf(((found - expected) ** 2 / expected).sum(), len(expected) - 1))
    assert_normal_score((k.mean() - mean) / np.sqrt(mean / n))


def test_wrong_shapes_give_nan(seed: int) -> None:
    probe = probes.Rng(seed, 0)
    for shape in (0.0, -1.0, np.nan):
        assert np.isnan(probe.gamma(shape, 2)).all()
        assert np.isnan(probe.beta(shape, 1.0, 2)).all()
        assert np.isnan(probe.beta(1.0, shape, 2)).all()
