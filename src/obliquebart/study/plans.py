"""Which units make an experiment, the most important first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from obliquebart.study.costs import cost_model, shape_of
from obliquebart.study.datasets import Library
from obliquebart.study.synthetic import FUNCTIONS, JUMPS, N_REPLICATES, ROWS, Synthetic
from obliquebart.study.units import Setting, Unit

ROTATIONS = (1, 4, 16, 50, 100, 200)
BASE = ("obliqueBART", "obliqueBART-paper", "BART", "RF", "ERT", "XGB")
ROTATED = ("rotBART", "rotRF", "rotERT", "rotXGB")
N_SPLITS = 20
# 54,000 rows: as many as all other sets together.
LARGE = "diamonds"
# Random forests of rotated columns try a third of them at every node. If that would take more than
# this many seconds, they get fewer trees, at least FEWEST.
FOREST_SECONDS = 6.0
FEWEST_TREES = 50

Settings = tuple[tuple[str, Setting], ...]


def real_plan(library: Library) -> list[Unit]:
    """Return the run whose results are in docs/study: five to six hours on one core."""
    sets = library.names()
    all_splits, few = _splits(sets, N_SPLITS, large=3), _splits(sets, 5, large=3)
    narrow = [
        (data, split)
        for data, split in few
        if data != LARGE and shape_of(data, library).p_cont <= 10
    ]
    cells = [Synthetic(f, 1000, 4.0, t) for f in FUNCTIONS for t in range(FUNCTIONS[f])]
    units = [
        *_benchmark(library, all_splits),
        *_synthetic(cells, methods=("obliqueBART-paper", "BART")),
        *_rotated(library, few, (1, 4, 16)),
        *_rotated(library, narrow, (200,)),
        *_base("echocardiogram_uci", range(N_SPLITS)),
        *_synthetic(cells, 5, (), ("obliqueBART",)),
        *_indicators(library, _splits(library.names("regression"), 5, large=3)),
        *_coarse_grid(),
        *(Unit(data, split, "BART-ours") for data, split in few),
        *(Unit(data, split, "XGB-defaults") for data, split in all_splits),
    ]
    return list(dict.fromkeys(units))


def paper_plan(library: Library) -> list[Unit]:
    """Return everything in section 4 of the paper: days on a laptop, hours on a cluster."""
    splits = _splits(library.names(), N_SPLITS, large=N_SPLITS)
    cells = [
        Synthetic(function, n, jump, step)
        for n in (1000, 100, 10000)
        for jump in (4.0, 2.0, 1.0, 0.5)
        for function in FUNCTIONS
        for step in range(FUNCTIONS[function])
    ]
    units = [
        *_benchmark(library, splits),
        *_synthetic(cells[:21], rotations=ROTATIONS),
        *_rotated(library, splits, ROTATIONS, all_trees=True),
        *_base("echocardiogram_uci", range(N_SPLITS)),
        *_synthetic(cells[21:], rotations=ROTATIONS),
    ]
    return list(dict.fromkeys(units))


def quick_plan(library: Library) -> list[Unit]:
    """Return a little of everything, which two cores do in a few minutes."""
    sets = (
        *("servo", "boston", "cpu", "strikes", "diabetes", "ais"),
        *("german_credit", "connectionist_sonar", "blood_transfusion", "ilpd", "parkinsons"),
    )
    few = [(data, split) for split in range(3) for data in sets]
    cells = [Synthetic("rotated_axes", 1000, 4.0, t) for t in (0, 3, 6, 9)]
    cells += [Synthetic("sinusoid", 1000, 4.0, t) for t in (0, 3, 6, 10)]
    units = [
        *_benchmark(library, few),
        *_synthetic(cells, n_replicates=2, rotations=(1, 16)),
        *_rotated(library, [pair for pair in few if pair[1] == 0], (1, 4)),
    ]
    return list(dict.fromkeys(units))


def tiny_plan(library: Library) -> list[Unit]:
    """Return a few short units of two sets, for tests."""
    short: Settings = (("n_burn", 20), ("n_chains", 1), ("n_draws", 20), ("n_trees", 20))
    trees: Settings = (("n_estimators", 20),)
    rounds: Settings = (("n_rounds", 20),)
    settings = {"XGB": rounds, "RF": trees, "ERT": trees}
    names = [name for name in ("servo", "fertility") if name in library.records]
    variants = [
        *((method, 0, "correct") for method in BASE),
        *((method, 4, "correct") for method in ROTATED),
        ("obliqueBART-paper", 0, "paper"),
    ]
    return [
        Unit(data, split, method, rotations, inputs, settings.get(_base_of(method), short))
        for split in range(2)
        for data in names
        for method, rotations, inputs in variants
    ]


PLANS = {"real": real_plan, "paper": paper_plan, "quick": quick_plan, "tiny": tiny_plan}


# The paper's tables: the task, and whether rotated competitors are in it.
TABLES = {
    2: ("regression", False),
    3: ("classification", False),
    4: ("regression", True),
    5: ("classification", True),
    6: ("regression", True),
    7: ("classification", True),
}


def some_of(
    units: list[Unit], library: Library, table: int | None = None, sets: Iterable[str] = ()
) -> list[Unit]:
    """Return the units that one table of the paper needs, or of some data sets, or both."""
    sets = list(sets)
    unknown = [name for name in sets if name not in library.records]
    if unknown:
        raise ValueError(
            f"There is no data set {unknown[0]!r}; there are {', '.join(sorted(library.records))}."
        )
    if table is not None:
        if table not in TABLES:
            raise ValueError(f"The tables that can be made are 2 to 7, not {table}.")
        task, rotated = TABLES[table]
        units = [
            unit
            for unit in units
            if unit.data in library.records
            and library.records[unit.data]["task"] == task
            and (rotated or not unit.rotations)
        ]
    if sets:
        units = [unit for unit in units if unit.data in sets]
    if not units:
        raise ValueError("The plan has no units for that table and those data sets.")
    return units


def _splits(sets: Iterable[str], n: int, large: int) -> list[tuple[str, int]]:
    """Return pairs of set and split: all sets of a split before the next, the largest first."""
    names = sorted(sets, key=lambda name: name != LARGE)
    return [(name, split) for split in range(n) for name in names if name != LARGE or split < large]


def _benchmark(library: Library, splits: Iterable[tuple[str, int]]) -> Iterator[Unit]:
    """Yield the methods without rotations, and those that explain the paper's numbers."""
    for data, split in splits:
        yield from _base(data, [split])
        yield Unit(data, split, "obliqueBART-paper", inputs="paper")
        if shape_of(data, library).p_cat:
            yield Unit(data, split, "BART", inputs="paper")


