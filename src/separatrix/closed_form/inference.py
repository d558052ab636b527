r"""Standard errors, tests and intervals for fits without a penalty.

A least-squares or a maximum-likelihood estimate has a sampling distribution that can be worked out
from the fit itself.  With weights :math:`s_i` that stand for copies of the rows,
:math:`n = \sum_i s_i`, rows :math:`x_i` with a leading 1 for the intercept, and :math:`k` of them
estimated numbers:

=======================  ========================================================================
least squares            :math:`\hat\sigma^2 (X^\top S X)^{-1}`,
                         :math:`\hat\sigma^2 = \sum_i s_i e_i^2 / (n - k)`; t with n - k degrees
logistic regression      the inverse of the information
                         :math:`\sum_i s_i p_i (1 - p_i) x_i x_i^\top`; z, the normal distribution
HC0 (White, 1980)        :math:`A^{-1} (\sum_i s_i g_i x_i x_i^\top) A^{-1}` with
                         :math:`g_i = e_i^2`; :math:`A` is :math:`X^\top S X`, or the information
HC1                      HC0 times :math:`n / (n - k)`
HC2                      :math:`g_i = e_i^2 / (1 - h_i)`
HC3                      :math:`g_i = e_i^2 / (1 - h_i)^2` (MacKinnon and White, 1985)
clusters                 :math:`A^{-1} (\sum_g u_g u_g^\top) A^{-1}` times
                         :math:`\frac{G}{G - 1} \frac{n - 1}{n - k}`, with the sums
                         :math:`u_g = \sum_{i \in g} s_i e_i x_i` of G clusters
                         (Liang and Zeger, 1986)
=======================  ========================================================================

with the residuals :math:`e_i` (of a logistic regression :math:`y_i - p_i`) and the leverages
:math:`h_i = v_i\, x_i^\top A^{-1} x_i` of one copy, :math:`v_i = 1` for least squares and
:math:`p_i (1 - p_i)` for logistic regression.

The classic errors of least squares assume that all residuals have one variance; HC0 to HC3 do not.
HC3 is the safest of them where there are fewer than 250 rows (Long and Ervin, 2000).  Tests of
least squares are Student's with robust errors too, which is the more cautious choice for few rows
(with G clusters of G - 1 degrees);
the normal distribution, which others take there, differs from it the less the more rows there are.

References
----------
Liang and Zeger (1986), Longitudinal data analysis using generalized linear models.
White (1980), A heteroskedasticity-consistent covariance matrix estimator and a direct test for
heteroskedasticity.  MacKinnon and White (1985), Some heteroskedasticity-consistent covariance
matrix estimators with improved finite sample properties.  Long and Ervin (2000), Using
heteroscedasticity consistent standard errors in the linear regression model.  McFadden (1974),
Conditional logit analysis of qualitative choice behavior.
"""

from __future__ import annotations

import math
import textwrap
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from importlib import import_module
from itertools import zip_longest
from typing import Any

import numpy as np
import scipy.special

from separatrix._compiled import pulse
from separatrix._compiled.linear_algebra import Factor, lengths_of, solve_upper, unit_diagonal
from separatrix._compiled.tuning import Tuned
from separatrix.certificate import Certificate
from separatrix.closed_form.triangular import TriangularFactor
from separatrix.data.design import Design
from separatrix.data.labels import codes_of
from separatrix.data.validation import check_choice, check_number
from separatrix.exceptions import MissingPackageError
from separatrix.losses import LogLoss
from separatrix.messages import Message, Setting
from separatrix.messages.markup import facts_html, paragraphs_html, table_html, table_text
from separatrix.objectives.base import LinearProblem
from separatrix.objectives.margin import MarginObjective
from separatrix.objectives.penalties import NoPenalty
from separatrix.objectives.softmax import SoftmaxObjective


@dataclass(frozen=True)
class Tuning:
    """The sizes up to which a fit keeps its information matrix.

    Parameters
    ----------
    most_parameters : int
        The most parameters: 32 MB.
    most_work : float
        The most multiplications, because a fit by conjugate gradients, of many classes or of
        long sparse rows, must not wait for it.
    most_products : float
        The same limit as a number of products with the data; the larger of the two holds.
    """

    most_parameters: int = 2000
    most_work: float = 2e9
    most_products: float = 500.0


tuned = Tuned(Tuning())

_SOURCES = {"HC0": "White, 1980"} | dict.fromkeys(
    ("HC1", "HC2", "HC3"), "MacKinnon and White, 1985"
)
ROBUST = tuple(_SOURCES)
CLUSTERED = "cluster"
"""The value of ``Summary.robust`` for standard errors that allow for clusters of rows."""
# The names in the head of a table, and the fields of a summary; a test has a p-value beside it.
_FIGURES = {
    "log-likelihood": "log_likelihood",
    "without columns": "log_likelihood_null",
    "AIC": "aic",
    "BIC": "bic",
    "R^2": "r2",
    "adjusted R^2": "adjusted_r2",
    "residuals' deviation": "sigma",
    "pseudo R^2 (McFadden)": "pseudo_r2",
    "F": "f_statistic",
    "likelihood ratio": "lr_statistic",
}
# Ratios of odds, and the logarithms that they are of.
_ODDS = {"odds_ratio": "estimate", "odds_lower": "lower", "odds_upper": "upper"}
INTERCEPT = "(intercept)"
_WIDTH = 100
# Columns of a summary up to the p-value.
_TESTED = 4
# Sums of squares below this have lost digits.
_TINY = 1e-280
# A Newton step from the maximum of a likelihood moves no score by more than this; where the
# coefficients are on their way to infinity, it moves some by one or so, however far they have got.
_FINITE_STEP = 0.05
# The most standard errors by which an estimate may miss the maximum of the likelihood.
_FAR = 0.1
# The condition number of the information, scaled to a diagonal of ones: beyond this fewer than
# five digits are left.
_CONDITION = 1e11
_OTHER_ROWS = (
    "these rows, or their weights, are not those of the fit: the likelihood of the model on them "
    "is different; give the X, y and sample_weight of the fit."
)
# How nearly the residuals of the rows a model was fitted to are orthogonal to the columns.
_ORTHOGONAL = 1e-6


