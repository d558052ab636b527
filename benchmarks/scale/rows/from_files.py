"""Fits from files to a certified 1e-6, beside reading everything and fitting it in memory."""

from __future__ import annotations

import shutil
from typing import Any

from benchmarks.scale import processes
from benchmarks.scale.setup import Setup, here, median, verdict

TOL = 1e-6
FIRST, WARM, PASSES = 1.5, 1.0, 6


def measure(setup: Setup) -> dict[str, Any]:
    return {kind: _measured(setup, kind) for kind in ("dense", "clicks")}


def _measured(setup: Setup, kind: str) -> dict[str, Any]:
    # Clicks are encoded as the command line does it: numbers in units of their deviation.
    options = {"tol": TOL, "standardise": kind == "clicks"}
    whole: dict[str, list[float]] = {"first": [], "warm": []}
    results: dict[str, Any] = {}
    peaks: dict[str, int] = {}
    readers = [reader for reader in _readers(kind) if not processes.has(here(), [reader])]
    for repeat in range(setup.repeats):
        cache = setup.cache(f"fresh-{kind}-{repeat}")
        for name in ("first", "warm"):
            setup.say(f"{kind}: from files in passes, {name} ({repeat + 1})")
            ended = setup.fit(kind, cache=cache, **options)
            whole[name].append(ended.seconds)
            results[name], peaks[name] = ended.result, ended.peak
            results[name].pop("bits")
        shutil.rmtree(cache)
        for reader in readers:
            setup.say(f"{kind}: read all with {reader}, fit in memory ({repeat + 1})")
            given = {**setup.files(kind), "tol": TOL}
            if kind == "dense":
                ended = setup.call("fit_in_memory", reader=reader, **given)
            else:
                ended = setup.call("fit_clicks_in_memory", **given)
            if not ended.ok:
                results[reader] = {"why": ended.why}
                continue
            whole.setdefault(reader, []).append(ended.seconds)
            results[reader], peaks[reader] = ended.result, ended.peak
    seconds = {name: median(values) for name, values in whole.items()}
    return {"seconds": seconds, "peak_bytes": peaks, "results": results}


def _readers(kind: str) -> tuple[str, ...]:
    return ("pyarrow", "duckdb") if kind == "dense" else ("duckdb",)


def lines(found: dict[str, Any]) -> list[list[str]]:
    out = []
    for kind, one in found.items():
        seconds = one["seconds"]
        memory = {k: v for k, v in seconds.items() if k not in ("first", "warm")}
        for name, most in (("first", FIRST), ("warm", WARM)):
            row = f"files to a certified {TOL:g}, {kind}, " + (
                "the first time" if name == "first" else "with a warm cache"
            )
            here_ = f"{seconds[name]:.2f} s"
            if not memory:
                why = next((r["why"] for r in one["results"].values() if "why" in r), "")
                out.append([row, here_, f"in memory: {why}", f"<= {most:g} times", ""])
                continue
            best = min(memory, key=memory.__getitem__)
            ratio = seconds[name] / memory[best]
            beside = f"{memory[best]:.2f} s in memory ({best})"
            out.append(
                [row, f"{here_}: {ratio:.2f}", beside, f"<= {most:g} times", verdict(ratio <= most)]
            )
        result = one["results"]["first"]
        gap = f"gap {result['relative_gap']:.1e}, {result['status']}"
        passes = result["passes"]
        met = verdict(passes <= PASSES)
        out.append([f"passes for that, {kind}", str(passes), gap, f"<= {PASSES}", met])
    return out
