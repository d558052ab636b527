"""A program as one query: a common table expression for each stage, and a query that proves it.

Every node of a tree becomes columns of a stage that reads the stage before it. The stages carry
the row of the source along, and what a user reads at the end stands in the last ``SELECT`` alone.

A kernel machine, and words, are joined to their rows by the values of these, for no column of a
table need tell two rows apart.
"""

from __future__ import annotations

import itertools
import math
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import singledispatch, singledispatchmethod
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from separatrix.data.design import dense
from separatrix.exports.artefacts import Heading, Sample, Unprintable
from separatrix.exports.dialects import DIALECTS, Dialect, plain_line
from separatrix.expressions import answers, features, scores
from separatrix.expressions.base import Expression, Features
from separatrix.expressions.features import Cell, Number, Program, Words
from separatrix.kernels import functions as kernels
from separatrix.tables.column_encodings import TEXT_OPTIONS

__all__ = ["MOST_VALUES", "printed", "statements"]

MOST_VALUES = 20_000
"""Numbers of the support vectors that a query may hold: half a megabyte of text."""

_MOST = float(np.finfo(np.float64).max)
_SMALLEST = 2.0**-1074
# Beyond these the exponential function leaves the normal float64.
_LEAST_EXPONENT, _LARGEST_EXPONENT = -708.0, 709.0
# Values of a kernel below its exponential are nothing beside others, and can be multiplied.
_LEAST_KERNEL = -600.0
# Terms of a sum within one pair of parentheses: engines limit how deep an expression is.
_TERMS = 100
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
        The name of the table that the rows are read from, or a query; by default ``data``.
    keep : sequence of str, optional
        Columns of the table that stand beside the answers; by default all, and where a dialect
        cannot name them all, those that are read.

    Returns
    -------
    str

    Raises
    ------
    Unprintable
        Where the engine cannot compute the same.
    """
    own, table = DIALECTS[dialect], table or "data"
    _require_names(program, own)
    query = _Query(program, own)
    if keep is not None:
        kept = list(dict.fromkeys(keep))
    else:
        kept = [] if own.whole_row else [cell.column for cell in program.cells]
    query.read(_source(table, own), kept, whole=keep is None and bool(own.whole_row))
    text = query.selected(_outputs(query, kept))
    comments = _comments(program, heading, own, table, keep)
    name = plain_line(heading.name)
    proof = _proof(program, sample, own)
    return (
        f"{comments}\n{text}{_END}"
        f"{_PROOF}{name}: the worst difference from the golden rows below, as a share of the bound"
        f"\n-- on it, which is proved where it is at most 1, and wrong labels, of which there are "
        f"to be none.\n{proof};\n"
    )


def statements(text: str) -> tuple[str, str]:
    """The two queries of a printed text: of the table, and of the proof."""
    # Not by a search alone: a name or a literal may hold the same words.
    for found in re.finditer(r""""[^"]*"|'[^']*'|--[^\n]*""", text):
        if found[0].startswith(_PROOF) and text[: found.start()].endswith(_END):
            return text[: found.start()].removesuffix(_END), text[found.start() :].rstrip(";\n")
    raise ValueError("The text has no proof of its own.")


# --- what a reader has to know --------------------------------------------------------------------


def _require_names(program: Program, dialect: Dialect) -> None:
    seen: dict[str, str] = {}
    for cell in program.cells:
        key = cell.column.casefold() if dialect.folds else cell.column
        if dialect.name == "postgres":
            key = key.encode()[: dialect.name_bytes].decode("utf-8", "ignore")
        other = seen.setdefault(key, cell.column)
        if other != cell.column:
            raise Unprintable(
                f"{dialect.title} takes the columns {other!r} and {cell.column!r} for one; rename "
                "one of them before the fit."
            )


def _source(table: str, dialect: Dialect) -> str:
    if re.match(r"\s*(select|with|\()", table, re.IGNORECASE):
        return table.strip().rstrip(";") if table.lstrip()[0] == "(" else f"(\n{table}\n)"
    parts = table.split(".")
    if all(re.fullmatch(r"[A-Za-z_]\w*", part, re.ASCII) for part in parts):
        return table
    return ".".join(dialect.identifier(part) for part in parts)


def _comments(
    program: Program, heading: Heading, dialect: Dialect, table: str, keep: Sequence[str] | None
) -> str:
    columns = ", ".join(f"{cell.column} ({cell.kind})" for cell in program.cells)
    lines = [
        *heading.lines,
        "",
        f"SQL for {dialect.title}. The query reads the columns {columns} of"
        f" {table} and answers beside "
        + (
            "all columns of each row."
            if keep is None and dialect.whole_row
            else "the columns that were chosen."
            if keep is not None
            else "them."
        ),
        "To keep the answers, put CREATE VIEW a_name AS before WITH.",
        "",
        "A row whose features are missing, not a number or infinite, or so large that a score is "
        "not finite, has NULL for every answer. A missing cell, NaN, which counts as one, and a "
        "level that was not seen at fit are encoded as below. A text that is no number is a "
        "missing number. A column that the table lacks is an error.",
        *program.remarks,
    ]
    if dialect.strict:
        lines.append(
            f"{dialect.title} may fail a query for one number out of range, so numbers are held "
            "within it, and what is too close to zero for its products counts as zero."
        )
    if dialect.name == "sqlite":
        lines.append(
            "SQLite needs its mathematical functions (3.35 or later); it reads the times of day "
            "of dates to the millisecond."
        )
    wrapped = (part for line in lines for part in textwrap.wrap(plain_line(line), 96) or [""])
    return "\n".join(f"-- {line}".rstrip() for line in wrapped)


