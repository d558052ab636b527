"""``python -m benchmarks.mutants``: faults planted in the library, each of which a test must find.

A fault is one small replacement in one file of ``src/separatrix``.  It is planted in a copy of the
tree, where some files of the tests are run; one of them has to fail.  Whoever shortens a test runs
this before and after, and whoever writes a test for a new kind of fault adds a row.

The tests pass in the copy before anything is planted, so that it is the fault that they find.  The
exit code is 1 where a fault is lost, and where a text that is to be replaced is no longer there.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["FAULTS", "Fault", "main"]

ROOT = Path(__file__).resolve().parents[1]
#: The parts of the tree that the copy is made of.
PARTS = ("benchmarks", "conftest.py", "pyproject.toml", "src", "tests")
#: The place of the copy; compiled loops are kept beside it, for the next run.
COPY = ROOT / "build" / "mutants"
LIBRARY = Path("src", "separatrix")

# The exit codes of pytest: all tests have passed, and some have failed.
_PASSED, _FAILED = 0, 1


@dataclass(frozen=True)
class Fault:
    """One fault, and the tests that find it.

    Attributes
    ----------
    what : str
        The behaviour that is wrong with the fault in place.
    path : str
        A file below ``src/separatrix``.
    right, wrong : str
        A text that is in the file exactly once, and its replacement.
    tests : str
        Files below ``tests``, or tests in them as pytest writes these, with blanks between.
    """

    what: str
    path: str
    right: str
    wrong: str
    tests: str

    @property
    def places(self) -> int:
        """The number of times that the text to be replaced is in the file."""
        return (ROOT / LIBRARY / self.path).read_text("utf-8").count(self.right)


FAULTS = (
    # --- losses -------------------------------------------------------------------------------
    Fault(
        "the curvature of the logistic loss has a wrong power",
        "losses/log.py",
        "return e / np.square(1.0 + e)",
        "return e / (1.0 + e)",
        "test_losses.py",
    ),
    Fault(
        "the zero-one loss is held to be further below the logistic loss than it is",
        "losses/log.py",
        "zero_one_factor = 1.0 / np.log(2.0)",
        "zero_one_factor = 1.0",
        "test_losses.py",
    ),
    Fault(
        "the conjugate of the hinge is finite beyond its domain",
        "losses/hinge.py",
        "np.where((u >= -1.0) & (u <= 0.0), self.margin * u, np.inf)",
        "np.where((u >= -1.5) & (u <= 0.0), self.margin * u, np.inf)",
        "test_losses.py",
    ),
    Fault(
        "the compiled gap of the hinge leaves out rows beyond their margin",
        "losses/hinge.py",
        "(upper - a) if z < 1.0 else a * (z - 1.0)",
        "(upper - a) if z < 1.0 else 0.0",
        "test_losses.py",
    ),
    Fault(
        "a smoothed Huber loss has another minimising point",
        "losses/huber.py",
        "z * (self.scale / wide)",
        "z * (width / wide)",
        "test_losses.py",
    ),
    Fault(
        "the multinomial loss counts the label twice where it does not lead",
        "losses/softmax.py",
        "np.log1p(rest + np.expm1(-largest))",
        "np.log1p(rest)",
        "test_losses.py",
    ),
    Fault(
        "the best intercept of counts forgets what was taken out against overflow",
        "losses/poisson.py",
        "found = float(np.log(counts / means)) - largest",
        "found = float(np.log(counts / means))",
        "models/test_poisson.py::test_the_best_intercept_balances_the_counts",
    ),
    # --- bounds -------------------------------------------------------------------------------
    Fault(
        "an upper bound of the loss is not charged for the rounding of scores",
        "objectives/pointwise.py",
        "radius = scores.radius[rows][used]",
        "radius = 0.0 * scores.radius[rows][used]",
        "test_certificate_reproductions.py",
    ),
    Fault(
        "an upper bound of half a square is rounded to the nearest",
        "objectives/enclosure.py",
        "return 0.5 * length * length * _UP + TINY",
        "return 0.5 * length * length",
        "test_penalties.py",
    ),
    Fault(
        "a bound above the objective is handed out as if it were one",
        "objectives/base.py",
        "if best.dual > best.primal:",
        "if best.dual > 2.0 * best.primal:",
        "test_certificate_reproductions.py",
    ),
    Fault(
        "a lower bound leaves out a thousandth of the conjugate of the penalty",
        "objectives/pointwise.py",
        "dual = -(penalty + beyond + above)",
        "dual = -(0.999 * penalty + beyond + above)",
        "test_bound.py::test_bound_of_margin_losses",
    ),
    Fault(
        "a lower bound leaves out the penalty that an audited model puts on its intercept",
        "objectives/base.py",
        "            conjugate += slope\n",
        "",
        "test_verification.py::test_linear_svc",
    ),
    Fault(
        "an objective may be below a lower bound that a file states",
        "verification/comparison.py",
        "if stored.dual > recomputed.primal + share * scale:",
        "if stored.dual > 2.0 * recomputed.primal:",
        "cli/test_verify.py",
    ),
    # --- penalties ----------------------------------------------------------------------------
    Fault(
        "the conjugate of an elastic net forgives half a kink too few",
        "objectives/penalties.py",
        "beyond = np.maximum(pull - self.l1, 0.0)",
        "beyond = np.maximum(pull - 0.5 * self.l1, 0.0)",
        "test_penalties.py",
    ),
    Fault(
        "a dual point is left where the conjugate of an L1 penalty is infinite",
        "objectives/penalties.py",
        "return 1.0 if largest <= 1.0 else (1.0 - 4.0 * EPS) / largest",
        "return 1.0",
        "test_bound.py::test_l1_and_elastic_net",
    ),
    Fault(
        "an upper bound of an L1 penalty forgets its factor",
        "objectives/penalties.py",
        "out += self.l1 * total_above(np.abs(w))",
        "out += total_above(np.abs(w))",
        "test_penalties.py",
    ),
    Fault(
        "the weights of the strongest useful penalty are not all zero",
        "objectives/penalties.py",
        "return length * self.l1 / strongest if strongest > 0.0 else math.inf",
        "return 1.01 * length * self.l1 / strongest if strongest > 0.0 else math.inf",
        "models/test_path.py::test_with_l1_they_begin_where_the_first_weight_is_not_zero",
    ),
    # --- solvers ------------------------------------------------------------------------------
    Fault(
        "a fit returns its last point, and not the best",
        "solvers/driver.py",
        "return bound.primal < primal\n",
        "return True\n",
        "solvers/test_driver.py",
    ),
    Fault(
        "a step of dual descent on the hinge goes half the way",
        "losses/hinge.py",
        "return min(max(a + (1.0 - z) / q, 0.0), upper)",
        "return min(max(a + 0.5 * (1.0 - z) / q, 0.0), upper)",
        "test_losses.py::test_dual_step_against_brute_force",
    ),
    Fault(
        "the average of a perceptron's weights lies on the other side",
        "solvers/perceptron.py",
        "return self.theta - self.lag / self.elapsed",
        "return self.theta + self.lag / self.elapsed",
        "solvers/test_perceptron.py",
    ),
    Fault(
        "a schedule of steps begins one step late",
        "solvers/schedules.py",
        "rate * (tau + np.asarray(k, dtype=np.float64)) ** -kappa",
        "rate * (tau + 1.0 + np.asarray(k, dtype=np.float64)) ** -kappa",
        "test_schedules.py",
    ),
    Fault(
        "a pair of multipliers is not moved together",
        "solvers/working_sets.py",
        "c[second] = low[second] if step == down else c[second] - step",
        "c[second] = low[second] if step == down else c[second] - 0.999 * step",
        "solvers/test_decomposition.py",
    ),
    Fault(
        "a fit takes one step more than its limit",
        "solvers/driver.py",
        "exhausted if self.iteration >= max_iter else None",
        "exhausted if self.iteration > max_iter else None",
        "solvers/test_driver.py",
    ),
    # --- tables and encoders ------------------------------------------------------------------
    Fault(
        "columns are standardised by another standard deviation",
        "tables/column_moments.py",
        "scale = math.sqrt(max(average(unit) - rest * rest, 0.0))",
        "scale = math.sqrt(max(average(unit) * n / max(n - 1, 1) - rest * rest, 0.0))",
        "tables/test_encoder.py",
    ),
    Fault(
        "missing numbers are read as one standard deviation below the mean",
        "tables/number_encoding.py",
        "z[self.gone[rows]] = 0.0",
        "z[self.gone[rows]] = -1.0",
        "tables/test_missing.py tables/test_encoder.py",
    ),
    Fault(
        "the same beside numbers that come near the largest float",
        "tables/number_encoding.py",
        "z[gone] = 0.0",
        "z[gone] = -1.0",
        "tables/test_encoder.py::test_the_largest_floats_do_not_overflow",
    ),
    Fault(
        "zeros are named however many rows have them",
        "tables/placeholders.py",
        "zeros > _MOST_ZEROS * n",
        "zeros > n",
        "tables/test_missing.py",
    ),
    Fault(
        "a level that is just frequent enough is taken for rare",
        "tables/category_encoding.py",
        "levels = sorted(level for level, count in counts.items() if count >= least)",
        "levels = sorted(level for level, count in counts.items() if count > least)",
        "tables/test_encoder.py",
    ),
    Fault(
        "a spline bends beyond its last knot",
        "tables/curves.py",
        "cubes[:, [-1]] * (before - knots[:-2])",
        "cubes[:, [-1]] * (last - knots[:-2])",
        "tables/messy/test_encodings.py",
    ),
    Fault(
        "the features of a curve are correlated",
        "tables/curves.py",
        "curve.mixing = np.linalg.inv(triangle)",
        "curve.mixing = np.linalg.inv(np.diag(np.diag(triangle)))",
        "tables/messy/test_encodings.py",
    ),
    Fault(
        "numbers below 0 have a logarithm of 1 + x",
        "tables/curves.py",
        "off = values < 0.0 if self.zeros else values <= 0.0",
        "off = values < -1.0 if self.zeros else values < 0.0",
        "tables/messy/test_encodings.py",
    ),
    Fault(
        "a product with one of its columns absent leaves a reference out",
        "tables/terms.py",
        "return other in self.of(other.column)",
        "return True",
        "tables/messy/test_encodings.py",
    ),
    Fault(
        "products of levels are counted from the wrong place",
        "tables/products.py",
        "codes * one.n_features + found)",
        "codes * width + found)",
        "tables/messy/test_encodings.py",
    ),
    Fault(
        "the trend of a date is in days",
        "tables/number_encoding.py",
        "scale = 1.0 if origin is None else YEAR",
        "scale = 1.0",
        "tables/messy/test_encodings.py",
    ),
    Fault(
        "errors by cluster lack the factor for few clusters",
        "closed_form/inference.py",
        "return self.count / (self.count - 1.0) * (n - 1.0) / (n - k)",
        "return (n - 1.0) / (n - k)",
        "tables/messy/test_encodings.py",
    ),
    Fault(
        "rows of the earliest of the latest times are fitted",
        "data/splitting.py",
        "return times >= cut",
        "return times > cut",
        "tables/test_roles.py",
    ),
    Fault(
        "rows of a group are on both sides of a split",
        "data/splitting.py",
        "in_held = in_held[first][group.reshape(-1)]",
        "first = first[:0]",
        "test_splitting.py",
    ),
    Fault(
        "a number in brackets is not negative",
        "tables/value_format.py",
        "SAME_CURRENCY.get(unit, unit), written.sign * value",
        "SAME_CURRENCY.get(unit, unit), value",
        "tables/test_value_format.py",
    ),
    # --- files --------------------------------------------------------------------------------
    Fault(
        "a model file with another content than its checksum says is read",
        "persistence/document.py",
        "if sha256_of(view[:start], blank, view[start + length :]) != stored:",
        "if len(stored) != 64:",
        "test_store.py::test_every_flipped_bit_is_noticed",
    ),
    Fault(
        "a model file of a later format is read",
        "persistence/document.py",
        "if version > FORMAT_VERSION:",
        "if version > FORMAT_VERSION + 1:",
        "test_store.py::test_future_version_says_to_upgrade",
    ),
    Fault(
        "a fit resumes from the checkpoint of another fit",
        "scale/checkpoints.py",
        'if note["identity"] != self.identity:',
        'if not note["identity"]:',
        "scale/test_storage.py::test_a_checkpoint_of_another_fit_is_refused",
    ),
    Fault(
        "blocks of files are cut by their rows alone, whatever they send",
        "scale/files.py",
        "rows = rows_of_a_block(width, plan.encoder.n_features_, options.memory)",
        "rows = BLOCK_ROWS",
        "scale/test_scanning.py::test_blocks_of_files_with_many_columns_have_more_rows",
    ),
    Fault(
        "attributes of a model file are not held to one another",
        "persistence/checks.py",
        "        further(sizes)\n",
        "        pass\n",
        "test_corpus.py",
    ),
    # --- command line -------------------------------------------------------------------------
    Fault(
        "verify calls other data than those of the fit verified",
        "cli/commands/verify/run.py",
        "if not same_data:",
        "if not same_data and against:",
        "cli/test_verify.py",
    ),
    Fault(
        "a contradicted certificate ends with the exit code of success",
        "cli/commands/verify/run.py",
        'return Exit.NEGATIVE, f"contradicted: {against}"',
        'return Exit.DONE, f"contradicted: {against}"',
        "cli/test_verify.py",
    ),
    Fault(
        "a mistake in the call ends with the exit code of unusable data",
        "cli/app.py",
        "argv, Exit.USAGE, error,",
        "argv, Exit.BAD_INPUT, error,",
        "cli/test_running.py::test_unknown_command",
    ),
    Fault(
        "a row on the threshold of a decision is said to be of the other class",
        "assessment/decision.py",
        "above = scores_of(predicted, k, self.scale) >= self.threshold",
        "above = scores_of(predicted, k, self.scale) > self.threshold",
        "test_decision.py",
    ),
    # --- descriptions of models, and pictures -------------------------------------------------
    Fault(
        "pairs of equal scores count as pairs in order",
        "data/class_scores.py",
        "np.cumsum(self.hits) - 0.5 * self.hits",
        "np.cumsum(self.hits)",
        "test_decision.py",
    ),
    Fault(
        "chance is drawn at one half below precision and recall",
        "plots/metrics.py",
        "axes.axhline(float(positive.mean()),",
        "axes.axhline(0.5,",
        "plots/test_metrics.py",
    ),
    Fault(
        "a point on the plane is no mistake in a picture of margins",
        "plots/loss.py",
        "self.n_mistakes_ = int((self.margins <= 0.0).sum())",
        "self.n_mistakes_ = int((self.margins < 0.0).sum())",
        "plots/test_loss.py",
    ),
    Fault(
        "stems of slack have the length of the functional margin",
        "plots/margin.py",
        "step = (xi[late] * signs[late])[:, None] / norm * (w / norm)",
        "step = (xi[late] * signs[late])[:, None] * (w / norm)",
        "plots/test_margin.py",
    ),
    # --- geometry -----------------------------------------------------------------------------
    Fault(
        "a point on the plane is on the negative side",
        "geometry/hyperplane.py",
        "np.where(self.decision(X) >= 0.0, 1, -1)",
        "np.where(self.decision(X) > 0.0, 1, -1)",
        "geometry/test_hyperplane.py",
    ),
    # --- exports ------------------------------------------------------------------------------
    Fault(
        "products are taken off a score in C, JavaScript and Python",
        "exports/printing.py",
        'f"{weights}[{k}][{j}] * {values}[{j}]", "+=")',
        'f"{weights}[{k}][{j}] * {values}[{j}]", "-=")',
        "exports/test_printing.py::test_nodes",
    ),
    Fault(
        "the bound on a sum does not grow with the number of its terms",
        "exports/rounding.py",
        "count = inner.values.shape[1] + 2",
        "count = 2",
        "exports/test_rounding.py",
    ),
    Fault(
        "a class is decided by probabilities",
        "exports/printing.py",
        '"label": own.label, "probabilities"',
        '"label": answers.FirstWins(own.probabilities), "probabilities"',
        "exports/test_export.py::test_a_threshold_is_part_of_the_model",
    ),
)


def _copied() -> None:
    """Copy the tree with its modification times, by which compiled loops are recognised."""
    leave_out = shutil.ignore_patterns("__pycache__", "*.nb[ci]", "*.egg-info")
    shutil.rmtree(COPY / "tree", ignore_errors=True)
    for part in PARTS:
        source, target = ROOT / part, COPY / "tree" / part
        if source.is_dir():
            shutil.copytree(source, target, ignore=leave_out)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


def _outcome(tests: Iterable[str], planted: bool = True) -> int:
    """The exit code of pytest for some tests of the copy."""
    tree = COPY / "tree"
    found = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            "-m",
            "not exhaustive",
        ]
        + [f"tests/{one}" for one in tests],
        cwd=tree,
        env={
            **os.environ,
            "NUMBA_CACHE_DIR": str(COPY / "compiled"),
            "PYTHONPATH": os.pathsep.join([str(tree / "src"), str(tree)]),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode not in (_PASSED, _FAILED) or (found.returncode and not planted):
        print(found.stdout + found.stderr, file=sys.stderr)
    return found.returncode


def _verdict(fault: Fault) -> str:
    """``found``, ``lost``, or the reason why neither could be determined."""
    if fault.places != 1:
        return f"the text is there {fault.places} times, and not once"
    path = COPY / "tree" / LIBRARY / fault.path
    path.write_text(path.read_text("utf-8").replace(fault.right, fault.wrong), "utf-8")
    try:
        outcome = _outcome(fault.tests.split())
    finally:
        shutil.copy2(ROOT / LIBRARY / fault.path, path)
    return {_PASSED: "lost", _FAILED: "found"}.get(outcome, "the tests did not run")


def main(argv: Sequence[str] | None = None) -> int:
    """Plant each fault in turn and print whether it was found; 1 where one was not."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__)
    parser.add_argument(
        "numbers", type=int, nargs="*", help="which faults, counted from 1; by default all of them"
    )
    numbers = parser.parse_args(argv).numbers or range(1, len(FAULTS) + 1)
    _copied()
    # In order: pytest 9.1 does not find the fixtures of a folder that it has left once.
    tests = sorted({one for k in numbers for one in FAULTS[k - 1].tests.split()})
    if _outcome(tests, planted=False) != _PASSED:
        print("the tests fail where nothing was planted")
        return 1
    left = 0
    for k in numbers:
        begun = time.perf_counter()
        verdict = _verdict(FAULTS[k - 1])
        left += verdict != "found"
        print(
            f"{k:3} {verdict:6}{time.perf_counter() - begun:6.1f} s  {FAULTS[k - 1].what}",
            flush=True,
        )
    print(f"{len(numbers)} faults, {len(numbers) - left} found")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
