"""A model as a text in another language, and the proof that it computes the same."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

import numpy as np

from separatrix.exceptions import DataError
from separatrix.exports import engines
from separatrix.exports.artefacts import Answers, Heading, Sample
from separatrix.exports.programs import program_of
from separatrix.exports.proof import EngineProof, Reference, golden, prove, sample_of
from separatrix.exports.rounding import DOUBLE, SINGLE
from separatrix.exports.samples import Rows, joined_rows
from separatrix.exports.sklearn_programs import answers_of, input_names
from separatrix.expressions import Affine, Prediction, Threshold
from separatrix.expressions.features import Parsed, Program
from separatrix.persistence.model_file import StoredModel, load_model, write_atomically
from separatrix.tables.column_parts import source_of
from separatrix.tables.table import Table, masked, missing_mask, number_column
from separatrix.tables.value_format import ValueFormat


@dataclass(frozen=True)
class Language:
    """A language that models are exported to.

    Attributes
    ----------
    module : str
        The module of its printer, in this package.
    suffix : str
        The suffix of its files.
    dialects : tuple of str
        The dialects, the first of which is the default.
    parsing : tuple of (str or None)
        The dialects that read numbers from texts as tables are read, by regular expressions; None
        where a language without dialects does.
    """

    module: str
    suffix: str
    dialects: tuple[str, ...] = ()
    parsing: tuple[str | None, ...] = ()


LANGUAGES = {
    "sql": Language(
        "sql",
        ".sql",
        ("duckdb", "postgres", "bigquery", "snowflake", "sqlserver", "sqlite"),
        ("duckdb", "postgres"),
    ),
    "c": Language("c", ".h"),
    "js": Language("javascript", ".mjs", parsing=(None,)),
    "onnx": Language("onnx", ".onnx"),
    "python": Language("python", ".py", parsing=(None,)),
}
"""The languages by their names on the command line."""


@dataclass(frozen=True, eq=False)
class Artefact:
    """A model in another language.

    Attributes
    ----------
    language : str
    dialect : str or None
    content : str or bytes
    proofs : tuple of EngineProof
        One for each engine that ran it; each is ``ok`` where all numbers were within their bounds.
    absent : tuple of str
        The engines of the language that are not installed here.
    remarks : tuple of str
        Remarks on the cells that its user has to know, a sentence each.
    """

    language: str
    dialect: str | None
    content: str | bytes
    proofs: tuple[EngineProof, ...] = ()
    absent: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether no engine contradicts the model."""
        return all(proof.ok for proof in self.proofs)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, whole or not at all."""
        write_atomically(path, self.content if isinstance(self.content, bytes)
                         else self.content.encode())  # fmt: skip

    def __str__(self) -> str:
        return self.content if isinstance(self.content, str) else f"{len(self.content):,} bytes"


def export(
    model: Any,
    to: str,
    *,
    dialect: str | None = None,
    encoder: Any = None,
    check: Any = None,
    name: str | None = None,
    table: str | None = None,
    keep: Sequence[str] | None = None,
    float32: bool = False,
) -> Artefact:
    """Print a fitted model in another language, run it there, and hold it to the model's answers.

    Every score is held to a bound on what rounding can do, and every class to equality where the
    score is beyond that bound. The rows are those of ``check``, and always a sample that is made
    to be hard: one unit in the last place on either side of a boundary, zeros of both signs, the
    smallest and the largest numbers, infinities, missing cells, unseen levels and quotes.

    Parameters
    ----------
    model : estimator, StoredModel or path
        A fitted model of this library; one of scikit-learn, or a pipeline that ends with one; or
        the name of a model file.
    to : {"sql", "c", "js", "onnx", "python"}
    dialect : str, optional
        The dialect of SQL: ``"duckdb"`` (the default), ``"postgres"``, ``"bigquery"``,
        ``"snowflake"``, ``"sqlserver"`` or ``"sqlite"``.
    encoder : Encoder, optional
        The encoder that turned the table of the fit into the model's features.
    check : Table, mapping of columns, or data frame, optional
        Further rows that the artefact is run on.
    name : str, optional
        The name of functions and files: letters, digits and underscores.
    table : str, optional
        The name of the table that SQL reads.
    keep : sequence of str, optional
        Columns of that table which SQL returns beside the answers; by default all.
    float32 : bool, default=False
        Compute in float32, for C on small controllers.

    Returns
    -------
    Artefact

    Raises
    ------
    Unprintable
        If the language cannot compute the same numbers; the sentence says why.
    DataError
        If ``check`` lacks a column.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LogisticRegression, export
    >>> X, y = load_iris(return_X_y=True)
    >>> made = export(LogisticRegression().fit(X, y), "python")
    >>> made.ok, [proof.wrong for proof in made.proofs]
    (True, [0])
    """
    if to not in LANGUAGES:
        raise ValueError(f"to must be one of {', '.join(LANGUAGES)}, not {to!r}.")
    language = LANGUAGES[to]
    if dialect is None and language.dialects:
        dialect = language.dialects[0]
    if dialect is not None and dialect not in language.dialects:
        known = ", ".join(language.dialects) or "none for this language"
        raise ValueError(f"dialect must be one of {known}, not {dialect!r}.")
    if float32 and to != "c":
        raise ValueError("float32=True is for C alone; the other languages compute in float64.")
    source = _Source.of(model, encoder)
    reference = source.reference(parsed=dialect in language.parsing)
    precision = SINGLE if float32 else DOUBLE
    rows = reference.hostile()
    own = golden(reference, rows, precision)
    options: dict[str, Any] = {}
    if to == "sql":
        options = {"dialect": dialect, "keep": keep}
        options |= {} if table is None else {"table": table}
    elif float32:
        options = {"float32": True}
    printer = import_module(f"separatrix.exports.{language.module}")
    heading = Heading(_identifier(name or source.name), source.lines())
    content = printer.printed(reference.program, heading, own, **options)
    # Beside the rows that the golden ones were taken from, others of their kind.
    rows = joined_rows(reference.program, rows, reference.special(seed=1))
    if check is not None:
        rows = joined_rows(reference.program, _cells(reference.program, check), rows)
    sample = sample_of(reference, rows, precision)
    if table is not None or keep is not None:
        # The engines have a table of their own.
        options |= {"table": None, "keep": None}
        run = printer.printed(reference.program, heading, own, **options)
    else:
        run = content
    proofs, absent = _proved(to, dialect, run, reference.program, sample)
    return Artefact(to, dialect, content, proofs, absent, reference.program.remarks)


def _proved(
    to: str, dialect: str | None, content: Any, program: Program, sample: Sample
) -> tuple[tuple[EngineProof, ...], tuple[str, ...]]:
    proofs, absent = [], []
    for engine in engines.of_language(to, dialect):
        version = engine.version()
        if version is None:
            absent.append(engine.name)
        else:
            proofs.append(prove(engine, version, content, program, sample))
    return tuple(proofs), tuple(absent)


def _identifier(name: str) -> str:
    plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "model"
    return plain if not plain[0].isdigit() else f"model_{plain}"


@dataclass(frozen=True, eq=False)
class _Source:
    """A model with what is known of its origin."""

    model: Any
    encoder: Any = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    digest: str | None = None
    name: str = "model"

    @classmethod
    def of(cls, model: Any, encoder: Any) -> _Source:
        name = "model"
        if isinstance(model, (str, os.PathLike)):
            name = os.path.basename(os.fspath(model)).split(".")[0] or name
            model = load_model(model)
        if isinstance(model, StoredModel):
            return cls(model.model, model.encoder, model.provenance, model.digest, name)
        return cls(model, encoder)

    def lines(self) -> tuple[str, ...]:
        """The lines above the artefact."""
        from separatrix import __version__

        kind = type(self.model)
        lines = [f"model: {kind.__module__.split('.')[0]} {kind.__name__}"]
        formula = getattr(self.model, "objective_formula_", None)
        lines += [f"fit: {formula}"] if formula else []
        certificate = getattr(self.model, "certificate_", None)
        lines += [f"certificate: {certificate}"] if certificate is not None else []
        created = self.provenance.get("created")
        lines += [f"fitted: {created}"] if created else []
        lines += [f"model file: SHA-256 {self.digest}"] if self.digest else []
        return (*lines, f"exported by: separatrix {__version__}")

    def reference(self, *, parsed: bool = False) -> Reference:
        """The program of the model, and the model's own answers."""
        program = program_of(self.model, self.encoder, parsed=parsed)
        decided = _with_threshold(program.prediction, self.provenance, self.model)
        program = replace(program, prediction=decided)
        if not hasattr(self.model, "_prediction"):

            def predicted(rows: Rows) -> Answers:
                return answers_of(self.model, program, rows)

            return Reference(program, predicted, predicted)
        return Reference(program, lambda rows: self._encoded(program, rows))

    def _encoded(self, program: Program, rows: Rows) -> Any:
        matrix = self._whole(program, rows)
        return matrix if program.kept is None else matrix[:, program.kept]

    def _whole(self, program: Program, rows: Rows) -> Any:
        """The matrix of the model, with the columns that have no weight."""
        if self.encoder is not None:
            return self.encoder.transform(_table(program, self.encoder, rows))
        # Columns of weight zero are not read, and may hold anything.
        nothing = np.zeros(len(rows[program.cells[0].column]))
        names = input_names([], self.model)
        return np.column_stack([np.asarray(rows.get(n, nothing), dtype=float) for n in names])


