"""The certificate that every fit carries.

For an iterative fit it is the objective, a lower bound and the gap between them; for a closed form
it is how well its linear equations hold, and how ill-conditioned they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from typing import Any

from separatrix.messages import PYTHON, TEMPLATES, Column, Message, OpenField, counted, plural
from separatrix.messages.markup import facts_html, paragraphs_html

#: The statuses of fits that have no finite optimum, which no tighter fit could reach.
NO_OPTIMUM = ("separable", "quasi_separable", "unattained")

_STOPS = [code.removeprefix("cause.") for code in TEMPLATES if code.startswith("cause.")]

#: The meaning of each way of stopping, and the advice on it.  ``{tol}`` is filled in.
REMEDIES: dict[str, str] = {
    "optimal": "",
    **{
        status: "; ".join(
            PYTHON.fill(f"{part}.{status}", {"tol": OpenField("tol")})
            for part in ("cause", "advice")
        )
        for status in _STOPS
    },
}


class _Advised:
    """The meaning of a certificate's status, and the advice on it."""

    status: str
    tol: float

    def __reduce__(self) -> tuple[Any, ...]:
        # By position, and without values left at their default: a pickle repeats no names.
        known = fields(self)  # type: ignore[arg-type]
        values = [getattr(self, one.name) for one in known]
        while values and values[-1] == known[len(values) - 1].default:
            values.pop()
        return type(self), tuple(values)

    @property
    def cause(self) -> str:
        """The meaning of the status; empty where all is well."""
        return "" if self.status == "optimal" else Message(f"cause.{self.status}", tol=self.tol)

    @property
    def advice(self) -> str:
        """The advice on the status; empty where all is well."""
        if self.status == "optimal":
            return ""
        return Message(f"advice.{self.status}", tol=self.tol)

    @property
    def remedy(self) -> str:
        """The meaning of the status, and the advice on it; empty where all is well."""
        if self.status == "optimal":
            return ""
        return Message("remedy", cause=self.cause, advice=self.advice)

    @property
    def outcome(self) -> str:
        """The outcome of the fit, in one sentence without advice."""
        raise NotImplementedError

    @property
    def brief(self) -> str:
        """The status and how far from the best possible, in a few words."""
        raise NotImplementedError

    def facts(self) -> list[tuple[str, str]]:
        """Names and figures, each in words."""
        raise NotImplementedError

    def __repr__(self) -> str:
        # As short as tables of attributes leave whole.
        return f"<{self.brief}>"

    def _repr_html_(self) -> str:
        return facts_html(self.facts()) + paragraphs_html(filter(None, [str(self.remedy)]))

    def __str__(self) -> str:
        remedy = self.remedy
        if not remedy:
            return self.outcome
        # A string with a record: a warning of a certificate passes its content on as data.
        return Message("certificate", outcome=self.outcome, remedy=remedy)


def _number(value: float) -> str:
    if not math.isfinite(value):
        return str(value)
    if value == 0 or 1e-2 <= abs(value) < 1e9:
        return f"{value:,.2f}" if abs(value) >= 100 else f"{value:.5g}"
    return f"{value:.5g}"


def _mistakes(weight: float) -> str:
    """Training mistakes, or the sum of their weights where that is no whole number."""
    if float(weight).is_integer():
        return counted(int(weight), "training mistake")
    return f"training mistakes of weight {weight:,.6g}"


def _percent(fraction: float) -> str:
    value = 100 * fraction
    if not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    if value >= 1e-6:
        # Two significant digits are shown, however many decimals that takes, never an exponent.
        decimals = max(0, 1 - math.floor(math.log10(value)))
        return f"{value:.{decimals}f}"
    return f"{value:.1e}"


