"""Programs as C99: one header without allocation, which C++11 compiles as well."""

from __future__ import annotations

import keyword
import re

import numpy as np

from separatrix.exports.artefacts import Heading, Sample, Unprintable
from separatrix.exports.printing import (
    Code,
    answered,
    commented,
    filled,
    golden,
    shown,
)
from separatrix.expressions.features import Cell, Program, Words

# Words of C and C++ (others are words of Python, too), and names that compilers define themselves.
_RESERVED = {*keyword.kwlist, *filled("reserved").split()}
_KINDS = {
    "number": "a number, NAN where missing",
    "text": "a text in UTF-8, 0 where missing",
    "date": "days since 1970-01-01, NAN where missing",
}


def fields_of(program: Program) -> dict[str, str]:
    """The fields of the struct of a row, by the names of the columns.

    Examples
    --------
    >>> from separatrix.expressions.features import Cell, Program
    >>> cells = map(Cell, ["hours.per week", "hours per.week", "class", "Größe", "100"])
    >>> [*fields_of(Program(tuple(cells), (), (), None)).values()]
    ['hours_per_week', 'hours_per_week_1', 'class_2', 'gr_e', 'column_100']
    """
    fields: dict[str, str] = {}
    for place, cell in enumerate(program.cells):
        field = re.sub(r"[^0-9a-z]+", "_", cell.column.lower()).strip("_")
        field = re.sub(r"^(?=\d)|^$", "column_", field)
        while field in _RESERVED or field in fields.values():
            field += f"_{place}"
        fields[cell.column] = field
    return fields


def _speakable(cell: object) -> bool:
    """Whether a cell is not a text that C cannot hold."""
    return not isinstance(cell, str) or not re.search("[\0\ud800-\udfff]", cell)


class _C(Code):
    functions = {  # noqa: RUF012
        "absolute": "fabs",
        "least": "fmin",
        "most": "fmax",
        "next": "nextafter",
    }
    whole = "int {name} = {value};"
    loop_of = "for (int {index} = {start}; {index} < {stop}; ++{index}) {{"
    constant_of = "static const {kind} {name}{sizes} = {values};"
    brackets, booleans = "{}", ("0", "1")
    infinity, not_a_number, nothing, large = "INFINITY", "NAN", "0", "LL"

    def __init__(self, program: Program, heading: Heading, float32: bool):
        super().__init__(program, heading)
        self.fields, self.prefix = fields_of(program), f"{self.name}_"
        self.type, self._suffix = ("float", "f") if float32 else ("double", "")
        self.call_of = f"{{name}}{self._suffix}({{arguments}})"
        self.scalar = f"{self.type} {{name}} = {{value}};"
        self.zeros = f"{self.type} {{name}}[{{size}}] = {{{{0}}}};"

    def number(self, value: float) -> str:
        if not self._suffix or not np.isfinite(value):
            return super().number(value)
        largest = float(np.finfo(np.float32).max)
        # Scores are held within 1e300, and by float32 itself within less.
        if abs(value) > largest and abs(value) != 1e300:
            raise Unprintable(f"The number {value:g} is beyond float32; export in float64.")
        return f"{np.float32(np.clip(value, -largest, largest))!s}f"

    def text(self, text: str) -> str:
        if not _speakable(text):
            raise Unprintable(
                f"The text {text!r} cannot stand in C: it has a NUL, which ends a text there, or "
                "half a character. Export the model as JavaScript or Python."
            )
        data = text.encode()
        # Octal escapes have three digits, so that no digit after them belongs to them.
        plain = (chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in data)
        return f'"{"".join(plain)}"'

    def cell(self, cell: Cell) -> str:
        return f"row->{self.fields[cell.column]}"

    def missing(self, cell: Cell) -> str:
        return f"!{self.cell(cell)}" if cell.kind == "text" else f"isnan({self.cell(cell)})"

    def is_level(self, cell: Cell, level: str) -> str:
        self.helpers.add(filled("text.h", m=self.name))
        return f"{self.name}_is({self.cell(cell)}, {self.text(level)})"

    def words(self, column: int, words: Words) -> None:
        raise Unprintable(
            "The words of a text need the lower case and the letters of all alphabets, which C "
            "does not have. Export the model as JavaScript or Python."
        )


