"""The strength of dependences of columns: correlations, Cramér's V, correlation ratios.

All pairs are computed at once, by products of matrices, over the rows where both have a value.

Cramér's V and the correlation ratio of independent columns are above 0 by chance. Both are
corrected for that, so that they are about 0 then: V as W. Bergsma, *A bias-correction for Cramér's
V and Tschuprow's T* (2013), the ratio as T. L. Kelley, *An unbiased correlation ratio measure*
(1935).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from separatrix._compiled.rounding import EPS
from separatrix.tables.profiles.columns import Column
from separatrix.tables.profiles.records import Dependence

# Further levels of a category count as one.
_LEVELS = 50
# Rows of one-hot columns, and cells, that are put together at a time.
_CELLS = 1 << 24


@dataclass(frozen=True, eq=False)
class Strengths:
    """The strength of the dependence of every two columns.

    Attributes
    ----------
    columns : tuple of Column
    values : ndarray of shape (n_columns, n_columns)
        From -1 to 1 for two columns of numbers, from 0 to 1 for others; 0 where nothing is known.
    pearson, spearman : ndarray of shape (n_columns, n_columns)
        The two correlations of columns of numbers; 0 for other pairs.
    """

    columns: tuple[Column, ...]
    values: np.ndarray
    pearson: np.ndarray
    spearman: np.ndarray

    def measure(self, i: int, j: int) -> str:
        """The name of the measure of two columns."""
        first, second = self.columns[i].numeric, self.columns[j].numeric
        if first and second:
            pearson, spearman = abs(self.pearson[i, j]), abs(self.spearman[i, j])
            return "Pearson" if pearson >= spearman else "Spearman"
        return "correlation ratio" if first or second else "Cramér's V"


def strengths(columns: Sequence[Column]) -> Strengths:
    """The strength of the dependence of every two columns.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.tables import Table
    >>> from separatrix.tables.profiles.columns import prepared
    >>> from separatrix.tables.profiles.dependences import strengths
    >>> x = np.arange(50.0)
    >>> table = Table.from_columns({"x": x, "cube": x**3, "side": ["a"] * 25 + ["b"] * 25})
    >>> found = strengths([prepared(table, name) for name in table.names])
    >>> found.values.round(2).tolist()
    [[1.0, 1.0, 0.86], [1.0, 1.0, 0.76], [0.86, 0.76, 1.0]]
    """
    numbers = [i for i, one in enumerate(columns) if one.numeric]
    words = [i for i, one in enumerate(columns) if not one.numeric]
    size = (len(columns), len(columns))
    values, pearson, spearman = (np.zeros(size) for _ in range(3))
    if numbers:
        standard = _standardised(np.column_stack([columns[i].values for i in numbers]))
        if len(numbers) > 1:
            ranks = np.column_stack([_ranks(columns[i]) for i in numbers])
            at = np.ix_(numbers, numbers)
            pearson[at], spearman[at] = _correlations(standard), _correlations(_standardised(ranks))
            stronger = np.abs(pearson) >= np.abs(spearman)
            values[at] = np.where(stronger, pearson, spearman)[at]
        for j in words:
            values[j, numbers] = values[numbers, j] = _ratios(columns[j], standard)
    codes = [_few_codes(columns[j]) for j in words]
    for a, j in enumerate(words):
        for b in range(a):
            values[j, words[b]] = values[words[b], j] = _cramer(codes[a], codes[b])
    np.fill_diagonal(values, 1.0)
    return Strengths(tuple(columns), values, pearson, spearman)


def pairs_of(found: Strengths, *, most: int, least: float) -> list[Dependence]:
    """The strongest dependences, the strongest first; parts of one date are no pair."""
    columns = found.columns
    size = np.abs(found.values)
    upper = np.triu(np.ones(size.shape, dtype=bool), k=1)
    i_of, j_of = np.nonzero(upper & (size >= least))
    order = np.argsort(-size[i_of, j_of], kind="stable")
    pairs: list[Dependence] = []
    for k in order.tolist():
        if len(pairs) == most:
            break
        i, j = int(i_of[k]), int(j_of[k])
        both = columns[i].numeric and columns[j].numeric
        pairs.append(
            Dependence(
                columns[i].name,
                columns[j].name,
                found.measure(i, j),
                float(found.values[i, j]),
                float(found.pearson[i, j]) if both else None,
                float(found.spearman[i, j]) if both else None,
            )
        )
    return pairs


def _ranks(column: Column) -> np.ndarray:
    """Ranks from 1 among the values that are there, and their mean for equal ones."""
    _, counts = column.counted
    mean = np.cumsum(counts) - (counts - 1) / 2.0
    ranks = np.full(len(column.values), np.nan)
    ranks[~column.gone] = mean[column.number_codes]
    return ranks


def _standardised(matrix: np.ndarray) -> np.ndarray:
    """Columns of mean 0 and deviation 1, NaN where a value is missing; zeros for constants."""
    largest = np.nanmax(np.abs(matrix), axis=0, initial=0.0)
    # Squares stay within range.
    exponents = np.frexp(largest)[1]
    unit = np.ldexp(matrix, -exponents)
    there = ~np.isnan(unit)
    n = np.maximum(there.sum(axis=0), 1)
    for _ in range(2):  # The second pass removes the rounding error of the mean.
        unit -= np.where(there, unit, 0.0).sum(axis=0) / n
    deviation = np.sqrt((np.where(there, unit, 0.0) ** 2).sum(axis=0) / n)
    tiny = deviation <= 4.0 * EPS
    out: np.ndarray = np.where(tiny & there, 0.0, unit / np.where(tiny, 1.0, deviation))
    return out


def _correlations(standard: np.ndarray) -> np.ndarray:
    """Pearson's correlations of standardised columns over the rows in which both have a value."""
    there = (~np.isnan(standard)).astype(np.float64)
    z = np.where(np.isnan(standard), 0.0, standard)
    whole = bool(there.all())
    n = np.full((z.shape[1],) * 2, float(len(z))) if whole else there.T @ there
    n = np.maximum(n, 1.0)
    if whole:
        sums, squares = np.zeros_like(n), np.broadcast_to((z**2).sum(axis=0)[:, None], n.shape)
    else:
        sums, squares = z.T @ there, (z**2).T @ there
    covariance = z.T @ z / n - sums / n * (sums.T / n)
    variance = np.maximum(squares / n - (sums / n) ** 2, 0.0)
    scale = np.sqrt(variance * variance.T)
    known = (scale > 1e-12) & (n >= 3.0)
    found: np.ndarray = np.where(known, covariance / np.where(known, scale, 1.0), 0.0)
    return np.clip(found, -1.0, 1.0)


