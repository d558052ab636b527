"""From a real table to a certified model that predicts well: the main job, end to end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from separatrix import LinearSVC, LogisticRegression
from separatrix.tables import Encoder, read_table, split_rows, take_target

pytest.importorskip("duckdb")


@pytest.mark.parametrize("model", [LogisticRegression(), LinearSVC(loss="hinge")], ids=repr)
def test_adult_held_out_fifth(real_data: Path, model) -> None:
    features, y = take_target(read_table(real_data / "adult.csv"), "income")
    fit_rows, held_out = split_rows(y, test_size=0.2, seed=0)
    encoder = Encoder().fit(features.select(fit_rows), y[fit_rows])
    model.fit(encoder.transform(features.select(fit_rows)), y[fit_rows])
    assert model.certificate_.ok
    accuracy = model.score(encoder.transform(features.select(held_out)), y[held_out])
    assert accuracy >= 0.845


def test_reviews_from_train_file_to_test_file(real_data: Path) -> None:
    features, y = take_target(read_table(real_data / "imdb-train.parquet"), "label")
    encoder = Encoder()
    X = encoder.fit_transform(features, y)
    models = [LogisticRegression().fit(X, y), LinearSVC(loss="hinge").fit(X, y)]
    new, labels = take_target(read_table(real_data / "imdb-test.parquet"), "label")
    # Every third: to encode all takes longer than to fit.
    some = np.arange(0, len(labels), 3)
    X_new, labels = encoder.transform(new.select(some)), labels[some]
    for model in models:
        assert model.certificate_.ok
        assert model.score(X_new, labels) >= 0.88
