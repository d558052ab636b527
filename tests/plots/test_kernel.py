"""The plane is the decision function, its three coordinates are orthonormal, and it comes back."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.svm as sk
from matplotlib.figure import Figure
from sklearn.datasets import make_circles, make_moons

from pictures import bare, compared
from separatrix import SVC, LinearSVC
from separatrix.kernels import DeltaKernel
from separatrix.plots import KernelDisplay


def rings(n: int = 100) -> tuple[np.ndarray, np.ndarray]:
    return make_circles(n, noise=0.08, factor=0.45, random_state=0)


KERNELS = [
    {"degree": 2, "gamma": 1.0, "coef0": 1.0},
    {"degree": 2, "gamma": 1.0, "coef0": 0.0},
    {"degree": 2, "gamma": 0.7, "coef0": 0.3},
    {"degree": 3, "gamma": 1.0, "coef0": 1.0},
    {"degree": 4, "gamma": 0.5, "coef0": 0.0},
    {"degree": 2, "gamma": "scale", "coef0": 1.0},
]


@pytest.mark.parametrize("machine", [SVC, sk.SVC])
@pytest.mark.parametrize("options", KERNELS)
def test_the_plane_in_three_coordinates_is_the_decision_function(
    machine: type, options: dict
) -> None:
    X, y = rings()
    model = machine(kernel="poly", **options).fit(X, y)
    display = KernelDisplay.from_estimator(model, X, y)
    assert display.finite
    assert np.allclose(display.plane.decision(display.lifted), model.decision_function(X))
    # A projection on orthonormal directions: the length of the weights is that in the lift, ...
    dual = np.asarray(model.dual_coef_)[0]
    kernel = SVC(kernel="poly", **options).fit(X, y).kernel_
    square = dual @ kernel(model.support_vectors_) @ dual
    assert display.plane.norm**2 == pytest.approx(square)
    # ... and no distance between points is more than there.
    whole = kernel.lift(X)
    there = np.linalg.norm(whole[:1] - whole, axis=1)
    assert np.all(np.linalg.norm(display.lifted[:1] - display.lifted, axis=1) <= there + 1e-9)


def test_the_three_monomials_of_degree_two_are_drawn_as_they_are() -> None:
    X, y = rings()
    model = SVC(kernel="poly", degree=2, gamma=1, coef0=0).fit(X, y)
    display = KernelDisplay.from_estimator(model, X, y)
    assert display.lift_names == ("x0²", "x1²", "√2 x0 x1")
    assert np.allclose(display.lifted[:, 0], X[:, 0] ** 2)
    assert np.allclose(display.lifted[:, 2], np.sqrt(2) * X[:, 0] * X[:, 1])


def test_the_drawn_plane_is_where_the_score_is_zero() -> None:
    X, y = rings()
    model = SVC(kernel="poly", degree=2, gamma=1, coef0=1).fit(X, y)
    display = KernelDisplay.from_estimator(model, X, y)
    outline = display.plane.clip(*np.array([display.axes_[1].get_xlim3d(),
                                            display.axes_[1].get_ylim3d(),
                                            display.axes_[1].get_zlim3d()]).T)  # fmt: skip
    assert len(outline) >= 3
    assert np.allclose(display.plane.decision(outline), 0.0, atol=1e-12)
    # The eye sees the plane from near its edge.
    ax = display.axes_[1]
    e, a = np.deg2rad([ax.elev, ax.azim])
    eye = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    span = np.ptp([ax.get_xlim3d(), ax.get_ylim3d(), ax.get_zlim3d()], axis=1)
    normal = display.plane.w * span
    assert abs(eye @ normal) / np.linalg.norm(normal) < 0.6
    assert sum(len(c.get_offsets()) for c in display.lifted_) == len(X)


@pytest.mark.parametrize("options", [{"kernel": "rbf", "gamma": 1.0}, {"kernel": "poly",
                         "degree": 2, "gamma": 1.0, "coef0": 1.0}])  # fmt: skip
def test_boundary_and_margins_within_a_pixel(options: dict) -> None:
    X, y = rings()
    model = SVC(C=10, **options).fit(X, y)
    display = KernelDisplay.from_estimator(model, X, y)
    display.figure_.draw_without_rendering()
    to = display.ax_.transData
    for lines, levels in ((display.boundary_, (0.0,)), (display.margin_lines_, (-1.0, 1.0))):
        assert lines
        for line in lines:
            at = to.transform(line.get_xydata())
            step = np.gradient(at, axis=0)
            keep = np.linalg.norm(step, axis=1) > 1e-9
            at, step = at[keep], step[keep]
            step /= np.linalg.norm(step, axis=1, keepdims=True)
            across = np.column_stack([-step[:, 1], step[:, 0]])
            level = min(levels, key=lambda v: abs(
                np.median(model.decision_function(line.get_xydata())) - v))  # fmt: skip
            sides = [
                model.decision_function(to.inverted().transform(at + s * across)) - level
                for s in (-1.0, 1.0)
            ]
            assert np.all(sides[0][2:-2] * sides[1][2:-2] < 0)


def test_support_vectors_are_ringed() -> None:
    X, y = rings()
    model = SVC(C=10, gamma=1.0).fit(X, y)
    display = KernelDisplay.from_estimator(model, X, y)
    ringed = np.asarray(display.support_.get_offsets())
    assert np.array_equal(ringed, X[model.support_])
    assert f"{len(model.support_)} support vectors" in display.ax_.get_title("left")


def test_a_kernel_without_a_finite_lift_shows_the_score() -> None:
    X, y = make_moons(80, noise=0.1, random_state=0)
    for model in (sk.SVC(gamma=2.0), SVC(kernel=DeltaKernel()), SVC(gamma=2.0)):
        model.fit(X, y)
        display = KernelDisplay.from_estimator(model, X, y)
        assert np.allclose(display.lifted[:, 2], model.decision_function(X))
    assert not display.finite and display.surface_ is not None
    assert display.lift_names == ("x0", "x1", "score")
    assert "the score, and level 0" in display.axes_[1].get_title("center")


def test_few_evaluations_and_rasterised_points() -> None:
    X, y = rings(10_000)
    model = SVC(gamma=1.0).fit(X, y)
    display = KernelDisplay.from_estimator(model, X, y)
    rows = 0

    def counted(points: np.ndarray) -> np.ndarray:
        nonlocal rows
        rows += len(points)
        return decision(points)

    decision, display.decision = display.decision, counted
    display.plot()
    assert rows < 30_000
    assert all(p.get_rasterized() for p in display.points_)


def test_names_frames_sparse_and_given_axes() -> None:
    X, y = rings()
    labels = np.array(["in $a$", "out"])[y]
    frame = pd.DataFrame(X, columns=["p $q$", "r"])
    model = SVC(kernel="poly", degree=2, gamma=1, coef0=1).fit(frame, labels)
    figure = plt.figure(figsize=(9, 3))
    axes = [figure.add_subplot(1, 3, k + 1, projection="3d" if k == 1 else None) for k in range(3)]
    display = KernelDisplay.from_estimator(model, frame, labels, ax=axes)
    assert display.ax_ is axes[2]
    assert display.lift_names[0] == r"√2 p \$q\$"
    display.figure_.draw_without_rendering()
    own = SVC(kernel="poly", degree=2, gamma=1, coef0=1).fit(X, y)
    for matrix in (sp.csr_array(X), X.astype(np.float32)):
        drawn = KernelDisplay.from_estimator(own, matrix, y)
        assert np.allclose(drawn.lifted, display.lifted, atol=1e-5)


def test_bad_input_gets_a_sentence() -> None:
    X, y = rings()
    with pytest.raises(TypeError, match="has no support vectors"):
        KernelDisplay.from_estimator(LinearSVC().fit(X, y), X, y)
    wide = np.column_stack([X, X[:, 0]])
    with pytest.raises(ValueError, match="X has 3 columns; this picture needs two"):
        KernelDisplay.from_estimator(SVC().fit(wide, y), wide, y)
    three = np.arange(len(X)) % 3
    with pytest.raises(ValueError, match="the model has 3 classes"):
        KernelDisplay.from_estimator(SVC().fit(X, three), X, three)
    with pytest.raises(TypeError, match="a precomputed kernel has no points"):
        gram = X @ X.T
        KernelDisplay.from_estimator(SVC(kernel="precomputed").fit(gram, y), gram, y)
    model = SVC().fit(X, y)
    with pytest.raises(ValueError, match="Row 1 has the label 7"):
        KernelDisplay.from_estimator(model, X, np.where(y == 1, 7, 0))
    with pytest.raises(ValueError, match='projection="3d"'):
        KernelDisplay.from_estimator(model, X, y, ax=plt.subplots(1, 3)[1])
    other = sk.SVC(kernel="poly", degree=2).fit(X, y)
    with pytest.raises(ValueError, match="pass the rows of the fit"):
        KernelDisplay.from_estimator(other, X[:20] * 3, y[:20])


def test_numbers_are_short_in_names_and_formulas() -> None:
    X, y = rings()
    X = 1e6 * X
    model = SVC(kernel="poly", degree=2, coef0=1).fit(X, y)
    display = KernelDisplay.from_estimator(model, X, y)
    assert r"\times10^{-12}" in display.formula
    assert all("e-" not in name for name in display.lift_names)
    assert "×10⁻⁶ x0" in display.lift_names[0]


def test_machines_without_a_boundary_get_a_sentence() -> None:
    X, y = rings()
    with pytest.raises(TypeError, match="SVR is not a classifier"):
        KernelDisplay.from_estimator(sk.SVR().fit(X, y), X, y)
    with pytest.raises(TypeError, match="its kernel is a function"):
        KernelDisplay.from_estimator(sk.SVC(kernel=lambda a, b: a @ b.T).fit(X, y), X, y)
    same = np.ones((4, 2))
    model = SVC(kernel="poly", degree=2, gamma=1, coef0=1).fit(same, [0, 0, 1, 1])
    with pytest.raises(ValueError, match="the weights of the model are all zero"):
        KernelDisplay.from_estimator(model, same, [0, 0, 1, 1])


@compared()
def test_kernel_picture() -> Figure:
    X, y = rings(40)
    model = SVC(kernel="poly", degree=2, gamma=1, coef0=1).fit(X, y)
    return bare(KernelDisplay.from_estimator(model, X, y).figure_)
