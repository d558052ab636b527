"""A report as a page: names made harmless, numbers made readable."""

from __future__ import annotations

import json
import math
import re
import sys
import unicodedata
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from importlib.util import cache_from_source, find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import separatrix
from separatrix.exceptions import MissingPackageError
from separatrix.messages import percent
from separatrix.persistence.model_file import check_writable, write_atomically
from separatrix.report.files import GENERATOR, SCHEMA, require_report_or_nothing, twin_of
from separatrix.report.histograms import MOST_CLASSES, drawing_of
from separatrix.tables.profiles.values import value_text

if TYPE_CHECKING:
    from jinja2 import Environment
    from jinja2.bccache import Bucket
    from markupsafe import Markup

_NEEDED = ("jinja2", "matplotlib")
# The most letters of a name on the page; the JSON document has all of it.
_LONG = 80
# Names in a sentence stand in quotes, as repr writes them.
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_RIGHT_TO_LEFT = ("R", "AL", "AN", "RLE", "RLO", "LRE", "LRO", "RLI", "LRI", "FSI", "PDF", "PDI")


def missing_extras() -> list[str]:
    """The packages that a report needs and that are not installed."""
    return [name for name in _NEEDED if find_spec(name) is None]


def require_extras() -> None:
    """Raise unless a report can be made.

    Raises
    ------
    ModuleNotFoundError
        With the command that installs what is missing.
    """
    missing = missing_extras()
    if missing:
        raise MissingPackageError(
            f'a report needs {" and ".join(missing)}: pip install "separatrix[app]"'
        )


def render(document: dict[str, Any], pictures: list[Any]) -> str:
    """The page of a document and its pictures."""
    require_extras()
    from markupsafe import Markup

    sections: dict[str, list[dict[str, Any]]] = {}
    for picture in pictures:
        # The drawing comes from matplotlib and was taken apart and put together as XML.
        entry = {**picture.to_dict(), "svg": Markup(picture.svg), "wide": picture.wide}
        sections.setdefault(picture.section, []).append(entry)
    colours = _colours(document["model"]["classes"])
    return page_of("report.html.jinja", r=document, pictures=sections, colours=colours)


def _colours(classes: list[Any] | None) -> list[str]:
    """Return the colours of the classes, as in the pictures."""
    from separatrix.plots.style import class_colours

    return class_colours(len(classes)) if classes and len(classes) <= MOST_CLASSES else []


def page_of(template: str, *, picture: str | None = None, **values: Any) -> str:
    """A page; the style and ``picture`` are markup of the library, and all values are escaped."""
    from markupsafe import Markup

    style = files("separatrix.report").joinpath("templates", "report.css").read_text("utf-8")
    drawn = None if picture is None else Markup(picture)
    own = {"picture": drawn, "style": Markup(style), "generator": GENERATOR}
    page = _environment().get_template(template).render(**own, **values)
    # No sign of a half of a surrogate pair, which no file can hold, and one empty line at most.
    page = page.encode("utf-8", "replace").decode("utf-8")
    # Code keeps its empty lines; those between tags are the template's.
    parts = re.split(r"(<pre\b.*?</pre>)", page, flags=re.DOTALL)
    parts[::2] = [re.sub(r"\n\s*\n+", "\n", part) for part in parts[::2]]
    return "".join(parts)


def document_head(
    kind: str | None = None, *, version: int = 1, created: str | None = None
) -> dict[str, Any]:
    """The keys that every document begins with; ``created`` is now by default."""
    return {
        # The first key, by which a file is known to be a report's.
        "schema": SCHEMA,
        "version": version,
        **({} if kind is None else {"kind": kind}),
        "library_version": separatrix.__version__,
        "created": created or datetime.now(UTC).isoformat(timespec="seconds"),
    }


def document_text(document: dict[str, Any]) -> str:
    """A document as JSON; ASCII only, so that names of any kind survive."""
    return json.dumps(document, indent=1, ensure_ascii=True, allow_nan=False) + "\n"


