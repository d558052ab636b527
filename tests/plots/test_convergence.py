"""The proof of the convergence theorem holds along every run, and orders are those of fits."""

from __future__ import annotations

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

from grids import grid
from pictures import bare, compared
from separatrix import Perceptron, SGDClassifier
from separatrix.plots import ConvergenceDisplay, PerceptronDisplay
from separatrix.plots.updates import most_in_words
from separatrix.solvers.perceptron import ORDERS

FOUR = [[-1, 3], [-1, -1], [3, -1], [0, 1.5]], [-1, -1, 1, 1]


def separable(n: int = 40):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = np.where(X @ [1, 2] > 0, 1, -1)
    return X + 0.15 * y[:, None] * np.array([1, 2]), y


def chain(proof) -> list[np.ndarray]:
    k = np.arange(len(proof.length))
    return [proof.lower(k), proof.projection, proof.length, proof.upper(k)]


@pytest.mark.parametrize("order", ORDERS)
@grid(
    "start, rate, margin",
    [((0, 0, 0), 1, 0), ((3, -4, 2), 1, 0), ((0, 0, 0), 0.1, 0), ((1, 2, -3), 0.5, 2)],
)
def test_the_chain_holds_after_every_correction(start, rate, margin, order) -> None:
    X, y = separable()
    model = Perceptron(order=order, learning_rate=rate, margin=margin, record=True)
    model.fit(X, y, coef_init=start[:2], intercept_init=start[2])
    display = ConvergenceDisplay.from_estimator(model, X, y)
    proof = display.proof
    for lower, upper in zip(chain(proof), chain(proof)[1:], strict=False):
        assert np.all(lower <= upper + 1e-12 * np.abs(upper))
    assert len(proof.length) == model.n_updates_ + 1 <= proof.bound.bound + 1
    # The ends meet where the bound is; for other starts it is at most that.
    ends = proof.lower(proof.bound.bound), proof.upper(proof.bound.bound)
    assert ends[0] <= ends[1] * (1 + 1e-9)
    if not any(start):
        np.testing.assert_allclose(*ends, rtol=1e-6)
    # No direction has a larger margin.
    rng = np.random.default_rng(1)
    U = rng.normal(size=(5000, 3))
    U /= np.linalg.norm(U, axis=1)[:, None]
    lifted = np.column_stack([X, np.ones(len(X))])
    assert (y * (U @ lifted.T)).min(axis=1).max() <= proof.gamma
    plt.close("all")


def test_frames_show_the_run_so_far() -> None:
    display = ConvergenceDisplay.from_estimator(Perceptron(record=True).fit(*FOUR), *FOUR)
    assert display.n_frames == 10
    whole = display.ax_.get_xlim(), display.ax_.get_ylim()
    _, ax = plt.subplots()
    display.draw_frame(3, ax)
    assert (ax.get_xlim(), ax.get_ylim()) == whole
    x, y = display.lines_["length"].get_data()
    assert x.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(y**2, [0, 11, 12, 5.25], rtol=1e-12)
    assert ax.get_title(loc="left") == "3 of at most 55 corrections"


def test_bounds_are_never_rounded_down() -> None:
    written = [most_in_words(b) for b in (630.9, 4.5e9, 1.2341e15, np.inf)]
    assert written == ["630", "4,500,000,000", "1.235e+15", "infinitely many"]
    # The end of the chain is a number where its square is none.
    X, y = np.multiply(FOUR[0], 1e150), FOUR[1]
    proof = ConvergenceDisplay.from_estimator(Perceptron(record=True).fit(X, y), X, y).proof
    assert np.all(np.isfinite(replace(proof, length=proof.length * 1e10).upper([1, 2])))
    plt.close("all")


def test_what_the_theorem_is_not_about_is_refused() -> None:
    X, y = FOUR
    mixed = [[0], [1], [2]], [1, -1, 1]
    with pytest.warns(UserWarning):
        model = Perceptron(record=True, max_passes=3).fit(*mixed)
    with pytest.raises(ValueError, match="theorem bounds nothing here: not separable"):
        ConvergenceDisplay.from_estimator(model, *mixed)
    weighted = Perceptron(record=True).fit(X, y, sample_weight=[0.5, 1, 1, 1])
    falling = SGDClassifier.perceptron(learning_rate="invscaling", eta0=1.0, record=True).fit(X, y)
    for other in (weighted, falling):
        with pytest.raises(ValueError, match="with a constant rate"):
            ConvergenceDisplay.from_estimator(other, X, y)
    with pytest.raises(ValueError, match="record=True"):
        ConvergenceDisplay.from_estimator(Perceptron().fit(X, y), X, y)


def test_orders_are_compared_by_the_runs_that_fits_make() -> None:
    X, y = separable()
    starts = [[0, 0, 0], [3, -4, 1]]
    display = PerceptronDisplay.compare_orders(X, y, ORDERS, starts=starts, n_trials=5)
    assert [runs.order for runs in display.runs] == [*ORDERS, *ORDERS]
    for runs in display.runs:
        assert runs.finished.all()
        assert runs.corrections.max() <= runs.bound.bound
        assert len(runs.corrections) == (5 if runs.order in ("random", "replacement") else 1)
        if len(runs.corrections) == 1:
            model = Perceptron(order=runs.order)
            model.fit(X, y, coef_init=runs.start[:2], intercept_init=runs.start[2])
            assert runs.corrections.tolist() == [model.n_updates_]
            assert runs.passes.tolist() == [model.n_iter_]
    # Every trial draws anew.
    assert len({*display.runs[2].corrections, *display.runs[3].corrections}) > 1
    assert display.labels()[6] == "restart\nfrom (3, −4, 1)"
    assert len(display.bounds_) == len(display.runs)
    for bad, words in (
        ({"orders": "cyclic"}, "must be a sequence"),
        ({"orders": ["sorted"]}, "orders"),
        ({"n_trials": 0}, "n_trials"),
        ({"starts": [[1, 2]]}, r"coef_init has the shape \(1,\)"),
    ):
        with pytest.raises(ValueError, match=words):
            PerceptronDisplay.compare_orders(X, y, **bad)
    with pytest.raises(ValueError, match="No order of visits comes to an end: not separable"):
        PerceptronDisplay.compare_orders([[0], [1], [2]], [1, -1, 1])


@compared()
def test_picture_of_the_proof():
    model = Perceptron(record=True).fit(*FOUR)
    return bare(ConvergenceDisplay.from_estimator(model, *FOUR).figure_)


@compared()
def test_picture_of_orders():
    return bare(PerceptronDisplay.compare_orders(*separable(), n_trials=12).figure_)
