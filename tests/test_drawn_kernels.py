"""The benchmark of kernel machines on drawn tables: its draws, its measurement and its table."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import drawn_kernels as drawn

pytestmark = pytest.mark.benchmarks


def test_a_seed_draws_the_same_tables_again():
    first, again, other = drawn.draw(3, 1), drawn.draw(3, 1), drawn.draw(3, 2)
    assert str(first) == str(again) != str(other)
    np.testing.assert_array_equal(first.X, again.X)
    assert 1000 <= len(first.X) <= 8000 and set(first.y) == set(range(first.classes))


def test_both_libraries_are_measured_to_the_same_suboptimality():
    table = drawn.draw(3, 1)
    small = drawn.Drawn(table.X[:200], table.y[:200] % 2, 2, 1.0, 0.1, False)
    cells = drawn.measure(small, time.process_time)
    assert [cell.target for cell in cells] == list(drawn.TARGETS)
    assert all(cell.certified and cell.ours > 0.0 and cell.ratio > 0.0 for cell in cells)
    shown = drawn.text([*cells, drawn.Cell("missed", 1e-3, 2.0, None, True)])
    assert "LIBSVM did not reach it in 1." in shown and str(small) in shown
