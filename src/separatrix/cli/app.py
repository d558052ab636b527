"""The list of the commands. A new command is one file and one line here."""

from __future__ import annotations

from separatrix.cli.commands.check_certificate import check_certificate
from separatrix.cli.commands.diagnose import diagnose
from separatrix.cli.commands.evaluate import evaluate
from separatrix.cli.commands.fit import fit
from separatrix.cli.commands.info import info
from separatrix.cli.commands.path import path
from separatrix.cli.commands.predict import predict
from separatrix.cli.commands.report import report
from separatrix.cli.commands.separable import separable
from separatrix.cli.commands.summary import summary
from separatrix.cli.commands.verify import verify
from separatrix.cli.options import command_group

_EXAMPLES = """
separatrix fit table.csv --target income -o income.separatrix
separatrix path table.csv --target income --cv 5 -o income.separatrix
separatrix predict income.separatrix new.csv --proba > predictions.csv
separatrix evaluate income.separatrix labelled.csv
separatrix report income.separatrix table.csv -o income.html
separatrix verify income.separatrix table.csv
separatrix info income.separatrix
separatrix summary price.separatrix
separatrix diagnose table.csv --target income
separatrix separable table.csv --target income --certificate proof.json
separatrix check-certificate proof.json table.csv
"""


@command_group(examples=_EXAMPLES)
def cli() -> None:
    """Fit a linear model to a table, with proof of how good it is.

    DATA is a file (.csv .tsv .parquet .json .svm), a glob in quotes, - for CSV on stdin, or a
    built-in name: iris, breast-cancer, wine, digits, diabetes.

    \b
    Exit codes: 0 done; 1 a negative verdict; 2 usage; 3 bad data, model file or certificate;
    4 stopped above the tolerance, a perceptron with mistakes left, or nothing decided in time;
    70 a bug; 130 interrupted.
    """


_COMMANDS = (
    fit,
    path,
    predict,
    evaluate,
    report,
    verify,
    info,
    summary,
    diagnose,
    separable,
    check_certificate,
)
for _command in _COMMANDS:
    cli.add_command(_command)
