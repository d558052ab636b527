"""``separatrix check-certificate``: the proof of a saved verdict, made again from the data."""

from __future__ import annotations

from dataclasses import dataclass

from separatrix.cli import options

_EXAMPLES = """
separatrix check-certificate proof.json table.csv
separatrix check-certificate proof.json table.csv --json
"""


@dataclass(frozen=True, kw_only=True)
class CheckOptions(options.LineOptions):
    """The options of ``separatrix check-certificate``."""

    certificate: str = options.argument()
    data: str = options.argument()
    unpacked_limit: str | None = options.unpacked_limit()


@options.command(
    "check-certificate",
    CheckOptions,
    summary="Prove a saved verdict again, from the data.",
    examples=_EXAMPLES,
)
def check_certificate(given: CheckOptions) -> CheckOptions:
    """Prove again what the file CERTIFICATE of separatrix separable states about the table DATA.

    Nothing in the file is trusted: DATA is read and encoded again, in the same way, and every
    witness is checked against every row in exact integer arithmetic. Only proved statements are
    printed.

    The exit code is 0 when every verdict is proved, 1 when one is not or DATA is another table,
    and 3 when a file cannot be read.
    """
    return given
