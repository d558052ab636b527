"""An objective as text: a record of its parts, which are written in one place."""

from __future__ import annotations

from dataclasses import dataclass

from separatrix.losses.base import Loss, score_text
from separatrix.losses.softmax import Softmax


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
    scale : float, optional
        The number that all of it is multiplied by: the strength of the penalty, where that is what
        was given, and the losses have a mean.

    Examples
    --------
    >>> from separatrix.losses import Hinge
    >>> from separatrix.objectives.formula import Formula
    >>> print(Formula("1/2 |w|^2", Hinge(), 3.0, weighted=True))
    minimise 1/2 |w|^2 + 3 * sum s_i max(0, 1 - y (w.x + b))
    >>> print(Formula("1/2 |w|^2", Hinge(), 1 / (0.01 * 150), scale=0.01))
    minimise 0.01/2 |w|^2 + 1/150 * sum max(0, 1 - y (w.x + b))
    """

    penalty: str
    loss: Loss | Softmax | None = None
    factor: float = 1.0
    weighted: bool = False
    intercept: bool = True
    product: str = "w.x"
    constraint: str = ""
    remark: str = ""
    scale: float | None = None

    def __str__(self) -> str:
        terms = [self._scaled_penalty()] if self.penalty else []
        if self.loss is not None:
            weight = "s_i " if self.weighted else ""
            loss = self.loss.written(self.product, self.intercept)
            terms.append(f"{self._scaled_factor()} * sum {weight}{loss}")
        constraint = self.constraint.format(score=score_text(self.product, self.intercept))
        return f"minimise {' + '.join(terms)}{constraint}{self.remark}"

    def _scaled_penalty(self) -> str:
        if self.scale in (None, 1.0):
            return self.penalty
        if self.penalty.startswith("1/"):
            return f"{self.scale:.6g}{self.penalty[1:]}"
        penalty = f"({self.penalty})" if " + " in self.penalty else self.penalty
        return f"{self.scale:.6g} {penalty}"

    def _scaled_factor(self) -> str:
        if self.scale is None:
            return f"{self.factor:.6g}"
        factor = self.scale * self.factor
        if not 0.0 < factor < 1.0:
            return f"{factor:.6g}"
        # For a mean: one over the number of rows, or the sum of their weights.
        return f"1/{1.0 / factor:.6g}"
