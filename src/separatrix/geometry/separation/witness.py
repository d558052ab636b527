"""Witnesses: statements about labelled points that anyone can check in exact arithmetic.

Notation: ``x_i`` are the points, ``y_i`` is +1 for the positive side and -1 for the negative
one.  Every float is a rational number, so each statement below is true or false of the numbers
as they are stored, and is checked with integers alone (:mod:`separatrix.geometry.exact.products`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from separatrix.data.labels import plain_label
from separatrix.geometry.exact.deadline import NO_DEADLINE
from separatrix.geometry.exact.products import combination, product_signs
from separatrix.geometry.exact.rational import dependency, independent, whole_numbers
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.geometry.points import Cloud, LabelledPoints, labelled_points
from separatrix.messages import Column, Joined, Message, Row


@dataclass(frozen=True)
class Proof:
    """Whether a witness holds, and why: true in a condition if and only if it does.

    Attributes
    ----------
    holds : bool
    reason : str
        One sentence: what was proved, or the first thing that is wrong, by row.
    """

    holds: bool
    reason: str

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        return self.reason


@dataclass(frozen=True)
class Sides:
    """The labels that a statement is about.

    Attributes
    ----------
    negative, positive : object
        The labels; rows of other classes are left out.
    against_rest : bool
        Whether every label but ``positive`` is on the negative side; ``negative`` is then None.
    """

    negative: Any
    positive: Any
    against_rest: bool = False

    def __post_init__(self) -> None:
        if self.against_rest != (self.negative is None) or self.negative == self.positive:
            raise ValueError(
                f"{self.negative!r} and {self.positive!r} are not two different sides."
            )

    def __str__(self) -> str:
        if self.against_rest:
            return f"{self.positive!r} and the rest"
        return f"{self.negative!r} and {self.positive!r}"

    def cloud(self, points: LabelledPoints, lifted: bool) -> tuple[Cloud, np.ndarray | None]:
        """The signed points, and which rows of all they are (None: all of them)."""
        classes = points.labels.classes
        known = {plain_label(c): k for k, c in enumerate(classes)}
        for label in [self.positive] if self.against_rest else [self.positive, self.negative]:
            if label not in known:
                raise ValueError(
                    f"the labels have no class {label!r}; they are "
                    f"{', '.join(repr(c) for c in known)}."
                )
        codes = points.labels.codes
        y = np.where(codes == known[self.positive], 1.0, -1.0)
        if self.against_rest or len(known) == 2:
            return Cloud(points.design, y, lifted), None
        rows = np.flatnonzero((codes == known[self.positive]) | (codes == known[self.negative]))
        return Cloud(points.design.take(rows), y[rows], lifted), rows


def _points(X: Any, y: Any) -> LabelledPoints:
    return X if isinstance(X, LabelledPoints) else labelled_points(X, y)


@dataclass(frozen=True)
class HyperplaneWitness:
    r"""A hyperplane with every point on its own side, or none on the wrong one.

    Attributes
    ----------
    w : tuple of Fraction, of length n_features
    b : Fraction
        0 through the origin.
    sides : Sides
    fit_intercept : bool
    strict : bool
        True: every :math:`y_i (w \cdot x_i + b) > 0`.  False: every one :math:`\ge 0`, and not
        all zero.
    separated : tuple of int
        Where not strict: the rows that are strictly on their side.
    columns : tuple of int
        Where not strict: the columns whose weight is not zero.
    """

    w: tuple[Fraction, ...] = field(repr=False)
    b: Fraction
    sides: Sides
    fit_intercept: bool
    strict: bool
    separated: tuple[int, ...] = field(default=(), repr=False)
    columns: tuple[int, ...] = ()

    @property
    def hyperplane(self) -> Hyperplane:
        """The hyperplane in floats, suitably scaled; rounding may cost it its strictness."""
        largest = max((abs(v) for v in (*self.w, self.b)), default=Fraction(0))
        size = largest if largest > 0 else Fraction(1)
        # Floats stay as they are.
        scale = 1 if Fraction(1, 10**100) < size < 10**100 else 1 / size
        return Hyperplane(np.array([float(v * scale) for v in self.w]), float(self.b * scale))

    def check(self, X: Any, y: Any = None) -> Proof:
        """Prove the statement again, in integer arithmetic.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        Proof
            True in a condition if and only if the statement holds.
        """
        points = _points(X, y)
        if len(self.w) != points.design.n_features:
            return Proof(
                False,
                f"the hyperplane has {len(self.w)} weights and the points have "
                f"{points.design.n_features} columns",
            )
        if self.b and not self.fit_intercept:
            return Proof(False, "the hyperplane does not pass through the origin")
        used = () if self.strict else tuple(j for j, v in enumerate(self.w) if v)
        if self.columns != used or (self.strict and self.separated):
            return Proof(
                False, "the columns of the witness are not those with weights other than zero"
            )
        cloud, rows = self.sides.cloud(points, lifted=True)
        signs, values = self.signs(cloud)
        wrong = np.flatnonzero(signs <= 0 if self.strict else signs < 0)
        if len(wrong):
            i = int(wrong[0])
            row = i if rows is None else int(rows[i])
            where = "on the plane" if signs[i] == 0 else f"on the wrong side ({values[i]:.6g})"
            return Proof(
                False,
                Message(
                    "row_in_the_way", row=Row(row), where=where, wrong=len(wrong), total=cloud.n
                ),
            )
        if not np.any(signs > 0):
            return Proof(False, "every row is on the plane")
        if self.strict:
            return Proof(
                True, f"all {cloud.n:,} rows are strictly on their own side of the hyperplane"
            )
        on_side = np.flatnonzero(signs > 0)
        on_side = on_side if rows is None else rows[on_side]
        if tuple(on_side.tolist()) != self.separated:
            return Proof(False, "the rows strictly on their side are not those of the witness")
        return Proof(
            True,
            f"no row is on the wrong side of the hyperplane, and {len(on_side):,} of {cloud.n:,} "
            "are strictly on their own side",
        )

    def signs(self, cloud: Cloud) -> tuple[np.ndarray, np.ndarray]:
        """Exact signs of ``y (w.x + b)``, and the numbers themselves rounded."""
        scale = math.lcm(self.b.denominator, *(v.denominator for v in self.w))
        if scale & (scale - 1) == 0:
            scale = 1
        w = [v * scale for v in self.w]
        signs, values = product_signs(cloud.design, cloud.y, w, self.b * scale)
        return signs, values / float(scale) if scale < 2**1000 else values

    def to_dict(self) -> dict[str, Any]:
        """JSON-able, with every number exact: see :func:`number_to_text`."""
        return {
            "kind": "hyperplane",
            "strict": self.strict,
            "w": [number_to_text(v) for v in self.w],
            "b": number_to_text(self.b),
            "separated": list(self.separated),
            "columns": list(self.columns),
        }


@dataclass(frozen=True)
class MultiplierWitness:
    r"""Multipliers that no hyperplane survives: a point that both convex hulls share.

    With :math:`\alpha_i \ge 0`, not all zero, :math:`\sum \alpha_i y_i x_i = 0` and, for
    hyperplanes with an offset, :math:`\sum \alpha_i y_i = 0`, a strictly separating hyperplane
    would give :math:`0 < \sum \alpha_i y_i (w\cdot x_i + b) = 0` (Gordan, 1873).

    Attributes
    ----------
    rows : tuple of int
        At most ``n_features + 2`` rows (Carathéodory, 1907); one fewer through the origin.
    multipliers : tuple of Fraction
        Positive multipliers, one a row, with sum 1.
    sides : Sides
    fit_intercept : bool
    overlap : bool
        It also proves that there is no hyperplane with every point on its side or on the
        plane, except one that all points lie on.  Where ``extra_rows`` is empty, because the
        rows span the whole space; otherwise because **all** points with weight one, and those
        of ``extra_rows`` with their multipliers on top, add up to zero as well (Stiemke, 1915).
    extra_rows : tuple of int
    extra_multipliers : tuple of Fraction
    """

    rows: tuple[int, ...]
    multipliers: tuple[Fraction, ...]
    sides: Sides
    fit_intercept: bool
    overlap: bool = False
    extra_rows: tuple[int, ...] = ()
    extra_multipliers: tuple[Fraction, ...] = ()

    def check(self, X: Any, y: Any = None) -> Proof:
        """Prove the statement again, in integer arithmetic.

        It holds for multipliers of any sum, as long as none is negative and not all are zero.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        Proof
            True in a condition if and only if the statement holds.
        """
        points = _points(X, y)
        cloud, kept = self.sides.cloud(points, lifted=self.fit_intercept)
        place = None if kept is None else {int(row): i for i, row in enumerate(kept)}
        for rows, multipliers in (
            (self.rows, self.multipliers),
            (self.extra_rows, self.extra_multipliers),
        ):
            if len(rows) != len(multipliers) or len(set(rows)) != len(rows):
                return Proof(False, "the number of multipliers is not the number of rows")
            for row, multiplier in zip(rows, multipliers, strict=True):
                if not 0 <= row < points.design.n_samples:
                    return Proof(False, Message("no_such_row", row=Row(row)))
                if place is not None and row not in place:
                    return Proof(False, Message("row_of_neither_class", row=Row(row)))
                if multiplier < 0:
                    return Proof(False, Message("negative_multiplier", row=Row(row)))
        if not any(v > 0 for v in self.multipliers):
            return Proof(False, "all multipliers are zero")
        index = [row if place is None else place[row] for row in self.rows]
        off = _nonzero(signed_sum(cloud, index, self.multipliers), points)
        if off is not None:
            return Proof(False, Message("weighted_rows_not_zero", **off))
        count = f"{len(self.rows)} rows"
        proved = (
            f"a point common to the convex hulls of the two classes, from {count}"
            if self.fit_intercept
            else f"{count} whose weighted sum, each with its sign, is zero"
        )
        if not self.overlap:
            return Proof(True, proved)
        extra = [row if place is None else place[row] for row in self.extra_rows]
        reason = self._overlap(cloud, index, extra, points)
        if reason:
            return Proof(False, reason)
        return Proof(True, f"{proved}; and no hyperplane has all points on their own sides")

    def _overlap(
        self, cloud: Cloud, index: list[int], extra: list[int], points: LabelledPoints
    ) -> str:
        if not extra:
            kept = [i for i, v in zip(index, self.multipliers, strict=True) if v > 0]
            block, _ = whole_numbers(cloud.signed(np.array(kept, dtype=np.int64)))
            if len(independent(block)[0]) == cloud.dimension:
                return ""
            # All points with weight one add up to zero by themselves, or nothing is proved.
        total = signed_total(cloud)
        more = signed_sum(cloud, extra, self.extra_multipliers)
        off = _nonzero([a + b for a, b in zip(total, more, strict=True)], points)
        return "" if off is None else Message("all_rows_not_zero", **off)

    def to_dict(self) -> dict[str, Any]:
        """JSON-able, with every number exact: see :func:`number_to_text`."""
        return {
            "kind": "multipliers",
            "rows": list(self.rows),
            "multipliers": [number_to_text(v) for v in self.multipliers],
            "overlap": self.overlap,
            "extra_rows": list(self.extra_rows),
            "extra_multipliers": [number_to_text(v) for v in self.extra_multipliers],
        }


def multiplier_witness(
    multipliers: dict[int, Fraction],
    sides: Sides,
    fit_intercept: bool,
    numbers: np.ndarray | None = None,
    *,
    overlap: bool = False,
    extra: dict[int, Fraction] | None = None,
) -> MultiplierWitness:
    """The witness of multipliers by row, scaled to the sum 1; ``numbers`` are those of the rows."""
    whole, extra = sum(multipliers.values(), Fraction(0)), extra or {}

    def numbered(rows: list[int]) -> tuple[int, ...]:
        return tuple(i if numbers is None else int(numbers[i]) for i in rows)

    used, added = sorted(multipliers), sorted(extra)
    return MultiplierWitness(
        rows=numbered(used),
        multipliers=tuple(multipliers[i] / whole for i in used),
        sides=sides,
        fit_intercept=fit_intercept,
        overlap=overlap,
        extra_rows=numbered(added),
        extra_multipliers=tuple(extra[i] for i in added),
    )


def signed_sum(
    cloud: Cloud, index: Sequence[int], multipliers: Sequence[Fraction]
) -> list[Fraction]:
    """``sum alpha_i z_i`` exactly, with the lifted coordinate last where there is one."""
    rows = np.array(index, dtype=np.int64)
    signed = [v if cloud.y[i] > 0 else -v for i, v in zip(index, multipliers, strict=True)]
    out = combination(cloud.design, rows, signed)
    return [*out, sum(signed, Fraction(0))] if cloud.lifted else out


def exact_multipliers(
    cloud: Cloud, rows: np.ndarray, deadline: Callable[[], None] = NO_DEADLINE
) -> dict[int, Fraction] | None:
    """Multipliers >= 0 of a few rows with the sum zero, exactly; None if none are found.

    Only one dependence is tried: that of the first row that depends on the rows before it.
    """
    if not 0 < len(rows) <= cloud.dimension + 1:
        return None
    block, _ = whole_numbers(cloud.signed(rows))
    relation = dependency(block, deadline)
    if relation is None or (np.any(relation < 0) and np.any(relation > 0)):
        return None
    return {int(i): Fraction(abs(int(v))) for i, v in zip(rows, relation, strict=True) if v}


def signed_total(cloud: Cloud) -> list[Fraction]:
    """The sum of all ``z_i``, exactly."""
    out = combination(cloud.design, np.arange(cloud.n), cloud.y.astype(np.float64))
    return [*out, Fraction(int(cloud.y.sum()))] if cloud.lifted else out


def _nonzero(sums: list[Fraction], points: LabelledPoints) -> dict[str, Any] | None:
    """The place of the first sum that is not zero, and its value."""
    for j, v in enumerate(sums):
        if v:
            where: Any = "the constant 1"
            if j < points.design.n_features:
                name = str(j) if points.names is None else repr(points.names[j])
                where = Joined((Column(j, name),), before="column ")
            return {"where": where, "value": _shown(v)}
    return None


def _shown(value: Fraction) -> str:
    try:
        return f"{float(value):.6g}"
    except OverflowError:
        return f"about {'-' if value < 0 else ''}2^{(abs(value) // 1).bit_length()}"


# Beyond this many bits decimal digits are long, and Python refuses to convert them.
_DECIMAL_BITS = 4000


def number_to_text(value: Fraction) -> str:
    """A rational as exact text: ``5``, ``3/7``, ``0x1.8p-3`` for a float; long ones in base 16."""
    if value.denominator == 1 and abs(value.numerator) < 2**53:
        return str(value.numerator)
    try:
        rounded = float(value)
    except OverflowError:
        rounded = math.inf
    if math.isfinite(rounded) and Fraction(rounded) == value:
        return rounded.hex()
    parts = (value.numerator, value.denominator)
    long = max(v.bit_length() for v in parts) > _DECIMAL_BITS
    return "/".join(f"{v:#x}" if long else str(v) for v in parts)


def number_from_text(text: Any) -> Fraction:
    """The inverse of :func:`number_to_text`; ValueError for anything else."""
    if not isinstance(text, str):
        raise ValueError(f"{text!r} is not an exact number")
    if "p" in text:
        try:
            return Fraction(float.fromhex(text))
        except OverflowError as error:
            raise ValueError(f"{text!r} is beyond the range of floats") from error
    numerator, slash, denominator = text.partition("/")
    try:
        return Fraction(int(numerator, 0), int(denominator, 0) if slash else 1)
    except ZeroDivisionError as error:
        raise ValueError(f"{text!r} is not an exact number") from error


def witness_from_dict(
    record: dict[str, Any], sides: Sides, fit_intercept: bool
) -> HyperplaneWitness | MultiplierWitness:
    """A witness from its JSON-able form."""
    if record["kind"] == "hyperplane":
        return HyperplaneWitness(
            w=tuple(number_from_text(v) for v in record["w"]),
            b=number_from_text(record["b"]),
            sides=sides,
            fit_intercept=fit_intercept,
            strict=plain_flag(record["strict"]),
            separated=tuple(plain_count(i) for i in record["separated"]),
            columns=tuple(plain_count(j) for j in record["columns"]),
        )
    if record["kind"] == "multipliers":
        return MultiplierWitness(
            rows=tuple(plain_count(i) for i in record["rows"]),
            multipliers=tuple(number_from_text(v) for v in record["multipliers"]),
            sides=sides,
            fit_intercept=fit_intercept,
            overlap=plain_flag(record["overlap"]),
            extra_rows=tuple(plain_count(i) for i in record["extra_rows"]),
            extra_multipliers=tuple(number_from_text(v) for v in record["extra_multipliers"]),
        )
    raise ValueError(f"there is no witness of the kind {record['kind']!r}")


def plain_flag(value: Any) -> bool:
    """A boolean of a JSON document, and nothing that merely looks like one."""
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is neither true nor false")
    return value


def plain_count(value: Any) -> int:
    """A whole number >= 0 of a JSON document."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is not a whole number")
    return value
