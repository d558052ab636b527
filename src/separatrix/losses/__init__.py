r"""Pointwise convex losses of a score and a target, one class a file.

:data:`LOSSES` has those of the margin by the names that models and command line know them by, and
beside them the loss that they stand in for, zero-one; :func:`table` puts side by side what sets
them apart.
The attributes and functions of a loss are in :mod:`separatrix.losses.base`.
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
from separatrix.messages.markup import table_html, table_text

__all__ = [
    "LOSSES",
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "LogLoss",
    "Loss",
    "LossTable",
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
    "key_of",
    "loss_of",
    "margin_losses",
    "names_of",
    "table",
]

_KINDS: tuple[type[MarginLoss], ...] = (
    *(ZeroOneLoss, PerceptronLoss, MarginPerceptronLoss, Hinge, SquaredHinge, LogLoss),
    *(SquaredError, ModifiedHuber),
)

# A loss with parameters that no key states has no key.
LOSSES: dict[str, type[MarginLoss]] = {kind.key: kind for kind in _KINDS if kind.key}
"""The losses of the margin by name: zero-one, and those that take its place."""

_NAMED: tuple[type[Loss], ...] = (
    *LOSSES.values(),
    *(EpsilonInsensitive, SquaredEpsilonInsensitive, Huber, SquaredResidual),
)
# The key of every loss by each of its names.
_KEYS: dict[str, str] = {
    name: kind.key for kind in _NAMED for name in (kind.key, kind.name, *kind.synonyms)
}


def key_of(name: Any) -> Any:
    """The key of a loss that is given by one of its names; anything else as it is.

    Its names are the key, the names that textbooks use and scikit-learn's.

    Parameters
    ----------
    name : object

    Returns
    -------
    object

    Examples
    --------
    >>> from separatrix.losses import key_of
    >>> key_of("log_loss"), key_of("squared hinge"), key_of("hinge"), key_of("unknown")
    ('log', 'squared_hinge', 'hinge', 'unknown')
    """
    return _KEYS.get(name, name) if isinstance(name, str) else name


def names_of(*keys: str) -> tuple[str, ...]:
    """All names of some losses.

    Parameters
    ----------
    *keys : str

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> from separatrix.losses import names_of
    >>> names_of("log", "squared_hinge")
    ('squared_hinge', 'squared hinge', 'log', 'log loss', 'log_loss', 'logistic')
    """
    return tuple(name for name, key in _KEYS.items() if key in keys)


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
    """The loss of a name, to be minimised.

    Parameters
    ----------
    name : str
        A key of :data:`LOSSES`, or another name of that loss; see :func:`key_of`.
    convex : bool, default=True
        Whether to take only losses that can be minimised; otherwise zero-one as well, to be
        evaluated.

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
    >>> loss_of("squared_hinge"), loss_of("log_loss")
    (SquaredHinge(), LogLoss())
    """
    kind = LOSSES.get(key_of(name))
    if kind is None or (convex and not kind.convex):
        known = ", ".join(repr(k) for k, v in LOSSES.items() if v.convex or not convex)
        raise ValueError(f"loss={name!r} is not known; choose one of {known}.")
    return kind()


class LossTable(list[dict[str, Any]]):
    """A list of records, one a loss, that is printed as a table.

    Parameters
    ----------
    iterable : iterable of dict, optional
        The records.

    Examples
    --------
    >>> from separatrix.losses import table
    >>> print(str(table(z=[0.0])).splitlines()[3])
    hinge              yes      no       1      1
    """

    def _lines(self) -> list[list[str]]:
        margins = self[0]["z"] if self else []
        lines = [["loss", "convex", "smooth", "factor", *(f"z = {z:g}" for z in margins)]]
        for row in self:
            marks = ["yes" if row[name] else "no" for name in ("convex", "smooth")]
            values = [f"{value:.4g}" for value in row["value"]]
            lines.append([row["name"], *marks, f"{row['zero_one_factor']:.4g}", *values])
        return lines

    def __repr__(self) -> str:
        return "\n".join(table_text(self._lines()))

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return table_html(self._lines())


def table(z: Any = (-1.0, 0.0, 0.5, 1.0, 2.0)) -> LossTable:
    """All losses side by side: their properties, and their values at some margins.

    Parameters
    ----------
    z : array-like of float
        Margins ``y (w.x + b)``.

    Returns
    -------
    LossTable
        A list of dicts, one a loss, that is printed as a table: ``key`` (in :data:`LOSSES`),
        ``name``, ``formula``, ``conjugate``, ``convex``, ``smooth``, ``zero_one_factor`` (the
        smallest multiple that bounds zero-one from above), ``bounds_zero_one`` (whether that is 1),
        ``z``, ``value`` and ``derivative`` (lists).

    Examples
    --------
    >>> from separatrix.losses import table
    >>> table(z=[-1.0, 0.5])
    loss            convex  smooth  factor  z = -1  z = 0.5
    zero-one            no      no       1       1        0
    perceptron         yes      no     inf       1        0
    hinge              yes      no       1       2      0.5
    squared hinge      yes     yes       1       4     0.25
    log loss           yes     yes   1.443   1.313   0.4741
    squared error      yes     yes       2       2    0.125
    modified Huber     yes     yes       1       4     0.25
    >>> table()[2]["formula"], table()[2]["derivative"]
    ('max(0, 1 - y (w.x + b))', [-1.0, -1.0, -1.0, 0.0, 0.0])
    """
    margins = np.atleast_1d(np.asarray(z, dtype=np.float64))
    out = LossTable()
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
