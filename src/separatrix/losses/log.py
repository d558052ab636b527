"""The logistic loss."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from separatrix._compiled.compilation import inlined, scalar
from separatrix._compiled.elementary import exp_negative, log1p_unit, log_normal
from separatrix.losses.base import MarginLoss

_TINY = np.finfo(np.float64).tiny
_BELOW_ONE = np.nextafter(1.0, 0.0)


@scalar
def _log_slope(a, z, upper):
    return z + np.log(a / (upper - a))


@scalar
def _log_step(a, z, q, upper):
    # Find t in (0, U) with z + q (t - a) + log(t / (U - t)) = 0.  In the logit
    # v = log(t / (U - t)) the equation is  v + q U sigma(v) = q a - z,  increasing in v with
    # slope 1 + q U sigma'(v): no logarithm near a bound, and t keeps its relative accuracy.
    if not q * upper < np.inf:
        # No finite step could matter against a row of such length.
        return a
    target = q * a - z
    low = target - q * upper
    high = target
    # Either start is the answer near the optimum; the one by the margin alone is cheaper.
    settled = q * upper > 1.0 and a > 0.0 and a < upper
    v = np.log(a / (upper - a)) if settled else -z
    v = min(max(v, low), high)
    for _ in range(60):
        e = np.exp(-abs(v))
        share = 1.0 / (1.0 + e)
        sigma = share if v >= 0.0 else e * share
        residual = v + q * upper * sigma - target
        if residual > 0.0:
            high = v
        else:
            low = v
        slope = e * share * share
        new = v - residual / (1.0 + q * upper * slope)
        if not (new > low and new < high):
            new = 0.5 * (low + high)
        # After a Newton step the error is less than the square of the step, and a row is visited
        # again: each time its step is shorter.  For one so short sigma is straight.
        if abs(new - v) <= 1e-5 * max(1.0, 1e-9 * abs(v)):
            return upper * (sigma + (new - v) * slope)
        v = new
    e = np.exp(-abs(v))
    share = 1.0 / (1.0 + e)
    return upper * (share if v >= 0.0 else e * share)


@scalar
def _log_value(z):
    return max(-z, 0.0) + log1p_unit(exp_negative(-abs(z)))


@scalar
def _log_derivative(z):
    e = exp_negative(-abs(z))
    return -(e if z >= 0.0 else 1.0) / (1.0 + e)


@scalar
def _log_shift(z):
    # p (1 - p): a share p of U moves by at most a multiple of its distance from 0 and 1.
    e = exp_negative(-abs(z))
    share = 1.0 / (1.0 + e)
    return e * share * share


@scalar
def _log_shift_cost(z):
    # The divergence of p + e p (1 - p) from p is at most half of this e^2 / (1 - |e|)^2.
    return _log_shift(z)


@scalar
def _log_gap(a, z, upper):
    # The Kullback-Leibler divergence of the slope in use from the slope at z.
    t = a / upper
    value = max(-z, 0.0) + np.log1p(np.exp(-abs(z)))
    entropy = 0.0
    if t > 0.0 and t < 1.0:
        entropy = t * np.log(t) + (1.0 - t) * np.log1p(-t)
    return max(upper * (value + entropy) + a * z, 0.0)


@inlined
def _log_conjugate(a, upper):
    # With the odds q of the rarer outcome, m log q - U log(1 + q): both terms have one sign, and
    # the sum is stationary at the true odds, so that the rounding of q does not matter.
    rest = upper - a
    m = min(a, rest)
    q = m / max(a, rest)
    return m * log_normal(max(q, 2.0**-1022)) - upper * log1p_unit(q)


@scalar
def _log_terms(z, centre, width, upper, parameter):
    e = exp_negative(-abs(z))
    share = 1.0 / (1.0 + e)
    value = max(-z, 0.0) + log1p_unit(e)
    # Where the exponential has come to its least, there is no curvature to divide by.
    curvature = e * share * share if e > 1e-300 else 0.0
    return upper * value, -upper * (e if z >= 0.0 else 1.0) * share, upper * curvature


class LogLoss(MarginLoss):
    r"""The logistic loss :math:`\log(1 + e^{-z})`.

    Conjugate: :math:`(1+u)\log(1+u) + (-u)\log(-u)` on :math:`[-1, 0]`.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import LogLoss
    >>> LogLoss().derivative(np.array([0.0, 800.0])).tolist()
    [-0.5, -0.0]
    """

    key = "log"
    name = "log loss"
    synonyms = ("log_loss", "logistic")
    expression = "log(1 + exp(-{z}))"
    conjugate_formula = "(1 + u) * log(1 + u) - u * log(-u) for -1 <= u <= 0, else inf"
    zero_one_factor = 1.0 / np.log(2.0)
    smooth = True
    unattained = True
    edged = False
    dual_upper = 1.0
    value_at = staticmethod(_log_value)
    slope_at = staticmethod(_log_derivative)
    dual_step = staticmethod(_log_step)
    dual_slope = staticmethod(_log_slope)
    gap_at = staticmethod(_log_gap)
    conjugate_at = staticmethod(_log_conjugate)
    terms_at = staticmethod(_log_terms)
    shift_at = staticmethod(_log_shift)
    shift_cost_at = staticmethod(_log_shift_cost)

    def value(self, z: np.ndarray) -> np.ndarray:
        return np.maximum(-z, 0.0) + np.log1p(np.exp(-np.abs(z)))

    def derivative(self, z: np.ndarray) -> np.ndarray:
        return -expit(-z)

    def curvature(self, z: np.ndarray) -> np.ndarray:
        e = np.exp(-np.abs(z))
        return e / np.square(1.0 + e)

    def conjugate(self, u: np.ndarray) -> np.ndarray:
        t = np.clip(-u, 0.0, 1.0)
        # Zero times a logarithm that is finite, at either end: several times as fast as xlogy.
        out = t * np.log(np.maximum(t, _TINY)) + (1.0 - t) * np.log1p(-np.minimum(t, _BELOW_ONE))
        return np.where((u >= -1.0) & (u <= 0.0), out, np.inf)

    def dual_curvature(self, a: np.ndarray, upper: np.ndarray) -> np.ndarray:
        return upper / (a * (upper - a))
