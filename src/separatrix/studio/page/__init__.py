"""The page of the studio: HTML, CSS and ES modules without a build step."""

from __future__ import annotations

import re
from importlib.resources import files

__all__ = ["ORDER", "joined", "style"]

_SCRIPTS = (
    "dom numbers store share host trait kernel voice view field marks points score pointer lines "
    "picture names toolbar chart lift panels time strength controls ownline data heldout jitter "
    "proof out notes tours keys opening bar layout studio"
)
ORDER = tuple(_SCRIPTS.split())
"""The scripts, each after those that it imports."""

_IMPORT = re.compile(r"^import .*\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=async |function |class |const |let )", re.MULTILINE)
_DEFAULT = re.compile(r"^export default .*\n", re.MULTILINE)


def _text(name: str) -> str:
    return files("separatrix.studio.page").joinpath(name).read_text(encoding="utf-8")


def joined(*, last: str = "export default { render };\n") -> str:
    """All scripts as one module.

    Their top-level names are unique over all of them, so that each can do without its imports.

    Parameters
    ----------
    last : str
        The end of the module: by default the export that a notebook needs of a widget's module.

    Examples
    --------
    >>> from separatrix.studio.page import joined
    >>> module = joined()
    >>> "import " in module, module.rstrip().splitlines()[-1]
    (False, 'export default { render };')
    """
    whole = "\n".join(_text(f"{name}.js") for name in ORDER)
    return _EXPORT.sub("", _DEFAULT.sub("", _IMPORT.sub("", whole))) + last


def style() -> str:
    """The style sheet.

    Examples
    --------
    >>> from separatrix.studio.page import style
    >>> ".separatrix-studio" in style()
    True
    """
    return _text("studio.css")
