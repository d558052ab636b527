"""The documentation: its examples run, its lists are complete, docstrings explain everything."""

from __future__ import annotations

import ast
import doctest
import gc
import inspect
import io
import re
import shlex
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import is_dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import separatrix.plots
from course import EXAMPLES, text_of
from grids import grid
from separatrix.certificate import REMEDIES
from separatrix.cli import main
from separatrix.losses import MarginLoss
from sources import sources

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
LESSONS = sorted(EXAMPLES.glob("[0-9][0-9]_*.py"))
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
PAGES = sorted(path for path in DOCS.glob("*.md") if ">>> " in path.read_text("utf-8"))
MODULES = (
    "separatrix",
    "separatrix.geometry",
    "separatrix.plots",
    "separatrix.losses",
    "separatrix.kernels",
    "separatrix.lifts",
    "separatrix.schedules",
    "separatrix.scale",
)


# --- pages ----------------------------------------------------------------------------------


def test_the_pages_that_are_run():
    pages = "index start tour walk choosing certificate from_scikit_learn design"
    assert set(pages.split()) <= {path.stem for path in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_examples_of_pages(page: Path):
    before = set(MarginLoss.__subclasses__())
    # The fence that ends a block is no part of what its last example prints.
    text = re.sub(r"^```.*$", "", page.read_text("utf-8"), flags=re.M)
    test = doctest.DocTestParser().get_doctest(text, {"__name__": "page"}, page.name, str(page), 0)
    said = io.StringIO()
    results = doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(test, out=said.write)
    assert results.failed == 0, said.getvalue()
    assert results.attempted > 0
    # A loss that a page defines enrols itself in the tests of losses; it must not outlive its page.
    test.globs.clear()
    gc.collect()
    assert set(MarginLoss.__subclasses__()) == before


def sessions(page: Path) -> list[list[tuple[str, str]]]:
    """Commands of the blocks of a terminal, each with what it prints."""
    blocks = re.findall(r"^```console\n(.*?)^```", page.read_text("utf-8"), flags=re.M | re.S)
    return [re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, flags=re.M) for block in blocks]


def test_terminal_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    done = 0
    for command, printed in [pair for block in sessions(DOCS / "start.md") for pair in block]:
        program, *arguments = shlex.split(command)
        assert program == "separatrix"
        screen = io.StringIO()
        with redirect_stdout(screen), redirect_stderr(screen):
            code = main(arguments)
        assert code in (0, 1), screen.getvalue()
        same = doctest.OutputChecker().check_output(printed, screen.getvalue(), FLAGS)
        assert same, f"$ {command}\n{screen.getvalue()}"
        done += 1
    assert done >= 4


