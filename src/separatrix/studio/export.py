"""One page that needs nothing else, and replays fits that were recorded."""

from __future__ import annotations

import base64
import html
import json
import os
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, Protocol

import numpy as np

from separatrix.data.digests import sha256_of
from separatrix.persistence.model_file import write_atomically
from separatrix.studio.page import joined, style
from separatrix.studio.proof import PROOFS
from separatrix.studio.state import LIMITS, MODELS, PANELS, StateError

# The most letters of the pictures of a model's steps; for later steps the page draws the line.
_MOST_LETTERS = 600_000
# Digits of what is only looked at: more than a screen has places.
_DIGITS = 5
# Width over height of the flattest and of the tallest picture, on a wide screen and on a phone.
_SHAPES = 1.5, 0.85
# Steps of a worksheet: more than anyone writes about.
_MOST_NOTED = 24
_BEGIN = (
    'startReplay(JSON.parse(document.getElementById("recording").textContent), '
    'document.getElementById("studio"), render);\n'
)


class Kernel(Protocol):
    """An object that answers the messages of a page."""

    traits: dict[str, Any]

    def reply(self, message: Any) -> dict[str, Any]:
        """The one answer to a message."""
        ...


def _short(values: Any) -> Any:
    """Numbers with as many digits as are seen."""
    if isinstance(values, float):
        return float(f"{values:.{_DIGITS}g}")
    if isinstance(values, list):
        # Most are numbers, for which a call each would take long.
        return [
            float(f"{value:.{_DIGITS}g}") if type(value) is float else _short(value)
            for value in values
        ]
    if isinstance(values, dict):
        return {key: _short(value) for key, value in values.items()}
    return values


