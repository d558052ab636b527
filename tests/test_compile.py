"""The compiler's cache on disk: what damages it costs time, and nothing else."""

from __future__ import annotations

import gc
import glob
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from separatrix._compiled.compilation import inlined, njit, ordered, scalar, specialise

SOURCE = Path(__file__).resolve().parents[1] / "src"

# Loops that are compiled in a second, and imported without scikit-learn: one alone, two of which
# one calls the other, and one for functions that it is given.
MODULE = """
import math
from separatrix._compiled.compilation import FASTMATH, njit

@njit(cache=True, fastmath=FASTMATH)
def total(values):
    found = 0.0
    for v in values:
        found += v / 3.0
    return found

@njit(cache=True)
def halved(x):
    return math.exp(x) / 2.0

@njit(cache=True)
def product(values):
    found = 1.0
    for v in values:
        found *= halved(v)
    return found
"""
LOOPS = """
import sys
import numpy as np
from loops import halved, product, total
from separatrix.data.design import as_design
from separatrix.data.row_hashing import row_keys
X = np.random.default_rng(0).normal(size=(240, 6))
print(row_keys(as_design(X)).tolist(), total(X[0]), product(X[:, 0]), halved(X[0, 0]))
prepared = [m for m in ("numba.np.linalg", "numba.typed.typeddict") if m in sys.modules]
print(prepared, file=sys.stderr)
"""
FITS = """
import numpy as np
from separatrix import SVC, LogisticRegression
rng = np.random.default_rng(0)
X, y = rng.normal(size=(240, 6)), rng.integers(0, 3, 240)
print(LogisticRegression().fit(X, y).coef_.tolist(), SVC().fit(X, y).dual_coef_.tolist())
"""


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(LOOPS, id="loops"),
        pytest.param(FITS, id="fits", marks=pytest.mark.exhaustive),
    ],
)
def processes(request, tmp_path_factory):
    """What three processes with a cache of their own printed, and which files that held.

    The first compiles, the second finds its files damaged, and the third loads.
    """
    folder = tmp_path_factory.mktemp("cache")
    (folder / "loops.py").write_text(MODULE)
    environment = {"NUMBA_CACHE_DIR": str(folder), "PYTHONPATH": f"{SOURCE}{os.pathsep}{folder}"}

    def run():
        done = subprocess.run(
            [sys.executable, "-c", request.param],
            capture_output=True,
            text=True,
            env={**os.environ, **environment},
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done, sorted(folder.rglob("*.nb[ic]"))

    first, files = run()
    damage(files)
    return [(first, files), run(), run()]


def damage(files):

    # Every loop gets one of these, and each of these a loop.
    damages = [
        (".nbi", lambda content: b""),
        (".nbi", lambda content: content[: len(content) // 2]),
        (".nbc", lambda content: content[: len(content) // 2]),
        (".nbc", lambda content: content[:-9] + bytes(byte ^ 0x55 for byte in content[-9:])),
    ]
    loops = sorted({path.with_name(path.name.split(".py")[0]) for path in files})
    assert len(loops) >= len(damages), loops
    for k, loop in enumerate(loops):
        suffix, change = damages[k % len(damages)]
        hit = list(loop.parent.glob(f"{glob.escape(loop.name)}.py*{suffix}"))
        assert hit
        for path in hit:
            path.write_bytes(change(path.read_bytes()))


def test_damaged_files_are_compiled_anew(processes):
    """Damaged files are replaced, and loaded code gives the bits of code just compiled."""
    first, second, third = ((done.stdout, files) for done, files in processes)
    assert {path.suffix for path in first[1]} == {".nbi", ".nbc"}
    assert first == second == third and first[0]


@pytest.mark.parametrize("processes", [LOOPS], ids=["loops"], indirect=True)
def test_a_process_that_loads_does_not_prepare_to_compile(processes):
    compiling, _, loading = (done.stderr.strip() for done, _ in processes)
    assert compiling == "['numba.np.linalg', 'numba.typed.typeddict']"
    assert loading == "[]"


def double(x):
    return x + x


def test_the_cache_is_read_and_a_file_for_other_types_is_not(tmp_path, monkeypatch):
    import numba

    monkeypatch.setattr(numba.core.config, "CACHE_DIR", str(tmp_path))
    options = {"nogil": True, "cache": True}
    whole, real = np.arange(3), np.arange(3) / 2
    first = njit(**options)(double)
    assert first(whole).tolist() == [0, 2, 4]
    assert first(real).tolist() == [0.0, 1.0, 2.0]
    again = njit(**options)(double)
    assert again(real).tolist() == [0.0, 1.0, 2.0]
    assert sum(again.stats.cache_hits.values()) == 1
    # Another process that compiled at the same moment has taken the same number.
    one, two = sorted(tmp_path.rglob("*.nbc"))
    two.write_bytes(one.read_bytes())
    again = njit(**options)(double)
    assert again(real).tolist() == [0.0, 1.0, 2.0]
    assert again(whole).tolist() == [0, 2, 4]
    assert sum(again.stats.cache_hits.values()) == 1


def test_a_call_with_a_constant_compiles_no_loop_of_its_own():
    called = njit()(double)
    constant, number = njit()(lambda: called(2)), njit()(lambda n: called(n))
    assert (constant(), number(3)) == (4, 6)
    assert len(called.signatures) == 1


def test_a_call_is_resolved_once_for_each_types_of_its_arguments(monkeypatch):
    from numba.core.typing.context import BaseContext

    resolve, calls = BaseContext.resolve_function_type, []

    def noted(context, function, arguments, keywords):
        calls.append((function, arguments))
        return resolve(context, function, arguments, keywords)

    monkeypatch.setattr(BaseContext, "resolve_function_type", noted)
    called = njit()(double)

    def several(n):
        total = 0
        for k in range(n):
            # The type of the sum is known after a first round, that of its product after a second.
            total = total + called(k) + called(0.5 * k) + called(total)
        return total

    assert njit()(several)(3) == 15.0
    mine = [call for call in calls if getattr(call[0], "dispatcher", None) is called]
    # A constant counts as another type here, and not as another signature.
    assert len(mine) == len(set(mine)) == 3
    assert len(called.signatures) == 2


def test_a_function_without_machine_code_gets_it_once_python_calls_it():
    called = njit()(double)
    calling = njit()(lambda x: called(x) + 1.0)
    assert calling(2.0) == 5.0
    (found,) = called.overloads.values()
    assert not found.library._codegen._engine.is_symbol_defined(found.fndesc.mangled_name)
    assert called(2.0) == 4.0 and called(2) == 4
    # The next caller takes the one with machine code, and the first goes on with its own copy.
    another = njit()(lambda x: called(x) - 1.0)
    assert (another(2.0), calling(2.0), len(called.signatures)) == (3.0, 5.0, 2)


def test_what_was_compiled_for_a_caller_is_read_for_another(tmp_path, monkeypatch):
    import numba

    monkeypatch.setattr(numba.core.config, "CACHE_DIR", str(tmp_path))
    for hits in range(2):
        called = njit(cache=True)(double)
        calling = njit()(lambda x, called=called: called(x) + 1.0)
        assert calling(2.0) == 5.0
        assert sum(called.stats.cache_hits.values()) == hits
    # Python needs machine code, which was not kept.
    assert called(2.0) == 4.0
    assert sum(called.stats.cache_hits.values()) == 1
    assert len(sorted(tmp_path.rglob("*.nbc"))) == 2


def refuse(x):
    if x < 0.0:
        raise ValueError(x)
    return x


def test_copies_of_a_function_raise_what_it_raises(tmp_path, monkeypatch):
    import numba

    monkeypatch.setattr(numba.core.config, "CACHE_DIR", str(tmp_path))
    for _ in range(2):
        refusing = njit(cache=True)(refuse)
        between = njit()(lambda x, refusing=refusing: refusing(x) + 1.0)
        calling = njit()(lambda x, between=between: between(x))
        with pytest.raises(ValueError, match="-1"):
            calling(-1.0)
        # Machine code for Python replaces what callers have copied, which lasts all the same.
        assert refusing(1.0) == 1.0 and between(1.0) == 2.0
        gc.collect()
        another = njit()(lambda x, between=between: between(x))
        for function in (refusing, between, calling, another):
            with pytest.raises(ValueError, match="-2"):
                function(-2.0)


def triple(x):
    return x + x + x


helper = None


def helped(x):
    return helper(x)


def test_a_loop_is_compiled_anew_where_one_that_it_calls_has_changed(tmp_path, monkeypatch):
    """The called function changes in its code or its options; its file is not the loop's own."""
    import numba

    monkeypatch.setattr(numba.core.config, "CACHE_DIR", str(tmp_path))
    for called, value in ((scalar(double), 4.0), (ordered(double), 4.0), (scalar(triple), 6.0)):
        monkeypatch.setitem(globals(), "helper", called)
        for hits in range(2):
            loop = njit(cache=True)(helped)
            assert loop(2.0) == value
            assert sum(loop.stats.cache_hits.values()) == hits
    names = {
        specialise(helped, helper=kind(double)).__name__ for kind in (scalar, ordered, inlined)
    }
    assert len(names) == 3


def test_a_loop_of_many_functions_is_read_by_the_next_process(tmp_path, monkeypatch):
    """Their names together are longer than the name of a file may be."""
    import numba

    from separatrix._compiled import compilation

    monkeypatch.setattr(numba.core.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setitem(globals(), "helper", scalar(double))
    bindings = {"helper": scalar(double)}
    bindings |= {f"function_{k}": scalar(triple) for k in range(50)}
    for hits in range(2):
        loop = compilation._specialise.__wrapped__(helped, tuple(sorted(bindings.items())))
        assert loop(2.0) == 4.0
        assert sum(loop.stats.cache_hits.values()) == hits


def test_garbage_is_collected_after_a_compilation_as_before(monkeypatch):
    from numba.core.compiler_lock import global_compiler_lock

    held, disable = [], gc.disable
    with monkeypatch.context() as patch:
        patch.setattr(gc, "disable", lambda: held.append(global_compiler_lock.is_locked()))
        assert njit()(double)(2) == 4
    # With two threads, the second does not find what the first has set.
    assert held and all(held) and gc.disable is disable
    assert gc.isenabled()
    assert njit()(double)(2) == 4 and gc.isenabled()
    gc.disable()
    try:
        assert njit()(double)(2) == 4 and not gc.isenabled()
    finally:
        gc.enable()


def test_a_full_disk_costs_no_result(tmp_path, monkeypatch):
    import numba

    from separatrix._compiled import compilation

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(numba.core.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compilation._CheckedFile, "_save_data", full)
    assert njit(cache=True)(double)(2) == 4


def test_an_index_that_cannot_be_opened_costs_no_result(tmp_path, monkeypatch):
    import numba

    monkeypatch.setattr(numba.core.config, "CACHE_DIR", str(tmp_path))
    assert njit(cache=True)(double)(2) == 4
    (index,) = tmp_path.rglob("*.nbi")
    index.unlink()
    # The file cannot be read, like one of another account, whoever runs this.
    index.mkdir()
    assert njit(cache=True)(double)(2) == 4


def test_every_cached_function_is_compiled_so():
    for path in (SOURCE / "separatrix").rglob("*.py"):
        found = re.search(r"numba\.(n?jit|vectorize|guvectorize)\([^)]*cache=", path.read_text())
        assert found is None, f"{path.name}: {found}"


def test_without_a_folder_for_the_cache_functions_are_compiled_all_the_same(monkeypatch):
    from numba.core.caching import CompileResultCacheImpl

    from separatrix._compiled import compilation

    # The account may write neither the installation nor a folder of its own.
    monkeypatch.setattr(CompileResultCacheImpl, "_locator_classes", [])
    compilation._warn_of_no_cache.cache_clear()
    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR") as caught:
        functions = [njit(cache=True)(double) for _ in range(2)]
    assert len(caught) == 1
    assert [function(2) for function in functions] == [4, 4]


@pytest.mark.signals
@pytest.mark.parametrize("kind", [njit(), scalar, inlined])
def test_ctrl_c_waits_until_a_function_is_compiled(monkeypatch, kind):
    from llvmlite.binding import ModuleRef

    link, pressed = ModuleRef.link_in, []

    def linked(*arguments, **options):
        # LLVM has taken over a module that Python would free once more if this raised.
        done = link(*arguments, **options)
        pressed.append(signal.raise_signal(signal.SIGINT))
        return done

    monkeypatch.setattr(ModuleRef, "link_in", linked)
    handler = signal.getsignal(signal.SIGINT)
    function = kind(lambda x: x + x)
    with pytest.raises(KeyboardInterrupt):
        function(2)
    assert pressed
    assert signal.getsignal(signal.SIGINT) is handler
    assert len(function.signatures) == 1 and function(2) == 4
