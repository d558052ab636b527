"""What the classifiers with a penalty share: its strength, the choice of solver, paths."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from separatrix.messages import Message, Setting
from separatrix.models.blocked import is_blocked, refuse, require_alone, require_blocks
from separatrix.models.limits import counted
from separatrix.models.linear import LinearClassifier
from separatrix.models.parameters import parameter
from separatrix.models.path import Path
from separatrix.models.search import RowSearch, strengths_of_rows
from separatrix.objectives.base import LinearProblem
from separatrix.objectives.penalties import NoPenalty, Penalty, penalty_of, strength_of
from separatrix.solvers import SOLVERS, select_solver
from separatrix.solvers.protocol import Solver
from separatrix.solvers.warm_starts import mean_square

__all__ = ["Penalised"]

# The weakest penalty of a path, relative to the strongest, where weights can be zero.
_SPARSE_REACH = 1e3


class Penalised(LinearClassifier):
    """A classifier with ``C`` or ``lam``, of whose values a path can be made, and a tolerance."""

    C: float = parameter(default=1.0, above=0, finite=False)
    lam: float | None = parameter(default=None, minimum=0)
    max_iter: int = parameter(default=10_000, minimum=0, integer=True)

    _strengths: ClassVar[dict[str, bool]] = {"C": True, "lam": False}

    @counted
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        engine: Any = None,
        checkpoint: Any = None,
    ) -> Penalised:
        """Fit to training data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or BlockedData
            Float32 and float64, dense of any strides or CSR, are used without a copy; other types
            are converted once to float64, other sparse formats to CSR. Row blocks of
            :func:`separatrix.scale.scan` are fitted in passes; they contain their labels and
            weights.
        y : array-like of shape (n_samples,)
            Labels: numbers, strings or booleans.
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0; a weight of k is the same as k copies of the row.
        engine : separatrix.scale.Engine, optional
            What computes the passes over row blocks; by default the threads of this process.
        checkpoint : path, optional
            For row blocks: a file in which every pass saves its state. A fit that finds its own
            file continues from it, and removes it at the end.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For bad parameters, NaN or infinity (named by row and column), or one class only.
        KeyboardInterrupt
            On Ctrl-C, after the fitted attributes have been set from the best iterate so far.

        Warns
        -----
        ConvergenceWarning
            If the certified relative gap is above ``tol``; the text is the certificate.
        """
        self._fit(X, y, sample_weight, engine=engine, checkpoint=checkpoint)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.lam is not None and self.C != 1.0:
            raise ValueError(
                Message(
                    "strength_twice",
                    given_C=Setting("C", self.C),
                    given_lam=Setting("lam", self.lam),
                )
            )

    def _check_penalty(self) -> None:
        """Raise ValueError for a ``penalty`` and an ``l1_ratio`` that contradict each other."""
        if self.l1_ratio is None:
            if self.penalty == "elasticnet":
                raise ValueError(
                    "penalty='elasticnet' needs l1_ratio, the share of L1 from 0 to 1, for "
                    "instance l1_ratio=0.5."
                )
            return
        if self.penalty == "l1" and self.l1_ratio not in (0, 1):
            raise ValueError(Message("mixture_of_l1", **self._contradicting()))
        if self.penalty is None and self.l1_ratio != 0:
            raise ValueError(Message("mixture_of_none", **self._contradicting()))

    def _contradicting(self) -> dict[str, Setting]:
        return {
            "penalty": Setting("penalty", self.penalty),
            "l1_ratio": Setting("l1_ratio", self.l1_ratio),
        }

    def _strength(
        self, total: float, penalty: str | None = "l2", l1_ratio: float | None = 0.0
    ) -> tuple[Penalty, float]:
        """The penalty object and ``C``; without a penalty ``C`` is one.

        ``total``: the sum of the sample weights.
        """
        C = float(self.C)
        if self.lam is not None:
            C = strength_of(float(self.lam), total) if self.lam > 0 else np.inf
        if penalty is None or np.inf == C:
            return NoPenalty(), 1.0
        return penalty_of(1.0 if penalty == "l1" else float(l1_ratio or 0.0)), C

    def _solver(self, problem: LinearProblem) -> Solver:
        solver = getattr(self, "solver", "auto")
        if not isinstance(solver, str):
            return solver
        if problem.in_passes and solver in SOLVERS:
            raise refuse(self, f"solver={solver!r} keeps vectors as long as the data: give 'auto'")
        return SOLVERS[solver]() if solver in SOLVERS else select_solver(problem)

    # --- along a path -----------------------------------------------------------------------

    def path(
        self,
        X: Any,
        y: Any = None,
        Cs: Any = None,
        *,
        lams: Any = None,
        cv: Any = None,
        scoring: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        engine: Any = None,
    ) -> Path:
        """Fit along values of ``C`` or ``lam``, each warm-started from those before.

        Every fit is certified to ``tol``, as a single fit is, and with ``cv`` those to the folds
        are, too. In a fold the held-out rows have weight zero, so that nothing is copied. The start
        of a fit changes its cost, but its result by no more than ``tol``, so that held-out rows do
        not influence their scores.

        The model itself is not fitted; its ``C`` and ``lam`` are ignored.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or BlockedData
            With row blocks, all values and folds share the passes, and every fit gives the same
            result as a single fit.
        y : array-like of shape (n_samples,)
        Cs : int or array-like of shape (n_values,), default=20
            Values of ``C``, or their number. A number means values on a logarithmic scale from one
            over the sum of the squared lengths of the centred rows, where the penalty dominates, to
            a million times that; with L1 in the penalty, from just below the largest value at which
            all weights are zero to a thousand times that.
        lams : array-like of shape (n_values,), optional
            Values of ``lam`` instead.
        cv : int, splitter or iterable of pairs (train, test), optional
            As in scikit-learn; a number is that of stratified folds. Without ``cv`` nothing is
            scored or chosen. For row blocks a number, whose folds are those of the same rows in
            memory.
        scoring : str or callable, optional
            One of scikit-learn's scorers; by default the model's ``score``.
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0, used in the fits and in the scores. Rows of weight zero are in no fold.
        groups : array-like of shape (n_samples,), optional
            For splitters that keep groups together.
        engine : separatrix.scale.Engine, optional
            For row blocks: what computes the passes.

        Returns
        -------
        Path

        Raises
        ------
        ValueError
            For bad parameters, data or values, or a fold without rows of some class.
        PathInterrupt
            On Ctrl-C; this KeyboardInterrupt has the values that were reached as its ``path``.

        Warns
        -----
        ConvergenceWarning
            Once, with the values whose certificate is above ``tol`` and those that were not reached
            within the time limit of the whole path.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.preprocessing import scale
        >>> from separatrix import LogisticRegression
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> path = LogisticRegression(tol=1e-4).path(scale(X), y, [0.01, 0.1, 1, 10], cv=5)
        >>> path.best, all(c.ok for c in path.certificates)
        (1.0, True)
        >>> path.at(10).coef_.shape
        (1, 30)
        """
        given = {"C": Cs, "lam": lams}
        return self._path_of(X, y, given, cv, scoring, sample_weight, groups, engine=engine)

    def _path_of(self, X: Any, y: Any, *wanted: Any, engine: Any, **options: Any) -> Path:
        """The path over rows in memory, or in blocks."""
        if is_blocked(X):
            from separatrix.models.blocked_paths import BlockSearch

            given, cv, scoring, sample_weight, groups = wanted
            require_alone(y, sample_weight, groups)
            keep_folds = options.get("keep_folds", False)
            rows = self, X, given, cv, scoring, engine
            return BlockSearch(*rows, keep_folds=keep_folds).path()
        require_blocks(engine, None)
        return RowSearch(self, X, y, *wanted, **options).path()

    def _path_values(self, parameter: str, count: int, run: Any) -> np.ndarray:
        """Values from the strongest penalty to the weakest."""
        member = run.member(1.0)
        problems = member._problems(run.design, run.labels)
        # A little less, or a fit within its tolerance may have one that is not quite zero.
        first = 0.999 * min(problem.critical_C for _, problem in problems)
        if not 0.0 < first < np.inf:
            centred = bool(self.fit_intercept)
            square = mean_square(run.design, run.labels.weights, centred=centred)
            return strengths_of_rows(parameter, count, run.labels, square)
        # From where the first weight is not zero (Friedman, Hastie and Tibshirani, 2010, 2.5).
        strengths = first * np.geomspace(1.0, _SPARSE_REACH, count)
        return strengths if parameter == "C" else 1.0 / (strengths * run.labels.total)
