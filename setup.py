"""The description that an index page shows: README.md, whose links hold without its repository.

The rest of what builds the package is in pyproject.toml. An address of the repository that is
entered there (``[project.urls]``, ``Repository``) makes the links and pictures absolute; without
one the pictures are left out and the links become plain text.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent

# Pictures that are links, pictures, links: those to files of the repository.
_HERE = r"\((?!https?:|#)([^)\s]+)\)"
_PICTURE = re.compile(rf"\[?!\[([^\]]*)\]{_HERE}(?:\]{_HERE})?")
_LINK = re.compile(rf"(?<!!)\[([^\]]*)\]{_HERE}")


def described(text: str, home: str | None) -> str:
    """README with links that hold anywhere.

    Parameters
    ----------
    text : str
    home : str or None
        The address of the repository on its host, where there is one.
    """
    if home is None:
        return _LINK.sub(r"\1", _PICTURE.sub("", text))
    home = home.rstrip("/")
    pictures = _PICTURE.sub(rf"![\1]({home}/raw/HEAD/\2)", text)
    return _LINK.sub(rf"[\1]({home}/blob/HEAD/\2)", pictures)


if __name__ == "__main__":
    from setuptools import setup

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    setup(
        long_description=described(
            (ROOT / "README.md").read_text("utf-8"), project.get("urls", {}).get("Repository")
        ),
        long_description_content_type="text/markdown",
    )