def _few_codes(column: Column) -> np.ndarray:
    """The codes of the levels, of which the rarest share one; -1 where missing."""
    out: np.ndarray = np.minimum(column.codes, _LEVELS - 1)
    return out


def _ratios(column: Column, standard: np.ndarray) -> np.ndarray:
    """The correlation ratios of columns of standardised numbers on the levels of a category."""
    codes = _few_codes(column)
    rows = np.flatnonzero(codes >= 0)
    if not len(rows):
        return np.zeros(standard.shape[1])
    k = int(codes.max()) + 1
    z = standard[rows]
    there = ~np.isnan(z)
    z = np.where(there, z, 0.0)
    level = (np.ones(len(rows)), (codes[rows], np.arange(len(rows))))
    select = sparse.csr_matrix(level, shape=(k, len(rows)))
    sums, n_of = select @ z, select @ there.astype(np.float64)
    n, used = n_of.sum(axis=0), (n_of > 0.0).sum(axis=0)
    mean = z.sum(axis=0) / np.maximum(n, 1.0)
    total = (z**2).sum(axis=0) - n * mean**2
    between = (sums**2 / np.maximum(n_of, 1.0)).sum(axis=0) - n * mean**2
    known = (total > 1e-9 * n) & (n > used) & (used > 1)
    share = np.where(known, between / np.where(known, total, 1.0), 0.0)
    corrected = 1.0 - (1.0 - share) * (n - 1.0) / np.maximum(n - used, 1.0)
    return np.sqrt(np.clip(np.where(known, corrected, 0.0), 0.0, 1.0))


def _cramer(first: np.ndarray, second: np.ndarray) -> float:
    """Cramér's V of two columns of codes, corrected for chance."""
    there = (first >= 0) & (second >= 0)
    a, b = first[there], second[there]
    n = len(a)
    if n < 3:
        return 0.0
    r, c = int(a.max()) + 1, int(b.max()) + 1
    table = np.bincount(a * c + b, minlength=r * c).reshape(r, c).astype(np.float64)
    table = table[table.any(axis=1)][:, table.any(axis=0)]
    r, c = table.shape
    if min(r, c) < 2:
        return 0.0
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / n
    phi = float(((table - expected) ** 2 / expected).sum()) / n
    phi = max(0.0, phi - (r - 1) * (c - 1) / (n - 1))
    least = min(r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)) - 1.0
    return 0.0 if least <= 0.0 else min(1.0, float(np.sqrt(phi / least)))
