"""A state of the page for each lesson of the course, and the claim that it shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from separatrix.studio.shapes import framed, iris
from separatrix.studio.state import StateError, named

# Points, the codes of their classes, and the names of axes and classes.
_Points = tuple[np.ndarray, np.ndarray, dict[str, Any]]
_PLAIN = {"x": "x1", "y": "x2", "classes": ["-1", "+1"]}


def _set(points: Any, codes: Any, **names: Any) -> _Points:
    return np.array(points, dtype=float), np.array(codes), {**_PLAIN, **names}


def _tumours(columns: tuple[str, str], every: int) -> _Points:
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    chosen = [data.feature_names.tolist().index(column) for column in columns]
    # Malignant ones are the first in the table, and the second of two classes here.
    return _set(
        data.data[::every][:, chosen],
        1 - data.target[::every],
        x=columns[0],
        y=columns[1],
        classes=["benign", "malignant"],
    )


# The points that more than one lesson has.
_PERIMETERS = partial(_tumours, ("worst perimeter", "worst texture"), 5)
_THREE = partial(_set, [(-1, -1), (1, 0), (-1, 1.5)], [1, 0, 1])
_FOUR = partial(_set, [(-1, 3), (-1, -1), (3, -1), (0, 1.5)], [0, 0, 1, 1])


def _standardised() -> _Points:
    points, codes, names = _PERIMETERS()
    points = (points - points.mean(axis=0)) / points.std(axis=0)
    names |= {axis: f"{names[axis]}, standardised" for axis in ("x", "y")}
    return points.round(4), codes, names


def _ellipse() -> _Points:
    half_axes = np.array([3.0, 1.5])
    points = np.random.default_rng(0).uniform(-1.8, 1.8, size=(2400, 2)) * half_axes
    size = ((points / half_axes) ** 2).sum(axis=1)
    keep = np.flatnonzero((size < 0.8) | ((size > 1.25) & (size < 3.0)))[:120]
    inside = (size[keep] < 1.0).astype(int)
    return _set(points[keep].round(3), inside, classes=["outside", "inside"])


def _clouds() -> _Points:
    """The first four of the lesson's seven clouds."""
    rng = np.random.default_rng(0)
    parts = []
    for centre, lengths, degrees in (
        ((0.0, 0.0), (1.0, 1.0), 0),
        ((3.2, 0.4), (1.5, 0.5), 60),
        ((1.4, 2.9), (1.6, 0.6), -20),
        ((-1.9, 2.4), (0.8, 0.8), 0),
    ):
        c, s = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
        axes = np.array([[c, -s], [s, c]]) * lengths
        parts.append(rng.multivariate_normal(centre, axes @ axes.T, size=100))
    return _set(np.concatenate(parts).round(4), np.repeat(range(4), 100), classes=list("ABCD"))


def _sine() -> _Points:
    rng = np.random.default_rng(0)
    x = np.linspace(0.0, 1.0, 30)
    y = np.sin(2.0 * np.pi * x) + 0.3 * rng.standard_normal(30)
    points = np.column_stack([x, y]).round(4)
    return _set(points, np.zeros(30, int), x="x", y="y", classes=["points", "other"])


def _far() -> _Points:
    rng = np.random.default_rng(0)
    clouds = [rng.normal(centre, 0.55, size=(60, 2)) for centre in ((-1.4, 0), (1.4, 0))]
    points = np.concatenate([*clouds, rng.normal((9, -9), 0.6, size=(12, 2))])
    return _set(points.round(3), np.repeat([0, 1], [60, 72]), classes=["left", "right"])


def _between() -> _Points:
    """Three clouds, and one between them."""
    rng = np.random.default_rng(0)
    names = {"east": (2.6, -1.5), "middle": (0, 0), "north": (0, 3), "west": (-2.6, -1.5)}
    points = [rng.normal(centre, 0.55, size=(40, 2)) for centre in names.values()]
    return _set(np.concatenate(points).round(3), np.repeat(range(4), 40), classes=[*names])


def _words() -> _Points:
    """The lesson's sixty messages, by the numbers of words of two lists that they have."""
    counted = {
        (0, 0, 1): 2, (0, 1, 0): 7, (0, 2, 0): 10, (0, 3, 0): 4, (0, 4, 0): 1, (1, 0, 0): 1,
        (1, 0, 1): 3, (1, 1, 0): 4, (1, 1, 1): 2, (1, 2, 0): 2, (1, 4, 0): 1, (2, 0, 1): 7,
        (2, 1, 1): 7, (3, 0, 1): 4, (4, 0, 1): 4, (5, 1, 1): 1,
    }  # fmt: skip
    rows = np.repeat(list(counted), list(counted.values()), axis=0)
    return _set(
        rows[:, :2],
        rows[:, 2],
        x="now, click, free, claim, money, prize, win, your, today",
        y="the, at, on, we, for",
        classes=["ham", "spam"],
    )


