"""The kernel behind a page: messages in, answers out."""

from __future__ import annotations

import base64
import copy
import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from separatrix.messages import counted
from separatrix.objectives.penalties import strength_of
from separatrix.studio.axes import Pairs
from separatrix.studio.code import command_of, python_of
from separatrix.studio.errors import ErrorCurves
from separatrix.studio.export import page_of, worksheet_of
from separatrix.studio.fitting import LOADED, Fitted, fitted
from separatrix.studio.jitter import MOST_DRAWS, Trials
from separatrix.studio.lessons import LESSONS, lesson_of
from separatrix.studio.own_line import line_of
from separatrix.studio.panels import panel_of
from separatrix.studio.pictures import numbers, picture_of
from separatrix.studio.proof import LOADED as PROVED
from separatrix.studio.proof import PROOFS, proof_of
from separatrix.studio.shapes import SHAPES, framed, shape
from separatrix.studio.state import (
    FAR,
    FEATURES,
    HELD_OUT,
    LIFTED,
    LIMITS,
    LONGEST_NAME,
    MODELS,
    PANELS,
    PARAMETERS,
    SHOWN,
    StateError,
    named,
    number_of,
    parse,
)
from separatrix.studio.steps import frame_of, steps_of
from separatrix.studio.tours import TOURS, tour
from separatrix.studio.wording import certificate_of

# The most points that are taken from a table that is given.
_MOST_OF_TABLE = 300
# The most fits that are kept, for pages that request their steps.
_KEPT = 8
# The points that the page begins with, where nothing is given.
_BEGUN: dict[str, Any] = {"name": "blobs", "n": 60, "noise": 0.8}
# The points that it begins with where it opens with a fit that moves.
_MOVING: dict[str, Any] = {"name": "moons", "n": 60, "noise": 0.8}
_FIRST = "Loops are compiled, which takes up to a minute the first time ..."
# The largest number of a message: what JavaScript counts up to.
_LAST_SEQ = 2**53
_LOG = logging.getLogger(__name__)


