"""The checks of a diagnosis: each looks at labelled points for one sort of trouble."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from separatrix._compiled.tuning import Tuned
from separatrix.data.columns import Columns, columns_of
from separatrix.geometry.diagnosis.collinearity import Dependence, Relation, dependence
from separatrix.geometry.diagnosis.findings import Finding, finding
from separatrix.geometry.points import LabelledPoints
from separatrix.messages import counted, join, percent, plural, quoted

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
# Mean over classes of the share of rows that one column classifies correctly.
_TELLING, _SAMPLE_SLACK = 0.99, 0.02
# The correlation with a quantity from which a column is the quantity under another name.
_CORRELATED, _FEWEST_CORRELATED = 0.99, 20
_MOST_COUNTS = 20_000_000
_LEAK_SAMPLE, _CHUNK, _MOST_LEAKS, _MOST_CLASSES = 2000, 256, 50, 50
# The number of cells that are scored at once.
_SCORED_CELLS = 100_000


@dataclass(frozen=True)
class Tuning:
    """Whether separability is decided without a time limit.

    Parameters
    ----------
    quick_work : float
        The largest product of stored entries and separability problems for which it is decided.
    quick_side : int
        The data must have at most this many rows or columns, too,
        unless they have few stored entries.
    quick_entries : int
        The largest number of stored entries that counts as few.
    """

    quick_work: float = 2e7
    quick_side: int = 150
    quick_entries: int = 200_000


tuned = Tuned(Tuning())


class Skipped(Exception):
    """A check that was not made, or not in full.

    Parameters
    ----------
    wording : str
        The key of the finding's words; see ``findings``.
    found : iterable of Finding
        The findings that were made all the same.
    **values : object
        The values that the words use.
    """

    def __init__(self, wording: str, found: Iterable[Finding] = (), **values: Any) -> None:
        self.finding = finding("skipped", "note", wording=wording, **values)
        super().__init__(self.finding.what)
        self.found = [*found, self.finding]


@dataclass(frozen=True, eq=False)
class Examined:
    """The data that the checks examine."""

    points: LabelledPoints
    names: tuple[str, ...] | None
    intercept: bool
    time_limit: float | None
    row_numbers: np.ndarray | None
    target: str = "classes"
    """What the labels are: "classes", a "quantity", or "" where there are none."""
    value_text: Callable[[int, float], str] | None = None
    """The function that writes a value of a column in its units."""

    @property
    def encoded(self) -> bool:
        """Whether the columns are features of a table, which may say less than it does."""
        return self.value_text is not None

    @property
    def part(self) -> str:
        """The word for a column in findings of equal rows: "feature" or "column"."""
        return "feature" if self.encoded else "column"

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

    def places(self, columns: Iterable[int]) -> list[Any]:
        return [int(j) if self.names is None else self.names[j] for j in columns]

    def name(self, j: int) -> str:
        """A column inside a formula."""
        return f"column {j}" if self.names is None else quoted(self.names[j])

    def columns(self, columns: Sequence[int] | np.ndarray) -> str:
        places = map(quoted, self.places(columns[:_SHOWN]))
        return f"{plural('column', len(columns))} {join(places, len(columns) - _SHOWN)}"

    def family(self, columns: Sequence[int]) -> str:
        """Columns that belong together, by what their names have in common."""
        if self.names is not None:
            names = [self.names[j] for j in columns]
            # A level can hold the sign, too.
            for end in (i + 1 for i in range(len(names[0]) - 1, 0, -1) if names[0][i] == "="):
                if all(name.startswith(names[0][:end]) for name in names):
                    return f"{quoted(names[0][:end] + '...')} ({counted(len(columns), 'column')})"
        return self.columns(columns)

    def first_names(self, columns: Sequence[int] | np.ndarray) -> str:
        """Name the first few columns, in a sentence that says that they are columns."""
        return _first_few(columns, self.name)

    @property
    def sparse(self) -> bool:
        return len(self.points.design.rows) > 1

    def row(self, i: int) -> int:
        return int(i if self.row_numbers is None else self.row_numbers[i])

    def rows(self, rows: Sequence[int] | np.ndarray) -> str:
        return f"{plural('row', len(rows))} {_first_few(rows, self.row)}"

    def label(self, code: int) -> str:
        return quoted(self.classes[code])


def _first_few(items: Sequence[Any] | np.ndarray, words: Callable[[Any], Any]) -> str:
    """The first few of some items in words, and how many more there are."""
    return join(map(words, items[:_SHOWN]), len(items) - _SHOWN)


def _grouped(
    hashes: np.ndarray, equal: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> np.ndarray:
    """Return for each item the number of the first item that equals it.

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
        yield finding(
            "tiny_class",
            "problem" if counts[small[0]] == 1 else "warning",
            {"classes": [classes[k] for k in small], "counts": [int(counts[k]) for k in small]},
            n=len(small),
            shown=_first_few(
                small, lambda k: f"{data.label(k)} has {counted(int(counts[k]), 'row')}"
            ),
        )
    least, most = int(order[0]), int(order[-1])
    ratio = float(counts[most] / counts[least])
    if ratio >= _UNBALANCED:
        yield finding(
            "imbalance",
            "warning" if ratio >= _VERY_UNBALANCED else "note",
            {"classes": classes, "counts": counts.tolist(), "ratio": ratio},
            most_rows=int(counts[most]),
            most=data.label(most),
            least_rows=int(counts[least]),
            least=data.label(least),
            share=counts[most] / counts.sum(),
        )


