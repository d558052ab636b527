"""``python -m benchmarks.certificates``: an attack on the certificates.

Random small problems of the kinds that floating point is bad at (outliers, offsets, collinear
columns, scales up to 1e150, weights and strengths from one end of the range to the other) are
fitted by every model, loss, penalty, solver and kernel, and each certificate is put before
:mod:`benchmarks.certificate_judge`, whose verdicts are proofs.  What is false is printed as Python
that can be pasted; the last line counts.  Exit status 1 where a certificate is false or a fit ends
in an exception that is no refusal.

Problem number ``k`` of a seed is the same whatever the number of processes is and however many
problems there are.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.attacks import crash, is_refusal, one_thread_each, parser, results
from benchmarks.hostile_data import FAMILIES, Data, all_there, power, separable, stored
from separatrix.solvers.perceptron import ORDERS

__all__ = ["FAMILIES", "MODELS", "Case", "Outcome", "attack", "case_of", "main", "tried"]

# --- problems ---------------------------------------------------------------------------------


def rounded_products(X: Any, Z: Any) -> np.ndarray:
    """A kernel whose values are exact: products of whole numbers."""
    return np.clip(np.round(X), -1e6, 1e6) @ np.clip(np.round(Z), -1e6, 1e6).T


def least(X: Any, Z: Any) -> np.ndarray:
    """A kernel whose values are exact: the covariance of Brownian motion."""
    return np.minimum(np.abs(X[:, :1]), np.abs(Z[:, :1]).T)


CALLABLES = {"rounded_products": rounded_products, "least": least}


@dataclass
class Case:
    """One fit: a model's name and parameters, and data."""

    number: int
    seed: int
    model: str
    parameters: dict[str, Any]
    X: Any
    y: np.ndarray
    weights: np.ndarray | None
    families: tuple[str, ...]
    # The rows of a block, where the model is fitted in passes over blocks.
    block_rows: int | None = None

    def build(self) -> Any:
        import separatrix

        parameters = dict(self.parameters)
        kernel = parameters.get("kernel")
        if kernel in CALLABLES:
            parameters["kernel"] = CALLABLES[kernel]
        return getattr(separatrix, self.model)(**parameters)

    def fit(self) -> Any:
        model = self.build()
        if self.model == "Perceptron":
            return model.fit(self.X, self.y)
        if self.block_rows is not None:
            from separatrix.scale import scan

            rows = self.block_rows
            return model.fit(scan(self.X, self.y, weight=self.weights, block_rows=rows))
        return model.fit(self.X, self.y, sample_weight=self.weights)

    def code(self) -> str:
        """Python code that fits the case again."""
        lines = [
            "import numpy as np",
            "import scipy.sparse as sp",
            f"from separatrix import {self.model}",
        ]
        kernel = self.parameters.get("kernel")
        if kernel in CALLABLES:
            lines.append(f"from benchmarks.certificates import {kernel}")
        lines += [_array_code("X", self.X), f"y = {self.y.tolist()!r}"]
        given = "X, y"
        if self.weights is not None and self.model != "Perceptron":
            lines.append(f"weights = {self.weights.tolist()!r}")
            given += ", sample_weight=weights"
        pairs = []
        for name, value in self.parameters.items():
            text = repr(value)
            if isinstance(value, float) and math.isinf(value):
                text = "float('inf')"
            if name == "kernel" and value in CALLABLES:
                text = value
            pairs.append(f"{name}={text}")
        if self.block_rows is not None:
            lines.append("from separatrix.scale import scan")
            given = given.replace("sample_weight", "weight")
            given = f"scan({given}, block_rows={self.block_rows})"
        lines.append(f"model = {self.model}({', '.join(pairs)}).fit({given})")
        lines.append("print(repr(model.certificate_))")
        return "\n".join(lines)


