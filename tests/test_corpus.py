"""Malformed files that were kept: each has the answer that stands beside it in the README there."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

from separatrix.cli import main
from separatrix.exceptions import DataError, ModelFileError
from separatrix.persistence.model_file import load_model
from separatrix.tables import Encoder, read_table

CORPUS = Path(__file__).parent / "corpus"
ROW = re.compile(r"^\| `(?P<file>[^`]+)` \| .* \| `(?P<answer>[^`]+)` \|$")
# What the certificates are of.
TABLES = ("apart.csv", "xor.csv")


def rows(folder: str) -> dict[str, str]:
    """File and expected answer, from the README."""
    text = (CORPUS / "README.md").read_text()
    section = text.split(f"\n## {folder}\n")[1].split("\n## ")[0]
    found = [ROW.match(line) for line in section.splitlines()]
    return {m["file"]: m["answer"].replace(" ", r"\s+") for m in found if m is not None}


MODELS, DATA, CERTIFICATES = rows("models"), rows("tables"), rows("certificates")


def files(folder: str) -> set[str]:
    return {path.name for path in (CORPUS / folder).iterdir()} - set(TABLES)


def test_every_file_has_an_answer():
    assert files("models") == {f"{name}.separatrix" for name in MODELS}
    assert files("tables") == set(DATA)
    assert files("certificates") == set(CERTIFICATES)
    assert all(path.stat().st_size < 20_000 for path in CORPUS.rglob("*"))


@pytest.mark.parametrize("name", MODELS)
def test_models(name):
    path = CORPUS / "models" / f"{name}.separatrix"
    with pytest.raises(ModelFileError, match=MODELS[name]) as caught:
        load_model(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("name", DATA)
def test_tables(name):
    with warnings.catch_warnings(), pytest.raises(DataError, match=DATA[name]) as caught:
        warnings.simplefilter("ignore")
        Encoder().fit(read_table(CORPUS / "tables" / name))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", CERTIFICATES)
def test_certificates(name, capsys):
    folder = CORPUS / "certificates"
    code = main(
        ["check-certificate", str(folder / name), str(folder / f"{name.split('_')[0]}.csv")]
    )
    told = "".join(capsys.readouterr())
    assert re.search(CERTIFICATES[name], told), told
    refused = CERTIFICATES[name].startswith(("damaged", "version", "certificate:", "kind"))
    assert code == (3 if refused else 0 if CERTIFICATES[name].startswith("holds") else 1)
    assert "Traceback" not in told and "bug" not in told
