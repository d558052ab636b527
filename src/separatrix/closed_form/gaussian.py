r"""Class-conditional Gaussians: estimates, discriminants, densities, sampling, and their proof.

With priors :math:`\pi_k`, means :math:`\mu_k` and covariances :math:`\Sigma_k`, Bayes' rule chooses
the class of the largest

.. math::
    \delta_k(x) = -\tfrac12 \log|\Sigma_k| - \tfrac12 (x-\mu_k)'\Sigma_k^{-1}(x-\mu_k) + \log\pi_k,

which is linear in :math:`x`, up to what is the same for all classes, where all
:math:`\Sigma_k = \Sigma`:

.. math::
    \delta_k(x) = \mu_k'\Sigma^{-1}x - \tfrac12\mu_k'\Sigma^{-1}\mu_k + \log\pi_k

(Fisher, 1936; Rao, 1948).  A covariance is taken apart as :math:`\Sigma = D L L' D`: standard
deviations :math:`D` and the Cholesky factor :math:`L` of the correlations.  Equations are solved by
triangles, nothing is inverted, and determinants are sums of logarithms.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn.base import clone

from separatrix._compiled import memory, pool, row_access
from separatrix._compiled.blas import add_gram
from separatrix._compiled.compilation import njit
from separatrix._compiled.linear_algebra import (
    Factor,
    clear_below,
    solve_upper,
    sums_of_sizes,
    unit_diagonal,
)
from separatrix._compiled.rounding import EPS
from separatrix.certificate import ResidualCertificate
from separatrix.data.design import Design
from separatrix.data.labels import plain_label
from separatrix.data.moments import Moments
from separatrix.exceptions import DataError
from separatrix.messages import Column, Joined, Message, plural

# The share of all weight that a class has at least: with less, variances and priors underflow.
_LEAST_SHARE = 1e-200
_LOG_2PI = math.log(2.0 * math.pi)
# Bytes of the blocks of rows whose densities are computed at a time.
_BLOCK_BYTES = 1 << 19
# The share of its variance that the variance of a column, given the columns before it, must
# exceed: several times the rounding of a scatter.
_RESIDUAL = 1e-12
# The share of the variance of each column over all rows that is added to a singular covariance: a
# thousandth of its deviation.  Less would let rounding decide.
_FLOOR = 1e-6
# The most that means may be off a dependence that holds within the classes, in standard deviations.
_APART = 1e-5
# Columns that a message names before it counts the others.
_MOST_NAMED = 3
# How far a covariance may be from a symmetric one, relative to its largest number.
_ASYMMETRY = 1e-8
# A quarter of the largest float: differences of two are within range.
_HUGE = 2.0**1022
# Columns of a triangle that are solved for at a time, and rows of a matrix in the cache.
_CORNER = 64
_ROWS = 128
# A sum of squares below the first has lost digits to underflow, and that of numbers below the
# second may have lost all of them.
_LEAST_SQUARE, _LEAST_SIZE = 1e-300, 1e-145
# The tolerance of the equations of a model, relative to their terms: another order of summation,
# and another solver, are not errors of it.
_TOLERANCE = 1e-8


# --- names --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Names:
    """The names of columns and classes in messages.

    Attributes
    ----------
    columns : sequence of str, or None
    classes : sequence, or None
    """

    columns: Any = None
    classes: Any = None

    def of_columns(self, index: Sequence[int], *, capital: bool = False) -> Joined:
        index = list(index)
        if not index:
            return Joined(("no column",))
        named = index if len(index) <= _MOST_NAMED + 1 else index[:_MOST_NAMED]
        before = ""
        if self.columns is None:
            before = f"{'C' if capital else 'c'}olumn{'s' if len(index) > 1 else ''} "
        names = map(
            str, named if self.columns is None else [repr(str(self.columns[j])) for j in named]
        )
        return Joined(tuple(map(Column, named, names)), len(index) - len(named), before)

    def label(self, k: int) -> str:
        if self.classes is None:
            return str(k)
        return repr(plain_label(self.classes[k]))


def require_memory(n_features: int, n_matrices: int) -> None:
    """Raise ValueError where covariances of so many columns do not fit in memory."""
    needed = 8 * n_features * n_features * n_matrices
    if needed > memory.installed():
        matrices = "a matrix" if n_matrices == 1 else f"{n_matrices:,} matrices"
        raise ValueError(
            Message(
                "too_wide_for_covariances",
                columns=n_features,
                matrices=matrices,
                size=needed / 1e9,
            )
        )


# --- factors ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Cholesky(Factor):
    """A covariance as ``D L L' D``: standard deviations, and a triangle of the correlations.

    Attributes
    ----------
    scale : ndarray of shape (r,)
        One over the standard deviations.
    lower : ndarray of shape (r, r)
    residual : float
        ``|L L' - R| / |R|`` for the correlations ``R``, in the largest row sum; NaN where it was
        not requested.
    """

    residual: float = math.nan

    @classmethod
    def of(  # type: ignore[override]
        cls, covariance: np.ndarray, *, certify: bool = False
    ) -> Self | None:
        """The factor, with its residual if ``certify``; None for a singular matrix, to rounding."""
        found = super().of(covariance)
        if found is None:
            return None
        if not len(found.scale):
            return replace(found, residual=0.0)
        if np.min(np.diagonal(found.lower)) ** 2 <= _least_residual(len(found.scale)):
            return None
        return replace(found, residual=_product_residual(found, covariance)) if certify else found

    @property
    def log_determinant(self) -> float:
        """``log |Sigma|``: sums of logarithms neither overflow nor underflow."""
        return 2.0 * float(np.log(np.diagonal(self.lower)).sum() - np.log(self.scale).sum())

    @functools.cached_property
    def _corners(self) -> list[np.ndarray]:
        """The inverses of the small triangles on the diagonal."""
        out = []
        for a in range(0, len(self.lower), _CORNER):
            part = self.lower[a : a + _CORNER, a : a + _CORNER]
            eye = np.eye(len(part))
            out.append(solve_upper(part.T, eye, transposed=True))
        return out

    def whiten(self, block: np.ndarray) -> np.ndarray:
        """Overwrite rows ``D^-1 x`` by ``L^-1 D^-1 x``, whose covariance is the identity.

        By forward substitution, a few columns at a time: products of matrices are several times
        as fast as BLAS's own triangular solver, for many rows and not so many columns.
        """
        for corner, a in zip(self._corners, range(0, len(self.lower), _CORNER), strict=True):
            part = block[:, a : a + _CORNER]
            if a:
                part -= block[:, :a] @ self.lower[a : a + _CORNER, :a].T
            part[:] = part @ corner.T
        return block

    def inverse(self) -> np.ndarray:
        """``Sigma^-1``, for those who want to see it; nothing here computes with it."""
        out = self.solve(np.eye(len(self.scale)))
        return 0.5 * (out + out.T)


def _product_residual(factor: Factor, covariance: np.ndarray) -> float:
    """``|L L' - R| / |R|`` in the largest row sum, for the correlations ``R``.

    A few columns of ``L`` at a time: a third of the multiplications of the whole product.
    """
    rest = covariance * -factor.scale[:, None]
    rest *= factor.scale
    upper = np.ascontiguousarray(factor.lower.T)
    for a in range(0, len(upper), _ROWS):
        add_gram(upper[a : a + _ROWS, a:], rest[a:, a:])
    clear_below(rest)
    np.abs(rest, out=rest)
    # The part below the diagonal is the mirror image.
    sums = rest.sum(axis=0) + rest.sum(axis=1) - np.diagonal(rest)
    return float(sums.max()) / factor.norm


def _least_residual(r: int) -> float:
    return _RESIDUAL * max(1.0, r / 100.0)


def _deviations(covariance: np.ndarray) -> np.ndarray:
    out: np.ndarray = np.sqrt(np.diagonal(covariance))
    return out


@njit(nogil=True, cache=True)
def _in_order(correlations: Any, least: float, lower: Any, kept: Any) -> int:
    """Cholesky that leaves out each column that those kept before it explain; how many it keeps.

    ``lower`` has the factor of the columns in ``kept`` in its first rows.
    """
    p = correlations.shape[0]
    r = 0
    for j in range(p):
        rest = correlations[j, j]
        if rest <= 0.0:
            continue
        for a in range(r):
            total = correlations[j, kept[a]]
            for b in range(a):
                total -= lower[r, b] * lower[a, b]
            total /= lower[a, a]
            lower[r, a] = total
            rest -= total * total
        if rest > least:
            lower[r, r] = np.sqrt(rest)
            kept[r] = j
            r += 1
    return r


@dataclass(frozen=True, eq=False)
class _Support:
    """The columns that are independent of one another, and how the others follow from them.

    ``x_q = constant + slopes x_kept`` for each ``q`` of ``dropped``, in standard deviations.
    """

    kept: np.ndarray
    dropped: np.ndarray
    slopes: np.ndarray
    factor: Cholesky

    @classmethod
    def of(cls, covariance: np.ndarray) -> _Support:
        p = len(covariance)
        factor = Cholesky.of(covariance)
        if factor is not None:
            return cls(np.arange(p), np.empty(0, dtype=np.intp), np.empty((0, p)), factor)
        scale, correlations = unit_diagonal(covariance)
        lower, kept = np.zeros((p + 1, p)), np.zeros(p, dtype=np.int64)
        r = _in_order(correlations, 2.0 * _least_residual(p), lower, kept)
        index = kept[:r].astype(np.intp)
        dropped = np.setdiff1d(np.arange(p), index)
        factor = Cholesky.of(covariance[np.ix_(index, index)])
        if factor is None:
            factor = Cholesky(scale[index], np.asfortranarray(lower[:r, :r]), math.inf)
        # They express the dropped columns by those kept, both in standard deviations.
        across = Factor(np.ones(r), factor.lower).solve(correlations[np.ix_(index, dropped)])
        return cls(index, dropped, across.T, factor)

    def describe(
        self, scale: np.ndarray, names: Names, where: str = "", *, capital: bool = False
    ) -> Joined:
        """The dependent columns."""
        texts: list[Any] = []
        constant = [int(q) for q in self.dropped if scale[q] == 0.0]
        if constant:
            columns = names.of_columns(constant, capital=capital)
            verb = "are" if len(constant) > 1 else "is"
            texts.append(Message("constant_columns", columns=columns, verb=verb, where=where))
        others = [i for i, q in enumerate(self.dropped) if scale[q] > 0.0]
        for i in others[: _MOST_NAMED - bool(constant)]:
            used = self.kept[np.abs(self.slopes[i]) > 1e-6]
            texts.append(
                Message(
                    "combined_column",
                    column=names.of_columns([int(self.dropped[i])], capital=capital and not texts),
                    columns=names.of_columns(used.tolist()),
                    where=where,
                )
            )
        rest = len(others) - (_MOST_NAMED - bool(constant))
        if rest > 0:
            texts.append(f"and {rest:,} more such {plural('column', rest)}")
        return Joined(tuple(texts), separator=", ")


# --- estimates ----------------------------------------------------------------------------------


def ledoit_wolf(moments: Moments, k: int) -> tuple[float, np.ndarray]:
    r"""The covariance of class ``k``, shrunk on standardised columns (Ledoit and Wolf, 2004).

    With :math:`z` the columns in standard deviations and :math:`R` their covariance,

    .. math::
        \Sigma = D \big((1-\alpha) R + \alpha \tfrac{\operatorname{tr} R}{d} I\big) D, \qquad
        \alpha = \min\Big(1, \frac{\sum_i \|z_i z_i' - R\|^2 / n^2}
                                  {\|R - \tfrac{\operatorname{tr} R}{d} I\|^2}\Big).

    Parameters
    ----------
    moments : Moments
        The moments, with fourth moments.
    k : int

    Returns
    -------
    intensity : float
        ``alpha``, from 0 to 1; 0 for a single column.
    covariance : ndarray of shape (p, p)
    """
    assert moments.fourth is not None and moments.unit is not None
    w, p = float(moments.weight[k]), moments.n_columns
    covariance = moments.scatter[k] / w if w > 0 else np.zeros((p, p))
    scale, correlations = unit_diagonal(covariance)
    if p == 1 or w <= 0:
        return 0.0, covariance
    inverse = np.square(scale * moments.unit)
    mu = float(np.trace(correlations)) / p
    squares = float(inverse @ moments.fourth[k] @ inverse)
    size = float(np.sum(correlations * correlations))
    delta = (size - p * mu * mu) / p
    beta = min((squares / w - size) / (p * w), delta)
    intensity = 0.0 if beta <= 0.0 else min(beta / delta, 1.0)
    shrunk = (1.0 - intensity) * correlations
    shrunk[np.diag_indices(p)] += intensity * mu
    # A column without variance has no unit but its own.
    units = np.where(scale > 0, _deviations(covariance), 1.0)
    shrunk *= units[:, None]
    shrunk *= units
    return intensity, shrunk


def _shrink(covariance: np.ndarray, share: float) -> None:
    """Overwrite by ``(1 - s) Sigma + s tr(Sigma) / d I``."""
    p = len(covariance)
    level = float(np.sum(np.diagonal(covariance) / p))
    covariance *= 1.0 - share
    covariance[np.diag_indices(p)] += share * level


@dataclass(frozen=True, eq=False)
class Estimate:
    """Gaussians estimated from moments, with their certificate.

    Attributes
    ----------
    gaussians : Gaussians
    certificate : ResidualCertificate
    shrinkage : ndarray of shape (K,)
        The intensity of each class; zeros without shrinkage.
    floored : ndarray of bool, shape (K,), or (1,) for one covariance
        Whether each covariance is singular, and has been given a floor.
    warning : str or None
        A sentence on which columns are redundant, or what is singular and why.
    """

    gaussians: Gaussians
    certificate: ResidualCertificate
    shrinkage: np.ndarray
    floored: np.ndarray
    warning: str | None


@pool.with_one_blas_thread
def estimate(
    moments: Moments,
    *,
    pooled: bool,
    priors: np.ndarray | None = None,
    covariance: str = "mle",
    shrinkage: float | str | None = None,
    reg_param: float = 0.0,
    given: np.ndarray | None = None,
    names: Names | None = None,
) -> Estimate:
    """Gaussians by maximum likelihood, or without bias, from the moments of the classes.

    A direction in which no class varies, and all are the same, is left out.  In any other a
    singular covariance has no density: it is given a floor, a millionth of the variance of each
    column over all rows, and the sentence in ``warning`` says so.

    Parameters
    ----------
    moments : Moments
        The moments, by class unless ``pooled``; with fourth moments for ``shrinkage="auto"``.
    pooled : bool
        Whether there is one covariance for all classes.
    priors : ndarray of shape (K,), optional
        Default: shares of the weights.
    covariance : {"mle", "unbiased"}
    shrinkage : float, "auto" or None
    reg_param : float, default=0.0
        ``(1 - r) Sigma + r I`` in the place of each covariance, after it was shrunk.
    given : ndarray of shape (K, p, p), optional
        Covariances of the classes to take for those of the moments; see
        :func:`covariances_by_estimator`.
    names : Names, optional

    Raises
    ------
    DataError
        For a class without rows, or too few for ``covariance="unbiased"``; and for classes of one
        row: one of them where each has its own covariance, all of them where they share it.
    """
    start = time.perf_counter()
    names = names or Names()
    weight = moments.weight
    empty = np.flatnonzero(weight <= 0)
    if len(empty):
        raise DataError(
            f"Class {names.label(int(empty[0]))} has no rows yet, so its mean and covariance are "
            "not known; pass rows of every class."
        )
    lightest = int(np.argmin(weight))
    if weight[lightest] < _LEAST_SHARE * moments.total:
        raise DataError(
            f"The rows of class {names.label(lightest)} have less than {_LEAST_SHARE:g} of all "
            "weight: the weights span more than float64 can hold together; divide them by their "
            "size."
        )
    if priors is None:
        priors = weight / moments.total
    if given is None:
        matrices, intensity = _covariances(moments, covariance, shrinkage, pooled, names)
        if not reg_param > 0.0:
            _require_spread(moments, pooled, names)
    else:
        matrices, intensity = given, np.zeros(moments.n_classes)
        if pooled:
            matrices = np.tensordot(weight / moments.total, given, axes=1)[None]
    if reg_param > 0.0:
        matrices *= 1.0 - reg_param
        np.einsum("kjj->kj", matrices)[...] += reg_param
    _require_range(matrices, moments, names)
    kept, warning = np.arange(moments.n_columns), None
    floored = np.zeros(len(matrices), dtype=bool)
    factors = _factors(matrices, certify=not pooled)
    if any(factor is None for factor in factors):
        kept, warning = _repair(moments, priors, matrices, factors, floored, pooled, names)
    found = tuple(factor for factor in factors if factor is not None)
    matrix = matrices[0] if pooled else matrices
    gaussians = Gaussians(moments.mean, matrix, priors, kept, found, moments.rest)
    certificate = _certificate(gaussians, start, names)
    return Estimate(gaussians, certificate, intensity, floored, warning)


def _require_spread(moments: Moments, pooled: bool, names: Names) -> None:
    """Raise DataError where one row is all there is of a class, or of each class."""
    spread = np.diagonal(moments.scatter, axis1=-2, axis2=-1).any(axis=-1)
    if pooled:
        spread = np.broadcast_to(spread, moments.weight.shape)
    alone = ~spread & (moments.weight <= 1.0)
    if not (alone.all() if pooled else alone.any()):
        return
    if not _floor(moments).any():
        # All rows are the same, which has a sentence of its own.
        return
    if pooled:
        raise DataError(
            "Each class has one row, so there is no covariance within the classes; the number of "
            "rows must be more than the number of classes."
        )
    label = names.label(int(np.flatnonzero(alone)[0]))
    raise DataError(
        f"Class {label} has one row, so it has no covariance; pass more rows of it, leave the "
        "class out, or give reg_param."
    )


def covariances_by_estimator(
    estimator: Any, design: Design, codes: np.ndarray, n_classes: int, names: Names
) -> np.ndarray:
    """Covariances of the classes as an estimator of covariances has them.

    Parameters
    ----------
    estimator : object
        With ``fit`` and then ``covariance_``, as those of ``sklearn.covariance``; a copy of it is
        fitted to the rows of each class, one class at a time.
    design : Design
    codes : ndarray of int, shape (n_samples,)
    n_classes : int
    names : Names

    Returns
    -------
    ndarray of shape (K, p, p)

    Raises
    ------
    ValueError
        Where there is no ``covariance_`` after ``fit``, or one of another shape, with NaN or
        infinity, or that is not symmetric.
    """
    p = design.n_features
    out = np.empty((n_classes, p, p))
    for k in range(n_classes):
        rows = design.take(np.flatnonzero(codes == k)).matrix
        if sp.issparse(rows):
            rows = rows.toarray()
        # An estimator that is not scikit-learn's is copied as it is.
        own = clone(estimator, safe=False)
        returned = own.fit(np.asarray(rows, dtype=np.float64))
        # Not every estimator returns itself.
        fitted = own if hasattr(own, "covariance_") else returned
        if not hasattr(fitted, "covariance_"):
            raise ValueError(
                f"covariance_estimator={estimator!r} does not have a covariance_ attribute after "
                "fit; give an estimator of sklearn.covariance."
            )
        found = np.asarray(fitted.covariance_, dtype=np.float64)
        if found.shape != (p, p):
            raise ValueError(
                f"covariance_estimator={estimator!r} has a covariance_ of the shape {found.shape} "
                f"for class {names.label(k)}, which has {p:,} columns."
            )
        # Covariances that overflow do so on the diagonal, too, where it is reported by column.
        if np.isfinite(np.diagonal(found)).all() and not np.isfinite(found).all():
            raise ValueError(
                f"covariance_estimator={estimator!r} has NaN or infinity in its covariance_ of "
                f"class {names.label(k)}; give an estimator of sklearn.covariance."
            )
        with np.errstate(invalid="ignore"):
            apart = np.abs(found - found.T).max(initial=0.0)
        if apart > _ASYMMETRY * np.abs(found).max(initial=0.0):
            raise ValueError(
                f"covariance_estimator={estimator!r} has a covariance_ of class {names.label(k)} "
                "that is not symmetric; give an estimator of sklearn.covariance."
            )
        # One half of it is factorised, and stands for both.
        out[k] = np.triu(found) + np.triu(found, 1).T
    return out


def _repair(
    moments: Moments,
    priors: np.ndarray,
    matrices: np.ndarray,
    factors: list[Cholesky | None],
    floored: np.ndarray,
    pooled: bool,
    names: Names,
) -> tuple[np.ndarray, str | None]:
    """Leave out redundant columns, and give a floor to what is singular still.

    Sets what is missing in ``factors``, and what has a floor in ``matrices`` and ``floored``.

    Returns
    -------
    kept : ndarray of int
        The columns that are left.
    warning : str or None
    """
    weight = moments.weight
    # Where all classes together have no variance, they are the same in some direction, or apart.
    whole = matrices[0] if pooled else np.tensordot(weight / moments.total, matrices, axes=1)
    support = _Support.of(whole)
    apart = _apart(support, whole, moments, priors, names)
    floor = _floor(moments)
    if apart is None:
        kept = support.kept
        warning = _redundant(support, whole, names) if len(support.dropped) else None
        if pooled:
            factors[0] = support.factor
            return kept, warning
    else:
        kept, warning = np.flatnonzero(floor > 0.0), None
    for k, own in enumerate(matrices):
        part = own[np.ix_(kept, kept)]
        factors[k] = None if apart else Cholesky.of(part, certify=not pooled)
        if factors[k] is not None:
            continue
        if not floored.any():
            warning = apart or _singular(part, kept, k, float(weight[k]), names)
        floored[k] = True
        # In place: it is the covariance that the discriminants are of.
        own[np.diag_indices_from(own)] += floor
        factors[k] = Cholesky.of(own[np.ix_(kept, kept)], certify=not pooled)
        if factors[k] is None:
            raise DataError(Message("no_floor_helps", singular=warning))
    if floored.any():
        more = int(floored.sum()) - 1
        which = f"It and {more} more have" if more else "It has"
        warning = Message("floored", singular=warning, which=which, floor=_FLOOR)
    return kept, warning


def _floor(moments: Moments) -> np.ndarray:
    """The least variance of each column; 0 for one that has a single value in all rows."""
    share = (moments.weight / moments.total)[:, None]
    scatter = moments.scatter if moments.pooled else moments.scatter.sum(axis=0)
    step = moments.steps
    between = (share * np.square(step - (share * step).sum(axis=0))).sum(axis=0)
    return _FLOOR * (np.diagonal(scatter) / moments.total + between)


def _factors(matrices: np.ndarray, *, certify: bool) -> list[Cholesky | None]:
    """Factorise every matrix; the threads share the matrices."""
    out: list[Cholesky | None] = [None] * len(matrices)

    def work(a: int, b: int) -> None:
        for k in range(a, b):
            out[k] = Cholesky.of(matrices[k], certify=certify)

    ranges = pool.ranges(len(matrices), float(len(matrices)) * matrices.shape[1] ** 3)
    pool.run([partial(work, a, b) for a, b in ranges])
    return out


def _covariances(
    moments: Moments, kind: str, shrinkage: float | str | None, pooled: bool, names: Names
) -> tuple[np.ndarray, np.ndarray]:
    """Covariances, (1, p, p) or (K, p, p), and the intensity of the shrinkage of each class."""
    k, p, auto = moments.n_classes, moments.n_columns, shrinkage == "auto"
    divisors = np.full(k, moments.total) if pooled else moments.weight.copy()
    if kind == "unbiased":
        divisors -= k if pooled else 1.0
        small = np.flatnonzero(divisors <= 0)
        if len(small):
            first, label = divisors[small[0]], names.label(int(small[0]))
            if pooled:
                raise DataError(Message("unbiased_covariance", divisor=first))
            raise DataError(Message("unbiased_covariance_of_class", divisor=first, label=label))
    scatter = moments.scatter
    if pooled and not moments.pooled and not auto:
        scatter = scatter.sum(axis=0)
    scatter = scatter.reshape(-1, p, p)
    intensity = np.zeros(k)
    out = np.zeros((1 if pooled else k, p, p))

    def work(first: int, last: int) -> None:
        for j in range(first, last):
            if auto:
                intensity[j], own = ledoit_wolf(moments, j)
                own *= moments.weight[j] / divisors[j]
                out[0 if pooled else j] += own
                continue
            np.divide(scatter[j], divisors[j], out=out[j])
            if shrinkage:
                _shrink(out[j], float(shrinkage))

    if shrinkage and not auto:
        intensity[:] = float(shrinkage)
    # The classes of one covariance are summed up one after the other.
    parts = [(0, len(scatter))] if pooled else pool.ranges(k, float(out.size))
    pool.run([partial(work, *part) for part in parts])
    return out, intensity


def _require_range(matrices: np.ndarray, moments: Moments, names: Names) -> None:
    """Raise DataError where float64 cannot hold the variance of a column."""
    # Entries are within range where the diagonal is (Cauchy and Schwarz).
    good = np.isfinite(np.diagonal(matrices, axis1=-2, axis2=-1)).all(axis=0)
    if not good.all():
        columns = names.of_columns(np.flatnonzero(~good).tolist())
        raise DataError(Message("variance_overflows", columns=columns))
    # Squares of numbers as small as these lose digits, or all of themselves.
    square = np.diagonal(moments.scatter, axis1=-2, axis2=-1).reshape(-1, moments.n_columns)
    size = np.abs(moments.mean).max(axis=0)
    spread = square.max(axis=0)
    # A constant column has no spread; what is smaller than this may have lost it.
    lost = (spread == 0.0) & (size > 0.0) & (size < _LEAST_SIZE)
    faint = lost | (spread > 0.0) & (spread < _LEAST_SQUARE)
    if faint.any():
        columns = names.of_columns(np.flatnonzero(faint).tolist())
        raise DataError(Message("variance_underflows", columns=columns))


def _apart(
    support: _Support,
    covariance: np.ndarray,
    moments: Moments,
    priors: np.ndarray,
    names: Names,
) -> str | None:
    """A message on how the classes differ in a direction without variance within them, or None."""
    scale, means, steps = _deviations(covariance), moments.mean, moments.steps
    k, p = means.shape
    unit = np.where(scale > 0, scale, 1.0)
    step = (steps - (priors[:, None] * steps).sum(axis=0)) / unit
    size = np.abs(means).max(axis=0) / unit
    for i, q in enumerate(support.dropped.tolist()):
        if scale[q] == 0.0:
            apart = means[:, q] - means[0, q]
            bound = 8.0 * EPS * np.abs(means[:, q]).max()
        else:
            slopes = support.slopes[i]
            apart = step[:, q] - step[:, support.kept] @ slopes
            apart = apart - apart[0]
            rounding = size[q] + np.abs(slopes) @ size[support.kept]
            bound = _APART + 64.0 * EPS * rounding
        if np.abs(apart).max() <= bound:
            continue
        if scale[q] == 0.0:
            j = int(np.argmax(np.abs(apart)))
            what = Message(
                "apart_by_a_constant",
                column=names.of_columns([q]),
                first=means[0, q],
                first_class=names.label(0),
                other=means[j, q],
                other_class=names.label(j),
            )
        else:
            used = support.kept[np.abs(support.slopes[i]) > 1e-6]
            what = Message(
                "apart_by_a_combination",
                column=names.of_columns([q]),
                columns=names.of_columns(used.tolist()),
            )
        few = ""
        if moments.total - k < p:
            few = f" ({moments.total:g} rows in {k} classes are too few for {p} columns)"
        return Message("singular_within_classes", few=few, what=what)
    return None


def _redundant(support: _Support, covariance: np.ndarray, names: Names) -> str:
    scale = _deviations(covariance)
    return Message(
        "redundant",
        columns=support.describe(scale, names, capital=True),
        verb="tells" if len(support.dropped) == 1 else "tell",
        kept=len(support.kept),
        total=len(scale),
    )


def _singular(covariance: np.ndarray, kept: np.ndarray, k: int, weight: float, names: Names) -> str:
    r = len(kept)
    label = names.label(k)
    if weight <= r:
        why: Any = f"it has {weight:g} {plural('row', weight)}, too few for {r} columns"
        return Message("singular_in_class", label=label, why=why)
    own = _Support.of(covariance)
    # Back to the numbers of all columns.
    support = _Support(kept[own.kept], kept[own.dropped], own.slopes, own.factor)
    scale = np.zeros(int(kept.max(initial=0)) + 1)
    scale[kept] = _deviations(covariance)
    return Message("singular_in_class", label=label, why=support.describe(scale, names, " there"))


# --- certificates -------------------------------------------------------------------------------

_LINEAR_EQUATIONS = "equations Sigma W = M"
_FACTOR_EQUATIONS = "equations L L' = Sigma"


def _linear_residual(
    covariance: np.ndarray, right: np.ndarray, solution: np.ndarray, kept: np.ndarray
) -> float:
    """The largest ``|Sigma w - m| / (|Sigma| |w| + |m|)`` in standard deviations, over columns.

    The equations are those of the columns ``kept``; the others follow from them, as far as the
    columns do.
    """
    if not len(kept):
        return 0.0
    scale, correlations = unit_diagonal(covariance)
    if len(kept) < len(scale):
        correlations = correlations[kept]
    # In standard deviations: D^-1 (Sigma w - m).
    solution = solution * _deviations(covariance)[:, None]
    right = right[kept] * scale[kept, None]
    rest = np.abs(correlations @ solution - right).max(axis=0)
    size = float(sums_of_sizes(correlations).max()) * np.abs(solution).max(axis=0)
    size += np.abs(right).max(axis=0)
    return float(np.max(np.divide(rest, size, out=np.zeros_like(rest), where=rest > 0)))


def _certificate(gaussians: Gaussians, start: float, names: Names) -> ResidualCertificate:
    """Certify the linear equations of the shared covariance, or the factors of each covariance."""

    def part(equations: str, residual: float, factor: Cholesky, seconds: float = 0.0) -> Any:
        return ResidualCertificate.of(
            equations=equations,
            relative_residual=residual,
            condition=factor.condition,
            rank=len(gaussians.kept),
            n_columns=gaussians.n_features,
            n_iter=1,
            seconds=seconds,
        )

    if gaussians.pooled:
        steps, solved = gaussians.centred()
        residual = _linear_residual(gaussians.covariance, steps.T, solved.T, gaussians.kept)
        if gaussians.n_classes > 2:
            # The part that all classes share rounds off digits of their differences.
            lost = _direction_residual(gaussians, gaussians.linear[0])
            residual = max(residual, lost) if lost > _TOLERANCE else residual
        seconds = time.perf_counter() - start
        certificate: ResidualCertificate = part(
            _LINEAR_EQUATIONS, residual, gaussians.factors[0], seconds
        )
        return certificate
    parts = [
        part(f"{_FACTOR_EQUATIONS} of class {names.label(k)}", factor.residual, factor)
        for k, factor in enumerate(gaussians.factors)
    ]
    return ResidualCertificate.total(
        parts, equations=_FACTOR_EQUATIONS, seconds=time.perf_counter() - start
    )


def certify_gaussian(
    moments: Moments,
    *,
    means: np.ndarray | None = None,
    covariance: np.ndarray | None = None,
    planes: Sequence[tuple[np.ndarray, np.ndarray]] = (),
    priors: np.ndarray | None = None,
    empirical: bool = False,
    pooled: bool = True,
    kind: str = "mle",
    tol: float = _TOLERANCE,
    **options: Any,
) -> ResidualCertificate:
    """Certify how far a model, of any library, is from the closed form on these rows.

    Everything is computed anew from the rows, whatever the model claims.  Each thing that is given
    is a part; what a model does not have is left out.

    Parameters
    ----------
    moments : Moments
        The moments of the rows.
    means : ndarray of shape (K, p), optional
    covariance : ndarray of shape (p, p), or (K, p, p) unless ``pooled``, optional
    planes : sequence of (coef, intercept)
        Coefficients and intercepts of a linear model, of shapes (K, p) and (K,), or (1, p) and
        (1,), up to what is the same for all classes, which decides nothing.  If there are several,
        the worst counts, part by part.
    priors : ndarray of shape (K,), optional
        The priors of the model; default: shares of the weights.
    empirical : bool, default=False
        Whether ``priors`` are to be the shares of the weights: then they are a part, too.
    pooled, kind, options
        As ``pooled``, ``covariance`` and the other options of :func:`estimate`.
    tol : float, default=1e-8
        The tolerance of each part.

    Returns
    -------
    ResidualCertificate
        Its ``parts`` are the means (in standard deviations), the covariance (in the largest row
        sum of the correlations), ``Sigma W = M`` and the offsets.

    Raises
    ------
    DataError
        Where the closed form does not exist on these rows.
    """
    start = time.perf_counter()
    found = estimate(moments, pooled=pooled, priors=priors, covariance=kind, **options)
    own = found.gaussians
    residuals: dict[str, float] = {}
    if empirical and priors is not None:
        shares = moments.weight / moments.total
        residuals["priors"] = float(np.abs(np.asarray(priors) / shares - 1.0).max())
    if means is not None:
        residuals["means"] = _mean_residual(own, np.asarray(means, dtype=np.float64))
    if covariance is not None:
        name = "covariance" if pooled else "covariances"
        residuals[name] = _covariance_residual(own, np.asarray(covariance, dtype=np.float64))
    for coef, intercept in planes:
        at = np.atleast_2d(np.asarray(coef, dtype=np.float64)), np.atleast_1d(intercept)
        found_at = _direction_residual(own, at[0]), _offset_residual(own, *at)
        for name, residual in zip((_LINEAR_EQUATIONS, "offsets"), found_at, strict=True):
            residuals[name] = float(np.maximum(residuals.get(name, 0.0), residual))
    if not residuals:
        return found.certificate
    parts = [
        ResidualCertificate.of(
            equations=equations,
            relative_residual=residual,
            condition=found.certificate.condition,
            rank=found.certificate.rank,
            n_columns=own.n_features,
            tol=tol,
        )
        for equations, residual in residuals.items()
    ]
    return ResidualCertificate.total(
        parts,
        equations="means, covariances and discriminants from the rows"
        if pooled
        else "means and covariances from the rows",
        seconds=time.perf_counter() - start,
    )


def _mean_residual(own: Gaussians, means: np.ndarray) -> float:
    """The largest difference of means in standard deviations."""
    # Where the offset is large against the spread, the numbers themselves are rounded.
    size = own.spread() + 1e-6 * np.abs(own.means).max(axis=0)
    off = np.abs(means - own.means)
    return float(np.max(np.divide(off, size, out=np.where(off > 0, np.inf, 0.0), where=size > 0)))


def _covariance_residual(own: Gaussians, theirs: np.ndarray) -> float:
    """The largest row sum of a difference of covariances, relative, in standard deviations."""
    worst = 0.0
    for matrix, right in zip(_stacked(theirs), own.matrices, strict=True):
        scale, correlations = unit_diagonal(right)
        unit = np.where(scale > 0, scale, 1.0)
        rest = sums_of_sizes(matrix * unit[:, None] * unit - correlations)
        norm = float(sums_of_sizes(correlations).max()) or 1.0
        worst = max(worst, float(rest.max()) / norm)
    return worst


def _direction_residual(own: Gaussians, coef: np.ndarray) -> float:
    """Return the residual of ``Sigma W = M``, up to weights that all classes share."""
    if len(coef) == 1 and own.n_classes == 2:
        steps = own.steps[1:]
    else:
        steps = own.centred_means
        coef = coef - (own.priors[:, None] * coef).sum(axis=0)
    return _linear_residual(own.covariance, steps.T, coef.T, own.kept)


def _offset_residual(own: Gaussians, coef: np.ndarray, intercept: np.ndarray) -> float:
    """Scores at the mean of all rows, against those of the closed form, class against class."""
    centre = own.centre
    steps, solved = own.centred()
    heights = np.log(own.priors) - 0.5 * np.einsum("kj,kj->k", steps, solved)
    given = coef @ centre + intercept
    size = np.abs(coef) @ np.abs(centre) + np.abs(intercept)
    if len(given) == 1:
        heights = heights[1:] - heights[:1]
        rest = np.abs(given - heights)
    else:
        rest = np.abs((given - given[0]) - (heights - heights[0]))
    scale = 1.0 + np.abs(heights).max() + size.max()
    return float(rest.max() / scale)


# --- Gaussians ----------------------------------------------------------------------------------


def _require_shapes(
    means: np.ndarray, covariance: np.ndarray, priors: np.ndarray, kept: np.ndarray
) -> None:
    """Raise ValueError unless the parameters of Gaussians are of one size.

    Compiled loops take them for what they say, and they may come from a file.
    """
    k, p = means.shape
    square = covariance.shape in ((p, p), (k, p, p))
    inside = kept.ndim == 1 and (not len(kept) or 0 <= int(kept.min()) <= int(kept.max()) < p)
    if not (square and priors.shape == (k,) and inside):
        raise ValueError(
            f"The shapes of the Gaussians do not agree: means {means.shape}, covariances "
            f"{covariance.shape}, priors {priors.shape}, and {len(kept)} independent columns."
        )


def _stacked(covariance: np.ndarray) -> np.ndarray:
    """Matrices one after the other: one, or one a class."""
    return covariance[None] if covariance.ndim == 2 else covariance


# Another order of the two subtractions would lose ``rest``.
@njit(nogil=True, cache=True, error_model="numpy")
def _standardise(block: Any, kept: Any, mean: Any, rest: Any, inverse: Any, out: Any) -> None:
    """``(x - mean - rest) inverse`` in the columns ``kept``."""
    every = len(kept) == block.shape[1]
    for i in range(block.shape[0]):
        if every:
            for j in range(len(mean)):
                out[i, j] = (block[i, j] - mean[j] - rest[j]) * inverse[j]
        else:
            for j in range(len(mean)):
                out[i, j] = (block[i, kept[j]] - mean[j] - rest[j]) * inverse[j]


@dataclass(frozen=True, eq=False)
class Gaussians:
    """One Gaussian a class, with its prior.

    Attributes
    ----------
    means : ndarray of shape (K, p)
    covariance : ndarray of shape (p, p), of all classes, or (K, p, p)
    priors : ndarray of shape (K,)
    kept : ndarray of int, shape (r,)
        Columns that are independent of one another; the others follow from them, and densities
        are those of the kept columns.
    factors : tuple of Cholesky
        The factors of the covariances of ``kept``: one, or one a class.
    rest : ndarray of shape (K, p) or None
        The rounding errors of the means, where they are known: with an offset that is large
        against the spread, they hold digits of the differences between the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.closed_form.gaussian import Gaussians
    >>> from separatrix.data.design import as_design
    >>> pair = Gaussians.of(np.array([[0.0], [2.0]]), np.array([[1.0]]), np.array([0.5, 0.5]))
    >>> pair.log_likelihood(as_design(np.array([[1.0]]))).round(4).tolist()
    [[-1.4189, -1.4189]]
    """

    means: np.ndarray
    covariance: np.ndarray
    priors: np.ndarray
    kept: np.ndarray
    factors: tuple[Cholesky, ...] = field(repr=False)
    rest: np.ndarray | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        means: np.ndarray,
        covariance: np.ndarray,
        priors: np.ndarray,
        kept: np.ndarray | None = None,
        names: Names | None = None,
        rest: np.ndarray | None = None,
    ) -> Gaussians:
        """Build the Gaussians from parameters alone.

        Raises
        ------
        DataError
            For a singular covariance.
        """
        means, covariance, priors = (
            np.asarray(a, dtype=np.float64) for a in (means, covariance, priors)
        )
        p = means.shape[1]
        index = np.arange(p) if kept is None else np.asarray(kept, dtype=np.intp)
        _require_shapes(means, covariance, priors, index)
        factors = []
        for k, matrix in enumerate(_stacked(covariance)):
            own = matrix[np.ix_(index, index)] if len(index) < p else matrix
            factor = Cholesky.of(own)
            if factor is None:
                names = names or Names()
                which = "" if covariance.ndim == 2 else f" of class {names.label(k)}"
                why = _Support.of(own).describe(_deviations(own), names)
                raise DataError(f"The covariance{which} is singular: {why}.")
            factors.append(factor)
        return cls(means, covariance, priors, index, tuple(factors), rest)

    @property
    def pooled(self) -> bool:
        return self.covariance.ndim == 2

    @property
    def matrices(self) -> np.ndarray:
        """The covariances as (1, p, p) or (K, p, p)."""
        return _stacked(self.covariance)

    @property
    def n_classes(self) -> int:
        return len(self.means)

    @property
    def n_features(self) -> int:
        return self.means.shape[1]

    @property
    def _rest(self) -> np.ndarray:
        return np.zeros(self.means.shape) if self.rest is None else self.rest

    @property
    def steps(self) -> np.ndarray:
        """The means less that of the first class, shape (K, p)."""
        return np.asarray((self.means - self.means[0]) + (self._rest - self._rest[0]))

    @property
    def centred_means(self) -> np.ndarray:
        """The means less that of all classes by their priors, shape (K, p)."""
        steps = self.steps
        return np.asarray(steps - (self.priors[:, None] * steps).sum(axis=0))

    @property
    def centre(self) -> np.ndarray:
        """The mean of all classes by their priors; nothing cancels where they are equal."""
        return np.asarray(self.means[0] + (self.priors[:, None] * self.steps).sum(axis=0))

    def spread(self) -> np.ndarray:
        """The standard deviation of each column within the classes."""
        diagonal = np.diagonal(self.matrices, axis1=-2, axis2=-1)
        return np.sqrt(diagonal[0] if self.pooled else self.priors @ diagonal)

    def factor(self, k: int) -> Cholesky:
        return self.factors[0] if self.pooled else self.factors[k]

    # --- one covariance: linear discriminants -----------------------------------------------

    def principal_axes(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Eigenvectors, (p, p), and eigenvalues, (p,), of each covariance, the largest first."""
        pairs = [scipy.linalg.eigh(matrix) for matrix in self.matrices]
        values = [np.maximum(own[::-1], 0.0) for own, _ in pairs]
        return [np.ascontiguousarray(axes[:, ::-1]) for _, axes in pairs], values

    def centred(self) -> tuple[np.ndarray, np.ndarray]:
        """``mu_k - centre`` and ``Sigma^+ (mu_k - centre)``, both of shape (K, p)."""
        steps = self.centred_means
        return steps, self._solve(steps)

    @functools.cached_property
    @pool.with_one_blas_thread
    def linear(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Discriminants as weights and offsets.

        Returns
        -------
        coef, intercept : ndarray of shape (K, p) and (K,)
            ``Sigma^-1 mu_k`` and ``log pi_k - 1/2 mu_k' Sigma^-1 mu_k``.
        centred_coef, centred_intercept : ndarray of shape (K, p) and (K,)
            With ``mu_k`` less the mean of all: the same but for what all classes share, which
            is large, and costs digits, where the means are far from the origin.
        """
        centre = self.centre
        steps, solved = self.centred()
        logs = np.log(self.priors)
        heights = logs - 0.5 * np.einsum("kj,kj->k", steps, solved)
        common = self._solve(self._in_range(centre[None]))[0]
        coef = solved + common
        intercept = logs - 0.5 * np.einsum("kj,kj->k", self.means, coef)
        return coef, intercept, solved, heights - solved @ centre

    @pool.with_one_blas_thread
    def directions(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The directions in which the classes are furthest apart (Fisher, 1936; Rao, 1948).

        Returns
        -------
        scalings : ndarray of shape (p, count)
            The covariance within the classes is the identity in these coordinates; the largest
            entry of each direction is positive.
        share : ndarray of shape (count,)
            The share of the variance between the classes that each direction has.
        """
        factor, r = self.factors[0], len(self.kept)
        steps = self.centred_means[:, self.kept] * factor.scale
        white = factor.whiten(np.ascontiguousarray(steps)) * np.sqrt(self.priors)[:, None]
        out = np.zeros((self.n_features, count))
        if not r:
            return out, np.zeros(count)
        _, sizes, axes = scipy.linalg.svd(white, full_matrices=False, check_finite=False)
        solved = solve_upper(factor.lower.T, axes[:count].T)
        out[self.kept, : solved.shape[1]] = solved * factor.scale[:, None]
        out = self._in_range(out.T).T
        largest = np.abs(out * self.spread()[:, None]).argmax(axis=0)
        out *= np.where(out[largest, np.arange(count)] < 0, -1.0, 1.0)
        share = np.zeros(count)
        total = float(np.sum(sizes**2))
        share[: len(sizes[:count])] = sizes[:count] ** 2 / total if total > 0 else 0.0
        return np.ascontiguousarray(out), share

    def _solve(self, right: np.ndarray) -> np.ndarray:
        """``Sigma^+`` times rows that are in the range of ``Sigma``: the answer of least norm."""
        out = np.zeros_like(right)
        out[:, self.kept] = self.factors[0].solve(right[:, self.kept].T).T
        return self._in_range(out)

    def _in_range(self, rows: np.ndarray) -> np.ndarray:
        """Rows without their parts in directions that have no variance."""
        null = self._null()
        if null is None:
            return rows
        return np.asarray(rows - (rows @ null) @ null.T)

    def _null(self) -> np.ndarray | None:
        """Orthonormal directions without variance, (p, p - r)."""
        if len(self.kept) == self.n_features:
            return None
        p = self.n_features
        dropped = np.setdiff1d(np.arange(p), self.kept)
        out = np.zeros((p, len(dropped)))
        own, across = self.factors[0], self.covariance[np.ix_(self.kept, dropped)]
        out[self.kept] = -own.solve(across)
        out[dropped, np.arange(len(dropped))] = 1.0
        # By their own sizes first, so that nothing overflows.
        out /= np.abs(out).max(axis=0)
        return np.asarray(scipy.linalg.qr(out, mode="economic", check_finite=False)[0])

    # --- densities --------------------------------------------------------------------------

    def log_likelihood(self, design: Design) -> np.ndarray:
        """``log p(x | k)`` of every row, shape (n, K), in natural logarithms."""
        out = self._distances(design)
        out *= -0.5
        out -= 0.5 * (len(self.kept) * _LOG_2PI + self._log_determinants())
        return out

    def _log_determinants(self) -> np.ndarray:
        return np.array([self.factor(k).log_determinant for k in range(self.n_classes)])

    def discriminants(self, design: Design) -> np.ndarray:
        """``-1/2 log |Sigma_k| - 1/2 (x - mu_k)' Sigma_k^-1 (x - mu_k) + log pi_k``, (n, K)."""
        out = self._distances(design)
        out *= -0.5
        out += np.log(self.priors) - 0.5 * self._log_determinants()
        beyond = np.flatnonzero(np.isinf(out).any(axis=1))
        if len(beyond):
            out[beyond] = self._beyond(design.take(beyond))
        return out

    def _beyond(self, design: Design) -> np.ndarray:
        """Numbers within range in the order of the discriminants, where these overflow."""
        logs = np.empty((design.n_samples, self.n_classes))
        for part, block in design.blocks():
            x = block[:, self.kept]
            size = np.abs(x).max(axis=1, keepdims=True)
            for k in range(self.n_classes):
                factor = self.factor(k)
                largest = factor.scale.max()
                with np.errstate(under="ignore"):
                    own = (x / size - self.means[k, self.kept] / size) * (factor.scale / largest)
                    squares = np.einsum("ij,ij->i", *[factor.whiten(np.ascontiguousarray(own))] * 2)
                logs[part, k] = np.log(squares) + 2.0 * (np.log(size[:, 0]) + np.log(largest))
        with np.errstate(under="ignore"):
            out: np.ndarray = -_HUGE * np.exp(logs - logs.max(axis=1, keepdims=True))
        return out

    def _distances(self, design: Design) -> np.ndarray:
        """Squared distances of Mahalanobis (1936), (n, K)."""
        if design.n_features != self.n_features:
            raise ValueError(
                f"The data have {design.n_features:,} columns, and the Gaussians have "
                f"{self.n_features:,}."
            )
        n, r = design.n_samples, len(self.kept)
        out = np.zeros((n, self.n_classes))
        if not r:
            return out
        work = float(n) * r * r * (1 if self.pooled else self.n_classes)
        with pool.one_blas_thread(), np.errstate(over="ignore", under="ignore", invalid="ignore"):
            pool.run(
                [partial(self._add_distances, design, out, a, b) for a, b in pool.ranges(n, work)]
            )
        # Infinity less infinity, where a step overflowed.
        out[np.isnan(out)] = np.inf
        return out

    def _add_distances(self, design: Design, out: np.ndarray, start: int, stop: int) -> None:
        kept, means = self.kept.astype(np.int64), self.means[:, self.kept]
        rest = self._rest[:, self.kept]
        # The block, its copy and the triangle are to fit the cache.
        size = max(16, _BLOCK_BYTES // (8 * max(1, design.n_features)))
        buffer = np.empty((min(size, max(1, design.n_samples)), len(kept)))
        centres = self.centre[None, kept] if self.pooled else means
        white = None
        if self.pooled:
            factor = self.factors[0]
            steps = (means - centres) + rest
            white = factor.whiten(np.ascontiguousarray(steps * factor.scale))
            rest = np.zeros((1, len(kept)))
        for part, block in design.blocks(start, stop, size=size):
            own = buffer[: len(block)]
            rows = row_access.read_only(block)
            for k, (factor, centre) in enumerate(zip(self.factors, centres, strict=True)):
                _standardise(rows, kept, centre, rest[k], factor.scale, own)
                factor.whiten(own)
                if white is None:
                    np.einsum("ij,ij->i", own, own, out=out[part, k])
            if white is not None:
                for k, mean in enumerate(white):
                    # Differences, not expanded squares: what is near a mean keeps its digits.
                    rest = own - mean
                    np.einsum("ij,ij->i", rest, rest, out=out[part, k])

    def log_density(self, design: Design) -> np.ndarray:
        """``log p(x)``, the mixture of the classes, shape (n,)."""
        out = logsumexp(self.log_likelihood(design) + np.log(self.priors), axis=1)
        return np.asarray(out)

    # --- sampling ---------------------------------------------------------------------------

    def sample(self, n: int, random: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        """Points and class numbers drawn from the mixture, shapes (n, p) and (n,)."""
        codes = random.choice(self.n_classes, size=n, p=self.priors / self.priors.sum())
        dropped = np.setdiff1d(np.arange(self.n_features), self.kept)
        noise = random.standard_normal((n, len(self.kept)))
        out = self.means[codes]
        for k in range(self.n_classes):
            rows, factor = np.flatnonzero(codes == k), self.factor(k)
            own = (noise[rows] @ factor.lower.T) / factor.scale
            out[np.ix_(rows, self.kept)] += own
            if len(dropped):
                matrix = self.matrices[0 if self.pooled else k]
                slopes = factor.solve(matrix[np.ix_(self.kept, dropped)])
                out[np.ix_(rows, dropped)] += own @ slopes
        return out, codes
