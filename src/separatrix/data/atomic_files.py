"""Files that are written whole or not at all, and what killed processes left of them.

A file is written beside its place, locked as long as it is, and takes its name at the end.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

if sys.platform != "win32":
    import fcntl

# Whether an open file can be locked, and given another name.
_LOCKS = sys.platform != "win32"
# A name with the number of its process is that of a file that is locked as long as it is written;
# one without was made by a version that locked nothing.
_TEMPORARY = re.compile(r"\.separatrix-(?P<process>[0-9]+-)?[0-9a-f]{16}\.tmp")
# Seconds after which a file whose lock could not be tested is an orphan.
_ABANDONED = 86_400.0


@contextlib.contextmanager
def whole_file(target: Path, *, durable: bool) -> Iterator[BinaryIO]:
    """Open a file that takes its name when all of it is written, and is removed on any error.

    Parameters
    ----------
    target : Path
        The file that is written, or replaced.
    durable : bool
        Whether to wait until the disk has it, and to remove what killed writes left in its folder;
        a cache does without the first, and does the second once.
    """
    if durable:
        sweep(target.parent)
    with file_beside(target) as (file, temporary):
        yield file
        file.flush()
        if durable:
            os.fsync(file.fileno())
        if not _LOCKS:
            file.close()
        # While the lock is held, so that nobody takes the file for an orphan.
        os.replace(temporary, target)
    if durable:
        _sync_folder(target.parent)


@contextlib.contextmanager
def file_beside(target: Path) -> Iterator[tuple[BinaryIO, str]]:
    """Open a new file in the folder of ``target``, and remove it unless it was renamed."""
    descriptor, temporary = _create_beside(target)
    try:
        with open(descriptor, "wb") as file:
            yield file, temporary
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def _create_beside(target: Path) -> tuple[int, str]:
    """Make a new file in the folder of `target`, with the permissions that the user's mask gives.

    It is locked until it is closed, which the end of its process does, too.
    """
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    while True:
        name = f".separatrix-{os.getpid()}-{secrets.token_hex(8)}.tmp"
        temporary = os.path.join(target.parent, name)
        descriptor = os.open(temporary, flags, 0o666)
        if sys.platform == "win32":
            return descriptor, temporary
        # Some file systems have no locks; there only the age of a file marks an orphan.
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        # Between the two calls another process may have taken it for an orphan.
        if os.fstat(descriptor).st_nlink:
            return descriptor, temporary
        os.close(descriptor)


def sweep(folder: Path) -> None:
    """Remove the files that writes into a folder left there when they were killed."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            found = _TEMPORARY.fullmatch(name)
            if found is not None:
                with contextlib.suppress(OSError):
                    _remove_orphan(os.path.join(folder, name), bool(found["process"]))


def _remove_orphan(path: str, locked: bool) -> None:
    """Remove a temporary file of this user's unless somebody may still be writing to it."""
    state = os.lstat(path)
    own = not hasattr(os, "geteuid") or state.st_uid == os.geteuid()
    if not own or not stat.S_ISREG(state.st_mode):
        return
    if not time.time() - state.st_mtime > _ABANDONED and not (_LOCKS and locked):
        return
    if sys.platform == "win32":
        # An open file is not removed there: the system refuses.
        os.unlink(path)
        return
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Its name may have become that of another file, or it may have got its own.
        if os.path.samestat(os.fstat(descriptor), os.lstat(path)):
            os.unlink(path)
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    """Make the new name itself durable, where the system can (Windows and some mounts cannot)."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