def _outputs(query: _Query, kept: Sequence[str]) -> list[tuple[str, str]]:
    """Expressions and names of the columns that the last ``SELECT`` has behind the kept ones."""
    prediction, own = query.program.prediction, query.dialect
    classes = prediction.classes
    taken = {name.casefold() for name in (*kept, *(c.column for c in query.program.cells))}
    found: list[tuple[str, str]] = []

    def add(expression: str, name: str, number: int) -> None:
        name = plain_line(name)
        if len(name.encode()) > own.name_bytes or (
            own.name == "bigquery" and not re.fullmatch(r"\w+", name, re.ASCII)
        ):
            name = f"{name.split('_')[0]}_{number}"
        while name.casefold() in taken:
            name += "_"
        taken.add(name.casefold())
        found.append((expression, name))

    values = query.of(prediction.scores)
    if prediction.label is None:
        for k, value in enumerate(values):
            add(value, "prediction" if len(values) == 1 else f"prediction_{k}", k)
        return found
    labels = query.of(prediction.label)
    for k, label in enumerate(labels):
        if len(labels) == 1:
            cases = "".join(
                f"\n    WHEN {place} THEN {own.value(one)}" for place, one in enumerate(classes)
            )
            add(f"CASE {label}{cases}\n  END", "prediction", 0)
        else:
            add(label, f"prediction_{classes[k]}", k)
    for k, value in enumerate(values):
        whose = len(values) == len(classes)
        add(value, f"score_{classes[k]}" if whose else "score" if k == 0 else f"score_{k}", k)
    if prediction.probabilities is not None:
        for k, value in enumerate(query.of(prediction.probabilities)):
            add(value, f"probability_{classes[k]}", k)
    return found


# --- the query ------------------------------------------------------------------------------------


