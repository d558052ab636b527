"""What ``separatrix verify`` does, step by step."""

from __future__ import annotations

from typing import Any

import separatrix
from separatrix.assessment.rows import split_of_fit, take_labels
from separatrix.cli.commands.verify import contradiction
from separatrix.cli.describing import describe_certificate
from separatrix.cli.output import Exit, Output
from separatrix.cli.progress import exact_bar
from separatrix.cli.reading import (
    load_for_tables,
    read_training_table,
)
from separatrix.cli.wording import TERMINAL
from separatrix.exceptions import DataError, ModelFileError
from separatrix.messages import counted, said_by
from separatrix.verification.exact import NotOffered


def verify_file(
    out: Output,
    path: str,
    data: str,
    *,
    tol: float | None,
    time_limit: float | None,
    rigorous: bool = False,
) -> Exit:
    """Find the rows of the fit again, recompute the certificate and compare."""
    stored = load_for_tables(path)
    provenance = stored.provenance
    if not hasattr(stored.model, "certificate_"):
        raise ModelFileError(
            f"'{path}' holds no certificate, because its fit waits for rows of some class"
        )
    try:
        config, _ = provenance["config"], provenance["split"]
        fingerprint, target = provenance["data"]["fingerprint"], provenance["target"]
    except KeyError as error:
        raise ModelFileError(
            f"'{path}' does not say how its rows were chosen: verify it from Python with "
            "separatrix.verify"
        ) from error

    table = read_training_table({**config, "data": data})
    same_data = table.fingerprint() == fingerprint
    if same_data:
        out.answer("data", f"{counted(table.n_rows, 'row')}, the same as those of the fit")
    else:
        out.answer(
            "data",
            f"{counted(table.n_rows, 'row')}, NOT the same as the "
            f"{provenance['data']['rows']:,} of the fit",
        )
    features, y = take_labels(stored, table, target)
    rows = split_of_fit(stored, y)
    X = stored.encoder.transform(features.select(rows))

    out.answer("weights", _tell_digest(stored.digest, stored.format_version))
    claimed = stored.model.certificate_
    # Of other data nothing was promised, so there is nothing to advise.
    out.answer("stored", describe_certificate(stored.model, claimed, advice=same_data))
    recomputed, against = None, None
    try:
        with exact_bar(shown=rigorous and not out.quiet):
            recomputed = separatrix.verify(
                stored.model,
                X,
                y[rows],
                tol=claimed.tol if tol is None else tol,
                time_limit=time_limit,
                rigorous=rigorous,
            )
    except NotOffered as error:
        raise DataError(said_by(error)) from error
    except ValueError as error:
        # A kernel machine names rows of its data, and these are not in them.
        against = " ".join(TERMINAL(said_by(error)).split()).rstrip(".")
        out.answer("computed", f"nothing: {against}")
    else:
        against = contradiction(claimed, recomputed) if same_data else None
        out.answer("computed", describe_certificate(stored.model, recomputed, advice=same_data))
    code, verdict = _judge(same_data, against, recomputed)
    out.answer("verdict", verdict)
    out.document(
        code,
        {
            "model": path,
            "data": data,
            "same_data": same_data,
            "digest": stored.digest,
            "stored": claimed.to_dict(),
            "recomputed": None if recomputed is None else recomputed.to_dict(),
            "verdict": verdict,
        },
    )
    return code


def _tell_digest(digest: str | None, version: int) -> str:
    if digest is None:
        return (
            f"a file of format {version} has no digest of them: whether they are those that were "
            "fitted is told by the objective alone"
        )
    return f"all that was fitted is as it was saved, digest {digest[:16]}"


def _judge(same_data: bool, against: str | None, recomputed: Any) -> tuple[Exit, str]:
    if not same_data:
        return Exit.NEGATIVE, "not verified: these are not the data of the fit"
    if against:
        return Exit.NEGATIVE, f"contradicted: {against}"
    if hasattr(recomputed, "equations"):
        what = f"to within {recomputed.tol:g}"
        if recomputed.relative_residual <= recomputed.tol:
            return Exit.DONE, f"verified: {recomputed.equations} hold {what}"
        return Exit.ABOVE_TOL, f"not proved: {recomputed.equations} do not hold {what}"
    if recomputed.relative_gap <= recomputed.tol:
        how = "proved" if not hasattr(recomputed, "interval") else "proved in exact arithmetic"
        return Exit.DONE, f"verified: {how} to be within {recomputed.tol:g} of the best possible"
    return Exit.ABOVE_TOL, f"not proved to be within {recomputed.tol:g} of the best possible"