def _with_threshold(
    prediction: Prediction, provenance: Mapping[str, Any], model: Any
) -> Prediction:
    """The trees with the threshold that a model file states for its positive class."""
    from separatrix.assessment.decision import PROBABILITY, Decision

    decision = Decision.of(provenance, model)
    if decision is None:
        return prediction
    positive = prediction.classes.index(decision.positive)
    node = prediction.probabilities if decision.scale == PROBABILITY else prediction.scores
    assert node is not None
    direction = np.zeros((1, node.n_columns))
    if decision.scale == PROBABILITY:
        direction[0, positive] = 1.0
    else:
        direction[0, 0] = 1.0 if positive == 1 else -1.0
    # The sign of a difference of two float64 is exact: at or above the threshold is positive.
    sign = 1.0 if positive == 1 else -1.0
    above = Affine(node, sign * direction, np.array([-sign * decision.threshold]))
    return replace(prediction, label=Threshold(above, inclusive=positive == 1))


def _table(program: Program, encoder: Any, rows: Rows) -> Table:
    """Rows as a table that an encoder reads."""
    columns: dict[str, Any] = {}
    kinds: dict[str, str] = {}
    dates = []
    n = 0
    for cell in program.cells:
        values = rows[cell.column]
        n = len(values)
        if cell.kind == "text":
            marks = encoder.missing_marks(cell.column)
            gone = np.array([value is None or value in marks for value in values], dtype=bool)
            columns[cell.column] = masked(np.array(values, dtype=object), gone)
            kinds[cell.column] = encoder.kinds_.get(cell.column, "category")
        else:
            if isinstance(cell, Parsed):
                values = _read(values, encoder.spellings_[cell.column])
            numbers = np.asarray(values, dtype=np.float64)
            columns[cell.column] = number_column(numbers, np.isnan(numbers))
            kinds[cell.column] = "number"
            dates += [cell.column] if cell.kind == "date" else []
    # Columns that have no weight, and those that are given by their parts, may be missing.
    for name in encoder.kinds_:
        source = source_of(name, encoder.spellings_) or name
        if source not in columns:
            gone = np.ones(n, dtype=bool)
            columns[source] = masked(np.full(n, "", dtype=object), gone)
            kinds[source] = "category"
    return Table(tuple(columns), columns, kinds, n, "the sample", dates=frozenset(dates))


