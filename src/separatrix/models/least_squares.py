"""Least squares: regression on one target or several, and classification by it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import LinAlgWarning
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import is_multilabel
from sklearn.utils.validation import check_is_fitted

from separatrix._compiled.tuning import Tuned
from separatrix.certificate import ResidualCertificate
from separatrix.closed_form.bounded import solve
from separatrix.closed_form.inference import Summary, least_squares_summary, undetermined
from separatrix.closed_form.least_squares import certify
from separatrix.closed_form.triangular import LeastSquaresSolution, TriangularFactor
from separatrix.data import rules
from separatrix.data.columns import columns_of
from separatrix.data.design import Design, as_design
from separatrix.data.labels import Labels, encode, encode_as, indicator, targets_of
from separatrix.data.targets import TrainingRows
from separatrix.data.validation import (
    require_classes,
    require_finite,
    sample_weight_of,
    validate,
)
from separatrix.exceptions import warn
from separatrix.expressions import (
    Expression,
    Positive,
)
from separatrix.geometry.diagnosis.collinearity import dependence
from separatrix.messages import Column, Joined, Message, Setting, counted, quoted, shortened
from separatrix.models import certified
from separatrix.models.base import portion_of
from separatrix.models.certified import (
    NOT_ITERATED,
    Certified,
    FitContext,
    Problems,
    conclude,
)
from separatrix.models.composing import least_squares
from separatrix.models.parameters import compat, fitted, parameter
from separatrix.models.path import Path
from separatrix.models.predicting import OfClasses, OfNumbers
from separatrix.models.regressor import (
    LEAST_SQUARES,
    MSE,
    bounds_of,
    check_factor,
    check_targets,
    require_targets,
    rows_of_fit,
)
from separatrix.models.scores import column_names
from separatrix.models.search import RowSearch, norm_strengths
from separatrix.models.sklearn_compat import COPY_X, N_JOBS

# The most entries of a list in a sentence, and the most terms of a relation.
_MOST_LISTED, _TERMS = 3, 6


@dataclass(frozen=True)
class Tuning:
    """The sizes up to which more is computed or kept than the weights.

    Parameters
    ----------
    most_entries : int
        Entries of data in which the relations are looked for that a warning names.
    most_columns : int
        Columns of such data.
    most_factor : int
        Columns whose triangular factor still fits into memory.
    """

    most_entries: int = 20_000_000
    most_columns: int = 1000
    most_factor: int = 12_000


tuned = Tuned(Tuning())


class LeastSquares(Certified, without=NOT_ITERATED):
    """An estimator that solves least squares, and what is kept of its solution.

    The strength of the penalty is ``lam``, against a mean over the rows, or ``alpha``, against the
    sum over them, as that of scikit-learn's ridge regressions.
    """

    fit_intercept: bool = parameter(default=True, choices=(True, False))

    _strengths: ClassVar[dict[str, bool]] = {"lam": False}
    _needed: tuple[str, ...] = ("coef_", "intercept_", "rank_", "condition_number_", "certificate_")
    factor_: TriangularFactor | None = fitted()
    _in_closed_form = True
    _what = "minimise 1/(2 * {total}) sum s_i |y_i - W x_i{level}|^2{penalty}"
    fit = certified.fit

    # The target of the other classes, where there are more than two.
    _other_classes = 0.0
    # Whether the strength is ``alpha``.  Then weights are float32 where the data are, as
    # scikit-learn's are, and no factor is kept, because no rows are added later.
    _by_alpha = False
    # Whether NaN is looked for before the fit; the sums of a fit find it by themselves.
    _checks_entries = False

    @property
    def _centred(self) -> bool:
        """Whether there is an intercept; a polynomial always has one."""
        return bool(getattr(self, "fit_intercept", True))

    @property
    def _tolerance(self) -> float:
        """The tolerance of the certificate; what rounding allows is reached in any case."""
        return max(1e-10, float(vars(self).get("tol", 0.0)) if self._by_alpha else 0.0)

    def _ridges(self, total: float, n_targets: int) -> np.ndarray:
        """The factors of the squared norm against a sum over the rows: one, or one a target."""
        if not self._by_alpha:
            return np.array([float(self.lam) * total])
        alphas = np.asarray(self.alpha, dtype=np.float64).ravel()
        if len(alphas) not in (1, n_targets):
            raise ValueError(
                f"alpha has {len(alphas)} values, and there are {n_targets} targets; give one "
                "value, or one for each target."
            )
        return alphas[:1] if bool(np.all(alphas == alphas[0])) else alphas

    def _problems(self, design: Any, rows: Any) -> Problems:
        whole, total = least_squares(
            *(design, rows),
            other=self._other_classes,
            fit_intercept=self._centred,
            tol=self._tolerance,
            names=getattr(self, "feature_names_in_", None),
            bounds=bounds_of(self, design.n_features),
            single=self._by_alpha,
            keep_factor=not self._by_alpha,
        )
        ridges = self._ridges(total, whole.targets.shape[1]).tolist()
        if len(ridges) == 1:
            return [("", replace(whole, ridge=ridges[0]))]
        return [
            (f"target {k}", replace(whole, targets=whole.targets[:, k : k + 1], ridge=ridge))
            for k, ridge in enumerate(ridges)
        ]

    def _needs_all_rows(self, n_classes: int | None = None) -> str | None:
        if self._by_alpha and np.size(self.alpha) > 1:
            return "alpha has one value for each target: give a single number"
        return f"{self._bounding} all rows to choose the columns" if self._bounding else None

    def _solve(self, problems: Problems, fit: FitContext) -> list[Any]:
        return [solve(problem) for _, problem in problems]

    def _keep_fit(self, fit: FitContext, problems: Problems, solutions: list[Any]) -> None:
        problem, blocks, rows = problems[0][1], fit.blocks, fit.target
        if blocks is not None:
            rows = TrainingRows.of_blocks(blocks.classes, problem.total, blocks.data.n_rows)
        self._keep(joined(solutions), rows)
        self._warn(rows, problem, solutions[0])

    @property
    def _point(self) -> tuple[np.ndarray, np.ndarray]:
        """The weights and the intercepts of the fit."""
        return np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_)

    def _certified(self, fit: FitContext, tol: float) -> ResidualCertificate:
        problems = Certified._settled(self, fit)
        coef, levels = self._point
        if len(problems) == 1:
            known: dict[str, Any] = {"condition": self.condition_number_, "rank": self.rank_}
            return certify(replace(problems[0][1], tol=tol), coef, levels, **known)
        # The known properties of the equations of the first target hold for no other penalty.
        return max(
            (
                certify(replace(problem, tol=tol), coef[k : k + 1], levels[k : k + 1])
                for k, (_, problem) in enumerate(problems)
            ),
            key=lambda part: part.relative_residual,
        )

    @property
    def _bounding(self) -> str:
        """The beginning of a refusal: what bounds the weights, and a verb; empty without bounds."""
        if getattr(self, "positive", False):
            return "positive=True needs"
        return "bounds need" if getattr(self, "bounds", None) is not None else ""

    @property
    def _by_one_factor(self) -> bool:
        """Whether all fits along a path follow from one triangular factor of the rows."""
        return not self._bounding

    def _continue(self, rows: TrainingRows) -> None:
        """Take in more rows, by merging what is kept of them."""
        if self._bounding:
            raise ValueError(f"{self._bounding} all rows in one call; use fit.")
        n_columns = rows.matrix.shape[1]
        if n_columns + rows.targets.shape[1] > tuned.now.most_factor:
            raise ValueError(
                f"partial_fit keeps a square matrix over all columns, which for {n_columns:,}"
                " is too large; use fit."
            )
        with np.errstate(invalid="ignore", over="ignore"):
            factor = self._factor_of(rows)
        if not np.all(np.isfinite(factor.r)) or not np.all(np.isfinite(factor.mean)):
            require_finite(rows.matrix, getattr(self, "feature_names_in_", None))
            raise ValueError("the data are out of the range of float64; scale the columns.")
        if hasattr(self, "factor_"):
            if self.factor_ is None:
                raise ValueError(
                    "this model was fitted to so many columns that the sums were not kept, so "
                    "partial_fit cannot continue; make a new model, or fit it to all rows."
                )
            if self.factor_.centred != factor.centred:
                raise ValueError(
                    f"fit_intercept={self.fit_intercept!r} differs from the earlier calls; make a "
                    "new model."
                )
            factor = self.factor_.merge(factor)
            rows = rows._replace(total=rows.total + self.n_samples_seen_)
        self._keep(factor.solve(self._ridges(rows.total, 1)[0]), rows)
        conclude(self, False)

    def _factor_of(self, rows: TrainingRows) -> TriangularFactor:
        design = as_design(rows.matrix)
        return TriangularFactor.of(design, rows.targets, rows.weights, self._centred)

    def _keep(self, solution: LeastSquaresSolution, rows: TrainingRows) -> None:
        """Set the fitted attributes, which need no entries of the rows, only facts about them."""
        self._keep_coefficients(solution, rows.alone)
        self._keep_classes(rows)
        self.rank_ = solution.rank
        self.condition_number_ = solution.condition
        self.factor_ = solution.factor
        self.n_samples_seen_ = rows.total
        self.n_iter_ = solution.certificate.n_iter
        self.certificate_ = solution.certificate
        if self._by_alpha:
            self.n_iter_ = max(1, self.n_iter_)
            # That it is None says how the equations were solved.
            if solution.method != "cgls":
                del self.factor_
        self.__dict__.update(self._described())

    def _described(self) -> dict[str, Any]:
        """Fitted attributes that follow from the parameters and the number of rows."""
        total = self.n_samples_seen_
        strengths = np.atleast_1d(np.asarray(self.alpha if self._by_alpha else self.lam, float))
        penalty = f" + {strengths[0] / 2:g} |W|^2" if strengths[0] > 0 else ""
        if len(strengths) > 1:
            penalty = " + 1/2 sum_k alpha_k |w_k|^2"
        level = " - b" if self.fit_intercept else ""
        lams = strengths / total if self._by_alpha else strengths
        return {
            "lam_": float(lams[0]) if len(lams) == 1 else lams,
            "objective_formula_": self._what.format(
                total=f"{total:.10g}", level=level, penalty=penalty
            ),
        }

    def _made_again(self) -> dict[str, Any]:
        try:
            return self._described() if "n_samples_seen_" in vars(self) else {}
        except (TypeError, ValueError):
            # Parameters have been changed since the fit.
            return {}

    def _keep_classes(self, rows: TrainingRows) -> None:
        """Set the attributes of the labels; numbers have none."""

    @abstractmethod
    def _keep_coefficients(self, solution: LeastSquaresSolution, alone: bool) -> None: ...

    # --- along a path -----------------------------------------------------------------------

    def _path_values(self, parameter: str, count: int, run: Any) -> np.ndarray:
        values = norm_strengths(run.design, run.weights, count, centred=self._centred)
        if not self._by_alpha:
            return values
        return values * (len(run.y) if run.weights is None else float(run.weights.sum()))

    def _path_fits(self, run: Any) -> Iterator[tuple[int, int, Any]]:
        """One factor of the rows serves all values."""
        for fold in range(len(run.folds) + 1):
            member = run.member(0.0)
            rows = member._rows_in(run, fold)
            factor = None
            few = run.design.n_features + rows.targets.shape[1] <= tuned.now.most_factor
            if few and member._by_one_factor:
                factor = member._factor_of(rows)
            for i, value in enumerate(run.values):
                if run.interrupt.requested:
                    return
                member = run.member(value)
                if factor is None:
                    member._run(FitContext(run.design, rows))
                else:
                    member._keep(factor.solve(member._ridges(rows.total, 1)[0]), rows)
                yield i, fold, member

    @abstractmethod
    def _rows_in(self, run: Any, fold: int) -> TrainingRows:
        """The rows and the targets of a fold's fit."""

    def _warn(self, rows: TrainingRows, problem: Any, solution: LeastSquaresSolution) -> None:
        """Warn of columns that depend on others; the rows, where they are at hand, say how."""
        # With bounds the rank is that of the free columns.
        full = solution.rank >= problem.design.n_features
        if full or problem.ridge > 0 or problem.bounds is not None:
            return
        why: Any
        names = [Column(j, quoted(name)) for j, name in enumerate(column_names(self))]
        if rows.n_used <= len(names):
            why = f"{counted(rows.n_used, 'row')} cannot determine {counted(len(names), 'column')}"
        else:
            design = None if problem.in_passes else problem.design
            why = _relations(design, names, self._centred, solution.dependent)
        warn(Message("columns_depend", why=why), LinAlgWarning)


