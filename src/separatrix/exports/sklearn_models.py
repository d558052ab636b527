"""The trees of scikit-learn's fitted models, found by the names of their classes.

The trees state what their ``predict``, ``decision_function`` and ``predict_proba`` compute.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.exports.artefacts import Unprintable
from separatrix.expressions import (
    Affine,
    Clipped,
    Difference,
    Exp,
    Expression,
    Features,
    FirstWins,
    Interpolate,
    KernelSum,
    LogSigmoid,
    Normalised,
    Prediction,
    Quadratic,
    Scaled,
    Softmax,
    Stacked,
    Threshold,
    Votes,
    Wins,
)


def sklearn_class(one: Any) -> str:
    """The name of the class of a model or step of scikit-learn; empty for any other."""
    kind = type(one)
    return kind.__name__ if kind.__module__.split(".")[0] == "sklearn" else ""


def prediction_of(model: Any, features: Features | None = None) -> Prediction:
    """The trees of a fitted model, of features that may be those of others."""
    build = _MODELS.get(sklearn_class(model))
    if build is None:
        raise Unprintable(
            f"{type(model).__name__} has no formula here; models that have one are those of this "
            f"library, and scikit-learn's {', '.join(_MODELS)}."
        )
    return build(model, features or Features(int(getattr(model, "n_features_in_", 0))))


def _dense(matrix: Any) -> np.ndarray:
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix, dtype=np.float64)


def _affine(model: Any, features: Expression) -> Affine:
    weights = np.atleast_2d(_dense(model.coef_))
    own = np.asarray(model.intercept_, dtype=np.float64)
    return Affine(features, weights, np.array(np.broadcast_to(own, len(weights))))


# --- regressions ---------------------------------------------------------------------------------


def _regression(model: Any, features: Features) -> Prediction:
    return Prediction(_affine(model, features))


def _log_link(model: Any, features: Features) -> Prediction:
    return Prediction(Exp(_affine(model, features)))


def _tweedie(model: Any, features: Features) -> Prediction:
    straight = model.link == "identity" or (model.link == "auto" and model.power <= 0)
    return (_regression if straight else _log_link)(model, features)


# --- classes by linear scores --------------------------------------------------------------------


def _classes(model: Any) -> tuple[object, ...]:
    binarizer = getattr(model, "_label_binarizer", None)
    if getattr(binarizer, "y_type_", "").startswith("multilabel"):
        raise Unprintable(f"{type(model).__name__} with several targets has no export.")
    return tuple(np.asarray(model.classes_).tolist())


def _of_scores(
    model: Any, scores: Expression, probabilities: Expression | None = None
) -> Prediction:
    label = Threshold(scores) if scores.n_columns == 1 else FirstWins(scores)
    return Prediction(scores, label, _classes(model), probabilities)


def _linear(model: Any, features: Features) -> Prediction:
    return _of_scores(model, _affine(model, features))


def _logistic(model: Any, features: Features) -> Prediction:
    scores = _affine(model, features)
    # Up to scikit-learn 1.7 there is a choice between classes together and each by itself.
    ways = getattr(model, "multi_class", "auto")
    apart = ways == "ovr" or (
        ways in ("auto", "deprecated", "warn") and model.solver == "liblinear"
    )
    if scores.n_columns == 1:
        own = _each_by_itself(Scaled(scores, 2.0) if ways == "multinomial" else scores)
    else:
        own = _each_by_itself(scores) if apart else Softmax(scores)
    return _of_scores(model, scores, own)


def _each_by_itself(scores: Expression) -> Expression:
    """The sigmoid of each class by its share, and of two classes ``1 - p`` and ``p``."""
    return Normalised(Exp(LogSigmoid(scores)))


def _discriminant(model: Any, features: Features) -> Prediction:
    scores = _affine(model, features)
    return _of_scores(
        model, scores, (_each_by_itself if scores.n_columns == 1 else Softmax)(scores)
    )


def _sgd(model: Any, features: Features) -> Prediction:
    scores = _affine(model, features)
    own: Expression | None = None
    if model.loss == "log_loss":
        own = _each_by_itself(scores)
    elif model.loss == "modified_huber":
        own = Normalised(Clipped(scores))
    return _of_scores(model, scores, own)


# --- Gaussians -----------------------------------------------------------------------------------


def _quadratic(model: Any, features: Features) -> Prediction:
    from separatrix.closed_form.gaussian import Cholesky, Gaussians

    means, factors, covariances = np.asarray(model.means_), [], []
    for axes, squares in zip(model.rotations_, model.scalings_, strict=True):
        root = np.sqrt(squares)[:, None] * axes.T
        covariances.append(root.T @ root)
        scale = 1.0 / np.sqrt(np.diagonal(covariances[-1]))
        # The triangle of a square root keeps the digits that the square would lose.
        triangle = np.linalg.qr(root * scale, mode="r")
        factors.append(Cholesky(scale, (triangle * np.sign(np.diagonal(triangle))[:, None]).T))
    own = Gaussians(
        means,
        np.array(covariances),
        np.asarray(model.priors_),
        np.arange(means.shape[1]),
        tuple(factors),
    )
    every = Quadratic(features, own)
    return _of_scores(model, Difference(every) if len(means) == 2 else every, Softmax(every))


# --- support vectors -----------------------------------------------------------------------------


def _kernel_sum(model: Any, features: Features) -> Expression:
    """The scores of a kernel machine, or of each pair of its classes."""
    from separatrix.kernels.functions import (
        LinearKernel,
        PolynomialKernel,
        RBFKernel,
        SigmoidKernel,
    )

    if getattr(model, "probability", False) is True:
        raise Unprintable(
            f"{type(model).__name__}(probability=True) has probabilities that contradict its "
            "classes; fit with probability=False, or calibrate with CalibratedClassifierCV."
        )
    gamma = float(getattr(model, "_gamma", 1.0))
    kernels: dict[object, Callable[[], Any]] = {
        "linear": LinearKernel,
        "rbf": lambda: RBFKernel(gamma=gamma),
        "poly": lambda: PolynomialKernel(int(model.degree), gamma=gamma, coef0=model.coef0),
        "sigmoid": lambda: SigmoidKernel(gamma=gamma, coef0=model.coef0),
    }
    if callable(model.kernel) or model.kernel not in kernels:
        raise Unprintable(
            f"{type(model).__name__} has a kernel without a formula here; those with one are "
            f"{', '.join(map(str, kernels))}."
        )
    dual, intercepts = _dense(model.dual_coef_), np.asarray(model.intercept_, dtype=np.float64)
    coefficients = np.zeros((dual.shape[1], len(intercepts)))
    if len(intercepts) == 1:
        coefficients[:] = dual.T
    else:
        ends = np.cumsum([0, *model.n_support_])
        own = [slice(start, stop) for start, stop in pairwise(ends)]
        n = len(own)
        pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
        for k, (i, j) in enumerate(pairs):
            coefficients[own[i], k] = dual[j - 1, own[i]]
            coefficients[own[j], k] = dual[i, own[j]]
    vectors = model.support_vectors_
    return KernelSum(features, kernels[model.kernel](), vectors, coefficients, intercepts)


def _kernel_machine(model: Any, features: Features) -> Prediction:
    scores = _kernel_sum(model, features)
    n = len(_classes(model))
    if n == 2:
        return _of_scores(model, scores)
    votes = Votes(scores, n)
    together = model.decision_function_shape == "ovr"
    settled = votes if model.break_ties and together else Wins(scores, n)
    return Prediction(
        settled, FirstWins(settled), _classes(model), reported=votes if together else scores
    )


def _kernel_regression(model: Any, features: Features) -> Prediction:
    return Prediction(_kernel_sum(model, features))


# --- calibration ---------------------------------------------------------------------------------


def _calibrated(model: Any, features: Features) -> Prediction:
    members = [_calibrated_member(one, model, features) for one in model.calibrated_classifiers_]
    mean, k, n = members[0], len(members), len(_classes(model))
    if k > 1:
        mean = Affine(Stacked(tuple(members)), np.tile(np.eye(n) / k, k), np.zeros(n))
    # The class with the largest probability, and not that of the scores.
    scores = Difference(mean) if n == 2 else mean
    return _of_scores(model, scores, mean)


def _calibrated_member(member: Any, model: Any, features: Features) -> Expression:
    base = member.estimator
    while sklearn_class(base) == "FrozenEstimator":
        base = base.estimator
    if sklearn_class(base) == "Pipeline":
        raise Unprintable(
            "CalibratedClassifierCV has a pipeline of its own for each fold; put the calibration "
            "at the end of one pipeline instead, as in make_pipeline(scaler, "
            "CalibratedClassifierCV(classifier))."
        )
    own = prediction_of(base, features)
    if own.classes != _classes(model):
        raise Unprintable(
            "A fold of CalibratedClassifierCV has not seen all classes; fit with fewer folds."
        )
    scores = own.reported or own.scores
    each = member.calibrators
    if member.method == "isotonic":
        curves = [
            Interpolate(column, np.asarray(one.X_thresholds_), np.asarray(one.y_thresholds_))
            for column, one in zip(_columns(scores), each, strict=True)
        ]
        return Normalised(curves[0] if len(curves) == 1 else Stacked(tuple(curves)))
    if member.method != "sigmoid":
        raise Unprintable(
            f"CalibratedClassifierCV(method={member.method!r}) has no export; sigmoid and isotonic "
            "have one."
        )
    slopes = np.array([-float(one.a_) for one in each])
    offsets = np.array([-float(one.b_) for one in each])
    return _each_by_itself(Affine(scores, np.diag(slopes), offsets))


def _columns(scores: Expression) -> list[Expression]:
    n = scores.n_columns
    if n == 1:
        return [scores]
    return [Affine(scores, row[None, :], np.zeros(1)) for row in np.eye(n)]


_MODELS: dict[str, Callable[[Any, Features], Prediction]] = {
    "LogisticRegression": _logistic,
    "LogisticRegressionCV": _logistic,
    "LinearSVC": _linear,
    "SGDClassifier": _sgd,
    "Perceptron": _linear,
    "PassiveAggressiveClassifier": _linear,
    "RidgeClassifier": _linear,
    "RidgeClassifierCV": _linear,
    "LinearDiscriminantAnalysis": _discriminant,
    "QuadraticDiscriminantAnalysis": _quadratic,
    "SVC": _kernel_machine,
    "NuSVC": _kernel_machine,
    "CalibratedClassifierCV": _calibrated,
    "LinearRegression": _regression,
    "Ridge": _regression,
    "RidgeCV": _regression,
    "Lasso": _regression,
    "LassoCV": _regression,
    "ElasticNet": _regression,
    "ElasticNetCV": _regression,
    "HuberRegressor": _regression,
    "QuantileRegressor": _regression,
    "SGDRegressor": _regression,
    "LinearSVR": _regression,
    "PoissonRegressor": _log_link,
    "GammaRegressor": _log_link,
    "TweedieRegressor": _tweedie,
    "SVR": _kernel_regression,
    "NuSVR": _kernel_regression,
}
