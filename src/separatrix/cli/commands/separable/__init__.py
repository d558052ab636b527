"""``separatrix separable``: whether a plane separates the classes of a table, with a proof."""

from __future__ import annotations

from dataclasses import dataclass

from separatrix.cli import options

_EXAMPLES = """
separatrix separable table.csv --target income
separatrix separable table.csv --target income --certificate proof.json
separatrix check-certificate proof.json table.csv
"""


@dataclass(frozen=True, kw_only=True)
class SeparableOptions(options.TableOptions):
    """The options of ``separatrix separable``."""

    target: str | None = options.target("The column with the classes. [default: target]")
    no_intercept: bool = options.option("Consider only planes through the origin.", bool)
    certificate: str | None = options.option(
        "Save the proof, for separatrix check-certificate.", metavar="FILE"
    )
    time_limit: float | None = options.option(
        "Stop after this many seconds.", options.FINITE_POSITIVE
    )


@options.command(
    "separable",
    SeparableOptions,
    summary="Decide, with proof, if a plane separates the classes.",
    examples=_EXAMPLES,
)
def separable(given: SeparableOptions) -> SeparableOptions:
    """Decide whether a plane has every row of one class of DATA strictly on one side and every row
    of the other class strictly on the other.

    Either answer comes with a proof: a plane with all rows on their sides, and the width of the
    gap; or a few rows such that a weighted mean of the rows of one class equals a weighted mean of
    the rows of the other. Proofs are checked in exact integer arithmetic on the numbers of the
    table as float64 holds them; they are not standardised. Categories are one-hot columns of 0
    and 1, text is TF-IDF words, and a missing number is 0, marked in a column of its own.

    For three or more classes, each pair is decided, and each class against the rest.

    The exit code is 0 when the classes (for three or more: all pairs of classes) are separable, 1
    when they are not, and 4 when the time limit came first.
    """
    given.check_columns()
    if given.certificate is not None:
        from separatrix.cli.commands.separable.certificate_file import looks_like_certificate

        options.refuse_to_overwrite_inputs(
            given.certificate, data=given.data, option="--certificate"
        )
        options.refuse_to_overwrite_others(
            given.certificate,
            looks_like_certificate,
            option="--certificate",
            other="not a certificate of separability",
        )
    return given