class StudioModel:
    """Answers the messages of a page with real fits.

    Parameters
    ----------
    table : mapping of str to array-like, optional
        Columns of numbers of a table of one's own, by name.
    labels : array-like of str, optional
        The classes of the rows of the table.
    target : str, optional
        The name of the target.
    axes : two of the names, optional
        The columns to begin with: by default the first two.
    lesson : str, optional
        A lesson of the course to begin with.
    moving : bool, default=False
        Whether a page, where none of these is given, opens with the passes of stochastic gradients
        playing.

    Raises
    ------
    StateError
        For a lesson or a column that does not exist.

    Examples
    --------
    >>> from separatrix.studio import StudioModel
    >>> studio = StudioModel()
    >>> state = studio.traits["state"]
    >>> answer = studio.reply({"type": "ask", "seq": 1, "state": state})
    >>> answer["type"], answer["seq"], answer["certificate"]["status"]
    ('answer', 1, 'optimal')
    """

    def __init__(
        self,
        table: Mapping[str, Any] | None = None,
        labels: Any = None,
        target: str | None = None,
        axes: tuple[str, str] | None = None,
        lesson: str | None = None,
        *,
        moving: bool = False,
    ) -> None:
        given = {} if table is None else {str(k): np.asarray(v, float) for k, v in table.items()}
        shown = dict(zip(given, _shortened(list(given)), strict=True))
        self._table = {shown[name]: column for name, column in given.items()}
        self._labels = None if labels is None else np.asarray(labels).astype(str)
        self._pairs: Pairs | None = None
        # By the number of the request: a notebook's kernel answers several pages.
        self._fits: dict[int, tuple[Fitted, Any]] = {}
        self._curves, self._trials = ErrorCurves(), Trials()
        self._last: Fitted | None = None
        self._last_of: Any = None
        names = list(self._table)
        if axes is None and len(names) > 1:
            # The first two that a picture can hold.
            near = [name for name in names if _far_in(self._table[name]) is None]
            axes = (near[0], near[1]) if len(near) > 1 else (names[0], names[1])
        elif axes is not None:
            axes = (shown.get(axes[0], axes[0]), shown.get(axes[1], axes[1]))
        moving = moving and axes is None and lesson is None
        sample = _MOVING if moving else _BEGUN
        begun = shape(**sample) if axes is None else self._columns(*axes)
        note = begun.pop("note", None)
        self.traits: dict[str, Any] = {
            "models": MODELS,
            "parameters": PARAMETERS,
            "panels": PANELS,
            "show": SHOWN,
            "theme": "auto",
            "seed_tables": {
                "shapes": SHAPES,
                "begun": sample,
                "moving": moving,
                "columns": names,
                "axes": list(axes or ()),
                "note": note,
                "target": None if target is None else target[:LONGEST_NAME],
                "tours": TOURS,
                "lessons": LESSONS,
                "limits": LIMITS,
                "held_out": HELD_OUT,
                "features": FEATURES,
                "lifted": LIFTED,
            },
            "state": {
                "version": 1,
                "model": "sgd" if moving else "logistic",
                "parameters": {},
                "line": None,
                "panel": "objective",
                "test": {"hold_out": 0, "fresh": False, "seed": 0},
                "source": None,
                "lift": [],
                **begun,
                "show": dict.fromkeys(
                    ("field", "margin", "slack", "support", "ellipses", "residuals", "theta"), True
                ),
            },
        }

        if lesson is not None:
            self.traits["state"] = lesson_of(lesson, self.traits["state"])["state"]
            self.traits["seed_tables"]["lesson"] = lesson

    def reply(self, message: Any) -> dict[str, Any]:
        """The one answer to a message: of type ``error``, with a sentence, where nothing else is.

        Whatever a computation raises becomes such a sentence, so that the next message is
        answered; what nobody foresaw is logged besides.

        Parameters
        ----------
        message : dict
            A message with ``type``, ``seq`` and the fields that its type needs.

        Returns
        -------
        dict
            An answer that JSON can hold, with the ``seq`` of the message; 0 if that has none.
        """
        seq = _seq_of(message)
        try:
            if not isinstance(message, dict):
                raise StateError("A message must be an object.")
            kind = message.get("type")
            answer = _ANSWERS.get(kind) if isinstance(kind, str) else None
            if answer is None:
                raise StateError(f"There is no message of the kind {named(kind)}.")
            found: dict[str, Any] = numbers({**answer(self, message), "seq": seq})
            return found
        except StateError as error:
            return {"type": "error", "seq": seq, "text": str(error)}
        except Exception as error:
            _LOG.exception("The studio could not answer a message.")
            fault = " ".join(str(error).split())[:200].rstrip(".")
            text = f"This could not be computed ({type(error).__name__}: {fault})."
            return {"type": "error", "seq": seq, "text": text}

    def notice(self, message: Any) -> dict[str, Any] | None:
        """The notice for a page until :meth:`reply` has the answer; None where that is soon."""
        kind = message.get("type") if isinstance(message, dict) else None
        if kind == "prove":
            proved = message.get("what") in list(PROVED)
            text = "Proving ..." if proved else _FIRST
        elif kind == "ask" and isinstance(message.get("state"), dict):
            text = "" if message["state"].get("model") in list(LOADED) else _FIRST
        else:
            text = ""
        return {"type": "thinking", "seq": _seq_of(message), "text": text} if text else None

    @staticmethod
    def replaced(message: Any) -> dict[str, Any]:
        """The answer to a message that a newer one has made needless."""
        return {"type": "replaced", "seq": _seq_of(message)}

    # --- one for each type of message ---------------------------------------------------------

    def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        start = time.perf_counter()
        fit = fitted(parse(message.get("state")))
        self._last, self._last_of = fit, _fitted_part(message["state"])
        steps, picture = steps_of(fit), picture_of(fit)
        seq = _seq_of(message)
        self._fits.pop(seq, None)
        self._fits = dict([*self._fits.items(), (seq, (fit, steps))][-_KEPT:])
        drags = message.get("drags") is True
        panel = self._curves.panel(fit, drags=drags)
        panel = panel_of(fit, steps, picture["points"]) if panel is None else panel
        return {
            "type": "answer",
            "pair": list(fit.pair),
            **picture,
            "certificate": certificate_of(fit),
            "summary": _summary(fit, picture["lines"]),
            "overlap": _overlap(fit, picture["points"]["mistake"]),
            "steps": steps,
            "panel": panel,
            "strength": _strength(fit),
            "code": {"python": python_of(fit), "command": command_of(fit)},
            "milliseconds": 1e3 * (time.perf_counter() - start),
        }

    def _frame(self, message: dict[str, Any]) -> dict[str, Any]:
        # Without the number of a request: the newest one.
        of = message.get("of", next(reversed(self._fits), None))
        step: Any = message.get("step")
        fit, steps = self._fits.get(of, (None, None)) if isinstance(of, int) else (None, None)
        whole = isinstance(step, int) and not isinstance(step, bool)
        if fit is None or steps is None or not whole or step not in range(steps["count"]):
            raise StateError("There is no such step.")
        return {"type": "frame", "step": step, **frame_of(fit, steps, int(step))}

    def _jitter(self, message: dict[str, Any]) -> dict[str, Any]:
        noise = number_of(message.get("noise"), "the noise", 0)
        draws = number_of(message.get("draws", 1), "the number of draws", 1, MOST_DRAWS)
        fit, found = self._trials.draw(parse(message.get("state")), noise, int(draws))
        return {"type": "jitter", "pair": list(fit.pair), **picture_of(fit), **found}

    def _strength(self, message: dict[str, Any]) -> dict[str, Any]:
        """The C of a fit whose penalty weighs lambda."""
        lam = number_of(message.get("lam"), "lambda", 1e-12)
        n = len(fitted(parse(message.get("state"))).rows)
        return {"type": "strength", "C": strength_of(lam, n)}

    def _shape(self, message: dict[str, Any]) -> dict[str, Any]:
        given = {name: message[name] for name in ("n", "noise", "seed") if name in message}
        return {"type": "points", **shape(message.get("name", ""), **given)}

    def _of_table(self, message: dict[str, Any]) -> dict[str, Any]:
        return {"type": "points", **self._columns(message.get("x"), message.get("y"))}

    def _known(self, name: Any) -> str:
        if name not in list(self._table):
            raise StateError(f"There is no column {named(name)}.")
        return str(name)

    def _columns(self, x: Any, y: Any) -> dict[str, Any]:
        for name in map(self._known, (x, y)):
            far = _far_in(self._table[name])
            if far is not None:
                raise StateError(
                    f"The column {name[:40]!r} has {far:.4g}, which is beyond a billion: "
                    "choose another column, or divide this one."
                )
        places = np.stack([self._table[x], self._table[y]], axis=1)
        labels = np.full(len(places), "all") if self._labels is None else self._labels
        classes = _most_frequent(labels)
        there = np.isfinite(places).all(axis=1) & np.isin(labels, classes)
        chosen = np.flatnonzero(there)
        complete = int(np.isfinite(places).all(axis=1).sum())
        left_out = len(places) - complete, complete - len(chosen)
        if len(chosen) > _MOST_OF_TABLE:
            drawn = np.random.default_rng(0).permutation(len(chosen))[:_MOST_OF_TABLE]
            chosen = chosen[np.sort(drawn)]
        if not len(chosen):
            raise StateError("These columns have no row with two numbers.")
        note = _note(len(places), len(chosen), *left_out)
        codes = np.searchsorted(classes, labels[chosen])
        names = classes.tolist() if len(classes) > 1 else [*classes.tolist(), "other"]
        called = {"x": x, "y": y, "classes": _shortened(names)}
        return {**framed(places[chosen], codes, called), "source": None, "note": note}

    def _axes(self, message: dict[str, Any]) -> dict[str, Any]:
        """Two columns that separate the classes better than those that are shown, if there are."""
        x, y = (self._known(message.get(axis)) for axis in ("x", "y"))
        if self._labels is None:
            return {"type": "axes", "sentence": None, "axes": None}
        if self._pairs is None:
            there = np.isin(self._labels, _most_frequent(self._labels))
            near = {k: v[there] for k, v in self._table.items() if _far_in(v) is None}
            self._pairs = Pairs(near, self._labels[there])
        better = self._pairs.sentence(x, y)
        return {"type": "axes", "sentence": better, "axes": better and list(self._pairs.best or ())}

    def _prove(self, message: dict[str, Any]) -> dict[str, Any]:
        return proof_of(parse(message.get("state")), message.get("what", ""))

    def _score(self, message: dict[str, Any]) -> dict[str, Any]:
        at = message.get("at")
        if not isinstance(at, list) or len(at) != 2:
            raise StateError("A score needs a place [x, y].")
        at = [number_of(value, "a place", -1e12, 1e12) for value in at]
        fit = self._fit_of(message)
        if fit.regression:
            value = float(fit.model.predict(np.array([[at[0]]]))[0])
            return {"type": "score", "score": value, "sentence": f"the curve is at {value:.4g}"}
        X = np.array([at], dtype=float)
        scores = np.atleast_1d(fit.scores(X)[0])
        code = int(fit.predicted(X)[0])
        # With two classes both are of the second one; with several, of the one that is predicted.
        of = fit.classes.index(code) if fit.several else 0
        score, probability = float(scores[of]), None
        sentence = f"score {score:.3g}: {fit.state.classes[code]}"
        if fit.state.model in ("logistic", "lda", "qda"):
            of = of if fit.several else 1
            probability = float(fit.model.predict_proba(fit.design(X))[0, of])
            sentence += f", probability {probability:.3g} of {fit.state.classes[fit.classes[of]]}"
        return {
            "type": "score",
            "score": score,
            "probability": probability,
            "class": code,
            "sentence": sentence,
        }

    def _line(self, message: dict[str, Any]) -> dict[str, Any]:
        fit, state = self._fit_of(message), parse(message.get("state"))
        return {"type": "line", **line_of(fit, state.line, state.view)}

    def _fit_of(self, message: dict[str, Any]) -> Fitted:
        """The last fit, unless a message has a state that is fitted otherwise."""
        state = message.get("state")
        if state is not None and (self._last is None or _fitted_part(state) != self._last_of):
            return fitted(parse(state))
        if self._last is None:
            raise StateError("Nothing has been fitted yet.")
        return self._last

    def _tour(self, message: dict[str, Any]) -> dict[str, Any]:
        name, state = message.get("name", ""), dict(self.traits["state"])
        of_course = isinstance(name, str) and name in [one["name"] for one in LESSONS]
        return {"type": "tour", **(lesson_of if of_course else tour)(name, state)}

    def _save(self, message: dict[str, Any]) -> dict[str, Any]:
        if message.get("what") == "worksheet":
            state: Any = message.get("state")
            parse(state)
            # A copy replies, so that the last answer to this page stays.
            page = page_of(
                worksheet_of(copy.copy(self), {**state, "line": None}), title="My worksheet"
            )
            return _file("worksheet.html", "text/html", page.encode())
        if message.get("what") != "model" or self._last is None:
            raise StateError("Only a fitted model can be saved.")
        import tempfile
        from pathlib import Path

        from separatrix.persistence.model_file import save_model

        with tempfile.TemporaryDirectory(prefix="separatrix-") as folder:
            path = Path(folder) / "studio.separatrix"
            save_model(path, self._last.model)
            content = path.read_bytes()
        return _file("studio.separatrix", "application/octet-stream", content)


