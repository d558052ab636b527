"""What the tests of the tables share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def write(tmp_path):
    """Write a file in the temporary folder and give its path."""

    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return write


@pytest.fixture
def real_data():
    """The path of one of the optional real files; skips where there is none."""
    default = Path(__file__).resolve().parents[2] / ".." / "shared" / "data"
    folder = Path(os.environ.get("SEPARATRIX_DATA", default))

    def find(name: str) -> Path:
        path = folder / name
        if not path.is_file():
            pytest.skip(f"the optional real data {name} is not in the folder SEPARATRIX_DATA names")
        return path

    return find
