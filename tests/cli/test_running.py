"""What ends a command: exit codes, errors, missing extras, colours, start-up."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import subprocess
import sys

import click
import numpy as np
import pytest

import separatrix.cli
from separatrix import threads
from separatrix._compiled import memory
from separatrix.cli.options import KINDS
from separatrix.cli.output import jsonable, printable, use_color
from separatrix.solvers.driver import watch

COMMANDS = [
    "fit", "path", "compare", "predict", "evaluate", "export", "report", "verify", "info",
    "summary", "diagnose", "separable", "check-certificate", "studio",
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_help_leads_with_examples(run, command):
    ran = run(command, "--help")
    assert ran.code == 0
    paragraphs = ran.out.split("\n\n")
    assert paragraphs[0].startswith(f"Usage: separatrix {command} ")
    assert paragraphs[1].startswith("Examples:\n  separatrix ")


def test_help_lists_the_commands_in_the_order_of_use(run):
    listed = run("--help").out.split("Commands:\n")[1].split("\n")
    names = [line.split()[0] for line in listed if line.strip()]
    assert names == COMMANDS
    assert run().out == run("-h").out


def test_version(run):
    assert separatrix.__version__ in run("--version").out


def test_unknown_command(run):
    ran = run("fitt")
    assert ran.code == 2
    assert ran.err.startswith("error     No such command 'fitt'")
    assert ran.err.count("\n") == 1


@pytest.fixture
def broken(monkeypatch):
    from separatrix.cli import reading

    def fail(*args, **kwargs):
        raise ZeroDivisionError("division by zero\nsecond line")

    monkeypatch.setattr(reading, "read_table", fail)


def test_a_bug_is_one_sentence(run, broken):
    ran = run("fit", "iris")
    assert ran.code == 70
    assert ran.out == ""
    assert ran.err == (
        "error     this is a bug in separatrix (ZeroDivisionError: division by zero); "
        "SEPARATRIX_DEBUG=1 shows where\n"
    )


def test_an_interruption_that_another_library_reports_in_its_own_way_is_one(run, monkeypatch):
    from separatrix.cli import reading

    def fail(*args, **kwargs):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            raise SystemError("returned a result with an exception set") from error

    monkeypatch.setattr(reading, "read_table", fail)
    ran = run("fit", "iris")
    assert (ran.code, ran.err) == (130, "error     interrupted; nothing was written\n")


def test_the_debug_variable_shows_where(run, broken, monkeypatch):
    monkeypatch.setenv("SEPARATRIX_DEBUG", "1")
    ran = run("fit", "iris", "--json")
    assert ran.code == 70
    assert "Traceback (most recent call last)" in ran.err
    assert "in fail" in ran.err
    assert ran.document["error"]["type"] == "ZeroDivisionError"


class Full(io.StringIO):
    """A stream to a disk that is full."""

    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_under_the_streams_changes_no_exit_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words, code, to_full in [
        (["fit", "absent.csv"], 3, 3),
        (["fit", "absent.csv", "--json"], 3, 3),
        (["fit", "--bogus"], 2, 2),
        (["separable", "iris"], 1, 3),
        (["--version"], 0, 3),
    ]:
        for names, expected in [(["stderr"], code), (["stdout", "stderr"], to_full)]:
            with pytest.MonkeyPatch.context() as patch:
                for name in names:
                    patch.setattr(sys, name, Full())
                assert separatrix.cli.main(words) == expected, (words, names)


def test_out_of_memory_is_no_bug(run, monkeypatch):
    from separatrix.cli import reading

    def fail(*args, **kwargs):
        raise MemoryError

    monkeypatch.setattr(reading, "read_table", fail)
    ran = run("fit", "iris")
    assert ran.code == 3
    assert ran.err == (
        "error     there is not enough memory: use fewer --threads, fewer rows or columns, or for "
        "kernel machines a smaller --cache-mb\n"
    )


LIMITED = """
import contextlib, io, resource, sys
for megabytes, *words in {calls!r}:
    resource.setrlimit(resource.RLIMIT_AS, (megabytes * 1_000_000, resource.RLIM_INFINITY))
    from separatrix.cli import main
    sys.argv = ["separatrix", *words]
    with contextlib.redirect_stderr(io.StringIO()) as err:
        code = main()
    print(f"<{{code}}>{{err.getvalue()}}</>", file=sys.stderr)
