"""``python -m benchmarks``: runs the comparison, prints its tables and writes one JSON document.

``python -m benchmarks sweep`` looks for the objectives on which this library is not the fastest.
``python -m benchmarks auto`` looks for the tables on which the default solver is not the best one.
``python -m benchmarks scale`` fits what does not fit memory, beside what others do about it.
``python -m benchmarks small`` times fits of a few milliseconds, beside scikit-learn's defaults.
``python -m benchmarks ablation`` times fits with each trick of the solvers and without it.
``python -m benchmarks kernels`` fits kernel machines to tables that are drawn, beside LIBSVM.
``python -m benchmarks snapshot`` writes down what users meet, to compare with after a change.
``python -m benchmarks exporters`` runs what libraries make of scikit-learn's models elsewhere.
``python -m benchmarks exports`` times what models compute in C, JavaScript and Python alone.
``python -m benchmarks studio`` times a frame of dragging a point, through a real browser.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import (
    ablation,
    auto,
    drawn_kernels,
    exporters,
    exports,
    kernel_machines,
    report,
    small,
    snapshot,
    statements,
    studio,
    sweep,
    system,
)
from benchmarks.peers import GROUPS, SOLVERS, installed
from benchmarks.runner import TARGETS, Options, run_workload
from benchmarks.scale import command as scale
from benchmarks.system.child import threads
from benchmarks.worker import stocked
from benchmarks.workloads import load_workloads, match

RESULTS = Path(__file__).parent / "results" / "latest.json"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add = parser.add_argument
    add(
        "--rows",
        nargs="+",
        default=[],
        metavar="NAME",
        help="rows, workloads or figures, globs too",
    )
    add("--only", nargs="+", default=[], metavar="SOLVER", help="solvers or groups, globs too")
    add("--all", action="store_true", help="also the rows that are in no mean")
    add("--quick", action="store_true", help="fewer rows, solvers and repeats, smaller limits")
    add("--repeats", type=int, help="runs of each decisive setting (3; quick 2)")
    add("--limit", type=float, metavar="S", help="seconds that one fit may take (30; quick 10)")
    add(
        "--threads",
        type=int,
        default=os.cpu_count() or 1,
        help="for every solver alike (all cores)",
    )
    add(
        "--clock",
        choices=("wall", "cpu"),
        default="wall",
        help="what is timed; cpu, with --threads 1, where others use the machine (wall)",
    )
    add("--output", type=Path, default=RESULTS, metavar="FILE", help="the JSON document")
    add(
        "--docs",
        action="store_true",
        help=f"write what the JSON document says into {report.PAGE.name}, and measure nothing",
    )
    add("--list", action="store_true", help="print the names of the rows and solvers, and stop")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else list(argv)
    if words[:1] == ["sweep"]:
        return sweep.main(words[1:])
    if words[:1] == ["auto"]:
        return auto.main(words[1:])
    if words[:1] == ["scale"]:
        return scale.main(words[1:])
    if words[:1] == ["small"]:
        return small.main(words[1:])
    if words[:1] == ["ablation"]:
        return ablation.main(words[1:])
    if words[:1] == ["kernels"]:
        return drawn_kernels.main(words[1:])
    if words[:1] == ["snapshot"]:
        return snapshot.main(words[1:])
    if words[:1] == ["exporters"]:
        return exporters.main(words[1:])
    if words[:1] == ["exports"]:
        return exports.main(words[1:])
    if words[:1] == ["studio"]:
        return studio.main(words[1:])
    args = _parser().parse_args(words)
    options = Options.preset(args.quick, repeats=args.repeats, limit=args.limit, clock=args.clock)
    if args.docs:
        report.write_page(json.loads(args.output.read_text()))
        return 0
    workloads = [
        (
            workload,
            [
                row
                for row in workload.rows
                if match(row.name, args.rows)
                and (row.quick or not options.quick)
                and (args.all or not row.extra)
            ],
        )
        for workload in load_workloads()
    ]
    solvers = [
        solver
        for solver in SOLVERS
        if match(solver.name, args.only) or match(solver.group, args.only)
    ]
    asked = [] if args.only else statements.chosen(args.rows, options.quick)
    asked = [task for task in asked if args.all or task.closed_form]
    machines = kernel_machines.contenders(args.only)
    machine_rows = kernel_machines.chosen(args.rows, options.quick) if machines else []
    figures = [] if args.only else system.chosen(args.rows)
    if args.list:
        print(*(row.name for _, rows in workloads for row in rows), sep="\n")
        print(*(task.name for task in asked), sep="\n")
        print(*(row.name for row in machine_rows), sep="\n")
        print(*figures, sep="\n")
        print(*(f"{solver.group}: {solver.name}" for solver in solvers), sep="\n")
        print(*(f"kernel machines: {machine.name}" for machine in machines), sep="\n")
        return 0
    rows_there = any(rows for _, rows in workloads) and solvers
    if not (rows_there or asked or machine_rows or figures):
        print(
            "nothing to run: --list shows the rows and the solvers, --all --list more",
            file=sys.stderr,
        )
        return 2
    absent = [group for group in GROUPS if not installed(group)]
    for group in absent:
        print(f"{group} is not installed: left out", file=sys.stderr)
    solvers = [solver for solver in solvers if solver.group not in absent]

    # A termination unwinds like an exit, so that workers and temporary folders do not stay behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # The workers inherit these; numerical libraries read them when they are loaded.
    os.environ.update(threads(args.threads))
    start = time.perf_counter()

    def say(message: str) -> None:
        print(f"{time.perf_counter() - start:7.0f} s  {message}", file=sys.stderr, flush=True)

    document = {
        "format": 2,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "command": " ".join(["python -m benchmarks", *words]),
        "machine": report.machine(args.threads),
        "options": {**vars(options), "targets": TARGETS},
        "absent": absent,
        "workloads": [],
        "statements": [],
        "kernel_machines": [],
        "system": {},
    }
    try:
        with stocked(say) as stock:
            for workload, rows in workloads:
                if rows:
                    into = document["workloads"]
                    run_workload(workload, rows, solvers, options, say, into, stock)
            # Rows of the means first: an interrupted comparison has them.
            for task in asked:
                document["statements"].append(statements.measure(task, options, say))
            for row in machine_rows:
                measured = kernel_machines.measure(row, machines, options, say)
                document["kernel_machines"].append(measured)
            for name in figures:
                say(f"  {name}")
                setup = system.Setup(
                    stock, args.threads, options.repeats, options.limit, options.quick, say
                )
                try:
                    document["system"][name] = system.figure(name).measure(setup)
                except RuntimeError as error:  # a process of it failed: the other figures go on
                    document["system"][name] = {"error": str(error)}
    except KeyboardInterrupt:
        print("interrupted: the rows so far", file=sys.stderr)
        document["interrupted"] = True
    document["seconds"] = time.perf_counter() - start
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(json.dumps(document, indent=1, allow_nan=True) + "\n")
    print(report.text(document))
    return 130 if "interrupted" in document else 0


if __name__ == "__main__":
    sys.exit(main())
