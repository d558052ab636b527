"""The stages of a query: every node of a tree becomes columns of a common table expression.

A stage has all columns of the one before it, and some more. A kernel machine, and words, are joined
to their rows by the values of these, for no column of a table need distinguish two rows.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import singledispatch, singledispatchmethod
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from separatrix.data.design import dense
from separatrix.exports.artefacts import Unprintable
from separatrix.exports.dialects import Dialect, plain_line
from separatrix.expressions import answers, features, scores
from separatrix.expressions.base import Expression, Features, nodes_of_trees
from separatrix.expressions.features import Cell, Number, Program, Words
from separatrix.kernels import functions as kernels
from separatrix.tables.features import nodes_of
from separatrix.tables.value_format import truth_words
from separatrix.tables.word_encoding import TEXT_OPTIONS

MOST_VALUES = 20_000
"""The largest number of values of support vectors in a query: half a megabyte of text."""

_MOST = float(np.finfo(np.float64).max)
_SMALLEST = 2.0**-1074
# Beyond these the exponential function leaves the range of float64, with a margin for a quotient.
_LEAST_EXPONENT, _LARGEST_EXPONENT = -741.0, 709.0
# Below its exponential a value of a kernel is nothing beside others, and can still be multiplied.
_LEAST_KERNEL = -600.0
# The square of a smaller number may leave the range.
_TAME = 1e-150
# Terms of a sum within one pair of parentheses: engines limit how deep an expression is.
_TERMS = 100
_WIDTH = 90


class Query:
    """The common table expressions of a query.

    Parameters
    ----------
    program : Program
    dialect : Dialect
    source : str
        The source of the rows: a name, or a query in parentheses.
    kept : sequence of str
        Columns of it that are carried along.
    whole : bool, default=False
        Whether all of its columns are, in the column ``sx_row``.

    Attributes
    ----------
    row : list of str
        Items of the last ``SELECT`` for what was carried along.
    """

    def __init__(
        self,
        program: Program,
        dialect: Dialect,
        source: str,
        kept: Sequence[str],
        *,
        whole: bool = False,
    ):
        self.program, self.dialect, self.number = program, dialect, dialect.float64
        self.parts: list[str] = []
        self._used: Counter[str] = Counter()
        self._known: dict[int, list[str]] = {}
        self._best: dict[int, str] = {}
        self._words: list[tuple[Words, slice]] = []
        self._width = 0
        self._checked = False
        quoted = dialect.identifier
        self.row = [dialect.whole_row] if whole else []
        self.row += [f"kept_{k} AS {quoted(name)}" for k, name in enumerate(kept, 1)]
        self._cells = {cell: f"cell_{k}" for k, cell in enumerate(program.cells, 1)}
        lines = ["source AS sx_row"] if whole else []
        lines += [f"source.{quoted(name)} AS kept_{k}" for k, name in enumerate(kept, 1)]
        kinds = {"number": dialect.number, "date": dialect.date}
        for cell, name in self._cells.items():
            column = f"source.{quoted(cell.column)}"
            if isinstance(cell, features.Parsed):
                patterns = map(dialect.pattern, (cell.whole, cell.never, cell.negative, cell.marks))
                text = dialect.parsed.format(column, *patterns, dialect.string(cell.decimal))
            elif cell.kind == "text":
                text = self._text(cell, column)
            else:
                text = kinds[cell.kind].format(column)
            lines.append(f"{text} AS {name}")
        self.last = self.part("cells", lines or ["1 AS one"], f"{source} AS source")

    def _text(self, cell: Cell, column: str) -> str:
        """The text of a cell; a truth counts as the level that spells it.

        Where a file has yes and no, or t and f, a database may have read truths.
        """
        levels = [
            level
            for feature in self.program.features
            for node in nodes_of(feature)
            if isinstance(node, features.IsLevel) and node.cell == cell
            for level in node.levels
        ]
        spelled = {word: level for level in levels[::-1] for word in truth_words(level)}
        text = column
        if self.dialect.truth and "true" not in levels and {"true", "false"} <= spelled.keys():
            yes, no = (self.dialect.string(spelled[word]) for word in ("true", "false"))
            plain = f"CAST({column} AS {self.dialect.texts})"
            truth = f"CASE {plain} WHEN 'true' THEN {yes} WHEN 'false' THEN {no} END"
            own = self.dialect.truth.format(column)
            text = case([f"WHEN {own} THEN {truth}", f"ELSE {plain}"])
        return self.dialect.text.format(text)

    # --- stages -------------------------------------------------------------------------------

    def part(
        self, stem: str, columns: Sequence[str], source: str, remarks: Sequence[str] = ()
    ) -> str:
        """A common table expression, with remarks on its last columns; returns its name."""
        commas = [","] * (len(columns) - 1) + [""]
        ends = [""] * (len(columns) - len(remarks)) + [f"  -- {own}" for own in remarks]
        listed = "\n    ".join(map("".join, zip(columns, commas, ends, strict=True)))
        body = f"  SELECT\n    {listed}\n  FROM {source}"
        fence = f"\n  {self.dialect.fence}" if self.dialect.fence else ""
        name = f"sx_{self._fresh(stem)}"
        self.parts.append(f"{name} AS {self.dialect.stage}(\n{body}{fence}\n)")
        return name

    def written_out(self, stem: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        """A table that is written out; returns its name."""
        name = f"sx_{self._fresh(stem)}"
        self.parts.append(self.dialect.table(name, columns, rows))
        return name

    def _fresh(self, stem: str) -> str:
        self._used[stem] += 1
        return stem if self._used[stem] == 1 else f"{stem}{self._used[stem]}"

    def stage(
        self, stem: str, columns: Iterable[str], joined: str = "", remarks: Sequence[str] = ()
    ) -> list[str]:
        """A stage with these columns; returns their names."""
        own = f"{stem}{self._used[stem] + 1}" if self._used[stem] else stem
        lines = [f"{column} AS {own}_{k}" for k, column in enumerate(columns, 1)]
        self._width += len(lines)
        if self._width > self.dialect.columns:
            raise Unprintable(
                f"{self.dialect.title} has no row of {self._width:,} columns, which this model "
                "takes; use fewer features, levels or classes, or another target."
            )
        source = f"{self.last} AS previous{joined}"
        self.last = self.part(stem, ["previous.*", *lines], source, remarks)
        return [f"{own}_{k}" for k in range(1, len(lines) + 1)]

    def of(self, node: Expression) -> list[str]:
        """The columns of a node."""
        found = self._known.get(id(node))
        if found is None:
            found = self._known[id(node)] = self._columns(node)
        return found

    def usable(self, of: Expression, columns: Iterable[str]) -> list[str]:
        """Columns that are made of features, for rows whose features are all usable."""
        if not (isinstance(of, Features) and self._checked):
            return list(columns)
        return [f"CASE WHEN usable_1 = 1 THEN {own} END" for own in columns]

    def best(self, node: Expression) -> str:
        """The column of the largest number that a node has of a row."""
        if id(node) not in self._best:
            (self._best[id(node)],) = self.stage("best", [self.dialect.maximum(self.of(node))])
        return self._best[id(node)]

    def between(self, own: str, least: float, most: float) -> str:
        """A number, or the nearer of two bounds."""
        low, high = self.number(least), self.number(most)
        return f"CASE WHEN {own} < {low} THEN {low} WHEN {own} > {high} THEN {high} ELSE {own} END"

    def tame(self, names: list[str]) -> list[str]:
        """Columns with 0 for what is too small to be multiplied, where that is an error."""
        if not self.dialect.strict:
            return names
        return self.stage("held", [self._at_least(own, _TAME) for own in names])

    def _at_least(self, own: str, least: float) -> str:
        small = f"WHEN abs({own}) < {self.number(least)} THEN {self.number(0)}"
        return case([small, f"ELSE {own}"])

    def _sum_of(self, terms: Iterable[str], weights: Iterable[float]) -> str:
        """The sum of numbers with weights, without those of weight zero."""
        pairs = zip(terms, weights, strict=True)
        return _sum([f"{self.number(w)} * {own}" for own, w in pairs if w])

    def _less(self, own: str, shift: float) -> str:
        return f"({own} - {self.number(shift)})" if shift else own

    def _times(self, own: str, factor: float) -> str:
        return f"{own} * {self.number(factor)}" if factor != 1.0 else own

    def exp_of_negative(self, size: str, least: float = _LEAST_EXPONENT) -> str:
        """``exp(-size)`` of what is not negative, and 0 below what engines refuse."""
        most = self.number(-least)
        return f"CASE WHEN {size} > {most} THEN {self.number(0)} ELSE exp(-{size}) END"

    def log1p(self, own: str) -> str:
        """``log(1 + x)`` by Kahan: what ``1 + x`` rounds off is made good by the quotient."""
        one = self.number(1)
        log = f"{self.dialect.log.format(f'{one} + {own}')} * ({own} / ({one} + {own} - {one}))"
        return f"CASE WHEN {one} + {own} = {one} THEN {own} ELSE {log} END"

    def selected(self, items: Sequence[str]) -> str:
        """The whole query."""
        parts, listed = ",\n".join(self.parts), ",\n  ".join(items)
        return f"WITH {parts}\nSELECT\n  {listed}\nFROM {self.last}"

    # --- scores -------------------------------------------------------------------------------

    @singledispatchmethod
    def _columns(self, node: Expression) -> list[str]:
        raise Unprintable(f"SQL has no {type(node).__name__}; export to another target.")

    @_columns.register
    def _(self, node: Features) -> list[str]:
        least, most = _limits(self.program.prediction, node.n_columns, self.dialect.strict)
        found: list[str] = []
        remarks: list[str] = []
        checks, place = [], 0
        for own in self.program.features:
            if isinstance(own, Words):
                self._words.append((own, slice(place, place + len(own.words))))
                place += len(own.words)
                continue
            text = self._number(own)
            if not _is_constant(own):
                checks.append((len(found), most[place]))
                text = self._at_least(text, least[place]) if least[place] else text
            found.append(text)
            remarks.append(plain_line(self.program.names[place]))
            place += 1
        columns = self.stage("feature", found, remarks=remarks) if found else []
        if checks:
            ranges = [f"abs({columns[k]}) <= {self.number(bound)}" for k, bound in checks]
            self.stage("usable", [f"CASE WHEN {_lines('AND', ranges)} THEN 1 END"])
            self._checked = True
        return columns

    def _without_words(self, node: Expression, what: str) -> list[str]:
        inputs = self.of(node)
        if isinstance(node, Features) and self._words:
            raise Unprintable(
                f"SQL has no {what} of words; fit a linear model of the texts, or export to "
                "another target."
            )
        return inputs

    @_columns.register
    def _(self, node: scores.Affine) -> list[str]:
        inputs, weights = self.of(node.of), dense(node.weights)
        kept = np.ones(weights.shape[1], dtype=bool)
        terms = [[self.number(b)] for b in node.intercepts]
        for words, place in self._words if isinstance(node.of, Features) else ():
            kept[place] = False
            sums = _sums_of_words(self, words, self._cells[words.cell], weights[:, place])
            for row, name in zip(terms, sums, strict=True):
                row.append(name)
        for row, own in zip(terms, weights[:, kept], strict=True):
            used = [k for k, w in enumerate(own) if w]
            if not used and not isinstance(node.of, Features):
                used = [0]  # A row without an answer has none here, either.
            row += [f"{self.number(own[k])} * {inputs[k]}" for k in used]
        return self.stage("score", self.usable(node.of, map(_sum, terms)))

    @_columns.register
    def _(self, node: scores.Difference) -> list[str]:
        first, second = self.of(node.of)
        return self.stage("difference", [f"{second} - {first}"])

    @_columns.register
    def _(self, node: scores.Quadratic) -> list[str]:
        inputs, own = self._without_words(node.of, "Gaussians"), node.gaussians
        rows = []
        for k in range(own.n_classes):
            means = [(own.means[k, j], 0 if own.rest is None else own.rest[k, j]) for j in own.kept]
            steps = [
                f"({inputs[j]} - {self.number(a)}{f' - {self.number(b)}' if b else ''})"
                for j, (a, b) in zip(own.kept, means, strict=True)
            ]
            rows += [self._sum_of(steps, row) for row in _whitening(own.factor(k))]
        white = iter(self.tame(self.stage("white", self.usable(node.of, rows))))
        found = []
        for constant in node.constants:
            squares = [f"{name} * {name}" for name in itertools.islice(white, len(own.kept))]
            found.append(f"{self.number(constant)} - {self.number(0.5)} * ({_sum(squares)})")
        return self.stage("score", found)

    @_columns.register
    def _(self, node: scores.KernelSum) -> list[str]:
        sums = _kernel_sums(self, node, self._without_words(node.of, "kernel machine"))
        pairs = zip(sums, node.intercepts, strict=True)
        return self.stage("score", [f"{self.number(b)} + {name}" for name, b in pairs])

    @_columns.register
    def _(self, node: scores.Monomials) -> list[str]:
        inputs, basis = self._without_words(node.of, "polynomial"), node.basis
        top = basis.powers.max(axis=0, initial=0)
        used = np.flatnonzero(top).tolist()
        steps = [self._times(self._less(inputs[j], basis.centre[j]), basis.scale[j]) for j in used]
        scaled = dict(zip(used, self.stage("scaled", self.usable(node.of, steps)), strict=True))
        powers = {(j, 0): self.number(1) for j in used}
        for k in range(int(top.max(initial=0))):
            degree = [j for j in used if top[j] > k]
            found = []
            for j in degree:
                a, b, s = basis.recurrence[j, k].tolist()
                own = self._less(scaled[j], a)
                if k:
                    own = f"{own} * {powers[j, k]}"
                    own = f"({own} - {self.number(b)} * {powers[j, k - 1]})" if b else own
                found.append(self._times(own, s))
            names = self.stage("power", found)
            powers |= {(j, k + 1): name for j, name in zip(degree, names, strict=True)}
        terms = [
            " * ".join(powers[j, int(row[j])] for j in np.flatnonzero(row).tolist())
            for row in basis.powers
        ]
        return self.stage("monomial", terms)

    @_columns.register
    def _(self, node: scores.Votes) -> list[str]:
        own, n = self.of(node.of), node.n_classes
        held = self.stage("held", [self.between(name, -1e300, 1e300) for name in own])
        wins: list[list[str]] = [[] for _ in range(n)]
        signed: list[list[str]] = [[] for _ in range(n)]
        for (a, b), name in zip(itertools.combinations(range(n), 2), held, strict=True):
            for k, sign, first, second in ((a, "", 1, 0), (b, "-", 0, 1)):
                wins[k].append(f"CASE WHEN {name} >= 0 THEN {first} ELSE {second} END")
                signed[k].append(f"({sign}{name})")
        sums = self.tame(self.stage("confidence", map(_sum, signed)))
        three, one = self.number(3), self.number(1)
        return self.stage(
            "score",
            (
                f"{_sum(won)} + {total} / ({three} * (abs({total}) + {one}))"
                for won, total in zip(wins, sums, strict=True)
            ),
        )

    @_columns.register
    def _(self, node: scores.Wins) -> list[str]:
        wins: list[list[str]] = [[] for _ in range(node.n_classes)]
        pairs = itertools.combinations(range(node.n_classes), 2)
        for (a, b), name in zip(pairs, self.of(node.of), strict=True):
            wins[a].append(f"CASE WHEN {name} > 0 THEN 1 ELSE 0 END")
            wins[b].append(f"CASE WHEN {name} <= 0 THEN 1 ELSE 0 END")
        (first, *_), one = self.of(node.of), self.number(1)
        known = f"CASE WHEN {first} IS NOT NULL THEN {one} END"
        return self.stage("wins", [f"{known} * ({_sum(won)})" for won in wins])

    @_columns.register
    def _(self, node: scores.Stacked) -> list[str]:
        return [name for one in node.of for name in self.of(one)]

    @_columns.register
    def _(self, node: scores.Fourier) -> list[str]:
        lift, inputs = node.lift, self._without_words(node.of, "Fourier features")
        steps = [self._less(x, o) for x, o in zip(inputs, lift.offset_, strict=True)]
        turned = self.usable(node.of, [self._sum_of(steps, row) for row in lift.frequencies_])
        angles = self.stage("angle", turned)
        root = self.number(math.sqrt(1.0 / len(angles)))
        waves = [f"{root} * {wave}({own})" for own in angles for wave in ("cos", "sin")]
        return self.stage("wave", waves)

    # --- classes ------------------------------------------------------------------------------

    @_columns.register
    def _(self, node: answers.Threshold) -> list[str]:
        (own,) = self.of(node.of)
        above, below = (">=", "<") if node.inclusive else (">", "<=")
        return self.stage(
            "label", [f"CASE WHEN {own} {above} 0 THEN 1 WHEN {own} {below} 0 THEN 0 END"]
        )

    @_columns.register
    def _(self, node: answers.FirstWins) -> list[str]:
        best = self.best(node.of)
        cases = [f"WHEN {own} = {best} THEN {k}" for k, own in enumerate(self.of(node.of))]
        return self.stage("label", [f"CASE {_lines('', cases)} END"])

    @_columns.register
    def _(self, node: answers.Positive) -> list[str]:
        own = self.of(node.of)
        return self.stage(
            "label", (f"CASE WHEN {x} > 0 THEN 1 WHEN {x} <= 0 THEN 0 END" for x in own)
        )

    # --- functions of single scores -----------------------------------------------------------

    @_columns.register
    def _(self, node: answers.Scaled) -> list[str]:
        own = self.of(node.of)
        if node.slope == 1.0 and not node.offset:
            return own
        most = 1e300 / max(abs(node.slope), 1.0)
        held = self.tame(self.stage("held", [self.between(x, -most, most) for x in own]))
        slope, offset = self.number(node.slope), self.number(node.offset)
        return self.stage("scaled", [f"{slope} * {x} + {offset}" for x in held])

    @_columns.register
    def _(self, node: answers.Exp) -> list[str]:
        least, most = self.number(_LEAST_EXPONENT), self.number(_LARGEST_EXPONENT)
        low = f"THEN {self.number(0)}"
        return self.stage(
            "exponential",
            (
                f"CASE WHEN {own} < {least} {low} WHEN {own} <= {most} THEN exp({own}) END"
                for own in self.of(node.of)
            ),
        )

    @_columns.register
    def _(self, node: answers.LogSigmoid) -> list[str]:
        own = self.of(node.of)
        small = self.stage("small", [self.exp_of_negative(f"abs({x})") for x in own])
        return self.stage(
            "log_sigmoid",
            (
                f"CASE WHEN {x} < 0 THEN {x} ELSE {self.number(0)} END - {self.log1p(e)}"
                for x, e in zip(own, small, strict=True)
            ),
        )

    @_columns.register
    def _(self, node: answers.Interpolate) -> list[str]:
        x, p = node.points, [self.number(height) for height in node.heights]
        found = []
        for own in self.tame(self.of(node.of)):
            cases = [f"WHEN {own} <= {self.number(x[0])} THEN {p[0]}"]
            for k in np.flatnonzero(np.diff(x) > 0.0):
                share = f"({own} - {self.number(x[k])}) / {self.number(x[k + 1] - x[k])}"
                rise = self.number(node.heights[k + 1] - node.heights[k])
                end = self.number(x[k + 1])
                cases.append(f"WHEN {own} < {end} THEN {p[k]} + {share} * {rise}")
            cases.append(f"WHEN {own} >= {self.number(x[-1])} THEN {p[-1]}")
            found.append(f"CASE {_lines('', cases)} END")
        return self.stage("height", found)

    @_columns.register
    def _(self, node: answers.Clipped) -> list[str]:
        half, one = self.number(0.5), self.number(1)
        held = (self.between(own, -1.0, 1.0) for own in self.of(node.of))
        return self.stage("clipped", [f"{half} * ({own} + {one})" for own in held])

    @_columns.register
    def _(self, node: answers.Leads) -> list[str]:
        own = self.of(node.of)
        return self.stage("lead", [f"{x} - {self._others(own, k)}" for k, x in enumerate(own)])

    def _others(self, names: Sequence[str], k: int) -> str:
        return self.dialect.maximum([*names[:k], *names[k + 1 :]])

    # --- probabilities ------------------------------------------------------------------------

    @_columns.register
    def _(self, node: answers.Sigmoid) -> list[str]:
        (own,), one = self.of(node.of), self.number(1)
        (small,) = self.stage("small", [self.exp_of_negative(f"abs({own})")])
        near, far = f"{one} / ({one} + {small})", f"{small} / ({one} + {small})"
        sides = (far, near), (near, far)
        return self.stage(
            "probability", [f"CASE WHEN {own} >= 0 THEN {a} ELSE {b} END" for a, b in sides]
        )

    @_columns.register
    def _(self, node: answers.Softmax) -> list[str]:
        best = self.best(node.of)
        behind = self.stage("behind", [f"{best} - {own}" for own in self.of(node.of)])
        # A share that is not cut off to 0 is no less than the smallest number.
        least = _LEAST_EXPONENT + math.log(len(behind))
        powers = self.stage("exponential", [self.exp_of_negative(x, least) for x in behind])
        (total,) = self.stage("total", [_sum(powers)])
        return self.stage("probability", [f"{own} / {total}" for own in powers])

    @_columns.register
    def _(self, node: answers.Normalised) -> list[str]:
        own = self.of(node.of)
        if len(own) == 1:
            return self.stage("share", [f"{self.number(1)} - {own[0]}", own[0]])
        (total,) = self.stage("total", [_sum(own)])
        equal = f"WHEN {total} <= 0 THEN {self.number(1.0 / len(own))}"
        return self.stage(
            "share", (f"CASE WHEN {total} > 0 THEN {x} / {total} {equal} END" for x in own)
        )

    @_columns.register
    def _(self, node: answers.OnItsSide) -> list[str]:
        (first, second), (label,) = self.of(node.of), self.of(node.label)
        (own,) = self.stage("winner", [f"CASE {label} WHEN 0 THEN {first} ELSE {second} END"])
        half = self.number(0.5)
        return self.stage(
            "agreeing",
            (f"CASE WHEN {own} < {half} THEN {half} ELSE {x} END" for x in (first, second)),
        )

    @_columns.register
    def _(self, node: answers.Consistent) -> list[str]:
        own, (label,) = self.of(node.of), self.of(node.label)
        found = []
        for k, x in enumerate(own):
            others = self._others(own, k)
            lifted = f"{others} * {self.number(1.0 + 2.0**-52)}"
            found.append(f"CASE WHEN {label} = {k} AND {x} <= {others} THEN {lifted} ELSE {x} END")
        return self.stage("agreeing", found)

    # --- features -----------------------------------------------------------------------------

    @singledispatchmethod
    def _number(self, own: Number) -> str:
        raise Unprintable(f"SQL has no {type(own).__name__}; export to another target.")

    @_number.register
    def _(self, own: Cell) -> str:
        return self._cells[own]

    @_number.register
    def _(self, own: features.Constant) -> str:
        return self.number(own.value)

    @_number.register
    def _(self, own: features.Arithmetic) -> str:
        left, right = self._number(own.left), self._number(own.right)
        constant = isinstance(own.right, features.Constant) and own.right.value
        if own.operator == "/" and not constant:
            right = f"nullif({right}, 0)"
        text = f"({left} {own.operator} {right})"
        if not self.dialect.strict or own.operator in "+-":
            return text
        if not constant:
            return self._held_product(text, left, right)
        size = abs(1.0 / constant if own.operator == "/" else constant)
        least = 2.0 * _SMALLEST / size if size < 1.0 and not _is_shifted(own.left) else 0.0
        return self._held(text, [left], least, _MOST / 2.0 / size if size > 1.0 else math.inf)

    def _held(self, text: str, factors: Sequence[str], least: float, most: float) -> str:
        """A product that stays within range: 0 below it, and nothing above."""
        small = " OR ".join(f"abs({own}) < {self.number(least)}" for own in factors)
        large = " AND ".join(f"abs({own}) <= {self.number(most)}" for own in factors)
        cases = f"WHEN {small} THEN {self.number(0)} " if least else ""
        cases += f"WHEN {large} THEN {text}" if most < math.inf else f"ELSE {text}"
        return f"CASE {cases} END" if cases.startswith("WHEN") else text

    def _held_product(self, text: str, left: str, right: str) -> str:
        """A product of two numbers that stays within range."""
        tame, one, most = self.number(_TAME), self.number(1), self.number(_MOST / 2.0)
        pairs = (left, right), (right, left)
        small = " OR ".join(f"(abs({x}) < {tame} AND abs({y}) <= {one})" for x, y in pairs)
        share = f"CASE WHEN abs({right}) > {one} THEN {most} / abs({right}) ELSE {most} END"
        large = f"abs({right}) <= {most} AND abs({left}) <= {share}"
        return f"CASE WHEN {small} THEN {self.number(0)} WHEN {large} THEN {text} END"

    @_number.register
    def _(self, own: features.Power) -> str:
        base, n = self._number(own.base), own.exponent
        text = f"({' * '.join([base] * n)})"
        bounds = 10.0 ** (-300.0 / n), 10.0 ** (300.0 / n)
        return self._held(text, [base], *bounds) if self.dialect.strict else text

    @_number.register
    def _(self, own: features.Function) -> str:
        of = self._number(own.of)
        if own.name in ("log", "log1p"):
            plain = own.name == "log"
            text = self.dialect.log.format(of) if plain else self.log1p(of)
            return f"CASE WHEN {of} > {self.number(0 if plain else -1)} THEN {text} END"
        return f"{'abs' if own.name == 'absolute' else 'floor'}({of})"

    @_number.register
    def _(self, own: features.DatePart) -> str:
        days = self._cells[own.cell]
        if own.part == "weekday":
            since = f"(floor({days}) + 3)"
            text = f"{since} - 7 * floor({since} / {self.number(7)}) + 1"
        elif own.part == "hour":
            text = f"floor(({days} - floor({days})) * 24 + {self.number(1e-9)})"
        else:
            part = self.dialect.part.format(days, own.part, "%Y" if own.part == "year" else "%m")
            text = f"CAST({part} AS {self.dialect.double})"
        return case([f"WHEN {days} >= -719162 AND {days} < 2932897", f"THEN {text}"])

    @_number.register
    def _(self, own: features.Where) -> str:
        rest: Number = own
        cases = []
        while isinstance(rest, features.Where):
            cases.append(f"WHEN {self._condition(rest.condition)} THEN {self._number(rest.then)}")
            rest = rest.otherwise
        return case([*cases, f"ELSE {self._number(rest)}"])

    @singledispatchmethod
    def _condition(self, own: features.Condition) -> str:
        raise Unprintable(f"SQL has no {type(own).__name__}; export to another target.")

    @_condition.register
    def _(self, own: features.IsMissing) -> str:
        cell, values = self._cells[own.cell], ", ".join(map(self.number, own.placeholders))
        return f"{cell} IS NULL" + (f" OR {cell} IN ({values})" if values else "")

    @_condition.register
    def _(self, own: features.IsLevel) -> str:
        texts = map(self.dialect.level.format, map(self.dialect.string, own.levels))
        return f"{self._cells[own.cell]} IN ({', '.join(texts)})" if own.levels else "1 = 0"

    @_condition.register
    def _(self, own: features.Compare) -> str:
        operator = "=" if own.operator == "==" else own.operator
        return f"{self._number(own.left)} {operator} {self._number(own.right)}"


# --- parts of expressions -------------------------------------------------------------------------


def _lines(glue: str, items: Sequence[str]) -> str:
    """Items on a line each."""
    return f"\n      {glue}{' ' * bool(glue)}".join(items)


def case(parts: Sequence[str]) -> str:
    """A choice between numbers, on a line for each case where one line would be long."""
    text = f"CASE {' '.join(parts)} END"
    if len(text) <= _WIDTH and "\n" not in text:
        return text
    deeper = [part.replace("\n", "\n  ") for part in parts]
    return f"CASE {_lines('', deeper)} END"


def _sum(terms: Sequence[str]) -> str:
    """A sum, from left to right, of parts that are no deeper than engines allow."""
    if not terms:
        return "0"
    if len(terms) <= _TERMS:
        return _lines("+", terms)
    parts = (terms[k : k + _TERMS] for k in range(0, len(terms), _TERMS))
    return _sum([f"({_sum(part)})" for part in parts])


def _is_constant(own: Number) -> bool:
    """Whether a feature has one of some finite values, whatever is in the cells."""
    if isinstance(own, features.Where):
        return _is_constant(own.then) and _is_constant(own.otherwise)
    return isinstance(own, features.Constant) and math.isfinite(own.value)


def _is_shifted(own: Number) -> bool:
    """Whether it is a number less a constant: nothing, or no smaller than a unit of that."""
    if not isinstance(own, features.Arithmetic) or own.operator not in "+-":
        return False
    return isinstance(own.right, features.Constant) and abs(own.right.value) > 1e-200


def _whitening(factor: Any) -> np.ndarray:
    """``L^-1 D``, whose rows are those of a lower triangle."""
    inverse = solve_triangular(factor.lower, np.diag(factor.scale), lower=True, check_finite=False)
    return np.asarray(inverse)


def _limits(prediction: Any, d: int, strict: bool) -> tuple[np.ndarray, np.ndarray]:
    """The magnitudes of every feature between which no product or sum leaves the range."""
    least, most = np.zeros(d), np.full(d, _MOST)
    trees = prediction.scores, prediction.label, prediction.probabilities
    for node in nodes_of_trees(*(tree for tree in trees if tree is not None)):
        if not isinstance(getattr(node, "of", None), Features):
            continue
        if isinstance(node, scores.Affine):
            sizes = np.abs(dense(node.weights))
            most = np.minimum(most, _MOST / (d + 2) / sizes.max(axis=0, initial=1.0))
            small = np.where(sizes > 0.0, sizes, 1.0).min(axis=0, initial=1.0)
            floor = np.where(small < 1.0, 2.0 * _SMALLEST / small, 0.0)
        else:
            degree, factor = _growth(node)
            most = np.minimum(most, 10.0 ** (305.0 / degree) / factor)
            floor = np.full(d, 10.0 ** (-280.0 / max(degree, 2)))
        least = np.maximum(least, floor * strict)
    # Powers of ten are easier to read.
    return least, 10.0 ** np.floor(np.log10(most))


@singledispatch
def _growth(node: Any) -> tuple[int, float]:
    """The number of features that a node multiplies, and the largest factor of one of them."""
    return 1, 1.0


@_growth.register
def _(node: scores.Quadratic) -> tuple[int, float]:
    sizes = [np.abs(_whitening(factor)).sum(axis=1) for factor in node.gaussians.factors]
    return 2, float(max(size.max(initial=1.0) for size in sizes))


@_growth.register
def _(node: scores.KernelSum) -> tuple[int, float]:
    kernel, vectors = node.kernel, np.abs(dense(node.vectors))
    if isinstance(kernel, kernels.RBFKernel):
        return 1, 1.0
    size = (vectors.shape[1] + 2) * vectors.max(initial=1.0) * max(1.0, getattr(kernel, "gamma", 1))
    if isinstance(kernel, kernels.LinearKernel):
        size *= max(1.0, float(np.abs(node.coefficients).sum()))
    return int(getattr(kernel, "degree", 1)), float(size)


@_growth.register
def _(node: scores.Fourier) -> tuple[int, float]:
    sizes = np.abs(node.lift.frequencies_)
    return 1, float(sizes.max(initial=1.0) * (sizes.shape[1] + 2))


@_growth.register
def _(node: scores.Monomials) -> tuple[int, float]:
    basis = node.basis
    return int(basis.powers.sum(axis=1).max(initial=1)) + 1, float(basis.scale.max(initial=1.0))


# --- joins by value -------------------------------------------------------------------------------


def _kernel_sums(query: Query, node: scores.KernelSum, inputs: list[str]) -> list[str]:
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
    inner, value = _kernel(query, node.kernel, inputs, v)
    table = query.written_out("vector", [*v, *w], rows)
    usable = " WHERE usable_1 = 1" if query.usable(node.of, "?") != ["?"] else ""
    first, *others = inputs
    points = query.part("point", [f"DISTINCT {first}", *others], f"{query.last}{usable}")
    pair = query.part(
        "pair", [*inputs, *w, f"{inner} AS inner_value"], f"{points} CROSS JOIN {table}"
    )
    valued = query.part("value", [*inputs, *w, f"{value} AS kernel_value"], pair)
    sums = [f"sum({own} * kernel_value) AS kernel_{k}" for k, own in enumerate(w, 1)]
    kernel = query.part("kernel", [*inputs, *sums], f"{valued}\n  GROUP BY {', '.join(inputs)}")
    matches = " AND ".join(f"k.{name} = previous.{name}" for name in inputs)
    joined = f"\n  LEFT JOIN {kernel} AS k ON {matches}"
    return query.stage("sum", [f"k.kernel_{k}" for k in range(1, len(w) + 1)], joined)


def _kernel(query: Query, kernel: Any, inputs: list[str], v: list[str]) -> tuple[str, str]:
    """The ``inner_value`` that a kernel is a function of, and the kernel as a function of it."""
    if isinstance(kernel, kernels.RBFKernel):
        if query.dialect.strict:  # Values further away give nothing all the same.
            inputs = [query.between(x, -1.0 / _TAME, 1.0 / _TAME) for x in inputs]
        steps = [f"({x} - {z})" for x, z in zip(inputs, v, strict=True)]
        squares = _sum([f"{step} * {step}" for step in steps])
        least = _LEAST_KERNEL if query.dialect.strict else _LEAST_EXPONENT
        value = query.exp_of_negative("inner_value", least)
        return f"{query.number(kernel.gamma)} * ({squares})", value
    products = _sum([f"{x} * {z}" for x, z in zip(inputs, v, strict=True)])
    if isinstance(kernel, kernels.LinearKernel):
        return products, "inner_value"
    if not isinstance(kernel, kernels.PolynomialKernel | kernels.SigmoidKernel):
        raise Unprintable(
            f"SQL has no kernel {type(kernel).__name__}; fit with a linear, polynomial, RBF or "
            "sigmoid kernel."
        )
    inner = f"{query.number(kernel.gamma)} * ({products}) + {query.number(kernel.coef0)}"
    if isinstance(kernel, kernels.PolynomialKernel):
        return inner, " * ".join(["inner_value"] * kernel.degree)
    return inner, query.dialect.tanh.format(f"({query.between('inner_value', -30.0, 30.0)})")


def _sums_of_words(query: Query, words: Words, cell: str, weights: np.ndarray) -> list[str]:
    """The parts of scores that come from the words of a text, of the distinct texts."""
    dialect, number, string, options = (
        query.dialect,
        query.number,
        query.dialect.string,
        words.options,
    )
    if why := _no_words(dialect, words):
        raise Unprintable(
            f"The words of {words.cell.column!r} have no SQL: {why}; export to Python or "
            "JavaScript, or fit without this column."
        )
    text = "own_text"
    if options["lowercase"]:
        # The one letter of which Python makes two.
        text = f"lower(replace(own_text, {string(chr(0x130))}, {string(chr(0x130).lower())}))"
    listed = "all_words"
    if tuple(options["ngram_range"]) == (1, 2):
        pairs = "all_words[i] || ' ' || all_words[i + 1] for i in range(1, len(all_words))"
        listed = f"list_concat(all_words, [{pairs}])"
    texts = query.part("text", [f"DISTINCT {cell} AS own_text"], query.last)
    split = query.part("split", ["own_text", f"{dialect.words.format(text)} AS all_words"], texts)
    found = query.part("found", ["own_text", f"unnest({listed}) AS word"], split)
    columns = [f"weight_{k}" for k in range(1, len(weights) + 1)]
    rows = [
        [string(word), number(idf), *map(number, own)]
        for word, idf, own in zip(words.words, words.weights, weights.T, strict=True)
    ]
    known = query.written_out("word", ["word", "idf", *columns], rows)
    count = number(1) if options["binary"] else f"CAST(count(*) AS {dialect.double})"
    if options["sublinear_tf"]:
        count = f"({number(1)} + {dialect.log.format(count)})"
    weighed = query.part(
        "weighed",
        ["own_text", "word", f"{count} * idf AS own_value"],
        f"{found} JOIN {known} USING (word)\n  GROUP BY own_text, word, idf",
    )
    over = "OVER (PARTITION BY own_text)"
    lengths = {"l2": f"sqrt(sum(own_value * own_value) {over})", "l1": f"sum(own_value) {over}"}
    length = lengths.get(options["norm"], number(1))
    scaled = query.part(
        "shares", ["own_text", "word", f"own_value / {length} AS own_share"], weighed
    )
    sums = [f"sum({name} * own_share) AS part_{k}" for k, name in enumerate(columns, 1)]
    source = f"{scaled} JOIN {known} USING (word)\n  GROUP BY own_text"
    added = query.part("texts", ["own_text", *sums], source)
    joined = f"\n  LEFT JOIN {added} AS t ON t.own_text = previous.{cell}"
    parts = [f"coalesce(t.part_{k}, {number(0)})" for k in range(1, len(columns) + 1)]
    return query.stage("words", parts, joined)


def _no_words(dialect: Dialect, words: Words) -> str:
    """The reason why the words of a text cannot be found; empty where they can be."""
    options = words.options
    pairs = tuple(options["ngram_range"])
    if not dialect.words:
        return f"{dialect.title} does not find the words in a text that Python finds"
    if options["token_pattern"] != TEXT_OPTIONS["token_pattern"]:
        return "the pattern of words is not the usual one"
    if options["strip_accents"] is not None:
        return "accents were taken off the letters"
    if pairs not in ((1, 1), (1, 2)):
        return "groups of words were counted that are neither words nor pairs"
    if pairs == (1, 2) and options["stop_words"] is not None:
        return "pairs of words were counted without the stop words between them"
    if options["lowercase"] and any("σ" in word or "ς" in word for word in words.words):
        return "the lower case of a capital sigma depends on where it stands in its word"
    return ""
