"""Exact answers about small sets of labelled points, by methods that the library does not use.

Integers and fractions only; nothing here imports the library.  Whether points are separable is
decided by the simplex method on a tableau of integers (Edmonds, 1967) with the rule that cannot
cycle (Bland, 1977), and once more by eliminating the unknowns one by one (Fourier; Motzkin,
1936).  The largest margin comes from trying every set of rows that could hold it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

Rows = list[list[Fraction]]


# --- the points ----------------------------------------------------------------------------------


def exact(X) -> Rows:
    """The stored numbers, as they are."""
    X = X.toarray() if sp.issparse(X) else np.asarray(X)
    return [[Fraction(v) for v in row] for row in X.tolist()]


def signs(y, positive) -> list[int]:
    """+1 for the rows with the label ``positive``, -1 for all others."""
    return [1 if label == positive else -1 for label in np.asarray(y).tolist()]


def signed_rows(X, s: Sequence[int], intercept: bool) -> Rows:
    """``s_i (x_i, 1)``, or ``s_i x_i`` through the origin."""
    tail = [Fraction(1)] if intercept else []
    return [[sign * v for v in [*row, *tail]] for row, sign in zip(exact(X), s, strict=True)]


# --- separable or not, by the simplex method -----------------------------------------------------


def movable(X, s: Sequence[int], intercept: bool = True) -> list[bool]:
    """Whether each row is strictly on its side of a hyperplane with no row on its wrong side.

    Hyperplanes ``u`` with every ``z_i . u >= 0`` form a cone, so all those rows can be had at
    once: the linear program ``max sum t_i``, ``t_i <= z_i . u``, ``0 <= t_i <= 1`` ends with
    ``t_i = 1`` for them and ``t_i = 0`` for the others.
    """
    z = _whole(signed_rows(X, s, intercept))
    n, p = len(z), len(z[0])
    # Unknowns: t, then u as the difference of two parts; slacks are the first basis.
    tableau = []
    for i, row in enumerate(z):
        unit = [int(i == k) for k in range(n)]
        tableau.append([*unit, *(-v for v in row), *row, 0])
    for i in range(n):
        tableau.append([*(int(i == k) for k in range(n)), *([0] * (2 * p)), 1])
    cost = [-1] * n + [0] * (2 * p) + [0]
    values = _maximise(tableau, cost)
    t = values[:n]
    assert all(v in (0, 1) for v in t)
    return [v == 1 for v in t]


def status(X, s: Sequence[int], intercept: bool = True) -> str:
    """``separable``, ``quasi_separable`` or ``not_separable``."""
    moved = movable(X, s, intercept)
    if all(moved):
        return "separable"
    return "quasi_separable" if any(moved) else "not_separable"


def _whole(rows: Rows) -> list[list[int]]:
    """Integers in the same proportions.

    Neither verdicts nor rows that move depend on the scale of a row, or on that of a column.
    """
    common = math.lcm(*(v.denominator for row in rows for v in row))
    whole = [[int(v * common) for v in row] for row in rows]
    for _ in range(2):
        divisors = [math.gcd(*row) or 1 for row in whole]
        whole = [[v // g for v in row] for row, g in zip(whole, divisors, strict=True)]
        whole = [list(column) for column in zip(*whole, strict=True)]
    return whole


def _maximise(tableau: list[list[int]], cost: list[int]) -> list[Fraction]:
    """The unknowns at the optimum of a program whose first basis, the slacks, is feasible.

    ``cost`` is the negative objective.  Columns of the basis are left out of the tableau; a
    pivot exchanges one of its columns for a slack.  Every entry is an integer over ``scale``.
    """
    rows = [*tableau, cost]
    m, width = len(tableau), len(cost) - 1
    inside = list(range(width, width + m))  # the variable of each row
    outside = list(range(width))  # the variable of each column
    scale = 1
    while True:
        entering = [k for k in range(width) if rows[m][k] < 0]
        if not entering:
            break
        c = min(entering, key=lambda k: outside[k])
        leaving = [r for r in range(m) if rows[r][c] > 0]
        assert leaving, "the program has no end"
        r = min(leaving, key=lambda i: (Fraction(rows[i][-1], rows[i][c]), inside[i]))
        pivot, top = rows[r][c], rows[r]
        for i, row in enumerate(rows):
            if i != r:
                f = row[c]
                rows[i] = [(v * pivot - f * w) // scale for v, w in zip(row, top, strict=True)]
                rows[i][c] = -f
        rows[r] = [*top[:c], scale, *top[c + 1 :]]
        scale = pivot
        inside[r], outside[c] = outside[c], inside[r]
    values = [Fraction(0)] * width
    for r, variable in enumerate(inside):
        if variable < width:
            values[variable] = Fraction(rows[r][-1], scale)
    return values


# --- and by elimination --------------------------------------------------------------------------


def possible(z: Rows, strict: Sequence[bool]) -> bool:
    """Whether some ``u`` has ``z_i . u > 0`` for the strict rows and ``>= 0`` for the others.

    Unknowns are eliminated one at a time: the largest lower bound on one must not exceed, or
    must be below, the smallest upper bound.
    """
    rows = {(_primitive(row), flag) for row, flag in zip(_whole(z), strict, strict=True)}
    for _ in range(len(z[0])):
        above = [(row, flag) for row, flag in rows if row[-1] > 0]
        below = [(row, flag) for row, flag in rows if row[-1] < 0]
        left = {(_primitive(row[:-1]), flag) for row, flag in rows if row[-1] == 0}
        for (a, one), (b, other) in itertools.product(above, below):
            row = [x * -b[-1] + y * a[-1] for x, y in zip(a[:-1], b[:-1], strict=True)]
            left.add((_primitive(row), one or other))
        rows = left
    # What is left says 0 >= 0 or 0 > 0.
    return not any(flag for _, flag in rows)


def movable_again(X, s: Sequence[int], intercept: bool = True) -> list[bool]:
    """The same as :func:`movable`, one row at a time by elimination."""
    z = signed_rows(X, s, intercept)
    return [possible(z, [i == k for k in range(len(z))]) for i in range(len(z))]


def _primitive(row: Iterable[int]) -> tuple[int, ...]:
    row = tuple(row)
    divisor = math.gcd(*row) or 1
    return tuple(v // divisor for v in row)


# --- the largest margin --------------------------------------------------------------------------


def squared_margin(X, s: Sequence[int], geometry: str) -> Fraction:
    """The square of the largest margin of separable points.

    ``geometry``: "offset", "origin", or "lifted" for the points ``(x, 1)`` through the origin.
    By the conditions of Karush, Kuhn and Tucker: some set of independent rows has margin 1,
    multipliers that are not negative, and no row inside the margin.
    """
    rows = exact(X)
    if geometry == "lifted":
        rows = [[*row, Fraction(1)] for row in rows]
    g = [[sign * v for v in row] for row, sign in zip(rows, s, strict=True)]
    free = geometry == "offset"
    gram = [[_dot(a, b) for b in g] for a in g]
    for size in range(1, len(g[0]) + 2):
        for kept in itertools.combinations(range(len(g)), size):
            matrix = [[gram[i][j] for j in kept] + ([Fraction(s[i])] if free else []) for i in kept]
            right = [Fraction(1)] * size
            if free:
                matrix.append([Fraction(s[j]) for j in kept] + [Fraction(0)])
                right.append(Fraction(0))
            found = solve(matrix, right)
            if found is None or any(v < 0 for v in found[:size]):
                continue
            alpha, b = found[:size], found[size] if free else Fraction(0)
            if all(
                sum((a * gram[i][j] for a, j in zip(alpha, kept, strict=True)), Fraction(0))
                + s[i] * b
                >= 1
                for i in range(len(g))
            ):
                # |w|^2 is the sum of the multipliers.
                return 1 / sum(alpha, Fraction(0))
    raise ValueError("the points are not separable")


def _dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def solve(matrix: Rows, right: Sequence[Fraction]) -> list[Fraction] | None:
    """The solution of a square system by elimination; None where it is singular."""
    rows = [[*row, v] for row, v in zip(matrix, right, strict=True)]
    k = len(rows)
    for c in range(k):
        pivot = next((r for r in range(c, k) if rows[r][c]), None)
        if pivot is None:
            return None
        rows[c], rows[pivot] = rows[pivot], rows[c]
        top = [v / rows[c][c] for v in rows[c]]
        rows[c] = top
        for r in range(k):
            if r != c and (f := rows[r][c]):
                rows[r] = [v - f * w for v, w in zip(rows[r], top, strict=True)]
    return [row[-1] for row in rows]


def rank(rows: Rows) -> int:
    """The rank of the rows, by elimination."""
    rows = [list(row) for row in rows]
    done = 0
    for c in range(len(rows[0]) if rows else 0):
        pivot = next((r for r in range(done, len(rows)) if rows[r][c]), None)
        if pivot is None:
            continue
        rows[done], rows[pivot] = rows[pivot], rows[done]
        for r in range(done + 1, len(rows)):
            if f := rows[r][c] / rows[done][c]:
                rows[r] = [v - f * w for v, w in zip(rows[r], rows[done], strict=True)]
        done += 1
    return done


# --- witnesses -----------------------------------------------------------------------------------


def scores(X, s: Sequence[int], w: Sequence[Fraction], b: Fraction) -> list[Fraction]:
    """``s_i (w . x_i + b)``."""
    return [sign * (_dot(row, w) + b) for row, sign in zip(exact(X), s, strict=True)]


def witness_error(verdict, X, s: Sequence[int]) -> str:
    """The faults of a verdict's witnesses, by the definitions; empty if there are none."""
    witness, intercept = verdict.witness, verdict.fit_intercept
    if verdict.status == "not_separable":
        return _combination_error(witness, X, s, intercept) or _overlap_error(
            witness, X, s, intercept
        )
    if not intercept and witness.b != 0:
        return "an offset through the origin"
    values = scores(X, s, witness.w, witness.b)
    if verdict.status == "separable":
        return "" if all(v > 0 for v in values) else "a row that is not strictly on its side"
    if any(v < 0 for v in values):
        return "a row on the wrong side"
    if list(witness.separated) != [i for i, v in enumerate(values) if v > 0]:
        return "other rows are off the plane"
    if not witness.separated:
        return "all rows are on the plane"
    if list(witness.columns) != [j for j, v in enumerate(witness.w) if v]:
        return "other columns have weight"
    return _combination_error(verdict.common, X, s, intercept)


