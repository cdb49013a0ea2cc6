"""The device of a fit: what each choice becomes, and what users are told."""

from __future__ import annotations

import io
import pickle
import time

import joblib
import numpy as np
import pytest
from rich.console import Console

from helpers.arrays import assert_same
from obliquebart import ObliqueBARTClassifier, ObliqueBARTRegressor, _core, load
from obliquebart.estimators import running
from obliquebart.exceptions import CudaUnavailableError
from obliquebart.sampling import cuda, device
from obliquebart.sampling.cuda import CudaCard
from obliquebart.sampling.device import CPU, Device
from obliquebart.sampling.progress import FitProgress

SMALL = {"n_trees": 5, "n_burn": 5, "n_draws": 5, "n_chains": 2, "random_state": 0}
NORMAL = {"sigma_quantile": 0.9}
H200 = CudaCard("NVIDIA H200", (9, 0), 10**11, 132)
PLAIN = Device("plain", "plain_card")


@pytest.fixture
def data(rng):
    x = rng.uniform(-1, 1, (80, 3))
    return x, x[:, 0] + 0.1 * rng.standard_normal(80)


@pytest.fixture
def no_driver(monkeypatch):
    def fail():
        raise _core.CardError("there is no NVIDIA driver on this machine")

    monkeypatch.setattr(_core, "cuda_device", fail)


@pytest.fixture
def pretended(monkeypatch):
    """A card whose kernels run as plain C++; the fixture counts how often it is prepared."""
    prepared = []

    def prepare():
        prepared.append(H200)
        return H200

    def apply(self, settings):
        settings = settings.copy()
        settings.backend = "plain_card" if self.backend == "cuda" else self.backend
        return settings

    monkeypatch.setattr(cuda, "find_card", lambda: H200)
    monkeypatch.setattr(cuda, "prepare", prepare)
    monkeypatch.setattr(Device, "applied_to", apply)
    return prepared


def draws_of(model):
    return {**model.posterior_.draws.to_arrays(), **model.posterior_.trace}


@pytest.mark.usefixtures("no_driver")
def test_without_a_driver(data):
    with pytest.raises(CudaUnavailableError) as caught:
        ObliqueBARTRegressor(device="cuda", **SMALL).fit(*data)
    assert "there is no NVIDIA driver on this machine" in str(caught.value)
    assert "https://www.nvidia.com/drivers" in str(caught.value)
    assert 'device="cpu" gives the same draws' in str(caught.value)


def test_without_a_compiler(data, monkeypatch):
    monkeypatch.setattr(_core, "cuda_device", H200._asdict)
    monkeypatch.setattr(_core, "has_cuda_program", lambda: False)
    monkeypatch.setattr(cuda, "_libraries", lambda: iter(["libnvrtc.so.none"]))
    with pytest.raises(CudaUnavailableError, match=r'pip install "obliquebart\[cuda\]"'):
        ObliqueBARTRegressor(device="cuda", **SMALL).fit(*data)


def test_an_old_card(data, monkeypatch):
    old = H200._replace(name="Tesla K80", capability=(3, 7))
    monkeypatch.setattr(_core, "cuda_device", old._asdict)
    with pytest.raises(CudaUnavailableError, match=r"Tesla K80 has 3\.7"):
        ObliqueBARTRegressor(device="cuda", **SMALL).fit(*data)


def test_other_choices_are_errors(data):
    with pytest.raises(ValueError, match="device='gpu' must be one of 'cpu', 'cuda', 'auto'"):
        ObliqueBARTRegressor(device="gpu", **SMALL).fit(*data)


def test_a_card_is_used(data, pretended):
    on_cpu = ObliqueBARTRegressor(soft=False, **SMALL).fit(*data)
    assert on_cpu.device_ == "cpu"
    assert not pretended
    on_card = ObliqueBARTRegressor(device="cuda", **SMALL).fit(*data)
    assert on_card.device_ == "NVIDIA H200"
    assert pretended
    assert_same(draws_of(on_card), draws_of(on_cpu))


def test_a_constant_outcome_needs_no_chains(data, pretended):
    with pytest.warns(UserWarning, match="constant|equal|same"):
        model = ObliqueBARTRegressor(device="cuda", **SMALL).fit(data[0], np.ones(80))
    assert model.device_ == "cpu"
    assert pretended


@pytest.mark.usefixtures("pretended")
def test_auto_takes_a_card_for_many_rows_with_normal_noise(data, monkeypatch):
    def found(kind=ObliqueBARTRegressor, y=data[1], **parameters):
        return kind(device="auto", **SMALL, **parameters).fit(data[0], y).device_

    assert found(**NORMAL) == "cpu"
    monkeypatch.setattr(device, "FEWEST_ROWS", 81)
    monkeypatch.setattr(device, "ROWS_PER_CORE", 20)
    assert found(**NORMAL) == "cpu"
    monkeypatch.setattr(device, "FEWEST_ROWS", 80)
    assert found(**NORMAL) == "NVIDIA H200"
    # Many cores are as fast as a card, but only those that there are.
    monkeypatch.setattr(joblib, "cpu_count", lambda: 16)
    assert found(**NORMAL, n_jobs=4) == "NVIDIA H200"
    assert found(**NORMAL, n_jobs=5) == "cpu"
    monkeypatch.setattr(joblib, "cpu_count", lambda: 4)
    assert found(**NORMAL, n_jobs=64) == "NVIDIA H200"
    assert found(**NORMAL, noise_df=6.0) == "cpu"
    assert found(noise="varying") == "cpu"
    assert found(ObliqueBARTClassifier, data[1] > 0) == "cpu"
    monkeypatch.setattr(cuda, "find_card", lambda: H200._replace(bytes=1000))
    assert found(**NORMAL) == "cpu"


