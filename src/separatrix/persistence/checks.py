"""Whether what was read from a file holds together.

The rules are the estimators' own (`separatrix.data.rules`); here they are applied.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.data.rules import (
    NUMBERS,
    TRUTH,
    WHOLE,
    ModelCheckError,
    Sizes,
    check_attributes,
    number,
    refuse,
    require,
)
from separatrix.models.registry import ESTIMATORS, estimator

# These can be far larger than the model, and belong to the run rather than to the model.
NOT_STORED = frozenset({"path_", "trace_"})


def check_model(model: Any) -> None:
    """Raise ModelCheckError unless the attributes of a fitted model go together.

    Parameters
    ----------
    model : estimator
        A model of this library; nothing is known of any other, and nothing is checked.

    Raises
    ------
    ModelCheckError
        The message says what is wrong, as the end of a sentence.
    """
    if not hasattr(model, "_attributes"):
        return
    _check_parameters(model)
    require(model, ["n_features_in_", *model._needed])
    sizes = Sizes(vars(model), _names_of_all)
    check_attributes(model, sizes)
    further = getattr(model, "_check_attributes", None)
    if further is not None:
        further(sizes)


def _names_of_all() -> frozenset[str]:
    """The attributes of all estimators."""
    rules = [getattr(estimator(name), "_attributes", {}) for name in ESTIMATORS]
    return NOT_STORED.union(*rules)


def check_encoder(encoder: Any, model: Any) -> None:
    """Raise ModelCheckError unless an encoder makes the columns that a model takes."""
    made, taken = encoder.n_features_, getattr(model, "n_features_in_", encoder.n_features_)
    if made != taken:
        raise ModelCheckError(
            f"its encoding makes {made:,} columns, and its {type(model).__name__} takes {taken:,}"
        )


def _check_parameters(model: Any) -> None:
    params = model.get_params(deep=False)
    weights = params.get("class_weight")
    if isinstance(weights, dict):
        for weight in weights.values():
            number(low=0.0)("class_weight", weight, Sizes())
    elif not (weights is None or (isinstance(weights, str) and weights == "balanced")):
        raise refuse("class_weight", "is not a set of class weights")
    for name in ("fit_intercept", "record", "interactions"):
        if name in params and not isinstance(params[name], (*TRUTH, *WHOLE)):
            raise refuse(name, "is neither true nor false")
    if "verbose" in params and not isinstance(params["verbose"], WHOLE):
        raise refuse("verbose", "is not a whole number")
    seed = params.get("random_state")
    if isinstance(seed, WHOLE) and not 0 <= seed < 2**32:
        raise refuse("random_state", "cannot be a seed")
    if params.get("priors") is not None:
        priors = params["priors"]
        numbers = priors if isinstance(priors, (list, tuple)) else np.ravel(priors).tolist()
        if not all(isinstance(prior, NUMBERS) for prior in numbers):
            raise refuse("priors", "are not numbers")
    check = getattr(model, "_check_parameters", None)
    if check is None:
        return
    try:
        check()
    except Exception as error:
        # Whatever a parameter is, what it was meant for refuses it in its own way.
        raise ModelCheckError(f"a parameter is invalid: {error}") from error
