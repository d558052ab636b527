"""The ablation benchmark: its tricks and rows, its measurement and its table."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import __main__ as command
from benchmarks import ablation

pytestmark = pytest.mark.benchmarks


def test_a_trick_stands_on_a_row_once():
    named = [(one.trick, one.row) for one in ablation.ABLATIONS]
    assert len(named) == len(set(named))
    assert len({trick for trick, _ in named}) >= 10


def test_the_command_prints_a_row(capsys, monkeypatch, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- ablation -->\n<!-- end of ablation -->\n")
    monkeypatch.setattr(ablation.report, "PAGE", page)
    words = ["ablation", "--rows", "100 x 2 log C=1", "--repeats", "1", "--docs"]
    assert command.main(words) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "| trick | row | with, ms | without, ms | ratio |"
    assert shown[2].startswith("| compiled steps | 100 x 2 log C=1 | ")
    assert "above the gap" not in shown[2]
    assert shown[2] in page.read_text().splitlines()


def test_what_the_first_fit_compiles_does_not_count(monkeypatch):
    # The first fit of one side takes 10 s, the others of it 1 s; those of the other side 5 s each.
    clock, fits = [0.0], [iter([10.0, 1.0, 1.0, 1.0]), iter([5.0] * 9)]

    def side(seconds):
        def fit():
            clock[0] += next(seconds)
            return True

        return fit

    monkeypatch.setattr(ablation.time, "process_time", lambda: clock[0])
    row = ablation.Ablation("one", "slow", lambda: [side(seconds) for seconds in fits])
    found = ablation.measure(row, repeats=3)
    assert (found.having, found.lacking) == (1e3, 5e3)
    # A long fit is repeated once.
    assert len(list(fits[1])) == 9 - 2


def test_a_trick_is_judged_by_its_best_row():
    rows = [
        ablation.Found("one", "slow", 1.0, 1.1, (False, False)),
        ablation.Found("one", "fast", 100.0, 250.0, (False, True)),
        ablation.Found("two", "slow", 2.0, 2.2, (False, False)),
    ]
    shown = ablation.text(rows).splitlines()
    assert shown[2] == "| one | fast | 100 | 250 (above the gap) | **2.50** |"
    assert shown[3] == "| one | slow | 1.0 | 1.1 | 1.10 |"
    assert shown[-1] == "Tricks below 1.3 on every row: two."


def test_machines_are_fitted_apart_without_the_batch(monkeypatch):
    batches = []
    module = sys.modules[ablation.SVC.__module__]
    whole = module.minimise_batch
    monkeypatch.setattr(
        module, "minimise_batch", lambda *given, **kw: batches.append(1) or whole(*given, **kw)
    )
    X, y = ablation._standardised("iris")
    for model, count in ((ablation.SVC, 1), (ablation._Apart, 0)):
        batches.clear()
        assert model().fit(X, y).certificate_.ok
        assert len(batches) == count


def test_tiles_are_back_after_a_fit_without_them():
    known = ablation.outer_products.KNOWN
    with pytest.raises(ZeroDivisionError), ablation._without_tiles():
        assert not ablation.outer_products.KNOWN
        raise ZeroDivisionError
    assert known == ablation.outer_products.KNOWN
