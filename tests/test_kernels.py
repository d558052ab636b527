"""The machinery of the compiled loops: specialisation, views, threads."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from separatrix._compiled import compilation
from separatrix._compiled.compilation import scalar, specialise
from separatrix._compiled.pool import ranges, run
from separatrix._compiled.row_access import read_only


@scalar
def _double(x):
    return 2.0 * x


@scalar
def _triple(x):
    return 3.0 * x


inner_step = _double


def _template(values):
    total = 0.0
    for v in values:
        total += inner_step(v)
    return total


def test_a_template_runs_what_is_bound() -> None:
    values = np.arange(4.0)
    assert specialise(_template, inner_step=_double)(values) == 12.0
    assert specialise(_template, inner_step=_triple)(values) == 18.0
    # The same binding is compiled once.
    assert specialise(_template, inner_step=_double) is specialise(_template, inner_step=_double)


def test_names_on_disk_tell_bindings_apart() -> None:
    # Numba's cache is keyed by name: two functions of one name must not share a file.
    def make(factor):
        @scalar
        def step(x):
            return factor * x

        return step

    def other():
        @scalar
        def step(x):
            return x + 1.0

        return step

    names = {
        specialise(_template, inner_step=f).py_func.__qualname__
        for f in (_double, _triple, other())
    }
    assert len(names) == 3
    values = np.arange(3.0)
    assert specialise(_template, inner_step=make(5.0))(values) == 15.0
    assert specialise(_template, inner_step=make(7.0))(values) == 21.0


def test_functions_that_no_process_can_import_are_not_looked_for_on_disk(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(numba.core.config, "CACHE_DIR", str(tmp_path))
    for _ in range(2):
        # As in a doctest: names without a module. The second must not trip over the first.
        made = {"scalar": scalar, "__name__": "page"}
        exec("@scalar\ndef half(x):\n    return x / 2.0\n", made)
        exec("@scalar\ndef step(x):\n    return half(x) + 1.0\n", made)
        assert specialise(_template, inner_step=made["step"])(np.zeros(3)) == 3.0
    # A function that is not on disk cannot mislead another process.
    assert list(tmp_path.rglob("*.nb[ic]")) == []


def test_infinities_survive_the_flags() -> None:
    # Plain fastmath assumes that there are none, and a bound that starts at infinity vanishes.
    assert compilation.FASTMATH.isdisjoint({"nnan", "ninf", "fast"})

    @scalar
    def beyond(x, bound):
        return x > bound

    assert not beyond(1e308, np.inf)
    assert beyond(np.inf, 1.0)
    assert not beyond(np.nan, 1.0)


def test_division_by_zero_follows_ieee() -> None:
    # A compiled loop must not raise in the middle of a pass.
    @scalar
    def divide(a, b):
        return a / b

    assert divide(1.0, 0.0) == np.inf
    assert np.isnan(divide(0.0, 0.0))


def test_read_only_is_a_view() -> None:
    a = np.arange(3.0)
    view = read_only(a)
    assert np.shares_memory(view, a)
    assert a.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1.0


@pytest.mark.parametrize("n", [0, 1, 2, 7, 1000])
@pytest.mark.parametrize("work", [0.0, 1e12])
def test_ranges_cover_every_row_once(n: int, work: float) -> None:
    covered = [i for a, b in ranges(n, work) for i in range(a, b)]
    assert covered == list(range(n))
    assert len(ranges(n, 0.0)) == 1


def test_run_passes_errors_on() -> None:
    def fail():
        raise RuntimeError("inside a thread")

    with pytest.raises(RuntimeError, match="inside a thread"):
        run([fail, lambda: None, lambda: None])
    done = []
    run([lambda: done.append(1)])
    run([lambda: done.append(2), lambda: done.append(3)])
    assert sorted(done) == [1, 2, 3]
