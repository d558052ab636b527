"""Support vector machines with the RBF kernel, timed side by side: to fit, and to predict.

The objective is ``1/2 |w|^2 + C sum max(0, 1 - y (<w, phi(x)> + b))``, ``b`` not penalised, and for
more than two classes the sum of that over all pairs of classes. Every contender gets the same
float64 rows (except one, shown separately, with a float32 copy) and the same budget for its cache,
and runs in a process of its own that can be ended.

1. **Value.** Each point is valued by `objective`, in plain NumPy and float64, from ``support_``,
   ``dual_coef_`` and ``intercept_`` alone. A solver's own claims play no part.
2. **Optimum.** The best value of all runs, this library's fit at ``TIGHTEST`` among them; it is
   certified when this library's lower bound is within ``TIGHTEST`` of it.
3. **Settings.** This library runs at a certified relative gap of ``TARGET``. A peer's tolerance is
   swept from loose to tight, and the loosest that comes within ``TARGET`` of the optimum counts. As
   all peers stop by the same rule, the sweep of a further one starts a step looser than where the
   first one counts, and goes looser for as long as that reaches the target.
4. **Repeats.** The settings that count are run several times, contenders taking turns; the table
   shows medians.
5. **Predictions.** The predictions of further rows are compared with the best point's. A row is
   clear where no relevant pair has a score within ``DOUBT`` of zero: there all have to agree.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.runner import Options, _environment
from benchmarks.system.processes import START_LIMIT, Process, memory
from benchmarks.workloads import match

TARGET = 1e-4
TIGHTEST = 1e-6
CACHE_MB = 1000
# A fit of a second or two may take half as long again when the system hands out fresh memory, so
# that a median of two would not do: --quick repeats as often.
REPEATS = 3
REPEAT_BELOW = 20.0
DOUBT = 0.05
_PATIENCE = 2.0  # the limit of a machine's fit, in multiples of the usual one
_ROUNDING = 1e-3  # scores nearer to zero than this may have another sign in float32


# --- the data -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """Rows to fit, their classes, and rows to predict."""

    X: np.ndarray
    y: np.ndarray
    Z: np.ndarray
    stand_in: bool = False


@dataclass(frozen=True)
class KernelRow:
    """One objective on one data set."""

    data: str
    load: Callable[[], Problem]
    C: float
    gamma: float
    quick: bool = True
    compile_times: bool = False  # whether the first call, with an empty cache, is timed too

    @property
    def name(self) -> str:
        return f"kernel {self.data} C={self.C:g} gamma={self.gamma:.3g}"


class Adult:
    """The first rows to fit; rows 10,000 to 15,000 to predict, which a fit of all rows has seen."""

    def __init__(self, n: int | None = None) -> None:
        self.n = n

    def __call__(self) -> Problem:
        from benchmarks.workloads import adult

        data = adult.load()
        X, y, Z = data.dense[: self.n], data.y[: self.n], data.dense[10_000:15_000]
        return Problem(X.copy(), y.copy(), Z.copy(), data.stand_in)


def digits() -> Problem:
    """All 1,797 digits to fit; 5,000 of them, drawn at random and with noise, to predict."""
    from benchmarks.workloads import digits

    data = digits.load()
    rng = np.random.default_rng(0)
    Z = data.dense[rng.integers(0, len(data.y), 5000)]
    return Problem(data.dense, data.y, np.clip(Z + rng.normal(0.0, 0.1, Z.shape), 0.0, 1.0))


def drawings() -> Problem:
    """10,000 drawings to fit, 5,000 further ones to predict."""
    from benchmarks.workloads.images import images

    X, y = images(15_000)
    return Problem(X[:10_000].copy(), y[:10_000].copy(), X[10_000:].copy())


ROWS: tuple[KernelRow, ...] = (
    KernelRow("adult 10,000", Adult(10_000), 1.0, 1.0 / 108.0, compile_times=True),
    KernelRow("adult 10,000", Adult(10_000), 10.0, 0.05),
    KernelRow("adult 32,561", Adult(), 1.0, 1.0 / 108.0, quick=False),
    KernelRow("adult 32,561", Adult(), 10.0, 0.05, quick=False),
    # 0.11 is the value of gamma="scale".
    KernelRow("digits 1,797", digits, 10.0, 0.11, compile_times=True),
    KernelRow("images 10,000", drawings, 5.0, 0.02, quick=False),
)


# --- the value of a point, independent of every solver --------------------------------------------


@dataclass(frozen=True)
class Point:
    """A machine in scikit-learn's layout, classes as codes 0 ... K-1.

    ``dual_coef`` is ``(K - 1, n_support)``: for the pair ``(i, j)``, ``i < j``, support vectors of
    class ``i`` have their coefficients in its row ``j - 1`` and those of class ``j`` in its row
    ``i``; for two classes there is one row. A positive score of a pair means its first class, but
    for two classes the second.
    """

    support: np.ndarray
    dual_coef: np.ndarray
    intercept: np.ndarray


def pairs(n_classes: int) -> list[tuple[int, int]]:
    """``(0, 1), (0, 2), ..., (1, 2), ...``."""
    return list(combinations(range(n_classes), 2))


def pair_coefficients(codes: np.ndarray, dual_coef: np.ndarray) -> np.ndarray:
    """The coefficients of each pair's machine, ``(n_support, n_pairs)``.

    Parameters
    ----------
    codes : ndarray of shape (n_support,)
        The classes of the support vectors, 0 ... K-1.
    dual_coef : ndarray of shape (K - 1, n_support)
    """
    if len(dual_coef) == 1:
        return dual_coef.T.copy()
    found = np.zeros((len(codes), len(pairs(len(dual_coef) + 1))))
    for p, (i, j) in enumerate(pairs(len(dual_coef) + 1)):
        first, second = codes == i, codes == j
        found[first, p] = dual_coef[j - 1, first]
        found[second, p] = dual_coef[i, second]
    return found


def products(
    Z: np.ndarray, V: np.ndarray, coefficients: np.ndarray, gamma: float, *, entries: int = 1 << 23
) -> np.ndarray:
    """``K(Z, V) @ coefficients`` for the RBF kernel, in blocks of ``entries`` values of ``K``."""
    squares, norms = np.einsum("ij,ij->i", V, V), np.einsum("ij,ij->i", Z, Z)
    out = np.empty((len(Z), coefficients.shape[1]))
    step = max(1, entries // max(1, len(V)))
    for start in range(0, len(Z), step):
        rows = slice(start, start + step)
        block = Z[rows] @ V.T
        block *= -2.0
        block += norms[rows, None]
        block += squares
        np.maximum(block, 0.0, out=block)
        block *= -gamma
        np.exp(block, out=block)
        out[rows] = block @ coefficients
    return out


def scores(
    X: np.ndarray, codes: np.ndarray, point: Point, gamma: float, Z: np.ndarray
) -> np.ndarray:
    """The scores of the rows of ``Z`` for each pair, ``(len(Z), n_pairs)``."""
    coefficients = pair_coefficients(codes[point.support], point.dual_coef)
    return products(Z, X[point.support], coefficients, gamma) + point.intercept


def objective(X: np.ndarray, codes: np.ndarray, point: Point, *, C: float, gamma: float) -> float:
    """The value of a machine: the sum of the objectives of all pairs.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    codes : ndarray of shape (n,)
        The classes, 0 ... K-1.
    point : Point
    C, gamma : float
    """
    found = scores(X, codes, point, gamma, X)
    coefficients = pair_coefficients(codes[point.support], point.dual_coef)
    # |w|^2 is the sum of each coefficient times the score of its row, without the intercept.
    norms = np.sum(coefficients * (found[point.support] - point.intercept), axis=0)
    total = 0.5 * float(np.sum(norms))
    n_classes = len(point.dual_coef) + 1
    for p, (i, j) in enumerate(pairs(n_classes)):
        rows = (codes == i) | (codes == j)
        positive = i if n_classes > 2 else j
        sign = np.where(codes[rows] == positive, 1.0, -1.0)
        total += C * float(np.sum(np.maximum(0.0, 1.0 - sign * found[rows, p])))
    return total


def votes(found: np.ndarray, doubt: float) -> tuple[np.ndarray, np.ndarray]:
    """The class of each row, and whether it stays the same if scores near zero change sign.

    Parameters
    ----------
    found : ndarray of shape (m, n_pairs)
        The scores.
    doubt : float
        The distance from zero within which a score may change sign.

    Returns
    -------
    winner : ndarray of shape (m,)
        The class with the most votes; in a tie, the first.
    clear : ndarray of shape (m,), bool
        Whether the winner has more votes than every other class, with each doubtful vote counted
        against it.
    """
    if found.shape[1] == 1:
        return (found[:, 0] > 0).astype(np.int64), np.abs(found[:, 0]) > doubt
    n_classes = (1 + round((1 + 8 * found.shape[1]) ** 0.5)) // 2
    won, least, most = (np.zeros((len(found), n_classes), dtype=np.int64) for _ in range(3))
    for p, (i, j) in enumerate(pairs(n_classes)):
        for k, score in ((i, found[:, p]), (j, -found[:, p])):
            won[:, k] += score > 0
            least[:, k] += score > doubt
            most[:, k] += score >= -doubt
    winner = np.argmax(won, axis=1)
    rows = np.arange(len(found))
    lowest = least[rows, winner]
    most[rows, winner] = -1
    return winner, lowest > most.max(axis=1)


# --- the contenders -------------------------------------------------------------------------------


def _separatrix(C: float, gamma: float, tol: float) -> Any:
    from separatrix import SVC

    return SVC(C=C, kernel="rbf", gamma=gamma, tol=tol, cache_mb=CACHE_MB)


def _sklearn(C: float, gamma: float, tol: float) -> Any:
    from sklearn.svm import SVC

    return SVC(C=C, kernel="rbf", gamma=gamma, tol=tol, cache_size=CACHE_MB)


def _intelex(C: float, gamma: float, tol: float) -> Any:
    from sklearnex.svm import SVC

    # It ignores the environment variables that set the number of threads of the others.
    threads = int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)
    return SVC(C=C, kernel="rbf", gamma=gamma, tol=tol, cache_size=CACHE_MB, n_jobs=threads)


@dataclass(frozen=True)
class Contender:
    """A machine to be timed.

    ``group`` is ``"separatrix"``; ``"peer"`` for those in the ratios; ``"beside"`` for one that is
    shown and not counted, as it is given other numbers.
    """

    name: str
    group: str
    module: str
    build: Callable[[float, float, float], Any]
    settings: tuple[float, ...]
    dtype: str = "float64"

    def available(self) -> bool:
        if importlib.util.find_spec(self.module) is None:
            return False
        if self.group == "separatrix":
            import separatrix

            return hasattr(separatrix, "SVC")
        return True


# Many points on the margin of many pairs, each off by the tolerance, add up: some rows need a tight
# one to come near the optimum.
_TOLERANCES = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 1e-6)

CONTENDERS: tuple[Contender, ...] = (
    Contender("separatrix", "separatrix", "separatrix", _separatrix, (TIGHTEST, TARGET)),
    # The fastest peer comes first: the others' sweeps start from the setting that counts for it.
    Contender("scikit-learn-intelex", "peer", "sklearnex", _intelex, _TOLERANCES),
    Contender("scikit-learn", "peer", "sklearn", _sklearn, _TOLERANCES),
    Contender(
        "scikit-learn-intelex, float32 rows",
        "beside",
        "sklearnex",
        _intelex,
        _TOLERANCES,
        dtype="float32",
    ),
)


def chosen(patterns: list[str], quick: bool) -> list[KernelRow]:
    """The rows that match the patterns; with ``quick``, only the quick ones."""
    return [row for row in ROWS if match(row.name, patterns) and (row.quick or not quick)]


def contenders(only: list[str]) -> list[Contender]:
    """The contenders whose name or group matches, installed or not."""
    return [c for c in CONTENDERS if match(c.name, only) or match(c.group, only)]


# --- one process a contender ----------------------------------------------------------------------


def _point(model: Any, contender: Contender) -> Point:
    if contender.module == "sklearnex" and not hasattr(model, "_onedal_estimator"):
        raise RuntimeError("it handed the fit over to scikit-learn")
    dual_coef = np.atleast_2d(np.asarray(model.dual_coef_, dtype=np.float64))
    intercept = np.asarray(model.intercept_, dtype=np.float64).ravel()
    return Point(np.asarray(model.support_).ravel().astype(np.int64), dual_coef, intercept)


def _claims(model: Any, contender: Contender) -> dict[str, Any] | None:
    """The numbers of this library's certificate; None for other contenders."""
    if contender.group != "separatrix":
        return None
    certificate = model.certificate_
    return {
        "status": certificate.status,
        "primal": float(certificate.primal),
        "dual": float(certificate.dual),
        "relative_gap": float(certificate.relative_gap),
    }


