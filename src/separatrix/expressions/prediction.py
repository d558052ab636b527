"""The trees of one model: its scores, its class and its probabilities."""

from __future__ import annotations

from dataclasses import dataclass

from separatrix.expressions.base import Expression


@dataclass(eq=False, slots=True)
class Prediction:
    """The results that a fitted model computes from the features of a row.

    Attributes
    ----------
    scores : Expression
        The numbers that a regression predicts, or the scores that the class of a row follows from:
        one column for two classes, positive for the second; one for each class for more.
    label : Expression, optional
        The place of the predicted class among ``classes``; None for a regression.
    classes : tuple
        The classes, plain Python values; empty for a regression.
    probabilities : Expression, optional
        One column for each class; None for a model without probabilities.
    reported : Expression, optional
        The scores of ``decision_function``, where they are others than ``scores``.
    """

    scores: Expression
    label: Expression | None = None
    classes: tuple[object, ...] = ()
    probabilities: Expression | None = None
    reported: Expression | None = None
