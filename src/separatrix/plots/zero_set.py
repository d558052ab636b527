"""Level sets and regions of functions of the plane, from few evaluations."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, cast

import contourpy
import numpy as np

from separatrix.geometry.discriminant import Quadric
from separatrix.geometry.hyperplane import Hyperplane

# Cells along a side of the coarse grid, and how often those that a level crosses are halved.
_COARSE = 32
_HALVINGS = 2
# The point where an edge is crossed is known to this share of a cell.
_SHARP = 2e-5
_STEPS = 14

Function = Callable[[np.ndarray], np.ndarray]
Surface = Hyperplane | Quadric
EdgeFunction = Callable[[np.ndarray, np.ndarray], np.ndarray]


def curves_in(surface: Surface, extent: Sequence[float], level: float = 0.0) -> list[np.ndarray]:
    """The level set of the decision of a line or a conic within an extent, as polylines."""
    lower, upper = [extent[0], extent[2]], [extent[1], extent[3]]
    if isinstance(surface, Quadric):
        moved = Quadric(surface.A, surface.b, surface.c - level, surface.origin)
        return [curve for curve in moved.clip(lower, upper) if len(curve) > 1]
    if not surface.w.any():
        return []
    ends = Hyperplane(surface.w, surface.b - level).clip(lower, upper)
    return [ends] if len(ends) == 2 else []


def level_sets(
    function: Function,
    levels: Sequence[float],
    extent: Sequence[float],
    surface: Surface | None = None,
    **grid: Any,
) -> list[list[np.ndarray]]:
    """The level sets of a function of the plane, exact where it is the decision of a surface.

    Parameters
    ----------
    function : callable
        A function from points of shape (k, 2) to values of shape (k,).
    levels : sequence of float
    extent : (float, float, float, float)
    surface : Hyperplane or Quadric, optional
        The surface whose decision the function is.
    **grid
        Passed to :class:`Field`, for any other function.

    Returns
    -------
    list of list of ndarray of shape (k, 2)
        Polylines, by level.
    """
    if surface is not None:
        return [curves_in(surface, extent, level) for level in levels]
    field = Field(function, extent, levels=levels, **grid)
    return [field.lines(level) for level in levels]


class Field:
    """Values of a function of the plane, on a grid that is fine where they cross levels.

    The function is evaluated on a coarse grid; cells that a level crosses, and their
    neighbours, are halved a few times; where it crosses the edges of the finest cells is then
    solved for (Chandrupatla, 1997).  Some four thousand evaluations give a curve whose
    vertices are on the level set, and whose chords are off it by less than a thousandth of the
    extent unless it bends within a few cells.  What it cannot see is a loop, or a gap, that lies
    between the points of the coarse grid.

    Parameters
    ----------
    function : callable
        A function from points of shape (k, 2) to values of shape (k,), or (k, K): the largest of K
        values, as of the scores of K classes, decides the region.  It may jump; infinite values
        have a sign.
    extent : (float, float, float, float)
        Left, right, bottom and top of the part of the plane.
    levels : sequence of float, default=(0,)
        The levels near which the grid is fine; not used for K values, whose grid is fine where
        another one becomes the largest.
    cells : int, default=32
        The number of cells along a side of the coarse grid.
    halvings : int, default=2
    steps : int, default=14
        The most steps of solving for the place where a level crosses an edge of the grid; with 0 it
        is where a function that is linear along the edge would have it.

    Attributes
    ----------
    values : ndarray of shape (m, m) or (m, m, K)
        The values on the fine grid, rows from bottom to top; interpolated where the coarse grid was
        enough.
    n_evaluations : int
        The number of points at which the function was evaluated.

    Raises
    ------
    ValueError
        If the extent is invalid, or the function is NaN somewhere.

    Examples
    --------
    >>> from separatrix.plots.zero_set import Field
    >>> (circle,) = Field(lambda x: (x**2).sum(axis=1) - 1, (-2, 2, -2, 2)).lines()
    >>> bool(abs((circle**2).sum(axis=1) - 1).max() < 1e-6)
    True
    """

    def __init__(
        self,
        function: Function,
        extent: Sequence[float],
        *,
        levels: Sequence[float] = (0.0,),
        cells: int = _COARSE,
        halvings: int = _HALVINGS,
        steps: int = _STEPS,
    ) -> None:
        left, right, bottom, top = (float(v) for v in extent)
        if not (np.all(np.isfinite([left, right, bottom, top])) and left < right and bottom < top):
            raise ValueError(
                f"extent must be left < right and bottom < top, all finite; it is {tuple(extent)}."
            )
        self.extent = (left, right, bottom, top)
        self.levels = tuple(levels)
        self.n_evaluations = 0
        self._function, self._steps = function, steps
        self._solved: dict[tuple[float, int | None], dict[int, float]] = {}
        self._n = cells << halvings
        self._known = np.zeros((self._n + 1, self._n + 1), dtype=bool)
        self._refine(cells, halvings)

    # --- evaluation ---------------------------------------------------------------------------

    def points(self, places: np.ndarray) -> np.ndarray:
        """Points of the plane at places of the fine grid (columns and rows, not whole ones)."""
        left, right, bottom, top = self.extent
        share = places / self._n
        # Convex combinations: the halves of the extent cannot overflow, and its ends are exact.
        x = left * (1.0 - share[:, 0]) + right * share[:, 0]
        y = bottom * (1.0 - share[:, 1]) + top * share[:, 1]
        return np.stack([x, y], axis=1)

    def _evaluate(self, places: np.ndarray) -> np.ndarray:
        points = self.points(places)
        self.n_evaluations += len(points)
        found = np.asarray(self._function(points), dtype=np.float64)
        bad = np.isnan(found).reshape(len(found), -1).any(axis=1)
        if bad.any():
            at = points[int(np.flatnonzero(bad)[0])]
            raise ValueError(
                f"The function is NaN at ({at[0]:.6g}, {at[1]:.6g}); a level set needs numbers."
            )
        return np.clip(found, -1e300, 1e300)

    def _fill(self, rows: np.ndarray, columns: np.ndarray) -> None:
        """Evaluate the grid's points that are not known yet."""
        wanted = np.zeros_like(self._known)
        wanted[rows, columns] = True
        rows, columns = np.nonzero(wanted & ~self._known)
        if not len(rows):
            return
        found = self._evaluate(np.stack([columns, rows], axis=1).astype(np.float64))
        if not hasattr(self, "values"):
            self.values = np.zeros((self._n + 1, self._n + 1, *found.shape[1:]))
        self.values[rows, columns] = found
        self._known[rows, columns] = True

    def _codes(self, values: np.ndarray) -> np.ndarray:
        """Codes of the values, equal where no level is between them."""
        if values.ndim == 3:
            return np.asarray(values.argmax(axis=2))
        return np.searchsorted(np.sort(self.levels), values, side="left")

    def _refine(self, cells: int, halvings: int) -> None:
        from scipy.ndimage import binary_dilation

        n, step = self._n, 1 << halvings
        grid = np.arange(0, n + 1, step)
        self._fill(*(a.ravel() for a in np.meshgrid(grid, grid, indexing="ij")))
        self._interpolate(step)
        active = np.ones((cells, cells), dtype=bool)
        for halving in range(halvings):
            crossed = _crossed(self._codes(self.values[::step, ::step])) & active
            # Cells that a level crosses, and those that touch them.
            active = binary_dilation(crossed, np.ones((3, 3)))
            half = step // 2
            split = active
            while True:
                rows, columns = (a * step for a in np.nonzero(split))
                for down, right in np.ndindex(3, 3):
                    self._fill(rows + half * down, columns + half * right)
                # A level that leaves the refined cells is followed into the next ones.
                more = self._left(active, step, half)
                if not more.any():
                    break
                active |= more
                split = more
            if halving < halvings - 1:
                active = np.repeat(np.repeat(active, 2, axis=0), 2, axis=1)
            self._interpolate(half)
            step = half

    def _left(self, active: np.ndarray, step: int, half: int) -> np.ndarray:
        """Cells that are not refined beside an edge that a level crosses twice."""
        codes = self._codes(self.values)
        # The edges across come first, then those upwards.
        more = np.zeros_like(active)
        for values, known, cells in ((codes, self._known, more), (codes.T, self._known.T, more.T)):
            middle, ends = values[::step, half::step], values[::step, ::step]
            differs = (middle != ends[:, :-1]) | (middle != ends[:, 1:])
            twice = known[::step, half::step] & differs
            cells |= twice[:-1] | twice[1:]
        return more & ~active

    def _interpolate(self, step: int) -> None:
        """Interpolate between known values of a grid of ``step``, halving the step down to 1."""
        while step > 1:
            half = step // 2
            v, known = self.values, self._known
            for target, first, second in (
                (np.s_[::step, half::step], np.s_[::step, :-1:step], np.s_[::step, step::step]),
                (np.s_[half::step, ::half], np.s_[:-1:step, ::half], np.s_[step::step, ::half]),
            ):
                between = 0.5 * v[first] + 0.5 * v[second]
                keep = known[target] if v.ndim == 2 else known[target][..., None]
                v[target] = np.where(keep, v[target], between)
            step = half

    # --- what can be drawn --------------------------------------------------------------------

    def margin(self, k: int | None = None) -> Callable[[np.ndarray], np.ndarray]:
        """The function of values that is positive in the region of class ``k``.

        The value itself where there is one; for K values the k-th less the largest of the others.
        """
        if k is None:
            return lambda values: values

        def lead(values: np.ndarray) -> np.ndarray:
            others = np.delete(values, k, axis=-1).max(axis=-1)
            return np.asarray(values[..., k] - others)

        return lead

    def borders(self) -> list[np.ndarray]:
        """The boundaries between the regions, as lines."""
        # The last class has no outline that is not another one's.
        several = range(self.values.shape[2] - 1) if self.values.ndim == 3 else [None]
        return [line for k in several for line in self.lines(k=k)]

    def lines(self, level: float = 0.0, k: int | None = None) -> list[np.ndarray]:
        """The level set; with ``k`` the outline of the region of class ``k``.

        Returns
        -------
        list of ndarray of shape (m, 2)
            A closed curve ends at its first vertex.
        """
        z = self.margin(k)(self.values)
        found = contourpy.contour_generator(z=_scaled(z - level)).lines(0.0)
        assert isinstance(found, list)
        return self._sharpened([np.asarray(line) for line in found], z, (level,), k)

    def regions(
        self, low: float = 0.0, high: float = np.inf, k: int | None = None
    ) -> list[list[np.ndarray]]:
        """The regions in which values are between ``low`` and ``high``, as polygons with holes.

        Returns
        -------
        list of list of ndarray of shape (m, 2)
            The outline of every polygon first, then its holes; all closed.
        """
        z = self.margin(k)(self.values)
        ends = [end for end in (low, high) if np.isfinite(end)]
        # Positive within.
        fold = np.minimum(z - low, high - z)
        generator = contourpy.contour_generator(
            z=_scaled(np.clip(fold, -1e300, 1e300)), fill_type=contourpy.FillType.OuterOffset
        )
        polygons, offsets = cast(
            tuple[list[np.ndarray], list[np.ndarray]], generator.filled(0.0, np.inf)
        )
        out: list[list[np.ndarray]] = []
        for vertices, starts in zip(polygons, offsets, strict=True):
            rings = [vertices[a:b] for a, b in itertools.pairwise(starts.tolist())]
            out.append(self._sharpened(rings, z, ends, k))
        return out

    def _sharpened(
        self, lines: list[np.ndarray], z: np.ndarray, levels: Sequence[float], k: int | None
    ) -> list[np.ndarray]:
        """Lines over the grid as points of the plane, with their vertices on a level."""
        if not lines:
            return []
        places = np.concatenate(lines)
        # Vertices are on edges of the grid: one of the coordinates is whole, but for rounding.
        whole = np.round(places)
        off = np.abs(places - whole)
        axis = np.where(off[:, 0] > off[:, 1], 0, 1)
        every = np.arange(len(places))
        places[every, 1 - axis] = whole[every, 1 - axis]
        rows = np.flatnonzero(off.max(axis=1) > 0.0)
        axis = axis[rows]
        low = np.floor(places[rows]).astype(int)
        high = low.copy()
        high[np.arange(len(rows)), axis] += 1
        ends = np.stack([z[low[:, 1], low[:, 0]], z[high[:, 1], high[:, 0]]])
        for level in levels if self._steps else ():
            crossing = np.flatnonzero((ends.min(axis=0) <= level) & (level <= ends.max(axis=0)))
            crossing = crossing[ends[0, crossing] != ends[1, crossing]]
            t = self._crossings(low[crossing], axis[crossing], ends[:, crossing] - level, level, k)
            places[rows[crossing], axis[crossing]] = low[crossing, axis[crossing]] + t
        points = self.points(places)
        return np.split(points, np.cumsum([len(line) for line in lines])[:-1])

    def _crossings(
        self, low: np.ndarray, axis: np.ndarray, ends: np.ndarray, level: float, k: int | None
    ) -> np.ndarray:
        """The places along edges of the grid at which the level is; each is solved for once."""
        known = self._solved.setdefault((level, k), {})
        keys = ((low[:, 1] * (self._n + 1) + low[:, 0]) * 2 + axis).tolist()
        new = {key: i for i, key in enumerate(keys) if key not in known}
        which = np.array(list(new.values()), dtype=int)
        start, step, margin = low[which], np.eye(2)[axis[which]], self.margin(k)

        def value(t: np.ndarray, i: np.ndarray) -> np.ndarray:
            return np.asarray(margin(self._evaluate(start[i] + t[:, None] * step[i])) - level)

        found = roots(value, ends[:, which], _SHARP, self._steps)
        known.update(zip(new, found.tolist(), strict=True))
        return np.array([known[key] for key in keys])


