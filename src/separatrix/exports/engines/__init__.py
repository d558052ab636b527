"""What runs an artefact: databases, compilers and interpreters that are installed here."""

from __future__ import annotations

from typing import Any

__all__ = ["of_language"]


def of_language(language: str, dialect: str | None = None) -> list[Any]:
    """The engines of a language, those that are not installed here included.

    Examples
    --------
    >>> from separatrix.exports.engines import of_language
    >>> [engine.name for engine in of_language("c")]
    ['gcc -std=c99 -O2', 'gcc -O2 -march=haswell', 'g++ -std=c++11 -O2']
    """
    from separatrix.exports.engines import processes

    if language == "c":
        return [
            processes.Compiler("gcc", "-std=c99 -O2"),
            processes.Compiler("gcc", "-O2 -march=haswell", needs="fma avx2"),
            processes.Compiler("g++", "-std=c++11 -O2"),
        ]
    if language == "js":
        return [processes.Node()]
    if language == "python":
        return [processes.Python()]
    return []
