"""The tables on standard output, and what describes the machine in the JSON document."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path

from benchmarks import kernel_machines
from benchmarks.objectives import FORMULAS
from benchmarks.peers import GROUPS
from benchmarks.runner import TARGETS
from benchmarks.statements import lines as statement_lines

PEERS = GROUPS[1:]
LIBRARIES = (
    "separatrix",
    "scikit-learn",
    "scikit-learn-intelex",
    "liblinear-official",
    "numpy",
    "scipy",
    "numba",
)


def machine(threads: int) -> dict:
    """What the times depend on; nothing that names the machine."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(
            line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")
        )
    except (OSError, StopIteration):
        pass
    versions = {}
    for name in LIBRARIES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
    return {
        "cores": os.cpu_count(),
        "threads": threads,
        "cpu": model,
        "system": platform.system(),
        "python": platform.python_version(),
        "libraries": versions,
    }


def _best(result: dict, group: str, target: float) -> dict:
    """The fastest of a group: seconds (None where none got there), its name, the limit it hit."""
    members = [s for s in result["solvers"] if s["group"] == group]
    forms = {s["form"] for s in members}
    reached = [s for s in members if s["seconds_to"][f"{target:g}"] is not None]
    if reached:
        fastest = min(reached, key=lambda s: s["seconds_to"][f"{target:g}"])
        form = f" {fastest['form']}" if len(forms) > 1 else ""
        return {"seconds": fastest["seconds_to"][f"{target:g}"], "name": fastest["solver"] + form}
    over = [s["exceeded_limit"] for s in members if s["exceeded_limit"]]
    return {"seconds": None, "over": max(over, default=None), "present": bool(members)}


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f}" if seconds >= 10 else f"{seconds:.3g}"


def _cell(best: dict) -> str:
    if best["seconds"] is not None:
        return _seconds(best["seconds"])
    if best["over"]:
        return f"> {best['over']:.3g}"
    return "not reached" if best["present"] else ""


def _ratio(own: dict, peers: list[dict]) -> str:
    """Fastest peer over separatrix: above 1, separatrix is faster."""
    times = [p["seconds"] for p in peers if p["seconds"] is not None]
    if own["seconds"] is None:
        return ""
    if times:
        return f"{min(times) / own['seconds']:.2f}"
    over = [p["over"] for p in peers if p.get("over")]
    return f"> {max(over) / own['seconds']:.0f}" if over and max(over) > own["seconds"] else ""


def _layout(lines: list[list[str]], left: tuple[int, ...]) -> str:
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    shown = []
    for n, line in enumerate(lines):
        cells = [
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        shown.append("  ".join(cells).rstrip())
        if n == 0:
            shown.append("-" * len(shown[0]))
    return "\n".join(shown)


def table(document: dict, target: float) -> str:
    """Rows are objectives; columns the seconds of each group's fastest solver, and the ratio."""
    lines = [
        [
            "workload",
            "separatrix",
            "scikit-learn",
            "",
            "LIBLINEAR",
            "",
            "peer/separatrix",
            "optimum",
        ]
    ]
    for workload in document["workloads"]:
        mark = " *" if workload["stand_in"] else ""
        for result in workload["results"]:
            if "error" in result:
                lines.append([result["row"] + mark, result["error"], *[""] * 6])
                continue
            own, sklearn, liblinear = (_best(result, group, target) for group in GROUPS)
            gap = result["optimum_relative_gap"]
            lines.append(
                [
                    result["row"] + mark,
                    _cell(own),
                    _cell(sklearn),
                    sklearn.get("name", ""),
                    _cell(liblinear),
                    liblinear.get("name", ""),
                    _ratio(own, [sklearn, liblinear]),
                    "certified" if result["optimum_certified"] else f"best found, gap {gap:.0e}",
                ]
            )
    title = f"Seconds to a relative suboptimality of {target:g}"
    return f"{title}\n\n{_layout(lines, left=(0, 3, 5, 7))}"


def text(document: dict) -> str:
    """Everything that is printed at the end of a run."""
    about, workloads = document["machine"], document["workloads"]
    versions = ", ".join(f"{k} {v}" for k, v in about["libraries"].items() if v)
    parts = [table(document, target) for target in TARGETS] if workloads else []

    notes: list[str] = []
    if any(workload["stand_in"] for workload in workloads):
        notes.append("* a synthetic stand-in of the same shape: the real data were not found.")
    if workloads:
        losses = {r["loss"] for w in workloads for r in w["results"] if "loss" in r}
        notes += [
            f"{loss.replace('_', ' ')}: {FORMULAS[loss]}" for loss in FORMULAS if loss in losses
        ]
        notes.append("+b: with an intercept b, not penalised; all other rows have none (b = 0).")
        notes.append(
            "optimum: the best value found; certified where a lower bound is within 1e-9 of it. "
            "'> t': no solver of the group got there; the longest that one was given is t seconds."
        )
    converted = [
        (s["prepare_seconds"], r["row"])
        for w in workloads
        for r in w["results"]
        for s in r.get("solvers", ())
        if s["group"] == "LIBLINEAR" and s["prepare_seconds"]
    ]
    if converted:
        seconds, where = max(converted)
        notes.append(
            "LIBLINEAR's conversion of the data is not in its times; "
            f"it took at most {_seconds(seconds)} s ({where})."
        )
    if notes:
        parts.append("\n".join(notes))

    statements = document.get("statements", [])
    if statements:
        shown = _layout(statement_lines(statements), left=(0, 1, 3))
        parts.append(f"Seconds to an answer\n\n{shown}")

    machines = document.get("kernel_machines", [])
    if machines:
        shown = _layout(kernel_machines.summary(machines), left=(0, 3, 7, 9))
        parts.append(f"Kernel machines: seconds to fit, and to predict\n\n{shown}")
        parts.append(_layout(kernel_machines.lines(machines), left=(0, 1)))
        parts.append("\n".join(kernel_machines.notes(machines)))

    firsts = [f for w in [*workloads, *machines, *statements] for f in w.get("first_calls", ())]
    if firsts:
        lines = [
            ["first fit of separatrix, empty cache", "form", "first s", "later s", "compilation s"]
        ]
        for f in firsts:
            times = [f["first_seconds"], f["later_seconds"], f["compile_seconds"]]
            lines.append([f["row"], f["form"], *map(_seconds, times)])
        parts.append(_layout(lines, left=(0, 1)))

    results = [r for w in workloads for r in w["results"]] + machines
    complaints = [c for r in results for c in r.get("complaints", ())]
    if complaints:
        parts.append("\n".join(["CONTRADICTED CERTIFICATES:", *complaints]))
    clock = document["options"]["clock"]
    parts.append(
        f"Seconds by the {'wall clock' if clock == 'wall' else 'processor clock'}; "
        f"{about['cpu']}, {about['cores']} cores, {about['threads']} threads for every solver, "
        f"float64\nPython {about['python']}, {versions}"
    )
    return "\n\n".join(parts)