def _timed(clock: str, call: Callable[..., Any], *args: Any) -> tuple[Any, float]:
    """The result of a call, and its seconds."""
    now = time.process_time if clock == "cpu" else time.perf_counter
    start = now()
    result = call(*args)
    return result, now() - start


def serve(connection: Any, folder: str, name: str, warm: bool, clock: str) -> None:
    """Answers ``(C, gamma, setting)`` with "started", "ended" and a record, until it is ended."""
    contender = next(c for c in CONTENDERS if c.name == name)
    X, y, Z = (np.load(Path(folder, f"{part}.npy")) for part in "XyZ")
    classes, codes = np.unique(y, return_inverse=True)
    # Rows in another precision are made before the clock starts: they are this contender's input.
    rows, further = X.astype(contender.dtype, copy=False), Z.astype(contender.dtype, copy=False)
    few = np.sort(np.concatenate([np.flatnonzero(codes == k)[:100] for k in range(len(classes))]))
    contender.build(1.0, 1.0, 1e-2)  # so that the memory of the imports is not the solver's
    gc.collect()
    resident = memory("VmRSS")
    while True:
        try:
            C, gamma, setting = connection.recv()
        except EOFError:
            return
        try:
            if warm:  # imports, thread pools, compiled code
                contender.build(C, gamma, 1e-2).fit(rows[few], y[few]).predict(further[:100])
                warm = False
            model = contender.build(C, gamma, setting)
            gc.collect()
            memory("VmHWM", reset_peak=True)
            connection.send("started")
            _, fit = _timed(clock, model.fit, rows, y)
            predicted, predict = _timed(clock, model.predict, further)
            peak = memory("VmHWM")
            connection.send("ended")
            point = _point(model, contender)
            found = scores(X, codes, point, gamma, Z)
            predicted = np.searchsorted(classes, predicted)
            winner, sure = votes(found, _ROUNDING)
            record = {
                "fit": fit,
                "predict": predict,
                # Peak of the run above the loaded data: caches, copies, what is kept of them.
                "extra_mib": None if np.isnan(peak - resident) else peak - resident,
                "primal": objective(X, codes, point, C=C, gamma=gamma),
                "support_vectors": len(point.support),
                "claims": _claims(model, contender),
                "odd": int(np.sum(sure & (winner != predicted))),
                "predicted": predicted,
                "clear": votes(found, DOUBT)[1],
            }
            del model
        except Exception as error:
            record = {"error": f"{type(error).__name__}: {error}"}
        connection.send(record)


