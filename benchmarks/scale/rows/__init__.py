"""The rows of the table, one kind a file.

Each has ``measure(setup)``, which returns what goes into the JSON document, and ``lines(found)``,
which puts that into lines of five cells: of what, measured, beside what, asked for, and whether
that is met.
"""

from __future__ import annotations
