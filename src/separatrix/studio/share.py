"""A link that carries the whole state in its fragment, as the page writes and reads it."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

from separatrix.studio.state import StateError, parse

# The number of steps across the picture to which places are rounded.
_STEPS = 5000
_BEGIN = "#s="


def _decimals(ends: Any) -> int:
    low, high = ends
    return max(0, math.ceil(math.log10(_STEPS / (high - low))))


def to_fragment(state: dict[str, Any]) -> str:
    """The fragment of an address, ``#s=`` with the state behind it.

    Points are rounded to a place in 5,000 across the picture; short decimals come back exactly.

    Parameters
    ----------
    state : dict
        The state, as a page has it.

    Raises
    ------
    StateError
        If the state is invalid.

    Examples
    --------
    >>> from separatrix.studio import StudioModel
    >>> from separatrix.studio.share import from_fragment, to_fragment
    >>> state = {**StudioModel().traits["state"], "points": [[-1, 3, 0], [0, 1.5, 1]]}
    >>> from_fragment(to_fragment(state)) == state
    True
    """
    parse(state)
    q = [_decimals(state["view"][axis]) for axis in ("x", "y")]
    sx, sy = (10.0**k for k in q)
    p = [number for x, y, c in state["points"] for number in (_whole(x * sx), _whole(y * sy), c)]
    shown = ("names", "view", "model", "parameters", "panel", "show", "test", "source", "lift")
    rest = {key: state[key] for key in (*shown, "line") if key in state}
    carried = {"v": 1, "q": q, "p": p, **rest}
    text = json.dumps(carried, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return _BEGIN + base64.urlsafe_b64encode(text.encode()).decode("ascii").rstrip("=")


def _whole(value: float) -> int:
    # As JavaScript rounds: halves go up.
    return math.floor(value + 0.5)


def from_fragment(fragment: str) -> dict[str, Any]:
    """The state that a fragment carries.

    Raises
    ------
    StateError
        If it carries no valid state.
    """
    try:
        letters = fragment.removeprefix(_BEGIN)
        carried = json.loads(base64.urlsafe_b64decode(letters + "=" * (-len(letters) % 4)))
        if not fragment.startswith(_BEGIN) or carried.pop("v") != 1:
            raise ValueError
        (sx, sy), p = (10.0**k for k in carried.pop("q")), carried.pop("p")
        rows = zip(p[::3], p[1::3], p[2::3], strict=True)
        points = [[x / sx, y / sy, c] for x, y, c in rows]
        state = {"version": 1, "points": points, **carried}
    except (AttributeError, ArithmeticError, LookupError, RecursionError, TypeError, ValueError):
        raise StateError("This link does not contain a state of the studio.") from None
    parse(state)
    return state
