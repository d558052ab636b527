"""Rows that are hard to compute, on which every artefact is run before it is called proved.

They are made of a program alone, without data: the constants that it compares cells with and takes
from them are where its numbers change, and its levels and words are what its texts may be.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from separatrix.expressions.features import (
    Arithmetic,
    Cell,
    Constant,
    IsLevel,
    IsMissing,
    Parsed,
    Program,
    Words,
)
from separatrix.tables.features import nodes_of

#: Cells by column: floats, NaN where missing; texts, None where missing; days of dates.
Rows = dict[str, list[Any]]

_NUMBERS = (
    *(0.0, -0.0, 1.0, -1.0, 0.1, 1.0 / 3.0, 5e-324, 2.2250738585072014e-308, 1e-160),
    *(1e160, -1e160, 1e300, -1.7e308, 2.0**53, 2.0**53 + 2.0, 1e15 + 0.3),
    *(np.nan, np.inf, -np.inf),
)
# Days: about 1970, a leap day, the ends of the calendar, a last second, parts of an hour.
_DAYS = (
    *(0.0, -1.0, 11016.0, 19782.5, -719162.0, 2932896.0, 20000.0 - 1.0 / 86400.0),
    *(19999.0 + 1.0 / 24.0, 20088.75, np.nan),
)
_TEXTS = (
    *(None, "", " ", "a level nobody has", "it's", 'say "so"', "a;b -- c", "/* d */", "*/ e"),
    *("\\", "\n", "a\tb", "É", "ß", "İ", "漢字", "😀", "%", "$1", "null", "NaN", "1", "1.0", "01"),
    "x" * 1000,
)
_SPELLED = (
    *(" 1,234.50 €", "1.234,5", "(250)", "$ (3)", "39.6%", "1'000", "1\xa0234,5", "1\u2009234"),
    *("-", "", "１２", "1e5", "1 e-5", "1e５", "1_000", "0x10", "NaN", "inf", "−5", "5-", "(-5)"),
    *("-0", "007", "<0.5", "5*", "5.", ",5", "12,34,567", "5 kg", "$5$", "\n5\u3000", "1e-400"),
)
# The most columns that are tried with every special cell; of more, this number is drawn.
_MOST_COLUMNS = 40
_TYPICAL = 160
_PAIRS = 24


def joined_rows(program: Program, *parts: Rows) -> Rows:
    """The rows of several parts, one after the other."""
    return {
        cell.column: list(itertools.chain.from_iterable(part[cell.column] for part in parts))
        for cell in program.cells
    }


def taken(rows: Mapping[str, Sequence[Any]], places: Sequence[int]) -> Rows:
    """The rows at some places."""
    return {name: [column[k] for k in places] for name, column in rows.items()}


def special_rows(program: Program, *, seed: int = 0, padded: bool = True) -> Rows:
    """Typical rows, and rows with one special cell each.

    Parameters
    ----------
    program : Program
    seed : int
    padded : bool
        Whether a level with a blank behind it is another text. Encoders take it for the level, as
        files are read without such blanks; a program compares texts as they are.

    Returns
    -------
    dict of str to list
        The cells, as in ``Sample.rows``.

    Examples
    --------
    >>> from separatrix.exports.samples import special_rows
    >>> from separatrix.expressions.features import Cell, Program
    >>> cell = Cell("size")
    >>> rows = special_rows(Program((cell,), (cell,), ("size",), None))
    >>> 5e-324 in rows["size"], len(rows["size"]) > 100
    (True, True)
    """
    random = np.random.default_rng(seed)
    hints = {cell.column: _hints(program, cell) for cell in program.cells}
    typical = _typical(program, hints, random, _TYPICAL)
    return joined_rows(program, typical, _special(program, hints, typical, random, padded))


def _hints(program: Program, cell: Cell) -> list[Any]:
    """The hints of a program at a column: its centre and unit of numbers, or its texts."""
    texts: dict[str, None] = {}
    numbers: list[float] = []
    for feature in program.features:
        nodes = [*nodes_of(feature)]
        if cell not in nodes:
            continue
        for node in nodes:
            if isinstance(node, IsLevel) and node.cell == cell:
                texts.update(dict.fromkeys(node.levels))
            elif isinstance(node, Words) and node.cell == cell:
                texts.update(dict.fromkeys(node.words))
            elif isinstance(node, IsMissing) and node.cell == cell:
                numbers += node.placeholders
            elif isinstance(node, Arithmetic) and isinstance(node.right, Constant):
                numbers.append(node.right.value)
    return [*texts] if cell.kind == "text" else numbers


def _held(cell: Cell, value: float) -> float:
    """A number as a table holds it: a date to the second, which every database can hold."""
    if cell.kind != "date" or not np.isfinite(value):
        return value
    return float(np.round(value * 86400.0) / 86400.0)


def _typical(program: Program, hints: dict[str, list[Any]], random: Any, count: int) -> Rows:
    rows: Rows = {}
    prose = {f.cell.column for f in program.features if isinstance(f, Words)}
    for cell in program.cells:
        known = hints[cell.column]
        if cell.kind == "text":
            texts = known or ["a"]
            drawn: list[Any] = [texts[k] for k in random.integers(len(texts), size=count)]
            if cell.column in prose:
                sizes = random.integers(1, 12, size=count)
                drawn = [
                    " ".join(texts[k] for k in random.integers(len(texts), size=n)) for n in sizes
                ]
            gone: Any = None
        else:
            centre = known[0] if known else (19_000.0 if cell.kind == "date" else 0.0)
            unit = (
                known[1] if len(known) > 1 and known[1] else 400.0 if cell.kind == "date" else 2.0
            )
            values = centre + unit * random.standard_normal(count)
            # Some columns hold whole numbers.
            whole = random.random() < 0.3
            drawn = [_held(cell, v) for v in (np.round(values) if whole else values).tolist()]
            gone = np.nan
        rows[cell.column] = [gone if miss else v for v, miss in
                             zip(drawn, random.random(count) < 0.04, strict=True)]  # fmt: skip
    return rows


def _special(
    program: Program, hints: dict[str, list[Any]], typical: Rows, random: Any, padded: bool
) -> Rows:
    cells = [*program.cells]
    if len(cells) > _MOST_COLUMNS:
        cells = [cells[k] for k in sorted(random.choice(len(cells), _MOST_COLUMNS, replace=False))]
    rows: Rows = {cell.column: [] for cell in program.cells}
    complete = _complete_row(program, typical)
    for cell in cells:
        known = hints[cell.column]
        if cell.kind == "text":
            near = [text.upper() for text in known[:3]]
            near += [text + " " for text in known[:3] if padded]
            tried: list[Any] = [*_TEXTS, *known[:20], *near, " ".join(map(str, known[:5]))]
        elif cell.kind == "date":
            tried = [_held(cell, v) for v in (*_DAYS, *known[:8])]
        elif isinstance(cell, Parsed):
            tried = [*_SPELLED, *(cell.spelled(v) for v in (*_NUMBERS, *known[:6]))]
        else:
            about = [float(np.nextafter(v, side)) for v in known[:6] for side in (-np.inf, np.inf)]
            tried = [*_NUMBERS, *known[:6], *about]
        for value in tried:
            for column, cells_of in rows.items():
                cells_of.append(value if column == cell.column else complete[column])
    for cell in program.cells:
        # And a row in which everything is missing.
        rows[cell.column].append(None if cell.kind == "text" else np.nan)
    return rows


def _complete_row(program: Program, typical: Rows) -> dict[str, Any]:
    """A row with as few missing cells as the typical ones allow."""
    return {
        cell.column: next((v for v in typical[cell.column] if v is not None and v == v), None)
        for cell in program.cells
    }


def rows_beside_boundaries(
    program: Program,
    typical: Rows,
    labels: Callable[[Rows], Any],
    between: Callable[[Rows], Any],
) -> Rows:
    """Pairs of rows that differ by one unit in the last place of a number, and by their class.

    In a date they differ by a second.

    Between two rows of different classes the number cells go from the one to the other, column by
    column; where the class changes within a column, the change is bisected to the last place.

    Parameters
    ----------
    program : Program
    typical : dict of str to list
        Rows to start from.
    labels : callable
        The places of the predicted classes of rows, -1 for none.
    between : callable
        The same in less time, for rows between two that have a class.
    """
    numeric = [cell.column for cell in program.cells if cell.kind != "text"]
    whole = [
        k
        for k in range(len(next(iter(typical.values()), [])))
        if all(isinstance(typical[c][k], float) and np.isfinite(typical[c][k]) for c in numeric)
    ]
    empty: Rows = {cell.column: [] for cell in program.cells}
    if len(whole) < 2 or not numeric:
        return empty
    rows = taken(typical, whole)
    places = np.asarray(labels(rows))
    if places.ndim > 1 or len(set(places[places >= 0].tolist())) < 2:
        return empty
    starts = [k for k in range(len(places)) if places[k] >= 0][:_PAIRS]
    low, high = taken(rows, starts), taken(rows, starts)
    found = [False] * len(starts)
    others = [next((j for j in range(len(places)) if places[j] not in (places[k], -1)), k)
              for k in starts]  # fmt: skip
    # The texts stay, so that the class may not change on the way: such rows are left out.
    for column in numeric[:_MOST_COLUMNS]:
        moved = taken(high, range(len(starts)))
        for i, j in enumerate(others):
            if not found[i]:
                moved[column][i] = rows[column][j]
        now = np.asarray(labels(moved))
        for i, k in enumerate(starts):
            if found[i]:
                continue
            high[column][i] = moved[column][i]
            if now[i] >= 0 and now[i] != places[k]:
                found[i] = True
            else:
                low[column][i] = moved[column][i]
    kept = [i for i, ok in enumerate(found) if ok]
    if not kept:
        return empty
    low, high = taken(low, kept), taken(high, kept)
    first = places[[starts[i] for i in kept]]
    moving = [next(c for c in numeric if low[c][i] != high[c][i]) for i in range(len(kept))]
    kinds = {cell.column: cell for cell in program.cells}
    for _ in range(70):
        middle = taken(low, range(len(kept)))
        for i, column in enumerate(moving):
            value = 0.5 * low[column][i] + 0.5 * high[column][i]
            middle[column][i] = _held(kinds[column], value)
        if all(middle[c][i] in (low[c][i], high[c][i]) for i, c in enumerate(moving)):
            break
        now = np.asarray(between(middle))
        for i, column in enumerate(moving):
            side = low if now[i] == first[i] else high
            side[column][i] = middle[column][i]
    return joined_rows(program, low, high)
