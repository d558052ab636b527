"""The units in which floating-point numbers are rounded."""

from __future__ import annotations

#: Half a unit in the last place of numbers from 1 to 2.
UNIT = 2.0**-53
#: The distance from 1 to the next float.
EPS = 2.0**-52
#: The same distance in float32.
EPS32 = 2.0**-23
#: The smallest positive float: more than an operation that underflows can lose.
TINY = 2.0**-1074
