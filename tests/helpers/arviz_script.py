"""Use the ArviZ export as a user would; runs under ArviZ 0.x and 1.x, alone or from a test."""

from __future__ import annotations

import warnings

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
from scipy.stats import norm

from obliquebart import ObliqueBARTClassifier, ObliqueBARTRegressor

with warnings.catch_warnings():
    # 0.23 announces 1.0 when it is imported.
    warnings.simplefilter("ignore")
    import arviz as az

OPTIONS = {"n_trees": 10, "n_burn": 100, "n_draws": 100, "n_chains": 4, "random_state": 0}
GROUPS = ["posterior", "posterior_predictive", "log_likelihood", "observed_data"]


def main():
    major = int(az.__version__.partition(".")[0])
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (60, 3))
    y = 5 + x[:, 0] + x[:, 1] + 0.5 * rng.normal(size=60)
    model = ObliqueBARTRegressor(**OPTIONS).fit(x, y)
    data = model.posterior_.to_arviz(x, y, random_state=0)
    assert type(data).__name__ == ("DataTree" if major else "InferenceData")
    for group in GROUPS:
        assert group in (data.children if major else data.groups()), group
    check_numbers(data, model, x, y)
    summary = az.summary(data)
    assert "sigma" in summary.index
    assert "theta" in summary.index
    assert any(name.startswith("f[") for name in summary.index)
    az.plot_trace(data)
    az.plot_trace(data, var_names=["sigma", "theta"])
    loo = az.loo(data)
    linear = ObliqueBARTRegressor(**OPTIONS, rules="axis").fit(x, y)
    table = az.compare({"oblique": data, "axis": linear.posterior_.to_arviz(x, y)})
    assert sorted(table.index) == ["axis", "oblique"]
    check_classifier(x, y)
    print(f"ArviZ {az.__version__}: elpd {float(loo.elpd if major else loo.elpd_loo):.1f}")


def check_numbers(data, model, x, y):
    f = model.posterior_.predict(x).reshape(4, 100, 60)
    sigma = model.posterior_.trace["sigma"][..., None]
    np.testing.assert_allclose(
        data["log_likelihood"]["y"].values, norm.logpdf(y, f, sigma), rtol=1e-9
    )
    np.testing.assert_allclose(data["posterior"]["sigma"].values, sigma[..., 0])
    rows = data["posterior"]["f_row"].values
    assert len(rows) == 10
    np.testing.assert_allclose(data["posterior"]["f"].values, f[..., rows])
    np.testing.assert_allclose(data["observed_data"]["y"].values, y)
    standardised = (data["posterior_predictive"]["y"].values - f) / sigma
    # 24,000 independent standard normals: six standard errors.
    assert abs(standardised.mean()) < 6 / np.sqrt(24_000)
    assert abs(standardised.std() - 1) < 6 / np.sqrt(48_000)
    # ArviZ 0.x puts the attributes on the whole, 1.x on each group.
    attributes = {**data.attrs, **data["posterior"].attrs}
    assert attributes["inference_library"] == "obliquebart"


def check_classifier(x, y):
    labels = np.where(y > 5, "b", "a")
    model = ObliqueBARTClassifier(**OPTIONS).fit(x, labels)
    data = model.posterior_.to_arviz(x, labels == "b")
    probability = model.predict_proba(x, return_draws=True)[:, :, 1].reshape(4, 100, 60)
    likelihood = np.where(labels == "b", probability, 1 - probability)
    np.testing.assert_allclose(np.exp(data["log_likelihood"]["y"].values), likelihood, atol=1e-6)
    assert set(np.unique(data["posterior_predictive"]["y"].values)) <= {0.0, 1.0}
    az.loo(data)
    labels = np.array(["a", "b", "c"])[np.digitize(y, [4.5, 5.5])]
    data = ObliqueBARTClassifier(**OPTIONS).fit(x, labels).to_arviz(x, labels)
    assert data["posterior"]["p"].dims == ("chain", "draw", "f_row", "class")
    assert "theta[b]" in az.summary(data).index
    az.loo(data)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