def _read(cells: Sequence[Any], spelling: ValueFormat) -> list[float | None]:
    """Numbers, and those that texts of a column spell."""
    return [spelling.number(cell) if isinstance(cell, str) else cell for cell in cells]


def _cells(program: Program, data: Any) -> Rows:
    """The cells of a program in a table, in columns, or in a data frame."""
    columns = data.columns if isinstance(data, Table) else data
    rows: Rows = {}
    for cell in program.cells:
        try:
            column = columns[cell.column]
        except (KeyError, IndexError):
            raise DataError(
                f"the data to check with lack the column '{cell.column}', which the model reads"
            ) from None
        if isinstance(data, Table):
            gone, values = missing_mask(column), np.ma.getdata(column).tolist()
        else:
            values = np.asarray(column, dtype=object).tolist()
            # Only pandas knows its own marks, which are not even equal to themselves or not.
            gone = (
                column.isna().tolist()
                if hasattr(column, "isna")
                else [value is None or value != value for value in values]
            )
        if cell.kind == "text":
            rows[cell.column] = [None if g else str(v) for v, g in zip(values, gone, strict=True)]
        else:
            try:
                rows[cell.column] = [
                    np.nan
                    if g
                    else v
                    if isinstance(cell, Parsed) and isinstance(v, str)
                    else float(v)
                    for v, g in zip(values, gone, strict=True)
                ]
            except (TypeError, ValueError) as error:
                raise DataError(
                    f"the column '{cell.column}' of the data to check with holds something that is "
                    f"no number, where the model reads a {cell.kind}: {error}"
                ) from error
    return rows
