"""``python -m benchmarks snapshot FILE``: what users of the library meet, written down to compare.

The document has the public names with their signatures, the help of every command, what the demo
prints, the numbers of a fixed grid of fits with their certificates (every estimator; dense rows,
rows that lie by columns, float32, sparse, row blocks in passes), whether their model files read
back, and what each malformed file of the corpus is answered.  ``--against OLDER`` prints what
differs from an older document, part by part, and ends with 1 where anything does: numbers that
differ are given by the largest difference relative to the largest number beside them.

``--timed`` adds the seconds of the quick rows of the benchmark, and prints their ratios.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from click.testing import CliRunner
from sklearn.base import is_classifier

import separatrix
from separatrix.cli.app import cli
from separatrix.models.registry import ESTIMATORS, estimator
from separatrix.scale import scan

__all__ = ["compared", "main", "taken"]

ROOT = Path(__file__).resolve().parents[1]
# Values that differ from one run to the next: seconds, sizes of files, dates, and digests of both.
_UNSTEADY = re.compile(
    r"\b\d+(\.\d+)?(?= (s|ms|seconds|kB|MB)\b)|\b\d{4}-\d\d-\d\dT[\d:+]+|\b[0-9a-f]{16}\b"
)
_LAYOUTS: dict[str, Callable[[np.ndarray], Any]] = {
    "dense": lambda X: X,
    "by columns": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "sparse": lambda X: sp.csr_matrix(np.where(np.abs(X) > 0.5, X, 0.0)),
}
_NUMBERS = ("coef_", "intercept_", "dual_coef_", "means_", "covariance_", "threshold_", "scale_")
# Options of estimators whose defaults would refuse these rows, or take more than a second.
_OPTIONS: dict[str, dict[str, Any]] = {"Perceptron": {"max_iter": 50}, "NuSVC": {"nu": 0.3}}
# Larger differences are reported; smaller ones are due to another order of a sum.
_ROUNDING = 1e-12


# --- what is written down -------------------------------------------------------------------------


def _signature(of: Any) -> str:
    try:
        return str(inspect.signature(of))
    except (TypeError, ValueError):
        return ""


def _members(kind: type) -> dict[str, str]:
    """The public methods and properties of a class with their signatures."""
    out = {"": _signature(kind)}
    # The members that widgets and arrays bring with them belong to their libraries.
    own = [base for base in kind.__mro__ if base.__module__.startswith(("separatrix", "sklearn"))]
    for name in sorted({name for base in own for name in vars(base) if not name.startswith("_")}):
        member = inspect.getattr_static(kind, name)
        called = not isinstance(member, property) and callable(getattr(kind, name, None))
        out[f".{name}"] = _signature(getattr(kind, name)) if called else type(member).__name__
    return out


def public_names() -> dict[str, str]:
    """Every name of every public package with its signature, and those of its members."""
    out: dict[str, str] = {}
    packages = [
        found.name
        for found in pkgutil.walk_packages(separatrix.__path__, "separatrix.")
        if found.ispkg and "._" not in found.name
    ]
    for package in ["separatrix", *packages]:
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", []):
            value = getattr(module, name)
            members = _members(value) if inspect.isclass(value) else {"": _signature(value)}
            out |= {f"{package}.{name}{member}": text for member, text in members.items()}
    return out


def helps() -> dict[str, str]:
    """The help of every command."""
    runner = CliRunner()
    words = [[], *([name] for name in cli.commands)]
    return {
        " ".join(["separatrix", *own]): runner.invoke(
            cli, [*own, "--help"], prog_name="separatrix", terminal_width=100
        ).output
        for own in words
    }


def demonstration() -> str:
    """The output of ``make demo``, without its seconds."""
    with tempfile.TemporaryDirectory() as folder:
        found = subprocess.run(
            [sys.executable, str(ROOT / "examples" / "demo.py")],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )
    return _UNSTEADY.sub("#", found.stdout)


def _data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows and targets that an estimator can be fitted to: three classes, two, or numbers."""
    rng = np.random.default_rng(7)
    Z, scales = rng.normal(size=(240, 6)), np.logspace(-1.0, 1.0, 6)
    X = Z * scales + 0.5
    scores = Z @ rng.normal(size=(6, 3)) + rng.normal(size=(240, 3))
    if name == "PolynomialRegression":
        return X[:, :2], scores[:, 0]
    if name == "PoissonRegressor":
        return X, np.round(np.exp(scores[:, 0] / 2.0))
    if is_classifier(estimator(name)()):
        # The others have labels of three classes.
        two = name in ("DecisionStump", "Perceptron")
        return X, scores[:, : 2 if two else 3].argmax(axis=1)
    return X, scores[:, 0]


def _numbers(model: Any, X: Any) -> dict[str, Any]:
    """The fitted numbers of a model, its predictions and its certificate."""
    out: dict[str, Any] = {}
    for name in _NUMBERS:
        with contextlib.suppress(AttributeError):
            value = getattr(model, name)
            value = value.toarray() if sp.issparse(value) else value
            out[name] = np.asarray(value, dtype=np.float64).ravel().tolist()
    out["predicted"] = np.asarray(model.predict(X[:40])).astype(np.float64).ravel().tolist()
    certificate = getattr(model, "certificate_", None)
    for name in ("status", "primal", "dual", "gap", "relative_residual", "n_iter"):
        value = getattr(certificate, name, None)
        if value is not None:
            out[f"certificate.{name}"] = value if isinstance(value, str | int) else [float(value)]
    return out


