"""Paths over row blocks: all values and folds share the passes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from separatrix.data.labels import factors_of_totals, plain_label
from separatrix.data.random_state import seed_of
from separatrix.messages import Message
from separatrix.models import blocked
from separatrix.models.search import Search
from separatrix.scale.blocks import Rows
from separatrix.scale.folds import Fold, fold_hits, fold_totals, laid_out
from separatrix.solvers.driver import Solution, ended_by
from separatrix.solvers.warm_starts import mean_square_of


class BlockSearch(Search):
    """A search over row blocks; see :meth:`separatrix.LogisticRegression.path`.

    Every value and fold is a fit of its own, which starts from the sample's optimum; all that are
    under way share each pass, and there are as many of these as memory can hold.  The folds
    are those of the same rows in memory (:mod:`separatrix.scale.folds`).

    Parameters
    ----------
    data : BlockedData
    cv : int, optional
        The number of folds.
    scoring : "accuracy", optional
    engine : Engine, optional
    """

    def __init__(
        self,
        model: Any,
        data: Any,
        given: dict[str, Any],
        cv: Any,
        scoring: Any,
        engine: Any,
        *,
        keep_folds: bool,
    ) -> None:
        super().__init__(model, given, scoring, keep_folds=keep_folds)
        if scoring not in (None, "accuracy"):
            raise blocked.refuse(model, Message("scoring_in_passes"))
        why = blocked.no_splitter(cv)
        if why is not None:
            raise blocked.refuse(model, why)
        self._whole = self.design = self.labels = blocked.begin(self.prepared, data, engine)
        self.folds = _folds(self.prepared, self._whole, 0 if cv is None else int(cv))

    def mean_square(self, *, centred: bool) -> tuple[float, float]:
        sums = self._whole.passes.sums(_lengths, self._whole.factors)
        weight = float(sums["weight"])
        rows = sums["rows"] if centred else None
        return weight, mean_square_of(weight, float(sums["squares"]), rows)

    def _fits(self) -> Iterator[tuple[int, int, Any]]:
        fits, whole = [self._whole, *self.folds], self._whole
        members: list[Any] = []
        for value in self.values:
            for _ in fits:
                member = copy(self.prepared)
                setattr(member, self.parameter, float(value))
                members.append(member)
        problems = [
            member._problems(fits[i % len(fits)], fits[i % len(fits)])
            for i, member in enumerate(members)
        ]
        if not blocked.share([p for part in problems for p in part]):
            raise blocked.refuse(self.model, "its loss has no path: fit the values separately")
        seed = seed_of(self.prepared.random_state)
        jobs = [
            partial(member._minimised, problem, seed + k, part, member._limits(), self.deadline)
            for member, part_problems in zip(members, problems, strict=True)
            for k, (part, problem) in enumerate(part_problems)
        ]
        n_first = len(problems[0])
        jobs[n_first:] = [partial(self._unless_ended, job) for job in jobs[n_first:]]
        size = math.prod(problems[0][0][1].shape)
        solutions = iter(blocked.together(whole, jobs, size))
        for i, (member, own) in enumerate(zip(members, problems, strict=True)):
            member.classes_ = fits[i % len(fits)].classes
            found: list[Solution | None] = [next(solutions) for _ in own]
            if None not in found:
                member._keep(own, found)
        if self.folds and not self.interrupt.requested:
            self.scores = _scores(whole, self.folds, members, len(fits))
        for i, member in enumerate(members):
            if hasattr(member, "certificate_"):
                member.n_passes_ = whole.passes.count
                yield i // len(fits), i % len(fits), member

    def _unless_ended(self, job: Callable[[], Solution]) -> Solution | None:
        """The result of a fit; None where Ctrl-C came before a pass bounded its start.

        The bounds of all starts would take a whole pass.
        """
        passes = self._whole.passes
        first = passes.count + 1

        def check() -> None:
            if self.interrupt.requested and passes.count <= first:
                raise _NotReached

        try:
            check()
            with ended_by(check):
                return job()
        except _NotReached:
            return None


class _NotReached(Exception):
    """Raised in a fit that Ctrl-C ends with nothing to show."""


def _folds(model: Any, whole: blocked.InPasses, count: int) -> list[blocked.InPasses]:
    """The fits that leave a fold out, with the weights of what is left."""
    if not count:
        return []
    layout = laid_out(whole.passes, count, len(whole.classes))
    whole.passes.folds = layout
    found = np.diff(layout[0].ends.T, axis=0, prepend=0).astype(np.float64)
    if whole.passes.weighted:
        found = whole.passes.sums(fold_totals, found.shape)["totals"]
    out = []
    for k, held in enumerate(found):
        # The other parts are added up anew: a difference could leave rounding for nothing.
        totals = np.delete(found, k, axis=0).sum(axis=0)
        if not np.all(totals > 0.0):
            label = plain_label(whole.classes[int(np.argmin(totals > 0.0))])
            raise ValueError(
                f"fold {k + 1} of {count} holds out all rows of class {label!r}, so that none is "
                "left to fit; give fewer folds, or more rows of that class."
            )
        if not held.sum() > 0.0:
            raise ValueError(f"fold {k + 1} of {count} has no row to score; give fewer folds.")
        factors = np.ones(len(whole.classes))
        if getattr(model, "class_weight", None) is not None:
            factors = factors_of_totals(whole.classes, totals, model.class_weight)
        out.append(
            replace(
                whole,
                total=float(totals.sum()),
                factors=factors,
                fold=Fold(k, count),
                totals=totals,
                held=float(held.sum()),
            )
        )
    return out


def _scores(
    whole: blocked.InPasses, folds: Sequence[Any], members: Sequence[Any], stride: int
) -> np.ndarray:
    """Accuracies on what each fold left out, of shape (n_folds, n_values), by one pass."""
    models, places = [], []
    for i, member in enumerate(members):
        if i % stride:
            fold = i % stride - 1
            models.append((fold, np.atleast_2d(member.coef_), np.atleast_1d(member.intercept_)))
            places.append((fold, i // stride))
    hits = whole.passes.sums(fold_hits, (len(folds), models))["hits"]
    out = np.full((len(folds), len(members) // stride), np.nan)
    for (fold, i), hit in zip(places, hits, strict=True):
        out[fold, i] = hit / folds[fold].held
    return out


def _lengths(rows: Rows, factors: np.ndarray, own: Any) -> dict[str, np.ndarray]:
    """Sums of the weights, of the rows, and of their squared lengths."""
    design, weights = rows.design, factors[rows.target]
    if rows.weights is not None:
        weights = weights * rows.weights
    return {
        "weight": np.array(weights.sum()),
        "rows": design.t_dot(weights),
        "squares": np.array(float(np.sum(weights * rows.row_squares(design)))),
    }
