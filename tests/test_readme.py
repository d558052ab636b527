"""README.md is short, shows what is printed, and links to what there is."""

from __future__ import annotations

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")


def loaded(path: str) -> ModuleType:
    """A script of the repository as a module."""
    spec = spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_readme_is_short():
    assert len(README.splitlines()) <= 180


def test_readme_shows_what_its_commands_and_examples_print(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "100")
    assert loaded("docs/readme.py").made_anew(README) == README


def test_other_output_is_found():
    readme = loaded("docs/readme.py")
    page = "```python\n>>> x = 1\n>>> for i in (x, 2):\n...     print(i)\n1\n3\n\n```\n"
    assert readme.made_anew(page) == page.replace("3", "2")
    page = "```console\n$ separatrix predict x.separatrix iris\n```\n"
    with pytest.raises(ValueError, match="exit code 3"):
        readme.made_anew(page)
    with pytest.raises(ValueError, match="no command of the library"):
        readme.made_anew("```console\n$ cat x\n```\n")


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), flags=re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_readme_links_to_what_there_is():
    for target, anchor in re.findall(r"\]\(([\w./-]+)(?:#([\w-]+))?\)", README):
        assert (ROOT / target).exists(), target
        assert not anchor or anchor in anchors(ROOT / target), f"{target}#{anchor}"


def test_readme_alone_has_no_link_that_needs_the_repository():
    """An index page shows the description without the files beside it."""
    described = loaded("setup.py").described
    alone = described(README, None)
    assert "](docs/" not in alone and "](CONTRIBUTING" not in alone and "![" not in alone
    assert "docs/certificate.md" in alone
    home = "https://example.org/separatrix"
    linked = described(README, home)
    assert f"]({home}/blob/HEAD/docs/certificate.md)" in linked
    assert f"]({home}/raw/HEAD/docs/images/studio.webp)" in linked
    assert "](docs/" not in linked
