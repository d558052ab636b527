r"""Pointwise convex losses of a score and a target, one class a file.

:data:`LOSSES` has those of the margin by the names that models and command line know them by, and
beside them the loss that they stand in for, zero-one; :func:`table` puts side by side what sets
them apart.
What a loss has to say of itself is in :mod:`separatrix.losses.base`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.losses.base import Loss, MarginLoss, ResidualLoss
from separatrix.losses.epsilon_insensitive import EpsilonInsensitive, SquaredEpsilonInsensitive
from separatrix.losses.hinge import Hinge
from separatrix.losses.huber import Huber
from separatrix.losses.log import LogLoss
from separatrix.losses.modified_huber import ModifiedHuber
from separatrix.losses.perceptron import MarginPerceptronLoss, PerceptronLoss
from separatrix.losses.poisson import PoissonDeviance
from separatrix.losses.softmax import Softmax
from separatrix.losses.squared_error import SquaredError
from separatrix.losses.squared_hinge import SquaredHinge
from separatrix.losses.squared_residual import SquaredResidual
from separatrix.losses.zero_one import ZeroOneLoss

__all__ = [
    "LOSSES",
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "LogLoss",
    "Loss",
    "MarginLoss",
    "MarginPerceptronLoss",
    "ModifiedHuber",
    "PerceptronLoss",
    "PoissonDeviance",
    "ResidualLoss",
    "Softmax",
    "SquaredEpsilonInsensitive",
    "SquaredError",
    "SquaredHinge",
    "SquaredResidual",
    "ZeroOneLoss",
    "loss_of",
    "margin_losses",
    "table",
]

_KINDS: tuple[type[MarginLoss], ...] = (
    *(ZeroOneLoss, PerceptronLoss, MarginPerceptronLoss, Hinge, SquaredHinge, LogLoss),
    *(SquaredError, ModifiedHuber),
)

# Where a loss has parameters that no key says, it has none.
LOSSES: dict[str, type[MarginLoss]] = {kind.key: kind for kind in _KINDS if kind.key}
"""The losses of the margin by name: zero-one, and those that take its place."""

# scikit-learn's names of losses that have another one in the field.
_SYNONYMS = {"log_loss": "log"}


def margin_losses() -> list[MarginLoss]:
    """One instance of every loss of the margin that can be minimised; tests enrol themselves by it.

    Returns
    -------
    list of MarginLoss

    Examples
    --------
    >>> from separatrix.losses import margin_losses
    >>> margin_losses()
    [Hinge(), LogLoss(), ..., SquaredHinge()]
    """
    found = [kind for kind in _KINDS if kind.convex]
    return [kind() for kind in sorted(found, key=lambda kind: kind.__module__)]


def loss_of(name: str, *, convex: bool = True) -> MarginLoss:
    """The loss of a name in :data:`LOSSES`, to be minimised.

    Parameters
    ----------
    name : str
        Or scikit-learn's, ``"log_loss"``.
    convex : bool, default=True
        Only losses that can be minimised; without, zero-one as well, to be evaluated.

    Returns
    -------
    MarginLoss

    Raises
    ------
    ValueError
        For a name that is not there, or for zero-one, which no method here minimises, unless
        ``convex`` is False.

    Examples
    --------
    >>> from separatrix.losses import loss_of
    >>> loss_of("squared_hinge")
    SquaredHinge()
    """
    kind = LOSSES.get(_SYNONYMS.get(name, name))
    if kind is None or (convex and not kind.convex):
        known = ", ".join(repr(k) for k, v in LOSSES.items() if v.convex or not convex)
        raise ValueError(f"loss={name!r} is not known; choose one of {known}.")
    return kind()


def table(z: Any = (-1.0, 0.0, 0.5, 1.0, 2.0)) -> list[dict[str, Any]]:
    """All losses side by side: what they are, and what they come to at some margins.

    Parameters
    ----------
    z : array-like of float
        Margins ``y (w.x + b)``.

    Returns
    -------
    list of dict
        One a loss: ``key`` (in :data:`LOSSES`), ``name``, ``formula``, ``conjugate``, ``convex``,
        ``smooth``, ``zero_one_factor`` (the smallest multiple that bounds zero-one from above),
        ``bounds_zero_one`` (whether that is 1), ``z``, ``value`` and ``derivative`` (lists).

    Examples
    --------
    >>> from separatrix.losses import table
    >>> for row in table(z=[0.5]):
    ...     print(f"{row['name']:14s} {row['value'][0]:.3f} {row['derivative'][0]:+.3f} "
    ...           f"convex={row['convex']} smooth={row['smooth']} x{row['zero_one_factor']:.3f}")
    zero-one       0.000 +0.000 convex=False smooth=False x1.000
    perceptron     0.000 +0.000 convex=True smooth=False xinf
    hinge          0.500 -1.000 convex=True smooth=False x1.000
    squared hinge  0.250 -1.000 convex=True smooth=True x1.000
    log loss       0.474 -0.378 convex=True smooth=True x1.443
    squared error  0.125 -0.500 convex=True smooth=True x2.000
    modified Huber 0.250 -1.000 convex=True smooth=True x1.000
    """
    margins = np.atleast_1d(np.asarray(z, dtype=np.float64))
    out = []
    for key, kind in LOSSES.items():
        loss = kind()
        out.append(
            {
                "key": key,
                "name": loss.name,
                "formula": loss.formula,
                "conjugate": loss.conjugate_formula,
                "convex": loss.convex,
                "smooth": loss.smooth,
                "zero_one_factor": float(loss.zero_one_factor),
                "bounds_zero_one": loss.bounds_zero_one,
                "z": margins.tolist(),
                "value": loss.value(margins).tolist(),
                "derivative": loss.derivative(margins).tolist(),
            }
        )
    return out
