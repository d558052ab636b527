"""Rules of stopping are evaluated at the recorded iterates, and what they leave is a bound."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import LinearSVC, LogisticRegression, SGDClassifier
from separatrix.plots import ScheduleDisplay, StoppingDisplay, stopping_rules
from separatrix.schedules import Constant

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.where(X @ [1, -1, 0.5] + RNG.normal(size=60) > 0, "b", "a")
SIGNS = np.where(Y == "b", 1.0, -1.0)


def test_rules_are_those_of_the_iterates() -> None:
    model = LogisticRegression(C=2.0, solver="quasi-newton", tol=1e-10, record=True).fit(X, Y)
    rules = {rule.name: rule for rule in stopping_rules(model, X, Y, tol=1e-3)}
    lifted = np.column_stack([X, np.ones(60)])
    thetas = [
        np.append(w, b) for w, b in zip(model.trace_.coef, model.trace_.intercept, strict=True)
    ]
    values, gradients = [], []
    for theta in thetas:
        z = SIGNS * (lifted @ theta)
        values.append(0.5 * theta[:3] @ theta[:3] + 2.0 * np.logaddexp(0, -z).sum())
        slope = -2.0 * SIGNS / (1 + np.exp(z))
        gradients.append(np.linalg.norm(np.append(theta[:3], 0.0) + lifted.T @ slope))
    np.testing.assert_allclose(
        rules["gradient"].values, np.array(gradients) / gradients[0], rtol=1e-6, atol=1e-12
    )
    np.testing.assert_allclose(
        rules["step"].values[1:],
        [np.linalg.norm(b - a) / np.linalg.norm(b) for a, b in itertools.pairwise(thetas)],
    )
    np.testing.assert_allclose(
        rules["decrease"].values[1:], np.abs(np.diff(values)) / values[1:], rtol=1e-6, atol=1e-13
    )
    # What is left is more than the distance to the optimum, and the gap's rule keeps its promise.
    optimum = min(values)
    for rule in rules.values():
        assert np.all(rule.suboptimality >= (np.array(values) - optimum) / optimum - 1e-12)
        first = next(k for k, value in enumerate(rule.values) if value <= 1e-3)
        assert (rule.stop, rule.iteration) == (first, model.trace_.iterations[first])
        assert rule.left == rule.suboptimality[first]
    assert rules["gap"].left <= 1.001e-3


def test_a_small_decrease_can_stop_too_early() -> None:
    steps = {"alpha": 0.01, "learning_rate": "invscaling", "eta0": 0.05, "max_iter": 30}
    model = SGDClassifier("log_loss", tol=None, record=True, **steps).fit(X, Y)
    display = StoppingDisplay.from_estimator(
        make_pipeline(StandardScaler(), model).fit(X, Y), X, Y, tol=1e-2
    )
    rules = {rule.name: rule for rule in display.rules}
    assert rules["decrease"].left > 1e-2
    # One that never stops says so, and has no ring.
    slow = stopping_rules(model.fit(X, Y), X, Y, tol=1e-12)
    assert str(slow[-1]).startswith("gap: does not stop, at most ")
    assert slow[-1].iteration is None and slow[-1].left == slow[-1].suboptimality[-1]
    assert set(display.lines_) == {"step", "decrease", "gradient", "gap", "left"}


def test_kinks_have_no_gradient_and_other_models_no_rules() -> None:
    hinge = LinearSVC(loss="hinge", record=True).fit(X, Y)
    assert [rule.name for rule in stopping_rules(hinge, X, Y)] == ["step", "decrease", "gap"]
    with pytest.raises(ValueError, match="record=True"):
        stopping_rules(LinearSVC().fit(X, Y), X, Y)
    with pytest.raises(ValueError, match="tol"):
        stopping_rules(hinge, X, Y, tol=0)


def test_the_search_for_a_rate_is_drawn() -> None:
    model = SGDClassifier("log_loss", alpha=0.01, learning_rate="invscaling").fit(X, Y)
    display = ScheduleDisplay.from_estimator(model)
    rates, objective = display.search_.get_data()
    known = np.isfinite(model.rate_curve_["objective"])
    assert np.array_equal(rates, model.rate_curve_["rates"][known])
    assert np.array_equal(objective, model.rate_curve_["objective"][known])
    assert f"{model.eta0_:.3g} is best" in display.axes_[1].get_title(loc="left").replace("\n", " ")
    # The schedule is that of the fit.
    steps, drawn = display.lines_[0].get_data()
    np.testing.assert_allclose(drawn, model.eta0_ / steps**model.power_t)
    fixed = SGDClassifier("log_loss", learning_rate=Constant(0.1), max_iter=3).fit(X, Y)
    assert len(ScheduleDisplay.from_estimator(fixed).axes_) == 1
    with pytest.raises(TypeError, match="took no steps with learning rates"):
        ScheduleDisplay.from_estimator(SGDClassifier("log_loss").fit(X, Y))
