r"""The multinomial loss over blocks, with its certificate from the same pass.

Every row has a distribution :math:`p_i` over the classes, and its slopes :math:`r_i = U_i (p_i -
e_{y_i})`.  Intercepts without a penalty require :math:`S = \sum_i r_i = 0`, and the slopes of a
block are gone before the sum is known.  They are moved along the curvature,

.. math:: r_i' = r_i - U_i H_i \varepsilon, \qquad H_i = \operatorname{diag} p_i - p_i p_i^\top,
    \qquad \Big(\sum_i U_i H_i\Big)\, \varepsilon = S,

which stays a distribution as long as the entries of :math:`\varepsilon` are within one of each
other.  Its entropy is known from sums as well: with :math:`\mathrm{KL}(p' \,\|\, p) \le \sum_k
(p_k' - p_k)^2 / p_k`,

.. math:: \sum_k p'_k \log p'_k \le \sum_k p_k \log p_k - \varepsilon^\top H \log p
    + \varepsilon^\top H \varepsilon ,

so that the bound is away from that of the slopes themselves by the square of :math:`S`.  Their
product with the data needs :math:`\sum_i U_i\, p_{ik}\, p_{il}\, x_i` for every pair of classes;
with too many classes and columns for that, the slopes are mixed with one distribution :math:`\pi`
of the classes instead,

.. math:: r_i' = (1 - t)\, r_i + t\, U_i (\pi - e_{y_i}),

with the smallest share :math:`t` that balances them, whose price is of the first order in
:math:`S`, and whose product with the data needs nothing but the sums of the classes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import xlog1py, xlogy

from separatrix._compiled.linear_algebra import inner
from separatrix._compiled.rounding import TINY, UNIT
from separatrix.losses import Softmax
from separatrix.objectives.enclosure import (
    FUNCTION_UNITS,
    Level,
    enclosed_adjoint,
    enclosed_scores,
    gamma,
    length_above,
    row_norms_above,
)
from separatrix.objectives.penalties import Penalty
from separatrix.objectives.softmax import SoftmaxObjective
from separatrix.scale.blocks import BlockedData, Rows
from separatrix.scale.engines import Engine
from separatrix.scale.folds import Fold
from separatrix.scale.objectives import BlockedObjective, uppers
from separatrix.scale.sums import Sum

# Scores of the rows that are looked at together; these stay in the third-level cache.
_CELLS = 1 << 16
# The largest distance between entries of epsilon, as a share of that at which a probability would
# vanish.
_FAR = 0.5
# The largest share of the distribution that all rows are mixed with.
_MOST = 0.99
_SPARE = 1.0 + 1e-9


@dataclass(frozen=True)
class _SoftmaxRows:
    """The loss on the rows of a block; small enough to be sent anywhere."""

    penalty: Penalty
    C: float
    fit_intercept: bool
    factors: np.ndarray
    n_classes: int
    fold: Fold | None = None
    # Whether the pairs of classes are added up, and whether the classes are.
    pairs: bool = False
    classes: bool = False

    def upper(self, rows: Rows) -> np.ndarray:
        return uppers(self, rows)

    def objective(self, rows: Rows, *, fit_intercept: bool | None = None) -> SoftmaxObjective:
        out = SoftmaxObjective(
            rows.design,
            np.asarray(rows.target),
            self.n_classes,
            self.penalty,
            fit_intercept=self.fit_intercept if fit_intercept is None else fit_intercept,
        )
        out.upper = self.upper(rows)
        return out


def _rows_at_once(n_classes: int) -> int:
    return max(_CELLS // n_classes, 64)


def _account(
    rows: Rows, shared: tuple[_SoftmaxRows, np.ndarray], own: Any
) -> dict[str, np.ndarray]:
    of, theta = shared
    total, upper = Sum(), of.upper(rows)
    of = replace(of, fold=None)
    step = _rows_at_once(of.n_classes)
    for start in range(0, max(len(rows), 1), step):
        piece: Any = slice(start, start + step)
        some = Rows(rows.matrix[piece], rows.target[piece])
        used = upper[piece] > 0.0
        if not used.all():
            index = np.flatnonzero(used)
            some, piece = Rows(some.matrix[index], some.target[index]), start + index
        with np.errstate(all="ignore"):
            if len(some):
                total.add(_of_some(some, of, theta, upper[piece]))
    found = total.value()
    if found or not len(rows):
        return found
    # No row has a weight: the sums of one, all of which are zero.
    first = Rows(rows.matrix[:1], rows.target[:1])
    shapes = _of_some(first, of, theta, np.ones(1))
    return {name: np.zeros_like(value, dtype=np.float64) for name, value in shapes.items()}


def _of_some(
    rows: Rows, of: _SoftmaxRows, theta: np.ndarray, upper: np.ndarray
) -> dict[str, np.ndarray]:
    """The sums of some rows of positive weight."""
    # Sums that have to vanish are not this part's alone.
    part = of.objective(rows, fit_intercept=False)
    part.upper = upper
    design, codes, k = part.design, part.codes, of.n_classes
    d, n = design.n_features, len(codes)
    own = np.arange(n), codes
    w, b = theta[:d], theta[d] if of.fit_intercept else np.zeros(k)
    scores = design.dot(w) + b
    radius = enclosed_scores(design, w, b, Level.NORMS, scores=scores)
    point = part.dual_point(part.residual(scores))
    r = point.residual
    pulled = enclosed_adjoint(design, r, Level.NORMS, share=point.share)
    out: dict[str, Any] = {
        "loss": part.loss_value(scores),
        "loss_above": part.loss_above(radius),
        "conjugate": point.conjugate_above,
        "adjoint": pulled.middle,
        "length": pulled.length,
        "sizes": length_above(pulled.middle),
        "slope": r.sum(axis=0),
        "slope_size": np.abs(r).sum(axis=0),
        "upper": upper.sum(),
    }
    if not of.fit_intercept:
        return out
    s = np.minimum(-r[own] / upper, 1.0)
    p = r / upper[:, None]
    p[own] = 1.0 - s
    entropies = xlogy(p, p)
    entropies[own] = xlog1py(1.0 - s, -s)
    pulls = entropies - p * entropies.sum(axis=1, keepdims=True)
    weighted = p * upper[:, None]
    norms = row_norms_above(design)
    lengths = upper * (np.inf if norms is None else norms)
    # Without BLAS, whose threads would decide on the order of the sums.
    overlaps = np.einsum("ik,il->kl", p, weighted)
    reaches = np.einsum("ik,il->kl", p, p * lengths[:, None])
    np.fill_diagonal(overlaps, 0.0)
    np.fill_diagonal(reaches, 0.0)
    out |= {
        "totals": np.bincount(codes, weights=upper, minlength=k),
        "pulls": np.einsum("i,ik->k", upper, pulls),
        "overlaps": overlaps,
        "reaches": reaches,
        "lengths": lengths.sum(),
    }
    if of.pairs:
        first, second = np.triu_indices(k, 1)
        out["pairs"] = design.t_dot(weighted[:, first] * p[:, second])
    if of.classes:
        hot = np.zeros((n, k))
        hot[own] = upper
        out["classes"] = design.t_dot(hot)
    return out


@dataclass(frozen=True)
class _Balanced:
    """Slopes with sum zero: their pull within ``length``, and an upper bound of their conjugate.

    ``cost`` is the losses' share of the gap; None where it is not known by itself.
    """

    v: np.ndarray
    length: float
    conjugate: float
    cost: float | None


@dataclass(frozen=True)
class Tuning:
    """The limit on the number of sums that a pass adds up for its bound.

    Parameters
    ----------
    paired : int
        The products of the pairs of classes with the data, from which a bound of the second order
        follows, are added up if they are at most so many numbers.
    """

    paired: int = 200_000


class BlockedSoftmax(BlockedObjective):
    """Multinomial logistic regression over blocks.

    Parameters
    ----------
    data, engine, penalty, C, fit_intercept, factors, passes
        See :class:`~separatrix.scale.objectives.BlockedObjective`.
    tuning : Tuning
        The limit on the number of sums that a pass adds up.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix.objectives.penalties import L2
    >>> from separatrix.scale import Local, scan
    >>> from separatrix.scale.softmax import BlockedSoftmax
    >>> problem = BlockedSoftmax(scan(*load_iris(return_X_y=True), block_rows=50), Local(), L2())
    >>> problem.shape, round(problem.bound(problem.zero()).primal, 4)   # 150 log 3
    ((5, 3), 164.7918)
    """

    def __init__(
        self,
        data: BlockedData,
        engine: Engine,
        penalty: Penalty,
        *,
        tuning: Tuning = Tuning(),
        **options: Any,
    ) -> None:
        super().__init__(data, engine, penalty, **options)
        self.tuning = tuning
        self.loss = Softmax()
        self.n_classes = len(data.class_totals)
        self.output_shape = (self.n_classes,)
        self._class_sums: np.ndarray | None = None

    def canonical(self, theta: np.ndarray) -> np.ndarray:
        # As in memory: what the penalty leaves open is centred over the classes.
        theta = theta.copy()
        start = self.design.n_features if self.penalty.coercive else 0
        theta[start:] -= theta[start:].mean(axis=1, keepdims=True)
        return theta

    def null_loss(self) -> float:
        return self.total_upper * math.log(self.n_classes)

    def null_point(self) -> np.ndarray:
        theta = self.zero()
        if self.fit_intercept:
            totals = self.factors * self.class_totals
            theta[-1] = np.log(np.maximum(totals / totals.sum(), 1e-300))
        return self.canonical(theta)

    def _shared(self) -> _SoftmaxRows:
        return _SoftmaxRows(
            self.penalty, self.C, self.fit_intercept, self.factors, self.n_classes, self.fold
        )

    def _of_rows(self, rows: Rows) -> SoftmaxObjective:
        return self._shared().objective(rows)

    @property
    def _pairs(self) -> bool:
        k = self.n_classes
        paired = self.design.n_features * k * (k - 1) // 2
        return self.fit_intercept and paired <= self.tuning.paired

    def _account(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        first = self.fit_intercept and self._class_sums is None
        of = replace(self._shared(), pairs=self._pairs, classes=first)
        found = self._sums(_account, (of, theta))
        if self.fit_intercept:
            # They are the same at every point, and are looked at once.
            if self._class_sums is None:
                self._class_sums = found["classes"]
            found["classes"] = self._class_sums
        slope = found["slope"] if self.fit_intercept else None
        return {**found, "gradient": self.join(found["adjoint"], slope)}

    def recall(self, theta: np.ndarray, account: dict[str, np.ndarray]) -> None:
        super().recall(theta, account)
        self._class_sums = account.get("classes", self._class_sums)

    # --- the certificate ------------------------------------------------------------------------

    @property
    def _rows(self) -> float:
        """The largest number of terms of a sum that is not compensated, and some to spare."""
        longest = max((block.n_rows for block in self.data.blocks), default=0)
        return float(min(_rows_at_once(self.n_classes), longest) + 8)

    def _balanced(self, account: dict[str, np.ndarray]) -> _Balanced | None:
        """Slopes that add up to zero exactly, from those of a point; None where there are none."""
        numbers = ("loss", "conjugate", "length", "sizes", "upper")
        values = [float(account[name]) for name in numbers]
        if not (all(map(math.isfinite, values)) and np.isfinite(account["gradient"]).all()):
            return None
        conjugate = values[1] + 8.0 * UNIT * abs(values[1])
        v, length = -account["adjoint"], (values[2] + 8.0 * UNIT * values[3]) * _SPARE
        if not self.fit_intercept:
            return _Balanced(v, length, conjugate, 0.0)
        with np.errstate(all="ignore"):
            found = self._moved(account, v, length, conjugate) if self._pairs else None
            return found or self._mixed(account, v, length, conjugate)

    def _slopes(self, account: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """The sums of the slopes of every class, and how far they can be from the true ones."""
        units = gamma(self._rows) + (2.0 * self.n_classes + 8.0) * UNIT
        n = float(self.data.n_rows)
        return account["slope"], (units * account["slope_size"] + n * TINY) * _SPARE

    def _moved(
        self, account: dict[str, np.ndarray], v: np.ndarray, length: float, conjugate: float
    ) -> _Balanced | None:
        """Slopes moved along the curvature."""
        k, upper = self.n_classes, float(account["upper"])
        slope, wrong = self._slopes(account)
        overlaps = account["overlaps"]
        # Probabilities are right to some units of one, and their products as well.
        units = gamma(self._rows) + (8.0 * k + 32.0) * UNIT
        apart = (units * overlaps + 16.0 * k * UNIT * upper) * _SPARE
        # One class's entry is zero: its sum follows from the others'.
        diagonal = overlaps.sum(axis=1)
        rest = np.delete(np.arange(k), int(diagonal.argmax()))
        matrix = (np.diag(diagonal) - overlaps)[np.ix_(rest, rest)]
        if not np.all(diagonal > 0.0):
            return None
        scale = np.sqrt(diagonal[rest])
        off = apart[np.ix_(rest, rest)].copy()
        off[np.diag_indices_from(off)] = apart[rest].sum(axis=1)
        scaled, away = matrix / np.outer(scale, scale), off / np.outer(scale, scale)
        least = float(np.linalg.eigvalsh(scaled)[0]) - math.sqrt(float(np.sum(away**2)))
        least -= 64.0 * k * UNIT * k
        if not least > 1e-8:
            return None
        moves = np.linalg.solve(scaled, slope[rest] / scale) / scale
        # How far from the moves that balance the true slopes exactly: by the equations' residual.
        sizes = np.abs(matrix) @ np.abs(moves) + np.abs(slope[rest])
        left = np.abs(slope[rest] - matrix @ moves) + 8.0 * (k + 2.0) * UNIT * sizes
        left += wrong[rest] + off @ np.abs(moves)
        away_by = math.sqrt(float(np.sum((left / scale) ** 2))) / least * _SPARE / scale
        epsilon, error = np.zeros(k), np.zeros(k)
        epsilon[rest], error[rest] = moves, away_by
        between = np.abs(epsilon[:, None] - epsilon)
        errors = error[:, None] + error + 4.0 * UNIT * between
        if not float((between + errors).max()) <= _FAR:
            return None
        farthest = float((between + errors).max())
        cost = 0.5 * float(np.sum((overlaps + apart) * np.square(between + errors))) * _SPARE
        pulls = account["pulls"]
        roundings = (gamma(self._rows) + (FUNCTION_UNITS + 128.0 * k) * UNIT) * 4.0
        roundings *= upper * (1.0 + math.log(k)) * k * farthest
        conjugate += cost - float(epsilon @ pulls) + float(error @ np.abs(pulls)) + roundings
        moved = np.zeros_like(v)
        # What goes from the first class of a pair to the second.
        first, second = np.triu_indices(k, 1)
        shares = account["pairs"] * (epsilon[first] - epsilon[second])
        for c in range(k):
            moved[:, c] = shares[:, first == c].sum(axis=1) - shares[:, second == c].sum(axis=1)
        reaches = account["reaches"] * _SPARE
        length += float(np.sum(reaches * (units * between + errors)))
        length += 16.0 * k * k * k * UNIT * farthest * float(account["lengths"])
        v = v + moved
        length += 8.0 * UNIT * (length_above(v) + k * length_above(moved))
        return _Balanced(v, length * _SPARE, conjugate, cost)

    def _mixed(
        self, account: dict[str, np.ndarray], v: np.ndarray, length: float, conjugate: float
    ) -> _Balanced | None:
        """Slopes mixed with those of one distribution of the classes."""
        slope, wrong = self._slopes(account)
        totals, upper = account["totals"], float(account["upper"])
        units = gamma(self._rows) + 16.0 * UNIT
        excess = np.maximum(slope + wrong, 0.0)
        least = totals * (1.0 - units)
        t = float(np.max(np.where(excess > 0.0, excess / (least + excess), 0.0))) * _SPARE
        if not 0.0 <= t <= _MOST:
            return None
        if t == 0.0:
            return _Balanced(v, length, conjugate, 0.0)
        pi = np.maximum(totals - (1.0 - t) / t * slope, 0.0)
        pi /= pi.sum()
        error = ((1.0 - t) / t * wrong + 2.0 * units * (totals + upper * pi)) / upper * _SPARE
        logs = np.abs(np.log(np.maximum(pi, np.maximum(error, TINY))))
        entropy = float(np.sum(xlogy(pi, pi)) + np.sum(error * (2.0 + logs)))
        conjugate = (1.0 - t) * conjugate + t * upper * entropy
        conjugate += 8.0 * UNIT * (abs(conjugate) + t * upper * abs(entropy))
        sums = account["classes"]
        v = (1.0 - t) * v - t * (np.outer(sums.sum(axis=1), pi) - sums)
        # The sums of the classes are at most as long as their rows together.
        rows = float(account["lengths"]) * _SPARE
        length = (1.0 - t) * length + t * rows * (float(error.sum()) + 4.0 * units)
        length += 8.0 * UNIT * length_above(v)
        return _Balanced(v, length * _SPARE, conjugate, None)

    def _gap(self, theta: np.ndarray, account: dict[str, np.ndarray]) -> tuple[float, float]:
        found = self._balanced(account)
        if found is None:
            return math.inf, 0.0
        loss, cost = float(account["loss"]), found.cost
        if cost is None:
            # What remains of the difference of both sides.
            cost = loss + found.conjugate
            cost += inner(self.weights_of(theta).ravel(), found.v.ravel())
        return self._gap_of(theta, loss, found.v, found.conjugate, cost)

    def _primal_above(self, theta: np.ndarray, here: dict[str, Any]) -> float:
        loss = float(here["loss_above"]) * (1.0 + 16.0 * UNIT)
        return self.penalty.value_above(self.weights_of(theta)) + loss

    def _dual_point(self, proof: dict[str, np.ndarray]) -> tuple[np.ndarray, float, float] | None:
        found = self._balanced(proof)
        if found is None:
            return None
        tiny = float(self.data.n_rows + 2) * math.sqrt(found.v.size) * TINY
        return found.v, found.length + tiny, found.conjugate