def path(
    self: Any,
    X: Any,
    y: Any,
    lams: Any = None,
    *,
    cv: Any = None,
    scoring: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
) -> Path:
    """Fit along values of ``lam``, and score them on held-out rows.

    The model itself is not fitted; its ``lam`` is ignored.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    lams : int or array-like of shape (n_values,), default=20
        Values of ``lam``, or their number. A number means values on a logarithmic scale from
        the mean squared length of the centred rows to a millionth of it; for polynomials from
        10, because their columns are normalised.
    cv, scoring, sample_weight, groups
        See :meth:`separatrix.LogisticRegression.path`.

    Returns
    -------
    Path

    Raises
    ------
    ValueError
        For bad parameters, data or values.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from separatrix import LinearRegression
    >>> X, y = load_diabetes(return_X_y=True)
    >>> path = LinearRegression().path(X, y, [1.0, 1e-2, 1e-4, 1e-6], cv=5)
    >>> path.best, path.best_model.coef_.shape
    (1e-06, (10,))
    """
    rows = X, y, {"lam": lams}, cv, scoring, sample_weight, groups
    return RowSearch(self, *rows).path()


def joined(solutions: list[LeastSquaresSolution]) -> LeastSquaresSolution:
    """The solutions for each target as one, under the worst of their certificates."""
    if len(solutions) == 1:
        return solutions[0]
    return replace(
        solutions[0],
        coef=np.concatenate([s.coef for s in solutions]),
        intercept=np.concatenate([np.atleast_1d(s.intercept) for s in solutions]),
        rss=np.concatenate([np.atleast_1d(s.rss) for s in solutions]),
        factor=None,
        certificate=max(
            (s.certificate for s in solutions), key=lambda part: part.relative_residual
        ),
    )


