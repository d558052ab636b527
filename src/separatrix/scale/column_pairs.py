"""Alerts of encoded row blocks: columns that repeat others, and columns that give the target away.

What :func:`separatrix.tables.column_alerts.alert_about_columns` finds by comparing columns follows
from products of encoded columns as well: how often two levels meet is a product of their
indicators, and a number is the same in all rows of a level where its squares about the means of
the levels add up to nothing.  The sample of the rows shows which columns may repeat others; only
these are multiplied in a pass over all rows, and without any there is no pass.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.data.design import dense
from separatrix.scale.blocks import BlockedData, Rows, in_pieces
from separatrix.scale.passes import Passes
from separatrix.tables.category_encoding import Category
from separatrix.tables.column_alerts import (
    MOST_LEVELS,
    determines_target,
    n_distinct,
    on_another_scale,
    one_to_one,
    one_to_one_with_target,
    repeats,
)
from separatrix.tables.number_encoding import Number

# Features whose products are formed.
_MOST_FEATURES = 1000
# The share of a number's variance that the rounding of float32 may leave within levels, and that
# float32's digits may leave between a number and another one.
_NOTHING = 1e-12
# A number whose squares are more than so many times its variance loses the digits of that.
_FAR = 4.0
_TARGET = "the target"
# Numbers of a dense piece of the rows, which a core's cache holds.
_PIECE = 1 << 17

# A sort of alert, its sentence, and the columns that it is about.
_Alert = tuple[str, str, tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class _Column:
    """An encoded column of the table.

    ``features`` are the places of its features, and ``number`` is whether it holds numbers.  For
    such a column ``whole`` is whether none is missing, and ``few`` whether the numbers have few
    different values in the sample.
    """

    name: str
    features: np.ndarray
    number: bool
    whole: bool
    few: bool = False


def alert_about_blocks(data: BlockedData, derived: Collection[str] = ()) -> None:
    """Add to the alerts of the encoder those of columns that repeat others or the target.

    Parameters
    ----------
    data : BlockedData
        The data, with an encoder that was fitted to them.
    derived : collection of str
        Columns that the table does not have as such, as parts of its dates.
    """
    sample, encoder = data.sample, data.encoder
    if sample is None or not len(sample) or data.n_features > _MOST_FEATURES:
        return
    n_classes = 0 if data.classes is None else len(data.classes)
    columns = _columns(encoder, sample, derived)
    every = np.arange(data.n_features)
    # Far from their mean the squares of numbers would lose the digits of the variance.
    centre = np.zeros(data.n_features)
    numbers = [int(one.features[0]) for one in columns if one.number]
    sums = (block.sum(axis=0) for _, block in _dense_pieces(sample, np.array(numbers, dtype=int)))
    centre[numbers] = sum(sums) / len(sample)
    some = _products(sample, (every, centre, n_classes), None)["products"]
    found = [*_alerts(columns, some, every, n_classes, len(sample))]
    if not found:
        return
    names = {name for _, _, about in found for name in about}
    columns = [one for one in columns if one.name in names]
    features = np.concatenate([one.features for one in columns])
    passes = Passes(data)
    whole = passes.sums(_products, (features, centre[features], n_classes))["products"]
    for sort, sentence, about in _alerts(columns, whole, features, n_classes, data.n_rows):
        encoder.add_alert(sort, sentence, *about)


def _products(
    rows: Rows, shared: tuple[np.ndarray, np.ndarray, int], own: Any
) -> dict[str, np.ndarray]:
    """The products of features less their centres, of ones and of indicators of the classes."""
    features, centre, n_classes = shared
    d = len(features)
    out = np.zeros((d + 1 + n_classes,) * 2)
    for piece, block in _dense_pieces(rows, features):
        both = np.zeros((len(block), len(out)))
        both[:, :d], both[:, d] = block - centre, 1.0
        if n_classes:
            both[np.arange(len(block)), d + 1 + rows.target[piece]] = 1.0
        out += both.T @ both
    return {"products": out}


def _dense_pieces(rows: Rows, features: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Read some rows at a time: which they are, and their numbers of some features in float64.

    SciPy and NumPy do it: a scan is soon done, and loading compiled loops would take part of it.
    """
    for piece in in_pieces(len(rows), max(1, _PIECE // max(1, len(features)))):
        yield piece, dense(rows[piece].matrix[:, features]).astype(np.float64, copy=False)


def _columns(encoder: Any, sample: Rows, derived: Collection[str]) -> list[_Column]:
    """The numbers and categories of an encoder that are columns of the table."""
    out: list[_Column] = []
    first = 0
    for one in encoder.encodings:
        width = one.n_features
        features = np.arange(first, first + width)
        first += width
        if one.name in derived:
            continue
        if type(one) is Number and one.with_value:
            values = n_distinct(dense(sample.matrix[:, features[:1]])[:, 0], MOST_LEVELS)
            few = values <= MOST_LEVELS and repeats(values, len(sample))
            out.append(_Column(one.name, features[:1], True, not one.with_missing, few))
        elif isinstance(one, Category) and not one.rare and width <= MOST_LEVELS:
            out.append(_Column(one.name, features, False, True))
    return out


@dataclass(frozen=True, eq=False)
class _Levels:
    """The levels of a column, each as a combination of the features and the column of ones.

    ``products`` are those of the levels with the features, and ``counts`` those with the ones.
    """

    name: str
    parts: np.ndarray
    products: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, name: str, places: np.ndarray, products: np.ndarray, ones: int) -> _Levels:
        parts = np.zeros((len(places) + 1, len(products)))
        parts[np.arange(len(places)), places] = 1.0
        # The level that has no feature of its own.
        parts[-1, ones], parts[-1, places] = 1.0, -1.0
        parts = parts[parts @ products[:, ones] > 0.0]
        own = parts @ products
        return cls(name, parts, own, own[:, ones])

    def determine(self, other: _Levels) -> bool:
        """Whether each of the levels meets one level of another column alone."""
        meet = np.rint(self.products @ other.parts.T) > 0
        return bool((meet.sum(axis=1) == 1).all())


def _alerts(
    columns: Sequence[_Column], products: np.ndarray, features: np.ndarray, n_classes: int, n: int
) -> Iterator[_Alert]:
    """The alerts that follow from products of features, in the order of the columns."""
    d = len(features)
    place = {int(feature): k for k, feature in enumerate(features)}
    target = None
    if n_classes:
        target = _Levels.of(_TARGET, d + 1 + np.arange(n_classes), products, d)
    levels: list[_Levels] = []
    # The columns of numbers, by their places.
    numbers: dict[int, _Column] = {}

    def same(k: int, number: _Column, other: _Levels) -> bool:
        """Whether a number and levels are one-to-one."""
        return number.whole and _is_one_to_one(k, other, products, d)

    for column in columns:
        own = np.array([place[int(j)] for j in column.features])
        if column.number:
            k = int(own[0])
            if target is not None and n > len(target.counts) and same(k, column, target):
                yield *one_to_one_with_target(column.name), (column.name,)
                continue
            others = np.array([*numbers], dtype=int)
            alike = others[_are_scaled(others, k, products, d)]
            if len(alike):
                first = numbers[int(alike[0])].name
                alert = one_to_one if column.few else on_another_scale
                yield *alert(first, column.name), (first, column.name)
            else:
                numbers[k] = column
            continue
        found = _Levels.of(column.name, own, products, d)
        k = len(found.counts)
        if k < 2 or not repeats(k, n):
            continue
        if target is not None and len(target.counts) > 1 and found.determine(target):
            if k == len(target.counts) and n > k:
                yield *one_to_one_with_target(column.name), (column.name,)
                continue
            if 10 * k <= n:
                yield *determines_target(column.name, k), (column.name,)
        like = [one.name for j, one in numbers.items() if one.few and same(j, one, found)]
        like += [one.name for one in levels if len(one.counts) == k and found.determine(one)]
        if like:
            yield *one_to_one(like[0], column.name), (like[0], column.name)
        else:
            levels.append(found)


def _is_one_to_one(k: int, levels: _Levels, products: np.ndarray, ones: int) -> bool:
    """Whether a number is the same in all rows of a level, and another one in each."""
    square, n = products[k, k], products[ones, ones]
    varies = square - products[k, ones] ** 2 / n
    if not square <= _FAR * varies:
        return False
    means = levels.parts @ products[:, k] / levels.counts
    within = square - float(levels.counts @ np.square(means))
    gaps = np.diff(np.sort(means))
    return bool(within <= _NOTHING * varies and np.all(gaps**2 > 1e-6 * varies / n))


def _are_scaled(others: np.ndarray, k: int, products: np.ndarray, ones: int) -> np.ndarray:
    """Whether each number is another one on another scale, to the digits of float32."""
    index = np.append(others, k)
    squares, sums, n = products[index, index], products[index, ones], products[ones, ones]
    varies, about = squares - sums**2 / n, products[index, k] - sums * sums[-1] / n
    near = squares <= _FAR * varies
    # The quotient is none where a number is the same in all of these rows.
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = varies[-1] - about**2 / varies
    found: np.ndarray = near & near[-1] & (rest <= _NOTHING * varies[-1])
    return found[:-1]
