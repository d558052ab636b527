"""``python -m benchmarks sweep``: where, over every objective, is this library not the fastest?

The table of the benchmark holds the rows that somebody thought of. The sweep holds the others:
every loss and penalty, with an intercept and without, binary, one-vs-rest and multinomial, over
seven decades of C, on words, one-hot columns, embeddings, images and a tall table. Each cell is
measured by the benchmark's own method (`runner`), with fewer repeats, and a peer gets twice the
time of the fastest so far: enough to tell who is ahead. A peer that took more than three times
as long as the fastest peer is not run at the next two values of C. What is printed is every cell
that is slower than the fastest peer, that missed its accuracy, or that takes more than ten times
the seconds of its neighbour at the next smaller C.

The JSON document is written after each question, and ``--resume`` goes on where one ends. Two
commands with ``--rows`` of their own, one on each core, write two documents; ``--table`` prints
one table of both.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise, product
from pathlib import Path

from benchmarks import report
from benchmarks.peers import GROUPS, PEERS, SOLVERS, installed
from benchmarks.runner import TARGETS, Options, run_workload
from benchmarks.system.child import threads
from benchmarks.worker import stocked
from benchmarks.workloads import adult, dense, embeddings, images, match, reviews
from benchmarks.workloads.base import Row, Workload

RESULTS = Path(__file__).parent / "results" / "sweep.json"
DECADES = tuple(10.0**k for k in range(-3, 5))
L1_RATIOS = (0.0, 0.5, 1.0)
SLOWEST, STEEPEST = 1.0, 10.0
# These solvers do not converge to the optimum: the benchmark shows that row by row, at a cost.
_LEFT_OUT = ("SGD*", "sag")
BINARY = {
    "reviews": reviews.WORKLOAD,
    "adult": adult.WORKLOAD,
    "embeddings": embeddings.WORKLOAD,
    "tall": Workload(
        "tall", "100,000 x 30, correlated columns", partial(dense.load, 100_000, 30), ()
    ),
}
CLASSES = {"images": images.WORKLOAD}


def cells(decades: Sequence[float] = DECADES) -> Iterator[tuple[Workload, Row]]:
    """Every cell of the grid, neighbours in C after one another."""
    for data, workload in {**BINARY, **CLASSES}.items():
        losses = ["log", "squared_hinge", "hinge", *(["multinomial"] * (data in CLASSES))]
        for loss, l1_ratio, intercept, C in product(losses, L1_RATIOS, (False, True), decades):
            if loss == "hinge" and l1_ratio:
                continue  # L1 requires a smooth loss
            many = data in CLASSES and loss != "multinomial"
            yield workload, Row(data, loss, C, intercept, l1_ratio=l1_ratio, one_vs_rest=many)


def _options(limit: float) -> Options:
    return Options(
        repeats=2,
        limit=limit,
        row_limit=limit,
        floor=0.25,
        of_group=2.0,
        of_all=2.0,
        in_any_case=2.0,
        repeat_below=2.0,
        of_neighbour=3.0,
        one_form=True,
        compile_times=False,
    )


def results(document: dict) -> dict[str, list[dict]]:
    """The measured cells of each question, by C."""
    found: dict[str, list[dict]] = {}
    for workload in document["workloads"]:
        for result in workload["results"]:
            if "error" not in result:
                found.setdefault(_question(result), []).append(result)
    return {question: sorted(cs, key=lambda r: r["C"]) for question, cs in found.items()}


def _question(result: dict) -> str:
    return Row(**{name: result[name] for name in Row.__dataclass_fields__}).question


def _known(result: dict, target: float) -> bool:
    """Whether the optimum is known to within the target."""
    return result["optimum_relative_gap"] <= target


def _sides(result: dict, target: float) -> tuple[report.Side, report.Side]:
    own, peer = (report.fastest(result, groups, target) for groups in ((GROUPS[0],), PEERS))
    return own, peer


def slower(document: dict) -> list[tuple[float, str, float, report.Side, report.Side]]:
    """``(ratio, cell, suboptimality, own, peer)`` where a peer is faster, the worst first.

    A cell that this library missed and a peer reached has the ratio 0.
    """
    found = []
    for cs, target in product(results(document).values(), TARGETS):
        for result in cs:
            if not _known(result, target):
                continue
            own, peer = _sides(result, target)
            missed = own.seconds is None and peer.seconds is not None
            ratio = 0.0 if missed else report.ratio(own, peer)
            if ratio is not None and ratio < SLOWEST:
                found.append((ratio, result["row"], target, own, peer))
    return sorted(found, key=lambda line: line[:3])


def cliffs(document: dict) -> list[tuple[str, float, float | None, float | None]]:
    """``(cell, suboptimality, seconds at the next smaller C, seconds)`` of this library.

    A cell is listed where the time grows by more than `STEEPEST` between the two, or where the
    second is missed: no run came so near within its limit, or none proved that it did.
    """
    found = []
    for cs, target in product(results(document).values(), TARGETS):
        for before, after in pairwise([None, *cs]):
            first = before and _sides(before, target)[0].seconds
            second = _sides(after, target)[0].seconds
            steep = first is not None and second is not None and second > STEEPEST * first
            if steep or second is None or not _known(after, target):
                found.append((after["row"], target, first, second))
    return found


def _cell(result: dict, target: float) -> str:
    if not _known(result, target):
        return "?"
    own, peer = _sides(result, target)
    ratio = report.ratio(own, peer)
    if ratio is not None:
        return f"{own.shown()} ({ratio:.2g})"
    if own.seconds is not None and peer.over:
        return f"{own.shown()} (>{peer.over / own.seconds:.1g})"
    return own.shown()


def text(document: dict) -> str:
    """Both tables, the cells that are slower, and the cliffs."""
    questions, parts = results(document), []
    strengths = sorted({result["C"] for cs in questions.values() for result in cs})
    for target in TARGETS:
        shown = [["C =", *(f"{C:g}" for C in strengths)]]
        for question, cs in questions.items():
            by_strength = {result["C"]: _cell(result, target) for result in cs}
            shown.append([question, *(by_strength.get(C, "") for C in strengths)])
        title = "Seconds (times faster than the fastest peer) to a relative suboptimality of"
        parts.append(f"{title} {target:g}\n\n{report.layout(shown, left=(0,))}")
    behind = [["slower than the fastest peer", "to", "seconds", "peer", "", "ratio"]]
    for ratio, cell, target, own, peer in slower(document):
        times = [own.shown(), peer.shown(), peer.name, f"{ratio:.2f}" if ratio else "MISSED"]
        behind.append([cell, f"{target:g}", *times])
    parts.append(report.layout(behind, left=(0, 4)) if len(behind) > 1 else "No cell is slower.")
    steep = [["grows by more than ten, or missed", "to", "at C / 10", "seconds"]]
    for cell, target, *pair in cliffs(document):
        steep.append([cell, f"{target:g}", *("" if s is None else f"{s:.3g}" for s in pair)])
    parts.append(report.layout(steep, left=(0,)) if len(steep) > 1 else "No cell is a cliff.")
    count = sum(map(len, questions.values()))
    ratios = [
        report.ratio(*_sides(result, target))
        for cs in questions.values()
        for result in cs
        for target in TARGETS
        if _known(result, target)
    ]
    mean = report.geometric_mean(r for r in ratios if r is not None)
    machine = document["machine"]
    parts.append(
        f"{count} cells, of which {len(behind) - 1} are slower at one of {len(TARGETS)} accuracies "
        f"and {len(steep) - 1} steep or missed; geometric mean of the ratios that there are "
        f"{'none' if mean is None else f'{mean:.2f}'}. {document['date']}, "
        f"{machine['threads']} threads of {machine['cpu']}.\n"
        "A ratio in parentheses with > is where no peer got there in that many times our seconds; "
        "? where no run within the limit proved how near the optimum is."
    )
    parts += report.left_out(document)
    return "\n\n".join(parts) + "\n"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks sweep", description=__doc__)
    add = parser.add_argument
    add("--rows", nargs="+", default=[], metavar="NAME", help="cells or questions, globs too")
    add("--only", nargs="+", default=[], metavar="SOLVER", help="solvers or groups, globs too")
    add("--quick", action="store_true", help="every second decade of C")
    add("--limit", type=float, default=10.0, metavar="S", help="seconds that a fit may take (10)")
    add("--threads", type=int, default=os.cpu_count() or 1, help="for every solver alike")
    add("--output", type=Path, default=RESULTS, metavar="FILE", help="the JSON document")
    add("--resume", action="store_true", help="keep what the JSON document has, and go on")
    add(
        "--table",
        nargs="*",
        type=Path,
        metavar="FILE",
        help="print what JSON documents have (that of --output); measure nothing",
    )
    add("--list", action="store_true", help="print the names of the cells, and stop")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    if args.table is not None:
        documents = [json.loads(path.read_text()) for path in args.table or [args.output]]
        workloads = [workload for document in documents for workload in document["workloads"]]
        absent = sorted({group for document in documents for group in document["absent"]})
        print(text({**documents[0], "absent": absent, "workloads": workloads}))
        return 0
    questions: dict[str, tuple[Workload, list[Row]]] = {}
    for workload, row in cells(DECADES[1::2] if args.quick else DECADES):
        if match(row.name, args.rows) or match(row.question, args.rows):
            questions.setdefault(row.question, (workload, []))[1].append(row)
    if args.list:
        print(*(row.name for _, rows in questions.values() for row in rows), sep="\n")
        return 0
    if not questions:
        print("nothing to sweep: --list shows the cells", file=sys.stderr)
        return 2
    solvers = [
        solver
        for solver in SOLVERS
        if installed(solver.group)
        and not match(solver.name, _LEFT_OUT)
        and (match(solver.name, args.only) or match(solver.group, args.only))
    ]
    document = {
        "format": 2,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": report.machine(args.threads),
        "absent": [group for group in GROUPS if not installed(group)],
        "workloads": [],
    }
    if args.resume and args.output.is_file():
        document = json.loads(args.output.read_text())
    known = {result["row"] for w in document["workloads"] for result in w["results"]}
    os.environ.update(threads(args.threads))  # read by the workers' libraries when they load
    start = time.perf_counter()

    def say(message: str) -> None:
        print(f"{time.perf_counter() - start:7.0f} s  {message}", file=sys.stderr, flush=True)

    args.output.parent.mkdir(parents=True, exist_ok=True)
    try:
        with stocked(say) as stock:
            for question, (workload, rows) in questions.items():
                left = [row for row in rows if row.name not in known]
                if not left:
                    continue
                say(question)
                into = document["workloads"]
                run_workload(workload, left, solvers, _options(args.limit), say, into, stock)
                write(document, args.output)
    except KeyboardInterrupt:
        print("interrupted: the cells so far", file=sys.stderr)
        write(document, args.output)
    print(text(document))
    return 0


def write(document: dict, path: Path) -> None:
    """Write the whole document, or leave the one from before: never half of one."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(document, indent=1, allow_nan=True) + "\n")
    part.replace(path)
