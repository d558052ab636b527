"""The two files of a report: the page, and its document beside it."""

from __future__ import annotations

import os
from pathlib import Path

SCHEMA = "separatrix/report"
GENERATOR = "separatrix report 1"
# The number of bytes at the start of either file in which its kind is stated.
_START = 1024


def twin_of(path: str | os.PathLike[str]) -> str:
    """The name of the document that stands beside a page.

    Raises
    ------
    ValueError
        If it would be that of the page.
    """
    page = Path(path)
    if page.suffix.lower() == ".json":
        raise ValueError(
            f"'{page}' is the name of the report's data, which are written beside the page: end "
            "the page's name in .html"
        )
    twin = page.with_suffix(".json") if page.suffix else page.with_name(f"{page.name}.json")
    return str(twin)


def looks_like_report(path: str | os.PathLike[str]) -> bool:
    """Whether a file starts like the page or the document of a report of any version."""
    try:
        with open(path, "rb") as file:
            start = file.read(_START)
    except OSError:
        return False
    if start.startswith(b"<!DOCTYPE html>"):
        name = GENERATOR.rpartition(" ")[0]
        return f'<meta name="generator" content="{name} '.encode() in start
    return start.lstrip().startswith(b"{") and f'"schema": "{SCHEMA}"'.encode() in start[:64]


def require_report_or_nothing(path: str | os.PathLike[str]) -> None:
    """Refuse to replace a file that is no report; an empty one is nothing.

    Raises
    ------
    FileExistsError
        The message is one sentence.
    """
    if os.path.isfile(path) and os.path.getsize(path) and not looks_like_report(path):
        raise FileExistsError(
            f"'{os.fspath(path)}' exists and is not a report of separatrix, so it is not "
            "overwritten: remove it, or write to another file"
        )
