"""Fits along a path of strengths, each with its certificate, and the choice among them."""

from __future__ import annotations

import inspect
import time
import warnings
from copy import copy, deepcopy
from dataclasses import dataclass, field, fields, replace
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing, column_or_1d

from separatrix.certificate import Certificate, ResidualCertificate
from separatrix.data.design import Design, as_design
from separatrix.data.labels import Labels, encode
from separatrix.data.splitting import folds_of
from separatrix.data.validation import check_number, require_classes, sample_weight_of, validate
from separatrix.exceptions import warn
from separatrix.messages import Joined, Message, Setting
from separatrix.messages.markup import paragraphs_html, table_html
from separatrix.solvers.continuation import mean_square
from separatrix.solvers.driver import Interrupt

__all__ = [
    "Path",
    "PathInterrupt",
    "RidgePath",
    "checked_values",
    "concluded",
    "fit_path",
    "prepared_model",
    "strengths_of_rows",
    "wanted_values",
]

# A default path: how many values, and how many times the first the last is.
_COUNT, _REACH = 20, 1e6


@dataclass(frozen=True, eq=False, repr=False)
class Path:
    """Fits of one model to the same rows along values of the strength of its penalty.

    What ``path`` of an estimator returns.  ``path[i]`` is the fitted model at value number ``i``
    and ``path.at(value)`` the model at a value; neither is fitted again.

    Attributes
    ----------
    parameter : str
        The parameter that has the values: ``"C"``, ``"lam"``, ``"alpha"`` or ``"shrinkage"``.
    values : ndarray of shape (n_values,)
        In the order given; by default from the strongest penalty to the weakest.
    certificates : tuple of Certificate
        One for each value.
    scores : ndarray of shape (n_folds, n_values), or None
        With ``cv``: the scores on the held-out rows of each fold; NaN where the time limit came
        first.
    fold_certificates : tuple of tuple of Certificate
        With ``cv``: for each fold, the certificate of its fit at each value.
    scoring : str
        The name of the scores.
    not_reached : ndarray
        Values for which no time was left.
    models : tuple of estimators
        One for each value, fitted to all rows; kernel machines lack their support vectors, which
        ``path[i]`` restores.
    fold_models : tuple of tuple of estimators
        For each fold, the model at each value, if the models of the folds were kept.
    matrix : ndarray or CSR matrix
        The rows, from which the support vectors are restored.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LinearDiscriminantAnalysis
    >>> path = LinearDiscriminantAnalysis().path(*load_iris(return_X_y=True), [1.0, 0.5, 0.0], cv=5)
    >>> path.best, path[2].shrinkage, path.mean_scores.round(2).tolist()
    (0.5, 0.0, [0.92, 0.98, 0.98])
    """

    parameter: str
    values: np.ndarray
    certificates: tuple[Any, ...]
    scores: np.ndarray | None = None
    fold_certificates: tuple[tuple[Any, ...], ...] = ()
    scoring: str = ""
    not_reached: np.ndarray = field(default_factory=lambda: np.empty(0))
    models: tuple[Any, ...] = field(default=(), repr=False)
    fold_models: tuple[tuple[Any, ...], ...] = field(default=(), repr=False)
    matrix: Any = field(default=None, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        values = [getattr(self, one.name) for one in fields(self)]
        models = [one.name for one in fields(self)].index("models")
        values[models] = _by_attribute(self.models)
        return _unpickled, tuple(values)

    def __deepcopy__(self, memo: dict[int, Any]) -> Path:
        # Copies in memory have what the models leave out of their pickles.
        return Path(*(deepcopy(getattr(self, one.name), memo) for one in fields(self)))

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: int) -> Any:
        model = copy(self.models[index])
        restore = getattr(model, "_with_rows", None)
        if restore is not None:
            restore(self.matrix)
        return model

    def at(self, value: float) -> Any:
        """The fitted model at a value of the path.

        Raises
        ------
        ValueError
            For a number that is not one of the values.
        """
        near = np.flatnonzero(np.isclose(self.values, value, rtol=1e-9, atol=0.0))
        if not len(near):
            raise ValueError(
                f"{self.parameter}={value!r} is not a value of this path, which has "
                f"{', '.join(f'{v:.6g}' for v in self.values)}."
            )
        return self[int(near[0])]

    @property
    def coefs(self) -> np.ndarray:
        """Weights of the linear models, of shape (n_values, K, n_features)."""
        return np.array([np.atleast_2d(model.coef_) for model in self.models])

    @property
    def intercepts(self) -> np.ndarray:
        """Intercepts, of shape (n_values, K)."""
        return np.array([np.atleast_1d(model.intercept_) for model in self.models])

    @property
    def n_iter(self) -> np.ndarray:
        """Iterations at each value."""
        return np.array([certificate.n_iter for certificate in self.certificates])

    @property
    def seconds(self) -> np.ndarray:
        """Seconds at each value, without the folds."""
        return np.array([certificate.seconds for certificate in self.certificates])

    @property
    def n_nonzero(self) -> np.ndarray | None:
        """The number of columns with a weight that is not zero; None for models without weights."""
        if not all(hasattr(model, "coef_") for model in self.models):
            return None
        return np.array([int(np.any(c != 0.0, axis=0).sum()) for c in self.coefs])

    # --- the choice -------------------------------------------------------------------------

    @property
    def mean_scores(self) -> np.ndarray:
        """Means over the folds, of shape (n_values,)."""
        return np.asarray(self._scored().mean(axis=0))

    @property
    def standard_errors(self) -> np.ndarray:
        """Standard errors of these means, from the standard deviation over the folds.

        The folds share rows, so these are rather too small than too large.
        """
        scores = self._scored()
        if len(scores) < 2:
            return np.full(scores.shape[1], np.nan)
        return np.asarray(scores.std(axis=0, ddof=1) / np.sqrt(len(scores)))

    @property
    def best_index(self) -> int:
        """The index of the best mean score; among equal ones that of the strongest penalty."""
        mean = self.mean_scores
        if np.all(np.isnan(mean)):
            raise ValueError("no value was scored on all folds; raise time_limit.")
        best = np.flatnonzero(mean == np.nanmax(mean))
        return min(best.tolist(), key=self._ease)

    @property
    def one_standard_error_index(self) -> int:
        """The strongest penalty whose mean score is within one standard error of the best.

        Breiman, Friedman, Olshen and Stone (1984), 3.4.3.
        """
        best, mean = self.best_index, self.mean_scores
        error = self.standard_errors[best]
        within = np.flatnonzero(mean >= mean[best] - (0.0 if np.isnan(error) else error))
        return min(within.tolist(), key=self._ease)

    @property
    def best(self) -> float:
        """The value at :attr:`best_index`."""
        return float(self.values[self.best_index])

    @property
    def best_model(self) -> Any:
        """The model at :attr:`best_index`, fitted to all rows."""
        return self[self.best_index]

    @property
    def edge(self) -> str | None:
        """``"strongest"`` or ``"weakest"`` if the best value is at that end, else None.

        At an edge, values beyond the range may score better. A value that has none beyond it, such
        as a shrinkage of 1 or a penalty of 0, is not an edge.
        """
        best = self.best
        if len(self) < 3 or self.parameter == "shrinkage" or best == 0.0:
            return None
        ease = [self._ease(i) for i in range(len(self))]
        if ease[self.best_index] == max(ease):
            return "weakest"
        return "strongest" if ease[self.best_index] == min(ease) else None

    def beyond(self, count: int = 7, reach: float = 100.0) -> np.ndarray:
        """Values beyond the :attr:`edge`, up to a multiple of the last; empty without one."""
        edge = self.edge
        if edge is None:
            return np.empty(0)
        up = (edge == "weakest") == (self.parameter == "C")
        return np.geomspace(self.best, self.best * (reach if up else 1.0 / reach), count + 1)[1:]

    def joined(self, other: Path) -> Path:
        """This path and another one of the same model, rows and folds, one after the other.

        The values are in the order from the strongest penalty to the weakest.
        """
        values = np.concatenate([self.values, other.values])
        order = np.argsort(values if self.parameter == "C" else -values, kind="stable").tolist()

        def both(ones: tuple[Any, ...], others: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple((*ones, *others)[i] for i in order)

        scores = None
        if self.scores is not None and other.scores is not None:
            scores = np.hstack([self.scores, other.scores])[:, order]
        folds = zip(self.fold_certificates, other.fold_certificates, strict=True)
        fold_models = zip(self.fold_models, other.fold_models, strict=True)
        return replace(
            self,
            values=values[order],
            certificates=both(self.certificates, other.certificates),
            scores=scores,
            fold_certificates=tuple(both(*pair) for pair in folds),
            not_reached=np.concatenate([self.not_reached, other.not_reached]),
            models=both(self.models, other.models),
            fold_models=tuple(both(*pair) for pair in fold_models),
        )

    def _scored(self) -> np.ndarray:
        if self.scores is None:
            raise ValueError(
                "this path has no scores on held-out rows, which the choice needs; give cv, for "
                "instance cv=5."
            )
        return self.scores

    def _ease(self, index: int) -> float:
        """Rises as the penalty becomes weaker."""
        value = float(self.values[index])
        return value if self.parameter == "C" else -value

    # --- what it looks like -----------------------------------------------------------------

    def table(self) -> dict[str, list[Any]]:
        """Columns with one entry for each value, JSON-able."""
        closed = isinstance(self.certificates[0], ResidualCertificate)
        figure = "relative_residual" if closed else "relative_gap"
        out: dict[str, list[Any]] = {self.parameter: self.values.tolist()}
        if not closed:
            out["objective"] = [c.primal for c in self.certificates]
        out[figure] = [getattr(c, figure) for c in self.certificates]
        out["status"] = [c.status for c in self.certificates]
        out["n_iter"] = self.n_iter.tolist()
        out["seconds"] = self.seconds.tolist()
        if self.n_nonzero is not None:
            out["n_nonzero"] = self.n_nonzero.tolist()
        if self.scores is not None:
            out["mean_score"] = self.mean_scores.tolist()
            out["standard_error"] = self.standard_errors.tolist()
        return out

    def to_frame(self) -> Any:
        """The table as a data frame, with one row for each value.

        Raises
        ------
        ImportError
            Where pandas is not installed.
        """
        try:
            pd = import_module("pandas")
        except ImportError as error:
            raise ImportError(
                "a data frame needs pandas, which is not installed: pip install pandas; table() "
                "has the same numbers"
            ) from error
        return pd.DataFrame(self.table())

    def _repr_html_(self) -> str:
        columns, best = self._columns(), None
        if self.scores is not None and not np.all(np.isnan(self.mean_scores)):
            best = self.best_index
        rest = (
            [f"not reached: {_first_values(self.parameter, self.not_reached)}"]
            if len(self.not_reached)
            else []
        )
        rows = list(zip(*columns, strict=True))
        return table_html(rows, left=0, strong=best) + paragraphs_html(rest)

    def __repr__(self) -> str:
        chosen = ""
        if self.scores is not None and not np.all(np.isnan(self.mean_scores)):
            chosen = f", best {self.best:.4g}"
        return f"<Path of {len(self)} values of {self.parameter}{chosen}>"

    def _columns(self) -> list[list[str]]:
        """Return the columns of the table: a heading, then a word for every value."""
        table = self.table()
        heads = {
            "relative_gap": "gap",
            "relative_residual": "residual",
            "n_nonzero": "weights",
            "n_iter": "iterations",
        }
        keys = [k for k in table if k not in ("mean_score", "standard_error", "seconds")]
        columns = [[heads.get(k, k), *(_word(k, v) for v in table[k])] for k in keys]
        if self.scores is not None:
            column = [self.scoring]
            for mean, error in zip(self.mean_scores, self.standard_errors, strict=True):
                column.append("" if np.isnan(mean) else f"{mean:.4f} +- {error:.4f}")
            columns.append(column)
        return columns

    def __str__(self) -> str:
        columns = self._columns()
        if self.scores is not None:
            marks = [""] * (len(self) + 1)
            if not np.all(np.isnan(self.mean_scores)):
                marks[self.one_standard_error_index + 1] = "<- within one standard error"
                marks[self.best_index + 1] = "<- best"
            columns.append(marks)
        widths = [max(map(len, column)) for column in columns]
        lines = []
        for row in zip(*columns, strict=True):
            words = [word.rjust(w) for word, w in zip(row, widths, strict=True)]
            if self.scores is not None:
                words[-1] = row[-1]
            lines.append("  ".join(words).rstrip())
        if len(self.not_reached):
            lines.append(f"not reached: {_first_values(self.parameter, self.not_reached)}")
        return "\n".join(lines)


class PathInterrupt(KeyboardInterrupt):
    """Ctrl-C along a path, with the values that were fitted before.

    Parameters
    ----------
    path : Path
        The values that were reached.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LogisticRegression, PathInterrupt
    >>> try:
    ...     path = LogisticRegression().path(*load_iris(return_X_y=True), 5)
    ... except PathInterrupt as stop:
    ...     path = stop.path
    >>> len(path)
    5
    """

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"interrupted after {len(path)} of {len(path) + len(path.not_reached)} values of "
            f"{path.parameter}; they are in the exception's path"
        )
        self.path = path


