r"""Regression diagnostics: figures of a fit, row by row and column by column.

======================  ==========================================================================
influence               the change :math:`\delta_i` of the estimates without row :math:`i`, in
                        closed form: exact for least squares, one step of Newton's method for
                        logistic regression (Pregibon, 1981); its size is Cook's distance (1977)
inflation of variances  :math:`|R_{11}| |R_{22}| / |R|` of the correlations within a column's
                        features, within the others and of all (Fox and Monette, 1992); for one
                        feature it is the VIF
partial residuals       :math:`w_j (x_{ij} - \bar x_j) + r_i`, of logistic regression with the
                        working residuals :math:`(y_i - p_i) / (p_i (1 - p_i))` (Landwehr, Pregibon
                        and Shoemaker, 1984)
odds ratios             :math:`e^{w_j}` of one unit, where there is no penalty
======================  ==========================================================================

With rows :math:`x_i` that begin with 1 where there is an intercept, weights :math:`s_i`, the
Hessian :math:`H = \sum_i v_i x_i x_i^\top + P` of losses and penalty (:math:`v_i = s_i` for least
squares and :math:`s_i p_i (1 - p_i)` for logistic regression), and :math:`h_i = v_i x_i^\top
H^{-1} x_i`,

.. math:: \delta_i = -\frac{s_i r_i}{1 - h_i} H^{-1} x_i , \qquad
    D_i = \frac{\delta_i^\top (\sum_l v_l x_l x_l^\top) \delta_i}{k \hat\sigma^2} ,

with :math:`k \hat\sigma^2` replaced by one for logistic regression, whose :math:`D_i` is Pregibon's
confidence displacement.

References
----------
Cook (1977), Detection of influential observation in linear regression.  Pregibon (1981), Logistic
regression diagnostics.  Landwehr, Pregibon and Shoemaker (1984), Graphical methods for assessing
logistic regression models.  Fox and Monette (1992), Generalized collinearity diagnostics.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.special

from separatrix.assessment.evaluation_data import EvaluationData, Part
from separatrix.assessment.intervals import mean_interval
from separatrix.assessment.scoring import Z, wilson_interval
from separatrix.assessment.weights import (
    column_spread,
    effective_weights,
    has_weights,
    sign_towards,
)
from separatrix.data.design import dense
from separatrix.data.labels import encode, plain_label
from separatrix.exceptions import DataError
from separatrix.messages import clause, message_of
from separatrix.models import penalised
from separatrix.tables.table import missing_mask

ROWS, COLUMNS, CURVES = 10, 3, 3
# Groups of rows with the same number of them: by a column's values, and by probability.
_BINS, _DECILES = 20, 10
# The most levels of a category by which scores are compared, the most that are shown, and the
# fewest rows of a level whose score counts.
_FEW_LEVELS, _SHOWN_LEVELS, _ENOUGH = 8, 10, 20
_ODDS = 30
# Numbers of a dense matrix, and columns, up to which a Hessian of all columns is formed.
_ENTRIES, _WIDEST = 10_000_000, 500
# A row is fitted whatever its target where one minus its leverage is no more than this.
_ALONE = 1e-10
# The part of a column of length one that is left beside the others, where it follows from them.
_ROUNDING = 1e-10


def diagnostics_record(evaluation: EvaluationData) -> dict[str, Any]:
    """The regression diagnostics of a report, as plain data.

    Returns
    -------
    dict
        ``influence``, ``inflation``, ``odds_ratios``, ``partial_residuals``, ``deciles`` and
        ``groups``; each of them a dict that has ``why`` alone where it does not apply.
    """
    fit = _fit_of(evaluation)
    return {
        "influence": fit if isinstance(fit, dict) else _influence(evaluation, fit),
        "inflation": _inflation(evaluation),
        "odds_ratios": _odds_ratios(evaluation),
        "partial_residuals": fit if isinstance(fit, dict) else _partial_residuals(evaluation, fit),
        "deciles": _deciles(evaluation),
        "groups": _groups(evaluation),
    }


def _why(sentence: str) -> dict[str, Any]:
    return {"why": sentence}


@dataclass(frozen=True, eq=False)
class _Fit:
    """A generalised linear fit at its optimum.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    first : int
        1 where there is an intercept, which comes before the columns, and else 0.
    residual : ndarray of shape (n,)
        The targets minus the predictions; the target of the positive one of two classes is 1, that
        of the other 0.
    weights, curvature : ndarray of shape (n,)
        ``s`` and ``v``.
    ridge : float
        The weight of half the squared weights beside the sum of the losses.
    logistic : bool
    """

    X: np.ndarray
    first: int
    residual: np.ndarray
    weights: np.ndarray
    curvature: np.ndarray
    ridge: float
    logistic: bool


def _fit_of(evaluation: EvaluationData) -> _Fit | dict[str, Any]:
    """The fit of least squares or logistic regression, or why there is none to be judged."""
    model, part = evaluation.model, evaluation.shown
    if part.key != "fit":
        return _why("the rows of the fit are not among those of this report")
    if not _is_generalised_linear(model):
        return _why(
            "the influence of a row has a closed form for least squares of a quantity and for "
            "logistic regression of two classes without L1 in the penalty"
        )
    n, d = part.X.shape
    if d > _WIDEST or n * d > _ENTRIES:
        return _why(f"{n:,} rows of {d:,} features are too many for a dense matrix of all columns")
    X = dense(part.X).astype(np.float64, copy=False)
    first = int(bool(model.fit_intercept))
    weights = np.ones(n) if part.weights is None else np.asarray(part.weights, dtype=np.float64)
    if evaluation.quantity:
        residual = np.asarray(part.y, dtype=np.float64) - part.predictions.labels
        total = float(weights.sum())
        return _Fit(X, first, residual, weights, weights, float(model.lam_) * total, False)
    labels = encode(part.y, part.weights, model.class_weight)
    weights = np.ones(n) if labels.weights is None else labels.weights
    scores = np.asarray(model.decision_function(part.X), dtype=np.float64)
    p = scipy.special.expit(scores)
    penalty, C = penalised.penalty_and_strength(model, labels.total, model.penalty, model.l1_ratio)
    ridge = penalty.l2 / C
    # Not 1 - p where p is close to one.
    curvature = weights * p * scipy.special.expit(-scores)
    residual = sign_towards(evaluation.classes, part.positive) * (labels.codes - p)
    return _Fit(X, first, residual, weights, curvature, ridge, True)


def _is_generalised_linear(model: Any) -> bool:
    """Whether a model is least squares of one quantity, or logistic regression of two classes."""
    name = type(model).__name__
    if not type(model).__module__.startswith("separatrix."):
        return False
    if name == "LinearRegression":
        return np.ndim(model.coef_) == 1 and not getattr(model, "positive", False)
    if name != "LogisticRegression" or len(model.classes_) != 2:
        return False
    penalty, _ = penalised.penalty_and_strength(model, 1.0, model.penalty, model.l1_ratio)
    return penalty.l1 == 0.0 and model.bounds is None


# ----------------------------------------------------------------------------------- influence


def deletions(fit: _Fit) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The changes of the estimates without each row, their sizes, and the leverages.

    Returns
    -------
    changes : ndarray of shape (n, k)
        The changes, infinite for a row that is fitted whatever its target.
    distances, leverages : ndarray of shape (n,)

    Raises
    ------
    numpy.linalg.LinAlgError
        If the columns do not determine the estimates.
    """
    n, d = fit.X.shape
    k = fit.first + d
    # Scaled, and centred where there is an intercept, so that what is far from zero keeps its
    # digits; and a triangle of the rows themselves, whose products would have half of them.
    scales = np.append(np.ones(fit.first), np.abs(fit.X).max(axis=0))
    scales[scales == 0.0] = 1.0
    A = np.hstack([np.ones((n, fit.first)), fit.X]) / scales
    centre = np.zeros(k)
    if fit.first and fit.curvature.any():
        centre[1:] = np.average(A[:, 1:], axis=0, weights=fit.curvature)
    A -= centre
    rows = A * np.sqrt(fit.curvature)[:, None]
    penalty = np.append(np.zeros(fit.first), np.full(d, math.sqrt(fit.ridge))) / scales
    lengths = np.hypot(np.linalg.norm(rows, axis=0), penalty)
    lengths[lengths == 0.0] = 1.0
    A /= lengths
    own = np.asarray(np.linalg.qr(rows / lengths, mode="r"))
    triangle = own
    if fit.ridge > 0.0 or len(own) < k:
        stacked = np.vstack([own, np.diag(penalty / lengths)])
        triangle = np.asarray(np.linalg.qr(stacked, mode="r"))
    # The length of a column that follows from others is all rounding.
    if not float(np.abs(np.diagonal(triangle)).min()) >= _ROUNDING:
        raise np.linalg.LinAlgError("singular")
    half = scipy.linalg.solve_triangular(triangle, A.T, trans="T")
    leverages = fit.curvature * np.einsum("ji,ji->i", half, half)
    solved = scipy.linalg.solve_triangular(triangle, half).T
    left = 1.0 - leverages
    # Squares of residuals of the size of 1 leave the range of float64 nowhere.
    unit = float(np.abs(fit.residual).max()) or 1.0
    residual = fit.residual / unit
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        step = np.where(left > _ALONE, fit.weights * residual / left, np.inf)
        changes = -step[:, None] * solved
        moved = changes @ own.T
        distances = np.einsum("ij,ij->i", moved, moved)
        changes *= unit / lengths
        if fit.first:
            changes[:, 0] -= changes[:, 1:] @ centre[1:]
        changes /= scales
    if fit.logistic:
        distances *= unit**2
    else:
        degrees = float(fit.weights.sum()) - k
        variance = float(fit.weights @ residual**2) / degrees if degrees > 0.0 else math.nan
        distances = distances / (k * variance) if variance > 0.0 else np.zeros(n)
    distances[left <= _ALONE] = np.inf
    return changes, distances, leverages