_ANSWERS = {
    "ask": StudioModel._ask,
    "frame": StudioModel._frame,
    "jitter": StudioModel._jitter,
    "strength": StudioModel._strength,
    "shape": StudioModel._shape,
    "columns": StudioModel._of_table,
    "axes": StudioModel._axes,
    "prove": StudioModel._prove,
    "score": StudioModel._score,
    "line": StudioModel._line,
    "tour": StudioModel._tour,
    "save": StudioModel._save,
}


def _strength(fit: Fitted) -> dict[str, Any] | None:
    """The weight of the penalty beside C, where a model has one C for all of its points."""
    C = fit.state.parameters.get("C")
    if C is None or not math.isfinite(fit.options["C"]):
        return None
    if fit.state.model == "kernel_svm" and fit.several:
        return None
    # C = 1 / (lam n) is its own inverse.
    return {"lam": strength_of(C, len(fit.rows)), "n": len(fit.rows)}


def _file(name: str, mime: str, content: bytes) -> dict[str, Any]:
    data = base64.b64encode(content).decode("ascii")
    return {"type": "saved", "name": name, "mime": mime, "data": data}


def _fitted_part(state: Any) -> Any:
    """A copy of the part of a state that a fit depends on."""
    if not isinstance(state, dict):
        return state
    shown = ("view", "show", "panel", "line")
    return copy.deepcopy({name: value for name, value in state.items() if name not in shown})


