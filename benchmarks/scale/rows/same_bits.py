"""Coefficients for any number of workers, and after one of them died: the same bits."""

from __future__ import annotations

from typing import Any

from benchmarks.scale import processes
from benchmarks.scale.setup import Setup, here, verdict

WORKERS = (1, 2, 3)


def measure(setup: Setup) -> dict[str, Any]:
    ways: list[tuple[str, dict[str, Any]]] = [
        (f"{n} threads", {"engine_name": "local", "workers": n}) for n in WORKERS
    ]
    if not processes.has(here(), ["distributed"]):
        ways += [(f"{n} Dask workers", {"engine_name": "dask", "workers": n}) for n in WORKERS]
        killed = {"engine_name": "dask", "workers": 3, "kill_worker": True}
        ways.append(("3 Dask workers, one killed", killed))
    bits: dict[str, str] = {}
    for name, way in ways:
        setup.say(f"the same bits: {name}")
        bits[name] = setup.fit("dense", cache=setup.cache("dense"), **way).result["bits"]
    first = next(iter(bits.values()))
    apart = [name for name, those in bits.items() if those != first]
    return {"same": not apart, "ways": list(bits), "apart": apart}


def lines(found: dict[str, Any]) -> list[list[str]]:
    said = "the same bits" if found["same"] else f"others: {', '.join(found['apart'])}"
    ways = ", ".join(found["ways"])
    if len(found["ways"]) == len(WORKERS):
        ways += ' (Dask is not installed: pip install "separatrix[dask]")'
    return [["coefficients", said, ways, "the same bits", verdict(found["same"])]]
