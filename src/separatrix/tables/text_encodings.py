"""The encoding of a text file that is not UTF-8: the one in which its words look like language.

An encoding is found only where the bytes decode without loss, where accented letters stand in words
as languages have them, and where no other encoding reads as well; otherwise none is returned, and
the user has to name one.
"""

from __future__ import annotations

import codecs
import os
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# Letters beyond ASCII by language, in lower case.
_WESTERN = {
    "German": "äöüßé",
    "French": "éèêëàâçîïôûùüœæÿ",
    "Spanish": "áéíóúñüºª",
    "Portuguese": "ãõáéíóúâêôçàºª",
    "Italian": "àèéìòùºª",
    "Danish or Norwegian": "æøåé",
    "Swedish or Finnish": "åäöé",
    "Dutch": "ëïéèöüó",
    "Icelandic": "áðéíóúýþæö",
}
_CENTRAL = {
    "Polish": "ąćęłńóśźż",
    "Czech or Slovak": "áäčďéěíĺľňóôŕřšťúůýž",
    "Hungarian": "áéíóöőúüű",
    "Croatian or Slovene": "čćđšž",
    "Romanian": "ăâîşţ",
}
_TURKISH = {"Turkish": "çğıöşüâîi"}
_CYRILLIC = frozenset("абвгдеёжзийклмнопрстуфхцчшщъыьэюяіїєґ")
_FREQUENT_CYRILLIC = frozenset("оеаинтс")
# Signs that tables of offices have beside letters.
_SIGNS = frozenset("€£¥§°²³µ½¼¾–—‘’‚“”„…•«»‹›±·¿¡©®™×÷†¢¬\u00a0\u00ad´`¨ªº№")
# The signs that may stand between two letters.
_WITHIN = frozenset("’‘´·–\u00a0\u00ad")
# The letters of a language make up at least this share of all letters beyond ASCII.
_COVERED = 0.9
_MOST = 1 << 20
# Bytes at either end of a file that are looked at, and those that show where UTF-16 has its zeros.
_LOOKED_AT, _START = 1 << 17, 4096
_WORD = re.compile(r"[^\W\d_²³¹¼½¾ªº]+")
_CONTROL = re.compile(rb"[\0-\x08\x0e-\x1f\x7f]")
_KANA = re.compile("[\u3041-\u30fe]")
_RUN = re.compile(r"([A-Za-z]?)[^\x00-\x7f]+([A-Za-z]?)")
_NARROW_KANA = re.compile("[\uff66-\uff9f]{2,}")
_JAPANESE_SIGNS = re.compile("[\u3000-\u3020\uff01-\uff60\uffe0-\uffe6]|[①-⑳㈱㎏㎝㎡℃№]")


@dataclass(frozen=True)
class Reading:
    """An encoding, and a word that it gives."""

    encoding: str
    word: str


def encoding_of(path: Path) -> str | None:
    """UTF-16 or UTF-32, where a file begins with the mark of one, or with letters as UTF-16 has."""
    with path.open("rb") as file:
        start = file.read(4)
    if start in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE):
        return "utf-32"
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    if len(start) == 4 and start[1::2] == b"\0\0" and all(start[::2]):
        return "utf-16-le"
    return "utf-16-be" if len(start) == 4 and start[::2] == b"\0\0" and all(start[1::2]) else None


def guessed_encoding(path: Path, *, damaged: bool = False) -> Reading | None:
    """The encoding of a file of text by the language that it then holds; None for UTF-8.

    ``damaged``: it is known not to be UTF-8.
    """
    with path.open("rb") as file:
        start = file.read(_LOOKED_AT)
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _LOOKED_AT))
        end = file.read()
        if (wide := utf16_of(start[:_START])) is not None:
            word = next(iter(re.findall(r"\w+", start[:_START].decode(wide, "ignore"))), "")
            return Reading(wide, word)
        cut = len(start) < size
        # The last bytes may begin within a letter.
        if (
            not damaged
            and is_utf8(start, cut=cut)
            and is_utf8(end.lstrip(bytes(range(0x80, 0xC0))) if cut else b"")
        ):
            return None
        file.seek(0)
        return encoding_of_text(file)


def is_utf8(data: bytes, *, cut: bool = False) -> bool:
    """Whether bytes are UTF-8; ``cut``: they may end within a letter."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return cut and error.start >= len(data) - 3 and "unexpected end" in error.reason
    return True


def utf16_of(start: bytes) -> str | None:
    """UTF-16 without its mark, by where the zeros of ASCII's letters stand in the first bytes."""
    start = start[: len(start) & ~1]
    if len(start) < 4 or b"\0" not in start:
        return None
    pairs = len(start) // 2
    even, odd = start[::2].count(0), start[1::2].count(0)
    for few, many, encoding in ((even, odd, "utf-16-le"), (odd, even, "utf-16-be")):
        if few == 0 and 5 * many >= pairs and _decodes(start, encoding):
            return encoding
    return None


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        text = data.decode(encoding, "ignore")
    except UnicodeDecodeError:
        return False
    return any(mark in text for mark in ",;\t|\n") and not re.search("[\0-\x08]", text)


