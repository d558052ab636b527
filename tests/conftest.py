"""What every test shares: which tests run apart from the others, and the optional real data."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# What such tests need is opened once, by the one worker that runs them.
_ONE_WORKER = ("cluster", "browser")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what opens a browser or starts a cluster, and keep each kind in one process."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
        # Examples of the library that make a client of Dask.
        example = getattr(item, "dtest", None)
        if example is not None and any("distributed" in one.source for one in example.examples):
            item.add_marker("cluster")
        for name in _ONE_WORKER:
            if item.get_closest_marker(name) is not None:
                item.add_marker(pytest.mark.xdist_group(name))


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of optional real data; tests that need it skip where it is absent."""
    folder = Path(os.environ.get("SEPARATRIX_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("the optional real data is absent (set SEPARATRIX_DATA to its folder)")
    return folder


@pytest.fixture(scope="session", autouse=True)
def conventions_are_known() -> None:
    """A warning that a process gives once would be given in whichever test comes first."""
    from separatrix.models import sklearn_compat

    sklearn_compat._warned.update(sklearn_compat.CONVENTIONS)
