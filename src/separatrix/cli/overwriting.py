"""What a command must not overwrite: its own inputs, and files that are no models."""

from __future__ import annotations

import glob
import os
import sys

import click

# What the name of a folder may end with.
_SEPARATORS = tuple(filter(None, (os.sep, os.altsep)))


def refuse_to_overwrite_inputs(
    output: str, *, data: str, model: str | None = None, option: str = "--output"
) -> None:
    """Refuse an output that is a file of the table DATA, or the file MODEL.

    Parameters
    ----------
    output : str
        The file that will be written.
    data : str
        The table as the user names it: a file, a pattern, a built-in name, or ``-``.
    model : str, optional
        The model file that is read.
    option : str
        What names the output.

    Raises
    ------
    click.UsageError
        If they are one file, under whatever names.
    """
    if not output:
        raise click.UsageError(f"{option} is empty: give the name of a file")
    if not os.path.exists(output):
        return
    if model is not None and _same(output, model):
        raise click.UsageError(
            f"{option} {output} is the model file, which would be lost: write to another file"
        )
    if data == "-":
        if _is_standard_input(output):
            raise click.UsageError(
                f"{option} {output} is the table on standard input, which would be lost: write to "
                "another file"
            )
        return
    for path in [data] if os.path.exists(data) else glob.glob(data, recursive=True):
        if _same(output, path):
            raise click.UsageError(
                f"{option} {output} is the table {path}, which would be lost: write to another file"
            )


def refuse_to_overwrite_others(output: str, *, models: bool) -> None:
    """Refuse to replace what nobody would give up for this output.

    Parameters
    ----------
    output : str
        The file that will be written.
    models : bool
        Whether it will hold a model. Then an existing file must be a model (or empty); otherwise
        it must be none.

    Raises
    ------
    click.UsageError
        If there is a file of the wrong sort.
    """
    from separatrix.persistence.model_file import looks_like_model

    if not os.path.isfile(output) or os.path.getsize(output) == 0:
        return
    if models and not looks_like_model(output):
        raise click.UsageError(
            f"--output {output} exists and is not a separatrix model, so it is not overwritten: "
            "remove it, or write to another file"
        )
    if not models and looks_like_model(output):
        raise click.UsageError(
            f"--output {output} is a separatrix model, so it is not overwritten by predictions: "
            "write to another file"
        )


def refuse_to_overwrite_all_but_certificates(output: str) -> None:
    """Refuse to replace a file by a certificate unless it is one (or empty).

    Raises
    ------
    click.UsageError
        If there is a file of another sort.
    """
    from separatrix.cli.certificates import looks_like_certificate

    if not os.path.isfile(output) or os.path.getsize(output) == 0:
        return
    if not looks_like_certificate(output):
        raise click.UsageError(
            f"--certificate {output} exists and is no certificate of separability, so it is not "
            "overwritten: remove it, or write to another file"
        )


def check_report(output: str, *, data: str, model: str, option: str) -> None:
    """Refuse what cannot become a report, or would overwrite something, before all else is done.

    Parameters
    ----------
    output : str
        The page; its document stands beside it.
    data : str
        The table as the user names it.
    model : str
        The model file that is read or written.
    option : str
        What names the page.

    Raises
    ------
    click.UsageError
        If a file would be lost, the page would have the name of its document, or something that
        reports need is not installed.
    """
    from separatrix.report.files import require_report_or_nothing, twin_of
    from separatrix.report.rendering import require_extras

    if not output:
        raise click.UsageError(f"{option} is empty: give the name of a file")
    if output == "-" or output.endswith(_SEPARATORS):
        raise click.UsageError(
            f"{option} {output} names no file, and a report is two: give the name of the page"
        )
    try:
        twin = twin_of(output)
        require_extras()
        for path in (output, twin):
            refuse_to_overwrite_inputs(path, data=data, model=model, option=option)
            if os.path.realpath(path) == os.path.realpath(model):
                raise ValueError(f"{path} is where the model is saved: write to another file")
            require_report_or_nothing(path)
    except (FileExistsError, ModuleNotFoundError, ValueError) as error:
        raise click.UsageError(f"{option}: {error}") from error


def _same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _is_standard_input(path: str) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(sys.stdin.fileno()))
    except (AttributeError, OSError, ValueError):  # a stream in memory has no file number
        return False
