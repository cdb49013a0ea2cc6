"""Data sets of the study: layout, checks, inputs, splits; synthetic problems; downloads."""

import functools
import gzip
import hashlib
import http.server
import json
import os
import shutil
import threading
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from helpers.data import DATA, needs_data
from helpers.study_library import LIBRARY, write_library
from obliquebart.study import fetch as fetching
from obliquebart.study import synthetic
from obliquebart.study.datasets import DATA_VARIABLE, Library, find_folder
from obliquebart.study.fetch import content_digest, content_of, fetch, packaged
from obliquebart.study.train_test import StudyTable

pytestmark = pytest.mark.filterwarnings("default::ResourceWarning")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_library(tmp_path / "data")


def test_a_data_set_is_read_as_written(folder: Path):
    library = Library(folder)
    assert library.names() == [*LIBRARY]
    dataset = library.load("servo")
    assert dataset.columns.numbers.shape == (60, 2)
    assert dataset.columns.n_levels == (3,)
    # The order of the levels is the recorded one, not the alphabet's.
    record = library.records["servo"]
    assert record["categorical_levels"]["c"] == ["b", "a", "c"]
    text = gzip.decompress((folder / record["file"]).read_bytes()).decode().splitlines()[1]
    assert dataset.columns.codes[0, 0] == ["b", "a", "c"].index(text.split(",")[2])
    assert dataset.y[0] == float(text.split(",")[-1])


def test_splits_part_the_rows(folder: Path):
    dataset = Library(folder).load("servo")
    problem = dataset.problem(1)
    assert len(problem.y_test) == len(dataset.tests[1]) == 15
    assert len(problem.y_train) == 45
    np.testing.assert_array_equal(problem.y_test, dataset.y[dataset.tests[1]])


def test_a_changed_file_is_refused(folder: Path):
    record = Library(folder).records["servo"]
    path = folder / record["file"]
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()) + b"1,2,a,3\n"))
    with pytest.raises(ValueError, match="sha256"):
        Library(folder).load("servo")


def test_no_folder_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    with pytest.raises(FileNotFoundError, match="study fetch"):
        find_folder(None)
    with pytest.raises(FileNotFoundError, match=r"datasets\.json"):
        Library(tmp_path)
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    assert find_folder(None) == tmp_path


def test_paper_inputs_share_one_range_where_the_authors_did(folder: Path):
    joint = Library(folder).load("fertility").problem(0, "paper")
    numbers = np.vstack([joint.train.numbers, joint.test.numbers])
    assert numbers.min() == pytest.approx(-0.99)
    assert numbers.max() == pytest.approx(0.99)
    assert np.ptp(numbers, axis=0).min() < 0.1
    assert joint.joint_scaling
    each = Library(folder).load("servo").problem(0, "paper")
    numbers = np.vstack([each.train.numbers, each.test.numbers])
    np.testing.assert_allclose(np.ptp(numbers, axis=0), 1.98)
    with pytest.raises(ValueError, match="inputs"):
        Library(folder).load("servo").problem(0, "other")


def test_columns_as_codes_and_indicators():
    columns = StudyTable(np.array([[1.5], [2.5]]), np.array([[2, 0], [0, 1]]), (3, 2))
    np.testing.assert_array_equal(columns.with_codes(), [[1.5, 2, 0], [2.5, 0, 1]])
    np.testing.assert_array_equal(
        columns.with_indicators(), [[1.5, 0, 0, 1, 1, 0], [2.5, 1, 0, 0, 0, 1]]
    )
    assert columns.categorical == [1, 2]


def test_rotated_problems_keep_categories_and_share_rotations(folder: Path):
    problem = Library(folder).load("servo").problem(0)
    rotated = problem.rotated(3, seed=5)
    assert rotated.train.numbers.shape == (45, 6)
    np.testing.assert_array_equal(rotated.test.codes, problem.test.codes)
    again = problem.rotated(3, seed=5)
    np.testing.assert_array_equal(rotated.test.numbers, again.test.numbers)


def test_synthetic_functions():
    axes = synthetic.Synthetic("rotated_axes", 100, 4.0, 0)
    corners = np.array([[0.5, 0.5], [-0.5, 0.5], [-0.5, -0.5], [0.5, -0.5]])
    np.testing.assert_array_equal(axes.f(corners), [4, -4, 4, -4])
    # Turned by a quarter of a right angle, the corners lie on the axes of the pattern.
    turned = synthetic.Synthetic("rotated_axes", 100, 4.0, 9)
    assert turned.theta == pytest.approx(np.pi / 4)
    sides = np.array([[0.9, 0.0], [0.0, 0.9]])
    assert set(turned.f(sides)) == {-4.0, 4.0}
    wave = synthetic.Synthetic("sinusoid", 100, 0.5, 10)
    x = np.array([[np.pi / 20, 0.9], [np.pi / 20, 1.1]])
    np.testing.assert_array_equal(wave.f(x), [-0.5, 0.5])


