"""Exact statements about the points of a state, and the drawings of their witnesses."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.geometry import diagnose, min_training_error, separability
from separatrix.messages import counted
from separatrix.studio.heldout import held_out
from separatrix.studio.state import LIMITS, State, StateError, named
from separatrix.studio.wording import PAGE, sentence

LOADED: set[str] = set()
"""The kinds of proofs that have been made once, so that their loops are compiled."""

# Seconds that a page waits for a proof.
_PATIENCE = 10.0
_UNDECIDED = f"Undecided: {_PATIENCE:g} s were too short for a proof."


def proof_of(state: State, what: str) -> dict[str, Any]:
    """Prove a statement about the points of the first two classes.

    Raises
    ------
    StateError
        Where there are too many points, or they are of one class.
    """
    if what not in list(PROOFS):
        raise StateError(f"There is no proof of {named(what)}.")
    there = np.unique(state.codes).tolist()
    if len(there) < 2:
        raise StateError("Draw points of two classes first: a proof needs both.")
    if len(state.points) > LIMITS["exact"]:
        most = LIMITS["exact"]
        raise StateError(f"A proof is limited to {most} points; erase some.")
    held = held_out(state)
    rows = np.flatnonzero(np.isin(state.codes, there[:2]) & ~held)
    found = PROOFS[what](_ProofRequest(state, rows, *there[:2]))
    LOADED.add(what)
    if len(there) > 2:
        one, other = (state.classes[code] for code in there[:2])
        found["sentence"] = f"Between {one} and {other} alone: {found['sentence']}"
    if held.any():
        found["sentence"] = f"Without the points held out: {found['sentence']}"
    return {"type": "proof", "what": what, **found}


class _ProofRequest:
    """The points of two classes, under the names that the page has for them.

    Attributes
    ----------
    rows : ndarray of int
        The positions of the points among all points of the state.
    X : ndarray of shape (m, 2)
    y : ndarray of shape (m,)
        -1 and +1.
    labels : ndarray
        The names of the points' classes; -1 and +1 where both classes have the same name.
    """

    def __init__(self, state: State, rows: np.ndarray, first: int, second: int) -> None:
        self.rows, self.X = rows, state.points[rows]
        self.y = np.where(state.codes[rows] == second, 1, -1)
        names = state.classes[first], state.classes[second]
        distinct = names[0] != names[1]
        self.labels = np.array(names)[(self.y > 0).astype(int)] if distinct else self.y
        self.axes = list(state.names) if state.names[0] != state.names[1] else None
        # Names are sorted where they are fitted: the positive side may be the first class.
        self._turned = -1.0 if distinct and names[0] > names[1] else 1.0

    def plane(self, plane: Any) -> dict[str, Any]:
        """The numbers of a plane, with the second class on its positive side."""
        coef = self._turned * np.asarray(plane.w, dtype=float)
        return {"coef": coef.tolist(), "intercept": self._turned * float(plane.b)}


def _separability(request: _ProofRequest) -> dict[str, Any]:
    X, y, rows = request.X, request.y, request.rows
    found: Any = separability(X, request.labels, time_limit=_PATIENCE)
    drawn: dict[str, Any] = {
        "verdict": str(found.status),
        "sentence": _UNDECIDED if found.status == "undecided" else sentence(str(found)),
        "strip": None,
        "common": None,
    }
    if found.separable and found.hyperplane is not None:
        # From the plane to the nearest point of either class.
        width = None if found.margin is None else 2.0 * float(found.margin.lower)
        drawn["strip"] = {"theta": request.plane(found.hyperplane), "width": width}
    elif hasattr(found.witness, "multipliers"):
        weights = np.array([float(value) for value in found.witness.multipliers])
        chosen = np.asarray(found.witness.rows, dtype=np.int64)
        own = y[chosen] > 0
        point = (weights[own] @ X[chosen[own]]) / weights[own].sum()
        drawn["common"] = {
            "point": point.tolist(),
            "weights": [
                [int(row), float(weight)]
                for row, weight in zip(rows[chosen].tolist(), weights.tolist(), strict=True)
            ],
        }
    return drawn


def _fewest(request: _ProofRequest) -> dict[str, Any]:
    found = min_training_error(request.X, request.labels, time_limit=_PATIENCE)
    plane = None if found.hyperplane is None else request.plane(found.hyperplane)
    text = sentence(str(found))
    if not found.exact:
        text = (
            f"A line makes {counted(int(found.upper), 'mistake')}, and no line makes fewer than "
            f"{int(found.lower)}; {_PATIENCE:g} s were too short to find the fewest."
        )
    return {
        "verdict": str(found.status),
        "sentence": text,
        "fewest": {"mistakes": int(found.upper), "theta": plane},
    }


def _diagnosis(request: _ProofRequest) -> dict[str, Any]:
    found = diagnose(
        request.X,
        request.labels,
        time_limit=_PATIENCE,
        feature_names=request.axes,
        # The rows' numbers, as the page counts them.
        row_numbers=request.rows + 1,
    )
    findings = [
        " ".join(sentence(PAGE(part)) for part in (one.what, one.remedy) if part) for one in found
    ]
    text = f"{counted(len(findings), 'finding')}." if findings else "No fault was found."
    return {"verdict": "findings", "sentence": text, "findings": findings}


PROOFS = {"separability": _separability, "fewest": _fewest, "diagnosis": _diagnosis}
