"""Options: fields of a dataclass, recorded in the order in which a user gives them."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from separatrix import load_model
from separatrix.cli.commands.fit.models import ModelOptions
from separatrix.cli.options import TableOptions
from separatrix.cli.reading import marks_of
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
    table = TableOptions(data="iris", kinds={}, ignore=[], ordered={}, **flags, **reading)
    given = ModelOptions(**vars(table), min_count=None, min_df=None, word_pairs=False)
    assert (given.lam, given.penalised, given.to_dict()) == (None, True, {})


def test_only_the_command_that_is_asked_for_is_imported():
    script = (
        "import sys; from separatrix.cli import main; code = main(['info', '--help']);"
        "sys.exit(code or 'separatrix.cli.commands.fit' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def reproduction(path):
    """The Python code of a report."""
    return json.loads(Path(path).read_text())["reproduce"]["python"]


@pytest.mark.usefixtures("undrawn")
def test_words_of_texts(run, make_csv):
    notes = ["good fine day", "bad awful day", "good nice evening", "bad dull rain"] * 10
    make_csv("notes.csv", ["note", "target"], [[text, text.split()[0]] for text in notes])
    words = ("--kind", "note=text", "--min-df", "15", "--word-pairs", "--report", "notes.html")
    ran = run("fit", "notes.csv", *words, "--json")
    assert ran.code == 0
    # 32 rows are fitted, a half of each sort.
    assert load_model("notes.separatrix").encoder.feature_names_ == [
        "note:bad", "note:day", "note:good",
    ]  # fmt: skip
    assert "--min-df=15 " in ran.document["command"] and "--word-pairs" in ran.document["command"]
    code = reproduction("notes.json")
    scope = {}
    exec(code, scope)
    assert scope["encoder"].feature_names_ == ["note:bad", "note:day", "note:good"]


@pytest.mark.usefixtures("undrawn")
def test_the_order_of_levels_is_kept(run, make_csv):
    rows = [[size, "yes" if size > "b, or so" else "no"] for size in ["a", "b, or so", "c"] * 12]
    make_csv("sizes.csv", ["size", "target"], rows)
    words = ("--ordered", 'size=a,"b, or so",c', "--report", "sizes.html", "--test-size", "0")
    ran = run("fit", "sizes.csv", *words, "--json")
    assert ran.code == 0
    assert '--ordered=size=a,"b, or so",c' in ran.document["command"]
    assert run("verify", "sizes.separatrix", "sizes.csv").code == 0
    scope = {}
    exec(reproduction("sizes.json"), scope)
    assert scope["table"].columns["size"].tolist() == [0.0, 1.0, 2.0] * 12
    # A level that is in no list counts as missing later, and is reported.
    make_csv("later.csv", ["size"], [["c"], ["d"]])
    later = run("predict", "sizes.separatrix", "later.csv")
    assert later.code == 0 and "'d' in row 2" in later.err
    assert run("fit", "sizes.csv", "--ordered", "size=a,a").code == 2
    assert run("fit", "sizes.csv", "--ordered", "target=no,yes").code == 2


def test_every_command_that_reads_a_table_can_raise_the_limit_of_what_is_unpacked(run, tmp_path):
    """The option is declared once, and the sentence that refuses a packed file names it."""
    rows = "".join(f"{k % 17},{k % 5},{k % 2}\n" for k in range(400))
    (tmp_path / "t.csv").write_text("a,b,target\n" + rows)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes()))
    fit = ("fit", "t.csv", "--penalty", "none", "-o", "m.separatrix")
    assert run(*fit).code == 0
    assert run("separable", "t.csv", "--certificate", "proof.json").code == 1
    before = {
        **{name: ["m.separatrix"] for name in ("predict", "evaluate", "report", "verify")},
        "summary": ["m.separatrix"],
        "check-certificate": ["proof.json"],
    }
    for name in ("fit", "compare", "diagnose", "separable", "path", "studio", *before):
        ran = run(name, *before.get(name, ()), "t.csv.gz", "--unpacked-limit", "1KB")
        assert (ran.code, ran.err.count("--unpacked-limit")) == (3, 1), (name, ran.err)
    for name in ("verify", "summary", "check-certificate", "predict", "evaluate"):
        ran = run(name, *before[name], "t.csv.gz", "--unpacked-limit", "1GB")
        assert ran.code in (0, 1) and "--unpacked-limit" not in ran.err, (name, ran.err)


def test_marks_that_no_cell_is_are_named_and_those_of_a_model_file_are_kept(run, tmp_path):
    cells = ["1", "-999", "3", "4"] * 20
    rows = [f"{x},{'NA' if k % 3 else 'u'},{k % 2}" for k, x in enumerate(cells)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,target", *rows, ""]))
    assert run("fit", "t.csv", "--missing", "-999", "-o", "m.separatrix").code == 0
    for name in ("predict", "evaluate"):
        for memory in ((), ("--memory", "1KB")):
            ran = run(name, "m.separatrix", "t.csv", "--missing", "-7777", *memory)
            assert (ran.code, ran.err.count("no cell of the table is")) == (0, 1), ran.err
            ran = run(name, "m.separatrix", "t.csv", *memory)
            assert (ran.code, "no cell" in ran.err) == (0, False), ran.err
    config = {"missing": ["-999"]}
    # Files without the complete list are of a version in which -999 stood alone.
    assert marks_of(config) == {"-999"}
    stored = load_model(tmp_path / "m.separatrix").provenance["config"]
    assert stored["missing"] == ["-999"] and {"-999", "NA", "?", ""} <= marks_of(stored)