class _Process(Process):
    """The harness's end of one contender's process."""

    def __init__(self, folder: Path, name: str, clock: str, warm: bool = True) -> None:
        super().__init__("benchmarks.kernel_machines:serve", str(folder), name, warm, clock)

    def run(self, row: KernelRow, setting: float, limit: float) -> dict[str, Any] | None:
        """The record of a fit and its predictions; None where they took longer than ``limit``."""
        record = self.answer((row.C, row.gamma, setting), limit)
        return record and {"setting": setting, **record}


# --- the measurement ------------------------------------------------------------------------------


@dataclass
class _Sweep:
    """One contender on one row: its settings to come, and its runs so far by setting."""

    contender: Contender
    pending: list[float]
    runs: dict[float, list[dict[str, Any]]] = field(default_factory=dict)
    looser: list[float] = field(default_factory=list)  # to be tried if the first setting counts
    over: float | None = None  # the limit that a run exceeded
    error: str = ""
    process: _Process | None = None

    def all_runs(self) -> list[dict[str, Any]]:
        return [run for runs in self.runs.values() for run in runs]

    def counts(self, most: float) -> float | None:
        """The setting that counts: the loosest whose median value is at most ``most``.

        For this library only the tolerance `TARGET` counts.
        """
        reached = [
            setting
            for setting, runs in self.runs.items()
            if statistics.median_high(run["primal"] for run in runs) <= most
            and (self.contender.group != "separatrix" or setting == TARGET)
        ]
        return max(reached, default=None)


