"""Run what README.md shows and check what it prints: ``python docs/readme.py``.

Commands and Python examples run in a fresh temporary folder. ``--write`` puts what they print into
the page. ``--install`` installs the library from a clone into an environment of its own first, by
the commands of the page, and runs the others in it.

Figures that differ from one machine or run to the next (seconds, gaps) are not compared, as in all
examples; see ``conftest.py``.
"""

from __future__ import annotations

import argparse
import doctest
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
FLAGS = doctest.NORMALIZE_WHITESPACE

_BLOCK = re.compile(r"^```(sh|console|python)\n(.*?)^```", flags=re.M | re.S)
_COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", flags=re.M)


def in_this_process(command: str) -> str:
    """What a command of the library prints on both streams; it has to end well."""
    from separatrix.cli import main

    program, *arguments = shlex.split(command)
    if program != "separatrix":
        raise ValueError(f"README runs {program}, which is no command of the library: {command}")
    screen = StringIO()
    with redirect_stdout(screen), redirect_stderr(screen):
        code = main(arguments)
    # A negative verdict, such as that classes are not separable, is an answer.
    if code not in (0, 1):
        raise ValueError(f"$ {command}\n{screen.getvalue()}exit code {code}")
    return screen.getvalue()


def in_environment(clone: Path) -> Callable[[str], str]:
    """The same, with the program that was installed into the environment of a clone."""
    path = f"{clone / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(command: str) -> str:
        done = subprocess.run(
            ["bash", "-c", command],
            env={**environment, "PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode not in (0, 1):
            raise ValueError(f"$ {command}\n{done.stdout}exit code {done.returncode}")
        return done.stdout

    return run


def install(text: str, clone: Path) -> None:
    """Clone the repository and run the page's commands of installation in the clone."""
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    for kind, lines in _BLOCK.findall(text):
        if kind == "sh":
            subprocess.run(["bash", "-ec", lines], cwd=clone, check=True)


def made_anew(text: str, run: Callable[[str], str] = in_this_process) -> str:
    """The page with what its commands and examples print now, where that differs."""
    checker = doctest.OutputChecker()
    names: dict[str, object] = {"__name__": "readme"}

    def session(block: str) -> str:
        def answered(found: re.Match[str]) -> str:
            command, printed = found.groups()
            now = run(command)
            same = checker.check_output(printed, now, FLAGS)
            return found[0] if same else f"$ {command}\n{now.rstrip()}\n"

        return _COMMAND.sub(answered, block)

    def examples(block: str) -> str:
        made: list[str] = []
        for part in doctest.DocTestParser().parse(block):
            if isinstance(part, str):
                made.append(part)
                continue
            printed = StringIO()
            with redirect_stdout(printed):
                exec(compile(part.source, str(README), "single"), names)
            now = printed.getvalue()
            same = checker.check_output(part.want, now, FLAGS)
            source = re.sub("^", "... ", part.source.rstrip("\n"), flags=re.M)
            made.append(f">>> {source[4:]}\n{part.want if same else now}")
        return "".join(made)

    def block(found: re.Match[str]) -> str:
        kind, inside = found.groups()
        if kind == "sh":
            return found[0]
        made = session(inside) if kind == "console" else examples(inside)
        return f"```{kind}\n{made}```"

    os.environ["COLUMNS"] = "100"
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        return _BLOCK.sub(block, text)


def main() -> None:
    parser = argparse.ArgumentParser(description="Run what README.md shows.")
    parser.add_argument("--write", action="store_true", help="put what is printed into the page")
    parser.add_argument("--install", action="store_true", help="in a fresh clone, installed anew")
    options = parser.parse_args()
    # Has examples compared but for seconds and gaps.
    sys.path.insert(0, str(ROOT))
    import conftest  # noqa: F401

    text = README.read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder:
        run = in_this_process
        if options.install:
            install(text, Path(folder) / "clone")
            run = in_environment(Path(folder) / "clone")
        made = made_anew(text, run)
    if made == text:
        print("README.md shows what is printed")
    elif options.write:
        README.write_text(made, "utf-8")
        print("README.md is written anew")
    else:
        import difflib

        lines = difflib.unified_diff(
            text.splitlines(), made.splitlines(), "README.md", "printed now", lineterm=""
        )
        sys.exit("\n".join(lines) + "\nREADME.md shows something else: --write puts it right")


if __name__ == "__main__":
    main()