def test_links_between_pages():
    for page in DOCS.glob("*.md"):
        for target in re.findall(r"\]\(([\w./-]+)(?:#[\w-]+)?\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_walk_leads_to_every_lesson():
    text = (DOCS / "walk.md").read_text("utf-8")
    lessons = [path.name for path in (ROOT / "examples").glob("[0-9]*.py")]
    assert len(lessons) > 10
    assert [name for name in lessons if f"](../examples/{name})" not in text] == []


def test_every_status_is_a_sentence():
    # The page of the certificate lists them as they are.
    for status, text in REMEDIES.items():
        assert text or status == "optimal"
        assert not text.endswith("."), status


# --- the reference --------------------------------------------------------------------------


def listed() -> list[tuple[str, str]]:
    """Module and name of every entry of the reference."""
    entries = []
    for page in (DOCS / "api").glob("*.rst"):
        module = ""
        for line in page.read_text("utf-8").splitlines():
            if line.startswith(".. currentmodule:: "):
                module = line.split()[-1]
            elif module and re.fullmatch(r"   \w+", line):
                entries.append((module, line.strip()))
    return entries


def public() -> list[tuple[str, str]]:
    """Module and name of everything public, each once, where a user would import it from."""
    top = set(separatrix.__all__)
    return [
        (module, name)
        for module in MODULES
        for name in import_module(module).__all__
        if module == "separatrix" or name not in top
    ]


def test_the_reference_is_complete():
    entries = listed()
    assert len(entries) == len(set(entries))
    assert set(entries) == {*public(), ("separatrix.certificate", "REMEDIES")}


def sections(text: str) -> dict[str, str]:
    """The sections of a numpydoc docstring, by title."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}$", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def named(section: str) -> set[str]:
    """The names that a section of parameters or attributes explains."""
    lines = re.findall(r"^([*\w][\w*, ]*?)(?: : .*)?$", section, flags=re.M)
    return {name.strip().lstrip("*") for line in lines for name in line.split(",")}


def resolved(entry: tuple[str, str]) -> Any:
    """The class or function of that name; None for a constant."""
    thing = getattr(import_module(entry[0]), entry[1])
    return thing if inspect.isclass(thing) or inspect.isroutine(thing) else None


def parameters(thing: Any) -> set[str]:
    try:
        signature = inspect.signature(thing)
    except ValueError:  # an exception that takes what all exceptions take
        return set()
    return set(signature.parameters) - {"self", "cls"}


@grid("entry", public(), ids=".".join)
def test_every_parameter_is_explained(entry: tuple[str, str]):
    thing = resolved(entry)
    if thing is None:
        return
    assert thing.__doc__, "no docstring"
    told = sections(inspect.getdoc(thing) or "")
    explained = named(told.get("Parameters", "")) | named(told.get("Other Parameters", ""))
    if is_dataclass(thing):
        # A record's parameters are its attributes.
        assert parameters(thing) <= explained | named(told.get("Attributes", ""))
    else:
        assert parameters(thing) == explained


# Made by functions, whose examples show them, or there to be subclassed.
_SHOWN_ELSEWHERE = {
    "DataError",
    "ModelFileError",
    "MarginLoss",
    "ResidualLoss",
    "Loss",
    "Kernel",
    "InnerProductKernel",
    "Schedule",
}


@grid("entry", public(), ids=".".join)
def test_every_example_is_there(entry: tuple[str, str]):
    thing = resolved(entry)
    if thing is None:
        return
    record = is_dataclass(thing) and thing.__module__.startswith("separatrix.geometry")
    if thing.__name__ in _SHOWN_ELSEWHERE or (record and thing.__name__ != "Hyperplane"):
        return
    assert ">>> " in sections(inspect.getdoc(thing) or "").get("Examples", "")


@grid("entry", public(), ids=".".join)
def test_every_method_says_what_it_does(entry: tuple[str, str]):
    thing = resolved(entry)
    if not inspect.isclass(thing):
        return
    for name in dir(thing):
        member = inspect.getattr_static(thing, name)
        function = getattr(member, "__func__", None) or getattr(member, "fget", None) or member
        ours = inspect.isfunction(function) and function.__module__.startswith("separatrix")
        if ours and not name.startswith("_"):
            # A method that takes the place of an inherited one has its docstring, too.
            said = inspect.getdoc(member if isinstance(member, property) else getattr(thing, name))
            assert said, name


# Words with which a phrase begins that has no subject.
_NO_SUBJECT = re.compile(
    r"(Of|Some|That|By|As many|By how much|By which|What is|What are|For what|For each|For every)\b"
)


def test_every_docstring_begins_with_its_subject():
    # A file is parsed where one of these words follows a quote, as the first of a docstring does.
    after_quote = re.compile(rf"""["'](\\\n)?\s*{_NO_SUBJECT.pattern}""")
    found = [
        f"{source.path.name}: {text.splitlines()[0]}"
        for source in sources()
        if after_quote.search(source.path.read_text("utf-8"))
        for text in source.docstrings
        if _NO_SUBJECT.match(text)
    ]
    assert found == []


# A parameter or an attribute with its type, and a description below it that has no subject.
_DESCRIBED = re.compile(
    r"^( +)([\w*]+) : .+\n"
    r"\1    (Of|As many|So many|Some of|By how much|By which|How much|How many)\b",
    re.MULTILINE,
)


def test_every_description_of_a_parameter_begins_with_its_subject():
    found = [
        f"{source.path.name}: {name}"
        for source in sources()
        for _, name, _ in _DESCRIBED.findall(source.path.read_text("utf-8"))
    ]
    assert found == []


# --- what builds the pages, where it is installed -------------------------------------------


def extension(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    return import_module(name)


def test_lessons_are_notebooks(monkeypatch: pytest.MonkeyPatch):
    gallery = pytest.importorskip("sphinx_gallery.gen_gallery")
    writer, parser = map(
        import_module, ("sphinx_gallery.notebook", "sphinx_gallery.py_source_parser")
    )
    monkeypatch.setattr(writer, "rst2md", None)
    extension("notebooks", monkeypatch).setup(None)
    for path in LESSONS:
        _, blocks = parser.split_code_and_text_blocks(path)
        made = writer.jupyter_notebook(blocks, gallery.DEFAULT_GALLERY_CONF, path.parent)
        if find_spec("nbformat"):
            import_module("nbformat").validate(made)
        texts, codes = (
            ["".join(cell["source"]) for cell in made["cells"] if cell["cell_type"] == kind]
            for kind in ("markdown", "code")
        )
        # The cells run as the page does: they are its statements, less its docstring.
        source = path.read_text("utf-8")
        page = ast.parse(source)
        page.body = page.body[1:]
        assert ast.dump(ast.parse("\n".join(codes))) == ast.dump(page), path.name
        markdown, text = "\n".join(texts), text_of(source)
        prose = re.sub(r"^ *```python\n.*?^ *```$", "", markdown, flags=re.M | re.S)
        left = re.findall(r".*(?:::|:\w+:`|^ *\.\. |>`|`_\b|>>> |sphx_glr).*", prose, re.M)
        assert not left, f"{path.name}: {left}"
        folded = re.findall(r"^<details>\n<summary>(.*?)\n</details>$", markdown, re.M | re.S)
        assert len(folded) == text.count(".. admonition:: Solution") > 0, path.name
        assert markdown.count("> **Exercise**") == text.count(".. admonition:: Exercise")
        statements = doctest.DocTestParser().get_examples
        shown = [one.source for one in statements("\n".join(folded))]
        assert shown == [one.source for one in statements(text)], path.name
        for formula in re.findall(r":math:`([^`]+)`", text):
            assert f"${' '.join(formula.split())}$" in prose, f"{path.name}: {formula}"


@pytest.mark.parametrize(
    ("formula", "made"),
    [
        (r"\tfrac12\|w\|^2", "<mn>1</mn>    <mn>2</mn>"),
        (r"\frac1n\sum_i z_i", "<mn>1</mn>    <mi>n</mi>"),
        (r"\max(0,1-z)", "<mn>0</mn>  <mo>,</mo>"),
        (r"x_1, \dots, x_n", "…"),
        (r"P^*", "<mo>∗</mo>"),
        (r"u\log(-u)", "<mspace"),
        (r"\{-1,+1\}", '<mo stretchy="false">{</mo>'),
        (r"\left(R\right)^2\|x\|", '<mo stretchy="false">‖</mo>'),
        (r"\left\|x\right\|", "<mo>‖</mo>"),
        (r"\lVert w\rVert", '<mo stretchy="false">‖</mo>  <mi>w</mi>'),
        (r"\min_i y_i", '</munder><mspace width="0.1667em"></mspace>'),
    ],
)
def test_formulas_need_no_script(formula: str, made: str, monkeypatch: pytest.MonkeyPatch):
    mathml = extension("mathml", monkeypatch)
    nodes = pytest.importorskip("docutils.nodes")
    converted = mathml._converted(nodes.math(formula, formula), block=False)
    assert made in converted.replace("\n", "")
    assert converted.startswith("<math")


def formulas() -> list[tuple[str, str, bool]]:
    """File, formula and whether it is displayed, for all pages, docstrings and lessons."""
    markdown_it = pytest.importorskip("markdown_it")
    dollars = pytest.importorskip("mdit_py_plugins.dollarmath").dollarmath_plugin
    reader = markdown_it.MarkdownIt("commonmark").enable("table").use(dollars)
    found = []
    for page in DOCS.glob("*.md"):
        for token in reader.parse(page.read_text("utf-8")):
            found += [
                (page.name, part.content, part.type == "math_block")
                for part in (token, *(token.children or ()))
                if part.type.startswith("math")
            ]
    # To parse all files for their docstrings would take longer than to draw the formulas.
    texts = [
        (source.path, ast.literal_eval(text))
        for source in sources()
        for text in re.findall(r'r?"""[^"]*(?:"[^"]+)*"""', source.path.read_text("utf-8"))
        if ":math:`" in text or ".. math::" in text
    ]
    for path in (ROOT / "examples").glob("*.py"):
        texts.append((path, re.sub(r"^# ?", "", path.read_text("utf-8"), flags=re.M)))
    for path, text in texts:
        found += [(path.name, one, False) for one in re.findall(r":math:`([^`]*)`", text)]
        blocks = re.findall(r"\.\. math::\s((?:.*\S.*\n?)+)", text)
        found += [(path.name, one, True) for one in blocks]
    return found


def test_every_formula_can_be_drawn(monkeypatch: pytest.MonkeyPatch):
    mathml = extension("mathml", monkeypatch)
    nodes = pytest.importorskip("docutils.nodes")
    failed = []
    monkeypatch.setattr(mathml.logger, "warning", lambda text, *args, **_: failed.append(args))
    all_formulas = formulas()
    assert len(all_formulas) > 900
    for formula, displayed in {one[1:] for one in all_formulas}:
        mathml._converted(nodes.math(formula, formula), block=displayed)
    assert failed == []


def test_a_page_that_loads_something_is_found(monkeypatch: pytest.MonkeyPatch):
    addresses = extension("offline", monkeypatch).addresses
    assert addresses('<script async src="https://one/a.js"></script>') == ["https://one/a.js"]
    assert addresses("<link rel=stylesheet href='//two/b.css'>") == ["//two/b.css"]
    assert addresses("<style>@import url(https://three/c.css)</style>") == ["https://three/c.css"]
    assert addresses('<a href="https://four/">a link</a> <img src="_images/five.svg">') == []


def test_every_constant_of_a_tuning_is_documented_with_its_own_type() -> None:
    found = 0
    for source in sources():
        text = source.path.read_text("utf-8")
        if "\nclass Tuning:" not in text:
            continue
        found += 1
        body = text.split("\nclass Tuning:", 1)[1].split("\n\n\n", 1)[0]
        fields = re.findall(r"^    (\w+): (.+?) = ", body, re.MULTILINE)
        documented = re.findall(r"^    (\w+) : (.+)\n        [A-Z`]", body, re.MULTILINE)
        words = [(name, kind.removesuffix(" of pairs")) for name, kind in documented]
        assert [(name, kind.split("[")[0]) for name, kind in fields] == words, source.path
    assert found > 10
