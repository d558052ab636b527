"""The multipliers of the points of a linear SVM, computed from its plane."""

from __future__ import annotations

import numpy as np

from separatrix.studio.fitting import Fitted

# The largest distance from 1 of a margin on the margin line, in a fit with a small gap.
_ON_THE_LINE = 1e-3


def multipliers_of(fit: Fitted, margin: np.ndarray) -> dict[str, np.ndarray]:
    """Multipliers of a linear SVM, and the kind of each point: "free", "bound" or "none".

    They follow from the conditions of Karush, Kuhn and Tucker.  With the hinge loss, a point short
    of its margin has C, one beyond it 0, and those on the margin line have what is left for them
    by the conditions w = sum alpha_i y_i x_i of the weights and 0 = sum alpha_i y_i of the
    intercept; with the squared hinge, each has 2 C times its slack.

    Parameters
    ----------
    fit : Fitted
    margin : ndarray of shape (m,)
        The margin y f(x) of each point that was fitted.

    Returns
    -------
    dict
        ``alpha`` and ``kind``, each of shape (m,): without the first where the multipliers on the
        margin line are not unique, and without either for other models.
    """
    if fit.state.model != "linear_svm":
        return {}
    if hasattr(fit.model, "dual_coef_"):
        alpha = np.zeros(len(margin))
        alpha[fit.model.support_] = np.abs(np.ravel(fit.model.dual_coef_))
        return {"alpha": alpha, "kind": np.where(alpha > 0.0, "free", "none")}
    most = float(fit.options["C"])
    slack = np.maximum(0.0, 1.0 - margin)
    if fit.options["loss"] == "squared_hinge":
        return {"alpha": 2.0 * most * slack, "kind": np.where(slack > 0.0, "free", "none")}
    kind = np.where(margin < 1.0, "bound", "none")
    kind[np.abs(margin - 1.0) <= _ON_THE_LINE] = "free"
    free = kind == "free"
    lifted = fit.y[:, None] * np.column_stack([fit.X, np.ones(len(fit.X))])
    weights = fit.weights
    assert weights is not None
    alpha = np.where(kind == "bound", most, 0.0)
    left = np.append(weights[0], 0.0) - alpha @ lifted
    solved, _, rank, _ = np.linalg.lstsq(lifted[free].T, left, rcond=1e-9)
    if rank < int(free.sum()):
        return {"kind": kind}
    alpha[free] = np.clip(solved, 0.0, most)
    return {"alpha": alpha, "kind": kind}
