"""The tables on standard output, the targets, and the page of the documentation.

Everything is made from the JSON document alone. A ratio is that of two medians of seconds, both to
the same suboptimality on the same objective: `ratio` gives none where either side missed it.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import math
import os
import platform
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import kernel_machines, system
from benchmarks.objectives import FORMULAS
from benchmarks.peers import GROUPS, PEERS, printed_elsewhere
from benchmarks.runner import TARGETS
from benchmarks.statements import lines as statement_lines

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
LIBRARIES = (
    "separatrix",
    "scikit-learn",
    "scikit-learn-intelex",
    "liblinear-official",
    "snapml",
    "skglm",
    "celer",
    "glum",
    "skein-glm",
    "adelie",
    "numpy",
    "scipy",
    "numba",
)
# The required means over the rows, by suboptimality: for the fastest peer, whichever it is on a
# row, and for scikit-learn's fastest solver.
MEAN = {1e-3: 3.0, 1e-6: 4.0}
SKLEARN_MEAN = 5.0
SLOWEST = {1e-3: 1.1, 1e-6: 1.5}  # on every row of linear classifiers
OTHERS = 2.0  # on every kernel machine, and of the closed forms in the mean


def _version(name: str) -> str | None:
    """The version of an installed library, here or else in the second environment."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return printed_elsewhere(f"import importlib.metadata as m; print(m.version({name!r}))")


def machine(threads: int) -> dict:
    """The hardware and software that the times depend on; nothing that names the machine."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(
            line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")
        )
    except (OSError, StopIteration):
        pass
    versions = {name: _version(name) for name in LIBRARIES}
    return {
        "cores": os.cpu_count(),
        "threads": threads,
        "cpu": model,
        "system": platform.system(),
        "python": platform.python_version(),
        "libraries": versions,
    }


# --- one side of a comparison ---------------------------------------------------------------------


@dataclass(frozen=True)
class Side:
    """The fastest of some solvers on a row: seconds, None where none of them got there."""

    seconds: float | None
    name: str = ""
    over: float | None = None  # the longest time limit that one of them hit
    present: bool = True

    def shown(self) -> str:
        if self.seconds is not None:
            return _seconds(self.seconds)
        if self.over:
            return f"> {self.over:.3g}"
        return "not reached" if self.present else ""


@dataclass(frozen=True)
class Line:
    """A row of a table: this library, the fastest peer, and scikit-learn's fastest."""

    name: str
    own: Side
    peer: Side
    sklearn: Side
    optimum: str = ""


def ratio(own: Side, other: Side) -> float | None:
    """The speed-up of this library; None where either side missed the target.

    Neither a time limit nor a nearby accuracy stands in for a time that was not measured.
    """
    if own.seconds is None or other.seconds is None:
        return None
    return other.seconds / own.seconds


def geometric_mean(values: Iterable[float]) -> float | None:
    logs = [math.log(value) for value in values]
    return math.exp(math.fsum(logs) / len(logs)) if logs else None


def fastest(result: dict, groups: Iterable[str], target: float) -> Side:
    groups = set(groups)
    members = [s for s in result["solvers"] if s["group"] in groups]
    key = f"{target:g}"
    reached = [s for s in members if s["seconds_to"][key] is not None]
    over = [s["exceeded_limit"] for s in members if s["exceeded_limit"]]
    if not reached:
        return Side(None, over=max(over, default=None), present=bool(members))
    fastest = min(reached, key=lambda s: s["seconds_to"][key])
    several = len({s["form"] for s in members if s["solver"] == fastest["solver"]}) > 1
    name = f"{fastest['solver']} {fastest['form']}" if several else fastest["solver"]
    library = fastest["group"]
    if library not in ("separatrix",) and not name.startswith(library):
        name = f"{library} {name}"
    return Side(fastest["seconds_to"][key], name)