def _shape(data: Examined) -> Iterator[Finding]:
    n, d = data.table.n, data.table.d
    if d + data.intercept > n:
        yield finding("more_columns_than_rows", "warning", {"n_samples": n, "n_features": d})


# -------------------------------------------------------------------------------------- columns


def _columns(data: Examined) -> Iterator[Finding]:
    moments = data.table.moments
    constant = np.flatnonzero(moments.constant)
    if len(constant):
        values = [float(v) + 0.0 for v in moments.low[constant]]
        effect = ""
        if any(values):
            second = "a second one that is penalised" if data.intercept else "one that is penalised"
            effect = f"; where it is not 0 it acts as an intercept, {second}"
        yield finding(
            "constant_column",
            "warning",
            {
                "columns": data.places(constant[:_LISTED]),
                "values": values[:_LISTED],
                "count": len(constant),
            },
            shown=_first_few(
                [*zip(constant, values, strict=True)],
                lambda pair: f"{data.name(pair[0])} is {pair[1]:g}",
            ),
            effect=effect,
        )
    nearly = np.flatnonzero((data.table.odd_rows <= _ODD_ROWS) & ~moments.constant)
    if len(nearly) and data.table.n >= _ODD_ROWS_OF:
        yield finding(
            "nearly_constant_column",
            "note",
            {
                "columns": data.places(nearly[:_LISTED]),
                "odd_rows": data.table.odd_rows[nearly[:_LISTED]].tolist(),
                "count": len(nearly),
            },
            shown=data.first_names(nearly),
        )
    groups = data.equal_columns
    if groups:
        yield finding(
            "duplicate_columns",
            "warning",
            {
                "groups": [data.places(group) for group in groups[:_LISTED]],
                "count": sum(len(group) - 1 for group in groups),
            },
            shown=_first_few(groups, lambda group: " = ".join(map(data.name, group[:_SHOWN]))),
        )


def _scales(data: Examined) -> Iterator[Finding]:
    yield from _ranges_differ(data)
    moments = data.table.moments
    single = data.table.x.dtype.itemsize != 8
    real = np.flatnonzero(~moments.constant & ~moments.binary)
    with np.errstate(divide="ignore", over="ignore"):
        offset = np.abs(moments.mean[real]) / moments.deviation[real]
    far = real[offset > _OFFSET[data.table.x.dtype.itemsize]]
    if len(far):
        worst = int(real[np.argmax(offset)])
        yield finding(
            "huge_offset",
            "warning",
            {"columns": data.places(far[:_LISTED]), "count": len(far)},
            shown=data.first_names(far),
            worst=data.name(worst),
            mean=moments.mean[worst],
            deviation=moments.deviation[worst],
            digits="7" if single else "16",
            before=" in float64 before storing float32" if single else "",
        )


def _ranges_differ(data: Examined) -> Iterator[Finding]:
    moments = data.table.moments
    varying = np.flatnonzero(~moments.constant)
    if len(varying) < 2:
        return
    ranges = moments.high[varying] / 2 - moments.low[varying] / 2  # halves do not overflow
    wide, narrow = int(np.argmax(ranges)), int(np.argmin(ranges))
    with np.errstate(divide="ignore", over="ignore"):
        ratio = float(ranges[wide] / ranges[narrow])
    if ratio < _SCALES:
        return
    shown_ratio = f"{ratio:,.0f}" if ratio < 1e7 else f"{ratio:.1e}"
    ends = [varying[wide], varying[narrow]]
    spans = [[float(moments.low[j]) + 0.0, float(moments.high[j]) + 0.0] for j in ends]
    yield finding(
        "scales_differ",
        "warning",
        {"columns": data.places(ends), "ranges": spans},
        ratio="more than 1e300" if ratio == math.inf else shown_ratio,
        shown=join(
            f"{data.name(j)} runs from {low:g} to {high:g}"
            for j, (low, high) in zip(ends, spans, strict=True)
        ),
    )


