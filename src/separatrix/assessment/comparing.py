"""Several models on the same folds: which is best, and which differences may be chance."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit
from sklearn.base import clone, is_regressor
from sklearn.utils import get_tags

from separatrix.data.splitting import Fold, drawn_folds
from separatrix.data.validation import sample_weight_of
from separatrix.messages import counted, join, message_of
from separatrix.messages.markup import paragraphs_html, table_html
from separatrix.models.registry import OFFERS, compared, estimator
from separatrix.models.search import Judge, scorer_of
from separatrix.tables.target import is_quantity

__all__ = ["Comparison", "Contender", "Entry", "compare", "contenders", "race", "settings_of"]

# Beyond so many rows a kernel machine is fitted to landmarks.
_MANY_ROWS = 3000
_LANDMARKS = {"approximation": "nystroem", "components": 300}
_TOL = 1e-4


@dataclass(frozen=True, eq=False)
class Entry:
    """A model that takes part, and the matrix that it sees."""

    estimator: Any
    X: Any


@dataclass(frozen=True, eq=False)
class Contender:
    """What came of one model.

    Attributes
    ----------
    name : str
    estimator : estimator
        Not fitted.
    scores : ndarray of shape (n_folds,)
        On the rows of each fold that it was not fitted to; NaN where it has none.
    seconds : float
        Of the fits to all folds.
    gap : float or None
        The largest certified relative gap of the fits, of a closed form its largest residual;
        None of a model without a certificate.
    certified : bool
        Whether every fit reached its tolerance.
    status : str
        How the fit that came least far ended.
    why : str
        Why there are no scores, in a sentence; empty where there are.
    """

    name: str
    estimator: Any
    scores: np.ndarray
    seconds: float
    gap: float | None
    certified: bool
    status: str
    why: str = ""

    @property
    def score(self) -> float:
        """The mean over the folds."""
        return float(np.mean(self.scores))


@dataclass(frozen=True, eq=False)
class Comparison:
    r"""Models on the same folds, the best first.

    Attributes
    ----------
    contenders : tuple of Contender
        By falling score; those without one at the end.
    scoring : str
        What the scores are.
    n_folds : int
    n_samples : int
    shares : float
        Rows scored for each row fitted, in a fold.
    interrupted : bool
        Whether Ctrl-C ended it before the last model.

    Notes
    -----
    The difference of two models has one value a fold, :math:`d_1, \dots, d_k`. The folds share
    most of the rows that they fit, so :math:`s^2 / k` says too little of how much their mean
    would vary; the interval is that of Nadeau and Bengio (2003), Inference for the
    generalization error: :math:`\bar d \pm t_{k-1} \sqrt{(1/k + n_{score} / n_{fit})\, s^2}`, at
    95 %. That the best was chosen by the same scores is not accounted for.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import compare
    >>> compare(*load_iris(return_X_y=True), ["lda", "stump"])
    <Comparison of 2 models: lda 0.9667>
    """

    contenders: tuple[Contender, ...]
    scoring: str
    n_folds: int
    n_samples: int
    shares: float
    interrupted: bool = False

    @property
    def best(self) -> Contender:
        """The one with the highest score."""
        return self.contenders[0]

    def behind(self, contender: Contender) -> tuple[float, float, float] | None:
        """How far a contender is behind the best: the mean over the folds and its interval.

        Returns
        -------
        mean, low, high : float
            None where one of them has no scores.
        """
        apart = self.best.scores - contender.scores
        if not np.isfinite(apart).all():
            return None
        mean, k = float(np.mean(apart)), len(apart)
        if k < 2:
            return mean, -math.inf, math.inf
        error = math.sqrt((1.0 / k + self.shares) * float(np.var(apart, ddof=1)))
        half = float(stdtrit(k - 1, 0.975)) * error
        return mean, mean - half, mean + half

    def noise(self, contender: Contender) -> bool:
        """Whether chance alone may have put a contender behind the best."""
        found = self.behind(contender)
        return found is not None and contender is not self.best and found[1] <= 0.0

    def table(self) -> list[dict[str, Any]]:
        """One record a contender, of plain values."""
        rows = []
        for one in self.contenders:
            found = self.behind(one)
            rows.append(
                {
                    "model": one.name,
                    "score": None if one.why else one.score,
                    "scores": None if one.why else one.scores.tolist(),
                    "behind": None if found is None else found[0],
                    "behind_interval": None if found is None else list(found[1:]),
                    "noise": self.noise(one),
                    "seconds": one.seconds,
                    "gap": one.gap,
                    "certified": one.certified,
                    "status": one.status,
                    "why": one.why or None,
                }
            )
        return rows

    def lines(self) -> list[list[str]]:
        """The table in words, with its heads."""
        rows = [["model", self.scoring, "behind the best", "s", "gap"]]
        for one in self.contenders:
            score = "-" if one.why else f"{one.score:.{self.digits}f}"
            rows.append([one.name, score, self._apart(one), _seconds(one.seconds), _gap(one)])
        return rows

    @property
    def digits(self) -> int:
        """Decimals of scores: as many as so many rows can tell apart."""
        return 3 if self.n_samples < 10_000 else 4

    def _apart(self, one: Contender) -> str:
        found = self.behind(one)
        if one is self.best and found is not None:
            return "best"
        if found is None:
            return "-"
        mean, low, high = (f"{end:.{self.digits}f}" for end in found)
        return f"{'~ ' if self.noise(one) else ''}{mean} [{low}, {high}]"

    @property
    def verdict(self) -> str:
        """The conclusion about the differences, in a sentence."""
        if self.best.why:
            return "no model could be scored"
        scored = [one for one in self.contenders if not one.why]
        close = [one.name for one in scored if self.noise(one)]
        if len(scored) == 1:
            return f"{self.best.name} is the only one with a score"
        if not close:
            return f"{self.best.name} is best, by more than chance explains on these folds"
        return (
            f"{self.best.name} may be ahead of {join(close)} by chance alone: the 95 % interval of "
            "the difference reaches 0"
        )

    def __str__(self) -> str:
        rows = self.lines()
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        table = [
            "  ".join(
                word.ljust(width) if i == 0 else word.rjust(width)
                for i, (word, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        return "\n".join([*table, self.verdict, *self.remarks()])

    def remarks(self) -> list[str]:
        """Which models have no score, and why, and of which a fit is marked in the list."""
        unfinished = "a fit stopped above its tolerance, which the list marks with !"
        reasons = (
            (one, one.why or ("" if one.certified else unfinished)) for one in self.contenders
        )
        return [f"{one.name}: {why}" for one, why in reasons if why]

    def __repr__(self) -> str:
        if self.best.why:
            return f"<Comparison of {counted(len(self.contenders), 'model')}>"
        return (
            f"<Comparison of {counted(len(self.contenders), 'model')}: {self.best.name} "
            f"{self.best.score:.4f}>"
        )

    def _repr_html_(self) -> str:
        sentences = paragraphs_html((self.verdict, *self.remarks()))
        return table_html(self.lines()) + sentences


def _seconds(value: float) -> str:
    return f"{value:.2f}" if value < 10.0 else f"{value:,.0f}"


def _gap(one: Contender) -> str:
    # Where the bound is zero, nothing is known: a perceptron's, with mistakes left.
    if one.gap is None or one.gap >= 1.0:
        return "-" if one.certified else "- !"
    return f"{one.gap:.0e}" + ("" if one.certified else " !")


def contenders(n_samples: int, *, quantity: bool = False, random_state: int = 0) -> dict[str, Any]:
    """The models that are compared where none are named, by their names.

    Parameters
    ----------
    n_samples : int
        From 3,000 rows on the kernel machine is one on 300 landmarks.
    quantity : bool
        Whether a number is predicted rather than a class.
    random_state : int
    """
    from sklearn.dummy import DummyClassifier, DummyRegressor

    models: dict[str, Any] = {}
    for name in compared(quantity=quantity):
        offer = OFFERS[name]
        of_classes = offer.of_classes and not quantity
        kind = estimator(offer.of_classes if of_classes else offer.estimator)
        options = {**offer.defaults, **settings_of(name, n_samples)}
        models[name] = kind(**{offer.called.get(key, key): one for key, one in options.items()})
        if "random_state" in models[name].get_params(deep=False):
            models[name].set_params(random_state=random_state)
    models["constant"] = DummyRegressor() if quantity else DummyClassifier()
    return models


def settings_of(name: str, n_samples: int) -> dict[str, Any]:
    """The options with which a model takes part, by their names at the command line."""
    offer = OFFERS[name]
    settings = dict(offer.compared or {})
    if "tol" in offer.takes:
        settings["tol"] = _TOL
    if "approximation" in offer.takes and n_samples > _MANY_ROWS:
        settings |= _LANDMARKS
    return settings


def for_targets(models: Mapping[str, Any], y: np.ndarray) -> list[str]:
    """The models that suit the targets: those of counts are for whole numbers from 0 on alone."""
    if y.dtype.kind not in "iuf" or (np.all(y >= 0.0) and np.array_equal(y, np.floor(y))):
        return list(models)
    return [name for name, one in models.items() if not get_tags(one).target_tags.positive_only]


def compare(
    X: Any,
    y: Any,
    models: Mapping[str, Any] | Sequence[str] | str | None = None,
    *,
    cv: Any = 5,
    scoring: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    times: Any = None,
    standardise: bool = True,
    random_state: int = 0,
) -> Comparison:
    """Fit several models to the same folds, certified, and say which differences are noise.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Classes, or a quantity: numbers with fractions, or more different ones than classes have.
    models : mapping of str to estimator, sequence of str, or str, optional
        What takes part, or the names of some of those that do by default, or ``"all"``: of classes
        ``logistic``, ``svm``, ``kernel-svm`` (on landmarks for many rows), ``lda``, ``qda``,
        ``lstsq``, ``perceptron``, ``stump`` and ``constant``, of a quantity ``lstsq``, ``huber``,
        ``poisson`` (of whole numbers from 0 on), ``poly`` and ``constant``.
    cv : int, splitter or iterable, default=5
        How many folds, drawn at random and for classes class by class; equal rows stay together.
    scoring : str or callable, optional
        One of scikit-learn's scorers; accuracy, or R^2 of a quantity, by default.
    sample_weight : array-like of shape (n_samples,), optional
        For the fits and the scores; rows of weight zero are in no fold.
    groups : array-like of shape (n_samples,), optional
        Rows of one group stay on one side.
    times : array-like of shape (n_samples,), optional
        Numbers by which each fold fits the rows before those that it scores: forward chaining.
    standardise : bool, default=True
        Bring columns to mean 0 (dense ones) and spread 1 beforehand, as penalties and kernels
        want it.
    random_state : int, default=0
        Of the folds and the fits.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        For bad data, more folds than the rows bear, or a name that is not among the models.

    See Also
    --------
    LogisticRegression.path : One model over a range of strengths.

    References
    ----------
    Nadeau and Bengio (2003), Inference for the generalization error.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import compare
    >>> found = compare(*load_iris(return_X_y=True), ["lda", "stump", "constant"])
    >>> [(one.name, round(one.score, 2)) for one in found.contenders]
    [('lda', 0.97), ('stump', 0.66), ('constant', 0.33)]
    >>> found.noise(found.contenders[1])
    False
    """
    from sklearn.preprocessing import StandardScaler
    from sklearn.utils import check_X_y

    X, y = check_X_y(X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
    quantity = y.dtype.kind in "iuf" and is_quantity(y.astype(np.float64))
    if standardise:
        X = StandardScaler(with_mean=isinstance(X, np.ndarray)).fit_transform(X)
    if not isinstance(models, Mapping):
        known = contenders(len(y), quantity=quantity, random_state=random_state)
        given = [models] if isinstance(models, str) else models
        everything = given is None or list(given) == ["all"]
        names = for_targets(known, y) if everything else list(given or ())
        for name in names:
            if name not in known:
                raise ValueError(f"{name!r} is not one of the models: {', '.join(known)}.")
        models = {name: known[name] for name in names}
    if not models:
        raise ValueError("models is empty; name at least one.")
    weights = sample_weight_of(sample_weight, X)
    folds = drawn_folds(
        cv, X, y, weights, groups, times=times, stratify=not quantity, seed=random_state
    )
    entries = {name: Entry(model, X) for name, model in models.items()}
    return race(entries, y, folds, scoring=scoring, sample_weight=weights)


def race(
    entries: Mapping[str, Entry],
    y: np.ndarray,
    folds: Sequence[Fold],
    *,
    scoring: Any = None,
    sample_weight: Any = None,
    on_progress: Callable[[str, int], None] | None = None,
) -> Comparison:
    """Fit and score every entry on every fold; Ctrl-C ends it with what is done.

    Parameters
    ----------
    entries : mapping of str to Entry
    y : ndarray of shape (n_samples,)
    folds : sequence of pairs of ndarray
    scoring, sample_weight
        As for :func:`compare`.
    on_progress : callable, optional
        Called with the name of the model and the number of the fold before each fit.
    """
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    found: list[Contender] = []
    interrupted = False
    try:
        for name, entry in entries.items():
            on_fold = (lambda k, name=name: on_progress(name, k)) if on_progress else None
            found.append(_run(name, entry, y, folds, scoring, weights, on_fold))
    except KeyboardInterrupt:
        if not found:
            raise
        interrupted = True
    found.sort(key=lambda one: -math.inf if one.why else one.score, reverse=True)
    shares = float(np.mean([len(held) / len(fit) for fit, held in folds]))
    named = scoring if isinstance(scoring, str) else None
    first = next(iter(entries.values())).estimator
    default = "R^2" if is_regressor(first) else "accuracy"
    return Comparison(
        tuple(found),
        named or (default if scoring is None else "score"),
        len(folds),
        len(y),
        shares,
        interrupted,
    )


def _run(
    name: str,
    entry: Entry,
    y: np.ndarray,
    folds: Sequence[Fold],
    scoring: Any,
    weights: np.ndarray | None,
    on_progress: Callable[[int], None] | None,
) -> Contender:
    """One model on all folds; what it refuses becomes the reason why it has no scores."""
    scores, certificates, seconds = np.full(len(folds), math.nan), [], 0.0
    why = ""
    if scoring is None and is_regressor(entry.estimator):
        # One measure for all, whatever the score of each is.
        scoring = "r2"
    metadata = {} if weights is None else {"sample_weight": weights}
    judge = Judge(scorer_of(entry.estimator, scoring), entry.X, y, metadata)
    try:
        with warnings.catch_warnings():
            # How far each fit came stands in the table.
            warnings.simplefilter("ignore")
            for k, (fit, held) in enumerate(folds):
                if on_progress is not None:
                    on_progress(k)
                model = clone(entry.estimator)
                own = {} if weights is None else {"sample_weight": weights[fit]}
                start = time.perf_counter()
                model.fit(entry.X[fit], y[fit], **own)
                seconds += time.perf_counter() - start
                certificates.append(getattr(model, "certificate_", None))
                scores[k] = judge.on(held)(model)
    except (ValueError, TypeError, AttributeError, MemoryError) as error:
        why = " ".join(message_of(error).split()).rstrip(".") or type(error).__name__
    if not why and not np.isfinite(scores).all():
        why = "the scorer did not return a number"
    there = [one for one in certificates if one is not None]
    gaps = [getattr(one, "relative_gap", getattr(one, "relative_residual", None)) for one in there]
    numbers = [gap for gap in gaps if gap is not None and math.isfinite(gap)]
    worst = next((one for one in there if not one.ok), there[0] if there else None)
    return Contender(
        name,
        entry.estimator,
        scores,
        seconds,
        max(numbers) if numbers and len(numbers) == len(gaps) else None,
        all(one.ok for one in there),
        "" if worst is None else str(worst.status),
        why,
    )
