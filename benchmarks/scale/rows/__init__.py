"""The rows of the table, one kind a file.

Each has ``measure(setup)``, which returns what goes into the JSON document, and ``lines(found)``,
which formats that as lines of five cells: the name, the measurement, the comparison, the
requirement, and whether it is met.
"""

from __future__ import annotations