def _array_code(name: str, X: Any) -> str:
    if sp.issparse(X):
        parts = ", ".join(repr(v.tolist()) for v in (X.data, X.indices, X.indptr))
        return f"{name} = sp.csr_matrix(({parts}), shape={X.shape!r})"
    text = f"{name} = np.array({X.tolist()!r}, dtype={X.dtype.name!r})"
    if X.flags.c_contiguous:
        return text
    if X.flags.f_contiguous:
        return f"{text[:-1]}, order='F')"
    if X.strides[0] < 0:
        return f"{text}[::-1, ::-1].copy()[::-1, ::-1]"
    return f"{text}.repeat(2, 0).repeat(2, 1)[::2, ::2]"


_SMOOTH = ("newton", "quasi-newton", "dual", "augmented-lagrangian")


def _solver(rng: np.random.Generator, *names: str) -> dict[str, Any]:
    if rng.random() < 0.45 or not names:
        return {}
    return {"solver": str(rng.choice(names))}


def _shared(rng: np.random.Generator, data: Data, *, hard: bool = False) -> dict[str, Any]:
    """The strength, the tolerance and the limits, which all models share."""
    out: dict[str, Any] = {"tol": power(rng, -12, -2)}
    if data.lam is not None:
        out["lam"] = data.lam
    elif data.C is not None:
        out["C"] = data.C
    elif rng.random() < 0.7:
        out["C"] = power(rng, -3, 3)
    if not hard and math.isinf(out.get("C", 1.0)):
        out["C"] = power(rng, 3, 12)
    out["max_iter"] = int(rng.choice([1, 3, 10, 20, 20, 30, 30, 100]))
    out["random_state"] = 0
    return out


def _class_weight(rng: np.random.Generator, data: Data) -> dict[str, Any]:
    draw = rng.random()
    if draw < 0.06:
        return {"class_weight": "balanced"}
    if draw < 0.12:
        classes = np.unique(data.y).tolist()
        return {"class_weight": {c: power(rng, -3, 3) for c in classes}}
    return {}


def _logistic(rng: np.random.Generator, data: Data) -> dict[str, Any]:
    out = _shared(rng, data)
    several = len(np.unique(data.y)) > 2
    if several and rng.random() < 0.3:
        out["multiclass"] = "ovr"
        several = False
    kind = rng.choice(["l2", "l1", "elasticnet", "none"], p=[0.45, 0.2, 0.15, 0.2])
    if kind == "l2":
        out |= _solver(rng, *(_SMOOTH[:1] if several else _SMOOTH))
        if several and rng.random() < 0.02:
            out["solver"] = "quasi-newton"
    elif kind == "none":
        out.pop("C", None)
        if data.C is not None and math.isinf(data.C):
            out["C"] = math.inf
            out.pop("lam", None)
        else:
            out["penalty"] = None
        out |= _solver(rng, "newton")
    else:
        out["penalty"] = str(kind)
        if kind == "elasticnet":
            out["l1_ratio"] = float(rng.choice([rng.random(), 1e-9, 1.0 - 1e-9, 0.5]))
        out |= _solver(rng, "proximal-newton")
    return out | {"fit_intercept": bool(rng.random() < 0.7)} | _class_weight(rng, data)


def _linear_svc(rng: np.random.Generator, data: Data) -> dict[str, Any]:
    hard = data.C is not None and math.isinf(data.C)
    out = _shared(rng, data, hard=hard)
    if hard and "lam" not in out:
        out["C"] = math.inf
        out["loss"] = str(rng.choice(["hinge", "squared_hinge"]))
    else:
        kind = rng.choice(["hinge", "squared_hinge", "l1", "elasticnet"], p=[0.35, 0.3, 0.2, 0.15])
        if kind == "hinge":
            out["loss"] = "hinge"
            out |= _solver(rng, "dual", "augmented-lagrangian", "interior-point")
        elif kind == "squared_hinge":
            out |= _solver(rng, *_SMOOTH)
        else:
            out["penalty"] = str(kind)
            if kind == "elasticnet":
                out["l1_ratio"] = float(rng.choice([rng.random(), 1e-9, 0.5]))
            out |= _solver(rng, "proximal-newton")
    return out | {"fit_intercept": bool(rng.random() < 0.7)} | _class_weight(rng, data)


