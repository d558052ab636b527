"""Six tours of a minute: a claim, what to drag, what to watch, and a question with its answer."""

from __future__ import annotations

from typing import Any

from separatrix.studio.shapes import shape
from separatrix.studio.state import StateError, named

# The columns of the table, in their order; ``right`` is the place of an answer among ``choices``.
_PARTS = "title", "setting", "claim", "drag", "watch", "question", "choices", "right", "why"

_TOURS: dict[str, tuple[Any, ...]] = {
    "start": (
        "The start changes the mistakes",
        {"shape": ("strip", 20), "model": "perceptron", "panel": "mistakes"},
        "From any start the perceptron ends at a line without mistakes, but not always at the "
        "same one.",
        "Change the three numbers of the start in the controls.",
        "The number of corrections, below the picture.",
        "Does another start change whether the perceptron stops?",
        ["Yes", "No, only when and where"],
        1,
        "On separable points the theorem bounds the number of corrections from every start.",
    ),
    "outlier": (
        "One outlier and the hard margin",
        {"shape": ("strip", 30), "model": "linear_svm", "panel": "loss",
         "parameters": {"loss": "hard margin"}},
        "The margin is the distance from the line to the nearest points. The street between the "
        "dashed lines is twice as wide, and only the points on them decide it.",
        "Drag one point towards the other class.",
        "The width of the street.",
        "How many of the points far from the street can be moved without moving the boundary?",
        ["None", "All of them"],
        1,
        "Only support vectors have a multiplier other than zero, and only they hold the boundary.",
    ),
    "street": (
        "A smaller C widens the street",
        {"shape": ("blobs", 60), "model": "linear_svm", "panel": "loss"},
        "C weighs the losses against the width of the street.",
        "Move C from right to left.",
        "The margin lines, and the slack of the points between them.",
        "What does a smaller C allow more of?",
        ["Slack", "Steepness"],
        0,
        "With little weight on the losses, a wide street with points inside it costs less.",
    ),
    "kernel": (
        "A kernel bends the boundary",
        {"shape": ("circles", 60), "model": "kernel_svm", "panel": "loss"},
        "A plane in a space of features can separate what no line separates.",
        "Change gamma, then choose the linear kernel.",
        "The boundary.",
        "Are there points on the wrong side with the linear kernel?",
        ["Yes", "No"],
        0,
        "The convex hulls of the circles have a point in common; the button Separable? shows it.",
    ),
    "away": (
        "Without a penalty the weights diverge",
        {"shape": ("strip", 30), "model": "logistic", "panel": "objective",
         "parameters": {"C": 10000.0}},
        "On separable points longer weights always have a smaller loss, so that without a penalty "
        "they grow without end.",
        "Move C to the left, and back to its largest value.",
        "The numbers of \u03b8 below the picture, and how sharp the shading is.",
        "What keeps the weights finite?",
        ["The penalty", "The number of points"],
        0,
        "Without a penalty every separating line improves when its weights are made longer.",
    ),
    "degree": (
        "A high degree overfits",
        {"shape": ("wave", 20), "model": "regression", "panel": "degree", "test": {"fresh": True}},
        "A curve of higher degree fits its own points more closely, but not the hollow ones, which "
        "are new.",
        "Raise the degree.",
        "The training error and the test error, and the curve between the points.",
        "Which degree is the best guess for a new point?",
        ["The highest", "The one with the smallest test error"],
        1,
        "A curve of a higher degree follows the noise of its own points, which new points do not "
        "share.",
    ),
}  # fmt: skip

TOURS = [{"name": name, "title": title} for name, (title, *_) in _TOURS.items()]


def tour(name: str, state: dict[str, Any]) -> dict[str, Any]:
    """A tour, with the state that it begins in; other parts are those of ``state``.

    Raises
    ------
    StateError
        For an unknown name.
    """
    if name not in list(_TOURS):
        raise StateError(f"There is no tour {named(name)}.")
    one = dict(zip(_PARTS, _TOURS[name], strict=True))
    setting = one.pop("setting")
    kind, n = setting["shape"]
    begun = {
        **state,
        **shape(kind, n=n, noise=0.6),
        "version": 1,
        "test": {"hold_out": 0, "fresh": False, "seed": 0, **setting.get("test", {})},
        "lift": [],
        "model": setting["model"],
        "panel": setting["panel"],
        "parameters": setting.get("parameters", {}),
    }
    return {"name": name, **one, "state": begun}
