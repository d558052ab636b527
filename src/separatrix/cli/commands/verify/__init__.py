"""``separatrix verify``: the certificate of a model file, recomputed from the data."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

import click

from separatrix.cli import options

_EXAMPLES = """
separatrix verify income.separatrix table.csv
separatrix verify income.separatrix table.csv --tol 1e-8 --json
separatrix verify income.separatrix table.csv --rigorous
"""


@dataclass(frozen=True, kw_only=True)
class VerifyOptions(options.LineOptions):
    """The options of ``separatrix verify``."""

    model: str = options.argument()
    data: str = options.argument()
    tol: float | None = options.option(
        "The relative gap to prove or, for a closed form, the residual. [default: that of the fit]",
        options.FINITE_POSITIVE,
    )
    time_limit: float | None = options.option("Stop after this many seconds.", options.POSITIVE)
    rigorous: bool = options.option(
        "Prove it in exact integer and interval arithmetic; needs separatrix[exact].", bool
    )
    unpacked_limit: str | None = options.unpacked_limit()
    memory: str | None = options.memory_limit()


@options.command(
    "verify",
    VerifyOptions,
    summary="Recompute a model's certificate from its data.",
    examples=_EXAMPLES,
)
def verify(given: VerifyOptions) -> VerifyOptions:
    """Recompute the certificate of the model file MODEL from the table DATA it was fitted to.

    The stored certificate is not trusted: the rows of the fit are selected again by the stored
    seed, encoded as the file says, and the objective and its lower bound (for a closed form, the
    residual of its equations) are computed from scratch. The exit code is 0 when the model is
    proved to be within the tolerance, 4 when it is not, and 1 when the data or the objective differ
    from those of the fit.

    With --rigorous nothing is rounded, and the output has an interval that contains the exact
    optimum. It takes seconds to minutes.

    A model that was fitted in passes is verified in passes, within --memory.

    A file whose weights do not match the digest beside the certificate was changed after it was
    saved, and is refused with exit code 3. A change that also renews the digest is judged by the
    data alone; it goes unnoticed if it is too small to change the objective.
    """
    if given.rigorous and find_spec("flint") is None:
        raise click.ClickException('--rigorous needs python-flint: pip install "separatrix[exact]"')
    return given
