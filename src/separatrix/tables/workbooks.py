"""The extents of the sheets of workbooks, found before the sheets are read.

The library that reads workbooks allocates every cell between the first and the last one, and ends
the process where it cannot: two cells in the corners of a sheet take 550 GB.  So a process of its
own reads the workbook first, within a limit, and reports how large its sheets are.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from separatrix.exceptions import DataError
from separatrix.tables.limits import Limit
from separatrix.tables.table import quote

# Bytes of a cell as the library keeps it, and as an object of Python.
_CELL, _OBJECT = 32, 64
# The memory that the process takes before there is a cell.
_LIBRARIES = 1 << 30

# The class of the library's panics is no Exception.
_PROBE = """
import json, sys
path, most = sys.argv[1], int(sys.argv[2])
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
except (ImportError, ValueError, OSError):
    pass
try:
    import python_calamine
    book = python_calamine.CalamineWorkbook.from_path(path)
    found = []
    for name in book.sheet_names:
        sheet = book.get_sheet_by_name(name)
        filled = any(any(cell != "" for cell in row) for row in sheet.iter_rows())
        found.append([name, sheet.height, sheet.width, filled])
    print(json.dumps({"sheets": found}))
except BaseException as error:
    first = (str(error).strip().splitlines() or [type(error).__name__])[0]
    print(json.dumps({"fault": first.rstrip(".")}))
"""


@dataclass(frozen=True)
class Extent:
    """The size of the rectangle of a sheet's cells, and whether one of them holds something."""

    height: int
    width: int
    filled: bool


def extents_of(path: Path, limit: Limit) -> dict[str, Extent]:
    """The extents of the sheets of a workbook, by their names.

    Raises
    ------
    DataError
        If the workbook cannot be read, or would take more than the limit.
    """
    _require_small_parts(path, limit)
    most = limit.bytes + _LIBRARIES
    command = [sys.executable, "-P", "-c", _PROBE, str(path.absolute()), str(most)]
    answer = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    try:
        found = json.loads(answer.stdout.decode("utf-8", "replace").splitlines()[-1])
    except (ValueError, IndexError):
        raise limit.exceeded(
            f"{path}{_reach(path)}",
            "delete cells far from the table, or save the sheet as CSV",
        ) from None
    if "fault" in found:
        raise DataError(f"{path} is not a readable workbook: {found['fault']}")
    extents = {name: Extent(*numbers) for name, *numbers in found["sheets"]}
    for name, one in extents.items():
        if one.height * one.width * (_CELL + _OBJECT) > limit.bytes:
            raise limit.exceeded(
                f"{path}, sheet {quote(name)}, whose cells span {one.height:,} rows and "
                f"{one.width:,} columns,",
                "delete cells far from the table, or save the sheet as CSV",
            )
    return extents


def _require_small_parts(path: Path, limit: Limit) -> None:
    """Refuse a workbook whose parts are too large once they are unpacked."""
    if not zipfile.is_zipfile(path):
        return
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError):
        return  # the reader of workbooks says what is wrong
    if size > limit.bytes:
        raise limit.exceeded(f"{path}, unpacked to {size:,} bytes,")


_PLACE = re.compile(rb'<c r="([A-Z]{1,3})(\d{1,7})"')
_LOOKED_AT = 1 << 26


def _reach(path: Path) -> str:
    """The place of the last cell of a workbook, as far as a look at its text shows."""
    last, row = "", 0
    try:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if not re.fullmatch(r"xl/worksheets/[^/]*\.xml", name):
                    continue
                with archive.open(name) as part:
                    for column, number in _PLACE.findall(part.read(_LOOKED_AT)):
                        last = max(last, column.decode(), key=lambda text: (len(text), text))
                        row = max(row, int(number))
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        pass
    return f", whose cells reach to {last}{row}," if last else ""
