r"""Columns that name the entity of a row, by which rows are split if they are there.

A random split of the rows is fair where rows are independent.  Rows of one patient are not: a model
that has seen some of them knows the others.  Such a column is found by how alike the rows are that
share one of its values.  With :math:`D_w` the mean squared difference of two rows of one value in
another column, and :math:`D_b` that of two rows of different values, the likeness is

.. math:: 1 - D_w / D_b ,

the intraclass correlation (Fisher, 1925) of numbers, taken of ranks here, and for categories, of
which two are 0 or 1 apart, the coefficient of Fleiss (1971).  It is 0 where the value carries no
information on the other column, and 1 where it determines it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.tables import Table
from separatrix.tables.categorical import Categorical, first_appearance
from separatrix.tables.row_times import is_named
from separatrix.tables.table import missing_mask

# With fewer values than this there is nothing to hold out; categories often have fewer.
_LEAST_VALUES = 20
# The number of rows that are compared, and the most rows of each value.
_ROWS, _ROWS_EACH = 1_500, 10
# Columns that are compared at most, and at first, and the rows in which values are counted first.
_COLUMNS, _GLANCE, _FIRST = 60, 8, 2_000
# Rows of a sample that share a value and are looked at.
_DRAWN = 5_000
# Rows of an entity are alike in half of the columns, and so much in the mean.
_ALIKE, _ALIKE_IN_ONE = 0.35, 0.2
# The least likeness of rows by a column that is named like an entity, and their least likeness in
# the target by a column that goes with the target.
_NAMED, _OF_TARGET = 0.05, 0.5
# Neighbours among numbers are as alike as equal ones: then they are a quantity.
_QUANTITY = 0.5

# Words in names of columns, in the languages of offices: the beginning counts.
_ENTITIES = re.compile(
    r"patient|subject|proband|participant|teilnehmer|respondent|befragte|customer|kunde|client|"
    r"cliente|user|usager|usuario|nutzer|member|mitglied|membre|person|student|pupil|schueler|"
    r"schüler|élève|eleve|alumno|employee|mitarbeiter|salarié|household|haushalt|ménage|borrower|"
    r"account|konto|policyholder|versichert|device|gerät|geraet|machine|maschine|vehicle|fahrzeug|"
    r"animal|donor|spender|paziente|paciente"
)
# New rows are of the same places and goods, so that a random split is a fair test for them.
_CATEGORIES = re.compile(
    r"store|shop|filiale|branch|markt|magasin|country|land$|länder|pays|nation|país|pais|state|"
    r"region|région|city|stadt|ville|ciudad|plz|zip|postal|product|produkt|produit|producto|item|"
    r"artikel|article|sku|brand|marke|marque|model|modell|categor|kategorie|catégorie|airport|"
    r"department|abteilung|currency|währung|language|sprache"
)
_CATEGORY_SIGNS = ("店", "国", "県", "市", "商品", "品目", "地域")
_ENTITY_SIGNS = ("患者", "顧客", "会員", "被験者", "利用者", "社員", "学生")


@dataclass(frozen=True)
class Repeated:
    """A column whose values name entities, each in several rows.

    Attributes
    ----------
    column : str
    n_values : int
        The number of entities.
    likeness : float
        The mean likeness over the other columns.
    of_target : float
        The likeness in the target.
    """

    column: str
    n_values: int
    likeness: float
    of_target: float


def likely_group(
    table: Table, y: np.ndarray, names: Iterable[str] | None = None
) -> Repeated | None:
    """The column that names the entities of rows, where one does.

    Parameters
    ----------
    table : Table
        Without the target.
    y : ndarray of shape (n_rows,)
        The target: labels, or numbers.
    names : iterable of str, optional
        The columns that are looked at; by default all.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.tables import Table
    >>> rng = np.random.default_rng(0)
    >>> patient = np.repeat(np.arange(100), 5)
    >>> values = rng.normal(size=(3, 100))[:, patient] + 0.3 * rng.normal(size=(3, 500))
    >>> names = [f"P-{17 * k % 100:03}" for k in patient]
    >>> table = Table.from_columns({"patient": names, **dict(zip("abc", values))})
    >>> likely_group(table, patient % 2).column
    'patient'
    """
    if table.matrix is not None or table.n_rows < 2 * _LEAST_VALUES:
        return None
    names = table.names if names is None else names
    found = [one for name in names if (one := _judged(table, name, y)) is not None]
    return max(found, key=lambda pair: pair[0])[1] if found else None


def possible_groups(table: Table, y: np.ndarray) -> list[str]:
    """The columns that may name entities in the table of which some rows were drawn.

    Rows of one entity are few in a sample. Those that share a value are judged as those of a whole
    table; where hardly any do, a column is possible that is named like an entity.

    Parameters
    ----------
    table : Table
        A sample of the rows, without the target.
    y : ndarray of shape (n_rows,)

    Returns
    -------
    list of str
        The columns, the likeliest first. Whether one of them is a group is decided by
        :func:`likely_group` on rows that are drawn by it.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.assessment.entities import possible_groups
    >>> from separatrix.tables import Table
    >>> names = [f"P-{k:05}" for k in np.random.default_rng(0).permutation(90_000)[:500]]
    >>> table = Table.from_columns({"patient": names, "age": np.arange(500.0) % 60})
    >>> possible_groups(table, np.arange(500) % 2)
    ['patient']
    """
    if table.matrix is not None or table.n_rows < 2 * _LEAST_VALUES:
        return []
    found: list[tuple[tuple[bool, float], str]] = []
    for name in table.names:
        named = _is_named(name)
        codes = None if named is None else _codes(table, name)
        if codes is None:
            continue
        again = np.flatnonzero(np.bincount(codes)[codes] > 1)[:_DRAWN]
        judged = None
        if len(again) >= 2 * _LEAST_VALUES:
            judged = _judged(table.select(again), name, np.asarray(y)[again])
        if judged is not None:
            found.append((judged[0], name))
        elif named and len(again) < 0.8 * table.n_rows:
            found.append(((True, 0.0), name))
    return [name for _, name in sorted(found, key=lambda pair: pair[0], reverse=True)]


def _is_named(name: str) -> bool | None:
    """Whether a column is called like an entity; None where it is called like a category."""
    if is_named(name, _ENTITIES, _ENTITY_SIGNS):
        return True
    return None if is_named(name, _CATEGORIES, _CATEGORY_SIGNS) else False


def _judged(table: Table, name: str, y: np.ndarray) -> tuple[tuple[bool, float], Repeated] | None:
    """The worth of a column as a group, with its likeness; None where it is no group."""
    named = _is_named(name)
    codes = None if named is None else _codes(table, name)
    if codes is None or named is None:
        return None
    sizes = np.bincount(codes)
    n, n_values = len(codes), len(sizes)
    if not _LEAST_VALUES <= n_values <= n // 2 or int(sizes.max()) > n // 5:
        return None
    if int(sizes[sizes > 1].sum()) < 0.8 * n:
        return None
    rows, group = _some_rows(codes, sizes)
    others = [
        other
        for other in table.names
        if other != name and other not in table.derived and table.kinds[other] != "text"
    ]
    own = _likeness(_values(np.asarray(y), rows), group)
    of_target, near_target = own or (0.0, 0.0)
    alike: list[float] = []
    near: list[float] = []
    # A part of all columns comes first: for most candidates it is enough.
    step = max(1, len(others) // _GLANCE)
    others = [*others[::step], *(one for k, one in enumerate(others) if k % step)]
    for k, other in enumerate(others[:_COLUMNS]):
        if k == _GLANCE and not named and of_target < _OF_TARGET and max(alike, default=0.0) < 0.1:
            return None
        found = _likeness(_values(table.columns[other], rows), group)
        if found is not None:
            alike.append(found[0])
            near.append(found[1])
    if not alike:
        return None
    mean = float(np.mean(np.maximum(alike, 0.0)))
    most = len(alike) >= 3 and float(np.mean(np.array(alike) >= _ALIKE_IN_ONE)) >= 0.5
    strong = most and mean >= _ALIKE
    labelled = of_target >= _OF_TARGET and mean >= 2.0 * _NAMED
    hinted = named and (mean >= _NAMED or of_target >= 2.0 * _NAMED)
    if not (strong or labelled or hinted):
        return None
    nearly = float(np.mean(np.maximum(near, 0.0))) + max(near_target, 0.0)
    if nearly >= _QUANTITY * (mean + max(of_target, 0.0)):
        return None
    return (named, mean + of_target), Repeated(name, n_values, mean, of_target)


def _codes(table: Table, name: str) -> np.ndarray | None:
    """The place of each row's value among the values in order; None where these are no names."""
    column = table.columns[name]
    if name in table.dates or name in table.derived:
        return None
    if isinstance(column, Categorical):
        if len(column.levels) < _LEAST_VALUES or (column.codes < 0).any():
            return None
        _, codes = np.unique(column.codes, return_inverse=True)
        order = np.argsort(np.argsort(column.levels[np.unique(column.codes)].astype(str)))
        return order[codes.reshape(-1)]
    # A part of the rows suffices to rule out most columns.
    step = max(1, table.n_rows // _FIRST)
    some = column[::step]
    if missing_mask(some).any():
        return None
    values = np.ma.getdata(some)
    if values.dtype == object:
        if len(set(values.tolist())) < _LEAST_VALUES:
            return None
    elif not (values == np.floor(values)).all() or len(np.unique(values)) < _LEAST_VALUES:
        return None
    if missing_mask(column).any():
        return None
    values = np.ma.getdata(column)
    if values.dtype == object:
        values = values.astype(str)
    elif not (values == np.floor(values)).all() or not np.isfinite(values).all():
        return None
    else:
        low, high = float(values.min()), float(values.max())
        if high - low < 8.0 * len(values) and abs(low) < 1e15:
            # Counted, which takes a part of the time of putting them in order.
            place = (values - low).astype(np.int64)
            there = np.bincount(place) > 0
            return (np.cumsum(there) - 1)[place]
    return np.unique(values, return_inverse=True)[1].reshape(-1)


def _some_rows(codes: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of some values, and the place of each row's value among these values."""
    rng = np.random.default_rng(0)
    repeated = rng.permutation(np.flatnonzero(sizes > 1))
    taken = np.minimum(sizes[repeated], _ROWS_EACH)
    count = max(_LEAST_VALUES, int(np.searchsorted(np.cumsum(taken), _ROWS)))
    place = np.full(len(sizes), -1)
    chosen = np.sort(repeated[:count])
    place[chosen] = np.arange(len(chosen))
    rows = np.flatnonzero(place[codes] >= 0)
    most = 4 * _ROWS_EACH * len(chosen)
    if len(rows) > most:
        rows = rows[np.unique(rng.integers(len(rows), size=most))]
    rows = rng.permutation(rows)
    group = place[codes[rows]]
    order = np.argsort(group, kind="stable")
    rows, group = rows[order], group[order]
    first = np.searchsorted(group, np.arange(len(chosen)))
    kept = np.arange(len(rows)) - first[group] < _ROWS_EACH
    # A value of which no row was drawn has no place here.
    return rows[kept], np.unique(group[kept], return_inverse=True)[1].reshape(-1)


def _values(column: Any, rows: np.ndarray) -> tuple[np.ndarray, bool]:
    """Ranks of numbers, from 0 to 1, or codes of categories; and whether they are categories."""
    part = column[rows]
    gone = missing_mask(part)
    values = np.ma.getdata(part)
    if values.dtype.kind not in "fiub":
        return first_appearance(part), True
    numbers = values.astype(np.float64)
    _, ranks, counts = np.unique(numbers[~gone], return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - 0.5 * counts
    # Missing values lie between all others, as far from either end.
    out = np.full(len(numbers), 0.5)
    out[~gone] = middle[ranks.reshape(-1)] / max(1, int((~gone).sum()))
    return out, False


def _likeness(given: tuple[np.ndarray, bool], group: np.ndarray) -> tuple[float, float] | None:
    """The likeness of rows of one value, and that of rows of neighbouring ones.

    None for a column that is constant.
    """
    values, nominal = given
    difference = _disagreeing if nominal else _squared
    n_pairs, total = difference(values, np.zeros(len(values), dtype=np.int64))
    own_pairs, own = difference(values, group)
    # Four values that follow one another are neighbours.
    near_pairs, near = difference(values, group // 4)
    far_pairs, far = n_pairs - near_pairs, total - near
    if far <= 0.0 or far_pairs <= 0.0 or near_pairs <= own_pairs:
        return None
    apart = far / far_pairs
    return 1.0 - own / own_pairs / apart, 1.0 - (near - own) / (near_pairs - own_pairs) / apart


def _squared(values: np.ndarray, group: np.ndarray) -> tuple[float, float]:
    """The pairs of rows of one group, and the sum of their squared differences."""
    sizes = np.bincount(group)
    sums, squares = np.bincount(group, values), np.bincount(group, values * values)
    return float((sizes * (sizes - 1)).sum()) / 2.0, float((sizes * squares - sums**2).sum())


def _disagreeing(codes: np.ndarray, group: np.ndarray) -> tuple[float, float]:
    """The number of pairs of rows of one group, and the number of them that differ."""
    sizes = np.bincount(group)
    both = np.unique(group * (int(codes.max()) + 1) + codes, return_counts=True)[1]
    pairs = float((sizes * (sizes - 1)).sum()) / 2.0
    return pairs, pairs - float((both * (both - 1)).sum()) / 2.0
