r"""Polynomials that stay accurate: a basis made orthogonal over the data, and exact conversion.

Plain powers of a column are nearly dependent on one another, and least squares in them loses as
many digits as their condition number has.  Here each column is scaled to :math:`t \in [-1, 1]`
about its middle and carries the polynomials that are orthonormal over its own values,

.. math:: p_0 = 1, \qquad
    p_{k+1}(t) = s_k\,[(t - a_k)\,p_k(t) - b_k\,p_{k-1}(t)], \qquad
    \frac1n \sum_i s_i\, p_j(t_i)\, p_k(t_i) = \delta_{jk},

by Stieltjes' recurrence (Forsythe, 1957).  A column with q distinct values bears the powers below
q and no others: on those values every further power is a combination of the lower ones.  Several
columns have the products of their polynomials up to a total degree.

The fit in that basis is refined in arithmetic of twice float64's digits.  The numbers
:math:`a_k, b_k, s_k` define the basis, so its polynomials are known without error as fractions:
coefficients of plain powers are computed exactly and rounded once.

References
----------
Forsythe (1957), Generation and use of orthogonal polynomials for data-fitting with a digital
computer.  Stieltjes (1884), Quelques recherches sur la théorie des quadratures dites mécaniques.
Björck (1967), Iterative refinement of linear least squares solutions.  Dekker (1971), A
floating-point technique for extending the available precision.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np

from separatrix._compiled import pool
from separatrix._compiled.compilation import njit
from separatrix._compiled.double_double import add_closely, multiply_parts, sum_parts, two_sum
from separatrix._compiled.linear_algebra import lengths_of
from separatrix._compiled.rounding import EPS
from separatrix.closed_form import least_squares
from separatrix.closed_form.least_squares import certify
from separatrix.closed_form.normal_equations import (
    LeastSquaresProblem,
    NormalEquations,
    NormalInverse,
    refine_in_parts,
)
from separatrix.closed_form.triangular import LeastSquaresSolution, TriangularFactor
from separatrix.data.design import Design
from separatrix.messages import Message, Setting

# Their Gram matrix takes 3.2 GB.
MOST_TERMS = 20_000
# Bytes of a block of rows, with all terms: a core's second-level cache.
_BLOCK_BYTES = 1 << 20
# A polynomial shorter than this over the data, of the size that its recurrence started from, is
# rounding: distinct values that lie this close together bear no further power.
_SHORT = 1e-12
# Entries of the design up to which the coefficients are refined to twice the digits: a second.
_REFINED = 10_000_000
# Relative to the coefficients, what is left to gain when the refinement stops.
_STILL = 1e-30
# The exponents of a term, one a column.
_Exponents = tuple[int, ...]
# A degree from which on terms are counted as their polynomials are found.
_DEEP = 16


class DegreeWarning(UserWarning):
    """The degree exceeds what the points bear."""


# --- terms ----------------------------------------------------------------------------------


def count_terms(top: Sequence[int], degree: int, interactions: bool) -> int:
    """The number of terms, without the constant, for columns that bear powers to ``top``."""
    if not interactions:
        return sum(min(t, degree) for t in top)
    # The ways to share out each total degree, a column at a time.
    ways = [1] + [0] * degree
    for t in top:
        below = list(itertools.accumulate(ways))
        ways = below[: t + 1] + [
            below[whole] - below[whole - t - 1] for whole in range(t + 1, degree + 1)
        ]
    return sum(ways) - 1


def _require_few(
    top: np.ndarray, degree: int, requested: int, interactions: bool, more: str = ""
) -> None:
    """Raise ValueError for more terms than ``MOST_TERMS``."""
    most = count_terms(top.tolist(), degree, interactions)
    if most > MOST_TERMS:
        raise ValueError(
            Message(
                "too_many_terms",
                degree=Setting("degree", requested),
                columns=len(top),
                terms=most,
                more=more,
                size=8e-9 * most * most,
                most=MOST_TERMS,
            )
        )


def _powers(top: Sequence[int], degree: int, interactions: bool) -> np.ndarray:
    """Exponents of all terms, by total degree; among those of one degree, first columns first."""
    d = len(top)
    rows: list[tuple[tuple[int, int], ...]] = []
    for total in range(1, degree + 1):
        if not interactions:
            rows += [((j, total),) for j in range(d) if top[j] >= total]
            continue
        rows += _shared(top, total, 0)
    out = np.zeros((len(rows), d), dtype=np.int16)
    for i, row in enumerate(rows):
        for j, power in row:
            out[i, j] = power
    return out


def _shared(top: Sequence[int], total: int, first: int) -> list[tuple[tuple[int, int], ...]]:
    """Every way to share a total degree out among the columns from ``first`` on."""
    if total == 0:
        return [()]
    out = []
    for j in range(first, len(top)):
        for own in range(min(top[j], total), 0, -1):
            out += [((j, own), *rest) for rest in _shared(top, total - own, j + 1)]
    return out


# --- kernels --------------------------------------------------------------------------------
# None of these may be reordered: what is rounded is accounted for.


@njit(nogil=True, cache=True)
def _lengths(x, weights, centre, scale, recurrence, level, active, sums):
    """Sums of ``w q^2`` and ``w t q^2`` for the polynomial of the given level, not yet scaled."""
    for i in range(x.shape[0]):
        w = weights[i]
        if w == 0.0:
            continue
        for j in range(x.shape[1]):
            if not active[j]:
                continue
            t = (x[i, j] - centre[j]) * scale[j]
            before, here = 0.0, 1.0
            for k in range(level):
                after = (t - recurrence[j, k, 0]) * here - recurrence[j, k, 1] * before
                if k < level - 1:
                    after *= recurrence[j, k, 2]
                before, here = here, after
            sums[j, 0] += w * here * here
            sums[j, 1] += w * t * here * here


@njit(nogil=True, cache=True)
def _evaluate(x, centre, scale, recurrence, top, offset, parent, factor, out):
    """All terms of some rows."""
    single = np.empty(offset[-1])
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            t = (x[i, j] - centre[j]) * scale[j]
            before, here = 0.0, 1.0
            for k in range(top[j]):
                after = (
                    (t - recurrence[j, k, 0]) * here - recurrence[j, k, 1] * before
                ) * recurrence[j, k, 2]
                before, here = here, after
                single[offset[j] + k] = here
        for term in range(len(parent)):
            value = single[factor[term]]
            if parent[term] >= 0:
                value *= out[i, parent[term]]
            out[i, term] = value


@njit(nogil=True, cache=True)
def _slopes(x, weights, y, centre, scale, recurrence, top, offset, parent, factor, high, low, out):
    """Add ``sum s r`` and ``sum s r phi_k`` over rows, everything in twice the digits.

    ``high`` and ``low`` of shape (m, 1 + n_terms) are the coefficients, the constant first;
    ``out`` has the shape (2, m, 1 + n_terms).
    """
    m, terms = high.shape[0], len(parent)
    single_h, single_l = np.empty(offset[-1]), np.empty(offset[-1])
    phi_h, phi_l = np.empty(terms + 1), np.empty(terms + 1)
    phi_h[0], phi_l[0] = 1.0, 0.0
    for i in range(x.shape[0]):
        w = weights[i]
        if w == 0.0:
            continue
        for j in range(x.shape[1]):
            th, tl = two_sum(x[i, j], -centre[j])
            th, tl = multiply_parts(th, tl, scale[j], 0.0)
            bh, bl, hh, hl = 0.0, 0.0, 1.0, 0.0
            for k in range(top[j]):
                uh, ul = add_closely(th, tl, -recurrence[j, k, 0], 0.0)
                uh, ul = multiply_parts(uh, ul, hh, hl)
                vh, vl = multiply_parts(bh, bl, -recurrence[j, k, 1], 0.0)
                uh, ul = add_closely(uh, ul, vh, vl)
                bh, bl = hh, hl
                hh, hl = multiply_parts(uh, ul, recurrence[j, k, 2], 0.0)
                single_h[offset[j] + k] = hh
                single_l[offset[j] + k] = hl
        for term in range(terms):
            h, low_part = single_h[factor[term]], single_l[factor[term]]
            above = parent[term]
            if above >= 0:
                h, low_part = multiply_parts(h, low_part, phi_h[above + 1], phi_l[above + 1])
            phi_h[term + 1] = h
            phi_l[term + 1] = low_part
        for c in range(m):
            rh, rl = y[i, c], 0.0
            for term in range(terms + 1):
                h, low_part = multiply_parts(
                    -high[c, term], -low[c, term], phi_h[term], phi_l[term]
                )
                rh, rl = add_closely(rh, rl, h, low_part)
            rh, rl = multiply_parts(rh, rl, w, 0.0)
            for term in range(terms + 1):
                h, low_part = multiply_parts(rh, rl, phi_h[term], phi_l[term])
                h, low_part = add_closely(out[0, c, term], out[1, c, term], h, low_part)
                out[0, c, term] = h
                out[1, c, term] = low_part


# --- the basis ------------------------------------------------------------------------------


def _ones_or(weights: np.ndarray | None, n: int) -> np.ndarray:
    return np.ones(n) if weights is None else np.ascontiguousarray(weights)


@dataclass(frozen=True, eq=False)
class _Values:
    """The values of positive weight of each column: least, largest, and as many as are wanted.

    ``known`` has the distinct values, and ``count`` how many of these there are; ``total`` is the
    sum of the weights.
    """

    low: np.ndarray
    high: np.ndarray
    known: np.ndarray
    count: np.ndarray
    total: float

    @classmethod
    def of(cls, design: Design, weights: np.ndarray | None, *, most: int) -> _Values:
        s, d = _ones_or(weights, design.n_samples), design.n_features
        low, high = np.full(d, np.inf), np.full(d, -np.inf)
        known, count = np.empty((d, most)), np.zeros(d, dtype=np.int64)
        used: Any = slice(None)
        for rows, block in design.blocks(owned=True):
            if weights is not None:
                used = s[rows] > 0.0
            block = block[used]
            np.minimum(low, block.min(axis=0, initial=np.inf), out=low)
            np.maximum(high, block.max(axis=0, initial=-np.inf), out=high)
            for j in np.flatnonzero(count < most).tolist():
                _take_up(known, count, j, block[:, j])
        return cls(low, high, known, count, float(s.sum()))

    def merge(self, other: _Values) -> _Values:
        known, count = self.known.copy(), self.count.copy()
        for j in range(len(known)):
            _take_up(known, count, j, other.known[j, : other.count[j]])
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return _Values(low, high, known, count, self.total + other.total)


def _take_up(known: np.ndarray, count: np.ndarray, j: int, values: np.ndarray) -> None:
    """Add the values of a column to those that are known of it, as many as there is space for."""
    both = np.union1d(known[j, : count[j]], values)[: known.shape[1]]
    known[j, : len(both)], count[j] = both, len(both)


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums over rows, which those of other rows are added to."""

    values: np.ndarray

    def merge(self, other: _Sums) -> _Sums:
        return _Sums(self.values + other.values)


