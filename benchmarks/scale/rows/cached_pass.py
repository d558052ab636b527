"""A pass over cached blocks, beside the same pass over the same blocks in memory."""

from __future__ import annotations

from typing import Any

from benchmarks.scale.setup import Setup, verdict

LEAST = 0.7


def measure(setup: Setup) -> dict[str, Any]:
    found = {}
    for kind in ("dense", "clicks"):
        setup.say(f"{kind}: a pass over the cache and one in memory")
        ended = setup.call(
            "pass_speeds",
            **setup.files(kind),
            memory=setup.memory,
            cache=setup.cache(kind),
            repeats=max(3, setup.repeats),
        )
        found[kind] = ended.result if ended.ok else {"why": ended.why}
    return found


def lines(found: dict[str, Any]) -> list[list[str]]:
    out = []
    for kind, one in found.items():
        name = f"a pass over cached blocks, {kind}"
        if "why" in one:
            out.append([name, f"failed: {one['why']}", "", f">= {LEAST:.0%}", verdict(False)])
            continue
        speed = {k: one["bytes"] / one[k] / 1e9 for k in ("cached", "memory")}
        share = speed["cached"] / speed["memory"]
        out.append(
            [
                name,
                f"{speed['cached']:.2f} GB/s: {share:.0%}",
                f"{speed['memory']:.2f} GB/s in memory",
                f">= {LEAST:.0%}",
                verdict(share >= LEAST),
            ]
        )
    return out
