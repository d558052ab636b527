"""Files as offices export them: titles, two-line headers, sums, pages, ragged lines, encodings."""

from __future__ import annotations

import codecs
import json
import random
from functools import partial

import numpy as np
import pytest

from separatrix.cli import main
from separatrix.exceptions import DataError
from separatrix.scale import scan
from separatrix.tables import Encoder, read_table
from separatrix.tables.structure import Shape, footer_of, unique_names
from separatrix.tables.text_encodings import encoding_of_text

openpyxl = pytest.importorskip("openpyxl")

HEADER = ["Patient", "Alter", "Größe", "Geschlecht", "Station", "Rückfall"]
WARDS = ["Chirurgie", "Innere", "Köln-Süd"]


def people(n=160, seed=3):
    """Rows of a hospital's list: the number of a patient, numbers, words and the target."""
    draw = random.Random(seed)
    rows = []
    for k in range(n):
        age, size = draw.randint(20, 90), draw.gauss(172, 9)
        ward, sex = draw.choice(WARDS), draw.choice("mw")
        bad = age + (12 if ward == "Innere" else 0) + draw.gauss(0, 9) > 60
        number = str(4711 + 13 * k)
        rows.append([number, str(age), f"{size:.1f}", sex, ward, "ja" if bad else "nein"])
    return rows


ROWS = people()
TEXT = [";".join(row).replace(".", ",") for row in ROWS]
HEAD = ";".join(HEADER)
CLEAN = "\n".join([HEAD, *TEXT]) + "\n"