class _Query:
    """The stages of a query, each of which has all columns of the one before it, and some more.

    Parameters
    ----------
    program : Program
    dialect : Dialect
    """

    def __init__(self, program: Program, dialect: Dialect):
        self.program, self.dialect = program, dialect
        self.parts: list[str] = []
        self.last = ""
        self._row: list[tuple[str, str]] = []
        self._used: Counter[str] = Counter()
        self._known: dict[int, list[str]] = {}
        self._best: dict[int, str] = {}
        self._words: list[tuple[Words, str, slice]] = []
        self._cells: dict[Cell, str] = {}
        self._width = 0
        self.checked = False

    # --- stages -------------------------------------------------------------------------------

    def fresh(self, stem: str) -> str:
        """A name that no other part has."""
        self._used[stem] += 1
        return stem if self._used[stem] == 1 else f"{stem}{self._used[stem]}"

    def part(self, stem: str, body: str) -> str:
        """A common table expression; returns its name."""
        name = f"sx_{self.fresh(stem)}"
        fence = f"\n  {self.dialect.fence}" if self.dialect.fence else ""
        self.parts.append(f"{name} AS {self.dialect.stage}(\n{body}{fence}\n)")
        return name

    def written_out(self, stem: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        """A table that is written out; returns its name."""
        name = f"sx_{self.fresh(stem)}"
        self.parts.append(self.dialect.table(name, columns, rows))
        return name

    def stage(
        self,
        stem: str,
        expressions: Sequence[str],
        remarks: Sequence[str] | None = None,
        joined: str = "",
    ) -> list[str]:
        """A stage with columns of these expressions; returns their names."""
        self._width += len(expressions)
        if self._width > self.dialect.columns:
            raise Unprintable(
                f"{self.dialect.title} has no row of {self._width:,} columns, which this model "
                "takes; use fewer features, levels or classes, or another target."
            )
        own = f"{stem}{self._used[stem] + 1}" if self._used[stem] else stem
        names = [f"{own}_{k}" for k in range(1, len(expressions) + 1)]
        lines = [f"    {one} AS {name}" for one, name in zip(expressions, names, strict=True)]
        self.last = self.part(
            stem,
            f"  SELECT\n    previous.*,\n{_listed(lines, remarks)}\n"
            f"  FROM {self.last} AS previous{joined}",
        )
        return names

    def read(self, source: str, kept: Sequence[str], *, whole: bool = False) -> None:
        """The first stage: the columns that are kept, and the cells that are read."""
        quoted = self.dialect.identifier
        lines = ["    source AS sx_row"] if whole else []
        self._row = [(self.dialect.whole_row, "")] if whole else []
        for k, name in enumerate(kept, 1):
            lines.append(f"    source.{quoted(name)} AS kept_{k}")
            self._row.append((f"kept_{k}", quoted(name)))
        kinds = {kind: getattr(self.dialect, kind) for kind in ("number", "text", "date")}
        for k, cell in enumerate(self.program.cells, 1):
            self._cells[cell] = f"cell_{k}"
            own = kinds[cell.kind].format(f"source.{quoted(cell.column)}")
            lines.append(f"    {own} AS cell_{k}")
        if not lines:
            lines = ["    1 AS one"]
        self.last = self.part("cells", f"  SELECT\n{_listed(lines)}\n  FROM {source} AS source")

    def selected(self, outputs: Sequence[tuple[str, str]], *, rows: bool = True) -> str:
        """The whole query, with or without what is kept of each row."""
        lines = [f"  {own} AS {name}" if name else f"  {own}" for own, name in self._row * rows]
        lines += [f"  {own} AS {self.dialect.identifier(name)}" for own, name in outputs]
        parts = ",\n".join(self.parts)
        return f"WITH {parts}\nSELECT\n{_listed(lines)}\nFROM {self.last}"

    # --- trees --------------------------------------------------------------------------------

    def of(self, node: Expression) -> list[str]:
        """The columns of a node."""
        found = self._known.get(id(node))
        if found is None:
            found = self._known[id(node)] = self._columns(node)
        return found

    def number(self, value: float) -> str:
        """A constant."""
        return self.dialect.float64(value)

    def where_usable(self, of: Expression, expressions: Iterable[str]) -> list[str]:
        """Expressions of features, for rows whose features are all usable."""
        if not (isinstance(of, Features) and self.checked):
            return list(expressions)
        return [f"CASE WHEN usable_1 = 1 THEN {own} END" for own in expressions]

    def best(self, node: Expression) -> str:
        """The column of the largest number that a node has of a row."""
        if id(node) not in self._best:
            (self._best[id(node)],) = self.stage("best", [self.dialect.maximum(self.of(node))])
        return self._best[id(node)]

    def plain(self, of: Expression, who: str) -> list[str]:
        """The columns of a node, of which none may be words."""
        own = self.of(of)
        if isinstance(of, Features) and self._words:
            raise Unprintable(
                f"SQL has no {who} of words; use a linear model of the texts, or another target."
            )
        return own

    @singledispatchmethod
    def _columns(self, node: Expression) -> list[str]:
        raise Unprintable(f"SQL has no {type(node).__name__} yet; use another target.")

    @_columns.register
    def _(self, node: Features) -> list[str]:
        least, most = _limits(self.program.prediction, node.n_columns, self.dialect.strict)
        found, remarks, checks = [], [], []
        place, names = 0, iter(self.program.names)
        for own in self.program.features:
            if isinstance(own, Words):
                stop = place + len(own.words)
                self._words.append((own, self._cells[own.cell], slice(place, stop)))
                for _ in own.words:
                    next(names, "")
                place = stop
                continue
            text = self._number(own)
            if not _is_constant(own):
                if least[place] > 0.0:
                    bound = self.number(least[place])
                    text = (
                        f"CASE WHEN abs({text}) < {bound} THEN {self.number(0.0)} ELSE {text} END"
                    )
                checks.append((len(found), most[place]))
            found.append(text)
            remarks.append(plain_line(next(names, "")))
            place += 1
        columns = self.stage("feature", found, remarks) if found else []
        if checks:
            ranges = [f"abs({columns[k]}) <= {self.number(bound)}" for k, bound in checks]
            joined = "\n      AND ".join(ranges)
            self.stage("usable", [f"CASE WHEN {joined} THEN 1 END"])
            self.checked = True
        return columns

    @_columns.register
    def _(self, node: scores.Affine) -> list[str]:
        inputs = self.of(node.of)
        weights = dense(node.weights)
        kept = np.ones(weights.shape[1], dtype=bool)
        terms = [[self.number(b)] for b in node.intercepts]
        for words, cell, place in self._words if isinstance(node.of, Features) else ():
            kept[place] = False
            for row, name in zip(
                terms, _joined_words(self, words, cell, weights[:, place]), strict=True
            ):
                row.append(name)
        for row, own in zip(terms, weights[:, kept], strict=True):
            row += [f"{self.number(w)} * {name}" for w, name in zip(own, inputs, strict=True) if w]
        return self.stage("score", self.where_usable(node.of, map(_sum, terms)))

    @_columns.register
    def _(self, node: scores.Difference) -> list[str]:
        first, second = self.of(node.of)
        return self.stage("difference", [f"{second} - {first}"])

    @_columns.register
    def _(self, node: scores.Quadratic) -> list[str]:
        inputs, own = self.plain(node.of, "Gaussians"), node.gaussians
        rest = np.zeros(own.means.shape) if own.rest is None else own.rest
        rows, sizes = [], []
        for k in range(own.n_classes):
            matrix = _whitening(own.factor(k))
            centred = [
                f"({inputs[j]} - {self.number(own.means[k, j])}"
                + (f" - {self.number(rest[k, j])})" if rest[k, j] else ")")
                for j in own.kept
            ]
            rows += [
                _sum([f"{self.number(w)} * {x}" for w, x in zip(row, centred, strict=True) if w])
                for row in matrix
            ]
            sizes.append(len(matrix))
        white = iter(self.tame(self.stage("white", self.where_usable(node.of, rows))))
        found = []
        for size, constant in zip(sizes, node.constants, strict=True):
            squares = [f"{name} * {name}" for name in itertools.islice(white, size)]
            half = f" - {self.number(0.5)} * ({_sum(squares)})" if squares else ""
            found.append(self.number(constant) + half)
        return self.stage("score", found)

    @_columns.register
    def _(self, node: scores.KernelSum) -> list[str]:
        inputs = self.plain(node.of, "kernel machine")
        sums = _kernel_sums(self, node, inputs)
        found = [
            f"{self.number(b)} + {name}" for name, b in zip(sums, node.intercepts, strict=True)
        ]
        return self.stage("score", found)

    @_columns.register
    def _(self, node: scores.Monomials) -> list[str]:
        inputs, basis = self.plain(node.of, "polynomial"), node.basis
        top = basis.powers.max(axis=0, initial=0)
        used = np.flatnonzero(top)
        scaled = self.stage(
            "scaled",
            self.where_usable(
                node.of,
                (
                    f"({inputs[j]} - {self.number(basis.centre[j])}) * "
                    f"{self.number(basis.scale[j])}"
                    for j in used
                ),
            ),
        )
        powers: dict[tuple[int, int], str] = {(j, 0): self.number(1.0) for j in used.tolist()}
        for k in range(int(top.max(initial=0))):
            degree = [j for j in used.tolist() if top[j] > k]
            found = []
            for j in degree:
                t = scaled[int(np.searchsorted(used, j))]
                a, b, s = basis.recurrence[j, k].tolist()
                own = f"({t} - {self.number(a)})" if a else t
                own = f"{own} * {powers[j, k]}" if k else own
                own = f"({own} - {self.number(b)} * {powers[j, k - 1]})" if b and k else own
                found.append(f"{own} * {self.number(s)}" if s != 1.0 else own)
            names = self.stage("power", found)
            powers |= {(j, k + 1): name for j, name in zip(degree, names, strict=True)}
        terms = [
            " * ".join(powers[j, int(row[j])] for j in np.flatnonzero(row).tolist())
            for row in basis.powers
        ]
        return self.stage("monomial", terms)

    @_columns.register
    def _(self, node: scores.Votes) -> list[str]:
        inputs, n = self.of(node.of), node.n_classes
        wins: list[list[str]] = [[] for _ in range(n)]
        sums: list[list[str]] = [[] for _ in range(n)]
        held = [_between(self, name, -1e300, 1e300) for name in inputs]
        held = self.stage("held", held)
        for pair, name in zip(itertools.combinations(range(n), 2), held, strict=True):
            for of, sign, first, second in zip(pair, "+-", "10", "01", strict=True):
                wins[of].append(f"CASE WHEN {name} >= 0 THEN {first} ELSE {second} END")
                sums[of].append(f"{sign} {name}")
        confidence = self.tame(
            self.stage("confidence", [" ".join(own).removeprefix("+ ") for own in sums])
        )
        three, one = self.number(3.0), self.number(1.0)
        return self.stage(
            "score",
            [
                f"{' + '.join(own)} + {own_sum} / ({three} * (abs({own_sum}) + {one}))"
                for own, own_sum in zip(wins, confidence, strict=True)
            ],
        )

    def tame(self, names: list[str]) -> list[str]:
        """Columns with zero for what is too small to be multiplied, where that is an error."""
        if not self.dialect.strict:
            return names
        bound, zero = self.number(1e-150), self.number(0.0)
        return self.stage(
            "held", [f"CASE WHEN abs({own}) < {bound} THEN {zero} ELSE {own} END" for own in names]
        )

    # --- classes ------------------------------------------------------------------------------

    @_columns.register
    def _(self, node: answers.Threshold) -> list[str]:
        (score,) = self.of(node.of)
        above, below = (">=", "<") if node.inclusive else (">", "<=")
        return self.stage(
            "label", [f"CASE WHEN {score} {above} 0 THEN 1 WHEN {score} {below} 0 THEN 0 END"]
        )

    @_columns.register
    def _(self, node: answers.FirstWins) -> list[str]:
        inputs = self.of(node.of)
        best = self.best(node.of)
        cases = "".join(f"\n      WHEN {name} = {best} THEN {k}" for k, name in enumerate(inputs))
        return self.stage("label", [f"CASE{cases}\n    END"])

    @_columns.register
    def _(self, node: answers.Positive) -> list[str]:
        return self.stage(
            "label",
            [f"CASE WHEN {own} > 0 THEN 1 WHEN {own} <= 0 THEN 0 END" for own in self.of(node.of)],
        )

    # --- functions of single scores -----------------------------------------------------------

    @_columns.register
    def _(self, node: answers.Scaled) -> list[str]:
        slope, offset = self.number(node.slope), self.number(node.offset)
        most = 1e300 / max(abs(node.slope), 1e-300)
        inputs = [_between(self, name, -most, most) for name in self.of(node.of)]
        inputs = self.tame(self.stage("held", inputs))
        return self.stage(
            "scaled",
            [
                _between(self, name, -1e300, 1e300)
                for name in self.stage("line", [f"{slope} * {own} + {offset}" for own in inputs])
            ],
        )

    @_columns.register
    def _(self, node: answers.Exp) -> list[str]:
        least, most = self.number(_LEAST_EXPONENT), self.number(_LARGEST_EXPONENT)
        zero = self.number(0.0)
        return self.stage(
            "exponential",
            [
                f"CASE WHEN {own} < {least} THEN {zero} WHEN {own} <= {most} THEN exp({own}) END"
                for own in self.of(node.of)
            ],
        )

    @_columns.register
    def _(self, node: answers.LogSigmoid) -> list[str]:
        inputs = self.of(node.of)
        small = self.stage("small", [self.exp_of_negative(f"abs({own})") for own in inputs])
        zero = self.number(0.0)
        return self.stage(
            "log_sigmoid",
            [
                f"CASE WHEN {own} < 0 THEN {own} ELSE {zero} END - {self._log1p(other)}"
                for own, other in zip(inputs, small, strict=True)
            ],
        )

    def exp_of_negative(self, size: str, least: float = _LEAST_EXPONENT) -> str:
        """``exp(-size)`` of what is not negative, and 0 below what engines refuse."""
        return (
            f"CASE WHEN {size} > {self.number(-least)} THEN {self.number(0.0)}"
            f" ELSE exp(-{size}) END"
        )

    def _log1p(self, own: str) -> str:
        # Kahan's: what 1 + x rounds off is made good by the quotient.
        one = self.number(1.0)
        log = self.dialect.log.format(f"{one} + {own}")
        return f"CASE WHEN {one} + {own} = {one} THEN {own} ELSE {log} * {own} / ({one} + {own} - {one}) END"

    @_columns.register
    def _(self, node: answers.Interpolate) -> list[str]:
        x, p = node.points, node.heights
        first, last = self.number(p[0]), self.number(p[-1])
        inputs = self.tame(self.of(node.of))
        if len(x) == 1:
            return self.stage(
                "height", [f"CASE WHEN {own} IS NOT NULL THEN {first} END" for own in inputs]
            )
        found = []
        for own in inputs:
            cases = [f"WHEN {own} <= {self.number(x[0])} THEN {first}"]
            for k in np.flatnonzero(np.diff(x) > 0.0):
                left, step = self.number(x[k]), self.number(x[k + 1] - x[k])
                low, rise = self.number(p[k]), p[k + 1] - p[k]
                line = f"{low} + ({own} - {left}) / {step} * {self.number(rise)}" if rise else low
                cases.append(f"WHEN {own} < {self.number(x[k + 1])} THEN {line}")
            cases.append(f"WHEN {own} >= {self.number(x[-1])} THEN {last}")
            found.append("CASE\n      " + "\n      ".join(cases) + "\n    END")
        return self.stage("height", found)

    @_columns.register
    def _(self, node: answers.Clipped) -> list[str]:
        half, one = self.number(0.5), self.number(1.0)
        return self.stage(
            "clipped",
            [f"{half} * ({_between(self, own, -1.0, 1.0)} + {one})" for own in self.of(node.of)],
        )

    @_columns.register
    def _(self, node: answers.Leads) -> list[str]:
        inputs = self.of(node.of)
        return self.stage(
            "lead", [f"{own} - {self._others(inputs, k)}" for k, own in enumerate(inputs)]
        )

    def _others(self, names: Sequence[str], k: int) -> str:
        return self.dialect.maximum([*names[:k], *names[k + 1 :]])

    # --- probabilities ------------------------------------------------------------------------

    @_columns.register
    def _(self, node: answers.Sigmoid) -> list[str]:
        (score,) = self.of(node.of)
        one, held = self.number(1.0), _between(self, score, -700.0, 700.0)
        (held,) = self.stage("held", [held])
        return self.stage(
            "probability", [f"{one} / ({one} + exp({sign}{held}))" for sign in ("", "-")]
        )

    @_columns.register
    def _(self, node: answers.Softmax) -> list[str]:
        inputs = self.of(node.of)
        best = self.best(node.of)
        leads = self.stage("behind", [f"{best} - {own}" for own in inputs])
        powers = self.stage("exponential", [self.exp_of_negative(own) for own in leads])
        (total,) = self.stage("total", [_sum(powers)])
        return self.stage("probability", [f"{own} / {total}" for own in powers])

    @_columns.register
    def _(self, node: answers.Normalised) -> list[str]:
        inputs = self.of(node.of)
        if len(inputs) == 1:
            return self.stage("share", [f"{self.number(1.0)} - {inputs[0]}", inputs[0]])
        (total,) = self.stage("total", [_sum(inputs)])
        equal = self.number(1.0 / len(inputs))
        return self.stage(
            "share",
            [
                f"CASE WHEN {total} > 0 THEN {own} / {total} WHEN {total} <= 0 THEN {equal} END"
                for own in inputs
            ],
        )

    @_columns.register
    def _(self, node: answers.OnItsSide) -> list[str]:
        first, second = self.of(node.of)
        (label,) = self.of(node.label)
        half = self.number(0.5)
        (winner,) = self.stage("winner", [f"CASE {label} WHEN 0 THEN {first} ELSE {second} END"])
        return self.stage(
            "agreeing",
            [f"CASE WHEN {winner} < {half} THEN {half} ELSE {own} END" for own in (first, second)],
        )

    @_columns.register
    def _(self, node: answers.Consistent) -> list[str]:
        inputs = self.of(node.of)
        (label,) = self.of(node.label)
        ulp = self.number(1.0 + 2.0**-52)
        found = []
        for k, own in enumerate(inputs):
            others = self._others(inputs, k)
            found.append(
                f"CASE WHEN {label} = {k} AND {own} <= {others} THEN {others} * {ulp} ELSE {own} END"
            )
        return self.stage("agreeing", found)

    # --- features -----------------------------------------------------------------------------

    @singledispatchmethod
    def _number(self, own: Number) -> str:
        raise Unprintable(f"SQL has no {type(own).__name__} yet; use another target.")

    @_number.register
    def _(self, own: Cell) -> str:
        return self._cells[own]

    @_number.register
    def _(self, own: features.Constant) -> str:
        return self.number(own.value)

    @_number.register
    def _(self, own: features.Arithmetic) -> str:
        left, right = self._number(own.left), self._number(own.right)
        if own.operator == "/" and not isinstance(own.right, features.Constant):
            right = f"nullif({right}, 0)"
        text = f"({left} {own.operator} {right})"
        if not self.dialect.strict or own.operator in "+-":
            return text
        factor = own.right if isinstance(own.right, features.Constant) else own.left
        size = abs(factor.value) if isinstance(factor, features.Constant) else 0.0
        other = left if factor is own.right else right
        if not size or (own.operator == "/" and factor is own.left):
            # Neither factor is known: both are held well within the range.
            return self._held(text, [left, right], 1e-150, 1e150)
        size = 1.0 / size if own.operator == "/" else size
        least = 2.0 * _SMALLEST / size if size < 1.0 and not _is_shift(own) else 0.0
        most = _MOST / 2.0 / size if size > 1.0 else math.inf
        return self._held(text, [other], least, most)

    def _held(self, text: str, factors: Sequence[str], least: float, most: float) -> str:
        """A product where it is within range: zero below it, and nothing above."""
        cases = []
        if least:
            small = " OR ".join(f"abs({own}) < {self.number(least)}" for own in factors)
            cases.append(f"WHEN {small} THEN {self.number(0.0)}")
        if most < math.inf:
            large = " AND ".join(f"abs({own}) <= {self.number(most)}" for own in factors)
            cases.append(f"WHEN {large} THEN {text}")
        elif cases:
            cases.append(f"ELSE {text}")
        return f"CASE {' '.join(cases)} END" if cases else text

    @_number.register
    def _(self, own: features.Power) -> str:
        base, n = self._number(own.base), own.exponent
        text = f"({' * '.join([base] * n)})"
        if self.dialect.strict:
            return self._held(text, [base], 10.0 ** (-300.0 / n), 10.0 ** (300.0 / n))
        return text

    @_number.register
    def _(self, own: features.Function) -> str:
        of = self._number(own.of)
        if own.name == "log":
            return f"CASE WHEN {of} > 0 THEN {self.dialect.log.format(of)} END"
        if own.name == "log1p":
            minus = self.number(-1.0)
            return f"CASE WHEN {of} > {minus} THEN {self._log1p(of)} END"
        return f"{'abs' if own.name == 'absolute' else 'floor'}({of})"

    @_number.register
    def _(self, own: features.DatePart) -> str:
        days = self._cells[own.cell]
        if own.part == "weekday":
            shifted = f"(floor({days}) + 3)"
            text = f"{shifted} - 7 * floor({shifted} / {self.number(7.0)}) + 1"
        elif own.part == "hour":
            inside, whole = f"({days} - floor({days}))", self.number(24.0)
            text = f"floor({inside} * {whole} + {self.number(1e-9)})"
        else:
            part = self.dialect.part.format(days, own.part, "%Y" if own.part == "year" else "%m")
            text = f"CAST({part} AS {self.dialect.double})"
        return f"CASE WHEN {days} >= -719162 AND {days} < 2932897 THEN {text} END"

    @_number.register
    def _(self, own: features.Where) -> str:
        then, otherwise = self._number(own.then), self._number(own.otherwise)
        return f"CASE WHEN {self._condition(own.condition)} THEN {then} ELSE {otherwise} END"

    @singledispatchmethod
    def _condition(self, own: features.Condition) -> str:
        raise Unprintable(f"SQL has no {type(own).__name__} yet; use another target.")

    @_condition.register
    def _(self, own: features.IsMissing) -> str:
        cell = self._cells[own.cell]
        values = ", ".join(self.number(one) for one in own.placeholders)
        return f"{cell} IS NULL" + (f" OR {cell} IN ({values})" if values else "")

    @_condition.register
    def _(self, own: features.IsLevel) -> str:
        level, string = self.dialect.level, self.dialect.string
        levels = ", ".join(level.format(string(one)) for one in own.levels)
        return f"{self._cells[own.cell]} IN ({levels})" if levels else "1 = 0"

    @_condition.register
    def _(self, own: features.Compare) -> str:
        operator = "=" if own.operator == "==" else own.operator
        return f"{self._number(own.left)} {operator} {self._number(own.right)}"


# --- parts of expressions -------------------------------------------------------------------------


def _listed(lines: Sequence[str], remarks: Sequence[str] | None = None) -> str:
    """Items of a list, a line each, with what they are behind them."""
    if remarks is None:
        return ",\n".join(lines)
    last = len(lines) - 1
    return "\n".join(
        f"{own}{',' if k < last else ''}{f'  -- {remark}' if remark else ''}"
        for k, (own, remark) in enumerate(zip(lines, remarks, strict=True))
    )


def _sum(terms: Sequence[str]) -> str:
    """A sum, from left to right, of parts that are no deeper than engines allow."""
    if not terms:
        return "0"
    if len(terms) <= _TERMS:
        return "\n      + ".join(terms)
    parts = [_sum(terms[k : k + _TERMS]) for k in range(0, len(terms), _TERMS)]
    return _sum([f"({part})" for part in parts])


def _between(query: _Query, own: str, least: float, most: float) -> str:
    low, high = query.number(least), query.number(most)
    return f"CASE WHEN {own} < {low} THEN {low} WHEN {own} > {high} THEN {high} ELSE {own} END"


def _is_constant(own: Number) -> bool:
    """Whether a feature has one of some finite values, whatever is in the cells."""
    if isinstance(own, features.Where):
        return _is_constant(own.then) and _is_constant(own.otherwise)
    return isinstance(own, features.Constant) and math.isfinite(own.value)


def _is_shift(own: features.Arithmetic) -> bool:
    """Whether a factor is a cell less a number, which is nothing or no smaller than a unit of it."""
    left = own.left
    return (
        isinstance(left, features.Arithmetic)
        and left.operator in "+-"
        and isinstance(left.right, features.Constant)
        and abs(left.right.value) > 1e-200
    )


def _whitening(factor: Any) -> np.ndarray:
    """``L^-1 D``, whose rows are those of a lower triangle."""
    return np.asarray(
        solve_triangular(factor.lower, np.diag(factor.scale), lower=True, check_finite=False)
    )


def _limits(prediction: Any, d: int, strict: bool) -> tuple[np.ndarray, np.ndarray]:
    """Of every feature the magnitudes between which no product or sum leaves the range."""
    least, most = np.zeros(d), np.full(d, _MOST)
    for node in _nodes(prediction):
        if not isinstance(getattr(node, "of", None), Features):
            continue
        if isinstance(node, scores.Affine):
            sizes = np.abs(dense(node.weights))
            if strict:  # without a unit in the last place of what is left out
                small = np.where(sizes > 0.0, sizes, 1.0).min(axis=0, initial=1.0)
                least = np.maximum(least, np.where(small < 1.0, 2.0 * _SMALLEST / small, 0.0))
                most = np.minimum(most, _MOST / (d + 2) / sizes.max(axis=0, initial=1.0))
            continue
        degree, factor = _degree(node)
        most = np.minimum(most, 10.0 ** (305.0 / degree) / factor)
        if strict:
            least = np.maximum(least, 10.0 ** (-280.0 / max(degree, 2)))
    return least, most


@singledispatch
def _degree(node: Any) -> tuple[int, float]:
    """Of how many features a product is, and the largest factor of one."""
    return 1, 1.0


@_degree.register
def _(node: scores.Quadratic) -> tuple[int, float]:
    own = node.gaussians
    sizes = [np.abs(_whitening(factor)).sum(axis=1).max(initial=1.0) for factor in own.factors]
    return 2, float(max(sizes))


@_degree.register
def _(node: scores.KernelSum) -> tuple[int, float]:
    kernel, vectors = node.kernel, np.abs(dense(node.vectors))
    if isinstance(kernel, kernels.RBFKernel):
        return 1, 1.0
    size = max(1.0, float(vectors.max())) * (vectors.shape[1] + 2)
    size *= max(1.0, float(getattr(kernel, "gamma", 1.0)))
    if isinstance(kernel, kernels.LinearKernel):
        size *= max(1.0, float(np.abs(node.coefficients).sum()))
    return int(getattr(kernel, "degree", 1)), size


@_degree.register
def _(node: scores.Monomials) -> tuple[int, float]:
    factor = float(max(np.abs(node.basis.scale).max(initial=1.0), 1.0))
    return int(node.basis.powers.sum(axis=1).max(initial=1)) + 1, factor


def _nodes(prediction: Any) -> Iterator[Expression]:
    """All nodes of the trees that are printed."""
    waiting = [prediction.scores, prediction.label, prediction.probabilities]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if not isinstance(node, Expression) or id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        waiting += [getattr(node, "of", None), getattr(node, "label", None)]


# --- joins by value -------------------------------------------------------------------------------


def _kernel_sums(query: _Query, node: scores.KernelSum, inputs: list[str]) -> list[str]:
    """Sums over the support vectors, of the distinct rows of features."""
    vectors, weights = dense(node.vectors).astype(np.float64), np.asarray(node.coefficients)
    size = vectors.size + weights.size
    if size > MOST_VALUES:
        raise Unprintable(
            f"The {len(vectors):,} support vectors have {size:,} numbers, and a query holds "
            f"{MOST_VALUES:,}: fit a linear model behind separatrix.lifts.NystroemLift, or export "
            "to another target."
        )
    if query.dialect.strict:
        vectors = np.where(np.abs(vectors) < 1e-140, 0.0, vectors)
    rows = [[*map(query.number, (*a, *b))] for a, b in zip(vectors, weights, strict=True)]
    v = [f"vector_{j}" for j in range(1, vectors.shape[1] + 1)]
    w = [f"weight_{k}" for k in range(1, weights.shape[1] + 1)]
    table = query.written_out("vector", [*v, *w], rows)
    points, own_weights = ", ".join(inputs), ", ".join(w)
    usable = " WHERE usable_1 = 1" if query.checked and isinstance(node.of, Features) else ""
    distinct = query.part("point", f"  SELECT DISTINCT {points}\n  FROM {query.last}{usable}")
    inner, value = _kernel(query, node.kernel, inputs, v)
    pair = query.part(
        "pair",
        f"  SELECT {points}, {own_weights},\n    {inner} AS inner_value\n"
        f"  FROM {distinct} CROSS JOIN {table}",
    )
    valued = query.part(
        "value", f"  SELECT {points}, {own_weights},\n    {value} AS kernel_value\n  FROM {pair}"
    )
    sums = [f"kernel_{k}" for k in range(1, len(w) + 1)]
    added = ",\n    ".join(
        f"sum({weight} * kernel_value) AS {name}" for weight, name in zip(w, sums, strict=True)
    )
    summed = query.part(
        "kernel", f"  SELECT {points},\n    {added}\n  FROM {valued}\n  GROUP BY {points}"
    )
    matches = " AND ".join(f"k.{name} = previous.{name}" for name in inputs)
    return query.stage(
        "sum",
        [f"k.{name}" for name in sums],
        joined=f"\n  LEFT JOIN {summed} AS k ON {matches}",
    )


def _kernel(query: _Query, kernel: Any, inputs: list[str], v: list[str]) -> tuple[str, str]:
    """The number that a kernel is a function of, and the kernel as a function of ``inner_value``."""
    if isinstance(kernel, kernels.RBFKernel):
        # What is further away is nothing all the same.
        held = (
            [_between(query, x, -1e150, 1e150) for x in inputs] if query.dialect.strict else inputs
        )
        steps = [f"({x} - {z})" for x, z in zip(held, v, strict=True)]
        squares = _sum([f"{step} * {step}" for step in steps])
        scaled = f"{query.number(kernel.gamma)} * (\n      {squares}\n    )"
        return scaled, query.exp_of_negative("inner_value", _LEAST_KERNEL)
    products = _sum([f"{x} * {z}" for x, z in zip(inputs, v, strict=True)])
    if isinstance(kernel, kernels.LinearKernel):
        return products, "inner_value"
    if not isinstance(kernel, kernels.PolynomialKernel | kernels.SigmoidKernel):
        raise Unprintable(
            f"SQL has no kernel {type(kernel).__name__}; export to another target, or fit with a "
            "linear, polynomial, RBF or sigmoid kernel."
        )
    scaled = f"{query.number(kernel.gamma)} * (\n      {products}\n    )"
    scaled = f"{scaled} + {query.number(kernel.coef0)}"
    if isinstance(kernel, kernels.PolynomialKernel):
        return scaled, " * ".join(["inner_value"] * kernel.degree)
    return scaled, query.dialect.tanh.format(f"({_between(query, 'inner_value', -30.0, 30.0)})")


def _joined_words(query: _Query, words: Words, cell: str, weights: np.ndarray) -> list[str]:
    """The parts of scores that come from the words of a text, of the distinct texts."""
    dialect, number, string = query.dialect, query.number, query.dialect.string
    options = {**TEXT_OPTIONS, **words.options}
    pairs = tuple(options["ngram_range"]) == (1, 2)
    why = ""
    if not dialect.words:
        why = f"{dialect.title} does not find the words in a text that Python finds"
    elif options["token_pattern"] != TEXT_OPTIONS["token_pattern"]:
        why = "the pattern of words is not the usual one"
    elif options["strip_accents"] is not None:
        why = "accents were taken off the letters"
    elif tuple(options["ngram_range"]) not in ((1, 1), (1, 2)):
        why = "groups of words are counted that are no words or pairs"
    elif pairs and options["stop_words"] is not None:
        why = "pairs of words are counted behind a list of words that do not count"
    elif options["lowercase"] and any("σ" in word or "ς" in word for word in words.words):
        why = "the lower case of a capital sigma depends on where it stands in its word"
    if why:
        raise Unprintable(
            f"The words of {words.cell.column!r} have no SQL: {why}. Export to Python or "
            "JavaScript, or fit without this column."
        )
    text = "own_text"
    if options["lowercase"]:
        # The one letter of which Python makes two.
        text = f"lower(replace(own_text, {string(chr(0x130))}, {string(chr(0x130).lower())}))"
    texts = query.part(
        "text",
        f"  SELECT DISTINCT {cell} AS own_text\n  FROM {query.last}\n  WHERE {cell} IS NOT NULL",
    )
    split = query.part(
        "split",
        f"  SELECT own_text, {dialect.words.format(text)} AS all_words\n  FROM {texts}",
    )
    listed = "all_words"
    if pairs:
        listed = (
            "list_concat(all_words, [all_words[i] || ' ' || all_words[i + 1]"
            " for i in range(1, len(all_words))])"
        )
    found = query.part("found", f"  SELECT own_text, unnest({listed}) AS word\n  FROM {split}")
    columns = [f"weight_{j}" for j in range(1, len(weights) + 1)]
    rows = [
        [string(word), number(idf), *map(number, own)]
        for word, idf, own in zip(words.words, words.weights, weights.T, strict=True)
    ]
    known = query.written_out("word", ["word", "idf", *columns], rows)
    count = number(1.0) if options["binary"] else f"CAST(count(*) AS {dialect.double})"
    if options["sublinear_tf"]:
        count = f"({number(1.0)} + {dialect.log.format(count)})"
    weighed = query.part(
        "weighed",
        f"  SELECT f.own_text, f.word, {count} * min(k.idf) AS own_value\n"
        f"  FROM {found} AS f JOIN {known} AS k ON k.word = f.word\n  GROUP BY f.own_text, f.word",
    )
    norm = {"l2": "sqrt(sum(own_value * own_value))", "l1": "sum(own_value)", None: number(1.0)}
    length = query.part(
        "length",
        f"  SELECT own_text, {norm[options['norm']]} AS own_length\n"
        f"  FROM {weighed}\n  GROUP BY own_text",
    )
    sums = ",\n    ".join(
        f"sum(k.{name} * (w.own_value / n.own_length)) AS part_{j}"
        for j, name in enumerate(columns, 1)
    )
    added = query.part(
        "texts",
        f"  SELECT w.own_text,\n    {sums}\n  FROM {weighed} AS w\n"
        f"  JOIN {length} AS n ON n.own_text = w.own_text\n"
        f"  JOIN {known} AS k ON k.word = w.word\n  GROUP BY w.own_text",
    )
    zero = number(0.0)
    return query.stage(
        "words",
        [f"coalesce(t.part_{j}, {zero})" for j in range(1, len(columns) + 1)],
        joined=f"\n  LEFT JOIN {added} AS t ON t.own_text = previous.{cell}",
    )


# --- the proof ------------------------------------------------------------------------------------


def _proof(program: Program, sample: Sample, dialect: Dialect) -> str:
    """The same stages over golden rows, and how far their answers are from what is expected."""
    query = _Query(program, dialect)
    prediction, expected = program.prediction, sample.expected
    values, bounds = [expected.scores], [sample.score_bounds]
    if expected.probabilities is not None and sample.probability_bounds is not None:
        values.append(expected.probabilities)
        bounds.append(sample.probability_bounds)
    wanted, allowed = np.hstack(values), np.hstack(bounds)
    kept = [f"wanted_{k}" for k in range(1, wanted.shape[1] + 1)]
    kept += [f"bound_{k}" for k in range(1, wanted.shape[1] + 1)]
    labelled = expected.labels is not None and prediction.label is not None
    rows = []
    for i in range(sample.n_rows):
        if not dialect.infinity and any(
            cell.kind != "text" and math.isinf(value)  # type: ignore[arg-type]
            for cell, value in zip(program.cells, sample.cells(program, i), strict=True)
        ):
            continue
        own = [
            _golden(dialect, cell, value)
            for cell, value in zip(program.cells, sample.cells(program, i), strict=True)
        ]
        own += [dialect.float64(x if math.isfinite(x) else math.nan) for x in wanted[i].tolist()]
        own += [dialect.float64(min(x, 1e290) if x >= 0.0 else 1e290) for x in allowed[i].tolist()]
        if labelled:
            labels = np.atleast_1d(expected.labels[i])  # type: ignore[index]
            decided = bool(sample.decided[i]) and (labels >= 0).all()
            own += [str(int(label)) if decided else "-1" for label in labels]
        rows.append(own)
    names = [cell.column for cell in program.cells] + kept
    if labelled:
        n_labels = prediction.label.n_columns
        kept += [f"label_is_{k}" for k in range(1, n_labels + 1)]
        names += kept[-n_labels:]
    if not rows:
        return "SELECT 0 AS worst_share, 0 AS n_rows, 0 AS wrong_labels"
    golden = query.written_out("golden", [dialect.identifier(name) for name in names], rows)
    query.read(golden, kept)
    found = list(query.of(prediction.scores))
    if len(values) > 1:
        found += query.of(prediction.probabilities)
    zero, wrong = query.number(0.0), query.number(1e300)
    shares = []
    half = wanted.shape[1]
    differences = query.stage(
        "difference_of",
        [f"abs({own} - kept_{k})" for k, own in enumerate(found, 1)],
    )
    for k, (own, gap) in enumerate(zip(found, differences, strict=True), 1):
        want, bound = f"kept_{k}", f"kept_{half + k}"
        shares.append(
            f"CASE WHEN {own} IS NULL AND {want} IS NULL THEN {zero}"
            f" WHEN {gap} <= {bound} AND {gap} < {query.number(1e-200)} THEN {zero}"
            f" WHEN {bound} > 0 AND {gap} <= {bound} * {query.number(1e6)}"
            f" THEN {gap} / {bound} ELSE {wrong} END"
        )
    shares = query.stage("share_of", shares)
    mistakes = "0"
    if labelled:
        labels = query.of(prediction.label)
        mistakes = " + ".join(
            f"CASE WHEN kept_{2 * half + k} >= 0 AND coalesce({own}, -1) <> kept_{2 * half + k}"
            " THEN 1 ELSE 0 END"
            for k, own in enumerate(labels, 1)
        )
    (mistake,) = query.stage("mistake", [mistakes])
    outputs = [
        (f"max({dialect.maximum(shares)})", "worst_share"),
        ("count(*)", "n_rows"),
        (f"sum({mistake})", "wrong_labels"),
    ]
    return query.selected(outputs, rows=False)


def _golden(dialect: Dialect, cell: Cell, value: Any) -> str:
    if cell.kind == "text":
        return f"CAST(NULL AS {dialect.texts})" if value is None else dialect.string(value)
    return dialect.moment(value) if cell.kind == "date" else dialect.float64(value)
