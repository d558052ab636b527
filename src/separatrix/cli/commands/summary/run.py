"""The steps of ``separatrix summary``."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.assessment.decision import positive_of
from separatrix.assessment.records import model_name
from separatrix.assessment.rows import labelled
from separatrix.assessment.weights import sign_towards
from separatrix.cli.commands.summary import SummaryOptions
from separatrix.cli.output import Exit, Output, terminal_width
from separatrix.cli.reading import (
    encode,
    load_for_tables,
    read_again,
    read_like_training,
    rows_of_fit,
)
from separatrix.cli.wording import TERMINAL
from separatrix.exceptions import DataError
from separatrix.messages import Message, clause, message_of
from separatrix.persistence.model_file import StoredModel
from separatrix.tables import Table
from separatrix.tables.curves import Curve
from separatrix.tables.table import NoSuchColumn, missing_mask, quote

# The most letters in a line, as in the remarks of the summary itself.
_WIDTH = 100
# The most rows that a refusal names.
_ALONE = 3


def run(out: Output, options: SummaryOptions) -> Exit:
    """Print the summary of a model file, on the rows of the fit where they are given."""
    path, data = options.model, options.data
    stored = load_for_tables(path)
    model = stored.model
    if not hasattr(model, "summary"):
        raise DataError(
            f"'{path}' holds another model ({model_name(model)}): only least squares of a quantity "
            "and logistic regression have standard errors; fit --model lstsq, poly, or logistic "
            "--penalty none"
        )
    # So that the table, and messages about a column, have the names of the file.
    model.feature_names_in_ = np.array(stored.encoder.feature_names_, dtype=object)
    rows, clusters = (None, None) if data is None else _rows(out, stored, options)
    try:
        with warnings.catch_warnings():
            # Matrices of an encoder are its own; that they carry no names is no surprise.
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            weighted = {} if rows is None or rows[3] is None else {"sample_weight": rows[3]}
            found = model.summary(
                *(rows or ())[:2],
                **weighted,
                **({} if clusters is None else {"clusters": clusters}),
                robust=options.robust,
                level=options.level,
            )
    except ValueError as error:
        cause = message_of(error)
        message = clause(TERMINAL(cause))
        if rows is not None and isinstance(cause, Message) and cause.code == "leverage_one":
            X, _, numbers, _ = rows
            message += _rows_alone(X, numbers, stored.encoder.feature_names_)
        raise DataError(f"'{path}': {message}") from error
    positive = positive_of(stored.provenance, model)
    if positive is not None and sign_towards(model.classes_.tolist(), positive) < 0.0:
        found = found.of_other_class(model.classes_.tolist())
    target = stored.provenance.get("target")
    if target is not None:
        # For classes the summary names the one whose odds are meant.
        found = replace(found, target=f"{target}: {found.target}" if found.target else str(target))
    width = min(_WIDTH, terminal_width())
    for line in found.in_width(width).splitlines():
        out.text(line)
    for line in describe_units(stored.encoder):
        for piece in textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False):
            out.text(piece)
    out.document(
        Exit.DONE,
        {
            "model": path,
            "data": data,
            "target": target,
            "standardised": stored.encoder.standardise,
            "references": stored.encoder.references_,
            "left_out": stored.encoder.dependent_,
            "summary": found.to_dict(),
        },
    )
    return Exit.DONE


def _rows_alone(X: Any, numbers: np.ndarray, names: Sequence[str]) -> str:
    """The rows that alone fill a column, in words: they are fitted whatever their target."""
    filled = sparse.csc_matrix(X)
    filled.eliminate_zeros()
    alone = np.flatnonzero(np.diff(filled.indptr) == 1)
    if not len(alone):
        return ""
    rows = [
        f"row {numbers[filled.indices[filled.indptr[j]]]:,} alone has {quote(names[j])}"
        for j in alone[:_ALONE].tolist()
    ]
    more = f" and {len(alone) - _ALONE:,} more" if len(alone) > _ALONE else ""
    return f" ({', '.join(rows)}{more})"


def _rows(
    out: Output, stored: StoredModel, options: SummaryOptions
) -> tuple[tuple[Any, np.ndarray, np.ndarray, np.ndarray | None], np.ndarray | None]:
    """The rows that a model was fitted to, encoded, their labels, numbers and weights; clusters."""
    provenance, data = stored.provenance, options.data or ""
    if "split" not in provenance or "config" not in provenance:
        # Saved from Python, with an encoder: then the table is taken to be that of the fit.
        target = provenance.get("target")
        if target is None:
            raise DataError(
                f"'{options.model}' does not record the name of its target, so {data} cannot be "
                "used"
            )
        table = read_like_training(stored, options)
        given = labelled(stored, table, target)
        numbers = np.arange(1, len(given.y) + 1)
        clusters = _clusters(table, options.cluster, numbers)
        X = encode(out, stored, given.features)
        return (X, given.y, numbers, given.roles.weights), clusters
    table = read_again(stored, options)
    if table.fingerprint() != provenance["data"]["fingerprint"]:
        raise DataError(
            f"{data} is not the table of the fit, and standard errors need the rows of the fit: "
            f"give {provenance['data'].get('source', 'it')} as it was"
        )
    rows, cluster = rows_of_fit(stored, table), options.cluster
    if cluster is not None and cluster not in table.columns:
        # The fit may well have left it out: it names rows.
        table = read_again(stored, options, keep=cluster)
    return rows, _clusters(table, cluster, rows[2])


def _clusters(table: Table, name: str | None, numbers: np.ndarray) -> np.ndarray | None:
    """The clusters of rows by their numbers, of the column that names them."""
    if name is None:
        return None
    if name not in table.columns:
        raise NoSuchColumn(name, table.names, table.source)
    column = table.columns[name]
    gone = missing_mask(column)[numbers - 1]
    if gone.any():
        raise DataError(
            f"--cluster {name}: {table.place(name, int(numbers[np.argmax(gone)]) - 1)} is missing; "
            "fill it in, or fit without the row"
        )
    found: np.ndarray = np.ma.getdata(column)[numbers - 1]
    return found


def describe_units(encoder: Any) -> list[str]:
    """The unit of each sort of column, in lines."""
    kinds = encoder.kinds_
    lines = []
    if "number" in kinds.values():
        lines.append(
            "Coefficients of numbers are per standard deviation of their columns."
            if encoder.standardise
            else "Coefficients of numbers are per unit of their columns."
        )
    if not encoder.standardise:
        lines += [
            f"Column {quote(name)} is in years since {day}."
            for name, day in encoder.origins_.items()
        ]
    if any(isinstance(one, Curve) and one.function != "log" for one in encoder.column_encodings):
        lines.append(
            "The features of a spline or polynomial are uncorrelated and per standard deviation: "
            "[1] is the straight line, and each other one is what it adds to those before it."
        )
    if encoder.references_:
        levels = [quote(f"{name}={level}") for name, level in encoder.references_.items()]
        lines.append("Levels are compared with " + ", ".join(levels) + ".")
    if encoder.dependent_:
        gone = ", ".join(map(quote, encoder.dependent_))
        lines.append(f"Features left out, because they depend on others: {gone}.")
    if not encoder.references_ and "category" in kinds.values():
        lines.append("Every level of a category has a coefficient, so none is the reference.")
    return lines
