"""The command line of ``python -m benchmarks scale``."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

from benchmarks import report
from benchmarks.scale import ROWS
from benchmarks.scale import __doc__ as about
from benchmarks.scale.setup import Setup

RESULTS = Path(__file__).parents[1] / "results"
PAGE = Path(__file__).parents[2] / "docs" / "scale.md"
WIDEST = 90
HEAD = ["", "measured", "beside", "asked for", ""]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks scale", description=about)
    add = parser.add_argument
    add("--rows", type=int, help="of the dense data (10,000,000; quick 400,000)")
    add("--clicks", type=int, help="rows of the click log (5,000,000; quick 150,000)")
    add("--hinge-rows", type=int, help="of the dense data, for the hinge (1,000,000; quick 50,000)")
    add("--only", nargs="+", default=[], metavar="WORD", help="rows whose name has one of these")
    add("--repeats", type=int, help="of each time, of which the median counts (3; quick 1)")
    add("--kills", type=int, help="moments at which a fit is ended (10; quick 3)")
    add("--quick", action="store_true", help="small data, few repeats")
    add("--memory", default="1GB", help="what a fit may use (1GB)")
    add("--limit", type=float, default=3600.0, metavar="S", help="of one process (3600)")
    add("--seed", type=int, default=0, help="of the data and of the moments (0)")
    add(
        "--peers",
        default=sys.executable,
        metavar="PYTHON",
        help="the interpreter that has the other libraries (this one)",
    )
    add("--folder", type=Path, help="where to write; kept (a temporary one, removed)")
    add("--model", action="store_true", help="the cost model: constants, checks and predictions")
    add("--output", type=Path, metavar="FILE", help="the JSON document (in benchmarks/results)")
    add(
        "--docs",
        action="store_true",
        help=f"write what the JSON documents say into {PAGE.name}, and measure nothing",
    )
    add(
        "--add", action="store_true", help="keep the rows of the JSON document that are not run now"
    )
    add("--list", action="store_true", help="print the names of the rows, and stop")
    return parser


def row(name: str) -> ModuleType:
    return importlib.import_module(f"benchmarks.scale.rows.{name}")


def main(argv: Sequence[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else list(argv)
    args = _parser().parse_args(words)
    names = [n for n in ROWS if not args.only or any(word in n for word in args.only)]
    if args.docs:
        write_page()
        return 0
    if args.list or not names:
        print(*ROWS, sep="\n")
        return 0 if args.list else 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    start = time.perf_counter()

    def say(message: str) -> None:
        print(f"{time.perf_counter() - start:7.0f} s  {message}", file=sys.stderr, flush=True)

    def or_else(given: int | None, full: int, quick: int) -> int:
        return given if given is not None else quick if args.quick else full

    document = {
        "format": 1,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "command": " ".join(["python -m benchmarks scale", *_told(words)]),
        "machine": report.machine(os.cpu_count() or 1),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "rows": {},
    }
    output = args.output or RESULTS / ("scale-model.json" if args.model else "scale.json")
    output.parent.mkdir(parents=True, exist_ok=True)
    if args.add and output.exists():
        document["rows"] = json.loads(output.read_text())["rows"]

    def keep() -> None:
        document["seconds"] = time.perf_counter() - start
        output.write_text(json.dumps(document, indent=1, allow_nan=True) + "\n")

    with tempfile.TemporaryDirectory(prefix="separatrix-scale-") as temporary:
        folder = Path(temporary) if args.folder is None else args.folder.resolve()
        folder.mkdir(parents=True, exist_ok=True)
        n = or_else(args.rows, 10_000_000, 400_000)
        setup = Setup(
            folder=folder,
            rows=n,
            clicks=or_else(args.clicks, 5_000_000, 150_000),
            hinge_rows=or_else(args.hinge_rows, min(n, 1_000_000), min(n, 50_000)),
            repeats=or_else(args.repeats, 3, 1),
            memory=args.memory,
            limit=args.limit,
            peers=args.peers,
            kills=or_else(args.kills, 10, 3),
            seed=args.seed,
            quick=args.quick,
            say=say,
        )
        if args.model:
            from benchmarks.scale import cost_model

            document["model"] = {**cost_model.measure(setup), "where": _where(document)}
            print("\n\n".join(cost_model.tables(document["model"]).values()))
        else:
            _table(setup, names, document, keep)
            print(text(document))
    keep()
    return 130 if "interrupted" in document else 0


def _table(setup: Setup, names: Sequence[str], document: dict, keep: Callable[[], None]) -> None:
    """Measure rows, each of which is in the document as soon as it is there."""
    try:
        setup.warm()
        for name in names:
            setup.say(name)
            try:
                document["rows"][name] = row(name).measure(setup)
            except RuntimeError as error:  # a process of it failed: the other rows go on
                document["rows"][name] = {"error": str(error)}
            keep()
    except (KeyboardInterrupt, SystemExit):
        print("interrupted: the rows so far", file=sys.stderr)
        document["interrupted"] = True


def write_page(page: Path = PAGE, results: Path = RESULTS) -> None:
    """Put the tables of the JSON documents that are there between the page's marks."""
    from benchmarks.scale import cost_model

    found: dict[str, str] = {}
    if (results / "scale.json").exists():
        found["table"] = text(json.loads((results / "scale.json").read_text()))
    if (results / "scale-model.json").exists():
        document = json.loads((results / "scale-model.json").read_text())
        found |= cost_model.tables(document["model"])
    for name, table in found.items():
        report.put(page, name, table)


def _short(cell: str) -> str:
    return cell if len(cell) <= WIDEST else cell[: WIDEST - 3] + "..."


def text(document: dict) -> str:
    """The table, with a line on the machine."""
    shown = [HEAD]
    for name in filter(document["rows"].__contains__, ROWS):
        found = document["rows"][name]
        if "error" in found:
            shown.append([name.replace("_", " "), found["error"], "", "", "NOT MET"])
            continue
        shown.extend(row(name).lines(found))
    shown = [[_short(cell) for cell in line] for line in shown]
    return f"{report.layout(shown, left=(0, 1, 2, 3, 4))}\n\n{_where(document)}"


def _told(words: Sequence[str]) -> Iterator[str]:
    """The words of the command, without the paths of this machine."""
    places = ("--peers", "--folder", "--output")
    for before, word in zip(["", *words], words, strict=False):
        if before not in places and not word.startswith(places):
            yield word


def _where(document: dict) -> str:
    """The command, the date, the machine, and its load at the beginning."""
    machine = document["machine"]
    said = f"{document['command']}, {document['date']}: {machine['cpu']}, {machine['cores']} cores"
    load = document.get("load")
    return said if load is None else f"{said}, load average {load:.1f} when it began"
