"""The rules of the studio's page: what lets its files be served, and be joined into one module."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import separatrix

PAGE = Path(separatrix.__file__).parent / "studio" / "page"
SCRIPTS = sorted(PAGE.glob("*.js"))
_IMPORT = re.compile(r'^import (?:\{ [\w, ]+ \}|\w+) from "\./(\w+)\.js";$')
_TOP = re.compile(r"^(?:export )?(?:async )?(?:function|class|const|let) (\w+)")


def _lines(script: Path) -> list[str]:
    return script.read_text(encoding="utf-8").splitlines()


def test_there_are_scripts():
    assert len(SCRIPTS) > 20


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_asks_only_for_its_neighbours(script):
    names = []
    for line in _lines(script):
        if line.startswith("import "):
            match = _IMPORT.match(line)
            assert match, line
            names.append(match[1])
        assert "import(" not in line and "eval(" not in line and "innerHTML" not in line, line
    assert all((PAGE / f"{name}.js").exists() for name in names)
    # Those who wish to change one thing read one file.
    assert len(_lines(script)) <= 350


def test_names_are_of_one_file_alone():
    names = Counter(
        match[1] for script in SCRIPTS for line in _lines(script) if (match := _TOP.match(line))
    )
    assert [name for name, count in names.items() if count > 1] == []
    defaults = [script.stem for script in SCRIPTS if "export default" in script.read_text("utf-8")]
    assert defaults == ["studio"]


def test_nothing_comes_from_elsewhere_and_nothing_is_inline():
    for path in (*SCRIPTS, PAGE / "studio.css", PAGE / "index.html", PAGE / "mark.svg"):
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://", text), path.name
    html = (PAGE / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", html)
    css = (PAGE / "studio.css").read_text(encoding="utf-8")
    assert "url(" not in css and "@import" not in css


def test_imports_go_one_way():
    imports = {
        script.stem: {m[1] for line in _lines(script) if (m := _IMPORT.match(line))}
        for script in SCRIPTS
    }
    done: set[str] = set()
    while ready := {name for name in imports if name not in done and imports[name] <= done}:
        done |= ready
    assert done == set(imports), f"these import each other: {sorted(set(imports) - done)}"


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node on this machine")
def test_pasted_text_is_read_or_refused_in_a_sentence(tmp_path):
    for script in PAGE.glob("*.js"):
        shutil.copy(script, tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "paste.js").write_text(
        """
import { fromCsv, toCsv } from "./data.js";
const crlf = 'x,"y\\r\\nin metres",class\\r\\n1,2,"a\\r\\nb"\\r\\n3,4,c\\r\\n';
const read = fromCsv(crlf, 2000);
const found = JSON.stringify([read.points, read.names.y, read.names.classes]);
const expected = JSON.stringify([[[1, 2, 0], [3, 4, 1]], "y\\nin metres", ["a\\nb", "c"]]);
if (found !== expected) throw new Error(found);
const copied = fromCsv(toCsv({ ...read, model: "logistic" }), 2000);
if (JSON.stringify(copied) !== JSON.stringify(read)) throw new Error(JSON.stringify(copied));
const rubbish = String.fromCharCode(...Array.from({ length: 999 }, (_, i) => (i * i * 37) % 65536));
const hostile = ["", "\\r\\n", rubbish, "z".repeat(1e6), "1,2\\n".repeat(5000),
  '1,2\\n"3,4\\n' + "5,6\\n".repeat(2e4), "1,2,a\\n3,4," + "z".repeat(1e6), "1,2\\n1e400,1"];
for (const text of hostile) {
  let said = "";
  try { fromCsv(text, 2000); } catch (error) { said = error.message; }
  const sentence = /^\\p{Lu}.{10,200}\\.$/u.test(said);
  if (!sentence) throw new Error(`${text.slice(0, 20)}: ${said.slice(0, 300)}`);
}
console.log("read");
""",
        encoding="utf-8",
    )
    done = subprocess.run(
        ["node", str(tmp_path / "paste.js")],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.stdout.strip() == "read", done.stderr


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node on this machine")
def test_a_link_carries_the_state_and_a_broken_one_nothing(tmp_path):
    # Node takes a .js file for a module only where a package says so.
    shutil.copy(PAGE / "share.js", tmp_path / "share.mjs")
    program = tmp_path / "link.mjs"
    program.write_text(
        """
import { toFragment, fromFragment } from "./share.mjs";
const state = {
  version: 1, points: [[-1, 3, 0], [0, 1.5, 1], [0.125, -2.75, 1]],
  names: { x: "Länge", y: "x2", classes: ["-1", "+1"] },
  view: { x: [-4, 4], y: [-4, 4], lock: true },
  model: "perceptron", parameters: { start: [1, -2, 0] }, panel: "none", show: { field: true },
};
const fragment = toFragment(state);
if (!/^#s=[\\w-]+$/.test(fragment)) throw new Error(fragment);
const back = fromFragment(fragment);
for (const key of Object.keys(state)) {
  if (JSON.stringify(back[key]) !== JSON.stringify(state[key])) throw new Error(key);
}
for (const broken of ["", "#", "#s=", "#s=%", fragment.slice(0, -9), "#s=e30", "#t" + fragment]) {
  if (fromFragment(broken) !== null) throw new Error(broken);
}
console.log("same");
""",
        encoding="utf-8",
    )
    done = subprocess.run(
        ["node", str(program)],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.stdout.strip() == "same", done.stderr
