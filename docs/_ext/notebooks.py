"""Text of the course's notebooks, whose exercises are quoted and whose solutions are folded.

sphinx-gallery's own conversion leaves admonitions and references in notebooks as raw text.
"""

from __future__ import annotations

import re
import textwrap
from typing import Any

import sphinx_gallery.notebook
from sphinx.application import Sphinx

_TITLE = re.compile(r"^(?P<title>\S.*)\n(?P<under>=+|-+)$", re.M)
_DIRECTIVE = re.compile(
    r"^(?P<indent> *)\.\. (?P<name>[\w-]+)::[ ]*(?P<argument>.*)\n"
    r"(?P<body>(?:(?P=indent) +.*\n|[ ]*\n)*)",
    re.M,
)
_OPTION = re.compile(r"^:\w+:(?: .*)?\n", re.M)
_DOCTEST = re.compile(r"^(?P<indent> *)>>> (?:.*\S.*\n)+", re.M)
_ROLE = re.compile(r":(?P<role>[a-z]+):`(?P<text>[^`]+?)(?:\s*<(?P<target>[^<>`]+)>)?`")


def markdown(text: str, *_: Any) -> str:
    """Convert the reStructuredText of one block to Markdown.

    The other arguments of sphinx-gallery, its settings and the levels of titles, are not needed.
    """
    text = _TITLE.sub(
        lambda found: "#" * (1 if found["under"][0] == "=" else 2) + f" {found['title']}",
        text.rstrip() + "\n",
    )
    text = _DIRECTIVE.sub(_directive, text)
    text = _DOCTEST.sub(
        lambda found: f"{found['indent']}```python\n{found[0]}{found['indent']}```\n", text
    )
    return _ROLE.sub(_inline, text).strip() + "\n"


def _directive(found: re.Match[str]) -> str:
    name, title = found["name"], found["argument"].strip()
    body, options = _OPTION.subn("", textwrap.dedent(found["body"]))
    body = _DIRECTIVE.sub(_directive, body.strip() + "\n")
    if name == "math":
        block = "\n".join(map(_formula, re.split(r"\n\s*\n", f"{title}\n{body}".strip())))
    elif name == "seealso":
        block = f"**See also:** {body}"
    elif name == "admonition" and options:
        block = f"<details>\n<summary><b>{title}</b></summary>\n\n{body}\n</details>\n"
    elif name == "admonition":
        lines = f"**{title}**\n\n{body}".splitlines()
        block = "".join(f"> {line}".rstrip() + "\n" for line in lines)
    else:
        raise ValueError(f"notebooks of the course have no form for the directive {name!r}")
    return textwrap.indent(block, found["indent"]) + "\n"


def _formula(text: str) -> str:
    """A displayed formula, whose lines are aligned where it has several."""
    if r"\\" in text:
        text = f"\\begin{{aligned}}\n{text.strip()}\n\\end{{aligned}}"
    return f"$$\n{text.strip()}\n$$\n"


def _inline(found: re.Match[str]) -> str:
    """A formula in a line, a name as code, or the text of a link with the lesson's number."""
    text = " ".join(found["text"].split())
    if found["role"] == "math":
        return f"${text}$"
    if found["role"] not in ("ref", "doc"):
        return f"`{text}`"
    lesson = re.match(r"sphx_glr_auto_examples_0?(\d+)_", found["target"] or text)
    if lesson is None:
        return text
    return f"{text} (lesson {lesson[1]})" if found["target"] else f"lesson {lesson[1]}"


def setup(app: Sphinx) -> dict[str, Any]:
    # There is no setting for the conversion of text.
    sphinx_gallery.notebook.rst2md = markdown
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
