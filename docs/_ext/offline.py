"""Fail the build where a page would load anything from a network; links to follow are no harm."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

_LOADED = (
    re.compile(r"<(?:script|img|iframe|source|video|audio|object|embed)\b[^>]*?"
               r"(?:src|srcset|data)=[\"']?((?:https?:)?//[^\"'\s>]+)", re.I),
    re.compile(r"<link\b[^>]*?href=[\"']?((?:https?:)?//[^\"'\s>]+)", re.I),
)  # fmt: skip
_IN_STYLE = re.compile(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')\s]+)", re.I)


def addresses(page: str) -> list[str]:
    """The addresses that a browser would fetch from elsewhere to show a page."""
    # The canonical address of a page is not fetched.
    text = re.sub(r"<link\b[^>]*rel=[\"']?canonical[^>]*>", "", page)
    return [found for pattern in (*_LOADED, _IN_STYLE) for found in pattern.findall(text)]


def _check(app: Sphinx, exception: Exception | None) -> None:
    if exception is not None or app.builder.format != "html":
        return
    for path in sorted(Path(app.outdir).rglob("*")):
        if path.suffix == ".html":
            found = addresses(path.read_text("utf-8"))
        elif path.suffix == ".css":
            found = _IN_STYLE.findall(path.read_text("utf-8"))
        else:
            continue
        for address in found:
            logger.warning("%s would load %s", path.relative_to(app.outdir), address)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("build-finished", _check)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