def _influence(evaluation: EvaluationData, fit: _Fit) -> dict[str, Any]:
    """The rows without which the estimates would move furthest."""
    part = evaluation.shown
    try:
        changes, distances, leverages = deletions(fit)
    except np.linalg.LinAlgError:
        return _why("columns follow from others, so the weights are not determined one by one")
    order = np.argsort(-distances, kind="stable")[:ROWS]
    order = order[distances[order] > 0.0]
    spread = column_spread(fit.X)
    names, scales = evaluation.feature_names, evaluation.scales
    rows = []
    for i in order.tolist():
        moved = changes[i, fit.first :]
        sizes = np.abs(moved) * spread
        # A row that is fitted whatever its target has no finite change.
        largest = [j for j in np.argsort(-sizes, kind="stable") if 0.0 < sizes[j] < np.inf]
        rows.append(
            {
                "row": int(part.numbers[i]),
                "true": plain_label(part.y[i]),
                "predicted": plain_label(part.predictions.labels[i]),
                "distance": float(distances[i]) if math.isfinite(distances[i]) else None,
                "leverage": float(leverages[i]),
                "residual": float(fit.residual[i]),
                "moved": [
                    {
                        "feature": names[j],
                        "weight": float(moved[j] / scales[j]),
                        "standardised": float(moved[j] * spread[j]),
                    }
                    for j in largest[:COLUMNS]
                ],
            }
        )
    return {
        "distance": "Pregibon's confidence displacement" if fit.logistic else "Cook's distance",
        "exact": not fit.logistic,
        "name": part.name,
        "rows": rows,
    }


