"""Ctrl-C before there is anything to save: one line and exit code 130, whenever it comes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest

from separatrix.cli import interruption
from separatrix.cli.output import Exit, error_document

pytestmark = [
    pytest.mark.signals,
    pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them"),
]

LINE = "error     interrupted; nothing was written\n"

# The process is that of the command: without arguments, main takes those of the process.
SCRIPT = """
import signal, sys
from separatrix.cli import main

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Finder())
sys.argv = ["separatrix", *{words!r}]
sys.stderr.write("ready\\n")
sys.stderr.flush()
sys.exit(main())
"""


def start(folder, *words, name="", script=SCRIPT) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", script.format(name=name, words=words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
    )


@pytest.mark.parametrize(
    "name", ["separatrix.cli.app", "click", "numpy", "scipy", "sklearn", "duckdb", "numba"]
)
def test_in_the_middle_of_an_import(tmp_path, name):
    # The table is a file, because a built-in one needs no DuckDB.
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2,y\n3,x\n4,y\n")
    process = start(tmp_path, "fit", "t.csv", name=name)
    _, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (130, f"ready\n{LINE}")


@pytest.mark.parametrize("name", ["separatrix.cli", "separatrix._compiled.memory"])
def test_before_the_command_line_is_there(tmp_path, name):
    script = SCRIPT.replace("separatrix.cli", "separatrix.__main__")
    process = subprocess.Popen(
        [sys.executable, "-c", script.format(name=name, words=["fit", "iris"])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    _, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (130, f"ready\n{LINE}")


@pytest.mark.parametrize("name", ["click", "numpy"])
def test_in_the_middle_of_an_import_as_json(tmp_path, name):
    process = start(tmp_path, "fit", "iris", "--json", name=name)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (130, f"ready\n{LINE}")
    expected = error_document(Exit.INTERRUPTED, KeyboardInterrupt(), interruption.MESSAGE)
    assert out == json.dumps(expected, indent=2) + "\n"


@pytest.mark.parametrize("seconds", [0.0, 0.1, 0.4, 1.2])
def test_at_any_moment(tmp_path, seconds):
    # It is ready at the first import of the command, whose handler is there by then: on a busy
    # machine any time may pass before.
    at_once = 'sys.stderr.write("ready\\n")\nsys.stderr.flush()\n'
    script = SCRIPT.replace(at_once, "").replace(
        "signal.raise_signal(signal.SIGINT)", 'print("ready", file=sys.stderr, flush=True)'
    )
    process = start(tmp_path, "diagnose", "digits", name="separatrix.cli.app", script=script)
    assert process.stderr.readline() == "ready\n"
    time.sleep(0.005 + seconds)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    # A fast machine may be done before.
    assert (process.returncode, err) == (130, LINE) or process.returncode == 0


def test_a_caller_in_the_same_process_keeps_its_own_handler(run):
    before = signal.getsignal(signal.SIGINT)
    assert run("--version").code == 0
    assert signal.getsignal(signal.SIGINT) is before


# A daemon thread, a function registered for the exit, and the end of the interpreter itself.
LEFT = """
import atexit, sys, threading, time
from separatrix.cli import interruption

class Last:
    def __del__(self):
        print("torn down", flush=True)

last = Last()
atexit.register(print, "registered")
if {daemon}:
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
interruption.no_longer({code})
sys.exit({code})
"""


def test_a_process_is_left_at_once_where_a_thread_is_still_at_work():
    found = {}
    for daemon, code in ((True, 3), (False, 3), (True, 130)):
        script = LEFT.format(daemon=daemon, code=code)
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (code, "")
        found[daemon, code] = done.stdout.splitlines()
    assert found == {
        (True, 3): ["registered"],
        (False, 3): ["registered", "torn down"],
        (True, 130): [],
    }


def test_a_fit_in_a_process_of_its_own_keeps_the_best_model(tmp_path):
    # Pressed again more than a second later, Ctrl-C would end the command without a model.
    script = (
        "import signal, sys\n"
        "from separatrix.cli import main\n"
        "from separatrix.solvers.driver import watch\n"
        "sys.argv = ['separatrix', 'fit', 'iris', '--tol', '1e-15', '-o', 'm.separatrix']\n"
        "def press_once(_, left=[signal.SIGINT]):\n"
        "    if left:\n"
        "        signal.raise_signal(left.pop())\n"
        "with watch(press_once):\n"
        "    sys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 130
    assert "Traceback" not in done.stderr
    assert (tmp_path / "m.separatrix").is_file()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("step", ["report_model", "_measure", "save_fit"])
def test_after_the_fit_and_before_the_save_the_model_is_kept(
    run, tmp_path, monkeypatch, step, number
):
    from separatrix.cli.commands.fit import run as fitting

    made = getattr(fitting, step)

    def pressed(*arguments, **options):
        signal.raise_signal(number)
        return made(*arguments, **options)

    monkeypatch.setattr(fitting, step, pressed)
    # The signal handlers are those of a process that runs the command alone.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        interruption.ending_imports()
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        done = run("fit", "iris", "-o", "m.separatrix", "--json")
    finally:
        signal.signal(signal.SIGINT, before)
    # What was reached is within the tolerance, interrupted or not.
    assert done.code == done.document["exit_code"] == 130, done.err
    assert done.document["status"] == "optimal"
    assert (tmp_path / "m.separatrix").is_file()
