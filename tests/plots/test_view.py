"""Points of many features as points of a picture."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVC as SklearnSVC

from separatrix import (
    SVC,
    LinearDiscriminantAnalysis,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    QuadraticDiscriminantAnalysis,
)
from separatrix.geometry import Discriminant
from separatrix.plots.view import View

IRIS = load_iris(as_frame=True)
SPECIES = IRIS.target_names[IRIS.target]
CANCER = load_breast_cancer(as_frame=True)


def few_digits() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    return X[:250, 16:48], y[:250]


def test_two_features_are_shown_as_they_are() -> None:
    X = IRIS.data.iloc[:, 2:]
    view = View.of(LogisticRegression().fit(X, SPECIES), X)
    assert (view.kind, view.note, view.exact, view.isometric) == ("plane", "", True, True)
    assert view.xlabel == "petal length (cm)" and view.ylabel == "petal width (cm)"
    np.testing.assert_array_equal(view.transform(X), X.to_numpy())
    pd.testing.assert_frame_equal(view.inverse(X.to_numpy()), X.reset_index(drop=True))


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC, LinearDiscriminantAnalysis])
@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e9])
def test_distances_from_a_hyperplane_are_exact(kind, scale) -> None:
    X = (CANCER.data / CANCER.data.std()).to_numpy()
    model = kind().fit(X, CANCER.target)
    model.coef_ = model.coef_ / scale
    X = X * scale
    if hasattr(model, "centred_coef_"):
        model.centred_coef_ = model.centred_coef_ / scale
        model.means_ = model.means_ * scale
        model.covariance_ = model.covariance_ * scale**2
    view = View.of(model, X)
    w, b = model.coef_[0], model.intercept_[0]
    norm = np.linalg.norm(w)
    assert view.kind == "distance" and view.exact and view.isometric
    points = view.transform(X)
    np.testing.assert_allclose(points[:, 0], (X @ w + b) / norm, rtol=1e-6, atol=1e-9 * scale)
    # The second direction is orthogonal to the weights, and has the largest spread there is.
    np.testing.assert_allclose(view.basis @ view.basis.T, np.eye(2), atol=1e-12)
    flat = (X - X.mean(axis=0)) @ (np.eye(30) - np.outer(w, w) / norm**2)
    most = np.linalg.svd(flat, compute_uv=False)[0]
    assert np.linalg.norm(points[:, 1] - points[:, 1].mean()) == pytest.approx(most, rel=1e-9)
    # Conversely, the plane of the picture has the scores that the picture states.
    grid = np.random.default_rng(0).normal(size=(50, 2)) * scale
    np.testing.assert_allclose(view.scores(grid), grid[:, 0] * norm, atol=1e-9 * norm * scale)
    coef, intercept = view.planes()
    np.testing.assert_allclose(grid @ coef[1] + intercept[1], view.scores(grid), rtol=1e-7)
    np.testing.assert_allclose(view.transform(view.inverse(grid)), grid, atol=1e-9 * scale)


def test_three_classes_lie_in_the_plane_of_their_weights() -> None:
    model = LogisticRegression().fit(IRIS.data, SPECIES)
    view = View.of(model, IRIS.data)
    assert view.kind == "span" and view.exact and "exact" in view.note
    codes = view.codes(view.scores(view.transform(IRIS.data)))
    np.testing.assert_array_equal(view.classes[codes], model.predict(IRIS.data))
    coef, intercept = view.planes()
    scores = view.transform(IRIS.data) @ coef.T + intercept
    expected = model.decision_function(IRIS.data)
    for k in (1, 2):
        np.testing.assert_allclose(
            scores[:, k] - scores[:, 0], expected[:, k] - expected[:, 0], atol=1e-11
        )


def test_two_of_ten_classes() -> None:
    X, y = few_digits()
    model = LogisticRegression(C=1e-3, tol=1e-2).fit(X, y)
    view = View.of(model, X, classes=(3, 8))
    assert view.kind == "distance" and view.classes.tolist() == [3, 8]
    scores = model.decision_function(X)
    np.testing.assert_allclose(view.scores_of(X), scores[:, 8] - scores[:, 3], atol=1e-10)
    np.testing.assert_array_equal(view.transform(X)[:, 0] >= 0, scores[:, 8] >= scores[:, 3])
    p = view.probabilities(view.transform(X))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_a_slice_that_would_mislead_is_refused() -> None:
    X, y = few_digits()
    model = SVC().fit(X, y)
    with pytest.raises(
        ValueError, match=r"only \d+% of the points .* features=\(i, j\), or two"
    ) as told:
        View.of(model, X)
    # The pair that it names: the classes with the two largest scores, of more rows than others.
    scores = np.sort(np.argsort(-model.decision_function(X), axis=1)[:, :2], axis=1)
    pairs, counts = np.unique(scores, axis=0, return_counts=True)
    assert f"classes={tuple(pairs[counts.argmax()].tolist())!r}, whose" in str(told.value)
    assert "% of the points" in View.of(model, X, features=(3, 20)).note
    lines = LinearSVC(C=1e-3).fit(X, y)
    assert View.of(lines, X, classes=tuple(pairs[counts.argmax()].tolist())).exact


def test_ten_classes_are_a_slice_that_says_so() -> None:
    X, y = few_digits()
    X, y = X[y < 4], y[y < 4]
    model = LogisticRegression(C=1e-3, tol=1e-2).fit(X, y)
    view = View.of(model, X)
    assert view.kind == "slice" and not view.exact
    assert "slice through the mean" in view.note and "% of the points" in view.note
    np.testing.assert_allclose(view.origin, X.mean(axis=0), atol=1e-12)
    grid = np.random.default_rng(0).normal(size=(20, 2)) * 10
    np.testing.assert_allclose(view.transform(view.inverse(grid)), grid, atol=1e-9)
    coef, intercept = view.planes()
    own, scores = grid @ coef.T + intercept, view.scores(grid)
    np.testing.assert_allclose(own - own[:, :1], scores - scores[:, :1], atol=1e-9)


def test_slices_of_other_models() -> None:
    model = QuadraticDiscriminantAnalysis().fit(IRIS.data, SPECIES)
    view = View.of(model, IRIS.data)
    assert view.kind == "slice" and view.xlabel == "petal length (cm)"
    assert "differ most" in view.note and "sepal width (cm) = 3" in view.note
    rows = view.inverse([[4.0, 1.5]])
    assert rows.iloc[0].tolist() == [5.8, 3.0, 4.0, 1.5]
    view = View.of(
        model, IRIS.data, features=("petal width (cm)", 0), at={"petal length (cm)": 5.5}
    )
    assert view.inverse([[4.0, 1.5]]).iloc[0].tolist() == [1.5, 3.0, 5.5, 4.0]
    np.testing.assert_array_equal(view.transform(IRIS.data), IRIS.data.to_numpy()[:, [3, 0]])
    # The quadric on the slice is the quadric at the slice's points.
    own = Discriminant.from_model(model).boundary("versicolor", "virginica")
    points = np.random.default_rng(0).normal(size=(9, 2))
    np.testing.assert_allclose(
        view.restrict(own).decision(points), own.decision(view.inverse(points)), rtol=1e-9
    )
    at = np.arange(4.0)
    view = View.of(model, IRIS.data, features=(0, 1), at=at)
    assert view.inverse([[9.0, 8.0]]).iloc[0].tolist() == [9.0, 8.0, 2.0, 3.0]


def test_what_is_held_is_not_shown() -> None:
    model = QuadraticDiscriminantAnalysis().fit(IRIS.data, SPECIES)
    at = {"petal length (cm)": 5.0}
    view = View.of(model, IRIS.data, at=at)
    assert view.columns is not None and 2 not in view.columns
    assert np.all(view.inverse([[1.0, 2.0]])["petal length (cm)"] == 5.0)
    with pytest.raises(ValueError, match="one of the two that are shown"):
        View.of(model, IRIS.data, features=(0, 2), at=at)
    with pytest.raises(ValueError, match="'petal length \\(cm\\)', which is of numbers"):
        View.of(model, IRIS.data, at={"petal length (cm)": "long"})


def test_a_search_is_shown_as_what_it_found() -> None:
    steps = make_pipeline(StandardScaler(), LinearSVC())
    search = GridSearchCV(steps, {"linearsvc__C": [0.1, 1.0]}, cv=2).fit(
        IRIS.data[50:], SPECIES[50:]
    )
    view = View.of(search, IRIS.data[50:])
    assert view.kind == "distance"
    np.testing.assert_array_equal(
        view.transform(IRIS.data[50:])[:, 0] >= 0.0, search.predict(IRIS.data[50:]) == "virginica"
    )


@pytest.mark.parametrize("scaler", [StandardScaler, MinMaxScaler, MaxAbsScaler])
def test_scaled_columns_are_unscaled_exactly(scaler) -> None:
    X = IRIS.data.iloc[:, 2:]
    model = make_pipeline(scaler(), LogisticRegression()).fit(X, SPECIES)
    view = View.of(model, X)
    coef, intercept = view.planes()
    own, scores = X.to_numpy() @ coef.T + intercept, model.decision_function(X)
    np.testing.assert_allclose(own - own[:, :1], scores - scores[:, :1], atol=1e-11)
    turned = make_pipeline(PCA(), LogisticRegression()).fit(X, SPECIES)
    assert View.of(turned, X).planes() is None


def test_pipelines_are_shown_in_the_space_of_their_last_step() -> None:
    frame = pd.DataFrame(
        {
            "age": [20.0, 30, 40, 50, 60, 70],
            "height": [1.5, 1.9, 1.7, 1.6, 1.8, 1.4],
            "town": ["here", "there", "here", "there", "here", "there"],
        }
    )
    y = ["a", "a", "b", "a", "b", "b"]
    steps = make_column_transformer(
        (StandardScaler(), ["age", "height"]), (OneHotEncoder(), ["town"])
    )
    model = make_pipeline(steps, LogisticRegression()).fit(frame, y)
    view = View.of(model, frame)
    assert view.kind == "distance" and "ColumnTransformer" in view.note
    np.testing.assert_array_equal(view.transform(frame)[:, 0] >= 0, model.predict(frame) == "b")
    other = make_pipeline(steps, SVC()).fit(frame, y)
    view = View.of(other, frame)
    assert view.kind == "slice" and view.note.startswith("a slice along two of 3 columns")
    rows = view.inverse([[33.0, 1.75]])
    assert rows.iloc[0].tolist() == [33.0, 1.75, "here"]
    assert view.scores([[33.0, 1.75]]).shape == (1,)


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame, pl.DataFrame, sp.csr_array, "f4"])
@pytest.mark.parametrize("width", [1, 2, 4])
def test_any_container(make, width) -> None:
    X = IRIS.data.to_numpy()[50:, :width]
    X = X.astype("f4") if make == "f4" else make(X)
    if isinstance(X, pd.DataFrame):
        X.columns = [str(c) for c in X.columns]
    model = LogisticRegression().fit(X, SPECIES[50:])
    view = View.of(model, X)
    assert view.kind == {1: "line", 2: "plane", 4: "distance"}[width]
    points = view.transform(X)
    assert points.shape == (100, 2) and points.dtype == np.float64
    predicted = view.classes[view.codes(view.scores(points))]
    np.testing.assert_array_equal(predicted, model.predict(X))


def test_many_sparse_columns_are_never_made_dense() -> None:
    rng = np.random.default_rng(0)
    X = sp.random_array((400, 5_000), density=1e-2, format="csr", rng=rng)
    y = np.repeat(["no", "yes"], 200)
    model = LogisticRegression(tol=1e-2).fit(X, y)

    class Watched(sp.csr_array):
        def toarray(self, *args, **kwargs):
            raise AssertionError("made dense")

        todense = __array__ = toarray

    watched = Watched(X)
    view = View.of(model, watched)
    points = view.transform(watched)
    np.testing.assert_allclose(
        points[:, 0], model.decision_function(X) / np.linalg.norm(model.coef_), atol=1e-12
    )
    np.testing.assert_allclose(view.basis @ view.basis.T, np.eye(2), atol=1e-10)
    # Power iteration on the centred rows finds no direction with much more spread.
    w = model.coef_[0] / np.linalg.norm(model.coef_)
    mean = np.asarray(X.mean(axis=0)).ravel()
    v = rng.normal(size=5_000)
    for _ in range(100):
        v -= w * (w @ v)
        at = X @ v - mean @ v
        v = X.T @ at - at.sum() * mean
        v -= w * (w @ v)
        v /= np.linalg.norm(v)
    spread = np.linalg.norm(X @ v - mean @ v)
    assert np.linalg.norm(points[:, 1] - points[:, 1].mean()) > 0.999 * spread
    again = View.of(model, X)
    np.testing.assert_array_equal(view.basis, again.basis)


def test_slices_of_sparse_columns_are_sparse() -> None:
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 20_000), density=5e-3, format="csr", rng=rng)
    X.data = np.ceil(9.0 * X.data)
    y = np.asarray(X[:, :9_000].sum(axis=1) > X[:, 9_000:18_000].sum(axis=1)).astype(int)
    model = MultinomialNB().fit(X, y)
    view = View.of(model, X)
    rows = view.inverse([[2.0, 3.0], [0.0, 1.0]])
    assert sp.issparse(rows) and rows.shape == (2, 20_000) and rows.nnz <= 4
    i, j = view.columns
    assert rows.toarray()[0, [i, j]].tolist() == [2.0, 3.0]
    # The same two columns as of the dense rows, and the same medians.
    some = X[:, [i, j, *range(40)]]
    chosen = MultinomialNB().fit(some, y)
    for kind in (some, some.toarray()):
        assert View.of(chosen, kind).columns == View.of(chosen, some.toarray()).columns
    filled = sp.csr_array(some.toarray() + np.arange(42.0))
    model = MultinomialNB().fit(filled, y)
    np.testing.assert_array_equal(
        View.of(model, filled).inverse([[1.0, 2.0]]).toarray(),
        View.of(model, filled.toarray()).inverse([[1.0, 2.0]]),
    )


def test_rounding_is_no_spread() -> None:
    X = np.outer(np.arange(8.0), np.ones(5)) * 0.1
    view = View.of(LogisticRegression().fit(X, [0] * 4 + [1] * 4), X)
    np.testing.assert_array_equal(view.transform(X)[:, 1], 0.0)


def test_rows_without_any_spread() -> None:
    X = np.array([[0.0, 0, 0], [1, 1, 1]])
    model = LinearSVC().fit(X, [0, 1])
    for rows in (X, np.ones((3, 3)), X[:1]):
        view = View.of(model, rows)
        points = view.transform(rows)
        assert np.all(np.isfinite(points))
        np.testing.assert_allclose(view.basis @ view.basis.T, np.eye(2), atol=1e-12)
        np.testing.assert_allclose(points[:, 1], 0.0, atol=1e-12)


def test_votes_by_pairs_are_scores_of_classes() -> None:
    for shape in ("ovo", "ovr"):
        model = SklearnSVC(decision_function_shape=shape).fit(IRIS.data, SPECIES)
        view = View.of(model, IRIS.data)
        codes = view.codes(view.scores_of(IRIS.data))
        np.testing.assert_array_equal(view.classes[codes], model.predict(IRIS.data))


def test_bad_input() -> None:
    X = IRIS.data.to_numpy()
    model = SVC().fit(X, SPECIES)
    with pytest.raises(ValueError, match="3 columns, but SVC takes 4"):
        View.of(model, X[:, :3])
    with pytest.raises(ValueError, match="table of rows and columns"):
        View.of(model, X[0])
    with pytest.raises(ValueError, match="features names 'colour', which is not a column"):
        View.of(model, X, features=("colour", 1))
    for features in ((1, 1), (0, 1, 2), "x0"):
        with pytest.raises(ValueError, match="two different columns"):
            View.of(model, X, features=features)
    with pytest.raises(ValueError, match="features names 4"):
        View.of(model, X, features=(0, 4))
    with pytest.raises(ValueError, match="at must be a point of 4 values"):
        View.of(model, X, at=[1, 2])
    with pytest.raises(ValueError, match="at names 'colour'"):
        View.of(model, X, at={"colour": 1})
    with pytest.raises(ValueError, match="must be finite"):
        View.of(model, X, at=[1, 2, np.nan, 4])
    for classes in (("setosa", "rose"), ("setosa",), "setosa", ("setosa", "setosa")):
        with pytest.raises(ValueError, match=r"classes=.*(two different labels|is not one of)"):
            View.of(model, X, classes=classes)
    with pytest.raises(TypeError, match="has no classes_"):
        View.of(LinearRegression().fit(X, IRIS.target), X)
    for features in (3, 1.5):
        with pytest.raises(ValueError, match="features"):
            View.of(model, X, features=features)
    with pytest.raises(ValueError, match="classes=3 must be two different labels"):
        View.of(model, X, classes=3)
    with pytest.raises(TypeError, match="must be a fitted classifier"):
        View.of("svm", X)
    with pytest.raises(TypeError, match="not the class SVC"):
        View.of(SVC, X)
    with pytest.raises(ValueError, match="Column 0 of X does not hold numbers"):
        View.of(SVC().fit(X[:, :2], SPECIES), [["a", "b"]]).transform([["a", "b"]])
    gram = SVC(kernel="precomputed").fit(X @ X.T, SPECIES)
    with pytest.raises(TypeError, match="cannot be evaluated at points"):
        View.of(gram, X @ X.T)
    with pytest.raises(TypeError, match="has no predict_proba"):
        View.of(model, X).probabilities([[0.0, 0.0]])