# ---------------------------------------------------------------------------------- inflation


def _unpenalised(model: Any) -> bool:
    if not _is_generalised_linear(model):
        return False
    if type(model).__name__ == "LinearRegression":
        return float(model.lam_) == 0.0
    penalty, _ = penalised.penalty_and_strength(model, 1.0, model.penalty, model.l1_ratio)
    return penalty.l2 == 0.0


def _inflation(evaluation: EvaluationData) -> dict[str, Any]:
    """The factor by which the other columns inflate the variance of each column's weights."""
    if not _unpenalised(evaluation.model):
        return _why("weights are read with their errors where there is no penalty")
    X = evaluation.shown.X
    if X.shape[1] > _WIDEST or X.shape[0] * X.shape[1] > _ENTRIES:
        return _why(f"{X.shape[1]:,} features are too many")
    X = dense(X).astype(np.float64, copy=False)
    # A constant column's deviation from its mean may be rounding, and is no spread.
    used = np.flatnonzero(X.min(axis=0) < X.max(axis=0))
    if len(used) < 2:
        return _why("there are not two columns that vary")
    scaled = X[:, used] / np.abs(X[:, used]).max(axis=0)
    scaled -= scaled.mean(axis=0)
    scaled /= np.linalg.norm(scaled, axis=0)
    R = scaled.T @ scaled
    values = scipy.linalg.eigvalsh(R)
    if values[0] <= 1e-10 * values[-1]:
        return _why("a column follows from others exactly, and the factor would be infinite")
    whole = np.linalg.slogdet(R)[1]
    columns: list[dict[str, Any]] = []
    for key, members in evaluation.groups(used.tolist()).items():
        own = np.searchsorted(used, members)
        rest = np.setdiff1d(np.arange(len(used)), own)
        parts = [np.linalg.slogdet(R[np.ix_(one, one)])[1] for one in (own, rest)]
        factor = math.exp((sum(parts) - whole) / len(own))
        name = evaluation.feature_names[members[0]] if isinstance(key, tuple) else key
        columns.append({"column": name, "features": len(own), "vif": max(1.0, factor)})
    columns.sort(key=lambda one: -one["vif"])
    return {"columns": columns}


