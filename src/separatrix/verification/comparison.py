"""The comparison of a recomputed certificate with one that was claimed."""

from __future__ import annotations

import math
from typing import Any

# Two evaluations of one objective, on the same numbers, agree to far better than the first of
# these; the charge of either for its rounding is at most the second, as a share of its tolerance.
# The residual of equations may differ by the third, as a factor.
_SAME_OBJECTIVE = 1e-9
_CHARGED = 2e-3
_SAME_ROUNDING = 1e3


def contradiction(stored: Any, recomputed: Any) -> str | None:
    """A sentence on how a recomputed certificate contradicts the stored one; None if they agree.

    Both lower bounds are proofs, and a longer search finds a better one, so bounds may differ;
    but the objective at the stored weights is one number, and no lower bound can exceed it.
    The residual of linear equations is rounding, which may differ, but not by orders of magnitude.
    """
    if not hasattr(stored, "primal"):
        left, claimed = recomputed.relative_residual, stored.relative_residual
        if not left <= max(_SAME_ROUNDING * claimed, stored.tol) or stored.rank != recomputed.rank:
            return (
                f"the equations hold to {left:.2g} with {recomputed.rank:,} independent columns, "
                f"but the file states {claimed:.2g} with {stored.rank:,}"
            )
        return None
    if recomputed.status == "time_limit" and math.isinf(recomputed.primal):
        # Nothing was recomputed.
        return None
    scale = max(abs(stored.primal), abs(recomputed.primal))
    share = _SAME_OBJECTIVE + _CHARGED * max(stored.tol, recomputed.tol)
    off = abs(stored.primal - recomputed.primal)
    # The test is not "greater": NaN agrees with nothing, and infinity with itself alone.
    same = math.isfinite(scale) and off <= share * scale
    if stored.primal != recomputed.primal and not same:
        return (
            f"the objective is {recomputed.primal:.10g}, but the file states {stored.primal:.10g}"
        )
    if stored.dual > recomputed.primal + share * scale:
        return (
            f"the file states the lower bound {stored.dual:.10g}, above the objective "
            f"{recomputed.primal:.10g}"
        )
    return None
