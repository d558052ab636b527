"""What the attributes of a fitted model must be to one another.

A model that was read from a file is made of whatever the file says, and compiled loops follow the
sizes that it states without looking.  So every attribute has a rule here: its type, its shape in
terms of the others' sizes, what its numbers may be.  What breaks a rule is told in one sentence.

Sizes have names: ``d`` columns, ``K`` classes, ``h`` half-spaces (one for two classes, else one a
class), ``pairs`` of classes, ``K-1``, ``m`` targets.  Any other name stands for a size that the
first array with it settles.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.certificate import REMEDIES, Certificate, ResidualCertificate

__all__ = ["RULES", "ModelCheckError", "check_encoder", "check_model"]

# Columns of a machine without support vectors, and the like, where no array is as long as they.
_MOST_UNSEEN = 1_000_000
# Certificates have parts, and these might.
_DEEPEST = 4
_TRUTH = (bool, np.bool_)
_WHOLE = (int, np.integer)
_NUMBERS = (int, float, np.integer, np.floating)
_LABELS = (str, *_TRUTH, *_NUMBERS)


class ModelCheckError(ValueError):
    """What is wrong with a model, as the end of a sentence: ``coef_ has the shape ...``."""


def _refuse(name: str, told: str) -> ModelCheckError:
    return ModelCheckError(f"{name} {told}")


# --- rules -----------------------------------------------------------------------------------


@dataclass
class _Sizes:
    """The sizes of one model, as far as they are known."""

    known: dict[str, int]
    # Numbers of a fit that overflowed need not be finite.
    overflowed: bool = False

    def hold(self, name: str, shape: tuple[int, ...], wanted: tuple[str, ...]) -> None:
        """Settle the sizes that are new; raise ModelCheckError where one is another."""
        good = len(shape) == len(wanted)
        for size, found in zip(wanted, shape, strict=False):
            good = good and self.known.setdefault(size, found) == found
        if not good:
            told = [f"{self.known[size]:,}" if size in self.known else size for size in wanted]
            raise _refuse(
                name,
                f"has the shape ({', '.join(f'{n:,}' for n in shape)}), and with the rest of the "
                f"model goes ({', '.join(told)})",
            )


Rule = Callable[[str, Any, _Sizes], None]


def _array(*shape: str, finite: bool = True, low: float = -math.inf) -> Rule:
    """An array of float64."""

    def check(name: str, value: Any, sizes: _Sizes) -> None:
        _require_array(name, value)
        if value.dtype != np.float64:
            raise _refuse(name, f"holds {value.dtype}, and not float64")
        sizes.hold(name, value.shape, shape)
        _require_numbers(name, value, finite and not sizes.overflowed, low)

    return check


def _whole_array(*shape: str, low: int = 0, below: str | None = None) -> Rule:
    """An array of whole numbers, from ``low`` to less than the size ``below``."""

    def check(name: str, value: Any, sizes: _Sizes) -> None:
        _require_array(name, value)
        if value.dtype.kind != "i":
            raise _refuse(name, f"holds {value.dtype}, and not whole numbers")
        sizes.hold(name, value.shape, shape)
        most = math.inf if below is None else sizes.known.get(below, math.inf)
        if value.size and not low <= int(value.min()) <= int(value.max()) < most:
            raise _refuse(name, f"has a number that is not from {low} to below {most:,}")

    return check


def _flags(*shape: str) -> Rule:
    def check(name: str, value: Any, sizes: _Sizes) -> None:
        _require_array(name, value)
        if value.dtype != np.bool_:
            raise _refuse(name, f"holds {value.dtype}, and not true and false")
        sizes.hold(name, value.shape, shape)

    return check


def _number(*, finite: bool = True, low: float = -math.inf) -> Rule:
    def check(name: str, value: Any, sizes: _Sizes) -> None:
        if not isinstance(value, _NUMBERS) or isinstance(value, _TRUTH):
            raise _refuse(name, f"is of {type(value).__name__}, and not a number")
        _require_numbers(name, np.float64(value), finite and not sizes.overflowed, low)

    return check


def _whole(low: int = 0, most: int = 2**53) -> Rule:
    def check(name: str, value: Any, sizes: _Sizes) -> None:
        if not isinstance(value, _WHOLE) or isinstance(value, _TRUTH):
            raise _refuse(name, f"is of {type(value).__name__}, and not a whole number")
        if not low <= value <= most:
            raise _refuse(name, f"is not a whole number from {low:,} to {most:,}")

    return check


def _text(name: str, value: Any, sizes: _Sizes) -> None:
    if not isinstance(value, str):
        raise _refuse(name, f"is of {type(value).__name__}, and not a text")


def _texts(name: str, value: Any, sizes: _Sizes) -> None:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _refuse(name, "is not a list of texts")


def _either(alone: Rule, several: Rule) -> Rule:
    """One thing for one target, another for several."""

    def check(name: str, value: Any, sizes: _Sizes) -> None:
        (several if isinstance(value, np.ndarray) and value.ndim else alone)(name, value, sizes)

    return check


def _require_array(name: str, value: Any) -> None:
    if not isinstance(value, np.ndarray):
        raise _refuse(name, f"is of {type(value).__name__}, and not an array")


def _require_numbers(name: str, value: Any, finite: bool, low: float) -> None:
    if finite and not np.all(np.isfinite(value)):
        raise _refuse(name, "holds NaN or infinity")
    # NaN, where it may be, is not less than anything.
    if low > -math.inf and np.any(value < low):
        raise _refuse(name, f"holds a number less than {low:g}")


def _classes(name: str, value: Any, sizes: _Sizes) -> None:
    _require_array(name, value)
    if value.ndim != 1 or len(value) < 2 or value.dtype.kind not in "biufUTO":
        raise _refuse(name, "is not a list of two labels or more")
    if value.dtype.kind == "O" and not all(isinstance(label, _LABELS) for label in value.tolist()):
        raise _refuse(name, "holds something that is no label")
    # Labels are looked up by bisection.
    if not all(bool(a < b) for a, b in zip(value[:-1].tolist(), value[1:].tolist(), strict=True)):
        raise _refuse(name, "does not hold distinct labels in ascending order")
    _require_numbers(name, value, value.dtype.kind == "f", -math.inf)
    k = len(value)
    sizes.known.update({"K": k, "K-1": k - 1, "h": 1 if k == 2 else k, "pairs": k * (k - 1) // 2})


def _names(name: str, value: Any, sizes: _Sizes) -> None:
    _require_array(name, value)
    if value.dtype.kind not in "OUT" or not all(isinstance(n, str) for n in value.ravel().tolist()):
        raise _refuse(name, "does not hold names")
    sizes.hold(name, value.shape, ("d",))


def _certificate(name: str, value: Any, sizes: _Sizes) -> None:
    if not isinstance(value, Certificate):
        raise _refuse(name, f"is of {type(value).__name__}, and not a certificate")
    _check_certificate(name, value, ("gap", "relative_gap"), 0)
    for part in (value, *value.parts):
        if math.isfinite(part.gap) and math.isfinite(part.primal) and part.primal:
            relative = part.gap / abs(part.primal)
            if not abs(part.relative_gap - relative) <= 1e-3 * relative:
                raise _refuse(
                    name,
                    f"has the relative gap {part.relative_gap:.3g}, and its gap {part.gap:.3g} of "
                    f"{part.primal:.3g} is {relative:.3g}",
                )


def _residual_certificate(name: str, value: Any, sizes: _Sizes) -> None:
    if not isinstance(value, ResidualCertificate):
        raise _refuse(name, f"is of {type(value).__name__}, and not a certificate of equations")
    _check_certificate(name, value, ("relative_residual", "orthogonality"), 0)
    for part in (value, *value.parts):
        if not 0 <= part.rank <= part.n_columns:
            raise _refuse(name, f"has the rank {part.rank:,} of {part.n_columns:,} columns")


def _check_certificate(name: str, value: Any, positive: tuple[str, ...], depth: int) -> None:
    if depth > _DEEPEST:
        raise _refuse(name, "has parts of parts without end")
    if value.status not in REMEDIES:
        raise _refuse(name, f"has the status {value.status[:40]!r}, which does not exist")
    for field in (*positive, "tol", "seconds", "n_iter"):
        number = getattr(value, field)
        if number is not None and number < 0:
            raise _refuse(name, f"has a negative {field}")
    if not (value.tol < math.inf and value.seconds < math.inf):
        raise _refuse(name, "has a tolerance or a time that is not finite")
    for part in value.parts:
        if type(part) is not type(value):
            raise _refuse(name, "has a part that is none")
        _check_certificate(name, part, positive, depth + 1)


def _within_tol(name: str, value: Any, sizes: _Sizes) -> None:
    """What is called optimal is within its tolerance."""
    _certificate(name, value, sizes)
    _require_within(name, value, value.relative_gap)


def _equations(name: str, value: Any, sizes: _Sizes) -> None:
    """The same of a closed form."""
    _residual_certificate(name, value, sizes)
    _require_within(name, value, value.relative_residual)


def _require_within(name: str, value: Any, off: float) -> None:
    if value.ok and not off <= value.tol * (1.0 + 1e-9):
        raise _refuse(name, f"says optimal at {off:.3g}, with the tolerance {value.tol:.3g}")


def _calibration(name: str, value: Any, sizes: _Sizes) -> None:
    if not isinstance(value, dict) or value.get("method") not in ("sigmoid", "isotonic"):
        raise _refuse(name, "is no calibration")
    rules: dict[str, Rule] = {"method": _text, "folds": _whole(1)}
    if value["method"] == "sigmoid":
        rules["slope"] = _number(low=0.0)
        if sizes.known["K"] == 2:
            rules["intercept"] = _number()
    else:
        rules["scores"] = _array("points")
        rules["probabilities"] = _array("points", low=0.0)
    _check_parts(name, value, rules, sizes)
    if value["method"] == "isotonic":
        scores, shares = value["scores"], value["probabilities"]
        rising = np.all(scores[1:] >= scores[:-1]) and np.all(shares[1:] >= shares[:-1])
        if not (len(scores) and rising and shares[-1] <= 1.0):
            raise _refuse(name, "is no function that rises from 0 to at most 1")


def _rate_curve(name: str, value: Any, sizes: _Sizes) -> None:
    rules = {"rates": _array("rates", low=0.0), "objective": _array("rates", finite=False)}
    _check_parts(name, value, rules, sizes)


def _check_parts(name: str, value: Any, rules: dict[str, Rule], sizes: _Sizes) -> None:
    if not isinstance(value, dict) or set(value) != set(rules):
        raise _refuse(name, f"does not hold {', '.join(sorted(rules))}")
    for key, rule in rules.items():
        rule(f"{name}[{key!r}]", value[key], sizes)


def _curves(name: str, value: Any, sizes: _Sizes) -> None:
    """One array for each half-space; the array itself where there is one."""
    curves = value if isinstance(value, list) else [value]
    if len(curves) != sizes.known["h"]:
        raise _refuse(name, f"has {len(curves):,} curves for {sizes.known['h']:,} half-spaces")
    for k, curve in enumerate(curves):
        _array(f"length of curve {k}", finite=False)(name, curve, sizes)


def _a_class(name: str, value: Any, sizes: _Sizes) -> None:
    if not isinstance(value, _LABELS):
        raise _refuse(name, f"is of {type(value).__name__}, and no label")


def _record(kind: str, rules: dict[str, Rule]) -> Rule:
    def check(name: str, value: Any, sizes: _Sizes) -> None:
        if type(value).__name__ != kind:
            raise _refuse(name, f"is of {type(value).__name__}, and not of {kind}")
        for field in fields(value):
            rules[field.name](f"{name}.{field.name}", getattr(value, field.name), sizes)

    return check


def _optional(rule: Rule) -> Rule:
    def check(name: str, value: Any, sizes: _Sizes) -> None:
        if value is not None:
            rule(name, value, sizes)

    return check


def _flag(name: str, value: Any, sizes: _Sizes) -> None:
    if not isinstance(value, _TRUTH):
        raise _refuse(name, "is neither true nor false")


def _one_of(*rules: Rule) -> Rule:
    """The last rule speaks where none holds."""

    def check(name: str, value: Any, sizes: _Sizes) -> None:
        for rule in rules[:-1]:
            known = dict(sizes.known)
            try:
                return rule(name, value, sizes)
            except ModelCheckError:
                sizes.known = known
        return rules[-1](name, value, sizes)

    return check


_scatter = _one_of(_array("d", "d", finite=False), _array("K", "d", "d", finite=False))
_moments = _record(
    "Moments",
    {
        "weight": _array("K", low=0.0),
        "mean": _array("K", "d", finite=False),
        "scatter": _scatter,
        "n_rows": _whole(),
        "rest": _array("K", "d", finite=False),
        "third": _optional(_array("K", "d", "d", finite=False)),
        "fourth": _optional(_array("K", "d", "d", finite=False)),
        "unit": _optional(_array("d", finite=False)),
    },
)
_factor = _optional(
    _record(
        "TriangularFactor",
        {
            "weight": _number(low=0.0),
            "mean": _array("columns and targets", finite=False),
            "r": _array("rows of the factor", "columns and targets", finite=False),
            "n_rows": _whole(),
            "n_targets": _whole(1),
            "centred": _flag,
            "mean_rest": _array("columns and targets", finite=False),
        },
    )
)


def _points(count: str) -> Rule:
    """Rows of data, dense or CSR."""

    def check(name: str, value: Any, sizes: _Sizes) -> None:
        numbers_of = value.data if sp.issparse(value) else value
        if sp.issparse(value) and value.format != "csr":
            raise _refuse(name, f"is in the format {value.format}")
        _require_array(name, numbers_of)
        if numbers_of.dtype not in (np.float32, np.float64):
            raise _refuse(name, f"holds {numbers_of.dtype}, and not floats")
        sizes.hold(name, tuple(value.shape), (count, "d"))
        _require_numbers(name, numbers_of, True, -math.inf)

    return check


def _kernel(name: str, value: Any, sizes: _Sizes) -> None:
    from separatrix.kernels.functions import CallableKernel, Kernel, PolynomialKernel

    if not isinstance(value, Kernel) or isinstance(value, CallableKernel):
        raise _refuse(name, f"is of {type(value).__name__}, and no kernel that a file can hold")
    if isinstance(value, PolynomialKernel) and value.degree > 1_000_000:
        raise _refuse(name, f"has the degree {value.degree:,}")


def _lift(name: str, value: Any, sizes: _Sizes) -> None:
    kind = type(value).__name__
    if kind not in _LIFTS:
        raise _refuse(name, f"is of {kind}, and no lift")
    _check_attributes(value, _LIFTS[kind], sizes, where=f"{name}.")
    m = sizes.known["components"]
    if kind == "FourierLift" and m != 2 * sizes.known["waves"]:
        raise _refuse(name, f"has {m:,} components of {sizes.known['waves']:,} waves")
    if kind == "NystroemLift":
        if not np.all(np.diagonal(value.factor_)):
            raise _refuse(name, "has a factor that is singular")
        if not m and sizes.known["d"] > _MOST_UNSEEN:
            raise _refuse(name, f"has no landmarks, and {sizes.known['d']:,} columns")


# --- what each model has ---------------------------------------------------------------------

_ALL: dict[str, Rule] = {
    "n_features_in_": _whole(1),
    "feature_names_in_": _names,
    "n_iter_": _whole(),
    "objective_formula_": _text,
}
_LINEAR: dict[str, Rule] = {
    **_ALL,
    "classes_": _classes,
    "coef_": _array("h", "d"),
    "intercept_": _array("h"),
    "certificate_": _within_tol,
}
_SUPPORT: dict[str, Rule] = {
    "support_": _whole_array("support"),
    "n_support_": _whole_array("K"),
    "calibration_": _calibration,
}
_LOGISTIC: dict[str, Rule] = {
    **_LINEAR,
    "information_": _array("order", "order", finite=False),
    "class_totals_": _array("K", low=0.0),
}
_AVERAGED: dict[str, Rule] = {
    "plain_coef_": _array("h", "d"),
    "plain_intercept_": _array("h"),
    "n_visits_": _array("h", low=0.0),
}
_LEAST_SQUARES: dict[str, Rule] = {
    **_ALL,
    "rank_": _whole(),
    "condition_number_": _number(finite=False, low=0.0),
    "factor_": _factor,
    "n_samples_seen_": _number(low=0.0),
    "certificate_": _equations,
}
_GAUSSIANS: dict[str, Rule] = {
    **_ALL,
    "classes_": _classes,
    "moments_": _moments,
    "means_": _array("K", "d"),
    "priors_": _array("K", low=0.0),
    "independent_columns_": _whole_array("independent", below="d"),
    "shrinkage_": _array("K", finite=False),
    "certificate_": _equations,
    "condition_number_": _number(finite=False, low=0.0),
}
_BY_LIFT: dict[str, Rule] = {
    "n_features_in_": _whole(1),
    "feature_names_in_": _names,
    "n_components_": _whole(),
}
_LIFTS: dict[str, dict[str, Rule]] = {
    "NystroemLift": {
        **_BY_LIFT,
        "kernel_": _kernel,
        "landmarks_": _whole_array("components"),
        "landmark_points_": _points("components"),
        "factor_": _array("components", "components"),
        "unexplained_": _number(low=0.0),
    },
    "FourierLift": {
        **_BY_LIFT,
        "frequencies_": _array("waves", "d"),
        "offset_": _array("d"),
    },
}

#: The rules of every model's attributes, by its class and their names.
RULES: dict[str, dict[str, Rule]] = {
    "DecisionStump": {
        **_ALL,
        "classes_": _classes,
        "coef_": _array("h", "d"),
        "intercept_": _array("h", finite=False),
        "certificate_": _certificate,
        "feature_": _whole(),
        "left_class_": _a_class,
        "right_class_": _a_class,
        "risk_": _number(low=0.0),
        "threshold_": _number(finite=False),
        "rule_": _text,
    },
    "LeastSquaresClassifier": {
        **_LEAST_SQUARES,
        "classes_": _classes,
        "coef_": _array("h", "d"),
        "intercept_": _array("h"),
    },
    "LinearDiscriminantAnalysis": {
        **_GAUSSIANS,
        "covariance_": _array("d", "d"),
        "floored_": _flags("covariances"),
        "coef_": _array("h", "d"),
        "intercept_": _array("h"),
        "centred_coef_": _array("K", "d"),
        "centred_intercept_": _array("K"),
        "xbar_": _array("d"),
        "scalings_": _array("d", "directions"),
        "explained_variance_ratio_": _array("directions", finite=False),
    },
    "LinearRegression": {
        **_LEAST_SQUARES,
        "coef_": _one_of(_array("d"), _array("m", "d")),
        "intercept_": _either(_number(), _array("m")),
        "mse_": _either(_number(finite=False), _array("m", finite=False)),
    },
    "LinearSVC": {
        **_LINEAR,
        **_SUPPORT,
        "dual_coef_": _array("h", "support"),
        "margin_": _array("h", finite=False, low=0.0),
    },
    "LogisticRegression": _LOGISTIC,
    "LogisticRegressionCV": {
        **_LOGISTIC,
        "C_": _number(finite=False, low=0.0),
        "Cs_": _array("values", finite=False),
        "scores_": _array("folds", "values", finite=False),
    },
    "Perceptron": {
        **_LINEAR,
        **_AVERAGED,
        "certificate_": _certificate,
        "calibration_": _calibration,
        "mistakes_": _one_of(_whole_array("h", "rows"), _whole_array("rows")),
        "n_updates_": _whole(),
    },
    "PolynomialRegression": {
        **_LEAST_SQUARES,
        "basis_centre_": _array("d", finite=False),
        "basis_scale_": _array("d", finite=False),
        "basis_recurrence_": _array("d", "degree", "3", finite=False),
        "powers_": _whole_array("terms", "d"),
        "basis_coef_": _array("m", "terms"),
        "basis_intercept_": _array("m"),
        "terms_": _texts,
        # Plain powers can be beyond the range of floats.
        "coef_": _one_of(_array("terms", finite=False), _array("m", "terms", finite=False)),
        "intercept_": _either(_number(finite=False), _array("m", finite=False)),
        "mse_": _either(_number(finite=False), _array("m", finite=False)),
    },
    "QuadraticDiscriminantAnalysis": {
        **_GAUSSIANS,
        "covariance_": _array("K", "d", "d"),
        "floored_": _flags("K"),
    },
    "SGDClassifier": {
        **_LINEAR,
        **_AVERAGED,
        "certificate_": _certificate,
        "eta0_": _number(low=0.0),
        "learning_rate_condition_": _text,
        "learning_rate_formula_": _text,
        "rate_curve_": _rate_curve,
        "t_": _whole_array("h"),
        "validation_rows_": _whole_array("held"),
        "validation_scores_": _curves,
    },
    "SVC": {
        **_ALL,
        **_SUPPORT,
        "classes_": _classes,
        "kernel_": _kernel,
        "lift_": _lift,
        "intercept_": _array("pairs"),
        "coef_": _array("pairs", "coordinates"),
        "margin_": _array("pairs", finite=False, low=0.0),
        "slack_": _one_of(_array("rows", "pairs", finite=False), _array("rows", finite=False)),
        "dual_coef_": _array("K-1", "support"),
        "bounded_": _flags("K-1", "support"),
        "support_vectors_": _points("support"),
        "exact_primal_": _number(finite=False),
        "exact_dual_": _number(finite=False),
        "certificate_": _within_tol,
    },
}

# What a model cannot predict without, and what is told of it.
_NEEDED: dict[str, tuple[str, ...]] = {
    "DecisionStump": ("feature_", "left_class_", "right_class_", "threshold_"),
    "LeastSquaresClassifier": ("coef_", "intercept_", "rank_", "condition_number_"),
    "LinearDiscriminantAnalysis": (),
    "LinearRegression": ("coef_", "intercept_", "rank_", "condition_number_"),
    "LinearSVC": ("coef_", "intercept_"),
    "LogisticRegression": ("coef_", "intercept_"),
    "LogisticRegressionCV": ("C_", "coef_", "intercept_"),
    "Perceptron": ("coef_", "intercept_"),
    "PolynomialRegression": (
        *("basis_centre_", "basis_scale_", "basis_recurrence_", "powers_", "basis_coef_"),
        *("basis_intercept_", "coef_", "intercept_", "terms_", "rank_", "condition_number_"),
    ),
    "QuadraticDiscriminantAnalysis": (),
    "SGDClassifier": ("coef_", "intercept_", "learning_rate_formula_", "learning_rate_condition_"),
    "SVC": ("kernel_", "intercept_", "slack_"),
}
_REGRESSIONS = ("LinearRegression", "PolynomialRegression")
_KNOWN = frozenset(name for rules in RULES.values() for name in rules) | {"path_", "trace_"}


def check_model(model: Any) -> None:
    """Raise ModelCheckError unless the attributes of a fitted model go together.

    Parameters
    ----------
    model : estimator
        One of this library's; of any other nothing is known, and nothing is checked.

    Raises
    ------
    ModelCheckError
        The message says what is wrong, as the end of a sentence.
    """
    kind = type(model).__name__
    rules = RULES.get(kind)
    if rules is None:
        return
    _check_parameters(model)
    needed = ["n_features_in_", *_NEEDED[kind]]
    if kind not in _REGRESSIONS:
        needed.append("classes_")
    if kind.endswith("DiscriminantAnalysis") and "means_" in vars(model):
        # All of the numbers, or none of them: rows of a class may be still to come.
        needed += [name for name in rules if name not in ("feature_names_in_", "n_iter_")]
    elif kind.endswith("DiscriminantAnalysis"):
        needed.append("moments_")
    else:
        needed.append("certificate_")
    _require(model, needed)
    sizes = _Sizes({})
    _check_attributes(model, rules, sizes)
    further = _FURTHER.get(kind)
    if further is not None:
        further(model, sizes)


def check_encoder(encoder: Any, model: Any) -> None:
    """Raise ModelCheckError unless an encoder makes the columns that a model takes."""
    made, taken = encoder.n_features_, getattr(model, "n_features_in_", encoder.n_features_)
    if made != taken:
        raise ModelCheckError(
            f"its encoding makes {made:,} columns, and its {type(model).__name__} takes {taken:,}"
        )


def _require(model: Any, names: list[str]) -> None:
    lacking = [name for name in names if name not in vars(model)]
    if lacking:
        raise ModelCheckError(f"it lacks {lacking[0]}")


def _check_attributes(model: Any, rules: dict[str, Rule], sizes: _Sizes, where: str = "") -> None:
    own = vars(model)
    for name in own:
        if name in _KNOWN and name not in rules:
            raise _refuse(where + name, f"is nothing that {type(model).__name__} has")
    _require(model, ["n_features_in_"])
    # Those come first that others are measured by.
    rules["n_features_in_"](f"{where}n_features_in_", own["n_features_in_"], sizes)
    d = int(own["n_features_in_"])
    if sizes.known.setdefault("d", d) != d:
        raise _refuse(f"{where}n_features_in_", f"is {d:,}, and that of the model is another")
    sizes.known["3"] = 3
    if "n_components_" in rules:
        _require(model, list(rules.keys() - {"feature_names_in_"}))
        rules["n_components_"](f"{where}n_components_", own["n_components_"], sizes)
        sizes.known["components"] = int(own["n_components_"])
    certificate = own.get("certificate_")
    sizes.overflowed = sizes.overflowed or getattr(certificate, "status", "") == "non_finite"
    first = ["classes_", "certificate_", "lift_"]
    for name in [*first, *(name for name in rules if name not in first)]:
        if name in own and name in rules:
            if name == "support_vectors_" and type(own.get("kernel_")).__name__ == _NO_POINTS:
                continue
            rules[name](where + name, own[name], sizes)


_NO_POINTS = "PrecomputedKernel"


# --- what takes more than one look -----------------------------------------------------------


def _check_logistic(model: Any, sizes: _Sizes) -> None:
    if "order" in sizes.known:
        d, parts = sizes.known["d"], sizes.known["h"] if sizes.known["K"] == 2 else 0
        parts = parts or sizes.known["K"] - 1
        if sizes.known["order"] not in (parts * d, parts * (d + 1)):
            raise _refuse("information_", f"is of {sizes.known['order']:,} weights")


def _check_stump(model: Any, sizes: _Sizes) -> None:
    if not model.feature_ < sizes.known["d"]:
        raise _refuse("feature_", f"is {model.feature_:,}, of {sizes.known['d']:,} columns")
    for name in ("left_class_", "right_class_"):
        if getattr(model, name) not in model.classes_.tolist():
            raise _refuse(name, "is none of the classes")
    if ("coef_" in vars(model)) != (sizes.known["K"] == 2):
        raise _refuse("coef_", "is there for two classes, and no more")
    if sizes.known["K"] == 2:
        _require(model, ["intercept_"])
    elif sizes.known["d"] > _MOST_UNSEEN:
        raise _refuse("n_features_in_", f"is {sizes.known['d']:,}, and no array is as long")


def _check_gaussians(model: Any, sizes: _Sizes) -> None:
    if "means_" not in vars(model):
        return
    kept, priors = model.independent_columns_, model.priors_
    if np.any(kept[1:] <= kept[:-1]):
        raise _refuse("independent_columns_", "are not in ascending order")
    if not (np.all(priors > 0.0) and abs(float(priors.sum()) - 1.0) <= 1e-6):
        raise _refuse("priors_", "are not positive, with the sum 1")
    if not len(kept):
        raise _refuse("independent_columns_", "are none")


def _check_least_squares(model: Any, sizes: _Sizes) -> None:
    """The factor is of all columns, or terms, and of the targets."""
    sizes.known.setdefault("m", sizes.known.get("h", 1))
    columns = sizes.known.get("terms", sizes.known["d"])
    if model.__dict__.get("rank_", 0) > columns:
        raise _refuse("rank_", f"is {model.rank_:,}, of {columns:,} columns")
    factor = model.__dict__.get("factor_")
    if factor is not None and (
        factor.n_targets != sizes.known["m"]
        or len(factor.mean) != columns + sizes.known["m"]
        or len(factor.r) > len(factor.mean)
    ):
        raise _refuse("factor_", "is of other columns or targets than the model")


def _check_regression(model: Any, sizes: _Sizes) -> None:
    if np.ndim(model.coef_) != np.ndim(model.intercept_) + 1:
        raise _refuse("coef_", "is of one target, and intercept_ of several, or the reverse")
    if np.ndim(model.coef_) == 1 and sizes.known.setdefault("m", 1) != 1:
        raise _refuse("coef_", f"is of one target, and there are {sizes.known['m']:,}")
    _check_least_squares(model, sizes)


def _check_polynomial(model: Any, sizes: _Sizes) -> None:
    _check_regression(model, sizes)
    if len(model.terms_) != sizes.known["terms"]:
        raise _refuse("terms_", f"are {len(model.terms_):,} for {sizes.known['terms']:,} terms")
    model._fitted_basis().require_closed()


def _check_stochastic(model: Any, sizes: _Sizes) -> None:
    own = vars(model)
    if ("plain_coef_" in own) != ("n_visits_" in own) or ("plain_intercept_" in own) != (
        "n_visits_" in own
    ):
        raise _refuse("plain_coef_", "goes with plain_intercept_ and n_visits_")


def _check_perceptron(model: Any, sizes: _Sizes) -> None:
    _check_stochastic(model, sizes)
    if "mistakes_" in vars(model) and np.ndim(model.mistakes_) != min(sizes.known["h"], 2):
        raise _refuse("mistakes_", f"has the shape {model.mistakes_.shape}")


def _check_linear_svc(model: Any, sizes: _Sizes) -> None:
    if "support_" in vars(model):
        _require(model, ["dual_coef_", "n_support_", "margin_"])
        if sizes.known["K"] == 2 and int(model.n_support_.sum()) != len(model.support_):
            raise _refuse("n_support_", "does not add up to the support vectors")


def _check_svc(model: Any, sizes: _Sizes) -> None:
    own, d, rows = vars(model), sizes.known["d"], len(model.slack_)
    kernel = type(model.kernel_).__name__
    if np.ndim(model.slack_) != (1 if sizes.known["pairs"] == 1 else 2):
        raise _refuse("slack_", f"has the shape {model.slack_.shape}")
    if (model.approximation is None) != ("lift_" not in own):
        raise _refuse("lift_", f"does not go with approximation={model.approximation!r}")
    if "lift_" in own:
        _require(model, ["coef_"])
        if kernel == _NO_POINTS or type(model.lift_).__name__.lower() != (
            f"{model.approximation}lift"
        ):
            raise _refuse("lift_", f"does not go with approximation={model.approximation!r}")
        if sizes.known["coordinates"] != sizes.known["components"]:
            raise _refuse("coef_", f"has the shape {model.coef_.shape}, and the lift another")
        landmarks = getattr(model.lift_, "landmarks_", np.zeros(0, dtype=int))
        if len(landmarks) and int(landmarks.max()) >= rows:
            raise _refuse("lift_.landmarks_", f"name a row that is none of the {rows:,} of the fit")
        return
    _require(model, ["support_", "n_support_", "dual_coef_", "bounded_"])
    if kernel == "LinearKernel":
        _require(model, ["coef_"])
        if sizes.known["coordinates"] != d:
            raise _refuse("coef_", f"has the shape {model.coef_.shape}, of {d:,} columns")
    elif kernel == _NO_POINTS:
        if d != rows:
            raise _refuse("n_features_in_", f"is {d:,}, of a kernel's matrix of {rows:,} rows")
    else:
        _require(model, ["support_vectors_"])
    if len(model.support_) and int(model.support_.max()) >= rows:
        raise _refuse("support_", f"names a row that is none of the {rows:,} of the fit")
    if int(model.n_support_.sum()) != len(model.support_):
        raise _refuse("n_support_", "does not add up to the support vectors")
    if not len(model.support_) and d > _MOST_UNSEEN:
        raise _refuse("n_features_in_", f"is {d:,}, and there are no support vectors")


_FURTHER: dict[str, Callable[[Any, _Sizes], None]] = {
    "DecisionStump": _check_stump,
    "LeastSquaresClassifier": _check_least_squares,
    "LinearDiscriminantAnalysis": _check_gaussians,
    "LinearRegression": _check_regression,
    "LinearSVC": _check_linear_svc,
    "LogisticRegression": _check_logistic,
    "LogisticRegressionCV": _check_logistic,
    "Perceptron": _check_perceptron,
    "PolynomialRegression": _check_polynomial,
    "QuadraticDiscriminantAnalysis": _check_gaussians,
    "SGDClassifier": _check_stochastic,
    "SVC": _check_svc,
}


# --- parameters ------------------------------------------------------------------------------


def _check_parameters(model: Any) -> None:
    params = model.get_params(deep=False)
    weights = params.get("class_weight")
    if isinstance(weights, dict):
        for weight in weights.values():
            _number(low=0.0)("class_weight", weight, _Sizes({}))
    elif not (weights is None or (isinstance(weights, str) and weights == "balanced")):
        raise _refuse("class_weight", "is no weights of classes")
    for name in ("fit_intercept", "record", "interactions"):
        if name in params and not isinstance(params[name], (*_TRUTH, *_WHOLE)):
            raise _refuse(name, "is neither true nor false")
    if "verbose" in params and not isinstance(params["verbose"], _WHOLE):
        raise _refuse("verbose", "is not a whole number")
    seed = params.get("random_state")
    if isinstance(seed, _WHOLE) and not 0 <= seed < 2**32:
        raise _refuse("random_state", "is not a seed")
    if params.get("priors") is not None:
        priors = params["priors"]
        listed = priors if isinstance(priors, (list, tuple)) else np.ravel(priors).tolist()
        if not all(isinstance(prior, _NUMBERS) for prior in listed):
            raise _refuse("priors", "are no numbers")
    check = getattr(model, "_check_parameters", None)
    if check is None:
        return
    try:
        check()
    except Exception as error:
        # Whatever a parameter is, what it was meant for refuses it in its own way.
        raise ModelCheckError(f"a parameter cannot be: {error}") from error
