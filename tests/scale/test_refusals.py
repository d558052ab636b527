"""Every call that takes no row blocks refuses them in one sentence."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import is_regressor

import separatrix
from separatrix import _ESTIMATORS
from separatrix.exceptions import DataError
from separatrix.scale import scan

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
LABELS = np.where(X[:, 0] + RNG.normal(size=40) > 0, "yes", "no")
CLASSES = scan(X, LABELS, block_rows=15)
QUANTITY = scan(X, X[:, 0] + RNG.normal(size=40), quantity=True, block_rows=15)

COUNTS = scan(X, RNG.poisson(2.0, size=40), quantity=True, block_rows=15)

TAKE_BLOCKS = {
    "ElasticNet",
    "ElasticNetCV",
    "HuberRegressor",
    "Lasso",
    "LassoCV",
    "LinearSVR",
    "PoissonRegressor",
    "PolynomialRegression",
    "SGDRegressor",
    "LeastSquaresClassifier",
    "LinearDiscriminantAnalysis",
    "LinearRegression",
    "LinearSVC",
    "Perceptron",
    "SGDClassifier",
    "LogisticRegression",
    "LogisticRegressionCV",
    "QuadraticDiscriminantAnalysis",
    "Ridge",
    "RidgeCV",
    "RidgeClassifier",
    "RidgeClassifierCV",
}


def refused(call, name):
    with pytest.raises(TypeError) as caught:
        call()
    text = str(caught.value)
    assert text.startswith(name) and text.endswith(".") and text.count(". ") == 0, text
    assert "row blocks" in text or "blocks" in text, text


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", sorted(_ESTIMATORS))
def test_every_estimator_fits_blocks_or_says_why_not(name):
    model = getattr(separatrix, name)()
    data = QUANTITY if is_regressor(model) else CLASSES
    data = COUNTS if name == "PoissonRegressor" else data
    if name in TAKE_BLOCKS:
        with pytest.raises(ValueError, match=r"engine='dask' is not an engine: give .*Local"):
            model.fit(data, engine="dask")
        model.fit(data)
        # No perceptron separates these rows.
        assert model.certificate_.ok or name == "Perceptron"
    else:
        refused(lambda: model.fit(data), name)
        model.fit(X, np.arange(40.0) if is_regressor(model) else LABELS)
    if name != "OneClassSVM":
        # What was fitted in memory is scored over blocks all the same.
        assert np.isfinite(model.score(data))
    for method in ("predict", "decision_function", "predict_proba", "transform"):
        if hasattr(model, method):
            refused(lambda method=method: getattr(model, method)(data), name)


def test_arrays_are_refused_as_a_fit_refuses_them():
    model, numbers = separatrix.LogisticRegression(), np.arange(40) % 2
    for y, weights, said in (
        (numbers, np.full(40, np.nan), "sample_weight must be finite; row 0 has nan"),
        (numbers, np.ones(5), "pass one weight for each of the 40 rows"),
        (np.where(numbers, np.nan, 1.0), None, "Input y contains NaN"),
    ):
        with pytest.raises(ValueError, match=said):
            model.fit(X, y, sample_weight=weights)
        with pytest.raises(ValueError, match=said):
            scan(X, y, weight=weights)
    for labels in ([None] * 40, np.array([None, "a"] * 20, dtype=object)):
        for fit in (scan, model.fit):
            with pytest.raises(ValueError, match=r"no label in row 0 \(None\): give it one"):
                fit(X, labels)
    with pytest.raises(DataError, match="block_rows must be a whole number from 1, not -1"):
        scan(X, LABELS, block_rows=-1)
    with pytest.raises(DataError, match="group and time both choose"):
        scan("rows.parquet", "y", group="a", time="b", test_size=0.2)


def test_a_class_of_no_weight_is_refused_as_in_memory():
    for model in (separatrix.LogisticRegression, separatrix.RidgeClassifier):
        for rows in ((CLASSES,), (X, LABELS)):
            with pytest.raises(ValueError, match=r"one class only of positive weight \('yes'\)"):
                model(class_weight={"no": 0.0, "yes": 1.0}).fit(*rows)


def test_a_checkpoint_is_a_file_in_a_folder(tmp_path):
    for path, why in (
        (3, "is not a path"),
        (tmp_path, "is a folder"),
        (tmp_path / "a" / "b", "it"),
    ):
        with pytest.raises(ValueError, match=why):
            separatrix.LogisticRegression().fit(CLASSES, checkpoint=path)


def test_the_page_names_every_estimator_that_takes_blocks():
    page = Path(__file__).parents[2] / "docs" / "scale.md"
    rows = [row.split("|") for row in page.read_text().splitlines() if row.startswith("| `")]
    named = {
        name
        for row in rows
        if "refused" not in row[2]
        for name in re.findall("`([A-Z]\\w+)`", row[1])
    }
    assert named & set(_ESTIMATORS) == TAKE_BLOCKS


@pytest.mark.parametrize("call", ["fit", "path", "verify"])
def test_several_classes_without_a_penalty_have_no_bound_in_passes(call):
    codes = RNG.integers(0, 3, 40)
    data, model = scan(X, codes, block_rows=15), separatrix.LogisticRegression(penalty=None)
    if call == "verify":
        model.fit(X, codes)
    calls = {
        "fit": model.fit,
        "path": model.path,
        "verify": lambda rows: separatrix.verify(model, rows),
    }
    with pytest.raises(TypeError, match="no bound in passes for several classes at once"):
        calls[call](data)
