"""A program as statements, in any language with arithmetic, loops and arrays.

The part that languages share is here: the statements that each node becomes. A subclass of
:class:`Code` states how its language writes them. No statement branches: what depends on a
condition is chosen by an expression, so that the same statements compute one row, and arrays of
many rows.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any, ClassVar

import numpy as np

from separatrix.data.design import dense
from separatrix.exports.artefacts import Heading, Sample, Unprintable
from separatrix.expressions import answers, features, scores
from separatrix.expressions.base import Expression
from separatrix.expressions.features import Cell, Parsed, Program, Words
from separatrix.kernels import functions as kernels
from separatrix.tables.word_encoding import TEXT_OPTIONS

MOST_CONSTANTS = 1_000_000
"""The largest number of constants in the text of a program: some twenty megabytes."""

UNDECIDED = -2
"""The label of a golden row whose score is too close to a tie to compare it."""

_WIDTH = 96


def filled(template: str, **parts: object) -> str:
    """A template of this package, with a part for each name between two at signs."""
    text = files(__package__).joinpath("templates", f"{template}.in").read_text("utf-8")
    return re.sub(r"@(\w+)@", lambda found: str(parts[found[1]]), text)


def shown(text: str) -> str:
    """A name as a comment shows it, which it can neither end nor continue."""
    plain = "".join(c if c.isprintable() else f"<U+{ord(c):04X}>" for c in text)
    return re.sub(r"(?<=\*)(?=/)|(?<=/)(?=\*)|(?<=<)(?=[/!])|(?<=\?)(?=\?)", " ", plain)


def commented(lines: Iterable[str], mark: str) -> str:
    """Sentences as the lines of a comment, each of which begins with a mark."""
    wrapped = [part for line in lines for part in textwrap.wrap(shown(line), _WIDTH) or [""]]
    return "\n".join(f"{mark} {line}".rstrip() for line in wrapped)


def answered(program: Program, nothing: str) -> list[str]:
    """Sentences on the answers of an artefact for cells that the fit did not have."""
    texts = any(cell.kind == "text" for cell in program.cells)
    return [
        f"A row gets no answer ({nothing}) where a feature is missing, NaN or infinite; a missing "
        "cell is read as the features below state.",
        *["A level or a word that the fit did not have is none of those below."] * texts,
        *program.remarks,
    ]


def word_options(words: Words) -> dict[str, Any]:
    """The options of words with their defaults; stop words where runs of words depend on them."""
    own = {**TEXT_OPTIONS, **words.options}
    stop = own["stop_words"]
    if stop == "english":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        stop = ENGLISH_STOP_WORDS
    own["ngram_range"] = [*own["ngram_range"]]
    own["stop_words"] = sorted(stop) if stop and own["ngram_range"] != [1, 1] else []
    return own


def golden(program: Program, sample: Sample) -> list[list[Any]]:
    """Tables of the cells, labels, scores and probabilities of rows, and of the bounds on these."""
    expected, (values, bounds) = sample.expected, sample.side_by_side()
    labels = np.zeros(sample.n_rows, dtype=int)
    if expected.labels is not None:
        labels = np.where(sample.decided, expected.labels, UNDECIDED)
    labels[np.isnan(values).any(axis=1)] = -1
    rows = [sample.cells(program, row) for row in range(sample.n_rows)]
    return [*map(list, zip(rows, *(a.tolist() for a in (labels, values, bounds)), strict=True))]


def _bare(expression: str) -> str:
    """An expression without the parentheses around all of it."""
    depth, end = 0, 0
    for found in re.finditer(r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[()]""", expression):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if not depth:
            end = found.end()
            break
    return expression[1:-1] if expression[:1] == "(" and end == len(expression) else expression


