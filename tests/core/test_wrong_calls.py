"""What the core refuses, and what it takes though it looks wrong: never a crash."""

from __future__ import annotations

import numpy as np
import pytest

from obliquebart import _core


def make_data(n: int = 30) -> _core.Data:
    x = np.linspace(-1, 1, n, dtype=np.float32).reshape(1, n)
    return _core.Data(x, np.empty((0, n), np.uint32), [])


def make_settings(**values: object) -> _core.Settings:
    settings = _core.Settings()
    for name, value in {"n_trees": 3, **values}.items():
        setattr(settings, name, value)
    return settings


def make_sampler(settings: _core.Settings, weights: np.ndarray | None = None) -> _core.Sampler:
    return _core.Sampler(make_data(), np.linspace(-1, 1, 30), weights, settings, 0, 0)


def test_an_unknown_likelihood_names_those_that_there_are():
    with pytest.raises(ValueError, match=r"gaussian, student_t, learned_t, probit, .*none"):
        make_sampler(make_settings(likelihood="poison"))


@pytest.mark.parametrize("df", [2.0, 5.0, 4.5, 32.0, np.nan, np.inf, -4.0])
def test_degrees_of_freedom_are_even_and_neither_few_nor_many(df):
    settings = make_settings(likelihood="student_t", more={"df": df})
    for call in (make_sampler, _core.Settings.verify):
        with pytest.raises(ValueError, match="df must be an even number from 4 to 30"):
            call(settings)


def test_degrees_of_freedom_are_required():
    with pytest.raises(ValueError, match="df"):
        make_sampler(make_settings(likelihood="student_t"))


@pytest.mark.parametrize(
    ("name", "value"), [("leaf_model", "cubic"), ("backend", "abacus")], ids=["leaf", "backend"]
)
def test_an_unknown_part_is_named(name, value):
    with pytest.raises(ValueError, match=f"is called '{value}'"):
        make_sampler(make_settings(**{name: value}))


def test_a_likelihood_says_how_many_ensembles_it_needs():
    settings = make_settings()
    settings.add_ensemble()
    for call in (make_sampler, lambda s: _core.draw_prior(make_data(), s, 0, 0)):
        with pytest.raises(ValueError, match="gaussian must have 1 ensembles, not 2"):
            call(settings)


def test_weights_of_several_ensembles_have_no_one_meaning():
    settings = make_settings(likelihood="none")
    settings.add_ensemble()
    with pytest.raises(ValueError, match="takes no weights"):
        make_sampler(settings, np.ones(30))


def test_settings_of_an_ensemble_stay_where_they_are():
    settings = make_settings()
    first = settings.ensemble(0)
    for _ in range(50):
        settings.add_ensemble()
    first.n_trees = 7
    assert settings.n_trees == 7
    with pytest.raises(IndexError):
        settings.ensemble(51)


def test_two_ensembles_of_the_prior_run_and_travel():
    settings = make_settings(likelihood="none")
    settings.add_ensemble()
    settings.ensemble(1).n_trees = 5
    chains = [make_sampler(settings) for _ in range(2)]
    chains[0].sweep(20)
    chains[1].set_state(chains[0].state())
    for chain in chains:
        chain.run(0, 5, 1, _core.Control())
        assert chain.check() == []
    for e, n_trees in enumerate((3, 5)):
        one, other = (chain.draws_of(e).to_arrays() for chain in chains)
        assert one["structure_of"].shape == (5, n_trees)
        assert all((one[name] == other[name]).all() for name in one)
    assert (chains[0].trace["ensemble.1.depth"] == chains[1].trace["ensemble.1.depth"]).all()
    with pytest.raises(IndexError):
        chains[0].draws_of(2)


def test_a_table_without_rows_has_no_chain():
    with pytest.raises(ValueError, match="at least one row"):
        _core.Sampler(make_data(0), np.zeros(0), None, make_settings(), 0, 0)


