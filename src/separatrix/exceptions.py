"""The library's own exceptions.

::

    ValueError
    ├── DataError         the data cannot be used as it is
    └── ModelFileError    the file is not a model that this version can read
"""

from __future__ import annotations

__all__ = ["DataError", "ModelFileError"]


class DataError(ValueError):
    """The data cannot be used as it is; the message says what, where and what to do."""


class ModelFileError(ValueError):
    """The file is not a model that this version of the library can read."""