def _reads_back(model: Any, X: Any) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.separatrix"
        try:
            separatrix.save_model(path, model)
            other: Any = separatrix.load_model(path)
        except Exception as error:
            return f"{type(error).__name__}: {error}".replace(folder, "")
        other = getattr(other, "model", other)
        same = np.array_equal(model.predict(X[:40]), other.predict(X[:40]))
    return "the same predictions" if same else "other predictions"


def fits() -> dict[str, Any]:
    """The grid of fits: each estimator on each layout of the same rows."""
    out: dict[str, Any] = {}
    for name in sorted(ESTIMATORS):
        X, y = _data(name)
        for layout, laid in {**_LAYOUTS, "in passes": None}.items():
            model = estimator(name)(**_OPTIONS.get(name, {}))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    if laid is None:
                        model.fit(scan(X, y, quantity=not is_classifier(model)))
                    else:
                        model.fit(laid(X), y)
                    found = _numbers(model, X if laid is None else laid(X))
                    found["file"] = _reads_back(model, X)
                except Exception as error:
                    found = {"refused": f"{type(error).__name__}: {error}"}
            out[f"{name}, {layout}"] = found
    return out


def corpus() -> dict[str, str]:
    """The error of each malformed model file of the corpus."""
    out = {}
    for path in sorted((ROOT / "tests" / "corpus" / "models").iterdir()):
        try:
            separatrix.load_model(path)
            out[path.name] = "was read"
        except Exception as error:
            out[path.name] = f"{type(error).__name__}: {error}".replace(str(path), path.name)
    return out


def _timed() -> dict[str, float]:
    """The seconds of the quick rows, by row, solver and target."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.json"
        words = ["--quick", "--only", "separatrix", "--output", str(file)]
        subprocess.run([sys.executable, "-m", "benchmarks", *words], cwd=ROOT, check=True)
        document = json.loads(file.read_text())
    return {
        f"{row['row']}, {solver['solver']}, to {target}": float(seconds)
        for workload in document["workloads"]
        for row in workload["results"]
        for solver in row["solvers"]
        for target, seconds in solver["seconds_to"].items()
        if seconds is not None
    }


def taken(timed: bool = False) -> dict[str, Any]:
    """The whole document."""
    parts: dict[str, Any] = {
        "names": public_names(),
        "help": helps(),
        "demo": {"make demo": demonstration()},
        "fits": fits(),
        "corpus": corpus(),
    }
    return {**parts, "seconds": _timed()} if timed else parts


# --- what differs ---------------------------------------------------------------------------------


def _apart(before: Any, after: Any) -> str | None:
    """The difference of two entries, in one line or a few; None where there is none."""
    if before == after:
        return None
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        a, b = np.array(before, dtype=np.float64), np.array(after, dtype=np.float64)
        if np.array_equal(a, b, equal_nan=True):
            return None
        largest = max(float(np.abs(a).max(initial=0.0)), float(np.abs(b).max(initial=0.0)))
        off = float(np.abs(a - b).max()) / largest if largest > 0.0 else 0.0
        return None if off <= _ROUNDING else f"off by {off:.1e} of the largest"
    if isinstance(before, str) and isinstance(after, str) and "\n" in before + after:
        lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
        return "\n".join(["", *(f"    {line}" for line in list(lines)[2:])])
    return f"{before!r} -> {after!r}"


def _flat(entries: dict[str, Any]) -> dict[str, Any]:
    """Nested entries, by the names of both levels."""
    out: dict[str, Any] = {}
    for name, entry in entries.items():
        if isinstance(entry, dict):
            out |= {f"{name}: {inner}": value for inner, value in entry.items()}
        else:
            out[name] = entry
    return out


def compared(older: dict[str, Any], newer: dict[str, Any]) -> dict[str, list[str]]:
    """The differences of two documents by part, without the seconds."""
    out: dict[str, list[str]] = {}
    for part in newer:
        if part == "seconds":
            continue
        before, after = _flat(older.get(part, {})), _flat(newer[part])
        lines = [f"{name}: is gone" for name in before if name not in after]
        lines += [f"{name}: is new" for name in after if name not in before]
        for name in after:
            apart = _apart(before[name], after[name]) if name in before else None
            if apart is not None:
                lines.append(f"{name}: {apart}")
        out[part] = lines
    return out


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks snapshot", description=__doc__)
    parser.add_argument("file", type=Path, help="where the document goes")
    parser.add_argument("--against", type=Path, metavar="OLDER", help="a document to compare with")
    parser.add_argument("--timed", action="store_true", help="time the quick rows as well")
    args = parser.parse_args(argv)
    newer = taken(args.timed)
    args.file.write_text(json.dumps(newer, indent=1) + "\n")
    if args.against is None:
        for part, entries in newer.items():
            print(f"{len(_flat(entries)):6,} entries  {part}")
        return 0
    older = json.loads(args.against.read_text())
    found = compared(older, json.loads(args.file.read_text()))
    for part, lines in found.items():
        print(f"{len(lines):6,} of {len(_flat(newer[part])):,} differ  {part}")
        for line in lines:
            print(f"        {line}")
    before = older.get("seconds", {})
    for name, seconds in newer.get("seconds", {}).items():
        if name in before:
            print(f"{seconds / before[name]:8.3f}  {name}")
    return int(any(found.values()))
