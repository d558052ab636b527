"""What ``separatrix check-certificate`` does, step by step."""

from __future__ import annotations

from collections.abc import Iterable
from types import NoneType
from typing import Any

import numpy as np

import separatrix
from separatrix.cli.certificates import damaged, read_document
from separatrix.cli.commands.separable_work import plane_words
from separatrix.cli.meeting import named
from separatrix.cli.output import Exit, Output
from separatrix.cli.raw import RawTable, encode_raw, matrix_digest
from separatrix.cli.wording import Terminal
from separatrix.exceptions import DataError
from separatrix.geometry.separation.separability import Separability
from separatrix.messages import counted, said_by
from separatrix.tables import DEFAULT_MISSING, read_table


def _require_all(path: str, raw: RawTable, verdicts: list[Separability]) -> None:
    """Refuse a certificate that leaves a verdict out: what it does not say may be what counts."""
    classes = [c.item() if hasattr(c, "item") else c for c in np.unique(raw.y)]
    wanted = {(a, b, False) for i, a in enumerate(classes) for b in classes[i + 1 :]}
    if len(classes) > 2:
        wanted |= {(None, c, True) for c in classes}
    found = [(v.sides.negative, v.sides.positive, v.sides.against_rest) for v in verdicts]
    if len(found) != len(wanted) or set(found) != wanted:
        raise damaged(
            path, f"it must hold one verdict on each of {len(wanted)} questions, not {len(found)}"
        )


def check_file(out: Output, path: str, data: str) -> Exit:
    """Read both files, encode again, and prove every verdict again."""
    document = read_document(path)
    try:
        reading, recorded = document["reading"], document["data"]
        kinds = dict(zip(_texts(reading["kinds"]), _texts(reading["kinds"].values()), strict=True))
        kinds |= dict.fromkeys(_texts(reading["ignore"]), "ignore")
        missing = _texts(reading["missing"] or DEFAULT_MISSING)
        fingerprint, target = str(recorded["fingerprint"]), str(recorded["target"])
        rows, digest = int(recorded["rows"]), document["encoding"]["sha256"]
        verdicts = [Separability.from_dict(record) for record in document["verdicts"]]
        if not verdicts:
            raise ValueError("it holds no verdict")
        for label in (label for verdict in verdicts for label in verdict.classes):
            if not isinstance(label, (str, int, float, NoneType)):
                raise TypeError(f"{label!r} is no class")
    except (AttributeError, KeyError, TypeError, ValueError, ArithmeticError) as error:
        what = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise damaged(path, what) from error

    # A column that is ignored may be absent; the fingerprint decides what is the same.
    table = read_table(data, missing=missing, kinds=kinds, skip_absent=True)
    if table.fingerprint() != fingerprint or target not in table.columns:
        out.answer(
            "data",
            f"{counted(table.n_rows, 'row')}, NOT the same as the {rows:,} of the certificate",
        )
        return _end(
            out,
            path,
            data,
            Exit.NEGATIVE,
            "not proved: these are not the data of the certificate",
            [],
        )
    out.answer("data", f"{counted(table.n_rows, 'row')}, the same as those of the certificate")
    raw = encode_raw(table, target)
    for alert in raw.encoder.alerts_:
        out.note(alert)
    same_numbers = matrix_digest(raw.X) == digest

    results = []
    for verdict in verdicts:
        proved, told = _prove(raw, verdict)
        results.append(
            {
                "negative": verdict.sides.negative,
                "positive": verdict.sides.positive,
                "against_rest": verdict.sides.against_rest,
                "status": verdict.status,
                "proved": proved,
                "reason": told,
            }
        )
        label = {True: "proved", False: "unproved", None: "undecided"}[proved]
        out.answer(label, f"{_about(verdict)}: {told}")

    failed = sum(result["proved"] is False for result in results)
    if not failed:
        _require_all(path, raw, verdicts)
    if any(verdict.margin is not None for verdict in verdicts):
        out.note("the gap that the file tells is not part of the proof; separable finds it anew")
    proved_count = sum(result["proved"] is True for result in results)
    if failed:
        verdict_text = f"does not hold: {failed} of {counted(len(results), 'verdict')} not proved"
        if len(results) == 1:
            verdict_text = "does not hold: the certificate proves nothing about these data"
        if not same_numbers:
            verdict_text += (
                "; its columns were encoded to other numbers than here, by separatrix "
                f"{document.get('library_version')} (this is {separatrix.__version__}) or other "
                "versions of its libraries: decide again"
            )
        return _end(out, path, data, Exit.NEGATIVE, verdict_text, results)
    if not proved_count:
        return _end(out, path, data, Exit.NEGATIVE, "not proved: nothing was decided", results)
    every = "" if len(results) == 1 else f": {proved_count} of {counted(len(results), 'verdict')}"
    return _end(out, path, data, Exit.DONE, f"holds{every}, proved again from the data", results)


def _texts(values: Iterable[Any]) -> list[str]:
    texts = list(values)
    if isinstance(values, str) or not all(isinstance(text, str) for text in texts):
        raise TypeError("its options for reading are no texts")
    return texts


def _end(
    out: Output, path: str, data: str, code: Exit, verdict: str, results: list[dict[str, Any]]
) -> Exit:
    out.answer("verdict", verdict)
    out.document(
        code,
        {
            "certificate": path,
            "data": data,
            "same_data": bool(results),
            "proofs": results,
            "verdict": verdict,
        },
    )
    return code


def _prove(raw: RawTable, verdict: Separability) -> tuple[bool | None, str]:
    """Whether a verdict was proved, and what, in words about the file."""
    if verdict.status == "undecided":
        return None, "the time limit came first, so there is nothing to prove"
    try:
        proof = verdict.check(raw.X, raw.y)
    except DataError:
        raise
    except (IndexError, OverflowError, TypeError, ValueError) as error:
        return False, Terminal(raw.names)(said_by(error)).rstrip(".")
    if not proof:
        return False, Terminal(raw.names)(proof.reason)
    plane = plane_words(verdict.fit_intercept)
    witness: Any = verdict.witness
    if verdict.status == "separable":
        return True, f"separable: a {plane} has every row strictly on its side"
    if verdict.status == "quasi_separable":
        return True, (
            f"separable in part: a {plane} has {counted(len(witness.separated), 'row')} strictly "
            f"on their side and the others exactly on it, and none has every row on its side"
        )
    meet = (
        "a weighted mean of those of one class is exactly one of those of the other"
        if verdict.fit_intercept
        else "weighted, one class subtracted, they add up to zero"
    )
    return True, f"not separable: of {counted(len(witness.rows), 'row')}, {meet}"


def _about(verdict: Separability) -> str:
    negative, positive = (named(c) for c in verdict.classes)
    if verdict.sides.against_rest:
        return f"{positive} against the rest"
    return f"{negative} and {positive}"
