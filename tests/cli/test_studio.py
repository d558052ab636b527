"""``separatrix studio FILE``: tables are read as other commands read them, or refused alike."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from separatrix.cli.output import Exit

pytest.importorskip("starlette")

N = 40
ROWS = [(k % 7 + 0.5, k % 5, "ab"[k % 2]) for k in range(N)]


def text(end: str = "\n", names: str = "x,y,target", more: str = "") -> str:
    return end.join([names, *(f"{x},{y},{c}{more}" for x, y, c in ROWS), ""])


@pytest.fixture
def served(monkeypatch) -> list[Any]:
    """The kernels of the pages that would have been served."""
    pytest.importorskip("contourpy")
    from separatrix.cli.commands.studio import run

    kernels: list[Any] = []

    def keep(out, options, make, kernel):
        kernels.append(kernel)
        return Exit.DONE

    monkeypatch.setattr(run, "_serve", keep)
    return kernels


def unreadable(folder: Path) -> list[tuple[str, str]]:
    """Files that no command can read, and words of the sentence that says why."""
    (folder / "empty.csv").write_bytes(b"")
    (folder / "rubbish.csv").write_bytes(
        bytes(np.random.default_rng(0).integers(0, 256, 5000, dtype=np.uint8))
    )
    (folder / "rubbish.parquet").write_bytes(bytes(range(256)) * 9)
    (folder / "rubbish.xlsx").write_bytes(bytes(range(256)) * 9)
    (folder / "rubbish.csv.gz").write_bytes(bytes(range(256)) * 9)
    (folder / "latin.csv").write_bytes(text().replace("a", "\xe9").encode("latin-1"))
    large = text() * 400
    (folder / "large.csv.gz").write_bytes(gzip.compress(large.encode()))
    with zipfile.ZipFile(folder / "bomb.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", large)
    found = [
        ("empty.csv", "is empty"), ("rubbish.csv", ""), ("rubbish.parquet", ""),
        ("rubbish.xlsx", ""),
        ("rubbish.csv.gz", "cannot be unpacked"), ("latin.csv", "--encoding"),
        ("large.csv.gz", "--unpacked-limit"), ("bomb.xlsx", "--unpacked-limit"),
    ]  # fmt: skip
    try:
        import openpyxl
    except ModuleNotFoundError:
        return found
    book = openpyxl.Workbook()
    book.active["A1"], book.active["ZZ9999"] = "x", 3
    book.save(folder / "far.xlsx")
    return [*found, ("far.xlsx", "delete cells far from the table")]


def test_files_that_cannot_be_read_are_refused_as_by_other_commands(run, served, tmp_path):
    for name, words in unreadable(tmp_path):
        there = ("--unpacked-limit", "50KB")
        ours, other = run("studio", name, *there), run("diagnose", name, *there)
        assert (ours.code, ours.out, ours.err) == (3, "", other.err), name
        assert words in ours.err and len(ours.err.splitlines()) == 1, (name, ours.err)
    assert served == []


def test_awkward_files_are_read_and_the_page_answers(run, served, tmp_path):
    long = "z" * 3_000_000
    files = {
        "crlf.csv": text("\r\n", 'x,"y\r\nin metres",target').encode(),
        "wide.csv": text(more="," + "w" * 200, names="x,y,target,note").encode(),
        "utf16.csv": text().encode("utf-16"),
        "long.csv": f"x,y,target,note\n1,2,a,{long}\n3,4,b,{long}\n5,6,a,c\n".encode(),
        "named.csv": text(names=f"x,{long},target").encode(),
        "classes.csv": text()
        .replace(",a", f",{long[:9000]}a")
        .replace(",b", f",{long[:9000]}b")
        .encode(),
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        ran = run("studio", name)
        assert (ran.code, ran.err) == (0, ""), (name, ran.err)
        kernel = served.pop()
        x, y = kernel.traits["seed_tables"]["axes"]
        assert x == "x" and len(json.dumps(kernel.traits)) < 200_000, name
        assert kernel.reply({"type": "columns", "seq": 1, "x": y, "y": x})["type"] == "points"
        kernel.traits["state"]["model"] = "least_squares"
        answer = kernel.reply({"type": "ask", "seq": 2, "state": kernel.traits["state"]})
        assert answer["type"] == "answer", (name, answer)
        assert len(set(kernel.traits["state"]["names"]["classes"])) == 2


def test_tables_of_the_studio_are_read_with_the_options_of_other_commands(run, served, tmp_path):
    cells = [("-999" if k % 10 == 0 else f"{x:g}", y, c) for k, (x, y, c) in enumerate(ROWS)]
    lines = [f"{x},{y},{c}" for x, y, c in cells]
    (tmp_path / "t.csv").write_text("\n".join(["x,y,target", *lines, ""]))
    ran = run("studio", "t.csv")
    assert ran.code == 0 and "4 cells of -999 read as missing" in ran.err
    assert "--kind 'x=number'" in ran.err
    lowest = lambda: min(x for x, _, _ in served.pop().traits["state"]["points"])  # noqa: E731
    assert lowest() == 0.5
    assert run("studio", "t.csv", "--kind", "x=number").err == "" and lowest() == -999.0
    assert run("studio", "t.csv", "--missing=-999").err == "" and lowest() == 0.5
    # A target that is nearly all numbers keeps its words.
    (tmp_path / "u.csv").write_text(
        "\n".join(
            [
                "x,y,target",
                *(f"{x},{y},{k % 3}" for k, (x, y, _) in enumerate(ROWS)),
                "1,2,other",
                "",
            ]
        )
    )
    assert run("studio", "u.csv").code == 0
    assert "other" in served.pop().traits["state"]["names"]["classes"]
    ran = run("studio", "--kind", "x=number")
    assert ran.code == 2 and "--kind is an option of a table" in ran.err
