"""Spark MLlib's LogisticRegression on two local threads."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from benchmarks.scale import points

NAME = "Spark MLlib local[2]"
NEEDS = ("pyspark",)
HOW = "pip install pyspark, and a Java runtime (17 or later)"
SETTINGS: tuple[dict[str, Any], ...] = ({"tol": 1e-5}, {"tol": 1e-8}, {"tol": 1e-11})


def missing() -> str:
    """The missing requirement besides Python modules, in words; empty if there is none."""
    home = os.environ.get("JAVA_HOME")
    there = shutil.which("java") or (home and (Path(home) / "bin" / "java").exists())
    return "" if there else "there is no Java, which Spark needs"


def fit(
    files: str, target: str, n_rows: int, C: float, setting: dict, out: str, started: float
) -> dict:
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.feature import VectorAssembler
    from pyspark.sql import SparkSession

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**30
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", f"{max(1, min(12, memory // 2))}g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.local.dir", out)
        .getOrCreate()
    )
    try:
        frame = spark.read.parquet(str(Path(files).parent))
        names = [name for name in frame.columns if name != target]
        rows = VectorAssembler(inputCols=names, outputCol="features").transform(frame)
        # Its objective is the mean loss and regParam / 2 |w|^2: this one's, divided by C n.
        model = LogisticRegression(
            labelCol=target,
            regParam=1.0 / (C * n_rows),
            elasticNetParam=0.0,
            standardization=False,
            maxIter=1000,
            tol=setting["tol"],
        ).fit(rows)
        name = f"tol {setting['tol']:g}"
        coef = model.coefficients.toArray()
        return {"points": [points.save(out, name, started, coef, model.intercept)]}
    finally:
        spark.stop()
