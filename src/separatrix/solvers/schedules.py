r"""Schedules of learning rates: the length of the ``k``-th step of a stochastic gradient method.

Robbins and Monro (1951) gave the condition under which such steps reach the optimum of a convex
objective whatever the noise: the rates :math:`\eta_k` must carry anywhere and die out,

.. math:: \sum_k \eta_k = \infty, \qquad \sum_k \eta_k^2 < \infty .

Every schedule states which of the two it meets.

=====================  ==========================================  ============  ==============
schedule               :math:`\eta_k`                              sum infinite  squares finite
=====================  ==========================================  ============  ==============
:class:`Constant`      ``rate``                                    yes           no
:class:`InverseTime`   ``rate / k``                                yes           yes
:class:`Power`         ``rate (tau + k)^-kappa``                   yes           yes
=====================  ==========================================  ============  ==============

Steps are counted from 1, over all passes.  A step is one visit of a row, or one mini-batch.

References
----------
Robbins and Monro (1951), A stochastic approximation method.  Bottou (2010), Large-scale machine
learning with stochastic gradient descent.  Nemirovski, Juditsky, Lan and Shapiro (2009), Robust
stochastic approximation approach to stochastic programming.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.data.validation import check_choice, check_number

#: The names that a user may give, which are scikit-learn's.
SCHEDULES = ("optimal", "invscaling", "constant")


class Schedule(ABC):
    """The base of all schedules: a rate for every step, and the properties of the whole series.

    Attributes
    ----------
    rate : float
        The factor of all rates.
    sum_diverges : bool
        Whether the rates add up to infinity: any point can be reached.
    squares_converge : bool
        Whether their squares add up to a finite number: the noise dies out.
    condition : str
        The consequence of the two, in words.
    """

    rate: float
    sum_diverges: bool = True
    squares_converge: bool = True
    condition: str = (
        "the sum of the rates is infinite and the sum of their squares finite, so the steps reach "
        "the optimum of a convex objective (Robbins and Monro, 1951)"
    )

    @property
    def converges(self) -> bool:
        """Whether both conditions of Robbins and Monro hold."""
        return self.sum_diverges and self.squares_converge

    @property
    @abstractmethod
    def numbers(self) -> tuple[float, float, float]:
        """The numbers ``(rate, tau, kappa)`` of ``rate (tau + k)^-kappa``, for a compiled loop."""

    @property
    @abstractmethod
    def formula(self) -> str:
        """The schedule as text."""

    def __call__(self, k: Any) -> Any:
        """The rate of step ``k``, counted from 1; of many, if ``k`` is an array."""
        rate, tau, kappa = self.numbers
        out = rate * (tau + np.asarray(k, dtype=np.float64)) ** -kappa
        return float(out) if out.ndim == 0 else out

    def with_rate(self, rate: float) -> Schedule:
        """The same schedule with another ``rate``."""
        return replace(self, rate=rate)  # type: ignore[type-var]


@dataclass(frozen=True)
class Constant(Schedule):
    r"""The same rate for every step: :math:`\eta_k = \text{rate}`.

    Its squares add up to infinity, so the steps come only as near to the optimum as the noise of
    a single row allows, a distance that shrinks with the rate, and wander about there; their
    average comes nearer.  A perceptron, which stops when no row is wrong, needs no other.

    Parameters
    ----------
    rate : float
        The rate, greater than 0.

    Raises
    ------
    ValueError
        For a rate that is no finite number greater than 0.

    Examples
    --------
    >>> from separatrix.solvers.schedules import Constant
    >>> Constant(0.1)(7), Constant(0.1).converges
    (0.1, False)
    """

    rate: float
    squares_converge = False
    condition = (
        "the sum of the squared rates is infinite, so the steps reach only a neighbourhood of the "
        "optimum, which is smaller for a smaller rate"
    )

    def __post_init__(self) -> None:
        check_number("rate", self.rate, above=0)

    @property
    def numbers(self) -> tuple[float, float, float]:
        return float(self.rate), 0.0, 0.0

    @property
    def formula(self) -> str:
        return f"eta_k = {self.rate:g}"


@dataclass(frozen=True)
class InverseTime(Schedule):
    r"""A rate that falls as one over time: :math:`\eta_k = \text{rate} / k`.

    It meets both conditions of Robbins and Monro (1951).  For an objective of curvature
    ``alpha`` it is the best there is, up to a factor, if ``rate > 1 / (2 alpha)``; with a smaller
    one the start is forgotten too slowly.  With ``rate = 1 / alpha`` it is that of Pegasos
    (Shalev-Shwartz, Singer, Srebro and Cotter, 2011).

    Parameters
    ----------
    rate : float
        The rate of the first step, greater than 0.

    Raises
    ------
    ValueError
        For a rate that is no finite number greater than 0.

    Examples
    --------
    >>> from separatrix.solvers.schedules import InverseTime
    >>> InverseTime(2.0)([1, 2, 8]).tolist(), InverseTime(2.0).converges
    ([2.0, 1.0, 0.25], True)
    """

    rate: float

    def __post_init__(self) -> None:
        check_number("rate", self.rate, above=0)

    @property
    def numbers(self) -> tuple[float, float, float]:
        return float(self.rate), 0.0, 1.0

    @property
    def formula(self) -> str:
        return f"eta_k = {self.rate:g} / k"


@dataclass(frozen=True)
class Power(Schedule):
    r"""A rate that falls as a power of time: :math:`\eta_k = \text{rate}\,(\tau + k)^{-\kappa}`.

    Both conditions of Robbins and Monro (1951) hold exactly for ``kappa`` in (0.5, 1]: the rates
    add up to infinity for ``kappa <= 1``, their squares to a finite number for ``kappa > 0.5``.
    ``tau`` keeps the first steps small.  ``kappa = 1`` suits a strongly convex objective
    (:meth:`strongly_convex`); with the average of the weights a smaller one, of about 0.75, is
    more robust (Nemirovski et al., 2009).

    Parameters
    ----------
    rate : float
        The factor of the rates, greater than 0.
    tau : float, default=0.0
        The number added to ``k``, at least 0.
    kappa : float, default=1.0
        The exponent, from 0 to 1.

    Raises
    ------
    ValueError
        For a number out of its range.

    Examples
    --------
    >>> from separatrix.solvers.schedules import Power
    >>> Power(1.0, tau=3.0, kappa=1.0)([1, 7]).tolist()
    [0.25, 0.1]
    >>> Power(1.0, kappa=0.75).converges, Power(1.0, kappa=0.5).converges
    (True, False)
    >>> Power(1.0, kappa=1.5)
    Traceback (most recent call last):
    ...
    ValueError: kappa=1.5 must be from 0 to 1: ...
    """

    rate: float
    tau: float = 0.0
    kappa: float = 1.0

    def __post_init__(self) -> None:
        check_number("rate", self.rate, above=0)
        check_number("tau", self.tau, minimum=0)
        check_number("kappa", self.kappa)
        if not 0.0 <= self.kappa <= 1.0:
            raise ValueError(
                f"kappa={self.kappa!r} must be from 0 to 1: above 1 the sum of the rates is finite "
                "and the steps may stop short of the optimum."
            )

    @property
    def squares_converge(self) -> bool:  # type: ignore[override]
        return self.kappa > 0.5

    @property
    def condition(self) -> str:  # type: ignore[override]
        if self.squares_converge:
            return Schedule.condition
        return (
            "the sum of the squared rates is infinite, so the noise of single rows decreases "
            "slowly if at all; an average of the weights is closer to the optimum"
        )

    @classmethod
    def strongly_convex(cls, alpha: float, t0: float) -> Power:
        r"""The schedule ``1 / (alpha (t0 + k))``.

        It is the best, up to a factor, for an objective of curvature ``alpha`` or more (Bottou,
        2010).

        Parameters
        ----------
        alpha : float
            The strength of the penalty ``alpha/2 |w|^2``, greater than 0.
        t0 : float
            The number added to ``k``, at least 0; ``1 / (alpha eta)`` makes the first rates about
            ``eta``.

        Raises
        ------
        ValueError
            For a number out of its range.

        Examples
        --------
        >>> from separatrix.solvers.schedules import Power
        >>> Power.strongly_convex(alpha=0.01, t0=200.0)([1, 300]).round(6).tolist()
        [0.497512, 0.2]
        """
        check_number("alpha", alpha, above=0)
        check_number("t0", t0, minimum=0)
        return cls(1.0 / alpha, t0, 1.0)

    @property
    def numbers(self) -> tuple[float, float, float]:
        return float(self.rate), float(self.tau), float(self.kappa)

    @property
    def formula(self) -> str:
        time = f"({self.tau:g} + k)" if self.tau > 0 else "k"
        if self.kappa == 1.0:
            return f"eta_k = {self.rate:g} / {time}"
        return f"eta_k = {self.rate:g} * {time}^-{self.kappa:g}"


def schedule_of(name: str, eta0: float, *, alpha: float, power_t: float) -> Schedule:
    """The schedule for one of scikit-learn's names.

    Parameters
    ----------
    name : {"optimal", "invscaling", "constant"}
        The name of the schedule: ``1 / (alpha (t0 + k))`` with ``t0 = 1 / (alpha eta0)``, which
        starts at about ``eta0``; ``eta0 / k^power_t``; or ``eta0``.
    eta0 : float
        The first rate, or nearly so.
    alpha : float
        The strength of the penalty.
    power_t : float
        The exponent of "invscaling".

    Raises
    ------
    ValueError
        For another name, a number out of its range, or "optimal" without a penalty.

    Examples
    --------
    >>> from separatrix.solvers.schedules import schedule_of
    >>> schedule_of("invscaling", 0.5, alpha=0.0, power_t=0.75)
    Power(rate=0.5, tau=0.0, kappa=0.75)
    """
    check_choice("learning_rate", name, SCHEDULES)
    if name == "constant":
        return Constant(eta0)
    if name == "invscaling":
        return Power(eta0, 0.0, power_t)
    if not alpha > 0:
        raise ValueError(
            "learning_rate='optimal' is 1 / (alpha (t0 + k)) and needs a penalty; choose "
            "'invscaling' or 'constant', or set alpha above 0."
        )
    return Power.strongly_convex(alpha, 1.0 / (alpha * eta0))
