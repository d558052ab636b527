"""The parameters that classes share for scikit-learn's sake, and the intended differences."""

from __future__ import annotations

from separatrix.exceptions import ConventionWarning, warn
from separatrix.models.parameters import compat

COPY_X = compat("not needed: the rows are not copied and not changed", default=True)
N_JOBS = compat("not needed: SEPARATRIX_THREADS sets the number of threads", default=None)
NOTHING_RANDOM = compat("not needed: nothing is random", default=None)
POSITIVE = compat(
    "True constrains the weights to be nonnegative",
    (False, True),
    "give True or False",
    default=False,
)
WARM_START = compat("True starts a fit from the weights of the previous one", default=False)

# The differences from scikit-learn that are intended, each reported once.

CONVENTIONS = {
    "free_intercept_of_regression": "the intercept is not penalised here, but scikit-learn's "
    "LinearSVR penalises it with the weights, so intercept_ and "
    "the predictions differ",
    "weights_are_copies": "a row of weight k counts as k copies of the row here, so the mean loss "
    "is divided by the sum of the weights; scikit-learn divides by the "
    "number of rows: give alpha / mean(sample_weight) for its objective",
    "free_perceptron": "under any penalty the perceptron's loss is smallest at zero weights, which "
    "separate no classes, so no penalty is applied here; scikit-learn's steps "
    "shrink the weights",
    "free_intercept": "the intercept is not penalised here, but scikit-learn's LinearSVC penalises "
    "it with the weights, so intercept_ and the scores differ; verify(model, X, "
    "y) shows for both how far each is from its own optimum",
}
_warned: set[str] = set()


def warn_once(convention: str) -> None:
    """Warn of a convention that changes numbers, the first time in a process that it does."""
    if convention not in _warned:
        _warned.add(convention)
        warn(CONVENTIONS[convention], ConventionWarning)
