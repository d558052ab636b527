"""The decision stump: a threshold on one column."""

from __future__ import annotations

import time
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin

from separatrix.certificate import Certificate
from separatrix.data import rules
from separatrix.data.design import as_design
from separatrix.data.labels import encode
from separatrix.data.validation import require_classes, sample_weight_of, validate
from separatrix.expressions import (
    Affine,
    Expression,
    Positive,
)
from separatrix.geometry.exact.integer_weights import integer_weights
from separatrix.geometry.exact.rational import round_down
from separatrix.geometry.mistakes.thresholds import Threshold, best_threshold
from separatrix.models.parameters import Parameters, parameter
from separatrix.models.predicting import OfClasses, Predicting, affine


class DecisionStump(ClassifierMixin, Predicting, Parameters):
    r"""The best threshold on a single column, by the number of training mistakes.

    For two classes a half-space whose plane is parallel to all axes but one,
    :math:`h(x) = \mathrm{sign}(\sigma (x_j - t))`; for more, each side predicts the class of the
    largest weight on it. Minimises the empirical risk

    .. math:: \sum_i s_i\, [h(x_i) \ne y_i]

    over all columns :math:`j`, thresholds :math:`t` and classes of the two sides, exactly: every
    column is sorted once and every threshold is tried, so the certificate has no gap. Among equally
    good stumps the one on the first column with the lowest threshold is chosen; there is no
    threshold where none is better than predicting the largest class.

    Parameters
    ----------
    class_weight : dict or "balanced", optional

    Attributes
    ----------
    feature_ : int
        The column.
    threshold_ : float
        Halfway between two neighbouring values; ``-inf`` where all rows are on the right. For two
        classes a value equal to it belongs to ``classes_[0]``, like any point on a hyperplane; for
        more, to the left side.
    left_class_, right_class_ : object
        The labels below and above the threshold.
    rule_ : str
        The stump in words.
    risk_ : float
        Total weight of the training rows that are predicted wrongly, or their number without
        weights.
    coef_ : ndarray of shape (1, n_features)
        The half-space for two classes, -1 or +1 in one column.
    intercept_ : ndarray of shape (1,)
        The offset of the half-space, for two classes.
    classes_ : ndarray of shape (K,)
    certificate_ : Certificate
        The certificate of the risk, with a gap of zero.
    objective_formula_ : str
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if they had any.

    References
    ----------
    Iba and Langley (1992), Induction of one-level decision trees.  Holte (1993), Very simple
    classification rules perform well on most commonly used datasets.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import DecisionStump
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> stump = DecisionStump().fit(X[y > 0], y[y > 0])
    >>> stump.rule_, stump.risk_
    ('petal width (cm) <= 1.65: 1, else 2', 6.0)
    """

    class_weight: Any = parameter(default=None)

    predict, score = OfClasses.predict, OfClasses.score

    _label = "decision stump"
    _any_length = True
    _attributes: ClassVar[rules.Rules] = {
        **rules.COMMON,
        "classes_": rules.classes,
        "coef_": rules.array("h", "d"),
        "intercept_": rules.array("h", finite=False),
        "certificate_": rules.any_certificate,
        "feature_": rules.whole(),
        "left_class_": rules.label,
        "right_class_": rules.label,
        "risk_": rules.number(low=0.0),
        "threshold_": rules.number(finite=False),
        "rule_": rules.text,
    }
    _needed: tuple[str, ...] = (
        *("feature_", "left_class_", "right_class_"),
        *("threshold_", "classes_", "certificate_"),
    )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> DecisionStump:
        """Fit to training data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Read one column at a time, without a copy; for sparse matrices only the stored entries
            are sorted.
        y : array-like of shape (n_samples,)
            Labels: numbers, strings or booleans.
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0; a weight of k is the same as k copies of the row.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For bad weights, NaN or infinity (named by row and column), or one class only.
        """
        start = time.perf_counter()
        X_, y_ = validate(self, X, y)
        require_classes(y_)
        sample_weight = sample_weight_of(sample_weight, X_)
        labels = encode(y_, sample_weight, self.class_weight)
        design = as_design(X_)
        weights = integer_weights(labels.weights, design.n_samples)
        found = best_threshold(design, labels.codes, len(labels.classes), weights)
        self.classes_ = labels.classes
        self._keep(found)
        self.certificate_ = Certificate.of(
            primal=self.risk_,
            dual=self.risk_ if weights.whole else round_down(found.risk),
            tol=0.0,
            status="optimal" if weights.whole else "precision_limit",
            n_iter=1,
            seconds=time.perf_counter() - start,
        )
        self.objective_formula_ = "sum " + ("s " if labels.weights is not None else "")
        self.objective_formula_ += "[prediction != y], over every column and threshold"
        return self

    def _keep(self, found: Threshold) -> None:
        self.feature_ = found.column
        self.left_class_ = self.classes_[found.left]
        self.right_class_ = self.classes_[found.right]
        self.risk_ = float(found.risk)
        self.threshold_ = found.threshold(found.right == 0 and len(self.classes_) == 2)
        self.__dict__.pop("coef_", None)
        self.__dict__.pop("intercept_", None)
        if len(self.classes_) == 2:
            self.coef_ = np.zeros((1, self.n_features_in_))
            sign = 1.0 if found.right == 1 else -1.0
            if np.isfinite(self.threshold_):
                self.coef_[0, found.column] = sign
                sign *= -self.threshold_
            self.intercept_ = np.array([sign])
        self.rule_ = self._rule()

    def _rule(self) -> str:
        left, right = (str(c) for c in (self.left_class_, self.right_class_))
        if not np.isfinite(self.threshold_):
            return f"always {right}"
        names = getattr(self, "feature_names_in_", None)
        name = f"x{self.feature_}" if names is None else str(names[self.feature_])
        below = "<" if len(self.classes_) == 2 and right == str(self.classes_[0]) else "<="
        return f"{name} {below} {self.threshold_:.6g}: {left}, else {right}"

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores, of which the largest decides.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) for two classes
            The signed distance from the threshold, positive for ``classes_[1]``.
        ndarray of shape (n_samples, K) for more
            1 for the class of the row's side, 0 for the others.
        """
        return OfClasses.decision_function(self, X)

    def _scores(self) -> Expression:
        if len(self.classes_) == 2:
            return super()._scores()
        column = np.zeros((1, self.n_features_in_))
        column[0, self.feature_] = 1.0
        beyond = Positive(affine(self, column, -self.threshold_))
        right, left = (
            (self.classes_ == side).astype(np.float64)
            for side in (self.right_class_, self.left_class_)
        )
        return Affine(beyond, (right - left)[:, None], left)

    def _check_attributes(self, sizes: rules.Sizes) -> None:
        d, k = sizes.known["d"], sizes.known["K"]
        if not self.feature_ < d:
            raise rules.refuse("feature_", f"is {self.feature_:,}, of {d:,} columns")
        for name in ("left_class_", "right_class_"):
            if getattr(self, name) not in self.classes_.tolist():
                raise rules.refuse(name, "is not one of the classes")
        if ("coef_" in vars(self)) != (k == 2):
            raise rules.refuse("coef_", "exists for two classes only")
        if k == 2:
            rules.require(self, ["intercept_"])
        elif d > rules.MOST_UNSEEN:
            raise rules.refuse("n_features_in_", f"is {d:,}, which is more than any array can have")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # One threshold separates two classes, whatever the number of classes.
        tags.classifier_tags.poor_score = True
        return tags
