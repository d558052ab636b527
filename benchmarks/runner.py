"""The method: sweeps, the reference optimum, and the repeated decisive runs.

1. **Sweep.** Each solver runs at its settings from loose to tight, until a returned point is within
   the tightest target of the optimum, or a run exceeds the time limit. While the optimum is not
   yet known well enough, nothing stops early, so the first sweeps establish it.
2. **Limit.** A run may take `Options.limit` seconds; once a solver of the same group has reached
   the tightest target in ``t`` seconds, the others of it may take ``3 t``, and those of another
   group ``10 t``; groups that are in the table only where they are the fastest may take ``3 t`` of
   any peer. A sweep ends when its runs have taken three times its limit. Once the row has taken
   `Options.row_limit`, a run may take ten times the time of the fastest solver. `Options.floor` is
   allowed in any case, and `Options.limit` to this library always. A solver that hit its limit
   before it had reached even the loosest target is not run on the same row in another form of the
   data, nor on those with a larger ``C``. So one that is far behind the others of its library
   costs little; none is left out by name.
3. **Reference.** ``P*`` is the best value that any run found, a very tight fit of this library
   among them. It is certified when a lower bound (computed here in NumPy, or the library's own) is
   within 1e-8 of it, a hundredth of the tightest target.
4. **Repeats.** The fastest run of each group at each target is repeated, the groups taking turns,
   until the fastest by the median has all its repeats.
"""

from __future__ import annotations

import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.peers import GROUPS, Solver, interpreter, own
from benchmarks.system.processes import START_LIMIT
from benchmarks.worker import Stock, Stored, Worker, stocked
from benchmarks.workloads import Row, Workload

TARGETS = (1e-3, 1e-6)
COMPARED = ("separatrix", "scikit-learn")  # the groups with columns of their own
CERTIFIED = 1e-8
TIGHTEST = 1e-9  # this library's setting for the reference optimum


@dataclass(frozen=True)
class Options:
    """The limits and repeats of a measurement; ``preset`` gives the quick and the full ones."""

    repeats: int = 3
    limit: float = 30.0
    row_limit: float = 45.0
    floor: float = 1.0
    # The limit of a run in multiples of the seconds of the fastest so far: of its own group, of
    # all, and the multiple that is allowed in any case.
    of_group: float = 3.0
    of_all: float = 10.0
    in_any_case: float = 10.0
    repeat_below: float = 20.0
    # A solver that took this many times the seconds of the fastest peer to every target is not run
    # on the same question at the next `resting` values of C; zero runs every solver on every row.
    of_neighbour: float = 0.0
    resting: int = 2
    quick: bool = False
    one_form: bool = False  # each solver gets only its preferred form of the data
    compile_times: bool = True
    clock: str = "wall"

    @classmethod
    def preset(cls, quick: bool, **changes) -> Options:
        base = (
            {
                "repeats": 2,
                "limit": 10.0,
                "row_limit": 30.0,
                "floor": 1.0,
                "repeat_below": 2.0,
                "quick": True,
                "one_form": True,
            }
            if quick
            else {}
        )
        return cls(**{**base, **{k: v for k, v in changes.items() if v is not None}})


@dataclass
class Sweep:
    """One solver on one form of the data: its settings, and the runs so far by setting."""

    solver: Solver
    form: str
    runs: dict[float, list[dict]] = field(default_factory=dict)
    pending: list[float] = field(default_factory=list)
    stopped: str = ""  # why no tighter setting was run
    over: float | None = None  # the limit that a run exceeded

    def best_value(self) -> float:
        return min(
            (run["primal"] for runs in self.runs.values() for run in runs), default=float("inf")
        )

    def fastest(self, most: float) -> tuple[float, float] | None:
        """``(median seconds, setting)`` of the fastest setting with a median value up to ``most``.

        Some solvers draw random numbers that no seed fixes, so a setting can reach a target once
        and miss it the next time; with two runs, both must reach it.
        """
        times = [
            (statistics.median(run["seconds"] for run in runs), setting)
            for setting, runs in self.runs.items()
            if statistics.median_high(run["primal"] for run in runs) <= most
        ]
        return min(times, default=None)


class Pool:
    """The living workers of one data set, as many as memory allows."""

    def __init__(self, folder: Path, room: int, clock: str) -> None:
        self._folder, self._room, self._clock = folder, max(1, room), clock
        self._workers: dict[tuple[str, str], Worker] = {}
        # Where others use the machine too, a processor second takes longer than a second.
        self.patience = 4.0 if clock == "cpu" else 1.0

    def run(self, sweep: Sweep, row: Row, setting: float, limit: float) -> dict | None:
        key = (sweep.solver.group, sweep.form)
        worker = self._workers.pop(key, None)
        if worker is None or not worker.alive:
            while len(self._workers) >= self._room:  # the longest unused one goes
                self._workers.pop(next(iter(self._workers))).close()
            python = interpreter(sweep.solver.group) or sys.executable
            worker = Worker(self._folder, sweep.form, clock=self._clock, python=python)
        record = worker.run(sweep.solver, row, setting, limit * self.patience)
        if worker.alive:
            self._workers[key] = worker
        return record

    def close(self) -> None:
        for worker in self._workers.values():
            worker.close()
        self._workers.clear()