def _relations(
    design: Design | None, names: Sequence[Column], centred: bool, dependent: Sequence[int]
) -> Message:
    """The dependences between columns, in words."""
    clauses: list[Any] = []
    if design is None:
        pass
    elif (
        design.n_features <= tuned.now.most_columns
        and design.n_samples * design.n_features < tuned.now.most_entries
    ):
        table = columns_of(design)
        constant = table.moments.constant if centred else table.moments.largest == 0.0
        fixed = np.flatnonzero(constant).tolist()
        if len(fixed):
            one = len(fixed) == 1
            clauses.append(
                Message(
                    "columns_constant",
                    noun="column" if one else "columns",
                    columns=shortened([names[j] for j in fixed], _MOST_LISTED),
                    verb="is" if one else "are",
                )
            )
        found = dependence(table, design, np.flatnonzero(~constant), centred=centred)
        relations = () if found is None else found.relations
        clauses += [relation.equation(names, most=_TERMS) for relation in relations[:_MOST_LISTED]]
        if len(relations) > _MOST_LISTED:
            more = len(relations) - _MOST_LISTED
            clauses[-1] = Message("more_relations", relation=clauses[-1], more=more)
    if not clauses:
        clauses.append(
            Message(
                "columns_depend_on_others",
                columns=shortened([names[j] for j in dependent], _MOST_LISTED),
                verb="depends" if len(dependent) == 1 else "depend",
            )
        )
    return Message("relations", relations=Joined(tuple(clauses), separator="; "))


