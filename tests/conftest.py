"""What every test shares: which tests run apart or exhaustively, and the optional real data."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what opens a browser or starts a cluster, and keep together what shares one.

    All tests of the cluster are run by one worker, and the tests in a browser file by file, so that
    the workers that there are end at the same time.
    """
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
        # Examples of the library that make a client of Dask.
        example = getattr(item, "dtest", None)
        if example is not None and any("distributed" in one.source for one in example.examples):
            item.add_marker("cluster")
        if item.get_closest_marker("cluster") is not None:
            item.add_marker(pytest.mark.xdist_group("cluster"))
        elif item.get_closest_marker("browser") is not None:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
    crossed = defaultdict(list)
    for item in items:
        if item.get_closest_marker("crossed") and not item.get_closest_marker("exhaustive"):
            crossed[item.nodeid.split("[")[0]].append(item)
    for each in crossed.values():
        kept = covering([kinds(item) for item in each])
        for k, item in enumerate(each):
            if k not in kept:
                item.add_marker("exhaustive")


def kinds(item: Any) -> set[Hashable]:
    """The kinds that a test is called with, one of each of its parametrisations."""
    marks = item.iter_markers("parametrize")
    names = [
        mark.args[0].split(",") if isinstance(mark.args[0], str) else mark.args[0] for mark in marks
    ]
    params = item.callspec.params
    # Each is identified by its address: arrays and models can be neither hashed nor compared.
    return {tuple((one.strip(), id(params[one.strip()])) for one in each) for each in names}


def covering(cases: list[set[Hashable]]) -> set[int]:
    """The indices of cases that together cover every kind, as few as a greedy search finds.

    The next case is one with the most kinds that are not covered yet; among these, the one whose
    kinds are the rarest so far, so that kinds meet in many combinations.
    """
    used: Counter[Hashable] = Counter()
    kept: set[int] = set()
    while set().union(*cases) - used.keys():
        best = min(
            (k for k in range(len(cases)) if k not in kept),
            key=lambda k: (-len(cases[k] - used.keys()), sum(used[one] for one in cases[k])),
        )
        kept.add(best)
        used.update(cases[best])
    return kept


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