class _Bench:
    """The measurement of all contenders on one row."""

    def __init__(
        self,
        row: KernelRow,
        those: list[Contender],
        folder: Path,
        options: Options,
        say: Callable[[str], None],
    ) -> None:
        self.row, self.folder, self.options, self.say = row, folder, options, say
        self.sweeps = [_Sweep(c, list(c.settings)) for c in those]
        # Where others use the machine too, a processor second takes longer than a second.
        self.patience = 4.0 if options.clock == "cpu" else 1.0

    # --- the optimum ---

    def best(self) -> float:
        values = [run["primal"] for sweep in self.sweeps for run in sweep.all_runs()]
        return min(values, default=float("inf"))

    def gap(self) -> float:
        """The relative gap between the best value and this library's best bound."""
        best = self.best()
        claims = [run["claims"] for sweep in self.sweeps for run in sweep.all_runs()]
        dual = max((c["dual"] for c in claims if c), default=-float("inf"))
        return max(0.0, (best - dual) / abs(best)) if np.isfinite(best) else float("inf")

    def certified(self) -> bool:
        return self.gap() <= TIGHTEST * (1 + 1e-6)

    def most(self) -> float:
        # A gap of TARGET relative to the value is slightly more relative to the optimum.
        return self.best() * (1.0 + TARGET * (1.0 + 2.0 * TARGET))

    # --- the runs ---

    def _run(self, sweep: _Sweep, setting: float, limit: float) -> dict[str, Any] | None:
        if sweep.process is None or not sweep.process.alive:
            sweep.process = _Process(self.folder, sweep.contender.name, self.options.clock)
        return sweep.process.run(self.row, setting, limit * self.patience)

    def _step(self, sweep: _Sweep, setting: float) -> None:
        """Run one setting of a sweep."""
        # The reference of this library is no time in the table: it may take longer.
        reference = sweep.contender.group == "separatrix" and setting == TIGHTEST
        limit = self.options.limit * (4.0 if reference else _PATIENCE)
        record = self._run(sweep, setting, limit)
        name = f"    {sweep.contender.name:36s} {setting:7g}"
        if record is None:
            self.say(f"{name}  > {limit:.0f} s")
            if not reference:
                sweep.over = limit
                sweep.pending.clear()
                sweep.looser.clear()
        elif "error" in record:
            self.say(f"{name}  {record['error']}")
            sweep.error = record["error"]
            sweep.pending.clear()
            sweep.looser.clear()
        else:
            sweep.runs[setting] = [record]
            self.say(
                f"{name}  fit {record['fit']:8.3f}  predict {record['predict']:7.3f}"
                f"  value {record['primal']:.8g}"
            )

    def _sweep(self) -> None:
        """Continue until each contender is within the target, or has no settings left.

        No sweep stops early while the optimum is not known, and a better one may be found later.
        """
        for known in (False, True):
            for sweep in self.sweeps:
                self._place(sweep)
                while sweep.pending and not (
                    sweep.contender.group != "separatrix"
                    and (known or self.certified())
                    and sweep.counts(self.most()) is not None
                ):
                    self._step(sweep, sweep.pending.pop(0))
                while sweep.looser and sweep.counts(self.most()) == max(sweep.runs, default=0.0):
                    self._step(sweep, sweep.looser.pop(0))

    def _place(self, sweep: _Sweep) -> None:
        """Set the start of a peer's sweep: a step looser than another's setting that counts."""
        if sweep.contender.group == "separatrix" or sweep.runs or not sweep.pending:
            return
        others = [s for s in self.sweeps if s.contender.group != "separatrix" and s is not sweep]
        counts = [found for s in others if (found := s.counts(self.most())) is not None]
        if counts:
            first = max(0, sweep.pending.index(max(counts)) - 1)
            sweep.looser = sweep.pending[:first][::-1]
            del sweep.pending[:first]

    def _repeat(self) -> None:
        """Repeat the settings that count, contenders taking turns; these may change meanwhile."""
        repeats = max(REPEATS, self.options.repeats)
        failed: set[tuple[str, float]] = set()
        while True:
            wanted = []
            for sweep in self.sweeps:
                setting = sweep.counts(self.most())
                if setting is None or (sweep.contender.name, setting) in failed:
                    continue
                runs = sweep.runs[setting]
                if len(runs) < repeats and runs[0]["fit"] < REPEAT_BELOW:
                    wanted.append((sweep, setting))
            if not wanted:
                return
            for sweep, setting in wanted:
                record = self._run(sweep, setting, 4.0 * self.options.limit)
                if record is not None and "error" not in record:
                    sweep.runs[setting].append(record)
                else:
                    failed.add((sweep.contender.name, setting))
                    self.say(f"    {sweep.contender.name}: a repeated run failed")
            self._sweep()

    def measure(self) -> dict[str, Any]:
        try:
            self._sweep()
            self._repeat()
        finally:
            for sweep in self.sweeps:
                if sweep.process is not None:
                    sweep.process.close()
        return self._result()

    # --- the result ---

    def _result(self) -> dict[str, Any]:
        everything = [run for sweep in self.sweeps for run in sweep.all_runs()]
        if not everything:
            return {"row": self.row.name, "error": "no contender finished a run"}
        reference = min(everything, key=lambda run: run["primal"])
        best, results = self.best(), []
        for sweep in self.sweeps:
            setting = sweep.counts(self.most())
            result: dict[str, Any] = {
                "name": sweep.contender.name,
                "group": sweep.contender.group,
                "setting": setting,
                "over": sweep.over,
                "error": sweep.error,
                "runs": [
                    {k: v for k, v in run.items() if k not in ("predicted", "clear")}
                    for run in sweep.all_runs()
                ],
            }
            if setting is not None:
                runs = sweep.runs[setting]
                differ = runs[0]["predicted"] != reference["predicted"]
                result |= {
                    "fit": statistics.median(run["fit"] for run in runs),
                    "predict": statistics.median(run["predict"] for run in runs),
                    "extra_mib": max(run["extra_mib"] or 0.0 for run in runs),
                    "above": (runs[0]["primal"] - best) / abs(best),
                    "support_vectors": runs[0]["support_vectors"],
                    "differ": float(np.mean(differ)),
                    "differ_clearly": int(np.sum(differ & reference["clear"])),
                }
            results.append(result)
        return {
            "row": self.row.name,
            "C": self.row.C,
            "gamma": self.row.gamma,
            "optimum": best,
            "optimum_relative_gap": self.gap(),
            "optimum_certified": self.certified(),
            "predicted_rows": len(reference["predicted"]),
            "clear": float(np.mean(reference["clear"])),
            "contenders": results,
            "complaints": self._complaints(best, results),
        }

    def _complaints(self, best: float, results: list[dict[str, Any]]) -> list[str]:
        """The claims that the measurements contradict."""
        found = []
        for sweep in self.sweeps:
            for run in sweep.all_runs():
                where = f"{self.row.name}, {sweep.contender.name}, tol {run['setting']:g}"
                if run["odd"]:
                    found.append(
                        f"{where}: {run['odd']} of the predictions contradict its own scores"
                    )
                claims = run["claims"]
                if not claims:
                    continue
                off = (run["primal"] - best) / abs(best)
                if claims["dual"] > best + 1e-10 * abs(best):
                    found.append(f"{where}: claims a bound above a value that was found")
                if claims["status"] == "optimal" and off > run["setting"] * (1 + 1e-6) + 1e-10:
                    found.append(f"{where}: says optimal, is {off:.2g} above the optimum")
                # The stated value is above the objective by a bound on the rounding errors.  That
                # is part of the gap, so that the tolerance has to cover it.
                above = (claims["primal"] - run["primal"]) / abs(run["primal"])
                if not -1e-10 <= above <= max(1e-9, run["setting"]):
                    found.append(f"{where}: says its objective is another than it is")
        for result in results:
            if result.get("differ_clearly"):
                found.append(
                    f"{self.row.name}, {result['name']}: {result['differ_clearly']} of the "
                    "predictions differ from the best point's where that one is clear"
                )
        return found


