"""Vowpal Wabbit's L-BFGS, on its own text files: the conversion is counted apart."""

from __future__ import annotations

import glob
import time
from pathlib import Path
from typing import Any

from benchmarks.scale import points

NAME = "Vowpal Wabbit --bfgs"
NEEDS = ("vowpalwabbit", "duckdb")
HOW = "pip install vowpalwabbit"
SETTINGS: tuple[dict[str, Any], ...] = ({"passes": 12}, {"passes": 25}, {"passes": 60})
BITS = 18


def convert(files: str, target: str, folder: str) -> dict:
    """Write the rows as one text file; returns the seconds and the bytes."""
    import duckdb

    start = time.perf_counter()
    connection = duckdb.connect()
    for number, file in enumerate(sorted(glob.glob(files))):
        reader = connection.execute(f"select * from '{file}' limit 0")
        names = [column[0] for column in reader.description if column[0] != target]
        pairs = " || ".join(f"' {j}:' || {name}" for j, name in enumerate(names))
        connection.execute(
            f"copy (select case {target} when 1 then '1' else '-1' end || ' |' || {pairs} "
            f"from '{file}') to '{folder}/rows-{number:04}.vw' "
            "(format csv, header false, quote '', escape '', delimiter '\t')"
        )
    whole = Path(folder) / "rows.vw"
    with open(whole, "wb") as out:
        for part in sorted(Path(folder).glob("rows-*.vw")):
            with open(part, "rb") as file:
                while block := file.read(1 << 24):
                    out.write(block)
            part.unlink()
    return {"seconds": time.perf_counter() - start, "bytes": whole.stat().st_size}


def fit(
    files: str, target: str, n_rows: int, C: float, setting: dict, out: str, started: float
) -> dict:
    import numpy as np
    from vowpalwabbit import Workspace

    data = Path(out).parent / "vowpal_wabbit" / "rows.vw"
    cache = Path(out) / "cache"
    machine = Workspace(
        f"--bfgs --loss_function logistic --l2 {1.0 / C!r} --no_bias_regularization --mem 15 "
        f"--passes {setting['passes']} --termination 0 --holdout_off -b {BITS} --quiet "
        f"--predict_only_model -d {data} --cache_file {cache} --kill_cache "
        f"-f {Path(out) / 'model'} --readable_model {Path(out) / 'model.txt'}"
    )
    machine.finish()
    cache.unlink(missing_ok=True)
    weights: dict[int, float] = {}
    lines = iter((Path(out) / "model.txt").read_text().splitlines())
    for line in lines:
        if line.startswith(":0"):
            break
    for line in lines:
        index, weight = line.split(":")[:2]
        weights[int(index)] = float(weight)
    constant = 11_650_396 & ((1 << BITS) - 1)  # VW's feature for the intercept
    coef = np.array([weights.get(j, 0.0) for j in range(_width(files))])
    name = f"{setting['passes']} passes"
    return {"points": [points.save(out, name, started, coef, weights.get(constant, 0.0))]}


def _width(files: str) -> int:
    import duckdb

    reader = duckdb.connect().execute(f"select * from '{sorted(glob.glob(files))[0]}' limit 0")
    return len(reader.description) - 1
