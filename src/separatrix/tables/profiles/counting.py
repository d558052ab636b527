"""The number of rows of files that are too large to be read as a whole."""

from __future__ import annotations

import contextlib
from typing import Any

from separatrix.tables.reader import Layout, open_files


def rows_of(source: Any, sql: str | None = None) -> int | None:
    """The number of rows of a file or of a query's answer; None where they are not counted.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from separatrix.tables.profiles.counting import rows_of
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "t.csv")
    ...     written = path.write_text("x,y\\n1,2\\n3,4\\n")
    ...     rows_of(path)
    2
    """

    def counted(connection: Any, layout: Layout) -> int:
        sql = "SELECT count(*)::DOUBLE AS n FROM {}"
        return sum(
            int(part.run(connection, sql.format(part.relation()))["n"][0]) for part in layout.parts
        )

    with contextlib.ExitStack() as stack:
        return open_files([source], counted, stack, sql=sql)
