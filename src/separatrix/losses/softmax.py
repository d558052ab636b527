"""The multinomial log loss."""

from __future__ import annotations

import numpy as np

from separatrix._compiled.linear_algebra import largest_of_rows, sums_of_rows


class Softmax:
    r"""The multinomial logistic loss :math:`\log\sum_k e^{s_k} - s_y` of K scores.

    Its conjugate at :math:`p - e_y`, for a probability vector :math:`p`, is
    :math:`\sum_k p_k \log p_k`.  Not a loss of one margin, so it stands beside :class:`Loss`.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.losses import Softmax
    >>> Softmax().value(np.zeros((1, 4)), np.array([2])).round(4).tolist()   # log 4
    [1.3863]
    """

    name = "multinomial log loss"
    smooth = True
    unattained = True
    recedes = True

    def written(self, product: str = "w.x", intercept: bool = True) -> str:
        """The loss as text; each class has weights of its own, whatever ``product`` is of."""
        return "log sum_k exp(s_k - s_y), s_k = w_k.x" + (" + b_k" if intercept else "")

    def value(self, scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """The loss of every row; ``scores`` is (n, K), ``codes`` (n,) the class numbers."""
        # Relative to the label's own score, and with log1p where that is the largest: the loss
        # of a row far on its side keeps its digits.
        rows = np.arange(len(codes))
        relative = scores - scores[rows, codes][:, None]
        relative[rows, codes] = -np.inf
        largest = np.maximum(largest_of_rows(relative), 0.0)
        rest = sums_of_rows(np.exp(relative - largest[:, None]))
        return largest + np.log1p(rest + np.expm1(-largest))

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the probability of every class for each row of ``scores``, shape (n, K)."""
        shifted = scores - largest_of_rows(scores)[:, None]
        np.exp(shifted, out=shifted)
        shifted /= sums_of_rows(shifted)[:, None]
        return shifted

    def negative_entropy(self, p: np.ndarray) -> np.ndarray:
        """The conjugate of every row: ``sum_k p_k log p_k``."""
        return sums_of_rows(entropy_terms(p))

    def divergence(self, p: np.ndarray, scores: np.ndarray) -> np.ndarray:
        r"""Fenchel-Young gap of every row: :math:`\mathrm{KL}(p \,\|\, \mathrm{softmax}(s))`."""
        return self.divergence_and_entropy(p, scores)[0]

    def divergence_and_entropy(
        self, p: np.ndarray, scores: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return :meth:`divergence` and :meth:`negative_entropy`, which share their logarithms."""
        # log1p of what the others are beside the largest score: scipy's sum takes ten times as long
        # for a few hundred rows.
        rows, first = np.arange(len(scores)), scores.argmax(axis=1)
        log_q = scores - scores[rows, first][:, None]
        odds = np.exp(log_q)
        odds[rows, first] = 0.0
        log_q -= np.log1p(sums_of_rows(odds))[:, None]
        terms = entropy_terms(p)
        return sums_of_rows(terms - p * log_q), sums_of_rows(terms)


def entropy_terms(p: np.ndarray) -> np.ndarray:
    """``p log p``, zero where ``p`` is: several times as fast as scipy's ``xlogy``."""
    out = np.log(np.where(p == 0.0, 1.0, p))
    out *= p
    return out