def _svc(rng: np.random.Generator, data: Data) -> dict[str, Any]:
    hard = data.C is not None and math.isinf(data.C)
    out = _shared(rng, data, hard=hard)
    if hard and "lam" not in out:
        out["C"] = math.inf
    kernel = str(
        rng.choice(
            ["linear", "rbf", "poly", "precomputed", "rounded_products", "least"],
            p=[0.3, 0.3, 0.2, 0.1, 0.05, 0.05],
        )
    )
    out["kernel"] = kernel
    if kernel in CALLABLES:
        data.storage = "dense"
    if kernel == "precomputed":
        # Whole numbers, so that the matrix is exactly that of scalar products.
        points = np.clip(np.round(data.X), -1000, 1000)
        data.X, data.storage = points @ points.T, "dense"
    if kernel in ("rbf", "poly"):
        draw = rng.random()
        if draw < 0.3:
            out["gamma"] = "auto"
        elif draw < 0.6:
            out["gamma"] = power(rng, -3, 2)
    if kernel == "poly":
        out["degree"] = int(rng.integers(1, 5))
        out["coef0"] = float(rng.choice([0.0, 1.0, 0.3]))
    return out | {"fit_intercept": bool(rng.random() < 0.7)} | _class_weight(rng, data)


def _sgd(rng: np.random.Generator, data: Data) -> dict[str, Any]:
    out: dict[str, Any] = {
        "tol": power(rng, -8, -1),
        "max_iter": int(rng.choice([1, 3, 10])),
        "random_state": 0,
        "loss": str(
            rng.choice(["hinge", "log_loss", "squared_hinge", "perceptron", "squared_error"])
        ),
        "fit_intercept": bool(rng.random() < 0.7),
        "average": [True, False, "linear"][rng.integers(3)],
        "alpha": power(rng, -6, 1),
        "batch_size": int(rng.choice([1, 1, 3])),
    }
    if data.lam is not None and rng.random() < 0.5:
        out["alpha"] = data.lam
    if out["loss"] == "perceptron":
        if rng.random() < 0.5:
            out["margin"] = power(rng, -2, 2)
        else:
            out["penalty"] = None
    elif rng.random() < 0.15:
        out["penalty"] = None
    if out.get("penalty", "l2") is None:
        out["learning_rate"] = str(rng.choice(["invscaling", "constant"]))
    else:
        out["learning_rate"] = str(rng.choice(["optimal", "invscaling", "constant"]))
    if rng.random() < 0.9:
        out["eta0"] = power(rng, -4, 0)
    if data.weights is not None and data.weights.any() and rng.random() < 0.95:
        # A row of weight k is visited k times.
        largest = float(data.weights.max())
        data.weights = np.clip(data.weights / largest, 0.01, 1.0) * (data.weights > 0.0)
        data.weights *= 10.0 if largest > 10.0 else largest
    return out | _class_weight(rng, data)


def _perceptron(rng: np.random.Generator, data: Data) -> dict[str, Any]:
    return {
        "max_passes": int(rng.choice([1, 3, 20])),
        "margin": float(rng.choice([0.0, 0.0, power(rng, -2, 2)])),
        "average": bool(rng.random() < 0.3),
        "order": str(rng.choice(ORDERS)),
        "learning_rate": float(rng.choice([1.0, 0.1, power(rng, -3, 3)])),
        "fit_intercept": bool(rng.random() < 0.7),
        "random_state": 0,
    } | _class_weight(rng, data)


# Name on the command line: the probability of the model, and the draw of its parameters.
MODELS: dict[str, tuple[float, Callable[[np.random.Generator, Data], dict[str, Any]]]] = {
    "LogisticRegression": (0.36, _logistic),
    "LinearSVC": (0.27, _linear_svc),
    "SVC": (0.24, _svc),
    "SGDClassifier": (0.07, _sgd),
    "Perceptron": (0.06, _perceptron),
}