@dataclass(frozen=True, eq=False)
class Summary:
    r"""Estimates with their standard errors, tests and intervals.

    Attributes
    ----------
    model : str
        The name of the model, in words.
    target : str
        The name of the target, where there are several; in classification, the odds that the
        numbers describe, in words.
    names : tuple of str
        The columns, by name or as ``x0``, ``x1``, ...; the intercept comes first, as
        ``(intercept)``.  For more than two classes each name starts with its class, whose odds
        against the first class the number describes.
    estimate, standard_error, statistic, p_value, lower, upper : ndarray
        The test is of the hypothesis that the true number is zero, from both sides; ``lower`` and
        ``upper`` are the ends of the confidence interval of the given ``level``.
    odds_ratio, odds_lower, odds_upper : ndarray or None
        Logistic regression: :math:`e^{estimate}`, by which a unit more of the column multiplies
        the odds, and the ends of its interval.
    kind : {"t", "z"}
        The distribution of ``statistic``: Student's with ``df_residual`` degrees of freedom (for
        errors that allow for G clusters, with G - 1), or the normal.
    robust : {"HC0", "HC1", "HC2", "HC3", "cluster"} or None
        The kind of robust errors; None: the classic ones.
    n_clusters : int or None
        The number of clusters, where the errors allow for them.
    level : float
        The confidence level of the intervals.
    n : float
        The sum of the weights, which stand for copies of the rows.
    df_model, df_residual : float
        The number of estimates beside the intercepts, and ``n`` less the number of all estimates.
    log_likelihood, log_likelihood_null : float
        The log-likelihood at the estimates, and that of the model without columns: with an
        intercept alone or, where there is none, with zero for every coefficient.
    aic, bic : float
        :math:`2k - 2\ell` and :math:`k \log n - 2\ell`, with :math:`k` coefficients, intercepts
        included (the variance is not counted).
    r2, adjusted_r2 : float or None
        Least squares: the share of the variation about the mean (without an intercept, about
        zero) that is explained; the same for variances free of bias.
    pseudo_r2 : float or None
        Logistic regression: :math:`1 - \ell / \ell_0` (McFadden, 1974).
    f_statistic, f_p_value : float or None
        Least squares: the test that all coefficients but the intercept are zero; with robust
        errors it is Wald's.
    lr_statistic, lr_p_value : float or None
        Logistic regression: the same by the likelihood ratio.
    sigma : float or None
        Least squares: the standard deviation of the residuals, with ``df_residual``
        degrees of freedom.
    condition_number : float
        The condition number of the columns (least squares) or of the information (logistic
        regression), scaled to length one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LogisticRegression
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> versicolor_or_virginica = y > 0
    >>> model = LogisticRegression(penalty=None).fit(
    ...     X[versicolor_or_virginica], y[versicolor_or_virginica]
    ... )
    >>> table = model.summary()
    >>> table.names
    ('(intercept)', 'sepal length (cm)', 'sepal width (cm)', 'petal length (cm)', ...)
    >>> table.p_value.round(3).tolist()
    [0.097, 0.303, 0.136, 0.047, 0.061]
    """

    model: str
    target: str
    names: tuple[str, ...]
    estimate: np.ndarray
    standard_error: np.ndarray
    statistic: np.ndarray
    p_value: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    kind: str
    robust: str | None
    level: float
    n: float
    df_model: float
    df_residual: float
    log_likelihood: float
    log_likelihood_null: float
    aic: float
    bic: float
    condition_number: float
    odds_ratio: np.ndarray | None = None
    odds_lower: np.ndarray | None = None
    odds_upper: np.ndarray | None = None
    r2: float | None = None
    adjusted_r2: float | None = None
    pseudo_r2: float | None = None
    f_statistic: float | None = None
    f_p_value: float | None = None
    lr_statistic: float | None = None
    lr_p_value: float | None = None
    sigma: float | None = None
    n_clusters: int | None = None

    @property
    def df_test(self) -> float:
        """The degrees of freedom of Student's t, where tests are by it."""
        return _test_degrees(self.n_clusters, self.df_residual)

    def _table(self) -> dict[str, Any]:
        """The columns of the table: the fields that are arrays, or None where they do not apply."""
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if str(field.type).startswith("np.ndarray")
        }

    def of_other_class(self, classes: Sequence[Any]) -> Summary:
        """The same fit of two classes, with the odds of the first class against the second.

        Parameters
        ----------
        classes : sequence of two labels
            The classes in the order of the estimator, which has the odds of the second.

        Returns
        -------
        Summary

        Examples
        --------
        >>> import numpy as np
        >>> from separatrix import LogisticRegression
        >>> hours = np.array([[0.5], [1.0], [1.5], [2.0], [2.5], [3.0], [3.5], [4.0]])
        >>> passed = np.array([0, 0, 1, 0, 1, 0, 1, 1])
        >>> model = LogisticRegression(penalty=None).fit(hours, passed)
        >>> failed = model.summary().of_other_class(model.classes_)
        >>> failed.target, failed.odds_ratio.round(2).tolist()
        ('odds of 0 against 1', [14.49, 0.3])
        """
        turned = replace(
            self,
            target=_odds_in_words(*classes),
            estimate=0.0 - self.estimate,
            statistic=0.0 - self.statistic,
            lower=0.0 - self.upper,
            upper=0.0 - self.lower,
        )
        if self.odds_ratio is None:
            return turned
        return replace(turned, **_odds_of(turned))

    def to_frame(self) -> Any:
        """The table as a data frame.

        Returns
        -------
        pandas.DataFrame
            One row a coefficient, indexed by ``names``; the columns are the arrays of this record.

        Raises
        ------
        ImportError
            Where pandas is not installed.
        """
        try:
            pd = import_module("pandas")
        except ImportError as error:
            raise MissingPackageError(
                "a data frame needs pandas, which is not installed: pip install pandas; "
                "to_dict() has the same numbers"
            ) from error
        table = {name: values for name, values in self._table().items() if values is not None}
        return pd.DataFrame(table, index=pd.Index(self.names, name="name"))

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able dictionary.

        Infinities become the strings ``"inf"`` and ``"-inf"``; what is not defined, or does not
        belong to the kind of model, is None.
        """
        table = self._table()
        record = {
            field.name: _plain(getattr(self, field.name))
            for field in fields(self)
            if field.name != "names" and field.name not in table
        }
        columns = {name: values for name, values in table.items() if values is not None}
        record["coefficients"] = [
            {"name": name, **{column: _plain(values[i]) for column, values in columns.items()}}
            for i, name in enumerate(self.names)
        ]
        return record

    def __str__(self) -> str:
        return self.in_width(_WIDTH)

    def in_width(self, width: int) -> str:
        """The summary in lines of a width; where a table is wider, its last columns stand below.

        Parameters
        ----------
        width : int
            Letters in a line; names are cut to 12 and figures never.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from separatrix import LinearRegression
        >>> summary = LinearRegression().fit(*load_diabetes(return_X_y=True)).summary()
        >>> max(map(len, summary.in_width(60).splitlines())) <= 60
        True
        """
        of = f": {self.target}" if self.target else ""
        lines = [_cut(f"{self.model}{of}", width), ""]
        lines += _pairs(self._facts(), width)
        lines += ["", *self._rows(width), ""]
        lines += self._notes(width)
        return "\n".join(line.rstrip() for line in lines)

    def __repr__(self) -> str:
        return f"<Summary of {self.model}: {len(self.names)} coefficients>"

    def _repr_html_(self) -> str:
        of = f": {self.target}" if self.target else ""
        heads, rows = self._cells()
        named = ([name, *row] for name, row in zip(self.names, rows, strict=True))
        table = table_html([["", *heads], *named])
        head = paragraphs_html([f"{self.model}{of}"])
        return head + facts_html(self._facts()) + table + paragraphs_html([" ".join(self._notes())])

    def _facts(self) -> list[tuple[str, str]]:
        whole = float(self.n).is_integer()
        facts = [
            ("n (sum of weights)", f"{self.n:,.0f}" if whole else f"{self.n:,.6g}"),
            ("degrees of freedom", f"{self.df_residual:,.10g}"),
        ]
        for name, field in _FIGURES.items():
            value = getattr(self, field)
            if value is not None:
                p = getattr(self, f"{field.removesuffix('statistic')}p_value", None)
                facts.append((name, _figure(value) + ("" if p is None else f", p {_small(p)}")))
        facts.append(("condition number", f"{self.condition_number:.3g}"))
        return facts

    def _cells(self) -> tuple[list[str], list[tuple[str, ...]]]:
        """Heads, and of every coefficient its words."""
        columns = {
            "estimate": map(_figure, self.estimate),
            "std. error": map(_figure, self.standard_error),
            self.kind: (_figure(v, 4) for v in self.statistic),
            "p": map(_small, self.p_value),
            f"{100 * self.level:g} % from": map(_figure, self.lower),
            "to": map(_figure, self.upper),
        }
        if self.odds_ratio is not None:
            columns["odds ratio"] = map(_figure, self.odds_ratio)
        return [*columns], list(zip(*columns.values(), strict=True))

    def _rows(self, room: int) -> list[str]:
        heads, rows = self._cells()
        lines = [heads, *rows]
        # Estimates and tests, and below them intervals and ratios, where they do not fit beside, or
        # where names that are cut for them could not be distinguished.
        parts = [self._laid_out(lines, room)]
        cut = {_cut(name, max(12, room - _width(lines))) for name in self.names}
        if max(map(len, parts[0])) > room or len(cut) < len(set(self.names)):
            parts = [
                self._laid_out([line[part] for line in lines], room)
                for part in (slice(None, _TESTED), slice(_TESTED, None))
            ]
        return [line for k, part in enumerate(parts) for line in [""] * (k > 0) + part]

    def _laid_out(self, lines: Sequence[Sequence[str]], room: int) -> list[str]:
        # The names take the width that the numbers leave.
        width = max(12, room - _width(lines))
        names = ["", *(_cut(name, width) for name in self.names)]
        return table_text([(name, *cells) for name, cells in zip(names, lines, strict=True)])

    def _notes(self, width: int = _WIDTH) -> list[str]:
        distribution = (
            f"Student's t with {self.df_test:,.10g} degrees of freedom"
            if self.kind == "t"
            else "the normal distribution"
        )
        errors = "classic" + (", for residuals of equal variance" if self.sigma is not None else "")
        if self.n_clusters is not None:
            errors = (
                f"for rows of {self.n_clusters:,} clusters that may depend on one another within "
                "each (Liang and Zeger, 1986)"
            )
        elif self.robust is not None:
            errors = f"{self.robust} ({_SOURCES[self.robust]})"
        return textwrap.wrap(
            f"Standard errors: {errors}; tests and intervals by {distribution}.", width
        )


# --- text -----------------------------------------------------------------------------------


def _width(lines: Sequence[Sequence[str]]) -> int:
    """The letters that the columns of numbers take in a line."""
    return sum(max(map(len, column)) + 2 for column in zip(*lines, strict=True))


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, (float, np.floating)):
        number = float(value)
        if math.isnan(number):
            return None
        return str(number) if math.isinf(number) else number
    return value


def _figure(value: float, digits: int = 5) -> str:
    if not math.isfinite(value):
        return str(float(value))
    if value != 0.0 and not 1e-4 <= abs(value) < 1e7:
        return f"{value:.{digits - 1}e}"
    if abs(value) >= 10.0 ** (digits - 1):
        return f"{value:,.1f}"
    return f"{value:.{digits}g}"


def _small(p: float) -> str:
    if math.isnan(p):
        return "nan"
    if p == 0.0:
        return "0"
    return f"{p:.4f}" if p >= 1e-4 else f"{p:.1e}"


def _cut(text: str, width: int) -> str:
    """The text, with its middle left out where it is longer than ``width``."""
    if len(text) <= width:
        return text
    end = (width - 3) // 2
    return f"{text[: width - 3 - end]}...{text[len(text) - end :]}"


def _pairs(facts: Sequence[tuple[str, str]], width: int) -> list[str]:
    """Names and values, in two columns, or in one where there is no room for two."""
    half = (len(facts) + 1) // 2
    cells = [[*a, *b] for a, b in zip_longest(facts[:half], facts[half:], fillvalue=("", ""))]
    a, b, c, d = (max(map(len, column)) for column in zip(*cells, strict=True))
    if a + b + c + d + 8 > width:
        a, b = max(a, c), max(b, d)
        return [f"{name:<{a}}  {value:>{b}}" for name, value in facts]
    return [f"{w:<{a}}  {x:>{b}}    {y:<{c}}  {z:>{d}}" for w, x, y, z in cells]


# --- what both kinds share ------------------------------------------------------------------


def _check(level: float, robust: str | None, rows_given: bool) -> None:
    check_number("level", level, above=0)
    if not level < 1.0:
        raise ValueError(f"level={level!r} must be less than 1; the usual level is 0.95.")
    check_choice("robust", robust, [None, *ROBUST])
    if robust is not None and not rows_given:
        raise ValueError(
            f"robust={robust!r} needs the rows that the model was fitted to: "
            f"summary(X, y, robust={robust!r})."
        )


@dataclass(frozen=True)
class Clusters:
    """The clusters of rows: a number from 0 for each row, and how many there are."""

    codes: np.ndarray
    count: int

    @classmethod
    def of(cls, given: Any, weights: np.ndarray | None, n_rows: int) -> Clusters:
        """The clusters that are named by an array-like of labels; ValueError for fewer than two.

        Rows of weight zero are in none that counts.
        """
        labels = np.asarray(given)
        if labels.shape != (n_rows,):
            raise ValueError(
                f"clusters must name one for each of the {n_rows:,} rows, not be of shape "
                f"{labels.shape}."
            )
        used = np.ones(n_rows, dtype=bool) if weights is None else weights > 0.0
        # Only what is missing differs from itself.
        gone = used & np.array([one is None or one != one for one in labels.tolist()], dtype=bool)
        if gone.any():
            raise ValueError(f"clusters has no name for row {int(np.argmax(gone))}.")
        texts = labels.astype(str) if labels.dtype == object else labels
        found, codes = np.unique(texts[used], return_inverse=True)
        if len(found) < 2:
            raise ValueError("errors by cluster need two clusters or more, and there is one.")
        whole = np.zeros(n_rows, dtype=np.int64)
        whole[used] = codes.reshape(-1)
        return cls(whole, len(found))

    def factor(self, n: float, k: int) -> float:
        """The factor for few clusters."""
        return self.count / (self.count - 1.0) * (n - 1.0) / (n - k)


def _clustered(
    clusters: Any, robust: str | None, weights: np.ndarray | None, design: Design | None
) -> tuple[Clusters | None, str | None]:
    """The clusters that are named, where some are, and which errors are computed then."""
    if clusters is None:
        return None, robust
    if robust is not None:
        raise ValueError(
            f"robust={robust!r} takes the rows to be independent, and clusters does not: give one "
            "of them; errors by cluster allow for unequal variances, too."
        )
    if design is None:
        raise ValueError(
            "clusters are of the rows that the model was fitted to: summary(X, y, clusters=...)."
        )
    return Clusters.of(clusters, weights, design.n_samples), CLUSTERED


def _factor(robust: str | None, clusters: Clusters | None, n: float, k: int) -> float:
    """The factor of robust variances for few rows, or few clusters."""
    if clusters is not None:
        return clusters.factor(n, k)
    return n / (n - k) if robust == "HC1" else 1.0


def _require_one_leverage(robust: str | None, n_classes: int) -> None:
    if n_classes > 2 and robust in ("HC2", "HC3"):
        raise ValueError(
            f"{robust} needs one leverage for each row, and with {n_classes} classes a row has a "
            "matrix of leverages; choose 'HC0' or 'HC1'."
        )


def _summary(
    estimate: np.ndarray,
    variance: np.ndarray,
    *,
    n: float,
    df_model: float,
    log_likelihood: float,
    level: float,
    kind: str,
    n_clusters: int | None,
    **others: Any,
) -> Summary:
    """Errors, tests and intervals by the distribution of the given kind, and the criteria."""
    k = len(estimate)
    # A variance of zero is a perfect fit's, and of nothing but rounding where it is negative.
    error = np.sqrt(np.maximum(variance, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = estimate / error
    below, upper = -np.abs(statistic), 0.5 + 0.5 * level
    if kind == "z":
        p, quantile = scipy.special.ndtr(below), float(scipy.special.ndtri(upper))
    else:
        df = _test_degrees(n_clusters, n - k)
        p = scipy.special.stdtr(df, below)
        quantile = float(scipy.special.stdtrit(df, upper))
    return Summary(
        estimate=estimate,
        standard_error=error,
        statistic=statistic,
        p_value=2.0 * p,
        lower=estimate - quantile * error,
        upper=estimate + quantile * error,
        kind=kind,
        level=float(level),
        n=n,
        df_model=df_model,
        df_residual=n - k,
        n_clusters=n_clusters,
        log_likelihood=log_likelihood,
        aic=2.0 * k - 2.0 * log_likelihood,
        bic=k * math.log(n) - 2.0 * log_likelihood,
        **others,
    )


def _test_degrees(n_clusters: int | None, df_residual: float) -> float:
    """The degrees of freedom of Student's t."""
    return df_residual if n_clusters is None else n_clusters - 1.0


