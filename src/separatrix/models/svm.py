"""The linear support vector machine."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.design import Design
from separatrix.labels import Labels
from separatrix.losses import Hinge, SquaredHinge
from separatrix.models.linear import PenalisedClassifier
from separatrix.objective import LinearProblem, MarginObjective
from separatrix.validation import check_choice

__all__ = ["LinearSVC"]

_LOSSES = {"hinge": Hinge, "squared_hinge": SquaredHinge}


class LinearSVC(PenalisedClassifier):
    r"""Linear support vector classification, with a certificate.

    Minimises, for labels :math:`y \in \{-1, +1\}`,

    .. math:: \tfrac12 \|w\|^2 + C \sum_i s_i\, \ell(y_i (w\cdot x_i + b)), \qquad
        \ell(z) = \max(0, 1 - z) \text{ or } \max(0, 1 - z)^2.

    The intercept is never penalised.  More than two classes are taken one against the rest.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss against the penalty.
    lam : float, optional
        The same in the form ``1/n sum loss + lam/2 |w|^2``: ``C = 1 / (lam n)`` with ``n`` the
        sum of the sample weights.  Give one of the two: with ``lam``, leave ``C`` at 1.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
    fit_intercept : bool, default=True
    class_weight : dict or "balanced", optional
    tol : float, default=1e-6
        Target for the certified relative gap.
    max_iter : int, default=100_000
        Limit on iterations; those of dual coordinate descent are passes, many and cheap.
    solver : {"auto", "newton", "dual", "augmented-lagrangian"} or Solver, default="auto"
        See :func:`separatrix.select_solver`.
    time_limit : float, optional
        Seconds; the fit then returns its best iterate with the gap it reached.
    random_state : int, RandomState or None
        For solvers that visit rows at random.
    verbose : int, default=0
        1 prints certificate checks to stderr.
    record : bool, default=False
        Keep ``trace_``.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (K, n_features)
    intercept_ : ndarray of shape (1,) or (K,)
    classes_ : ndarray of shape (K,)
    certificate_ : Certificate
        Of the sum over the binary problems, which are its ``parts``.
    objective_formula_ : str
        The formula that was minimised.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Where the columns had names.
    trace_ : Trace, or a tuple of one for each binary problem

    References
    ----------
    Cortes and Vapnik (1995), Support-vector networks.  Hsieh et al. (2008), A dual coordinate
    descent method for large-scale linear SVM.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import LinearSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearSVC(loss="hinge", C=0.1).fit(X, y)
    >>> model.certificate_.relative_gap <= 1e-6
    True
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        lam: float | None = None,
        loss: str = "squared_hinge",
        fit_intercept: bool = True,
        class_weight: Any = None,
        tol: float = 1e-6,
        max_iter: int = 100_000,
        solver: Any = "auto",
        time_limit: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
        record: bool = False,
    ) -> None:
        self.C = C
        self.lam = lam
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose
        self.record = record

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("loss", self.loss, list(_LOSSES))
        if np.isinf(self.C) or self.lam == 0:
            raise ValueError(
                "LinearSVC needs a finite C (or lam > 0): the hard margin, C=inf, is not "
                "available yet; a large C such as 1e6 comes close on separable data."
            )

    def _problems(self, design: Design, labels: Labels) -> list[tuple[str, LinearProblem]]:
        penalty, C = self._strength(labels)
        loss = _LOSSES[self.loss]()
        return [
            (
                part,
                MarginObjective(
                    design,
                    y,
                    loss,
                    penalty,
                    C=C,
                    weights=labels.weights,
                    fit_intercept=self.fit_intercept,
                ),
            )
            for part, y in labels.parts()
        ]
