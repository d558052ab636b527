"""Mistake-driven passes: the perceptron and its kin.

Visit the rows in an order; wherever the loss has a slope at the margin, take a step along it
(Rosenblatt, 1958; Novikoff, 1962).  A clean pass ends the search.  A row of weight ``k`` is
visited ``k`` times in a row, so that weights are the same as copies; a fraction left over is a
visit with a step of that fraction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from separatrix._kernels import row_add, row_dot, specialise
from separatrix.losses import _perceptron_derivative as slope_at
from separatrix.objective import MistakeObjective
from separatrix.solvers.driver import Candidate
from separatrix.trace import Update

__all__ = ["MistakeDriven", "MistakeDrivenState"]


def _visit(rows, y, shares, rate, offset, theta, visits, position, mistakes, limit):
    """Visit rows from ``position`` on, until the end or until ``limit`` updates.

    Returns the next position and the number of updates.  ``theta`` holds the weights and, when
    ``offset`` is 1, the intercept as its last entry, which is a constant feature of 1.
    """
    d = theta.shape[0] - offset
    updates = 0
    while position < visits.shape[0] and updates < limit:
        i = visits[position]
        b = theta[d] if offset == 1 else 0.0
        slope = slope_at(y[i] * (row_dot(rows, i, theta) + b))
        if slope != 0.0:
            step = -slope * y[i] * rate * shares[position]
            row_add(rows, i, step, theta)
            if offset == 1:
                theta[d] += step
            mistakes[i] += 1
            updates += 1
        position += 1
    return position, updates


@dataclass
class MistakeDrivenState:
    """Weights and the running mistakes; updated in place, a pass at a time."""

    theta: np.ndarray
    mistakes: np.ndarray
    rng: np.random.Generator
    passes: int = 0
    clean: bool = False
    updates: list[Update] = field(default_factory=list)


class MistakeDriven:
    """Passes over the rows that step on the slope of the loss.  Needs rows.

    Parameters
    ----------
    order : {"cyclic", "random"}
        Rows as they come, or shuffled anew for every pass.
    rate : float
        Learning rate.
    record : bool
        Keep every update.
    """

    def __init__(self, order: str = "cyclic", rate: float = 1.0, record: bool = False) -> None:
        self.order = order
        self.rate = rate
        self.record = record

    def requires(self, problem: MistakeObjective) -> None:
        for owner, name in ((problem.loss, "slope_at"), (problem.design, "rows")):
            if not hasattr(owner, name):
                raise TypeError(f"Mistake-driven passes need {name!r}; {owner!r} has none.")

    def _visits(
        self, weights: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """The rows in order, each as often as its weight says, and each visit's share."""
        n = len(weights)
        order = rng.permutation(n) if self.order == "random" else np.arange(n)
        counts = np.ceil(weights[order]).astype(np.int64)
        shares = np.ones(counts.sum())
        last = np.cumsum(counts)[counts > 0] - 1
        shares[last] = (weights[order] - counts + 1.0)[counts > 0]
        return np.repeat(order, counts), shares

    def init(
        self, problem: MistakeObjective, theta: np.ndarray, rng: np.random.Generator
    ) -> MistakeDrivenState:
        return MistakeDrivenState(
            theta.copy(), np.zeros(problem.design.n_samples, dtype=np.int64), rng
        )

    def step(
        self, problem: MistakeObjective, state: MistakeDrivenState, pulse: Callable[[], None]
    ) -> MistakeDrivenState:
        kernel = specialise(
            _visit,
            row_dot=problem.design.row_dot,
            row_add=problem.design.row_add,
            slope_at=problem.loss.slope_at,
        )
        visits, shares = self._visits(problem.upper, state.rng)
        limit = 1 if self.record else np.iinfo(np.int64).max
        position, total = 0, 0
        state.passes += 1
        while position < len(visits):
            position, count = kernel(
                problem.design.rows,
                problem.y,
                shares,
                self.rate,
                int(problem.fit_intercept),
                state.theta,
                visits,
                position,
                state.mistakes,
                limit,
            )
            total += count
            if self.record and count:
                state.updates.append(
                    Update(
                        int(visits[position - 1]),
                        state.passes,
                        problem.weights_of(state.theta).copy(),
                        float(problem.intercept_of(state.theta)),
                    )
                )
        state.clean = total == 0
        return state

    def candidate(self, problem: MistakeObjective, state: MistakeDrivenState) -> Candidate:
        return Candidate(state.theta.copy())

    def promising(self, problem: MistakeObjective, state: MistakeDrivenState, tol: float) -> bool:
        # Always: the best weights seen are kept, and only a look tells which they are.
        return True

    def stopped(self, problem: MistakeObjective, state: MistakeDrivenState) -> str | None:
        return None
