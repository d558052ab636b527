"""Logistic regression beside other libraries for data that do not fit: to 1e-3 and to 1e-6.

Every process is timed whole, from the files.  The point of a peer is judged by this library's
own pass in float64, against the certified lower bound of a fit to 1e-10: its suboptimality is at
most what is printed.  This library's seconds are those of a fit with ``tol`` the same number, with
an empty cache.
"""

from __future__ import annotations

import importlib
import shutil
import time
from types import ModuleType
from typing import Any

from benchmarks.scale import processes
from benchmarks.scale.peers import LOGISTIC
from benchmarks.scale.setup import Setup, median, verdict

TARGETS = (1e-3, 1e-6)
LEAST = 5.0
C = 1.0


def peer(name: str) -> ModuleType:
    return importlib.import_module(f"benchmarks.scale.peers.{name}")


def measure(setup: Setup) -> dict[str, Any]:
    own: dict[str, float] = {}
    for target in TARGETS:
        seconds = []
        for repeat in range(setup.repeats):
            setup.say(f"this library to {target:g} ({repeat + 1})")
            cache = setup.cache("for-peers")
            seconds.append(setup.fit("dense", tol=target, C=C, cache=cache).seconds)
            shutil.rmtree(cache)
        own[f"{target:g}"] = median(seconds)
    return {"own": own, "peers": [_measured(setup, peer(name)) for name in LOGISTIC]}


def missing(module: ModuleType, python: str) -> str:
    """The reason why a peer cannot run, in words; empty where it can."""
    absent = processes.has(python, module.NEEDS)
    if absent:
        return f"not installed ({absent}): {module.HOW}"
    why = module.missing() if hasattr(module, "missing") else ""
    return f"{why}: {module.HOW}" if why else ""


def _measured(setup: Setup, module: ModuleType) -> dict[str, Any]:
    found: dict[str, Any] = {"name": module.NAME, "points": [], "failures": []}
    absent = missing(module, setup.peers)
    if absent:
        return {**found, "absent": absent}
    given = {**setup.files("dense"), "n_rows": setup.rows, "C": C}
    short = module.__name__.rpartition(".")[2]
    if hasattr(module, "convert"):
        setup.say(f"{module.NAME}: conversion")
        folder = setup.folder / "peers" / short
        folder.mkdir(parents=True, exist_ok=True)
        arguments = {"files": given["files"], "target": given["target"], "folder": str(folder)}
        ended = processes.call(
            f"{module.__name__}:convert", arguments, python=setup.peers, limit=setup.limit
        )
        if not ended.ok:
            return {**found, "absent": f"its conversion failed: {ended.why}"}
        found["conversion_seconds"] = ended.seconds
    for k, setting in enumerate(module.SETTINGS):
        seconds: dict[str, list[float]] = {}
        points: dict[str, dict] = {}
        for repeat in range(setup.repeats):
            setup.say(f"{module.NAME}: {setting} ({repeat + 1})")
            out = setup.folder / "peers" / f"{short}-{k}"
            out.mkdir(parents=True, exist_ok=True)
            ended = processes.call(
                f"{module.__name__}:fit",
                {**given, "setting": setting, "out": str(out), "started": time.time()},
                python=setup.peers,
                limit=setup.limit,
            )
            if not ended.ok:
                found["failures"].append({"setting": setting, "why": ended.why})
                break
            for point in ended.result["points"]:
                seconds.setdefault(point["name"], []).append(point["seconds"])
                points[point["name"]] = {**point, "peak_bytes": ended.peak}
        for name, point in points.items():
            found["points"].append({**point, "seconds": median(seconds[name])})
    if hasattr(module, "convert"):
        shutil.rmtree(folder)
    if found["points"]:
        best = setup.best()
        ended = setup.call(
            "judge",
            **setup.files("dense"),
            thetas=[point["theta"] for point in found["points"]],
            C=C,
            memory=setup.memory,
            cache=setup.cache("dense"),
        )
        if not ended.ok:
            raise RuntimeError(f"the points of {module.NAME} could not be judged: {ended.why}")
        for point, primal in zip(found["points"], ended.result["primals"], strict=True):
            point["suboptimality"] = (primal - best["dual"]) / best["primal"]
            point.pop("theta")
    return found


def reached(found: dict[str, Any], target: float) -> float | None:
    """The seconds of the fastest point to a suboptimality; None where there is none."""
    there = [p["seconds"] for p in found["points"] if p["suboptimality"] <= target]
    return min(there) if there else None


def lines(found: dict[str, Any]) -> list[list[str]]:
    out = []
    for target in TARGETS:
        own = found["own"][f"{target:g}"]
        fastest: float | None = None
        for one in found["peers"]:
            seconds = None if "absent" in one else reached(one, target)
            if seconds is not None and (fastest is None or seconds < fastest):
                fastest = seconds
            name = f"  {one['name']} to {target:g}"
            out.append([name, *_cells(one, seconds, own), "", ""])
        asked = f">= {LEAST:g} times the fastest"
        if fastest is None:
            beside, met = "no peer gets there", ""
        else:
            beside, met = f"fastest peer {fastest / own:.1f} times", verdict(fastest / own >= LEAST)
        row = [f"logistic regression to {target:g}, from files", f"{own:.2f} s", beside, asked, met]
        out.insert(len(out) - len(found["peers"]), row)
    return out


def _cells(one: dict[str, Any], seconds: float | None, own: float) -> tuple[str, str]:
    if "absent" in one:
        return one["absent"], ""
    apart = ""
    if "conversion_seconds" in one:
        apart = f"; {one['conversion_seconds']:.1f} s of conversion apart"
    if seconds is not None:
        return f"{seconds:.2f} s{apart}", f"{seconds / own:.1f} times"
    if not one["points"]:
        return f"failed: {one['failures'][0]['why']}", ""
    best = min(one["points"], key=lambda point: point["suboptimality"])
    return f"not reached: {best['suboptimality']:.1e} after {best['seconds']:.1f} s{apart}", ""
