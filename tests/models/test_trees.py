"""What models state as trees, against formulas that are written out here, and scikit-learn's."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model
import sklearn.svm
from scipy.stats import multivariate_normal
from sklearn.base import is_classifier
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError

import separatrix
from separatrix.data.design import as_design
from separatrix.expressions import evaluated

IRIS, SPECIES = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
PAIR = SPECIES > 0
NUMBERS = load_diabetes()
ROWS, TARGET = 10.0 * NUMBERS.data[:120, 2:], NUMBERS.target[:120] / 50.0
MODELS = {
    "LogisticRegression": {"steepness": 1.0},
    "LinearSVC": {"calibrate": "isotonic"},
    "Perceptron": {"calibrate": "sigmoid", "max_passes": 20},
    "SGDClassifier": {"loss": "modified_huber", "random_state": 0},
    "LogisticRegressionCV": {"Cs": 3, "cv": 3},
    "LassoCV": {"cv": 3},
    "ElasticNetCV": {"cv": 3},
    "SGDRegressor": {"random_state": 0},
}
quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def fitted(name, classes=3, **options):
    kind = getattr(separatrix, name)
    own = {k: v for k, v in MODELS.get(name, {}).items() if k in kind().get_params()}
    model = kind(**{**own, **options})
    if name == "OneClassSVM":
        return model.fit(IRIS), IRIS
    if not is_classifier(model):
        y = np.round(TARGET) if name == "PoissonRegressor" else TARGET
        return model.fit(ROWS, y), ROWS
    X, y = (IRIS, NAMES) if classes == 3 else (IRIS[PAIR], NAMES[PAIR])
    return model.fit(X, y), X


@quiet
@pytest.mark.parametrize("name", sorted(separatrix._ESTIMATORS))
def test_predictions_are_values_of_the_trees(name):
    for classes in (2, 3):
        model, X = fitted(name, classes)
        trees, rows = model._prediction(), as_design(X)
        scores = evaluated(trees.scores, rows)
        assert scores.shape == (len(X), trees.scores.n_columns)
        if trees.label is None:
            np.testing.assert_array_equal(model.predict(X), scores[:, 0])
            return
        places = evaluated(trees.label, rows)
        assert all(type(one) in (str, int) for one in trees.classes)
        np.testing.assert_array_equal(model.predict(X), np.array(trees.classes)[places])
        reported = evaluated(trees.reported or trees.scores, rows)
        np.testing.assert_array_equal(model.decision_function(X), np.squeeze(reported, axis=None))
        if trees.probabilities is not None:
            found = evaluated(trees.probabilities, rows)
            np.testing.assert_array_equal(model.predict_proba(X), found)
            np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-14)


def test_logistic_probabilities_are_those_of_the_formula():
    for classes in (2, 3):
        for options in ({}, {"steepness": 2.5}, {"multi_class": "ovr"}):
            model, X = fitted("LogisticRegression", classes, **options)
            z = model.steepness * (X @ model.coef_.T + model.intercept_)
            if classes == 2:
                p = 1.0 / (1.0 + np.exp(-z[:, 0]))
                expected = np.stack([1.0 - p, p], axis=1)
            else:
                own = np.exp(z) if not options.get("multi_class") else 1.0 / (1.0 + np.exp(-z))
                expected = own / own.sum(axis=1, keepdims=True)
            np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-9, atol=1e-15)
            logs = model.predict_log_proba(X)
            np.testing.assert_allclose(logs, np.log(expected), rtol=1e-6, atol=1e-9)


def test_logarithms_of_probabilities_keep_their_digits():
    model, X = fitted("LogisticRegression", 2)
    z = model.decision_function(X)
    exact = [-math.log1p(math.exp(-one)) for one in z]
    np.testing.assert_allclose(model.predict_log_proba(X)[:, 1], exact, rtol=1e-13)
    far = model.predict_log_proba(1e5 * X)
    assert np.isfinite(far).all()
    np.testing.assert_allclose(far.min(axis=1), -np.abs(model.decision_function(1e5 * X)))


@quiet
def test_calibrated_probabilities_are_those_of_the_formula():
    for classes in (2, 3):
        for method in ("sigmoid", "isotonic"):
            model, X = fitted("LinearSVC", classes, calibrate=method)
            s, own = X @ model.coef_.T + model.intercept_, model.calibration_
            if classes == 2:
                if method == "sigmoid":
                    p = 1.0 / (1.0 + np.exp(-(own["slope"] * s[:, 0] + own["intercept"])))
                else:
                    p = np.interp(s[:, 0], own["scores"], own["probabilities"])
                p = np.where((p > 0.5) == (s[:, 0] > 0.0), p, 0.5)
                expected = np.stack([1.0 - p, p], axis=1)
            elif method == "sigmoid":
                e = np.exp(own["slope"] * (s - s.max(axis=1, keepdims=True)))
                expected = e / e.sum(axis=1, keepdims=True)
            else:
                others = [np.delete(s, k, axis=1).max(axis=1) for k in range(3)]
                g = np.interp(s - np.stack(others, axis=1), own["scores"], own["probabilities"])
                expected = g / g.sum(axis=1, keepdims=True)
            np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-9, atol=1e-14)


def test_discriminants_are_densities_of_gaussians():
    for name in ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"):
        for classes in (2, 3):
            model, X = fitted(name, classes)
            covariances = np.broadcast_to(model.covariance_, (classes, 4, 4))
            densities = [
                multivariate_normal(mean, covariance).pdf(X) * prior
                for mean, covariance, prior in zip(
                    model.means_, covariances, model.priors_, strict=True
                )
            ]
            joint = np.stack(densities, axis=1)
            expected = joint / joint.sum(axis=1, keepdims=True)
            np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-9)
            np.testing.assert_array_equal(model.predict(X), model.classes_[joint.argmax(axis=1)])


def test_machines_are_sums_over_their_vectors():
    for options in ({}, {"approximation": "nystroem", "n_components": 25, "random_state": 0}):
        model, X = fitted("SVC", 2, gamma=0.5, **options)
        tree = model._prediction().scores
        squares = ((X[:, None] - tree.vectors[None]) ** 2).sum(axis=2)
        expected = np.exp(-0.5 * squares) @ tree.coefficients + tree.intercepts
        np.testing.assert_allclose(model.decision_function(X), expected[:, 0], atol=1e-9)
        if options:
            lifted = model.lift_.transform(X) @ model.coef_[0] + model.intercept_
            np.testing.assert_allclose(model.decision_function(X), lifted, atol=1e-9)
    peer = sklearn.svm.SVC(gamma=0.5, tol=1e-10).fit(X, NAMES[PAIR])
    model, X = fitted("SVC", 2, gamma=0.5, tol=1e-10)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-5)


def test_a_row_far_away_has_the_intercept_of_a_machine():
    model, X = fitted("SVC", 2, gamma=0.5)
    for rows in (1e200 * X, sp.csr_matrix(1e200 * X)):
        found = model.decision_function(rows)
        np.testing.assert_array_equal(found, np.full(len(X), model.intercept_[0]))
        np.testing.assert_array_equal(
            model.predict(rows), np.full(len(X), model.classes_[int(model.intercept_[0] > 0)])
        )


def test_labels_in_single_precision_are_those_of_the_scores():
    rng = np.random.default_rng(0)
    for classes in (2, 3):
        model, X = fitted("SVC", classes, gamma=0.5)
        rows = np.vstack([X[rng.integers(len(X), size=4000)] + rng.normal(size=(4000, 4))])
        scores = model.decision_function(rows)
        places = (scores > 0.0).astype(int) if classes == 2 else scores.argmax(axis=1)
        np.testing.assert_array_equal(model.predict(rows), model.classes_[places])


def test_numbers_are_those_of_the_formula():
    for name in ("Ridge", "Lasso", "LinearSVR", "HuberRegressor"):
        model, X = fitted(name)
        np.testing.assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_, rtol=1e-12)
    model, X = fitted("PoissonRegressor")
    expected = np.exp(X @ model.coef_ + model.intercept_)
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-12)
    model, X = fitted("PolynomialRegression", degree=2)
    plain = np.prod(X[:, None, :] ** model.powers_[None], axis=2) @ model.coef_ + model.intercept_
    np.testing.assert_allclose(model.predict(X), plain, rtol=1e-9, atol=1e-9)


def test_a_stump_compares_one_column():
    for classes in (2, 3):
        model, X = fitted("DecisionStump", classes)
        rows = np.vstack([X, X])
        rows[-1, model.feature_] = model.threshold_
        rows[-2, model.feature_] = np.nextafter(model.threshold_, np.inf)
        left = rows[:, model.feature_] <= model.threshold_
        expected = np.where(left, model.left_class_, model.right_class_)
        if classes == 3 or model.left_class_ == model.classes_[0]:
            np.testing.assert_array_equal(model.predict(rows), expected)


def test_several_labels_a_row():
    y = np.stack([IRIS[:, 0] > 5.5, IRIS[:, 1] > 3.0, SPECIES == 1], axis=1).astype(int)
    model = separatrix.RidgeClassifier().fit(IRIS, y)
    peer = sklearn.linear_model.RidgeClassifier().fit(IRIS, y)
    np.testing.assert_array_equal(model.predict(IRIS), peer.predict(IRIS))
    places = evaluated(model._prediction().label, as_design(IRIS))
    np.testing.assert_array_equal(places, model.predict(IRIS))


def test_what_has_no_tree_is_refused():
    gram = IRIS @ IRIS.T
    model = separatrix.SVC(kernel="precomputed").fit(gram, NAMES)
    assert model.score(gram, NAMES) > 0.9
    with pytest.raises(ValueError, match="a precomputed kernel has no formula of the columns"):
        model._prediction()
    model = separatrix.SVR(kernel=lambda a, b: a @ b.T).fit(ROWS, TARGET)
    with pytest.raises(ValueError, match="a callable kernel has no formula of the columns"):
        model._prediction()
    with pytest.raises(NotFittedError):
        separatrix.Lasso()._prediction()
    model, X = fitted("LinearSVC", 2)
    model.coef_ = model.coef_[:, :-1]
    with pytest.raises(ValueError, match=r"The coef_ of this LinearSVC has the shape \(1, 3\)"):
        model.predict(X)
