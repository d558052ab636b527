"""The steps of ``separatrix verify``."""

from __future__ import annotations

from typing import Any

import separatrix
from separatrix.cli.commands.verify import VerifyOptions
from separatrix.cli.output import Exit, Output, exact_bar
from separatrix.cli.reading import (
    blocks_of_fit,
    held_out,
    load_for_tables,
    read_again,
    rows_of_fit,
)
from separatrix.cli.wording import TERMINAL, describe_certificate
from separatrix.exceptions import DataError, ModelFileError
from separatrix.messages import clause, counted, message_of
from separatrix.persistence.model_file import StoredModel
from separatrix.verification.comparison import contradiction
from separatrix.verification.exact import NotOffered


def run(out: Output, options: VerifyOptions) -> Exit:
    """Find the rows of the fit again, recompute the certificate and compare."""
    stored = load_for_tables(options.model)
    _require_claims(options, stored)
    rows: dict[str, Any]
    if stored.provenance["data"].get("in_passes"):
        data = blocks_of_fit(out, stored, options)
        count = data.n_rows + held_out(data).n_rows
        same_data = _compare_data(out, stored, count, data.fingerprint)
        rows = {"X": data}
    else:
        table = read_again(stored, options)
        same_data = _compare_data(out, stored, table.n_rows, table.fingerprint())
        X, y, _, weights = rows_of_fit(stored, table)
        rows = {"X": X, "y": y, "sample_weight": weights}
    out.answer("weights", _describe_digest(stored.digest, stored.format_version))
    claimed = stored.model.certificate_
    # Nothing was promised for other data, so there is nothing to advise.
    out.answer("stored", describe_certificate(stored.model, claimed, advice=same_data))
    recomputed, against = None, None
    try:
        with exact_bar(shown=options.rigorous and not out.quiet):
            recomputed = separatrix.verify(
                stored.model,
                **rows,
                tol=claimed.tol if options.tol is None else options.tol,
                time_limit=options.time_limit,
                rigorous=options.rigorous,
            )
    except NotOffered as error:
        raise DataError(message_of(error)) from error
    except ValueError as error:
        # A kernel machine names rows of its data, and these are not in them.
        against = clause(TERMINAL(error))
        out.answer("computed", f"nothing: {against}")
    else:
        against = contradiction(claimed, recomputed) if same_data else None
        out.answer("computed", describe_certificate(stored.model, recomputed, advice=same_data))
    code, verdict = _judge(same_data, against, recomputed)
    out.answer("verdict", verdict)
    out.document(
        code,
        {
            "model": options.model,
            "data": options.data,
            "same_data": same_data,
            "digest": stored.digest,
            "stored": claimed.to_dict(),
            "recomputed": None if recomputed is None else recomputed.to_dict(),
            "verdict": verdict,
        },
    )
    return code


def _require_claims(options: VerifyOptions, stored: StoredModel) -> None:
    """Refuse a model that claims nothing, or does not state for which rows."""
    if not hasattr(stored.model, "certificate_"):
        raise ModelFileError(
            f"'{options.model}' has no certificate, because it was not yet fitted to rows of every "
            "class"
        )
    # Without a split nothing is known of the data either.
    if "split" not in stored.provenance:
        raise ModelFileError(
            f"'{options.model}' does not record which rows were fitted: verify it from Python with "
            "separatrix.verify"
        )


def _compare_data(out: Output, stored: StoredModel, count: int, fingerprint: str) -> bool:
    """Whether these are the data of the fit, which is also printed."""
    recorded = stored.provenance["data"]
    same: bool = fingerprint == recorded["fingerprint"]
    what = "the same as those" if same else f"NOT the same as the {recorded['rows']:,}"
    out.answer("data", f"{counted(count, 'row')}, {what} of the fit")
    return same


def _describe_digest(digest: str | None, version: int) -> str:
    if digest is None:
        return (
            f"a file of format {version} has no digest of them: only the objective can show that "
            "they were changed"
        )
    return f"unchanged since they were saved, digest {digest[:16]}"


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
