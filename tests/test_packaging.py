"""What the project says of itself in more than one place agrees."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import separatrix

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_one_version():
    assert PROJECT["version"] == separatrix.__version__
    assert separatrix.__version__ in (ROOT / "CHANGELOG.md").read_text()


def lower_bounds(requirements: list[str]) -> dict[str, str]:
    matches = (re.fullmatch(r"([\w-]+)>=([\d.]+)(?:,<[\d.]+)?", line) for line in requirements)
    return dict(match.groups() for match in matches if match)


def test_the_oldest_versions_are_the_lower_bounds():
    extras = PROJECT["optional-dependencies"]
    used = (extras[name] for name in ("app", "dask", "exact", "studio"))
    needed = lower_bounds(sum(used, start=PROJECT["dependencies"]))
    bounds = lower_bounds(extras["dev"]) | needed
    lines = (ROOT / ".ci" / "oldest.txt").read_text().splitlines()
    # A line that is not exact keeps a dependency of a dependency where the pinned versions need it.
    pins = dict(line.split("==") for line in lines if "==" in line and line[0] != "#")
    assert needed.keys() <= pins.keys()
    for name, pin in pins.items():
        # A bound of 2.0 is tested as 2.0.0.
        assert (pin + ".").startswith(bounds[name] + "."), name


def test_numba_has_an_upper_bound():
    """The compiler is put together from parts of it that have no public names."""
    from packaging.requirements import Requirement

    (numba,) = (one for one in PROJECT["dependencies"] if Requirement(one).name == "numba")
    specifier = Requirement(numba).specifier
    assert version("numba") in specifier and "1.0" not in specifier
