"""The engines of artefacts: databases, compilers and interpreters that are installed here."""

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
    if language == "sql":
        from separatrix.exports.engines.databases import ENGINES

        return [own() for own in ENGINES if own.dialect == dialect]
    if language == "onnx":
        from separatrix.exports.engines.onnx_runtime import OnnxRuntime

        return [OnnxRuntime()]
    from separatrix.exports.engines.processes import ENGINES as PROCESSES

    return [*PROCESSES.get(language, [])]
