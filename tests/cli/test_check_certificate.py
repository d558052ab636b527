"""``separatrix check-certificate``: nothing that a file says is believed."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import duckdb
import pytest

from separatrix.cli.commands.check_certificate import run as check_run

from .conftest import write_csv


@pytest.fixture
def crossed(once, tmp_path) -> Path:
    """A table whose classes share a point, and its certificate ``crossed.json``."""
    rows = [[0, 0, "n"], [1, 0, "p"], [1, 1, "n"], [0, 1, "p"]]
    path = write_csv(tmp_path / "crossed.csv", ["x", "y", "target"], rows)
    assert once("separable", "crossed.csv", "--certificate", "crossed.json").code == 1
    return path


@pytest.fixture
def apart(once, tmp_path) -> Path:
    """A separable table, and its certificate ``apart.json``."""
    rows = [[-5, 1, "a"], [-1, 2, "a"], [2, 1, "b"], [4, 7, "b"]]
    path = write_csv(tmp_path / "apart.csv", ["x", "the y", "target"], rows)
    assert once("separable", "apart.csv", "--certificate", "apart.json").code == 0
    return path


def change(path, *keys, to):
    """Replace one entry of a certificate."""
    document = json.loads(Path(path).read_text())
    part = document
    for key in keys[:-1]:
        part = part[key]
    part[keys[-1]] = to(part[keys[-1]]) if callable(to) else to
    Path(path).write_text(json.dumps(document))


# ---------------------------------------------------------------------------------------- holds


def test_a_plane_is_proved(run, apart):
    ran = run("check-certificate", "apart.json", "apart.csv")
    assert ran.code == 0
    assert ran.err == (
        "note      the width of the gap in the file is not part of the proof; separatrix separable "
        "computes it\n"
    )
    assert ran.lines == {
        "data": "4 rows, the same as those of the certificate",
        "proved": "'a' and 'b': separable: a plane has every row strictly on its side",
        "verdict": "holds, proved again from the data",
    }


def test_a_shared_point_is_proved(run, crossed):
    ran = run("check-certificate", "crossed.json", "crossed.csv", "--json")
    document = ran.document
    assert (document["schema"], ran.code) == ("separatrix/check-certificate", 0)
    assert document["same_data"] is True
    (proof,) = document["proofs"]
    assert proof["proved"] is True
    assert proof["status"] == "not_separable"
    assert proof["reason"].endswith(
        "a weighted mean of the rows of one class equals a weighted mean of the rows of the other"
    )


@pytest.mark.crossed
@pytest.mark.parametrize("name", ["iris", "wine", "breast-cancer"])
@pytest.mark.parametrize("options", [[], ["--no-intercept"]])
def test_built_in_data(run, once, name, options):
    code = once("separable", name, "--certificate", "p.json", *options).code
    assert code in (0, 1)
    ran = run("check-certificate", "p.json", name)
    assert ran.code == 0
    assert ("origin" in ran.out) == (options != [] and name != "iris") or name == "iris"


def test_the_same_data_in_another_format(run, crossed, tmp_path):
    duckdb.sql(f"copy (from read_csv('{crossed}')) to '{tmp_path}/crossed.parquet'")
    assert run("check-certificate", "crossed.json", "crossed.parquet").code == 0


def test_options_of_reading_are_used_again(run, people):
    people.write_text("\n".join(people.read_text().splitlines()[:41]))
    words = ["--ignore", "hours", "--kind", "age=category", "--missing", "cook"]
    code = run("separable", people, "--target", "income", "--certificate", "p.json", *words).code
    assert code in (0, 1)
    ran = run("check-certificate", "p.json", people)
    assert ran.code == 0
    assert ran.lines["data"] == "40 rows, the same as those of the certificate"


def test_what_was_ignored_may_be_gone(run, people):
    words = ["--target", "income", "--certificate", "p.json", "--ignore", "hours"]
    assert run("separable", people, *words).code in (0, 1)
    lines = [line.split(",") for line in people.read_text().splitlines()]
    people.write_text("\n".join(",".join([a, c, d]) for a, _, c, d in lines) + "\n")
    assert run("check-certificate", "p.json", people).code == 0


# -------------------------------------------------------------------------------- does not hold


def test_other_data(run, apart):
    apart.write_text(apart.read_text().replace("4,7", "4,8"))
    ran = run("check-certificate", "apart.json", "apart.csv", "--json")
    assert ran.code == ran.document["exit_code"] == 1
    assert ran.document["same_data"] is False
    assert ran.document["proofs"] == []
    text = run("check-certificate", "apart.json", "apart.csv")
    assert text.lines["data"] == "4 rows, NOT the same as the 4 of the certificate"
    assert text.lines["verdict"] == "not proved: these are not the data of the certificate"


def test_quite_other_data(run, apart):
    ran = run("check-certificate", "apart.json", "iris")
    assert ran.code == 1
    assert ran.lines["data"] == "150 rows, NOT the same as the 4 of the certificate"


def test_a_forged_fingerprint_does_not_help(run, apart):
    """A row is moved across the plane, and the file is given the fingerprint of that table."""
    from separatrix.tables import read_table

    apart.write_text(apart.read_text().replace("2,1,b", "-7,1,b"))
    change("apart.json", "data", "fingerprint", to=read_table("apart.csv").fingerprint())
    ran = run("check-certificate", "apart.json", "apart.csv")
    assert ran.code == 1
    assert ran.lines["unproved"].startswith("'a' and 'b': row 3 is on the wrong side")
    assert ran.lines["verdict"].startswith(
        "does not hold: the certificate proves nothing about these data; separatrix "
    )
    assert "encoded the columns as other numbers than this version" in ran.lines["verdict"]


VERDICT = ("verdicts", 0)
WITNESS = (*VERDICT, "witness")


@pytest.mark.parametrize(
    ("keys", "to", "told"),
    [
        ((*WITNESS, "w", 0), "-1", "row 1 is on the wrong side"),
        ((*WITNESS, "w"), ["0", "0"], "row "),
        ((*WITNESS, "w"), ["1"], "1 weights and the points have 2 columns"),
        ((*WITNESS, "b"), lambda b: "1000000", "row 1 is on the wrong side"),
        ((*WITNESS, "strict"), False, "the witness does not belong to the status 'separable'"),
        (
            (*VERDICT, "status"),
            "not_separable",
            "the witness does not belong to the status 'not_separable'",
        ),
        ((*VERDICT, "witness"), None, "nothing was proved"),
        ((*VERDICT, "positive"), "z", "the labels have no class 'z'"),
        (("data", "target"), "x", "'a' and 'b': "),
    ],
)
def test_an_altered_plane_is_refuted(run, apart, keys, to, told):
    change("apart.json", *keys, to=to)
    ran = run("check-certificate", "apart.json", "apart.csv")
    assert ran.code == 1
    assert "proved" not in ran.lines
    assert told in ran.lines["unproved"]
    assert (
        ran.lines["verdict"] == ("does not hold: the certificate proves nothing about these data")
        or "other numbers" in ran.lines["verdict"]
    )


@pytest.mark.parametrize(
    ("keys", "to", "told"),
    [
        ((*WITNESS, "multipliers", 0), "1/3", "do not add up to zero"),
        ((*WITNESS, "multipliers", 0), "-1/4", "the multiplier of row 1 is negative"),
        ((*WITNESS, "multipliers"), lambda m: ["0"] * len(m), "all multipliers are zero"),
        (
            (*WITNESS, "multipliers"),
            lambda m: m[:-1],
            "the number of multipliers is not the number of rows",
        ),
        ((*WITNESS, "multipliers", 1), "1/3", "column 'x' gives"),
        ((*WITNESS, "rows"), [0, 0, 2, 3], "the number of multipliers is not the number of rows"),
        ((*WITNESS, "rows", 0), 600, "there is no row 601"),
        ((*WITNESS, "rows"), [], "the number of multipliers is not the number of rows"),
        (
            (*VERDICT, "status"),
            "separable",
            "the witness does not belong to the status 'separable'",
        ),
        (
            (*VERDICT, "status"),
            "quasi_separable",
            "the witness does not belong to the status 'quasi_separable'",
        ),
        ((*WITNESS, "overlap"), False, "the witness does not belong to the status 'not_separable'"),
    ],
)
def test_altered_multipliers_are_refuted(run, crossed, keys, to, told):
    change("crossed.json", *keys, to=to)
    ran = run("check-certificate", "crossed.json", "crossed.csv")
    assert ran.code == 1
    assert told in ran.lines["unproved"]
    assert ran.lines["verdict"] == "does not hold: the certificate proves nothing about these data"


def test_one_of_several_verdicts_that_fails_is_told(run, once):
    assert once("separable", "iris", "--certificate", "p.json").code == 1
    change("p.json", "verdicts", 1, "witness", "b", to="77777777")
    ran = run("check-certificate", "p.json", "iris")
    assert ran.code == 1
    assert ran.lines["verdict"] == "does not hold: 1 of 6 verdicts could not be proved"
    assert "unproved  'setosa' and 'virginica': row 1 is on the wrong side" in ran.out
    assert ran.out.count("proved    ") == 5


def test_other_numbers_of_another_version_are_told(run, apart):
    change("apart.json", "encoding", "sha256", to="0" * 64)
    # The witness holds of the numbers here, whatever they were there.
    assert run("check-certificate", "apart.json", "apart.csv").code == 0
    change("apart.json", *WITNESS, "b", to="123456")
    change("apart.json", "library_version", to="0.0.9")
    ran = run("check-certificate", "apart.json", "apart.csv")
    assert ran.code == 1
    assert "separatrix 0.0.9 or its libraries encoded" in ran.lines["verdict"]


# ---------------------------------------------------------------------------- cannot be read


def bad(run, name="apart.json", data="apart.csv"):
    ran = run("check-certificate", name, data)
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith("error     ")
    assert ran.err.count("\n") == 1
    return ran.err


def test_a_later_version_asks_for_an_upgrade(run, apart):
    change("apart.json", "format_version", to=2)
    assert "has format version 2, and this version of separatrix reads up to 1: upgrade" in bad(run)


@pytest.mark.parametrize("version", [0, "1", None, True, 1.0])
def test_a_version_that_is_none(run, apart, version):
    change("apart.json", "format_version", to=version)
    assert "is damaged: its format version is" in bad(run)


def test_every_truncation_is_told(run, apart):
    whole = Path("apart.json").read_bytes().rstrip()
    for length in [*range(0, 60, 7), *range(60, len(whole), 97), len(whole) - 1]:
        Path("apart.json").write_bytes(whole[:length])
        told = bad(run)
        if length == 0:
            assert "is empty" in told
        elif length > 60:
            assert "'apart.json' is damaged: it was cut short or altered" in told
        else:
            assert "damaged" in told or "is not a certificate" in told


@pytest.mark.parametrize(
    ("keys", "to"),
    [
        (("verdicts",), []),
        (("verdicts",), None),
        (("verdicts",), {"a": 1}),
        (("verdicts", 0), None),
        (("verdicts", 0, "status"), "certain"),
        (("verdicts", 0, "witness", "kind"), "magic"),
        (("verdicts", 0, "positive"), []),
        (("verdicts", 0, "positive"), {}),
        (("verdicts", 0, "witness", "b"), "one"),
        (("verdicts", 0, "witness", "b"), "1/0"),
        (("verdicts", 0, "witness", "b"), 1),
        (("verdicts", 0, "witness", "b"), "0x1p99999"),
        (("verdicts", 0, "witness", "b"), "9" * 5000),
        (("verdicts", 0, "witness", "w"), 5),
        (("data",), None),
        (("data", "rows"), "many"),
        (("reading",), []),
        (("reading", "kinds"), 3),
        (("reading", "kinds"), {"x": 3}),
        (("reading", "ignore"), "x"),
        (("reading", "missing"), 7),
        (("encoding",), 3),
    ],
)
def test_damage_is_one_sentence(run, apart, keys, to):
    change("apart.json", *keys, to=to)
    assert "'apart.json' is damaged: " in bad(run)


@pytest.mark.parametrize("key", ["data", "reading", "encoding", "verdicts"])
def test_what_is_lacking_is_named(run, apart, key):
    document = json.loads(Path("apart.json").read_text())
    del document[key]
    Path("apart.json").write_text(json.dumps(document))
    assert f"'apart.json' is damaged: it lacks '{key}'" in bad(run)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"{}", "is not a certificate"),
        (b"[1, 2]", "is not a certificate"),
        (b"3", "is not a certificate"),
        (b'{"format": "other"}', "is not a certificate"),
        (b"\x00\xff\xfe", "is not a certificate"),
        (b"[" * 100_000, "is not a certificate"),
        (b"a,b\n1,2\n", "is not a certificate"),
    ],
)
def test_other_files(run, apart, content, told):
    Path("apart.json").write_bytes(content)
    assert told in bad(run)


def test_names_that_are_no_file(run, apart, tmp_path):
    (tmp_path / "folder").mkdir()
    assert "'folder' is a folder, not a certificate" in bad(run, "folder")
    assert "there is no file 'gone.json'" in bad(run, "gone.json")
    assert "the name of the certificate is empty" in bad(run, "")
    assert "no-such.csv does not exist" in bad(run, data="no-such.csv")
    assert "is neither a file nor a built-in name" in bad(run, data="folder2")


def test_a_model_is_sent_to_verify(run, apart):
    assert run("fit", "iris", "-o", "m.separatrix").code == 0
    assert "is a model, not a certificate: separatrix verify checks a model" in bad(
        run, "m.separatrix"
    )


def test_a_kind_that_is_none_is_told(run, apart):
    change("apart.json", "reading", "kinds", to={"x": "colour"})
    assert "kind 'colour' for column 'x'" in bad(run)


def test_json_tells_errors(run, apart):
    ran = run("check-certificate", "gone.json", "apart.csv", "--json")
    assert (ran.code, ran.document["exit_code"]) == (3, 3)


@pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")
@pytest.mark.signals
def test_ctrl_c(run, apart, monkeypatch):
    monkeypatch.setattr(check_run, "encode_raw", lambda *_: signal.raise_signal(signal.SIGINT))
    ran = run("check-certificate", "apart.json", "apart.csv")
    assert ran.code == 130
    assert ran.err == "error     interrupted; nothing was written\n"


def test_a_certificate_that_leaves_a_verdict_out_is_damaged(run, once):
    assert once("separable", "iris", "--certificate", "p.json").code == 1
    document = json.loads(Path("p.json").read_text())
    kept = [v for v in document["verdicts"] if v["status"] == "separable"]
    for verdicts in (kept, kept[:1] * len(document["verdicts"])):
        Path("some.json").write_text(json.dumps({**document, "verdicts": verdicts}))
        ran = run("check-certificate", "some.json", "iris")
        assert ran.code == 3
        assert "it must contain 6 verdicts" in ran.err


@pytest.mark.skipif(sys.platform == "win32", reason="pipes and devices as POSIX has them")
def test_what_is_not_a_regular_file_is_refused_at_once(run, apart, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "/dev/zero"):
        assert f"'{name}' is not a regular file, so it cannot be a certificate" in bad(run, name)


def test_a_file_that_is_too_large_is_refused(run, apart):
    with open("apart.json", "r+b") as file:
        file.truncate((1 << 30) + 1)
    sentence = (
        "'apart.json' has 1,073,741,825 bytes, and the limit of a certificate is 1,073,741,824"
    )
    assert f"error     {sentence}\n" in bad(run)
