"""Settings and messages for a process whose memory is limited.

Imports nothing heavy: it is called before the large libraries are loaded.
"""

from __future__ import annotations

import os
import re
import sys

from separatrix.messages import Message, clause, message_of

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
# The least address space, in bytes.  A fit of a small CSV file with one thread takes 0.8 GB, a
# report 0.9 GB, nearly all of it the libraries themselves; below this they fail to load, or end the
# process.
LEAST = 950_000_000
# The address space in bytes from which no savings are needed: for the process, and in addition for
# each core.  A thread of BLAS reserves 40 MB in each of its two copies, one of DuckDB 130 MB.
_AMPLE, _AMPLE_PER_CORE = 2_000_000_000, 250_000_000

# The texts of the errors of the loader and the libraries that run out of memory.
_NO_ROOM = (
    "failed to map segment",
    "cannot allocate memory",
    "unable to allocate",
    "libllvmlite",
    "can't start new thread",
    "std::bad_alloc",
    # Python reports this where it got no memory in the middle of an import.
    "returned null without setting an exception",
)


def bytes_of(memory: str | int, called: str = "memory") -> int:
    """The number of bytes in a number or in a text such as ``"1GB"`` or ``"500 MiB"``.

    ``called``: the parameter that the message names; none where it is empty.

    Raises
    ------
    ValueError
        For anything else.

    Examples
    --------
    >>> from separatrix._compiled.memory import bytes_of
    >>> bytes_of("1.5GB"), bytes_of("64 MiB")
    (1500000000, 67108864)
    """
    if isinstance(memory, int) and not isinstance(memory, bool) and memory > 0:
        return int(memory)
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?\s*", str(memory), re.I)
    if found is None or not float(found[1]) > 0.0:
        given = f"{called}={memory!r}" if called else f"{memory!r}"
        raise ValueError(f"{given} is not an amount of memory; write it as '1GB' or '500MB'.")
    unit = _UNITS[found[2].upper()]
    if found[3]:
        unit = 1024 ** ("KMGT".index(found[2].upper()) + 1) if found[2] else 1
    return int(float(found[1]) * unit)


def limit_of(limit: str | int, called: str = "cache_limit") -> int:
    """The number of bytes, as :func:`bytes_of`, which may also be 0."""
    return 0 if str(limit).strip() == "0" else bytes_of(limit, called)


def installed() -> int:
    """The bytes of memory of this machine; 8 GiB where the system does not report them."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 8 << 30


def address_space() -> int | None:
    """The limit on this process's address space in bytes (``ulimit -v``), if there is one."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else int(limit)


def is_tight() -> bool:
    """Whether the address space is so limited that threads must not reserve what they like."""
    limit = address_space()
    return limit is not None and limit < _AMPLE + _AMPLE_PER_CORE * (os.cpu_count() or 1)


def shortage() -> str | None:
    """One sentence where the limit is too small for the libraries; None where it is not."""
    limit = address_space()
    if limit is None or limit >= LEAST:
        return None
    return Message("too_little_address_space", limit=limit / 1e6, least=LEAST / 1e6)


def spare() -> None:
    """Let the libraries reserve little where the address space is tight; call it before they load.

    It is for a process of one's own: it sets a variable of the environment, and how memory is
    handed out.
    """
    if not is_tight():
        return
    # BLAS's threads are made when it is loaded.  This library's own number follows the variable
    # by default.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    try:
        import ctypes

        # Every thread would reserve 64 MB for its own allocations: M_ARENA_MAX of glibc.
        ctypes.CDLL(None).mallopt(-8, 1)
    except (ImportError, OSError, AttributeError, TypeError):  # another C library
        pass


def give_back() -> None:
    """Return free memory to the system between large steps, which glibc does not do by itself.

    Memory that large arrays have freed in the middle of its heap would count beside the memory of
    the next step. It takes some milliseconds where there is much.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        import ctypes

        ctypes.CDLL(None).malloc_trim(0)
    except (ImportError, OSError, AttributeError):  # another C library
        pass


def message_for(error: BaseException) -> str | None:
    """One sentence with the remedy for an error that is a lack of memory, else None.

    The libraries that are loaded or that compile have texts of their own for it.
    """
    if isinstance(error, MemoryError):
        message = message_of(error)
        if isinstance(message, Message):  # the library's own, with the remedy in it
            return message
        text = clause(message)
        limit = address_space()
        if not text and limit is not None:  # Python's own, which says nothing
            return Message("address_space", limit=limit / 1e6)
        return Message("out_of_memory", what=f" ({text})" if text else "")
    limit = address_space()
    kinds = (ImportError, OSError, RuntimeError, SystemError)
    if limit is None or not isinstance(error, kinds):
        return None
    if not any(words in str(error).lower() for words in _NO_ROOM):
        return None
    return Message("address_space", limit=limit / 1e6)
