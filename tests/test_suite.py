"""The tests themselves: they receive Ctrl-C however they are started; signals are sent apart."""

from __future__ import annotations

import itertools
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

TESTS = Path(__file__).parent
# As a part of pytest, the file sets up this process and those that it starts.
SCRIPT = """
import runpy, signal, subprocess, sys
assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
runpy.run_path(sys.argv[1])
own = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
exec(own)
subprocess.run([sys.executable, "-c", own])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")
def test_ctrl_c_is_heard_though_the_tests_were_started_in_the_background():
    command = shlex.join([sys.executable, "-u", "-c", SCRIPT, str(TESTS.parent / "conftest.py")])
    done = subprocess.run(
        ["sh", "-c", f"trap '' INT; exec {command}"], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["True", "True"], done.stderr


SENDS = re.compile(r"os\.kill\b|\braise_signal\(|\bsend_signal\(|\.kill\(\)")
MARKED = re.compile(r"mark\.(signals|cluster|browser)\b|\bnew_page\b|\bopened\b")


def test_whatever_sends_a_signal_is_marked_as_such():
    sending = [path for path in TESTS.rglob("test_*.py") if SENDS.search(path.read_text("utf-8"))]
    unmarked = [path.name for path in sending if not MARKED.search(path.read_text("utf-8"))]
    assert len(sending) > 10 and unmarked == [], "see the marker signals in pyproject.toml"


@pytest.mark.parametrize(
    ("expression", "only"),
    [
        ("(cluster or browser or signals) and not (exhaustive or benchmarks)", True),
        ("not ((cluster or browser or signals) or (exhaustive or benchmarks))", False),
        ("cluster or sampled", False),
        ("not exhaustive", False),
        ("signals and", False),
        ("xdist_group(name='browser') and signals", False),
        ("", False),
    ],
)
def test_files_are_left_out_where_only_tests_that_run_apart_are_selected(expression, only):
    found = runpy.run_path(str(TESTS.parent / "conftest.py"))
    assert found["selects_only_apart"](expression) == only


@pytest.mark.parametrize("sizes", [(1,), (2, 2), (5, 3), (2, 4, 3), (6, 2, 2, 2)])
def test_crossed_kinds_are_covered_by_as_many_cases_as_the_most_of_one(sizes):
    covering = runpy.run_path(str(TESTS / "conftest.py"))["covering"]
    cases = list(itertools.product(*(range(size) for size in sizes)))
    named = [set(enumerate(case)) for case in cases]
    kept = [cases[k] for k in covering(named)]
    assert len(kept) == max(sizes)
    assert set().union(*(enumerate(case) for case in kept)) == set().union(*named)
    # No kind is left out where some combinations are.
    some = covering(named[1:])
    assert set().union(*(named[1:][k] for k in some)) == set().union(*named[1:])


def test_kinds_are_told_apart_without_being_compared():
    kinds = runpy.run_path(str(TESTS / "conftest.py"))["kinds"]
    marks = [pytest.mark.parametrize("x, y", []).mark, pytest.mark.parametrize(["z"], []).mark]

    def item(**params):
        callspec = SimpleNamespace(params=params)
        return SimpleNamespace(iter_markers=lambda _: marks, callspec=callspec)

    x, y, one, other = [1], [2], [3], [3]
    first, second = kinds(item(x=x, y=y, z=one)), kinds(item(x=x, y=y, z=other))
    assert len(first) == len(second) == 2 and len(first & second) == 1
    assert kinds(item(x=x, y=y, z=one)) == first
