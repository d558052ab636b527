"""Half the deviance of a count."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix._compiled.rounding import UNIT
from separatrix.losses.base import Loss

_TINY = np.finfo(np.float64).tiny


class PoissonDeviance(Loss):
    r"""Half the deviance of a count :math:`y \ge 0` from the mean :math:`e^s` of Poisson's law.

    .. math:: \ell(s, y) = e^s - y s + y\log y - y

    That is the negative logarithm of the probability, less its value where :math:`e^s = y`, so
    that it is nowhere negative.  With the centre :math:`\log y` it is
    :math:`y\,(e^z - 1 - z)` of :math:`z = s - \log y`, and :math:`e^z` of :math:`z = s` for
    :math:`y = 0`.  Conjugate: :math:`(u + y)\log\frac{u + y}y - u` for :math:`u \ge -y`, and
    :math:`u\log u - u` for :math:`y = 0`.  Nelder and Wedderburn (1972), Generalized linear models.

    Parameters
    ----------
    target : float or ndarray, default=1.0
        The counts of the rows whose ``z`` the functions take, which :meth:`given` sets.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import PoissonDeviance
    >>> PoissonDeviance()(np.log([1.0, 2.0, 4.0]), np.full(3, 2.0)).round(4).tolist()
    [0.3863, 0.0, 0.6137]
    """

    key = "poisson"
    name = "Poisson deviance"
    expression = "[e^({score}) - y {z} + y log(y) - y]"
    conjugate_formula = "(u + y) log((u + y) / y) - u for u >= -y, else inf"
    smooth = True
    domain = (0.0, np.inf)
    by_target = True
    # The units of a logarithm.
    centre_units = 8.0
    edged = False
    dual_lower = -np.inf

    def __init__(self, target: Any = 1.0) -> None:
        self.target = self.dual_upper = target

    def given(self, target: np.ndarray) -> PoissonDeviance:
        return PoissonDeviance(target)

    def sign(self, target: np.ndarray) -> np.ndarray:
        return np.broadcast_to(1.0, np.shape(target))

    def centre(self, target: np.ndarray) -> np.ndarray:
        return np.log(np.where(target > 0.0, target, 1.0))

    @property
    def recedes(self) -> bool:
        # The loss of a count of zero falls for ever, however small the mean is.
        return True

    def progress(self, move: np.ndarray, target: np.ndarray) -> np.ndarray:
        return np.where(target > 0.0, -np.abs(move), -move)

    def mean(self, score: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", under="ignore"):
            return np.exp(score)

    def level(self, score: np.ndarray, target: np.ndarray, upper: np.ndarray) -> float | None:
        # The means add up to the sum of the counts, which is all that the log link requires.
        used = upper > 0.0
        counts = float(upper @ target)
        if not (0.0 < counts < np.inf):
            return None
        largest = float(score[used].max())
        means = float(upper[used] @ np.exp(score[used] - largest))
        found = float(np.log(counts / means)) - largest
        return found if np.isfinite(found) else None

    def _mean_at(self, z: np.ndarray) -> np.ndarray:
        """``e^s``, which overflows no sooner than it has to."""
        half = np.exp(0.5 * z)
        return (np.where(self.target > 0.0, self.target, 1.0) * half) * half

    def value(self, z: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            out = np.where(self.target > 0.0, self.target * (np.expm1(z) - z), np.exp(z))
            wild = ~np.isfinite(out)
            if np.any(wild):
                out = np.where(wild, self._mean_at(z) - self.target * (1.0 + z), out)
        return np.maximum(out, 0.0)

    def value_above(self, z: np.ndarray) -> np.ndarray:
        # The terms that cancel are less than the value and twice this together.
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return self.value(z) + 2.0 * self.units * UNIT * self.target * np.abs(z)

    def derivative(self, z: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            out = np.where(self.target > 0.0, self.target * np.expm1(z), np.exp(z))
            wild = ~np.isfinite(out)
            if np.any(wild):
                out = np.where(wild, self._mean_at(z) - self.target, out)
        return out

    def curvature(self, z: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", under="ignore"):
            return self._mean_at(z)

    def conjugate(self, u: np.ndarray) -> np.ndarray:
        t = self.target
        with np.errstate(all="ignore"):
            v = u + t
            base = np.where(t > 0.0, t, 1.0)
            share, ratio = u / base, v / base
            log = np.where(
                ratio < np.inf,
                np.log(np.maximum(ratio, _TINY)),
                np.log(np.maximum(v, _TINY)) - np.log(base),
            )
            near = t * ((1.0 + share) * np.log1p(share) - share)
            out = np.where((t > 0.0) & (share > -0.5) & (share < 1.0), near, v * log - u)
        return np.where(v >= 0.0, out, np.inf)

    def dual_curvature(self, a: np.ndarray, upper: np.ndarray) -> np.ndarray:
        return 1.0 / (upper * self.target - a)

    def shift(self, z: np.ndarray) -> np.ndarray:
        # In proportion to the mean, whose logarithm the conjugate is about.
        return self.curvature(z)

    def shift_cost(self, k: np.ndarray) -> np.ndarray:
        # (1 + e) log(1 + e) - e <= e^2 / 2 (1 - |e|), for a mean that is at least k.
        return k