def _encoded(value: Any) -> Any:
    """The value as JSON can hold it: without infinities and NaN."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def relative_to(gap: float, primal: float) -> float:
    """A gap as a share of the objective; 0 where there is none, infinite beside a zero."""
    if gap == 0.0:
        return 0.0
    if not math.isfinite(gap) or primal == 0.0:
        return math.inf
    return gap / abs(primal)


def _column(value: Any) -> int | str | None:
    return value if value is None or isinstance(value, str) else int(value)


def _sum_towards(direction: float, values: list[float]) -> float:
    """The sum, rounded up or down."""
    total = math.fsum(values) if all(map(math.isfinite, values)) else sum(values)
    if math.isfinite(total) and math.fsum([*values, -total]) != 0.0:
        return math.nextafter(total, direction)
    return total


@dataclass(frozen=True, repr=False)
class Certificate(_Advised):
    r"""Proof of how far a returned point can be from the best possible.

    ``dual`` is a lower bound on the optimum of the stated objective, so the true optimum lies
    in ``[dual, primal]`` whatever the solver did.

    Attributes
    ----------
    primal : float
        The objective at the returned point, in float64.
    dual : float
        The best lower bound found (weak duality); ``-inf`` where there is none.
    gap : float
        ``primal - dual``, never negative.
    relative_gap : float
        ``gap / |primal|``, and 0 where there is no gap; ``tol`` refers to it.
    tol : float
        The requested accuracy: the largest ``relative_gap`` that counts as optimal.
    status : str
        ``"optimal"`` when ``relative_gap <= tol``, else why the fit stopped; the keys of
        ``REMEDIES`` list them all.
    n_iter : int
        Iterations, summed over the parts.
    seconds : float
        Wall-clock seconds.
    parts : tuple of Certificate
        The certificates of the binary problems, where the whole is a sum of several (one-vs-rest).
    column : int, str or None
        At ``"precision_limit"``, the column whose offset costs most digits: its number, or its
        name where the columns have names; where a kernel machine has no useful bound, the column
        whose scale drowns the others.  At ``"unattained"``, the column whose weight has no end.
    offset : float
        The number to subtract from that column; 0 where its scale is to blame.
    scale : float
        The factor of the figures where they are printed: where the strength of the penalty was
        given as ``lam`` or ``alpha``, the printed objective is the mean of the losses plus that
        strength times the penalty, and ``primal`` is this over ``scale``.

    Examples
    --------
    >>> from separatrix import Certificate
    >>> print(Certificate.of(primal=2.0, dual=1.999, tol=0.001, status="optimal", n_iter=3))
    optimal: objective 2, within 0.050 % of the best possible (certified gap 0.001),
    3 iterations, 0.00 s
    """

    primal: float
    dual: float
    gap: float
    relative_gap: float
    tol: float
    status: str
    n_iter: int
    seconds: float
    parts: tuple[Certificate, ...] = ()
    column: int | str | None = None
    offset: float = 0.0
    scale: float = 1.0

    def __reduce__(self) -> tuple[Any, ...]:
        # Without the figures that follow from the others, as most do.
        if type(self) is Certificate and self.status in REMEDIES:
            make: Any = _total if self.parts else _single
            values: tuple[Any, ...] = (self.tol, *self._own())
            if self.parts:
                values = (self.tol, self.seconds, *(v for p in self.parts for v in p._own()))
            plain = self if self.scale == 1.0 else self.in_units(1.0)
            if make(*values) == plain:
                return (make, values) if plain is self else (_in_units, (self.scale, *values))
        return super().__reduce__()

    def _own(self) -> tuple[Any, ...]:
        return self.primal, self.dual, self.status, self.n_iter, self.seconds

    @classmethod
    def of(
        cls,
        *,
        primal: float,
        dual: float,
        tol: float,
        status: str,
        n_iter: int = 0,
        seconds: float = 0.0,
        gap: float | None = None,
        parts: Iterable[Certificate] = (),
    ) -> Certificate:
        """Build one from its bounds; ``gap`` where it is known better than by subtraction."""
        if status not in REMEDIES:
            raise ValueError(f"status {status!r} is not one of {', '.join(REMEDIES)}")
        gap = max(primal - dual, 0.0) if gap is None else gap
        # Nothing is known where the arithmetic overflowed: never a gap of zero.
        if not math.isfinite(gap) or not math.isfinite(primal):
            gap = math.inf
        relative_gap = relative_to(gap, primal)
        return cls(
            primal=float(primal),
            dual=float(dual),
            gap=float(gap),
            relative_gap=float(relative_gap),
            tol=float(tol),
            status=status,
            n_iter=int(n_iter),
            seconds=float(seconds),
            parts=tuple(parts),
        )

    def in_units(self, scale: float) -> Certificate:
        """The same, printed as that of the objective times a number, with all of its parts."""
        parts = tuple(part.in_units(scale) for part in self.parts)
        return replace(self, parts=parts, scale=float(scale))

    def as_printed(self) -> Certificate:
        """The same, whose figures are the printed ones."""
        figures = {name: self.scale * getattr(self, name) for name in ("primal", "dual", "gap")}
        parts = tuple(part.as_printed() for part in self.parts)
        return replace(self, **figures, parts=parts, scale=1.0)

    @classmethod
    def total(cls, parts: Iterable[Certificate], *, tol: float, seconds: float) -> Certificate:
        """The certificate of a sum of independent problems: bounds and gaps add up."""
        parts = tuple(parts)
        # A bound of the sum needs a bound of every part; "optimal" is judged on the sum.
        primal = _sum_towards(math.inf, [p.primal for p in parts])
        dual = _sum_towards(-math.inf, [p.dual for p in parts])
        whole = cls.of(
            primal=primal,
            dual=dual,
            gap=max(_sum_towards(math.inf, [p.gap for p in parts]), primal - dual),
            tol=tol,
            status="optimal",
            n_iter=sum(p.n_iter for p in parts),
            seconds=seconds,
            parts=parts,
        )
        failed = [p.status for p in parts if p.status != "optimal"]
        unbounded = set(NO_OPTIMUM).intersection(failed)
        if unbounded or (failed and not whole.relative_gap <= tol):
            # The most drastic reason speaks for the whole.
            order: list[str] = list(REMEDIES)
            first = [s for s in ("interrupted", "non_finite", "separable") if s in failed]
            status = first[0] if first else max(failed, key=order.index)
            worst = max(parts, key=lambda p: (p.status == status, p.column is not None, p.gap))
            return replace(whole, status=status, column=worst.column, offset=worst.offset)
        return whole

    @property
    def advice(self) -> str:
        """The advice on the status; empty where all is well."""
        if self.status == "optimal" or self.column is None:
            return super().advice
        column = self.column
        named = Column(column, str(column)) if isinstance(column, int) else repr(column)
        if self.status == "unattained":
            return Message("advice.unattained_column", column=named)
        if self.offset == 0.0:
            return Message("advice.scale", column=named)
        return Message("advice.offset", column=named, offset=self.offset)

    @property
    def counts_mistakes(self) -> bool:
        """Whether the status is one of a perceptron, whose objective counts training mistakes."""
        return self.status in ("not_separated", "averaged")

    @property
    def bounds_share(self) -> bool:
        """Whether the gap is an informative share of the objective.

        A lower bound at or below zero is no share of it, nor is one that rounds to 100 %.
        """
        return self.relative_gap < 0.995

    @property
    def ok(self) -> bool:
        """Whether the point is certified to within ``tol``."""
        return self.status == "optimal"

    def __bool__(self) -> bool:
        """Whether the point is certified to within ``tol``: :attr:`ok`."""
        return self.ok

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able dictionary; infinities become the strings ``"inf"`` and ``"-inf"``."""
        record = {k: _encoded(v) for k, v in asdict(replace(self, parts=())).items()}
        if self.scale == 1.0:
            del record["scale"]
        record["parts"] = [part.to_dict() for part in self.parts]
        return record

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Certificate:
        """The inverse of :meth:`to_dict`."""
        floats = ("primal", "dual", "gap", "relative_gap", "tol", "seconds")
        values = {k: float(record[k]) for k in floats}
        return cls(
            **values,
            status=str(record["status"]),
            n_iter=int(record["n_iter"]),
            parts=tuple(cls.from_dict(p) for p in record.get("parts", ())),
            column=_column(record.get("column")),
            offset=float(record.get("offset", 0.0)),
            scale=float(record.get("scale", 1.0)),
        )

    def _printed(self, value: float) -> str:
        return _number(self.scale * value)

    @property
    def outcome(self) -> str:
        """The outcome of the fit, in one sentence without advice."""
        if self.counts_mistakes:
            return self.in_mistakes()
        gap = self.scale * self.gap
        if math.isfinite(self.gap) and not self.bounds_share:
            distance = f"lower bound {self._printed(self.dual)} (certified gap {gap:.2g})"
        elif math.isfinite(self.gap):
            distance = (
                f"within {_percent(self.relative_gap)} % of the best possible "
                f"(certified gap {gap:.2g})"
            )
        elif math.isfinite(self.dual):
            # Beside an objective that is infinite: beyond a constraint, or after an overflow.
            distance = f"lower bound {self._printed(self.dual)}"
        elif self.status == "indefinite":
            distance = "no lower bound"
        else:
            distance = "no lower bound yet"
        return (
            f"{self.status}: objective {self._printed(self.primal)}, {distance}, "
            f"{self._spent('iteration')}"
        )

    def in_mistakes(self) -> str:
        """The outcome of a fit whose objective is the weight of its training mistakes.

        Zero is the only lower bound of such an objective, so no gap is stated.
        """
        left = f"{_mistakes(self.primal)} left" if self.primal > 0 else "no training mistake"
        return f"{self.status}: {left}, {self._spent('pass')}"

    def _effort(self, noun: str = "") -> str:
        """The number of iterations or passes, for several problems the fewest and the most."""
        counts = [part.n_iter for part in self.parts] or [self.n_iter]
        problems = f"{len(counts)} problems" if len(counts) > 1 else ""
        if not any(counts):
            return problems
        fewest, most = min(counts), max(counts)
        spent = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
        spent += f" {plural(noun, most)}" if noun else ""
        return f"{spent} in each of {problems}" if problems else spent

    def _spent(self, noun: str) -> str:
        return ", ".join(filter(None, [self._effort(noun), f"{self.seconds:.2f} s"]))

    @property
    def brief(self) -> str:
        """The status and how far from the best possible, in a few words."""
        if self.counts_mistakes:
            return f"{self.status}, {_mistakes(self.primal)} left"
        if not math.isfinite(self.relative_gap):
            return f"{self.status}, no bound"
        if not self.bounds_share:
            return f"{self.status}, lower bound {self._printed(self.dual)}"
        return f"{self.status}, within {_percent(self.relative_gap)} %"

    def facts(self) -> list[tuple[str, str]]:
        """Names and figures, each in words."""
        known = math.isfinite(self.relative_gap)
        noun = "passes" if self.counts_mistakes else "iterations"
        return [
            ("status", self.status),
            ("objective", self._printed(self.primal)),
            ("lower bound", self._printed(self.dual) if known else "none"),
            ("certified gap", f"{self.scale * self.gap:.2g}" if known else "unknown"),
            (
                "distance from the best possible",
                f"at most {_percent(self.relative_gap)} %" if self.bounds_share else "unknown",
            ),
            *([(noun, self._effort())] if self.n_iter else []),
            ("seconds", f"{self.seconds:.2f}"),
        ]


