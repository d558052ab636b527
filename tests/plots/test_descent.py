"""Paths are the recorded iterates, and level sets are those of what was minimised."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from pictures import bare, compared
from separatrix import LinearRegression, LogisticRegression, Perceptron, SGDClassifier, SGDRegressor
from separatrix.plots import DescentDisplay
from separatrix.schedules import Constant, InverseTime

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def rows(n: int = 30):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2)) * [1.0, 2.5]
    return X, np.where(X @ [1, 0.4] + 0.5 * rng.normal(size=n) > 0, 1, -1)


X, Y = rows()
C = 1.0 / (0.05 * len(X))


def steps(rate, batch: int = 1, **options) -> SGDClassifier:
    given = {"fit_intercept": False, "average": False, "tol": None, "max_iter": 15, **options}
    return SGDClassifier(
        "log_loss", alpha=0.05, batch_size=batch, learning_rate=rate, record=True, **given
    ).fit(X, Y)


def fits() -> dict:
    newton = LogisticRegression(C=C, fit_intercept=False, record=True).fit(X, Y)
    return {"Newton": newton, "batch": steps(Constant(0.5), len(X)), "1/t": steps(InverseTime(2.0))}


def value(w) -> float:
    return 0.5 * w @ w + C * np.logaddexp(0, -Y * (X @ w)).sum()


def test_paths_and_level_sets_are_of_the_fits() -> None:
    models = fits()
    display = DescentDisplay.from_estimators(models, X, Y)
    for name, model in models.items():
        path = np.array([np.ravel(w) for w in model.trace_.coef])
        assert np.array_equal(display.paths[name], path)
        assert np.array_equal(np.column_stack(display.lines_[name].get_data()), path)
    # Batch steps go down the gradient of the mean, by the rate.
    w, after = display.paths["batch"][1:3]
    slope = -Y / (1 + np.exp(Y * (X @ w)))
    gradient = 0.05 * w + X.T @ slope / len(X)
    np.testing.assert_allclose(after, w - 0.5 * gradient, rtol=1e-9)
    # The star is where the objective is least, and level sets have their values on them.
    assert display.certified and display.minimum_.get_label() == "minimum"
    assert min(value(display.best + d) for d in ([0.01, 0], [-0.01, 0], [0, 0.01])) > value(
        display.best
    )
    span = display.contours[-1][0] - value(display.best)
    for level, lines in display.contours:
        for line in lines:
            assert max(abs(value(point) - level) for point in line) <= 2e-3 * span


def test_frames_and_paths_that_lead_away() -> None:
    models = {"Newton": fits()["Newton"], "too large": steps(Constant(300.0), len(X))}
    display = DescentDisplay.from_estimators(models, X, Y)
    left, right, bottom, top = display.extent
    assert max(right - left, top - bottom) < 15 < np.abs(display.paths["too large"]).max()
    title = display.ax_.get_title(loc="left").replace("\n", " ")
    assert title.endswith("beyond the picture: too large")
    _, ax = plt.subplots()
    display.draw_frame(2, ax)
    assert len(display.lines_["too large"].get_xdata()) == 3
    assert display.n_frames == len(display.paths["too large"])
    # Without a certified fit there is no minimum to show.
    alone = DescentDisplay.from_estimators(steps(Constant(0.1), max_iter=2), X, Y)
    assert alone.minimum_.get_label() == "best of these fits"


def test_two_weights_of_many_and_of_regressions() -> None:
    rng = np.random.default_rng(1)
    A = rng.normal(size=(50, 1))
    t = 2 * A[:, 0] - 1 + 0.1 * rng.normal(size=50)
    model = SGDRegressor(alpha=0.01, learning_rate=Constant(0.1), max_iter=8, record=True)
    display = DescentDisplay.from_estimators(model.fit(A, t), A, t)
    assert display.pair == (0, 1) and display.ax_.get_ylabel() == "intercept"
    assert np.array_equal(display.best, [model.coef_[0], np.ravel(model.intercept_)[0]])
    wide = LogisticRegression(record=True).fit(np.column_stack([X, X**2]), Y)
    own = np.column_stack([X, X**2]), Y
    assert DescentDisplay.from_estimators(wide, *own, weights=[3, "intercept"]).pair == (3, 4)
    for weights in ("intercept", [0, 0], [0, 9], [1], [0, "age"]):
        with pytest.raises(
            ValueError, match="not a weight; there are 5: x0, x1|two different weights"
        ):
            DescentDisplay.from_estimators(wide, *own, weights=weights)


def test_what_cannot_be_compared_is_refused() -> None:
    newton = fits()["Newton"]
    other = LogisticRegression(C=2 * C, fit_intercept=False, record=True).fit(X, Y)
    free = LogisticRegression(C=C, record=True).fit(X, Y)
    for second in (other, free):
        with pytest.raises(ValueError, match="'[ab]' minimises another objective"):
            DescentDisplay.from_estimators({"a": newton, "b": second}, X, Y)
    several = SGDClassifier("log_loss", learning_rate="optimal", record=True)
    classes = np.arange(len(X)) % 3
    several.fit(X, classes)
    for model, words in (
        (LogisticRegression().fit(X, Y), "record=True"),
        (several, "several classes or targets"),
        (LinearRegression().fit(X, Y), "LinearRegression"),
        (Perceptron(record=True).fit(X, Y), "Perceptron"),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            DescentDisplay.from_estimators(model, X, classes if model is several else Y)


@compared()
def test_picture_of_paths():
    return bare(DescentDisplay.from_estimators(fits(), X, Y).figure_)
