"""Whole processes: how long they took, what memory they held, how they ended.

Memory is the larger of two figures: ``ru_maxrss``, which the system keeps of the process and of
those that it waited for, and the largest sum of the resident sets of all processes of its session,
sampled ten times a second (a JVM, or a cluster, is more than one).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Ended:
    """A process that is over.

    Attributes
    ----------
    seconds : float
        The time from its start to its end.
    peak : int
        The peak of its memory in bytes.
    code : int
        Its exit code; negative for a signal.
    result : object
        The return value of the function that was called, if any.
    why : str
        The reason of a failure: as a rule, the last line of its standard error.
    said : str
        Its standard output.
    """

    seconds: float
    peak: int
    code: int
    result: Any = None
    why: str = ""
    said: str = ""

    @property
    def ok(self) -> bool:
        return self.code == 0


def call(
    function: str,
    arguments: dict[str, Any],
    *,
    python: str = sys.executable,
    limit: float = 3600.0,
    kill_after: float | None = None,
    since: Path | None = None,
) -> Ended:
    """Call ``"module:function"`` in a fresh process."""
    with tempfile.TemporaryDirectory(prefix="separatrix-scale-") as folder:
        answer = Path(folder) / "answer.json"
        command = [python, "-m", "benchmarks.scale.child", function, str(answer)]
        ended = run(command, json.dumps(arguments), limit=limit, kill_after=kill_after, since=since)
        if ended.ok:
            ended = Ended(**{**vars(ended), "result": json.loads(answer.read_text())})
        return ended


def run(
    command: Sequence[str],
    given: str = "",
    *,
    limit: float = 3600.0,
    kill_after: float | None = None,
    since: Path | None = None,
) -> Ended:
    """Run a command to its end, to ``limit``, or to ``kill -9`` after some seconds.

    The seconds count from the start, or from when the file ``since`` is there.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        path = os.pathsep.join(
            [str(ROOT), str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
        )
        start = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        assert process.stdin is not None
        process.stdin.write(given.encode())
        process.stdin.close()
        end = start + limit
        if kill_after is not None and since is None:
            end = start + kill_after
        peak, stopped = 0, False
        try:
            while True:
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                if pid:
                    break
                if kill_after is not None and since is not None and since.exists():
                    end, since = time.perf_counter() + kill_after, None
                if kill_after is None:
                    peak = max(peak, _resident(process.pid))
                if time.perf_counter() >= end and not stopped:
                    stopped = True
                    os.killpg(process.pid, signal.SIGKILL)
                time.sleep(0.02 if stopped or kill_after is not None else 0.1)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        seconds = time.perf_counter() - start
        code = os.waitstatus_to_exitcode(status)
        process.returncode = code
        # Linux counts kibibytes, macOS bytes.
        unit = 1 if sys.platform == "darwin" else 1024
        peak = max(peak, usage.ru_maxrss * unit)
        out.seek(0)
        err.seek(0)
        said, lines = out.read().decode(errors="replace"), err.read().decode(errors="replace")
        why = ""
        if code:
            words = [line for line in lines.strip().splitlines() if line.strip()]
            why = words[-1].strip() if words else "it said nothing"
            if stopped and kill_after is None:
                why = f"not done after {limit:.0f} s"
        return Ended(seconds, peak, code, None, why, said)


def _resident(session: int) -> int:
    """The resident bytes of the processes of a session; 0 where the system does not give them."""
    total = 0
    try:
        names = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return 0
    for name in names:
        try:
            with open(f"/proc/{name}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
            if int(fields[3]) == session:
                total += int(fields[21]) * _PAGE
        except (OSError, IndexError, ValueError):
            continue  # it has ended
    return total


def has(python: str, modules: Sequence[str]) -> str:
    """The modules that an interpreter cannot import, named in words; empty where it can."""
    code = (
        "import importlib.util, sys; "
        "print(*[m for m in sys.argv[1:] if importlib.util.find_spec(m) is None], sep=', ')"
    )
    done = subprocess.run([python, "-c", code, *modules], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else f"{python} does not run"
