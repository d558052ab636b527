"""Logistic regression with the strength chosen by cross-validation."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metadata_routing import (
    UNUSED,
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)

from separatrix.data import rules
from separatrix.data.validation import check_number
from separatrix.messages import Message
from separatrix.models import penalised
from separatrix.models.blocked import is_blocked, refuse
from separatrix.models.limits import deadline_of, seconds_to
from separatrix.models.logistic import LogisticRegression
from separatrix.models.parameters import Parameters, compat, parameter
from separatrix.models.path import Path, PathInterrupt, best_of

_RULES = ("best", "one_standard_error")


class LogisticRegressionCV(
    LogisticRegression,
    without=("C", "lam", "l1_ratio", "bounds", "record", "warm_start"),
):
    r"""Logistic regression with ``C`` chosen by cross-validation.

    The name and the grid are scikit-learn's; :meth:`LogisticRegression.path` computes the fits, and
    ``path_`` is its result. Every fit, also of a fold, is warm-started from those before and
    certified to ``tol``.

    Parameters
    ----------
    Cs : int or array-like of shape (n_values,), default=10
        Values of ``C``, or their number, on a logarithmic scale from 1e-4 to 1e4.
    cv : int, splitter or iterable, default=5
        The folds, as in scikit-learn; a number is that of stratified folds.
    scoring : str or callable, optional
        One of scikit-learn's scorers; accuracy by default.
    choice : {"best", "one_standard_error"}, default="best"
        The best mean score (among equal ones the smallest ``C``), or the smallest ``C`` within one
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
        Time limit in seconds for all fits; the choice is among the values reached by then.
    random_state : int, RandomState or None
        The seed of solvers that visit rows in random order; ``cv`` draws the folds. None uses a
        fixed seed: the same call on the same data gives the same bits.
    verbose : int, default=0

    Attributes
    ----------
    C_ : ndarray of shape (1,), or (K,) for more than two classes
        The chosen value, repeated as in scikit-learn; a float with ``use_legacy_attributes=False``.
    l1_ratio_ : ndarray of shape (1,) or (K,), or float
        Likewise.
    Cs_ : ndarray of shape (n_values,)
        The values that were reached.
    l1_ratios_ : ndarray of shape (n_ratios,)
    scores_ : dict
        For ``classes_[1]``, or for each of more classes, the scores of the folds, of shape
        (n_folds, n_values), or (n_folds, n_values, n_ratios) where ``l1_ratios`` was given;
        with ``use_legacy_attributes=False`` an array of shape (n_folds, n_ratios, n_values).
    coefs_paths_ : dict
        Likewise the weights, with the intercept last: of shape (n_folds, n_values, n_weights) or
        (n_folds, n_values, n_ratios, n_weights); with ``use_legacy_attributes=False`` an array of
        shape (n_folds, n_ratios, n_values, K or 1, n_weights).
    path_ : Path
        The path of the chosen mixture: the model at every ``C``, means and standard errors; it is
        not stored in model files.
    fold_scores_, fold_coefs_, fold_iterations_ : ndarray
        The arrays behind the attributes above, in the layout of ``use_legacy_attributes=False``.
    chosen_C_, chosen_l1_ratio_ : float
    coef_ : ndarray of shape (1, n_features) or (K, n_features)
        The weights of the fit to all rows at ``C_``, as are the attributes that follow; they equal
        those of ``LogisticRegression(C=C_)`` to the last bit, unless the time limit came first.
    intercept_ : ndarray of shape (1,) or (K,)
    classes_ : ndarray of shape (K,)
    certificate_ : Certificate
    objective_formula_ : str
    n_iter_ : ndarray of shape (1, n_folds, n_values), or with n_ratios at the end
        Iterations of the fits to the folds; with ``use_legacy_attributes=False`` of shape
        (n_folds, n_ratios, n_values).  Those of the fit itself are ``certificate_.n_iter``.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if they had any.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from separatrix import LogisticRegressionCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegressionCV(Cs=[0.01, 0.1, 1.0], cv=5).fit(scale(X), y)
    >>> model.C_.tolist(), model.scores_[1].shape, model.certificate_.ok
    ([1.0], (5, 3), True)
    """

    Cs: Any = parameter(default=10)
    cv: Any = parameter(default=5, meaning="the same; None is 5 folds")
    scoring: Any = parameter(default=None, meaning="the same; `score` also uses it")
    choice: str = parameter(default="best", choices=_RULES)
    penalty: str | None = "l2"
    l1_ratios: Any = compat("the shares of L1 to choose from, besides ``Cs``", default="warn")
    refit: bool = compat(
        "False returns the mean of the weights of the folds, each at its best values, with the "
        "certificate of that mean",
        (True, False),
        "give True or False",
        default=True,
    )
    use_legacy_attributes: Any = compat(
        "the layout of ``C_``, ``l1_ratio_``, ``scores_``, ``coefs_paths_`` and ``n_iter_``: that "
        "of scikit-learn before 1.10, unless it is False",
        ("warn", True, False),
        "give True or False",
        default="warn",
    )

    _margin_loss = "log"
    _attributes: ClassVar[rules.Rules] = {
        **LogisticRegression._attributes,
        "chosen_C_": rules.number(finite=False, low=0.0),
        "chosen_l1_ratio_": rules.number(low=0.0),
        "Cs_": rules.array("values", finite=False),
        "l1_ratios_": rules.array("ratios"),
        "fold_scores_": rules.array("folds", "ratios", "values", finite=False),
        "fold_coefs_": rules.array("folds", "ratios", "values", "h", "weights", finite=False),
        "fold_iterations_": rules.whole_array("folds", "ratios", "values"),
    }
    _needed: tuple[str, ...] = (
        *("chosen_C_", "chosen_l1_ratio_", "Cs_", "l1_ratios_", "fold_scores_", "fold_coefs_"),
        *("fold_iterations_", *LogisticRegression._needed),
    )

    record, lam, warm_start, bounds = False, None, False, None

    @property  # type: ignore[misc]
    def l1_ratio(self) -> float:  # type: ignore[override]
        """``chosen_l1_ratio_``, or before a fit the first of ``l1_ratios``."""
        return float(getattr(self, "chosen_l1_ratio_", self._ratios[0]))

    @property  # type: ignore[misc]
    def C(self) -> float:  # type: ignore[override]
        """``chosen_C_``, or 1 before a fit."""
        return float(getattr(self, "chosen_C_", 1.0))

    @property
    def _ratios(self) -> tuple[float, ...]:
        if self._has_ratios:
            return tuple(self.l1_ratios)
        return (1.0 if self.penalty == "l1" else 0.0,)

    @property
    def _has_ratios(self) -> bool:
        return not (self.l1_ratios is None or isinstance(self.l1_ratios, str))

    def _check_parameters(self) -> None:
        # The fits along the path check what relates other parameters.
        Parameters._check_parameters(self)
        if self.penalty == "elasticnet" and not self._has_ratios:
            raise ValueError("penalty='elasticnet' needs l1_ratios, for instance [0.1, 0.5, 0.9].")
        if not self._ratios:
            raise ValueError("l1_ratios is empty; give at least one value.")
        for ratio in self._ratios:
            check_number("l1_ratios", ratio, minimum=0)
            if ratio > 1:
                raise ValueError(f"l1_ratios has {ratio!r}, but each must be a number from 0 to 1.")

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, engine: Any = None, **params: Any
    ) -> LogisticRegressionCV:
        """Fit along ``Cs`` to all rows and to the folds, and choose.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or BlockedData
            With row blocks, all values and folds share the passes, and ``cv`` is a number of folds.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0, used in the fits and in the scores.
        engine : separatrix.scale.Engine, optional
            For row blocks: what computes the passes.
        **params : dict
            ``groups``, of shape (n_samples,), for splitters that keep groups together; and other
            metadata, where scikit-learn's routing is enabled, which then decides which metadata and
            weights reach the splitter and the scores.

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
        self._check_parameters()
        deadline = deadline_of(self.time_limit)
        known = LogisticRegression._get_param_names()
        options = {k: v for k, v in self.get_params(deep=False).items() if k in known}
        given = {"C": np.geomspace(1e-4, 1e4, self.Cs) if isinstance(self.Cs, int) else self.Cs}
        in_blocks = is_blocked(X)
        if in_blocks and not self.refit:
            raise refuse(
                self,
                "the mean of the weights of the folds cannot be computed in "
                "passes: leave refit at True",
            )
        groups, scored_with = self._routed(sample_weight, params)
        cv = 5 if self.cv is None else self.cv
        wanted = X, y, given, cv, self._scoring, sample_weight, groups
        kept = {"engine": engine, "scored_with": scored_with, "keep_folds": True}
        paths = self._paths(wanted, kept, options, deadline)
        self._choose(paths)
        options["l1_ratio"] = self.chosen_l1_ratio_
        if in_blocks:
            # The path's own fit is the one that it is alone.
            self.n_passes_ = sum(path.models[0].n_passes_ for path in paths)
            return self
        if not self.refit:
            self._average(LogisticRegression(**options), X, y, sample_weight)
            return self
        options["time_limit"] = seconds_to(deadline)
        if time.perf_counter() >= deadline:
            return self
        # The path's own is as certified; this one owes nothing to where it started.
        again = LogisticRegression(**{**options, "C": self.chosen_C_})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            again.fit(X, y, sample_weight)
        if again.certificate_.ok or not self.certificate_.ok:
            self._take(again)
        return self

    def _paths(
        self,
        wanted: tuple[Any, ...],
        kept: dict[str, Any],
        options: dict[str, Any],
        deadline: float,
    ) -> list[Path]:
        """The path of every share of L1, each within what is left of the time; Ctrl-C ends it."""
        paths: list[Path] = []
        for done, ratio in enumerate(self._ratios):
            options["l1_ratio"] = ratio
            options["time_limit"] = seconds_to(deadline, len(self._ratios) - done)
            try:
                paths.append(penalised.path_of(LogisticRegression(**options), *wanted, **kept))
            except PathInterrupt as stop:
                if not np.all(np.isnan(stop.path.mean_scores)):
                    paths.append(stop.path)
                if paths:
                    self._choose(paths)
                raise
        return paths

    # Passed on to the scorer, which says whether it wants them; the model has no use for them.
    __metadata_request__score: ClassVar[dict[str, str]] = {"sample_weight": UNUSED}

    def _routed(
        self, sample_weight: Any, params: dict[str, Any]
    ) -> tuple[Any, dict[str, Any] | None]:
        """The groups for the splitter and the metadata for the scores; None for the weights."""
        if not _routing_enabled():
            others = {k: v for k, v in params.items() if k != "groups"}
            _raise_for_params(others, self, "fit")
            return params.get("groups"), None
        routed = process_routing(self, "fit", sample_weight=sample_weight, **params)
        return routed.splitter.split.get("groups"), dict(routed.scorer.score)

    def get_metadata_routing(self) -> MetadataRouter:
        """The routing of the metadata of ``fit`` and ``score`` to the splitter and the scorer.

        Returns
        -------
        MetadataRouter
            The router of scikit-learn.
        """
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                splitter=self.cv,
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
            .add(
                scorer=self._get_scorer(),
                method_mapping=MethodMapping()
                .add(caller="score", callee="score")
                .add(caller="fit", callee="score"),
            )
        )

    def _get_scorer(self) -> Any:
        from sklearn.metrics import get_scorer

        return get_scorer("accuracy" if self._scoring is None else self._scoring)

    @property
    def _scoring(self) -> Any:
        return None if isinstance(self.scoring, str) and self.scoring == "warn" else self.scoring

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, **score_params: Any) -> float:
        """The score of ``scoring``; by default the accuracy.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        **score_params : dict
            Metadata for the scorer, where scikit-learn's routing is enabled.

        Returns
        -------
        float
        """
        if is_blocked(X):
            if self._scoring is None:
                return super().score(X, y, sample_weight)
            raise TypeError(Message("blocks_as_matrix", model=type(self).__name__))
        if sample_weight is not None:
            score_params["sample_weight"] = sample_weight
        if _routing_enabled():
            score_params = dict(process_routing(self, "score", **score_params).scorer.score)
        else:
            others = {k: v for k, v in score_params.items() if k != "sample_weight"}
            _raise_for_params(others, self, "score")
            if self._scoring is None:
                return super().score(X, y, sample_weight)
        return float(self._get_scorer()(self, X, y, **score_params))

    # --- what is kept -----------------------------------------------------------------------

    def _choose(self, paths: Sequence[Path]) -> None:
        """Keep the best of the paths, one for each mixture, and the folds' fits of them all."""
        ratios = self._ratios[: len(paths)]
        careful = self.choice == "one_standard_error"
        # Interrupted, the last may be the shorter one.
        best = best_of(np.array([np.fmax.reduce(path.mean_scores) for path in paths]))
        path = paths[best]
        index = path.one_standard_error_index if careful else path.best_index
        self._take(path[index])
        self.chosen_C_, self.chosen_l1_ratio_ = float(path.values[index]), float(ratios[best])
        self.l1_ratios_ = np.array(ratios, dtype=np.float64)
        # The folds' weights are kept below, in one array.
        self.path_ = replace(path, fold_models=())
        # Interrupted, the others may have fewer.
        self.Cs_ = max(paths, key=len).values
        self.__dict__.update(self._of_folds(paths))
        halves, width = self.coef_.shape[0], self.coef_.shape[1] + bool(self.fit_intercept)
        self.fold_coefs_ = np.full((*self.fold_scores_.shape, halves, width), np.nan)
        for k, one in enumerate(paths):
            for i, at in enumerate(self._places(one)):
                for fold, models in enumerate(one.fold_models):
                    if models[i] is None:
                        continue
                    into = self.fold_coefs_[fold, k, at]
                    into[:, : self.coef_.shape[1]] = models[i].coef_
                    if self.fit_intercept:
                        into[:, -1] = models[i].intercept_

    def _places(self, path: Path) -> list[int]:
        """The places of the values of a path among all that were reached."""
        place = {value: i for i, value in enumerate(self.Cs_.tolist())}
        return [place[value] for value in path.values.tolist()]

    def _of_folds(self, paths: Sequence[Path]) -> dict[str, np.ndarray]:
        """The scores and the iterations of the folds of some paths, one for each mixture."""
        assert paths[0].scores is not None
        shape = (len(paths[0].scores), len(paths), len(self.Cs_))
        scores, iterations = np.full(shape, np.nan), np.zeros(shape, dtype=np.int32)
        for k, path in enumerate(paths):
            places = self._places(path)
            scores[:, k, places] = path.scores
            iterations[:, k, places] = [
                [0 if one is None else one.n_iter for one in fold]
                for fold in path.fold_certificates
            ]
        return {"fold_scores_": scores, "fold_iterations_": iterations}

    def _made_again(self) -> dict[str, Any]:
        path = vars(self).get("path_")
        if path is None or path.scores is None or len(self.l1_ratios_) > 1:
            return {}
        return self._of_folds([path])

    def _average(self, at: LogisticRegression, X: Any, y: Any, sample_weight: Any) -> None:
        """Become the mean of the folds' models, each at its own best."""
        n_folds = len(self.fold_scores_)
        # Among equal scores the first value counts, and among equal values the first mixture.
        scores = np.swapaxes(self.fold_scores_, 1, 2).reshape(n_folds, -1)
        best = np.nan_to_num(scores, nan=-np.inf).argmax(axis=1)
        value, ratio = np.unravel_index(best, (len(self.Cs_), len(self.l1_ratios_)))
        each = self.fold_coefs_[np.arange(n_folds), ratio, value]
        if not np.isfinite(each).all():
            raise ValueError(
                "refit=False averages the weights of the folds, and in a fold that lacks a class "
                "they are infinite; give stratified folds (cv=5), or refit=True."
            )
        mean = each.mean(axis=0)
        self.chosen_C_ = float(self.Cs_[value].mean())
        self.chosen_l1_ratio_ = float(self.l1_ratios_[ratio].mean())
        coef = np.ascontiguousarray(mean[:, : self.n_features_in_])
        intercept = mean[:, -1].copy() if self.fit_intercept else np.zeros(len(mean))
        # A fit that may not move says how far from its optimum the point is.
        at.set_params(C=self.chosen_C_, l1_ratio=self.chosen_l1_ratio_, max_iter=0, warm_start=True)
        at.coef_, at.intercept_ = coef, intercept
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            at.fit(X, y, sample_weight)
        self._take(at)
        self.coef_, self.intercept_ = coef, intercept

    def _take(self, fitted: LogisticRegression) -> None:
        """Become a fitted model."""
        own = {k: v for k, v in vars(fitted).items() if k.endswith("_") and k != "n_iter_"}
        self.__dict__.update(own)

    # --- in scikit-learn's layouts ----------------------------------------------------------

    @property
    def _legacy(self) -> bool:
        return self.use_legacy_attributes in ("warn", True)

    def _chosen(self, value: float) -> Any:
        if not self._legacy:
            return value
        return np.full(1 if len(self.classes_) == 2 else len(self.classes_), value)

    def _by_class(self, each: Sequence[np.ndarray]) -> dict[Any, np.ndarray]:
        names = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        return dict(zip(names, each, strict=True))

    @property
    def C_(self) -> Any:
        """The chosen ``C``."""
        return self._chosen(self.chosen_C_)

    @property
    def l1_ratio_(self) -> Any:
        """The chosen mixture."""
        return self._chosen(self.chosen_l1_ratio_)

    @property
    def scores_(self) -> Any:
        """Scores of the folds."""
        if not self._legacy:
            return self.fold_scores_
        # The same for every class.
        scores = self._with_ratios(np.swapaxes(self.fold_scores_, 1, 2), axis=2)
        return self._by_class([scores] * self.fold_coefs_.shape[3])

    @property
    def coefs_paths_(self) -> Any:
        """Weights of the fits to the folds."""
        if not self._legacy:
            return self.fold_coefs_
        by_class = np.moveaxis(self.fold_coefs_, (3, 1), (0, 3))
        return self._by_class([self._with_ratios(one, axis=2) for one in by_class])

    @property
    def n_iter_(self) -> np.ndarray:
        """Iterations of the fits to the folds."""
        if not self._legacy:
            return self.fold_iterations_
        return self._with_ratios(np.swapaxes(self.fold_iterations_, 1, 2), axis=2)[None]

    def _with_ratios(self, array: np.ndarray, axis: int) -> np.ndarray:
        """An array without the axis of the mixtures where none were given."""
        return array if self._has_ratios else np.take(array, 0, axis=axis)
