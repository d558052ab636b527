"""The snapshot of what users meet: what it has, and what it calls a difference."""

from __future__ import annotations

import copy
import sys
from pathlib import Path

import pytest

import separatrix

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import snapshot

pytestmark = pytest.mark.benchmarks


def test_every_public_name_and_command_is_there():
    names, helps = snapshot.public_names(), snapshot.helps()
    assert {f"separatrix.{name}" for name in separatrix.__all__} <= set(names)
    assert "separatrix.LogisticRegression.path" in names
    assert all(text.startswith("Usage: separatrix") for text in helps.values())
    assert {"separatrix fit", "separatrix verify"} < set(helps)


def test_every_estimator_is_fitted_and_read_back(monkeypatch):
    monkeypatch.setattr(snapshot, "ESTIMATORS", ("Ridge", "SVC"))
    found = snapshot.fits()
    assert len(found) == 10
    assert len(found["SVC, sparse"]["intercept_"]) == 3
    for name, entry in found.items():
        if name == "SVC, in passes":
            assert entry["refused"].startswith("TypeError: SVC")
        else:
            assert entry["file"] == "the same predictions", name
            assert entry["certificate.status"] == "optimal"
    assert snapshot.compared({"fits": found}, {"fits": copy.deepcopy(found)}) == {"fits": []}


def test_differences_are_named():
    older = {
        "fits": {"Ridge": {"coef_": [1.0, 2.0], "certificate.n_iter": 3}, "SVR": {"a": "b"}},
        "help": {"fit": "one\ntwo\n"},
    }
    newer = copy.deepcopy(older)
    newer["fits"]["Ridge"]["coef_"][0] = 1.0 + 1e-15
    assert not any(snapshot.compared(older, newer).values())
    newer["fits"]["Ridge"] |= {"coef_": [1.0, 2.5], "certificate.n_iter": 4, "intercept_": [0.0]}
    del newer["fits"]["SVR"]
    newer["help"]["fit"] = "one\nthree\n"
    assert snapshot.compared(older, newer) == {
        "fits": [
            "SVR: a: is gone",
            "Ridge: intercept_: is new",
            "Ridge: coef_: off by 2.0e-01 of the largest",
            "Ridge: certificate.n_iter: 3 -> 4",
        ],
        "help": ["fit: \n    @@ -2 +2 @@\n    -two\n    +three"],
    }
