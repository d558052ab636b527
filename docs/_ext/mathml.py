"""Formulas as MathML, which browsers draw by themselves: pages need no script and no network."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)


_NAMED = r"log|exp|cos|sin|min|max|sup|inf"

# Spellings that the converter lacks or misreads, in terms of those that it has.
_SPELLINGS = (
    (re.compile(r"\\dots(?![a-zA-Z])"), r"\\ldots"),
    (re.compile(r"\\([bB]igg?)(?=[)\]])"), r"\\\1r"),
    (re.compile(r"\\([bB]igg?)m?(?![a-zA-Z])"), r"\\\1l"),
    # \frac12 is a half, and 12 is no number there; nor is 0,1 one in max(0,1-z).
    (re.compile(r"(\\[td]?frac)\s*(\d)\s*(\d)"), r"\1{\2}{\3}"),
    (re.compile(r"(?<=\d),(?=\d)"), r", "),
    # The thin spaces that TeX sets around the name of a function.
    (re.compile(rf"(?<=[\w)}}\]])\s*(?=\\(?:{_NAMED})(?![a-zA-Z]))"), r"\\,"),
    (
        re.compile(
            rf"(\\(?:{_NAMED}))(?![a-zA-Z])\s*(?=[a-zA-Z0-9|]|\\(?!left|[bB]ig|[,;!|])[a-z])"
        ),
        r"\1\\,",
    ),
)

# Signs as formulas have them, with the space that TeX leaves around them.
_SIGNS = (
    (r"<mo>\*</mo>", "<mo>∗</mo>"),
    (r"<mo>'</mo>", "<mo>′</mo>"),
    (r"<mo>/</mo>", '<mo lspace="0" rspace="0">/</mo>'),
    (r'<mo stretchy="false">\|</mo>', '<mo stretchy="false" lspace="0" rspace="0">|</mo>'),
    (r"(<mo[^>]*>[,({]</mo>\s*)<mo>([−+±])</mo>", r'\1<mo form="prefix">\2</mo>'),
)

# A function with a limit below it, before its argument: TeX leaves a space there.
_LIMITS = re.compile(
    rf"(<mo movablelimits[^>]*>(?:{_NAMED})</mo>(?:(?!</munder>).)*</munder>)"
    r"(?=\s*<m(?:i|n|sub|sup|subsup|frac|row)\b|\s*<mo[^>]*>[|‖]<)",
    flags=re.S,
)


def _converted(node: nodes.Element, *, block: bool) -> str:
    formula = node.astext()
    for pattern, spelling in _SPELLINGS:
        formula = pattern.sub(spelling, formula)
    try:
        made = str(tex2mathml(formula, as_block=block))
    except MathError as error:
        logger.warning("formula not understood: %s: %s", node.astext(), error, location=node)
        return str(nodes.literal("", node.astext()))
    for plain, typeset in _SIGNS:
        made = re.sub(plain, typeset, made)
    # The name of a function has its space in the formula, and none of an operator's.
    made = re.sub(rf"<mo([^>]*)>({_NAMED})</mo>", r'<mo\1 lspace="0" rspace="0">\2</mo>', made)
    if not re.search(r"\\left\s*\\[|{]", formula):
        # Braces and bars grow only with \left and \right.
        made = re.sub(
            r'<mo(?: class="mathopen")?>([{}‖])</mo>', r'<mo stretchy="false">\1</mo>', made
        )
    return _LIMITS.sub(r'\1<mspace width="0.1667em"></mspace>', made)


def _inline(self: Any, node: nodes.Element) -> None:
    self.body.append(f'<span class="math">{_converted(node, block=False)}</span>')
    raise nodes.SkipNode


def _displayed(self: Any, node: nodes.Element) -> None:
    self.body.append(
        self.starttag(node, "div", CLASS="math") + _converted(node, block=True) + "</div>\n"
    )
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (_inline, None), (_displayed, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
