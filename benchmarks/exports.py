"""``python -m benchmarks exports``: how fast a model computes in C, JavaScript and Python alone.

The models are a logistic regression of the table of incomes (14 columns, 108 features; without the
table, of random numbers) and an RBF machine. What is timed is ``predict`` of a text, with scores,
class and probabilities, in CPU seconds of a process of its own.

Behind them stands SQL: the incomes, repeated to a million rows of a Parquet file, by its query in
DuckDB and by ``separatrix predict``, both with one thread, from the file to another.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import separatrix
from benchmarks import report
from benchmarks.workloads.base import shared_file
from separatrix.exports.sql import statements

_C = r"""
#define {M}_PROOF
#define main proof_of_the_text
#include "model.h"
#undef main
#include <time.h>
int main(void)
{{
    double scores[64], sum = 0.0;
    int rows = (int)(sizeof {m}_rows / sizeof {m}_rows[0]), times = {times};
    clock_t start = clock();
    for (int time = 0; time < times; ++time)
        for (int i = 0; i < rows; ++i) sum += {m}_predict(&{m}_rows[i], {pointers});
    printf("%.9g\n", (double)(clock() - start) / CLOCKS_PER_SEC / times / rows);
    return sum == 0.5;
}}
"""
_NODE = """
import {{ readFileSync }} from "node:fs";
import {{ predict }} from "./model.mjs";
const rows = JSON.parse(readFileSync("rows.json", "utf8"));
const again = () => {{ for (let time = 0; time < {times}; ++time) rows.forEach(predict); }};
again();
const start = process.cpuUsage();
again();
const used = process.cpuUsage(start);
console.log((used.user + used.system) / 1e6 / {times} / rows.length);
"""
_PYTHON = """
import json, sys, time
sys.path.insert(0, ".")
import model
rows = json.load(open("rows.json"))
columns = {{name: [row[name] for row in rows] * {times} for name in rows[0]}}
start = time.process_time()
model.predict(columns)
print((time.process_time() - start) / {times} / len(rows))
"""
_SCRIPTS = {
    "c": (".c", _C, ["./time"], 20_000),
    "js": (".mjs", _NODE, ["node", "time.mjs"], 2_000),
    "python": (".py", _PYTHON, [sys.executable, "time.py"], 400),
}


def _models(folder: Path) -> Iterator[tuple[str, object]]:
    adult = shared_file("adult.csv")
    random = np.random.default_rng(0)
    if adult is None:
        X = random.standard_normal((2000, 108))
        yield "logistic, 108 random features", separatrix.LogisticRegression().fit(X, X[:, 0] > 0)
    else:
        path = folder / "model.separatrix"
        command = [sys.executable, "-m", "separatrix", "fit", str(adult), "--target", "income"]
        subprocess.run([*command, "-q", "-o", str(path)], check=True)
        yield "logistic, incomes: 14 columns, 108 features", path
    X = random.standard_normal((1000, 20))
    machine = separatrix.SVC().fit(X[:200], random.permutation(200) < 100)
    yield f"RBF machine, {len(machine.support_)} vectors of 20 features", machine


def _written(model: object, folder: Path) -> None:
    """Write a model's exports, the scripts that time them, and the test rows that they carry."""
    texts = {
        language: str(separatrix.export(model, language, name="model")) for language in _SCRIPTS
    }
    pointers = "scores, scores + 32" if "double *probabilities)" in texts["c"] else "scores"
    for language, (suffix, script, _, times) in _SCRIPTS.items():
        parts = {"m": "model", "M": "MODEL", "times": times, "pointers": pointers}
        name = "model.h" if language == "c" else f"model{suffix}"
        (folder / name).write_text(texts[language])
        (folder / f"time{suffix}").write_text(script.format(**parts))
    known: dict[str, Any] = {}
    exec(texts["python"], known)  # the code was generated here
    names = [name for name, _ in known["COLUMNS"]]
    rows = [
        dict(zip(names, cells, strict=True)) for cells, label, *_ in known["GOLDEN"] if label >= 0
    ]
    (folder / "rows.json").write_text(json.dumps(rows).replace("NaN", "null"))
    order = ["gcc", "-std=c99", "-O2", "time.c", "-lm", "-o", "time"]
    subprocess.run(order, cwd=folder, check=True)


def _seconds(language: str, folder: Path) -> float:
    """The CPU seconds that an export takes for one row."""
    command = _SCRIPTS[language][2]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return float(done.stdout)


def _sql_rows(adult: Path, folder: Path, repeats: int) -> Iterator[list[str]]:
    """CPU seconds of a million rows: by the query of a model in DuckDB, and by ``predict``."""
    import duckdb

    rows, path = folder / "rows.parquet", folder / "model.separatrix"
    repeated = f"SELECT a.* FROM read_csv('{adult}') AS a, range(31) LIMIT 1000000"
    duckdb.sql("SET enable_progress_bar = false")
    duckdb.sql(f"COPY ({repeated}) TO '{rows}'")
    made = separatrix.export(path, "sql", table=f"SELECT * FROM '{rows}'")
    query = f"COPY ({statements(str(made))[0]}\n) TO '{folder / 'answers.parquet'}'"
    (folder / "query.sql").write_text(query)
    run = "import duckdb; duckdb.sql('SET threads = 1'); duckdb.sql(open('query.sql').read())"
    answers = ["--proba", "--scores", "--keep", "all", "-q", "-o", "answers.parquet"]
    commands = {
        "SQL, DuckDB": [sys.executable, "-c", run],
        "separatrix predict": [sys.executable, "-m", "separatrix", "predict", path, rows, *answers],
    }
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(repeats):
        for name, command in commands.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            threads = {**os.environ, "OMP_NUM_THREADS": "1"}
            subprocess.run(command, cwd=folder, check=True, env=threads)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            both = (after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime)
            taken[name].append(sum(both))
    for name, seconds in taken.items():
        middle = median(seconds) / 1e6
        yield ["incomes, 1,000,000 rows", name, f"{1e9 * middle:,.0f}", f"{1.0 / middle:,.0f}"]


def main(argv: list[str]) -> int:
    """Time every text, and print the seconds of a row and the rows of a second."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks exports", description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args(argv)
    lines = [["model", "language", "ns a row", "rows/s"]]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for what, model in _models(folder):
            _written(model, folder)
            for language in _SCRIPTS:
                middle = median(_seconds(language, folder) for _ in range(given.repeats))
                lines.append([what, language, f"{1e9 * middle:,.0f}", f"{1.0 / middle:,.0f}"])
        adult = shared_file("adult.csv")
        if adult is not None:
            lines += _sql_rows(adult, folder, given.repeats)
    print(report.layout(lines, (0, 1)))
    return 0
