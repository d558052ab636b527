"""The part of a conic that lies inside a box, as polylines whose vertices are on it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from separatrix._compiled.rounding import EPS
from separatrix.geometry.hyperplane import Hyperplane

# In units of half the box: twice what the middle of a chord may be off, so that 1/4000 of the box
# is the most of any point of it.
_CHORD = 2.5e-4
# A little more than half the diagonal of the box.
_REACH = 1.4143
# On the edge of the box, to rounding.
_ON = 1e-11
# A coefficient that is zero but for rounding.
_FLAT = 1e-13

_Graph = Callable[[np.ndarray], np.ndarray]


def clip_conic(
    A: np.ndarray,
    b: np.ndarray,
    c: float,
    origin: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
) -> list[np.ndarray]:
    r"""The points of :math:`u'Au + b'u + c = 0`, :math:`u = x - o`, in a box, as polylines.

    In coordinates in which the box is the square from -1 to 1, the conic is written over one
    coordinate as :math:`p(r)`: two roots :math:`p_0 \pm \sqrt{g(r)}` along the axes of ``A``, with
    a quadratic :math:`g`; where it hardly bends within the box, the one root along its normal.
    This needs no centre, which for a flat ellipse is far away, and is the same for every kind.
    Each root is a convex or a concave function, so the middle of a chord bounds how far off the
    whole chord is.  The crossings with the edges of the box are solved for on the edges.

    Parameters
    ----------
    A : ndarray of shape (2, 2)
        Symmetric.
    b : ndarray of shape (2,)
    c : float
    origin : ndarray of shape (2,)
        The point ``o`` in ``u = x - o``; it keeps the digits of a conic far from zero.
    lower, upper : ndarray of shape (2,)
        Corners of the box.

    Returns
    -------
    list of ndarray of shape (k, 2)
    """
    half = 0.5 * (upper - lower)
    middle = lower + half
    centre = middle - origin
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        half_slope = A @ centre
        c = float((half_slope + b) @ centre + c)
        b = (2.0 * half_slope + b) * half
        A = A * half[:, None] * half
        size = max(float(np.abs(A).max()), float(np.abs(b).max()), abs(c))
    if size == 0.0:
        return []
    if not np.isfinite(size):
        raise ValueError(
            "In this box the conic's equation exceeds the range of float64; divide the equation, "
            "or the coordinates, by a large number."
        )
    A, b, c = A / size, b / size, c / size
    bend, slope = float(np.linalg.norm(A)), float(np.linalg.norm(b))
    chains = _nearly_straight(A, b, c) if slope > 8.0 * bend else _curved(A, b, c)
    crossings = _edge_points(A, b, c)
    out = []
    for chain in chains:
        for piece in chain.inside(crossings):
            points = np.clip(middle + half * piece, lower, upper)
            # On the edge to the last digit.
            points = np.where(piece >= 1.0, upper, np.where(piece <= -1.0, lower, points))
            out.append(points)
    return out


class _Arc:
    """A function ``p(r)`` from ``start`` to ``stop``, convex or concave, in a turned frame."""

    def __init__(self, graph: _Graph, start: float, stop: float, frame: np.ndarray) -> None:
        self.graph, self.start, self.stop, self.frame = graph, start, stop, frame

    def at(self, r: np.ndarray) -> np.ndarray:
        """Points of the square's plane; the rows of ``frame`` are the directions of p and r."""
        p = self.graph(r)
        return p[:, None] * self.frame[0] + r[:, None] * self.frame[1]

    def sampled(self, known: np.ndarray) -> np.ndarray:
        """Values of r between which chords are close enough, those ``known`` among them."""
        low, high = min(self.start, self.stop), max(self.start, self.stop)
        r = np.unique(np.concatenate([[low, high], known[(known > low) & (known < high)]]))
        for _ in range(60):
            p, middle = self.graph(r), 0.5 * (r[1:] + r[:-1])
            off = np.abs(self.graph(middle) - 0.5 * (p[1:] + p[:-1]))
            run = np.diff(r)
            # Across the chord; along a steep one, what is off upwards is hardly off it.
            off *= run / np.hypot(run, np.diff(p))
            split = middle[(off > _CHORD) & (middle > r[:-1]) & (middle < r[1:])]
            if not len(split):
                break
            r = np.sort(np.concatenate([r, split]))
        return r if self.start <= self.stop else r[::-1]


