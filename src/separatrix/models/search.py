"""The search over strengths: the values, the folds, the scores, Ctrl-C, the time limit, the result.

A search along values (:class:`Search`) has a fit to all rows at each of them, and one for each
fold; where the rows are is for its subclasses to know.  A search for a choice alone
(:func:`fold_scores`) has fits to the folds, of which scores are kept.
"""

from __future__ import annotations

import inspect
import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing, column_or_1d

from separatrix.data.design import Design, as_design
from separatrix.data.labels import Labels, encode
from separatrix.data.splitting import Fold, folds_of
from separatrix.data.validation import check_number, require_classes, sample_weight_of, validate
from separatrix.exceptions import warn
from separatrix.models.limits import deadline_of, seconds_to, shared_deadline
from separatrix.models.path import Path, concluded
from separatrix.solvers.driver import Interrupt
from separatrix.solvers.warm_starts import mean_square

# A default path: how many values, and how many times the first the last is.
_COUNT, _REACH = 20, 1e6
# The same where weights can be zero.
_SPARSE_REACH = 1e3


# --- the request ----------------------------------------------------------------------------------


def wanted_values(given: dict[str, Any]) -> tuple[str, Any]:
    """The parameter along which a path goes, and its values, their number or None."""
    chosen = [name for name, values in given.items() if values is not None]
    if len(chosen) > 1:
        raise ValueError(f"Give {' or '.join(f'{n}s' for n in given)}, not both.")
    parameter = chosen[0] if chosen else next(iter(given))
    return parameter, given[parameter]


def checked_values(
    parameter: str, wanted: Any, *, zero: bool = True
) -> tuple[np.ndarray | None, int]:
    """The values that were given, or None and the number of values to choose.

    ``zero``: whether a penalty of none is among those that may be given.
    """
    if wanted is None:
        return None, _COUNT
    if np.ndim(wanted) == 0:
        check_number(f"{parameter}s", wanted, minimum=1, integer=True)
        return None, int(wanted)
    values = np.asarray(wanted, dtype=object).ravel()
    if not len(values):
        raise ValueError(f"{parameter}s is empty; give at least one value.")
    for value in values:
        check_number(parameter, value, minimum=0 if zero else None, above=None if zero else 0)
    return values.astype(np.float64), len(values)


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


def scorer_of(model: Any, scoring: Any) -> Any:
    """The scorer of a name, a scorer as it is, or for None the model's own score."""
    from sklearn.metrics import check_scoring, get_scorer_names

    if isinstance(scoring, str) and scoring not in get_scorer_names():
        raise ValueError(
            f"scoring={scoring!r} is not known; sklearn.metrics.get_scorer_names() has the names."
        )
    if not (scoring is None or isinstance(scoring, str) or callable(scoring)):
        raise ValueError(
            f"scoring={scoring!r} must be the name of one scorer, or a function of a model, rows "
            "and targets that returns a number."
        )
    return check_scoring(model, scoring=scoring)


def groups_of(params: dict[str, Any]) -> Any:
    """The ``groups`` for the splitter, which is all that ``fit`` takes beside data and weights."""
    for name in params:
        if name != "groups":
            raise TypeError(f"fit() got an unexpected keyword argument {name!r}")
    return params.get("groups")


def rows_at(values: Any, rows: np.ndarray) -> Any:
    """Rows of an array, a sparse matrix, a table or a list."""
    # To look at what they are takes scikit-learn as long as the rows of a small fit.
    return values[rows] if isinstance(values, np.ndarray) else _safe_indexing(values, rows)


@dataclass(frozen=True)
class Judge:
    """Scores of models on rows that they were not fitted to.

    Attributes
    ----------
    scorer : callable
    rows, targets : array-like
        The data and the targets of all rows.
    metadata : dict
        Further arguments of the scorer, by row; None is left as it is.
    """

    scorer: Any
    rows: Any
    targets: Any
    metadata: dict[str, Any]

    def on(self, held: np.ndarray) -> Callable[[Any], float]:
        """The score of a model on some of the rows."""
        options = {
            name: value if value is None else rows_at(value, held)
            for name, value in self.metadata.items()
        }
        rows, targets = rows_at(self.rows, held), rows_at(self.targets, held)

        def score(model: Any) -> float:
            try:
                found = self.scorer(model, rows, targets, **options)
            except (AttributeError, ValueError) as error:
                # Scikit-learn's scorers look for what a model gives and predicts only then.
                raise ValueError(f"this scoring does not suit the model: {error}") from error
            try:
                return float(found)
            except (TypeError, ValueError) as error:
                raise ValueError(f"scoring returned {found!r}; it must return a number.") from error

        return score


