"""The command; see the package."""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sklearn

from separatrix.migration.installing import classes

# Tests of the classes themselves, by their place in scikit-learn.
_OWN_TESTS = (
    "linear_model/tests/test_base.py",
    "linear_model/tests/test_coordinate_descent.py",
    "linear_model/tests/test_huber.py",
    "linear_model/tests/test_logistic.py",
    "linear_model/tests/test_perceptron.py",
    "linear_model/tests/test_ridge.py",
    "linear_model/tests/test_sgd.py",
    "svm/tests/test_sparse.py",
    "svm/tests/test_svm.py",
    "tests/test_discriminant_analysis.py",
)
# Tests of code that builds upon the classes.
_BUILT_UPON = (
    "ensemble/tests/test_stacking.py",
    "ensemble/tests/test_voting.py",
    "ensemble/tests/test_bagging.py",
    "ensemble/tests/test_weight_boosting.py",
    "feature_selection/tests/test_from_model.py",
    "feature_selection/tests/test_rfe.py",
    "feature_selection/tests/test_sequential.py",
    "inspection/tests",
    "metrics/tests/test_score_objects.py",
    "model_selection/tests",
    "tests/test_calibration.py",
    "tests/test_kernel_approximation.py",
    "tests/test_multiclass.py",
    "tests/test_multioutput.py",
    "tests/test_pipeline.py",
)
_KINDS = ("*.py", "*.ipynb", "*.rst", "*.txt")
# Errors that do not show whether code runs.
_LEFT_OUT = {
    "a function or attribute that begins with an underscore": (
        r"unexpected keyword argument 'lam'|has no attribute '(_|loss_functions)|hasattr\(.*'_"
    ),
    "the words of a message": r"Regex pattern did not match",
    "the name of the solver that was used": r"assert 'cholesky' == '",
    "an announcement of a change in scikit-learn": r"DID NOT WARN.*(Future|User)Warning",
    "what one solver cannot do, and this one can": r"DID NOT (RAISE|WARN.*ConvergenceWarning)",
}


@dataclass
class Count:
    """Uses of the classes, those that run, and the errors of the others."""

    programs: int = 0
    uses: int = 0
    runs: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    errors: list[tuple[str, str]] = field(default_factory=list)
    # The outcome of each case of a test function: None where it is left out.
    cases: dict[str, list[bool | None]] = field(default_factory=dict)

    def add(self, name: str, theirs: dict[str, Any], ours: dict[str, Any] | None) -> None:
        if theirs.get("error") or not theirs.get("used"):
            return
        self.uses += 1
        error = "it was not reached" if ours is None else ours.get("error")
        # A parametrised test is one piece of code, however many cases it has.
        cases = self.cases.setdefault(name.split("[")[0], [])
        if error is None:
            self.runs += 1
            cases.append(True)
            return
        left_out = False
        for reason, pattern in _LEFT_OUT.items():
            if re.search(pattern, error, re.DOTALL):
                self.left_out[reason] += 1
                left_out = True
                break
        cases.append(None if left_out else False)
        self.errors.append((name, error.replace("\n", " ")))

    def __str__(self) -> str:
        if not self.uses:
            return "no use"
        rest = self.uses - sum(self.left_out.values())
        return (
            f"{self.uses:5,} uses, {self.runs:5,} run unchanged: {self.runs / self.uses:6.1%}; "
            f"of the {rest:,} that are left without words, private names and limits of one "
            f"solver {self.runs / max(rest, 1):6.1%}"
        )

    def by_piece(self) -> tuple[float, float]:
        """The shares that run, with one vote a piece of code: of all, and of those not left out.

        A piece is a statement, or a test function with all its cases.
        """
        kept = [[c for c in cases if c is not None] for cases in self.cases.values()]
        whole = [sum(c is True for c in cases) / len(cases) for cases in self.cases.values()]
        left = [sum(cases) / len(cases) for cases in kept if cases]
        return sum(whole) / max(len(whole), 1), sum(left) / max(len(left), 1)


