"""The features of a program for one row at a time, by Python's own numbers, texts and dates."""

from __future__ import annotations

import datetime
import math
import operator
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from separatrix.tables import features as f

OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul,
             "<": operator.lt, "<=": operator.le, "==": operator.eq}  # fmt: skip
FUNCTIONS = {"log": math.log, "log1p": math.log1p, "floor": math.floor, "absolute": abs}


def holds(condition: f.Condition, row: Mapping[str, Any]) -> bool:
    if isinstance(condition, f.Compare):
        left, right = value(condition.left, row), value(condition.right, row)
        return OPERATORS[condition.operator](left, right)
    cell = row[condition.cell.column]
    if isinstance(condition, f.IsLevel):
        return cell in condition.levels
    assert isinstance(condition, f.IsMissing)
    return cell is None or cell != cell or cell in condition.placeholders


def value(node: f.Number, row: Mapping[str, Any]) -> float:
    if isinstance(node, f.Cell):
        cell = row[node.column]
        return math.nan if cell is None else float(cell)
    if isinstance(node, f.Constant):
        return node.value
    if isinstance(node, f.Where):
        return value(node.then if holds(node.condition, row) else node.otherwise, row)
    if isinstance(node, f.Function):
        return float(FUNCTIONS[node.name](value(node.of, row)))
    if isinstance(node, f.Power):
        base = value(node.base, row)
        return math.prod([base] * node.exponent)
    if isinstance(node, f.DatePart):
        return part(value(node.cell, row), node.part)
    assert isinstance(node, f.Arithmetic)
    left, right = value(node.left, row), value(node.right, row)
    if node.operator == "/":
        return left / right if right else math.nan
    return OPERATORS[node.operator](left, right)


def part(days: float, name: str) -> float:
    whole = math.floor(days)
    date = datetime.date(1970, 1, 1) + datetime.timedelta(days=whole)
    hour = math.floor((days - whole) * 24.0 + 1e-9)
    parts = {"year": date.year, "month": date.month, "weekday": date.isoweekday(), "hour": hour}
    return float(parts[name])


def words(node: f.Words, row: Mapping[str, Any]) -> list[float]:
    text, own = row[node.cell.column] or "", node.options
    if own.get("strip_accents"):
        text = "".join(
            c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)
        )
    text = text.lower() if own.get("lowercase", True) else text
    tokens = re.findall(own["token_pattern"], text)
    tokens = [token for token in tokens if token not in (own.get("stop_words") or ())]
    first, last = own["ngram_range"]
    grams = [" ".join(tokens[k : k + n])
             for n in range(first, last + 1) for k in range(len(tokens) - n + 1)]  # fmt: skip
    counts = Counter(grams)
    found = [float(counts[word]) for word in node.words]
    if own.get("binary"):
        found = [float(count > 0) for count in found]
    if own.get("sublinear_tf"):
        found = [1.0 + math.log(count) if count else 0.0 for count in found]
    found = [count * weight for count, weight in zip(found, node.weights, strict=True)]
    norms = {"l2": math.sqrt(math.fsum(x * x for x in found)), "l1": math.fsum(map(abs, found))}
    length = norms.get(own.get("norm")) or 1.0
    return [x / length for x in found]


def matrix(features: Sequence[f.Feature], rows: Sequence[Mapping[str, Any]]) -> np.ndarray:
    """The features of all rows, as (n_rows, n_features)."""
    made = []
    for row in rows:
        made.append([])
        for one in features:
            made[-1] += words(one, row) if isinstance(one, f.Words) else [value(one, row)]
    return np.array(made, dtype=np.float64)


def rows_of(table: Any, texts: Mapping[str, Sequence[Any]] | None = None) -> list[dict[str, Any]]:
    """The cells of a table by column; ``texts`` has those that the table was read from."""
    columns = {}
    for name, column in table.columns.items():
        gone = np.ma.getmaskarray(column) if not hasattr(column, "codes") else column.codes < 0
        values = np.ma.getdata(column).tolist()
        columns[name] = [None if lost else v for v, lost in zip(values, gone, strict=True)]
    columns |= texts or {}
    return [{name: own[k] for name, own in columns.items()} for k in range(table.n_rows)]