def test_synthetic_problems_are_the_same_for_every_method():
    cell = synthetic.parse("sinusoid-n100-d0.5-t3")
    assert cell is not None
    assert cell.name == "sinusoid-n100-d0.5-t3"
    one, two, other = cell.problem(0), cell.problem(0), cell.problem(1)
    np.testing.assert_array_equal(one.y_test, two.y_test)
    assert not np.array_equal(one.y_test, other.y_test)
    assert len(one.y_train) == 100
    assert len(one.y_test) == 1000
    assert abs(np.std(one.y_test - one.f_test) - 1) < 0.1
    assert synthetic.parse("servo") is None
    with pytest.raises(ValueError, match="last step"):
        synthetic.parse("rotated_axes-n100-d4-t10")


@pytest.fixture
def server(tmp_path: Path):
    """An address on this machine with the authors' two small files."""
    for task, name in (("regression", "servo"), ("classification", "fertility")):
        target = tmp_path / "www" / task / "data"
        target.mkdir(parents=True)
        shutil.copy(DATA / "rdata" / f"{name}_data.RData", target)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        asked: ClassVar[list[str]] = []

        def log_message(self, *_):
            self.asked.append(self.path)

    handler = functools.partial(Quiet, directory=str(tmp_path / "www"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as found:
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        found.asked = Quiet.asked
        yield found
        found.shutdown()
        thread.join()


@needs_data
def test_fetched_sets_are_the_real_ones(server, tmp_path: Path):
    address = f"http://127.0.0.1:{server.server_port}/"
    names = ["servo", "fertility"]
    assert fetch(tmp_path / "got", address, names) == names
    fetched, real = Library(tmp_path / "got"), Library(DATA)
    for name in [*names, "echocardiogram_uci"]:
        one, other = fetched.load(name).problem(3, "paper"), real.load(name).problem(3, "paper")
        np.testing.assert_allclose(one.train.numbers, other.train.numbers, atol=1e-15)
        np.testing.assert_array_equal(one.test.codes, other.test.codes)
        np.testing.assert_array_equal(one.y_test, other.y_test)
    assert len(server.asked) == 2
    fetch(tmp_path / "got", address, names)
    assert len(server.asked) == 2, "what is there is not fetched again"


@needs_data
def test_a_wrong_download_is_not_kept(server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    address = f"http://127.0.0.1:{server.server_port}/"
    entries = packaged("catalogue.json")
    wrong = [dict(entry, rdata_sha256="0" * 64) for entry in entries]
    other = [dict(entry, rdata_sha256=None, content_sha256="0" * 64) for entry in entries]
    for catalogue in (wrong, other):
        monkeypatch.setattr(fetching, "packaged", lambda _, found=catalogue: found)
        with pytest.raises(ValueError, match=r"the expected (file|data)"):
            fetch(tmp_path / "got", address, ["servo"])
    assert not (tmp_path / "got" / "datasets.json").exists()


def test_only_safe_addresses(tmp_path: Path):
    with pytest.raises(ValueError, match="https"):
        fetch(tmp_path, "file:///etc/", ["servo"])


@needs_data
def test_catalogue_matches_the_data_sets():
    library = Library(DATA)
    entries = {entry["name"]: entry for entry in packaged("catalogue.json")}
    assert list(entries) == library.names()
    for name in ("servo", "mpg", "spambase"):
        assert content_digest(content_of(library.load(name))) == entries[name]["content_sha256"]
    raw = DATA / "rdata" / "servo_data.RData"
    assert hashlib.sha256(raw.read_bytes()).hexdigest() == entries["servo"]["rdata_sha256"]
    paper = json.loads((DATA / "paper_results.json").read_text())
    assert packaged("paper_results.json") == paper


@needs_data
def test_all_real_sets_have_the_size_of_the_paper():
    library = Library(DATA)
    assert len(library.names("regression")) == 18
    assert len(library.names("classification")) == 22
    for name in library.names(extra=True):
        record = library.records[name]
        if name != "diamonds" or os.environ.get(DATA_VARIABLE):
            dataset = library.load(name)
            assert dataset.columns.numbers.shape == (record["n"], record["p_cont"])
            assert dataset.columns.codes.shape == (record["n"], record["p_cat"])
            assert len(dataset.tests) == 20
