"""What every test shares: one compilation cache per worker, and the optional real data."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Numba numbers the files of its cache per function. Two processes that compile the same function
# for different types at the same moment can both take the same number, and one then loads the
# other's machine code. One cache per worker removes the race; it must be set before numba is
# imported, and the processes that a test starts inherit it.
_worker = os.environ.get("PYTEST_XDIST_WORKER")
if _worker is not None:
    _caches = os.environ.get("NUMBA_CACHE_DIR", str(ROOT / ".numba_cache"))
    os.environ["NUMBA_CACHE_DIR"] = os.path.join(_caches, _worker)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of optional real data; tests that need it skip where it is absent."""
    folder = Path(os.environ.get("SEPARATRIX_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("the optional real data is absent (set SEPARATRIX_DATA to its folder)")
    return folder


@pytest.fixture(scope="session", autouse=True)
def conventions_are_told() -> None:
    """What is told once in a process would be told in whichever test comes first."""
    from separatrix.models import inherited

    inherited._told.update(inherited.CONVENTIONS)