class _Chain:
    """Arcs end to end; ``closed`` where the last ends at the first."""

    def __init__(self, arcs: list[_Arc], closed: bool = False) -> None:
        self.arcs, self.closed = arcs, closed

    def inside(self, crossings: np.ndarray) -> list[np.ndarray]:
        """The parts within the square, cut where the conic crosses its edges."""
        vertices: list[np.ndarray] = []
        keep = []
        for arc in self.arcs:
            across, along = (crossings @ arc.frame.T).T
            # Only the crossings that are on this root.
            mine = np.abs(arc.graph(along) - across) < 1e-6
            r = arc.sampled(along[mine])
            points = arc.at(r)
            for place, value in zip(crossings[mine], along[mine], strict=True):
                # As it was solved for: exactly on the edge.
                points[r == value] = place
            middle = arc.at(0.5 * (r[1:] + r[:-1]))
            kept = np.all(np.abs(middle) <= 1.0 + _ON, axis=1)
            vertices.append(points if not vertices else points[1:])
            keep.append(kept)
        points, kept = np.concatenate(vertices), np.concatenate(keep)
        if self.closed and not kept.all() and kept.any():
            # From a chord outside on, so that no part is cut at the beginning.
            first = int(np.flatnonzero(~kept)[0])
            points = np.concatenate([points[first:-1], points[: first + 1]])
            kept = np.concatenate([kept[first:], kept[:first]])
        ends = np.flatnonzero(np.diff(np.concatenate([[False], kept, [False]]).astype(int)))
        pieces = [
            points[start : stop + 1] for start, stop in zip(ends[::2], ends[1::2], strict=True)
        ]
        return [np.clip(piece, -1.0, 1.0) for piece in pieces]


class _Straight(_Chain):
    """A whole line."""

    def __init__(self, place: np.ndarray, direction: np.ndarray) -> None:
        self.place, self.direction = place, direction

    def inside(self, crossings: np.ndarray) -> list[np.ndarray]:
        # A line along an edge is on it.
        near = np.abs(self.place) <= 1.0 + _ON
        place = np.where(near, np.clip(self.place, -1.0, 1.0), self.place)
        normal = np.array([-1.0, 1.0]) * self.direction[::-1]
        normal[np.abs(normal) <= EPS] = 0.0
        ends = Hyperplane(normal, -float(normal @ place)).clip([-1.0, -1.0], [1.0, 1.0])
        return [ends] if len(ends) == 2 else []


class _Dot(_Chain):
    """A conic of one point."""

    def __init__(self, place: np.ndarray) -> None:
        self.place = place

    def inside(self, crossings: np.ndarray) -> list[np.ndarray]:
        return [self.place[None]] if np.all(np.abs(self.place) <= 1.0 + _ON) else []


def _nearly_straight(A: np.ndarray, b: np.ndarray, c: float) -> list[_Chain]:
    """One root along the normal: within the square the gradient turns by less than 21 degrees."""
    normal = b / np.linalg.norm(b)
    frame = np.stack([normal, [-normal[1], normal[0]]])
    own, slope = frame @ A @ frame.T, float(np.linalg.norm(b))

    def graph(r: np.ndarray) -> np.ndarray:
        linear = slope + 2.0 * own[0, 1] * r
        constant = (own[1, 1] * r) * r + c
        inner = np.maximum(linear * linear - 4.0 * own[0, 0] * constant, 0.0)
        return -2.0 * constant / (linear + np.sqrt(inner))

    # Further out than the square, the root is not needed, and may not be there.
    return [_Chain([_Arc(graph, -_REACH, _REACH, frame)])]


