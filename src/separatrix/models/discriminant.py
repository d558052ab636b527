"""Gaussian discriminant analysis: linear, with one covariance, and quadratic, with one a class."""

from __future__ import annotations

import copy
import time
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import LinAlgWarning
from sklearn.base import (
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from separatrix.certificate import ResidualCertificate, no_better_than
from separatrix.closed_form.gaussian import (
    Estimate,
    Gaussians,
    Names,
    certify_gaussian,
    covariances_by_estimator,
    estimate,
    require_memory,
)
from separatrix.data import rules
from separatrix.data.design import Design, as_design
from separatrix.data.labels import Labels, encode, encode_as
from separatrix.data.moments import Moments
from separatrix.data.random_state import random_state_of
from separatrix.data.validation import (
    check_number,
    require_classes,
    require_finite,
    sample_weight_of,
    validate,
)
from separatrix.exceptions import DataError, warn
from separatrix.expressions import (
    Consistent,
    Difference,
    Expression,
    Features,
    Quadratic,
    Shifted,
    posterior,
)
from separatrix.geometry.discriminant import Discriminant
from separatrix.models import certified
from separatrix.models.base import portion_of
from separatrix.models.certified import NOT_ITERATED, Certified, FitContext, Problems
from separatrix.models.parameters import compat, fitted, parameter
from separatrix.models.path import Path
from separatrix.models.predicting import OfClasses, affine
from separatrix.models.search import RowSearch

_SCATTER = rules.one_of(
    rules.array("d", "d", finite=False), rules.array("K", "d", "d", finite=False)
)
_MOMENTS = rules.record(
    "Moments",
    {
        "weight": rules.array("K", low=0.0),
        "mean": rules.array("K", "d", finite=False),
        "scatter": _SCATTER,
        "n_rows": rules.whole(),
        "rest": rules.array("K", "d", finite=False),
        "third": rules.optional(rules.array("K", "d", "d", finite=False)),
        "fourth": rules.optional(rules.array("K", "d", "d", finite=False)),
        "unit": rules.optional(rules.array("d", finite=False)),
    },
)


def moments_of_classes(
    design: Design, labels: Labels, *, pooled: bool, shrinkage: float | str | None
) -> Moments:
    """The moments that covariances of classes are made of, in one pass over the rows."""
    return Moments.of(
        design,
        codes=labels.codes,
        n_classes=len(labels.classes),
        weights=labels.weights,
        pooled=pooled,
        fourth=shrinkage == "auto",
    )


def certify_classes(
    model: Any,
    moments: Moments,
    kinds: Sequence[str],
    covariance: np.ndarray | None,
    planes: Sequence[tuple[Any, Any]],
    tol: float,
    given: np.ndarray | None = None,
) -> ResidualCertificate:
    """Certify the equations of Gaussian classes, of this library's models or scikit-learn's.

    Parameters
    ----------
    model : estimator
        A fitted model.
    moments : Moments
        The moments of its training data.
    kinds : sequence of {"mle", "unbiased"}
        The divisors of the covariances; the nearest counts.
    covariance : ndarray or None
        The covariance by which the model decides, where it is known.
    planes : sequence of (coef, intercept)
        Planes besides ``coef_`` and ``intercept_``; the worst counts.
    tol : float
    given : ndarray of shape (K, p, p), optional
        Covariances of the classes, where they are not those of the moments.
    """
    linear = hasattr(model, "coef_")
    certificates = [
        certify_gaussian(
            moments,
            means=model.means_,
            covariance=covariance,
            planes=[(model.coef_, model.intercept_), *planes] if linear else (),
            priors=model.priors_,
            empirical=model.priors is None,
            pooled=linear,
            kind=kind,
            shrinkage=getattr(model, "shrinkage", None),
            reg_param=float(getattr(model, "reg_param", 0.0)),
            given=given,
            tol=tol,
        )
        for kind in kinds
    ]
    nearest = min(certificates, key=lambda certificate: certificate.relative_residual)
    if model.priors is not None:
        wanted = np.asarray(model.priors, dtype=np.float64)
        apart = float(np.abs(model.priors_ - wanted / wanted.sum()).max())
        nearest = no_better_than(apart, nearest)
    return nearest if nearest.ok else replace(nearest, status="above_tol")


class GaussianClassifier(ClassifierMixin, Certified, without=NOT_ITERATED):
    """The base of both analyses: moments of the rows, and the Gaussians made of them."""

    priors: Any = parameter(default=None)
    covariance: str = parameter(default="mle", choices=("mle", "unbiased"))
    shrinkage: float | str | None = parameter(
        default=None,
        choices=(None, "auto"),
        minimum=0,
        maximum=1,
        beyond="must be a number from 0 to 1, 'auto' or None",
    )

    _attributes: ClassVar[rules.Rules] = {
        **rules.COMMON,
        "classes_": rules.classes,
        "moments_": _MOMENTS,
        "means_": rules.array("K", "d"),
        "priors_": rules.array("K", low=0.0),
        "independent_columns_": rules.whole_array("independent", below="d"),
        "shrinkage_": rules.array("K", finite=False),
        "certificate_": rules.equations,
        "condition_number_": rules.number(finite=False, low=0.0),
    }
    # One covariance for all classes.
    _pooled: ClassVar[bool]
    # Far from the origin the weights lose digits that predictions do not need.
    _warns = False
    _in_closed_form = True
    moments_: Moments = fitted()
    independent_columns_: np.ndarray = fitted()

    @abstractmethod
    def _keep(self, found: Estimate) -> None:
        """Set the fitted attributes that are the model's own."""

    def _probabilities(self, scores: Expression, winner: Expression) -> Expression:
        return posterior(scores, winner)

    # --- fit --------------------------------------------------------------------------------

    fit, score = certified.fit, OfClasses.score

    def _rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Design, Labels]:
        matrix, y = validate(self, X, y, finite=False)
        # Whole numbers and texts are labels: that need not cost a pass over them.
        if y.ndim != 1 or y.dtype.kind not in "biuUS":
            require_classes(y)
        return as_design(matrix), encode(y, sample_weight_of(sample_weight, matrix), None)

    def _rows_again(self, X: Any, y: Any, sample_weight: Any) -> tuple[Design, Labels]:
        # Raises where rows of a class are still to come.
        self._ready()
        matrix = validate(self, X)
        weights = sample_weight_of(sample_weight, matrix)
        return as_design(matrix), encode_as(self.classes_, y, matrix.shape[0], weights)

    def _needs_all_rows(self, n_classes: int | None = None) -> str | None:
        if self.covariance_estimator is None:
            return None
        return "covariance_estimator needs all rows of a class at once: give shrinkage"

    def _settled(self, fit: FitContext) -> Problems:
        """The moments of the classes, and their covariances where an estimator gives them."""
        labels = fit.target
        self._priors_of(len(labels.classes))
        if fit.blocks is None:
            moments = self._moments_of(fit.design, labels)
            return [("", (moments, self._given_by(fit.design, labels)))]
        from separatrix.scale.equations import class_moments

        self._require_memory(fit.blocks.data.n_features, len(labels.classes))
        fourth = isinstance(self.shrinkage, str)
        moments = class_moments(fit.blocks.passes, pooled=self._pooled, fourth=fourth)
        if not moments.finite:
            raise ValueError(
                "The squares of the values are out of the range of float64; divide the columns by "
                "their largest absolute values."
            )
        return [("", (moments, None))]

    def _problems(self, design: Design, labels: Labels) -> Problems:
        return self._settled(FitContext(design, labels))

    def _solve(self, problems: Problems, fit: FitContext) -> list[Any]:
        classes = fit.target.classes
        return [self._estimate(moments, classes, given) for _, (moments, given) in problems]

    def _keep_fit(self, fit: FitContext, problems: Problems, solutions: list[Any]) -> None:
        ((_, (moments, _)),), (found,) = problems, solutions
        self.classes_ = fit.target.classes
        self._set(moments, found, fit.begun)
        if found.warning:
            warn(found.warning, LinAlgWarning)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Add rows to those seen so far; the model is the same as if :meth:`fit` had seen all.

        Also goes on after :meth:`fit`.  The equations are solved anew at the end of each call, so
        pass many rows at a time.  While they have no solution yet (a class without rows), there is
        no error here, but in the methods that need it; nor is there a warning of covariances that
        are singular because few rows have come: ``floored_`` says which.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels among ``classes``; they need not all occur.
        classes : array-like of shape (K,), optional
            All labels of all calls; needed in the first call.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For bad parameters or data, ``classes`` missing in the first call or changed in a
            later one, or a label not among them.

        Warns
        -----
        LinAlgWarning
            If columns are redundant that were not, or the other way round.
        """
        start = time.perf_counter()
        self._check_parameters()
        self._refuse_estimator("partial_fit")
        first = not hasattr(self, "classes_")
        X_, labels = portion_of(self, X, y, classes, sample_weight, finite=False)
        known = labels.classes
        moments = self._moments_of(as_design(X_), labels)
        if not first:
            if (self.moments_.fourth is None) != (moments.fourth is None):
                raise ValueError(
                    f"shrinkage={self.shrinkage!r} needs sums that the earlier calls did not keep; "
                    "make a new model."
                )
            moments = self.moments_.merge(moments)
        if not moments.finite:
            raise ValueError(
                "The squares of the values of this call are out of the range of float64, so the "
                "model was not changed; divide the columns by their largest absolute values."
            )
        before = getattr(self, "independent_columns_", np.arange(moments.n_columns))
        self._clear()
        self.classes_, self.moments_ = known, moments
        try:
            found = self._estimate(moments, known)
        except DataError:
            # Raised again when the model is used.
            return self
        self._set(moments, found, start)
        changed = not np.array_equal(before, self.independent_columns_)
        if found.warning and changed and not found.floored.any():
            warn(found.warning, LinAlgWarning)
        return self

    _strengths: ClassVar[dict[str, bool]] = {"shrinkage": False}

    def path(
        self,
        X: Any,
        y: Any,
        shrinkages: Any = None,
        *,
        cv: Any = None,
        scoring: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> Path:
        """Fit along values of ``shrinkage``; the rows are read once for all of them.

        The model itself is not fitted; its ``shrinkage`` does not count.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        shrinkages : int or array-like of shape (n_values,), default=20
            Values from 0 to 1, or how many, evenly from 1 down to 0.
        cv, scoring, sample_weight, groups
            See :meth:`separatrix.LogisticRegression.path`.

        Returns
        -------
        Path

        Raises
        ------
        ValueError
            For bad parameters, data or values, or a fold without rows of some class.

        Warns
        -----
        LinAlgWarning
            If a covariance is singular, where there is no shrinkage.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from separatrix import QuadraticDiscriminantAnalysis
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
        >>> path = QuadraticDiscriminantAnalysis().path(X, y, [0.5, 0.1, 0.01], cv=5)
        >>> path.best
        0.01
        """
        self._refuse_estimator("path")
        rows = X, y, {"shrinkage": shrinkages}, cv, scoring, sample_weight, groups
        return RowSearch(self, *rows).path()

    def _path_fits(self, run: Any) -> Iterator[tuple[int, int, Any]]:
        """The moments of the rows serve all values."""
        for fold in range(len(run.folds) + 1):
            labels = run.labels_of(fold)
            moments = run.member(0.0)._moments_of(run.design, labels)
            for i, value in enumerate(run.values):
                if run.interrupt.requested:
                    return
                member, fit = run.member(value), FitContext(run.design, labels)
                member._check_parameters()
                problems = [("", (moments, None))]
                member._keep_fit(fit, problems, member._solve(problems, fit))
                yield i, fold, member

    def _path_values(self, parameter: str, count: int, run: Any) -> np.ndarray:
        return np.linspace(1.0, 0.0, count)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        estimator = self.covariance_estimator
        if estimator is not None and not hasattr(estimator, "fit"):
            raise ValueError(
                f"covariance_estimator={estimator!r} has no fit method; give an estimator of "
                "sklearn.covariance, or shrinkage='auto' for Ledoit and Wolf's."
            )
        if estimator is not None and self.shrinkage not in (None, 0):
            raise ValueError(
                f"covariance_estimator and shrinkage={self.shrinkage!r} both set the covariances; "
                "leave one at None."
            )

    def _refuse_estimator(self, method: str) -> None:
        if self.covariance_estimator is not None:
            raise ValueError(
                f"covariance_estimator needs all rows of a class at once; {method} has only their "
                "sums. Use fit, or shrinkage."
            )

    def _given_by(self, design: Design, labels: Labels) -> np.ndarray | None:
        """Covariances of the classes by ``covariance_estimator``."""
        if self.covariance_estimator is None:
            return None
        if labels.weights is not None and np.ptp(labels.weights) > 0.0:
            raise ValueError(
                "covariance_estimator does not use weights; leave out sample_weight, or leave "
                "covariance_estimator at None."
            )
        k, names = len(labels.classes), self._names(labels.classes)
        require_memory(design.n_features, k)
        return covariances_by_estimator(self.covariance_estimator, design, labels.codes, k, names)

    def _moments_of(self, design: Design, labels: Labels) -> Moments:
        self._require_memory(design.n_features, len(labels.classes))
        moments = moments_of_classes(design, labels, pooled=self._pooled, shrinkage=self.shrinkage)
        if not moments.finite:
            require_finite(design.matrix, getattr(self, "feature_names_in_", None))
        return moments

    def _require_memory(self, n_features: int, n_classes: int) -> None:
        """Raise ValueError where the matrices of the moments do not fit in memory."""
        auto = isinstance(self.shrinkage, str)
        require_memory(n_features, 3 * n_classes if auto else 1 if self._pooled else n_classes)

    def _priors_of(self, n_classes: int) -> np.ndarray | None:
        if self.priors is None:
            return None
        priors = np.asarray(self.priors, dtype=np.float64)
        if priors.shape != (n_classes,):
            raise ValueError(
                f"priors={self.priors!r} must hold one number for each of the {n_classes} classes."
            )
        if not np.all(priors > 0) or not abs(float(priors.sum()) - 1.0) <= 1e-6:
            raise ValueError(
                f"priors={priors.tolist()!r} must be positive and sum to 1; divide them by their "
                "sum."
            )
        return priors / priors.sum()

    def _names(self, classes: np.ndarray) -> Names:
        return Names(getattr(self, "feature_names_in_", None), classes)

    def _estimate(
        self, moments: Moments, classes: np.ndarray, given: np.ndarray | None = None
    ) -> Estimate:
        return estimate(
            moments,
            pooled=self._pooled,
            priors=self._priors_of(len(classes)),
            covariance=self.covariance,
            shrinkage=self.shrinkage,
            reg_param=float(getattr(self, "reg_param", 0.0)),
            given=given,
            names=self._names(classes),
        )

    def _clear(self) -> None:
        """Forget what was fitted, but not what was read of the columns."""
        for name in [n for n in vars(self) if n.endswith("_") and not n.startswith("__")]:
            if name not in ("n_features_in_", "feature_names_in_"):
                delattr(self, name)
        self.__dict__.pop("_gaussians", None)

    def _set(self, moments: Moments, found: Estimate, start: float) -> None:
        gaussians = found.gaussians
        self.moments_ = moments
        self.means_, self.priors_ = gaussians.means, gaussians.priors
        self.covariance_ = gaussians.covariance
        self.independent_columns_ = gaussians.kept
        self.shrinkage_, self.floored_ = found.shrinkage, found.floored
        self._gaussians = gaussians
        self._keep(found)
        self.certificate_ = replace(found.certificate, seconds=time.perf_counter() - start)
        self.condition_number_ = found.certificate.condition
        self.objective_formula_ = self._formula()
        self.n_iter_ = 1

    def _formula(self) -> str:
        """The discriminant as text."""
        less = {"mle": "", "unbiased": " - K" if self._pooled else " - 1"}[self.covariance]
        inner = {"auto": "S_k shrunk (Ledoit-Wolf)"}.get(str(self.shrinkage), "S_k")
        if self._pooled:
            score = "mu_k' S^-1 x - 1/2 mu_k' S^-1 mu_k + log pi_k"
            scatter = f"sum_k n_k {inner} / " + (f"(N{less})" if less else "N")
            name = "S"
        else:
            score = "-1/2 log |S_k| - 1/2 (x - mu_k)' S_k^-1 (x - mu_k) + log pi_k"
            scatter = "sum_i s_i (x_i - mu_k)(x_i - mu_k)' / " + (f"(n_k{less})" if less else "n_k")
            name = "S_k"
            if self.shrinkage == "auto":
                scatter += ", shrunk (Ledoit-Wolf)"
        if self.shrinkage is not None and not isinstance(self.shrinkage, str):
            s = float(self.shrinkage)
            scatter = f"{1 - s:g} C + {s:g} tr(C)/d I, C = {scatter}"
        if self.covariance_estimator is not None:
            name = type(self.covariance_estimator).__name__
            scatter = f"sum_k n_k {name}(class k) / N" if self._pooled else f"{name}(class k)"
        if getattr(self, "reg_param", 0.0) > 0:
            r = float(self.reg_param)
            scatter = f"{1 - r:g} D + {r:g} I, D = {scatter}"
        if self.floored_.any():
            where = "" if self._pooled else " where S_k is singular"
            scatter += f", + 1e-6 of the variances over all rows{where}"
        return f"delta_k(x) = {score}, {name} = {scatter}"

    # --- the Gaussians ----------------------------------------------------------------------

    def _ready(self) -> Gaussians:
        """The fitted Gaussians, factorised again for a model that was read from a file."""
        if "classes_" not in vars(self):
            # To raise: for one row it would take longer than all the rest.
            check_is_fitted(self, "classes_")
        if not hasattr(self, "means_"):
            # Raises what partial_fit did not.
            self._estimate(self.moments_, self.classes_)
            raise NotFittedError(
                f"The fit of this {type(self).__name__} did not finish; call fit or partial_fit."
            )
        if "_gaussians" not in self.__dict__:
            self._gaussians = Gaussians.of(
                self.means_,
                self.covariance_,
                self.priors_,
                self.independent_columns_,
                self._names(self.classes_),
                self.moments_.rest,
            )
        found: Gaussians = self._gaussians
        return found

    @property
    def _needed(self) -> list[str]:
        # All of the numbers, or none of them: rows of a class may be still to come.
        if "means_" not in vars(self):
            return ["classes_", "moments_"]
        optional = ("feature_names_in_", "n_iter_")
        return ["classes_", *(name for name in self._attributes if name not in optional)]

    def _check_attributes(self, sizes: rules.Sizes) -> None:
        if "means_" not in vars(self):
            return
        kept, priors = self.independent_columns_, self.priors_
        if np.any(kept[1:] <= kept[:-1]):
            raise rules.refuse("independent_columns_", "are not in ascending order")
        if not (np.all(priors > 0.0) and abs(float(priors.sum()) - 1.0) <= 1e-6):
            raise rules.refuse("priors_", "are not positive numbers with the sum 1")
        if not len(kept):
            raise rules.refuse("independent_columns_", "are none")

    def _certified(self, fit: FitContext, tol: float) -> ResidualCertificate:
        # Raises where rows of a class are still to come.
        self._ready()
        ((_, (moments, given)),) = self._settled(fit)
        # The planes that it decides by, beside those that it reports.
        planes = []
        if hasattr(self, "centred_coef_") and len(self.classes_) > 2:
            planes = [(self.centred_coef_, self.centred_intercept_)]
        kinds = [self.covariance]
        return certify_classes(self, moments, kinds, self.covariance_, planes, tol, given)

    # Factors follow from the covariances.
    _left_out = ("_gaussians",)

    def _made_again(self) -> dict[str, Any]:
        """The attributes that the moments determine: all fitted but the certificate's seconds."""
        if "moments_" not in vars(self) or self.covariance_estimator is not None:
            return {}
        twin = copy.copy(self)
        twin._clear()
        given = {*vars(twin), "moments_", "classes_"}
        twin.classes_ = self.classes_
        try:
            twin._set(self.moments_, twin._estimate(self.moments_, self.classes_), 0.0)
        except (DataError, ValueError):
            # Rows of a class are still to come, or parameters have been changed since the fit.
            return {}
        return {name: value for name, value in vars(twin).items() if name not in given}

    def _design(self, X: Any) -> Design:
        return as_design(validate(self, X))

    def discriminant(self) -> Discriminant:
        """The boundaries between the classes, as a geometric object.

        Returns
        -------
        separatrix.geometry.Discriminant
        """
        self._ready()
        return Discriminant.from_model(self)

    def decision_function(self, X: Any) -> np.ndarray:
        r"""Discriminants :math:`\delta_k(x)`; the largest wins.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) for two classes
            The logarithm of the ratio of their posterior probabilities, positive for
            ``classes_[1]``.
        ndarray of shape (n_samples, K) for more
        """
        return OfClasses.decision_function(self, X)

    def predict(self, X: Any) -> np.ndarray:
        """The class that is most probable.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            The classes, the first of equally probable ones; for two classes, a point on the
            boundary belongs to ``classes_[0]``.
        """
        return OfClasses.predict(self, X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes by Bayes' rule; the largest is that of :meth:`predict`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, K)
        """
        return OfClasses.predict_proba(self, X)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of :meth:`predict_proba`, exact where those underflow.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, K)
        """
        return OfClasses.predict_log_proba(self, X)

    def log_likelihood(self, X: Any) -> np.ndarray:
        """``log p(x | k)``: how likely a point is in each class.

        Where columns are redundant, the density is that of ``independent_columns_``, from which
        the others follow.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, K)
            Natural logarithms.
        """
        gaussians = self._ready()
        return gaussians.log_likelihood(self._design(X))

    def score_samples(self, X: Any) -> np.ndarray:
        """``log p(x)``: how likely a point is at all; low for what is like no class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            Natural logarithms.
        """
        gaussians = self._ready()
        return gaussians.log_density(self._design(X))

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Points drawn from the fitted Gaussians, classes by their priors.

        Parameters
        ----------
        n : int, default=1
        random_state : int, RandomState or None
            None uses a fixed seed: the same call on the same data gives the same bits.

        Returns
        -------
        X : ndarray of shape (n, n_features)
        y : ndarray of shape (n,)
        """
        gaussians = self._ready()
        check_number("n", n, minimum=1, integer=True)
        X, codes = gaussians.sample(int(n), random_state_of(random_state))
        return X, self.classes_[codes]


class LinearDiscriminantAnalysis(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, GaussianClassifier
):
    r"""Linear discriminant analysis: Gaussians with one covariance for all classes.

    With means :math:`\mu_k`, priors :math:`\pi_k` and the covariance within the classes,

    .. math:: \Sigma = \frac{1}{N} \sum_k n_k \Sigma_k, \qquad N = \sum_k n_k,

    a point belongs to the class of the largest

    .. math:: \delta_k(x) = \mu_k'\Sigma^{-1}x - \tfrac12\mu_k'\Sigma^{-1}\mu_k + \log\pi_k .

    The boundary of each pair of classes is a hyperplane (:meth:`discriminant`), and
    :meth:`transform` gives the coordinates in which the classes are furthest apart.

    Parameters
    ----------
    priors : array-like of shape (K,), optional
        Probabilities of the classes, in sorted order; by default their shares of the weights.
        They affect only the discriminants and the directions of :meth:`transform`: :math:`\Sigma`
        is pooled by the numbers of rows (scikit-learn's ``lsqr`` pools by the priors).
    covariance : {"mle", "unbiased"}, default="mle"
        Divide the scatter by :math:`N`, the maximum of the likelihood, or by :math:`N - K`.
    shrinkage : float or "auto", optional
        A number s in [0, 1]: :math:`(1-s)\Sigma + s \operatorname{tr}(\Sigma)/d\, I`.  "auto":
        each :math:`\Sigma_k` by the rule of Ledoit and Wolf (2004) on standardised columns, before
        they are pooled; the third and fourth moments take another 2 K matrices.
    n_components : int, optional
        The number of directions of :meth:`transform`; at most, and by default, ``min(K - 1,
        n_features)``.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    priors_ : ndarray of shape (K,)
    means_ : ndarray of shape (K, n_features)
    covariance_ : ndarray of shape (n_features, n_features)
    coef_, intercept_ : ndarray of shape (K, n_features) and (K,)
        :math:`\Sigma^{-1}\mu_k`, and the rest of :math:`\delta_k`; for two classes the difference
        of the two, of shape (1, n_features) and (1,).
    centred_coef_, centred_intercept_ : ndarray of shape (K, n_features) and (K,)
        The same with the means minus ``xbar_``: they differ by a term that all classes share.
        Predictions use them, because they lose no digits where the data are far from the origin.
    xbar_ : ndarray of shape (n_features,)
        The mean of the class means, weighted by the priors.
    scalings_ : ndarray of shape (n_features, n_components)
        The directions of :meth:`transform`; within the classes the coordinates have unit variance.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Shares of the variance between the classes.
    independent_columns_ : ndarray of int
        Columns that do not depend on those before them. The others are left out of the equations,
        and ``coef_`` is the solution of least norm.
    shrinkage_ : ndarray of shape (K,)
        The shrinkage of each class.
    floored_ : ndarray of bool, shape (1,)
        Whether the covariance is singular, and a millionth of the variance of each column over
        all rows has been added to it.
    moments_ : Moments
        The state from which :meth:`partial_fit` continues.
    certificate_ : ResidualCertificate
        The certificate of the equations :math:`\Sigma W = M`.
    condition_number_ : float
        The condition number of the correlations within the classes.
    objective_formula_ : str
        The formula of the discriminant.
    n_iter_ : int
        1, because the equations are solved directly.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if they had any.

    References
    ----------
    Fisher (1936), The use of multiple measurements in taxonomic problems.  Rao (1948), The
    utilization of multiple measurements in problems of biological classification.  Ledoit and
    Wolf (2004), A well-conditioned estimator for large-dimensional covariance matrices.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearDiscriminantAnalysis().fit(X, y)
    >>> model.score(X, y), model.certificate_.ok
    (0.98, True)
    >>> model.transform(X).shape, model.explained_variance_ratio_.round(3).tolist()
    ((150, 2), [0.991, 0.009])
    >>> model.predict_proba([[6.0, 2.8, 4.9, 1.6]]).round(2).tolist()
    [[0.0, 0.52, 0.48]]
    """

    solver: str = compat(
        "not needed: the equations are solved from sums over the rows",
        ("svd", "lsqr", "eigen"),
        "give 'svd', 'lsqr' or 'eigen'",
        default="svd",
        kw_only=False,
    )
    shrinkage: float | str | None = parameter(default=None, kw_only=False)
    priors: Any = parameter(default=None, kw_only=False)
    n_components: int | None = parameter(default=None, minimum=1, integer=True, kw_only=False)
    store_covariance: bool = compat(
        "not needed: the fit always has ``covariance_``", default=False, kw_only=False
    )
    tol: float = compat(
        "not needed: rounding decides which columns count as dependent", default=1e-4, kw_only=False
    )
    covariance_estimator: Any = compat(
        "the estimator of the covariance of each class; the covariances are averaged with the "
        "numbers of rows as weights",
        default=None,
        kw_only=False,
    )

    _label = "linear discriminant analysis"
    _where_separable = (
        "the estimates of Gaussian classes are finite all the same, and their plane need not "
        "separate the classes"
    )
    _attributes: ClassVar[rules.Rules] = {
        **GaussianClassifier._attributes,
        "covariance_": rules.array("d", "d"),
        "floored_": rules.flags("covariances"),
        "coef_": rules.array("h", "d"),
        "intercept_": rules.array("h"),
        "centred_coef_": rules.array("K", "d"),
        "centred_intercept_": rules.array("K"),
        "xbar_": rules.array("d"),
        "scalings_": rules.array("d", "directions"),
        "explained_variance_ratio_": rules.array("directions", finite=False),
    }
    _pooled = True

    def _estimate(
        self, moments: Moments, classes: np.ndarray, given: np.ndarray | None = None
    ) -> Estimate:
        most = min(len(classes) - 1, moments.n_columns)
        if self.n_components is not None and self.n_components > most:
            raise ValueError(
                f"n_components={self.n_components!r} is more than min(K - 1, n_features), which is "
                f"{most} for {len(classes)} classes and {moments.n_columns} columns."
            )
        return super()._estimate(moments, classes, given)

    def _keep(self, found: Estimate) -> None:
        gaussians = found.gaussians
        coef, intercept, own, height = gaussians.linear
        if len(own) == 2:
            # The difference of the centred ones: nothing cancels.
            coef, intercept = own[1:] - own[:1], height[1:] - height[:1]
        self.coef_, self.intercept_ = coef, intercept
        self.centred_coef_, self.centred_intercept_ = own, height
        self.xbar_ = gaussians.centre
        most = min(gaussians.n_classes - 1, gaussians.n_features)
        count = most if self.n_components is None else int(self.n_components)
        self.scalings_, self.explained_variance_ratio_ = gaussians.directions(count)

    def _scores(self) -> Expression:
        self._ready()
        if len(self.classes_) == 2:
            return super()._scores()
        return affine(self, self.centred_coef_, self.centred_intercept_)

    def _reported(self, scores: Expression) -> Expression:
        if len(self.classes_) == 2:
            return scores
        # The part that all classes share, and that the decision does not need.
        common = (self.coef_ - self.centred_coef_).mean(axis=0)
        shared = affine(self, common, -0.5 * float(common @ self.xbar_))
        return Consistent(Shifted(scores, shared), self._winner(scores), ties=True)

    def transform(self, X: Any) -> np.ndarray:
        """The coordinates in which the classes are furthest apart: ``(X - xbar_) scalings_``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        self._ready()
        out = self._design(X).dot(self.scalings_)
        out -= self.xbar_ @ self.scalings_
        return out

    @property
    def _n_features_out(self) -> int:
        return int(self.scalings_.shape[1])


class QuadraticDiscriminantAnalysis(GaussianClassifier):
    r"""Quadratic discriminant analysis: a Gaussian with its own covariance for each class.

    A point belongs to the class of the largest

    .. math::
        \delta_k(x) = -\tfrac12 \log|\Sigma_k| - \tfrac12 (x-\mu_k)'\Sigma_k^{-1}(x-\mu_k)
        + \log\pi_k .

    The boundary of each pair of classes is a quadric (:meth:`discriminant`).

    Parameters
    ----------
    priors : array-like of shape (K,), optional
        Probabilities of the classes, in sorted order; by default their shares of the weights.
    covariance : {"mle", "unbiased"}, default="mle"
        Divide the scatter of a class by :math:`n_k`, the maximum of the likelihood, or by
        :math:`n_k - 1`.
    shrinkage : float or "auto", optional
        A number s in [0, 1]: :math:`(1-s)\Sigma_k + s \operatorname{tr}(\Sigma_k)/d\, I`.  "auto":
        the rule of Ledoit and Wolf (2004) on the standardised columns of each class; the third and
        fourth moments take another 2 K matrices.
    reg_param : float, default=0.0
        Scikit-learn's regularisation: ``(1 - reg_param) Sigma_k + reg_param I``, applied to shrunk
        covariances if both are given; unlike ``shrinkage``, it depends strongly on the units of the
        columns.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    priors_ : ndarray of shape (K,)
    means_ : ndarray of shape (K, n_features)
    covariance_ : ndarray of shape (K, n_features, n_features)
    rotations_, scalings_ : list of ndarray of shape (n_features, n_features) and (n_features,)
        For each class, the axes of the covariance and the variances along them, the largest first.
    independent_columns_ : ndarray of int
        Columns that do not depend on those before them, in all classes.
    shrinkage_ : ndarray of shape (K,)
        The shrinkage of each class.
    floored_ : ndarray of bool, shape (K,)
        Whether the covariance is singular, and a millionth of the variance of each column over
        all rows has been added to it.
    moments_ : Moments
        The state from which :meth:`partial_fit` continues.
    certificate_ : ResidualCertificate
        The certificate of the equations :math:`L_k L_k' = \Sigma_k`, with the classes as ``parts``.
    condition_number_ : float
        The largest condition number of the correlations of a class.
    objective_formula_ : str
        The formula of the discriminant.
    n_iter_ : int
        1, because the equations are solved directly.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if they had any.

    References
    ----------
    Smith (1947), Some examples of discrimination.  Ledoit and Wolf (2004), A well-conditioned
    estimator for large-dimensional covariance matrices.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import QuadraticDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> model = QuadraticDiscriminantAnalysis().fit(X, y)
    >>> model.score(X, y), model.certificate_.ok
    (0.98, True)
    >>> model.score_samples([[5.0, 3.4, 1.5, 0.2], [50.0, 3.4, 1.5, 0.2]]).round().tolist()
    [2.0, -10116.0]
    >>> sampled, labels = model.sample(5, random_state=0)
    >>> sampled.shape, labels.shape
    ((5, 4), (5,))
    """

    reg_param: float = parameter(default=0.0, minimum=0, maximum=1)
    solver: str = compat(
        "not needed: the equations are solved from sums over the rows",
        ("svd", "eigen"),
        "give 'svd' or 'eigen'",
        default="svd",
    )
    store_covariance: bool = compat("not needed: the fit always has ``covariance_``", default=False)
    tol: float = compat(
        "not needed: rounding decides which columns count as dependent", default=1e-4
    )
    covariance_estimator: Any = compat(
        "the estimator of the covariance of each class", default=None
    )

    _label = "quadratic discriminant analysis"
    _where_separable = (
        "the estimates of Gaussian classes are finite all the same, and their boundary need not "
        "separate the classes"
    )
    _attributes: ClassVar[rules.Rules] = {
        **GaussianClassifier._attributes,
        "covariance_": rules.array("K", "d", "d"),
        "floored_": rules.flags("K"),
    }
    _pooled = False

    def _keep(self, found: Estimate) -> None:
        """Nothing more."""

    @property
    def rotations_(self) -> list[np.ndarray]:
        """Eigenvectors of the covariances, as columns."""
        return self._ready().principal_axes()[0]

    @property
    def scalings_(self) -> list[np.ndarray]:
        """Eigenvalues of the covariances: the variances along ``rotations_``."""
        return self._ready().principal_axes()[1]

    def _scores(self) -> Expression:
        both = Quadratic(Features(self.n_features_in_), self._ready())
        return Difference(both) if len(self.classes_) == 2 else both