def _combination_error(witness, X, s: Sequence[int], intercept: bool) -> str:
    z = signed_rows(X, s, intercept)
    width = len(z[0])
    if len(set(witness.rows)) != len(witness.rows) or len(witness.rows) != len(witness.multipliers):
        return "rows and multipliers do not match"
    if not 0 < len(witness.rows) <= width + 1:
        return f"{len(witness.rows)} rows"
    if not all(v > 0 for v in witness.multipliers) or sum(witness.multipliers) != 1:
        return "multipliers that are not positive with sum 1"
    chosen = [z[i] for i in witness.rows]
    total = [_dot(column, witness.multipliers) for column in zip(*chosen, strict=True)]
    return "the sum is not zero" if any(total) else ""


def _overlap_error(witness, X, s: Sequence[int], intercept: bool) -> str:
    """Whether the witness also excludes hyperplanes with some rows on the plane."""
    z = signed_rows(X, s, intercept)
    if rank([z[i] for i in witness.rows]) == len(z[0]):
        return ""
    if any(v < 0 for v in witness.extra_multipliers):
        return "a negative multiplier"
    weight = [Fraction(1)] * len(z)
    for i, v in zip(witness.extra_rows, witness.extra_multipliers, strict=True):
        weight[i] += v
    total = [_dot(column, weight) for column in zip(*z, strict=True)]
    return "the sum over all rows is not zero" if any(total) else ""