def _with_classes(scorer: Any, y: np.ndarray, held: list[np.ndarray]) -> Any:
    """The scorer with all classes as an option, where it has one and a fold's rows lack a class."""
    classes = np.unique(y)
    if all(len(np.unique(y[rows])) == len(classes) for rows in held):
        return scorer
    if not hasattr(scorer, "_score_func"):
        return scorer
    known = inspect.signature(scorer._score_func).parameters
    if "labels" not in known:
        return scorer
    options = {"labels": classes}
    if "pos_label" in known and len(classes) == 2:
        options["pos_label"] = classes[-1]
    scorer = copy(scorer)
    scorer._kwargs = {**options, **scorer._kwargs}
    return scorer


# --- along a path ---------------------------------------------------------------------------------


class Search:
    """Fits of a model along values of its strength, to all rows and to what each fold leaves.

    A subclass reads the rows, sets ``folds``, and makes and judges the fits.  All else is decided
    here: the values and their order, what is kept of each fit, Ctrl-C, the time limit and the one
    warning.  ``_path_values`` of the model gives values of a strength, from the strongest penalty
    to the weakest.

    Parameters
    ----------
    model : estimator
        ``_strengths`` has the parameters that set its strength, and whether the penalty is weaker
        the larger they are.
    given : dict
        Values, their number or None, by the name of the parameter that they are of.
    scoring : str or callable, optional
    keep_folds : bool
        Whether to keep the models of the folds, too.

    Attributes
    ----------
    prepared : estimator
        A copy of the model, from which those of the values are made.
    values : ndarray
        The values, from the strongest penalty (the easiest fit) to the weakest (the hardest).
    order : ndarray
        The place of each value among the values as they were given.
    scores : ndarray of shape (n_folds, n_values)
        NaN where there is none yet.
    """

    interrupt: Interrupt
    order: np.ndarray
    scores: np.ndarray
    # The rows and what they are fitted to.
    design: Any
    labels: Any

    def __init__(
        self, model: Any, given: dict[str, Any], scoring: Any, *, keep_folds: bool
    ) -> None:
        self._limit = getattr(model, "time_limit", None)
        self.deadline = deadline_of(self._limit)
        self.model = model
        self.scoring = scoring
        self.parameter, wanted = wanted_values(given)
        self.prepared = prepared_model(model, self.parameter)
        self._given, self._count = checked_values(
            self.parameter, wanted, zero=self.parameter != "C"
        )
        self._keep_folds = keep_folds
        self.values = np.empty(0)
        self.folds: Sequence[Any] = []

    def path(self) -> Path:
        """Make the fits, and return what came of them.

        Raises
        ------
        PathInterrupt
            If Ctrl-C ended it; the exception has the path.
        """
        with Interrupt() as self.interrupt:
            values = self._given
            if values is None:
                values = self.model._path_values(self.parameter, self._count, self)
            rising = self.model._strengths[self.parameter]
            self.order = np.argsort(values if rising else -values, kind="stable")
            self.values = values[self.order]
            self.scores = np.full((len(self.folds), len(values)), np.nan)
            rows: list[list[Any]] = [[None] * len(values) for _ in range(len(self.folds) + 1)]
            certificates = [list(row) for row in rows]
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                for i, j, member in self._fits():
                    certificates[j][i] = member.certificate_
                    if j == 0 or self._keep_folds:
                        rows[j][i] = member
            path = self._in_order(values, rows, certificates)
        # That a fit is above its tolerance is summed up below; what else there is, once.
        others = {str(w.message): w for w in caught if w.category is not ConvergenceWarning}
        for other in others.values():
            warn(other.message, other.category)
        return concluded(path, self.interrupt, self._limit)

    def mean_square(self, *, centred: bool) -> tuple[float, float]:
        """The sum of the weights of the rows, and the mean square of their lengths."""
        raise NotImplementedError

    def _fits(self) -> Iterator[tuple[int, int, Any]]:
        """The fits: the number of the value, that of the fold or 0 for all rows, and the model.

        The fits to folds are scored here, too.
        """
        raise NotImplementedError

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
        if self.deadline < math.inf:
            out.time_limit = seconds_to(self.deadline, 1 + others)
        return out

    def _in_order(
        self, values: np.ndarray, rows: list[list[Any]], certificates: list[list[Any]]
    ) -> Path:
        """The values that were reached, in the order given."""
        place = np.argsort(self.order)
        reached = np.array([rows[0][p] is not None for p in place])
        kept = place[reached]

        def picked(row: list[Any]) -> tuple[Any, ...]:
            return tuple(row[p] for p in kept)

        name = getattr(self.scoring, "__name__", "score")
        if self.scoring is None or isinstance(self.scoring, str):
            name = self.scoring or ("accuracy" if is_classifier(self.prepared) else "R^2")
        return Path(
            parameter=self.parameter,
            values=values[reached],
            certificates=picked(certificates[0]),
            scores=self.scores[:, kept] if len(self.folds) else None,
            fold_certificates=tuple(picked(row) for row in certificates[1:]),
            scoring=name if len(self.folds) else "",
            not_reached=values[~reached],
            models=picked(rows[0]),
            fold_models=tuple(picked(row) for row in rows[1:]) if self._keep_folds else (),
            matrix=self._shared_matrix,
        )

    # The data that the fits share besides the rows, once one of them has settled it.
    shared: Any = None
    # The matrix of a kernel machine, whose models leave their support vectors to it.
    _shared_matrix: Any = None


