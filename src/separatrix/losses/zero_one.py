"""The zero-one loss."""

from __future__ import annotations

import numpy as np

from separatrix.losses.base import MarginLoss


class ZeroOneLoss(MarginLoss):
    r"""The zero-one loss: 1 for a mistake, :math:`z \le 0`, else 0.

    Classifiers are judged by it, and no method minimises it: it is not convex, and flat
    wherever it has a derivative.  A point on the plane counts as a mistake.  Its conjugate is
    that of the constant 0, its convex envelope: 0 at :math:`u = 0`, else infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import ZeroOneLoss
    >>> ZeroOneLoss().value(np.array([-1.0, 0.0, 1.0])).tolist()
    [1.0, 1.0, 0.0]
    """

    key = "zero_one"
    name = "zero-one"
    synonyms = ("0-1",)
    expression = "1 if {z} <= 0 else 0"
    conjugate_formula = "0 for u = 0, else inf"
    convex = False
    smooth = False
    zero_one_factor = 1.0

    def value(self, z: np.ndarray) -> np.ndarray:
        return np.where(z <= 0.0, 1.0, 0.0)

    def derivative(self, z: np.ndarray) -> np.ndarray:
        """Zero; at the step itself there is none, and zero stands for it."""
        return np.zeros(np.shape(z))

    def conjugate(self, u: np.ndarray) -> np.ndarray:
        return np.where(np.asarray(u) == 0.0, 0.0, np.inf)