# Digits of an interval that is wide, and of one whose ends are one number; and zeros that are
# written out.
_FEWEST_DIGITS = 5
_MOST_DIGITS = 40
_MOST_ZEROS = 20
# More than the relative errors of the roundings of a product and a quotient together.
_ROUNDED_STRENGTH = 2.0**-50


def _single(
    tol: float, primal: float, dual: float, status: str, n_iter: int, seconds: float
) -> Certificate | None:
    """A certificate of one problem, from its pickle; None for a status of another class."""
    if status not in REMEDIES:
        return None
    return Certificate.of(
        primal=primal, dual=dual, tol=tol, status=status, n_iter=n_iter, seconds=seconds
    )


def _in_units(scale: float, *values: Any) -> Certificate | None:
    """A certificate in other units, from its pickle; six values make a single one, more a total."""
    found = _single(*values) if len(values) == 6 else _total(*values)
    return None if found is None else found.in_units(scale)


def _total(tol: float, seconds: float, *values: Any) -> Certificate | None:
    """A certificate of several problems, from its pickle."""
    parts = [_single(tol, *values[i : i + 5]) for i in range(0, len(values), 5)]
    if None in parts:
        return None
    return Certificate.total([p for p in parts if p is not None], tol=tol, seconds=seconds)


def outward(value: Fraction | None, up: bool) -> float:
    """The nearest float64 number above or below; None is an infinity."""
    if value is None:
        return math.inf if up else -math.inf
    try:
        out = float(value)
    except OverflowError:
        # The largest float64 number is still below a number that is beyond it.
        beyond = math.inf if value > 0 else -math.inf
        return beyond if up == (value > 0) else math.nextafter(beyond, 0.0)
    if (Fraction(out) < value) if up else (Fraction(out) > value):
        out = math.nextafter(out, math.inf if up else -math.inf)
    return out