def _joined(parts: list[str]) -> str:
    """Parts with commas between them, in lines that are not too long."""
    lines = [""]
    for part in parts:
        if lines[-1] and len(lines[-1]) + len(part) > _WIDTH:
            lines.append("")
        lines[-1] += f"{part}, "
    joined = "\n".join(map(str.rstrip, lines)).removesuffix(",")
    return f"\n{joined}\n" if len(lines) > 1 else joined


class Code:
    """The statements of one function in a language, and the constants that they read.

    Parameters
    ----------
    program : Program
    heading : Heading
    """

    # How a language writes; what stands in braces is filled in.
    functions: ClassVar[dict[str, str]] = {}
    call_of = "{name}({arguments})"
    selection = "({condition} ? {then} : {otherwise})"
    either = " || "
    equal = "=="
    scalar, whole, zeros, constant_of, loop_of = "", "", "", "", ""
    brackets, booleans = "[]", ("false", "true")
    infinity, not_a_number, nothing, large = "", "", "", ""
    end, closing, remark = ";", "}", "  /* {} */"
    prefix, type = "", "real"

    def __init__(self, program: Program, heading: Heading):
        if isinstance(program.prediction.label, answers.Positive):
            raise Unprintable(
                "The model gives a row several labels, and its text would give one; export a model "
                "of each label."
            )
        self.program, self.name = program, heading.name
        self.lines: list[str] = []
        self.constants: list[str] = []
        self.helpers: set[str] = set()
        self.n_features = 0
        self._depth, self._loops, self._size = 1, 0, 0
        self._names: Counter[str] = Counter()
        self._known: dict[Any, str] = {}

    # --- expressions ----------------------------------------------------------------------------

    def cell(self, cell: Cell) -> str:
        """The cell of a column."""
        return f"cell[{self.text(cell.column)}]"

    def missing(self, cell: Cell) -> str:
        """Whether there is nothing in a cell."""
        raise NotImplementedError

    def text(self, text: str) -> str:
        """A text as a literal."""
        raise NotImplementedError

    def is_level(self, cell: Cell, level: str) -> str:
        """Whether the text of a cell is this one."""
        return f"({self.cell(cell)} {self.equal} {self.text(level)})"

    def call(self, function: str, *arguments: str) -> str:
        """A function of numbers: exp, log, log1p, tanh, floor, absolute, least, most, next."""
        name = self.functions.get(function, function)
        return self.call_of.format(name=name, arguments=", ".join(arguments))

    def select(self, condition: str, then: str, otherwise: str) -> str:
        """One number where a condition holds, and another elsewhere."""
        otherwise = _bare(otherwise)
        return self.selection.format(condition=condition, then=then, otherwise=otherwise)

    def number(self, value: float) -> str:
        """A number as the shortest literal that is read as the same number."""
        if math.isfinite(value):
            return repr(float(value))
        sign = "-" if value < 0.0 else ""
        return self.not_a_number if math.isnan(value) else f"{sign}{self.infinity}"

    def literal(self, value: Any) -> str:
        """A number, a text, nothing, or a list of such."""
        match value:
            case None:
                return self.nothing
            case str():
                return self.text(value)
            case bool():
                return self.booleans[value]
            case int():
                return f"{value}{self.large if abs(value) > 2**53 else ''}"
            case float():
                return self.number(value)
        parts = [*map(self.literal, value)]
        rows = len(parts) > 1 and all(isinstance(one, list) for one in value)
        return ("\n" + ",\n".join(parts) + "\n" if rows else _joined(parts)).join(self.brackets)

    def _any(self, conditions: list[str]) -> str:
        """Whether one of some conditions holds."""
        if len(conditions) < 2:
            return conditions[0] if conditions else self.booleans[False]
        return f"({self.either.join(conditions)})"

    def clip(self, value: str, low: float, high: float) -> str:
        """A number held between two others."""
        return self.call("least", self.call("most", value, self.number(low)), self.number(high))

    def read_texts(self, template: str, form: str, statement: str) -> str:
        """The statement that reads a text as a number; empty where no column has such texts."""
        forms = []
        for cell in self.program.cells:
            if isinstance(cell, Parsed):
                parts = (cell.column, cell.whole, cell.never, cell.negative, cell.marks)
                forms.append(form.format(*map(self.text, (*parts, cell.decimal))))
        if forms:
            self.helpers.add(filled(template, forms=",\n    ".join(forms)))
        return statement if forms else ""

    # --- statements -----------------------------------------------------------------------------

    def write(self, statement: str) -> None:
        """Add a line."""
        self.lines.append("    " * self._depth + statement)

    def taken(self) -> str:
        """The statements so far, which the next ones come after."""
        lines, self.lines = "\n".join(self.lines), []
        return lines

    def set(self, target: str, value: str, operator: str = "=") -> None:
        """Add an assignment."""
        self.write(f"{target} {operator} {_bare(value)}{self.end}")

    def _new(self, form: str, name: str, **parts: object) -> str:
        """Add a statement that makes something with a name of its own, and return the name."""
        self._names[name] += 1
        name += str(self._names[name])
        self.write(form.format(name=name, **parts))
        return name

    def real(self, name: str, value: str) -> str:
        """Give a number a name."""
        return self._new(self.scalar, name, value=_bare(value))

    def place(self, name: str, value: str) -> str:
        """Give a whole number a name."""
        return self._new(self.whole, name, value=_bare(value))

    def array(self, name: str, size: int) -> str:
        """Make an array of zeros."""
        return self._new(self.zeros, name, size=max(size, 1))

    def constant(self, **arrays: Any) -> list[str]:
        """Give arrays of constants names of their own."""
        names = []
        for name, values in arrays.items():
            array = np.asarray(values)
            self._size += array.size
            if self._size > MOST_CONSTANTS:
                raise Unprintable(
                    f"The model has more than {MOST_CONSTANTS:,} numbers, too many for a text; a "
                    "kernel machine has fewer of them on separatrix.lifts.NystroemLift."
                )
            if not array.size:  # C has no arrays without entries.
                array = np.zeros([max(size, 1) for size in array.shape], dtype=array.dtype)
            self._names[name] += 1
            names.append(f"{self.prefix}{name}{self._names[name]}")
            self.constants.append(
                self.constant_of.format(
                    kind="int" if array.dtype.kind in "iu" else self.type,
                    name=names[-1],
                    sizes="".join(f"[{size}]" for size in array.shape),
                    values=self.literal(array.tolist()),
                )
            )
        return names

    @contextmanager
    def loop(self, stop: int | str, start: int = 0) -> Iterator[str]:
        """A loop over whole numbers; a single one needs none."""
        if stop == 1 and start == 0:
            yield "0"
            return
        index = "ijklmn"[self._loops]
        span = f"{start}, {stop}" if start else stop
        self.write(self.loop_of.format(index=index, start=start, stop=stop, span=span))
        self._depth, self._loops = self._depth + 1, self._loops + 1
        yield index
        self._depth, self._loops = self._depth - 1, self._loops - 1
        if self.closing:
            self.write(self.closing)

    # --- features -------------------------------------------------------------------------------

    def write_features(self) -> None:
        """The matrix of the features, the array ``x``."""
        own = self.program.features
        sizes = [one.n_columns for one in own]
        self.n_features = sum(sizes)
        self.write(self.zeros.format(name="x", size=max(self.n_features, 1)))
        for at, feature in zip(np.cumsum([0, *sizes]).tolist(), own, strict=False):
            if isinstance(feature, Words):
                self.words(at, feature)
            else:
                self.set(f"x[{at}]", self.term(feature))
                self.lines[-1] += self.remark.format(shown(self.program.names[at]))

    def words(self, column: int, words: Words) -> None:
        """Add the statements that compute the weights of words from a column of the matrix on."""
        raise NotImplementedError

    def term(self, node: Any) -> str:
        """A number or a condition of a row, as an expression."""
        match node:
            case Cell():
                return self.cell(node)
            case features.Constant(value):
                return self.number(value)
            case features.Arithmetic(operator, left, right):
                return f"({self.term(left)} {operator} {self.term(right)})"
            case features.Function(name, of):
                return self.call(name, _bare(self.term(of)))
            case features.Power(base, exponent):
                if node not in self._known:
                    self._known[node] = self._power(self.real("base", self.term(base)), exponent)
                return self._known[node]
            case features.DatePart():
                if node not in self._known:
                    self._known[node] = self.real(node.part, self._date_part(node))
                return self._known[node]
            case features.Where(condition, then, otherwise):
                return self.select(*map(self.term, (condition, then, otherwise)))
            case features.Compare(operator, left, right):
                operator = self.equal if operator == "==" else operator
                return f"({self.term(left)} {operator} {self.term(right)})"
            case features.IsLevel(cell, levels):
                return self._any([self.is_level(cell, level) for level in levels])
            case features.IsMissing(cell, numbers):
                values = [f"({self.cell(cell)} {self.equal} {self.number(n)})" for n in numbers]
                return self._any([self.missing(cell), *values])
        raise TypeError(f"There is no expression for {type(node).__name__}.")

    def _power(self, base: str, exponent: int) -> str:
        """A number to a whole power, by repeated products."""
        power = self.real("power", base)
        with self.loop(exponent, start=1):
            self.set(power, f"{power} * {base}")
        return power

    def _date_part(self, node: features.DatePart) -> str:
        """The calendar of Hinnant (2013), whose years begin in March of the year 0."""

        def floor(value: str) -> str:
            return self.call("floor", value)

        n, cell = self.number, self.cell(node.cell)
        day = self.real("day", floor(cell))
        if node.part == "hour":  # Days hold an hour to a nanosecond, as the library reads them.
            return floor(f"({cell} - {day}) * {n(24)} + {n(1e-9)}")
        if node.part == "weekday":
            return f"{day} + {n(4)} - {n(7)} * {floor(f'({day} + {n(3)}) / {n(7)}')}"
        day = self.real("day", f"{day} + {n(719468)}")
        era = self.real("era", floor(f"{day} / {n(146097)}"))
        day = self.real("day", f"{day} - {n(146097)} * {era}")
        leap = [floor(f"{day} / {n(days)}") for days in (1460, 36524, 146096)]
        year = self.real("since", floor(f"({day} - {leap[0]} + {leap[1]} - {leap[2]}) / {n(365)}"))
        leap = [floor(f"{year} / {n(years)}") for years in (4, 100)]
        day = self.real("day", f"{day} - {n(365)} * {year} - {leap[0]} + {leap[1]}")
        month = self.real("march", floor(f"({n(5)} * {day} + {n(2)}) / {n(153)}"))
        late = f"({month} < {n(10)})"
        if node.part == "month":
            return self.select(late, f"{month} + {n(3)}", f"{month} - {n(9)}")
        return f"{n(400)} * {era} + {year} + {self.select(late, n(0), n(1))}"

    def common(self, rows: list[Any]) -> dict[str, str]:
        """The parts that templates have in common, golden rows among them."""
        classes = self.program.prediction.classes
        return {
            "classes": self.literal([c if isinstance(c, int | float) else str(c) for c in classes]),
            "columns": self.literal([[cell.column, cell.kind] for cell in self.program.cells]),
            "constants": "\n".join(self.constants),
            "helpers": "".join(sorted(self.helpers)),
            "answers": self.taken(),
            "undecided": str(UNDECIDED),
            "golden": self.literal(rows),
        }

    # --- nodes ----------------------------------------------------------------------------------

    def write_answers(self) -> dict[str, str]:
        """The names of the results for the matrix: scores, label and probabilities."""
        own = self.program.prediction
        parts = {"scores": own.scores, "label": own.label, "probabilities": own.probabilities}
        return {name: self.of(node) for name, node in parts.items() if node is not None}

    def of(self, node: Expression) -> str:
        """The array of a node's numbers, or the name of its class; computed once."""
        if id(node) not in self._known:
            name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(node).__name__).lower()
            self._known[id(node)] = getattr(self, f"_{name}")(node, name)
        return self._known[id(node)]

    def _each(self, node: Any, name: str, function: Callable[[str, str], str]) -> str:
        """An array of a function of each column of a node's own argument, and of its place."""
        values, out = self.of(node.of), self.array(name, node.n_columns)
        with self.loop(node.n_columns) as k:
            self.set(f"{out}[{k}]", function(f"{values}[{k}]", k))
        return out

    def _features(self, node: Expression, name: str) -> str:
        return "x"

    def _affine(self, node: scores.Affine, name: str) -> str:
        values, out = self.of(node.of), self.array(name, node.n_columns)
        weights, intercepts = self.constant(weights=node.weights, intercepts=node.intercepts)
        with self.loop(node.n_columns) as k:
            total = self.real("total", f"{intercepts}[{k}]")
            with self.loop(node.weights.shape[1]) as j:
                self.set(total, f"{weights}[{k}][{j}] * {values}[{j}]", "+=")
            self.set(f"{out}[{k}]", total)
        return out

    def _difference(self, node: scores.Difference, name: str) -> str:
        values, out = self.of(node.of), self.array(name, 1)
        self.set(f"{out}[0]", f"{values}[1] - {values}[0]")
        return out

    def _quadratic(self, node: scores.Quadratic, name: str) -> str:
        own = node.gaussians
        size = len(own.kept)
        values, out = self.of(node.of), self.array(name, node.n_columns)
        white = self.array("white", size)
        kept, means, scale, lower, constants = self.constant(
            kept=own.kept,
            means=own.means[:, own.kept],
            scale=[factor.scale for factor in own.factors],
            lower=[factor.lower for factor in own.factors],
            constants=node.constants,
        )
        with self.loop(node.n_columns) as k:
            which = k if len(own.factors) > 1 else "0"
            square = self.real("square", self.number(0))
            with self.loop(size) as i:
                step = f"({values}[{kept}[{i}]] - {means}[{k}][{i}]) * {scale}[{which}][{i}]"
                rest = self.real("rest", step)
                with self.loop(i) as j:
                    self.set(rest, f"{lower}[{which}][{i}][{j}] * {white}[{j}]", "-=")
                self.set(f"{white}[{i}]", f"{rest} / {lower}[{which}][{i}][{i}]")
                self.set(square, f"{white}[{i}] * {white}[{i}]", "+=")
            self.set(f"{out}[{k}]", f"{constants}[{k}] - {self.number(0.5)} * {square}")
        return out

    def _kernel_sum(self, node: scores.KernelSum, name: str) -> str:
        values, out = self.of(node.of), self.array(name, node.n_columns)
        points = dense(node.vectors)
        vectors, coefficients, intercepts = self.constant(
            vectors=points, coefficients=node.coefficients, intercepts=node.intercepts
        )
        with self.loop(node.n_columns) as k:
            self.set(f"{out}[{k}]", f"{intercepts}[{k}]")
        with self.loop(len(points)) as i:
            total = self.real("total", self.number(0))
            with self.loop(points.shape[1]) as j:
                term = self._kernel_term(node.kernel, f"{values}[{j}]", f"{vectors}[{i}][{j}]")
                self.set(total, term, "+=")
            value = self.real("value", self._kernel_value(node.kernel, total))
            with self.loop(node.n_columns) as k:
                self.set(f"{out}[{k}]", f"{coefficients}[{i}][{k}] * {value}", "+=")
        return out

    def _kernel_term(self, kernel: kernels.Kernel, x: str, v: str) -> str:
        """The term of a column in the sum that a kernel is a function of."""
        match kernel:
            case kernels.RBFKernel():
                return f"({x} - {v}) * ({x} - {v})"
            case kernels.SquaresKernel():
                return f"({x} * {v}) * ({x} * {v})"
            case kernels.DeltaKernel():
                return self.select(f"({x} {self.equal} {v})", self.number(0), self.number(1))
        return f"{x} * {v}"

    def _kernel_value(self, kernel: kernels.Kernel, total: str) -> str:
        """The value of a kernel from the sum over columns."""
        match kernel:
            case kernels.LinearKernel() | kernels.SquaresKernel():
                return total
            case kernels.RBFKernel(gamma):
                return self.call("exp", f"{self.number(-gamma)} * {total}")
            case kernels.DeltaKernel():
                return self.select(f"({total} > {self.number(0)})", self.number(0), self.number(1))
            case kernels.SigmoidKernel(gamma, coef0) | kernels.PolynomialKernel(_, gamma, coef0):
                inner = f"{self.number(gamma)} * {total} + {self.number(coef0)}"
                if isinstance(kernel, kernels.SigmoidKernel):
                    return self.call("tanh", inner)
                return self._power(self.real("base", inner), kernel.degree)
        raise Unprintable(
            f"The kernel {kernel.formula} has no formula to print; fit the model with one that has."
        )

    def _monomials(self, node: scores.Monomials, name: str) -> str:
        basis = node.basis
        d, degree = basis.recurrence.shape[:2]
        # Each column has 0, 1 and its polynomials of the degrees 1, 2, ...: the first of them needs
        # no case of its own. A term multiplies one of these for each column that it depends on.
        factors = [np.flatnonzero(row) * (degree + 2) + 1 + row[row > 0] for row in basis.powers]
        most = max(map(len, factors), default=0)
        values, out = self.of(node.of), self.array(name, node.n_columns)
        single = self.array("single", d * (degree + 2))
        centre, scale, recurrence, places = self.constant(
            centre=basis.centre,
            scale=basis.scale,
            recurrence=basis.recurrence,
            factors=[np.pad(own, (0, most - len(own)), constant_values=1) for own in factors],
        )
        with self.loop(d) as j:
            t = self.real("t", f"({values}[{j}] - {centre}[{j}]) * {scale}[{j}]")
            at = f"{j} * {degree + 2}"
            self.set(f"{single}[{at} + 1]", self.number(1))
            with self.loop(degree) as k:
                a, b, s = (f"{recurrence}[{j}][{k}][{part}]" for part in range(3))
                now, before = f"{single}[{at} + {k} + 1]", f"{single}[{at} + {k}]"
                self.set(
                    f"{single}[{at} + {k} + 2]", f"(({t} - {a}) * {now} - {b} * {before}) * {s}"
                )
        with self.loop(node.n_columns) as i:
            product = self.real("product", self.number(1))
            with self.loop(most) as j:
                self.set(product, f"{product} * {single}[{places}[{i}][{j}]]")
            self.set(f"{out}[{i}]", product)
        return out

    def _wins(self, node: scores.Votes | scores.Wins, name: str) -> str:
        n = node.n_classes
        zero, one, three = map(self.number, (0, 1, 3))
        values, out, sums = self.of(node.of), self.array(name, n), ""
        (pairs,) = self.constant(pairs=[(a, b) for a in range(n) for b in range(a + 1, n)])
        if isinstance(node, scores.Votes):
            sums = self.array("sums", n)
        with self.loop(n * (n - 1) // 2) as i:
            first, second = (f"{pairs}[{i}][{side}]" for side in range(2))
            won = f"({values}[{i}] {'>=' if sums else '>'} {zero})"
            vote = self.real("vote", self.select(won, one, zero))
            self.set(f"{out}[{first}]", vote, "+=")
            self.set(f"{out}[{second}]", f"{one} - {vote}", "+=")
            if sums:
                held = self.real("held", self.clip(f"{values}[{i}]", -1e300, 1e300))
                self.set(f"{sums}[{first}]", held, "+=")
                self.set(f"{sums}[{second}]", held, "-=")
        if sums:
            with self.loop(n) as k:
                size = self.call("absolute", f"{sums}[{k}]")
                self.set(f"{out}[{k}]", f"{sums}[{k}] / ({three} * ({size} + {one}))", "+=")
        return out

    _votes = _wins

    def _stacked(self, node: scores.Stacked, name: str) -> str:
        parts, at = [*map(self.of, node.of)], 0
        out = self.array(name, node.n_columns)
        for values, one in zip(parts, node.of, strict=True):
            with self.loop(one.n_columns) as k:
                self.set(f"{out}[{at} + {k}]", f"{values}[{k}]")
            at += one.n_columns
        return out

    def _shifted(self, node: scores.Shifted, name: str) -> str:
        by = self.of(node.by)
        return self._each(node, name, lambda s, k: f"{s} + {by}[0]")

    def _fourier(self, node: scores.Fourier, name: str) -> str:
        values, out, m = self.of(node.of), self.array(name, node.n_columns), node.n_columns // 2
        frequencies, offset = self.constant(
            frequencies=node.lift.frequencies_, offset=node.lift.offset_
        )
        height = self.number(math.sqrt(1.0 / m))
        with self.loop(m) as i:
            angle = self.real("angle", self.number(0))
            with self.loop(node.lift.frequencies_.shape[1]) as j:
                step = f"{frequencies}[{i}][{j}] * ({values}[{j}] - {offset}[{j}])"
                self.set(angle, step, "+=")
            for place, wave in enumerate(("cos", "sin")):
                self.set(f"{out}[2 * {i} + {place}]", f"{height} * {self.call(wave, angle)}")
        return out

    def _threshold(self, node: answers.Threshold, name: str) -> str:
        operator = ">=" if node.inclusive else ">"
        above = f"({self.of(node.of)}[0] {operator} {self.number(0)})"
        return self.place("label", self.select(above, "1", "0"))

    def _first_wins(self, node: answers.FirstWins, name: str) -> str:
        values, label = self.of(node.of), self.place("label", "0")
        largest = self.real("largest", f"{values}[0]")
        with self.loop(node.of.n_columns, start=1) as k:
            self.set(label, self.select(f"({values}[{k}] > {largest})", k, label))
            self.set(largest, self.call("most", f"{values}[{k}]", largest))
        return label

    def _positive(self, node: answers.Positive, name: str) -> str:
        zero, one = self.number(0), self.number(1)
        return self._each(node, name, lambda s, k: self.select(f"({s} > {zero})", one, zero))

    def _scaled(self, node: answers.Scaled, name: str) -> str:
        slope = "" if node.slope == 1.0 else f"{self.number(node.slope)} * "
        offset = f" + {self.number(node.offset)}" if node.offset else ""
        return self._each(node, name, lambda s, k: self.clip(f"{slope}{s}{offset}", -1e300, 1e300))

    def _exp(self, node: answers.Exp, name: str) -> str:
        return self._each(node, name, lambda s, k: self.call("exp", s))

    def _log_sigmoid(self, node: answers.LogSigmoid, name: str) -> str:
        def value(s: str, k: str) -> str:
            tail = self.call("log1p", self.call("exp", f"-{self.call('absolute', s)}"))
            return f"{self.call('least', s, self.number(0))} - {tail}"

        return self._each(node, name, value)

    def _interpolate(self, node: answers.Interpolate, name: str) -> str:
        (heights,) = self.constant(heights=node.heights)
        last = len(node.points) - 1
        if not last:
            return self._each(node, name, lambda s, k: f"{heights}[0]")
        (points,) = self.constant(points=node.points)

        def value(s: str, k: str) -> str:
            held = self.real("held", self.clip(s, float(node.points[0]), float(node.points[-1])))
            left = self.place("left", "0")
            with self.loop(last, start=1) as i:
                self.set(left, self.select(f"({points}[{i}] <= {held})", i, left))
            x, y = f"{points}[{left}]", f"{heights}[{left}]"
            right, top = f"{points}[{left} + 1]", f"{heights}[{left} + 1]"
            return self.call(
                "least", f"{y} + ({held} - {x}) / ({right} - {x}) * ({top} - {y})", top
            )

        return self._each(node, name, value)

    def _clipped(self, node: answers.Clipped, name: str) -> str:
        half, one = self.number(0.5), self.number(1)
        return self._each(node, name, lambda s, k: f"{half} * ({self.clip(s, -1, 1)} + {one})")

    def _leads(self, node: answers.Leads, name: str) -> str:
        values, n = self.of(node.of), node.n_columns
        return self._each(node, name, lambda s, k: f"{s} - {self._largest(values, n, but=k)}")

    def _largest(self, values: str, n: int, but: str | None = None) -> str:
        """The largest of some numbers, or of those in other places than one."""
        largest = self.real("largest", self.number(-math.inf))
        with self.loop(n) as i:
            own = self.call("most", largest, f"{values}[{i}]")
            if but is not None:
                own = self.select(f"({i} {self.equal} {but})", largest, own)
            self.set(largest, own)
        return largest

    def _sigmoid(self, node: answers.Sigmoid, name: str) -> str:
        score, one, out = f"{self.of(node.of)}[0]", self.number(1), self.array(name, 2)
        for k, exponent in enumerate((score, f"-{score}")):
            self.set(f"{out}[{k}]", f"{one} / ({one} + {self.call('exp', exponent)})")
        return out

    def _total(self, values: str, n: int) -> str:
        """The sum of some numbers."""
        total = self.real("total", self.number(0))
        with self.loop(n) as k:
            self.set(total, f"{values}[{k}]", "+=")
        return total

    def _softmax(self, node: answers.Softmax, name: str) -> str:
        largest = self._largest(self.of(node.of), node.n_columns)
        out = self._each(node, name, lambda s, k: self.call("exp", f"{s} - {largest}"))
        total = self._total(out, node.n_columns)
        with self.loop(node.n_columns) as k:
            self.set(f"{out}[{k}]", f"{out}[{k}] / {total}")
        return out

    def _normalised(self, node: answers.Normalised, name: str) -> str:
        values, n, one = self.of(node.of), node.of.n_columns, self.number(1)
        if n == 1:
            out = self.array(name, 2)
            self.set(f"{out}[0]", f"{one} - {values}[0]")
            self.set(f"{out}[1]", f"{values}[0]")
            return out
        total = self._total(values, n)
        positive = f"({total} > {self.number(0)})"
        # Where the sum is 0 the other branch is taken, but both are computed in Python.
        divisor = self.real("divisor", self.select(positive, total, one))
        equal = self.number(1 / n)
        return self._each(node, name, lambda p, k: self.select(positive, f"{p} / {divisor}", equal))

    def _chosen(self, node: Any) -> str:
        """The number of the predicted class."""
        values, label = self.of(node.of), self.of(node.label)
        chosen = self.real("chosen", self.number(0))
        with self.loop(node.n_columns) as k:
            self.set(chosen, self.select(f"({label} {self.equal} {k})", f"{values}[{k}]", chosen))
        return chosen

    def _on_its_side(self, node: answers.OnItsSide, name: str) -> str:
        chosen, half = self._chosen(node), self.number(0.5)
        return self._each(node, name, lambda p, k: self.select(f"({chosen} < {half})", half, p))

    def _consistent(self, node: answers.Consistent, name: str) -> str:
        label, own = self.of(node.label), self._chosen(node)
        rival = self._largest(self.of(node.of), node.n_columns, but=label)
        lifted = self.select(f"({own} <= {rival})", self.call("next", rival, self.number(2)), own)
        own = self.real("lifted", lifted)
        return self._each(
            node, name, lambda p, k: self.select(f"({label} {self.equal} {k})", own, p)
        )