# --------------------------------------------------------------------------------- odds ratios


def _odds_ratios(evaluation: EvaluationData) -> dict[str, Any]:
    """Factors by which one unit of each feature multiplies the odds, with 95 % intervals."""
    model = evaluation.model
    if evaluation.quantity or not _unpenalised(model):
        return _why("odds ratios have intervals for logistic regression without a penalty")
    part = evaluation.shown
    if part.key != "fit":
        return _why("the rows of the fit are not among those of this report")
    weighted = {} if part.weights is None else {"sample_weight": part.weights}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = model.summary(part.X, part.y, **weighted)
    except (ValueError, DataError) as error:
        return _why(clause(message_of(error)))
    positive = model.classes_[1]
    if sign_towards(evaluation.classes, part.positive) < 0.0:
        found, positive = found.of_other_class(evaluation.classes), model.classes_[0]
    first = len(found.estimate) - len(evaluation.feature_names)
    ends = (found.estimate, found.lower, found.upper)
    with np.errstate(over="ignore"):
        ratio, low, high = (np.exp(one[first:] / evaluation.scales) for one in ends)
    order = np.argsort(-np.abs(found.statistic[first:]), kind="stable")[:_ODDS]
    return {
        "class": plain_label(positive),
        "features": len(evaluation.feature_names),
        "ratios": [
            {
                "feature": evaluation.feature_names[j],
                "ratio": float(ratio[j]),
                "interval": [float(low[j]), float(high[j])],
                "p_value": float(found.p_value[first + j]),
            }
            for j in order.tolist()
        ],
    }


# --------------------------------------------------------------------------- partial residuals


def _partial_residuals(evaluation: EvaluationData, fit: _Fit) -> dict[str, Any]:
    """Partial residuals of the heaviest numeric columns, in groups of equally many rows."""
    if not has_weights(evaluation.model):
        return _why("this model has no weight for each column")
    w = np.ravel(effective_weights(evaluation.model, evaluation.shown.positive)[0])
    sizes = np.abs(w) * column_spread(fit.X)
    heavy = [j for j in np.argsort(-sizes, kind="stable").tolist() if _is_number(evaluation, j)]
    curves = []
    for j in heavy[:CURVES]:
        values, there = _values(evaluation, fit, j)
        if sizes[j] == 0.0 or len(np.unique(values[there])) < 3:
            continue
        part = w[j] * (fit.X[:, j] - fit.X[:, j].mean())
        weight = fit.curvature
        with np.errstate(divide="ignore", invalid="ignore"):
            working = np.where(weight > 0.0, fit.weights * fit.residual / weight, 0.0)
        curves.append(
            {
                "column": evaluation.feature_names[j],
                "date": _is_date(evaluation, j),
                "weight": float(w[j] / evaluation.scales[j]),
                "groups": _in_groups(values, part, working, weight, there),
            }
        )
    if not curves:
        return _why("no numeric column has a weight")
    return {"logistic": fit.logistic, "curves": curves}


def _is_number(evaluation: EvaluationData, j: int) -> bool:
    column = evaluation.columns[j]
    if evaluation.encoder is None:
        return True
    return column == evaluation.feature_names[j] and evaluation.kinds.get(column) == "number"


def _is_date(evaluation: EvaluationData, j: int) -> bool:
    table = evaluation.shown.table
    return table is not None and evaluation.feature_names[j] in table.dates


def _values(evaluation: EvaluationData, fit: _Fit, j: int) -> tuple[np.ndarray, np.ndarray]:
    """A column in the units of the table, and where it is not missing."""
    part = evaluation.shown
    if part.table is None:
        return fit.X[:, j], np.ones(len(fit.X), dtype=bool)
    cells = part.table.columns[evaluation.feature_names[j]]
    return np.asarray(np.ma.getdata(cells), dtype=np.float64), ~missing_mask(cells)