def _require_degrees(n: float, k: int) -> None:
    if not n > k:
        raise ValueError(
            f"{n:g} rows leave no degrees of freedom for the standard errors of {k} coefficients: "
            "a summary needs more rows than coefficients."
        )


def _residual_variances(robust: str, e: np.ndarray, h: np.ndarray) -> np.ndarray:
    """The estimated variance of every row's residual ``e``, at leverage ``h``."""
    squares = e * e
    if robust in ("HC2", "HC3"):
        rest = 1.0 - h
        alone = np.flatnonzero(rest <= 1e-10)
        if len(alone):
            raise ValueError(Message("leverage_one", robust=robust))
        squares = squares / (rest if robust == "HC2" else rest * rest)
    return squares


# --- least squares --------------------------------------------------------------------------


def least_squares_summary(
    factor: TriangularFactor,
    coef: np.ndarray,
    intercept: np.ndarray,
    rss: np.ndarray,
    *,
    names: Sequence[str],
    condition: float = float("nan"),
    level: float = 0.95,
    robust: str | None = None,
    rows: tuple[Design, np.ndarray, np.ndarray | None] | None = None,
    reported: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None = None,
    model: str = "Least squares",
    clusters: Any = None,
) -> tuple[Summary, ...]:
    r"""Summaries of a least-squares fit without a penalty, one for each target.

    The columns, centred about their means, have the triangular factor R with
    :math:`R^\top R = \sum_i s_i (x_i - \bar x)(x_i - \bar x)^\top`.  In the coordinates
    :math:`z_i = (n^{-1/2}, R^{-\top}(x_i - \bar x))` the columns are orthonormal, so that the
    leverage of a row is :math:`\|z_i\|^2`, and nothing is inverted that rounding could spoil.

    Parameters
    ----------
    factor : TriangularFactor
        The factor of the rows that were fitted: ``weight``, ``mean``, ``r``.
    coef : ndarray of shape (m, d)
    intercept : ndarray of shape (m,)
    rss : ndarray of shape (m,)
        Weighted sums of the squared residuals.
    names : sequence of str
        The names of the columns.
    condition : float
        The condition number to report.
    level : float
        The level of the confidence intervals.
    robust : {"HC0", "HC1", "HC2", "HC3"}, optional
    rows : tuple of (design, targets, weights), optional
        The rows again; robust errors need them.
    reported : tuple of (L, tau, estimates, intercepts), optional
        Where other numbers are reported than were fitted: ``L coef`` instead of the coefficients
        and ``intercept + tau . coef`` instead of the intercept, whose values are the last two.
    model : str
        The name of the model.
    clusters : array-like of shape (n_rows,), optional
        The cluster of each row; errors allow for rows of one cluster that depend on one another.

    Returns
    -------
    tuple of Summary

    Raises
    ------
    ValueError
        Where there are no more rows than coefficients, or the rows are not those that were fitted.
    """
    _check(level, robust, rows is not None)
    design, weights = (None, None) if rows is None else (rows[0], rows[2])
    groups, robust = _clustered(clusters, robust, weights, design)
    n_clusters = None if groups is None else groups.count
    m, d = coef.shape
    n, centred = float(factor.weight), factor.centred
    k = d + int(centred)
    _require_degrees(n, k)
    if reported is None:
        reported = np.eye(d), np.zeros(d), coef, intercept
    lift, tau, estimates, intercepts = reported
    # Each reported number as a combination of orthonormal coordinates, the first for the mean.
    combinations = np.zeros((k, d + 1))
    names = list(names)
    if centred:
        combinations[0, 0] = 1.0 / math.sqrt(n)
        lift = np.vstack([tau - factor.mean[:d], lift])
        estimates = np.column_stack([intercepts, estimates])
        names = [INTERCEPT, *names]
    if d:
        combinations[:, 1:] = _in_coordinates(factor, lift)
    tss = _sums_of_squares(factor.r[:, d:])
    meats = None
    if rows is not None:
        rss, meats = _sandwich(factor, coef, intercept, rows, robust, groups)
    classic = _variances(combinations, names)
    out = []
    for j, (left, whole) in enumerate(zip(rss.tolist(), tss.tolist(), strict=True)):
        variance = left / (n - k)
        if meats is None or robust is None:
            spread = variance * classic
            f = _ratio(max(whole - left, 0.0) / max(d, 1), variance)
        else:
            meat = meats[j] * _factor(robust, groups, n, k)
            spread = np.einsum("ij,jk,ik->i", combinations, meat, combinations)
            f = _wald(factor.r[:d, :d] @ coef[j], meat[1:, 1:]) / max(d, 1)
        r2 = 1.0 - left / whole if whole > 0.0 else math.nan
        out.append(
            _summary(
                estimates[j],
                spread,
                model=model,
                target=f"y{j}" if m > 1 else "",
                names=tuple(names),
                robust=robust,
                kind="t",
                n_clusters=n_clusters,
                level=level,
                n=n,
                df_model=float(d),
                log_likelihood=_gaussian_likelihood(left, n),
                log_likelihood_null=_gaussian_likelihood(whole, n),
                condition_number=float(condition),
                r2=r2,
                adjusted_r2=1.0 - (1.0 - r2) * (n - float(centred)) / (n - k),
                sigma=math.sqrt(variance),
                **_f_test(f, d, _test_degrees(n_clusters, n - k)),
            )
        )
    return tuple(out)


