"""The sections of a report as plain data: weights, single rows, the data and their encoding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.assessment.evaluation_data import EvaluationData, Part
from separatrix.assessment.weights import (
    column_spread,
    effective_weights,
    has_weights,
    largest_weights,
    sign_towards,
)
from separatrix.data.design import dense
from separatrix.data.labels import plain_label
from separatrix.probabilities.ties import winners
from separatrix.report.histograms import Counting, looked_for, order_of
from separatrix.tables.table import missing_mask

# The most weights on the page; the JSON document has more.
WEIGHTS = 30
# The most outputs that have bars of their own in one row of the table.
_SIDE_BY_SIDE = 5
ROWS = 10
_CAUSES = 3
COLUMNS = 60
_SNIPPET = 240


# ------------------------------------------------------------------------------------- weights


def weight_record(evaluation: EvaluationData) -> dict[str, Any]:
    """The largest weights, by column.

    Returns
    -------
    dict
        ``why`` there are none, or ``outputs`` (what each weight of a feature pushes towards),
        ``count`` (weights that are not zero), and ``columns``: in the order of their largest weight
        ``column``, ``kind`` and ``features``, each with ``feature``, ``level`` and, for every
        output, ``standardised`` and ``weight`` (of one unit of the column).
    """
    model = evaluation.model
    if not has_weights(model):
        return {"why": _no_weights(model)}
    part = evaluation.shown
    spread = column_spread(_numbers(part.X))
    labels = evaluation.classes
    # The class whose shares the histograms show, too.
    positive = looked_for(evaluation.measured, labels)
    weights, centred = effective_weights(model, positive)
    sign = sign_towards(labels, positive) if len(weights) == 1 else 1.0
    one = bool(labels) and len(weights) == 1
    outputs: list[Any] = [positive] if one else labels or [evaluation.target]
    together = len(weights) == len(outputs)
    standardised = weights * spread
    record: dict[str, Any] = {
        "outputs": outputs,
        "side_by_side": together and len(outputs) <= _SIDE_BY_SIDE,
        "count": int(np.count_nonzero(standardised)),
        "constant": (sign * np.atleast_1d(np.asarray(model.intercept_, float)) + 0.0).tolist(),
        "rows": part.name,
        "centred": centred,
    }
    if not record["side_by_side"]:
        found = largest_weights(
            model,
            evaluation.feature_names,
            spread,
            count=WEIGHTS,
            scales=evaluation.scales,
            positive=positive,
        )
        return record | {"largest": found, "features": weights.shape[1]}
    sizes = np.abs(standardised).max(axis=0)
    order = np.argsort(-sizes, kind="stable")[:WEIGHTS]
    order = order[sizes[order] > 0.0]
    columns = []
    for key, members in evaluation.groups(order.tolist()).items():
        names = [evaluation.feature_names[j] for j in members]
        alone = isinstance(key, tuple)
        columns.append(
            {
                "column": names[0] if alone else key,
                "kind": evaluation.kinds.get(evaluation.columns[members[0]] or "", "number"),
                "features": [
                    {
                        "feature": name,
                        "level": None if alone else level_of(name, key),
                        "standardised": standardised[:, j].tolist(),
                        "weight": (weights[:, j] / evaluation.scales[j]).tolist(),
                    }
                    for j, name in zip(members, names, strict=True)
                ],
            }
        )
    return record | {
        "features": len(sizes),
        "used": int(np.count_nonzero(sizes)),
        "shown": len(order),
        "largest": float(sizes.max(initial=0.0)),
        "columns": columns,
    }


def level_of(feature: str, column: str | None) -> str | None:
    """The level that a feature stands for; None for the number itself."""
    if column is None or feature == column:
        return None
    return feature.removeprefix(f"{column}=")


def _no_weights(model: Any) -> str:
    if hasattr(model, "kernel_") or hasattr(model, "dual_coef_"):
        return (
            "a machine with this kernel has weights of rows, not of columns, so no single number "
            "describes the effect of a column"
        )
    if hasattr(model, "powers_"):
        return "a polynomial has weights of powers of columns; they are listed with the objective"
    if hasattr(model, "moments_") or hasattr(model, "rotations_"):
        return (
            "quadratic discriminants have a matrix for each class, so no single number describes "
            "the effect of a column"
        )
    return "this model has no weight for each column"


# ---------------------------------------------------------------------------------------- rows


def row_records(evaluation: EvaluationData) -> dict[str, Any]:
    """The rows that the model is most wrong about, and those that it is least sure of.

    Returns
    -------
    dict
        ``rows`` (which they are drawn from), ``wrong``, ``wrong_count``, ``unsure`` (not for a
        quantity) and ``why`` there are no causes.  Each row has its ``row``, ``true``,
        ``predicted``, ``score`` (with two classes above zero for the positive one, with more that
        of the predicted one), ``probability`` (of the predicted class), ``causes`` and, where there
        is one, the beginning of its ``text``.
    """
    part = evaluation.measured
    predicted = part.predictions
    record: dict[str, Any] = {
        "rows": part.key,
        "name": part.name,
        "first_row": evaluation.first_row,
    }
    wrong: np.ndarray
    if evaluation.quantity:
        errors = part.y - predicted.labels
        wrong = np.argsort(-np.abs(errors), kind="stable")[:ROWS]
        record |= {"wrong_count": len(part), "unsure": None}
        chosen, unsure = wrong, wrong[:0]
        own = other = None
    else:
        classes = np.asarray(evaluation.model.classes_)
        own = np.searchsorted(classes, part.y)
        chosen = np.searchsorted(classes, predicted.labels)
        assert predicted.scores is not None
        lead, other, by = _leads(predicted, chosen, own)
        mistakes = np.flatnonzero(chosen != own)
        wrong = mistakes[np.argsort(-by[mistakes], kind="stable")][:ROWS]
        unsure = np.argsort(lead, kind="stable")[:ROWS]
        record["wrong_count"] = len(mistakes)
        chosen = np.concatenate([wrong, unsure])
    causes, why = _causes(evaluation, part, chosen, own, other)
    entries = [
        _row(evaluation, part, int(i), causes[k] if causes else []) for k, i in enumerate(chosen)
    ]
    record["why"] = why
    record["wrong"] = entries[: len(wrong)]
    if not evaluation.quantity:
        record["unsure"] = entries[len(wrong) :]
    return record


def _leads(predicted: Any, chosen: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, ...]:
    """Leads of the predicted class over the runner-up, the runners-up, and leads over the truth."""
    if np.ndim(predicted.scores) == 1:
        # Where probabilities are rounded to 1, scores still differ.
        lead = np.abs(predicted.scores)
        return lead, 1 - chosen, np.where(chosen == own, 0.0, lead)
    columns = predicted.scores if predicted.probabilities is None else predicted.probabilities
    rows, columns = np.arange(len(chosen)), np.asarray(columns)
    rest = columns.copy()
    rest[rows, chosen] = -np.inf
    second = rest.argmax(axis=1)
    most = columns[rows, chosen]
    return most - columns[rows, second], second, most - columns[rows, own]


def _row(
    evaluation: EvaluationData, part: Part, i: int, causes: list[dict[str, Any]]
) -> dict[str, Any]:
    predicted = part.predictions
    entry: dict[str, Any] = {
        "row": int(part.numbers[i]),
        "true": plain_label(part.y[i]),
        "predicted": plain_label(predicted.labels[i]),
    }
    if evaluation.quantity:
        entry["residual"] = float(part.y[i] - predicted.labels[i])
    else:
        k = int(np.searchsorted(np.asarray(evaluation.model.classes_), predicted.labels[i]))
        scores = np.asarray(predicted.scores)
        if scores.ndim == 1:
            # Towards the positive class, as the weights are.
            entry["score"] = sign_towards(evaluation.classes, part.positive) * float(scores[i])
        else:
            entry["score"] = float(scores[i, k])
        entry["probability"] = (
            None if predicted.probabilities is None else float(predicted.probabilities[i, k])
        )
    entry["causes"] = causes
    text = _text(part, i)
    if text is not None:
        entry["text"] = text
    return entry


def _text(part: Part, i: int) -> str | None:
    if part.table is None:
        return None
    names = [name for name in part.table.names if part.table.kinds[name] == "text"]
    for name in names:
        column = part.table.columns[name]
        if not missing_mask(column)[i]:
            text = str(np.ma.getdata(column)[i])
            return text if len(text) <= _SNIPPET else text[: _SNIPPET - 1] + "…"
    return None


def _causes(
    evaluation: EvaluationData,
    part: Part,
    chosen: np.ndarray,
    own: np.ndarray | None,
    other: np.ndarray | None,
) -> tuple[list[list[dict[str, Any]]] | None, str | None]:
    """The causes that moved the score of each row furthest from that of the average row.

    A cause is a weight times the difference of the row's feature from its mean over the rows that
    were fitted; the levels of a category are one cause, and every word of a text is one.
    """
    model = evaluation.model
    if not has_weights(model):
        return None, "this model has no weights, so the share of a column in a score is not defined"
    weights = np.atleast_2d(dense(model.coef_).astype(np.float64, copy=False))
    if len(weights) > 1 and len(weights) != len(evaluation.classes):
        return None, (
            "there is one score for each pair of classes, so the share of a column in a "
            "prediction is not defined"
        )
    X = _numbers(part.X)
    rows = dense(X[chosen]).astype(np.float64)
    # Beyond the range of floats nothing has a share, and nothing is warned of twice.
    with np.errstate(over="ignore", invalid="ignore"):
        centre = np.asarray(_numbers(evaluation.shown.X).mean(axis=0, dtype=np.float64)).ravel()
    groups = evaluation.groups(range(len(evaluation.columns)))
    heads = np.array([members[0] for members in groups.values()])
    number = np.empty(rows.shape[1], dtype=np.intp)
    for g, members in enumerate(groups.values()):
        number[members] = g
    words = np.array([evaluation.is_text(j) for j in range(len(evaluation.columns))])
    found = []
    for k, i in enumerate(chosen.tolist()):
        w = _direction(weights, part, i, own, other)
        with np.errstate(over="ignore", invalid="ignore"):
            shares = w * (rows[k] - centre)
        shares[~np.isfinite(shares)] = 0.0
        # The absence of a word is no reason that a reader would accept.
        shares[words & (rows[k] == 0.0)] = 0.0
        by_group = np.bincount(number, shares, minlength=len(heads))
        order = np.argsort(-np.abs(by_group), kind="stable")[:_CAUSES]
        found.append(
            [
                _cause(evaluation, part, i, int(heads[g]), float(by_group[g]), rows[k])
                for g in order.tolist()
                if by_group[g] != 0.0
            ]
        )
    return found, None


def _direction(
    weights: np.ndarray, part: Part, i: int, own: np.ndarray | None, other: np.ndarray | None
) -> np.ndarray:
    """The weights of the predicted class, less those of the true class or of the runner-up."""
    if own is None or other is None:
        return weights[0]
    chosen = int(winners(part.predictions.scores[i : i + 1])[0])  # type: ignore[index]
    if len(weights) == 1:
        return weights[0] if chosen == 1 else -weights[0]
    against = int(own[i]) if int(own[i]) != chosen else int(other[i])
    difference: np.ndarray = weights[chosen] - weights[against]
    return difference


def _cause(
    evaluation: EvaluationData, part: Part, i: int, j: int, share: float, row: np.ndarray
) -> dict[str, Any]:
    column = evaluation.columns[j]
    if part.table is None or column is None:
        return {"column": evaluation.feature_names[j], "value": float(row[j]), "share": share}
    if evaluation.is_text(j):
        word = evaluation.feature_names[j].removeprefix(f"{column}:")
        return {"column": word, "value": None, "share": share}
    cells = part.table.columns[column]
    value = "(missing)" if missing_mask(cells)[i] else plain_label(np.ma.getdata(cells)[i])
    dated = column in part.table.dates and value != "(missing)"
    return {"column": column, "value": value, "share": share} | ({"date": True} if dated else {})


# ---------------------------------------------------------------------------------------- data


def _parts(evaluation: EvaluationData) -> list[dict[str, Any]]:
    if evaluation.figures:
        return [{key: one[key] for key in ("rows", "name", "n")} for one in evaluation.figures]
    return [{"rows": p.key, "name": p.name, "n": len(p)} for p in evaluation.parts]


def data_record(evaluation: EvaluationData) -> dict[str, Any]:
    """The rows, the columns, and their encoding."""
    provenance = evaluation.provenance
    part, parts = evaluation.shown, _parts(evaluation)
    record: dict[str, Any] = {
        "source": evaluation.source,
        "target": evaluation.target,
        "fingerprint": evaluation.fingerprint,
        "same_data": evaluation.same_data,
        "parts": parts,
        "rows": sum(one["n"] for one in parts),
        "sample": len(part) if evaluation.figures else None,
        "features": len(evaluation.feature_names),
        "split": provenance.get("split") if evaluation.same_data else None,
        "storage": _storage(part.X),
        "notes": list(evaluation.notes),
    }
    counting = Counting(evaluation)
    record["histograms"] = None
    if counting.possible:
        positive = looked_for(evaluation.measured, evaluation.classes)
        record["histograms"] = {
            "rows": part.name,
            "order": order_of(evaluation.classes, positive),
            "positive": positive,
            "counted": len(counting.rows),
        }
    if evaluation.table is None or evaluation.encoder is None:
        record["columns"] = _array_columns(evaluation, counting)
        record["missing"] = 0
        return record
    table, encoder = evaluation.table, evaluation.encoder
    by_column: dict[Any, list[str]] = {}
    for feature, column in zip(encoder.feature_names_, encoder.columns_, strict=True):
        by_column.setdefault(column, []).append(feature)
    record["missing"] = encoder.n_missing(table)
    record["summary"] = encoder.summary_
    record["standardised"] = encoder.standardise
    record["left_out"] = list(encoder.left_out_)
    record["dependent"] = list(encoder.dependent_)
    record["columns"] = [
        _table_column(table, name, encoder, by_column.get(name, []))
        for name in table.names
        if name in by_column or name not in table.derived
    ]
    for entry in record["columns"][:COLUMNS]:
        if part.table is None or entry["kind"] in ("text", "left out", "in parts"):
            continue
        count = counting.levels if entry["kind"] == "category" else counting.numbers
        name = entry["column"]
        values = part.table.columns[name]
        if name in encoder.placeholders_:
            cells = encoder.missing_cells(part.table, name)
            values = np.ma.array(np.ma.getdata(values), mask=cells)
        entry |= count(values)
    if None in by_column:
        record["sparse_columns"] = len(by_column[None])
    return record


def _in_parts(table: Any, name: str) -> bool:
    return name in table.spellings and bool(table.spellings[name].parts)


def _table_column(table: Any, name: str, encoder: Any, features: Sequence[str]) -> dict[str, Any]:
    column = table.columns[name]
    gone = encoder.missing_cells(table, name)
    values = np.ma.getdata(column)[~gone]
    kind = encoder.kinds_.get(name, table.kinds[name])
    entry: dict[str, Any] = {
        "column": name,
        "kind": kind if features else "in parts" if _in_parts(table, name) else "left out",
        "missing": int(gone.sum()),
        "features": len(features),
    }
    if values.dtype != object:
        numbers = values.astype(np.float64)
        if len(numbers):
            with np.errstate(over="ignore", invalid="ignore"):
                mean = float(numbers.mean())
            entry |= {"least": float(numbers.min()), "mean": mean, "most": float(numbers.max())}
        if name in table.dates:
            entry["date"] = True
    elif kind != "text":
        levels: dict[str, int] = {}
        for value in values.tolist():
            levels[value] = levels.get(value, 0) + 1
        entry["levels"] = len(levels)
        if levels:
            frequent = max(levels, key=lambda level: levels[level])
            entry |= {"frequent": frequent, "frequent_share": levels[frequent] / len(values)}
        if name in encoder.references_:
            entry["reference"] = encoder.references_[name]
    return entry


def _array_columns(evaluation: EvaluationData, counting: Counting) -> list[dict[str, Any]]:
    X = _numbers(evaluation.shown.X)
    if sparse.issparse(X) or X.dtype.kind not in "fiub":
        return []
    least, mean, most = X.min(axis=0), X.mean(axis=0, dtype=np.float64), X.max(axis=0)
    return [
        {
            "column": name,
            "kind": "number",
            "missing": 0,
            "features": 1,
            "least": float(least[j]),
            "mean": float(mean[j]),
            "most": float(most[j]),
            **(counting.numbers(X[:, j]) if j < COLUMNS else {}),
        }
        for j, name in enumerate(evaluation.feature_names)
    ]


def _storage(X: Any) -> str:
    if sparse.issparse(X):
        share = 100.0 * X.nnz / max(1, X.shape[0] * X.shape[1])
        return f"sparse, {share:.2g} % of the entries stored, {X.dtype}"
    return f"dense, {np.asarray(X).dtype}"


def _numbers(X: Any) -> Any:
    """The matrix behind a frame; a sparse one in rows."""
    return X.tocsr() if sparse.issparse(X) else np.asarray(X)
