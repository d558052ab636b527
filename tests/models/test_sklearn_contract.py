"""scikit-learn's own checks, with no expected failure, and its tools around the estimators."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import (
    SVC,
    DecisionStump,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    SGDClassifier,
)

# One configuration of each class; the checks of OTHERS are run by make exhaustive.
FIRST = [
    LogisticRegression(),
    # Checks fit classes of three rows, which five folds cannot divide.
    LogisticRegressionCV(Cs=[0.1, 1.0], cv=2, choice="one_standard_error"),
    LinearSVC(),
    Perceptron(max_passes=50),
    SGDClassifier(),
    # The others are in test_discriminant.py: some checks fit covariances that are singular.
    LinearDiscriminantAnalysis(shrinkage=0.1),
    DecisionStump(),
    SVC(),
]
OTHERS = [
    LogisticRegression(multiclass="ovr"),
    LogisticRegressionCV(cv=3),
    LinearSVC(loss="hinge"),
    Perceptron(order="random"),
    Perceptron(average=True),
    SGDClassifier("log_loss", average=False, batch_size=4),
    SGDClassifier.perceptron(shuffle=True),
    SVC(kernel="linear"),
    SVC(kernel="poly", coef0=1.0),
    SVC(calibrate="sigmoid"),
    SVC(calibrate="isotonic", kernel="linear"),
    SVC(approximation="nystroem", n_components=100),
    SVC(approximation="fourier", n_components=100, tol=1e-10),
]
ESTIMATORS = [*FIRST, *OTHERS]
# Where a perceptron's passes end depends on the order of the rows, so that no weight can stand for
# copies of a row wherever they lie; scikit-learn's own expects the same.
ORDERED = {
    f"check_sample_weight_equivalence_on_{kind}_data": "the order of the rows counts"
    for kind in ("dense", "sparse")
}


def expected_to_fail(estimator) -> dict[str, str]:
    return ORDERED if isinstance(estimator, Perceptron) else {}


each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)


# The checks fit perceptrons to data that overlap, and some of them set max_iter to 1 or 2: such a
# fit ends above its tolerance and says so, as it must.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(FIRST, expected_failed_checks=expected_to_fail)
def test_check_estimator(estimator, check) -> None:
    check(estimator)


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [*OTHERS, SVC(kernel="precomputed")], expected_failed_checks=expected_to_fail
)
def test_check_other_configurations(estimator, check) -> None:
    check(estimator)


# Scores of three pairs of classes have the shape of scores of three classes, and are taken for
# them by one check; all others hold.
@pytest.mark.exhaustive
@parametrize_with_checks([SVC(decision_function_shape="ovo")])
def test_check_estimator_with_scores_of_pairs(estimator, check) -> None:
    if getattr(check, "func", check).__name__ != "check_classifiers_train":
        check(estimator)


@each_estimator
def test_clone_and_parameters(estimator) -> None:
    again = clone(estimator)
    assert again.get_params() == estimator.get_params()
    if "class_weight" in again.get_params():
        assert again.set_params(class_weight="balanced").class_weight == "balanced"
        assert estimator.class_weight is None


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC, Perceptron])
def test_parameters_are_keywords_but_those_that_are_not_in_scikit_learn(kind) -> None:
    with pytest.raises(TypeError):
        kind("l2", "squared_hinge", 1.0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # overlapping classes
@each_estimator
def test_in_a_pipeline(estimator) -> None:
    X, y = load_iris(return_X_y=True)
    # A perceptron's last weights are as good as this for nineteen seeds of twenty.
    seeded = clone(estimator)
    if "random_state" in seeded.get_params():
        seeded.set_params(random_state=0)
    model = make_pipeline(StandardScaler(), seeded)
    # One threshold cannot separate three classes.
    modest = isinstance(estimator, (Perceptron, DecisionStump))
    assert model.fit(X, y).score(X, y) > (0.5 if modest else 0.9)
    weighted = model.set_params()
    if not isinstance(estimator, Perceptron):
        name = model.steps[-1][0]
        weighted.fit(X, y, **{f"{name}__sample_weight": np.ones(len(y))})


def test_grid_search_finds_a_parameter_by_name() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LogisticRegression()),
        {"logisticregression__C": [1e-4, 1.0], "logisticregression__fit_intercept": [True, False]},
        cv=3,
    ).fit(X, y)
    assert search.best_params_["logisticregression__C"] == 1.0
    assert search.best_score_ > 0.95


def test_cross_validation_scorers() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    assert cross_val_score(model, X, y, cv=3, scoring="roc_auc").min() > 0.97
    assert cross_val_score(model, X, y, cv=3, scoring="neg_log_loss").min() > -0.2
    svm = make_pipeline(StandardScaler(), LinearSVC())
    assert cross_val_score(svm, X, y, cv=3, scoring="roc_auc").min() > 0.97


def test_inside_meta_estimators() -> None:
    X, y = load_iris(return_X_y=True)
    pairs = OneVsOneClassifier(LinearSVC()).fit(X, y)
    assert len(pairs.estimators_) == 3
    calibrated = CalibratedClassifierCV(LinearSVC(), cv=3).fit(X, y)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1.0)


def test_set_output_upstream_gives_feature_names() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    scaler = StandardScaler().set_output(transform="pandas")
    model = make_pipeline(scaler, LogisticRegression()).fit(X, y)
    assert model[-1].feature_names_in_.tolist() == X.columns.tolist()


def test_column_transformer_with_sparse_output() -> None:
    frame = pd.DataFrame({"a": ["x", "y", "z", "x"] * 10, "b": np.arange(40.0)})
    y = (np.arange(40) % 4 == 0).astype(int)
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["a"]), remainder="passthrough"),
        LogisticRegression(max_iter=1000),
    ).fit(frame, y)
    assert model[-1].certificate_.ok


# --- frames ------------------------------------------------------------------------------------


def frames():
    X, y = load_iris(return_X_y=True)
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    return X, y, names


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_frames_carry_their_names(library) -> None:
    X, y, names = frames()
    frame = library.DataFrame(dict(zip(names, X.T, strict=True)))
    model = LogisticRegression().fit(frame, y)
    assert model.feature_names_in_.tolist() == names
    assert model.n_features_in_ == 4
    plain = LogisticRegression().fit(X, y)
    # Frames lie in memory by columns: the sums run in another order.
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.predict_proba(frame), plain.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_a_series_of_labels(library) -> None:
    X, y, _ = frames()
    labels = library.Series(np.array(["setosa", "versicolor", "virginica"])[y])
    model = LinearSVC().fit(X, labels)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert set(model.predict(X[:5])) == {"setosa"}


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_other_names_at_prediction_are_an_error(library) -> None:
    X, y, names = frames()
    model = LogisticRegression().fit(library.DataFrame(dict(zip(names, X.T, strict=True))), y)
    other = library.DataFrame(dict(zip(["colour", *names[1:]], X.T, strict=True)))
    with pytest.raises(ValueError, match="colour"):
        model.predict(other)
    swapped = library.DataFrame(dict(zip(names[::-1], X.T[::-1], strict=True)))
    with pytest.raises(ValueError, match="order"):
        model.predict(swapped)


def test_no_names_at_prediction_is_a_warning() -> None:
    X, y, names = frames()
    model = LogisticRegression().fit(pd.DataFrame(X, columns=names), y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)


def test_a_bad_value_in_a_frame_is_named_by_column() -> None:
    X, y, names = frames()
    frame = pd.DataFrame(X, columns=names)
    frame.loc[7, "petal length"] = np.nan
    with pytest.raises(ValueError, match=r"NaN at row 7, column 2 \('petal length'\)"):
        LogisticRegression().fit(frame, y)


# --- labels ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [
        ["no", "yes"],
        [False, True],
        [-1, 1],
        [0, 1],
        [7, 3],
        [1.0, 2.0],
        ["ж", "é"],
        [np.int8(-3), np.int8(4)],
        [2**62, 2**62 + 1],
    ],
    ids=repr,
)
@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC, Perceptron])
def test_any_two_labels(kind, labels: list) -> None:
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]] * 5)
    y = np.array(labels)[(X[:, 0] > 0).astype(int)]
    model = kind().fit(X, y)
    assert model.classes_.tolist() == sorted(labels)
    assert model.predict(X).dtype == y.dtype
    np.testing.assert_array_equal(model.predict(X), y)
    # The positive side is the second class.
    assert np.all((model.decision_function(X) > 0) == (y == model.classes_[1]))


def test_object_labels() -> None:
    X, y, _ = frames()
    model = LogisticRegression().fit(X, np.array(["a", "b", "c"], dtype=object)[y])
    assert model.predict(X[:1]).tolist() == ["a"]


@pytest.mark.parametrize("y", [np.linspace(0, 1, 20), np.eye(20)[:, :2]], ids=["continuous", "2-D"])
def test_what_is_no_class_is_refused(y) -> None:
    with pytest.raises(ValueError):
        LogisticRegression().fit(np.eye(20), y)


@pytest.mark.parametrize("kind", [sp.csc_array, sp.coo_array, sp.lil_array, sp.csr_matrix])
def test_other_sparse_formats_are_converted(kind) -> None:
    X, y, _ = frames()
    model = LogisticRegression().fit(kind(X), y)
    np.testing.assert_allclose(model.coef_, LogisticRegression().fit(X, y).coef_, atol=1e-4)
    np.testing.assert_array_equal(model.predict(kind(X)), model.predict(X))