# ----------------------------------------------------------------------------------------- rows


def _rows(data: Examined) -> Iterator[Finding]:
    table, codes = data.table, data.codes
    hashes = table.hashes[0]
    group = _grouped(hashes, table.equal_rows)
    if data.target == "classes":
        yield from _contradictions(data, group)
    n_copies = table.n - np.unique(group * len(data.classes) + codes).size
    # Where most rows are copies, they are what such columns can say at all.
    if 0.01 * table.n <= n_copies <= 0.5 * table.n and n_copies:
        alike = {"classes": ", label and all", "quantity": ", target and all", "": ""}
        yield finding(
            "duplicate_rows",
            "note",
            {"count": int(n_copies)},
            share=n_copies / table.n,
            seen=f" in every {data.part}" if data.encoded else "",
            alike=alike[data.target],
        )
    if data.sparse or table.d >= _FEW_COLUMNS:
        empty = np.flatnonzero(hashes == 0)
        empty = empty[table.row_sizes(empty) == 0]
        if len(empty):
            share = len(empty) / table.n
            yield finding(
                "empty_rows",
                "warning" if share >= 0.01 else "note",
                {"rows": [data.row(i) for i in empty[:_LISTED]], "count": len(empty)},
                share=share,
                shown=data.rows(empty),
                effect="every model predicts the same for all of them, from the intercept alone"
                if data.intercept
                else "they lie on every plane through the origin",
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
    share = forced / data.table.n
    yield finding(
        "contradictory_rows",
        "warning" if share >= 0.01 else "note",
        {
            "pairs": [[data.row(a), data.row(b)] for a, b in pairs],
            "count": int(size.sum()),
            "groups": len(mixed),
            "least_mistakes": forced,
        },
        share=share,
        part=data.part,
        shown="; ".join(
            " and ".join(f"{data.row(i)} ({data.label(codes[i])})" for i in pair)
            for pair in pairs[:3]
        ),
    )


# ---------------------------------------------------------------------------------------- label


def _label(data: Examined) -> Iterator[Finding]:
    """Columns on which one threshold (or one a class) separates the classes, or nearly."""
    if data.target == "quantity":
        yield from _nearly_the_quantity(data)
        return
    table, codes, counts = data.table, data.codes, data.counts
    n_classes = len(counts)
    if n_classes > _MOST_CLASSES or counts.min() < 2:
        return
    if data.sparse and table.d * n_classes > _MOST_COUNTS:
        raise Skipped("no leaks", columns=table.d, classes=n_classes)
    varying = np.flatnonzero(~table.moments.constant)
    candidates = _candidate_leaks(data, varying)
    # By chance alone a column in so many would do it where rows are few.
    by_chance = math.log(len(varying) + 1) - _log_arrangements(counts)
    if by_chance > math.log(1e-4):
        return
    exact: list[tuple[int, np.ndarray]] = []
    nearly: list[tuple[int, float]] = []
    # Short columns are scored several at once, which takes half the time.
    width = max(1, _SCORED_CELLS // table.n)
    for start in range(0, len(candidates), width):
        chunk = candidates[start : start + width]
        scores, orders = _interval_scores(np.stack([*table.each(chunk)], 1), codes, n_classes)
        for j, score, order in zip(chunk.tolist(), scores.tolist(), orders.T, strict=True):
            if score >= 1.0 - 1e-12:
                exact.append((j, order))
            elif score >= _TELLING and counts.min() >= 2 * _SMALL_CLASS:
                nearly.append((j, score))
    nearly.sort(key=lambda leak: -leak[1])
    for j, order in exact[:_SHOWN]:
        yield finding(
            "gives_label_away",
            "warning",
            {"columns": data.places([j]), "score": 1.0},
            column=data.columns([j]),
            ranges=_ranges(data, j, order),
        )
    for j, score in nearly[:_SHOWN]:
        yield finding(
            "nearly_gives_label_away",
            "warning",
            {"columns": data.places([j]), "score": score},
            column=data.columns([j]),
            rule="a threshold on it is" if n_classes == 2 else "thresholds on it are",
        )
    rest = [j for j, _ in exact[_SHOWN:]] + [j for j, _ in nearly[_SHOWN:]]
    if rest:
        yield finding(
            "gives_label_away",
            "warning",
            {"columns": data.places(rest[:_LISTED]), "count": len(rest)},
            wording="more leaks",
            shown=data.columns(rest),
        )


def _nearly_the_quantity(data: Examined) -> Iterator[Finding]:
    """Columns that are the quantity but for a scale and little else."""
    labels, moments = data.points.labels, data.table.moments
    if data.table.n < _FEWEST_CORRELATED:
        return
    y = labels.classes[labels.codes]
    y = y / max(float(np.abs(y).max()), 1e-300)
    y = y - y.mean()
    length = float(np.sqrt(y @ y))
    varying = np.flatnonzero(~moments.constant & (moments.deviation > 0.0))
    for j, values in zip(varying.tolist(), data.table.each(varying), strict=True):
        with np.errstate(over="ignore", invalid="ignore"):
            z = (values - moments.mean[j]) / moments.deviation[j]
            r = float(z @ y) / (length * math.sqrt(len(y)))
        if abs(r) >= _CORRELATED:
            yield finding(
                "gives_target_away",
                "warning",
                {"columns": data.places([j]), "correlation": r},
                column=data.columns([j]),
            )


def _candidate_leaks(data: Examined, varying: np.ndarray) -> np.ndarray:
    """Columns that may separate the classes: a sample of the rows rules most others out."""
    table, codes, n_classes = data.table, data.codes, len(data.counts)
    candidates = table.could_tell(varying, codes, n_classes, _TELLING)
    rows = _balanced_sample(codes, n_classes)
    if len(rows) == table.n:
        return candidates
    kept = []
    for start in range(0, len(candidates), _CHUNK):
        chunk = candidates[start : start + _CHUNK]
        score, _ = _interval_scores(table.block(rows, chunk), codes[rows], n_classes)
        kept += [(float(s), int(j)) for s, j in zip(score, chunk, strict=True)]
    kept = [(s, j) for s, j in kept if s >= _TELLING - _SAMPLE_SLACK]
    kept.sort(key=lambda pair: (-pair[0], pair[1]))
    return np.array(sorted(j for _, j in kept[:_MOST_LEAKS]), dtype=np.int64)


def _ranges(data: Examined, j: int, order: np.ndarray) -> str:
    """The ranges of the classes on a column that separates them."""
    values = next(data.table.each([j]))
    in_units = data.value_text or (lambda j, value: f"{value:.6g}")

    def span(k: int) -> str:
        own = values[data.codes == k]
        low, high = (in_units(j, float(end) + 0.0) for end in (own.min(), own.max()))
        text = low if low == high else f"{low} to {high}"
        return f"{text} for {data.label(int(k))}"

    return _first_few(order, span)


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
    """Score how well intervals, one a class, separate the classes on each column.

    Returns the mean over classes of the share of correctly classified rows, at the best cuts,
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
        reason = f"{len(columns):,} columns always depend on one another in "
        raise Skipped("no relations", reason=reason + counted(table.n, "row"))
    if len(columns) > _MOST_COLUMNS:
        reason = f"it takes too long for {len(columns):,} columns; it is done for up to "
        raise Skipped("no relations", reason=f"{reason}{_MOST_COLUMNS:,}")
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
    names = [data.name(j) for j in range(data.table.d)]
    for relation in rest[:_SHOWN]:
        yield finding(
            "collinear",
            "warning",
            {
                "columns": data.places(relation.columns),
                "coefficients": list(relation.coefficients),
                "constant": relation.constant,
            },
            relation=str(relation.equation(names)),
        )
    more = found.n_more + max(0, len(rest) - _SHOWN)
    if more > 0:
        yield finding("collinear", "warning", {"count": more}, wording="more relations")
    if hot:
        groups = [sorted(relation.columns) for relation in hot]
        names = [data.family(group) for group in groups[:_SHOWN]]
        yield finding(
            "one_hot",
            "note",
            {"groups": [data.places(group) for group in groups[:_LISTED]]},
            n=len(groups),
            some="a group" if len(groups) == 1 else f"{len(groups)} groups",
            shown=join(names, len(groups) - len(names), "; "),
        )
    if found.condition >= _NEARLY:
        rest_of, all_rows = found.unexplained, found.rows_used == data.table.n
        yield finding(
            "nearly_collinear",
            "warning" if found.condition >= _VERY_NEARLY else "note",
            {
                "condition": found.condition,
                "columns": data.places([found.worst, *found.partners[:_LISTED]]),
                "unexplained": found.unexplained,
            },
            sampled="" if all_rows else f" (estimated from {found.rows_used:,} rows)",
            part=percent(rest_of) if rest_of >= 1e-6 else f"{rest_of:.1e}",
            worst=data.columns([found.worst]),
            partners=data.columns(found.partners),
        )


def _is_one_hot(data: Examined, relation: Relation) -> bool:
    columns = list(relation.columns)
    if not data.table.moments.binary[columns].all():
        return False
    signs = np.array(relation.coefficients)
    if data.intercept:
        # Twice negated it is the same relation.
        return abs(relation.constant) == 1.0 and bool((signs == relation.constant).all())
    if relation.constant != 0.0 or not (np.abs(signs) == 1.0).all():
        return False
    # Without an intercept two groups have the same sum; it is 1 if they are one-hot.
    weights = np.zeros(data.table.d)
    weights[[j for j, s in zip(columns, signs, strict=True) if s > 0]] = 1.0
    sums = data.points.design.dot(weights)
    return bool((sums == 1.0).all())


# --------------------------------------------------------------------------------- separability


def _separability(data: Examined) -> Iterable[Finding]:
    # Later, because it is large and most checks do without.
    from separatrix.geometry.separation.deciding import separability
    from separatrix.geometry.separation.separability import Separability

    n_classes = len(data.classes)
    if data.time_limit is None:
        stored = data.points.design.n_stored
        side = min(data.table.n, data.table.d)
        # Each row takes part in K - 1 pairs and in K questions about one class and the rest.
        work = stored * (1 if n_classes == 2 else 2 * n_classes - 1)
        quick = tuned.now
        if work > quick.quick_work or (side > quick.quick_side and stored > quick.quick_entries):
            raise Skipped("not asked")
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


def _separability_of_two(data: Examined, answer: Any) -> Iterator[Finding]:
    where: dict[str, Any] = {"status": answer.status, "classes": data.classes}
    if answer.status == "undecided":
        raise _undecided(data)
    if answer.status == "separable":
        yield finding("separable", "warning", where)
    if answer.status == "quasi_separable":
        columns, rows = list(answer.witness.columns), answer.witness.separated
        where["columns"] = data.places(columns[:_LISTED])
        where["rows"] = [data.row(i) for i in rows[:_LISTED]]
        by = f" by {data.columns(columns)}" if columns else ""
        yield finding("quasi_separable", "warning", where, count=len(rows), by=by)


def _separability_of_many(data: Examined, answer: Any) -> list[Finding]:
    pairs, rest = answer.pairs, answer.one_vs_rest
    verdicts = [*pairs.values(), *rest.values()]
    apart = [pair for pair, verdict in pairs.items() if verdict.status == "separable"]
    alone = [label for label, verdict in rest.items() if verdict.status == "separable"]
    partly = sum(verdict.status == "quasi_separable" for verdict in verdicts)
    found = []
    if apart or alone or partly:
        text = f"{len(apart)} of {len(pairs)} pairs of classes are separable, and "
        which = _first_few(alone, quoted) if alone else "no class"
        text += f"{which} {'is' if len(alone) < 2 else 'are'} separable from all the rest"
        if partly:
            text += f"; {partly} more {'is' if partly == 1 else 'are'} separable in part"
        where = {
            "pairs": [[a, b, verdict.status] for (a, b), verdict in pairs.items()],
            "one_vs_rest": [[label, verdict.status] for label, verdict in rest.items()],
        }
        code = "separable" if apart or alone else "quasi_separable"
        found.append(finding(code, "warning", where, wording="separable classes", shown=text))
    undecided = sum(verdict.status == "undecided" for verdict in verdicts)
    if undecided:
        raise _undecided(data, f" in {undecided} of {len(verdicts)} questions", found)
    return found


def _undecided(data: Examined, some: str = "", found: Iterable[Finding] = ()) -> Skipped:
    return Skipped("undecided", found, some=some, limit=data.time_limit)


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

WITHOUT_CLASSES = {
    "quantity": ("shape", "columns", "scales", "rows", "label", "collinear"),
    "": ("columns", "scales", "rows", "collinear"),
}
"""The checks that are made where the labels are a quantity, and where there are none."""
