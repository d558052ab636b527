"""Dialects of SQL: how each one spells, reads and guards what a query is made of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from separatrix.exports.artefacts import Unprintable

# Magnitudes within which every engine reads every literal to the nearest float64.
_ORDINARY = 1e-15, 1e15
# A literal or a comment that holds one of these would go over the end of its line.
_CONTROL = re.compile("([\x01-\x1f\x7f-\x9f\u2028\u2029])")
# The form of a text that is a number: engines by themselves take '1_000' or '' for one.
_NUMERAL = "[ ]*[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{{1,3}})?[ ]*"
_WIDTH = 100
# The texts of truth values, which files and databases without a type for them have.
_OR_TRUTH = "\n      WHEN lower({0}) = {1}'true' THEN 1e0 WHEN lower({0}) = {1}'false' THEN 0e0 END"
_DOUBLED = (("'", "''"),)
_BACKSLASH = ("\\", "\\\\")


@dataclass(frozen=True)
class Dialect:
    """The SQL of one engine. In templates ``{0}`` is the expression that they apply to.

    Attributes
    ----------
    name, title : str
        The name of the option, and that of the engine.
    number, text, date : str
        A column as a float64, as a text that is compared letter by letter, and as days since
        1970-01-01 with the time of day; NULL where it is none.
    part : str
        The year or the month (``{1}``, in C's notation ``{2}``) of a number of days.
    truth : str
        Whether a column holds truths; empty where an engine cannot determine it.
    level : str
        A text literal as such texts are compared with it.
    double, texts, timestamp : str
        The types of a float64, a text and a moment.
    literal, infinity : str
        A number in decimal notation with an exponent; infinity, empty where there is none.
    exact : bool
        Whether every literal is read as the nearest float64, whatever its magnitude.
    truths : pair of str
        The expressions for false and true.
    quotes : pair of str
        The quotes before and behind an identifier.
    identifier_escapes, escapes : tuple of pair of str
        Replacements within an identifier, and within a text literal.
    prefix, character, glue : str
        The prefix of a text literal, a character by its code, and the operator that joins texts.
    code_point : str
        A character by its code in a regular expression, where ``\\1`` is the code.
    largest, log, tanh : str
        Functions.
    strict : bool
        Whether a number out of range is an error, which fails the query for all rows.
    whole_row : str
        All columns of the row that the column ``sx_row`` holds; empty where no column holds one.
    stage, fence : str
        The words that keep an optimiser from computing the columns of a stage once for each of
        their uses: before its parentheses, and at its end.
    values : {"named", "derived", "unnested"}
        The form of a table that is written out.
    name_bytes, columns : int
        The longest name, and the largest number of columns of a row.
    names : str
        A regular expression of the names that columns of a result can have.
    folds : bool
        Whether names that differ in case alone are the same even in quotes.
    words : str
        The list of all words of a text; empty where it would not be that of Python.
    parsed : str
        A column as a float64, whether it holds numbers or texts that are read as such: ``{1}`` is
        what they match, ``{2}`` what is not in them, ``{3}`` what is in the negative ones, ``{4}``
        each mark between digits, and ``{5}`` the decimal mark.
    needs : str
        A sentence on what the engine needs; empty where any version of it will do.
    """

    name: str
    title: str
    number: str
    text: str
    date: str
    part: str
    truth: str = ""
    level: str = "{0}"
    double: str = "DOUBLE"
    texts: str = "VARCHAR"
    timestamp: str = "TIMESTAMP"
    literal: str = "{0}"
    infinity: str = ""
    exact: bool = True
    truths: tuple[str, str] = ("FALSE", "TRUE")
    quotes: tuple[str, str] = ('"', '"')
    identifier_escapes: tuple[tuple[str, str], ...] = (('"', '""'),)
    escapes: tuple[tuple[str, str], ...] = _DOUBLED
    prefix: str = ""
    character: str = "chr({0})"
    glue: str = " || "
    code_point: str = r"\\u\1"
    largest: str = "greatest({0})"
    log: str = "ln({0})"
    tanh: str = "tanh({0})"
    strict: bool = True
    whole_row: str = ""
    stage: str = ""
    fence: str = ""
    values: str = "named"
    name_bytes: int = 63
    columns: int = 1500
    names: str = ".*"
    folds: bool = False
    words: str = ""
    parsed: str = ""
    needs: str = ""

    def identifier(self, name: str) -> str:
        """A name in quotes."""
        return _escaped(_storable(name), self.identifier_escapes).join(self.quotes)

    def string(self, text: str) -> str:
        """A text literal; characters that could end a line are joined to it by their codes."""
        parts = [
            self.character.format(ord(part)) if k % 2 else self._plain_string(part)
            for k, part in enumerate(_CONTROL.split(_storable(text)))
            if part or not text
        ]
        return parts[0] if len(parts) == 1 else f"({self.glue.join(parts)})"

    def _plain_string(self, text: str) -> str:
        return f"{self.prefix}'{_escaped(text, self.escapes)}'"

    def float64(self, value: float) -> str:
        """A number that is read back as the same float64; in parentheses where it is negative."""
        value = float(value)
        if np.isnan(value) or (np.isinf(value) and not self.infinity):
            return f"CAST(NULL AS {self.double})"
        size = self.infinity if np.isinf(value) else self._magnitude(abs(value))
        # Two signs without parentheses would begin a comment.
        return f"(-{size})" if np.signbit(value) else size

    def _magnitude(self, size: float) -> str:
        if not self.exact and size and not _ORDINARY[0] <= size <= _ORDINARY[1]:
            return _exact(size)
        written = repr(size)
        return self.literal.format(written if "e" in written else f"{written}e0")

    def value(self, value: object) -> str:
        """A class as the user has it."""
        if isinstance(value, bool):
            return self.truths[value]
        if isinstance(value, float):
            return self.float64(value)
        return str(value) if isinstance(value, int) else self.string(str(value))

    def moment(self, days: float) -> str:
        """A timestamp from days since 1970-01-01."""
        if not np.isfinite(days):
            return f"CAST(NULL AS {self.timestamp})"
        moment = datetime(1970, 1, 1) + timedelta(microseconds=round(days * 86_400e6))
        return f"CAST('{moment.isoformat(sep=' ')}' AS {self.timestamp})"

    def pattern(self, pattern: str) -> str:
        """A regular expression as a text literal."""
        return self.string(re.sub(r"\\u([0-9a-f]{4})", self.code_point, pattern))

    def maximum(self, numbers: Sequence[str]) -> str:
        """The largest of numbers that are all there or all missing."""
        numbers = list(numbers)
        while len(numbers) > 1:
            # SQLite allows a function 127 arguments, SQL Server 254.
            parts = (numbers[k : k + 100] for k in range(0, len(numbers), 100))
            numbers = [
                self.largest.format(", ".join(part)) if len(part) > 1 else part[0] for part in parts
            ]
        return numbers[0]

    def table(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        """A common table expression that is written out."""
        named = _packed(columns)
        lines = [f"({_packed(row)})" for row in rows]
        if self.values == "unnested":
            pairs = zip(rows[0], columns, strict=True)
            lines[0] = f"STRUCT({_packed([f'{cell} AS {column}' for cell, column in pairs])})"
        body = ",\n    ".join(lines)
        if self.values == "named":
            return f"{name}({named}) AS {self.stage}(\n  VALUES\n    {body}\n)"
        if self.values == "derived":
            return (
                f"{name} AS (\n  SELECT * FROM (VALUES\n    {body}\n  ) AS written_out({named})\n)"
            )
        return f"{name} AS (\n  SELECT * FROM UNNEST([\n    {body}\n  ])\n)"


def _packed(items: Sequence[str]) -> str:
    """Items with commas between them, on several lines where one would be long."""
    lines = [""]
    for place, item in enumerate(items):
        own = f"{item}, " if place < len(items) - 1 else item
        if lines[-1] and len(lines[-1]) + len(own) > _WIDTH:
            lines.append("")
        lines[-1] += own
    return "\n      ".join(line.rstrip(" ") for line in lines)


def _storable(text: str) -> str:
    if "\0" in text or any("\ud800" <= sign <= "\udfff" for sign in text):
        raise Unprintable(
            f"SQL has no text {text!r}: it holds a character that no database stores; rename the "
            "column or the value before the fit."
        )
    return text


def _escaped(text: str, escapes: Sequence[tuple[str, str]]) -> str:
    for sign, instead in escapes:
        text = text.replace(sign, instead)
    return text


def plain_line(text: str) -> str:
    """A text for a comment, which ends with its line."""
    return _CONTROL.sub(" ", text.replace("\0", " ")).encode("utf-8", "replace").decode("utf-8")


def _exact(size: float) -> str:
    """A whole number times or over powers of two: literals and steps that are all exact."""
    mantissa, exponent = np.frexp(size)
    whole, left = int(np.ldexp(mantissa, 53)), int(exponent) - 53
    operator, left = ("*", left) if left > 0 else ("/", -left)
    steps = [60] * (left // 60) + [left % 60] * (left % 60 > 0)
    return f"({whole}.0{''.join(f' {operator} {1 << step}.0' for step in steps)})"


_SQLITE_SECONDS = (
    "CAST(strftime('%s', {0}) AS REAL)\n      + CAST(strftime('%f', {0}) AS REAL)"
    "\n      - CAST(strftime('%S', {0}) AS REAL)"
)

DIALECTS = {
    own.name: own
    for own in (
        Dialect(
            name="duckdb",
            title="DuckDB",
            number=(
                "CASE WHEN typeof({0}) <> 'VARCHAR'"
                "\n      OR regexp_full_match(CAST({0} AS VARCHAR),"
                f"\n        '{_NUMERAL}')"
                "\n      THEN nullif(TRY_CAST({0} AS DOUBLE), 'NaN'::DOUBLE)"
                + _OR_TRUTH.format("CAST({0} AS VARCHAR)", "")
            ),
            text="CAST({0} AS VARCHAR) COLLATE C",
            truth="typeof({0}) = 'BOOLEAN'",
            date="epoch(TRY_CAST({0} AS TIMESTAMP)) / 86400e0",
            part="extract({1} FROM DATE '1970-01-01' + CAST(floor({0}) AS INTEGER))",
            infinity="'Infinity'::DOUBLE",
            code_point=r"\\x{\1}",
            strict=False,
            whole_row="sx_row.*",
            columns=4000,
            folds=True,
            words="regexp_extract_all({0}, '[\\p{{L}}\\p{{N}}_]{{2,}}')",
            parsed=(
                "CASE WHEN typeof({0}) <> 'VARCHAR'"
                "\n      THEN nullif(TRY_CAST({0} AS DOUBLE), 'NaN'::DOUBLE)"
                "\n      WHEN NOT regexp_matches(CAST({0} AS VARCHAR),"
                "\n        {2})"
                "\n      THEN TRY_CAST(replace(regexp_replace(regexp_extract(CAST({0} AS VARCHAR),"
                "\n        {1}, 1),"
                "\n        {4}, '', 'g'), {5}, '.') AS DOUBLE)"
                "\n        * CASE WHEN regexp_matches(CAST({0} AS VARCHAR), {3})"
                " THEN -1e0 ELSE 1e0 END END"
            ),
        ),
        Dialect(
            name="postgres",
            title="PostgreSQL",
            number=(
                "CASE WHEN pg_typeof({0}) NOT IN"
                " ('text'::regtype, 'varchar'::regtype, 'bpchar'::regtype, 'boolean'::regtype)"
                "\n      OR CAST({0} AS text) ~"
                # More digits can be an error.
                f"\n      '^{_NUMERAL.replace(']+', ']{{1,99}}').replace('{1,3}', '{1,2}')}$'"
                # No truth value is cast to a number but by way of a text.
                "\n      THEN nullif(CAST(CAST({0} AS text) AS float8), 'NaN'::float8)"
                + _OR_TRUTH.format("CAST({0} AS text)", "")
            ),
            text='CAST({0} AS text) COLLATE "C"',
            truth="pg_typeof({0}) = 'boolean'::regtype",
            date=(
                "CASE WHEN CAST({0} AS text) ~ '^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[^B]*$'"
                "\n      THEN CAST(extract(epoch FROM CAST({0} AS timestamp)) AS float8)"
                " / 86400::float8 END"
            ),
            part="extract({1} FROM DATE '1970-01-01' + CAST(floor({0}) AS integer))",
            double="float8",
            texts="text",
            timestamp="timestamp",
            literal="{0}::float8",
            infinity="'Infinity'::float8",
            whole_row="(sx_row).*",
            fence="OFFSET 0",
            parsed=(
                "CASE WHEN pg_typeof({0}) NOT IN"
                " ('text'::regtype, 'varchar'::regtype, 'bpchar'::regtype)"
                "\n      THEN nullif(CAST({0} AS float8), 'NaN'::float8)"
                "\n      WHEN CAST({0} AS text) !~"
                "\n        {2}"
                "\n      THEN (SELECT CASE WHEN abs(own::numeric) >= 1.79769313486231580794e308"
                " THEN 'Infinity'::float8"
                # A number that rounds to zero is an error, too.
                "\n        WHEN abs(own::numeric) <= 2.4703282292062327209e-324 THEN 0"
                " ELSE own::float8 END"
                "\n        * CASE WHEN CAST({0} AS text) ~ {3} THEN -1 ELSE 1 END"
                "\n        FROM (SELECT replace(regexp_replace(substring(CAST({0} AS text) from"
                "\n          {1}),"
                "\n          {4}, '', 'g'), {5}, '.') AS own OFFSET 0) AS spelled) END"
            ),
        ),
        Dialect(
            name="bigquery",
            title="BigQuery",
            number=(
                "CASE WHEN REGEXP_CONTAINS(CAST({0} AS STRING),"
                f"\n      '^({_NUMERAL}|[+-]?(inf|Infinity))$')"
                "\n      THEN SAFE_CAST({0} AS FLOAT64)"
                + _OR_TRUTH.format("CAST({0} AS STRING)", "")
            ),
            text="CAST({0} AS STRING)",
            date="UNIX_MICROS(SAFE_CAST({0} AS TIMESTAMP)) / 86400000000e0",
            part=(
                "EXTRACT({1} FROM DATE_ADD(DATE '1970-01-01',"
                " INTERVAL CAST(FLOOR({0}) AS INT64) DAY))"
            ),
            double="FLOAT64",
            texts="STRING",
            infinity="CAST('inf' AS FLOAT64)",
            quotes=("`", "`"),
            identifier_escapes=(_BACKSLASH, ("`", "\\`")),
            escapes=(_BACKSLASH, ("'", "\\'")),
            character="CODE_POINTS_TO_STRING([{0}])",
            whole_row="sx_row.*",
            values="unnested",
            name_bytes=300,
            names="[A-Za-z0-9_]*",
            columns=8000,
            folds=True,
        ),
        Dialect(
            name="snowflake",
            title="Snowflake",
            number=(
                "CASE WHEN TYPEOF(TO_VARIANT({0})) <> 'VARCHAR'"
                "\n      OR REGEXP_LIKE(TO_VARCHAR({0}),"
                f"\n        '{_NUMERAL}')"
                "\n      THEN NULLIF(CAST({0} AS DOUBLE), 'NaN'::DOUBLE)"
                + _OR_TRUTH.format("TO_VARCHAR({0})", "")
            ),
            text="TO_VARCHAR({0})",
            date="DATE_PART(EPOCH_MICROSECOND, CAST({0} AS TIMESTAMP_NTZ)) / '86400e6'::DOUBLE",
            part="EXTRACT({1} FROM DATEADD(DAY, FLOOR({0}), DATE '1970-01-01'))",
            timestamp="TIMESTAMP_NTZ",
            literal="'{0}'::DOUBLE",
            infinity="'inf'::DOUBLE",
            escapes=(_BACKSLASH, *_DOUBLED),
            values="derived",
            name_bytes=255,
        ),
        Dialect(
            name="sqlserver",
            title="SQL Server 2022",
            # It takes an empty text for 0.
            number=(
                "CASE WHEN CAST({0} AS nvarchar(max)) LIKE N'%[0-9]%'"
                " THEN TRY_CAST({0} AS float)" + _OR_TRUTH.format("CAST({0} AS nvarchar(max))", "N")
            ),
            # In a text it ignores case and blanks at the end.
            text="CAST(CAST({0} AS nvarchar(max)) AS varbinary(max))",
            date=(
                "DATEDIFF_BIG(microsecond, CAST('1970-01-01' AS datetime2),"
                " TRY_CAST({0} AS datetime2)) / 86400000000e0"
            ),
            part=(
                "DATEPART({1}, DATEADD(day, CAST(FLOOR({0}) AS int), CAST('1970-01-01' AS date)))"
            ),
            level="CAST({0} AS varbinary(max))",
            double="float",
            texts="nvarchar(max)",
            timestamp="datetime2",
            truths=("CAST(0 AS bit)", "CAST(1 AS bit)"),
            quotes=("[", "]"),
            identifier_escapes=(("]", "]]"),),
            prefix="N",
            character="NCHAR({0})",
            glue=" + ",
            largest="GREATEST({0})",
            log="LOG({0})",
            tanh="(1e0 - 2e0 / (EXP(2e0 * {0}) + 1e0))",
            values="derived",
            name_bytes=128,
            columns=4000,
            folds=True,
        ),
        Dialect(
            name="sqlite",
            title="SQLite",
            # A text equals a number only where all of it is one.
            number=(
                "CASE WHEN typeof({0}) IN ('integer', 'real')"
                "\n      OR {0} = CAST({0} AS NUMERIC)"
                "\n      THEN CAST({0} AS REAL)" + _OR_TRUTH.format("{0}", "")
            ),
            text="CAST({0} AS TEXT) COLLATE BINARY",
            date=f"({_SQLITE_SECONDS}) / 86400e0",
            part="strftime('{2}', floor({0}) * 86400, 'unixepoch')",
            double="REAL",
            texts="TEXT",
            timestamp="TEXT",
            infinity="9e999",
            exact=False,
            character="char({0})",
            largest="max({0})",
            strict=False,
            stage="MATERIALIZED ",
            columns=1900,
            folds=True,
            needs=(
                "It needs SQLite 3.35 with its mathematical functions, and dates as texts; of"
                " times of day SQLite reads milliseconds."
            ),
        ),
    )
}
"""The dialects by their names."""
