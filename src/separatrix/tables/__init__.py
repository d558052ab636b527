"""Tables: files to matrices.

``read_table`` turns a file, a pattern of files, standard input or a built-in name into a
:class:`Table` of typed columns; ``take_target`` splits off the labels, or ``take_quantity`` a
number to predict; :class:`Encoder` turns the other columns into a matrix, and remembers how,
without pickle; ``take_roles`` takes out columns of weights and groups, and ``split_rows``
keeps rows back to test on.
"""

from __future__ import annotations

from separatrix.tables.builtin import BUILTIN_NAMES, load_builtin
from separatrix.tables.encoder import Encoder
from separatrix.tables.reader import read_table
from separatrix.tables.roles import Roles, take_roles
from separatrix.tables.split import split_rows
from separatrix.tables.table import DEFAULT_MISSING, KINDS, Table
from separatrix.tables.target import looks_like_quantity, take_quantity, take_target

__all__ = [
    "BUILTIN_NAMES",
    "DEFAULT_MISSING",
    "KINDS",
    "Encoder",
    "Roles",
    "Table",
    "load_builtin",
    "looks_like_quantity",
    "read_table",
    "split_rows",
    "take_quantity",
    "take_roles",
    "take_target",
]