def encoding_of_text(lines: Iterable[bytes]) -> Reading | None:
    """The encoding of lines that are not UTF-8.

    Parameters
    ----------
    lines : iterable of bytes
        Lines of the file; those without a byte beyond ASCII are no evidence.

    Returns
    -------
    Reading or None
        None where no encoding reads as language, or more than one does.

    Examples
    --------
    >>> from separatrix.tables.text_encodings import encoding_of_text
    >>> encoding_of_text(["Straße;Köln".encode("cp1252")])
    Reading(encoding='cp1252', word='Straße')
    >>> encoding_of_text(["東京;はい".encode("cp932")]).encoding
    'cp932'
    """
    kept, size = [], 0
    for line in lines:
        if not line.isascii():
            kept.append(line)
            size += len(line)
            if size > _MOST:
                break
    data = b"\n".join(kept)
    if _CONTROL.search(data):
        return None
    for encoding in ("cp932", "euc_jp"):
        word = _japanese(data, encoding)
        if word is not None:
            return Reading(encoding, word)
    # A file of UTF-8 with a damaged letter is no other encoding.
    text = data.decode("utf-8", "surrogateescape")
    broken = sum("\ud800" <= sign <= "\udfff" for sign in text)
    sound = sum(sign > "\x7f" for sign in text) - broken
    if not broken or 5 * sound > broken:
        return None
    readings = [
        _reading(data, "cp1252", _WESTERN),
        _reading(data, "cp1250", _CENTRAL),
        _reading(data, "cp850", _WESTERN),
        _reading(data, "mac_roman", _WESTERN),
        _reading(data, "cp1254", _TURKISH),
        _cyrillic(data),
    ]
    found = [one for one in readings if one is not None]
    western = next((one for one in found if one[0].encoding == "cp1252"), None)
    others = [reading for reading, share in found if share >= _COVERED]
    if western is not None and western[1] >= _COVERED:
        # Where Turkish has letters of its own, Icelandic has others.
        turkish = any(one.encoding == "cp1254" and one.word != western[0].word for one in others)
        return None if turkish else western[0]
    if len(others) == 1:
        return others[0]
    return western[0] if western is not None and not others else None


def _reading(data: bytes, encoding: str, languages: dict[str, str]) -> tuple[Reading, float] | None:
    """A reading, and the largest share of its letters beyond ASCII that one language has."""
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    own: Counter[str] = Counter()
    plain = 0
    shown = ""
    for word in _WORD.findall(text):
        beyond = [sign for sign in word if sign > "\x7f"]
        if not beyond:
            continue
        # A capital within a word is none where its letters are those of the language.
        mixed = word[1:] != word[1:].lower() and word != word.upper()
        if mixed and not any(a < "\x7f" and a.isupper() for a in word[1:]):
            return None
        own.update(sign.lower().rstrip("\u0307") for sign in beyond)
        plain += len(word) - len(beyond)
        shown = shown or word
    letters = own.total()
    signs = [m for m in re.finditer(r"[^\x00-\x7f]", text) if not m[0].isalpha() or m[0] in "ªº"]
    for found in signs:
        sign, k = found[0], found.start()
        around = text[max(k - 1, 0) : k], text[k + 1 : k + 2]
        inside = all(one.isalpha() for one in around)
        if sign not in _SIGNS or (inside and sign not in _WITHIN):
            return None
    if (letters > 2 * plain and letters > 1) or (encoding != "cp1252" and not plain):
        return None
    known = frozenset("".join(languages.values()))
    if any(letter not in known for letter in own):
        return None
    share = max(
        (sum(own[letter] for letter in alphabet) for alphabet in languages.values()), default=0
    )
    word = shown or (signs[0][0] if signs else "")
    return Reading(encoding, word), share / letters if letters else 1.0 * (encoding == "cp1252")


def _cyrillic(data: bytes) -> tuple[Reading, float] | None:
    try:
        text = data.decode("cp1251")
    except UnicodeDecodeError:
        return None
    words = [word for word in _WORD.findall(text) if not word.isascii()]
    letters = "".join(words)
    if len(letters) < 4 or not set(letters.lower()) <= _CYRILLIC:
        return None
    if any(word[1:] != word[1:].lower() and word != word.upper() for word in words):
        return None
    frequent = sum(letter in _FREQUENT_CYRILLIC for letter in letters.lower())
    return (Reading("cp1251", words[0]), 1.0) if 10 * frequent >= 3 * len(letters) else None


def _japanese(data: bytes, encoding: str) -> str | None:
    """A word of a text of Japanese; None where a text is none."""
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    beyond = [sign for sign in text if sign > "\x7f"]
    kana = len(_KANA.findall(text))
    narrow = sum(map(len, _NARROW_KANA.findall(text)))
    if encoding != "cp932" and 10 * kana < len(beyond):
        return None  # bytes that read as well in other encodings of East Asia
    usual = kana + narrow + len(_JAPANESE_SIGNS.findall(text))
    # The kanji of the first level, which nearly all texts consist of.
    usual += sum(
        "\u4e00" <= sign <= "\u9fff"
        and b"\x88\x9f" <= sign.encode("cp932", "ignore") <= b"\x98\x72"
        for sign in beyond
    )
    if 10 * usual < 9 * len(beyond) or (encoding == "cp932" and 2 * narrow > len(beyond)):
        return None
    # Letters of other encodings stand among those of ASCII, which Japanese signs seldom do.
    runs = _RUN.findall(text)
    if 5 * sum(bool(before and behind) for before, behind in runs) > len(runs):
        return None
    found = re.search("[\u3041-\u30fe\u4e00-\u9fff]+", text)
    return found[0][:12] if found else None