def _seq_of(message: Any) -> int:
    """The number of a message; 0 where it has none that JavaScript could count to."""
    seq = message.get("seq") if isinstance(message, dict) else None
    if not isinstance(seq, int) or isinstance(seq, bool) or abs(seq) > _LAST_SEQ:
        return 0
    return seq


def _shortened(names: Sequence[str]) -> list[str]:
    """Names that a page can show and send back, each different from the others."""
    unique: dict[str, None] = {}
    for name in names:
        short, k = name[:LONGEST_NAME], 2
        while short in unique:
            short, k = f"{name[: LONGEST_NAME - 10]} ({k})", k + 1
        unique[short] = None
    return list(unique)


def _far_in(column: np.ndarray) -> float | None:
    """The number that is farthest from 0, where it is farther than places can be."""
    seen = column[np.isfinite(column)]
    farthest = seen[np.argmax(np.abs(seen))] if len(seen) else 0.0
    return float(farthest) if abs(farthest) > FAR else None


def _most_frequent(labels: np.ndarray) -> np.ndarray:
    """The classes that are shown, sorted: the four with the most rows."""
    classes, counts = np.unique(labels, return_counts=True)
    most: np.ndarray = np.sort(classes[np.argsort(-counts, kind="stable")][:4])
    return most


def _note(rows: int, shown: int, incomplete: int, rarer: int) -> str | None:
    """A sentence on how many rows of a table are in the picture; None where all are."""
    if shown == rows:
        return None
    drawn = ", chosen at random" if shown < rows - incomplete - rarer else ""
    left = [f"{counted(incomplete, 'row')} without both numbers"] if incomplete else []
    left += [f"{counted(rarer, 'row')} of rarer classes"] if rarer else []
    rest = f"; {' and '.join(left)} cannot be shown" if left else ""
    return f"The picture shows {shown:,} of the table's {counted(rows, 'row')}{drawn}{rest}."