def _room(stored: Stored) -> int:
    """The most workers at once: each holds the data, a converted copy, and the rest."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES") / 2**20
    except (AttributeError, ValueError, OSError):
        memory = 4096.0
    return int(min(16, 0.7 * memory / (4 * stored.mib + 300)))


class RowBench:
    """The measurement of all solvers on one row."""

    def __init__(self, row: Row, sweeps: list[Sweep], pool: Pool, options: Options, say) -> None:
        self.row, self.sweeps, self.pool, self.options, self.say = row, sweeps, pool, options, say
        self.start = time.monotonic()

    # --- the optimum ---

    def best(self) -> float:
        return min(sweep.best_value() for sweep in self.sweeps)

    def _duals(self) -> list[tuple[float, str]]:
        runs = [run for s in self.sweeps for runs in s.runs.values() for run in runs]
        own = [(run["dual"], "computed here") for run in runs]
        return own + [(r["claims"]["dual"], "separatrix") for r in runs if r["claims"]]

    def gap(self) -> tuple[float, str]:
        """The relative gap between the best value and the best bound, and whose bound it is."""
        best = self.best()
        dual, source = max(self._duals(), default=(-float("inf"), ""))
        if best == float("inf"):
            return float("inf"), source
        # Rounding may put a bound above the value by some units in the last place.
        return max(0.0, (best - dual) / max(abs(best), 1e-300)), source

    def threshold(self, target: float) -> float:
        best = self.best()
        return best + target * abs(best)

    def _settled(self) -> bool:
        """Whether the best value is known to be the optimum, well below the tightest target."""
        if self.gap()[0] <= CERTIFIED:
            return True
        most = self.threshold(1e-3 * min(TARGETS))
        ends = (s for s in self.sweeps if s.stopped == "tightest setting")
        return any(
            max(r["primal"] for r in s.runs[list(s.runs)[-2]]) <= most
            for s in ends
            if len(s.runs) > 1
        )

    # --- the sweeps ---

    def _limit(self, sweep: Sweep) -> float:
        """Seconds that the next run of a sweep may take."""
        options = self.options
        if sweep.solver.group == GROUPS[0]:
            # This library has the full limit, however slow it is: its time is the one to be known.
            return options.limit
        most, least = options.limit, options.floor
        found = [(s.solver.group, s.fastest(self.threshold(min(TARGETS)))) for s in self.sweeps]
        times = [(group, fastest[0]) for group, fastest in found if fastest]
        if times:
            fastest = min(seconds for _, seconds in times)
            # However long the row has taken, and however well its optimum is known, no run is cut
            # off that could enter a ratio.
            least = max(least, options.in_any_case * fastest)
            if self._settled():
                own = [seconds for group, seconds in times if group == sweep.solver.group]
                if sweep.solver.group not in COMPARED:
                    # This group is in the table only where it is the fastest peer.
                    own = [seconds for group, seconds in times if group != GROUPS[0]]
                if own:
                    most = min(most, options.of_group * min(own))
                most = min(most, options.of_all * fastest)
        left = options.row_limit * self.pool.patience - self._elapsed()
        return min(max(min(most, max(left, least)), options.floor), options.limit)

    def _elapsed(self) -> float:
        return time.monotonic() - self.start

    def _sweep(self, sweep: Sweep) -> None:
        spent = 0.0
        while sweep.pending:
            if self._settled() and sweep.fastest(self.threshold(min(TARGETS))):
                sweep.stopped = "reached"
                return
            limit = self._limit(sweep)
            if spent > 3.0 * limit:
                longest = max(run["seconds"] for runs in sweep.runs.values() for run in runs)
                sweep.stopped, sweep.over = "time spent", longest
                sweep.pending.clear()
                return
            setting = sweep.pending.pop(0)
            record = self.pool.run(sweep, self.row, setting, limit)
            if record is not None and "error" in record:
                sweep.stopped = record["error"]
                self.say(f"    {sweep.solver.name} [{sweep.form}] {setting:g}: {sweep.stopped}")
                sweep.pending.clear()
                return
            if record is None:
                sweep.stopped, sweep.over = "time limit", limit
                sweep.pending.clear()
                return
            spent += record["seconds"]
            sweep.runs.setdefault(setting, []).append(record)
        sweep.stopped = "tightest setting"

    def _catch_up(self) -> None:
        """Goes on with the sweeps that stopped at a target which they no longer reach.

        A later solver may have found a better optimum, or a repeated run may have missed.
        """
        for sweep in self.sweeps:
            if sweep.pending and not sweep.fastest(self.threshold(min(TARGETS))):
                self._sweep(sweep)

    def _certify(self) -> None:
        """Run one very tight fit of this library, where no bound yet certifies the best value."""
        own = [s for s in self.sweeps if s.solver.group == GROUPS[0] and s.runs]
        if own and self.gap()[0] > CERTIFIED:
            record = self.pool.run(own[0], self.row, TIGHTEST, 2.0 * self.options.limit)
            if record is not None and "error" not in record:
                own[0].runs[TIGHTEST] = [record]

    def _repeat(self) -> None:
        options = self.options
        while True:
            wanted = {}
            for target in TARGETS:
                most = self.threshold(target)
                for group in GROUPS:
                    found = [
                        (*fastest, i)
                        for i, s in enumerate(self.sweeps)
                        if s.solver.group == group and (fastest := s.fastest(most))
                    ]
                    if not found:
                        continue
                    seconds, setting, i = min(found)
                    if len(self.sweeps[i].runs[setting]) < options.repeats and (
                        seconds < options.repeat_below
                    ):
                        wanted[i, setting] = None
            if not wanted:
                return
            for i, setting in wanted:
                sweep = self.sweeps[i]
                record = self.pool.run(sweep, self.row, setting, 4.0 * options.limit)
                if record is None or "error" in record:
                    # It ran before, and now it fails: the earlier time is not reliable.
                    self.say(f"    {sweep.solver.name}: a repeated run failed, dropped")
                    del sweep.runs[setting]
                else:
                    sweep.runs[setting].append(record)
            self._catch_up()

    def _hopeless(self, sweep: Sweep) -> bool:
        """Whether a sweep was cut off by time before it had reached any target."""
        return sweep.over is not None and not sweep.fastest(self.threshold(max(TARGETS)))

    def hopeless(self) -> set[str]:
        """The names of the solvers that a limit cut off before they had reached any target."""
        return {sweep.solver.name for sweep in self.sweeps if self._hopeless(sweep)}

    def slow(self, times: float) -> set[str]:
        """Names of solvers that took ``times`` as long as the fastest peer to every target."""
        found = set()
        for sweep in self.sweeps:
            near = False
            for target in TARGETS:
                most = self.threshold(target)
                peers = [s.fastest(most) for s in self.sweeps if s.solver.group != GROUPS[0]]
                fastest = min((peer[0] for peer in peers if peer), default=float("inf"))
                own = sweep.fastest(most)
                near = near or fastest == float("inf") or bool(own and own[0] <= times * fastest)
            if not near:
                found.add(sweep.solver.name)
        return found

    def measure(self) -> dict:
        self.start = time.monotonic()
        for sweep in self.sweeps:
            if sweep.solver.group != GROUPS[0] and sweep.solver.name in self.hopeless():
                sweep.stopped = "far behind in another form"
                sweep.pending.clear()
                continue
            self._sweep(sweep)
            reached = [sweep.fastest(self.threshold(target)) for target in TARGETS]
            times = "  ".join(f"{found[0]:9.3f}" if found else "        -" for found in reached)
            self.say(
                f"    {sweep.solver.name + ' [' + sweep.form + ']':28s}{times}  {sweep.stopped}"
            )
        self._certify()
        self._catch_up()
        if not any(sweep.runs for sweep in self.sweeps):
            return {"row": self.row.name, "error": "no solver finished a run"}
        self._repeat()
        return self._result()

    # --- the result ---

    def _result(self) -> dict:
        best, (gap, source) = self.best(), self.gap()
        solvers = []
        for sweep in self.sweeps:
            runs = [run for runs in sweep.runs.values() for run in runs]
            solvers.append(
                {
                    "solver": sweep.solver.name,
                    "group": sweep.solver.group,
                    "form": sweep.form,
                    "stopped": sweep.stopped,
                    "exceeded_limit": sweep.over,
                    "prepare_seconds": min((r["prepare_seconds"] for r in runs), default=None),
                    "extra_mib": max((r["extra_mib"] or 0.0 for r in runs), default=None),
                    "seconds_to": {
                        f"{t:g}": (sweep.fastest(self.threshold(t)) or (None,))[0] for t in TARGETS
                    },
                    "runs": [
                        {**run, "suboptimality": (run["primal"] - best) / max(abs(best), 1e-300)}
                        for run in runs
                    ],
                }
            )
        return {
            "row": self.row.name,
            **asdict(self.row),
            "optimum": best,
            "optimum_relative_gap": gap,
            "optimum_certified": gap <= CERTIFIED,
            "bound_from": source,
            "solvers": solvers,
            "complaints": self._complaints(best),
        }

    def _complaints(self, best: float) -> list[str]:
        """The claims of this library that the measurements contradict."""
        found = []
        for sweep in self.sweeps:
            for runs in sweep.runs.values():
                for run in (run for run in runs if run["claims"]):
                    claims, off = run["claims"], (run["primal"] - best) / max(abs(best), 1e-300)
                    where = f"{self.row.name}, tol {run['setting']:g}"
                    if claims["dual"] > best + 1e-11 * abs(best):
                        found.append(f"{where}: claims a bound above a value that was found")
                    # A gap is a share of the value that was found, and not of the least one.
                    allowed = run["setting"] / (1.0 - run["setting"])
                    if claims["status"] == "optimal" and off > allowed * (1 + 1e-6) + 1e-12:
                        found.append(f"{where}: says optimal, is {off:.2g} above the optimum")
        return found


@contextmanager
def _environment(**changes: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def first_call(folder: Path, form: str, row: Row, clock: str) -> dict | None:
    """Seconds of this library's first fit with an empty compilation cache, and of the next one."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-cache-") as cache,
        _environment(NUMBA_CACHE_DIR=cache),
    ):
        worker = Worker(folder, form, warm=False, clock=clock)
        try:
            runs = [
                worker.run(own(), row, 1e-3, START_LIMIT) if worker.alive else None
                for _ in range(2)
            ]
        finally:
            worker.close()
    if any(run is None or "error" in run for run in runs):
        return None
    first, later = (run["seconds"] for run in runs)
    return {
        "row": row.name,
        "form": form,
        "first_seconds": first,
        "later_seconds": later,
        "compile_seconds": first - later,
    }


