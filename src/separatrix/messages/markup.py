"""Tables of words: in columns of text, and in HTML for notebooks.

In HTML every text is escaped; the only styles are alignment and the padding of cells, without which
some notebooks set one figure against the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_RIGHT, _LEFT = (f' style="text-align:{side};padding:0.15em 0.6em"' for side in ("right", "left"))


def table_text(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lay rows of words out in columns: the first to the left, the others to the right.

    Examples
    --------
    >>> from separatrix.messages.markup import table_text
    >>> table_text([["C", "gap"], ["100", "1e-12"]])
    ['C      gap', '100  1e-12']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            word.ljust(width) if i == 0 else word.rjust(width)
            for i, (word, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def table_html(rows: Sequence[Sequence[str]], *, left: int = 1, strong: int | None = None) -> str:
    """A table of words, the first row its head.

    Parameters
    ----------
    rows : sequence of sequence of str
    left : int
        The number of columns that are aligned to the left; the others are numbers.
    strong : int, optional
        The row, from 0 without the head, that stands out.

    Examples
    --------
    >>> from separatrix.messages.markup import table_html
    >>> table_html([["C", "gap"], ["1", "<1e-6"]])[-34:]
    '&lt;1e-6</td></tr></tbody></table>'
    """

    def cells(row: Sequence[str], tag: str, mark: str = "") -> str:
        end = mark.replace("<", "</")
        made = (
            f"<{tag}{_LEFT if i < left else _RIGHT}>{mark}{escape(word)}{end}</{tag}>"
            for i, word in enumerate(row)
        )
        return f"<tr>{''.join(made)}</tr>"

    head, *body = rows
    lines = (cells(row, "td", "<b>" if i == strong else "") for i, row in enumerate(body))
    return f"<table><thead>{cells(head, 'th')}</thead><tbody>{''.join(lines)}</tbody></table>"


def facts_html(facts: Iterable[tuple[str, str]]) -> str:
    """A table of names and their values."""
    lines = (
        f"<tr><th{_LEFT}>{escape(name)}</th><td{_LEFT}>{escape(text)}</td></tr>"
        for name, text in facts
    )
    return f"<table><tbody>{''.join(lines)}</tbody></table>"


def paragraphs_html(texts: Iterable[str]) -> str:
    """Sentences below one another."""
    return "".join(f"<p>{escape(text)}</p>" for text in texts)
