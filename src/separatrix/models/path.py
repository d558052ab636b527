"""Fits along a path of strengths, each with its certificate, and the choice among them."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import dataclass, field, fields, replace
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from separatrix.certificate import Certificate, ResidualCertificate
from separatrix.exceptions import MissingPackageError, warn
from separatrix.messages import Joined, Message, Setting
from separatrix.messages.markup import paragraphs_html, table_html
from separatrix.solvers.driver import Interrupt


@dataclass(frozen=True, eq=False, repr=False)
class Path:
    """Fits of one model to the same rows along values of the strength of its penalty.

    It is returned by ``path`` of an estimator.  ``path[i]`` is the fitted model at value number
    ``i`` and ``path.at(value)`` the model at a value; neither is fitted again.

    Attributes
    ----------
    parameter : str
        The parameter that has the values: ``"C"``, ``"lam"``, ``"alpha"`` or ``"shrinkage"``.
    values : ndarray of shape (n_values,)
        In the order given; by default from the strongest penalty to the weakest.
    certificates : tuple of Certificate
        One certificate for each value.
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
        return best_of(self.mean_scores, self._ease)

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
            out["objective"] = [c.scale * c.primal for c in self.certificates]
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
            raise MissingPackageError(
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


def best_of(means: np.ndarray, ease: Callable[[int], float] | None = None) -> int:
    """The index of the best mean score; among equal ones that of the least ``ease``, or the first.

    Raises
    ------
    ValueError
        If all are NaN, so that there is none.
    """
    if np.all(np.isnan(means)):
        raise ValueError(
            "no value was scored on all folds; raise time_limit, or give a scoring that is defined "
            "on each of them."
        )
    best: list[int] = np.flatnonzero(means == np.nanmax(means)).tolist()
    return best[0] if ease is None else min(best, key=ease)


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
