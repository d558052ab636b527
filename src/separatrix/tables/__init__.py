"""Tables: files to matrices.

``read_table`` turns a file, a pattern of files, standard input or a built-in name into a
:class:`Table` of typed columns; ``take_target`` splits off the labels, or ``take_quantity`` a
number to predict; :class:`Encoder` turns the other columns into a matrix, and remembers how,
without pickle; ``take_roles`` takes out columns of weights and groups, and ``split_rows``
keeps rows back to test on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from separatrix._compiled.lazy_names import lazy_names

# Loaded when they are first used: an encoding needs compiled loops, and the words of a table none.
_HOMES = {
    "BUILTIN_NAMES": "separatrix.tables.builtin",
    "ColumnProfile": "separatrix.tables.profiles.records",
    "DEFAULT_MISSING": "separatrix.tables.table",
    "Encoder": "separatrix.tables.encoder",
    "KINDS": "separatrix.tables.table",
    "Roles": "separatrix.tables.roles",
    "Table": "separatrix.tables.table",
    "TableProfile": "separatrix.tables.profiles.records",
    "load_builtin": "separatrix.tables.builtin",
    "looks_like_quantity": "separatrix.tables.target",
    "read_table": "separatrix.tables.reader",
    "split_rows": "separatrix.data.splitting",
    "take_quantity": "separatrix.tables.target",
    "take_roles": "separatrix.tables.roles",
    "take_target": "separatrix.tables.target",
}

__all__ = [*_HOMES]

if TYPE_CHECKING:
    from separatrix.data.splitting import split_rows as split_rows
    from separatrix.tables.builtin import BUILTIN_NAMES as BUILTIN_NAMES
    from separatrix.tables.builtin import load_builtin as load_builtin
    from separatrix.tables.encoder import Encoder as Encoder
    from separatrix.tables.profiles.records import ColumnProfile as ColumnProfile
    from separatrix.tables.profiles.records import TableProfile as TableProfile
    from separatrix.tables.reader import read_table as read_table
    from separatrix.tables.roles import Roles as Roles
    from separatrix.tables.roles import take_roles as take_roles
    from separatrix.tables.table import DEFAULT_MISSING as DEFAULT_MISSING
    from separatrix.tables.table import KINDS as KINDS
    from separatrix.tables.table import Table as Table
    from separatrix.tables.target import looks_like_quantity as looks_like_quantity
    from separatrix.tables.target import take_quantity as take_quantity
    from separatrix.tables.target import take_target as take_target

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