"""


def limited(folder, *calls):
    """The exit code and stderr of commands of one process, each within a number of megabytes."""
    script = LIMITED.format(calls=calls)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=folder, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return [(int(code), err) for code, err in re.findall(r"(?s)<(\d+)>(.*?)</>", done.stderr)]


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space as Linux has them")
@pytest.mark.parametrize("enough", [1000, pytest.param(1300, marks=pytest.mark.exhaustive)])
def test_a_limit_of_the_address_space(tmp_path, enough):
    (tmp_path / "t.csv").write_text("a,b,c\n" + "1,2,x\n2,1,y\n3,1,x\n2,5,y\n" * 10)
    rows = "".join(f"{i * i % 977},{i * 7 % 31},{'xy'[i * i % 7 % 2]}\n" for i in range(20_000))
    (tmp_path / "many.csv").write_text("a,b,c\n" + rows)
    low, fit = (250, 450, 700, 900), ("fit", "t.csv", "--target", "c")
    # A process that was refused has loaded nothing yet, and is as good as new.
    refused = [call for size in low for call in ((size, *fit), (size, "fit", "--help"))]
    large = (1500, "fit", "many.csv", *fit[2:], "--model", "kernel-svm", "--cache-mb", "4000")
    *small, fitted, kernel = limited(tmp_path, *refused, (enough, *fit), large)
    for megabytes, ran, helped in zip(low, small[::2], small[1::2], strict=True):
        assert ran == (
            3,
            f"error     the address space of this process is limited to {megabytes:,} MB (ulimit "
            "-v), and its libraries alone need 950 MB: raise the limit\n",
        )
        assert helped[0] == 0, megabytes
    assert (fitted[0], fitted[1].count("error")) == (0, 0)
    # A cache that the address space cannot hold names the option.
    assert kernel[0] == 3
    assert "error     the cache of the kernel matrix needs" in kernel[1]
    assert "set --cache-mb below 4000\n" in kernel[1]


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space as Linux has them")
def test_python_gets_one_sentence_where_a_library_does_not_fit():
    script = (
        "import resource, separatrix\n"
        "resource.setrlimit(resource.RLIMIT_AS, (int(4.5e8), resource.RLIM_INFINITY))\n"
        "try:\n"
        "    separatrix.LogisticRegression\n"
        "except MemoryError as error:\n"
        "    print(error)\n"
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True, text=True, timeout=300, env=environment,
    )  # fmt: skip
    assert done.stdout.startswith("the address space of this process, limited to 450 MB")
    assert "fewer threads" in done.stdout and "cache_mb" in done.stdout


def test_the_help_of_every_option_is_a_phrase_that_stands_alone():
    from separatrix.cli.app import cli

    top = click.Context(cli)
    for name in cli.list_commands(top):
        for option in cli.get_command(top, name).params:
            text = getattr(option, "help", None) or ""
            first = text.split(" ", 1)[0]
            assert first not in ("Of", "On", "By", "Which,", "Say", "Some", "As", "Who"), (
                f"{name} {option.name}: {text}"
            )


@pytest.mark.parametrize("absent", ["click", "duckdb", "rich"])
def test_a_missing_extra_names_the_exact_command(run, monkeypatch, absent):
    monkeypatch.setattr(
        separatrix.cli, "find_spec", lambda name: None if name == absent else object()
    )
    ran = run("--help")
    assert ran.code == 2
    assert ran.out == ""
    assert f"needs {absent}" in ran.err
    assert 'pip install "separatrix[app]"' in ran.err


@pytest.mark.parametrize(
    ("call", "extras"),
    [
        ("studio iris", "studio"),
        ("fit studio", "app"),
        ("fit x.csv --engine dask --scheduler tcp://127.0.0.1:1", "app,dask"),
        ("fit x.csv --engine=dask --scheduler tcp://127.0.0.1:1", "app,dask"),
        ("verify m.separatrix iris --rigorous", "app,exact"),
        ("fit x.feather", "app,arrow"),
        ("fit s3://bucket/x.csv", "app,lake"),
    ],
)
def test_all_extras_that_a_call_needs_are_named_at_once(run, monkeypatch, call, extras):
    monkeypatch.setattr(separatrix.cli, "find_spec", lambda name: None)
    assert run(*call.split()).err.endswith(f'pip install "separatrix[{extras}]"\n')


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [("s3://bucket/x.csv", "fsspec", "lake"), ("x.arrow", "pyarrow", "arrow")],
)
def test_a_package_that_a_table_needs_is_no_bug(run, monkeypatch, tmp_path, name, package, extra):
    (tmp_path / "x.arrow").write_bytes(b"ARROW1")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, package, None)
    ran = run("fit", name, "--target", "y")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.endswith(f'needs {package}: pip install "separatrix[{extra}]"\n')
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize("command", ["fit", "diagnose", "separable"])
def test_a_column_whose_name_is_not_utf8_is_bad_data(run, tmp_path, command):
    import duckdb

    path = tmp_path / "t.parquet"
    duckdb.sql(f"COPY (SELECT 1 AS word, 'x' AS target) TO '{path}' (FORMAT parquet)")
    path.write_bytes(path.read_bytes().replace(b"word", b"\xe9\xff\xfe\xe9"))
    ran = run(command, path, "--target", "target")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith(f"error     {path}: the name of column 1 is not UTF-8")
    assert ran.err.count("\n") == 1


def test_warnings_of_libraries_become_lines(run, monkeypatch):
    import warnings

    from separatrix.cli import reading

    real = reading.read_table

    def warn(*args, **kwargs):
        warnings.warn("look\n  out", RuntimeWarning, stacklevel=1)
        return real(*args, **kwargs)

    monkeypatch.setattr(reading, "read_table", warn)
    assert run("fit", "iris").err == "warning   look out\n"
    assert run("fit", "iris", "-q").err == ""
    assert run("fit", "iris", "--json").document["warnings"] == ["look out"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
def test_a_full_disk_under_stdout_is_one_sentence(tmp_path):
    command = [sys.executable, "-m", "separatrix", "--help"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 3
    assert done.stderr == "error     the output: No space left on device\n"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_colours_only_on_a_terminal_that_wants_them(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert use_color(Terminal())
    assert not use_color(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not use_color(Terminal())
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not use_color(Terminal())


def test_json_is_strict():
    value = {"a": np.array([1.5, np.nan]), "b": -np.inf, 3: (np.int64(2), None, True)}
    made = jsonable(value)
    assert made == {"a": [1.5, None], "b": "-inf", "3": [2, None, True]}
    json.dumps(made, allow_nan=False)


def test_printable_keeps_letters_and_escapes_controls():
    assert printable("naïve 日本 \u202e\n") == "naïve 日本 \\u202e\\n"


def test_kinds_are_those_of_the_tables():
    from separatrix import tables

    assert set(KINDS) == set(tables.KINDS)


def test_help_loads_none_of_the_heavy_libraries():
    script = (
        "import sys; from separatrix.cli import main; code = main(['fit', '--help']);"
        "heavy = {'numpy', 'scipy', 'sklearn', 'numba', 'duckdb', 'rich'} & set(sys.modules);"
        "sys.exit(code or ', '.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Usage: separatrix fit ")


def test_threads_for_one_command(run):
    seen, before = [], threads()
    with watch(lambda _: seen.append(threads())):
        assert run("fit", "iris", "--threads", "3").code == 0
    assert set(seen) == {3}
    assert threads() == before
    done = run("fit", "iris", "--threads", "0")
    assert (done.code, done.out) == (2, "")
    assert "Invalid value for '--threads': 0 is not a whole number from 1" in done.err


def test_a_bad_variable_for_threads_is_a_mistake_in_the_call(run, monkeypatch):
    monkeypatch.setenv("SEPARATRIX_THREADS", "many")
    done = run("info", "iris.separatrix")
    assert done.code == 2
    assert done.err.startswith("error     SEPARATRIX_THREADS='many' must be a whole number")


def test_a_full_disk_under_unbuffered_stdout_is_an_error(model):
    """One raw write may take a part and drop the rest; that must not pass for success."""
    script = (
        "import io, sys\n"
        "class Filling(io.RawIOBase):\n"
        "    room = 100\n"
        "    def writable(self): return True\n"
        "    def write(self, data):\n"
        "        if not self.room: raise OSError(28, 'No space left on device')\n"
        "        taken = min(len(data), self.room)\n"
        "        self.room -= taken\n"
        "        return taken\n"
        "sys.stdout = io.TextIOWrapper(Filling(), encoding='utf-8', write_through=True)\n"
        "from separatrix.cli import main\n"
        "code = main(['info', sys.argv[1]])\n"
        "sys.stderr.write(f'code {code}')\n"
        "sys.stderr.flush()\n"
        "import os; os._exit(0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(model)], capture_output=True, text=True, check=False
    )
    assert "No space left on device" in done.stderr
    assert done.stderr.endswith("code 3")


@pytest.mark.skipif(sys.platform == "win32", reason="closes streams as a POSIX shell does")
def test_a_closed_stream_is_no_bug(people):
    """A file that a command opens then gets the descriptor of the closed stream."""
    shown = (f"info m.separatrix {closed}" for closed in (">&-", "2>&-", "<&-"))
    for words in ("fit people.csv --target income -o m.separatrix >&- 2>&- <&-", *shown):
        done = subprocess.run(
            f'"{sys.executable}" -m separatrix {words}',
            shell=True, capture_output=True, text=True, cwd=people.parent,
        )  # fmt: skip
        assert done.returncode == 0, words
        assert "Traceback" not in done.stderr, words
    assert (people.parent / "m.separatrix").is_file()


def test_what_is_seldom_needed_is_imported_when_it_is_asked_for():
    script = (
        "import sys; from separatrix.cli.postponed import postpone_imports; postpone_imports();"
        "import scipy.stats, sklearn.base;"
        "assert 'pandas' not in sys.modules;"
        "assert type(sys.modules['scipy.stats']).__name__ == '_Postponed';"
        "from scipy.stats import rankdata;"
        "assert type(sys.modules['scipy.stats']).__name__ == '_Postponed';"
        "assert rankdata([3, 1]).tolist() == [2, 1];"
        "assert scipy.stats.norm.cdf(0.0) == 0.5;"
        "import pandas; assert pandas.DataFrame({'a': [1]}).shape == (1, 1)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_model_file_is_read_without_what_takes_long_to_import(model):
    script = (
        f"import sys; sys.argv = ['separatrix', 'info', {str(model)!r}];"
        "from separatrix.cli import main; code = main();"
        "heavy = {'scipy', 'sklearn', 'numba', 'duckdb', 'rich', 'pandas'} & set(sys.modules);"
        "assert not heavy, heavy;"
        "sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_an_error_of_memory_without_words_names_the_limit(monkeypatch):
    monkeypatch.setattr(memory, "address_space", lambda: 450_000_000)
    said = str(memory.message_for(MemoryError()))
    assert said.startswith("the address space of this process, limited to 450 MB")
    assert "(Unable to hold 3)" in str(memory.message_for(MemoryError("Unable to hold 3.")))


def completed(monkeypatch, run, *words):
    """What a shell would offer for the last of the words."""
    monkeypatch.setenv("_SEPARATRIX_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", " ".join(words))
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    return [line.split(",", 1) for line in run().out.splitlines()]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_of_a_shell(run, shell):
    ran = run("--completion", shell)
    assert ran.code == 0 and f"_SEPARATRIX_COMPLETE={shell}_complete" in ran.out
    assert run("--completion", "csh").code == 2


def test_what_a_shell_offers(run, monkeypatch, people):
    def offered(*words):
        return completed(monkeypatch, run, "separatrix", *words)

    assert offered("f") == [["plain", "fit"]]
    assert offered("fit", "people.csv", "--word") == [["plain", "--word-pairs"]]
    assert offered("fit", "people.csv", "--model", "kern") == [["plain", "kernel-svm"]]
    columns = offered("fit", "people.csv", "--target", "")
    assert columns == [["plain", name] for name in ("age", "hours", "job", "income")]
    # File names are left to the shell, which knows more of them.
    assert offered("predict", "people") == [["file", "people"]]
    assert offered("fit", "people.csv", "--report", "p") == [["file", "p"]]
