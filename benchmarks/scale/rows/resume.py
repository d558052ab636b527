"""``kill -9`` at random moments of the passes, and the same fit again with its checkpoint.

Every process writes down when it begins a pass, so that passes that were begun twice are counted.
"""

from __future__ import annotations

import random
from typing import Any

from benchmarks.scale import processes
from benchmarks.scale.setup import Setup, verdict

TOL = 1e-6


def measure(setup: Setup) -> dict[str, Any]:
    cache = setup.cache("resume")
    whole = _fit(setup, "whole", cache)  # and fills the cache
    whole = _fit(setup, "whole", cache)
    if not whole.ok:
        raise RuntimeError(f"the fit failed: {whole.why}")
    passes = whole.result["passes"]
    moments = random.Random(setup.seed)
    ends = []
    for k in range(setup.kills):
        # It is killed during its passes: before them nothing could be lost.
        after = moments.random() * whole.result["fit_seconds"]
        setup.say(f"kill -9 after {after:.2f} s of {whole.result['fit_seconds']:.2f} of passes")
        log = setup.folder / f"kill-{k}.log"
        log.unlink(missing_ok=True)
        killed = _fit(setup, f"kill-{k}", cache, kill_after=after, since=log)
        done = log.exists() and "done" in log.read_text()
        again = _fit(setup, f"kill-{k}", cache)
        begun = [line for line in log.read_text().splitlines() if "done" not in line]
        ends.append(
            {
                "after": after,
                "killed": killed.code != 0 and not done,
                "lost": None if not again.ok else 0 if done else max(0, len(begun) - passes),
                "same": again.ok and again.result["bits"] == whole.result["bits"],
                "optimal": again.ok and again.result["status"] == "optimal",
                "why": again.why,
            }
        )
    return {"seconds": whole.seconds, "passes": passes, "ends": ends}


def _fit(setup: Setup, name: str, cache: str, **how: Any) -> processes.Ended:
    arguments = {
        **setup.files("dense"),
        "memory": setup.memory,
        "tol": TOL,
        "cache": cache,
        "checkpoint": str(setup.folder / f"{name}.checkpoint"),
        "log": str(setup.folder / f"{name}.log"),
    }
    return processes.call("benchmarks.scale.own:fit", arguments, limit=setup.limit, **how)


def lines(found: dict[str, Any]) -> list[list[str]]:
    ends = found["ends"]
    same = all(end["same"] for end in ends)
    optimal = all(end["optimal"] for end in ends)
    lost = [end["lost"] for end in ends if end["lost"] is not None]
    killed = sum(end["killed"] for end in ends)
    said = "the same bits" if same else "all certified" if optimal else "NOT all certified"
    most = f"at most {max(lost)} more than {found['passes']} passes" if lost else "none ended"
    met = optimal and len(lost) == len(ends) and max(lost, default=2) <= 1
    name = f"kill -9 at {len(ends)} random moments ({killed} before the end), then resume"
    return [[name, said, most, "the same optimum, at most one pass lost", verdict(met)]]