class LeastSquaresRegressor(MultiOutputMixin, RegressorMixin, LeastSquares):
    """An estimator of one number a row, or of several, by least squares."""

    certificate_: Any = fitted()
    condition_number_: float = fitted()
    n_samples_seen_: float = fitted()
    factor_: Any = fitted()
    coef_: Any = fitted()
    intercept_: Any = fitted()
    _several: ClassVar[bool] = True

    predict, score = OfNumbers.predict, OfNumbers.score

    def _rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Design, TrainingRows]:
        rows = self._rows_of(X, y, sample_weight, finite=self._checks_entries)
        return as_design(rows.matrix), rows

    def _rows_again(self, X: Any, y: Any, sample_weight: Any) -> tuple[Design, TrainingRows]:
        rows = rows_of_fit(self, X, y, sample_weight)
        return self._design_of(rows.matrix), rows

    def _rows_in(self, run: Any, fold: int) -> TrainingRows:
        return TrainingRows.of(run.matrix, run.y, run.weights_of(fold))

    def _rows_of(self, X: Any, y: Any, sample_weight: Any, **options: Any) -> TrainingRows:
        matrix, numbers = validate(self, X, y, regression=True, **options)
        return TrainingRows.of(matrix, numbers, sample_weight_of(sample_weight, matrix))

    def _keep_coefficients(self, solution: LeastSquaresSolution, alone: bool) -> None:
        self._keep_numbers(alone, solution.coef, solution.intercept, solution.mse)

    def _keep_numbers(
        self, alone: bool, coef: np.ndarray, intercept: np.ndarray, mse: np.ndarray
    ) -> None:
        self.coef_ = coef[0] if alone else coef
        self.intercept_ = np.float64(intercept[0]) if alone else intercept
        self.mse_ = float(mse[0]) if alone else mse

    def _check_attributes(self, sizes: rules.Sizes) -> None:
        check_targets(self)
        if np.ndim(self.coef_) == 1 and sizes.known.setdefault("m", 1) != 1:
            raise rules.refuse("coef_", f"has one target, and the model has {sizes.known['m']:,}")
        check_factor(self, sizes)

    def _require_no_penalty(self) -> None:
        check_is_fitted(self)
        if getattr(self, "positive", False):
            raise ValueError(
                "weights that are constrained to be nonnegative have no standard errors; fit with "
                "positive=False."
            )
        if getattr(self, "bounds", None) is not None:
            raise ValueError("weights between bounds have no standard errors; fit without them.")
        # The fit's value, whatever the parameter has been set to since.
        if vars(self).get("lam_", self.lam) > 0:
            raise ValueError(Message("summary_of_penalised", without=Setting("lam", 0)))

    def _design_of(self, matrix: Any) -> Design:
        """The design that the coefficients multiply."""
        return as_design(matrix)

    def _summarised(
        self, coef: Any, intercept: Any, X: Any, y: Any, sample_weight: Any, **options: Any
    ) -> Summary | tuple[Summary, ...]:
        """The summaries of a fit whose factor is there, and of full rank."""
        if not self.certificate_.ok:
            certificate = str(self.certificate_)
            raise ValueError(
                Message("summary_of_unfinished", fit="this fit", certificate=certificate)
            )
        if (X is None) != (y is None):
            raise ValueError("give both X and y, or neither.")
        alone = np.ndim(self.intercept_) == 0
        if X is not None:
            rows = self._rows_of(X, y, sample_weight, reset=False)
            expected = () if alone else np.shape(self.intercept_)
            require_targets(rows.target_shape, expected)
            options["rows"] = (self._design_of(rows.matrix), rows.targets, rows.weights)
        found = least_squares_summary(
            self.factor_,
            np.atleast_2d(coef),
            np.atleast_1d(intercept),
            np.atleast_1d(self.mse_) * self.n_samples_seen_,
            condition=self.condition_number_,
            **options,
        )
        return found[0] if alone else found

    def projection(self, X: Any) -> np.ndarray:
        r"""The vector of fitted values :math:`\hat y = A x`.

        On the training rows, without a penalty: the orthogonal projection of the targets on the
        space that the columns span.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        return self.predict(X)

    def residuals(self, X: Any, y: Any) -> np.ndarray:
        """``y`` minus the fitted values.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)

        Returns
        -------
        ndarray of the shape of ``y``
        """
        check_is_fitted(self)
        _, numbers = validate(self, X, y, regression=True, reset=False)
        fitted = self.predict(X)
        require_targets(numbers.shape[1:], fitted.shape[1:])
        return numbers - fitted

    def r2(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        r"""The coefficient of determination :math:`R^2`.

        .. math:: R^2 = 1 - \frac{\sum_i s_i (y_i - \hat y_i)^2}{\sum_i s_i (y_i - \bar y)^2} ,

        averaged over several targets; the same as :meth:`score`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        return float(self.score(X, y, sample_weight))


