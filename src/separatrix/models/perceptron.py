"""The perceptron."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.design import Design
from separatrix.labels import Labels
from separatrix.losses import PerceptronLoss
from separatrix.models.linear import LinearClassifier
from separatrix.objective import LinearProblem, MistakeObjective
from separatrix.solvers.driver import Solution, Solver
from separatrix.solvers.perceptron import MistakeDriven
from separatrix.validation import check_choice, check_number

__all__ = ["Perceptron"]


class Perceptron(LinearClassifier):
    r"""The perceptron: on every mistake, ``w += rate * y * x`` and ``b += rate * y``.

    Starts from zero and passes over the rows until a pass without a mistake; a point on the
    plane counts as a mistake.  On separable data at most :math:`(R/\gamma)^2` updates are made
    (Novikoff, 1962).  Otherwise it stops after ``max_passes`` with the weights that made the
    fewest training mistakes at the end of a pass.

    Parameters
    ----------
    order : {"cyclic", "random"}, default="cyclic"
        Rows as they come, or shuffled anew for every pass.
    learning_rate : float, default=1.0
    fit_intercept : bool, default=True
        With an offset, as if every row ended in a constant 1, or through the origin.
    max_passes : int, default=1000
    class_weight : dict or "balanced", optional
        A row of weight k is visited k times in a row; a fraction is a visit with a step of
        that fraction.
    random_state : int, RandomState or None
    time_limit : float, optional
        Seconds.
    verbose : int, default=0
    record : bool, default=False
        Keep ``trace_``, whose ``updates`` hold every weight vector.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (K, n_features)
    intercept_ : ndarray of shape (1,) or (K,)
    classes_ : ndarray of shape (K,)
    mistakes_ : ndarray of shape (n_samples,) or (K, n_samples)
        Updates made on each training row.
    n_updates_ : int
        Their total.
    certificate_ : Certificate
        Its objective is the (weighted) number of training mistakes, its bound zero.
    objective_formula_ : str
    n_iter_ : int
        Passes.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Where the columns had names.
    trace_ : Trace, or a tuple of one for each binary problem

    References
    ----------
    Rosenblatt (1958), The perceptron.  Novikoff (1962), On convergence proofs for perceptrons.

    Examples
    --------
    >>> from separatrix import Perceptron
    >>> X = [[-1, 3], [-1, -1], [3, -1], [0, 1.5]]
    >>> model = Perceptron(record=True).fit(X, [-1, -1, 1, 1])
    >>> model.n_updates_, model.coef_.tolist(), model.intercept_.tolist()
    (9, [[4.0, -0.5]], [1.0])
    """

    def __init__(
        self,
        *,
        order: str = "cyclic",
        learning_rate: float = 1.0,
        fit_intercept: bool = True,
        max_passes: int = 1000,
        class_weight: Any = None,
        random_state: Any = None,
        time_limit: float | None = None,
        verbose: int = 0,
        record: bool = False,
    ) -> None:
        self.order = order
        self.learning_rate = learning_rate
        self.fit_intercept = fit_intercept
        self.max_passes = max_passes
        self.class_weight = class_weight
        self.random_state = random_state
        self.time_limit = time_limit
        self.verbose = verbose
        self.record = record

    def fit(self, X: Any, y: Any) -> Perceptron:
        """Fit to training data.

        There is no ``sample_weight``: which separating plane the passes end at depends on the
        order of the rows, so no weight could stand for copies of a row wherever they lie.
        Repeat rows instead, or use ``class_weight``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Float32 and float64, dense of any strides or CSR, are used where they lie, without
            a copy; other types are converted once to float64, other sparse formats to CSR.
        y : array-like of shape (n_samples,)
            Labels: numbers, strings or booleans.

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
            If no pass was free of mistakes; the text is the certificate.
        """
        self._fit(X, y)
        return self

    def _check_parameters(self) -> None:
        check_choice("order", self.order, ["cyclic", "random"])
        check_number("learning_rate", self.learning_rate, above=0)
        check_number("max_passes", self.max_passes, minimum=1, integer=True)
        if self.time_limit is not None:
            check_number("time_limit", self.time_limit, above=0)

    def _problems(self, design: Design, labels: Labels) -> list[tuple[str, LinearProblem]]:
        loss = PerceptronLoss()
        return [
            (
                part,
                MistakeObjective(
                    design, y, loss, weights=labels.weights, fit_intercept=self.fit_intercept
                ),
            )
            for part, y in labels.parts()
        ]

    def _solver(self, problem: LinearProblem) -> Solver:
        return MistakeDriven(self.order, float(self.learning_rate), bool(self.record))

    def _limits(self) -> dict[str, Any]:
        # One mistake more than none is a relative gap of one: no tolerance is needed.
        return {
            "tol": 1e-6,
            "max_iter": self.max_passes,
            "exhausted": "not_separated",
        }

    def _keep(self, problems: list[tuple[str, LinearProblem]], solutions: list[Solution]) -> None:
        super()._keep(problems, solutions)
        mistakes = np.array([s.state.mistakes for s in solutions])
        self.mistakes_ = mistakes[0] if len(solutions) == 1 else mistakes
        self.n_updates_ = int(mistakes.sum())
        if self.record:
            for solution in solutions:
                assert solution.trace is not None
                solution.trace.updates = solution.state.updates
