"""Options: fields of a dataclass, recorded in the order in which a user gives them."""

from __future__ import annotations

import subprocess
import sys

from separatrix.cli.commands.fit.models import ModelOptions
from separatrix.cli.options import TableOptions
from separatrix.tables.reader import OPTIONS


def test_a_model_file_has_the_options_in_the_order_in_which_they_were_given(run):
    ran = run("fit", "iris", "--seed", "3", "-C", "10", "--model", "svm", "--json")
    assert ran.document["command"].split()[3:6] == ["--seed=3", "--C=10.0", "--model=svm"]
    assert list(ran.document["config"])[:3] == ["seed", "C", "model"]


def test_the_record_has_what_was_asked_for_and_no_more(run):
    ran = run("path", "iris", "--values", "1,2", "--report", "r.html")
    assert ran.code == 2  # an option of fit alone
    config = run("path", "iris", "--values", "1,2", "--json").document["config"]
    assert "early_stopping" not in config and config["model"] == "logistic"
    assert "report" not in run("fit", "iris", "--json").document["config"]


def test_a_command_without_an_option_has_the_default_of_the_model():
    reading = dict.fromkeys(("missing", *OPTIONS))
    flags = {"drop_missing_target": False, "ignore_unusable": False}
    table = TableOptions(data="iris", kinds={}, ignore=[], **flags, **reading)
    given = ModelOptions(**vars(table))
    assert (given.lam, given.penalised, given.record()) == (None, True, {})


def test_only_the_command_that_is_asked_for_is_imported():
    script = (
        "import sys; from separatrix.cli import main; code = main(['info', '--help']);"
        "sys.exit(code or 'separatrix.cli.commands.fit' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
