"""Adapters of the study: one call convention, the right parameters, honest metrics."""

from pathlib import Path

import numpy as np
import pytest

from helpers.data import DATA, needs_data
from helpers.study_library import write_library
from obliquebart.study.costs import cost_model
from obliquebart.study.datasets import Library
from obliquebart.study.methods import METHODS
from obliquebart.study.metrics import Prediction, measure
from obliquebart.study.plans import PLANS, some_of
from obliquebart.study.train_test import StudyTable, TrainTest
from obliquebart.study.units import Unit, execute

SHORT = (("n_burn", 20), ("n_chains", 1), ("n_draws", 20), ("n_trees", 20))
TREES = (("n_estimators", 20),)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_library(tmp_path_factory.mktemp("library"))


def settings_of(method: str) -> tuple:
    return {"XGB": (), "RF": TREES, "ERT": TREES}.get(method.removeprefix("rot"), SHORT)


@pytest.mark.parametrize("data", ["servo", "fertility"])
@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_beats_a_constant(folder: Path, method: str, data: str):
    if not METHODS[method].is_installed:
        pytest.skip(f"{METHODS[method].needs} is not installed")
    rotations = 2 if method.startswith("rot") else 0
    result = execute(Unit(data, 0, method, rotations, settings=settings_of(method)), folder)
    assert result["status"] == "done", result
    metrics = result["metrics"]
    if data == "servo":
        assert metrics["score"] < 0.9
        assert ("coverage" in metrics) == ("BART" in method)
    else:
        assert metrics["score"] > 0.5
        assert -1 < metrics["log_score"] < 0
    assert result["memory_mb"] > 10


def test_the_same_unit_gives_the_same_result(folder: Path):
    unit = Unit("servo", 1, "obliqueBART", settings=SHORT)
    one, two = execute(unit, folder), execute(unit, folder)
    assert one["metrics"]["score"] == two["metrics"]["score"]
    other = execute(Unit("servo", 1, "obliqueBART", settings=(*SHORT, ("k", 2.1))), folder)
    assert other["metrics"]["score"] != one["metrics"]["score"]


def test_paper_inputs_hurt_the_small_column(folder: Path):
    # In "fertility" one column has a hundredth of the other's range.
    unit = Unit("fertility", 0, "obliqueBART-paper", inputs="paper", settings=SHORT)
    assert execute(unit, folder)["status"] == "done"


def test_a_failure_is_a_result(folder: Path):
    result = execute(Unit("servo", 0, "obliqueBART", settings=(("alpha", 7.0),)), folder)
    assert result["status"] == "failed"
    assert "alpha" in result["error"]
    assert execute(Unit("servo", 99, "RF"), folder)["status"] == "failed"
    assert execute(Unit("nothing", 0, "RF"), folder)["status"] == "failed"


def test_columns_found_by_name_are_the_first_rotation(folder: Path):
    unit = Unit("servo", 0, "rotRF", 8, settings=TREES)
    metrics = execute(unit, folder)["metrics"]
    assert metrics["score_names"] > metrics["score"]
    assert "score_names" not in execute(Unit("servo", 0, "rotRF", 1), folder)["metrics"]


def problem(task: str, y_test: list[float]) -> TrainTest:
    none = StudyTable(np.empty((3, 0)), np.empty((3, 0), np.int64), ())
    return TrainTest(task, none, none, np.array([0.0, 1.0, 2.0]), np.array(y_test))


def test_metrics_of_regression():
    y = [1.0, 2.0, 4.0]
    interval = np.array([[0, 2], [3, 5], [4, 6.0]])
    prediction = Prediction(np.array([1.0, 2.0, 3.0]), interval, lambda y: -y)
    found = measure(problem("regression", y), prediction)
    assert found["score"] == pytest.approx((1 / 3) / (10 / 3))
    assert found["coverage"] == pytest.approx(2 / 3)
    assert found["width"] == pytest.approx(2.0)
    assert found["log_score"] == pytest.approx(-7 / 3)


def test_metrics_of_classes():
    found = measure(
        problem("classification", [1.0, 0.0, 1.0]), Prediction(np.array([0.5, 0.0, 0.2]))
    )
    assert found["score"] == pytest.approx(2 / 3)
    assert found["log_score"] == pytest.approx(np.mean(np.log([0.5, 0.999, 0.2])))


def test_log_density_is_that_of_the_mixture():
    from scipy import stats

    from obliquebart import ObliqueBARTRegressor
    from obliquebart.study.methods import _log_density

    x = np.linspace(-1, 1, 40).reshape(-1, 1)
    model = ObliqueBARTRegressor(n_trees=5, n_burn=20, n_draws=10, n_chains=2, random_state=1)
    model.fit(x, x[:, 0])
    f, sigma = model.posterior_.predict(x), model.posterior_.trace["sigma"].reshape(-1, 1)
    expected = np.log(stats.norm.pdf(x[:, 0], f, sigma).mean(axis=0))
    np.testing.assert_allclose(_log_density(model, x, x[:, 0]), expected, rtol=1e-6)


def test_keys_are_stable_and_seeds_differ():
    unit = Unit("servo", 0, "RF")
    # A change of this key orphans every stored result.
    assert unit.key == Unit.from_dict(unit.to_dict()).key
    assert len({Unit("servo", split, "RF").seed for split in range(20)}) == 20
    assert Unit("servo", 0, "RF", settings=(("n_estimators", 5),)).key != unit.key


@needs_data
def test_plans_hold_what_the_paper_has():
    library = Library(DATA)
    real = PLANS["real"](library)
    assert len(real) == len(set(real))
    base = {(u.data, u.split) for u in real if u.method == "obliqueBART" and "-n" not in u.data}
    for name in library.names():
        splits = {split for data, split in base if data == name}
        assert splits == set(range(3 if name == "diamonds" else 20)), name
    rotated = {u.rotations for u in real if u.method == "rotERT"}
    assert rotated == {1, 4, 16, 200}
    cells = {(u.data, u.split) for u in real if "-n1000-d4-" in u.data and u.method == "BART"}
    assert len(cells) == 21 * 20
    paper = PLANS["paper"](library)
    assert {u.rotations for u in paper} == {0, 1, 4, 16, 50, 100, 200}
    assert len({u.data for u in paper if "-n" in u.data}) == 3 * 4 * 21
    seconds = cost_model(library)
    assert sum(map(seconds, PLANS["quick"](library))) < 600


def test_one_table_or_set_of_a_plan(folder: Path) -> None:
    library = Library(folder)
    units = PLANS["tiny"](library)
    two, four = some_of(units, library, 2), some_of(units, library, 4)
    assert {unit.data for unit in two} == {"servo"}
    assert {unit.rotations for unit in two} == {0}
    assert {unit.rotations for unit in four} == {0, 4}
    assert {unit.data for unit in some_of(units, library, 3)} == {"fertility"}
    assert some_of(units, library, 2, ["servo"]) == two
    assert some_of(units, library) == units
    for table, sets, message in (
        (8, (), "2 to 7"),
        (2, ["fertility"], "no units for that table"),
        (None, ["nowhere"], "no data set 'nowhere'"),
    ):
        with pytest.raises(ValueError, match=message):
            some_of(units, library, table, sets)
