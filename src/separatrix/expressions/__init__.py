"""The computations of a fitted model, as a tree: ``predict`` evaluates it, exports print it.

A tree begins with the :mod:`~separatrix.expressions.features`, numbers that are computed from the
cells of a row, goes on with :mod:`~separatrix.expressions.scores`, and ends with
:mod:`~separatrix.expressions.answers`: classes and probabilities. A
:class:`~separatrix.expressions.prediction.Prediction` holds the trees of one model.

Nothing here depends on an estimator, nor on a language that a tree is printed in.
"""

from separatrix.expressions.answers import (
    Clipped,
    Consistent,
    Exp,
    FirstWins,
    Interpolate,
    Leads,
    LogSigmoid,
    Normalised,
    OnItsSide,
    Positive,
    Scaled,
    Sigmoid,
    Softmax,
    Threshold,
    calibrated,
    posterior,
)
from separatrix.expressions.base import Evaluation, Expression, Features, evaluated
from separatrix.expressions.prediction import Prediction
from separatrix.expressions.scores import (
    Affine,
    Difference,
    Fourier,
    KernelSum,
    Monomials,
    Quadratic,
    Shifted,
    Stacked,
    Votes,
    Wins,
)

__all__ = [
    "Affine",
    "Clipped",
    "Consistent",
    "Difference",
    "Evaluation",
    "Exp",
    "Expression",
    "Features",
    "FirstWins",
    "Fourier",
    "Interpolate",
    "KernelSum",
    "Leads",
    "LogSigmoid",
    "Monomials",
    "Normalised",
    "OnItsSide",
    "Positive",
    "Prediction",
    "Quadratic",
    "Scaled",
    "Shifted",
    "Sigmoid",
    "Softmax",
    "Stacked",
    "Threshold",
    "Votes",
    "Wins",
    "calibrated",
    "evaluated",
    "posterior",
]
