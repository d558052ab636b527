"""Scikit-learn's callbacks, which ``set_callbacks`` sets: a fit calls them at every step.

Scikit-learn has them from 1.9 on; before that no estimator has the method.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from separatrix.certificate import Certificate
from separatrix.solvers.driver import Progress, watch

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # pragma: no cover - scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to set."""

    def with_callbacks(method: Any) -> Any:
        return method


__all__ = ["CallbackSupportMixin", "followed"]


@with_callbacks
def followed(model: Any, fit: Callable[[], bool], classes: np.ndarray, **data: Any) -> bool:
    """Fit an estimator, and call its callbacks at every step; what ``fit`` returns.

    Every step is a task of scikit-learn's.  The estimator that a callback gets with it,
    ``fitted_estimator``, is the fit as it would be if it stopped there, with the certificate and
    ``n_iter_`` of that step; a callback that returns True stops it there.
    """
    if data["metadata"]["sample_weight"] is None:
        data["metadata"] = None
    context = model._init_callback_context(max_subtasks=None)
    context.call_on_fit_task_begin(estimator=model, **data)
    steps = _Steps(model, context, classes, data)
    with watch(steps.follow):
        result = fit()
    steps.close()
    context.call_on_fit_task_end(estimator=model, **data, reconstruction_attributes={})
    return result


class _Steps:
    """One task a step: it ends where the next one begins."""

    def __init__(self, model: Any, context: Any, classes: np.ndarray, data: dict[str, Any]) -> None:
        self.model, self.context, self.classes, self.data = model, context, classes, data
        # The last point of each problem.
        self.points: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        self.part: Any = None
        self.step: Any = None
        self.seen = ("", -1)
        # The model as it would be at the point before the step that is open.
        self.latest: dict[str, Any] | None = None
        # Whether a step has been made.
        self.moved = False

    def follow(self, progress: Progress) -> bool:
        """Call the callbacks for a step; whether one of them ends the fit."""
        if progress.trace is None or not progress.trace.coef:
            return False
        if progress.part not in self.points:
            self.close()
            if progress.part:
                self.part = self.context.subcontext(task_name=progress.part, max_subtasks=None)
                self.part.call_on_fit_task_begin(estimator=self.model, **self.data)
        now = (progress.part, progress.iteration)
        if now == self.seen:
            # A step may be reported once more when it is judged.
            return False
        self.seen = now
        self.points[progress.part] = (progress.trace.coef[-1], progress.trace.intercept[-1])
        fitted = self._attributes(progress)
        stop = self._end(fitted)
        self.latest = fitted
        self.step = (self.part or self.context).subcontext(task_name="iteration")
        self.step.call_on_fit_task_begin(
            estimator=self.model, **self.data, reconstruction_attributes=fitted
        )
        return stop

    def close(self) -> None:
        """End what is open: a step that was not made, and the problem that it was of."""
        if self.step is not None and not self.moved:
            # A fit without a step, as with max_iter=0, has one task all the same.
            self._end(self.latest)
            self.step = (self.part or self.context).subcontext(task_name="iteration")
            self.step.call_on_fit_task_begin(
                estimator=self.model, **self.data, reconstruction_attributes=self.latest
            )
        self._end(None)
        if self.part is not None:
            self.part.call_on_fit_task_end(estimator=self.model, **self.data)
            self.part = None

    def _end(self, fitted: dict[str, Any] | None) -> bool:
        step, self.step = self.step, None
        if step is None:
            return False
        self.moved = self.moved or fitted is not None
        given = {} if fitted is None else {**self.data, "reconstruction_attributes": fitted}
        return bool(step.call_on_fit_task_end(estimator=self.model, **given))

    def _attributes(self, progress: Progress) -> dict[str, Any]:
        """The model's, were it to stop here."""
        points = list(self.points.values())
        if progress.part:
            # Problems that are not reached yet are at zero.
            zero = (np.zeros_like(points[0][0]), np.zeros_like(points[0][1]))
            points += [zero] * (len(self.classes) - len(points))
        return {
            "coef_": np.concatenate([np.atleast_2d(coef) for coef, _ in points]),
            "intercept_": np.concatenate([np.atleast_1d(intercept) for _, intercept in points]),
            "classes_": self.classes,
            "n_iter_": np.array([progress.iteration], dtype=np.int32),
            "certificate_": Certificate.of(
                primal=progress.primal,
                dual=progress.dual,
                tol=progress.tol,
                status="optimal" if progress.relative_gap <= progress.tol else "callback",
                n_iter=progress.iteration,
                seconds=progress.seconds,
            ),
        }
