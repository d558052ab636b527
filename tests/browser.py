"""What tests in a browser wait for."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

# Seconds after which a page does not come to what is waited for, however busy the machine is.
_PATIENCE = 60.0


def drawn(page: Any) -> None:
    """Wait for the next frame, in which what was changed is drawn."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")


def until(page: Any, condition: Callable[[], bool]) -> None:
    """Wait for what a page comes to once it has made its controls and drawn its answers."""
    end = time.monotonic() + _PATIENCE
    while not condition():
        assert time.monotonic() < end, "it does not come"
        page.wait_for_timeout(20)