def _in_groups(
    values: np.ndarray,
    part: np.ndarray,
    working: np.ndarray,
    weight: np.ndarray,
    there: np.ndarray,
) -> list[dict[str, Any]]:
    """Means of partial residuals over rows of neighbouring values, with 95 % intervals.

    Means are weighted by the curvature: the inverse of the variance of a working residual.
    """
    edges = np.unique(np.quantile(values[there], np.linspace(0.0, 1.0, _BINS + 1)[1:-1]))
    number = np.searchsorted(edges, values, side="left")
    found = []
    for g in range(len(edges) + 1):
        own = np.flatnonzero(there & (number == g) & (weight > 0.0))
        if not len(own):
            continue
        total = float(weight[own].sum())
        share = weight[own] / total
        residuals = part[own] + working[own]
        mean = float(share @ residuals)
        line = float(share @ part[own])
        interval = None
        if len(own) > 2:
            # The line is no part of the spread: within a group it is what it is.
            error = float(scipy.linalg.norm(share * (working[own] - (mean - line))))
            interval = [mean - Z * error, mean + Z * error]
        found.append(
            {
                "value": float(share @ values[own]),
                "n": len(own),
                "residual": mean,
                "line": line,
                "interval": interval,
            }
        )
    return found


# ---------------------------------------------------------------------- calibration and groups


def _deciles(evaluation: EvaluationData) -> dict[str, Any]:
    """Predicted probabilities and observed shares, in ten groups by the probability."""
    part = evaluation.measured
    predicted = None if evaluation.quantity else part.predictions.probabilities
    if predicted is None:
        return _why("this model predicts no probabilities")
    classes = np.asarray(evaluation.model.classes_)
    if len(classes) != 2:
        return _why("there are more than two classes")
    if part.weights is not None:
        return _why("the rows have weights")
    positive = classes[1].item() if part.positive is None else part.positive
    k = int(np.flatnonzero(classes == positive)[0])
    p, hit = predicted[:, k], part.y == classes[k]
    edges = np.unique(np.quantile(p, np.linspace(0.0, 1.0, _DECILES + 1)[1:-1]))
    number = np.searchsorted(edges, p, side="left")
    groups = []
    for g in range(len(edges) + 1):
        own = number == g
        n, hits = int(own.sum()), int(hit[own].sum())
        if n:
            groups.append(
                {
                    "n": n,
                    "least": float(p[own].min()),
                    "most": float(p[own].max()),
                    "predicted": float(p[own].mean()),
                    "observed": hits / n,
                    "interval": list(wilson_interval(hits, n)),
                }
            )
    return {"class": plain_label(positive), "name": part.name, "deciles": groups}


def _groups(evaluation: EvaluationData) -> dict[str, Any]:
    """Scores by the groups of the table and by the levels of its categories of few levels."""
    part = evaluation.measured
    if part.weights is not None:
        return _why("the rows have weights")
    columns = []
    if part.groups is not None:
        columns.append(_by_level(evaluation, part, part.groups[0], part.groups[1], chosen=True))
    candidates = []
    for name in () if part.table is None else part.table.names:
        if part.table is None or part.table.kinds[name] != "category":
            continue
        cells = part.table.columns[name]
        levels = np.where(missing_mask(cells), "(missing)", np.ma.getdata(cells).astype(str))
        if 2 <= len(np.unique(levels)) <= _FEW_LEVELS:
            candidates.append(_by_level(evaluation, part, name, levels, chosen=False))
    # A reader looks for the columns in which scores differ most.
    candidates.sort(key=lambda one: -one["range"])
    columns += [one for one in candidates if one["range"] > 0.0][:COLUMNS]
    if not columns:
        return _why("there are no groups, and no category has two to eight levels")
    score = "mean absolute error" if evaluation.quantity else "accuracy"
    return {"name": part.name, "score": score, "columns": columns}


def _by_level(
    evaluation: EvaluationData, part: Part, name: str, levels: np.ndarray, *, chosen: bool
) -> dict[str, Any]:
    """The score of each level; the worst ones where there are many levels."""
    hits = part.predictions.labels == part.y
    figures = []
    for level in np.unique(levels).tolist():
        own = levels == level
        n = int(own.sum())
        entry: dict[str, Any] = {"level": plain_label(level), "n": n}
        if evaluation.quantity:
            errors = np.abs(part.y[own] - part.predictions.labels[own])
            entry |= {"score": float(errors.mean()), "interval": mean_interval(errors)}
        else:
            right = int(hits[own].sum())
            most = int(np.unique(part.y[own], return_counts=True)[1].max())
            entry |= {"score": right / n, "interval": list(wilson_interval(right, n))}
            entry["majority"] = most / n
        figures.append(entry)
    sign = -1.0 if evaluation.quantity else 1.0
    figures.sort(key=lambda one: sign * one["score"])
    counted = [one["score"] for one in figures if one["n"] >= _ENOUGH]
    return {
        "column": name,
        "group": chosen,
        "levels": len(figures),
        "range": max(counted) - min(counted) if counted else 0.0,
        "figures": figures[:_SHOWN_LEVELS],
    }
