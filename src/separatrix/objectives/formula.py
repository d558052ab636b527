"""An objective as text: a record of its parts, which are written in one place."""

from __future__ import annotations

from dataclasses import dataclass

from separatrix.losses.base import Loss, score_text
from separatrix.losses.softmax import Softmax

__all__ = ["Formula"]


@dataclass(frozen=True)
class Formula:
    """The parts of ``minimise <penalty> + <factor> * sum <weight> <loss> <constraint>``.

    Attributes
    ----------
    penalty : str
        The penalty as text; empty for none.
    loss : Loss or Softmax, optional
        The loss, which writes itself with the score below; None for an objective without one.
    factor : float
        The number that multiplies the sum of the losses.
    weighted : bool
        Whether each loss is multiplied by the weight of its row.
    intercept : bool
        Whether an intercept is part of the score.
    product : str
        The score without an intercept.
    constraint : str
        The constraints, beginning with a space; ``{score}`` in it stands for the score.
    remark : str
        The text that follows all of it.

    Examples
    --------
    >>> from separatrix.losses import Hinge
    >>> from separatrix.objectives.formula import Formula
    >>> print(Formula("1/2 |w|^2", Hinge(), 3.0, weighted=True))
    minimise 1/2 |w|^2 + 3 * sum s_i max(0, 1 - y (w.x + b))
    """

    penalty: str
    loss: Loss | Softmax | None = None
    factor: float = 1.0
    weighted: bool = False
    intercept: bool = True
    product: str = "w.x"
    constraint: str = ""
    remark: str = ""

    def __str__(self) -> str:
        terms = [self.penalty] if self.penalty else []
        if self.loss is not None:
            weight = "s_i " if self.weighted else ""
            loss = self.loss.written(self.product, self.intercept)
            terms.append(f"{self.factor:.6g} * sum {weight}{loss}")
        constraint = self.constraint.format(score=score_text(self.product, self.intercept))
        return f"minimise {' + '.join(terms)}{constraint}{self.remark}"
