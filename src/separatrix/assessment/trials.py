"""One model on many random splits of the data: how much its errors vary, and on which rows."""

from __future__ import annotations

import warnings
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils import _safe_indexing, check_array, check_consistent_length, column_or_1d

from separatrix.data.labels import is_pipeline
from separatrix.data.random_state import random_state_of
from separatrix.data.validation import check_number
from separatrix.messages import counted, join
from separatrix.messages.markup import paragraphs_html, table_html, table_text

# Rows and trials that are printed.
_MOST_PRINTED = 5


@dataclass(frozen=True, eq=False, repr=False)
class Trials:
    """The errors of one model on many random splits.

    Attributes
    ----------
    errors, training_errors : ndarray of shape (n_trials,)
        The share of rows that are classified wrongly, or for a regression the root mean squared
        error: on the rows that were held out, and on those that were fitted, as they were fitted.
    n_train, n_test : int
        The numbers of rows that are fitted and that are tested in each trial.
    jitter : float
    quantity : bool
        Whether the model is a regression.
    tested : ndarray of shape (n_samples,)
        The number of times that each row was tested.
    losses : ndarray of shape (n_samples,)
        The number of times that each row was missed; for a regression the sum of its squared
        residuals.
    certificates : tuple
        The certificates, one for each trial; None for a model that has none.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from separatrix import DecisionStump, evaluate_trials
    >>> trials = evaluate_trials(DecisionStump(), *load_wine(return_X_y=True), train_size=0.5)
    >>> round(trials.mean, 2), round(trials.spread, 2), round(trials.worst, 2)
    (0.34, 0.02, 0.42)
    """

    errors: np.ndarray
    training_errors: np.ndarray
    n_train: int
    n_test: int
    jitter: float
    quantity: bool
    tested: np.ndarray
    losses: np.ndarray
    certificates: tuple[Any, ...]

    @property
    def mean(self) -> float:
        """The mean of the test errors."""
        return float(self.errors.mean())

    @property
    def spread(self) -> float:
        """The standard deviation of the test errors between trials; NaN for a single one."""
        return float(self.errors.std(ddof=1)) if len(self.errors) > 1 else np.nan

    @property
    def worst(self) -> float:
        """The largest test error."""
        return float(self.errors.max())

    @property
    def uncertified(self) -> list[int]:
        """The trials, from 0 on, whose fit has a certificate above its tolerance."""
        return [k for k, one in enumerate(self.certificates) if one is not None and not one.ok]

    def quantiles(self, shares: Any = (0.05, 0.5, 0.95)) -> np.ndarray:
        """Quantiles of the test errors."""
        return np.asarray(np.quantile(self.errors, shares))

    def histogram(self, bins: Any = 10) -> tuple[np.ndarray, np.ndarray]:
        """The number of trials in each bin of the test errors, and the ends of the bins."""
        return np.histogram(self.errors, bins)

    def most_missed(self, count: int = _MOST_PRINTED) -> list[tuple[int, float, int]]:
        """The rows that the model misses most often when they are tested.

        Parameters
        ----------
        count : int

        Returns
        -------
        list of (int, float, int)
            The row, how often it was missed (for a regression the root of its mean squared
            residual), and how often it was tested; rows that were never missed are left out.
        """
        share = self.losses / np.maximum(self.tested, 1)
        first = np.lexsort((-self.tested, -share))[:count].tolist()
        missed = np.sqrt(share) if self.quantity else self.losses
        return [(i, float(missed[i]), int(self.tested[i])) for i in first if share[i] > 0.0]

    def lines(self) -> list[list[str]]:
        """The rows of a table, its head first, in words."""
        out = [["error", "mean", "spread", "5 %", "median", "95 %", "worst"]]
        for name, errors in (("test", self.errors), ("training", self.training_errors)):
            spread = errors.std(ddof=1) if len(errors) > 1 else np.nan
            ends = np.quantile(errors, (0.05, 0.5, 0.95))
            out.append([name, *(f"{v:.4g}" for v in (errors.mean(), spread, *ends, errors.max()))])
        return out

    def remarks(self) -> list[str]:
        """The trials, the rows missed most, and the fits that are not certified, in words."""
        noise = f", noise of {self.jitter:g} on those fitted" if self.jitter else ""
        trials = counted(len(self.errors), "trial")
        out = [f"{trials}: {self.n_train:,} rows fitted and {self.n_test:,} tested in each{noise}"]
        rows = self.most_missed()
        if rows and self.quantity:
            out.append("largest errors: " + join(f"row {i} ({v:.4g})" for i, v, _ in rows))
        elif rows:
            missed = (f"row {i} ({v:.0f} of {tested:,} tests)" for i, v, tested in rows)
            out.append("missed most: " + join(missed))
        if self.uncertified:
            named, more = self.uncertified[:_MOST_PRINTED], self.uncertified[_MOST_PRINTED:]
            without = f"{len(self.uncertified):,} of {trials} have no fit within its tolerance"
            out.append(f"{without}: {join(map(str, named), len(more))}")
        elif any(one is not None for one in self.certificates):
            out.append("every fit is certified")
        shared = "trials share rows: spread / sqrt(trials) is no standard error of the mean"
        return [*out, shared] if len(self.errors) > 1 else out

    def __str__(self) -> str:
        return "\n".join([*table_text(self.lines()), *self.remarks()])

    def __repr__(self) -> str:
        trials = counted(len(self.errors), "trial")
        return f"<Trials: error {self.mean:.4g} on average of {trials}, {self.worst:.4g} at worst>"

    def _repr_html_(self) -> str:
        return table_html(self.lines()) + paragraphs_html(self.remarks())


