"""A model that is fitted again and again to points which noise has moved, and its errors."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from separatrix.studio.errors import error
from separatrix.studio.fitting import Fitted, fitted
from separatrix.studio.heldout import held_out
from separatrix.studio.state import FEATURES, MODELS, State

MOST_DRAWS = 25
"""The largest number of draws that one message can request."""
# The stream of random numbers, other than those of shapes and of what is held out.
_STREAM = 2
# Seconds for the draws of one message.
_PATIENCE = 10.0
# The most models that are compared; another one replaces the oldest.
_MOST_MODELS = 6


@dataclass
class _Run:
    """The results of the draws of one model so far."""

    label: str
    errors: list[float] = field(default_factory=list)
    missed: Any = 0


class Trials:
    """Draws of noise for the training points of a page, the same ones for each model.

    In draw number k each training point is moved by Gaussian noise that follows from k alone, and
    the model is fitted to what results. It is judged by the points that stay where they are: those
    held out or fresh, or else the training points as they are without noise.
    """

    def __init__(self) -> None:
        self._data: Any = None
        self._runs: dict[str, _Run] = {}

    def draw(self, state: State, noise: float, draws: int) -> tuple[Fitted, dict[str, Any]]:
        """Make more draws of the model of a state.

        Returns
        -------
        fit : Fitted
            The fit to the points of the last draw.
        found : dict
            The moved points, how often each was missed, and a row for each model.

        Raises
        ------
        StateError
            Where the model cannot be fitted to the moved points.
        """
        data = (noise, state.points.tobytes(), state.codes.tobytes(), state.hold_out, state.fresh,
                state.seed, state.source, state.model == "regression")  # fmt: skip
        if self._data != data:
            self._data, self._runs = data, {}
        key = json.dumps([state.model, state.parameters, state.lift], sort_keys=True)
        run = self._runs.get(key) or _Run(_label(state))
        start = time.perf_counter()
        for k in range(draws):
            if k and time.perf_counter() - start > _PATIENCE:
                break
            fit = self._once(state, noise, run)
        self._runs.pop(key, None)
        self._runs = dict([*self._runs.items(), (key, run)][-_MOST_MODELS:])
        rows = [
            {"label": one.label, "draws": len(one.errors), "mean": np.mean(one.errors),
             "worst": np.max(one.errors)}
            for one in self._runs.values()
        ]  # fmt: skip
        on = "test points" if fit.state.fresh or fit.state.hold_out else "points where they were"
        times = None if fit.regression else run.missed
        most = None
        if times is not None and times.any():
            most = {"point": int(times.argmax()), "times": int(times.max())}
        return fit, {
            "moved": fit.state.points,
            "missed": times,
            "most": most,
            "draws": len(run.errors),
            "on": on,
            "runs": rows,
        }

    def _once(self, state: State, noise: float, run: _Run) -> Fitted:
        rng = np.random.default_rng([state.seed, _STREAM, len(run.errors)])
        moves = noise * rng.standard_normal(state.points.shape)
        moves[held_out(state)] = 0.0
        fit = fitted(replace(state, points=state.points + moves))
        tested = fit.test_points()
        judged = tested if len(tested[0]) else (state.points[fit.rows], state.codes[fit.rows])
        run.errors.append(error(fit, *judged)["error"])
        if not fit.regression:
            # Points of classes that this model leaves out are never missed.
            known = np.isin(state.codes, fit.classes)
            run.missed = run.missed + (known & fit.missed(state.points, state.codes))
        return fit


def _label(state: State) -> str:
    name = next(one["label"] for one in MODELS if one["name"] == state.model)
    strength = [f"C = {state.parameters['C']:.3g}"] if "C" in state.parameters else []
    features = [FEATURES[one] for one in state.lift]
    return ", ".join([name, *strength, *features])
