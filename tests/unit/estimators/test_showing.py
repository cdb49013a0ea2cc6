"""What a notebook shows of models, posteriors and summaries; the name of the outcome."""

from __future__ import annotations

import pickle
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.pipeline import make_pipeline

from helpers import small_models
from helpers.estimators import OPTIONS
from obliquebart import ModelFileError, ObliqueBARTClassifier, ObliqueBARTRegressor, load
from obliquebart.files.container import Contents, pack, unpack
from obliquebart.files.model_reader import ALIKE_SCHEMA, FORMAT, read_model

X = np.random.default_rng(0).uniform(size=(40, 2))
Y = X[:, 0] + np.random.default_rng(1).normal(size=40)


class Cells(HTMLParser):
    """Collects the texts, and checks that every element is closed."""

    def __init__(self, html):
        super().__init__()
        self.open, self.texts = [], []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, _):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data.strip())


def test_a_fitted_model_adds_what_it_found_to_the_diagram():
    model = ObliqueBARTRegressor(**OPTIONS, random_state=0)
    before = model._repr_mimebundle_()["text/html"]
    assert "sk-top-container" in before
    assert "obliquebart" not in before
    html = model.fit(X, pd.Series(Y, name="price"))._repr_mimebundle_()["text/html"]
    assert "sk-top-container" in html
    texts = Cells(html[html.index('<div class="obliquebart">') :]).texts
    facts = {"price, a number", "2 continuous, 0 categorical", "40"}
    assert facts | {"2 chains of 25 draws of 20 trees with soft rules", "verdict"} <= set(texts)
    assert model._repr_html_().endswith(html[html.index('<div class="obliquebart">') :])
    with sklearn.config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()
        assert not hasattr(model, "_repr_html_")
    assert "sk-top-container" in make_pipeline(model)._repr_html_()


def test_a_fitted_model_shows_all_of_the_verdict():
    model = ObliqueBARTRegressor(**{**OPTIONS, "n_chains": 1}, random_state=0).fit(X, Y)
    html = model._repr_html_()
    verdict = model.summary().verdict
    assert len(verdict.sentences) > 1
    assert str(verdict) in Cells(html[html.index('<div class="obliquebart">') :]).texts


def test_a_model_of_many_classes_names_some():
    labels = np.repeat([f"<{i}>" for i in range(12)], 4)
    model = ObliqueBARTClassifier(**OPTIONS).fit(np.arange(48.0).reshape(-1, 1), labels)
    html = model._repr_html_()
    assert "y, 12 classes: &lt;0&gt;, &lt;10&gt;" in html
    assert ", …" in html


def test_a_loaded_model_is_shown_too(tmp_path):
    path = tmp_path / "model.obart"
    model = ObliqueBARTRegressor(**OPTIONS).fit(X, Y)
    model.save(path)
    assert ">40</td>" in load(path)._repr_html_()
    model.save(path, include_state=False)
    assert "2 continuous" in load(path)._repr_html_()


def test_posteriors_and_summaries():
    model, table, _ = small_models.three_classes()
    html = model.summary(table)._repr_html_()
    texts = Cells(html).texts
    assert html.count("<caption>") == 6
    assert "versicolor" in texts
    assert str(model.summary(table).verdict) in texts
    regressor = small_models.regressor()
    html = regressor.posterior_._repr_html_()
    assert "100 draws of 20 trees" in html
    assert "sigma" in Cells(html).texts
    assert "No verdict without rows" in regressor.posterior_.summary()._repr_html_()


def test_importances_and_effects():
    model, table = small_models.regressor(), small_models.mixed_table()[0]
    importance = model.importance(table)
    texts = Cells(importance._repr_html_()).texts
    assert {row.column for row in importance} <= set(texts)
    effect = ObliqueBARTRegressor(**OPTIONS).fit(X, Y, target_name="price").effects(X, 0)
    assert "average predicted price by x0" in Cells(effect._repr_html_()).texts
    assert str(effect).startswith("average predicted price by x0")


@pytest.mark.parametrize(
    ("y", "given", "name"),
    [
        (pd.Series(Y, name="price"), None, "price"),
        (pl.Series("price", Y), None, "price"),
        (pd.Series(Y, name="price"), "rent", "rent"),
        (Y, "rent", "rent"),
        (Y, None, None),
        (pd.Series(Y), None, None),
        (pd.Series(Y, name=0), None, None),
        (pl.Series(Y), None, None),
    ],
)
def test_the_outcome_has_the_name_of_its_series(y, given, name):
    model = ObliqueBARTRegressor(**OPTIONS).fit(X, y, target_name=given)
    assert model.target_name_ == name
    assert pickle.loads(pickle.dumps(model)).target_name_ == name
    assert model.sample_more(5).target_name_ == name


def test_a_frame_of_one_column_has_a_name_too():
    with pytest.warns(sklearn.exceptions.DataConversionWarning):
        model = ObliqueBARTRegressor(**OPTIONS).fit(X, pd.DataFrame({"price": Y}))
    assert model.target_name_ == "price"


@pytest.mark.parametrize("wrong", ["", "  ", 3])
def test_a_wrong_name(wrong):
    with pytest.raises(ValueError, match="target_name="):
        ObliqueBARTRegressor(**OPTIONS).fit(X, Y, target_name=wrong)


def test_the_name_is_in_the_file_and_checked(tmp_path):
    path = tmp_path / "model.obart"
    ObliqueBARTRegressor(**OPTIONS).fit(X, Y).save(path)
    assert "target" not in unpack(path.read_bytes(), FORMAT, (ALIKE_SCHEMA,)).header
    ObliqueBARTRegressor(**OPTIONS).fit(X, Y, target_name="Preis in €").save(path)
    assert load(path).target_name_ == "Preis in €"
    header, arrays = unpack(path.read_bytes(), FORMAT, (ALIKE_SCHEMA,))
    for wrong in (3, None, " ", ["price"]):
        with pytest.raises(ModelFileError):
            read_model(pack(Contents({**header, "target": wrong}, arrays)))
