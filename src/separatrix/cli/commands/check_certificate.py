"""``separatrix check-certificate``: the proof of a saved verdict, made again from the data."""

from __future__ import annotations

import click

from separatrix.cli import options
from separatrix.cli.output import Output

_EXAMPLES = """
separatrix check-certificate proof.json table.csv
separatrix check-certificate proof.json table.csv --json
"""


@options.command(
    "check-certificate",
    summary="Prove a saved verdict again, from the data.",
    examples=_EXAMPLES,
)
@click.argument("certificate")
@click.argument("data")
@options.common
def check_certificate(certificate: str, data: str, as_json: bool, quiet: bool) -> int:
    """Prove again what the file CERTIFICATE of separatrix separable says of the table DATA.

    Nothing in the file is believed: DATA is read and encoded again, in the same way, and every
    witness is held against every row in exact integer arithmetic. Only what is proved is told.

    The exit code is 0 when every verdict is proved, 1 when one is not or DATA is another table,
    and 3 when a file cannot be read.
    """
    out = Output("check-certificate", as_json=as_json, quiet=quiet)

    from separatrix.cli.commands.check_certificate_work import check_file

    with out.telling_warnings():
        return check_file(out, certificate, data)
