"""Boundaries of classes: where two discriminants are equal, and what the surface is."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.linalg import LinAlgWarning
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as SklearnLDA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis as SklearnQDA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as SklearnSVC

from separatrix import (
    Hyperplane,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    QuadraticDiscriminantAnalysis,
)
from separatrix.geometry import Discriminant, Quadric


@pytest.mark.parametrize("kind", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_boundaries_agree_with_the_scores(kind, load, offset) -> None:
    X, y = load(return_X_y=True)
    X = X + offset
    model = kind().fit(X, np.array(["a", "b", "c"])[y])
    own = model.discriminant()
    assert own.classes.tolist() == ["a", "b", "c"] and own.n_classes == 3
    assert own.linear == (kind is LinearDiscriminantAnalysis) and own.n_features == X.shape[1]
    log_proba = model.predict_log_proba(X)
    np.testing.assert_array_equal(own.predict(X), model.predict(X))
    for i, j in itertools.permutations(range(3), 2):
        boundary = own.boundary("abc"[i], "abc"[j])
        assert isinstance(boundary, Hyperplane if own.linear else Quadric)
        expected = log_proba[:, i] - log_proba[:, j]
        size = np.abs(expected).max()
        tol = 1e-9 if offset else 1e-10
        np.testing.assert_allclose(boundary.decision(X), expected, atol=size * tol)
        scores = own.decision(X)
        np.testing.assert_allclose(scores[:, i] - scores[:, j], expected, atol=size * 1e-7)


def test_points_on_a_boundary_are_equally_probable() -> None:
    X, y = load_iris(return_X_y=True)
    model = QuadraticDiscriminantAnalysis().fit(X[:, 2:], y)
    boundary = model.discriminant().boundary(1, 2)
    left, right = X[y == 1, 2:].mean(axis=0), X[y == 2, 2:].mean(axis=0)
    for _ in range(80):
        middle = 0.5 * (left + right)
        if boundary.decision([middle])[0] > 0:
            left = middle
        else:
            right = middle
    assert model.predict_proba([left])[0, 1:].tolist() == pytest.approx([0.5, 0.5], abs=1e-9)
    assert boundary.side(model.means_[1:]).tolist() == [1, -1]


def test_models_of_scikit_learn() -> None:
    X, y = load_iris(return_X_y=True)
    for model in (
        SklearnLDA(),
        SklearnLDA(solver="lsqr", shrinkage="auto"),
        SklearnQDA(),
        SklearnQDA(store_covariance=True),
    ):
        scores = model.fit(X, y).decision_function(X)
        own = Discriminant.from_model(model)
        assert own.linear == isinstance(model, SklearnLDA)
        for i, j in itertools.combinations(range(3), 2):
            expected = scores[:, i] - scores[:, j]
            np.testing.assert_allclose(
                own.boundary(i, j).decision(X), expected, atol=1e-9 * np.abs(expected).max()
            )


def test_any_linear_model_has_boundaries() -> None:
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression().fit(X, y)
    own = Discriminant.from_model(model)
    scores = model.decision_function(X)
    assert set(own.boundaries()) == {(0, 1), (0, 2), (1, 2)}
    for (i, j), plane in own.boundaries().items():
        assert plane == Hyperplane.from_model(model, i, against=j)
        np.testing.assert_allclose(plane.decision(X), scores[:, i] - scores[:, j], atol=1e-10)
    two = LogisticRegression().fit(X[y > 0], y[y > 0])
    own = Discriminant.from_model(two)
    assert own.boundary(2, 1) == Hyperplane.from_model(two)
    np.testing.assert_array_equal(own.predict(X), two.predict(X))


def test_two_classes() -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[y > 0], y[y > 0]
    for kind in (LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis):
        model = kind().fit(X, y)
        np.testing.assert_allclose(
            model.discriminant().boundary(2, 1).decision(X), model.decision_function(X), atol=1e-9
        )


def test_columns_that_follow_from_others() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = rng.normal(size=(300, 2)) * (1 + y[:, None]) + y[:, None]
    X = np.hstack([X, X.sum(axis=1, keepdims=True), np.ones((300, 1))])
    for kind in (LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis):
        with pytest.warns(LinAlgWarning, match="tell nothing"):
            model = kind().fit(X, y)
        boundary = model.discriminant().boundary(1, 0)
        np.testing.assert_allclose(boundary.decision(X), model.decision_function(X), atol=1e-9)


def test_coefficients_are_those_of_the_log_of_prior_times_density() -> None:
    X, y = load_iris(return_X_y=True)
    model = QuadraticDiscriminantAnalysis(priors=[0.5, 0.3, 0.2]).fit(
        X, np.array(["a", "b", "c"])[y]
    )
    own = Discriminant.from_model(model)
    for k, label in enumerate("abc"):
        A, b, c = own.coefficients(label)
        mean, covariance = model.means_[k], model.covariance_[k]
        np.testing.assert_allclose(A, -0.5 * np.linalg.inv(covariance), rtol=1e-10)
        score = np.einsum("ij,jk,ik->i", X, A, X) + X @ b + c
        density = multivariate_normal(mean, covariance).logpdf(X) + 2.0 * np.log(2.0 * np.pi)
        np.testing.assert_allclose(score, density + np.log(model.priors_[k]), rtol=0, atol=1e-9)
        np.testing.assert_allclose(score, own.decision(X)[:, k], rtol=0, atol=1e-9)
    linear = LinearDiscriminantAnalysis().fit(X, y).discriminant()
    A, b, c = linear.coefficients(2)
    assert not A.any()
    np.testing.assert_allclose(X @ b + c, linear.decision(X)[:, 2], rtol=1e-12)
    with pytest.raises(ValueError, match="'d' is not one of the classes"):
        own.coefficients("d")


def test_names_in_the_text() -> None:
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X[:, :2], columns=["long", "wide"])
    own = QuadraticDiscriminantAnalysis().fit(frame, y).discriminant()
    text = str(own)
    assert text.count("\n") == 2 and text.startswith("0 over 1: ") and "long wide" in text
    assert repr(own) == "Discriminant(quadratic, 3 classes, 2 columns)"
    assert "Discriminant(linear" in repr(LinearDiscriminantAnalysis().fit(X, y).discriminant())
    many = LinearDiscriminantAnalysis().fit(X, np.arange(150) % 6).discriminant()
    assert str(many).endswith("(7 more pairs)")


def test_from_parameters() -> None:
    means = np.array([[0.0, 0.0], [2.0, 1.0], [1.0, 3.0]])
    own = Discriminant(means, np.eye(2), [0.2, 0.3, 0.5], classes=["u", "v", "w"])
    plane = own.boundary("v", "u")
    np.testing.assert_allclose(plane.w, [2.0, 1.0])
    assert plane.b == pytest.approx(-2.5 + np.log(1.5))
    each = Discriminant(means, np.stack([np.eye(2)] * 3))
    np.testing.assert_allclose(each.boundary(0, 1).A, 0.0, atol=1e-16)
    assert each.boundary(0, 1).kind == "line"
    equal = Discriminant(means, np.eye(2))
    X = np.random.default_rng(0).normal(size=(20, 2))
    np.testing.assert_allclose(
        each.boundary(0, 1).decision(X), equal.boundary(0, 1).decision(X), atol=1e-14
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0.0]], [[1.0]]), "one row for each class, and at least two"),
        (([[0.0], [1.0]], np.eye(3)), r"shape \(1, 1\) or \(2, 1, 1\)"),
        (([[0.0], [1.0]], [[0.0]]), "singular: column 0 is constant"),
        (([[0.0], [1.0]], [[[1.0]], [[0.0]]]), "of class 1 is singular"),
        (([[0.0], [np.nan]], [[1.0]]), "means holds NaN"),
        (([[0.0], [1.0]], [[1.0]], [0.5, 0.6]), "sum to 1"),
        (([[0.0], [1.0]], [[1.0]], None, [3, 3]), "2 different labels"),
        (([[0.0], [1.0]], [[1.0]], None, None, ["a", "b"]), "2 names do not fit 1 columns"),
    ],
)
def test_bad_parameters(arguments, message) -> None:
    with pytest.raises(ValueError, match=message):
        Discriminant(*arguments)


def test_bad_labels_and_models() -> None:
    own = Discriminant([[0.0], [1.0]], [[1.0]])
    with pytest.raises(ValueError, match="7 is not one of the classes"):
        own.boundary(0, 7)
    with pytest.raises(ValueError, match="both are 1"):
        own.boundary(1, 1)
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match="no discriminants"):
        Discriminant.from_model(SklearnSVC().fit(X, y))
    with pytest.raises(
        TypeError, match="3 rows for 3 classes; discriminants need one row for each"
    ):
        Discriminant.from_model(SklearnSVC(kernel="linear").fit(X, y))
    pairs = SklearnSVC(kernel="linear").fit(np.vstack([X, X + 9]), np.append(y, y + 3))
    with pytest.raises(TypeError, match="15 rows for 6 classes"):
        Discriminant.from_model(pairs)
    with pytest.raises(TypeError, match=r"pass model\[-1\]"):
        Discriminant.from_model(make_pipeline(StandardScaler(), SklearnLDA()).fit(X, y))
    with pytest.raises(ValueError, match="one row for each class"):
        Discriminant.from_linear([[1.0], [2.0]], [1.0])
    with pytest.raises(ValueError, match="finite"):
        Discriminant.from_linear([[1.0], [np.inf]], [1.0, 2.0])


# --- quadrics ----------------------------------------------------------------------------------

KINDS = {
    "ellipse": ([[1, 0.5], [0.5, 2]], [1, 2], -3),
    "point": ([[1, 0], [0, 2]], [2, 0], 1),
    "empty": ([[1, 0], [0, 2]], [0, 0], 1),
    "hyperbola": ([[1, 0], [0, -1]], [0, 0], 1),
    "pair of lines": ([[1, 0], [0, -1]], [2, 0], 1),
    "parabola": ([[1, 0], [0, 0]], [0, -1], 0),
    "line": ([[0, 0], [0, 0]], [1, 2], 3),
    "everything": ([[0, 0], [0, 0]], [0, 0], 0),
}
OTHERS = [
    ("pair of lines", [[1, 0], [0, 0]], [0, 0], -1),
    ("line", [[1, 1], [1, 1]], [2, 2], 1),
    ("empty", [[1, 0], [0, 0]], [0, 0], 1),
    ("empty", [[0, 0], [0, 0]], [0, 0], 1),
    ("hyperbola", [[0, 1], [1, 0]], [0, 0], -1),
    ("two points", [[1]], [0], -1),
    ("point", [[1]], [-2], 1),
    ("point", [[0]], [2], 1),
    ("empty", [[-1]], [0], -1),
    ("ellipsoid", np.diag([1, 2, 3]), [0, 1, 0], -1),
    ("point", np.diag([1, 2, 3]), [0, 0, 0], 0),
    ("empty", np.diag([1, 2, 3]), [0, 0, 0], 1),
    ("hyperboloid", np.diag([1, 2, -3]), [0, 1, 0], 5),
    ("cone", np.diag([1, 2, -3]), [0, 0, 0], 0),
    ("paraboloid", np.diag([1, 2, 0]), [0, 0, 1], 0),
    ("cylinder", np.diag([1, 2, 0]), [0, 0, 0], -1),
    ("line", np.diag([1, 2, 0]), [0, 0, 0], 0),
    ("cylinder", np.diag([1, -2, 0]), [0, 0, 0], -1),
    ("pair of planes", np.diag([1, -2, 0]), [0, 0, 0], 0),
    ("pair of planes", np.diag([1, 0, 0]), [0, 0, 0], -4),
    ("plane", np.diag([1, 0, 0]), [2, 0, 0], 1),
    ("plane", np.zeros((3, 3)), [2, 0, 0], 1),
]
CASES = [(name, *rest) for name, rest in KINDS.items()] + OTHERS


@pytest.mark.parametrize("case", CASES, ids=[f"{c[0]} {i}" for i, c in enumerate(CASES)])
def test_kinds_survive_motions_scales_and_signs(case) -> None:
    name, A, b, c = case
    A, b = np.array(A, dtype=float), np.array(b, dtype=float)
    d = len(b)
    assert Quadric(A, b, c).kind == name
    rng = np.random.default_rng(0)
    for scale in (1.0, 1e-6, 1e6):
        for sign in (1.0, -1.0):
            turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
            # x = scale (turn u) about the turned origin: the same surface elsewhere.
            origin = turn @ rng.normal(size=d)
            moved = Quadric(
                sign * turn @ A @ turn.T * scale**2, sign * turn @ b * scale, sign * c, origin
            )
            assert moved.kind == name, (scale, sign)


def test_columns_in_different_units() -> None:
    for name, (A, b, c) in KINDS.items():
        unit = np.array([1e120, 1e-120])
        A, b = np.array(A, dtype=float), np.array(b, dtype=float)
        assert Quadric(A * unit * unit[:, None], b * unit, c).kind == name


def test_decision_and_expansion() -> None:
    rng = np.random.default_rng(1)
    A, b, o = rng.normal(size=(4, 4)), rng.normal(size=4), rng.normal(size=4)
    quadric = Quadric(A, b, 0.5, o)
    np.testing.assert_array_equal(quadric.A, quadric.A.T)
    X = rng.normal(size=(300, 4))
    expected = np.array([(x - o) @ A @ (x - o) + b @ (x - o) + 0.5 for x in X])
    for X_ in (X, np.asfortranarray(X), sp.csr_array(X)):
        np.testing.assert_allclose(quadric.decision(X_), expected, atol=1e-12)
    np.testing.assert_allclose(quadric.expanded().decision(X), expected, atol=1e-12)
    np.testing.assert_array_equal(quadric.side(X), np.where(expected >= 0, 1, -1))
    again = pickle.loads(pickle.dumps(quadric))
    np.testing.assert_array_equal(again.decision(X), quadric.decision(X))
    with pytest.raises(ValueError):
        again.A[0, 0] = 1.0


def test_equations() -> None:
    quadric = Quadric([[1, -1], [-1, 0]], [0, 3], -2.5)
    assert str(quadric) == "x0^2 - 2 x0 x1 + 3 x1 - 2.5 = 0"
    assert quadric.equation(["h", "w"]) == "h^2 - 2 h w + 3 w - 2.5 = 0"
    assert Quadric([[0]], [0], 0).equation() == "0 = 0"
    assert Quadric([[1]], [0], 0, [2]).equation() == "x0^2 - 4 x0 + 4 = 0"
    assert "smaller terms" in Quadric(np.ones((5, 5)), np.ones(5), 1).equation()
    assert repr(quadric).startswith("Quadric(2 dimensions: x0^2")
    with pytest.raises(ValueError, match="3 names do not fit 2 columns"):
        quadric.equation(["a", "b", "c"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1, 2]], [1], 0), "square matrix"),
        (([[1]], [1, 2], 0), "square matrix"),
        (([[np.inf]], [1], 0), "A holds NaN or infinity"),
        (([[1]], [1], np.nan), "c=nan"),
        (([[1]], [1], 0, [1, 2]), "a point in 1 dimensions"),
    ],
)
def test_bad_quadrics(arguments, message) -> None:
    with pytest.raises(ValueError, match=message):
        Quadric(*arguments)


# --- conics in a box ---------------------------------------------------------------------------


def _random_conic(rng: np.random.Generator, kind: int) -> tuple[np.ndarray, np.ndarray, float]:
    A = rng.normal(size=(2, 2))
    b, c = rng.normal(size=2), float(rng.normal())
    if kind == 0:  # a hyperbola, as a rule
        A = A + A.T
    elif kind == 1:  # a parabola
        A = np.outer(A[0], A[0])
    elif kind == 2:  # an ellipse, or nothing
        A = A @ A.T
    elif kind == 3:  # hardly bent
        A = (A + A.T) * 10.0 ** rng.integers(-14, -1)
    else:  # two lines
        p, q = rng.normal(size=(2, 3))
        A = 0.5 * (np.outer(p[:2], q[:2]) + np.outer(q[:2], p[:2]))
        b, c = p[2] * q[:2] + q[2] * p[:2], float(p[2] * q[2])
    return A, b, c


@pytest.mark.parametrize("kind", range(5))
def test_a_clipped_conic_is_the_sign_change_of_its_equation(kind) -> None:
    rng = np.random.default_rng(kind)
    for _ in range(40):
        A, b, c = _random_conic(rng, kind)
        # Any units, each column its own, and anywhere.
        unit = 10.0 ** rng.integers(-9, 9) * np.array([1.0, 10.0 ** rng.integers(-3, 3)])
        origin = rng.normal(size=2) * unit * 10.0 ** rng.integers(-3, 3)
        conic = Quadric(A / unit / unit[:, None], b / unit, c, origin)
        lower, upper = (origin + s * unit * rng.uniform(0.2, 3.0, 2) for s in (-1.0, 1.0))
        pieces = conic.clip(lower, upper)
        size = 9.0 * np.abs(A).max() + 3.0 * np.abs(b).max() + abs(c)
        box = upper - lower
        n, step = 120, 1.0 / 119
        grid = np.stack(np.meshgrid(*np.linspace(lower, upper, n).T), axis=-1).reshape(-1, 2)
        side = conic.decision(grid).reshape(n, n) > 0.0
        across = np.argwhere(side[:, 1:] != side[:, :-1])[:, ::-1] * step + [0.5 * step, 0.0]
        along = np.argwhere(side[1:] != side[:-1])[:, ::-1] * step + [0.0, 0.5 * step]
        crossed = np.concatenate([across, along])
        if not len(pieces):
            # At most a corner between the grid's points.
            assert len(crossed) <= 2
            continue
        vertices = np.concatenate(pieces)
        assert np.all((vertices >= lower) & (vertices <= upper))
        # The accuracy is that of coordinates of the box about the conic's own origin.
        reach = max(1.0, float((np.abs(vertices) / unit).max()))
        assert np.abs(conic.decision(vertices)).max() <= 1e-11 * size * reach
        starts = (np.concatenate([p[:-1] for p in pieces]) - lower) / box
        steps = (np.concatenate([np.diff(p, axis=0) for p in pieces])) / box
        off = crossed[:, None] - starts
        share = (off * steps).sum(axis=2) / np.maximum((steps**2).sum(axis=1), 1e-300)
        off -= np.clip(share, 0.0, 1.0)[..., None] * steps
        distance = np.linalg.norm(off, axis=2).min(axis=1)
        assert distance.max(initial=0.0) <= 0.5 * step + 5e-4
        # The distances of the chords' middles from the conic, by the gradient there.
        middles = np.concatenate([0.5 * (p[1:] + p[:-1]) for p in pieces])
        slope = (2.0 * (middles - origin) @ conic.A + conic.b) * box
        off_chord = np.abs(conic.decision(middles)) / np.linalg.norm(slope, axis=1)
        assert off_chord.max() <= 6e-4


def test_clipped_conics_end_on_the_edges_of_the_box() -> None:
    circle = Quadric(np.eye(2), [0.0, 0.0], -1.0)
    (whole,) = circle.clip([-2, -2], [2, 2])
    np.testing.assert_array_equal(whole[0], whole[-1])
    # A box that cuts all four sides: four arcs, eight ends.
    arcs = circle.clip([-0.8, -0.8], [0.8, 0.8])
    ends = np.array([arc[i] for arc in arcs for i in (0, -1)])
    assert len(arcs) == 4
    np.testing.assert_array_equal(np.abs(ends).max(axis=1), 0.8)
    np.testing.assert_allclose(np.abs(ends).min(axis=1), 0.6, rtol=1e-14)
    # Inside the circle, and beside it, there is nothing.
    assert circle.clip([-0.5, -0.5], [0.5, 0.5]) == [] == circle.clip([2, 2], [3, 3])
    # Where it only touches an edge, it is whole.
    (touching,) = circle.clip([-1, -1], [1, 1])
    assert np.abs(np.hypot(*touching.T) - 1.0).max() < 1e-12
    for far in (0.0, 1e6):
        pieces = Quadric(np.eye(2), [0.0, 0.0], -1.0, [far, far]).clip(
            [far - 0.8, far - 0.7], [far + 0.9, far + 0.6]
        )
        edges = {far - 0.8, far - 0.7, far + 0.9, far + 0.6}
        assert all(set(end.tolist()) & edges for piece in pieces for end in piece[[0, -1]])


def test_clipped_conics_that_are_not_curves() -> None:
    box = ([-2.0, -2.0], [2.0, 2.0])
    cross = Quadric([[1, 0], [0, -1]], [0, 0], 0).clip(*box)
    diagonals = sorted(sorted(line.round(12).tolist()) for line in cross)
    assert diagonals == [[[-2.0, -2.0], [2.0, 2.0]], [[-2.0, 2.0], [2.0, -2.0]]]
    parallel = Quadric([[1, 0], [0, 0]], [0, 0], -1).clip(*box)
    assert sorted(abs(line[0, 0]) for line in parallel) == [1.0, 1.0]
    (double,) = Quadric([[1, 1], [1, 1]], [2, 2], 1).clip(*box)
    np.testing.assert_allclose(double.sum(axis=1), -1.0, atol=1e-14)
    (line,) = Quadric(np.zeros((2, 2)), [1, 2], 1).clip(*box)
    assert len(line) == 2 and np.abs(line @ [1, 2] + 1).max() < 1e-14
    (point,) = Quadric([[1, 0], [0, 2]], [2, 0], 1).clip(*box)
    np.testing.assert_allclose(point, [[-1.0, 0.0]], atol=1e-14)
    assert Quadric([[1, 0], [0, 2]], [0, 0], 1).clip(*box) == []
    assert Quadric(np.zeros((2, 2)), [0, 0], 0).clip(*box) == []


def test_boxes_that_are_none() -> None:
    circle = Quadric(np.eye(2), [0.0, 0.0], -1.0)
    for lower, upper in (([0, 0], [0, 1]), ([0, 0, 0], [1, 1, 1]), ([0, np.nan], [1, 1])):
        with pytest.raises(ValueError, match="two corners of a box"):
            circle.clip(lower, upper)
    with pytest.raises(ValueError, match="no outline to draw"):
        Quadric(np.eye(3), np.zeros(3), -1.0).clip([0] * 3, [1] * 3)
    with pytest.raises(ValueError, match="exceeds the range"):
        Quadric(np.eye(2) * 1e300, np.zeros(2), 1.0).clip([0, 0], [1e10, 1e10])
