"""The studio: points that are drawn and dragged, real fits of them, and their proofs, on a page.

``separatrix studio`` serves the page on this machine alone, and :class:`Studio` is the same page in
a notebook; :class:`StudioModel` answers its messages and knows neither page nor server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from separatrix._compiled.lazy_names import lazy_names

if TYPE_CHECKING:
    from separatrix.studio.kernel import StudioModel as StudioModel
    from separatrix.studio.state import StateError as StateError
    from separatrix.studio.widget import Studio as Studio

_HOMES = {
    "StateError": "separatrix.studio.state",
    "Studio": "separatrix.studio.widget",
    "StudioModel": "separatrix.studio.kernel",
}

__all__ = [*_HOMES]

__getattr__, __dir__ = lazy_names(
    __name__,
    _HOMES,
    needs=("anywidget", "contourpy", "traitlets"),
    remedy='the studio needs {}: pip install "separatrix[studio]"',
)
