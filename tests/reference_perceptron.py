"""The perceptron from its definition: plain Python, exact fractions, nothing clever."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

Vector = tuple[Fraction, ...]


def exact(values: Iterable) -> Vector:
    return tuple(Fraction(v) for v in values)


def dot(a: Vector, b: Vector) -> Fraction:
    return sum((p * q for p, q in zip(a, b, strict=True)), Fraction(0))


@dataclass
class Run:
    """The record of a run: an update is (row, pass, weights before, weights after)."""

    theta: Vector
    passes: int = 0
    clean: bool = False
    updates: list[tuple[int, int, Vector, Vector]] = field(default_factory=list)
    mistakes: list[int] = field(default_factory=list)
    # The row and the pass of every visit.
    visits: list[tuple[int, int]] = field(default_factory=list)
    # The weights after every visit, and those that a pass puts up for the pocket.
    visited: list[Vector] = field(default_factory=list)
    put_up: list[Vector] = field(default_factory=list)
    ends: list[Vector] = field(default_factory=list)


def is_mistake(z: Fraction, margin: Fraction) -> bool:
    """A point on the plane is a mistake; with a margin, a point that does not reach it."""
    return z < margin if margin > 0 else z <= 0


def run(
    X: Sequence,
    y: Sequence,
    *,
    order: str = "cyclic",
    lift: bool = True,
    start: Sequence | None = None,
    rate=1,
    margin=0,
    max_passes: int = 50,
    permutations: Iterable[Sequence[int]] = (),
) -> Run:
    rows = [exact([*x, 1] if lift else x) for x in X]
    signs = exact(y)
    rate, margin = Fraction(rate), Fraction(margin)
    n = len(rows)
    out = Run(exact(start) if start is not None else exact([0] * len(rows[0])))
    out.mistakes = [0] * n
    permutations = iter(permutations)
    position = 0
    while out.passes < max_passes and not out.clean:
        out.passes += 1
        sequence = list(range(n))
        if order in ("random", "replacement"):
            sequence = list(next(permutations))
        if order == "margin":
            sequence.sort(
                key=[s * dot(r, out.theta) for s, r in zip(signs, rows, strict=True)].__getitem__
            )
        if order != "restart":
            position = 0
        made = 0
        stood: list[tuple[int, Vector]] = [(0, out.theta)]
        for _ in range(n):
            i = sequence[position]
            position += 1
            if is_mistake(signs[i] * dot(rows[i], out.theta), margin):
                before = out.theta
                step = rate * signs[i]
                out.theta = tuple(t + step * v for t, v in zip(before, rows[i], strict=True))
                out.updates.append((i, out.passes, before, out.theta))
                out.mistakes[i] += 1
                made += 1
                stood.append((0, out.theta))
                if order == "restart":
                    position = 0
            else:
                stood[-1] = (stood[-1][0] + 1, stood[-1][1])
            out.visits.append((i, out.passes))
            out.visited.append(out.theta)
            if position == n:
                break
        out.clean = position == n if order == "restart" else made == 0
        if order == "replacement":
            # Not all rows were visited.
            out.clean &= count_mistakes(X, y, out.theta, lift, margin) == 0
        out.ends.append(out.theta)
        # The weights that stood the longest, of those made in this pass; and those at its end.
        gone = [pair for pair in stood[1:-1] if pair[0] > stood[-1][0]]
        if gone:
            out.put_up.append(max(gone, key=lambda pair: pair[0])[1])
        out.put_up.append(out.theta)
    return out


def count_mistakes(X: Sequence, y: Sequence, theta: Vector, lift: bool = True, margin=0) -> int:
    rows = [exact([*x, 1] if lift else x) for x in X]
    return sum(
        is_mistake(Fraction(s) * dot(r, theta), Fraction(margin))
        for r, s in zip(rows, y, strict=True)
    )
