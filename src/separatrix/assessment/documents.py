"""Values as JSON has them."""

from __future__ import annotations

import math
from typing import Any


def jsonable(value: Any) -> Any:
    """Turn numpy's numbers and arrays into JSON's; an infinity becomes text and NaN null."""
    if isinstance(value, dict):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(item) for item in value]
    if hasattr(value, "tolist"):  # numpy arrays and scalars
        return jsonable(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else repr(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)
