"""What notebooks show of results: tables and sentences, with every name escaped."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from separatrix import (
    LinearRegression,
    LogisticRegression,
    compare,
    diagnose,
    separability,
    verify,
)

HOSTILE = "<script>alert(1)</script>"


class Page(HTMLParser):
    """Tags, and the words between them; every tag that opens is closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags, self.words, self.open = [], [], []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def data():
    iris = load_iris(as_frame=True)
    frame = iris.data.rename(columns={"petal width (cm)": HOSTILE})
    return frame, np.where(iris.target == 0, HOSTILE, "other"), iris.target


def shown(data):
    X, labels, three = data
    few = X.iloc[::10]
    logistic = LogisticRegression().fit(few, labels[::10])
    yield "certificate", logistic.certificate_, ["status", "optimal", "objective"]
    exact = verify(logistic, few, labels[::10], rigorous=True)
    yield "exact", exact, ["optimum, exactly"]
    line = LinearRegression().fit(X.iloc[:, :3], X[HOSTILE])
    yield "residual", line.certificate_, ["relative residual", "condition number"]
    yield "summary", line.summary(X.iloc[:, :3], X[HOSTILE]), ["std. error", "(intercept)"]
    yield "path", LogisticRegression().path(X, labels, 3, cv=3), ["C", "gap", "accuracy"]
    yield "diagnosis", diagnose(X, labels), ["what", "warning"]
    yield "verdict", separability(X, labels), []
    yield "verdicts", separability(X, three), ["classes", "verdict", "proof"]
    yield "comparison", compare(X, labels, models=["lda", "constant"], cv=3), ["model", "accuracy"]


def test_results_are_tables_without_markup_of_their_data(data) -> None:
    seen = 0
    for name, result, words in shown(data):
        html = result._repr_html_()
        page = Page(html)
        assert "script" not in page.tags, name
        assert set(words) <= set(page.words), name
        assert len(repr(result)) <= 80, name
        seen += 1
    assert seen == 9
    # The one that names the label.
    assert HOSTILE in "".join(Page(separability(data[0], data[1])._repr_html_()).words)


def test_the_diagram_of_scikit_learn_says_how_good_the_fit_is() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = LogisticRegression(max_iter=2).set_params(max_iter=100).fit((X - X.mean()) / X.std(), y)
    assert repr(model.certificate_).startswith("<optimal, within ")
    assert len(repr(model.certificate_)) <= 30
    html = model._repr_html_()
    if "certificate_" in html:  # diagrams of scikit-learn 1.9 have attributes
        assert "&lt;optimal, within " in html


def test_the_best_of_a_path_stands_out() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    path = LogisticRegression().path((X - X.mean(axis=0)) / X.std(axis=0), y, [1e-3, 1, 1e3], cv=3)
    html = path._repr_html_()
    assert html.count("<b>") == len(path._columns())
    assert f"<b>{path.best:g}</b>" in html
    assert repr(path) == "<Path of 3 values of C, best 1>"
    frame = pd.DataFrame(path.table())
    assert len(frame) == 3
