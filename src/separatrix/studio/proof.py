"""Exact statements about the points of a state, and what is drawn of their witnesses."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.geometry import diagnose, min_training_error, separability
from separatrix.studio.state import LIMITS, State, StateError

__all__ = ["PROOFS", "proof_of"]

# Seconds that a page waits for one.
_PATIENCE = 10.0


def proof_of(state: State, what: str) -> dict[str, Any]:
    """What is true of the points of the first two classes that there are.

    Raises
    ------
    StateError
        Where there are too many points, or they are of one class.
    """
    if what not in list(PROOFS):
        raise StateError(f"There is no proof of {str(what)[:40]!r}.")
    there = np.unique(state.codes).tolist()
    if len(there) < 2:
        raise StateError("Draw points of two classes, and there is something to prove.")
    if len(state.points) > LIMITS["exact"]:
        most = LIMITS["exact"]
        raise StateError(f"Proofs are made of up to {most} points; erase some of these.")
    rows = np.flatnonzero(np.isin(state.codes, there[:2]))
    X, y = state.points[rows], np.where(state.codes[rows] == there[1], 1, -1)
    return {"type": "proof", "what": what, **PROOFS[what](X, y, rows)}


def _plane(plane: Any) -> dict[str, Any]:
    return {"coef": np.asarray(plane.w, dtype=float).tolist(), "intercept": float(plane.b)}


def _separability(X: np.ndarray, y: np.ndarray, rows: np.ndarray) -> dict[str, Any]:
    found: Any = separability(X, y, time_limit=_PATIENCE)
    made: dict[str, Any] = {
        "verdict": str(found.status),
        "sentence": f"{found}.",
        "strip": None,
        "common": None,
    }
    if found.separable and found.hyperplane is not None:
        # From the plane to the nearest point of either class.
        width = None if found.margin is None else 2.0 * float(found.margin.lower)
        made["strip"] = {"theta": _plane(found.hyperplane), "width": width}
    elif hasattr(found.witness, "multipliers"):
        weights = np.array([float(value) for value in found.witness.multipliers])
        chosen = np.asarray(found.witness.rows, dtype=np.int64)
        own = y[chosen] > 0
        point = (weights[own] @ X[chosen[own]]) / weights[own].sum()
        made["common"] = {
            "point": point.tolist(),
            "weights": [
                [int(row), float(weight)]
                for row, weight in zip(rows[chosen].tolist(), weights.tolist(), strict=True)
            ],
        }
    return made


def _fewest(X: np.ndarray, y: np.ndarray, rows: np.ndarray) -> dict[str, Any]:
    found = min_training_error(X, y, time_limit=_PATIENCE)
    plane = None if found.hyperplane is None else _plane(found.hyperplane)
    return {
        "verdict": str(found.status),
        "sentence": f"{found}.",
        "fewest": {"mistakes": int(found.upper), "theta": plane},
    }


def _diagnosis(X: np.ndarray, y: np.ndarray, rows: np.ndarray) -> dict[str, Any]:
    found = diagnose(X, y, time_limit=_PATIENCE)
    findings = [f"{one.what}. {one.remedy}".strip() for one in found]
    sentence = f"{len(findings)} findings." if findings else "Nothing was found to be wrong."
    return {"verdict": "findings", "sentence": sentence, "findings": findings}


PROOFS = {"separability": _separability, "fewest": _fewest, "diagnosis": _diagnosis}
