"""The options and processes that the attacks share, and the test for refusals."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

__all__ = ["crash", "is_refusal", "one_thread_each", "parser", "results"]

ROOT = Path(__file__).resolve().parents[1]

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")


# --- options ------------------------------------------------------------------------------------


def parser(
    program: str, description: str | None, *, families: Iterable[str], models: Iterable[str]
) -> argparse.ArgumentParser:
    """The options that every attack has."""
    out = argparse.ArgumentParser(
        prog=f"python -m {program}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = out.add_argument
    add("--problems", type=int, metavar="N", help="how many problems, however long they take")
    add("--seed", type=int, default=0, help="of all problems (0)")
    add("--jobs", type=int, default=1, metavar="J", help="processes (1)")
    names = list(families)
    add("--family", choices=names, metavar="NAME", help="of data: " + ", ".join(names))
    names = list(models)
    add("--model", choices=names, metavar="NAME", help="one of " + ", ".join(names))
    add("--only", type=int, metavar="K", help="try problem number K alone, and show it")
    return out


# --- processes ----------------------------------------------------------------------------------


def one_thread_each() -> None:
    """Limit numerical libraries to one thread, unless the environment sets another number.

    Threads cost tiny problems more than they bring.  Processes that are started later inherit it.
    """
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def _own_cache(numbers: Any) -> None:
    """One compilation cache per process: two that compile the same function could mix them up."""
    caches = os.environ.get("NUMBA_CACHE_DIR", str(ROOT / ".numba_cache"))
    os.environ["NUMBA_CACHE_DIR"] = os.path.join(caches, f"attack-{numbers.get()}")


def results(
    work: Callable[[_Task], list[_Result]], tasks: Iterable[_Task], jobs: int
) -> Iterator[_Result]:
    """The results of the tasks, in order; no more tasks are begun than are needed next.

    The library must not be loaded where ``work`` is defined: each process chooses its cache of
    compiled code before.
    """
    if jobs == 1:
        for task in tasks:
            yield from work(task)
        return
    context = multiprocessing.get_context("spawn")
    numbers = context.SimpleQueue()
    for number in range(jobs):
        numbers.put(number)
    source = iter(tasks)
    waiting: deque[Future[list[_Result]]] = deque()
    with ProcessPoolExecutor(jobs, context, _own_cache, (numbers,)) as pool:
        try:
            for task in source:
                waiting.append(pool.submit(work, task))
                if len(waiting) == 2 * jobs:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        finally:
            # A caller that has enough results does not wait for the rest.
            pool.shutdown(wait=False, cancel_futures=True)


# --- exceptions ---------------------------------------------------------------------------------

# Words of internal errors, which a sentence for users does not contain.
_INTERNAL = re.compile(
    r"broadcast|fsum|math (domain|range)|singular matrix|division by zero|out of bounds|"
    r"NoneType|has no attribute|invalid value encountered|must not contain infs|"
    r"cannot convert|not aligned|unsupported operand|setting an array|empty sequence|"
    r"incompatible dimensions|cannot reshape|converted to|ill-conditioned|zero-size|"
    r"[Ll]eading minor|object is not"
)
_CAPABILITY = re.compile(r"needs|does not have|No solver takes|only|cannot be fitted in passes")


def is_refusal(error: Exception) -> bool:
    """Whether an exception is a refusal in words for users."""
    text = str(error)
    if _INTERNAL.search(text) or len(text.split()) < 4:
        return False
    if isinstance(error, ValueError):
        return not isinstance(error, UnicodeError)
    return type(error) is TypeError and bool(_CAPABILITY.search(text))


def crash(error: Exception) -> str:
    """The text of an exception that is no refusal, and where it was raised."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    file = os.path.basename(where.filename)
    return f"{type(error).__name__}: {error} ({file}:{where.lineno})"
