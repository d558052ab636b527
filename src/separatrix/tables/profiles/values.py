"""Values of a column as people read them."""

from __future__ import annotations

import numpy as np


def value_text(kind: str, value: float) -> str:
    """A number of a column in a few digits, or a date, or a truth value.

    Examples
    --------
    >>> from separatrix.tables.profiles.values import value_text
    >>> value_text("date", 20336.5), value_text("truth", 1.0), value_text("number", 1234567.8)
    ('2025-09-05 12:00', 'true', '1,234,568')
    """
    if kind == "truth":
        return "true" if value else "false"
    # From the year -5970 on, and up to 9999-12-31.
    if kind == "date" and -2_900_000 < value < 2_932_897:
        moment = np.datetime64(round(value * 1440), "m")
        text = str(moment).replace("T", " ")
        return text.removesuffix(" 00:00")
    if value == 0.0 or not 1e-4 <= abs(value) < 1e9:
        return f"{value:.4g}"
    if abs(value) < 1e4:
        # Years have no mark between their digits.
        return f"{value:.0f}" if float(value).is_integer() else f"{value:.4g}"
    return f"{value:,.0f}" if float(value).is_integer() or abs(value) >= 1e5 else f"{value:,.1f}"
