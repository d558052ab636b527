"""The work of ``separatrix export``."""

from __future__ import annotations

from pathlib import Path

from separatrix.cli.commands.export import ExportOptions
from separatrix.cli.output import Exit, Output, print_message, write
from separatrix.cli.reading import load_for_tables, read_like_training
from separatrix.exceptions import DataError
from separatrix.exports.artefacts import Unprintable
from separatrix.exports.export import Artefact, export
from separatrix.exports.proof import EngineProof
from separatrix.messages import clause, counted, join
from separatrix.persistence.model_file import check_writable
from separatrix.tables import Table


def run(out: Output, options: ExportOptions) -> Exit:
    """Read a model, print it in another language, run that, and report how near it came."""
    if options.output is not None:
        check_writable(options.output)
    check: Table | None = None
    if options.check is not None:
        check = read_like_training(load_for_tables(options.model), options)
    keep = [name for given in options.keep for name in given.split(",")]
    try:
        made = export(
            options.model,
            options.to,
            dialect=options.dialect,
            check=check,
            name=options.name or (options.output and Path(options.output).name.split(".")[0]),
            table=options.table,
            keep=None if not keep or keep == ["all"] else keep,
            float32=options.float32,
        )
    except Unprintable as error:
        raise DataError(
            f"'{options.model}' has no export to {options.to}: {clause(str(error))}"
        ) from error
    code = Exit.DONE if made.ok else Exit.NEGATIVE
    if made.ok:
        if options.output is not None:
            made.save(options.output)
        elif isinstance(made.content, str):
            write(made.content)
    _describe(out, options, made)
    out.document(
        code,
        {
            "model": options.model,
            "to": made.language,
            "dialect": made.dialect,
            "output": options.output if made.ok else None,
            "remarks": list(made.remarks),
            "proofs": [proof.record() for proof in made.proofs],
            "absent": list(made.absent),
        },
    )
    return code


def _describe(out: Output, options: ExportOptions, made: Artefact) -> None:
    """Report what proves the artefact: on stderr where it is printed on stdout itself."""

    def answer(label: str, text: str) -> None:
        if options.output is None and made.ok:
            if not out.quiet:
                print_message(label, text)
        elif made.ok:
            out.report(label, text)
        else:
            out.answer(label, text)

    for remark in made.remarks:
        out.note(remark)
    for proof in made.proofs:
        answer("proof" if proof.ok else "refuted", _sentence(proof))
    if made.absent:
        answer(
            "not run",
            f"{join(made.absent)}: not installed here; the file proves itself in its engine",
        )
    elif not made.proofs:
        answer("not run", "no engine here runs this dialect; the file proves itself in its engine")
    if options.output is not None and made.ok:
        answer("written", options.output)


def _sentence(proof: EngineProof) -> str:
    text = f"{proof.engine} {proof.version}, {counted(proof.rows, 'row')}: "
    if proof.ok:
        if proof.classes:
            text += "every class is the model's"
        if proof.undecided:
            text += f" but for {proof.undecided:,} nearer to a tie than rounding can tell"
        text += ", and no" if proof.classes else "no"
        text += f" number is off by more than {proof.worst:.2g} of its bound"
        return f"{text}; {proof.own:.2g} by the proof that the file carries"
    if proof.wrong:
        text += f"{counted(proof.wrong, 'row')} differ, the first is number {proof.first_wrong}; "
    text += f"the worst number is off by {proof.worst:.3g} times its bound, "
    return f"{text}and by {proof.own:.3g} times in the file's own proof; nothing is written"