# --- small problems of every kind ----------------------------------------------------------------


def _size(rng) -> tuple[int, int, int]:
    return int(rng.integers(2, 10)), int(rng.integers(1, 5)), int(rng.integers(1, 4))


def _grid(rng, n: int, d: int, r: int) -> np.ndarray:
    return rng.integers(-r, r + 1, (n, d)).astype(float)


def _split(rng, X: np.ndarray, ties) -> np.ndarray:
    """Labels by a hyperplane; ``ties`` are those of points that are on it."""
    w, b = rng.integers(-2, 3, X.shape[1]), rng.integers(-1, 2)
    v = X @ w + b
    return np.where(v > 0, 1, np.where(v < 0, 0, ties))


def _any(rng):
    n, d, r = _size(rng)
    return _grid(rng, n, d, r), rng.integers(0, 2, n)


def _split_with_ties(rng):
    """Hulls that touch: points on the plane have either label."""
    n, d, r = _size(rng)
    X = _grid(rng, n, d, r)
    return X, _split(rng, X, rng.integers(0, 2, n))


def _split_cleanly(rng):
    n, d, r = _size(rng)
    X = _grid(rng, n, d, r)
    return X, _split(rng, X, int(rng.integers(0, 2)))


def _duplicates(rng):
    """Several copies of few points, sometimes with both labels."""
    n, d, r = _size(rng)
    X = _grid(rng, n, d, r)[rng.integers(0, max(1, n // 2), n)]
    return X, _split(rng, X, rng.integers(0, 2, n))


def _opposite_twins(rng):
    """One point with both labels in data that are separable otherwise."""
    X, y = _split_cleanly(rng)
    i = rng.integers(len(X))
    return np.vstack([X, X[i]]), np.append(y, 1 - y[i])


def _on_a_line(rng):
    n, d, _ = _size(rng)
    along, origin = rng.integers(-2, 3, d), rng.integers(-1, 2, d)
    return (np.outer(rng.integers(-3, 4, n), along) + origin).astype(float), rng.integers(0, 2, n)


def _one_column(rng):
    n, _, r = _size(rng)
    X = _grid(rng, n, 1, r)
    return X, rng.integers(0, 2, n) if rng.random() < 0.3 else _split(rng, X, rng.integers(0, 2, n))


def _zero_row(rng):
    X, y = _split_with_ties(rng)
    X[rng.integers(len(X))] = 0
    return X, y


def _zero_column(rng):
    X, y = _any(rng)
    X[:, rng.integers(X.shape[1])] = 0
    return X, y


def _constant_column(rng):
    X, y = _split_with_ties(rng)
    X[:, rng.integers(X.shape[1])] = 2
    return X, y


def _wide(rng):
    """More columns than rows, of full rank or of a small one."""
    n, d, _ = _size(rng)
    X = _grid(rng, n, n + 2, 2)
    if rng.random() < 0.5:
        X = _grid(rng, n, d, 1) @ _grid(rng, d, n + 2, 2)
    return X, rng.integers(0, 2, n)


def _two_points(rng):
    _, d, r = _size(rng)
    return _grid(rng, 2, d, r), np.array([0, 1])


def _one_against_many(rng):
    X, y = _any(rng)
    y[:] = 0
    y[rng.integers(len(X))] = 1
    return X, y


def _indicators(rng):
    """Dummies of one category, some of whose levels have one label only."""
    n, levels, _ = _size(rng)
    levels += 1
    level = rng.integers(0, levels, n)
    y = np.where(level == 0, 1, rng.integers(0, 2, n))
    return np.eye(levels)[level], y


def _vertices(rng):
    n, d, _ = _size(rng)
    X = rng.integers(0, 2, (n, d)).astype(float)
    return X, _split(rng, X, rng.integers(0, 2, n))


def _mean_of_others(rng):
    """A point in the midst of some of the other class."""
    X, y = _split_cleanly(rng)
    others = np.flatnonzero(y == y[0])[:4]
    return np.vstack([X, X[others].sum(axis=0) / len(others)]), np.append(y, 1 - y[0])


KINDS = {
    "any": _any,
    "split with ties": _split_with_ties,
    "split cleanly": _split_cleanly,
    "duplicates": _duplicates,
    "opposite twins": _opposite_twins,
    "on a line": _on_a_line,
    "one column": _one_column,
    "zero row": _zero_row,
    "zero column": _zero_column,
    "constant column": _constant_column,
    "wide": _wide,
    "two points": _two_points,
    "one against many": _one_against_many,
    "indicators": _indicators,
    "vertices": _vertices,
    "mean of others": _mean_of_others,
}


def problems(kind: str, count: int, seed: int):
    """``count`` problems of a kind: points and labels 0 and 1, both of them present."""
    rng = np.random.default_rng([seed, *kind.encode()])
    for _ in range(count):
        X, y = KINDS[kind](rng)
        if len(set(y.tolist())) == 1:
            y[rng.integers(len(y))] = 1 - y[0]
        yield X, y
