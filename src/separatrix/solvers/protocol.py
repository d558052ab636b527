"""What a method of minimising answers to: all that the driver calls.

Six methods are the method's own.  The others state what a method knows besides, each with an answer
for those that do not know it.
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
    """A point that a solver offers for certification.

    Attributes
    ----------
    theta : ndarray
    residual : ndarray or None
        Its dual point, where the solver has one.
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
    # Whether the answer is the point that the method ends with, so that a check on the way, near a
    # limit too, is of no use.
    checks_end_alone: ClassVar[bool] = False
    # What each method that came into question is expected to take, in passes over the rows, where
    # this one was chosen by its cost.
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

    # --- what a method may know besides ---------------------------------------------------------

    def kept(self, problem: Any, state: Any) -> Any:
        """What the end of a fit knows that one at another ``C`` can use; None for nothing."""
        return None

    def continued(self, kept: Any) -> Solver:
        """The method for a fit at another ``C``, with what :meth:`kept` has of the one before."""
        return self

    def suited(self, problem: Any) -> Solver:
        """The method for a problem: another where that takes the same steps in less time."""
        return self

    def aimed(self, tol: float) -> Solver:
        """The method for a tolerance, where it decides by how far there is to go."""
        return self

    def judges_start(self, problem: Any) -> bool:
        """Whether the method knows at its start how far there is to go, so that no check has to."""
        return False

    def iterations(self, state: Any, before: int) -> int:
        """The number of iterations so far, which was ``before`` until the last step."""
        return before + 1

    def objective_at(self, state: Any) -> float:
        """The objective at ``state.theta``; infinite where the method does not know it."""
        return float("inf")

    def outlook(self, problem: Any, state: Any) -> float:
        """The relative gap as floats give it, for next to nothing; NaN where it is not known."""
        return float("nan")

    def sample_gap(self, state: Any) -> float:
        """The relative gap on a sample of the rows, in a step that begins with one; else NaN."""
        return float("nan")

    def earlier(self, problem: Any, state: Any) -> Candidate | None:
        """A point that the method has come from and that may be better, where it began anew."""
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
        # Rows of a matrix that lies by columns are a copy, which is made when they are read.
        if inspect.getattr_static(owner, name, None) is None:
            raise TypeError(f"{method} needs {name!r}, which {type(owner).__name__} does not have.")


def require_smooth(problem: Any, method: str) -> None:
    """Raise TypeError where the loss of ``problem`` has no curvature; ``method`` needs one."""
    if not problem.smooth:
        raise TypeError(f"{method} needs a loss with 'curvature' (a smooth loss).")