def _first_call(folder: Path, row: KernelRow, clock: str) -> dict[str, Any] | None:
    """Seconds of this library's first fit and predictions with an empty cache, and of the next."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-cache-") as cache,
        _environment(NUMBA_CACHE_DIR=cache),
    ):
        process = _Process(folder, "separatrix", clock, warm=False)
        try:
            runs = [
                process.run(row, TARGET, START_LIMIT) if process.alive else None for _ in range(2)
            ]
        finally:
            process.close()
    if any(run is None or "error" in run for run in runs):
        return None
    first, later = (run["fit"] + run["predict"] for run in runs)
    return {
        "row": f"{row.name}, and predict",
        "form": "dense",
        "first_seconds": first,
        "later_seconds": later,
        "compile_seconds": first - later,
    }


def measure(
    row: KernelRow, those: list[Contender], options: Options, say: Callable[[str], None]
) -> dict[str, Any]:
    """Measure one row; contenders that are not installed are named in the result."""
    say(f"  {row.name}")
    there = [c for c in those if c.available()]
    absent = [c.name for c in those if c not in there]
    for name in absent:
        say(f"    {name} is not installed: left out")
    problem = row.load()
    n, d = problem.X.shape
    with tempfile.TemporaryDirectory(prefix="bench-data-") as folder_name:
        folder = Path(folder_name)
        for part in "XyZ":
            np.save(folder / f"{part}.npy", getattr(problem, part))
        stand_in = problem.stand_in
        del problem
        result = _Bench(row, there, folder, options, say).measure()
        firsts = []
        if row.compile_times and options.compile_times and CONTENDERS[0] in there:
            firsts = [first for first in [_first_call(folder, row, options.clock)] if first]
    about = {"rows": n, "columns": d, "stand_in": stand_in, "absent": absent}
    return {**result, **about, "first_calls": firsts}


# --- the tables -----------------------------------------------------------------------------------


def _shown(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds:.1f}" if seconds >= 10 else f"{seconds:.3g}"


def _missing(contender: dict[str, Any]) -> str:
    """The text that stands in the place of a missing time."""
    if contender["error"]:
        return "failed"
    return f"> {contender['over']:.0f}" if contender["over"] else "not reached"


def _ratio(own: dict[str, Any] | None, other: dict[str, Any], key: str) -> str:
    if own is None or key not in own:
        return ""
    if key in other:
        return f"{other[key] / own[key]:.2f}"
    over = other["over"] if key == "fit" else None
    return f"> {over / own[key]:.1f}" if over and over > own[key] else ""


def summary(results: list[dict[str, Any]]) -> list[list[str]]:
    """One line a row: this library, the fastest peer, and the ratio, for the fit and to predict."""
    titles = ["fit: separatrix", "peer", "", "ratio", "predict: separatrix", "peer", "", "ratio"]
    out = [["kernel machine", *titles, "optimum"]]
    for result in results:
        mark = " *" if result["stand_in"] else ""
        line = [result["row"] + mark]
        if "error" in result:
            out.append([*line, result["error"], *[""] * 8])
            continue
        own = next((c for c in result["contenders"] if c["group"] == "separatrix"), None)
        peers = [c for c in result["contenders"] if c["group"] == "peer"]
        for key in ("fit", "predict"):
            line.append("" if own is None else _shown(own[key]) if key in own else _missing(own))
            reached = [c for c in peers if key in c]
            over = [c for c in peers if c["over"]]
            if reached:
                fastest = min(reached, key=lambda c, key=key: c[key])
                line += [_shown(fastest[key]), fastest["name"], _ratio(own, fastest, key)]
            elif over:
                longest = max(over, key=lambda c: c["over"])
                line += [_missing(longest) if key == "fit" else "", "", _ratio(own, longest, key)]
            else:
                line += ["not reached" if peers else "", "", ""]
        gap = result["optimum_relative_gap"]
        bound = f"gap {gap:.0e}" if np.isfinite(gap) else "no bound"
        line.append("certified" if result["optimum_certified"] else f"best found, {bound}")
        out.append(line)
    return out


def lines(results: list[dict[str, Any]]) -> list[list[str]]:
    """One line a contender: times, suboptimality, memory, and predictions."""
    out = [
        [
            "kernel machine",
            "contender",
            "tol",
            "fit",
            "predict",
            "above optimum",
            "support vectors",
            "MiB",
            "differ",
            "fit/separatrix",
            "predict/separatrix",
        ]
    ]
    for result in results:
        everyone = result.get("contenders", [])
        own = next((c for c in everyone if c["group"] == "separatrix"), None)
        for c in everyone:
            ratios = ["", ""] if c is own else [_ratio(own, c, key) for key in ("fit", "predict")]
            if "fit" not in c:
                out.append([result["row"], c["name"], "", _missing(c), *[""] * 5, *ratios])
                continue
            cells = [
                f"{c['setting']:g}",
                _shown(c["fit"]),
                _shown(c["predict"]),
                f"{c['above']:.1e}",
                f"{c['support_vectors']:,}",
                f"{c['extra_mib']:.0f}",
                f"{100 * c['differ']:.2f} %",
            ]
            out.append([result["row"], c["name"], *cells, *ratios])
    return out


def _counts(results: list[dict[str, Any]]) -> str:
    return ", ".join(f"{m:,}" for m in sorted({r.get("predicted_rows", 0) for r in results} - {0}))


def notes(results: list[dict[str, Any]]) -> list[str]:
    """The explanations below the tables."""
    found = [
        "objective: 1/2 |w|^2 + C sum max(0, 1 - y (<w, phi(x)> + b)), b not penalised, summed "
        "over the pairs of classes; kernel exp(-gamma |x - z|^2).",
        f"fit: seconds until within {TARGET:g} of the optimum, relative; separatrix at "
        f"tol={TARGET:g} (a certified gap), a peer at the loosest tol of its sweep that gets "
        f"there. Every cache: {CACHE_MB} MB.",
        f"predict: {_counts(results)} rows. ratio: the fastest peer over separatrix; above 1, "
        "separatrix is faster.",
        f"optimum: the best value found; certified where separatrix's lower bound is within "
        f"{TIGHTEST:g} of it. '> t': a run was ended after t seconds.",
        "MiB: the peak above the loaded data. differ: the share of predictions other than those "
        "of the best point.",
    ]
    if any(c["group"] == "beside" for r in results for c in r.get("contenders", ())):
        found.append("float32 rows: given other numbers, so not among the peers of the ratios.")
    absent = sorted({name for r in results for name in r["absent"]})
    if absent:
        found.append(f"not installed, left out: {'; '.join(absent)}.")
    if any(r["stand_in"] for r in results):
        found.append("* a synthetic stand-in of the same shape: the real data were not found.")
    return found
