"""Two workers of one thread in a Dask cluster on this machine, beside threads of one process."""

from __future__ import annotations

from typing import Any

from benchmarks.scale import processes
from benchmarks.scale.setup import Setup, here, median, verdict

MOST = 1.3
TOL = 1e-6
HOW = 'not installed (distributed): pip install "separatrix[dask]"'


def measure(setup: Setup) -> dict[str, Any]:
    if processes.has(here(), ["distributed"]):
        return {"absent": HOW}
    cache = setup.cache("dense")
    setup.fit("dense", tol=1e-3, cache=cache)  # both find the cache warm
    seconds: dict[str, list[float]] = {"local": [], "dask": []}
    for repeat in range(setup.repeats):
        for name in seconds:
            setup.say(f"two workers, {name} ({repeat + 1})")
            ended = setup.fit("dense", tol=TOL, cache=cache, engine_name=name, workers=2)
            # The cluster was there before: what is timed is the fit.
            seconds[name].append(ended.result["fit_seconds"])
    return {name: median(values) for name, values in seconds.items()}


def lines(found: dict[str, Any]) -> list[list[str]]:
    name = "Dask, two workers of one thread: the fit, over a warm cache"
    if "absent" in found:
        return [[name, found["absent"], "", f"<= {MOST:g} times", ""]]
    ratio = found["dask"] / found["local"]
    beside = f"{found['local']:.2f} s of two threads"
    met = verdict(ratio <= MOST)
    return [[name, f"{found['dask']:.2f} s: {ratio:.2f}", beside, f"<= {MOST:g} times", met]]
