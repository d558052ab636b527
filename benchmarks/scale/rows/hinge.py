"""The hinge loss in passes, beside LIBLINEAR in memory on the same rows, without an intercept.

LIBLINEAR penalises its intercept, so that with one the two would solve different problems.
"""

from __future__ import annotations

import shutil
import time
from typing import Any

from benchmarks.scale import processes
from benchmarks.scale.peers import liblinear
from benchmarks.scale.setup import Setup, here, median, verdict

TARGETS = (1e-3, 1e-6)
MOST = 2.0
C = 1.0


def measure(setup: Setup) -> dict[str, Any]:
    n = setup.hinge_rows
    found: dict[str, Any] = {"rows": n, "own": {}, "peer": []}
    for target in TARGETS:
        seconds = []
        for repeat in range(setup.repeats):
            setup.say(f"hinge in passes to {target:g} ({repeat + 1})")
            cache = setup.cache("hinge")
            ended = setup.fit(
                "dense",
                n,
                loss="hinge",
                tol=target,
                C=C,
                intercept=False,
                cache=cache,
            )
            shutil.rmtree(cache)
            seconds.append(ended.seconds)
        result = {
            k: ended.result[k] for k in ("passes", "primal", "dual", "relative_gap", "status")
        }
        found["own"][f"{target:g}"] = {"seconds": median(seconds), **result}
    dual = max(one["dual"] for one in found["own"].values())
    for setting in liblinear.SETTINGS:
        setup.say(f"LIBLINEAR in memory, tol {setting['tol']:g}")
        ended = processes.call(
            "benchmarks.scale.peers.liblinear:fit",
            {**setup.files("dense", n), "C": C, "setting": setting, "started": time.time()},
            python=here(),
            limit=setup.limit,
        )
        if not ended.ok:
            found["peer"].append({"setting": setting, "why": ended.why})
            break
        sub = (ended.result["primal"] - dual) / dual
        peak = {"peak_bytes": ended.peak}
        found["peer"].append({**ended.result, **peak, "suboptimality": sub, "setting": setting})
        if sub <= TARGETS[-1]:
            break
    return found


def lines(found: dict[str, Any]) -> list[list[str]]:
    out = []
    for target in TARGETS:
        own = found["own"][f"{target:g}"]
        name = f"hinge, C = 1, {found['rows']:,} rows, to {target:g}"
        there = [p for p in found["peer"] if "why" not in p and p["suboptimality"] <= target]
        reached = own["relative_gap"] <= target
        here_ = f"{own['seconds']:.2f} s, {own['passes']} passes"
        if not reached:
            here_ += f", {own['status']}: gap {own['relative_gap']:.1e}"
        if not there:
            last = found["peer"][-1]
            how = last.get("why") or f"{last['suboptimality']:.1e} after {last['seconds']:.1f} s"
            beside = f"LIBLINEAR does not reach it: {how}"
            out.append([name, here_, beside, f"<= {MOST:g} times", verdict(reached)])
            continue
        seconds = min(p["seconds"] for p in there)
        ratio = own["seconds"] / seconds
        beside = f"{seconds:.2f} s of LIBLINEAR in memory"
        met = verdict(reached and ratio <= MOST)
        out.append([name, f"{here_}: {ratio:.2f}", beside, f"<= {MOST:g} times", met])
    return out