def case_of(seed: int, number: int, *, family: str | None = None, model: str | None = None) -> Case:
    """Problem ``number`` of a seed, restricted to a family or a model where one is named."""
    rng = np.random.default_rng([seed, number])
    names = list(MODELS)
    shares = np.array([MODELS[name][0] for name in names])
    chosen = model or str(rng.choice(names, p=shares / shares.sum()))
    count = int(rng.choice([1, 1, 1, 2, 2, 3]))
    families = [str(f) for f in rng.choice(list(FAMILIES), size=count, replace=False)]
    if family is not None:
        families = [family, *(f for f in families[1:] if f != family)]
    if chosen == "SVC" and rng.random() < 0.15:
        families.append("separable")
    several = rng.random() < (0.3 if chosen == "LogisticRegression" else 0.15)
    classes = int(rng.integers(3, 5)) if several else 2
    large = rng.random() < 0.02 and chosen != "SVC"
    n = int(rng.integers(20, 61)) if large else int(rng.integers(max(2, classes), 17))
    d = int(rng.integers(1, 11)) if large else int(rng.integers(1, 6))
    X = rng.normal(size=(n, d))
    shape = rng.integers(4)
    if shape == 0:
        X = rng.integers(-3, 4, size=(n, d)).astype(np.float64)
    elif shape == 1:
        X = np.exp(2.0 * X)
    if rng.random() < 0.6:
        scores = X @ rng.normal(size=d) + 0.5 * rng.normal(size=n)
        y = np.searchsorted(np.quantile(scores, np.arange(1, classes) / classes), scores)
    else:
        y = rng.integers(classes, size=n)
    y = all_there(y, np.arange(classes))
    data = Data(X, y)
    # Changes that break a structure come before those that make one.
    for name in sorted(dict.fromkeys(families), key=list(FAMILIES).index):
        FAMILIES[name](rng, data)
    if len(data.y) > 3 and data.weights is None and rng.random() < 0.1:
        data.weights = rng.choice([0.5, 1.0, 2.0, 3.0, 0.1], size=len(data.y))
    if chosen in ("LinearSVC", "SVC") and rng.random() < 0.2:
        data.C, data.lam = math.inf, None
        if rng.random() < 0.7:
            separable(rng, data)
    parameters = MODELS[chosen][1](rng, data)
    with np.errstate(all="ignore"):
        X = stored(data)
    return Case(
        number, seed, chosen, parameters, X, data.y, data.weights, tuple(dict.fromkeys(families))
    )


# --- one fit ----------------------------------------------------------------------------------


@dataclass
class Outcome:
    """The outcome of a problem."""

    number: int
    model: str
    families: tuple[str, ...]
    refusal: str = ""
    # The kind, the size and the sentence of each false claim.
    findings: list[tuple[str, float, str]] = field(default_factory=list)
    code: str = ""
    status: str = ""
    judged: int = 0
    settled: int = 0
    fit_seconds: float = 0.0
    judge_seconds: float = 0.0


def tried(case: Case) -> Outcome:
    """Fit a case and judge its certificate."""
    from benchmarks.certificate_judge import judge

    out = Outcome(case.number, case.model, case.families)
    start = time.process_time()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model = case.fit()
        except Exception as error:
            out.fit_seconds = time.process_time() - start
            if is_refusal(error):
                out.refusal = f"{type(error).__name__}: {error}"
            else:
                out.findings.append(("crash", math.inf, crash(error)))
                out.code = case.code()
            return out
        out.fit_seconds = time.process_time() - start
        out.status = model.certificate_.status
        start = time.process_time()
        try:
            verdict = judge(model, case.X, case.y, _weights_of(case))
        except Exception as error:
            # Attributes that contradict one another, or a mistake of the judge: never passed over.
            out.findings.append(("unreadable", math.inf, crash(error)))
            out.code = case.code()
            return out
        out.judge_seconds = time.process_time() - start
    out.findings = [(f.kind, f.size, f.text) for f in verdict.findings]
    out.judged, out.settled = verdict.judged, verdict.settled
    if out.findings:
        out.code = case.code()
    return out


def _weights_of(case: Case) -> np.ndarray | None:
    return None if case.model == "Perceptron" else case.weights


