"""All commands, and how one is run: whatever ends it becomes an exit code and one sentence."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from importlib import import_module

import click
from click.shell_completion import shell_complete

from separatrix import __version__
from separatrix._compiled import memory
from separatrix.cli.interruption import MESSAGE
from separatrix.cli.options import SETTINGS, ExamplesFirst
from separatrix.cli.output import (
    Exit,
    error_document,
    print_document,
    print_message,
    silence,
    write,
)
from separatrix.cli.wording import TERMINAL
from separatrix.exceptions import DataError, MissingPackageError, ModelFileError
from separatrix.messages import clause

# The variable by which a shell requests completions of a line.
_COMPLETE = "_SEPARATRIX_COMPLETE"

# In the order of use. A new command is a folder of `commands` of that name, and a name here.
COMMANDS = [
    "fit",
    "path",
    "compare",
    "predict",
    "evaluate",
    "export",
    "report",
    "verify",
    "info",
    "summary",
    "diagnose",
    "separable",
    "check-certificate",
    "studio",
]

_EXAMPLES = """
separatrix fit table.csv --target income -o income.separatrix
separatrix path table.csv --target income --cv 5 -o income.separatrix
separatrix compare table.csv --target income
separatrix predict income.separatrix new.csv --proba > predictions.csv
separatrix evaluate income.separatrix labelled.csv
separatrix export income.separatrix --to sql > income.sql
separatrix report income.separatrix table.csv -o income.html
separatrix verify income.separatrix table.csv
separatrix info income.separatrix
separatrix summary price.separatrix
separatrix diagnose table.csv --target income
separatrix separable table.csv --target income --certificate proof.json
separatrix check-certificate proof.json table.csv
"""


class _Group(ExamplesFirst, click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)  # in the order of use, not of the alphabet


class _OnDemand(Mapping[str, click.Command]):
    """The commands by their names, each imported at its first use."""

    def __getitem__(self, name: str) -> click.Command:
        if name not in COMMANDS:
            raise KeyError(name)
        home = name.replace("-", "_")
        found: click.Command = getattr(import_module(f"separatrix.cli.commands.{home}"), home)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def _print_completion(context: click.Context, param: click.Parameter, shell: str | None) -> None:
    if shell is not None:
        shell_complete(context.command, {}, "separatrix", _COMPLETE, f"{shell}_source")
        context.exit()


@click.group(
    "separatrix",
    cls=_Group,
    commands=_OnDemand(),
    examples=_EXAMPLES,
    context_settings=SETTINGS,
)
@click.version_option(__version__, prog_name="separatrix")
@click.option(
    "--completion",
    type=click.Choice(("bash", "zsh", "fish")),
    expose_value=False,
    is_eager=True,
    callback=_print_completion,
    help='Print the completion script of a shell: eval "$(separatrix --completion bash)".',
)
def cli() -> None:
    """Fit a linear model to a table, with proof of how good it is.

    DATA is a file (.csv .tsv .parquet .json .svm), a glob in quotes, - for CSV on stdin, or a
    built-in name: iris, breast-cancer, wine, digits, diabetes.

    \b
    Exit codes: 0 done; 1 a negative verdict; 2 a mistake in the call; 3 unusable data, model file
    or certificate; 4 stopped above the tolerance, a perceptron with mistakes left, or no verdict
    within the time; 70 a bug; 130 interrupted.
    """


def run(argv: list[str]) -> int:
    """Run the command that `argv` names and return its exit code."""
    with _forgiving_streams():
        return _run(argv)


def _run(argv: list[str]) -> int:
    instruction = os.environ.get(_COMPLETE)
    if instruction:  # a shell wants to know how a line that is being typed may go on
        return shell_complete(cli, {}, "separatrix", _COMPLETE, instruction)
    try:
        # Not cli.main, which has its own idea of what a broken pipe and Ctrl-C mean.
        with cli.make_context("separatrix", argv or ["--help"]) as context:
            code = cli.invoke(context)
        sys.stdout.flush()
        return int(code or 0)
    except BrokenPipeError:  # ``separatrix --help | head -1`` is a normal end
        silence(sys.stdout)
        return int(Exit.DONE)
    except click.exceptions.Exit as error:  # --help, --version
        return error.exit_code
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "separatrix"
        return _fail(
            argv, Exit.USAGE, error, f"{clause(error.format_message())} (see {path} --help)"
        )
    except (click.Abort, KeyboardInterrupt) as error:
        return _fail(argv, Exit.INTERRUPTED, error, MESSAGE)
    except (DataError, MissingPackageError, ModelFileError, click.ClickException) as error:
        return _refuse(argv, error)
    except (ImportError, MemoryError, OSError, RuntimeError) as error:
        short = memory.message_for(error)
        if short is not None:
            return _fail(argv, Exit.BAD_INPUT, error, TERMINAL(short))
        if isinstance(error, OSError):
            return _refuse(argv, error)
        return _report_bug(argv, error)
    except Exception as error:
        return _report_bug(argv, error)


def _comes_of_interruption(error: BaseException) -> bool:
    """Whether a KeyboardInterrupt led to an exception, as where a compiler reports its own."""
    seen: set[int] = set()
    chain: BaseException | None = error
    while chain is not None and id(chain) not in seen:
        if isinstance(chain, KeyboardInterrupt):
            return True
        seen.add(id(chain))
        chain = chain.__cause__ or chain.__context__
    return False


def _refuse(argv: list[str], error: BaseException) -> int:
    return _fail(argv, Exit.BAD_INPUT, error, clause(_message(error)))


def _report_bug(argv: list[str], error: BaseException) -> int:
    if _comes_of_interruption(error):
        return _fail(argv, Exit.INTERRUPTED, error, MESSAGE)
    what = f"{type(error).__name__}: {error}".strip().splitlines()[0]
    return _fail(
        argv,
        Exit.BUG,
        error,
        f"this is a bug in separatrix ({what}); SEPARATRIX_DEBUG=1 shows where",
    )


def _fail(argv: list[str], code: Exit, error: BaseException, message: str) -> int:
    try:
        sys.stdout.flush()
    except OSError:  # a full disk under stdout would fail once more when the interpreter ends
        silence(sys.stdout)
    if os.environ.get("SEPARATRIX_DEBUG"):
        write("".join(traceback.format_exception(error)), sys.stderr)
    # The options of a command that could not be parsed are not known, so the words are searched.
    if "--json" in argv:
        try:
            print_document(error_document(code, error, message))
            sys.stdout.flush()
        except OSError:
            silence(sys.stdout)
    print_message("error", message)
    return int(code)


def _message(error: BaseException) -> str:
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'the output'}: {error.strerror}"
    return TERMINAL(error)


@contextlib.contextmanager
def _forgiving_streams() -> Iterator[None]:
    """Open what is closed, buffer what is raw, and escape what a terminal has no letter for."""
    previous = sys.stdin, sys.stdout, sys.stderr
    # A stream that the caller has closed (``>&-``) is None.
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    raw = getattr(sys.stdout, "buffer", None)
    buffered = None
    if isinstance(raw, io.RawIOBase):
        # Unbuffered (PYTHONUNBUFFERED): one raw write may take a part and drop the rest, as on
        # a disk that is filling up; a buffer goes on until all is written or an error says why.
        buffered = io.BufferedWriter(raw)
        sys.stdout = io.TextIOWrapper(
            buffered,
            encoding=sys.stdout.encoding,
            errors=sys.stdout.errors,
            line_buffering=True,
        )
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            if stream.encoding.lower().replace("-", "") != "utf8":
                stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        yield
    finally:
        if buffered is not None:
            # Let go of the raw stream, which is the caller's, instead of closing it.
            with contextlib.suppress(OSError, ValueError):
                sys.stdout.detach()  # type: ignore[union-attr]
                buffered.detach()
        sys.stdin, sys.stdout, sys.stderr = previous
