"""Several models on the same folds: which is best, and which differences may be chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from separatrix.assessment.comparison import Comparison
from separatrix.assessment.racing import Entry, race, yardstick_of
from separatrix.data.splitting import drawn_folds
from separatrix.data.validation import sample_weight_of
from separatrix.models.registry import OFFERS, compared, estimator
from separatrix.tables.target import is_quantity

# Beyond so many rows a kernel machine is fitted to landmarks.
_MANY_ROWS = 2000
_LANDMARKS = {"approximation": "nystroem", "components": 300}
_TOL = 1e-4


def contenders(
    n_samples: int, *, quantity: bool = False, probabilities: bool = False, random_state: int = 0
) -> dict[str, Any]:
    """The models that are compared where none are named, by their names.

    Parameters
    ----------
    n_samples : int
        Above 2,000 rows the kernel machine is one on 300 landmarks.
    quantity : bool
        Whether a number is predicted rather than a class.
    probabilities : bool
        Whether probabilities are scored, for which models that have none are calibrated.
    random_state : int
    """
    from sklearn.dummy import DummyClassifier, DummyRegressor

    models: dict[str, Any] = {}
    for name in compared(quantity=quantity):
        offer = OFFERS[name]
        of_classes = offer.of_classes and not quantity
        kind = estimator(offer.of_classes if of_classes else offer.estimator)
        options = {**offer.defaults, **settings_of(name, n_samples, probabilities=probabilities)}
        models[name] = kind(**{offer.called.get(key, key): one for key, one in options.items()})
        if "random_state" in models[name].get_params(deep=False):
            models[name].set_params(random_state=random_state)
    models["constant"] = DummyRegressor() if quantity else DummyClassifier()
    return models


def settings_of(name: str, n_samples: int, *, probabilities: bool = False) -> dict[str, Any]:
    """The options with which a model takes part, by their names at the command line.

    Parameters
    ----------
    name : str
    n_samples : int
    probabilities : bool
        Whether probabilities are scored: a calibration multiplies the fits, and where classes are
        scored alone it is of no use.
    """
    offer = OFFERS[name]
    settings = dict(offer.compared or {})
    if "tol" in offer.takes:
        settings["tol"] = _TOL
    if "approximation" in offer.takes and n_samples > _MANY_ROWS:
        settings |= _LANDMARKS
    if "calibrate" in offer.takes and probabilities:
        settings["calibrate"] = "sigmoid"
    return settings


def scores_probabilities(scoring: Any) -> bool:
    """Whether a scorer of scikit-learn, or one by its name, needs nothing but probabilities."""
    from sklearn.metrics import get_scorer

    scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
    return getattr(scorer, "_response_method", None) == "predict_proba"


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
    budget: float | None = None,
    yardstick: bool = False,
    random_state: int = 0,
) -> Comparison:
    """Fit several models to the same folds, certified, and report which differences are noise.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Classes, or a quantity: numbers with fractions, or more different ones than classes have.
    models : mapping of str to estimator, sequence of str, or str, optional
        The models that take part, or the names of some of these, or by default ``"all"`` of them:
        for classes ``logistic``, ``svm``, ``kernel-svm`` (on landmarks for many rows), ``lda``,
        ``qda``, ``lstsq``, ``perceptron``, ``stump`` and ``constant``; for a quantity ``lstsq``,
        ``huber``, ``poisson`` (for whole numbers from 0 on), ``poly`` and ``constant``. Where
        probabilities are scored, those named that have none are calibrated.
    cv : int, splitter or iterable, default=5
        The number of folds, which are drawn at random and for classes class by class, with equal
        rows together; or a splitter, or the folds themselves.
    scoring : str or callable, optional
        One of scikit-learn's scorers; by default accuracy, or R^2 for a quantity.
    sample_weight : array-like of shape (n_samples,), optional
        The weights of the rows in fits and scores; rows of weight zero are in no fold.
    groups : array-like of shape (n_samples,), optional
        The groups of the rows; rows of one group stay on one side.
    times : array-like of shape (n_samples,), optional
        Numbers by which each fold fits the rows before those that it scores: forward chaining.
    standardise : bool, default=True
        Bring columns to mean 0 (dense ones) and spread 1 beforehand, as penalties and kernels
        want it.
    budget : float, optional
        The seconds that all models together may take. They are fitted in the order of their
        forecast costs, and a model that the end of the budget interrupts keeps the scores of the
        folds before; without a budget all are fitted.
    yardstick : bool, default=False
        Whether to fit scikit-learn's histogram gradient boosting as well, at its defaults and
        after all others: it is neither linear nor certified, and shows what linearity costs.
    random_state : int, default=0
        The seed of the folds and the fits.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        For bad data, more folds than the rows bear, a name that is not among the models, or a
        budget that is not above 0.

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
        known = contenders(
            len(y),
            quantity=quantity,
            probabilities=scores_probabilities(scoring),
            random_state=random_state,
        )
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
    beside = yardstick_of(X, quantity=quantity, random_state=random_state) if yardstick else None
    return race(
        entries,
        y,
        folds,
        scoring=scoring,
        sample_weight=weights,
        budget=budget,
        yardstick=beside,
    )
