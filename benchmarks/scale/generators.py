"""Made data, written file by file: no more than one file's rows are ever in memory.

Every file has a random stream of its own, that of the seed and its number, so that a file holds
the same values whatever was made before it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

ROW_GROUP = 122_880
GROUPS_A_FILE = 4
COLUMNS = 28
SKEWED_EVERY = 4
NUMBERS = 13
CATEGORIES = 26
LEVELS = np.round(np.geomspace(4, 100_000, CATEGORIES)).astype(np.int64)
# Odd, so that multiplying by it modulo 2^32 gives every level a name of its own.
_SPREAD = 2_654_435_761

Maker = Callable[[np.random.Generator, int], dict[str, np.ndarray]]


def dense(folder: Path, rows: int, seed: int = 0) -> str:
    """28 columns of float32, every fourth of them lognormal, and a target ``y`` of 0 and 1.

    The target is drawn from a logistic model of eight of the columns, with an intercept.

    Returns
    -------
    str
        The pattern of the files.
    """
    return _written(folder, rows, seed, _dense_rows, "*")


def clicks(folder: Path, rows: int, seed: int = 0) -> str:
    """A click log: 26 categories of 4 to 100,000 levels, 13 numbers, a target ``click``.

    Levels follow Zipf's law, and their names are eight hexadecimal digits; numbers are whole and
    lognormal.  About one row in sixteen is a click, drawn from a logistic model of all columns.
    """
    names = ", ".join(f"printf('%08x', c{k}) as c{k}" for k in range(CATEGORIES))
    return _written(folder, rows, seed, _click_rows, f"* replace ({names})")


def _dense_rows(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    z = rng.standard_normal((COLUMNS, n), dtype=np.float32)
    score = 0.8 * z[1] - 0.5 * z[2] + 0.3 * z[3] + 0.28 * z[0] - 0.2 * z[5] + 0.1 * z[9]
    score += 0.15 * z[4] - 0.25 * z[7] - 0.4
    skewed = slice(0, COLUMNS, SKEWED_EVERY)
    z[skewed] = np.exp(np.float32(0.7) * z[skewed])
    found = {f"x{j}": z[j] for j in range(COLUMNS)}
    return found | {"y": _drawn(rng, score)}


def _click_rows(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    # The effects of the levels are those of the click log, not of the file.
    score = np.full(n, -3.2)
    found: dict[str, np.ndarray] = {}
    for j in range(NUMBERS):
        z = rng.standard_normal(n, dtype=np.float32)
        found[f"n{j}"] = np.floor(np.exp(1.0 + z)).astype(np.int32)
        score += 0.1 * (-1) ** j * z
    for k, levels in enumerate(LEVELS):
        # The density is like 1 / x over [1, levels + 1): Zipf's law with the exponent one.
        rank = np.exp(rng.random(n) * np.log(levels + 1.0)).astype(np.int64) - 1
        rank = np.clip(rank, 0, levels - 1)
        found[f"c{k}"] = ((rank + 1) * _SPREAD + 7_919 * k) % 2**32
        score += 0.25 * np.sin(rank * (1.0 + 0.618 * k))
    return found | {"click": _drawn(rng, score)}


def _drawn(rng: np.random.Generator, score: np.ndarray) -> np.ndarray:
    chance = 1.0 / (1.0 + np.exp(-score.astype(np.float64)))
    out: np.ndarray = (rng.random(len(score)) < chance).astype(np.uint8)
    return out


def _written(folder: Path, rows: int, seed: int, make: Maker, columns: str) -> str:
    import duckdb

    folder.mkdir(parents=True, exist_ok=True)
    whole = ROW_GROUP * GROUPS_A_FILE
    # Three files at least, because data larger than memory seldom come as one.
    each = min(whole, -(-rows // 3))
    connection = duckdb.connect()
    try:
        for number, first in enumerate(range(0, rows, each)):
            rng = np.random.default_rng([seed, number])
            part = make(rng, min(each, rows - first))
            connection.register("part", part)
            connection.execute(
                f"copy (select {columns} from part) to '{folder}/part-{number:04}.parquet' "
                f"(format parquet, compression zstd, row_group_size {ROW_GROUP})"
            )
            connection.unregister("part")
    finally:
        connection.close()
    return f"{folder}/*.parquet"