def ready_twin(path: str | PathLike[str]) -> str:
    """The name of the document beside a page, where both can be written.

    Raises
    ------
    ValueError
        If it would be that of the page.
    OSError
        If one of them cannot be written, or exists and is no report.
    """
    twin = twin_of(path)
    for one in (path, twin):
        require_report_or_nothing(one)
        check_writable(one)
    return twin


@cache
def _environment() -> Environment:
    from jinja2 import BytecodeCache, Environment, PackageLoader, StrictUndefined

    class Compiled(BytecodeCache):
        """Templates compiled, where Python keeps its own modules compiled."""

        def load_bytecode(self, bucket: Bucket) -> None:
            with suppress(OSError), open(self._path(bucket), "rb") as file:
                bucket.load_bytecode(file)

        def dump_bytecode(self, bucket: Bucket) -> None:
            with suppress(OSError):
                write_atomically(self._path(bucket), bucket.bytecode_to_string())

        @staticmethod
        def _path(bucket: Bucket) -> str:
            return str(Path(cache_from_source(__file__)).with_name(f"{bucket.key}.jinja.cache"))

    environment = Environment(
        bytecode_cache=None if sys.dont_write_bytecode else Compiled(),
        loader=PackageLoader("separatrix.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    own: tuple[Any, ...] = _count, _name, _number, _percent, _pre, _prose
    own += _moment, _rows, _seconds, _share, _shell, _signed, _tiny, _value
    environment.filters |= {one.__name__.removeprefix("_"): one for one in own}
    environment.filters |= {"drawn": drawing_of, "tick": _plain}
    return environment


# ------------------------------------------------------------------------------------- numbers


def _markup(template: str, *values: Any) -> Markup:
    """A piece of the page; the values that are put into the template are escaped."""
    from markupsafe import Markup

    return Markup(template).format(*values)


def _data(value: Any, text: str) -> Markup:
    """A number that people read, with all its digits for programs."""
    if isinstance(value, float) and not math.isfinite(value):
        return _markup("<span>{}</span>", text)
    return _markup('<data value="{}">{}</data>', json.dumps(value), text)


def _count(value: int) -> Markup:
    """A whole number: ``26,049``."""
    return _data(value, f"{value:,}")


def _number(value: Any, digits: int = 4) -> Markup:
    """A quantity of any size, to at least ``digits`` significant digits."""
    if value is None:
        return _absent()
    if isinstance(value, str):  # an infinity, as JSON has it
        return _data(float(value), "∞" if value == "inf" else "−∞")
    return _data(value, _digits(float(value), digits))


def _digits(value: float, digits: int) -> str:
    if not math.isfinite(value):
        return "not a number" if math.isnan(value) else ("∞" if value > 0 else "−∞")
    if value == 0.0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if not -4 <= size < 9:
        text = f"{value:.{digits - 1}e}"
        head, _, tail = text.partition("e")
        power = "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(c)] if c.isdigit() else "⁻" for c in str(int(tail)))
        return _minus(f"{head} × 10{power}")
    text = f"{value:,.{max(0, digits - 1 - size)}f}"
    if "." in text and float(value).is_integer():
        text = text.rstrip("0").rstrip(".")
    return _minus(text)


def _minus(text: str) -> str:
    return text.replace("-", "−")


def _signed(value: float | str, digits: int = 3) -> Markup:
    """A quantity with its sign."""
    number = float(value)  # an infinity is text, as JSON has it
    text = _digits(number, digits)
    return _data(number, text if number <= 0 or math.isnan(number) else f"+{text}")


def _share(value: float | str | None) -> Markup:
    """A share from 0 to 1, or another figure of about that size, with three decimals."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return _absent()
    number = float(value)
    if not abs(number) < 1e4:
        return _number(value, 3)
    return _data(number, _minus(f"{number:.3f}"))


def _percent(value: float) -> Markup:
    """A share as a percentage."""
    return _data(value, percent(value).replace(" ", "\N{NO-BREAK SPACE}"))


def _moment(value: float) -> str:
    """A day since 1970-01-01 as a date."""
    return value_text("date", value)


def _value(value: float) -> str:
    """A number of a column; years have no mark between their digits."""
    if not math.isfinite(float(value)):  # an infinity is text, as JSON has it
        return _digits(float(value), 3)
    return _minus(value_text("number", value))


def _tiny(value: Any) -> Markup:
    """A relative gap as a percentage, however small."""
    number = float(value)
    if not math.isfinite(number):
        return _data(number, "unknown")
    if number == 0.0:
        return _data(number, "0\N{NO-BREAK SPACE}%")
    decimals = max(0, 1 - math.floor(math.log10(100.0 * number)))
    text = f"{100.0 * number:.{decimals}f}" if decimals <= 9 else _digits(100.0 * number, 2)
    return _data(number, f"{text}\N{NO-BREAK SPACE}%")


def _rows(n: int, name: str) -> Markup:
    """A number of rows, whose name is given in the plural: ``1 held-out row``."""
    return _markup("{} {}", _count(n), name.replace("rows", "row", 1) if n == 1 else name)


def _seconds(value: float) -> Markup:
    return _data(value, f"{value:,.2f}\N{NO-BREAK SPACE}s" if value < 1000 else f"{value:,.0f} s")


def _absent() -> Markup:
    return _markup('<span class="absent">–</span>')


# ---------------------------------------------------------------------------------------- text


def _visible(text: str) -> str:
    """Text without signs that HTML forbids or that nobody sees."""
    return "".join(
        " " if c in "\n\r\t" else "\N{REPLACEMENT CHARACTER}"
        if unicodedata.category(c) in ("Cc", "Cs", "Cn", "Co") else c
        for c in text
    )  # fmt: skip


def shortened(text: str, limit: int = _LONG) -> str:
    """A name of finite length; the middle of a longer one is left out."""
    if len(text) <= limit:
        return text
    keep = limit - 1
    return f"{text[: keep - keep // 3]}…{text[-(keep // 3) :]}"


def _name(value: Any, limit: int = _LONG) -> Markup:
    """A name from a table, of finite length, whose direction of writing affects nothing else."""
    if value is None:
        return _absent()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    elif isinstance(value, float):
        value = _minus(f"{value:.4g}")
    text = shortened(_visible(str(value)), limit)
    return _markup("<bdi>{}</bdi>", text if text.strip() else repr(text))


def _plain(value: Any, limit: int = _LONG) -> str:
    """A name where there can be no markup: an attribute, the title of the page."""
    text = "".join(c for c in _visible(str(value)) if unicodedata.category(c) != "Cf")
    return shortened(text, limit)


def _prose(value: Any, name: str | None = None) -> Markup:
    """A sentence, in which names stand in quotes; one that begins with `name` keeps its letters."""
    text = re.sub(r"(?<=\d) %", "\N{NO-BREAK SPACE}%", _visible(str(value)).strip())
    if name is None or not text.startswith(_visible(name)):
        text = text[:1].upper() + text[1:]
    pieces, end = _markup(""), 0
    for match in _QUOTED.finditer(text):
        if any(unicodedata.bidirectional(c) in _RIGHT_TO_LEFT for c in match[0]):
            pieces += _markup("{}<bdi>{}</bdi>", text[end : match.start()], match[0])
            end = match.end()
    pieces += text[end:]
    # A sign that turns what follows must not reach beyond the sentence either.
    if any(unicodedata.bidirectional(c) in _RIGHT_TO_LEFT[3:] for c in pieces):
        return _markup("<bdi>{}</bdi>", pieces)
    return pieces


def _shell(value: str) -> Markup:
    """A command to copy, which breaks into lines before its options only."""
    return _markup(" ").join(
        _markup('<span class="word">{}</span>', _pre(part)) for part in re.split(" (?=--)", value)
    )


def _pre(value: str) -> Markup:
    """Code to copy, as it is; nothing in it turns the direction of writing of the rest."""
    lines = [
        "".join(c if c in "\t" or unicodedata.category(c) not in ("Cc", "Cs") else "" for c in line)
        for line in value.split("\n")
    ]
    return _markup("\n").join(
        _markup("<bdi>{}</bdi>", line)
        if any(unicodedata.bidirectional(c) in _RIGHT_TO_LEFT for c in line)
        else _markup("{}", line)
        for line in lines
    )