class LeastSquaresLabels(ClassifierMixin, LeastSquares):
    """Least squares on targets that stand for classes: one for the class, ``_other_classes`` else.

    For two classes there is one target, -1 and +1.  Where the strength is ``alpha``, a row may have
    several labels, of which ``y`` is an indicator.
    """

    _needed: tuple[str, ...] = (
        *("coef_", "intercept_", "rank_"),
        *("condition_number_", "classes_", "certificate_"),
    )
    class_weight: Any

    decision_function, score = OfClasses.decision_function, OfClasses.score

    def _rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Design, TrainingRows]:
        matrix, y = validate(self, X, y, finite=self._checks_entries, several=self._by_alpha)
        require_classes(y)
        weights = sample_weight_of(sample_weight, matrix)
        if y.ndim == 2 and is_multilabel(y):
            return as_design(matrix), self._indicated(matrix, y, weights)
        # The check takes scikit-learn a tenth of the time of a small fit.
        y = y if y.ndim == 1 else column_or_1d(y, warn=True)
        labels = encode(y, weights, self.class_weight)
        return as_design(matrix), self._coded(matrix, labels)

    def _rows_again(self, X: Any, y: Any, sample_weight: Any) -> tuple[Design, TrainingRows]:
        matrix = validate(self, X)
        weights = sample_weight_of(sample_weight, matrix)
        if self._several:
            return as_design(matrix), self._indicated(matrix, y, weights)
        labels = encode_as(self.classes_, y, matrix.shape[0], weights, self.class_weight)
        return as_design(matrix), self._coded(matrix, labels)

    def _coded(self, matrix: Any, labels: Labels) -> TrainingRows:
        targets = targets_of(labels.codes, len(labels.classes), self._other_classes)
        return TrainingRows(matrix, targets, labels.weights, labels.total, classes=labels.classes)

    def _indicated(self, matrix: Any, y: Any, weights: np.ndarray | None) -> TrainingRows:
        """Targets -1 and +1 for each of several labels a row, which is an indicator of them."""
        present = indicator(y, matrix.shape[0])
        total = float(len(present) if weights is None else weights.sum())
        if self.class_weight is not None:
            factors = compute_sample_weight(self.class_weight, present)
            weights = factors if weights is None else weights * factors
        targets, classes = np.asfortranarray(2.0 * present - 1.0), np.arange(present.shape[1])
        return TrainingRows(matrix, targets, weights, total, classes=classes, several=True)

    @property
    def _several(self) -> bool:
        """Whether a row has several labels."""
        return bool(vars(self).get("multilabel_", False))

    def _keep_classes(self, rows: TrainingRows) -> None:
        self.classes_ = np.asarray(rows.classes)
        if self._by_alpha:
            self.multilabel_ = rows.several

    def _rows_in(self, run: Any, fold: int) -> TrainingRows:
        return self._coded(run.matrix, run.labels_of(fold))

    def _keep_coefficients(self, solution: LeastSquaresSolution, alone: bool) -> None:
        # For two classes in one dimension where scikit-learn 1.9 has it so.
        single = self._by_alpha and len(solution.coef) == 1
        self.coef_ = solution.coef[0] if single else solution.coef
        self.intercept_ = solution.intercept

    def _winner(self, scores: Expression) -> Expression:
        return Positive(scores) if self._several else super()._winner(scores)

    def predict(self, X: Any) -> np.ndarray:
        """The class of the largest score; with several labels a row, those of positive scores.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, K) of zeros and ones for K labels a row
            The first class wins ties; for two classes, a point on the plane (score 0) belongs to
            ``classes_[0]``.
        """
        return OfClasses.predict(self, X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self._by_alpha
        return tags


class LinearRegression(LeastSquaresRegressor):
    r"""Least squares, with the normal equations certified at the returned numbers.

    Minimises, with :math:`n = \sum_i s_i`,

    .. math::
        \frac{1}{2n} \sum_i s_i \|y_i - W x_i - b\|^2 + \frac{\lambda}{2} \|W\|^2 .

    The intercept is never penalised. Where columns depend on one another (or there are fewer rows
    than columns) and nothing is penalised, the solution is the one of smallest :math:`\|W\|`, and a
    warning names the columns.

    Parameters
    ----------
    lam : float, default=0.0
        Strength of the penalty; ``Ridge(alpha)`` of scikit-learn is ``lam = alpha / n``.
    fit_intercept : bool, default=True
    bounds : tuple or dict, optional
        Bounds of the weights: a pair ``(lower, upper)`` for all columns, each of them a number or
        one a column, or pairs of numbers by the name or the index of a column. None is no bound,
        and a Series is read by its labels, names or indices. All have to allow zero, ``lower <= 0
        <= upper``; those of a column are those of its weight for each target. The certificate then
        covers the conditions of Karush, Kuhn and Tucker; ``positive=True`` is ``(0, None)``.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        The weights, with one row for each target where ``y`` had two dimensions.
    intercept_ : float or ndarray of shape (n_targets,)
    mse_ : float or ndarray of shape (n_targets,)
        Weighted mean of the squared residuals of the training rows.
    rank_ : int
        The number of columns that are independent of one another (and, with an intercept, of a
        constant); with a penalty all columns; with bounds among the columns whose weights are
        between theirs.
    condition_number_ : float
        The condition number of the independent columns, centred (with an intercept) and scaled to
        unit length, with the rows of the penalty appended. For more than 100 columns it is an
        estimate; for sparse rows with more than 1,024 columns, and for more than 8,192 rows and
        columns, the estimate comes from the steps of conjugate gradients, in the latter case
        without a penalty in the units of the columns.
    n_samples_seen_ : float
        Sum of the weights of all rows.
    lam_ : float
        The penalty of the fit.
    factor_ : TriangularFactor or None
        The state from which :meth:`partial_fit` continues; None for too many columns (for sparse
        rows more than 1,024).
    certificate_ : ResidualCertificate
        How well the normal equations hold, that is, how nearly the residuals are orthogonal to the
        columns.
    objective_formula_ : str
    n_iter_ : int
        Steps of refinement, or iterations.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if they had any.

    References
    ----------
    Bjorck, *Numerical Methods for Least Squares Problems* (1996).
    Golub (1965), Numerical methods for solving linear least squares problems.
    Portugal, Judice and Vicente (1994), A comparison of block pivoting and interior-point
    algorithms for linear least squares problems with nonnegative variables.

    Examples
    --------
    >>> from separatrix import LinearRegression
    >>> model = LinearRegression().fit([[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 4.0, 8.0])
    >>> model.coef_.round(10).tolist(), round(float(model.intercept_), 10), round(model.mse_, 10)
    ([2.2], 0.7, 0.45)
    >>> model.certificate_.ok
    True

    Bounds say which way a column may count, and how much:

    >>> X, y = [[0.0, 1.0], [1.0, 1.0], [2.0, 0.0], [3.0, 2.0]], [1.0, 3.0, 4.0, 8.0]
    >>> model = LinearRegression(bounds={0: (0, 2), 1: (0, None)}).fit(X, y)
    >>> model.coef_.round(2).tolist(), model.certificate_.ok
    ([2.0, 1.0], True)
    """

    lam: float = parameter(default=0.0, minimum=0)
    bounds: Any = parameter(default=None)
    copy_X: bool = COPY_X
    tol: float = compat("not needed: the equations are solved to rounding", default=1e-6)
    n_jobs: Any = N_JOBS
    positive: bool = compat(
        "True constrains the weights to be nonnegative; the certificate then covers the conditions "
        "of Karush, Kuhn and Tucker",
        (False, True),
        "give True or False",
        default=False,
    )

    path = path

    _label = "least squares"
    _attributes: ClassVar[rules.Rules] = {
        **LEAST_SQUARES,
        "coef_": rules.one_of(rules.array("d"), rules.array("m", "d")),
        "intercept_": rules.either(rules.number(), rules.array("m")),
        "mse_": MSE,
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.positive and self.bounds is not None:
            raise ValueError(
                "positive=True is bounds=(0, None), and bounds are given as well; leave one out."
            )

    def _described(self) -> dict[str, Any]:
        found = super()._described()
        if not self.positive and bounds_of(self, self.n_features_in_) is not None:
            found["objective_formula_"] += " subject to lower_j <= w_j <= upper_j"
        return found

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearRegression:
        """Add rows: the result is the same as that of one fit to all rows so far, to rounding.

        The model keeps a triangular matrix over the columns, whose condition number is that of the
        data, so that no accuracy is lost compared with :meth:`fit`. A call after :meth:`fit`
        continues from its rows. The certificate is computed from that matrix, because the rows are
        no longer available; ``verify`` with all rows computes it from the rows. Columns that depend
        on one another cause no warning here, because more rows may follow.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            One row or many.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For bad parameters or data, columns or targets that differ from the earlier calls, or
            more than 12,000 columns.

        Examples
        --------
        >>> from separatrix import LinearRegression
        >>> model = LinearRegression()
        >>> for x, y in [(0.0, 1.0), (1.0, 3.0), (2.0, 4.0), (3.0, 8.0)]:
        ...     _ = model.partial_fit([[x]], [y])
        >>> model.coef_.round(10).tolist(), model.intercept_.round(10).item(), round(model.mse_, 10)
        ([2.2], 0.7, 0.45)
        """
        self._check_parameters()
        first = not hasattr(self, "factor_")
        rows = self._rows_of(X, y, sample_weight, finite=False, reset=first)
        if not first:
            require_targets(rows.target_shape, self.coef_.shape[:-1], "in the earlier calls it had")
        self._continue(rows)
        return self

    def summary(
        self,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        *,
        robust: str | None = None,
        clusters: Any = None,
        level: float = 0.95,
    ) -> Summary | tuple[Summary, ...]:
        r"""Standard errors, t, p-values and confidence intervals of the coefficients.

        For a fit without a penalty only. The classic errors are the roots of the diagonal of
        :math:`\hat\sigma^2 (A^\top A)^{-1}`, :math:`\hat\sigma^2 = \|r\|^2 / (n - p)`, and need no
        data; robust errors need the rows again. See :mod:`separatrix.closed_form.inference` for the
        formulas.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), optional
            The rows that the model was fitted to.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), optional
        sample_weight : array-like of shape (n_samples,), optional
            The weights of the fit; a weight of k stands for k copies of the row.
        robust : {"HC0", "HC1", "HC2", "HC3"}, optional
        clusters : array-like of shape (n_samples,), optional
            The cluster of each row, such as a patient: errors that allow for rows of one cluster
            which depend on one another (Liang and Zeger, 1986), by Student's t with one degree of
            freedom fewer than there are clusters.
        level : float, default=0.95
            The level of the confidence intervals.

        Returns
        -------
        Summary
            A tuple of them where ``y`` had two dimensions, one for each target.

        Raises
        ------
        ValueError
            For a fit with a penalty, columns that depend on one another, too few rows for the
            coefficients, or rows that are not those of the fit.

        Examples
        --------
        >>> from separatrix import LinearRegression
        >>> model = LinearRegression().fit([[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 4.0, 8.0])
        >>> model.summary().standard_error.round(4).tolist()
        [0.7937, 0.4243]
        """
        self._require_no_penalty()
        if self.factor_ is None:
            raise ValueError(
                f"{self.n_features_in_:,} columns are too many for a summary; fit fewer of them."
            )
        if self.rank_ < self.n_features_in_:
            open_ = undetermined(self.factor_, self.rank_, column_names(self))
            raise ValueError(
                f"only {self.rank_:,} of {counted(self.n_features_in_, 'column')} are independent, "
                f"so that some coefficients are not determined and have no standard errors "
                f"({open_}); leave out columns that depend on others."
            )
        return self._summarised(
            *(self.coef_, self.intercept_, X, y, sample_weight),
            names=column_names(self),
            level=level,
            robust=robust,
            clusters=clusters,
        )


class LeastSquaresClassifier(LeastSquaresLabels):
    r"""Classification by least squares on targets that encode the classes.

    The targets are -1 and +1 for two classes, and the K columns of a one-hot encoding for K
    classes; a row is assigned to the class of the largest :math:`y_k(x) = w_k \cdot x + b_k`.
    The objective is, with weights :math:`s_i` of the rows and :math:`n` the sum of the sample
    weights,

    .. math::
        \frac{1}{2n} \sum_i s_i \|t_i - W x_i - b\|^2 + \frac{\lambda}{2} \|W\|^2 .

    For two classes the direction :math:`w` is that of Fisher's discriminant. For more classes, one
    that lies between others may never have the largest score ("masking");
    LinearDiscriminantAnalysis does not have this flaw.

    Parameters
    ----------
    lam : float, default=0.0
    fit_intercept : bool, default=True
    class_weight : dict or "balanced", optional

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (K, n_features)
    intercept_ : ndarray of shape (1,) or (K,)
    classes_ : ndarray of shape (K,)
    rank_ : int
    condition_number_ : float
    n_samples_seen_ : float
        Sum of the sample weights of all rows.
    lam_ : float
        The penalty of the fit.
    factor_ : TriangularFactor or None
    certificate_ : ResidualCertificate
    objective_formula_ : str
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if they had any.

    See Also
    --------
    LinearRegression : What the attributes mean that both have.

    References
    ----------
    Bishop, *Pattern Recognition and Machine Learning* (2006), sections 4.1.3 and 4.1.5.
    Hastie, Tibshirani and Friedman, *The Elements of Statistical Learning* (2009), section 4.2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LeastSquaresClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LeastSquaresClassifier().fit(X, y)
    >>> model.decision_function(X[:1]).round(3).tolist()
    [[0.979, 0.125, -0.104]]
    >>> print(round(model.score(X, y), 3))  # versicolor lies between the others
    0.847
    """

    lam: float = parameter(default=0.0, minimum=0)
    class_weight: Any = parameter(default=None)

    path = path

    _what = "minimise 1/(2 * {total}) sum s_i |t_i - W x_i{level}|^2{penalty}"

    _label = "least squares classifier"
    _margin_loss = "squared_error"
    _where_separable = (
        "least squares has a finite optimum all the same, and its plane need not separate the "
        "classes"
    )
    _attributes: ClassVar[rules.Rules] = {
        **LEAST_SQUARES,
        "classes_": rules.classes,
        "coef_": rules.array("h", "d"),
        "intercept_": rules.array("h"),
    }

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> LeastSquaresClassifier:
        """Add rows: the result is the same as that of one fit to all rows so far, to rounding.

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
            later one, a label not among them, ``class_weight="balanced"``, which needs to know
            all rows, or more than 12,000 columns.
        """
        self._check_parameters()
        matrix, labels = portion_of(
            self, X, y, classes, sample_weight, self.class_weight, finite=False
        )
        self._continue(self._coded(matrix, labels))
        return self

    def _check_attributes(self, sizes: rules.Sizes) -> None:
        check_factor(self, sizes)
