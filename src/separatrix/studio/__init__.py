"""The studio: points that are drawn and dragged, real fits of them, and their proofs, on a page.

``separatrix studio`` serves the page on this machine alone, and :class:`Studio` is the same page in
a notebook; :class:`StudioModel` answers its messages and knows neither page nor server.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from separatrix.exceptions import MissingPackageError

if TYPE_CHECKING:
    from separatrix.studio.kernel import StudioModel as StudioModel
    from separatrix.studio.state import StateError as StateError
    from separatrix.studio.widget import Studio as Studio

_HOMES = {
    "StateError": "separatrix.studio.state",
    "Studio": "separatrix.studio.widget",
    "StudioModel": "separatrix.studio.kernel",
}

__all__ = ["StateError", "Studio", "StudioModel"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'separatrix.studio' has no attribute {name!r}")
    try:
        value = getattr(import_module(_HOMES[name]), name)
    except ModuleNotFoundError as error:
        if error.name in ("anywidget", "contourpy", "traitlets"):
            raise MissingPackageError(
                f'the studio needs {error.name}: pip install "separatrix[studio]"'
            ) from None
        raise
    globals()[name] = value
    return value