def _squares(
    centre: np.ndarray,
    scale: np.ndarray,
    recurrence: np.ndarray,
    level: int,
    active: np.ndarray,
    design: Design,
    weights: np.ndarray | None,
) -> _Sums:
    """The sums of :func:`_lengths` over some rows."""
    s, sums = _ones_or(weights, design.n_samples), np.zeros((len(centre), 2))
    for rows, block in design.blocks(owned=True):
        _lengths(block, s[rows], centre, scale, recurrence, level, active, sums)
    return _Sums(sums)


def _square_errors(
    coef: np.ndarray,
    intercept: np.ndarray,
    design: Design,
    targets: np.ndarray,
    weights: np.ndarray | None,
) -> _Sums:
    """The weighted sum of the squared residuals of each target, and after them of the weights."""
    s = _ones_or(weights, len(targets))
    residuals = targets - design.dot(np.ascontiguousarray(coef.T)) - intercept
    return _Sums(np.append(s @ np.square(residuals), s.sum()))


@dataclass(frozen=True, eq=False)
class PolynomialBasis:
    """Products of polynomials of single columns, orthonormal over the values of each.

    Attributes
    ----------
    centre, scale : ndarray of shape (n_features,)
        ``t = (x - centre) * scale`` lies in [-1, 1] over the data.
    recurrence : ndarray of shape (n_features, degree, 3)
        ``a_k, b_k, s_k``.
    powers : ndarray of shape (n_terms, n_features)
        Degree of each term in each column; without the constant.
    """

    centre: np.ndarray
    scale: np.ndarray
    recurrence: np.ndarray
    powers: np.ndarray

    def __post_init__(self) -> None:
        # Compiled loops take these for what they say, and a basis may come from a file.
        d, degree = len(self.centre), self.recurrence.shape[1] if self.recurrence.ndim == 3 else 0
        fits = self.centre.shape == self.scale.shape == (d,)
        fits = fits and self.recurrence.shape == (d, degree, 3)
        fits = fits and self.powers.ndim == 2 and self.powers.shape[1] == d
        if not (
            fits
            and self.powers.dtype.kind in "iu"
            and self.powers.min(initial=0) >= 0
            and self.powers.max(initial=0) <= degree
        ):
            raise ValueError(
                "The shapes of the polynomials do not agree: their centres, scales, recurrence and "
                f"powers have the shapes {self.centre.shape}, {self.scale.shape}, "
                f"{self.recurrence.shape} and {self.powers.shape}."
            )

    def require_closed(self) -> None:
        """Raise ValueError unless every divisor of a term is a term, too, and came before it."""
        if self.n_terms > MOST_TERMS:
            raise ValueError(f"{self.n_terms:,} terms are too many; the limit is {MOST_TERMS:,}.")
        seen = {np.zeros_like(self.powers[:1]).tobytes()}
        for row in self.powers:
            for j in np.flatnonzero(row):
                divisor = row.copy()
                divisor[j] -= 1
                if divisor.tobytes() not in seen:
                    raise ValueError("A term of the polynomial lacks its divisors.")
            if row.tobytes() in seen:
                raise ValueError("A term of the polynomial occurs twice.")
            seen.add(row.tobytes())

    @classmethod
    def of(
        cls,
        design: Design,
        degree: int,
        *,
        interactions: bool = True,
        weights: np.ndarray | None = None,
    ) -> PolynomialBasis:
        """The basis for rows of positive weight.

        Raises
        ------
        ValueError
            For more than ``MOST_TERMS`` terms.
        """
        return cls.gathered(
            lambda of: of(design, weights), design.n_samples, degree, interactions=interactions
        )

    @classmethod
    def gathered(
        cls, over: Callable[..., Any], n_samples: int, degree: int, *, interactions: bool = True
    ) -> PolynomialBasis:
        """:meth:`of` rows in parts: ``over`` gives what a function makes of them, merged.

        The function takes a design and the weights of its rows, which may be None.
        """
        # More distinct values than rows there are none: a degree of a million costs no more.
        whole, degree = degree, min(degree, max(n_samples - 1, 0))
        values = over(partial(_Values.of, most=degree + 1))
        low, high, count, d = values.low, values.high, values.count, len(values.low)
        # Halved before they are subtracted: nothing overflows.
        half = 0.5 * high - 0.5 * low
        with np.errstate(divide="ignore", over="ignore"):
            scale = 1.0 / half
        top = np.minimum(count - 1, degree)
        top[~np.isfinite(scale)] = 0
        scale[~np.isfinite(scale)] = 0.0
        centre = 0.5 * low + 0.5 * high
        recurrence = np.zeros((d, degree, 3))
        for level in range(int(top.max(initial=0)) + 1):
            active = top >= level
            sums = over(partial(_squares, centre, scale, recurrence, level, active)).values
            length = np.sqrt(sums[:, 0] / values.total)
            short = active & ~(length > _SHORT)
            top[short] = level - 1
            active &= ~short
            if level:
                recurrence[active, level - 1, 2] = 1.0 / length[active]
            if level < degree:
                recurrence[active, level, 0] = sums[active, 1] / sums[active, 0]
                recurrence[active, level, 1] = length[active] if level else 0.0
            if level >= _DEEP:
                # The powers found so far may be too many already: each further one costs more.
                sure = np.minimum(top, level)
                _require_few(sure, min(whole, int(sure.sum())), whole, interactions, " or more")
        # No total degree is above the sum of what the columns bear.
        total_degree = min(whole, int(top.sum()))
        _require_few(top, total_degree, whole, interactions)
        return cls(centre, scale, recurrence, _powers(top.tolist(), total_degree, interactions))

    @cached_property
    def top(self) -> np.ndarray:
        """The highest power of each column."""
        return self.powers.max(axis=0, initial=0).astype(np.int64)

    @cached_property
    def n_terms(self) -> int:
        return len(self.powers)

    @cached_property
    def _tables(self) -> tuple[np.ndarray, ...]:
        """The arguments of the kernels: places of the polynomials, and how terms multiply."""
        offset = np.concatenate([[0], np.cumsum(self.top)])
        parent = np.full(self.n_terms, -1, dtype=np.int64)
        factor = np.empty(self.n_terms, dtype=np.int64)
        place: dict[bytes, int] = {}
        for i, row in enumerate(self.powers):
            place[row.tobytes()] = i
            last = int(np.flatnonzero(row)[-1])
            factor[i] = offset[last] + row[last] - 1
            rest = row.copy()
            rest[last] = 0
            if rest.any():
                # The rest is of lower total degree, so it came before.
                parent[i] = place[rest.tobytes()]
        return self.centre, self.scale, self.recurrence, self.top, offset, parent, factor

    def leading(self, degree: int) -> int:
        """The number of terms up to a total degree; they come first."""
        return int(np.searchsorted(self.powers.sum(axis=1), degree, side="right"))

    def names(self, columns: Sequence[str]) -> list[str]:
        """The terms as text, like ``a^2 b``."""
        return [
            " ".join(
                columns[int(j)] + (f"^{row[j]}" if row[j] > 1 else "") for j in np.flatnonzero(row)
            )
            for row in self.powers
        ]

    # --- plain powers -----------------------------------------------------------------------

    @cached_property
    def _steps(self) -> list[tuple[int, list[tuple[int, int, int]]]]:
        """The recurrence in ``x``, exactly: binary places q, and for each step three whole numbers.

        ``p_{k+1} = (u x - v) p_k / 2^q - w p_{k-1} / 2^2q``.  Every number is a whole one over a
        power of two: without a common divisor to look for at each sum, this is a hundred times as
        fast as fractions.
        """
        out = []
        for j, top in enumerate(self.top):
            g, c = Fraction(float(self.scale[j])), Fraction(float(self.centre[j]))
            found = []
            for k in range(top):
                a, b, s = (Fraction(float(v)) for v in self.recurrence[j, k])
                found.append((s * g, s * (g * c + a), s * b))
            q = max((_places(v) for step in found for v in step), default=0)
            whole = [
                (int(u * (1 << q)), int(v * (1 << q)), int(w * (1 << q)) << q) for u, v, w in found
            ]
            out.append((q, whole))
        return out

    @cached_property
    def _place(self) -> dict[_Exponents, int]:
        """The place of the coefficient of each term, that of the constant first."""
        terms = [(0,) * len(self.top), *map(tuple, self.powers.tolist())]
        return {term: k for k, term in enumerate(terms)}

    def to_powers(self, high: np.ndarray, low: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients of plain powers: exact, rounded once.

        Parameters
        ----------
        high, low : ndarray of shape (m, 1 + n_terms)
            Coefficients in this basis, the constant first, as unevaluated sums.

        Returns
        -------
        coef : ndarray of shape (m, n_terms)
            The coefficients of the terms of ``powers``.
        intercept : ndarray of shape (m,)
        """
        exact = [
            [Fraction(h) + Fraction(v) for h, v in zip(a.tolist(), b.tolist(), strict=True)]
            for a, b in zip(high, low, strict=True)
        ]
        places = max((_places(v) for own in exact for v in own), default=0)
        out = np.empty(high.shape)
        for k, own in enumerate(exact):
            whole = {t: int(v * (1 << places)) for t, v in zip(self._place, own, strict=True) if v}
            plain, more = self._expand(whole)
            out[k] = [_ratio(plain.get(t, 0), places + more) for t in self._place]
        return np.ascontiguousarray(out[:, 1:]), out[:, 0].copy()

    def _expand(self, values: dict[_Exponents, int]) -> tuple[dict[_Exponents, int], int]:
        """The coefficients of plain powers, by their exponents, and how many more places they have.

        One column after another is written out in its powers; those of the others stay as they are.
        """
        more = 0
        for j, (q, steps) in enumerate(self._steps):
            steps = steps[: max((term[j] for term in values), default=0)]
            if not steps:
                continue
            places = q * len(steps)
            more += places
            out: dict[_Exponents, int] = {}
            single: dict[_Exponents, list[int]] = {}
            for term, value in values.items():
                if term[j]:
                    rest = (*term[:j], 0, *term[j + 1 :])
                    single.setdefault(rest, [0] * (len(steps) + 1))[term[j]] = value
                else:
                    out[term] = value << places
            for rest, own in single.items():
                for power, value in enumerate(_clenshaw(own, q, steps)):
                    if value:
                        term = (*rest[:j], power, *rest[j + 1 :])
                        out[term] = out.get(term, 0) + value
            values = out
        return values, more

    def conversion(self) -> tuple[np.ndarray, np.ndarray]:
        """The matrix ``L`` and the vector ``tau`` of the conversion to plain powers.

        Coefficients of plain powers are ``L c``, and the constant is ``b + tau . c``.
        """
        out = np.zeros((1 + self.n_terms, 1 + self.n_terms))
        for term, k in self._place.items():
            plain, places = self._expand({term: 1})
            for powers, value in plain.items():
                out[self._place[powers], k] = _ratio(value, places)
        return out[1:, 1:], out[0, 1:]

    def off_powers(
        self, plain: Sequence[float], coef: Sequence[float], intercept: float
    ) -> list[float]:
        """The distance of plain powers from those of a polynomial, relative to the sizes of terms.

        It is computed in fractions, and at most 1.  ``plain`` has the constant first; what is not
        finite counts as 0.
        """
        sums, sizes = ([Fraction(0)] * len(plain) for _ in range(2))
        for term, c in zip(self._place, [intercept, *coef], strict=True):
            powers, places = self._expand({term: 1})
            for power, value in powers.items():
                own = Fraction(c) * Fraction(value, 1 << places)
                sums[self._place[power]] += own
                sizes[self._place[power]] += abs(own)
        return [
            float(min(abs(Fraction(v) - whole) / (size or 1), Fraction(1)))
            if math.isfinite(v)
            else 0.0
            for v, whole, size in zip(plain, sums, sizes, strict=True)
        ]


def _places(value: Fraction) -> int:
    """Binary places of a number that is a whole one over a power of two."""
    return value.denominator.bit_length() - 1


def _next(here: list[int], before: list[int], u: int, v: int, w: int) -> list[int]:
    """``(u x - v) here - w before``."""
    out = [0] * (len(here) + 1)
    for power, value in enumerate(here):
        out[power + 1] += u * value
        out[power] -= v * value
    for power, value in enumerate(before):
        out[power] -= w * value
    return out


def _clenshaw(values: list[int], q: int, steps: list[tuple[int, int, int]]) -> list[int]:
    """Plain coefficients of ``sum_k values_k p_k`` of one column, over ``2^(q n_steps)`` more.

    Clenshaw (1955), with polynomials in place of their values: two of them at a time, where all
    ``p_k`` would take far more memory than the data.
    """
    later: list[int] = []
    here: list[int] = []
    top = len(steps)
    # ``here`` is ``b_k`` over ``2^(q (top - k))``: b_k = c_k + step_k b_{k+1} - w_{k+1} b_{k+2}.
    for k in range(top, -1, -1):
        if not here:
            out = [values[k]]
        else:
            u, v, _ = steps[k]
            w = steps[k + 1][2] if k + 1 < top else 0
            out = _next(here, later, u, v, w)
            out[0] += values[k] << (q * (top - k))
        later, here = here, out
    return here


def _ratio(numerator: int, places: int) -> float:
    """``numerator / 2^places``, rounded once."""
    try:
        return numerator / (1 << places)
    except OverflowError:
        return -math.inf if numerator < 0 else math.inf


class PolynomialDesign(Design):
    """The terms of a basis as a design matrix, computed a block of rows at a time.

    Parameters
    ----------
    base : Design
        The columns.
    basis : PolynomialBasis
    """

    # There is nothing to read that is not computed first.
    rows = ()

    def __init__(self, base: Design, basis: PolynomialBasis) -> None:
        if base.n_features != len(basis.centre):
            raise ValueError(
                f"The data have {base.n_features:,} columns, and the polynomials have "
                f"{len(basis.centre):,}."
            )
        self.base = base
        self.basis = basis
        self.shape = (base.n_samples, basis.n_terms)

    @property
    def matrix(self) -> np.ndarray:
        """All rows at once."""
        out = np.empty(self.shape)
        for rows, block in self.blocks():
            out[rows] = block
        return out

    @property
    def n_stored(self) -> int:
        return self.shape[0] * self.shape[1]

    @property
    def gram_cost(self) -> float:
        return 0.5 * self.n_stored * self.n_features

    def blocks(
        self,
        start: int = 0,
        stop: int | None = None,
        *,
        owned: bool = False,
        size: int | None = None,
    ) -> Iterator[tuple[slice, np.ndarray]]:
        stop = self.n_samples if stop is None else min(stop, self.n_samples)
        widest = max(1, self.n_features, self.base.n_features)
        size = size or max(1, _BLOCK_BYTES // (8 * widest))
        buffer = np.empty((max(0, min(size, stop - start)), self.n_features))
        for rows, x in self.base.blocks(start, stop, owned=True, size=size):
            block = buffer[: len(x)]
            if self.n_features:
                _evaluate(x, *self.basis._tables, block)
            yield rows, block

    def _by_rows(self, shape: tuple[int, ...], of: Callable[[np.ndarray], Any]) -> np.ndarray:
        """Something of every row."""
        out = np.empty((self.n_samples, *shape), order="F")
        for rows, block in self.blocks():
            out[rows] = of(block)
        return out

    def _sum(self, shape: tuple[int, ...], of: Callable[[slice, np.ndarray], Any]) -> np.ndarray:
        """The sum of something over all rows, for every term."""
        out = np.zeros((self.n_features, *shape))
        for rows, block in self.blocks():
            out += of(rows, block)
        return out

    def dot(self, w: np.ndarray) -> np.ndarray:
        return self._by_rows(w.shape[1:], lambda block: block @ w)

    def absolute_dot(self, t: np.ndarray) -> np.ndarray:
        return self._by_rows((), lambda block: np.abs(block) @ np.abs(t))

    def absolute_t_dot(self, a: np.ndarray) -> np.ndarray:
        return self._sum((), lambda rows, block: np.abs(block).T @ np.abs(a[rows]))

    def t_dot(self, a: np.ndarray) -> np.ndarray:
        return self._sum(a.shape[1:], lambda rows, block: block.T @ a[rows])

    def gram(self, weights: np.ndarray) -> np.ndarray:
        def squares(rows: slice, block: np.ndarray) -> np.ndarray:
            block *= np.sqrt(weights[rows])[:, None]
            return block.T @ block

        return self._sum((self.n_features,), squares)

    def column_squares(self, weights: np.ndarray) -> np.ndarray:
        return self._sum(weights.shape[1:], lambda rows, block: np.square(block).T @ weights[rows])

    def row_squares(self) -> np.ndarray:
        return self._by_rows((), lambda block: np.einsum("ij,ij->i", block, block))

    def take(self, index: np.ndarray) -> PolynomialDesign:
        return PolynomialDesign(self.base.take(index), self.basis)


# --- the fit --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class PolynomialFit(LeastSquaresSolution):
    """A polynomial of least squares, whose coefficients are those in its basis.

    Attributes
    ----------
    plain_coef, plain_intercept : ndarray of shape (m, n_terms) and (m,)
        The coefficients of plain powers.
    """

    plain_coef: np.ndarray
    plain_intercept: np.ndarray


def solve(problem: LeastSquaresProblem, basis: PolynomialBasis) -> PolynomialFit:
    r"""Minimise ``1/2 sum_i s_i |y_i - f(x_i)|^2 + ridge/2 |c|^2`` over polynomials f.

    ``c`` are the coefficients in the basis, without that of the constant.  Where the design has
    up to ten million entries, they are refined until the normal equations hold to some thirty
    digits (Björck, 1967, with sums of two float64 numbers), and the coefficients of plain powers,
    which can be large and cancel, then have all their digits.

    Parameters
    ----------
    problem : LeastSquaresProblem
        A problem whose design has the terms; its rows are in memory, or in blocks.
    basis : PolynomialBasis

    Returns
    -------
    PolynomialFit
    """
    solution = least_squares.solve(problem)
    coef, intercept, factor = solution.coef, solution.intercept, solution.factor
    certificate = solution.certificate
    high = np.column_stack([intercept, coef])
    low = np.zeros_like(high)
    determined = solution.rank == basis.n_terms or problem.ridge > 0.0
    # Blocks give their targets in units, where the squares of these are out of range.
    as_given = not problem.in_passes or problem.in_units()[1] is None
    if determined and as_given and problem.entries <= _REFINED and factor is not None:
        known_rows = factor.mean, lengths_of(factor.r), factor.weight
        equations = problem.equations(*known_rows, kind=PolynomialEquations)
        # The step after the last one is its rounding, as the equations amplify it.
        still = _STILL / min(1.0, EPS * solution.condition**2)
        refined = refine_in_parts(equations, factor.inverse(problem.ridge), high, still)
        if refined is not None:
            high, low, _ = refined
            # Predictions are evaluated in float64, and there the refined numbers must hold too:
            # at the highest degrees that the points bear, polynomials of the very recurrence and
            # those of its rounded evaluation are not the same.
            known: dict[str, Any] = {"condition": certificate.condition, "rank": solution.rank}
            again = certify(problem, high[:, 1:], high[:, 0], **known)
            if again.relative_residual <= max(certificate.relative_residual, 1e-15):
                coef, intercept, certificate = high[:, 1:], high[:, 0], again
    if not basis.n_terms:
        certificate = replace(certificate, equations="the residuals' sum is zero")
    plain_coef, plain_intercept = basis.to_powers(high, low)
    own = {
        "coef": np.ascontiguousarray(coef),
        "intercept": np.array(intercept),
        "certificate": certificate,
    }
    if as_given:
        errors = problem.gathered(partial(_square_errors, coef, intercept)).values
        own |= {"rss": errors[:-1], "weight": errors[-1]}
    return PolynomialFit(
        **{**vars(solution), **own}, plain_coef=plain_coef, plain_intercept=plain_intercept
    )


class PolynomialEquations(NormalEquations):
    """The equations of the polynomials themselves, of which a design has rounded values."""

    def sums_in_parts(
        self, high: np.ndarray, low: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        terms = self.design
        assert isinstance(terms, PolynomialDesign)
        weights = self.problem.weights
        # One kind of array each, and so one compiled kernel.
        s = _ones_or(weights, terms.n_samples)
        targets = np.ascontiguousarray(self.targets)
        high, low = np.ascontiguousarray(high), np.ascontiguousarray(low)

        def part(start: int, stop: int, out: np.ndarray) -> None:
            for rows, x in terms.base.blocks(start, stop, owned=True):
                _slopes(x, s[rows], targets[rows], *terms.basis._tables, high, low, out)

        ranges = pool.ranges(terms.n_samples, 50.0 * terms.n_stored * len(high))
        parts = [np.zeros((2, *high.shape)) for _ in ranges]
        pool.run([partial(part, a, b, out) for (a, b), out in zip(ranges, parts, strict=True)])
        total, rest = parts[0]
        for other in parts[1:]:
            sums, errors = sum_parts(total, other[0])
            total, rest = sum_parts(sums, errors + rest + other[1])
        # The sums of squares are not needed.
        sums = np.column_stack([total[:, 0], rest[:, 0], np.zeros((len(high), 2))])
        return total[:, 1:], rest[:, 1:], sums


# --- one fit for all degrees ----------------------------------------------------------------


def degree_errors(
    design: Design,
    targets: np.ndarray,
    basis: PolynomialBasis,
    degrees: Sequence[int],
    *,
    validation: tuple[Design, np.ndarray],
    weights: np.ndarray | None = None,
    validation_weights: np.ndarray | None = None,
    ridge: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Mean squared errors on the training and on the validation rows, for each degree.

    The terms of a degree are the first of those of a higher one, and so is its triangular factor:
    the rows are read once for all degrees.

    Returns
    -------
    training, held_out : ndarray of shape (n_degrees,)
        Means over the targets.
    """
    terms = PolynomialDesign(design, basis)
    m, k = targets.shape[1], basis.n_terms
    factor = TriangularFactor.of(terms, targets, weights, True)
    r, right = factor.r[:, :k], factor.r[:, k:]
    coefs = np.zeros((len(degrees), k, m))
    training = np.empty(len(degrees))
    for i, degree in enumerate(degrees):
        own = basis.leading(degree)
        if own:
            leading = np.hstack([r[:, :own], right])
            coefs[i, :own] = NormalInverse(leading, own, ridge).solve()
        training[i] = np.square(right - r @ coefs[i]).sum() / (factor.weight * m)
    flat = np.ascontiguousarray(coefs.transpose(1, 0, 2).reshape(k, len(degrees) * m))
    constant = factor.mean[k:] - factor.mean[:k] @ coefs
    held_design, held_targets = validation
    s = _ones_or(validation_weights, len(held_targets))
    sums = np.zeros(len(degrees))
    for rows, block in PolynomialDesign(held_design, basis).blocks():
        predicted = (block @ flat).reshape(len(block), len(degrees), m) + constant
        # Far out a high power may overflow; its error is then infinite by rights.
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            errors = np.square(held_targets[rows][:, None, :] - predicted).sum(axis=2)
        sums += s[rows] @ errors
    return training, sums / (s.sum() * m)
