"""Several fits that go over the blocks together: one pass computes the sums of all of them.

Values of a strength, folds and the classes of one-vs-rest are problems of their own on the same
rows.  Each fit runs as it would alone, on a thread of its own, until it needs a pass; when all
that are still under way need one, the rows are read once and every task is given them.  No two
fits run at the same time, so that nothing depends on which thread is faster, and a fit has the
bits that it has alone.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from separatrix.scale.blocks import Rows
from separatrix.scale.engines import Task


def several(rows: Rows, shared: Sequence[tuple[Task, Any]], own: Any) -> dict[str, np.ndarray]:
    """Several tasks on the rows of one block, each with what it shares."""
    out = {}
    for k, (task, its) in enumerate(shared):
        for name, value in task(rows, its, None).items():
            out[f"{k} {name}"] = value
    return out


def parted(sums: dict[str, np.ndarray], count: int) -> list[dict[str, np.ndarray]]:
    """The sums of :func:`several`, by task."""
    out: list[dict[str, np.ndarray]] = [{} for _ in range(count)]
    for name, value in sums.items():
        number, _, rest = name.partition(" ")
        out[int(number)][rest] = value
    return out


class _Abandoned(BaseException):
    """Raised in a fit whose rounds have ended before it."""


class _Member:
    """One of the fits: a thread that runs while it is its turn."""

    def __init__(self, rounds: PassScheduler, job: Callable[[], Any], name: str) -> None:
        self.rounds, self.job, self.name = rounds, job, name
        self.turn = threading.Semaphore(0)
        self.request: tuple[Task, Any, Callable[[], None] | None] | None = None
        self.answer: dict[str, np.ndarray] = {}
        self.raising: BaseException | None = None
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = False
        context = contextvars.copy_context()
        self.thread = threading.Thread(
            target=context.run, args=(self._run,), name="separatrix-fit", daemon=True
        )

    def _run(self) -> None:
        _turn.member = self
        self.turn.acquire()
        try:
            if not self.rounds.ended:
                self.result = self.job()
        except _Abandoned:
            pass
        except BaseException as error:  # raised again where the rounds are run
            self.error = error
        finally:
            self.done = True
            self.rounds.back.release()

    def ask(
        self, task: Task, shared: Any, check: Callable[[], None] | None
    ) -> dict[str, np.ndarray]:
        """Wait for the sums of a pass."""
        self.request = (task, shared, check)
        self.rounds.back.release()
        self.turn.acquire()
        if self.rounds.ended:
            raise _Abandoned
        raising, self.raising = self.raising, None
        if raising is not None:
            raise raising
        return self.answer


_turn = threading.local()


class PassScheduler:
    """Runs fits whose passes are common.

    Parameters
    ----------
    sums : callable
        ``sums(task, shared, check)`` makes a pass, as
        :meth:`separatrix.scale.passes.Passes.sums` does.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.scale import Local, scan
    >>> from separatrix.scale.passes import Passes
    >>> from separatrix.scale.shared_passes import in_rounds
    >>> def count(rows, least, own):
    ...     return {"rows": np.array(float((rows.matrix[:, 0] >= least).sum()))}
    >>> data = scan(np.arange(6.0)[:, None], [0, 1, 0, 1, 0, 1], block_rows=2)
    >>> passes = Passes(data, Local())
    >>> with in_rounds(passes) as rounds:
    ...     found = rounds.run([lambda k=k: passes.sums(count, k)["rows"] for k in (1, 4)])
    >>> [float(x) for x in found], passes.count
    ([5.0, 2.0], 1)
    """

    def __init__(self, sums: Callable[..., dict[str, np.ndarray]]) -> None:
        self._sums = sums
        self.back = threading.Semaphore(0)
        self.ended = False

    @property
    def member(self) -> _Member | None:
        """The fit whose turn it is, of these rounds, where the caller is one."""
        member: _Member | None = getattr(_turn, "member", None)
        return member if member is not None and member.rounds is self else None

    def run(
        self, jobs: Sequence[Callable[[], Any]], names: Sequence[str] | None = None
    ) -> list[Any]:
        """The results of the jobs, in their order.

        An exception of one of them ends them all.  A checkpoint keeps them by ``names``.
        """
        if names is None:
            names = [str(k) for k in range(len(jobs))]
        members = [_Member(self, *pair) for pair in zip(jobs, names, strict=True)]
        for member in members:
            member.thread.start()
        try:
            active = members
            while active:
                for member in active:
                    if member.request is not None:
                        # Its pass was given up for another's sake.
                        continue
                    member.turn.release()
                    self.back.acquire()
                    if member.error is not None:
                        raise member.error
                active = [member for member in active if not member.done]
                if active:
                    self._answer(active)
        finally:
            self.ended = True
            for member in members:
                member.turn.release()
            for member in members:
                member.thread.join()
        return [member.result for member in members]

    def _answer(self, members: list[_Member]) -> None:
        """One pass, for all members that wait for one."""
        requests = [member.request for member in members if member.request is not None]
        checks = [check for _, _, check in requests if check is not None]

        def check() -> None:
            for one in checks:
                one()

        try:
            sums = self._sums(several, tuple(r[:2] for r in requests), check)
        except Exception:
            if not self._stopped(members):
                raise
            return
        for member, answer in zip(members, parted(sums, len(members)), strict=True):
            member.answer, member.request = answer, None

    @staticmethod
    def _stopped(members: list[_Member]) -> bool:
        """Whether the pass ended because some of the fits want no more; these are notified."""
        found = False
        for member in members:
            assert member.request is not None
            check = member.request[2]
            try:
                if check is not None:
                    check()
            except Exception as error:  # raised again where the fit waits
                member.raising, member.request = error, None
                found = True
        return found


@contextmanager
def in_rounds(passes: Any) -> Iterator[PassScheduler]:
    """A context in which fits that are run by the rounds share their passes."""
    rounds = PassScheduler(passes.at_once)
    passes.rounds = rounds
    try:
        yield rounds
    finally:
        passes.rounds = None
