"""Certificates of fitted models, recomputed in passes over row blocks."""

import numpy as np
import pytest

from separatrix import (
    SVR,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    Perceptron,
    QuadraticDiscriminantAnalysis,
    Ridge,
    SGDClassifier,
    verify,
)
from separatrix.scale import scan

RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 4))
LABELS = np.where(X[:, 0] + X[:, 1] + RNG.normal(size=500) > 0.0, "b", "a")
NUMBERS = X[:, 0] + RNG.normal(size=500)
CLASSES = scan(X, LABELS, block_rows=90)
QUANTITY = scan(X, NUMBERS, quantity=True, block_rows=90)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(class_weight="balanced"),
        LinearSVC(),
        SGDClassifier("log_loss", alpha=0.05),
        SGDClassifier(alpha=0.1, tol=1e-2),
        Perceptron(max_passes=4),
        LinearDiscriminantAnalysis(),
        QuadraticDiscriminantAnalysis(shrinkage="auto"),
        LeastSquaresClassifier(class_weight="balanced"),
        LinearRegression(),
        Ridge(alpha=3.0),
    ],
    ids=str,
)
def test_blocks_tell_a_fit_from_one_that_is_off(model):
    data, y = (CLASSES, LABELS) if hasattr(model, "decision_function") else (QUANTITY, NUMBERS)
    model.fit(X, y)
    found, expected = verify(model, data), verify(model, X, y)
    assert found.status == expected.status
    if hasattr(expected, "primal"):
        assert found.primal == pytest.approx(expected.primal, rel=1e-9)
        assert found.dual <= expected.primal * (1.0 + 1e-12)
    if isinstance(model, Perceptron):
        return
    for name in ("coef_", "covariance_"):
        if hasattr(model, name):
            setattr(model, name, 3.0 * getattr(model, name))
    assert verify(model, data).status == "above_tol"


def test_what_cannot_be_verified_over_blocks():
    model = LogisticRegression().fit(X, LABELS)
    with pytest.raises(ValueError, match="classes of memory are not those"):
        verify(model, scan(X, np.where(LABELS == "a", "b", "c")))
    with pytest.raises(ValueError, match="y is given"):
        verify(model, CLASSES, LABELS)
    with pytest.raises(TypeError, match="SVR cannot be"):
        verify(SVR().fit(X, NUMBERS), QUANTITY)
    # The model is as it was.
    names = vars(model).copy()
    verify(model, CLASSES)
    assert vars(model).keys() == names.keys()