def _indicators(library: Library, splits: Iterable[tuple[str, int]]) -> Iterator[Unit]:
    """Yield what the authors called rotated BART in regression: no rotation, categories as 0/1."""
    for data, split in splits:
        if shape_of(data, library).p_cat:
            yield Unit(data, split, "BART-indicators")


def _base(data: str, splits: Iterable[int]) -> Iterator[Unit]:
    for split in splits:
        for method in BASE:
            yield Unit(data, split, method)


def _rotated(
    library: Library,
    splits: list[tuple[str, int]],
    rotations: Iterable[int],
    *,
    all_trees: bool = False,
) -> Iterator[Unit]:
    seconds = cost_model(library)
    for n_rotations in rotations:
        for data, split in splits:
            for method in ROTATED:
                unit = Unit(data, split, method, n_rotations)
                if method == "rotRF" and not all_trees:
                    unit = _with_fewer_trees(unit, seconds(unit))
                yield unit


def _with_fewer_trees(unit: Unit, seconds: float) -> Unit:
    if seconds <= FOREST_SECONDS:
        return unit
    trees = max(FEWEST_TREES, int(500 * FOREST_SECONDS / seconds))
    return Unit(
        unit.data, unit.split, unit.method, unit.rotations, unit.inputs, (("n_estimators", trees),)
    )


def _synthetic(
    cells: Iterable[Synthetic],
    n_replicates: int = N_REPLICATES,
    rotations: Iterable[int] = (1, 4, 16, 50, 200),
    methods: Iterable[str] = ("obliqueBART-paper", "BART", "obliqueBART"),
) -> Iterator[Unit]:
    cells, rotations, methods = list(cells), list(rotations), list(methods)
    for replicate in range(n_replicates):
        for cell in cells:
            for method in methods:
                yield Unit(cell.name, replicate, method)
            for n_rotations in rotations:
                yield Unit(cell.name, replicate, "rotBART", n_rotations)


def _coarse_grid() -> Iterator[Unit]:
    steps = {"rotated_axes": (0, 3, 6, 9), "sinusoid": (0, 3, 6, 10)}
    for n in ROWS:
        cells = [
            Synthetic(function, n, jump, step)
            for jump in JUMPS
            for function in FUNCTIONS
            for step in steps[function]
            if (n, jump) != (1000, 4.0)
        ]
        n_replicates = 3 if n == 10000 else 5
        yield from _synthetic(cells, n_replicates, (50,), ("obliqueBART-paper", "BART"))


def _base_of(method: str) -> str:
    return method.removeprefix("rot")