def _by_attribute(models: tuple[Any, ...]) -> tuple[Any, ...]:
    """The models of a path for its pickle: what they share once, and arrays of one shape as one."""
    if len({type(model) for model in models}) != 1:
        return (None, models)
    rest = [dict(model.__getstate__()) for model in models]
    shared: dict[str, Any] = {}
    stacked: dict[str, np.ndarray] = {}
    for name in list(rest[0]):
        if not all(name in state for state in rest):
            continue
        values = [state[name] for state in rest]
        if all(_alike(value, values[0]) for value in values):
            shared[name] = values[0]
        elif all(_stacks(value, values[0]) for value in values):
            stacked[name] = np.array(values)
        else:
            continue
        for state in rest:
            del state[name]
    return type(models[0]), shared, stacked, rest


def _alike(one: Any, other: Any) -> bool:
    plain = isinstance(one, bool | int | float | str | bytes | None)
    return one is other or (plain and type(one) is type(other) and one == other)


def _stacks(one: Any, other: Any) -> bool:
    if not (isinstance(one, np.ndarray) and isinstance(other, np.ndarray)):
        return False
    alike = one.dtype == other.dtype and one.shape == other.shape
    return alike and one.dtype.kind != "O" and one.flags.c_contiguous


def _unpickled(*values: Any) -> Path:
    """A path from its pickle."""
    path = Path(*values)
    kind, *parts = path.models
    if kind is None:
        return replace(path, models=parts[0])
    shared, stacked, rest = parts
    models = []
    for i, state in enumerate(rest):
        model = kind.__new__(kind)
        own = {name: values[i].copy() for name, values in stacked.items()}
        model.__setstate__({**shared, **own, **state})
        models.append(model)
    return replace(path, models=tuple(models))


