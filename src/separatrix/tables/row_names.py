"""Names of columns whose numbers name the rows, or count them."""

from __future__ import annotations

import re

# Names of columns whose numbers are names: customerId, ORDER_ID, serial no.
_IDENTIFIER = re.compile(
    r"(?:^|.*[\s_.-]|.*[a-z](?=[A-Z]))(?:id|ids|key|uuid|guid|index|idx|rowid|row|nr|no|number|serial)"
    r"\.?",
    re.DOTALL,
)
# Names of counters of rows, or of columns without a name, in R, pandas and offices.
_COUNTER = re.compile(
    r"unnamed(?:_|: )\d+|row[._ ]?(?:names?|num)|[#№]|lfd\.?|laufnummer|zeile(?:nnummer|nnr\.?)?|"
    r"n[°º]|s(?:l|er)?\.? ?no\.?|番号|連番|通番",
    re.IGNORECASE,
)
# Columns with these names may count the rows, and describe them all the same.
_SEQUENCE = re.compile(
    r"[xtn]|(?:year|month|week|day|hour|time|date|step|epoch|period|age|size|dose|level|trend|jahr|"
    r"monat|woche|tag|stunde|zeit|schritt|alter|année|mois|jour|temps|年|月|日).*",
    re.IGNORECASE | re.DOTALL,
)


def is_called_identifier(name: str) -> bool:
    """Whether a column is called like names of rows."""
    patterns = ((_IDENTIFIER, name), (_IDENTIFIER, name.lower()), (_COUNTER, name))
    return any(pattern.fullmatch(text) for pattern, text in patterns)


def may_count_rows(name: str) -> bool:
    """Whether a first column of the numbers 1, 2, 3, ... with that name only repeats the row."""
    return _SEQUENCE.fullmatch(name) is None