def test_draws_can_be_appended_to_themselves():
    draws, _ = _core.draw_prior(make_data(), make_settings(), 0, 0)
    before = draws.predict(make_data())
    draws.append(draws)
    assert (draws.predict(make_data()) == np.repeat(before, 2, axis=0)).all()


def test_a_state_is_checked_with_settings_that_are_allowed():
    state = make_sampler(make_settings()).state()
    _core.check_state(make_settings(), 1, [], state, [])
    with pytest.raises(ValueError, match="max_depth"):
        _core.check_state(make_settings(max_depth=-5), 1, [], state, [])


def causal_settings(more: dict[str, float], n_ensembles: int = 2) -> _core.Settings:
    settings = make_settings(likelihood="causal_gaussian", more=more)
    for _ in range(n_ensembles - 1):
        settings.add_ensemble()
    return settings


EFFECTS = {"n_treatments": 1.0, "codes_arms": 1.0, "level_sd": 0.5}
ARMS = np.stack([np.linspace(-1, 1, 30), np.arange(30) % 2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        *(({"n_treatments": n}, "n_treatments must be a whole") for n in (0.0, 1.5, -1.0, np.nan)),
        *(({"level_sd": sd}, "level_sd must not be negative") for sd in (-1.0, np.nan, np.inf)),
        *(({name: None}, f"causal_gaussian needs {name}") for name in EFFECTS),
        ({"n_treatments": 2.0}, "causal_gaussian must have 3 ensembles, not 2"),
    ],
)
def test_settings_of_effects_that_are_not_allowed(change, message):
    more = {name: value for name, value in (EFFECTS | change).items() if value is not None}
    settings = causal_settings(more)
    for call in (
        lambda s: _core.Sampler(make_data(), ARMS, None, s, 0, 0),
        lambda s: _core.draw_prior(make_data(), s, 0, 0),
        _core.Settings.verify,
    ):
        with pytest.raises(ValueError, match=message):
            call(settings)


@pytest.mark.parametrize("noise", ["student_t", "learned_t", "varying_noise"])
def test_noise_of_effects_says_what_it_needs(noise):
    settings = causal_settings(EFFECTS, 3 if noise == "varying_noise" else 2)
    settings.likelihood = f"causal_{noise}"
    with pytest.raises(ValueError, match=f"causal_{noise} needs df"):
        _core.Sampler(make_data(), ARMS, None, settings, 0, 0)


@pytest.mark.parametrize("dose", [np.nan, np.inf])
def test_doses_are_finite(dose):
    y = ARMS.copy()
    y[1, 7] = dose
    with pytest.raises(ValueError, match="finite"):
        _core.Sampler(make_data(), y, None, causal_settings(EFFECTS), 0, 0)
    chain = _core.Sampler(make_data(), ARMS, None, causal_settings(EFFECTS), 0, 0)
    with pytest.raises(ValueError, match="finite"):
        chain.set_y(y)


@pytest.mark.parametrize("n_columns", [1, 3])
def test_an_outcome_has_a_dose_for_each_treatment(n_columns):
    y = np.zeros((n_columns, 30)) if n_columns > 1 else np.zeros(30)
    with pytest.raises(ValueError, match="y must have"):
        _core.Sampler(make_data(), y, None, causal_settings(EFFECTS), 0, 0)


def test_hidden_columns():
    settings = causal_settings(EFFECTS)
    settings.ensemble(1).hidden_columns = -1
    with pytest.raises(ValueError, match="hidden_columns must not be negative"):
        _core.Sampler(make_data(), ARMS, None, settings, 0, 0)
    settings.ensemble(1).hidden_columns = 5  # all there are: its trees cannot split
    chain = _core.Sampler(make_data(), ARMS, None, settings, 0, 0)
    chain.sweep(50)
    assert chain.check() == []
    assert len(chain.ensemble(1).to_arrays()["cut"]) == 0
