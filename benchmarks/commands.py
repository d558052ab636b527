"""``python -m benchmarks.commands``: whole commands, as their user waits for them, beside peers.

Each command and each peer is a process of its own, started in turn and timed by the wall clock and
by the processor, which does not count what others do on a machine that is not quiet; medians of
repeated runs, and the most memory that one took.  The peers are what a script with
pandas and scikit-learn does: read, split, impute, scale and encode, fit and score.  One run of
everything beforehand fills the caches of compiled code, which are reported apart by
``python -m benchmarks``.

Options: ``--repeats N`` (default 3), ``--only WORD`` (rows whose name holds it).
"""

from __future__ import annotations

import argparse
import csv
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.workloads.base import shared_file

_COLUMNS = """
import sys, pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
table = pd.read_csv(sys.argv[1], na_values=["?"])
X, y = table.drop(columns="income"), table["income"]
X_fit, X_held, y_fit, y_held = train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)
numbers = make_column_selector(dtype_include="number")
words = make_column_selector(dtype_exclude="number")
encode = make_column_transformer(
    (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
    (OneHotEncoder(handle_unknown="ignore"), words),
)
model = make_pipeline(encode, LogisticRegression(max_iter=1000)).fit(X_fit, y_fit)
print(model.score(X_held, y_held))
"""
_TEXT = """
import sys, pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
table = pd.read_parquet(sys.argv[1])
X, y = table["text"], table["label"]
X_fit, X_held, y_fit, y_held = train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)
model = make_pipeline(TfidfVectorizer(), LogisticRegression(max_iter=1000)).fit(X_fit, y_fit)
print(model.score(X_held, y_held))
"""


def _many_rows(path: str, copy: Path) -> None:
    """The table thirty times, with noise on its numbers."""
    with open(path, newline="") as file:
        header, *rows = csv.reader(file)
    numbers = [j for j, cell in enumerate(rows[0]) if cell.strip().lstrip("-").isdigit()]
    draw = random.Random(0)
    with open(copy, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        for _ in range(30):
            for row in rows:
                made = list(row)
                for j in numbers:
                    value = float(row[j])
                    made[j] = f"{value + draw.gauss(0.0, 0.01) * (abs(value) + 1.0):.3f}"
                writer.writerow(made)


def _run(words: list[str], folder: Path) -> tuple[float, float, float]:
    """Seconds by the wall clock and of the processors, and megabytes of one process."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    process = subprocess.Popen(
        words,
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    if process.returncode:
        raise SystemExit(f"{' '.join(words[:6])} ended with {process.returncode}: {said.decode()}")
    # Linux counts in kilobytes, macOS in bytes.
    megabytes = usage.ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)
    return seconds, usage.ru_utime + usage.ru_stime, megabytes


def _rows(folder: Path) -> list[tuple[str, list[str], list[str] | None]]:
    """Names, commands and peers; those whose data are not there are left out."""
    own = [sys.executable, "-m", "separatrix"]
    rows: list[tuple[str, list[str], list[str] | None]] = [("--version", [*own, "--version"], None)]
    rows.append(("an unknown option", [sys.executable, "-c", _WRONG], None))
    adult, reviews = shared_file("adult.csv"), shared_file("imdb-train.parquet")
    if adult is not None:
        table, few, many = str(adult), folder / "few.csv", folder / "many.csv"
        few.write_text("\n".join(adult.read_text().splitlines()[:5]) + "\n")
        _many_rows(table, many)
        fit = [*own, "fit", "--target", "income"]
        peer = [sys.executable, "-c", _COLUMNS]
        rows += [
            ("fit adult.csv", [*fit, table, "-o", "adult.separatrix"], [*peer, table]),
            ("info", [*own, "info", "adult.separatrix"], None),
            ("predict 4 rows", [*own, "predict", "adult.separatrix", str(few)], None),
            (
                "report adult.csv",
                [*own, "report", "adult.separatrix", table, "-o", "adult.html"],
                None,
            ),
            ("fit 977,000 rows", [*fit, str(many), "-o", "many.separatrix"], [*peer, str(many)]),
        ]
    if reviews is not None:
        text = [*own, "fit", str(reviews), "--target", "label", "-o", "reviews.separatrix"]
        rows.append(("fit imdb-train.parquet", text, [sys.executable, "-c", _TEXT, str(reviews)]))
    return rows


# The exit code shows whether the option was refused.
_WRONG = (
    "import sys; from separatrix.cli import main; sys.exit(main(['fit', 'x.csv', '--oops']) != 2)"
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.commands")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        rows = _rows(folder)
        columns = f"{'seconds':>8} {'cpu s':>6} {'MB':>5}"
        print(f"{'command':23} {columns} | peer {columns} {'ratio':>6} {'cpu':>5}")
        for name, words, peer in rows:
            # Every command runs once, as others need what it makes.
            _run(words, folder)
            if given.only not in name:
                continue
            found: dict[str, list[tuple[float, float, float]]] = {"own": [], "peer": []}
            for _ in range(given.repeats):
                found["own"].append(_run(words, folder))
                if peer is not None:
                    found["peer"].append(_run(peer, folder))
            own = [statistics.median(values) for values in zip(*found["own"], strict=True)]
            line = f"{name:23} {own[0]:8.2f} {own[1]:6.2f} {own[2]:5.0f}"
            if peer is not None:
                other = [statistics.median(values) for values in zip(*found["peer"], strict=True)]
                line += f" |      {other[0]:8.2f} {other[1]:6.2f} {other[2]:5.0f}"
                line += f" {other[0] / own[0]:6.2f} {other[1] / own[1]:5.2f}"
            print(line, flush=True)
    cores = os.cpu_count()
    print(
        f"\nmedians of {given.repeats} runs; {platform.processor() or platform.machine()}, ", end=""
    )
    print(f"{cores} cores, Python {platform.python_version()}")


if __name__ == "__main__":
    main()