@pytest.mark.usefixtures("no_driver")
def test_auto_never_fails(data, monkeypatch):
    monkeypatch.setattr(device, "FEWEST_ROWS", 1)
    monkeypatch.setattr(device, "ROWS_PER_CORE", 1)
    model = ObliqueBARTRegressor(device="auto", **SMALL, **NORMAL).fit(*data)
    assert model.device_ == "cpu"


@pytest.mark.parametrize(
    "error", [CudaUnavailableError("no compiler"), _core.CardError("the card is broken")]
)
@pytest.mark.usefixtures("pretended")
def test_auto_never_fails_on_a_card_that_does_not_work(error, data, monkeypatch):
    def fail():
        raise error

    monkeypatch.setattr(device, "FEWEST_ROWS", 1)
    monkeypatch.setattr(device, "ROWS_PER_CORE", 1)
    monkeypatch.setattr(cuda, "prepare", fail)
    model = ObliqueBARTRegressor(device="auto", **SMALL, **NORMAL).fit(*data)
    assert model.device_ == "cpu"


def test_auto_goes_on_without_a_card_whose_memory_is_full(data, monkeypatch):
    """Chains of the backend "cuda" fail here: without a driver, or without kernels."""
    expected = ObliqueBARTRegressor(**SMALL).fit(*data)
    monkeypatch.setattr(cuda, "prepare", lambda: H200)
    card = Device("card", "cuda")
    monkeypatch.setattr(running, "resolve_device", lambda *_: card)
    model = ObliqueBARTRegressor(**SMALL)
    if _core.has_cuda_program():
        pytest.skip("chains on this machine's card would not fail")
    with pytest.raises(_core.CardError):
        model.fit(*data)
    card = card._replace(is_optional=True)
    assert model.fit(*data).device_ == "cpu"
    assert_same(draws_of(model), draws_of(expected))


@pytest.mark.parametrize(("n_jobs", "together"), [(1, 1), (2, 2), (5, 2)])
@pytest.mark.usefixtures("pretended")
def test_chains_share_the_card(n_jobs, together, data, monkeypatch):
    told = []
    monkeypatch.setattr(_core, "set_chains_on_card", told.append)
    ObliqueBARTRegressor(device="cuda", n_jobs=n_jobs, **SMALL).fit(*data)
    assert told == [together]


def test_other_processes_prepare_themselves(data, monkeypatch):
    expected = ObliqueBARTRegressor(soft=False, **SMALL).fit(*data)
    monkeypatch.setattr(running, "resolve_device", lambda *_: PLAIN)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        model = ObliqueBARTRegressor(soft=False, **SMALL).fit(*data)
    assert model.device_ == "plain"
    assert_same(draws_of(model), draws_of(expected))


@pytest.mark.usefixtures("no_driver")
def test_a_process_without_a_card():
    assert Device("card", "cuda", is_optional=True).made_ready(1) == CPU
    with pytest.raises(CudaUnavailableError, match="there is no NVIDIA driver"):
        Device("card", "cuda").made_ready(1)


def test_soft_rules_run_on_the_processor(data, pretended, monkeypatch):
    model = ObliqueBARTRegressor(device="cuda", soft=True, **SMALL)
    with pytest.raises(ValueError, match=r'Soft rules run on the CPU: use device="cpu"'):
        model.fit(*data)
    assert not pretended
    for name in ("FEWEST_ROWS", "ROWS_PER_CORE"):
        monkeypatch.setattr(device, name, 1)
    for soft, expected in ((False, "NVIDIA H200"), (True, "cpu")):
        auto = ObliqueBARTRegressor(device="auto", soft=soft, **SMALL, **NORMAL)
        assert auto.fit(*data).device_ == expected
    with pytest.raises(ValueError, match="Soft rules run on the CPU"):
        auto.set_params(device="cuda").sample_more(2)


def test_rows_on_a_cluster(data):
    da = pytest.importorskip("dask.array")
    model = ObliqueBARTRegressor(device="cuda", **SMALL)
    with pytest.raises(ValueError, match=r'device="cuda" needs the table in memory.*X\.compute'):
        model.fit(da.from_array(data[0]), data[1])


@pytest.mark.usefixtures("pretended")
def test_files_do_not_know_the_device(data, tmp_path):
    model = ObliqueBARTRegressor(device="cuda", **SMALL).fit(*data)
    path = tmp_path / "model.obart"
    model.save(path)
    for again in (load(path), pickle.loads(pickle.dumps(model))):
        assert again.device == "cuda"
        assert again.device_ is None
        again.set_params(device="cpu").sample_more(3, *data)
        assert again.device_ == "cpu"


def test_progress_names_the_card(monkeypatch):
    monkeypatch.setattr("obliquebart.sampling.progress.QUIET_SECONDS", 0.0)
    for name, is_shown in (("NVIDIA H200", True), ("cpu", False)):
        console = Console(file=io.StringIO(), width=100, force_terminal=True)
        progress = FitProgress(True, 10, device=name, console=console)
        progress.open()
        time.sleep(0.001)
        progress.update([{"sweep": 1, "acceptance": 0.5}])
        progress.close()
        assert (f"On {name}." in console.file.getvalue()) == is_shown
