"""Two workers of one thread in a Dask cluster on this machine, beside threads of one process."""

from __future__ import annotations

from typing import Any

from benchmarks.scale import processes
from benchmarks.scale.setup import Setup, here, median, verdict

MOST = 1.3
TOL = 1e-6
AGAIN = 4
HOW = 'not installed (distributed): pip install "separatrix[dask]"'


def measure(setup: Setup) -> dict[str, Any]:
    if processes.has(here(), ["distributed"]):
        return {"absent": HOW}
    cache = setup.cache("dense")
    setup.fit("dense", tol=1e-3, cache=cache)  # both find the cache warm
    first: dict[str, list[float]] = {"local": [], "dask": []}
    seconds: dict[str, list[float]] = {"local": [], "dask": []}
    for repeat in range(setup.repeats):
        for name in seconds:
            setup.say(f"two workers, {name} ({repeat + 1})")
            ended = setup.fit(
                "dense", tol=TOL, cache=cache, engine_name=name, workers=2, again=AGAIN
            )
            # The cluster was there before: what is timed is the fit.
            first[name].append(ended.result["fit_seconds"])
            seconds[name] += ended.result["again_seconds"]
    return {
        **{name: median(values) for name, values in seconds.items()},
        "first": {name: median(values) for name, values in first.items()},
    }


def lines(found: dict[str, Any]) -> list[list[str]]:
    name = "Dask, two workers of one thread: the fit, over a warm cache"
    if "absent" in found:
        return [[name, found["absent"], "", f"<= {MOST:g} times", ""]]
    ratio = found["dask"] / found["local"]
    first = found["first"]
    beside = (
        f"{found['local']:.2f} s of two threads; the first fit, for which each process loads the "
        f"library: {first['dask']:.2f} and {first['local']:.2f} s"
    )
    met = verdict(ratio <= MOST)
    return [[name, f"{found['dask']:.2f} s: {ratio:.2f}", beside, f"<= {MOST:g} times", met]]
