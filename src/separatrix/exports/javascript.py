"""Programs as JavaScript: one ES module without dependencies, for browsers and servers."""

from __future__ import annotations

import json

from separatrix.exports.artefacts import Heading, Sample, Unprintable
from separatrix.exports.printing import (
    Code,
    answered,
    commented,
    filled,
    golden,
    word_options,
)
from separatrix.expressions.features import Cell, Program, Words
from separatrix.tables.word_encoding import TEXT_OPTIONS


class _JavaScript(Code):
    functions = {"absolute": "abs", "least": "min", "most": "max"}  # noqa: RUF012
    call_of = "Math.{name}({arguments})"
    equal = "==="
    scalar = whole = "let {name} = {value};"
    zeros = "const {name} = new Float64Array({size});"
    loop_of = "for (let {index} = {start}; {index} < {stop}; ++{index}) {{"
    constant_of = "const {name} = {values};"
    infinity, not_a_number, nothing, large = "Infinity", "NaN", "null", "n"

    def call(self, function: str, *arguments: str) -> str:
        if function != "next":
            return super().call(function, *arguments)
        self.helpers.add(filled("next.mjs"))
        return f"next({arguments[0]})"

    def text(self, text: str) -> str:
        # Two halves of a character that stand side by side are that character in JavaScript.
        if text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass") != text:
            raise Unprintable(f"JavaScript cannot tell the text {text!r} from another one.")
        return json.dumps(text).replace("<", "\\u003c")

    def missing(self, cell: Cell) -> str:
        own = self.cell(cell)
        return f"({own} === null)" if cell.kind == "text" else f"Number.isNaN({own})"

    def words(self, column: int, words: Words) -> None:
        own = word_options(words)
        if own["token_pattern"] != TEXT_OPTIONS["token_pattern"] or own["strip_accents"]:
            raise Unprintable(
                "The words of a text are found by a pattern of its own or without accents, for "
                "which JavaScript has other rules than Python. Export the model as Python."
            )
        self.helpers.add(filled("words.mjs"))
        flags = {"lower": "lowercase", "binary": "binary", "sublinear": "sublinear_tf"}
        parts = {name: self.literal(own[key]) for name, key in flags.items()}
        parts |= {"sizes": self.literal(own["ngram_range"]), "norm": self.literal(own["norm"])}
        parts["stop"] = f"new Set({self.literal(own['stop_words'])})"
        options = ", ".join(f"{name}: {value}" for name, value in parts.items())
        listed = f"{self.literal([*words.words])}.map((word, k) => [word, k])"
        (weights,) = self.constant(idf=words.weights)
        places, given = (weights.replace("idf", name) for name in ("places", "options"))
        self.constants += [
            f"const {places} = new Map({listed});",
            f"const {given} = {{ {options} }};",
        ]
        cell = self.cell(words.cell)
        self.write(f"words(x, {column}, {cell}, {places}, {weights}, {given});")


def printed(program: Program, heading: Heading, sample: Sample) -> str:
    """A program as an ES module that exports ``predict``, ``proof`` and ``classes``.

    Parameters
    ----------
    program : Program
    heading : Heading
    sample : Sample
        The rows that its ``proof`` proves it by.

    Raises
    ------
    Unprintable
        If words are not found by the usual pattern, or texts are not Unicode.
    """
    code = _JavaScript(program, heading)
    code.write_features()
    features = code.taken()
    found = code.write_answers()
    code.write(f"return {{ {', '.join(f'{name}: {value}' for name, value in found.items())} }};")
    arrays = [name for name in found if name != "label"]
    result = {name: f"Array.from(found.{name})" for name in arrays}
    types = dict.fromkeys(arrays, "number[]")
    if "label" in found:
        result["label"] = "classes[found.label]"
        types["label"] = "string | number | bigint | boolean"
    parsing = code.read_texts(
        "parsed.mjs",
        "[{}, [new RegExp({}), new RegExp({}), new RegExp({}), new RegExp({}, 'g'), {}]]",
        '\n        const form = typeof value === "string" && forms.get(name);'
        "\n        if (form) value = parsed(value, form);",
    )
    return filled(
        "javascript.mjs",
        parsing=parsing,
        heading=commented([*heading.lines, "", *_usage(code, [*result])], " *"),
        features=features,
        types=", ".join(f"{name}: {kind}" for name, kind in types.items()),
        result=", ".join(f"{name}: {value}" for name, value in result.items()),
        got=", ".join(f"...found.{name}" for name in arrays),
        **code.common(golden(program, sample)),
    )


def _usage(code: _JavaScript, names: list[str]) -> list[str]:
    """The usage of the module, in lines."""
    cells = [f"{code.text(cell.column)}: ..." for cell in code.program.cells]
    row = ", ".join(cells if len(cells) < 6 else [*cells[:5], "..."])
    return [
        f'How to call it: import {{ predict, proof }} from "./{code.name}.mjs";',
        f"predict({{ {row} }}) is {{ {', '.join(names)} }}.",
        *answered(code.program, "null"),
        "A missing cell is null, a date a Date or days since 1970-01-01. A row that lacks one of "
        "the columns, or has a text in place of a number, is an error.",
        "Proof: proof() is the largest difference from the answers of the library as a share of "
        "its bound, at most 1.",
    ]