def row_lines(document: dict, target: float, *, extra: bool = False) -> list[Line]:
    """The rows of the table at a suboptimality; with ``extra``, those that are in no mean."""
    found = []
    for workload in document["workloads"]:
        mark = " *" if workload["stand_in"] else ""
        for result in workload["results"]:
            if result.get("extra", False) != extra:
                continue
            if "error" in result:
                missing = Side(None)
                found.append(Line(result["row"] + mark, missing, missing, missing, result["error"]))
                continue
            gap = result["optimum_relative_gap"]
            sides = [
                fastest(result, groups, target)
                for groups in (("separatrix",), PEERS, ("scikit-learn",))
            ]
            optimum = "certified" if result["optimum_certified"] else f"best found, gap {gap:.0e}"
            found.append(Line(result["row"] + mark, *sides, optimum))
    return found


def _least(contenders: list[dict], key: str) -> Side:
    """The fastest of some contenders; those that got there have ``key``."""
    reached = [c for c in contenders if c.get(key) is not None]
    over = max((c["over"] for c in contenders if c.get("over")), default=None)
    if not reached:
        return Side(None, over=over, present=bool(contenders))
    fastest = min(reached, key=lambda c: c[key])
    return Side(fastest[key], fastest["name"])


def other_lines(document: dict) -> list[Line]:
    """Kernel machines, to their own accuracy, and closed forms, which end in an answer."""
    found = []
    for result in document.get("kernel_machines", ()):
        if "error" in result:
            continue
        everyone = result["contenders"]
        own = [c for c in everyone if c["group"] == "separatrix"]
        peers = [c for c in everyone if c["group"] == "peer"]
        sklearn = [c for c in peers if c["name"] == "scikit-learn"]
        name = result["row"] + (" *" if result["stand_in"] else "")
        optimum = "certified" if result["optimum_certified"] else "best found"
        found.append(Line(name, *(_least(c, "fit") for c in (own, peers, sklearn)), optimum))
    for result in document.get("statements", ()):
        if not result.get("closed_form"):
            continue
        everyone = result["contenders"]
        everyone = [c for c in everyone if _right(c["answer"], [a["answer"] for a in everyone])]
        own = [c for c in everyone if c["group"] == "separatrix"]
        peers = [c for c in everyone if c["group"] != "separatrix"]
        sklearn = [c for c in peers if c["group"] == "peer" and c["name"].startswith("scikit")]
        sides = (_least(c, "seconds") for c in (own, peers, sklearn))
        found.append(Line(result["task"], *sides, "right answers only"))
    return found


def _right(answer: str, answers: list[str]) -> bool:
    """Whether a closed form's answer is as good as the best: it has no other suboptimality."""
    value = _number(answer)
    if value is None:
        return False
    if "orthogonal" in answer:
        return value <= 1e-10
    return value >= max(filter(None, map(_number, answers)), default=0.0) - 0.1


def _number(answer: str) -> float | None:
    """The number in ``"orthogonal to 2e-14"`` or ``"74.68 % right"``."""
    for word in answer.split():
        try:
            return float(word)
        except ValueError:
            continue
    return None


# --- the tables -----------------------------------------------------------------------------------


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f}" if seconds >= 10 else f"{seconds:.3g}"


def layout(lines: list[list[str]], left: tuple[int, ...]) -> str:
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


def _shortfall(line: Line, mean: float) -> str:
    """The mark of a row that is behind its fastest peer, or below the required mean."""
    if line.own.seconds is None:
        return "MISSED"
    found = ratio(line.own, line.peer)
    if found is None:
        return ""
    if found < 1.0:
        return "SLOWER"
    return f"< {mean:g}" if found < mean else ""


