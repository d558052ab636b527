"""scikit-learn's SGDClassifier, batch by batch."""

from __future__ import annotations

import glob
from typing import Any

from benchmarks.scale import points

NAME = "scikit-learn SGD partial_fit"
NEEDS = ("sklearn", "duckdb")
HOW = "pip install scikit-learn"
SETTINGS: tuple[dict[str, Any], ...] = (
    {"learning_rate": "optimal", "passes": 8},
    {"learning_rate": "invscaling", "eta0": 0.05, "power_t": 0.5, "passes": 8},
)
BATCH = 122_880


def fit(
    files: str, target: str, n_rows: int, C: float, setting: dict, out: str, started: float
) -> dict:
    import duckdb
    import numpy as np
    from sklearn.linear_model import SGDClassifier

    rate = {k: v for k, v in setting.items() if k != "passes"}
    # Its objective is the mean loss and alpha / 2 |w|^2: this one's, divided by C n.
    model = SGDClassifier(
        loss="log_loss", alpha=1.0 / (C * n_rows), average=True, random_state=0, **rate
    )
    connection = duckdb.connect()
    found = []
    for number in range(1, setting["passes"] + 1):
        for file in sorted(glob.glob(files)):
            reader = connection.execute(f"select * from '{file}'")
            names = [column[0] for column in reader.description if column[0] != target]
            while len((part := _batch(reader))[target]):
                X = np.column_stack([part[name] for name in names])
                model.partial_fit(X, part[target], classes=np.array([0, 1]))
        if number & (number - 1) == 0:
            name = f"{setting['learning_rate']} rate, {number} passes"
            found.append(points.save(out, name, started, model.coef_, model.intercept_[0]))
    return {"points": found}


def _batch(reader: Any) -> dict:
    """The next rows, about as many as a batch has."""
    import numpy as np

    chunk = reader.fetch_df_chunk(BATCH // 2048)
    return {name: np.asarray(chunk[name]) for name in chunk.columns}