def _word(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.1e}" if name.startswith("relative") else f"{value:.6g}"


def _first_values(parameter: str, values: np.ndarray) -> Setting:
    first = ", ".join(f"{v:.4g}" for v in values[:3])
    more = f" and {len(values) - 3} more" if len(values) > 3 else ""
    return Setting(parameter, f"{first}{more}", "s")


# --- for the models -----------------------------------------------------------------------------


class RidgePath:
    """A closed form with ``lam``."""

    _strengths: ClassVar[dict[str, bool]] = {"lam": False}

    def path(
        self,
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
        return fit_path(self, X, y, {"lam": lams}, cv, scoring, sample_weight, groups)

    def _path_values(self, parameter: str, count: int, run: _Run) -> np.ndarray:
        centred = bool(getattr(self, "fit_intercept", True))
        first = mean_square(run.design, run.weights, centred=centred)
        return np.geomspace(first, first / _REACH, count) if count > 1 else np.array([first])


def strengths_of_targets(
    design: Design, rows: Any, *, centred: bool, nonnegative: bool = False
) -> float:
    """The least ``alpha`` under which L1 leaves no weight, for the targets of all columns of y."""
    levels = np.average(rows.targets, axis=0, weights=rows.weights) if centred else 0.0
    residuals = rows.targets - levels
    if rows.weights is not None:
        residuals = residuals * rows.weights[:, None]
    pulls = [design.t_dot(np.ascontiguousarray(r)) for r in residuals.T]
    slopes = [(pull if nonnegative else np.abs(pull)).max() for pull in pulls]
    # Of targets that are all alike any strength will do.
    return max(float(np.max(slopes)) / rows.total, float(np.finfo(np.float64).tiny))


def strengths_of_rows(parameter: str, count: int, labels: Labels, square: float) -> np.ndarray:
    """Values of ``C`` or ``lam`` for rows of this mean square, from the strongest penalty on."""
    total = labels.total if labels.weights is None else float(labels.weights.sum())
    low = 1.0 / (total * square)
    strengths = np.geomspace(low, _REACH * low, count) if count > 1 else np.array([low])
    return strengths if parameter == "C" else 1.0 / (strengths * labels.total)


@dataclass
class _Run:
    """What all fits along one path share."""

    model: Any
    prepared: Any
    parameter: str
    values: np.ndarray
    matrix: Any
    # As they came, for what looks at the columns' names.
    rows: Any
    y: np.ndarray
    weights: np.ndarray | None
    folds: list[_Fold]
    deadline: float
    interrupt: Interrupt
    scoring: Any = None
    design: Design = field(init=False)
    labels: Labels = field(init=False)

    def __post_init__(self) -> None:
        self.design = as_design(self.matrix)
        if is_classifier(self.model):
            self.labels = encode(self.y, self.weights, self._class_weight)

    @property
    def _class_weight(self) -> Any:
        return getattr(self.model, "class_weight", None)

    @property
    def over(self) -> bool:
        """Whether to begin no other fit."""
        return self.interrupt.requested or time.perf_counter() > self.deadline

    def member(self, value: float, others: int = 0) -> Any:
        """A model for one fit: the parameters, and what was prepared once for all.

        ``others``: fits that are to be made in any case and share the time with it.
        """
        out = copy(self.prepared)
        setattr(out, self.parameter, float(value))
        if self.deadline < np.inf:
            # A limit of zero would be none; this one ends a fit at its first look at the clock.
            left = max(self.deadline - time.perf_counter(), 1e-9)
            out.time_limit = left / (1 + others)
        return out

    def labels_of(self, fold: int) -> Labels:
        if fold == 0:
            return self.labels
        return self.labels.without(
            self.folds[fold - 1].out,
            self._class_weight,
            lacking=getattr(self.model, "_lacking_classes", "refuse"),
        )

    def weights_of(self, fold: int) -> np.ndarray | None:
        """Sample weights of a fold's fit."""
        if fold == 0:
            return self.weights
        out = np.ones(len(self.y)) if self.weights is None else self.weights.copy()
        out[self.folds[fold - 1].out] = 0.0
        return out


def fit_path(
    model: Any,
    X: Any,
    y: Any,
    given: dict[str, Any],
    cv: Any = None,
    scoring: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    *,
    scored_with: dict[str, Any] | None = None,
    keep_folds: bool = False,
) -> Path:
    """Fit a model along a path; see :meth:`separatrix.LogisticRegression.path`.

    Parameters
    ----------
    model : estimator
        ``_strengths`` has the parameters that set its strength, and whether the penalty is weaker
        the larger they are; ``_path_values`` gives values of one of them, from the strongest
        penalty to the weakest; ``_path_fits`` makes the fits, each as the number of its value, that
        of its fold (0 for all rows) and the model.
    given : dict
        Values, their number or None, by the name of the parameter that they are of.
    scored_with : dict, optional
        Metadata for the scorer, by row; by default the weights.
    keep_folds : bool, default=False
        Whether to keep the models of the folds, too.
    """
    start = time.perf_counter()
    parameter, wanted = wanted_values(given)
    prepared = prepared_model(model, parameter)
    regression = not is_classifier(model)
    matrix, targets = validate(prepared, X, y, **({"regression": True} if regression else {}))
    if not regression:
        require_classes(targets)
        targets = column_or_1d(targets)
    weights = sample_weight_of(sample_weight, matrix)
    values, count = checked_values(parameter, wanted)
    from sklearn.metrics import check_scoring, get_scorer_names

    if isinstance(scoring, str) and scoring not in get_scorer_names():
        raise ValueError(
            f"scoring={scoring!r} is not known; sklearn.metrics.get_scorer_names() has the names."
        )
    folds = _folds(cv, targets, weights, groups, not regression)
    scorer = check_scoring(prepared, scoring=scoring) if folds else None
    if not regression and scoring is not None:
        scorer = _told_classes(scorer, targets, folds)
    limit = getattr(model, "time_limit", None)
    with Interrupt() as interrupt:
        run = _Run(
            model=model,
            prepared=prepared,
            parameter=parameter,
            values=np.empty(0),
            matrix=matrix,
            rows=X if hasattr(X, "columns") else matrix,
            y=targets,
            weights=weights,
            folds=folds,
            deadline=np.inf if limit is None else start + limit,
            interrupt=interrupt,
            scoring=scoring,
        )
        if values is None:
            values = model._path_values(parameter, count, run)
        # From the strongest penalty to the weakest, which is from the easiest fit to the hardest.
        rising = model._strengths[parameter]
        order = np.argsort(values if rising else -values, kind="stable")
        run.values = values[order]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if scored_with is None:
                scored_with = {} if weights is None else {"sample_weight": weights}
            found = _collected(run, order, scorer, scored_with, keep_folds)
        path = _in_order(run, found, values, order, scoring, prepared)
    # That a fit is above its tolerance is summed up below; what else there is, once.
    others = {str(w.message): w for w in caught if w.category is not ConvergenceWarning}
    for other in others.values():
        warn(other.message, other.category)
    return concluded(path, interrupt, limit)


def prepared_model(model: Any, parameter: str) -> Any:
    """A copy without the settings of strength, which the path replaces."""
    out = clone(model)
    if parameter in ("C", "lam") and hasattr(out, "C"):
        out.C, out.lam = 1.0, None
    if getattr(out, "calibrate", None) is not None:
        raise ValueError(
            f"calibrate={out.calibrate!r} fits probabilities to one model; compute the path "
            "without it, and fit the best value with calibrate."
        )
    if hasattr(out, "_check_parameters"):
        out._check_parameters()
    return out


def wanted_values(given: dict[str, Any]) -> tuple[str, Any]:
    """The parameter along which a path goes, and its values, their number or None."""
    chosen = [name for name, values in given.items() if values is not None]
    if len(chosen) > 1:
        raise ValueError(f"Give {' or '.join(f'{n}s' for n in given)}, not both.")
    parameter = chosen[0] if chosen else next(iter(given))
    return parameter, given[parameter]


def checked_values(parameter: str, wanted: Any) -> tuple[np.ndarray | None, int]:
    """The values that were given, or None and the number of values to choose."""
    if wanted is None:
        return None, _COUNT
    if np.ndim(wanted) == 0:
        check_number(f"{parameter}s", wanted, minimum=1, integer=True)
        return None, int(wanted)
    values = np.asarray(wanted, dtype=object).ravel()
    if not len(values):
        raise ValueError(f"{parameter}s is empty; give at least one value.")
    for value in values:
        if parameter == "C":
            check_number(parameter, value, above=0)
        else:
            check_number(parameter, value, minimum=0)
    return values.astype(np.float64), len(values)


def concluded(path: Path, interrupt: Interrupt, limit: float | None) -> Path:
    """The path, with a warning of what is above its tolerance or was not reached.

    Raises
    ------
    PathInterrupt
        If Ctrl-C ended it; the exception has the path.
    """
    if interrupt.requested:
        raise PathInterrupt(path)
    parts = _summed_up(path, limit)
    if parts is not None:
        warn(Message("path", parts=parts), ConvergenceWarning)
    return path


def _folds(
    cv: Any, y: np.ndarray, weights: np.ndarray | None, groups: Any, stratify: bool
) -> list[_Fold]:
    """The folds of a splitter, as numbers of the rows."""
    if cv is None:
        return []
    n = len(y)
    out = []
    for train, held in folds_of(cv, np.zeros((n, 1)), y, weights, groups, stratify=stratify):
        mask = np.zeros(n, dtype=bool)
        mask[train] = True
        if mask[held].any():
            raise ValueError(
                f"cv has a fold that both fits and scores row {int(held[mask[held]][0])}; a fold "
                "must score other rows than it fits."
            )
        out.append(_Fold(np.flatnonzero(~mask), held))
    return out


def _told_classes(scorer: Any, y: np.ndarray, folds: list[_Fold]) -> Any:
    """The scorer, told of all classes where a fold's rows do not show them and it can be told."""
    classes = np.unique(y)
    if all(len(np.unique(y[fold.scored])) == len(classes) for fold in folds):
        return scorer
    if not hasattr(scorer, "_score_func"):
        return scorer
    known = inspect.signature(scorer._score_func).parameters
    if "labels" not in known:
        return scorer
    told = {"labels": classes}
    if "pos_label" in known and len(classes) == 2:
        told["pos_label"] = classes[-1]
    scorer = copy(scorer)
    scorer._kwargs = {**told, **scorer._kwargs}
    return scorer


@dataclass(frozen=True)
class _Fold:
    """Rows left out of a fit, and those of them that it is judged by."""

    out: np.ndarray
    scored: np.ndarray


@dataclass
class _Found:
    models: list[Any]
    certificates: list[list[Any]]
    scores: np.ndarray
    fold_models: list[list[Any]]


def _collected(
    run: _Run, order: np.ndarray, scorer: Any, scored_with: dict[str, Any], keep_folds: bool = False
) -> _Found:
    """Make the fits; keep those to all rows, and the scores and certificates of the others."""
    n_values, n_folds = len(run.values), len(run.folds)
    found = _Found(
        [None] * n_values,
        [[None] * n_values for _ in range(n_folds)],
        np.full((n_folds, n_values), np.nan),
        [[None] * n_values for _ in range(n_folds if keep_folds else 0)],
    )

    def score(i: int, j: int, member: Any) -> None:
        held = run.folds[j].scored
        options = {k: v if v is None else _safe_indexing(v, held) for k, v in scored_with.items()}
        try:
            found.scores[j, i] = scorer(
                member, _safe_indexing(run.rows, held), run.y[held], **options
            )
        except AttributeError as error:
            # Scikit-learn's scorers look for what a model gives only then.
            raise ValueError(f"this scoring does not suit the model: {error}") from error

    # A scorer of one's own may have a memory: it is called as scikit-learn calls it, fold by fold,
    # each along the values as given. A time limit counts the scores, so with one they are not kept
    # for the end.
    afterwards = keep_folds and callable(run.scoring) and run.deadline == np.inf
    for i, j, member in run.model._path_fits(run):
        for name in ("_fitting", "_ready"):
            member.__dict__.pop(name, None)
        if j == 0:
            if hasattr(member, "_without_rows"):
                member._without_rows()
            found.models[i] = member
            continue
        found.certificates[j - 1][i] = member.certificate_
        if keep_folds:
            found.fold_models[j - 1][i] = member
        if not afterwards:
            score(i, j - 1, member)
    for j, members in enumerate(found.fold_models if afterwards else ()):
        for i in np.argsort(order).tolist():
            if members[i] is not None:
                score(i, j, members[i])
    return found


def _in_order(
    run: _Run, found: _Found, values: np.ndarray, order: np.ndarray, scoring: Any, prepared: Any
) -> Path:
    """The values that were reached, in the order given."""
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    reached = np.array([found.models[p] is not None for p in place])
    kept = place[reached]
    models = tuple(found.models[p] for p in kept)
    name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
    if scoring is None:
        name = "accuracy" if is_classifier(prepared) else "R^2"
    return Path(
        parameter=run.parameter,
        values=values[reached],
        certificates=tuple(model.certificate_ for model in models),
        scores=found.scores[:, kept] if run.folds else None,
        fold_certificates=tuple(tuple(row[p] for p in kept) for row in found.certificates),
        scoring=name if run.folds else "",
        not_reached=values[~reached],
        models=models,
        fold_models=tuple(tuple(row[p] for p in kept) for row in found.fold_models),
        # Of a kernel machine alone, whose models leave their support vectors to it.
        matrix=run.matrix if hasattr(prepared, "_with_rows") else None,
    )


def _summed_up(path: Path, limit: float | None) -> Joined | None:
    """The one sentence about what is above its tolerance or was not reached."""
    missed = [i for i, c in enumerate(path.certificates) if not c.ok]
    folds = [c for row in path.fold_certificates for c in row if c is not None and not c.ok]
    parts = []
    if missed:
        worst = max(missed, key=lambda i: _excess(path.certificates[i]))
        parts.append(
            Message(
                "path_above_tol",
                missed=len(missed),
                total=len(path),
                values=_first_values(path.parameter, path.values[missed]),
                worst=str(path.certificates[worst]),
            )
        )
    if folds:
        worst_fold = max(folds, key=_excess)
        parts.append(Message("path_folds_above_tol", missed=len(folds), worst=str(worst_fold)))
    if len(path.not_reached):
        parts.append(
            Message(
                "path_not_reached",
                limit=limit,
                left=len(path.not_reached),
                total=len(path) + len(path.not_reached),
                values=_first_values(path.parameter, path.not_reached),
            )
        )
    return Joined(tuple(parts), separator="; ") if parts else None


def _excess(certificate: Certificate | ResidualCertificate) -> float:
    if isinstance(certificate, ResidualCertificate):
        return certificate.relative_residual
    return certificate.relative_gap