#: How a case is fitted: as usual, as if there were many rows, or in passes.
WAYS = ("ordinary", "tall", "blocks")
#: The models that are fitted in passes over row blocks, with certificates of a gap.
IN_PASSES = ("LogisticRegression", "LinearSVC")
# Seconds between the progress lines of a long attack.
_EVERY = 60.0

# --- many -------------------------------------------------------------------------------------


@contextmanager
def _as_tall(tall: bool) -> Iterator[None]:
    """Let few rows take the way of many, which is compiled and bounds by blocks of rows."""
    # Here, since the cache of compiled code is chosen before the library is loaded.
    from separatrix.objectives import margin

    ordinary = margin._MANY
    margin._MANY = 0 if tall else ordinary
    try:
        yield
    finally:
        margin._MANY = ordinary


def _case(seed: int, number: int, family: str | None, model: str | None, way: str) -> Case:
    """A case, as it is fitted in one of :data:`WAYS`."""
    if way != "blocks":
        return case_of(seed, number, family=family, model=model)
    chosen = model or IN_PASSES[number % len(IN_PASSES)]
    case = case_of(seed, number, family=family, model=chosen)
    parameters = {name: v for name, v in case.parameters.items() if name != "solver"}
    # Blocks of one row or more; parameters that are not supported in passes are refused.
    return replace(case, parameters=parameters, block_rows=1 + number % 7)


def _several(task: tuple[int, int, int, str | None, str | None, str]) -> list[Outcome]:
    seed, first, last, family, model, way = task
    with _as_tall(way == "tall"):
        return [tried(_case(seed, k, family, model, way)) for k in range(first, last)]


def _warm(seed: int, count: int) -> None:
    """Compile the loops that the problems need, before anything is timed."""
    for number in range(count):
        tried(case_of(seed + 10**6, number))


def attack(
    seed: int,
    *,
    problems: int | None = None,
    minutes: float | None = None,
    jobs: int = 1,
    family: str | None = None,
    model: str | None = None,
    way: str = "ordinary",
    chunk: int = 100,
) -> Iterator[Outcome]:
    """Outcomes in the order of the problems' numbers, until there are enough, or time is up."""

    until = math.inf if minutes is None else time.perf_counter() + 60.0 * minutes

    def tasks() -> Iterator[tuple[int, int, int, str | None, str | None, str]]:
        first = 0
        while problems is None or first < problems:
            last = first + chunk if problems is None else min(first + chunk, problems)
            yield seed, first, last, family, model, way
            if time.perf_counter() > until:
                return
            first = last

    yield from results(_several, tasks(), jobs)


# --- the report -------------------------------------------------------------------------------


def _again(args: argparse.Namespace, outcome: Outcome) -> str:
    parts = [f"python -m benchmarks.certificates --seed {args.seed} --only {outcome.number}"]
    parts += [f"--model {args.model}"] if args.model else []
    parts += [f"--family '{args.family}'"] if args.family else []
    parts += [f"--way {args.way}"] if args.way != "ordinary" else []
    return " ".join(parts)


def _reported(args: argparse.Namespace, outcome: Outcome) -> str:
    lines = [f"# problem {outcome.number}, {outcome.model}: {', '.join(outcome.families)}"]
    lines += [f"# {_again(args, outcome)}", outcome.code]
    lines += [f"# FALSE {kind}, by {size:.2g}: {text}" for kind, size, text in outcome.findings]
    return "\n".join(lines)


