"""Functions of a column of numbers: its logarithm, a natural cubic spline, a polynomial.

The features of a spline and of a polynomial are uncorrelated over the rows of the fit, and of unit
variance: the first is the straight line, and each of the others is what it adds to those before
it, so that its coefficient says whether it is needed. A spline is linear beyond its last knots,
which are at quantiles of the column (Harrell, 2015, Regression modeling strategies, section 2.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np

from separatrix.exceptions import DataError
from separatrix.tables.cells import ZERO, Column, divided, less
from separatrix.tables.column_encoding import (
    Alert,
    Arrays,
    Encoding,
    Entries,
    Settings,
    Unusable,
    damaged,
)
from separatrix.tables.features import Arithmetic, Compare, Constant, Function, Power, Where
from separatrix.tables.features import Number as Formula
from separatrix.tables.number_encoding import Number, codes_of
from separatrix.tables.table import Remarks, Table, number_text, quote
from separatrix.tables.terms import Factor, written

# Where the knots are: shares of the rows below each (Harrell, 2015, table 2.3).
_QUANTILES = {
    3: (0.1, 0.5, 0.9),
    4: (0.05, 0.35, 0.65, 0.95),
    5: (0.05, 0.275, 0.5, 0.725, 0.95),
    6: (0.05, 0.23, 0.41, 0.59, 0.77, 0.95),
    7: (0.025, 0.1833, 0.3417, 0.5, 0.6583, 0.8167, 0.975),
}
# A feature with less than this left, once the others are taken out, is rounding.
_DEPENDENT = 1e-7
# The most distinct values in the summary of a column that is read in passes.
_MOST_POINTS = 8192


@dataclass(frozen=True)
class Points:
    """The different numbers of a column, in ascending order, and how many rows have each.

    Attributes
    ----------
    values : ndarray of float64
    counts : ndarray of float64
    """

    values: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, counts: np.ndarray | None = None) -> Points:
        """The points of numbers with their counts of rows, by default one each."""
        found, at = np.unique(values, return_inverse=True)
        return cls(found, np.bincount(at, weights=counts, minlength=len(found)).astype(float))

    @classmethod
    def merged(cls, parts: Sequence[Points]) -> Points:
        """The points of all parts, summed up where they are many."""
        every = (np.concatenate([getattr(p, name) for p in parts]) for name in ("values", "counts"))
        return cls.of(*every).limited()

    def limited(self, most: int = _MOST_POINTS) -> Points:
        """At most ``most`` points: means of neighbours, of about equally many rows each."""
        if len(self.values) <= most:
            return self
        # The ends stay as they are: they decide whether there is a logarithm.
        values, counts = self.values[1:-1], self.counts[1:-1]
        before = np.cumsum(counts) - counts
        bins = np.minimum(before * ((most - 2) / counts.sum()), most - 3).astype(np.int64)
        bins = np.unique(bins, return_inverse=True)[1]
        totals = np.bincount(bins, weights=counts)
        means = np.bincount(bins, weights=counts * (values / totals[bins]))
        ends = self.values[[0, -1]], self.counts[[0, -1]]
        return Points(
            np.concatenate([ends[0][:1], means, ends[0][1:]]),
            np.concatenate([ends[1][:1], totals, ends[1][1:]]),
        )

    def without(self, values: Sequence[float]) -> Points:
        """The points without some values."""
        kept = ~np.isin(self.values, values)
        return Points(self.values[kept], self.counts[kept])

    def quantiles(self, shares: Any) -> np.ndarray:
        """The quantiles at shares of the rows, interpolated between rows as NumPy does."""
        last = np.cumsum(self.counts) - 1.0
        places = np.asarray(shares) * last[-1]
        low, high = np.floor(places), np.ceil(places)
        below, above = (self.values[np.searchsorted(last, place)] for place in (low, high))
        return below + (above - below) * (places - low)


@dataclass
class Curve(Number):
    """The features of a function of a column of numbers.

    ``knots`` are in the units of the column; ``centre`` and ``mixing`` make the features of the
    functions that the basis has: ``(basis - centre) @ mixing``.
    """

    function: str = "log"
    degree: int = 1
    zeros: bool = False  # whether the logarithm is that of 1 + x
    knots: Any = ()
    centre: Any = ()
    mixing: Any = ()

    noun = ("curve", "curves")

    @classmethod
    def of_factor(cls, facts: Any, factor: Factor, settings: Settings, alert: Alert) -> Curve:
        """The encoding of a function of a column by its facts."""
        name, codes = facts.name, codes_of(facts, settings, alert)
        points = Points.of(*facts.points()).without(codes)
        if len(points.values) < 2:
            raise Unusable("of one value", f"is constant ({number_text(facts.mean)})")
        # Squares of numbers up to 1 leave the range of float64 nowhere.
        unit = float(np.abs(points.values).max())
        values = points.values / unit
        mean = float(np.average(values, weights=points.counts))
        spread = float(np.average((values - mean) ** 2, weights=points.counts)) ** 0.5
        parameter = factor.parameter or 1
        curve = cls(
            name, mean * unit, spread * unit, True, facts.n_missing > 0, facts.date, codes, None,
            factor.function, parameter,
        )  # fmt: skip
        if factor.function == "log":
            curve._require_logarithms(points)
            curve.zeros = bool(points.values[0] == 0.0)
        elif len(points.values) <= parameter:
            raise DataError(
                f"{factor} has {parameter} features, and column {quote(name)} has "
                f"{len(points.values)} different values: give it as it is, or as a category"
            )
        if factor.function == "spline":
            curve.knots = curve._placed(points, factor)
        # Knots that are equal beside the deviation have no basis, which is refused below.
        with np.errstate(divide="ignore", invalid="ignore"):
            basis = curve._basis(points.values)
        weights = points.counts / points.counts.sum()
        curve.centre = weights @ basis
        if factor.function == "log" and not settings.standardise:
            # In its own units, so that a coefficient is that of the logarithm.
            curve.mixing = np.ones((1, 1))
            return curve
        rest = (basis - curve.centre) * np.sqrt(weights)[:, None]
        lengths = np.linalg.norm(rest, axis=0)
        lengths[lengths == 0.0] = 1.0
        triangle = np.linalg.qr(rest / lengths, mode="r")
        if not np.abs(np.diag(triangle)).min() >= _DEPENDENT:
            raise DataError(
                f"{factor}: the values of column {quote(name)} are too few, or too unequal, for "
                f"{parameter} features; give fewer"
            )
        triangle = triangle * np.sign(np.diag(triangle))[:, None] * lengths
        curve.mixing = np.linalg.inv(triangle)
        return curve

    def _require_logarithms(self, points: Points) -> None:
        low = points.values[0]
        if low < 0.0:
            raise DataError(
                f"column {quote(self.name)} has no logarithm: its lowest value is "
                f"{number_text(low)}, and only numbers from 0 have one; --spline fits a curve to "
                "any numbers"
            )

    def _placed(self, points: Points, factor: Factor) -> np.ndarray:
        count = self.degree + 1
        shares: Any = _QUANTILES.get(count, np.linspace(0.025, 0.975, count))
        knots = np.unique(points.quantiles(shares))
        if len(knots) < count:
            # Values that many rows share are a quantile twice: the different values are placed so.
            each = Points(points.values, np.ones(len(points.values)))
            knots = np.unique(each.quantiles(shares))
        if len(knots) < count:
            raise DataError(
                f"{factor} needs {count} knots, and column {quote(self.name)} has "
                f"{len(points.values)} different values; give fewer degrees of freedom"
            )
        return knots

    def _basis(self, values: np.ndarray) -> np.ndarray:
        """The functions of the basis, of shape (n_values, n_functions)."""
        if self.function == "log":
            return np.log1p(values)[:, None] if self.zeros else np.log(values)[:, None]
        z = (values - self.mean) / self.scale
        if self.function == "polynomial":
            return z[:, None] ** np.arange(1, self.degree + 1)
        knots = (np.asarray(self.knots) - self.mean) / self.scale
        # Truncated cubes of which the powers above the first cancel beyond the last knots.
        last, before = knots[-1], knots[-2]
        cubes = np.maximum(z[:, None] - knots, 0.0) ** 3
        own = cubes[:, :-2] - (
            cubes[:, [-2]] * (last - knots[:-2]) - cubes[:, [-1]] * (before - knots[:-2])
        ) / (last - before)
        return np.column_stack([z, own])

    @property
    def unit_scales(self) -> list[float]:
        return [1.0 / float(self.mixing[0, 0])] if self.function == "log" else [1.0] * self.degree

    @property
    def feature_names(self) -> list[str]:
        missing = [f"{self.name}=(missing)"] if self.with_missing else []
        name = written(self.name)
        if self.function == "log":
            return [f"log(1 + {name})" if self.zeros else f"log({name})", *missing]
        return [*(f"{self.function}({name})[{k}]" for k in range(1, self.degree + 1)), *missing]

    def value_text(self, feature: int, value: float, settings: Settings) -> str:
        if self.function == "log" and feature == 0 and settings.standardise:
            value = value / float(self.mixing[0, 0]) + float(self.centre[0])
        return Encoding.value_text(self, feature, value, settings)

    def _numbers(self, table: Table, notes: Remarks) -> tuple[Any, Any]:
        values, gone = super()._numbers(table, notes)
        if self.function != "log":
            return values, gone
        off = values < 0.0 if self.zeros else values <= 0.0
        off = off if gone is None else off & ~gone
        if not off.any():
            return values, gone
        notes.add(
            "with numbers that have no logarithm, read as missing",
            f"column {quote(self.name)}: {int(off.sum()):,} "
            f"{'below 0' if self.zeros else '0 or less'}, which have no logarithm; read as missing",
        )
        gone = off if gone is None else gone | off
        return np.where(gone, 0.0, values), gone

    def _features(self, values: Any, gone: Any, table: Table, settings: Settings) -> list[Any]:
        there = values if gone is None else np.where(gone, self.knot, values)
        with np.errstate(over="ignore", invalid="ignore"):
            basis = self._basis(there)
            plain = self.function == "log" and not settings.standardise
            own = basis if plain else (basis - self.centre) @ self.mixing
        if not np.isfinite(own).all():
            self._require_near(there, np.isfinite(own).all(axis=1), table)
        if gone is not None:
            own[gone] = self.centre if plain else 0.0
        return list(np.ascontiguousarray(own.T))

    def _defined(self, column: Column) -> Column:
        if self.function != "log":
            return column
        off = Compare("<" if self.zeros else "<=", column.value, ZERO)
        return replace(column, guards=(*column.guards, (off, False)))

    def _formulas(self, value: Formula, settings: Settings) -> list[tuple[Formula, float]]:
        basis = self._basis_formulas(value)
        if self.function == "log" and not settings.standardise:
            return [(basis[0], float(self.centre[0]))]
        centred = [less(one, float(c)) for one, c in zip(basis, self.centre, strict=True)]
        return [(_sum(centred, weights), 0.0) for weights in np.asarray(self.mixing).T.tolist()]

    def _basis_formulas(self, value: Formula) -> list[Formula]:
        """The functions of :meth:`_basis` as formulas."""
        if self.function == "log":
            return [Function("log1p" if self.zeros else "log", value)]
        z = divided(less(value, self.mean), self.scale)
        if self.function == "polynomial":
            return [z, *(Power(z, k) for k in range(2, self.degree + 1))]
        knots = ((np.asarray(self.knots) - self.mean) / self.scale).tolist()
        cubes = [
            Where(Compare("<=", z, Constant(knot)), ZERO, Power(less(z, knot), 3)) for knot in knots
        ]
        last, before = knots[-1], knots[-2]
        own: list[Formula] = [z]
        for cube, knot in zip(cubes[:-2], knots, strict=False):
            ends = _sum(cubes[-2:], [last - knot, knot - before])
            own.append(Arithmetic("-", cube, divided(ends, last - before)))
        return own

    @property
    def knot(self) -> float:
        """A value at which every function is defined."""
        return 1.0 if self.function == "log" else self.mean

    @staticmethod
    def store(encodings: Sequence[Any], arrays: Arrays, settings: Settings) -> Entries:
        own: Arrays = {}
        entries = Number.store(encodings, own, settings)
        arrays.update({f"curves.{name}": values for name, values in own.items()})
        for j, one in enumerate(encodings):
            for part in ("knots", "centre", "mixing"):
                values = np.asarray(getattr(one, part), dtype=np.float64)
                arrays[f"curves.{j}.{part}"] = values.ravel()
        return [
            {**entry, "function": one.function, "degree": one.degree, "zeros": one.zeros}
            for entry, one in zip(entries, encodings, strict=True)
        ]

    @classmethod
    def load(cls, entries: Entries, arrays: Arrays) -> list[Number]:
        own = {f"numbers.{part}": arrays[f"curves.numbers.{part}"] for part in ("mean", "scale")}
        loaded: list[Number] = []
        for j, (entry, plain) in enumerate(zip(entries, Number.load(entries, own), strict=True)):
            degree = int(entry["degree"])
            knots, centre, mixing = (
                np.asarray(arrays[f"curves.{j}.{part}"], dtype=np.float64)
                for part in ("knots", "centre", "mixing")
            )
            loaded.append(
                cls(
                    **vars(plain),
                    function=str(entry["function"]),
                    degree=degree,
                    zeros=bool(entry["zeros"]),
                    knots=knots,
                    centre=centre,
                    mixing=mixing.reshape(degree, degree),
                )
            )
        return loaded

    def require_sound(self) -> None:
        super().require_sound()
        knots = np.asarray(self.knots)
        whole = {"log": 0, "polynomial": 0, "spline": self.degree + 1}.get(self.function)
        finite = all(np.isfinite(part).all() for part in (knots, self.centre, self.mixing))
        if (
            whole is None
            or len(knots) != whole
            or len(self.centre) != self.degree
            or (self.function == "log" and self.degree != 1)
            or not (self.with_value and self.scale > 0.0 and finite and (np.diff(knots) > 0).all())
            or not (np.diag(self.mixing) > 0.0).all()
        ):
            raise damaged(f"the curve of column {quote(self.name)}")


def _sum(numbers: Sequence[Formula], weights: Sequence[float]) -> Formula:
    """Products with weights, added from left to right; those of weight 0 are left out."""
    terms = [
        Arithmetic("*", number, Constant(weight))
        for number, weight in zip(numbers, weights, strict=True)
        if weight
    ]
    return reduce(partial(Arithmetic, "+"), terms)
