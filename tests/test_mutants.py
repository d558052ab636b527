"""The faults that ``make mutants`` plants are still where they can be planted."""

from __future__ import annotations

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