def _overlap(fit: Fitted, mistake: list[Any]) -> str | None:
    """A sentence on the numbers of points and of their places; None where these are equal."""
    points = fit.state.points
    places = len(np.unique(points, axis=0))
    if places == len(points):
        return None
    hidden = (
        f"The {len(points):,} points lie at {counted(places, 'place')}, "
        "each drawn larger the more lie there"
    )
    wrong = np.array([bool(one) for one in mistake])
    if wrong.sum() > 1:
        where = counted(len(np.unique(points[wrong], axis=0)), "place")
        hidden += f"; the {wrong.sum():,} mistakes lie at {where}"
    return f"{hidden}."


def _summary(fit: Fitted, lines: list[dict[str, Any]]) -> list[str]:
    notes = []
    present = np.unique(fit.state.codes).tolist()
    if len(present) > len(fit.classes) and not fit.regression:
        one, other = (fit.state.classes[code] for code in fit.pair)
        left = " and ".join(fit.state.classes[code] for code in present[2:])
        notes.append(
            f"This model separates two classes, {one} and {other}; points of {left} are left out."
        )
    if not fit.regression and not any(one["parts"] for one in lines if one["level"] == 0):
        low, high, bottom, top = fit.state.view
        middle = fit.predicted(np.array([[(low + high) / 2.0, (bottom + top) / 2.0]]))
        there = fit.state.classes[int(middle[0])]
        notes.append(f"This view shows no boundary; the model assigns its middle to {there}.")
    return notes


def load(wanted: Callable[[], bool] = lambda: True) -> None:
    """Compile the loops that pages will need, one model and one proof after the other.

    Parameters
    ----------
    wanted : callable
        Called between two of them; returns whether to go on.
    """
    studio = StudioModel()
    state = studio.traits["state"]
    # Where the classes overlap, proofs take other ways, and where a point is in both yet others.
    moons = shape("moons", n=20)["points"]
    (x, y, code), *_ = moons
    mixed = {**state, "points": moons}
    twice = {**state, "points": [*moons, [x, y, 1 - code]]}
    messages = [{"type": "ask", "state": {**state, "model": model}} for model in PANELS]
    for one in (state, mixed, twice):
        messages += [{"type": "prove", "what": what, "state": one} for what in PROOFS]
    for message in messages:
        if not wanted():
            return
        studio.reply(message)