def _decimals(lower: Fraction | None, upper: Fraction | None) -> tuple[str, str]:
    """Decimal numbers below and above, two digits longer than it takes to distinguish them."""
    if lower is None or upper is None:
        known = lower if upper is None else upper
        place = _place(known) - 8 if known else 0
    elif lower < upper:
        place = min(_place(upper - lower) - 2, _place(max(upper, -lower)) - _FEWEST_DIGITS)
    else:
        place = _place(upper) - _MOST_DIGITS if upper else 0
    low = "-inf" if lower is None else _decimal(lower, place, up=False)
    high = "inf" if upper is None else _decimal(upper, place, up=True)
    return low, high


def _place(value: Fraction) -> int:
    """The power of ten of the first digit of a number that is not zero."""
    value = abs(value)
    guess = len(str(value.numerator)) - len(str(value.denominator))
    return guess if value >= Fraction(10) ** guess else guess - 1


def _decimal(value: Fraction, place: int, up: bool) -> str:
    """A number rounded to multiples of a power of ten, up or down."""
    units = value / Fraction(10) ** place
    count = (
        -((-units.numerator) // units.denominator) if up else units.numerator // units.denominator
    )
    if count == 0:
        return "0"
    sign, digits = "-" if count < 0 else "", str(abs(count))
    first = place + len(digits) - 1
    whole = digits.rstrip("0")
    place += len(digits) - len(whole)
    if first > _MOST_ZEROS or first < -_MOST_ZEROS:
        point = "." if len(whole) > 1 else ""
        return f"{sign}{whole[0]}{point}{whole[1:]}e{first:+d}"
    if place >= 0:
        return sign + whole + "0" * place
    padded = whole.rjust(1 - place, "0")
    return f"{sign}{padded[:place]}.{padded[place:]}"


@dataclass(frozen=True, repr=False)
class RigorousCertificate(Certificate):
    """Proof in exact arithmetic: no rounding is left to believe in.

    ``verify(..., rigorous=True)`` makes it.  ``primal`` is above the exact objective at the
    model's coefficients and ``dual`` below the exact optimum; both, and the gaps, are float64
    numbers that were rounded outward.

    Attributes
    ----------
    primal, dual, gap, relative_gap : float
        The figures, rounded outward: the true ones are no worse.
    tol, status, n_iter, seconds, parts, column, offset, scale
        See :class:`Certificate`.
    interval : tuple of str
        Decimal numbers between which the exact optimum lies, with as many digits as are proved;
        ``"-inf"`` and ``"inf"`` where nothing is.
    bits : int
        The precision of the balls in which exponentials and logarithms were enclosed.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from separatrix import RigorousCertificate
    >>> third = RigorousCertificate.enclosing(
    ...     Fraction(333333, 10**6), Fraction(1, 3), tol=1e-5, status="optimal")
    >>> third.interval, third.primal >= Fraction(1, 3)
    (('0.333333', '0.333333334'), True)
    """

    interval: tuple[str, str] = ("-inf", "inf")
    bits: int = 0

    @classmethod
    def enclosing(
        cls,
        lower: Fraction | None,
        upper: Fraction | None,
        *,
        tol: float,
        status: str,
        n_iter: int = 0,
        seconds: float = 0.0,
        bits: int = 0,
        parts: Iterable[Certificate] = (),
    ) -> RigorousCertificate:
        """Build one from fractions; None where there is no bound.

        Parameters
        ----------
        lower, upper : Fraction or None
            Numbers below the optimum, and above the objective.
        tol : float
        status : str
            The reason for the gap, where it is not within ``tol``.
        n_iter : int
        seconds : float
        bits : int
        parts : iterable of Certificate
        """
        if status not in REMEDIES:
            raise ValueError(f"status {status!r} is not one of {', '.join(REMEDIES)}")
        gap, relative = None, None
        if lower is not None and upper is not None:
            gap = max(upper - lower, Fraction(0))
            relative = gap / upper if upper > 0 else Fraction(0) if gap == 0 else None
        return cls(
            primal=outward(upper, up=True),
            dual=outward(lower, up=False),
            gap=outward(gap, up=True),
            relative_gap=outward(relative, up=True),
            tol=float(tol),
            status="optimal" if relative is not None and relative <= Fraction(tol) else status,
            n_iter=int(n_iter),
            seconds=float(seconds),
            parts=tuple(parts),
            interval=_decimals(lower, upper),
            bits=int(bits),
        )

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able dictionary; infinities become the strings ``"inf"`` and ``"-inf"``."""
        return {**super().to_dict(), "interval": list(self.interval)}

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> RigorousCertificate:
        """The inverse of :meth:`to_dict`."""
        plain = Certificate.from_dict({**record, "parts": ()})
        values = {field.name: getattr(plain, field.name) for field in fields(plain)}
        low, high = record["interval"]
        values["parts"] = tuple(cls.from_dict(part) for part in record.get("parts", ()))
        return cls(**values, interval=(str(low), str(high)), bits=int(record["bits"]))

    @property
    def _printed_interval(self) -> tuple[str, str]:
        """The interval times ``scale``, rounded outward.

        ``scale`` times the objective is the printed one, but for the rounding of ``1 / (lam n)``.
        """
        if self.scale == 1.0:
            return self.interval
        scale, slack = Fraction(self.scale), Fraction(_ROUNDED_STRENGTH)
        low, high = (None if "inf" in end else Fraction(end) * scale for end in self.interval)
        low = None if low is None else low - slack * abs(low)
        high = None if high is None else high + slack * abs(high)
        return _decimals(low, high)

    @property
    def outcome(self) -> str:
        """The proved outcome, in one sentence without advice."""
        low, high = self._printed_interval
        return f"{super().outcome}, in exact arithmetic: optimum in [{low}, {high}]"

    def facts(self) -> list[tuple[str, str]]:
        """Names and figures, each in words."""
        low, high = self._printed_interval
        return [*super().facts(), ("optimum, exactly", f"in [{low}, {high}]")]


@dataclass(frozen=True, repr=False)
class ResidualCertificate(_Advised):
    r"""Proof that the linear equations of a closed form hold at the returned numbers.

    Least squares is solved by the normal equations :math:`A^\top r = 0`: the residual
    :math:`r = y - A x` is orthogonal to every column.  A Gaussian classifier solves
    :math:`\Sigma W = M`.  The residual of the equations is evaluated in float64 at the returned
    point, from the data, whatever the method did.

    Attributes
    ----------
    equations : str
        The equations, as text.
    relative_residual : float
        The residual of the equations, relative to the size of their terms; ``ok`` is judged by it.
    orthogonality : float or None
        For least squares, :math:`\|A^\top r\| / (\|A\|\,\|r\|)` with the columns scaled to unit
        length; None for other equations.  Where the fit is exact, so that the residual is
        rounding and has no direction, it may be of any size and ``relative_residual`` is that
        of :math:`y = A x`.
    condition : float
        Condition number of the columns scaled to unit length (least squares), or of the
        correlations (Gaussians): relative errors in the data come back multiplied by it.
    rank : int
        The number of columns that are independent of one another.
    n_columns : int
        The number of columns.
    tol : float
        The tolerance that ``relative_residual`` has to reach.
    status : str
        ``"optimal"`` when it does, else the key of ``REMEDIES`` for the reason.
    n_iter : int
        Refinement steps.
    seconds : float
        Wall-clock seconds.
    parts : tuple of ResidualCertificate
        The certificates of the systems of equations, where there are several.

    Examples
    --------
    >>> from separatrix.certificate import ResidualCertificate
    >>> print(ResidualCertificate.of(equations="normal equations A'r = 0", condition=12.5, rank=3,
    ...                              n_columns=3, relative_residual=2e-16, orthogonality=2e-16))
    optimal: normal equations A'r = 0 hold to 2e-16 (tolerance 1e-10), condition number 12.5,
    0.00 s
    """

    equations: str
    relative_residual: float
    orthogonality: float | None
    condition: float
    rank: int
    n_columns: int
    tol: float
    status: str
    n_iter: int
    seconds: float
    parts: tuple[ResidualCertificate, ...] = ()

    @classmethod
    def of(
        cls,
        *,
        equations: str,
        relative_residual: float,
        condition: float,
        rank: int,
        n_columns: int,
        orthogonality: float | None = None,
        tol: float = 1e-10,
        status: str | None = None,
        n_iter: int = 0,
        seconds: float = 0.0,
        parts: Iterable[ResidualCertificate] = (),
    ) -> ResidualCertificate:
        """Build one; without ``status`` it follows from the residual."""
        if status is None:
            good = relative_residual <= tol
            status = "optimal" if good else "precision_limit"
            if not math.isfinite(relative_residual):
                status = "non_finite"
        if status not in REMEDIES:
            raise ValueError(f"status {status!r} is not one of {', '.join(REMEDIES)}")
        return cls(
            equations=equations,
            relative_residual=float(relative_residual),
            orthogonality=None if orthogonality is None else float(orthogonality),
            condition=float(condition),
            rank=int(rank),
            n_columns=int(n_columns),
            tol=float(tol),
            status=status,
            n_iter=int(n_iter),
            seconds=float(seconds),
            parts=tuple(parts),
        )

    @classmethod
    def total(
        cls, parts: Iterable[ResidualCertificate], *, equations: str, seconds: float
    ) -> ResidualCertificate:
        """The certificate of several systems: that of the worst of them."""
        parts = tuple(parts)
        failed = [p.status for p in parts if not p.ok]
        known = [p.orthogonality for p in parts if p.orthogonality is not None]
        # NaN, of arithmetic that overflowed, is worse than any number.
        worst = max(
            math.inf if math.isnan(p.relative_residual) else p.relative_residual for p in parts
        )
        return cls.of(
            equations=equations,
            relative_residual=worst,
            orthogonality=max(known) if known else None,
            condition=max(p.condition for p in parts),
            rank=min(p.rank for p in parts),
            n_columns=max(p.n_columns for p in parts),
            tol=max(p.tol for p in parts),
            status=failed[0] if failed else "optimal",
            n_iter=sum(p.n_iter for p in parts),
            seconds=seconds,
            parts=parts,
        )

    @property
    def ok(self) -> bool:
        """Whether the equations hold to within ``tol``."""
        return self.status == "optimal"

    def __bool__(self) -> bool:
        """Whether the equations hold to within ``tol``: :attr:`ok`."""
        return self.ok

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able dictionary; what is not finite becomes a string."""
        record = {k: _encoded(v) for k, v in asdict(replace(self, parts=())).items()}
        record["parts"] = [part.to_dict() for part in self.parts]
        return record

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> ResidualCertificate:
        """The inverse of :meth:`to_dict`."""
        floats = ("relative_residual", "condition", "tol", "seconds")
        values: dict[str, Any] = {k: float(record[k]) for k in floats}
        known = record["orthogonality"]
        values["orthogonality"] = None if known is None else float(known)
        values |= {k: int(record[k]) for k in ("rank", "n_columns", "n_iter")}
        return cls(
            **values,
            equations=str(record["equations"]),
            status=str(record["status"]),
            parts=tuple(cls.from_dict(p) for p in record.get("parts", ())),
        )

    @property
    def outcome(self) -> str:
        """The outcome: how well the equations hold, in one sentence without advice."""
        sentence = (
            f"{self.status}: {self.equations} hold to {self.relative_residual:.2g} (tolerance "
            f"{self.tol:g})"
        )
        if not math.isnan(self.condition):
            sentence += f", condition number {self.condition:.3g}"
        if self.rank < self.n_columns:
            sentence += f", {self.rank:,} of {self.n_columns:,} columns independent"
        return f"{sentence}, {self.seconds:.2f} s"

    @property
    def brief(self) -> str:
        """The status and how well the equations hold, in a few words."""
        return f"{self.status}, to {self.relative_residual:.2g}"

    def facts(self) -> list[tuple[str, str]]:
        """Names and figures, each in words."""
        facts = [
            ("status", self.status),
            ("equations", self.equations),
            ("relative residual", f"{self.relative_residual:.2g} (tolerance {self.tol:g})"),
        ]
        if not math.isnan(self.condition):
            facts.append(("condition number", f"{self.condition:.3g}"))
        if self.rank < self.n_columns:
            facts.append(("rank", f"{self.rank:,} of {self.n_columns:,} columns"))
        return [*facts, ("seconds", f"{self.seconds:.2f}")]


def no_better_than(relative: float, certificate: ResidualCertificate) -> ResidualCertificate:
    """The certificate, with a residual that is at least this."""
    if relative <= certificate.relative_residual:
        return certificate
    status = "optimal" if relative <= certificate.tol else "above_tol"
    return replace(certificate, relative_residual=relative, status=status)
