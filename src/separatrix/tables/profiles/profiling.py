"""The profile of a table: every column, and what columns and rows have to do with one another."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from separatrix._compiled.tuning import Tuned
from separatrix.messages import Message
from separatrix.tables.profiles.columns import Column, Target, column_profile, prepared
from separatrix.tables.profiles.dependences import Strengths, pairs_of, strengths
from separatrix.tables.profiles.records import (
    ColumnProfile,
    Drift,
    Duplicates,
    MissingTogether,
    TableProfile,
)
from separatrix.tables.roles import repeated_rows
from separatrix.tables.row_times import likely_time
from separatrix.tables.table import Table, quote


@dataclass(frozen=True)
class Tuning:
    """The limits of the search for dependences.

    Parameters
    ----------
    columns : int
        The most columns that are compared with each other.
    rows : int
        The most rows that are compared.
    cells : int
        The largest product of the pairs of columns and the rows that are compared.
    """

    columns: int = 300
    rows: int = 100_000
    cells: int = 100_000_000


tuned = Tuned(Tuning())

# Weaker dependences are chance, or nobody's concern.
_LEAST, PAIRS, _MATRIX = 0.2, 40, 30
# Two columns are missing together where at least this share of the rows that lack either lack both.
_TOGETHER, _FEWEST_GONE = 0.8, 3
_PERIODS, _MOVES = 10, 0.2
_SHOWN = 10
# Alerts that a description of all rows has where they are true of all rows.
_OF_ALL = ("constant", "holds no values")


def profile_of(
    table: Table,
    target: str | None = None,
    *,
    quantity: bool = False,
    alerts: Mapping[str, Sequence[str]] | None = None,
    n_rows: int | None = None,
    parts: Iterable[Table] = (),
) -> TableProfile:
    """Describe every column of a table, and how they depend on one another.

    Parameters
    ----------
    table : Table
    target : str, optional
        The column to predict.
    quantity : bool
        Whether it is a quantity, and not classes.
    alerts : mapping of str to sequence of str, optional
        Alerts that are known already, by column, in a few words each.
    n_rows : int, optional
        The number of rows of the whole table, where `table` is a sample.
    parts : iterable of Table
        Where `table` is a sample: tables of all rows, each with some of the columns and the target.
        These columns are described by them, one table after the other, and the rest by the sample.

    Returns
    -------
    TableProfile

    Examples
    --------
    >>> from separatrix.tables import read_table
    >>> from separatrix.tables.profiles.profiling import profile_of
    >>> profile = profile_of(read_table("iris"), "target")
    >>> strongest = profile.dependences[0]
    >>> strongest.first, strongest.second, strongest.measure, round(strongest.value, 3)
    ('target', 'petal length (cm)', 'correlation ratio', 0.97)
    """
    alerts = alerts or {}
    # Parts of dates are no columns of what was read.
    own = {name: prepared(table, name) for name in table.names if name not in table.derived}
    goal = None if target is None else Target.of(own[target], quantity=quantity)
    remarks, notes = _remarks(table)
    profiles = _described(table, own.values(), goal, alerts, remarks)
    classes = () if goal is None else tuple(goal.classes)
    n = described = table.n_rows
    whole: dict[str, ColumnProfile] = {}
    # A column that is constant in a sample may vary in the table.
    known = {name: [one for one in some if one not in _OF_ALL] for name, some in alerts.items()}
    for part in parts:
        of_all = None if target is None else Target.of(prepared(part, target), quantity=quantity)
        # Prepared one after the other: all of them together may take more than the part.
        names = (name for name in part.names if name not in part.derived and name not in whole)
        columns = (prepared(part, name) for name in names)
        new = _described(part, columns, of_all, known, _remarks(part)[0])
        whole |= {one.name: one for one in new}
        described = part.n_rows
        classes = classes if of_all is None else tuple(of_all.classes)
    profiles = [whole.get(one.name, one) for one in profiles]
    compared, rows = _compared(own, target, n)
    sample = [_goal_column(one, goal) for one in (own[name] for name in compared)]
    if len(rows) < n:
        sample = [one.take(rows) for one in sample]
    found = strengths(sample)
    time = likely_time(table, complete=False)
    return TableProfile(
        source=table.source,
        n_rows=n if n_rows is None else n_rows,
        n_profiled=n,
        n_described=described,
        target=target,
        classes=classes,
        columns=tuple(_with_association(profiles, found, target)),
        missing_together=tuple(_missing_together(own)),
        duplicates=_duplicates(table),
        dependences=tuple(pairs_of(found, most=PAIRS, least=_LEAST)),
        matrix=_matrix(found, target),
        rows_compared=len(rows),
        columns_compared=len(compared),
        time=time,
        drift=() if time is None else tuple(_drift(own, time, goal)),
        notes=tuple(notes),
    )


def _described(
    table: Table,
    columns: Iterable[Column],
    goal: Target | None,
    alerts: Mapping[str, Sequence[str]],
    remarks: Mapping[str, Sequence[str]],
) -> list[ColumnProfile]:
    """The profiles of columns of a table."""
    return [
        column_profile(
            table,
            one,
            goal,
            alerts=alerts.get(one.name, ()),
            remarks=remarks.get(quote(one.name), ()),
        )
        for one in columns
    ]


def _remarks(table: Table) -> tuple[dict[str, list[str]], list[str]]:
    """The remarks on the reading of a table: by the quoted name of a column, and the others."""
    by_column: dict[str, list[str]] = {}
    others = []
    for sentence in (*table.alerts, *table.notes):
        values = sentence.values if isinstance(sentence, Message) else {}
        if "column" in values:
            by_column.setdefault(str(values["column"]), []).append(sentence)
        else:
            others.append(sentence)
    return by_column, others


def _compared(
    own: Mapping[str, Column], target: str | None, n: int
) -> tuple[list[str], np.ndarray]:
    """The columns that are compared with each other, and the rows."""
    tuning = tuned.now
    names = [
        name
        for name, one in own.items()
        if one.kind != "text" and one.n_distinct > 1 and not _identifies(one)
    ]
    if target in names:
        names = [target, *(name for name in names if name != target)]
    names = names[: tuning.columns]
    pairs = max(1, len(names) * (len(names) - 1) // 2)
    most = min(n, tuning.rows, max(2000, tuning.cells // pairs))
    rows = np.linspace(0, n - 1, most).astype(np.int64) if most < n else np.arange(n)
    return names, rows


def _identifies(column: Column) -> bool:
    """Whether a column of words has hardly a level twice, so that it depends on nothing."""
    there = len(column.gone) - int(column.gone.sum())
    return not column.numeric and 2 * column.n_distinct > there


def _goal_column(column: Column, goal: Target | None) -> Column:
    """A column as it is compared: a target of classes is one of levels."""
    if goal is None or goal.name != column.name or not len(goal.codes):
        return column
    return replace(column, kind="category", codes=goal.codes, levels=goal.classes)


def _with_association(
    profiles: Sequence[ColumnProfile], found: Strengths, target: str | None
) -> list[ColumnProfile]:
    names = {one.name: i for i, one in enumerate(found.columns)}
    if target not in names:
        return [*profiles]
    k = names[target]
    return [
        replace(
            one,
            association=float(abs(found.values[k, names[one.name]])),
            measure=found.measure(k, names[one.name]),
            missing_association=_of_missing(found.columns[k], found.columns[names[one.name]]),
        )
        if one.name in names and one.name != target
        else one
        for one in profiles
    ]


def _of_missing(target: Column, column: Column) -> float | None:
    """The strength of the dependence of the target on whether a column has a value."""
    if not 0 < column.gone.sum() < len(column.gone):
        return None
    return abs(_dependence(target, _whether_missing(column.gone))[1])


def _whether_missing(gone: np.ndarray) -> Column:
    """A column of two levels: there, and missing."""
    return Column("", "category", np.empty(0), gone.astype(np.int64), ["", ""], [])


def _dependence(first: Column, second: Column) -> tuple[str, float]:
    """The measure of the dependence of two columns, and its value."""
    found = strengths([first, second])
    return found.measure(0, 1), float(found.values[0, 1])


def _matrix(found: Strengths, target: str | None) -> dict[str, object]:
    """The columns with the strongest dependences, in the order of the table."""
    size = np.abs(found.values) - np.eye(len(found.columns))
    strongest = size.max(axis=1, initial=0.0)
    strongest[[one.name == target for one in found.columns]] += 1.0
    chosen = np.sort(np.argsort(-strongest, kind="stable")[:_MATRIX])
    values = found.values[np.ix_(chosen, chosen)]
    return {"columns": [found.columns[i].name for i in chosen], "values": values.tolist()}


# ------------------------------------------------------------------------------- missing, repeated


def _missing_together(own: Mapping[str, Column]) -> list[MissingTogether]:
    """Groups of columns that are missing in the same rows, the largest first."""
    gone = {name: one.gone for name, one in own.items() if one.kind != "empty"}
    gone = {name: one for name, one in gone.items() if one.sum() >= _FEWEST_GONE}
    names = list(gone)
    if len(names) < 2:
        return []
    # Packed into bits: a thousand columns take hardly any memory.
    packed = [np.packbits(gone[name]) for name in names]
    count = [int(gone[name].sum()) for name in names]
    groups: list[list[int]] = []
    for k in range(len(names)):
        for group in groups:
            first = group[0]
            # Where the counts differ by more, too few rows can lack both.
            if min(count[k], count[first]) < _TOGETHER * max(count[k], count[first]):
                continue
            both = int(np.bitwise_count(packed[k] & packed[first]).sum())
            if both >= _TOGETHER * (count[k] + count[first] - both):
                group.append(k)
                break
        else:
            groups.append([k])
    found = []
    for group in groups:
        if len(group) > 1:
            all_of_them = np.bitwise_and.reduce([packed[k] for k in group])
            n = int(np.bitwise_count(all_of_them).sum())
            exactly = all(count[k] == n for k in group)
            found.append(MissingTogether(tuple(names[k] for k in group), n, exactly))
    return sorted(found, key=lambda one: -one.n * len(one.columns))


def _duplicates(table: Table) -> Duplicates:
    first = repeated_rows(table)
    if first is None:
        return Duplicates(0)
    again = np.flatnonzero(first != np.arange(len(first)))
    shown = [(table.row_number(int(first[i])), table.row_number(int(i))) for i in again[:_SHOWN]]
    return Duplicates(len(again), tuple(shown))


# --------------------------------------------------------------------------------------------- time


def _drift(own: Mapping[str, Column], time: str, goal: Target | None) -> list[Drift]:
    """The columns that depend on ten periods of time, the farthest first."""
    dates = own[time]
    rows = np.flatnonzero(~dates.gone)
    if len(rows) < 10 * _PERIODS:
        return []
    order = rows[np.argsort(dates.values[rows], kind="stable")]
    ends = np.unique(dates.values[order[np.arange(1, _PERIODS) * len(order) // _PERIODS]])
    period = np.searchsorted(ends, dates.values[rows], side="right")
    names = [f"period {k}" for k in range(int(period.max()) + 1)]
    periods = Column("", "category", np.empty(0), period, names, [])
    found = []
    for name, one in own.items():
        if name == time or one.kind in ("date", "text") or _identifies(one):
            continue
        column = _goal_column(one, goal).take(rows)
        measure, value = _dependence(periods, column)
        if value >= max(_MOVES, _of_chance(column)):
            found.append(Drift(name, measure, value, *_ends(column, period)))
        lost = one.gone[rows]
        if 0 < lost.sum() < len(rows):
            whether = _whether_missing(lost)
            measure, value = _dependence(periods, whether)
            if value >= max(_MOVES, _of_chance(whether)):
                share = [float(lost[period == k].mean()) for k in (0, period.max())]
                found.append(Drift(name, measure, value, "share of missing cells", *share))
    return sorted(found, key=lambda one: -one.value)


def _of_chance(column: Column) -> float:
    """The strength that a column which does not move has in one of some thousand tables at most.

    The square of a strength, times the rows, is a chi-squared variable that is brought to mean 0;
    this is five of its standard deviations.
    """
    n = int((~column.gone).sum())
    further = 1 if column.numeric else max(1, min(column.n_distinct, _PERIODS) - 1)
    degrees = (_PERIODS - 1) * further
    return math.sqrt(5.0 * math.sqrt(2.0 * degrees) / (max(1, n) * further))


def _ends(column: Column, period: np.ndarray) -> tuple[str, float, float]:
    """The quantity that moves most, and its values in the first period and in the last."""
    first, last = (~column.gone & (period == k) for k in (0, period.max()))
    if column.numeric:
        ends = (float(column.values[part].mean()) if part.any() else 0.0 for part in (first, last))
        return ("mean", *ends)  # type: ignore[return-value]
    k = len(column.levels)
    shares = [
        np.bincount(column.codes[part], minlength=k) / max(1, part.sum()) for part in (first, last)
    ]
    level = int(np.argmax(np.abs(shares[1] - shares[0])))
    what = f"share of {column.levels[level]!r}"
    return what, float(shares[0][level]), float(shares[1][level])