def lines(*parts, end="\r\n"):
    """One text of lines and lists of lines."""
    flat = [one for part in parts for one in ([part] if isinstance(part, str) else part)]
    return end.join(flat) + end


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Fit a file by the command line; give the held-out accuracy, the messages and the features."""
    folder = tmp_path_factory.mktemp("exports")

    def fit(name, content, *words, capsys, target="Rückfall"):
        path = folder / name
        if callable(content):
            content(path)
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        capsys.readouterr()
        model = str(folder / f"{name}.separatrix")
        code = main(["fit", str(path), "--target", target, "-o", model, "--json", *words])
        ran = capsys.readouterr()
        assert code == 0, ran.err
        document = json.loads(ran.out)
        said = ran.err.replace(str(path), name)
        return document["held_out"]["accuracy"], said, document["model"]["feature_names"]

    return fit


@pytest.fixture(scope="module")
def clean(fitted):
    kept = []

    def measured(capsys):
        if not kept:
            kept.append(fitted("clean.csv", CLEAN, capsys=capsys))
        return kept[0]

    return measured


PAGES = [
    lines("Bericht Reha", "Seite 1 von 3", "", HEAD, TEXT[:60], "Seite 2 von 3", HEAD, TEXT[60:120])
    + lines("Seite 3 von 3", HEAD, TEXT[120:], "-- Ende des Berichts --")
]
UNITS = lines(HEAD, ";Jahre;cm;;;", TEXT)

# The contents of the files by their names, and then the messages about them.
EXPORTS = {
    "bank.csv": (
        lines("Auszug für Müller", "Stand: 01.02.2024;Filiale 12", "", HEAD, TEXT)
        + lines("Summe;;27.512,4;;;", "", "Quelle: Kernsystem")
    ).encode("cp1252"),
    "mac.csv": CLEAN.encode("mac_roman"),
    "crm.csv": CLEAN.encode("utf-16-le"),
    "marked.csv": codecs.BOM_UTF16_BE + CLEAN.encode("utf-16-be"),
    "excel.csv": "sep=;\r\n" + lines(HEAD, TEXT),
    "report.csv": PAGES[0],
    "sensor.csv": UNITS,
    "blank.csv": lines([f"{line};;;" for line in (HEAD, *TEXT)], [";" * 8] * 3),
    "subtotals.csv": lines(HEAD, TEXT[:50], "Zwischensumme;;8.600,1;;;", TEXT[50:])
    + lines("Gesamtsumme;;27.512,4;;;"),
    "pipes.txt": lines("Liste", [line.replace(";", "|") for line in (HEAD, *TEXT)]),
}
SAID = {
    "bank.csv": [
        "bank.csv is not UTF-8; it is read as cp1252, in which it has words such as 'für'",
        "the header is line 4, and 2 lines above it are left out ('Auszug für Müller'); if the "
        "table begins there, give --header 1",
        "the last 2 lines are no part of the table and are left out ('Summe; 27.512,4'); if that "
        "is a row, give --footer 0",
    ],
    "mac.csv": ["read as mac_roman"],
    "report.csv": [
        "the header is line 4",
        "2 lines inside the table are the header again and are left out (first line 66)",
        "2 lines inside the table have a remark in place of cells and are left out (first line 65: "
        "'Seite 2 von 3')",
        "the last line is no part of the table and is left out ('-- Ende des Berichts --')",
    ],
    "sensor.csv": ["line 2 below the header holds units or labels ('Jahre; cm')", "--header 1"],
    "subtotals.csv": [
        "1 line inside the table has sums of other rows and is left out (first line 52:",
        "the last line is no part of the table and is left out ('Gesamtsumme; 27.512,4')",
    ],
    "pipes.txt": ["the header is line 2, and 1 line above it is left out ('Liste')"],
}


@pytest.mark.parametrize("name", EXPORTS)
def test_the_first_command_reads_an_export(name, fitted, clean, capsys):
    wanted, plain, features = clean(capsys)
    score, said, found = fitted(name, EXPORTS[name], capsys=capsys)
    assert abs(score - wanted) <= 0.04
    assert found == features
    for part in SAID.get(name, ()):
        assert part in said, said
    # The messages are no more than for the clean file, and name nothing that is not in the file.
    assert len(said.splitlines()) == len(plain.splitlines()) + _notes(name)
    assert "unnamed" not in said


def _notes(name):
    """How many lines more there are than for a clean file."""
    return {"bank.csv": 3, "report.csv": 4, "mac.csv": 1, "sensor.csv": 1}.get(
        name, len(SAID.get(name, ()))
    )


def save_book(path, fill):
    book = openpyxl.Workbook()
    fill(book)
    book.save(path)


def titled(book):
    """A sheet with a title, a header of two rows with merged cells, sums and a source."""
    sheet = book.active
    sheet.title = "Lies mich"
    sheet["A1"] = "Erläuterungen"
    sheet["A2"] = "Alle Angaben ohne Gewähr"
    sheet = book.create_sheet("Daten")
    sheet["A1"] = "Rückfälle 2024"
    sheet.merge_cells("A1:F1")
    upper = ["Patient", None, None, None, "Aufenthalt", None]
    lower = ["Nr", "Alter", "Größe", "Geschlecht", "Station", "Rückfall"]
    for row, cells in ((3, upper), (4, lower)):
        for j, cell in enumerate(cells, start=1):
            sheet.cell(row, j, cell)
    sheet.merge_cells("A3:D3")
    sheet.merge_cells("E3:F3")
    for k, (number, age, size, *words) in enumerate(ROWS):
        for j, cell in enumerate([int(number), int(age), float(size), *words], start=1):
            sheet.cell(5 + k, j, cell)
    last = 5 + len(ROWS)
    sheet.cell(last, 1, "Summe")
    sheet.cell(last, 3, 27512.4)
    sheet.cell(last + 2, 1, "Quelle: KIS")


def test_a_workbook_with_a_title_and_a_header_of_two_rows(fitted, clean, capsys):
    target = "Aufenthalt Rückfall"
    score, said, features = fitted(
        "kis.xlsx", partial(save_book, fill=titled), capsys=capsys, target=target
    )
    assert abs(score - clean(capsys)[0]) <= 0.04
    assert "Patient Alter" in features and "Aufenthalt Station=Innere" in features
    for part in (
        "sheet 'Daten' is read, which alone holds a table",
        "the header is row 3, and 1 row above it is left out ('Rückfälle 2024')",
        "rows 3 to 4 are one header, with names such as 'Patient Nr'; if row 4 alone is the "
        "header, give --header 4",
        "the last 2 rows are no part of the table",
    ):
        assert part in said, said
    again = fitted("kis.xlsx", partial(save_book, fill=titled), "--header", "4", capsys=capsys)
    assert (again[0], again[2][0]) == (score, "Alter")
    assert "header" not in again[1]


def test_sheets_of_which_several_hold_tables(tmp_path):
    def fill(book):
        for name, last in (("2023", "umsatz"), ("2024", "gewinn")):
            sheet = book.create_sheet(name)
            for row in [["jahr", last], *([k, 1.5 * k] for k in range(5))]:
                sheet.append(row)

    save_book(tmp_path / "a.xlsx", fill)
    with pytest.raises(DataError, match=r"has 2 sheets \('2023', '2024'\).*::2023.*sheet='2023'"):
        read_table(tmp_path / "a.xlsx")
    for read in (
        partial(read_table, sheet="2024"),
        partial(read_table, needed=["gewinn"]),
    ):
        assert read(tmp_path / "a.xlsx").names == ("jahr", "gewinn")
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    with pytest.raises(DataError, match=r"a\.csv has no sheets or tables to name by sheet='x'"):
        read_table(tmp_path / "a.csv", sheet="x")
    with pytest.raises(DataError, match=r"::2023 and sheet='2024' name two sheets"):
        read_table(f"{tmp_path}/a.xlsx::2023", sheet="2024")


def test_cells_that_are_merged_in_the_body_of_a_sheet(tmp_path):
    def fill(book):
        sheet = book.active
        for row in [["region", "x"], *([f"r{k}" if k % 3 == 0 else None, k] for k in range(9))]:
            sheet.append(row)
        for first in (2, 5, 8):
            sheet.merge_cells(f"A{first}:A{first + 2}")

    save_book(tmp_path / "a.xlsx", fill)
    table = read_table(tmp_path / "a.xlsx")
    assert table.columns["region"].tolist() == ["r0"] * 3 + ["r3"] * 3 + ["r6"] * 3
    assert "3 merged cells below the header are read as its value" in table.notes[0]


JAPAN = ["顧客番号,年齢,性別,解約", *(f"{k},{20 + k % 40},{'男女'[k % 2]},はい" for k in range(60))]


@pytest.mark.parametrize("encoding", ["cp932", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_encodings_of_japan(tmp_path, encoding):
    path = tmp_path / "a.csv"
    path.write_bytes(lines(JAPAN).encode(encoding))
    table = read_table(path)
    assert table.names == ("顧客番号", "年齢", "性別", "解約")
    assert any("is not UTF-8" in note for note in table.notes) == (encoding != "utf-8-sig")


def test_an_encoding_is_found_by_what_reads_as_language():
    texts = {
        "cp1252": "Straße;Größe;5 €;José;São Paulo;Hôpital;Åse;m³",
        "cp1250": "Łódź;Kraków;Wrocław;Świętokrzyskie",
        "cp1251": "Москва;Санкт-Петербург;Новосибирск",
        "cp850": "Müller;Köln;Größe",
        "cp932": "東京;はい;いいえ;ｱｲｳ",
    }
    for encoding, text in texts.items():
        found = encoding_of_text([text.encode(encoding)])
        assert found.encoding == encoding
        assert text.encode(encoding).decode(found.encoding) == text
    # No encoding is found for text that is in none of these, or is damaged UTF-8.
    for data in ("北京;上海".encode("gbk"), "Αθήνα".encode("cp1253"), "Ağrı".encode("cp1254")):
        assert encoding_of_text([data]) is None
    assert encoding_of_text(["Müller;Köln;".encode() + b"K\xf6ln"]) is None


def test_an_encoding_that_shows_only_in_the_middle_of_a_file(tmp_path):
    rows = [f"{k};plain;{k % 2}" for k in range(60_000)]
    rows[30_000] = "30000;Köln;0"
    (tmp_path / "a.csv").write_bytes(lines("k;town;y", rows).encode("latin-1"))
    table = read_table(tmp_path / "a.csv")
    assert table.columns["town"][30_000] == "Köln"
    assert "read as cp1252, in which it has words such as 'Köln'" in table.notes[0]


# ------------------------------------------------------------------------------------ lines


def test_lines_far_below_the_first_ones(tmp_path):
    """The ends of a file are examined; lines in its middle are found as it is read."""
    rows = [f"{k},{k % 7},{'yes' if k % 2 else 'no'},a text of {k}" for k in range(20_000)]
    broken = [*rows]
    broken[12_345] = "12345,3,yes,one, two and three"
    broken[15_000] = "15000,6"
    broken.insert(9_000, "k,seven,y,comment")
    content = lines("k,seven,y,comment", broken, "Total,60003,,", end="\n")
    (tmp_path / "a.csv").write_text(content)
    for read in (read_table, partial(scan, target="y", cache=tmp_path, test_size=0.0)):
        if read is not read_table:
            broken[15_001] = "15000,6,no"
            content = lines("k,seven,y,comment", broken, "Total,60003,,", end="\n")
            (tmp_path / "a.csv").write_text(content)
        table = read(tmp_path / "a.csv")
        said = "\n".join(table.notes)
        assert table.n_rows == 20_000
        for part in (
            "the last line is no part of the table and is left out ('Total; 60003')",
            "1 line inside the table is the header again and is left out (first line 9002)",
            "1 line has fewer cells than the header, first line 15003",
            "1 line has more cells than the header, first line 12348; the delimiter is read as "
            "part of column 'comment' there ('one, two and three')",
        ):
            assert part in said, said
        if read is read_table:
            assert table.columns["comment"][12_345] == "one, two and three"
            assert np.ma.getmaskarray(table.columns["y"])[15_000]
            broken[15_000] = "15000,6,no,x"


def test_repeated_and_blank_names_of_columns(tmp_path):
    rows = [f"{k};{k * 1.5};{k * 2.5};{'a' if k % 3 else 'b'};;" for k in range(30)]
    (tmp_path / "a.csv").write_text(lines("id;amount;amount;y;;", rows))
    table = read_table(tmp_path / "a.csv")
    assert table.names == ("id", "amount", "amount_2", "y")
    assert table.notes == (
        f"{tmp_path}/a.csv: columns 2 and 3 are both called 'amount'; the second is read as "
        "'amount_2'",
    )
    assert unique_names(["a", "a", "a_2", "", ""])[0] == ("a", "a_3", "a_2", "", "")


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "rownames", "#", "lfd", "N°", "beleg", "year"])
def test_a_counter_of_rows_gets_no_weight(tmp_path, name):
    rows = [f"{k},{k * k % 17},{'ab'[k * k % 3 > 0]}" for k in range(1, 61)]
    (tmp_path / "a.csv").write_text(lines(f"{name},x,y", rows))
    data = scan(tmp_path / "a.csv", "y", cache=tmp_path)
    # Years may describe rows though they count them.
    wanted = ["year", "x"] if name == "year" else ["x"]
    assert list(data.feature_names) == wanted
    assert any("identifies rows" in alert for alert in data.encoder.alerts_) == (name != "year")
    table = read_table(tmp_path / "a.csv").drop("y")
    for rows_of in (np.arange(60), np.arange(0, 60, 2)):  # as of rows that are not held out
        assert Encoder().fit(table.select(rows_of)).feature_names_ == wanted
    kept = read_table(tmp_path / "a.csv", kinds={table.names[0]: "number"}).drop("y")
    assert len(Encoder().fit(kept).feature_names_) == 2


def test_names_of_rows_without_a_name_in_the_header(tmp_path):
    (tmp_path / "a.csv").write_text(lines("mpg,cyl", [f"Car {k},{k}.5,4" for k in range(9)]))
    table = read_table(tmp_path / "a.csv")
    assert table.names == ("unnamed_1", "mpg", "cyl")
    assert table.columns["mpg"][0] == 0.5


def test_years_below_merged_cells_and_as_names(tmp_path):
    rows = [f"K{k};{k}.5;{k + 2};ja" for k in range(20)]
    (tmp_path / "a.csv").write_text(lines("Kunde;Umsatz;;Status", ";2022;2023;", rows))
    assert read_table(tmp_path / "a.csv").names == ("Kunde", "Umsatz 2022", "Umsatz 2023", "Status")
    rows = [f"R{k};{k};{k * 2};{k * 3}" for k in range(20)]
    (tmp_path / "b.csv").write_text(lines("Umsatz", "", "Region;2021;2022;2023", rows))
    assert read_table(tmp_path / "b.csv").names == ("Region", "2021", "2022", "2023")


def test_a_file_without_names(tmp_path):
    rows = ["5.1,3.5,setosa", "5.1,3.4,setosa", "6.3,2.9,other", "5.1,3.5,setosa"]
    path = tmp_path / "a.csv"
    path.write_text(lines(rows, end="\n"))
    table = read_table(path)
    assert table.names == ("5.1", "3.5", "setosa")
    assert "look like numbers, such as '5.1'; if it is a row, give header='none'" in table.notes[0]
    table = read_table(path, header="none")
    assert (table.names, table.n_rows) == (("column_1", "column_2", "column_3"), 4)
    path.write_text(lines(["1.5,0.2,1.5", "2.5,1,3", "1.5,0.2,1.5"]))
    with pytest.raises(DataError, match=r"\('1.5; 0.2; 1.5'\), of which some are equal.*'none'"):
        read_table(path)
    assert read_table(path, header="none").n_rows == 3


def test_rows_that_end_early_in_time_are_no_sums(tmp_path):
    """The latest months of a series lack what is not known yet, and forecasts what was."""
    rows = [f"2020-{k % 12 + 1:02d},{k}.5,{k * 2},{k * 3},{k % 4}" for k in range(40)]
    rows += ["2023-05,41.5,,,", ",,,,3"]
    (tmp_path / "a.csv").write_text(lines("month,a,b,c,d", rows))
    assert read_table(tmp_path / "a.csv").n_rows == 42


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_clean_file_is_read_as_it_is(tmp_path, delimiter):
    """A file of a header and rows is not copied, whatever its cells are."""
    from separatrix.tables.csv_structure import look_at
    from separatrix.tables.structure import Given

    draw = random.Random(1)
    cells = ["1.5", "-3", "total", "Total", "", "NA", "a b", "12 kg", "2024-01-01", "x", "source"]
    for _ in range(60):
        width = draw.randint(2, 6)
        names = [f"c{j}" for j in range(width)]
        columns = [draw.choices(draw.choices(cells, k=3), k=30) for _ in names]
        columns[0] = [str(k) for k in range(30)]
        rows = [delimiter.join(row) for row in zip(*columns, strict=True)]
        path = tmp_path / "a.csv"
        path.write_text(lines(delimiter.join(names), rows, end="\n"))
        found = look_at(path, "a.csv", "", Given())
        assert (found.header, found.plain, found.notes) == ("", True, []), path.read_text()


# ------------------------------------------------------------------------------------ refused


REFUSED = {
    "two readings of a long line": (
        lines("a,b,y", ["1,2 x,c d"] * 30, "1,two,three,four"),
        r"line 32: 4 fields, where the header has 3; .* begins and ends with header and footer",
    ),
    "a row that was broken in two": (
        lines("a,b,c,y", ["1,2,3,x"] * 30, "1,2", "2,3,x", ["1,2,3,x"] * 3),
        r"line 33: 3 fields, where the header has 4",
    ),
    "a file that was cut": (
        lines("a,b,c", ["1,2,3"] * 30) + "4,5",
        r"line 32: the file ends within a row \(2 fields.*leave the line out with footer=1",
    ),
    "more names than cells": (
        lines("a,b,c,d", ["1,2,3"] * 30),
        r"line 2: 3 fields, where the header has 4",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_has_two_readings_is_refused_with_its_line(tmp_path, case):
    content, sentence = REFUSED[case]
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(DataError, match=rf"a\.csv, {sentence}"):
        read_table(tmp_path / "a.csv")


def test_lines_that_the_caller_names(tmp_path, capsys):
    path = tmp_path / "a.csv"
    rows = [f"{k};{k % 5};{'ab'[k % 2]}" for k in range(40)]
    path.write_text(lines("x;y;z", "1;2;3", "k;five;y", rows, "999;9;c", "x", end="\n"))
    for options in ({"header": 3}, {"skip_rows": 2}, {"header": "3"}):
        table = read_table(path, footer=2, **options)
        assert (table.names, table.n_rows, table.notes) == (("k", "five", "y"), 40, ())
    table = read_table(path, header="2,3", footer="1")
    assert (table.names, table.n_rows) == (("1 k", "2 five", "3 y"), 41)
    for options, sentence in (
        ({"header": 0}, "'0' is not the number of a header's line"),
        ({"header": "4,6"}, "'4,6' is not the number"),
        ({"header": 99}, "header=99 names a line that is not among the first lines"),
        ({"header": 2, "skip_rows": 2}, "header=2 is one of the 2 lines that are left out"),
        ({"footer": "all"}, "footer='all' is no number of lines"),
        ({"footer": 99}, "holds a header but no rows"),
        ({"skip_rows": 99}, "skip_rows=99 leaves no table among the first lines"),
    ):
        with pytest.raises(DataError, match=sentence):
            read_table(path, **options)
    # The same by the command line, for the file of the fit and for a new one, examined by itself.
    model = str(tmp_path / "m.separatrix")
    words = ["--target", "y", "--header", "3", "--footer", "2", "-o", model]
    assert main(["fit", str(path), *words]) == 0
    assert main(["verify", model, str(path)]) == 0
    new = tmp_path / "new.csv"
    new.write_text(lines("Neue", "", "k;five", ["7;3"] * 3, "Summe;9", end="\n"))
    capsys.readouterr()
    assert main(["predict", model, str(new)]) == 0
    ran = capsys.readouterr()
    assert len(ran.out.splitlines()) == 4
    assert "the header is line 3" in ran.err and "the last line is no part" in ran.err
    assert main(["fit", str(path), "--target", "y", "--header", "x", "-o", model]) == 2
    assert "x is not the number of a line, two such as 4,5, or none" in capsys.readouterr().err


def test_a_footer_of_more_lines_than_are_looked_at(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(lines("k;x;y", [f"{k};{k % 7:020d};{k % 5:020d}" for k in range(5000)]))
    assert read_table(path, footer=3000).n_rows == 2000
    with pytest.raises(DataError, match="no rows"):
        read_table(path, footer=5001)
    with pytest.raises(DataError, match="skip_rows=9999 leaves no table"):
        read_table(path, skip_rows=9999)


def test_lines_of_blanks_that_only_some_count_as_such(tmp_path):
    """An ideographic space, or a byte order mark within the file, takes no row and makes none."""
    rows = [f"{k};{k % 7};{k % 5};{'ab'[k % 2]}" for k in range(40)]
    for blank in ("\u3000", "\u3000;;;", "\ufeff", "\ufeff;;;", "\u00a0"):
        for below in ([blank], ["Summe;9;;", blank], [blank, "Summe;9;;"]):
            path = tmp_path / "a.csv"
            path.write_text(lines("k;x;z;y", rows, below), encoding="utf-8")
            table = read_table(path)
            assert (table.n_rows, table.columns["k"][-1]) == (40, 39), below


def test_a_footer_never_takes_a_row():
    """Whatever rows are like, those that are whole stay."""
    draw = random.Random(0)
    for _ in range(200):
        rows = [[str(draw.randint(0, 99)), draw.choice("abc"), draw.choice("xy")] for _ in range(9)]
        shape = Shape.of(["n", "c", "y"], rows)
        assert footer_of(rows, shape) == 0
        below = draw.choice([["Total", "", ""], ["Source: a, b"], ["-- end --"], ["", "", ""]])
        assert footer_of([*rows, below], shape) == (1 if any(below) else 0)
