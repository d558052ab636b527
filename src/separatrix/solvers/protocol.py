"""The protocol of a method of minimising: all that the driver calls.

Every method of minimising has six functions of its own.  The others give further knowledge of it,
each with a default for those that have none.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from separatrix.objectives.passes import Evaluation


@dataclass(frozen=True)
class Candidate:
    """A point that a solver gives for certification.

    Attributes
    ----------
    theta : ndarray
    residual : ndarray or None
        The dual point that belongs to ``theta``, where the solver has one.
    scores : ndarray or None
        ``problem.linear(theta)``, where the solver has it exactly.
    adjoint : ndarray or None
        ``X' residual``, likewise.
    evaluation : Evaluation or None
        ``problem.evaluate(theta)``, likewise.
    """

    theta: np.ndarray
    residual: np.ndarray | None = None
    scores: np.ndarray | None = None
    adjoint: np.ndarray | None = None
    evaluation: Evaluation | None = None


class Solver(ABC):
    """One method of minimising: what it requires, and steps on a state of its own."""

    name: str = ""
    # Whether the answer is the point that the method ends with, so that a check on the way, also
    # near a limit, is of no use.
    checks_end_alone: ClassVar[bool] = False
    # The forecast cost of each method that was considered, in passes over the rows, where this one
    # was chosen by its cost.
    forecast: Mapping[str, float] = {}

    @abstractmethod
    def requires(self, problem: Any) -> None:
        """Raise TypeError, naming the capability that ``problem`` lacks."""

    @abstractmethod
    def init(
        self,
        problem: Any,
        theta: np.ndarray,
        rng: np.random.Generator,
        residual: np.ndarray | None = None,
    ) -> Any:
        """The state at the starting point ``theta``, and at the dual point ``residual``.

        A dual point, feasible or not, is a hint: a method without use for one ignores it.
        """

    @abstractmethod
    def step(self, problem: Any, state: Any, check_interrupt: Callable[[], None]) -> Any:
        """The next state; long steps call ``check_interrupt()``, which raises when it is time."""

    @abstractmethod
    def candidate(self, problem: Any, state: Any) -> Candidate:
        """The point to certify."""

    @abstractmethod
    def should_check(self, problem: Any, state: Any, tol: float) -> bool:
        """Whether a certificate is worth its price now."""

    @abstractmethod
    def stopped(self, problem: Any, state: Any) -> str | None:
        """A status when the method can do no more, else None."""

    # --- further knowledge of a method ----------------------------------------------------------

    def kept(self, problem: Any, state: Any) -> Any:
        """The results at the end of a fit that one at another ``C`` can use; None for nothing."""
        return None

    def continued(self, kept: Any) -> Solver:
        """The method for a fit at another ``C``, with :meth:`kept` of the fit before."""
        return self

    def suited(self, problem: Any) -> Solver:
        """The method for a problem: another where that takes the same steps in less time."""
        return self

    def aimed(self, tol: float) -> Solver:
        """The method for a tolerance, where it decides by how far there is to go."""
        return self

    def judges_start(self, problem: Any) -> bool:
        """Whether the method bounds its gap at the start, so that no check there is needed."""
        return False

    def iterations(self, state: Any, before: int) -> int:
        """The number of iterations so far, which was ``before`` until the last step."""
        return before + 1

    def objective_at(self, state: Any) -> float:
        """The objective at ``state.theta``; infinite where the method does not know it."""
        return float("inf")

    def outlook(self, problem: Any, state: Any) -> float:
        """The relative gap in floating point, at almost no cost; NaN where it is not known."""
        return float("nan")

    def sample_gap(self, state: Any) -> float:
        """The relative gap on a sample of the rows, in a step that begins with one; else NaN."""
        return float("nan")

    def earlier(self, problem: Any, state: Any) -> Candidate | None:
        """An earlier point of the method that may be better, where it began anew; else None."""
        return None

    def method(self, state: Any) -> str:
        """The name of the method at work, where several take turns."""
        return self.name


def require_parts(method: str, *parts: tuple[Any, str]) -> None:
    """Raise TypeError where an object lacks an attribute that ``method`` needs.

    Parameters
    ----------
    method : str
    *parts : tuple of (object, str)
        Objects, and the names of their attributes.
    """
    for owner, name in parts:
        # The rows of a matrix that lies by columns are a copy, which is made when they are read.
        if inspect.getattr_static(owner, name, None) is None:
            raise TypeError(f"{method} needs {name!r}, which {type(owner).__name__} does not have.")


def require_smooth(problem: Any, method: str) -> None:
    """Raise TypeError where the loss of ``problem`` has no curvature; ``method`` needs one."""
    if not problem.smooth:
        raise TypeError(f"{method} needs a loss with 'curvature' (a smooth loss).")
