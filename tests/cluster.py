"""A Dask cluster in a process of its own, so that no trouble of its workers reaches the tests.

Run as a program, this is the process of the cluster: it prints the address of its scheduler, grows
to the numbers of workers that it reads from its input, and ends with its input.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

# Seconds after which an answer of the cluster does not come, however busy the machine is.
PATIENCE = 300.0
# What workers import sooner or later, and each of them would for itself.
PRELOADED = ["distributed", "dask.dataframe", "pyarrow.parquet", "duckdb", "engine_tasks"]
PRELOADED += ["separatrix.models", "separatrix.scale", "separatrix.persistence.model_file"]


def _serving(dask_scheduler: Any) -> dict[str, str]:
    """The name of the worker at each address that the scheduler knows; none is used again."""
    return {address: one.server_id for address, one in dask_scheduler.workers.items()}


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that comes in its own time, however busy the machine is."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.02)


class Cluster:
    """The process of a cluster, and a client of its scheduler."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        from distributed import Client

        assert process.stdin is not None and process.stdout is not None
        self._input = process.stdin
        self._workers = 1
        self._killed: set[str] = set()
        self.scheduler_address = process.stdout.readline().strip()
        self.client = Client(self.scheduler_address, set_as_default=False, timeout=PATIENCE)

    def have(self, workers: int) -> None:
        """Grow to a number of workers, and wait for them and for those that replace killed ones.

        A scheduler that has not noticed yet that a worker died still gives it tasks, and a worker
        that comes late takes none of those that a test counts on.
        """
        self._workers = max(self._workers, workers)
        self._input.write(f"{self._workers}\n")
        self._input.flush()

        def settled() -> bool:
            serving = set(self.client.run_on_scheduler(_serving).values())
            return len(serving) == self._workers and not serving & self._killed

        until(settled)

    def pids(self) -> dict[str, int]:
        """The process of each worker, by its address."""
        return dict(self.client.run(os.getpid))

    def kill_one(self) -> int:
        """End a worker as if its machine had lost power; the scheduler notices it later."""
        serving = self.client.run_on_scheduler(_serving)
        address, pid = min(self.pids().items(), key=lambda item: item[1])
        self._killed.add(serving[address])
        os.kill(pid, signal.SIGKILL)
        return pid


@contextlib.contextmanager
def local_cluster() -> Iterator[Cluster]:
    """A cluster on this machine of one worker, which can grow."""
    process = subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        # Workers import the functions of blocks by the names that the tests have for them.
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        # A group of its own, to which its workers belong.
        start_new_session=True,
    )
    try:
        cluster = Cluster(process)
        try:
            yield cluster
        finally:
            cluster.client.close()
    finally:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        try:
            process.wait(timeout=30.0)
        except subprocess.TimeoutExpired:
            pass
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            process.stdout.close()


def main() -> None:
    """Serve until the input ends."""
    import dask
    import distributed
    from distributed.utils import get_mp_context

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    options: dict[str, Any] = {
        "n_workers": 1,
        "threads_per_worker": 1,
        "processes": True,
        "host": "127.0.0.1",
        "dashboard_address": "127.0.0.1:0",
        "silence_logs": logging.CRITICAL,
    }
    config = {
        # A task whose worker died is given back at once, as otherwise after three more of them.
        "distributed.scheduler.allowed-failures": 0,
        # Workers are copies of a process that has imported all that they use.
        "distributed.worker.multiprocessing-method": "forkserver",
    }
    dask.config.set(config)
    get_mp_context().set_forkserver_preload(PRELOADED)
    with distributed.LocalCluster(**options) as cluster:
        print(cluster.scheduler_address, flush=True)
        for line in sys.stdin:
            cluster.scale(max(int(line), len(cluster.workers)))


if __name__ == "__main__":
    main()
