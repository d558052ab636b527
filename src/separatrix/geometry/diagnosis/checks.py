"""The checks of a diagnosis: each looks at labelled points for one sort of trouble."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from separatrix.data.columns import Columns, columns_of
from separatrix.geometry.diagnosis.collinearity import Dependence, Relation, dependence, equation
from separatrix.geometry.diagnosis.findings import Finding, counted, join, percent, quoted
from separatrix.geometry.points import LabelledPoints

__all__ = ["CHECKS", "Examined", "Skipped"]

_SHOWN = 5  # of a list in a sentence
_LISTED = 20  # of a list in ``where``

_SMALL_CLASS = 10
_UNBALANCED, _VERY_UNBALANCED = 10, 100
# Orders of magnitude between the ranges of two columns.
_SCALES = 1e4
# A deviation this many times below the mean leaves few digits of float64; of float32, half as many.
_OFFSET = {8: 1e6, 4: 1e3}
# Condition numbers of standardised columns: "strong" beyond 100 (Belsley, Kuh and Welsch, 1980).
_NEARLY, _VERY_NEARLY = 100.0, 1e4
_MOST_COLUMNS = 2000
# Rows that differ from the others in a column, of how many at least.
_ODD_ROWS, _ODD_ROWS_OF = 2, 50
# Where rows have so few columns, zeros in all of them are ordinary.
_FEW_COLUMNS = 5
# Mean over classes of the share of rows told right by one column.
_TELLING, _SAMPLE_SLACK = 0.99, 0.02
_MOST_COUNTS = 20_000_000
_LEAK_SAMPLE, _CHUNK, _MOST_LEAKS, _MOST_CLASSES = 2000, 256, 50, 50
# What separability is asked for without a time limit: entries times questions, and either few rows
# or columns or few entries.
_QUICK_WORK = 2e7
_QUICK_SIDE, _QUICK_ENTRIES = 150, 200_000


class Skipped(Exception):
    """A check that was not made, or not in full."""

    def __init__(
        self, what: str, why: str, remedy: str = "", found: Iterable[Finding] = ()
    ) -> None:
        super().__init__(what)
        self.what, self.why, self.remedy, self.found = what, why, remedy, list(found)


@dataclass(frozen=True, eq=False)
class Examined:
    """What the checks look at."""

    points: LabelledPoints
    names: tuple[str, ...] | None
    intercept: bool
    time_limit: float | None
    row_numbers: np.ndarray | None

    @cached_property
    def table(self) -> Columns:
        return columns_of(self.points.design)

    @property
    def codes(self) -> np.ndarray:
        return self.points.labels.codes

    @property
    def classes(self) -> list[Any]:
        return list(self.points.labels.classes.tolist())

    @cached_property
    def counts(self) -> np.ndarray:
        return np.bincount(self.codes, minlength=len(self.classes))

    @cached_property
    def equal_columns(self) -> list[list[int]]:
        """Groups of equal columns that are not constant."""
        group = _grouped(self.table.hashes[1], self.table.equal_columns)
        group[self.table.moments.constant] = -1
        groups: dict[int, list[int]] = {}
        repeated = np.isin(group, group[group != np.arange(self.table.d)])
        for j in np.flatnonzero(repeated & (group >= 0)):
            groups.setdefault(int(group[j]), []).append(int(j))
        return list(groups.values())

    # --- words

    def place(self, j: int) -> Any:
        return int(j) if self.names is None else self.names[j]

    def places(self, columns: Iterable[int]) -> list[Any]:
        return [self.place(j) for j in columns]

    def name(self, j: int) -> str:
        """A column inside a formula."""
        return f"column {j}" if self.names is None else quoted(self.names[j])

    def column(self, j: int) -> str:
        return f"column {j}" if self.names is None else f"column {quoted(self.names[j])}"

    def columns(self, columns: Sequence[int] | np.ndarray) -> str:
        if len(columns) == 1:
            return self.column(columns[0])
        shown = [quoted(place) for place in self.places(columns[:_SHOWN])]
        return f"columns {join(shown, len(columns) - len(shown))}"

    def family(self, columns: Sequence[int]) -> str:
        """Columns that belong together, by what their names have in common."""
        if self.names is not None:
            names = [self.names[j] for j in columns]
            # A level can hold the sign, too.
            for end in (i + 1 for i in range(len(names[0]) - 1, 0, -1) if names[0][i] == "="):
                if all(name.startswith(names[0][:end]) for name in names):
                    return f"{quoted(names[0][:end] + '...')} ({counted(len(columns), 'column')})"
        return self.columns(columns)

    def listed(self, columns: Sequence[int] | np.ndarray) -> str:
        """Some columns by name, where the sentence has said that they are columns."""
        return join([self.name(j) for j in columns[:_SHOWN]], len(columns) - _SHOWN)

    @property
    def sparse(self) -> bool:
        return len(self.points.design.rows) > 1

    def row(self, i: int) -> int:
        return int(i if self.row_numbers is None else self.row_numbers[i])

    def rows(self, rows: Sequence[int] | np.ndarray) -> str:
        shown = [f"{self.row(i)}" for i in rows[:_SHOWN]]
        return f"row{'' if len(rows) == 1 else 's'} {join(shown, len(rows) - len(shown))}"

    def label(self, code: int) -> str:
        return quoted(self.classes[code])


def _grouped(
    hashes: np.ndarray, equal: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> np.ndarray:
    """For each item the number of the first item that equals it.

    Equal bits suggest that two are equal; the items themselves decide.
    """
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    first = np.repeat(order[starts], np.diff(np.r_[starts, len(order)]))
    again = np.flatnonzero(order != first)
    again = again[equal(order[again], first[again])]
    group = np.arange(len(order))
    group[order[again]] = first[again]
    return group


# -------------------------------------------------------------------------------------- classes


def _classes(data: Examined) -> Iterator[Finding]:
    counts, classes = data.counts, data.classes
    order = np.argsort(counts, kind="stable")
    small = [int(k) for k in order if counts[k] < _SMALL_CLASS]
    if small:
        told = [f"{data.label(k)} has {counted(int(counts[k]), 'row')}" for k in small[:_SHOWN]]
        yield Finding(
            "tiny_class",
            "problem" if counts[small[0]] == 1 else "warning",
            f"{'a class' if len(small) == 1 else 'classes'} of few rows: "
            f"{join(told, len(small) - len(told))}",
            "so few rows say little about a class, and none may be left to test on",
            "get more rows of such a class, merge it with another, or leave it out",
            {"classes": [classes[k] for k in small], "counts": [int(counts[k]) for k in small]},
        )
    least, most = int(order[0]), int(order[-1])
    ratio = counts[most] / counts[least]
    if ratio >= _UNBALANCED:
        yield Finding(
            "imbalance",
            "warning" if ratio >= _VERY_UNBALANCED else "note",
            f"{counted(int(counts[most]), 'row')} of {data.label(most)} and "
            f"{counts[least]:,} of {data.label(least)}, {ratio:,.0f} to 1",
            f"always to answer {data.label(most)} is right for "
            f"{percent(counts[most] / counts.sum())} of the rows, so accuracy says little",
            "judge by recall, precision or ROC AUC, and consider class_weight='balanced'",
            {"classes": classes, "counts": counts.tolist(), "ratio": float(ratio)},
        )


def _shape(data: Examined) -> Iterator[Finding]:
    n, d = data.table.n, data.table.d
    if d + data.intercept > n:
        yield Finding(
            "more_columns_than_rows",
            "warning",
            f"there are {counted(d, 'column')} for {counted(n, 'row')}",
            "almost any labels of so few rows can be fitted without a mistake, and without a "
            "penalty many different weights do it",
            "keep a penalty, choose its strength by cross-validation, and judge on rows held out",
            {"n_samples": n, "n_features": d},
        )


# -------------------------------------------------------------------------------------- columns


def _columns(data: Examined) -> Iterator[Finding]:
    moments = data.table.moments
    constant = np.flatnonzero(moments.constant)
    if len(constant):
        values = [float(v) + 0.0 for v in moments.low[constant]]
        told = [f"{data.name(j)} is {v:g}" for j, v in zip(constant[:_SHOWN], values, strict=False)]
        why = "such a column tells no row from another"
        if any(values):
            why += "; where it is not 0 it acts as an intercept, "
            why += "a second one, and penalised" if data.intercept else "though a penalised one"
        yield Finding(
            "constant_column",
            "warning",
            f"{counted(len(constant), 'column')} of one value: "
            f"{join(told, len(constant) - len(told))}",
            why,
            "leave it out" if len(constant) == 1 else "leave them out",
            {
                "columns": data.places(constant[:_LISTED]),
                "values": values[:_LISTED],
                "count": len(constant),
            },
        )
    nearly = np.flatnonzero((data.table.odd_rows <= _ODD_ROWS) & ~moments.constant)
    if len(nearly) and data.table.n >= _ODD_ROWS_OF:
        yield Finding(
            "nearly_constant_column",
            "note",
            f"{counted(len(nearly), 'column')} of one value but for one or two rows: "
            f"{data.listed(nearly)}",
            "the weight of such a column rests on those rows alone",
            "leave such columns out, or merge rare levels and drop rare words",
            {
                "columns": data.places(nearly[:_LISTED]),
                "odd_rows": data.table.odd_rows[nearly[:_LISTED]].tolist(),
                "count": len(nearly),
            },
        )
    groups = data.equal_columns
    if groups:
        extra = sum(len(group) - 1 for group in groups)
        told = [" = ".join(data.name(j) for j in group[:_SHOWN]) for group in groups[:_SHOWN]]
        yield Finding(
            "duplicate_columns",
            "warning",
            f"{counted(extra, 'column')} equal to {'an earlier one' if extra == 1 else 'earlier'}"
            f"{'' if extra == 1 else ' ones'} in every row: {join(told, len(groups) - len(told))}",
            "how their weight is shared out is arbitrary, so none of these weights means anything "
            "by itself",
            "keep one of each",
            {"groups": [data.places(group) for group in groups[:_LISTED]], "count": extra},
        )


def _scales(data: Examined) -> Iterator[Finding]:
    moments = data.table.moments
    varying = np.flatnonzero(~moments.constant)
    if len(varying) > 1:
        ranges = moments.high[varying] / 2 - moments.low[varying] / 2  # halves do not overflow
        wide, narrow = int(np.argmax(ranges)), int(np.argmin(ranges))
        with np.errstate(divide="ignore", over="ignore"):
            ratio = float(ranges[wide] / ranges[narrow])
        if ratio >= _SCALES:
            told_ratio = f"{ratio:,.0f}" if ratio < 1e7 else f"{ratio:.1e}"
            if ratio == math.inf:
                told_ratio = "more than 1e300"
            ends = [varying[wide], varying[narrow]]
            told = [
                f"{data.name(j)} runs from {moments.low[j] + 0.0:g} to {moments.high[j] + 0.0:g}"
                for j in ends
            ]
            yield Finding(
                "scales_differ",
                "warning",
                f"the columns' scales differ by a factor of {told_ratio}: {join(told)}",
                "a penalty falls on the narrow ones, whose weights have to be large, and most "
                "solvers take many times as long",
                "standardise the columns, or divide each by its largest value if they are sparse "
                "(separatrix fit standardises the numbers of a table by itself)",
                {
                    "columns": data.places(ends),
                    "ranges": [[float(moments.low[j]), float(moments.high[j])] for j in ends],
                },
            )
    item = data.table.x.dtype.itemsize
    real = np.flatnonzero(~moments.constant & ~moments.binary)
    with np.errstate(divide="ignore", over="ignore"):
        offset = np.abs(moments.mean[real]) / moments.deviation[real]
    far = real[offset > _OFFSET[item]]
    if len(far):
        worst = int(far[np.argmax(offset[offset > _OFFSET[item]])])
        yield Finding(
            "huge_offset",
            "warning",
            f"{counted(len(far), 'column')} with a spread that is tiny beside "
            f"{'its' if len(far) == 1 else 'their'} mean: {data.listed(far)}; "
            f"{data.name(worst)} is {moments.mean[worst]:.6g} +- {moments.deviation[worst]:.3g}",
            f"of the {'16' if item == 8 else '7'} digits that are stored only the last few tell "
            "rows apart, and sums over rows lose them",
            "subtract the mean (or the smallest value)"
            + ("" if item == 8 else " in float64 before storing float32"),
            {"columns": data.places(far[:_LISTED]), "count": len(far)},
        )


# ----------------------------------------------------------------------------------------- rows


def _rows(data: Examined) -> Iterator[Finding]:
    table, codes = data.table, data.codes
    hashes = table.hashes[0]
    group = _grouped(hashes, table.equal_rows)
    yield from _contradictions(data, group)
    n_copies = table.n - np.unique(group * len(data.classes) + codes).size
    # Where most rows are copies, they are what such columns can say at all.
    if 0.01 * table.n <= n_copies <= 0.5 * table.n and n_copies:
        yield Finding(
            "duplicate_rows",
            "note",
            f"{counted(n_copies, 'row')} ({percent(n_copies / table.n)}) "
            f"{'repeats' if n_copies == 1 else 'repeat'} an earlier row, "
            "label and all",
            "copies on both sides of a split make the figures on the rows held out too good",
            "drop them, or split so that copies stay together",
            {"count": int(n_copies)},
        )
    if data.sparse or table.d >= _FEW_COLUMNS:
        empty = np.flatnonzero(hashes == 0)
        empty = empty[table.row_sizes(empty) == 0]
        if len(empty):
            share = len(empty) / table.n
            yield Finding(
                "empty_rows",
                "warning" if share >= 0.01 else "note",
                f"{counted(len(empty), 'row')} ({percent(share)}) with 0 in every column: "
                f"{data.rows(empty)}",
                "whatever the weights, all of them get one answer, the intercept's"
                if data.intercept
                else "they lie on every plane through the origin",
                "look at what they are (texts without known words, missing values), or leave them "
                "out",
                {"rows": [data.row(i) for i in empty[:_LISTED]], "count": len(empty)},
            )


def _contradictions(data: Examined, group: np.ndarray) -> Iterator[Finding]:
    """Rows that are equal, with labels that are not."""
    codes, n_classes = data.codes, len(data.classes)
    keys, counts = np.unique(group * n_classes + codes, return_counts=True)
    owners = keys // n_classes
    starts = np.flatnonzero(np.r_[True, owners[1:] != owners[:-1]])
    n_labels = np.diff(np.r_[starts, len(owners)])
    mixed = np.flatnonzero(n_labels > 1)
    if not len(mixed):
        return
    size = np.add.reduceat(counts, starts)[mixed]
    forced = int((size - np.maximum.reduceat(counts, starts)[mixed]).sum())
    pairs = []
    for owner in owners[starts[mixed]][:_SHOWN]:
        members = np.flatnonzero(group == owner)
        other = members[codes[members] != codes[members[0]]][0]
        pairs.append((int(members[0]), int(other)))
    told = [
        f"{data.row(a)} ({data.label(codes[a])}) and {data.row(b)} ({data.label(codes[b])})"
        for a, b in pairs[:3]
    ]
    share = forced / data.table.n
    groups = len(mixed)
    yield Finding(
        "contradictory_rows",
        "warning" if share >= 0.01 else "note",
        f"{counted(int(size.sum()), 'row')} equal another in every column but have another "
        f"label: such as rows {'; '.join(told)}",
        f"whatever the model, at least {counted(forced, 'row')} ({percent(share)}) will be "
        f"answered wrong, and no plane separates the classes",
        "look whether the labels are right, and whether a column is missing that tells them apart",
        {
            "pairs": [[data.row(a), data.row(b)] for a, b in pairs],
            "count": int(size.sum()),
            "groups": groups,
            "least_mistakes": forced,
        },
    )


# ---------------------------------------------------------------------------------------- label


def _label(data: Examined) -> Iterator[Finding]:
    """Columns on which one threshold (or one a class) tells the classes apart, or nearly."""
    table, codes, counts = data.table, data.codes, data.counts
    n_classes = len(counts)
    if n_classes > _MOST_CLASSES or counts.min() < 2:
        return
    if data.sparse and table.d * n_classes > _MOST_COUNTS:
        raise Skipped(
            "whether a column gives the label away was not looked at",
            f"it takes too much memory for {table.d:,} columns and {n_classes} classes",
        )
    varying = np.flatnonzero(~table.moments.constant)
    promising = table.could_tell(varying, codes, n_classes, _TELLING)
    # A sample rules most columns out.
    rows = _balanced_sample(codes, n_classes)
    if len(rows) < table.n:
        kept = []
        for start in range(0, len(promising), _CHUNK):
            chunk = promising[start : start + _CHUNK]
            score, _ = _interval_scores(table.block(rows, chunk), codes[rows], n_classes)
            kept += [(float(s), int(j)) for s, j in zip(score, chunk, strict=True)]
        kept = [(s, j) for s, j in kept if s >= _TELLING - _SAMPLE_SLACK]
        kept.sort(key=lambda pair: (-pair[0], pair[1]))
        promising = np.array(sorted(j for _, j in kept[:_MOST_LEAKS]), dtype=np.int64)
    # By chance alone a column in so many would do it where rows are few.
    by_chance = math.log(len(varying) + 1) - _log_arrangements(counts)
    if by_chance > math.log(1e-4):
        return
    exact: list[tuple[int, np.ndarray]] = []
    nearly: list[tuple[int, float]] = []
    for j, values in zip(promising, table.each(promising), strict=True):
        scores, orders = _interval_scores(values[:, None], codes, n_classes)
        if scores[0] >= 1.0 - 1e-12:
            exact.append((int(j), orders[:, 0]))
        elif scores[0] >= _TELLING and counts.min() >= 2 * _SMALL_CLASS:
            nearly.append((int(j), float(scores[0])))
    why = (
        "a column that is known only once the label is makes every figure too good and the model "
        "useless"
    )
    remedy = "if it is not known before the label, leave it out; if it is, a threshold will do"
    for j, order in exact[:_SHOWN]:
        yield Finding(
            "gives_label_away",
            "warning",
            f"{data.column(j)} alone tells the classes apart: it is {_ranges(data, j, order)}",
            why,
            remedy,
            {"columns": data.places([j]), "score": 1.0},
        )
    nearly.sort(key=lambda leak: -leak[1])
    for j, share in nearly[:_SHOWN]:
        rule = "a threshold on it is" if n_classes == 2 else "thresholds on it are"
        yield Finding(
            "nearly_gives_label_away",
            "warning",
            f"{data.column(j)} alone nearly tells the classes apart: {rule} right for "
            f"{percent(share)} of the rows, every class counted alike",
            why,
            remedy,
            {"columns": data.places([j]), "score": share},
        )
    rest = [j for j, _ in exact[_SHOWN:]] + [j for j, _ in nearly[_SHOWN:]]
    if rest:
        yield Finding(
            "gives_label_away",
            "warning",
            f"so do, or nearly, {data.columns(rest)}",
            why,
            remedy,
            {"columns": data.places(rest[:_LISTED]), "count": len(rest)},
        )


def _ranges(data: Examined, j: int, order: np.ndarray) -> str:
    """Where the classes lie on a column that tells them apart."""
    values = next(data.table.each([j]))
    parts = []
    for k in order[:_SHOWN]:
        own = values[data.codes == k]
        low, high = float(own.min()) + 0.0, float(own.max()) + 0.0
        span = f"{low:.6g}" if low == high else f"{low:.6g} to {high:.6g}"
        parts.append(f"{span} for {data.label(int(k))}")
    return join(parts, len(order) - len(parts))


def _balanced_sample(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Up to the same number of rows of every class, drawn with a fixed seed."""
    rng = np.random.default_rng(0)
    each = max(20, _LEAK_SAMPLE // n_classes)
    parts = []
    for k in range(n_classes):
        rows = np.flatnonzero(codes == k)
        parts.append(rows if len(rows) <= each else rng.choice(rows, each, replace=False))
    return np.sort(np.concatenate(parts))


def _interval_scores(
    values: np.ndarray, codes: np.ndarray, n_classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """How well intervals, one a class, tell the classes apart on each column.

    Returns the mean over classes of the share of rows that are told right, at the best cuts,
    with the classes in the order of their means; and that order, of shape (n_classes, columns).
    """
    n, width = values.shape
    share = 1.0 / (n_classes * np.bincount(codes, minlength=n_classes))
    rank = np.argsort(values, axis=0, kind="stable")
    ordered = np.take_along_axis(values, rank, axis=0)
    labels = codes[rank]
    # A cut may only lie between different values.
    cut = np.zeros((n + 1, width), dtype=bool)
    cut[[0, n]] = True
    cut[1:n] = ordered[1:] != ordered[:-1]
    middles = np.empty((n_classes, width))
    for k in range(n_classes):
        place = np.where(labels == k, np.arange(n)[:, None], 0).sum(axis=0)
        middles[k] = place * share[k]
    order = np.argsort(middles, axis=0, kind="stable")
    best = np.zeros((n + 1, width))
    for step in range(n_classes):
        own = labels == order[step]
        gained = np.zeros((n + 1, width))
        np.cumsum(own * share[order[step]], axis=0, out=gained[1:])
        if step == 0:
            best = gained
            continue
        before = np.where(cut, best - gained, -np.inf)
        best = np.maximum.accumulate(before, axis=0) + gained
    return best[-1], order


def _log_arrangements(counts: np.ndarray) -> float:
    """The logarithm of in how many ways labels can stand along a column, up to their names."""
    total = math.lgamma(counts.sum() + 1) - sum(math.lgamma(c + 1) for c in counts)
    return total - math.lgamma(len(counts) + 1)


# ------------------------------------------------------------------------------------ collinear


def _collinear(data: Examined) -> Iterable[Finding]:
    table = data.table
    others = {j for group in data.equal_columns for j in group[1:]}
    varying = (
        np.flatnonzero(~table.moments.constant)
        if data.intercept
        else np.flatnonzero(table.moments.largest > 0)
    )
    columns = np.array([j for j in varying if int(j) not in others], dtype=np.int64)
    if len(columns) >= table.n:
        if len(columns) < 2:
            return []
        raise Skipped(
            "whether columns are combinations of others was not looked at",
            f"{len(columns):,} columns always depend on one another in {counted(table.n, 'row')}",
        )
    if len(columns) > _MOST_COLUMNS:
        raise Skipped(
            "whether columns are combinations of others was not looked at",
            f"it takes too long for {len(columns):,} columns; it is done for up to "
            f"{_MOST_COLUMNS:,}",
        )
    families = None
    if data.names is not None:
        families = [name.rpartition("=")[0] for name in data.names]
    found = dependence(
        table, data.points.design, columns, centred=data.intercept, families=families
    )
    return [] if found is None else list(_collinear_findings(data, found))


def _collinear_findings(data: Examined, found: Dependence) -> Iterator[Finding]:
    hot = [relation for relation in found.relations if _is_one_hot(data, relation)]
    rest = [relation for relation in found.relations if relation not in hot]
    why = (
        "how the weight is shared out among them is arbitrary: without a penalty there is no one "
        "answer, and with one no single weight means anything"
    )
    for relation in rest[:_SHOWN]:
        yield Finding(
            "collinear",
            "warning",
            f"columns depend on one another: {_formula(data, relation)}",
            why,
            "leave out one of them",
            {
                "columns": data.places(relation.columns),
                "coefficients": list(relation.coefficients),
                "constant": relation.constant,
            },
        )
    more = found.n_more + max(0, len(rest) - _SHOWN)
    if more > 0:
        yield Finding(
            "collinear",
            "warning",
            f"{counted(more, 'more column')} {'depends' if more == 1 else 'depend'} on others",
            why,
            "leave out those above and look again",
            {"count": more},
        )
    if hot:
        groups = [sorted(relation.columns) for relation in hot]
        told = [data.family(group) for group in groups[:_SHOWN]]
        some = "a group" if len(groups) == 1 else f"{len(groups)} groups"
        yield Finding(
            "one_hot",
            "note",
            f"{some} of columns {'adds' if len(groups) == 1 else 'add'} up to 1 in every row, as "
            f"one-hot columns do: {join(told, len(groups) - len(told), '; ')}",
            "one column of a group follows from the others, which a penalty takes care of; only "
            "differences within a group mean something",
            "",
            {"groups": [data.places(group) for group in groups[:_LISTED]]},
        )
    if found.condition >= _NEARLY:
        rest_of = found.unexplained
        part = percent(rest_of) if rest_of >= 1e-6 else f"{rest_of:.1e}"
        sampled = (
            "" if found.rows_used == data.table.n else f" (estimated from {found.rows_used:,} rows)"
        )
        yield Finding(
            "nearly_collinear",
            "warning" if found.condition >= _VERY_NEARLY else "note",
            f"the condition number of the standardised columns is {found.condition:,.3g}{sampled}; "
            f"all but {part} of the variance of {data.column(found.worst)} is explained by "
            f"{data.columns(found.partners)}",
            "single weights of such columns are uncertain: a small change of the data changes them "
            "much",
            "leave out a column, or read their weights together, not one by one",
            {
                "condition": found.condition,
                "columns": data.places([found.worst, *found.partners[:_LISTED]]),
                "unexplained": found.unexplained,
            },
        )


def _is_one_hot(data: Examined, relation: Relation) -> bool:
    columns = list(relation.columns)
    if not data.table.moments.binary[columns].all():
        return False
    signs = np.array(relation.coefficients)
    if data.intercept:
        return bool((signs == 1.0).all() and relation.constant == 1.0)
    if relation.constant != 0.0 or not (np.abs(signs) == 1.0).all():
        return False
    # Without an intercept two groups have the same sum; it is 1 if they are one-hot.
    weights = np.zeros(data.table.d)
    weights[[j for j, s in zip(columns, signs, strict=True) if s > 0]] = 1.0
    sums = data.points.design.dot(weights)
    return bool((sums == 1.0).all())


def _formula(data: Examined, relation: Relation) -> str:
    left, terms, constant = relation.solved()
    ordered = sorted(terms, key=lambda term: term[1])
    return equation(data.name(left), [(c, data.name(j)) for c, j in ordered], constant)


# --------------------------------------------------------------------------------- separability


def _separability(data: Examined) -> Iterable[Finding]:
    # Later, because it is large and most checks do without.
    from separatrix.geometry.separation.separability import Separability, separability

    n_classes = len(data.classes)
    if data.time_limit is None:
        stored = data.points.design.n_stored
        side = min(data.table.n, data.table.d)
        # Each row takes part in K - 1 pairs and in K questions about one class and the rest.
        work = stored * (1 if n_classes == 2 else 2 * n_classes - 1)
        if work > _QUICK_WORK or (side > _QUICK_SIDE and stored > _QUICK_ENTRIES):
            raise Skipped(
                "whether the classes are separable was not asked",
                "it can take long on data of this size",
                "give a time_limit, or call separatrix.separability(X, y)",
            )
    matrix, labels = data.points.design.matrix, data.points.labels
    answer = separability(
        matrix,
        labels.classes[labels.codes],
        fit_intercept=data.intercept,
        margin=False,
        time_limit=data.time_limit,
    )
    if isinstance(answer, Separability):
        return _separability_of_two(data, answer)
    return _separability_of_many(data, answer)


_DIVERGES = (
    "without a penalty the weights grow without end, and there is no finite optimum; with one, its "
    "strength alone decides how large they get"
)
_KEEP_A_PENALTY = (
    "keep a penalty and choose its strength by cross-validation; separatrix.separability(X, y) "
    "has the proof"
)


def _separability_of_two(data: Examined, answer: Any) -> list[Finding]:
    if answer.status == "undecided":
        raise _undecided(data)
    where: dict[str, Any] = {"status": answer.status, "classes": data.classes}
    if answer.status == "separable":
        return [
            Finding(
                "separable",
                "warning",
                "the classes are separable: a plane has every row strictly on its side",
                _DIVERGES,
                _KEEP_A_PENALTY,
                where,
            )
        ]
    if answer.status == "quasi_separable":
        columns = list(answer.witness.columns)
        where["columns"] = data.places(columns[:_LISTED])
        where["rows"] = [data.row(i) for i in answer.witness.separated[:_LISTED]]
        count = len(answer.witness.separated)
        by = f" by {data.columns(columns)}" if columns else ""
        return [
            Finding(
                "quasi_separable",
                "warning",
                f"the classes are separable in part: a plane has {counted(count, 'row')} strictly "
                f"on {'its' if count == 1 else 'their'} side{by}, and all others on it",
                "without a penalty the weights of these columns grow without end, and there is no "
                "finite optimum",
                _KEEP_A_PENALTY,
                where,
            )
        ]
    return []


def _separability_of_many(data: Examined, answer: Any) -> list[Finding]:
    pairs, rest = answer.pairs, answer.one_vs_rest
    verdicts = [*pairs.values(), *rest.values()]
    undecided = sum(verdict.status == "undecided" for verdict in verdicts)
    apart = [pair for pair, verdict in pairs.items() if verdict.status == "separable"]
    alone = [label for label, verdict in rest.items() if verdict.status == "separable"]
    partly = [pair for pair, verdict in pairs.items() if verdict.status == "quasi_separable"]
    partly += [
        (label, None) for label, verdict in rest.items() if verdict.status == "quasi_separable"
    ]
    found = []
    if apart or alone or partly:
        told = f"{len(apart)} of {len(pairs)} pairs of classes are separable"
        if alone:
            names = join([quoted(v) for v in alone[:_SHOWN]], len(alone) - _SHOWN)
            verb = "is" if len(alone) == 1 else "are"
            told += f", and {names} {verb} separable from all the rest"
        else:
            told += ", and no class is separable from all the rest"
        if partly:
            told += f"; {len(partly)} more {'is' if len(partly) == 1 else 'are'} so in part"
        found.append(
            Finding(
                "separable" if apart or alone else "quasi_separable",
                "warning",
                told,
                _DIVERGES,
                _KEEP_A_PENALTY,
                {
                    "pairs": [[a, b, verdict.status] for (a, b), verdict in pairs.items()],
                    "one_vs_rest": [[label, verdict.status] for label, verdict in rest.items()],
                },
            )
        )
    if undecided:
        raise _undecided(data, undecided, len(verdicts), found)
    return found


def _undecided(
    data: Examined, undecided: int = 1, total: int = 1, found: Iterable[Finding] = ()
) -> Skipped:
    some = "" if total == 1 else f" in {undecided} of {total} questions"
    return Skipped(
        f"whether the classes are separable was not decided{some}",
        f"the time limit of {data.time_limit:g} s came first",
        "raise the time limit",
        found,
    )


CHECKS: dict[str, Callable[[Examined], Iterable[Finding]]] = {
    "classes": _classes,
    "shape": _shape,
    "columns": _columns,
    "scales": _scales,
    "rows": _rows,
    "label": _label,
    "collinear": _collinear,
    "separability": _separability,
}
"""The checks by name, in the order in which they are made."""