def _called(options: list[str], environment: dict[str, str] | None = None) -> None:
    subprocess.run(
        [sys.executable, *options],
        env={**os.environ, "MPLBACKEND": "Agg", **(environment or {})},
        capture_output=True,
        check=False,
        timeout=3600,
    )


def _read(path: Path) -> Any:
    return json.loads(path.read_text()) if path.exists() else None


def programs(folder: Path, scratch: Path) -> Count:
    """Count the uses in the scripts, notebooks and texts with examples below a folder."""
    names = "|".join(sorted({name for group in classes().values() for name in group}))
    count = Count()
    for path in sorted(p for kind in _KINDS for p in folder.rglob(kind)):
        text = path.read_text(encoding="utf-8", errors="replace")
        if "sklearn" not in text or not re.search(rf"\b({names})\b", text):
            continue
        found = {}
        for whose in ("theirs", "ours"):
            into = scratch / f"{whose}.json"
            into.unlink(missing_ok=True)
            _called(["-m", "benchmarks.borrowed.program", str(path), str(into), whose])
            found[whose] = _read(into)
        if found["theirs"] is None:
            continue
        count.programs += 1
        ours = found["ours"] or [None] * len(found["theirs"])
        for k, (one, other) in enumerate(zip(found["theirs"], ours, strict=True)):
            count.add(f"{path.relative_to(folder)}, statement {k + 1}", one, other)
    return count


def docstrings(scratch: Path) -> Count:
    """Count the uses in the examples of scikit-learn's docstrings."""
    root, folder = Path(sklearn.__file__).parent, scratch / "docstrings"
    for path in root.rglob("*.py"):
        if "tests" in path.parts:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
                into = folder / path.relative_to(root).with_suffix("") / f"{node.name}.txt"
                into.parent.mkdir(parents=True, exist_ok=True)
                into.write_text(str(ast.get_docstring(node)), encoding="utf-8")
    return programs(folder, scratch)


def tests(files: tuple[str, ...], scratch: Path) -> Count:
    """Count the tests of scikit-learn that use the classes."""
    root = Path(sklearn.__file__).parent
    found = {}
    for whose in ("theirs", "ours"):
        into = scratch / f"tests-{whose}.json"
        into.unlink(missing_ok=True)
        _called(
            [
                *("-m", "pytest", "-q", "-p", "benchmarks.borrowed.testing"),
                *("-p", "no:cacheprovider", "-W", "ignore", "--tb=short", "-c", os.devnull),
                *(f"--rootdir={root.parent}", f"--confcutdir={root.parent}"),
                *(str(root / file) for file in files if (root / file).exists()),
            ],
            {"BORROWED_FROM": whose, "BORROWED_INTO": str(into)},
        )
        found[whose] = _read(into) or {}
    count = Count(programs=len({name.split("::")[0] for name in found["theirs"]}))
    for name, one in sorted(found["theirs"].items()):
        count.add(name, one, found["ours"].get(name))
    return count


def main() -> None:
    """Read the command line, run and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.borrowed", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--docstrings", action="store_true", help="examples in docstrings")
    parser.add_argument("--tests", action="store_true", help="tests of the classes themselves")
    parser.add_argument("--built-upon", action="store_true", help="tests of what uses them")
    parser.add_argument("--errors", action="store_true", help="print every one that fails")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        counts = {path.name: programs(path.resolve(), scratch) for path in given.folders}
        if given.docstrings:
            counts["the examples in scikit-learn's docstrings"] = docstrings(scratch)
        if given.tests:
            counts["scikit-learn's tests of the classes"] = tests(_OWN_TESTS, scratch)
        if given.built_upon:
            counts["scikit-learn's tests of what uses them"] = tests(_BUILT_UPON, scratch)
    for name, count in counts.items():
        print(f"{name}: {count.programs:,} files\n  {count}")
        every, left = count.by_piece()
        print(f"  {len(count.cases):,} pieces of code, each with one vote: {every:.1%}; {left:.1%}")
        for reason, times in count.left_out.most_common():
            print(f"  {times:5,} {reason}")
        if given.errors:
            for where, error in count.errors:
                print(f"    {where}: {error}")


if __name__ == "__main__":
    main()