def _sweeps(row: Row, stored: Stored, solvers: list[Solver], options: Options) -> list[Sweep]:
    found = []
    for solver in solvers:
        if not solver.fits(row, stored.shape[1]) or (options.quick and not solver.quick):
            continue
        # LIBLINEAR takes sparse rows only; where the data have none it converts the dense ones.
        forms = [form for form in solver.forms if form in stored.forms]
        if not forms and solver.forms == ("csr",):
            forms = ["dense"]
        if options.one_form:
            forms = [solver.quick_form] if solver.quick_form in forms else forms[:1]
        found += [Sweep(solver, form, pending=list(solver.settings)) for form in forms]
    return found


def run_workload(
    workload: Workload,
    rows: list[Row],
    solvers: list[Solver],
    options: Options,
    say: Callable[[str], None],
    into: list[dict] | None = None,
    stock: Stock | None = None,
) -> dict:
    """Measure rows of one workload, and the first-call times of this library on it.

    The record that is returned is appended to ``into`` at once and fills up row by row, so that an
    interrupted comparison keeps the rows it has.
    """
    if stock is None:
        with stocked(say) as stock:
            return run_workload(workload, rows, solvers, options, say, into, stock)
    stored = stock.get(workload)
    n, d = stored.shape
    title = {"name": workload.name, "about": workload.about, "stand_in": stored.stand_in}
    results: dict = {**title, "rows": n, "columns": d, "results": [], "first_calls": []}
    if into is not None:
        into.append(results)
    sweeps = {row: _sweeps(row, stored, solvers, options) for row in rows}
    # The number of rows of a question for which a solver is left out: all, if a smaller C left it
    # far behind.
    rests: dict[tuple[str, str], float] = {}
    pool = Pool(stored.folder, _room(stored), options.clock)
    try:
        for row in rows:
            if not sweeps[row]:
                continue
            say(f"  {row.name}")
            fair = [s for s in sweeps[row] if not rests.get((row.question, s.solver.name))]
            bench = RowBench(row, fair, pool, options, say)
            results["results"].append(bench.measure())
            rests = {key: rest - 1 for key, rest in rests.items() if rest}
            if options.of_neighbour:
                slow = bench.slow(options.of_neighbour) - {GROUPS[0]}
                rests |= {(row.question, name): options.resting for name in slow}
            hopeless = bench.hopeless() - {GROUPS[0]}
            rests |= {(row.question, name): math.inf for name in hopeless}
    finally:
        pool.close()
    if options.compile_times and any(s.group == "separatrix" for s in solvers):
        firsts: dict = {}
        for row in rows:
            firsts.setdefault(row.question, row)
        for row in firsts.values():
            own = [s for s in sweeps[row] if s.solver.group == "separatrix"]
            for sweep in own[:1]:
                measured = first_call(stored.folder, sweep.form, row, options.clock)
                if measured:
                    results["first_calls"].append(measured)
    return results
