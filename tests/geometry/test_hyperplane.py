"""Hyperplanes: sides, distances, margins, drawing, the lift and back."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression as Other

from grids import share
from separatrix import Hyperplane, LinearSVC, SGDClassifier, training_error
from separatrix.losses import loss_of

numbers = st.floats(-1e3, 1e3).map(lambda v: round(v, 3))


@pytest.mark.sampled
@settings(max_examples=share(100), deadline=None)
@given(st.lists(numbers, min_size=1, max_size=5), numbers, st.integers(0, 2**32 - 1))
def test_distances_projections_and_margins(w, b, seed) -> None:
    w = np.array(w)
    if not np.any(w):
        return
    plane = Hyperplane(w, b)
    X = np.random.default_rng(seed).standard_normal((6, len(w)))
    y = np.where(np.arange(6) % 2, 1, -1)
    scores = X @ w + b
    size = np.abs(X) @ np.abs(w) + abs(b)
    np.testing.assert_allclose(plane.decision(X), scores, atol=1e-12 * size.max())
    distance = plane.signed_distance(X)
    np.testing.assert_allclose(distance * np.linalg.norm(w), scores, atol=1e-12 * size.max())
    foot = plane.project(X)
    # The foot is on the plane, and the way to it is the distance, along the normal.
    tolerance = 1e-10 * (1 + size.max() / np.linalg.norm(w))
    np.testing.assert_allclose(plane.signed_distance(foot), 0, atol=tolerance)
    np.testing.assert_allclose(X - foot, np.outer(distance, plane.unit), atol=tolerance)
    np.testing.assert_allclose(plane.functional_margin(X, y), y * scores, atol=1e-12 * size.max())
    assert plane.geometric_margin(X, y) == pytest.approx(np.min(y * distance), abs=tolerance)
    np.testing.assert_array_equal(plane.side(X), np.where(plane.decision(X) >= 0, 1, -1))


@pytest.mark.parametrize("d", [1, 2, 3, 7])
def test_margin_boundaries_are_parallel_at_one_over_the_norm(d: int) -> None:
    rng = np.random.default_rng(d)
    plane = Hyperplane(rng.standard_normal(d), 0.7)
    for boundary, value in zip(plane.margin_boundaries, (1.0, -1.0), strict=True):
        assert boundary.w.tolist() == plane.w.tolist()
        # On the boundary the plane's own score is +-1, at the distance 1 / |w|.
        assert plane.decision(boundary.point[None])[0] == pytest.approx(value)
        assert abs(plane.signed_distance(boundary.point[None])[0]) == pytest.approx(1 / plane.norm)
    assert plane.gap_width == pytest.approx(2 / np.linalg.norm(plane.w))
    assert plane.dimension == d - 1


@pytest.mark.parametrize("d", [1, 2, 3, 7])
def test_points_on_the_plane(d: int) -> None:
    rng = np.random.default_rng(d)
    plane = Hyperplane(rng.standard_normal(d), -0.3)
    assert plane.basis.shape == (d - 1, d)
    np.testing.assert_allclose(plane.basis @ plane.basis.T, np.eye(d - 1), atol=1e-12)
    np.testing.assert_allclose(plane.basis @ plane.w, 0, atol=1e-12)
    on_it = plane.point + rng.standard_normal((5, d - 1)) @ plane.basis
    np.testing.assert_allclose(plane.decision(on_it), 0, atol=1e-12)


def test_the_outline_inside_a_box() -> None:
    assert Hyperplane([1, 1], -1).clip([0, 0], [1, 2]).tolist() == [[0, 1], [1, 0]]
    assert len(Hyperplane([1, 1], -9).clip([0, 0], [1, 2])) == 0
    hexagon = Hyperplane([1, 1, 1], -1.5).clip([0, 0, 0], [1, 1, 1])
    assert len(hexagon) == 6
    sides = np.linalg.norm(hexagon - np.roll(hexagon, 1, axis=0), axis=1)
    np.testing.assert_allclose(sides, np.sqrt(0.5))
    with pytest.raises(ValueError, match="4 dimensions"):
        Hyperplane(np.ones(4)).clip(np.zeros(4), np.ones(4))


def test_the_lift_and_back() -> None:
    plane = Hyperplane([2.0, -1.0], 3.0)
    X = np.array([[1.0, 2.0], [0.0, -4.0]])
    lifted = Hyperplane.lift(X)
    assert lifted.tolist() == [[1, 2, 1], [0, -4, 1]]
    assert (lifted @ plane.theta).tolist() == plane.decision(X).tolist()
    assert Hyperplane.from_lifted(plane.theta) == plane
    assert Hyperplane.lift(sp.csr_matrix(X)).toarray().tolist() == lifted.tolist()


def test_of_a_model_of_this_library_and_of_another() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = np.where(X[:, 0] > 0, "up", "down")
    for model in (LinearSVC().fit(X, y), Other().fit(X, y)):
        plane = Hyperplane.from_model(model)
        np.testing.assert_allclose(plane.decision(X), model.decision_function(X), atol=1e-12)
        # On the plane is +1, which is the second class.
        assert np.array_equal(np.where(plane.side(X) > 0, "up", "down"), model.predict(X))
        with pytest.raises(TypeError, match=r"Hyperplane\.from_model\(model\)"):
            Hyperplane(model)


def test_sparse_and_float32_points() -> None:
    plane = Hyperplane([1.0, 0.0, -2.0], 0.5)
    X = np.array([[1, 0, 0], [0, 3, 1]], dtype=np.float32)
    for form in (X, sp.csr_matrix(X), X.astype(np.float64)):
        assert plane.decision(form).tolist() == [1.5, -1.5]


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_norms_neither_overflow_nor_vanish(scale: float) -> None:
    plane = Hyperplane(np.array([3.0, 4.0]) * scale, 5.0 * scale)
    assert plane.norm == pytest.approx(5 * scale)
    assert plane.signed_distance([[0.0, 0.0]])[0] == pytest.approx(1.0)
    assert plane.normalised().w.tolist() == pytest.approx([0.6, 0.8])


def test_text() -> None:
    assert str(Hyperplane([0.5, -2.0], 1.0)) == "0.5 x0 - 2 x1 + 1 = 0"


@pytest.mark.parametrize(
    ("w", "b"), [([], 0.0), ([np.nan], 0.0), ([1.0], np.inf), ([[1.0, 2.0]], 0.0), (["a"], 0.0)]
)
def test_what_is_no_hyperplane(w, b) -> None:
    with pytest.raises((ValueError, TypeError)):
        Hyperplane(w, b)


def test_weights_are_a_copy_that_cannot_be_written() -> None:
    w = np.array([1.0, 2.0])
    plane = Hyperplane(w)
    w[0] = 9.0
    assert plane.w.tolist() == [1, 2]
    with pytest.raises(ValueError):
        plane.w[0] = 3.0


def test_no_distance_from_a_plane_without_a_normal() -> None:
    with pytest.raises(ValueError):
        Hyperplane([0.0, 0.0], 1.0).signed_distance([[1.0, 1.0]])


def test_a_point_on_the_plane_is_on_the_positive_side():
    plane = Hyperplane([3.0, -4.0], 5.0)
    assert plane.side([[1.0, 2.0], [1.0, -1.0], [0.0, 3.0]]).tolist() == [1, 1, -1]


@pytest.mark.parametrize("weighted", [False, True])
def test_the_objective_is_the_one_that_models_minimise(weighted: bool) -> None:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((60, 3))
    y = np.where(X[:, 0] + rng.standard_normal(60) > 0, "yes", "no")
    s = rng.uniform(size=60) if weighted else None
    formulas = {
        "hinge": lambda z: np.maximum(0, 1 - z),
        "squared_hinge": lambda z: np.maximum(0, 1 - z) ** 2,
        "log_loss": lambda z: np.log1p(np.exp(-z)),
        "modified_huber": lambda z: np.where(z < -1, -4 * z, np.maximum(0, 1 - z) ** 2),
        "squared_error": lambda z: 0.5 * (1 - z) ** 2,
        "perceptron": lambda z: np.maximum(0, -z),
        "zero_one": lambda z: z <= 0,
    }
    for loss, formula in formulas.items():
        plane = Hyperplane(rng.standard_normal(3), 0.4)
        if loss not in ("perceptron", "zero_one"):
            model = SGDClassifier(loss, alpha=0.3).fit(X, y, sample_weight=s)
            plane = Hyperplane.from_model(model)
            fitted = plane.objective(X, y, loss, alpha=0.3, sample_weight=s)
            assert fitted == pytest.approx(0.3 * model.certificate_.primal, rel=1e-13)
        charged = formula(np.where(y == "yes", 1, -1) * (X @ plane.w + plane.b))
        mean, square = np.average(charged, weights=s), plane.w @ plane.w
        total = 60 if s is None else s.sum()
        given = {"sample_weight": s}
        for strength, expected in (
            ({"lam": 0}, mean),
            ({"lam": 0.3}, mean + 0.15 * square),
            ({"C": 2}, 2 * total * mean + 0.5 * square),
        ):
            found = plane.objective(X, y, loss, **strength, **given)
            assert found == pytest.approx(expected, rel=1e-13)
        by_object = plane.objective(X, y, loss_of(loss, convex=False), lam=0, **given)
        assert by_object == pytest.approx(mean, rel=1e-13)
    numbers = X[:, 1] - 3
    squares = (numbers - X @ plane.w - plane.b) ** 2
    expected = np.average(squares, weights=s)
    assert plane.mse(X, numbers, sample_weight=s) == pytest.approx(expected, rel=1e-13)
    # Rounded, the score would be 0, which is a mistake.
    weights, point = [1e16, 1.0, -1e16], [[1.0, 1.0, 1.0]]
    assert Hyperplane(weights).objective(point, [1], "zero_one", lam=0) == 0.0
    assert not training_error((weights, 0.0), point, [1])


def test_strengths_and_losses_that_are_none() -> None:
    plane, X, y = Hyperplane([1.0]), [[-1.0], [1.0]], [-1, 1]
    for strengths in ({}, {"lam": 1, "C": 1}):
        with pytest.raises(ValueError, match="one of lam, C and alpha"):
            plane.objective(X, y, **strengths)
    for bad, match in (({"C": np.inf}, "C=inf"), ({"lam": -1}, "lam=-1")):
        with pytest.raises(ValueError, match=match):
            plane.objective(X, y, **bad)
    with pytest.raises(ValueError, match=r"loss='huge' is not known; .*'zero_one'"):
        plane.objective(X, y, "huge", lam=1)
    with pytest.raises(ValueError, match="X has 2 columns"):
        plane.mse([[1, 2]], [1])
