"""The classes in each column: rows counted by group of values and class, drawn small."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.assessment.evaluation_data import EvaluationData, Part
from separatrix.data.labels import codes_of
from separatrix.messages import percent
from separatrix.tables.categorical import first_appearance
from separatrix.tables.profiles.columns import MOST_CLASSES
from separatrix.tables.table import missing_mask

__all__ = ["MOST_CLASSES", "Counting", "drawing_of", "heights_of", "means_of", "shares_of"]

_GROUPS = 10
_LEVELS = 8
# The number of rows beyond which only every k-th is counted.
_MOST_ROWS = 100_000
# In units of the drawing: from one bar to the next, the width of a bar, the height of the highest.
_STEP, _BAR, _HEIGHT = 12, 10, 34
# The height of bars of shares.
_SHARES = 20


class Counting:
    """Counts the rows of a column by group of values and by class.

    Parameters
    ----------
    evaluation : EvaluationData
        The evaluation of a classifier of at most `MOST_CLASSES` classes; for others there is
        nothing to count.
    """

    def __init__(self, evaluation: EvaluationData) -> None:
        part = evaluation.shown
        self.possible = 2 <= len(evaluation.classes) <= MOST_CLASSES and len(part) > 0
        if not self.possible:
            return
        self.rows = np.arange(0, len(part), max(1, len(part) // _MOST_ROWS))
        self.classes = evaluation.classes
        self.codes = codes_of(np.asarray(part.y)[self.rows], np.asarray(evaluation.model.classes_))

    def numbers(self, column: Any) -> dict[str, Any]:
        """Groups of about a tenth of the rows each, in order; few values have a group each.

        Returns
        -------
        dict
            ``by_class``: a list of groups, each with its ends, ``least`` and ``most``, or
            ``missing``, and ``counts``, the number of rows of each class. Empty where there is
            nothing to count.
        """
        if not self.possible:
            return {}
        column = column[self.rows]
        values = np.ma.getdata(column).astype(np.float64)
        there = ~missing_mask(column) & np.isfinite(values)
        if not there.any():
            return {}
        known = values[there]
        ends = np.unique(known)
        if len(ends) > _GROUPS:
            shares = np.arange(1, _GROUPS + 1) / _GROUPS
            ends = np.unique(np.quantile(known, shares, method="inverted_cdf"))
        # A value that many rows have is in one group with all of them.
        group = np.full(len(values), len(ends))
        group[there] = np.searchsorted(ends, known)
        entries = [
            {"least": float(known[own].min()), "most": float(end)}
            for end, own in ((end, group[there] == k) for k, end in enumerate(ends.tolist()))
        ]
        return self._counted(group, entries)

    def levels(self, column: Any) -> dict[str, Any]:
        """The most frequent levels, and the others together; else as `numbers`.

        Returns
        -------
        dict
            Groups have a ``level``, or ``others``, the number of other levels, or ``missing``.
        """
        if not self.possible:
            return {}
        column = column[self.rows]
        gone = missing_mask(column)
        if gone.all():
            return {}
        seen = first_appearance(column)
        counts = np.bincount(seen[~gone], minlength=int(seen.max()) + 1)
        order = np.argsort(-counts, kind="stable")
        order = order[counts[order] > 0]
        shown = order if len(order) <= _LEVELS + 1 else order[:_LEVELS]
        first = np.empty(len(counts), dtype=np.int64)
        first[seen[::-1]] = np.arange(len(seen) - 1, -1, -1)
        levels = np.ma.getdata(column[first[shown]]).tolist()
        entries: list[dict[str, Any]] = [{"level": value} for value in levels]
        place = np.full(len(counts), len(shown))
        place[shown] = np.arange(len(shown))
        if len(shown) < len(order):
            entries.append({"others": len(order) - len(shown)})
        group = place[seen]
        group[gone] = len(entries)
        return self._counted(group, entries)

    def _counted(self, group: np.ndarray, entries: list[dict[str, Any]]) -> dict[str, Any]:
        k, there = len(self.classes), self.codes >= 0
        counts = np.bincount(
            group[there] * k + self.codes[there], minlength=k * (len(entries) + 1)
        ).reshape(-1, k)
        groups = [*entries, {"missing": True}] if counts[len(entries)].any() else entries
        return {
            "by_class": [
                {**one, "counts": own} for one, own in zip(groups, counts.tolist(), strict=False)
            ]
        }


def order_of(classes: Sequence[Any], positive: Any) -> list[int]:
    """The order in which the bars of classes are stacked, from the axis on.

    The class of :func:`looked_for` is the lowest, where all bars start alike.
    """
    if positive is None:
        return list(range(len(classes)))
    first = classes.index(positive)
    return [first, 1 - first]


def looked_for(part: Part, classes: Sequence[Any]) -> Any:
    """Return the class of two whose shares the histograms show."""
    if len(classes) != 2:
        return None
    return part.positive if part.positive in classes else classes[1]


def drawing_of(groups: list[dict[str, Any]], order: Sequence[int]) -> dict[str, Any]:
    """A histogram as the paths of an SVG, as :func:`heights_of`, with shares.

    Returns
    -------
    dict
        ``width`` and ``height``, ``paths``, and ``shares``: those of the lowest class among the
        rows of each group, in words.
    """
    totals = [sum(group["counts"]) for group in groups]
    shares = [
        percent(group["counts"][order[0]] / total) if total else "–"
        for group, total in zip(groups, totals, strict=True)
    ]
    return {**heights_of(groups, order), "shares": shares}


def heights_of(groups: Sequence[dict[str, Any]], order: Sequence[int]) -> dict[str, Any]:
    """Bars whose heights are the numbers of rows, as the paths of an SVG.

    Parameters
    ----------
    groups : sequence of dict
        ``counts`` by class, and ``missing``, as of `Counting`.
    order : sequence of int
        The classes from the lowest.

    Returns
    -------
    dict
        ``width`` and ``height``, and ``paths`` (of each class in its order, empty without rows).
    """
    most = max(1, *(sum(group["counts"]) for group in groups))
    return _stacked(groups, order, [_HEIGHT / most] * len(groups), _HEIGHT)


def shares_of(groups: Sequence[dict[str, Any]], order: Sequence[int]) -> dict[str, Any]:
    """Bars of one height that are divided by the shares of the classes, as `heights_of`."""
    scales = [_SHARES / max(1, sum(group["counts"])) for group in groups]
    return _stacked(groups, order, scales, _SHARES)


def means_of(
    means: Sequence[float | None], groups: Sequence[dict[str, Any]]
) -> dict[str, Any] | None:
    """Means of groups as dots between the lowest and the highest of them.

    Returns
    -------
    dict or None
        ``width`` and ``height``, ``dots`` (pairs of x and y), and the ``least`` and the ``most``;
        None where there is no mean.
    """
    known = [mean for mean in means if mean is not None]
    if not known:
        return None
    least, most = min(known), max(known)
    width = (most / 2 - least / 2) or 1.0
    dots, x = [], 0.0
    for mean, group in zip(means, groups, strict=True):
        x += _STEP // 2 if group.get("missing") else 0
        if mean is not None:
            share = (mean / 2 - least / 2) / width if most > least else 0.5
            dots.append((x + _BAR / 2, 3 + (_SHARES - 6) * (1.0 - share)))
        x += _STEP
    return {
        "width": x - (_STEP - _BAR), "height": _SHARES, "dots": dots, "least": least, "most": most,
    }  # fmt: skip


def _stacked(
    groups: Sequence[dict[str, Any]],
    order: Sequence[int],
    scales: Sequence[float],
    ground: int,
) -> dict[str, Any]:
    """Bars of classes on top of one another, a row being as high as the scale of its group."""
    paths, x = [""] * len(order), 0
    for group, scale in zip(groups, scales, strict=True):
        x += _STEP // 2 if group.get("missing") else 0
        top = float(ground)
        for place, k in enumerate(order):
            height = scale * group["counts"][k]
            if height > 0.0:
                top -= height
                paths[place] += f"M{x} {top:.4g}h{_BAR}v{height:.4g}h-{_BAR}z"
        x += _STEP
    return {"width": x - (_STEP - _BAR), "height": ground, "paths": paths}
