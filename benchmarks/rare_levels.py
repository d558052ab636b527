"""``python -m benchmarks.rare_levels``: the gain from letting rare levels share one feature.

Log loss and accuracy on held-out rows of a logistic regression, by the least number of rows that
a level needs for a feature of its own: on samples of the census table, where it is there, and on
made tables of six columns whose levels follow Zipf's law, each with an effect of its own that is
weak (deviation 0.3) or strong (1).  The default of ``--min-count`` goes by this.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import log_loss

from benchmarks.workloads.base import shared_file
from separatrix import LogisticRegression
from separatrix.tables import Encoder, Table, read_table, take_target

LEAST = (1, 2, 3, 5, 10, 20, 50)
_HELD, _REPEATS = 5000, 4


def made(n_levels: int, effect: float, n_rows: int = 25_000, seed: int = 1) -> tuple[Table, Any]:
    """A table of six categories and its labels."""
    rng = np.random.default_rng(seed)
    shares = 1.0 / np.arange(1, n_levels + 1) ** 1.1
    columns: dict[str, Any] = {}
    score = np.full(n_rows, -1.0)
    for j in range(6):
        levels = rng.choice(n_levels, n_rows, p=shares / shares.sum())
        score += rng.normal(0.0, effect, n_levels)[levels]
        columns[f"c{j}"] = [f"level {level}" for level in levels]
    y = rng.random(n_rows) < 1.0 / (1.0 + np.exp(-score))
    return Table.from_columns(columns, kinds=dict.fromkeys(columns, "category")), y


def measure(name: str, features: Table, y: Any, n_rows: int) -> None:
    """Print one line of log losses and one of accuracies."""
    losses, scores = np.zeros((2, _REPEATS, len(LEAST)))
    for seed in range(_REPEATS):
        order = np.random.default_rng(seed).permutation(len(y))
        fit, held = order[:n_rows], order[n_rows : n_rows + _HELD]
        part, rest = features.select(fit), features.select(held)
        for k, least in enumerate(LEAST):
            encoder = Encoder(min_frequency=least).fit(part)
            model = LogisticRegression().fit(encoder.transform(part), y[fit])
            matrix = encoder.transform(rest)
            losses[seed, k] = log_loss(y[held], model.predict_proba(matrix))
            scores[seed, k] = model.score(matrix, y[held])
    for figure, values in (("log loss", losses), ("accuracy", scores)):
        cells = " | ".join(f"{value:.4f}" for value in values.mean(axis=0))
        print(f"| {name}, {n_rows:,} rows | {figure} | {cells} |", flush=True)


def main() -> None:
    print("| table | least rows | " + " | ".join(map(str, LEAST)) + " |")
    print("|---|---|" + "--:|" * len(LEAST))
    census = shared_file("adult.csv")
    if census is not None:
        features, labels = take_target(read_table(census), "income")
        y = labels == np.unique(labels)[1]
        for n_rows in (300, 5000, 20_000):
            measure("census", features, y, n_rows)
    for effect in (0.3, 1.0):
        for n_levels in (100, 2000, 20_000):
            features, y = made(n_levels, effect)
            for n_rows in (1000, 20_000):
                measure(f"{n_levels:,} levels, effects of {effect:g}", features, y, n_rows)


if __name__ == "__main__":
    main()