def _overlapping() -> _Points:
    """Two clouds, so close to each other that no probability is near 0 or 1 for long."""
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], 100)
    points = rng.normal(size=(200, 2)) + np.where(codes == 1, 0.8, -0.8)[:, None]
    return _set(points.round(3), codes)


@dataclass(frozen=True)
class _Lesson:
    title: str
    points: Callable[[], _Points]
    model: str
    panel: str
    parameters: dict[str, Any]
    claim: str
    test: dict[str, Any] = field(default_factory=dict)


_LESSONS = {
    "hyperplanes": _Lesson(
        "Hyperplanes and half-spaces",
        partial(iris, species=(0, 1)),
        "perceptron",
        "mistakes",
        {"start": [1.0, 1.0, -3.0]},
        "One species has petals whose length and width add up to more than 3 cm: a perceptron that "
        "begins with this rule corrects none of 100 flowers. The nearest flower is 0.495 cm from "
        "the line.",
    ),
    "separable": _Lesson(
        "Separable or not, and how to prove it",
        partial(_set, [(0, 1), (1, 0), (3, 3), (-3, 3), (0, -4)], [1, 1, 0, 0, 0]),
        "perceptron",
        "theorem",
        {},
        "One class has a point inside the triangle of the other, so no line separates these five, "
        "and the proof names the points. Every line leaves at least 1 of them on the wrong side.",
    ),
    "perceptron": _Lesson(
        "The perceptron, step by step",
        _FOUR,
        "perceptron",
        "mistakes",
        {},
        "From zero the perceptron makes 9 corrections, 5 of them for the last point, and ends at w "
        "= (4, -0.5), b = 1. Step through them, or choose another start.",
    ),
    "convergence": _Lesson(
        "Why the perceptron stops",
        _FOUR,
        "perceptron",
        "theorem",
        {},
        "A line stays below a square root only for so long: no order of visits makes more than "
        "55 corrections on these points, and this one makes 9.",
    ),
    "margins": _Lesson(
        "Why margins",
        _PERIMETERS,
        "linear_svm",
        "loss",
        {"C": 1.0 / 1140.0},
        "The street is 28.5 units of perimeter wide, and 9 of 114 tumours are on the wrong side. "
        "With ten times this C it is 13.3 wide, and the number of mistakes is the same.",
    ),
    "maximum_margin": _Lesson(
        "The maximum margin",
        _THREE,
        "linear_svm",
        "loss",
        {"loss": "hard margin"},
        "The convex hulls of the two classes are 2 apart, so no street between them can be wider, "
        "and this street is that wide. Drag a point: only those at the edge of the street hold it.",
    ),
    "soft_margins": _Lesson(
        "Soft margins, slack and support vectors",
        partial(iris, columns=(0, 1), species=(0, 2)),
        "linear_svm",
        "loss",
        {"loss": "hard margin"},
        "One virginica with sepals as short as a setosa's, at (4.9, 2.5), leaves a street of 0.18 "
        "cm. Erase it, and it is 0.52 cm wide; or choose the loss hinge, which allows slack.",
    ),
    "kernels": _Lesson(
        "Kernels: a line somewhere else",
        _ellipse,
        "kernel_svm",
        "loss",
        {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 0.0, "C": 1e4},
        "In the space of the squares and the product of the coordinates an ellipse is a plane: no "
        "point is on the wrong side, and 4 of the 120 are support vectors. A linear kernel cannot "
        "do this.",
    ),
    "logistic": _Lesson(
        "Logistic regression: how sure to be",
        partial(_tumours, ("mean radius", "mean texture"), 2),
        "logistic",
        "loss",
        {"C": 1e4},
        "Whatever the steepness, 22 of these 285 tumours are on the wrong side. The mean log loss "
        "of 0.188 is the smallest possible, and would be 0.475 with five times the steepness.",
    ),
    "discriminants": _Lesson(
        "Discriminants: describe each class, then compare",
        _clouds,
        "qda",
        "none",
        {},
        "With a Gaussian for each of four clouds 37 of 400 points are on the wrong side. With one "
        "covariance for all classes, as in LDA, the borders are straight and the number is 52.",
    ),
    "least_squares": _Lesson(
        "Least squares: fitting numbers, and fitting too well",
        _sine,
        "regression",
        "degree",
        {"degree": 3},
        "A higher degree fits the 30 points more closely: typically they are 0.46 away at degree "
        "1, 0.22 at 3, 0.18 at 12. The curve of degree 3 is nearest to the sine behind the points.",
    ),
    "stochastic": _Lesson(
        "Stochastic gradients: many cheap steps",
        _standardised,
        "sgd",
        "rates",
        {"loss": "log_loss", "alpha": 0.01, "eta0": 1.0, "max_iter": 60},
        "With rates that fall as theory proposes, the passes come within 0.1 % of the best "
        "possible, and the certificate proves it. A constant rate of 1 is not there after 60.",
    ),
    "generalisation": _Lesson(
        "Generalisation: what training errors do not tell",
        iris,
        "kernel_svm",
        "gamma",
        {"gamma": 100.0},
        "With gamma = 100 there is no mistake on the 75 flowers that are fitted, but there are 14 "
        "on the 75 hollow ones, which are held out. With gamma = 0.5 there are 1 and 5.",
        {"hold_out": 50, "seed": 2},
    ),
    "dual": _Lesson(
        "The dual by hand",
        partial(_set, [(0, -1), (0, 3), (1, 1)], [1, 1, 0]),
        "linear_svm",
        "objective",
        {"C": 10.0},
        "The multipliers are 1, 1 and 2, less than C = 10, and the street is 1 wide. With C = 0.5 "
        "they are 1/4, 1/4 and 1/2: the third point is at C and pays slack.",
    ),
    "stopping": _Lesson(
        "When to stop",
        _standardised,
        "sgd",
        "objective",
        {
            "loss": "log_loss",
            "learning_rate": "constant",
            "eta0": 0.5,
            "batch_size": 64,
            "max_iter": 20,
        },
        "After 20 passes the certified gap is 7.6 % of the objective, and after 50 it is 0.88 %. "
        "The line has 9 mistakes both times, so their number does not show when to stop.",
    ),
    "stumps": _Lesson(
        "Stumps and thresholds: the best cut, found by sorting",
        partial(iris, species=(1, 2)),
        "logistic",
        "loss",
        {"C": 1e4},
        "No threshold on the petal width leaves fewer than 6 of these 100 flowers on the wrong "
        "side, and this line leaves as many. The proof of the fewest mistakes finds one with 3.",
    ),
    "slips": _Lesson(
        "Slips in common notes",
        _THREE,
        "perceptron",
        "mistakes",
        {"margin": 1.0, "fit_intercept": False},
        "Corrections until every score is at least 1 leave a band of 1.46 without a point in it, "
        "which is not the widest. A linear SVM with the hard margin has one of 2.",
    ),
    "one_hot": _Lesson(
        "One-hot targets: least squares as a classifier, and why not",
        _far,
        "least_squares",
        "none",
        {},
        "Twelve points deep on their own side turn the line of least squares: 6 of the 132 are on "
        "the wrong side. With logistic regression it is 1, and without the twelve it is 1 for "
        "both.",
    ),
    "several_classes": _Lesson(
        "Several classes: against the rest, by pairs, at once",
        _between,
        "least_squares",
        "none",
        {},
        "Least squares fits an output for each class, and finds none of the 40 points in the "
        "middle. Logistic regression fits all classes at once: 1 of 160 is on the wrong side.",
    ),
    "text": _Lesson(
        "Text: spam or not",
        _words,
        "logistic",
        "loss",
        {},
        "Each point is a message, at its numbers of words from two lists: 5 of 60 are on the "
        "wrong side. Drag a spam message from (2, 0) to (2, 4): with four good words it passes for "
        "ham.",
    ),
    "calibration": _Lesson(
        "Calibration: when a probability is one",
        _overlapping,
        "logistic",
        "loss",
        {"C": 1e4},
        "The mean probability of class +1 is its share among the points, one half. With five times "
        "the steepness the same 29 of 200 are on the wrong side, and the mean log loss is 0.848 in "
        "place of 0.339.",
    ),
}

LESSONS = [{"name": name, "title": one.title} for name, one in _LESSONS.items()]


def lesson_of(name: str, state: dict[str, Any]) -> dict[str, Any]:
    """A lesson, with the state that it begins in; other parts are those of ``state``.

    Raises
    ------
    StateError
        For an unknown name.
    """
    if name not in list(_LESSONS):
        raise StateError(f"There is no lesson {named(name)}; there are {', '.join(_LESSONS)}.")
    one = _LESSONS[name]
    points, codes, names = one.points()
    begun = {
        **state,
        # The unit of y in a regression has nothing to do with that of x.
        **framed(points, codes, names, lock=False if one.model == "regression" else None),
        "version": 1,
        "source": None,
        "test": {"hold_out": 0, "fresh": False, "seed": 0, **one.test},
        "lift": [],
        "model": one.model,
        "panel": one.panel,
        "parameters": dict(one.parameters),
    }
    return {"name": name, "title": one.title, "state": begun, "claim": one.claim}
