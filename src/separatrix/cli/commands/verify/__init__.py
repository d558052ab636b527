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
class VerifyOptions(options.Options):
    """The options of ``separatrix verify``."""

    model: str = options.argument()
    data: str = options.argument()
    tol: float | None = options.option(
        "The relative gap, or residual of a closed form, to prove. [default: the fit's]",
        options.FINITE_POSITIVE,
    )
    time_limit: float | None = options.option("Stop after this many seconds.", options.POSITIVE)
    rigorous: bool = options.option(
        "Prove it without rounding, in integers and balls; needs separatrix[exact].", bool
    )
    memory: str | None = options.memory_limit()


@options.command(
    "verify",
    VerifyOptions,
    summary="Recompute a model's certificate from its data.",
    examples=_EXAMPLES,
)
def verify(given: VerifyOptions) -> VerifyOptions:
    """Recompute the certificate of the model file MODEL from the table DATA it was fitted to.

    Nothing of the stored certificate is trusted: the rows of the fit are found again from the
    stored seed, encoded as the file says, and the objective and its lower bound are computed from
    scratch, or of a closed form what is left of its equations. The exit code is 0 when the model
    is proved to be within the tolerance, 4 when it is not, and 1 when the data are others than
    those of the fit or the objective is another than the one stored.

    With --rigorous nothing is rounded on the way to the proof, and the interval is told in which
    the exact optimum lies. It takes seconds to minutes.

    A model that was fitted in passes is verified in passes, within --memory.

    A file of which any weight was changed after it was saved is refused, with exit code 3, by the
    digest that stands beside its certificate. Whoever changes weights can renew the digest, too;
    then what is told here is true of the weights as they are, from the data alone, and a change
    too small to change the objective is not noticed.
    """
    if given.rigorous and find_spec("flint") is None:
        raise click.ClickException('--rigorous needs python-flint: pip install "separatrix[exact]"')
    return given
