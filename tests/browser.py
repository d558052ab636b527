"""What tests in a browser wait for."""

from __future__ import annotations

from typing import Any


def drawn(page: Any) -> None:
    """Wait for the next frame, in which what was changed is drawn."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