def _in_coordinates(factor: TriangularFactor, rows: np.ndarray) -> np.ndarray:
    """Rows, less the means, in coordinates in which the columns are orthonormal."""
    d = factor.n_features
    triangle = factor.r[:d, :d]
    return solve_upper(triangle, rows.T, transposed=True).T


def _variances(combinations: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """Return the variances of the estimates for residuals of variance 1, or raise ValueError."""
    variances: np.ndarray = np.einsum("ij,ij->i", combinations, combinations)
    lost = np.flatnonzero(~(np.isfinite(variances) & (variances > np.finfo(np.float64).tiny)))
    if len(lost):
        raise ValueError(
            f"the variance of the coefficient of {names[lost[0]]!r} is out of the range of "
            "float64, so that it has no standard error; divide the column by its largest absolute "
            "value."
        )
    return variances


def _sums_of_squares(targets: np.ndarray) -> np.ndarray:
    """Return the sums of squares of the targets, or raise ValueError where one is out of range."""
    with np.errstate(over="ignore"):
        tss = np.square(targets).sum(axis=0)
    # The sums are zero by rights where a target does not vary, or is fitted exactly.
    size = np.abs(targets).max(axis=0, initial=0.0)
    if not np.all(np.isfinite(tss)) or np.any((size > 0.0) & (tss < _TINY)):
        raise ValueError(
            "the squares of y are out of the range of float64, so that there are no standard "
            "errors; divide y by a number, which divides the estimates and their errors by the "
            "same number."
        )
    return tss


def undetermined(factor: TriangularFactor, rank: int, names: Sequence[str]) -> str:
    """The columns whose coefficients the data leave open, in words.

    Parameters
    ----------
    factor : TriangularFactor
    rank : int
        The number of columns that are independent of one another.
    names : sequence of str
    """
    d = len(names)
    triangle = factor.r[:, :d]
    lengths = lengths_of(triangle)
    lengths = np.where(lengths > 0.0, lengths, 1.0)
    # Directions along which the fit does not change.
    open_ = np.linalg.svd(triangle / lengths)[2][rank:]
    parts = lengths_of(open_)
    found = [names[int(j)] for j in np.flatnonzero(parts > 1e-6)]
    return _first_names(found)


def _first_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(repr(name) for name in names[:5]) + more


def _gaussian_likelihood(squares: float, n: float) -> float:
    """The largest log-likelihood of normal residuals whose squares have that sum."""
    if squares <= 0.0:
        return float("inf")
    return -0.5 * n * (math.log(2.0 * math.pi) + math.log(squares / n) + 1.0)


def _ratio(a: float, b: float) -> float:
    """``a / b`` for numbers that are not negative."""
    if b > 0.0:
        return a / b
    return math.inf if a > 0.0 else math.nan


def _f_test(f: float, d: int, df: float) -> dict[str, float]:
    """The test of ``d`` coefficients, where there are some."""
    if not d:
        return {}
    return {"f_statistic": f, "f_p_value": float(scipy.special.fdtrc(d, df, f))}


def _wald(coordinates: np.ndarray, covariance: np.ndarray) -> float:
    """Wald's statistic for the hypothesis that all coordinates are zero."""
    factor = Factor.of(covariance)
    # The rows with a residual may be too few to determine all coefficients.
    if factor is None or not len(coordinates):
        return math.nan
    return float(coordinates @ factor.solve(coordinates))


def _sandwich(
    factor: TriangularFactor,
    coef: np.ndarray,
    intercept: np.ndarray,
    given: tuple[Design, np.ndarray, np.ndarray | None],
    robust: str | None,
    clusters: Clusters | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of squared residuals, and ``sum s_i g_i z_i z_i'`` in orthonormal coordinates.

    With clusters it is the sum of the squares of their sums of ``s_i e_i z_i``.
    """
    design, targets, weights = given
    m, d = coef.shape
    n, mean, centred = factor.weight, factor.mean[:d], factor.centred
    s = np.ones(design.n_samples) if weights is None else weights
    centre = intercept + coef @ mean
    rss, slopes = np.zeros(m), np.zeros((m, d + 1))
    meats = np.zeros((m, d + 1, d + 1))
    sums = np.zeros((m, 0 if clusters is None else clusters.count, d + 1))
    size = 0.0
    # The rounding errors of means that are large against the spread.
    rest, level = np.zeros(d), np.zeros(m)
    if centred:
        for rows, block in design.blocks():
            x = block - mean
            rest += s[rows] @ x
            level += s[rows] @ (targets[rows] - centre - x @ coef.T)
        rest, level = rest / n, level / n
    for rows, block in design.blocks():
        x = block - mean
        e = targets[rows] - centre - x @ coef.T - level
        x -= rest
        z = np.zeros((len(x), d + 1))
        if centred:
            z[:, 0] = 1.0 / math.sqrt(n)
        if d:
            z[:, 1:] = _in_coordinates(factor, x)
        own = s[rows]
        size += float(own @ np.square(targets[rows] - (centre if centred else 0.0)).sum(1))
        rss += own @ np.square(e)
        slopes += (own[:, None] * e).T @ z
        if clusters is not None:
            for j in range(m):
                np.add.at(sums[j], clusters.codes[rows], z * (own * e[:, j])[:, None])
        if robust is None or clusters is not None:
            continue
        used = own > 0.0
        z, e, own = z[used], e[used], own[used]
        leverage = np.einsum("ij,ij->i", z, z)
        for j in range(m):
            weighted = z * np.sqrt(own * _residual_variances(robust, e[:, j], leverage))[:, None]
            meats[j] += weighted.T @ weighted
    if clusters is not None:
        meats = np.einsum("jgp,jgq->jpq", sums, sums)
    # At the minimum the residuals are orthogonal to every column.
    off = np.sqrt(np.square(slopes).sum(axis=1))
    off += math.sqrt(n) * np.abs(level)
    # Means that are far from zero leave their rounding in the intercept.
    rounding = 1e-9 * math.sqrt(size) + 1e-12 * math.sqrt(n) * (np.abs(coef) @ np.abs(mean))
    same = abs(float(s.sum()) - n) <= 1e-9 * n
    if not same or np.any(off > _ORTHOGONAL * np.sqrt(rss) + rounding):
        raise ValueError(
            "these rows, or their weights, are not those of the fit: the residuals on them are not "
            "orthogonal to the columns; give the X, y and sample_weight of the fit."
        )
    return rss, meats


# --- maximum likelihood ---------------------------------------------------------------------


class _Late(Exception):
    """The time for the information matrix is over."""


def likelihood_information(
    problem: LinearProblem, theta: np.ndarray, deadline: float = math.inf
) -> np.ndarray | None:
    """The information at the maximum of an unpenalised logistic likelihood.

    Parameters
    ----------
    problem : MarginObjective or SoftmaxObjective
        Without a penalty, and with ``C = 1``.
    theta : ndarray
        The point; the maximum, to the fit's tolerance.
    deadline : float
        On the clock of :func:`time.perf_counter`; the operation under way then is the last one.

    Returns
    -------
    ndarray of shape (k, k), or None
        For K classes that of the contrasts of classes 1 to K-1 with class 0, one class after
        another, each with its intercept first.  None where there are more than
        ``Tuning.most_parameters`` of them, where it would take longer than the fit or beyond the
        deadline, or where there is no finite maximum near: a further Newton step would still move
        the scores.
    """
    classes = problem.output_shape[0] if problem.output_shape else 2
    if problem.shape[0] * (classes - 1) > tuned.now.most_parameters:
        return None
    design = problem.design
    work = design.gram_cost * (classes * (classes - 1) // 2)
    most = max(tuned.now.most_work, tuned.now.most_products * (classes - 1) * design.n_stored)
    # Over row blocks it is a pass.
    if work > most and not problem.in_passes:
        return None

    def look() -> None:
        if time.perf_counter() > deadline:
            raise _Late

    before = problem.listen(look)
    try:
        with pulse.beating(look):
            look()
            return _information(problem, theta)[0]
    except _Late:
        return None
    finally:
        problem.listen(before)


def _information(
    problem: Any, theta: np.ndarray
) -> tuple[np.ndarray | None, np.ndarray, np.ndarray]:
    """The information, None where the maximum is not finite; the scores; the gradient."""
    # As the last step of the fit was evaluated, whose Hessian is then at hand.
    found = problem.evaluate(theta)
    scores = found.scores
    slope = problem.penalty_gradient(theta) + found.adjoint
    gradient = _contrasts(slope.reshape(theta.shape), problem)
    rows = problem.shape[0]
    problem.check_interrupt()
    hessian = problem.hessian(problem.curvature(scores))
    # The intercept is the last row of theta, and comes first here.
    order = np.roll(np.arange(rows), 1) if problem.fit_intercept else np.arange(rows)
    if problem.output_shape:
        k = problem.output_shape[0]
        index = (order * k)[None, :] + np.arange(1, k)[:, None]
        information = hessian[np.ix_(index.ravel(), index.ravel())]
    else:
        information = hessian[np.ix_(order, order)]
    information = np.ascontiguousarray(0.5 * (information + information.T))
    factor = Factor.of(information)
    if factor is None:
        # Columns that depend on one another, which the caller reports by name.
        return information, scores, gradient
    step = -factor.solve(gradient)
    direction = np.zeros_like(theta)
    if problem.output_shape:
        direction[order, 1:] = step.reshape(problem.output_shape[0] - 1, rows).T
    else:
        direction[order] = step
    problem.check_interrupt()
    if not problem.largest_move(direction) <= _FINITE_STEP:
        return None, scores, gradient
    return information, scores, gradient


def _contrasts(theta: np.ndarray, problem: LinearProblem) -> np.ndarray:
    """The numbers of classes 1, 2, ... in the order of the information."""
    if problem.fit_intercept:
        theta = np.roll(theta, 1, axis=0)
    return theta[:, 1:].T.ravel() if problem.output_shape else theta


def _half_inverse(information: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, float]:
    """``H`` with ``H' H`` the inverse, and the condition number with a diagonal of ones."""
    factor, condition = Factor.of(information), math.inf
    if factor is not None:
        values = np.linalg.eigvalsh(unit_diagonal(information)[1])
        condition = float(values[-1] / values[0]) if values[0] > 0.0 else math.inf
    if factor is None or not condition <= _CONDITION:
        columns = _dependent(information, names)
        raise ValueError(Message("summary_of_dependent", columns=columns))
    return solve_upper(factor.lower.T, np.diag(factor.scale), transposed=True), condition


def _dependent(information: np.ndarray, names: Sequence[str]) -> str:
    """The columns whose combination carries no information."""
    diagonal = np.diagonal(information)
    empty = [name for name, value in zip(names, diagonal, strict=True) if not value > 0.0]
    if empty:
        return _first_names(empty)
    vector = np.abs(np.linalg.eigh(unit_diagonal(information)[1])[1][:, 0])
    return _first_names([names[int(i)] for i in np.flatnonzero(vector > 1e-3 * vector.max())])


def _against_null(
    totals: np.ndarray, likelihood: float, fit_intercept: bool
) -> tuple[float, float]:
    """The likelihood of the classes' shares alone, and the statistic of the ratio with it."""
    n, present = float(totals.sum()), totals[totals > 0.0]
    null = float(present @ np.log(present / n)) if fit_intercept else -n * math.log(len(totals))
    return null, max(2.0 * (likelihood - null), 0.0)


def logistic_summary(
    coef: np.ndarray,
    intercept: np.ndarray,
    *,
    classes: np.ndarray,
    names: Sequence[str],
    certificate: Certificate,
    information: np.ndarray | None,
    totals: np.ndarray | None,
    fit_intercept: bool = True,
    level: float = 0.95,
    robust: str | None = None,
    design: Design | None = None,
    labels: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    clusters: Any = None,
) -> Summary:
    r"""The summary of a logistic regression without a penalty.

    For K > 2 classes, whose scores are defined up to a common shift, the contrasts of each class
    with the first are reported, as in a model that fixes the first class's coefficients at zero.

    The certificate bounds how far the estimates are from the maximum of the likelihood: near it a
    gap g is :math:`\tfrac12 \delta^\top I \delta`, so that no coefficient is further off than
    :math:`\sqrt{2g}` of its standard errors.

    Parameters
    ----------
    coef : ndarray of shape (1, d) or (K, d)
    intercept : ndarray of shape (1,) or (K,)
    classes : ndarray of shape (K,)
    names : sequence of str
        The names of the columns.
    certificate : Certificate
        The certificate of the fit, whose objective is minus the log-likelihood.
    information : ndarray of shape (k, k) or None
        The result of :func:`likelihood_information`.
    totals : ndarray of shape (K,) or None
        Sums of the weights of the classes.
    fit_intercept : bool
    level : float
    robust : {"HC0", "HC1", "HC2", "HC3"}, optional
        HC2 and HC3 for two classes only.
    design, labels, weights : optional
        The rows again; robust errors need them, and so does a fit that kept no information.
    clusters : array-like of shape (n_rows,), optional
        The cluster of each row; errors allow for rows of one cluster that depend on one another.

    Returns
    -------
    Summary

    Raises
    ------
    ValueError
        Where the fit is not certified or not tight enough, there is no finite maximum, columns
        depend on one another, or the rows are not those that were fitted.
    """
    _check(level, robust, design is not None)
    groups, robust = _clustered(clusters, robust, weights, design)
    _require_maximum(certificate)
    _require_one_leverage(robust, len(classes))
    binary = len(classes) == 2
    table = [INTERCEPT, *names] if fit_intercept else list(names)
    if not binary:
        table = [f"{label}: {name}" for label in classes[1:] for name in table]
    theta = np.column_stack([intercept, coef] if fit_intercept else [coef])
    estimate = theta.ravel() if binary else (theta[1:] - theta[0]).ravel()
    k = len(estimate)
    problem: MarginObjective | SoftmaxObjective | None = None
    likelihood = -certificate.primal
    if design is not None:
        assert labels is not None
        problem = _likelihood(design, labels, weights, classes, fit_intercept)
        point = np.vstack([coef.T, intercept[None, :]]) if fit_intercept else coef.T
        point = np.ascontiguousarray(point[:, 0] if binary else point)
        information, scores, gradient = _information(problem, point)
        totals = np.bincount(codes_of(labels, classes), problem.upper, len(classes))
        likelihood = -problem.loss_value(scores)
        if not abs(likelihood + certificate.primal) <= 1e-6 * certificate.primal:
            raise ValueError(_OTHER_ROWS)
    if information is None:
        if problem is None:
            raise ValueError(Message("summary_without_information", most=tuned.now.most_parameters))
        raise ValueError(Message("summary_of_infinite"))
    assert totals is not None
    n = float(totals.sum())
    _require_degrees(n, k)
    half, condition = _half_inverse(information, table)
    middle = half
    if problem is not None:
        if np.sqrt(np.square(half @ gradient).sum()) > _FAR:
            raise ValueError(_OTHER_ROWS)
        if robust is not None:
            meat = _score_products(problem, scores, half, robust, groups)
            middle = (meat * _factor(robust, groups, n, k)) @ half
    df_model = float(k - (len(classes) - 1 if fit_intercept else 0))
    null, ratio = _against_null(totals, likelihood, fit_intercept)
    summary = _summary(
        estimate,
        np.einsum("ij,ij->j", half, middle),
        model="Logistic regression",
        target=_odds_in_words(classes[1] if binary else "each class", classes[0]),
        names=tuple(table),
        robust=robust,
        kind="z",
        n_clusters=None if groups is None else groups.count,
        level=level,
        n=n,
        df_model=df_model,
        log_likelihood=likelihood,
        log_likelihood_null=null,
        condition_number=condition,
        pseudo_r2=1.0 - likelihood / null,
        lr_statistic=ratio if df_model else None,
        lr_p_value=float(scipy.special.chdtrc(df_model, ratio)) if df_model else None,
    )
    return replace(summary, **_odds_of(summary))


def _odds_in_words(one: Any, other: Any) -> str:
    return f"odds of {one} against {other}"


def _odds_of(summary: Summary) -> dict[str, Any]:
    """The ratios of odds of its coefficients."""
    with np.errstate(over="ignore"):
        return {name: np.exp(getattr(summary, of)) for name, of in _ODDS.items()}


def _require_maximum(certificate: Certificate) -> None:
    """Raise ValueError unless the fit is certified to be near the maximum of the likelihood."""
    if certificate.status in ("separable", "quasi_separable"):
        raise ValueError(Message("summary_of_separable", cause=certificate.cause))
    if not certificate.ok:
        raise ValueError(
            Message("summary_of_unfinished", fit="an unfinished fit", certificate=str(certificate))
        )
    off = math.sqrt(2.0 * certificate.gap)
    if off > _FAR:
        tol = certificate.tol * (0.5 * _FAR / off) ** 2
        raise ValueError(
            Message(
                "summary_of_loose", gap=certificate.gap, off=off, tol=Setting("tol", tol, ".0e")
            )
        )


def _likelihood(
    design: Design,
    labels: np.ndarray,
    weights: np.ndarray | None,
    classes: np.ndarray,
    fit_intercept: bool,
) -> MarginObjective | SoftmaxObjective:
    """Minus the log-likelihood of rows, as the objective that was fitted."""
    known = np.isin(labels, classes)
    used = np.ones(len(labels), dtype=bool) if weights is None else weights > 0.0
    unknown = np.flatnonzero(~known & used)
    if len(unknown):
        row = int(unknown[0])
        raise ValueError(
            f"y has the label {labels[row : row + 1].tolist()[0]!r} in row {row}, which the model "
            "was not fitted to."
        )
    codes = codes_of(labels, classes)
    options: dict[str, Any] = {"weights": weights, "fit_intercept": fit_intercept}
    if len(classes) == 2:
        signs = np.where(codes == 1, 1.0, -1.0)
        return MarginObjective(design, signs, LogLoss(), NoPenalty(), **options)
    return SoftmaxObjective(design, codes, len(classes), NoPenalty(), **options)


def _score_products(
    problem: MarginObjective | SoftmaxObjective,
    scores: np.ndarray,
    half: np.ndarray,
    robust: str,
    clusters: Clusters | None,
) -> np.ndarray:
    """``sum s_i g_i z_i z_i'``, with ``z = H u`` for the slopes ``u`` of each row.

    With clusters it is the sum of the squares of their sums of ``s_i z_i``.
    """
    s = problem.upper
    used = s > 0.0
    # For one copy of a row: p - y, and p (1 - p).
    errors = problem.residual(scores).reshape(len(s), -1)
    errors = np.divide(errors, s[:, None], out=np.zeros_like(errors), where=used[:, None])
    errors = errors[:, 1:] if problem.output_shape else errors * 1.0
    width = problem.shape[0]
    out = np.zeros_like(half)
    sums = np.zeros((0 if clusters is None else clusters.count, len(half)))
    for rows, block in problem.design.blocks():
        x = np.column_stack([np.ones(len(block)), block]) if problem.fit_intercept else block
        own, e = s[rows], errors[rows]
        z = np.zeros((len(x), len(half)))
        for c in range(e.shape[1]):
            lifted = x @ half[:, c * width : (c + 1) * width].T
            if robust in ("HC2", "HC3"):
                p = np.abs(e[:, 0])
                leverage = p * (1.0 - p) * np.einsum("ij,ij->i", lifted, lifted)
                keep = own > 0.0
                power = np.zeros(len(x))
                power[keep] = _residual_variances(robust, e[keep, 0], leverage[keep])
                z = lifted * np.sqrt(power)[:, None]
            else:
                z += lifted * e[:, c : c + 1]
        if clusters is not None:
            np.add.at(sums, clusters.codes[rows], z * own[:, None])
            continue
        z *= np.sqrt(own)[:, None]
        out += z.T @ z
    return out if clusters is None else sums.T @ sums
