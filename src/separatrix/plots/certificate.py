"""Objective, lower bound and the gap between them, as a fit went on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedFormatter, FixedLocator, LogLocator, MaxNLocator, NullLocator

from separatrix.certificate import Certificate, ResidualCertificate
from separatrix.data.validation import check_choice, check_number
from separatrix.plots.display import Display, Looks
from separatrix.plots.fitted import last_step, traces_of
from separatrix.plots.points import (
    axes_row,
    one_axes,
    place_text,
    write_beside,
    write_legend,
    write_title,
)
from separatrix.plots.style import class_colours, class_markers, ink, line_dashes, muted, plain
from separatrix.solvers.trace import Trace

_AGAINST = ("iteration", "seconds")
# The largest number of curves that a legend names.
_NAMED = 10
_DASHED = line_dashes(2)[1]
# Points that are marked one by one.
_FEW = 30


@dataclass(frozen=True)
class Curve:
    """One run, as arrays.

    Attributes
    ----------
    name : str
        The name of the solver, or of the binary problem.
    iterations, seconds : ndarray of shape (n_checks,)
        The iteration and the time of each check; NaN where they are not known.
    primal : ndarray of shape (n_checks,)
        The objective at each check; infinite where a constraint was broken.
    dual : ndarray of shape (n_checks,)
        The best lower bound so far; minus infinity where there was none, NaN where none is known.
    gap : ndarray of shape (n_checks,)
        The best objective so far less the best bound so far, never negative.
    n_support, n_bounded : ndarray of shape (n_checks,), or of shape (0,)
        The numbers of support vectors, and of those at their upper bound, of a kernel machine.
    """

    name: str
    iterations: np.ndarray
    seconds: np.ndarray
    primal: np.ndarray
    dual: np.ndarray
    gap: np.ndarray
    n_support: np.ndarray
    n_bounded: np.ndarray

    @classmethod
    def of(cls, trace: Trace, name: str, certificate: Certificate | None = None) -> Curve:
        """The curve of a recorded fit.

        Parameters
        ----------
        trace : Trace
        name : str
        certificate : Certificate, optional
            The certificate of the fit.  Its gap is exact to the last digit, which the difference
            of two large numbers is not, so the gap of the last check is taken from it.
        """
        primal = np.asarray(trace.primal, dtype=np.float64)
        dual = np.asarray(trace.dual, dtype=np.float64)
        best = np.minimum.accumulate(primal)
        with np.errstate(invalid="ignore"):
            gap = np.maximum(best - dual, 0.0)
        gap[~np.isfinite(best) | ~np.isfinite(dual)] = np.inf
        if certificate is not None and len(gap) and np.isfinite(certificate.gap):
            gap[-1] = min(gap[-1], certificate.gap) if gap[-1] > 0 else certificate.gap
        when = [np.asarray(v, dtype=np.float64) for v in (trace.iterations, trace.seconds)]
        counts = [np.asarray(v, dtype=np.int64) for v in (trace.n_support, trace.n_bounded)]
        return cls(name, when[0], when[1], primal, dual, gap, counts[0], counts[1])

    @property
    def relative_gap(self) -> np.ndarray:
        """The relative gap, ``gap / |best objective so far|``, which ``tol`` refers to."""
        best = np.abs(np.minimum.accumulate(self.primal))
        with np.errstate(invalid="ignore", divide="ignore"):
            out = self.gap / np.maximum(best, 1e-300)
        return np.where(self.gap == 0.0, 0.0, np.where(np.isfinite(self.gap), out, np.inf))

    def against(self, what: str) -> np.ndarray:
        """The ``iterations`` or the ``seconds`` of the checks."""
        return self.iterations if what == "iteration" else self.seconds


@dataclass(kw_only=True, eq=False, repr=False)
class CertificateDisplay(Display):
    r"""The course of a fit to its certificate: objective, lower bound, and the gap between them.

    Above, the objective of each iterate and the best lower bound so far; the optimum lies between
    the best of both, in the tinted band.  Below, the certified relative gap, on a scale of powers
    of ten, with ``tol``, which it has to reach.  A gap of exactly 0 has no place on such a
    scale; it is on a floor of its own, marked 0.  For a machine with a kernel, the number of
    support vectors comes third.

    Several solvers are compared on one axis by :meth:`from_traces`: there each curve is
    :math:`P_k - D`, with ``D`` the best lower bound of all, so that no solver's own bound makes it
    look better or worse.

    Parameters
    ----------
    curves : sequence of Curve
    against : sequence of {"iteration", "seconds"}
    tol : float, optional
    title : str, default=""
    compared : bool, default=False
        Whether the curves are of several solvers of one problem, instead of the parts of one fit.
    dual : float, optional
        The lower bound that the objectives of several solvers are compared with.

    Attributes
    ----------
    axes_ : ndarray of Axes, shape (n_rows, n_columns)
        A column for iterations or seconds; the rows as above: two, or three for a machine with a
        kernel, unless two are given.
    ax_ : Axes
        The axes of the gap, or the only ones.
    figure_ : Figure
    primal_, dual_ : list of Line2D
        The lines of the objective and of the bound, column by column, one a part.
    band_ : list of PolyCollection
        The band between the two, one a column, for a fit in one part.
    gap_ : list of Line2D
        The lines of the gap, column by column, one a curve.
    tol_ : list of Line2D
    floor_ : float or None
        The height at which an exact 0 is drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from separatrix import LogisticRegression
    >>> from separatrix.plots import CertificateDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegression(record=True).fit(scale(X), y)
    >>> display = CertificateDisplay.from_estimator(model)
    >>> bool((display.curves[0].dual <= display.curves[0].primal[-1]).all())
    True
    """

    curves: Sequence[Curve]
    against: Sequence[str] = ("iteration",)
    tol: float | None = None
    title: str = ""
    compared: bool = False
    dual: float | None = None

    @classmethod
    def from_estimator(
        cls, model: Any, *, against: str = "iteration", ax: Any = None
    ) -> CertificateDisplay:
        """Draw the certificate of a fit over its iterations or over time.

        Parameters
        ----------
        model : estimator
            A model of this library, fitted with ``record=True``, or a pipeline that ends in one.
        against : {"iteration", "seconds", "both"}, default="iteration"
        ax : Axes or sequence of Axes, optional
            Row by row, see ``axes_``: two above one another, or twice as many for both.

        Returns
        -------
        CertificateDisplay

        Raises
        ------
        TypeError
            For a model that has no certificate.
        ValueError
            If nothing was recorded, the model is a closed form, ``against`` is not known, or the
            number of axes is wrong.
        """
        check_choice("against", against, [*_AGAINST, "both"])
        model = last_step(model)
        traces, certificate = _traces_of(model)
        parts: Sequence[Certificate | None] = certificate.parts or (certificate,)
        if len(parts) != len(traces):
            parts = [None] * len(traces)
        pairs = zip(traces, parts, strict=True)
        curves = [Curve.of(trace, trace.part, part) for trace, part in pairs]
        display = cls(
            curves=curves,
            against=_AGAINST if against == "both" else (against,),
            tol=certificate.tol,
            title=_title(model, certificate),
        )
        return display.plot(ax=ax)

    @classmethod
    def from_traces(
        cls,
        traces: Mapping[str, Any],
        *,
        against: str = "seconds",
        dual: float | None = None,
        ax: Axes | None = None,
    ) -> CertificateDisplay:
        r"""Draw how far several solvers of *one* problem are from the optimum, on one axis.

        The curves are :math:`(P_k - D) / |D|` where ``D`` is the best lower bound of all, or
        ``dual``: an upper bound of the relative suboptimality of every iterate.  Where the best
        bound is 0 it is the difference itself.

        Parameters
        ----------
        traces : dict
            The runs by name: a model fitted with ``record=True``, its ``Trace``, or a pair of
            arrays ``(seconds, objective)`` of another library (with ``against="iteration"`` a
            pair ``(iterations, objective)``).  The caller has to see to it that all have the same
            objective, with the same factors.
        against : {"seconds", "iteration"}, default="seconds"
        dual : float, optional
            A lower bound that is better than those of the runs, or the optimum, if it is known.
        ax : Axes, optional

        Returns
        -------
        CertificateDisplay

        Raises
        ------
        TypeError
            If ``traces`` is not a dict, or a value is none of the three.
        ValueError
            If there is nothing to draw, no bound is known, a bound is above an objective, a pair
            does not fit together, or a fit is of several problems.
        """
        check_choice("against", against, _AGAINST)
        if not isinstance(traces, Mapping):
            raise TypeError(
                f"traces must be a dict of runs by name; it is a {type(traces).__name__}."
            )
        if not traces:
            raise ValueError("traces is empty; name at least one run.")
        curves = [_curve_of(name, value, against) for name, value in traces.items()]
        if dual is None:
            bounds = [c.dual[np.isfinite(c.dual)].max(initial=-np.inf) for c in curves]
            dual = float(max(bounds))
            if dual == -np.inf:
                raise ValueError(
                    "No run has a lower bound for the comparison; give dual=, or add a recorded "
                    "fit of this library on the same objective."
                )
        else:
            check_number("dual", dual)
        display = cls(curves=curves, against=(against,), compared=True, dual=dual)
        for curve in curves:
            lowest = curve.primal[np.isfinite(curve.primal)].min(initial=np.inf)
            if lowest < dual - 1e-9 * max(abs(dual), abs(float(lowest))):
                raise ValueError(
                    f"{curve.name!r} reaches {lowest:.8g}, which is below the lower bound "
                    f"{dual:.8g}: the runs do not have the same objective."
                )
        return display.plot(ax=ax)

    # --- drawing ----------------------------------------------------------------------------

    @property
    def suboptimality(self) -> list[np.ndarray]:
        """The suboptimality of each solver: ``(primal - dual) / |dual|``, absolute at dual 0."""
        assert self.dual is not None
        scale = abs(self.dual) or 1.0
        return [np.maximum(curve.primal - self.dual, 0.0) / scale for curve in self.curves]

    def plot(self, ax: Any = None) -> CertificateDisplay:
        """Draw.

        Parameters
        ----------
        ax : Axes or sequence of Axes, optional

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For another number of axes.
        """
        self.primal_: list[Line2D] = []
        self.dual_: list[Line2D] = []
        self.band_: list[PolyCollection] = []
        self.gap_: list[Line2D] = []
        self.tol_: list[Line2D] = []
        self.floor_: float | None = None
        if self.compared:
            self._begin([[one_axes(ax, figsize=(6.4, 4.4))]])
            self._draw_compared(self.ax_)
            return self
        columns, several = len(self.against), len(self.curves) > 1
        rows = [self._draw_parts if several else self._draw_bounds, self._draw_gap]
        machine = not several and len(self.curves[0].n_support) > 0
        if machine and (ax is None or np.size(np.asarray(ax, dtype=object)) == 3 * columns):
            rows.append(self._draw_support)
        panel = (5.6, 3.1 if several else 2.7)
        flat = axes_row(ax, len(rows) * columns, columns=columns, panel=panel, sharex="col")
        self._begin(flat.reshape(len(rows), columns), main=columns)
        for (i, j), axes in np.ndenumerate(self.axes_):
            what = self.against[j]
            rows[i](axes, what)
            if i == len(rows) - 1:
                _horizontal(axes, what, [c.against(what) for c in self.curves])
            elif ax is None:
                axes.tick_params(labelbottom=False)
            if j:
                axes.set_ylabel("")
        write_title(self.axes_[0, 0], self.title)
        return self

    def _plot_bounds(self, ax: Axes, curve: Curve, what: str, looks: list[dict[str, Any]]) -> Any:
        """Objective and bound, each with its looks; the limits that show what matters of both."""
        values = _finite(curve.primal), _finite(curve.dual)
        for kept, own, style in zip((self.primal_, self.dual_), values, looks, strict=True):
            kept += ax.plot(curve.against(what), own, **style)
        ax.set_ylabel("objective")
        return _window(*values)

    def _draw_bounds(self, ax: Axes, what: str) -> None:
        curve = self.curves[0]
        x, best = curve.against(what), np.minimum.accumulate(curve.primal)
        known = np.isfinite(best) & np.isfinite(curve.dual)
        best = np.where(known, best, np.nan)
        tint: Looks = {"color": muted(), "alpha": 0.18, "lw": 0}
        self.band_.append(ax.fill_between(x, _finite(curve.dual), best, where=known, **tint))
        below, above = class_colours(2)
        own = {"color": above, "label": "objective", "zorder": 2.2, "lw": 1.8}
        bound = {"color": below, "label": "lower bound", "ls": _DASHED, "lw": 1.8}
        looks = [{**own, **_points(len(x), 0)}, {**bound, **_points(len(x), 1)}]
        low, high = self._plot_bounds(ax, curve, what, looks)
        ax.set_ylim(low, high)
        ax.legend(loc="best")
        notes = []
        for values, missing in ((curve.dual, "lower bound"), (curve.primal, "feasible point")):
            first = np.flatnonzero(np.isfinite(values))
            if len(first) < len(values):
                since = f"before iteration {curve.iterations[first[0]]:,.0f}" if len(first) else ""
                notes.append(f"no {missing} {since or 'yet'}")
        highest = np.nanmax(_finite(curve.primal), initial=-np.inf)
        if highest > high or np.nanmin(_finite(curve.dual), initial=np.inf) < low:
            notes.append("larger values are cut off")
        _note(ax, notes)

    def _draw_parts(self, ax: Axes, what: str) -> None:
        width = 1.6 if len(self.curves) <= _NAMED else 0.9
        looks: list[dict[str, Any]] = [{"lw": width}, {"lw": width, "ls": _DASHED}]
        windows = [
            self._plot_bounds(ax, curve, what, [{"color": colour, **look} for look in looks])
            for curve, colour in zip(self.curves, class_colours(len(self.curves)), strict=True)
        ]
        lows, highs = zip(*windows, strict=True)
        ax.set_ylim(min(lows), max(highs))
        names = ("objective", "lower bound")
        keys = [
            Line2D([], [], color=muted(), label=name, **look)
            for name, look in zip(names, looks, strict=True)
        ]
        ax.legend(handles=keys, loc="best")

    def _draw_falling(
        self,
        ax: Axes,
        what: str,
        values: list[np.ndarray],
        colours: list[str],
        *,
        letters: int,
        tol: float | None = None,
        faint: bool = False,
    ) -> None:
        """One line a curve on a logarithmic axis, whose lowest tick is 0 where a value is 0."""
        floor = _floor([*values, np.array([tol or np.nan])])
        zero = any(bool((value == 0.0).any()) for value in values)
        dashes = line_dashes(len(self.curves))
        style: Looks = {"lw": 1.0 if faint else 1.8, "clip_on": False, "zorder": 3}
        for k, (curve, value) in enumerate(zip(self.curves, values, strict=True)):
            style |= {"marker": ""} if faint else _points(len(value), k)
            style |= {"color": colours[k], "ls": dashes[k], "label": plain(curve.name, letters)}
            height = np.where(value == 0.0, floor, _finite(value))
            self.gap_ += ax.plot(curve.against(what), height, **style)
        if zero:
            self.floor_ = floor
        tops = np.concatenate([v[np.isfinite(v) & (v > 0)] for v in values])
        _logarithmic(ax, floor, float(tops.max(initial=tol or floor * 100)), zero)

    def _draw_gap(self, ax: Axes, what: str) -> None:
        values = [curve.relative_gap for curve in self.curves]
        several, named = len(self.curves) > 1, len(self.curves) <= _NAMED
        colours = class_colours(len(self.curves)) if several else [ink()]
        self._draw_falling(ax, what, values, colours, letters=24, tol=self.tol, faint=not named)
        if self.tol:  # a tolerance of zero has no place on a scale of powers of ten
            self.tol_.append(ax.axhline(self.tol, color=muted(), ls="--", lw=1.2, zorder=1.5))
            looks = {"xycoords": ax.get_yaxis_transform(), "color": muted()}
            write_beside(ax, f"tol = {self.tol:g}", (0.0, self.tol), (4, 3), **looks)
        ax.set_ylabel("certified relative gap")
        if several and named:
            ax.legend(loc="best", ncols=1 if len(self.curves) <= 5 else 2)
        _note(ax, _missing(values, self.curves))

    def _draw_support(self, ax: Axes, what: str) -> None:
        curve = self.curves[0]
        x = curve.against(what)
        for values, name, colour, dashes, marker in (
            (curve.n_support, "support vectors", class_colours(3)[2], "-", "^"),
            (curve.n_bounded, "of these at their upper bound", muted(), (0, (3, 1.2)), "v"),
        ):
            style = {**_points(len(x), 0, marker), "color": colour, "ls": dashes, "lw": 1.6}
            ax.plot(x, values, label=name, **style)
        ax.set(ylim=(0, 1.3 * max(int(curve.n_support.max(initial=1)), 1)), ylabel="rows")
        ax.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
        ax.legend(loc="upper right", ncols=2)

    def _draw_compared(self, ax: Axes) -> None:
        (what,) = self.against
        values = self.suboptimality
        self._draw_falling(ax, what, values, class_colours(max(len(self.curves), 2)), letters=28)
        _horizontal(ax, what, [curve.against(what) for curve in self.curves])
        distance = "$(P_k - D)\\;/\\;|D|$" if self.dual else "$P_k - D$"
        ax.set_ylabel(f"{distance}, lower bound $D$ = {self.dual:.6g}")
        write_title(ax, "How far the objective $P_k$ can be from the best possible")
        write_legend(ax, self.gap_, below=True)
        _note(ax, _missing(values, self.curves))


def _traces_of(model: Any) -> tuple[tuple[Trace, ...], Certificate]:
    name = type(model).__name__
    certificate = getattr(model, "certificate_", None)
    if isinstance(certificate, ResidualCertificate):
        raise ValueError(
            f"{name} is fitted in closed form: there are no iterations to draw, and its "
            "certificate_ states how well its equations hold."
        )
    if not isinstance(certificate, Certificate):
        raise TypeError(f"{name} has no certificate_; pass a fitted model of this library.")
    traces = traces_of(model, "fit")
    if not any(len(t) for t in traces):
        raise ValueError(f"The record of this {name} is empty: there is nothing to draw.")
    return traces, certificate


def _title(model: Any, certificate: Certificate) -> str:
    if not np.isfinite(certificate.relative_gap):
        end = "no lower bound"
    elif certificate.relative_gap == 0.0:
        end = "gap 0"
    else:
        end = f"relative gap {certificate.relative_gap:.2g}"
    status = certificate.status.replace("_", " ")
    parts = len(certificate.parts)
    whole = f", the sum of {parts} problems" if parts > 1 else ""
    return f"{type(model).__name__}{whole}: {status}, {end}"


def _curve_of(name: Any, value: Any, against: str) -> Curve:
    label = str(name)
    if isinstance(value, Trace):
        if not len(value):
            raise ValueError(f"The trace of {label!r} is empty: there is nothing to draw.")
        return Curve.of(value, label)
    if hasattr(value, "fit"):
        traces, certificate = _traces_of(last_step(value))
        if len(traces) > 1:
            raise ValueError(
                f"The fit of {label!r} solved {len(traces)} problems; compare one of them, an "
                "entry of its trace_."
            )
        return Curve.of(traces[0], label, certificate)
    try:
        first, second = value
        x, primal = (np.asarray(v, dtype=np.float64).ravel() for v in (first, second))
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"The run of {label!r} must be a fitted model, a Trace, or a pair of arrays (seconds, "
            f"objective); it is a {type(value).__name__}."
        ) from error
    if len(x) != len(primal) or not len(x):
        raise ValueError(
            f"The pair of {label!r} has {len(x)} and {len(primal)} numbers; both must have the "
            "same number, at least one."
        )
    if not np.isfinite(x).all() or np.isnan(primal).any():
        raise ValueError(f"The pair of {label!r} has numbers that are not finite.")
    # Runs of their own, each for longer, need not have taken longer.
    order = np.argsort(x, kind="stable")
    x, primal = x[order], primal[order]
    none, empty = np.full(len(x), np.nan), np.zeros(0, dtype=np.int64)
    iterations, seconds = (x, none) if against == "iteration" else (none, x)
    return Curve(label, iterations, seconds, primal, none, none, empty, empty)


def _finite(values: np.ndarray) -> np.ndarray:
    """The values, with NaN, which is not drawn, in place of those that are not finite."""
    return np.where(np.isfinite(values), values, np.nan)


def _points(n: int, k: int, marker: str = "") -> dict[str, Any]:
    return {"marker": (marker or class_markers(k + 1)[k]) if n <= _FEW else "", "markersize": 4}


def _window(primal: np.ndarray, dual: np.ndarray) -> tuple[float, float]:
    """Limits that show the start and the end, and cut what is far from both."""
    known = np.concatenate([primal[np.isfinite(primal)], dual[np.isfinite(dual)]])
    if not len(known):
        return 0.0, 1.0
    finite = primal[np.isfinite(primal)]
    end = float(finite[-1]) if len(finite) else float(known[-1])
    start = float(finite[0]) if len(finite) else end
    bounds = dual[np.isfinite(dual)]
    # As far as the start was off, or, where it was not, the first bound.
    span = max(abs(start - end), 0.02 * abs(end))
    if len(bounds) and span < abs(end - float(bounds[0])):
        span = max(span, min(abs(end - float(bounds[0])), abs(end)))
    span = span or 1.0
    low, high = max(float(known.min()), end - 1.6 * span), min(float(known.max()), end + 1.6 * span)
    pad = 0.06 * ((high - low) or 1.0)
    return low - pad, high + pad


def _floor(values: Sequence[np.ndarray]) -> float:
    """The height at which an exact 0 is drawn: a decade below all that is not 0."""
    known = np.concatenate([v[np.isfinite(v) & (v > 0)] for v in values])
    smallest = float(known.min()) if len(known) else 1.0
    return float(10.0 ** (np.floor(np.log10(max(smallest, 1e-290))) - 1.0))


def _logarithmic(ax: Axes, floor: float, top: float, zero: bool) -> None:
    """Label the vertical axis by powers of ten, and by a 0 at the floor."""
    ax.set_yscale("log")
    low = floor if zero else 10.0 * floor
    high = max(top * 2.0, low * 20.0)
    ax.set_ylim(low / 1.6, high)
    decades = LogLocator(numticks=7).tick_values(10.0 * floor, high)
    ticks = [v for v in decades if 9.9 * floor <= v <= high]
    labels = [f"$10^{{{round(np.log10(v))}}}$" for v in ticks]
    if zero:
        ticks, labels = [floor, *ticks], ["0", *labels]
    ax.yaxis.set_major_locator(FixedLocator(ticks))
    ax.yaxis.set_major_formatter(FixedFormatter(labels))
    ax.yaxis.set_minor_locator(NullLocator())
    if zero:
        # What is below this line is no power of ten.
        ax.axhline(3.0 * floor, color=muted(), lw=0.6, alpha=0.6, zorder=1)


def _horizontal(ax: Axes, what: str, x: Sequence[np.ndarray]) -> None:
    known = np.concatenate(list(x))
    known = known[np.isfinite(known)]
    positive = known[known > 0]
    ax.set_xlabel(what)
    if what == "iteration":
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    elif len(positive) and len(positive) == len(known) and known.max() > 50 * known.min():
        ax.set_xscale("log")
    else:
        ax.xaxis.set_major_locator(MaxNLocator(nbins=5))
    if len(known) and known.min() == known.max():
        # A single check.
        ax.set_xlim(known[0] - 0.5, known[0] + 0.5)


def _missing(values: Sequence[np.ndarray], curves: Sequence[Curve]) -> list[str]:
    never = [plain(c.name, 24) for c, v in zip(curves, values, strict=True) if np.isinf(v).all()]
    if not never:
        return []
    return ["no bound yet" + (f": {', '.join(never[:4])}" if len(curves) > 1 else "")]


def _note(ax: Axes, lines: Sequence[str]) -> None:
    corners, ways = [(1, 1), (1, 0), (0, 0), (0, 1)], [(-1, -1), (-1, 1), (1, 1), (1, -1)]
    looks: Looks = {"xycoords": "axes fraction", "color": muted()}
    if lines:
        place_text(ax, "\n".join(lines), corners, ways=ways, gap=4.0, **looks)