@dataclass(frozen=True)
class _LeftOut:
    """Rows left out of a fit, and those of them that it is judged by."""

    out: np.ndarray
    scored: np.ndarray


class RowSearch(Search):
    """A search over rows in memory; ``_path_fits`` of the model makes the fits.

    Parameters
    ----------
    X, y, cv, sample_weight, groups
        See :meth:`separatrix.LogisticRegression.path`.
    scored_with : dict, optional
        Metadata for the scorer, by row; by default the weights.

    Attributes
    ----------
    matrix, y, weights
        The rows, as checked.
    rows
        The rows as given, for code that looks at the columns' names.
    design : Design
    labels : Labels
        The labels of a classifier.
    """

    def __init__(
        self,
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
    ) -> None:
        super().__init__(model, given, scoring, keep_folds=keep_folds)
        classes = is_classifier(model)
        self.matrix, self.y = validate(
            self.prepared, X, y, **({} if classes else {"regression": True})
        )
        if classes:
            require_classes(self.y)
            self.y = column_or_1d(self.y)
        self.weights = sample_weight_of(sample_weight, self.matrix)
        self.rows = X if hasattr(X, "columns") else self.matrix
        scorer = scorer_of(self.prepared, scoring)
        if cv is not None:
            self.folds = _left_out(cv, self.y, self.weights, groups, classes)
        if classes and scoring is not None:
            scorer = _with_classes(scorer, self.y, [fold.scored for fold in self.folds])
        if scored_with is None:
            scored_with = {} if self.weights is None else {"sample_weight": self.weights}
        self._scores = Judge(scorer, self.rows, self.y, scored_with)
        # A scorer of one's own may have a memory: it is called as scikit-learn calls it, fold by
        # fold, each along the values as given.  A time limit counts the scores, so with one they
        # are not kept for the end.
        self._afterwards = keep_folds and callable(scoring) and self.deadline == math.inf
        self.design = as_design(self.matrix).bounded(self.weights)
        if classes:
            self.labels = encode(self.y, self.weights, self._class_weight)
        if hasattr(self.prepared, "_with_rows"):
            self._shared_matrix = self.matrix

    def mean_square(self, *, centred: bool) -> tuple[float, float]:
        square = mean_square(self.design, self.labels.weights, centred=centred)
        return self.labels.weight, square

    def _fits(self) -> Iterator[tuple[int, int, Any]]:
        afterwards = []
        for i, j, member in self.model._path_fits(self):
            if j == 0 and hasattr(member, "_without_rows"):
                member._without_rows()
            yield i, j, member
            if j > 0 and self._afterwards:
                afterwards.append((j - 1, self.order[i], i, member))
            elif j > 0:
                self.scores[j - 1, i] = self._scores.on(self.folds[j - 1].scored)(member)
        for j, _, i, member in sorted(afterwards, key=itemgetter(0, 1)):
            self.scores[j, i] = self._scores.on(self.folds[j].scored)(member)

    @property
    def _class_weight(self) -> Any:
        return getattr(self.model, "class_weight", None)

    def labels_of(self, fold: int) -> Labels:
        """The classes of a fold's fit."""
        if fold == 0:
            return self.labels
        found: Labels = self.labels.without(
            self.folds[fold - 1].out,
            self._class_weight,
            lacking=getattr(self.model, "_lacking_classes", "refuse"),
        )
        return found

    def weights_of(self, fold: int) -> np.ndarray | None:
        """Sample weights of a fold's fit."""
        if fold == 0:
            return self.weights
        out = np.ones(len(self.y)) if self.weights is None else self.weights.copy()
        out[self.folds[fold - 1].out] = 0.0
        return out


