"""A program as one query with a common table expression for each stage, and a query that proves it.

The stages carry the row of the source along; what a user reads stands in the last ``SELECT``. The
proof is the same query over golden rows that are written out in it.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from separatrix.exports.artefacts import Heading, Sample, Unprintable
from separatrix.exports.dialects import DIALECTS, Dialect, plain_line
from separatrix.exports.queries import Query, case
from separatrix.expressions.features import Cell, Parsed, Program

_END, _PROOF = ";\n\n", "-- proof_of_"


def printed(
    program: Program,
    heading: Heading,
    sample: Sample,
    *,
    dialect: str = "duckdb",
    table: str | None = None,
    keep: Sequence[str] | None = None,
) -> str:
    """The query of a program, and behind it the query that proves it.

    Parameters
    ----------
    program : Program
    heading : Heading
    sample : Sample
        Rows that the proof holds.
    dialect : {"duckdb", "postgres", "bigquery", "snowflake", "sqlserver", "sqlite"}
    table : str, optional
        The source of the rows: a name, by default ``data``, which is quoted where it has to be; a
        query; or what the engine reads behind ``FROM``, which begins with a quote, a bracket, or
        the name of a function and its bracket.
    keep : sequence of str, optional
        Columns of it that stand beside the answers; by default all, and where a dialect has no way
        to carry them all, those that are read.

    Returns
    -------
    str

    Raises
    ------
    Unprintable
        If the engine cannot compute the same.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.exports.artefacts import Answers, Heading, Sample
    >>> from separatrix.exports.sql import printed
    >>> from separatrix.expressions import Affine, Features, Prediction
    >>> from separatrix.expressions.features import Cell, Program
    >>> size = Cell("size")
    >>> tree = Affine(Features(1), np.array([[2.0]]), np.array([0.5]))
    >>> program = Program((size,), (size,), ("size",), Prediction(tree))
    >>> golden = Sample({"size": [1.0]}, Answers(np.array([[2.5]])), np.array([[1e-15]]))
    >>> text = printed(program, Heading("price"), golden, table="houses")
    >>> print(text[text.index("sx_score") : text.index(")\\nSELECT")])
    sx_score AS (
      SELECT
        previous.*,
        CASE WHEN usable_1 = 1 THEN 0.5e0
          + 2.0e0 * feature_1 END AS score_1
      FROM sx_usable AS previous
    """
    own, table = DIALECTS[dialect], table or "data"
    _require_names(program, own)
    whole = keep is None and bool(own.whole_row)
    kept = list(dict.fromkeys(keep or ()))
    if keep is None and not whole:
        kept = [cell.column for cell in program.cells]
    query = Query(program, own, _source(table, own), kept, whole=whole)
    names = {*kept, *(cell.column for cell in program.cells)}
    answers = [f"{text} AS {own.identifier(name)}" for text, name in _outputs(query, names)]
    beside = "all columns of each row" if whole else ", ".join(kept) or "nothing else"
    lines = [*heading.lines, "", *_sentences(program, own, table, beside)]
    wrapped = (part for line in lines for part in textwrap.wrap(plain_line(line), 96) or [""])
    comments = "\n".join(f"-- {line}".rstrip() for line in wrapped)
    return (
        f"{comments}\n{query.selected([*query.row, *answers])}{_END}"
        f"{_PROOF}{plain_line(heading.name)}: the answers for the golden rows below.\n"
        "-- worst_share is the largest difference from what the model answers, as a share of the\n"
        "-- bound on it: it is to be at most 1, and no label is to be wrong.\n"
        f"{_proof(program, sample, own)};\n"
    )


def statements(text: str) -> tuple[str, str]:
    """The two queries of a printed text: of the table, and of the proof."""
    # Not by a search alone: a name or a literal may hold the same words.
    for found in re.finditer(r"\"[^\"]*\"|'[^']*'|--[^\n]*", text):
        if found[0].startswith(_PROOF) and text[: found.start()].endswith(_END):
            return text[: found.start()].removesuffix(_END), text[found.start() :].rstrip(";\n")
    raise ValueError("The text has no proof of its own.")


def _require_names(program: Program, dialect: Dialect) -> None:
    """Refuse two columns that the engine takes for one."""
    known: set[bytes] = set()
    for cell in program.cells:
        # PostgreSQL cuts a longer name, and finds the column by what is left.
        name = cell.column.casefold() if dialect.folds else cell.column
        key = name.encode("utf-8", "replace")[: dialect.name_bytes]
        if key in known:
            raise Unprintable(
                f"{dialect.title} takes {cell.column!r} and another column for one; rename it "
                "before the fit."
            )
        known.add(key)


def _source(table: str, dialect: Dialect) -> str:
    """The source of rows: a query in brackets, SQL as it is, or a name, quoted if need be."""
    table = table.strip(" \n;")
    if re.match(r"(select|with)\b", table, re.IGNORECASE):
        return f"(\n{table}\n)"
    if re.match(r"""[("'`[]|[a-z_][\w.]*\(""", table, re.IGNORECASE | re.ASCII):
        return table
    # Plain names are found whatever their case; PostgreSQL reads user as a function.
    plain = r"(?!(?:all|case|end|from|group|order|table|user|values)$)[a-z_]\w*"
    return ".".join(
        part if re.fullmatch(plain, part, re.ASCII | re.IGNORECASE) else dialect.identifier(part)
        for part in table.split(".")
    )


def _sentences(program: Program, dialect: Dialect, table: str, beside: str) -> Iterator[str]:
    columns = ", ".join(f"{cell.column} ({cell.kind})" for cell in program.cells)
    yield f"SQL for {dialect.title}, which reads the columns {columns} of {table}."
    yield f"Beside its answers stand: {beside}. CREATE VIEW name AS before WITH keeps the query."
    yield ""
    yield (
        "A row has NULL for every answer if one of its features is missing, not a number, infinite "
        "or so large that a score could overflow. NULL and NaN are a missing cell; so is a text "
        "where a number is read, unless it is the text of a number, or true or false. What a "
        "missing cell and an unseen level count as stands in sx_feature. A missing column is an "
        "error."
    )
    yield from program.remarks
    if dialect.strict:
        yield (
            f"{dialect.title} fails a query for one number that is out of range. So numbers are "
            "held within it, and those whose products are too close to zero count as zero."
        )
    if dialect.needs:
        yield dialect.needs


def _outputs(query: Query, taken: set[str]) -> list[tuple[str, str]]:
    """The answers, each with the name of its column, which no other column has."""
    prediction, dialect = query.program.prediction, query.dialect
    classes, values = prediction.classes, query.of(prediction.scores)
    found: list[tuple[str, str, object]] = []
    if prediction.label is None:
        found += [
            (own, "prediction", k if len(values) > 1 else None) for k, own in enumerate(values)
        ]
    else:
        labels = query.of(prediction.label)
        several = len(labels) > 1
        cases = [f"WHEN {k} THEN {dialect.value(one)}" for k, one in enumerate(classes)]
        lines = "\n    ".join(["", *cases])
        found += [
            (own if several else f"CASE {own}{lines}\n  END", "prediction", c if several else None)
            for own, c in zip(labels, classes, strict=False)
        ]
        whose = classes if len(values) == len(classes) else range(len(values))
        found += [
            (own, "score", None if len(values) == 1 else c)
            for own, c in zip(values, whose, strict=True)
        ]
    if prediction.probabilities is not None:
        columns = query.of(prediction.probabilities)
        found += [(own, "probability", c) for own, c in zip(columns, classes, strict=True)]
    names = {name.casefold() for name in taken}
    out = []
    for place, (text, stem, of) in enumerate(found):
        name = stem if of is None else plain_line(f"{stem}_{of}")
        if len(name.encode()) > dialect.name_bytes or not re.fullmatch(dialect.names, name):
            name = f"{stem}_{place}"
        while name.casefold() in names:
            name += "_"
        names.add(name.casefold())
        out.append((text, name))
    return out


# --- the proof ------------------------------------------------------------------------------------


def _proof(program: Program, sample: Sample, dialect: Dialect) -> str:
    """The same stages over golden rows, and the differences of their answers from the expected."""
    trees, expected, number = program.prediction, sample.expected, dialect.float64
    wanted, bounds = sample.side_by_side()
    labels = np.zeros((sample.n_rows, 0), dtype=int)
    if expected.labels is not None:
        labels = expected.labels.reshape(sample.n_rows, -1)
    rows = []
    for i in range(sample.n_rows):
        cells = [
            literal(dialect, cell, value)
            for cell, value in zip(program.cells, sample.cells(program, i), strict=True)
        ]
        numbers = [number(x) for x in (*wanted[i], *np.minimum(np.nan_to_num(bounds[i]), 1e290))]
        decided = [str(own if sample.decided[i] else -1) for own in labels[i]]
        rows.append([*cells, *numbers, *decided])
    n, n_labels = wanted.shape[1], labels.shape[1]
    names = [f"wanted_{k}" for k in range(n)] + [f"bound_{k}" for k in range(n)]
    names += [f"label_{k}" for k in range(n_labels)]
    query = Query(program, dialect, "sx_golden", names)
    columns = [*(cell.column for cell in program.cells), *names]
    query.parts.insert(0, dialect.table("sx_golden", [*map(dialect.identifier, columns)], rows))
    found = list(query.of(trees.scores))
    found += query.of(trees.probabilities) if expected.probabilities is not None else []
    gaps = query.stage("gap", [f"abs({own} - kept_{k})" for k, own in enumerate(found, 1)])
    shares = []
    for k, (own, gap) in enumerate(zip(found, gaps, strict=True), 1):
        bound, zero = f"kept_{n + k}", number(0)
        shares.append(
            case(
                [
                    f"WHEN {own} IS NULL AND kept_{k} IS NULL THEN {zero}",
                    f"WHEN {gap} <= {bound} AND {gap} < {number(1e-200)} THEN {zero}",
                    f"WHEN {gap} <= {bound} * {number(1e6)} THEN {gap} / {bound}",
                    f"ELSE {number(1e300)}",
                ]
            )
        )
    shares = query.stage("share", shares)
    wrong = [
        f"CASE WHEN kept_{2 * n + k} >= 0 AND coalesce({own}, -1) <> kept_{2 * n + k}"
        " THEN 1 ELSE 0 END"
        for k, own in enumerate(query.of(trees.label) if n_labels else [], 1)
    ]
    (mistakes,) = query.stage("mistakes", [" + ".join(wrong) or "0"])
    return query.selected(
        [
            f"max({dialect.maximum(shares)}) AS worst_share",
            "count(*) AS n_rows",
            f"sum({mistakes}) AS wrong_labels",
        ]
    )


def literal(dialect: Dialect, cell: Cell, value: Any) -> str:
    """The value of a cell, as a column of its kind holds it."""
    if isinstance(cell, Parsed):
        value = cell.spelled(value)
    if cell.kind == "text" or isinstance(cell, Parsed):
        return f"CAST(NULL AS {dialect.texts})" if value is None else dialect.string(value)
    return dialect.moment(value) if cell.kind == "date" else dialect.float64(value)
