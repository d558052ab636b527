"""Programs as Python: one file that needs NumPy alone."""

from __future__ import annotations

from separatrix.exports.artefacts import Heading, Sample
from separatrix.exports.printing import (
    Code,
    answered,
    commented,
    filled,
    golden,
    word_options,
)
from separatrix.expressions.features import Cell, Program, Words


class _Python(Code):
    functions = {  # noqa: RUF012
        "absolute": "abs",
        "least": "minimum",
        "most": "maximum",
        "next": "nextafter",
    }
    call_of = "np.{name}({arguments})"
    selection = "np.where({condition}, {then}, {otherwise})"
    either = " | "
    scalar = whole = "{name} = {value}"
    zeros = "{name} = np.zeros(({size}, n))"
    loop_of = "for {index} in range({span}):"
    constant_of = "{name} = np.array({values})"
    booleans = ("False", "True")
    infinity, not_a_number, nothing = "np.inf", "np.nan", "None"
    end, closing, remark = "", "", "  # {}"

    def text(self, text: str) -> str:
        return ascii(text)

    def missing(self, cell: Cell) -> str:
        own = self.cell(cell)
        return f"np.equal({own}, None)" if cell.kind == "text" else f"np.isnan({own})"

    def words(self, column: int, words: Words) -> None:
        own = word_options(words)
        self.helpers.add(filled("words.py"))
        keys = (
            "token_pattern lowercase strip_accents ngram_range stop_words binary sublinear_tf norm"
        )
        (weights,) = self.constant(idf=words.weights)
        listed = weights.replace("idf", "words")
        self.constants.append(f"{listed} = {self.literal([*words.words])}")
        options = self.literal([own[key] for key in keys.split()])
        rows, cells = f"x[{column} : {column + len(words.words)}]", self.cell(words.cell)
        self.write(f"_words({rows}, {cells}, {listed}, {weights}, {options})")


def printed(program: Program, heading: Heading, sample: Sample) -> str:
    """A program as a Python file with ``predict`` and ``proof``, which needs NumPy alone.

    Parameters
    ----------
    program : Program
    heading : Heading
    sample : Sample
        The rows that its ``proof`` proves it by.
    """
    code = _Python(program, heading)
    code.write_features()
    features = code.taken()
    found = code.write_answers()
    without = {"label": "-1"}
    parts = [
        f'"{name}": np.where(known, {value}, {without.get(name, code.not_a_number)})'
        for name, value in found.items()
    ]
    code.write(f"return {{{', '.join(parts)}}}")
    parsing = code.read_texts(
        "parsed.py",
        "{}: [{}, {}, {}, {}, {}]",
        "\n        if name in FORMS:"
        "\n            read = lambda value, form=FORMS[name]: _parsed(value, *form)",
    )
    shapes = {"label": "(n_rows,)", "scores": "(n_rows, n_scores)"}
    return filled(
        "python.py",
        parsing=parsing,
        heading=commented([*heading.lines, "", *_usage(code)], "#"),
        imports="import re\nimport unicodedata\n\n" if code.helpers else "",
        returned=", ".join(f'"{n}" of shape {shapes.get(n, "(n_rows, n_classes)")}' for n in found),
        features=features,
        got=", ".join(f'found["{name}"]' for name in found if name != "label"),
        **code.common(golden(program, sample)),
    )


def _usage(code: _Python) -> list[str]:
    """The usage of the file, in lines."""
    return [
        f"How to call it: from {code.name} import predict, proof",
        "predict takes a mapping of columns, or a sequence of mappings, and returns arrays.",
        *answered(code.program, "None as its label, and NaN for its numbers"),
        "Rows that lack one of the columns, or have a text in place of a number, are an error.",
        "Proof: proof() is the largest difference from the answers of the library as a share of "
        "its bound, at most 1; the file prints it where it is run.",
    ]