def _seen(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer, or a frame: its weights, steps and certificate are exact."""
    looked_at = ("lines", "field", "ellipses", "points")
    return {key: _short(value) if key in looked_at else value for key, value in answer.items()}


def _answer(kernel: Kernel, message: dict[str, Any]) -> dict[str, Any]:
    answer = kernel.reply(message)
    if answer["type"] == "error":
        raise StateError(answer["text"])
    return answer


def _seen_by_all(view: dict[str, Any]) -> dict[str, Any]:
    """The view that pages show: with one scale for both axes each widens it to its own shape."""
    if not view.get("lock"):
        return view
    (left, right), (bottom, top) = view["x"], view["y"]
    flat, tall = _SHAPES
    more_x = max(0.0, flat * (top - bottom) - (right - left)) / 2.0
    more_y = max(0.0, (right - left) / tall - (top - bottom)) / 2.0
    return {**view, "x": [left - more_x, right + more_x], "y": [bottom - more_y, top + more_y]}


def _take(kernel: Kernel, state: dict[str, Any], proofs: dict[str, Any]) -> dict[str, Any]:
    """A model with its second pictures, and the picture at each step."""
    panels: dict[str, Any] = {}
    seen = _seen_by_all(state["view"])
    answer: dict[str, Any] = {}
    for panel in [one["kind"] for one in PANELS[state["model"]]] or ["none"]:
        shown = {**state, "panel": panel, "view": seen}
        answer = _answer(kernel, {"type": "ask", "seq": 1, "state": shown})
        panels[panel] = _short(answer.pop("panel"))
    frames: list[Any] = []
    left = _MOST_LETTERS
    count = 0 if answer["steps"] is None else answer["steps"]["count"]
    for step in range(count - 1):
        frame = _seen(_answer(kernel, {"type": "frame", "seq": 1, "of": 1, "step": step}))
        # Shading takes most of the letters.
        left -= len(json.dumps(frame))
        if left < 0:
            break
        frames.append(frame)
    panel = state["panel"] if state["panel"] in panels else next(iter(panels))
    return {
        "state": {**state, "panel": panel},
        "view": seen,
        "answer": _seen(answer),
        "panels": panels,
        "frames": frames,
        "proofs": proofs,
    }


def recording_of(
    kernel: Kernel, state: dict[str, Any], models: Sequence[str] | None = None
) -> dict[str, Any]:
    """The recording that an exported page replays.

    Parameters
    ----------
    kernel : Kernel
    state : dict
        The state, as a page has it.
    models : sequence of str, optional
        The models of these points; by default that of the state.

    Returns
    -------
    dict
        ``traits``, and ``takes``: one for each model, with its state, answer, panels, frames and
        proofs.

    Raises
    ------
    ValueError
        For a model that does not exist, or that cannot be fitted to the points.
    """
    chosen = [state["model"]] if models is None else list(models)
    if not chosen:
        raise StateError("Name at least one model.")
    proofs = {}
    for what in PROOFS:
        if len(state["points"]) <= LIMITS["exact"] and chosen != ["regression"]:
            proof = kernel.reply({"type": "prove", "seq": 1, "state": state, "what": what})
            if proof["type"] == "proof":
                proofs[what] = proof
    takes = []
    for model in dict.fromkeys(chosen):
        if model not in PANELS:
            raise StateError(f"There is no model {model!r}; there are {', '.join(PANELS)}.")
        own = state if model == state["model"] else {**state, "model": model, "parameters": {}}
        takes.append(_take(kernel, own, proofs))
    traits = {name: value for name, value in kernel.traits.items() if name != "state"}
    traits["models"] = [one for one in MODELS if one["name"] in chosen]
    traits["seed_tables"] = {**traits["seed_tables"], "columns": []}
    return {"traits": {**traits, "replay": True}, "takes": takes}


def worksheet_of(kernel: Kernel, state: dict[str, Any]) -> dict[str, Any]:
    """A recording of one fit with fields for notes beside its steps, which the page can save."""
    recording = recording_of(kernel, state)
    steps = recording["takes"][0]["answer"]["steps"]
    recording["traits"]["notes"] = {"steps": _noted(steps), "written": {}}
    return recording


def _noted(steps: dict[str, Any] | None) -> list[int]:
    """The steps to write about: those that change something, thinned evenly if they are many."""
    if steps is None:
        return [0]
    last = steps["count"] - 1
    chosen = np.arange(last + 1)
    if steps["mistake"] is not None:
        chosen = np.unique([0, *np.flatnonzero(steps["mistake"]), last])
    places = np.linspace(0, len(chosen) - 1, min(len(chosen), _MOST_NOTED)).round().astype(int)
    noted: list[int] = chosen[places].tolist()
    return noted


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(bytes.fromhex(sha256_of(text))).decode("ascii")


def page_of(recording: dict[str, Any], *, title: str = "separatrix studio") -> str:
    """The page of a recording, which loads nothing from elsewhere.

    Its policy lets run only the script that it was written with.
    """
    script, sheet = joined(last=_BEGIN), style()
    # Nothing in the data may look like the end of their element.
    data = json.dumps(recording, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(sheet)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    mark = files("separatrix.studio.page").joinpath("mark.svg").read_bytes()
    icon = "data:image/svg+xml;base64," + base64.b64encode(mark).decode("ascii")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{html.escape(title)}</title>
<link rel="icon" href="{icon}">
<style>{sheet}</style>
</head>
<body class="separatrix-page">
<div id="studio"></div>
<noscript>The studio needs JavaScript, which this browser does not run.</noscript>
<script type="application/json" id="recording">{data}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def write_page(
    path: str | os.PathLike[str],
    kernel: Kernel,
    state: dict[str, Any],
    *,
    models: Sequence[str] | None = None,
    title: str = "separatrix studio",
    theme: str = "auto",
    notes: bool = False,
) -> None:
    """Write :func:`page_of` of :func:`recording_of`; complete, or not at all.

    With ``notes`` it is the page of :func:`worksheet_of`, which is of the state's model alone.
    """
    recording = worksheet_of(kernel, state) if notes else recording_of(kernel, state, models)
    recording["traits"]["theme"] = theme
    write_atomically(path, page_of(recording, title=title).encode("utf-8"))
