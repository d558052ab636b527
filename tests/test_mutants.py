"""The faults that ``make mutants`` plants still have their places, and benchmarks their imports."""

from __future__ import annotations

import importlib
from pathlib import Path

from benchmarks.mutants import FAULTS

TESTS = Path(__file__).parent


def test_every_fault_has_its_place_and_its_tests() -> None:
    assert len(FAULTS) >= 40
    assert len({fault.what for fault in FAULTS}) == len(FAULTS)
    for fault in FAULTS:
        assert fault.places == 1, fault.what
        assert fault.right != fault.wrong, fault.what
        for test in fault.tests.split():
            file, _, name = test.partition("::")
            assert f"def {name}" in (TESTS / file).read_text("utf-8"), test


def test_all_benchmarks_can_be_imported() -> None:
    # They subclass what the library does not promise to keep, and their own tests run apart.
    assert callable(importlib.import_module("benchmarks.__main__").main)