def _times(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def table(lines: list[Line], title: str, mean: float) -> str:
    """The table of objectives, with the fastest peer, scikit-learn's fastest, and the ratios."""
    shown = [
        [
            "workload",
            "separatrix",
            "best peer",
            "",
            "ratio",
            "short",
            "scikit-learn",
            "",
            "ratio",
            "optimum",
        ]
    ]
    for line in lines:
        shown.append(
            [
                line.name,
                line.own.shown(),
                line.peer.shown(),
                line.peer.name,
                _times(ratio(line.own, line.peer)),
                _shortfall(line, mean),
                line.sklearn.shown(),
                line.sklearn.name.removeprefix("scikit-learn "),
                _times(ratio(line.own, line.sklearn)),
                line.optimum,
            ]
        )
    return f"{title}\n\n{layout(shown, left=(0, 3, 5, 7, 9))}"


def answers(document: dict) -> list[list[str]]:
    """The answer of every library on each row, with the gap that the best bound certifies.

    The answer is that of the fastest setting within the tightest target, or the best where there is
    none. The gap is between the answer's value and the largest lower bound of the row.
    """
    shown = [["workload", "library", "solver", "tol", "seconds", "certified gap", ""]]
    for result in (r for w in document["workloads"] for r in w["results"] if "error" not in r):
        optimum, size = result["optimum"], max(abs(result["optimum"]), 1e-300)
        bound = optimum - result["optimum_relative_gap"] * size
        for group in GROUPS:
            settings: dict[tuple, list[dict]] = {}
            for solver in (s for s in result["solvers"] if s["group"] == group):
                for run in solver["runs"]:
                    key = solver["solver"], solver["form"], run["setting"]
                    settings.setdefault(key, []).append(run)
            found = [
                (
                    statistics.median(run["seconds"] for run in runs),
                    statistics.median_high(run["primal"] for run in runs),
                    *key,
                )
                for key, runs in settings.items()
            ]
            near = [f for f in found if f[1] <= optimum + min(TARGETS) * size]
            if found:
                seconds, value, name, _, setting = (
                    min(near) if near else min(found, key=lambda f: f[1])
                )
                gap = max(0.0, value - bound) / max(abs(value), 1e-300)
                first = result["row"] if group == GROUPS[0] else ""
                numbers = [f"{setting:g}", _seconds(seconds), f"{gap:.1e}"]
                name = name.removeprefix(group).strip()
                shown.append([first, group, name, *numbers, "" if near else "short of it"])
    return shown


@dataclass(frozen=True)
class Goal:
    """A required ratio, and the measured one."""

    what: str
    wanted: float
    found: float | None
    rows: str

    @property
    def met(self) -> bool:
        return self.found is not None and self.found >= self.wanted


def goals(document: dict) -> list[Goal]:
    """The requirements on the means over the rows and on the slowest row.

    A row on which this library missed the suboptimality counts as one that fell short of it; a row
    whose peers missed it has no ratio, and is in no mean.
    """
    found = []
    others = other_lines(document)
    for target in sorted(TARGETS):
        lines = row_lines(document, target)
        for name, those in (("", lines), (", with the kernel machines and closed forms", others)):
            both = lines + those if name else those
            if not both or (name and not others):
                continue
            for side, wanted in (("best peer", MEAN[target]), ("scikit-learn", SKLEARN_MEAN)):
                found.append(_mean(f"{side} at {target:g}{name}", side, both, wanted))
        if lines:
            what = f"slowest row, best peer at {target:g}"
            found.append(_slowest(what, lines, SLOWEST[target]))
    if others:
        what = "slowest kernel machine or closed form, best peer"
        found.append(_slowest(what, others, OTHERS))
    return found


def _slowest(what: str, lines: list[Line], wanted: float) -> Goal:
    ratios = [(ratio(line.own, line.peer), line) for line in lines]
    known = [(value, line.name) for value, line in ratios if value is not None]
    missed = [line.name for line in lines if line.own.seconds is None]
    least = min(known, default=(None, ""))
    where = f"{least[1]}; missed by separatrix: {len(missed)}" if missed else least[1]
    return Goal(what, wanted, 0.0 if missed else least[0], where)


def _mean(what: str, side: str, lines: list[Line], wanted: float) -> Goal:
    others = [line.peer if side == "best peer" else line.sklearn for line in lines]
    ratios = [ratio(line.own, other) for line, other in zip(lines, others, strict=True)]
    known = [value for value in ratios if value is not None]
    missed = sum(line.own.seconds is None for line in lines)
    rows = f"{len(known)} of {len(lines)} rows" + (f", {missed} missed" if missed else "")
    return Goal(f"geometric mean, {what}", wanted, None if missed else geometric_mean(known), rows)


def targets(document: dict) -> str:
    """The table of required and measured ratios, and whether each requirement is met."""
    lines = [["times faster than", "wanted", "measured", "", ""]]
    for goal in goals(document):
        found = "" if goal.found is None else f"{goal.found:.2f}"
        lines.append([goal.what, f"{goal.wanted:g}", found, system.verdict(goal.met), goal.rows])
    return f"Targets\n\n{layout(lines, left=(0, 3, 4))}"


def _notes(document: dict) -> list[str]:
    workloads = document["workloads"]
    losses = {r["loss"] for w in workloads for r in w["results"] if "loss" in r}
    notes = []
    if any(workload["stand_in"] for workload in workloads):
        notes.append("* a synthetic stand-in of the same shape: the real data were not found.")
    notes += [f"{loss.replace('_', ' ')}: {FORMULAS[loss]}" for loss in FORMULAS if loss in losses]
    notes += [
        "No row has an intercept (b = 0) but those with +b, where it is not penalised.",
        "ratio: the seconds of the other over those of separatrix, both to that suboptimality; "
        "none where either missed it ('> t': nobody got there, and one was given t seconds).",
        "short: SLOWER than the best peer, or below what is asked for in the mean (<).",
        "optimum: the best value found; certified where a lower bound is within 1e-8 of it.",
        "certified gap: between a library's answer and the largest lower bound that is known for "
        "the row, relative to the answer. Only separatrix returns a bound.",
    ]
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
    return notes + left_out(document)


def left_out(document: dict) -> list[str]:
    """The note about groups that could not be measured, if there are any."""
    absent = document.get("absent")
    return [f"not installed, left out: {', '.join(absent)}."] if absent else []


def _what(target: float) -> str:
    return f"Seconds to a relative suboptimality of {target:g}"


def text(document: dict) -> str:
    """Everything that is printed at the end of a run."""
    about, workloads = document["machine"], document["workloads"]
    versions = ", ".join(f"{k} {v}" for k, v in about["libraries"].items() if v)
    parts = []
    for target in sorted(TARGETS, reverse=True):
        lines = row_lines(document, target)
        if lines:
            parts.append(table(lines, _what(target), MEAN[target]))
    others = other_lines(document)
    if others:
        title = "Seconds of kernel machines (to 1e-4) and of closed forms"
        parts.append(table(others, title, OTHERS))
    if workloads:
        title = f"The fastest answer of each library within {min(TARGETS):g}, or else its best"
        parts.append(f"{title}\n\n{layout(answers(document), left=(0, 1, 2, 6))}")
    if workloads or others:
        parts.append(targets(document))
        parts.append("\n".join(_notes(document)))
    for target in sorted(TARGETS, reverse=True):
        lines = row_lines(document, target, extra=True)
        if lines:
            title = f"{_what(target)}, rows that are in no mean"
            parts.append(table(lines, title, MEAN[target]))

    for name, measured in document.get("system", {}).items():
        module = system.figure(name)
        if "error" in measured:
            parts.append(f"{name}: NOT MEASURED, {measured['error']}")
            continue
        shown = layout(module.lines(measured), left=module.LEFT)
        parts.append("\n".join([shown, "", *module.notes(measured)]))

    statements = document.get("statements", [])
    if statements:
        shown = layout(statement_lines(statements), left=(0, 1, 3))
        parts.append(f"Seconds to an answer\n\n{shown}")

    machines = document.get("kernel_machines", [])
    if machines:
        shown = layout(kernel_machines.summary(machines), left=(0, 3, 7, 9))
        parts.append(f"Kernel machines: seconds to fit, and to predict\n\n{shown}")
        parts.append(layout(kernel_machines.lines(machines), left=(0, 1)))
        parts.append("\n".join(kernel_machines.notes(machines)))

    firsts = [f for w in [*workloads, *machines, *statements] for f in w.get("first_calls", ())]
    if firsts:
        shown = [
            ["first fit of separatrix, empty cache", "form", "first s", "later s", "compilation s"]
        ]
        for f in firsts:
            times = [f["first_seconds"], f["later_seconds"], f["compile_seconds"]]
            shown.append([f["row"], f["form"], *map(_seconds, times)])
        parts.append(layout(shown, left=(0, 1)))

    results = [r for w in workloads for r in w["results"]] + machines
    complaints = [c for r in results for c in r.get("complaints", ())]
    if complaints:
        parts.append("\n".join(["CONTRADICTED CERTIFICATES:", *complaints]))
    clock = document["options"]["clock"]
    repeats = document["options"]["repeats"]
    parts.append(
        f"Seconds by the {'wall clock' if clock == 'wall' else 'processor clock'}, medians of "
        f"{repeats} runs; {about['cpu']}, {about['cores']} cores, {about['threads']} threads for "
        f"every solver, float64 but for the embeddings\nPython {about['python']}, {versions}"
    )
    if "date" in document:
        took = f" in {document['seconds'] / 60:.0f} minutes" if "seconds" in document else ""
        parts.append(f"Printed on {document['date']} by `{document['command']}`{took}.")
    return "\n\n".join(parts)


def add_timing(parser: argparse.ArgumentParser) -> None:
    """Add the options of commands that time both libraries in one process."""
    add = parser.add_argument
    add("--threads", type=int, default=1, help="for both libraries alike (1)")
    add(
        "--clock",
        choices=("wall", "cpu"),
        default="wall",
        help="what is timed; cpu where others use the machine (wall)",
    )
    add("--docs", action="store_true", help=f"also write the table into {PAGE.name}")


def publish(args: argparse.Namespace, name: str, table: str, timed: str) -> None:
    """Print a table with how it was timed, and with ``--docs`` put it into the page.

    ``timed`` describes the times, with ``{}`` for the kind of time.
    """
    about = machine(args.threads)
    kind = "wall-clock" if args.clock == "wall" else "processor"
    threads = f"{about['threads']} thread{'s' if about['threads'] != 1 else ''}"
    given = "".join(
        f" --{key} {value}"
        for key, value in vars(args).items()
        if key in ("cells", "threads", "clock")
    )
    printed = (
        f"{table}\n\n{timed.format(kind)}, {threads} of {about['cpu']}; scikit-learn "
        f"{about['libraries']['scikit-learn']}.\n"
        f"Printed on {datetime.now(UTC):%Y-%m-%d} by `python -m benchmarks {name}{given}`."
    )
    print(printed)
    if args.docs:
        put(PAGE, name, printed)


def put(page: Path, name: str, printed: str, *, fenced: bool = True) -> None:
    """Put printed text between the marks of that name in a page of the documentation.

    ``fenced`` is whether the text is shown as it was printed, and not as Markdown.
    """
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    said = page.read_text("utf-8")
    if begin not in said or end not in said:
        raise SystemExit(f"{page} lacks the marks of {name}")
    before, rest = said.split(begin, 1)
    after = rest.split(end, 1)[1]
    said = f"```text\n{printed}\n```" if fenced else printed
    page.write_text(f"{before}{begin}{said}\n{end}{after}", "utf-8")


def write_page(document: dict, page: Path = PAGE) -> None:
    """Puts the printed text into the documentation's page."""
    put(page, "table", text(document))