def evaluate_trials(
    model: Any,
    X: Any,
    y: Any,
    n_trials: int = 100,
    train_size: float = 60,
    jitter: float = 0.0,
    random_state: Any = None,
) -> Trials:
    """Fit a model to many random parts of the data, and test each fit on the other rows.

    The trials show how much the error depends on which rows happened to be there, and with
    ``jitter`` on how exactly they were measured.  They overlap: two trials share most of their
    rows, so their errors are not independent, and the spread over the square root of the number of
    trials is **no** standard error of the mean, however many trials there are (Nadeau and Bengio,
    2003).

    Parameters
    ----------
    model : estimator
        A classifier or a regression, of this library or scikit-learn's, or a pipeline.  It is
        cloned for every trial, and is not fitted itself.
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    n_trials : int, default=100
    train_size : int or float, default=60
        The number of rows that are fitted, or their share; the others are tested.  Rows of classes
        are drawn class by class.
    jitter : float, default=0.0
        The standard deviation of normal noise that is added to every feature of the rows that are
        fitted, anew in each trial.  The rows that are tested stay as they are.
    random_state : int, RandomState or None
        The seed of the splits and of the noise, of which the splits do not depend on ``jitter``.
        None uses a fixed seed.

    Returns
    -------
    Trials

    Raises
    ------
    TypeError
        For a model that is neither a classifier nor a regression, and for noise on sparse rows.
    ValueError
        For numbers out of range, and for classes of too few rows.

    See Also
    --------
    compare : Several models on the same folds, with intervals of their differences.

    References
    ----------
    Nadeau and Bengio (2003), Inference for the generalization error.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LinearSVC, evaluate_trials
    >>> trials = evaluate_trials(LinearSVC(lam=0.01), *load_iris(return_X_y=True), n_trials=20)
    >>> print(trials)
    error        mean   spread      5 %  median     95 %    worst
    test      0.05278  0.01724  0.03278    0.05  0.07778  0.07778
    training  0.02583  0.01664        0   0.025     0.05     0.05
    20 trials: 60 rows fitted and 90 tested in each
    missed most: row 70 (15 of 15 tests), row 83 (13 of 13 tests), ...
    every fit is certified
    trials share rows: spread / sqrt(trials) is no standard error of the mean
    """
    quantity = is_regressor(model)
    if not quantity and not is_classifier(model):
        raise TypeError(f"{type(model).__name__} is neither a classifier nor a regression.")
    check_number("n_trials", n_trials, minimum=1, integer=True)
    check_number("jitter", jitter, minimum=0)
    check_consistent_length(X, y)
    y = column_or_1d(y)
    n = len(y)
    check_number("train_size", train_size, above=0)
    n_train = round(train_size * n) if train_size < 1 else int(train_size)
    if not 0 < n_train < n or (train_size >= 1 and train_size != n_train):
        raise ValueError(
            f"train_size={train_size!r} of {n} rows leaves none to fit or none to test; give a "
            "number of rows below that, or a share between 0 and 1."
        )
    if jitter > 0:
        X = check_array(X, dtype=np.float64)
    rng = random_state_of(random_state)
    # Noise takes no numbers from the splits, which are the same with and without it.
    noise = random_state_of(deepcopy(rng).randint(2**31 - 1))
    kind = ShuffleSplit if quantity else StratifiedShuffleSplit
    splitter = kind(int(n_trials), train_size=n_train, test_size=n - n_train, random_state=rng)
    tested, losses = np.zeros(n, dtype=np.intp), np.zeros(n)
    errors, training_errors, certificates = [], [], []
    for train, held in splitter.split(np.zeros(n), y):
        rows = _safe_indexing(X, train)
        if jitter > 0:
            rows = rows + noise.normal(scale=jitter, size=rows.shape)
        fitted = clone(model)
        with warnings.catch_warnings():
            # The certificates are summed up at the end.
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted.fit(rows, y[train])
        own, other = (
            _losses(fitted.predict(part), target, quantity)
            for part, target in ((rows, y[train]), (_safe_indexing(X, held), y[held]))
        )
        tested[held] += 1
        losses[held] += other
        errors.append(other.mean())
        training_errors.append(own.mean())
        last = fitted[-1] if is_pipeline(fitted) else fitted
        certificates.append(getattr(last, "certificate_", None))
    pair = np.array([errors, training_errors])
    pair = np.sqrt(pair) if quantity else pair
    return Trials(
        errors=pair[0],
        training_errors=pair[1],
        n_train=n_train,
        n_test=n - n_train,
        jitter=float(jitter),
        quantity=quantity,
        tested=tested,
        losses=losses,
        certificates=tuple(certificates),
    )


def _losses(predicted: Any, y: np.ndarray, quantity: bool) -> np.ndarray:
    """The squared residuals, or 1 for each mistake."""
    if quantity:
        return np.square(np.asarray(predicted, dtype=np.float64) - y)
    return (np.asarray(predicted) != y).astype(np.float64)
