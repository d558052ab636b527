"""Classifiers with a penalty: its strength, and the path along values of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.messages import Message, Setting
from separatrix.models.blocked import is_blocked, require_alone, require_blocks
from separatrix.models.parameters import parameter
from separatrix.models.path import Path
from separatrix.models.search import RowSearch
from separatrix.objectives.penalties import NoPenalty, Penalty, penalty_of, strength_of

# The two parameters of the strength, and whether the penalty is weaker the larger they are.
C = parameter(default=1.0, above=0, finite=False)
LAM = parameter(default=None, minimum=0)
STRENGTHS = {"C": True, "lam": False}


def check_strength(model: Any) -> None:
    """Raise ValueError where the strength is given twice."""
    if model.lam is not None and model.C != 1.0:
        raise ValueError(
            Message(
                "strength_twice",
                given_C=Setting("C", model.C),
                given_lam=Setting("lam", model.lam),
            )
        )


def check_penalty(model: Any) -> None:
    """Raise ValueError for a ``penalty`` and an ``l1_ratio`` that contradict each other."""
    if model.l1_ratio is None:
        if model.penalty == "elasticnet":
            raise ValueError(
                "penalty='elasticnet' needs l1_ratio, the share of L1 from 0 to 1, for "
                "instance l1_ratio=0.5."
            )
        return
    if model.penalty == "l1" and model.l1_ratio not in (0, 1):
        raise ValueError(Message("mixture_of_l1", **_contradicting(model)))
    if model.penalty is None and model.l1_ratio != 0:
        raise ValueError(Message("mixture_of_none", **_contradicting(model)))


def _contradicting(model: Any) -> dict[str, Setting]:
    return {
        "penalty": Setting("penalty", model.penalty),
        "l1_ratio": Setting("l1_ratio", model.l1_ratio),
    }


def penalty_and_strength(
    model: Any, total: float, penalty: str | None = "l2", l1_ratio: float | None = 0.0
) -> tuple[Penalty, float]:
    """The penalty object and ``C``; without a penalty ``C`` is one.

    ``total``: the sum of the sample weights.
    """
    C = float(model.C)
    if model.lam is not None:
        C = strength_of(float(model.lam), total) if model.lam > 0 else np.inf
    if penalty is None or np.inf == C:
        return NoPenalty(), 1.0
    return penalty_of(1.0 if penalty == "l1" else float(l1_ratio or 0.0)), C


def path(
    self: Any,
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
        The folds, as in scikit-learn; a number is that of stratified folds. Without ``cv`` nothing
        is scored or chosen. For row blocks a number, whose folds are those of the same rows in
        memory.
    scoring : str or callable, optional
        One of scikit-learn's scorers; by default the model's ``score``.
    sample_weight : array-like of shape (n_samples,), optional
        Weights >= 0, used in the fits and in the scores. Rows of weight zero are in no fold.
    groups : array-like of shape (n_samples,), optional
        The group of each row, for splitters that keep groups together.
    engine : separatrix.scale.Engine, optional
        The engine of the passes over row blocks.

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
    return path_of(self, X, y, given, cv, scoring, sample_weight, groups, engine=engine)


def path_of(model: Any, X: Any, y: Any, *wanted: Any, engine: Any, **options: Any) -> Path:
    """The path over rows in memory, or in blocks."""
    if is_blocked(X):
        from separatrix.models.blocked_paths import BlockSearch

        given, cv, scoring, sample_weight, groups = wanted
        require_alone(y, sample_weight, groups)
        keep_folds = options.get("keep_folds", False)
        rows = model, X, given, cv, scoring, engine
        return BlockSearch(*rows, keep_folds=keep_folds).path()
    require_blocks(engine, None)
    return RowSearch(model, X, y, *wanted, **options).path()
