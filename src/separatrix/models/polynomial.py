"""Polynomial regression."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from separatrix.certificate import ResidualCertificate, no_better_than
from separatrix.closed_form.inference import Summary, undetermined
from separatrix.closed_form.polynomial import (
    DegreeWarning,
    PolynomialBasis,
    PolynomialDesign,
    PolynomialFit,
    count_terms,
    degree_errors,
    solve,
)
from separatrix.closed_form.triangular import LeastSquaresSolution
from separatrix.data import rules
from separatrix.data.design import Design, as_design
from separatrix.data.splitting import held_out_rows
from separatrix.data.targets import TrainingRows
from separatrix.data.validation import check_number
from separatrix.exceptions import warn
from separatrix.expressions import (
    Affine,
    Expression,
    Features,
    Monomials,
)
from separatrix.messages import Column, Joined, Message, Setting
from separatrix.models.certified import FitContext, Problems
from separatrix.models.least_squares import LeastSquaresRegressor, path
from separatrix.models.parameters import parameter
from separatrix.models.predicting import OfNumbers
from separatrix.models.regressor import LEAST_SQUARES, MSE
from separatrix.models.scores import column_names

__all__ = ["DegreeCurve", "DegreeWarning", "PolynomialRegression"]

# Terms of a polynomial whose plain powers are checked: their matrix takes 8 MB.
_MOST_POWERS = 1000


@dataclass(frozen=True, eq=False)
class DegreeCurve:
    """Errors on the fitted rows and on held-out rows, for each degree.

    Attributes
    ----------
    degrees : tuple of int
    n_terms : tuple of int
        The number of terms without the constant.
    training_mse, validation_mse : ndarray of shape (n_degrees,)
        Weighted mean squared errors; for several targets their mean.
    best_degree : int
        The degree with the smallest error on the validation rows; among equal ones the lowest.
    """

    degrees: tuple[int, ...]
    n_terms: tuple[int, ...]
    training_mse: np.ndarray
    validation_mse: np.ndarray
    best_degree: int

    def __str__(self) -> str:
        lines = [f"{'degree':>6}  {'terms':>6}  {'training MSE':>13}  {'validation MSE':>14}"]
        rows = zip(self.degrees, self.n_terms, self.training_mse, self.validation_mse, strict=True)
        for degree, terms, training, validation in rows:
            mark = "  <- best" if degree == self.best_degree else ""
            lines.append(f"{degree:>6}  {terms:>6}  {training:>13.6g}  {validation:>14.6g}{mark}")
        return "\n".join(lines)


class PolynomialRegression(LeastSquaresRegressor, without=("fit_intercept",)):
    r"""Least squares with a polynomial of one feature or of several.

    Minimises over the polynomials f of the given total degree, with :math:`n = \sum_i s_i`,

    .. math:: \frac1{2n} \sum_i s_i\, (y_i - f(x_i))^2 + \frac\lambda2 \|c\|^2,

    where :math:`c` are the coefficients of f, without that of the constant, in products of
    polynomials of single columns that are orthonormal over the rows: :math:`\tfrac1n \sum_i s_i
    p_j(x_i) p_k(x_i) = \delta_{jk}` (see :mod:`separatrix.closed_form.polynomial`). The fit is
    computed in that basis, which is stable for any degree and any offset of the columns, and
    refined with twice the digits of float64; the coefficients of plain powers are converted exactly
    and rounded once. Predictions do not use plain powers.

    A column with q distinct values determines the powers below q: on its values every higher power
    is a combination of those. Higher powers are left out, with a
    :class:`~separatrix.closed_form.polynomial.DegreeWarning`; an indicator column, for instance,
    has no square.

    Parameters
    ----------
    degree : int, default=2
        The total degree; the degree of a product is the sum of its exponents.
    interactions : bool, default=True
        Whether there are products of several columns; otherwise only the powers of each column.
    lam : float, default=0.0
        Strength of the penalty.

    Attributes
    ----------
    coef_ : ndarray of shape (n_terms,) or (n_targets, n_terms)
        Coefficients of plain powers of the columns in their units; see ``terms_``.
    intercept_ : float or ndarray of shape (n_targets,)
        The constant.
    powers_ : ndarray of shape (n_terms, n_features)
        Exponents of each term.
    terms_ : list of str
        The terms as text, like ``x0^2`` or ``a b``.
    basis_coef_ : ndarray of shape (n_targets, n_terms)
        ``c``.
    basis_intercept_ : ndarray of shape (n_targets,)
    basis_centre_, basis_scale_ : ndarray of shape (n_features,)
        ``t = (x - centre) * scale`` lies in [-1, 1] over the rows.
    basis_recurrence_ : ndarray of shape (n_features, min(degree, n_samples - 1), 3)
        ``a_k, b_k, s_k`` of ``p_{k+1} = s_k ((t - a_k) p_k - b_k p_{k-1})``.
    mse_ : float or ndarray of shape (n_targets,)
        Weighted mean of the squared residuals of the training rows.
    rank_ : int
        The number of terms that are independent of one another on the rows.
    condition_number_ : float
        The condition number of the terms in the basis, scaled to length one.
    factor_ : TriangularFactor or None
        The factor of the centred terms in the basis, which :meth:`summary` uses; None where it
        would be too large.
    n_samples_seen_ : float
        The sum of the weights.
    lam_ : float
        The penalty of the fit.
    certificate_ : ResidualCertificate
    objective_formula_ : str
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if they had any.

    References
    ----------
    Forsythe (1957), Generation and use of orthogonal polynomials for data-fitting with a digital
    computer.  Björck (1967), Iterative refinement of linear least squares solutions.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import PolynomialRegression
    >>> x = np.linspace(0, 1, 20)[:, None]
    >>> model = PolynomialRegression(degree=3).fit(x, 1 + 2 * x[:, 0] - 3 * x[:, 0] ** 3)
    >>> model.terms_
    ['x0', 'x0^2', 'x0^3']
    >>> model.coef_.round(12).tolist(), round(float(model.intercept_), 12)
    ([2.0, 0.0, -3.0], 1.0)

    A polynomial of degree 19 passes through 20 points:

    >>> y = np.random.default_rng(0).normal(size=20)
    >>> bool(PolynomialRegression(degree=19).fit(x, y).mse_ < 1e-26)
    True
    """

    degree: int = parameter(default=2, minimum=0, integer=True, kw_only=False)
    interactions: bool = parameter(default=True)
    lam: float = parameter(default=0.0, minimum=0)

    path = path

    _label = "polynomial least squares"
    # The basis is made of the entries.
    _checks_entries = True
    _left_out = ("_basis",)
    _attributes: ClassVar[rules.Rules] = {
        **LEAST_SQUARES,
        "basis_centre_": rules.array("d", finite=False),
        "basis_scale_": rules.array("d", finite=False),
        "basis_recurrence_": rules.array("d", "degree", "3", finite=False),
        "powers_": rules.whole_array("terms", "d"),
        "basis_coef_": rules.array("m", "terms"),
        "basis_intercept_": rules.array("m"),
        "terms_": rules.texts,
        # Plain powers can be beyond the range of floats.
        "coef_": rules.one_of(
            rules.array("terms", finite=False), rules.array("m", "terms", finite=False)
        ),
        "intercept_": MSE,
        "mse_": MSE,
    }
    _needed: tuple[str, ...] = (
        *("basis_centre_", "basis_scale_", "basis_recurrence_", "powers_", "basis_coef_"),
        *("basis_intercept_", "coef_", "intercept_", "terms_", "rank_", "condition_number_"),
        "certificate_",
    )

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        engine: Any = None,
        checkpoint: Any = None,
    ) -> PolynomialRegression:
        """Fit to training data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or BlockedData
            Used without a copy; the powers are computed for one block of rows at a time. Row
            blocks of :func:`separatrix.scale.scan` are fitted in passes, one for each degree and a
            few more; they contain their targets and weights.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0; a weight of k is the same as k copies of the row.
        engine : separatrix.scale.Engine, optional
            The engine of the passes over row blocks; by default the threads of this process.
        checkpoint : path, optional
            Not supported: the fit needs only a few passes.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For bad parameters, NaN or infinity (named by row and column), or more than 20,000
            terms.

        Warns
        -----
        DegreeWarning
            If the points do not determine the degree; the text states the degree that they
            determine.
        ConvergenceWarning
            If the certificate is above its tolerance; the text is the certificate.
        """
        self._fit(X, y, sample_weight, engine=engine, checkpoint=checkpoint)
        return self

    def _settled(self, fit: FitContext) -> Problems:
        degree, interactions = int(self.degree), self.interactions
        if fit.blocks is None:
            own = PolynomialBasis.of(
                fit.design, degree, interactions=interactions, weights=fit.target.weights
            )
            fit.design = PolynomialDesign(fit.design, own)
        else:
            from separatrix.scale.equations import gathered

            over, n_rows = partial(gathered, fit.blocks.passes), fit.blocks.data.n_rows
            own = PolynomialBasis.gathered(over, n_rows, degree, interactions=interactions)
            self._take_terms(fit, own)
        self._basis = own
        return self._problems(fit.design, fit.target)

    def _take_terms(self, fit: FitContext, basis: PolynomialBasis) -> None:
        """Go on with the terms of a basis in the place of the columns of row blocks."""
        from separatrix.scale.lifting import derived
        from separatrix.scale.passes import Passes

        blocks = fit.blocks
        assert blocks is not None
        terms = partial(PolynomialDesign, basis=basis)
        data = derived(blocks.data, terms, basis.n_terms)
        passes = Passes(data, blocks.engine)
        passes.count = blocks.passes.count
        fit.blocks = fit.design = fit.target = replace(blocks, data=data, passes=passes)

    def _problems(self, design: Design, rows: TrainingRows) -> Problems:
        # The names are those of the columns, and not of the terms.
        return [(part, replace(p, names=None)) for part, p in super()._problems(design, rows)]

    def _solve(self, problems: Problems, fit: FitContext) -> list[Any]:
        return [solve(problem, self._basis) for _, problem in problems]

    def _keep_coefficients(self, solution: PolynomialFit, alone: bool) -> None:  # type: ignore[override]
        basis = self._basis
        self.basis_centre_, self.basis_scale_ = basis.centre, basis.scale
        self.basis_recurrence_, self.powers_ = basis.recurrence, basis.powers
        self.basis_coef_, self.basis_intercept_ = solution.coef, solution.intercept
        self.terms_ = basis.names(column_names(self))
        plain = solution.plain_coef, solution.plain_intercept
        self._keep_numbers(alone, *plain, solution.mse)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.interactions, (bool, np.bool_)):
            raise ValueError(f"interactions={self.interactions!r} must be True or False.")

    def _check_attributes(self, sizes: rules.Sizes) -> None:
        super()._check_attributes(sizes)
        terms = sizes.known["terms"]
        if len(self.terms_) != terms:
            raise rules.refuse("terms_", f"has {len(self.terms_):,} names for {terms:,} terms")
        self._fitted_basis().require_closed()

    @property
    def _by_one_factor(self) -> bool:
        # Each fit is refined on the rows, to the digits of its plain powers.
        return False

    def _path_values(self, parameter: str, count: int, run: Any) -> np.ndarray:
        # The basis is orthonormal over the rows, whatever their scale.
        return np.geomspace(10.0, 1e-5, count) if count > 1 else np.array([10.0])

    def _described(self) -> dict[str, Any]:
        return {"lam_": float(self.lam), "objective_formula_": self._formula(self.n_samples_seen_)}

    def _formula(self, total: float) -> str:
        formula = f"minimise 1/(2 * {total:.10g}) sum s_i (y_i - f(x_i))^2"
        if self.lam > 0:
            formula += f" + {self.lam / 2:g} |c|^2"
        formula += f" over polynomials f of degree {self.degree}"
        if not self.interactions:
            formula += " in each column alone"
        if self.lam > 0:
            formula += (
                ", c their coefficients in products of polynomials that are orthonormal over the "
                "values of each column"
            )
        return formula

    def _warn(self, rows: TrainingRows, problem: Any, solution: LeastSquaresSolution) -> None:
        n_rows = rows.n_used
        degree, top, terms = int(self.degree), self._basis.top, len(self.powers_)
        short = [j for j in range(len(top)) if top[j] < degree]
        names = column_names(self)
        if short:
            bears = []
            for j in short[:3]:
                column = Column(j, repr(names[j]))
                if top[j]:
                    bears.append(Message("bears_powers", column=column, top=int(top[j])))
                else:
                    bears.append(Message("bears_none", column=column))
            if len(short) > 3:
                bears.append(Message("more_bear_few", more=len(short) - 3))
            columns = Joined(tuple(bears), separator=", ")
            warn(
                Message("degree_of_columns", degree=degree, bears=columns),
                DegreeWarning,
            )
        if self.lam > 0 or self.rank_ >= terms:
            return
        if terms >= n_rows:
            largest = 0
            while count_terms(top.tolist(), largest + 1, self.interactions) < n_rows:
                largest += 1
            why = (
                f"{n_rows:,} rows do not determine {terms:,} terms and a constant; they determine "
                f"degree {largest}"
            )
        else:
            why = (
                f"{terms - self.rank_:,} of {terms:,} terms depend on the others on these rows, "
                "for instance because columns depend on one another"
            )
        warn(
            Message("degree_of_rows", degree=Setting("degree", degree), why=why),
            DegreeWarning,
        )

    def _fitted_basis(self) -> PolynomialBasis:
        basis = self.__dict__.get("_basis")
        if basis is None:
            # Read from a file.
            basis = PolynomialBasis(
                self.basis_centre_, self.basis_scale_, self.basis_recurrence_, self.powers_
            )
        return basis

    def _design_of(self, matrix: Any) -> PolynomialDesign:
        """The terms of rows, in the basis."""
        return PolynomialDesign(as_design(matrix), self._fitted_basis())

    @property
    def _point(self) -> tuple[np.ndarray, np.ndarray]:
        return self.basis_coef_, self.basis_intercept_

    def _certified(self, fit: FitContext, tol: float) -> ResidualCertificate:
        if fit.blocks is not None:
            self._take_terms(fit, self._fitted_basis())
        return no_better_than(self._off_powers(), super()._certified(fit, tol))

    def _off_powers(self) -> float:
        """The distance of plain powers from the polynomial that predicts, relative to its terms."""
        if len(self.powers_) > _MOST_POWERS:
            return 0.0
        lift, constant = self._fitted_basis().conversion()
        whole = np.vstack([constant, lift])
        plain = np.column_stack([np.atleast_1d(self.intercept_), np.atleast_2d(self.coef_)])
        with np.errstate(all="ignore"):
            steps = plain - self.basis_coef_ @ whole.T
            steps[:, 0] -= self.basis_intercept_
            sizes = np.abs(self.basis_coef_) @ np.abs(whole.T)
            sizes[:, 0] += np.abs(self.basis_intercept_)
            off = np.where((sizes == 0.0) & (steps != 0.0), 1.0, np.abs(steps) / sizes)
        # Powers out of the range of float64 do not count, but those do of which only terms are.
        for k in np.flatnonzero(np.any(np.isfinite(plain) & ~np.isfinite(off + sizes), axis=1)):
            coef, level = np.atleast_2d(self.basis_coef_), np.atleast_1d(self.basis_intercept_)
            off[k] = self._fitted_basis().off_powers(
                plain[k].tolist(), coef[k].tolist(), float(level[k])
            )
        return float(np.max(off[np.isfinite(off)], initial=0.0))

    def predict(self, X: Any) -> np.ndarray:
        """The values of the polynomial.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n,) or (n, n_targets)
        """
        return OfNumbers.predict(self, X)

    def _scores(self) -> Expression:
        terms = Monomials(Features(self.n_features_in_), self._fitted_basis())
        return Affine(terms, self.basis_coef_, self.basis_intercept_)

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
        """Standard errors, t, p-values and confidence intervals of the plain coefficients.

        For a fit without a penalty only. The errors are computed in the orthogonal basis and
        converted with its exact matrix; see :mod:`separatrix.closed_form.inference` for the
        formulas.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), optional
            The rows that the model was fitted to; robust errors need them.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), optional
        sample_weight : array-like of shape (n_samples,), optional
            As in the fit.
        robust : {"HC0", "HC1", "HC2", "HC3"}, optional
        clusters : array-like of shape (n_samples,), optional
            The cluster of each row, such as a patient: errors that allow for rows of one cluster
            which depend on one another (Liang and Zeger, 1986), by Student's t with one degree of
            freedom fewer than there are clusters.
        level : float, default=0.95
            The level of the confidence intervals.

        Returns
        -------
        Summary, or a tuple of one for each target

        Raises
        ------
        ValueError
            For a penalised fit, terms that depend on one another, no more rows than
            coefficients, or other rows than those of the fit.

        References
        ----------
        White (1980); MacKinnon and White (1985); Long and Ervin (2000).

        Examples
        --------
        >>> import numpy as np
        >>> from separatrix import PolynomialRegression
        >>> x = np.arange(8.0)[:, None]
        >>> y = np.array([1.1, 1.9, 5.2, 9.8, 17.1, 26.2, 36.8, 50.1])
        >>> PolynomialRegression(degree=2).fit(x, y).summary().estimate.round(3).tolist()
        [1.05, -0.019, 1.002]
        """
        self._require_no_penalty()
        if self.rank_ < len(self.powers_):
            which = ""
            if self.factor_ is not None:
                which = f" ({undetermined(self.factor_, self.rank_, self.terms_)})"
            raise ValueError(
                f"only {self.rank_:,} of {len(self.powers_):,} terms are independent on the rows, "
                f"so that some coefficients{which} are not determined and have no standard errors; "
                "lower the degree, or leave out columns that depend on others."
            )
        if self.factor_ is None:
            raise ValueError(f"{len(self.powers_):,} terms are too many for a summary.")
        basis = self._fitted_basis()
        plain = (np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_))
        return self._summarised(
            *(self.basis_coef_, self.basis_intercept_, X, y, sample_weight),
            names=basis.names(column_names(self)),
            reported=(*basis.conversion(), *plain),
            model=f"Least squares, polynomial of degree {self.degree}",
            level=level,
            robust=robust,
            clusters=clusters,
        )

    @classmethod
    def degree_curve(
        cls,
        X: Any,
        y: Any,
        degrees: Iterable[int] = range(1, 11),
        *,
        validation: Any = 0.3,
        interactions: bool = True,
        lam: float = 0.0,
        sample_weight: Any = None,
        random_state: Any = 0,
    ) -> DegreeCurve:
        """Errors of each degree on the fitted rows and on held-out rows.

        The rows are read once for all degrees: the triangular factor of the highest degree contains
        those of the lower ones.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        degrees : iterable of int, default=range(1, 11)
        validation : float or (X, y), default=0.3
            The held-out rows: a share that is drawn at random, or separate rows.
        interactions : bool, default=True
        lam : float, default=0.0
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows of ``X``.
        random_state : int, RandomState or None, default=0
            The seed of the draw. None uses a fixed seed: the same call on the same data gives the
            same bits.

        Returns
        -------
        DegreeCurve

        Raises
        ------
        ValueError
            For bad parameters or data, or no rows to fit or to validate.

        Warns
        -----
        DegreeWarning
            If the training rows do not determine a degree.

        Examples
        --------
        >>> import numpy as np
        >>> from separatrix import PolynomialRegression
        >>> rng = np.random.default_rng(0)
        >>> x = rng.uniform(0, 1, size=(60, 1))
        >>> y = np.sin(2 * np.pi * x[:, 0]) + 0.2 * rng.normal(size=60)
        >>> curve = PolynomialRegression.degree_curve(x, y, range(1, 16))
        >>> curve.best_degree
        6
        >>> curve.training_mse[[0, 5, 14]].round(3).tolist()
        [0.22, 0.034, 0.023]
        >>> curve.validation_mse[[0, 5, 14]].round(3).tolist()
        [0.321, 0.044, 0.12]
        """
        degrees = list(degrees)
        if not degrees:
            raise ValueError("degrees is empty; give at least one degree.")
        for degree in degrees:
            check_number("a degree", degree, minimum=0, integer=True)
        degrees = sorted({int(degree) for degree in degrees})
        model = cls(degrees[-1], interactions=interactions, lam=lam)
        model._check_parameters()
        rows, held = model._divided(X, y, sample_weight, validation, random_state)
        design = as_design(rows.matrix)
        basis = PolynomialBasis.of(
            design, degrees[-1], interactions=interactions, weights=rows.weights
        )
        top, n_used = basis.top.max(initial=0), rows.n_used
        borne = [d for d in degrees if top >= d and basis.leading(d) < n_used]
        if len(borne) < len(degrees):
            warn(
                f"degree={degrees[-1]} is more than the {n_used:,} training rows determine; the "
                f"highest of the given degrees that they do is {borne[-1] if borne else 0}.",
                DegreeWarning,
            )
        training, held_out = degree_errors(
            design,
            rows.targets,
            basis,
            degrees,
            validation=(as_design(held.matrix), held.targets),
            weights=rows.weights,
            validation_weights=held.weights,
            ridge=float(lam) * rows.total,
        )
        judged = np.where(np.isnan(held_out), np.inf, held_out)
        return DegreeCurve(
            degrees=tuple(degrees),
            n_terms=tuple(basis.leading(degree) for degree in degrees),
            training_mse=training,
            validation_mse=held_out,
            best_degree=degrees[int(np.argmin(judged))],
        )

    def _divided(
        self, X: Any, y: Any, sample_weight: Any, validation: Any, random_state: Any
    ) -> tuple[TrainingRows, TrainingRows]:
        """The rows to fit and those to judge by."""
        rows = self._rows_of(X, y, sample_weight)
        if isinstance(validation, tuple):
            if len(validation) != 2:
                raise ValueError("validation must be a share of the rows, or a pair (X, y).")
            held = self._rows_of(*validation, None, reset=False)
            n_targets, n_held = rows.targets.shape[1], held.targets.shape[1]
            if n_held != n_targets:
                raise ValueError(
                    f"y has {n_targets} targets, and the y of validation has {n_held}."
                )
        else:
            parts = held_out_rows(len(rows.targets), validation, random_state)
            rows, held = (rows.take(part) for part in parts)
        for side, part in (("training", rows), ("validation", held)):
            if not part.n_used:
                raise ValueError(f"all {side} rows have weight zero.")
        return rows, held