def _curved(A: np.ndarray, b: np.ndarray, c: float) -> list[_Chain]:
    """Two roots along the axis of the larger curvature."""
    values, vectors = np.linalg.eigh(A)
    order = np.argsort(-np.abs(values), kind="stable")
    frame = vectors.T[order]
    large, small = values[order]
    slopes = frame @ b / large
    middle = -0.5 * float(slopes[0])
    # (p - middle)^2 = g(r) = alpha r^2 + beta r + gamma.
    alpha, beta = -float(small / large), -float(slopes[1])
    gamma = middle * middle - float(c / large)
    noise = 64.0 * EPS * (middle * middle + abs(c / large) + abs(beta) + 1.0)
    if abs(alpha) <= _FLAT:
        alpha = 0.0
    if abs(beta) <= _FLAT * (1.0 + float(np.abs(slopes).max())):
        beta = 0.0

    def squared(r: np.ndarray) -> np.ndarray:
        return (alpha * r + beta) * r + gamma

    def arc(sign: float, start: float, stop: float) -> _Arc:
        return _Arc(
            lambda r: middle + sign * np.sqrt(np.maximum(squared(r), 0.0)),
            start,
            stop,
            frame,
        )

    def line(slope: float, at: float) -> _Chain:
        return _Straight(frame.T @ np.array([middle, at]), frame.T @ np.array([slope, 1.0]))

    both = [_Chain([arc(sign, -_REACH, _REACH)]) for sign in (1.0, -1.0)]
    if alpha == 0.0 and beta == 0.0:
        if abs(gamma) <= 16.0 * noise:
            return [line(0.0, 0.0)]
        return both if gamma >= 0.0 else []
    if alpha != 0.0:
        vertex = -0.5 * beta / alpha
        extreme = gamma + 0.5 * beta * vertex
        if abs(extreme) <= noise + 64.0 * EPS * abs(beta * vertex) and abs(vertex) < 1e3:
            if alpha < 0.0:
                return [_Dot(frame.T @ np.array([middle, vertex]))]
            return [line(s * float(np.sqrt(alpha)), vertex) for s in (1.0, -1.0)]
        if extreme < 0.0 and alpha < 0.0:
            return []
        if beta * beta - 4.0 * alpha * gamma <= 0.0:
            return both
    chains = []
    for start, stop in _stretches(alpha, beta, gamma):
        a, z = max(start, -_REACH), min(stop, _REACH)
        if a >= z:
            continue
        # The two roots meet at an end where g is zero.
        if z == stop:
            closed = a == start
            chains.append(_Chain([arc(1.0, a, z), arc(-1.0, z, a)], closed=closed))
        elif a == start:
            chains.append(_Chain([arc(-1.0, z, a), arc(1.0, a, z)]))
        else:
            chains += [_Chain([arc(s, a, z)]) for s in (1.0, -1.0)]
    return chains


def _stretches(alpha: float, beta: float, gamma: float) -> list[tuple[float, float]]:
    """The intervals on which ``alpha r^2 + beta r + gamma``, which has a root, is >= 0."""
    inner = beta * beta - 4.0 * alpha * gamma
    q = -0.5 * (beta + np.copysign(np.sqrt(inner), beta))
    if alpha == 0.0:
        return [(-np.inf, gamma / q)] if beta < 0.0 else [(gamma / q, np.inf)]
    low, high = sorted([q / alpha, gamma / q])
    return [(low, high)] if alpha < 0.0 else [(-np.inf, low), (high, np.inf)]


def _edge_points(A: np.ndarray, b: np.ndarray, c: float) -> np.ndarray:
    """The points of the conic on the edges of the square: at most two on each."""
    out = []
    for axis in (0, 1):
        other = 1 - axis
        for edge in (-1.0, 1.0):
            quadratic = float(A[other, other])
            linear = float(b[other]) + 2.0 * float(A[0, 1]) * edge
            constant = (float(A[axis, axis]) * edge + float(b[axis])) * edge + c
            inner = linear * linear - 4.0 * quadratic * constant
            noise = 16.0 * EPS * (linear * linear + abs(4.0 * quadratic * constant))
            if inner < -noise:
                continue
            q = -0.5 * (linear + np.copysign(np.sqrt(max(inner, 0.0)), linear))
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                roots = {float(np.float64(q) / quadratic), float(np.float64(constant) / q)}
            for root in roots:
                if abs(root) <= 1.0 + _ON:
                    place = np.empty(2)
                    place[axis], place[other] = edge, min(max(root, -1.0), 1.0)
                    out.append(place)
    return np.array(out).reshape(-1, 2)
