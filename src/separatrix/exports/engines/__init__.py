"""Engines that run what was printed, on this machine, so that it can be held to what is expected.

An engine has a ``name``; ``version()``, None where it is not installed; ``run(text, program,
rows)``, the answers for the rows of a sample; and ``own_proof(text)``, the worst difference that
the text finds in itself, as a share of the bound.
"""

from __future__ import annotations

from typing import Any

__all__ = ["of_language"]


def of_language(language: str, dialect: str | None = None) -> list[Any]:
    """The engines of a language, whether they are installed or not.

    Examples
    --------
    >>> from separatrix.exports.engines import of_language
    >>> [engine.name for engine in of_language("sql", "sqlite")]
    ['SQLite']
    >>> of_language("sql", "bigquery")
    []
    """
    if language == "sql":
        from separatrix.exports.engines import databases

        return [own() for own in databases.ENGINES if own.dialect == dialect]
    return []
