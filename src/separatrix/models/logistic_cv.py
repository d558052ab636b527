"""Logistic regression with the strength chosen by cross-validation."""

from __future__ import annotations

import time
import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from separatrix.data import rules
from separatrix.data.validation import check_choice
from separatrix.models.logistic import LogisticRegression
from separatrix.models.path import PathInterrupt

__all__ = ["LogisticRegressionCV"]

_RULES = ("best", "one_standard_error")


class LogisticRegressionCV(LogisticRegression):
    r"""Logistic regression that chooses ``C`` on held-out rows.

    The name and the grid of scikit-learn; :meth:`LogisticRegression.path` does the work, and
    ``path_`` is what it found: every fit on the way starts from where the ones before point to,
    and is certified to ``tol``, those to the folds as well.

    Parameters
    ----------
    Cs : int or array-like of shape (n_values,), default=10
        Values of ``C``, or how many, from 1e-4 to 1e4, evenly in the logarithm.
    cv : int, splitter or iterable, default=5
        The folds, as in scikit-learn; a number is that of stratified folds.
    scoring : str or callable, optional
        Of scikit-learn's scorers; accuracy by default.
    choice : {"best", "one_standard_error"}, default="best"
        The best mean score (of equal ones the smallest ``C``), or the smallest ``C`` within one
        standard error of it.
    penalty : {"l2"}, default="l2"
    multiclass : {"multinomial", "ovr"}, default="multinomial"
    steepness : float, default=1.0
    fit_intercept : bool, default=True
    class_weight : dict or "balanced", optional
    tol : float, default=1e-6
        Target for the certified relative gap of every fit.
    max_iter : int, default=10_000
    solver : str or Solver, default="auto"
    time_limit : float, optional
        Seconds for all fits; what was reached by then is chosen from.
    random_state : int, RandomState or None
        For solvers that visit rows at random; the folds are drawn by ``cv``.
    verbose : int, default=0

    Attributes
    ----------
    C_ : float
        The one chosen.
    Cs_ : ndarray of shape (n_values,)
        Those that were reached.
    scores_ : ndarray of shape (n_folds, n_values)
    path_ : Path
        With the model at every ``C``, means and standard errors; it is not stored in model files.
    coef_ : ndarray of shape (1, n_features) or (K, n_features)
        Of the fit to all rows at ``C_``, as all that follow: to the last bit that of
        ``LogisticRegression(C=C_)``, unless time was up.
    intercept_ : ndarray of shape (1,) or (K,)
    classes_ : ndarray of shape (K,)
    certificate_ : Certificate
    objective_formula_ : str
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Where the columns had names.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from separatrix import LogisticRegressionCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegressionCV(Cs=[0.01, 0.1, 1.0], cv=5).fit(scale(X), y)
    >>> model.C_, model.scores_.shape, model.certificate_.ok
    (1.0, (5, 3), True)
    """

    _attributes: ClassVar[rules.Rules] = {
        **LogisticRegression._attributes,
        "C_": rules.number(finite=False, low=0.0),
        "Cs_": rules.array("values", finite=False),
        "scores_": rules.array("folds", "values", finite=False),
    }
    _needed: tuple[str, ...] = ("C_", *LogisticRegression._needed)

    record = False
    lam = None
    l1_ratio = 0.0

    def __init__(
        self,
        *,
        Cs: Any = 10,
        cv: Any = 5,
        scoring: Any = None,
        choice: str = "best",
        penalty: str | None = "l2",
        multiclass: str = "multinomial",
        steepness: float = 1.0,
        fit_intercept: bool = True,
        class_weight: Any = None,
        tol: float = 1e-6,
        max_iter: int = 10_000,
        solver: Any = "auto",
        time_limit: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.choice = choice
        self.penalty = penalty
        self.multiclass = multiclass
        self.steepness = steepness
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    @property
    def C(self) -> float:  # type: ignore[override]
        """``C_``; there is no other."""
        return float(getattr(self, "C_", 1.0))

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None
    ) -> LogisticRegressionCV:
        """Fit along ``Cs`` to all rows and to the folds, and choose.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0, of the fits and of the scores.
        groups : array-like of shape (n_samples,), optional
            For splitters that keep groups together.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For bad parameters or data, or a fold without rows of some class.
        KeyboardInterrupt
            On Ctrl-C, after the attributes have been set from the values that were reached, if
            there are any.

        Warns
        -----
        ConvergenceWarning
            Once, naming the values above ``tol`` and those that were not reached.
        """
        start = time.perf_counter()
        check_choice("choice", self.choice, _RULES)
        options = {
            name: value
            for name, value in self.get_params(deep=False).items()
            if name not in ("Cs", "cv", "scoring", "choice")
        }
        values = np.geomspace(1e-4, 1e4, self.Cs) if isinstance(self.Cs, int) else self.Cs
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                path = LogisticRegression(**options).path(
                    X,
                    y,
                    values,
                    cv=5 if self.cv is None else self.cv,
                    scoring=self.scoring,
                    sample_weight=sample_weight,
                    groups=groups,
                )
        except PathInterrupt as stop:
            if not np.all(np.isnan(stop.path.mean_scores)):
                self._choose(stop.path)
            raise
        # Said by this name, and where it was called.
        for warning in caught:
            warnings.warn(warning.message, warning.category, stacklevel=2)
        self._choose(path)
        if self.time_limit is not None:
            options["time_limit"] = self.time_limit - (time.perf_counter() - start)
            if not options["time_limit"] > 0.0:
                return self
        # The path's own is as certified; this one owes nothing to where it started.
        again = LogisticRegression(**{**options, "C": self.C_})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            again.fit(X, y, sample_weight)
        if again.certificate_.ok or not self.certificate_.ok:
            self._take(again)
        return self

    def _choose(self, path: Any) -> None:
        index = path.best_index
        if self.choice == "one_standard_error":
            index = path.one_standard_error_index
        self._take(path[index])
        self.C_, self.Cs_, self.scores_ = float(path.values[index]), path.values, path.scores
        self.path_ = path

    def _take(self, fitted: LogisticRegression) -> None:
        """Become a fitted model."""
        self.__dict__.update({k: v for k, v in vars(fitted).items() if k.endswith("_")})
