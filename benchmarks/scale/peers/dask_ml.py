"""dask-ml's LogisticRegression on a Dask array."""

from __future__ import annotations

from typing import Any

from benchmarks.scale import points

NAME = "dask-ml LogisticRegression"
NEEDS = ("dask_ml", "dask", "distributed", "pyarrow")
HOW = "pip install dask-ml distributed pyarrow"
SETTINGS: tuple[dict[str, Any], ...] = (
    {"solver": "lbfgs", "max_iter": 100, "tol": 1e-4},
    {"solver": "newton", "max_iter": 100, "tol": 1e-8},
)


def fit(
    files: str, target: str, n_rows: int, C: float, setting: dict, out: str, started: float
) -> dict:
    import dask.dataframe as dd
    from dask_ml.linear_model import LogisticRegression

    frame = dd.read_parquet(files)
    X = frame.drop(columns=target).to_dask_array()
    y = frame[target].to_dask_array()
    # Without these lines it fails: it requires known sizes, and Dask joins the partitions of one
    # column into fewer than those of all the others.
    X.compute_chunk_sizes()
    y.compute_chunk_sizes()
    y = y.rechunk((X.chunks[0],))
    # It states its penalty as C, and penalises the intercept.
    model = LogisticRegression(C=C, **setting).fit(X, y)
    name = f"{setting['solver']} {setting['tol']:g}"
    return {"points": [points.save(out, name, started, model.coef_, float(model.intercept_))]}