def roots(value: EdgeFunction, ends: np.ndarray, near: float, steps: int) -> np.ndarray:
    """The zeros of functions with values of unlike signs at 0 and 1 (Chandrupatla, 1997).

    Parameters
    ----------
    value : callable
        A function from places of shape (k,) and the positions of functions to their values.
    ends : ndarray of shape (2, n)
        The values of the functions at 0 and at 1.
    near : float
        The tolerance of a place.
    steps : int
        The most steps.
    """
    # SciPy's find_root is the same method; its bookkeeping takes five times as long.
    (first, last), rows = ends, np.arange(ends.shape[1])
    out = np.zeros(len(rows))
    (a, fa), (b, fb), t = (out + 1.0, last), (out + 0.0, first), out + 0.5
    for _ in range(steps if len(rows) else 0):
        x = a + t * (b - a)
        f = value(x, rows)
        same = (f < 0.0) == (fa < 0.0)
        c, fc = np.where(same, a, b), np.where(same, fa, fb)
        b, fb = np.where(same, b, a), np.where(same, fb, fa)
        a, fa = x, f
        out[rows] = np.where(np.abs(fb) < np.abs(fa), b, a)
        share = near / np.abs(b - a)
        left = (share <= 0.5) & (f != 0.0)
        if not left.any():
            break
        rows, share, a, b, c, fa, fb, fc = (v[left] for v in (rows, share, a, b, c, fa, fb, fc))
        # Inverse quadratic interpolation where it is sure to be nearer than the middle.
        with np.errstate(all="ignore"):
            xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
            quick = (phi * phi < xi) & ((1.0 - phi) ** 2 < 1.0 - xi)
            inverse = fa / (fb - fa) * fc / (fb - fc)
            inverse += (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        t = np.clip(np.where(quick, inverse, 0.5), share, 1.0 - share)
    return out


def _scaled(z: np.ndarray) -> np.ndarray:
    """The values, scaled so that their differences and quotients are ordinary numbers."""
    size = float(np.abs(z).max())
    return z / size if size > 0.0 else z


def _crossed(codes: np.ndarray) -> np.ndarray:
    """Cells whose corners differ."""
    first = codes[:-1, :-1]
    return (first != codes[1:, :-1]) | (first != codes[:-1, 1:]) | (first != codes[1:, 1:])