def _left_out(
    cv: Any, y: np.ndarray, weights: np.ndarray | None, groups: Any, stratify: bool
) -> list[_LeftOut]:
    """The folds of a splitter, as numbers of the rows."""
    out = []
    for train, held in folds_of(cv, np.zeros((len(y), 1)), y, weights, groups, stratify=stratify):
        mask = np.zeros(len(y), dtype=bool)
        mask[train] = True
        if mask[held].any():
            raise ValueError(
                f"cv has a fold that both fits and scores row {int(held[mask[held]][0])}; a fold "
                "must score other rows than it fits."
            )
        out.append(_LeftOut(np.flatnonzero(~mask), held))
    return out


def alpha_max(design: Design, rows: Any, *, centred: bool, nonnegative: bool = False) -> float:
    """The least ``alpha`` whose L1 penalty makes the weights of all targets zero."""
    levels = np.average(rows.targets, axis=0, weights=rows.weights) if centred else 0.0
    residuals = rows.targets - levels
    if rows.weights is not None:
        residuals = residuals * rows.weights[:, None]
    pulls = [design.t_dot(np.ascontiguousarray(r)) for r in residuals.T]
    slopes = [(pull if nonnegative else np.abs(pull)).max() for pull in pulls]
    # If all targets are alike, any strength will do.
    return max(float(np.max(slopes)) / rows.total, float(np.finfo(np.float64).tiny))


def norm_strengths(
    design: Design, weights: np.ndarray | None, count: int, *, centred: bool
) -> np.ndarray:
    """Factors of the squared norm against a mean over rows, from their mean square down."""
    first = mean_square(design, weights, centred=centred)
    return np.geomspace(first, first / _REACH, count) if count > 1 else np.array([first])


def strengths_of_rows(
    parameter: str, count: int, weight: float, total: float, square: float
) -> np.ndarray:
    """Values of ``C`` or ``lam`` for rows of this mean square, from the strongest penalty on.

    ``weight`` is the sum of the weights of the rows, and ``total`` that of the sample weights.
    """
    low = 1.0 / (weight * square)
    strengths = np.geomspace(low, _REACH * low, count) if count > 1 else np.array([low])
    return strengths if parameter == "C" else 1.0 / (strengths * total)


def sparse_strengths(parameter: str, count: int, first: float, total: float) -> np.ndarray:
    """Values of ``C`` or ``lam`` from the ``C`` at which the first weight is not zero.

    See Friedman, Hastie and Tibshirani (2010, 2.5).
    """
    strengths = first * np.geomspace(1.0, _SPARSE_REACH, count)
    return strengths if parameter == "C" else 1.0 / (strengths * total)


# --- for a choice alone ---------------------------------------------------------------------------


class Clock:
    """The signal that ends the fits along some values.

    Attributes
    ----------
    deadline : float
        On the clock of :func:`time.perf_counter`.
    """

    def __init__(self, interrupt: Interrupt | None = None, deadline: float = math.inf) -> None:
        self._interrupt, self.deadline = interrupt, deadline

    def __call__(self) -> bool:
        """Whether Ctrl-C or the deadline ends them."""
        if self._interrupt is not None and self._interrupt.requested:
            return True
        # Hundreds of short fits call this, and mostly there is no deadline.
        return self.deadline < math.inf and time.perf_counter() > self.deadline

    def shared(self, parts: int) -> Clock:
        """The clock of one of ``parts`` parts that share the time left."""
        return Clock(self._interrupt, shared_deadline(self.deadline, parts))


def fold_scores(
    folds: Sequence[Fold],
    shape: tuple[int, int],
    scores: Callable[[int, Fold, Clock], Iterable[Sequence[float] | np.ndarray]],
    clock: Clock,
) -> np.ndarray:
    """Scores along chains of values on the rows that each fold holds out.

    Each chain of a fold has its share of the time that is left, and so has one fit to all rows.

    Parameters
    ----------
    folds : sequence of pairs of ndarray
    shape : tuple of int
        The number of chains, and of values in each.
    scores : callable
        Called with the number of a fold, its rows and a :class:`Clock`; gives for each chain in
        turn the scores along its values, of which the last may be missing where the clock ends
        them.
    clock : Clock
        The clock that ends all of it.

    Returns
    -------
    ndarray of shape (n_chains, n_values, n_folds)
        NaN where there is no score.
    """
    out = np.full((*shape, len(folds)), np.nan)
    left = len(folds) * shape[0] + 1
    for f, fold in enumerate(folds):
        late = clock.shared(left)
        chains = iter(scores(f, fold, late))
        for r in range(shape[0]):
            late.deadline = clock.shared(left).deadline
            left -= 1
            found = next(chains)
            out[r, : len(found), f] = found
    return out
