"""The steps of ``separatrix check-certificate``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from types import NoneType
from typing import Any

import numpy as np

import separatrix
from separatrix.cli.commands.check_certificate import CheckOptions
from separatrix.cli.commands.separable.certificate_file import damaged, read_document
from separatrix.cli.commands.separable.run import plane_words
from separatrix.cli.output import Exit, Output
from separatrix.cli.reading import RawTable, encode_raw, given_now
from separatrix.cli.wording import Terminal
from separatrix.data.labels import plain_label
from separatrix.exceptions import DataError
from separatrix.geometry.separation.separability import Separability
from separatrix.messages import clause, counted, quoted
from separatrix.tables import DEFAULT_MISSING, Table, read_table
from separatrix.tables.table import FLAGS, OPTIONS


@dataclass(frozen=True)
class Claim:
    """The statements of a certificate, none of which is trusted."""

    kinds: dict[str, str]
    missing: frozenset[str]
    options: dict[str, Any]
    fingerprint: str
    target: str
    rows: int
    digest: Any
    written_by: Any
    verdicts: list[Separability]

    @classmethod
    def read(cls, path: str) -> Claim:
        """Read a file; all that it must hold is there and of its kind."""
        document = read_document(path)
        try:
            reading, recorded = document["reading"], document["data"]
            kinds = _texts(reading["kinds"]), _texts(reading["kinds"].values())
            claim = cls(
                kinds=dict(zip(*kinds, strict=True))
                | dict.fromkeys(_texts(reading["ignore"]), "ignore"),
                missing=frozenset(_texts(reading["missing"] or DEFAULT_MISSING)),
                options={
                    name: reading.get(name) is True
                    if name in FLAGS
                    else _text_or_none(reading.get(name))
                    for name in OPTIONS
                },
                fingerprint=str(recorded["fingerprint"]),
                target=str(recorded["target"]),
                rows=int(recorded["rows"]),
                digest=document["encoding"]["sha256"],
                written_by=document.get("library_version"),
                verdicts=[Separability.from_dict(record) for record in document["verdicts"]],
            )
            if not claim.verdicts:
                raise ValueError("it does not contain a verdict")
            for label in (label for verdict in claim.verdicts for label in verdict.classes):
                if not isinstance(label, (str, int, float, NoneType)):
                    raise TypeError(f"{label!r} cannot be the label of a class")
        except (AttributeError, KeyError, TypeError, ValueError, ArithmeticError) as error:
            what = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
            raise damaged(path, what) from error
        return claim


def run(out: Output, options: CheckOptions) -> Exit:
    """Read both files, encode again, and prove every verdict again."""
    claim = Claim.read(options.certificate)
    # A column that is ignored may be absent; the fingerprint decides what is the same.
    table = read_table(
        options.data,
        missing=claim.missing,
        kinds=claim.kinds,
        skip_absent=True,
        target=claim.target,
        ignore_unusable=True,
        **claim.options | given_now(options),
    )
    same = table.fingerprint() == claim.fingerprint and claim.target in table.columns
    what = "the same as those" if same else f"NOT the same as the {claim.rows:,}"
    out.answer("data", f"{counted(table.n_rows, 'row')}, {what} of the certificate")
    proofs: list[dict[str, Any]] = []
    code, verdict = Exit.NEGATIVE, "not proved: these are not the data of the certificate"
    if same:
        code, verdict = _check_verdicts(out, options.certificate, claim, table, proofs)
    out.answer("verdict", verdict)
    out.document(
        code,
        {
            "certificate": options.certificate,
            "data": options.data,
            "same_data": same,
            "proofs": proofs,
            "verdict": verdict,
        },
    )
    return code


def _check_verdicts(
    out: Output, path: str, claim: Claim, table: Table, proofs: list[dict[str, Any]]
) -> tuple[Exit, str]:
    """Prove all verdicts, add the proofs to `proofs`, and return the exit code and a conclusion."""
    raw = encode_raw(table, claim.target)
    for alert in raw.encoder.alerts_:
        out.note(alert)
    same_numbers = raw.digest == claim.digest
    for verdict in claim.verdicts:
        proved, reason = _prove(raw, verdict)
        sides, status = asdict(verdict.sides), verdict.status
        proofs.append({**sides, "status": status, "proved": proved, "reason": reason})
        label = {True: "proved", False: "unproved", None: "undecided"}[proved]
        out.answer(label, f"{_describe_sides(verdict)}: {reason}")

    failed = sum(proof["proved"] is False for proof in proofs)
    proved_count = sum(proof["proved"] is True for proof in proofs)
    all_verdicts = counted(len(proofs), "verdict")
    if not failed:
        _require_all(path, raw, claim.verdicts)
    if any(verdict.margin is not None for verdict in claim.verdicts):
        out.note(
            "the width of the gap in the file is not part of the proof; separatrix separable "
            "computes it"
        )
    if failed:
        conclusion = f"does not hold: {failed} of {all_verdicts} could not be proved"
        if len(proofs) == 1:
            conclusion = "does not hold: the certificate proves nothing about these data"
        if not same_numbers:
            conclusion += (
                f"; separatrix {claim.written_by} or its libraries encoded the columns as other "
                f"numbers than this version ({separatrix.__version__}): run separatrix separable "
                "again"
            )
        return Exit.NEGATIVE, conclusion
    if not proved_count:
        return Exit.NEGATIVE, "not proved: the certificate decides nothing"
    every = "" if len(proofs) == 1 else f": {proved_count} of {all_verdicts}"
    return Exit.DONE, f"holds{every}, proved again from the data"


def _require_all(path: str, raw: RawTable, verdicts: list[Separability]) -> None:
    """Refuse a certificate that leaves a verdict out: the missing one may be what counts."""
    classes = [plain_label(c) for c in np.unique(raw.y)]
    wanted = {(a, b, False) for i, a in enumerate(classes) for b in classes[i + 1 :]}
    if len(classes) > 2:
        wanted |= {(None, c, True) for c in classes}
    found = [(v.sides.negative, v.sides.positive, v.sides.against_rest) for v in verdicts]
    if len(found) != len(wanted) or set(found) != wanted:
        raise damaged(
            path,
            f"it must contain {len(wanted)} verdicts, one for each pair of classes and each "
            f"class against the rest, and has {len(found)}",
        )


def _texts(values: Iterable[Any]) -> list[str]:
    texts = list(values)
    if isinstance(values, str) or not all(isinstance(text, str) for text in texts):
        raise TypeError("its options for reading the table are not texts")
    return texts


def _text_or_none(value: Any) -> str | None:
    return None if value is None else _texts([value])[0]


def _prove(raw: RawTable, verdict: Separability) -> tuple[bool | None, str]:
    """Whether a verdict was proved, None if undecided, and why or what, in terms of the file."""
    if verdict.status == "undecided":
        return None, "the time limit came first, so there is nothing to prove"
    try:
        proof = verdict.check(raw.X, raw.y)
    except DataError:
        raise
    except (IndexError, OverflowError, TypeError, ValueError) as error:
        return False, clause(Terminal(raw.names)(error))
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
        "a weighted mean of the rows of one class equals a weighted mean of the rows of the other"
        if verdict.fit_intercept
        else "the weighted sums of the rows of the two classes are equal"
    )
    return True, f"not separable: {counted(len(witness.rows), 'row')} prove it, because {meet}"


def _describe_sides(verdict: Separability) -> str:
    negative, positive = (quoted(c) for c in verdict.classes)
    if verdict.sides.against_rest:
        return f"{positive} against the rest"
    return f"{negative} and {positive}"