class Tally:
    """Counts of outcomes."""

    def __init__(self) -> None:
        self.n = self.false = self.refused = self.judged = self.settled = 0
        self.seconds: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
        self.kinds: Counter[tuple[str, str, str]] = Counter()
        self.refusals: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()
        self.worst: dict[tuple[str, str], float] = {}
        self.slowest = (0.0, 0)

    def add(self, outcome: Outcome) -> None:
        self.n += 1
        self.refused += bool(outcome.refusal)
        self.false += bool(outcome.findings)
        self.judged += outcome.judged
        self.settled += outcome.settled
        if outcome.refusal:
            self.refusals[f"{outcome.model}: {outcome.refusal[:60]}"] += 1
        else:
            self.statuses[f"{outcome.model}: {outcome.status or 'crash'}"] += 1
        seconds = self.seconds[outcome.model]
        seconds[0] += 1
        seconds[1] += outcome.fit_seconds
        seconds[2] += outcome.judge_seconds
        self.slowest = max(self.slowest, (outcome.fit_seconds, outcome.number))
        for kind in {kind for kind, _, _ in outcome.findings}:
            for family in outcome.families:
                self.kinds[outcome.model, family, kind] += 1
        for kind, size, _ in outcome.findings:
            key = outcome.model, kind
            self.worst[key] = max(self.worst.get(key, 0.0), size)

    def text(self, seconds: float, verbose: bool) -> str:
        lines = [f"{self.refused} refusals; bounds of {self.judged} parts were compared with"]
        lines[0] += f" better points, {self.settled} of them with an optimum to 25 digits"
        for model, (count, fit, judging) in sorted(self.seconds.items()):
            lines.append(
                f"{model:20s}{count:9.0f} problems, {1e3 * fit / count:7.2f} ms to fit, "
                f"{1e3 * judging / count:7.2f} ms to judge"
            )
        if seconds > 0:
            lines.append(
                f"{self.n / seconds:.0f} problems a second; the slowest fit, of number "
                f"{self.slowest[1]}, took {self.slowest[0]:.1f} s"
            )
        if verbose:
            lines += [f"  {count:7d} {name}" for name, count in self.statuses.most_common()]
            lines += [
                f"  {count:7d} refused {name}" for name, count in self.refusals.most_common(40)
            ]
        for (model, kind), size in sorted(self.worst.items()):
            lines.append(f"{model}: {kind}, by up to {size:.2g}")
        for (model, family, kind), count in self.kinds.most_common():
            lines.append(f"  {count:5d} {model}, {family}: {kind}")
        lines.append(f"{self.n} problems, {self.false} false certificates")
        return "\n".join(lines)


def _parser() -> argparse.ArgumentParser:
    out = parser("benchmarks.certificates", __doc__, families=FAMILIES, models=MODELS)
    add = out.add_argument
    add("--minutes", type=float, default=None, help="how long (10, unless --problems says more)")
    add(
        "--way",
        choices=WAYS,
        default=WAYS[0],
        help="tall: few rows take the way of many, which is another; blocks: they are fitted in "
        "passes over blocks of some rows",
    )
    add("--quiet", action="store_true", help="counts alone, and no reproductions")
    add("--statuses", action="store_true", help="also count ways of stopping, and refusals")
    return out


def _only(args: argparse.Namespace) -> int:
    case = _case(args.seed, args.only, args.family, args.model, args.way)
    with _as_tall(args.way == "tall"):
        outcome = tried(case)
    outcome.code = case.code()
    print(_reported(args, outcome))
    print(f"# {outcome.refusal or outcome.status}")
    print(f"1 problems, {int(bool(outcome.findings))} false certificates")
    return int(bool(outcome.findings))


def main(argv: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    one_thread_each()
    if args.only is not None:
        return _only(args)
    minutes = args.minutes
    if args.problems is None and minutes is None:
        minutes = 10.0
    if args.jobs == 1:
        _warm(args.seed, min(150, 150 if args.problems is None else args.problems))
    tally, start = Tally(), time.perf_counter()
    outcomes = attack(
        args.seed,
        problems=args.problems,
        minutes=minutes,
        jobs=args.jobs,
        family=args.family,
        model=args.model,
        way=args.way,
    )
    told = start
    try:
        for outcome in outcomes:
            tally.add(outcome)
            now = time.perf_counter()
            if now - told > _EVERY:
                told = now
                print(f"{tally.n} problems, {tally.false} false", file=sys.stderr, flush=True)
            if outcome.findings and not args.quiet:
                print(_reported(args, outcome), end="\n\n", flush=True)
    except KeyboardInterrupt:
        print("interrupted: the problems so far", file=sys.stderr)
    print(tally.text(time.perf_counter() - start, args.statuses))
    return int(tally.false > 0)


if __name__ == "__main__":
    sys.exit(main())
