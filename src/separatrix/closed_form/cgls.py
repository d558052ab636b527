"""Conjugate gradients on the normal equations, without forming them.

Only products with the rows and with their transpose are needed, with all right sides at
once.  In exact arithmetic the steps are those of LSQR, and in float64 they come as near the
solution (Bjorck, Elfving and Strakos, 1998).

References
----------
Hestenes and Stiefel (1952), Methods of conjugate gradients for solving linear systems, section 10.
Bjorck, Elfving and Strakos (1998), Stability of conjugate gradient and Lanczos methods for linear
least squares problems.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy.linalg

from separatrix._compiled.linear_algebra import norms_of

# Parts of a random vector of about unit entries: what is smaller is rounding, what is larger is
# not; in between nothing is decided.
_ROUNDING, _PART = 1e-5, 1e-3
# Entries of a basis that are zero but for rounding.
_NONE = 1e-9
# Lengths of combinations of columns of unit length that are zero but for rounding.
_ZERO = 3e-14
# Goals of the steps.
_SOON, _FINAL = 1e-7, 1e-15
# Vectors in which the space is looked for: one-hot columns have a combination for each variable.
_MOST_NULL = 24

Product = Callable[[np.ndarray], np.ndarray]


def cgls(
    forward: Product,
    backward: Product,
    right: np.ndarray,
    lengths: np.ndarray,
    goals: np.ndarray,
    most: int,
) -> tuple[np.ndarray, int, float]:
    """Minimise ``|right - A x|`` for every column of ``right``, from zero.

    If there are several minimisers, the result is the one of least norm.

    Parameters
    ----------
    forward, backward : callable
        ``A x`` for arrays of shape (d, k), and ``A' r`` for arrays of shape (n, k).
    right : ndarray of shape (n, m)
    lengths : ndarray of shape (d,)
        Lengths of the columns of ``A``; a column that has none is left alone.
    goals : ndarray of shape (m,)
        The tolerance for each column of ``right``: its steps end where no column of ``A`` has a
        larger cosine with its residual, or where the residual is no larger relative to ``right``.
    most : int
        The most steps.

    Returns
    -------
    x : ndarray of shape (d, m)
    steps : int
    condition : float
        An estimate from the steps: a lower bound, but for rounding, of the condition number of
        ``A``.
    """
    unit = np.where(lengths > 0.0, lengths, np.inf)[:, None]
    enough = goals * norms_of(right)
    going = np.flatnonzero(enough > 0.0)
    r = right[:, going]
    s = backward(r)
    x, p, square = np.zeros((len(s), right.shape[1])), s, np.square(norms_of(s))
    here, before = x[:, going], np.zeros(len(going))
    lanczos: list[list[tuple[float, float]]] = [[] for _ in range(len(goals))]
    steps = 0
    while True:
        norm = norms_of(r)
        wrong = np.max(np.abs(s) / unit, axis=0, initial=0.0)
        left = (norm > enough[going]) & (wrong > goals[going] * norm) & (square > 0.0)
        if not left.all():
            x[:, going] = here
            going, square, before = going[left], square[left], before[left]
            r, s, p, here = (np.ascontiguousarray(a[:, left]) for a in (r, s, p, here))
        if steps == most or not len(going):
            break
        q = forward(p)
        step = square / np.square(norms_of(q))
        here += step * p
        r -= step * q
        s = backward(r)
        share = np.square(norms_of(s)) / square
        p = s + share * p
        for i, k in enumerate(going):
            lanczos[k].append((1.0 / step[i] + before[i], math.sqrt(share[i]) / step[i]))
        square, before, steps = share * square, share / step, steps + 1
    x[:, going] = here
    return x, steps, max(_condition(entries) for entries in lanczos)


def null_space(
    forward: Product,
    backward: Product,
    lengths: np.ndarray,
    most: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, float] | None:
    """An orthonormal basis of the combinations of columns that are zero, by their parts in noise.

    A random vector is found again from its product but for its part in that space.  Once there are
    more vectors than the space has dimensions, these parts span it, almost surely, and depend on
    one another, which shows the number of dimensions.

    Parameters
    ----------
    forward, backward, lengths, most
        See :func:`cgls`; the columns have unit length, or none and are left out.
    rng : Generator

    Returns
    -------
    basis : ndarray of shape (d, k)
    condition : float
        The condition number of the columns outside this space, as estimated by the steps.  None
        instead of both where there are too many combinations, or it is not clear how many there
        are.
    """
    alive = lengths > 0.0
    # A vector that comes back in few steps has no part there; one that does not may need more.
    for size, goal in ((1, _SOON), (1, _FINAL), (_MOST_NULL, _FINAL)):
        given = rng.standard_normal((len(lengths), size)) * alive[:, None]
        found, steps, condition = cgls(
            forward, backward, forward(given), lengths, np.full(size, goal), most
        )
        if steps == most:
            return None
        basis, sizes, _ = scipy.linalg.svd(given - found, full_matrices=False)
        null = sizes > _PART
        if goal == _SOON and np.any(sizes > _ROUNDING):
            continue
        if np.any(sizes[~null] > _ROUNDING):
            return None
        if not null.any():
            return np.empty((len(lengths), 0)), condition
        if not null.all():
            # Columns that have no part in it: what rounding gives them counts in other units.
            out = np.where(np.abs(basis[:, null]) > _NONE, basis[:, null], 0.0)
            return (out, condition) if np.all(norms_of(forward(out)) <= _ZERO) else None
    return None


def _condition(entries: list[tuple[float, float]]) -> float:
    """The condition number of ``A`` as estimated by the tridiagonal matrix of Lanczos.

    The eigenvalues of that matrix are within those of ``A' A``.
    """
    if len(entries) < 2:
        return 1.0
    diagonal, beside = np.array(entries).T
    values = scipy.linalg.eigvalsh_tridiagonal(diagonal, beside[:-1])
    return float(np.sqrt(values[-1] / values[0])) if values[0] > 0.0 else np.inf
