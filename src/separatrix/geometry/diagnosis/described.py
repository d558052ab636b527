"""Findings from the profile of a table: what in it hurts a model."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial

from separatrix.geometry.diagnosis.findings import TARGET_LEAK, Finding, finding
from separatrix.messages import Message, Setting, counted, join, percent, quoted
from separatrix.tables.profiles.profiling import PAIRS
from separatrix.tables.profiles.records import Drift, TableProfile

_SHOWN, _LISTED = 5, 20
_MOSTLY_MISSING = 0.5
# How strongly the target depends on whether a cell is missing, or on a column, to be suspicious.
_TELLING, _DETERMINES = 0.3, 0.99
# Two columns that depend on each other so strongly say the same.
_ALIKE = 0.95

_WORDINGS = {
    "mostly_missing": (
        "{count:column} with more missing cells than values: {shown}",
        "one value stands in for most cells of such a column",
        "find out why the cells are missing, or leave such columns out",
    ),
    "missing_together": (
        "{columns} are missing in the same {n:row}{nearly}",
        "the cells of these rows probably have one cause",
        "find out what these rows have in common",
    ),
    "missing_tells": (
        "whether {column} has a value depends on the target ({measure} {value:.2f})",
        "a cell that is filled in only once the target is known gives it away",
        "if it is, leave the column out",
    ),
    "determines_target": (
        "{column} nearly determines the target: the {measure} of the two is {value:.3f}",
        *TARGET_LEAK,
    ),
    "alike": (
        "{count:pair} of columns{more} {count:says|say} nearly the same: {shown}",
        "the split of the weight between such columns is uncertain",
        "leave one of each pair out, or interpret their weights together",
    ),
}
_finding = partial(finding, table=_WORDINGS)


def profile_findings(profile: TableProfile, known: Collection[str] = ()) -> Iterator[Finding]:
    """Findings of a profile.

    Parameters
    ----------
    profile : TableProfile
    known : collection of str
        Columns that are known to give the target away, or to repeat others.
    """
    yield from _missing(profile)
    for one in profile.columns:
        value = one.association
        if value is not None and value >= _DETERMINES and one.name not in known:
            yield _finding(
                "determines_target",
                "warning",
                {"columns": [one.name], "value": value},
                column=f"column {quoted(one.name)}",
                measure=_measure(one.measure),
            )
    yield from _alike(profile, known)
    if profile.drift and profile.time is not None:
        yield _moves(profile, profile.time)


def _missing(profile: TableProfile) -> Iterator[Finding]:
    n = profile.n_described
    mostly = [one for one in profile.columns if _MOSTLY_MISSING * n < one.n_missing < n]
    if mostly:
        shown = [f"{quoted(c.name)} ({percent(c.n_missing / n)})" for c in mostly[:_SHOWN]]
        yield _finding(
            "mostly_missing",
            "note",
            {"columns": [one.name for one in mostly[:_LISTED]], "count": len(mostly)},
            shown=join(shown, len(mostly) - _SHOWN),
        )
    for group in profile.missing_together[:_SHOWN]:
        names = [quoted(name) for name in group.columns[:_SHOWN]]
        yield _finding(
            "missing_together",
            "note",
            {"columns": list(group.columns[:_LISTED]), "n": group.n},
            columns=f"columns {join(names, len(group.columns) - _SHOWN)}",
            nearly="" if group.exactly else ", and seldom alone",
        )
    for one in profile.columns:
        value = one.missing_association
        if value is not None and value >= _TELLING:
            classes = bool(profile.classes)
            yield _finding(
                "missing_tells",
                "warning",
                {"columns": [one.name], "value": value},
                column=f"column {quoted(one.name)}",
                measure="Cramér's V" if classes else "correlation ratio",
            )


def _alike(profile: TableProfile, known: Collection[str]) -> Iterator[Finding]:
    pairs = [
        one
        for one in profile.dependences
        if abs(one.value) >= _ALIKE
        and profile.target not in (one.first, one.second)
        and not {one.first, one.second} <= set(known)
    ]
    if pairs:
        shown = [
            f"{quoted(one.first)} and {quoted(one.second)} ({one.measure} {one.value:.3f})"
            for one in pairs[:_SHOWN]
        ]
        yield _finding(
            "alike",
            "note",
            {"pairs": [[one.first, one.second] for one in pairs[:_LISTED]], "count": len(pairs)},
            shown=join(shown, len(pairs) - _SHOWN, "; "),
            # A profile has at most ``PAIRS`` pairs.
            more=" or more" if len(pairs) >= PAIRS else "",
        )


def _moves(profile: TableProfile, time: str) -> Finding:
    names = list(dict.fromkeys(one.column for one in profile.drift))
    first = {one.column: one for one in reversed(profile.drift)}
    shown = join([_moved(first[name]) for name in names[:_SHOWN]], len(names) - _SHOWN, "; ")
    return Finding(
        "moves_with_time",
        "warning",
        f"{counted(len(names), 'column')} {'moves' if len(names) == 1 else 'move'} with "
        f"{quoted(time)}, from the first tenth of the rows to the last: {shown}",
        "a split at random mixes early and late rows, so that its scores are too optimistic for "
        "rows still to come",
        Message("hold_out_latest", time=Setting("time", time)),
        {"columns": names[:_LISTED], "time": time},
    )


def _moved(one: Drift) -> str:
    if one.what == "mean":
        return f"{quoted(one.column)} (mean {one.before:.4g} to {one.after:.4g})"
    return f"{quoted(one.column)} ({one.what} {percent(one.before)} to {percent(one.after)})"


def _measure(name: str) -> str:
    return f"{name} correlation" if name in ("Pearson", "Spearman") else name