def printed(program: Program, heading: Heading, sample: Sample, *, float32: bool = False) -> str:
    """A program as a C header.

    Constants are decimals that are read as the same numbers: hexadecimal ones are an error in C++
    before C++17.

    Parameters
    ----------
    program : Program
    heading : Heading
    sample : Sample
        The rows that its ``main`` proves it by.
    float32 : bool
        Whether cells, constants and sums are ``float``.

    Raises
    ------
    Unprintable
        If the program has words of texts, dates in float32, or texts that C cannot hold.
    """
    code = _C(program, heading, float32)
    if float32 and any(cell.kind == "date" for cell in program.cells):
        raise Unprintable("Float32 holds days since 1970 to minutes only; export in float64.")
    code.write_features()
    features, own = code.taken(), program.prediction
    sizes = {"scores": own.scores.n_columns}
    fill = "if ({0}) for (int k = 0; k < {1}; ++k) {0}[k] = {2};"
    code.write(fill.format("scores", sizes["scores"], f"{code.of(own.scores)}[k]"))
    label = "0" if own.label is None else code.of(own.label)
    if own.probabilities is not None:
        sizes["probabilities"] = own.probabilities.n_columns
        code.write(f"if (!probabilities) return {label};")
        values = code.of(own.probabilities)
        filled_in = fill.format("probabilities", sizes["probabilities"], f"{values}[k]")
        code.write(filled_in.removeprefix("if (probabilities) "))
    code.write(f"return {label};")
    rows = [row for row in golden(program, sample) if all(map(_speakable, row[0]))]
    cells, labels, expected, bounds = map(list, zip(*rows, strict=True))
    double = _C(program, heading, float32=False)
    return filled(
        "c.h",
        m=code.name,
        M=code.name.upper(),
        t=code.type,
        heading=commented([*heading.lines, "", *_usage(code, sizes)], " *"),
        fields="\n".join(_field(code, cell) for cell in program.cells),
        parameters=", ".join(f"{code.type} *{name}" for name in sizes),
        features=features,
        n_features=code.n_features,
        without="\n".join(f"            {fill.format(*size, 'NAN')}" for size in sizes.items()),
        functions="\n".join(_functions(code, [*sizes])),
        n=len(rows),
        k=sum(sizes.values()),
        pointers=pointers(program),
        rows=code.literal(cells),
        labels=double.literal(labels),
        expected=double.literal(expected),
        bounds=double.literal(bounds),
        **code.common([]),
    )


def pointers(program: Program) -> str:
    """The last arguments of a call that writes all numbers into one array."""
    own = program.prediction
    return "got" if own.probabilities is None else f"got, got + {own.scores.n_columns}"


def _field(code: _C, cell: Cell) -> str:
    """The declaration of a cell."""
    kind = "const char *" if cell.kind == "text" else f"{code.type} "
    remark = code.remark.format(shown(f"{cell.column}: {_KINDS[cell.kind]}"))
    return f"    {kind}{code.fields[cell.column]};{remark}"


def _functions(code: _C, outputs: list[str]) -> list[str]:
    """Functions that return one thing each: numbers, the place of the class, and the class."""
    own, texts = f"const {code.prefix}row *row", []
    for name in [*outputs, "label"]:
        more = f", {code.type} *{name}" if name in outputs else ""
        given = ", ".join(one if one == name else "0" for one in outputs)
        texts.append(
            _function(code, "int ", name, own + more, f"{code.prefix}predict(row, {given})")
        )
    classes, kind = code.program.prediction.classes, "const char *"
    if all(isinstance(one, int) and abs(one) < 2**63 for one in classes):
        kind = "long long "
    elif all(isinstance(one, int | float) for one in classes):
        kind = "double "
    if classes:
        values = [code.literal(one if kind[-1] == " " else str(one)) for one in classes]
        array = f"static {kind}const classes[] = {{{', '.join(values)}}};\n    "
        texts.append(_function(code, kind, "class", "int label", "classes[label]", array))
    return texts


def _function(code: _C, kind: str, name: str, given: str, value: str, before: str = "") -> str:
    head = f"static inline {kind}{code.prefix}{name}({given})"
    return f"\n{head}\n{{\n    {before}return {value};\n}}"


def _usage(code: _C, sizes: dict[str, int]) -> list[str]:
    """The usage of the header, in lines."""
    m, M = code.name, code.name.upper()
    arrays = ", ".join(f"{m}_number {name}[{size}]" for name, size in sizes.items())
    call = f"{m}_predict(&row, {', '.join(sizes)})"
    label = f"{call} is the place of the class, and {m}_class(place) the class"
    return [
        f"How to call it: fill every field of a {m}_row row; {arrays} are what is written, and a "
        f"pointer may be 0. {label if code.program.prediction.classes else f'{call} is 0'}.",
        *answered(code.program, "-1, and NAN for its numbers"),
        f"Proof: cc -x c -D{M}_PROOF {m}.h -lm && ./a.out prints the largest difference from the "
        "answers of the library as a share of its bound, and fails above 1.",
    ]
