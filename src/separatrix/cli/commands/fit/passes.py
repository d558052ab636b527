"""The row blocks of a table that would not fit the memory: ``fit`` and ``path`` in passes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, ClassVar

import click
import numpy as np

from separatrix.assessment.blocks import score_blocks
from separatrix.assessment.decision import Decision
from separatrix.assessment.scoring import Predictions, predictions
from separatrix.cli.commands.fit import FitOptions
from separatrix.cli.commands.fit.in_memory import MatrixRows, split
from separatrix.cli.commands.fit.models import (
    MODELS,
    OF_QUANTITIES,
    ModelOptions,
    build_model,
)
from separatrix.cli.commands.fit.training import (
    SplitRows,
    check_options_of_a_quantity,
    describe_positive,
    describe_split,
    how_held_out,
    in_words,
    positive_class,
    starting_values,
    target_in,
)
from separatrix.cli.output import Output, passes_bar, reading_bar
from separatrix.cli.reading import (
    PASSED_ON,
    SHOWN,
    engine_of,
    held_out,
    memory_of,
    report_alerts,
    sample_of,
    scan_by,
    scan_where_weighted,
    training_sample,
)
from separatrix.cli.wording import TERMINAL
from separatrix.exceptions import DataError
from separatrix.geometry.diagnosis.alerts import ranked_alerts
from separatrix.messages import counted, quoted
from separatrix.models.blocked import keeps_passes
from separatrix.models.blocked import refusal as refusal_in_passes
from separatrix.persistence.model_file import StoredModel
from separatrix.scale import BlockedData
from separatrix.scale.checkpoints import kept_until_end
from separatrix.scale.lifting import narrowed
from separatrix.scale.samples import sample_size
from separatrix.tables import DEFAULT_MISSING, Table
from separatrix.tables.column_parts import source_of
from separatrix.tables.estimating import bytes_in_memory
from separatrix.tables.table import missing_marks

# The share of the memory that a second fit takes beside the first.
_BESIDE = 0.8
# Fewer rows of a sample are no evidence of groups, times and leaks.
_LEAST_SAMPLE = 400
# The share of a sample that is held out where the rows to measure on are another table.
_TEST_SIZE = 0.2


@dataclass(frozen=True, eq=False, kw_only=True)
class BlockRows(SplitRows):
    """Row blocks in the place of encoded matrices: those of the fit, and those to measure on."""

    data: BlockedData
    test: BlockedData | None = None
    # Whether a fit leaves what it can be continued from.
    checkpointed: bool = True

    bar: ClassVar[Any] = staticmethod(passes_bar)

    @property
    def split_by(self) -> dict[str, str]:
        roles = (name for name in ("group", "time") if getattr(self.options, name, None))
        return {"by": next(roles, "hash")}

    @property
    def checkpoint(self) -> str:
        """The file from which an interrupted fit is continued."""
        return f"{self.options.output}.checkpoint"

    @property
    def measured(self) -> BlockedData:
        """The rows to measure on."""
        return held_out(self.data) if self.test is None else self.test

    def fit(self, model: Any) -> None:
        try:
            with engine_of(self.options) as engine:
                given: dict[str, Any] = {"engine": engine, **self.start}
                if self.checkpointed and keeps_passes(model):
                    given["checkpoint"] = self.checkpoint
                # A model that takes no row blocks refuses them itself.
                taken = signature(model.fit).parameters
                own = {name: value for name, value in given.items() if name in taken}
                model.fit(self.data, **own)
        except TypeError as error:
            raise click.UsageError(in_words(error, self.encoder)) from error

    def until_saved(self) -> AbstractContextManager[None]:
        return kept_until_end()

    def held_predictions(self, model: Any) -> tuple[Predictions, np.ndarray]:
        """Predict as in the base class, keeping a few numbers of each row and not the rows."""
        parts, labels = [], []
        for block in self.measured.blocks:
            rows = block.load()
            parts.append(predictions(model, rows.matrix))
            labels.append(np.array(rows.target))
        if not parts:
            raise ValueError("no rows are held out")
        assert self.measured.classes is not None
        return Predictions.joined(parts), self.measured.classes[np.concatenate(labels)]

    def scores(self, model: Any, decision: Decision | None) -> dict[str, Any] | None:
        if not self.measured.blocks:
            return None
        found = score_blocks(model, self.measured, positive=self.positive, decision=decision)
        if not found.get("roc_auc_error"):
            # The area is that of all scores in order.
            found.pop("roc_auc_error", None)
        return found

    def folds(self, cv: int) -> Any:
        return cv

    def data_record(self) -> dict[str, Any]:
        data = self.data
        return {
            "source": data.source,
            "rows": self.n_fit + self.n_held,
            "columns": list(self.encoder.kinds_),
            "missing": None,
            "fingerprint": data.fingerprint,
            "summary": self.encoder.summary_,
            # It decides about the blocks, in whose order sums were taken.
            "in_passes": {"memory": data.memory},
        }

    def test_record(self) -> dict[str, Any] | None:
        test = self.test
        if test is None:
            return None
        return {"source": test.source, "rows": test.n_rows, "fingerprint": test.fingerprint}

    def make_report(self, stored: StoredModel) -> Any:
        from separatrix.cli.commands.report.run import of_blocks

        return of_blocks(stored, self.data, self._sample(stored), test=self.test)

    def evaluation(self, stored: StoredModel) -> Any:
        from separatrix.assessment.evaluation_data import of_sample

        sample, own = self._sample(stored), self.data.fingerprint
        return of_sample(stored, sample, target=None, figures=(), fingerprint=own)

    def _sample(self, stored: StoredModel) -> Table:
        """A sample of the rows of the table."""
        # The marks of missing values are those that the model file has.
        return sample_of(stored, replace(self.options, missing=None))

    def source_of(self, name: str) -> str:
        return source_of(name, self.encoder.spellings_) or name

    @contextmanager
    def split_again(self, role: str, column: str, *, shown: bool = False) -> Iterator[BlockRows]:
        options = replace(self.options, **{role: column})
        # The rows of the fit are in memory in part, and in their folder, where they stay.
        limit = str(int(_BESIDE * memory_of(options.memory)))
        with tempfile.TemporaryDirectory(prefix="separatrix-", dir=options.cache) as folder:
            own = scanned(replace(options, memory=limit, cache=folder), shown=shown)
            yield replace(own, positive=self.positive, checkpointed=False)

    def without(self, kept: Sequence[int]) -> BlockRows:
        data = narrowed(self.data, kept)
        return replace(
            self,
            data=data,
            given=(data, None),
            test=None if self.test is None else narrowed(self.test, kept),
            features=self.places_of(kept),
            checkpointed=False,
        )

    def sampled(self, together: str | None = None) -> MatrixRows | None:
        """A sample of the rows in memory, split at random, or by the options that split all rows.

        ``together``: a column whose equal values are drawn together.  None where the memory holds
        too few rows, and where they cannot be split.
        """
        options, n_rows = self.options, self.n_fit + self.n_held
        width = bytes_in_memory(options.data, sql=options.sql) / max(n_rows, 1)
        most = min(SHOWN, sample_size(n_rows, width, memory_of(options.memory)))
        if most < _LEAST_SAMPLE:
            return None
        options = replace(options, test=None, test_size=options.test_size or _TEST_SIZE)
        try:
            table = training_sample(options, most, together=together or options.group)
            target = target_in(options, table, quantity=self.quantity)
            if target.n_classes != self.n_classes:
                return None
            return split(options, target, self.positive)
        except DataError:
            # The sample lacks what all rows have, such as two rows of a rare class.
            return None

    def describe_passes(self, model: Any) -> str | None:
        nbytes = self.data.nbytes
        size = f"{nbytes / 1e9:.2g} GB" if nbytes > 1e8 else f"{nbytes / 1e6:.2g} MB"
        count, blocks = getattr(model, "n_passes_", 1), counted(len(self.data.blocks), "block")
        return f"{count} over {size} in {blocks}"

    def how_to_resume(self, model: Any) -> str | None:
        if not keeps_passes(model):
            return f"a fit of --model {self.options.model} starts again: --resume has no pass of it"
        if os.path.exists(self.checkpoint):
            return f"--resume continues from {self.checkpoint}"
        return "no pass was completed, so --resume has nothing to continue from"


# -------------------------------------------------------------------------------- before the fit


def read(out: Output, options: FitOptions) -> BlockRows:
    """Look through a table to fit, and encode it in row blocks."""
    rows = scanned(options, _check_classes, shown=not out.quiet)
    options, data = rows.options, rows.data
    starting_values(options, rows.encoder, rows.n_classes)
    rows = replace(rows, positive=positive_class(options, data.classes, data.class_rows))
    if options.test is not None:
        rows = replace(rows, test=_test(options, data))
    report_blocks(out, rows)
    n_test = 0 if rows.test is None else rows.test.n_rows
    how = how_held_out(options, "by a hash of the row")
    out.report("split", describe_split(options, rows.n_fit, n_test or rows.n_held, how))
    if data.classes is not None and rows.positive is not None:
        share = data.class_rows[list(data.classes).index(rows.positive)] / max(rows.n_fit, 1)
        out.report("positive", describe_positive(options, rows.positive, float(share)))
    _prepare(out, rows.checkpoint, options.resume)
    return rows


def _require_no_whole_table(options: ModelOptions) -> None:
    """Refuse what needs the whole table."""
    drawn = next((name for name in ("report", "plot") if getattr(options, name, None)), None)
    if drawn and options.sql:
        raise click.UsageError(
            f"--{drawn} takes a sample of the file, which does not contain the rows that --sql "
            "selects: leave out one of them, or give a larger --memory"
        )


def _check_classes(options: FitOptions, classes: np.ndarray | None) -> None:
    """Refuse options that the target does not suit, before rows are encoded."""
    positive_class(options, classes, np.zeros(0 if classes is None else len(classes)))
    require_in_passes(build_model(options), None if classes is None else len(classes))


def require_in_passes(model: Any, n_classes: int | None = None) -> None:
    """Refuse a model that cannot be fitted in passes, for the number of classes where known."""
    refusal = refusal_in_passes(model, n_classes)
    if refusal is not None:
        raise click.UsageError(TERMINAL(refusal)) from refusal


def scanned(
    options: ModelOptions,
    check: Callable[[Any, np.ndarray | None], None] = lambda options, classes: None,
    *,
    shown: bool,
) -> BlockRows:
    """The row blocks of the table to learn from, with the target and the model that they settle.

    ``check``: called with the settled options and the classes, before rows are encoded.  ``shown``:
    whether a bar shows how far the reading is.
    """
    _require_no_whole_table(options)
    named = replace(options, target=options.target or "target")
    quantity = None
    if options.model is not None and options.model != "lstsq":
        quantity = options.model in OF_QUANTITIES

    def settled(classes: np.ndarray | None) -> ModelOptions:
        model = options.model or ("lstsq" if classes is None else MODELS[0])
        return replace(named, model=model)

    def on_target(classes: np.ndarray | None) -> dict[str, bool]:
        own = settled(classes)
        if classes is None:
            check_options_of_a_quantity(own, chosen=options.model is None)
        check(own, classes)
        return {"standardise": own.standardises, "reference": own.in_units}

    with reading_bar(shown=shown) as on_progress, engine_of(options) as engine:
        data = scan_by(
            vars(options),
            options.data,
            named.target,
            memory=memory_of(options.memory),
            cache=options.cache,
            cache_limit=options.cache_limit,
            test_size=options.test_size,
            seed=options.seed,
            standardise=options.standardises,
            reference=options.in_units,
            **options.of_encoder(),
            kinds=dict(options.kinds),
            missing=options.missing or DEFAULT_MISSING,
            quantity=quantity,
            on_progress=on_progress,
            engine=engine,
            on_target=on_target,
        )
    # The connection of the reading has ended; the fit has one of its own.
    data = replace(data, engine=None)
    return BlockRows(
        options=settled(data.classes),
        encoder=data.encoder,
        quantity=data.classes is None,
        n_classes=None if data.classes is None else len(data.classes),
        n_fit=data.n_rows,
        n_held=held_out(data).n_rows,
        given=(data, None),
        sample=None if data.sample is None else data.sample.matrix,
        data=data,
    )


def _test(options: FitOptions, data: BlockedData) -> BlockedData:
    """The rows of another table, to measure on, encoded as those of the fit are."""
    own = (options.target, options.weight)
    test = scan_where_weighted(
        options.test,
        options.target,
        weight=options.weight,
        memory=memory_of(options.memory),
        # They are gone through a few times, and no fit is.
        cache_limit=0,
        kinds={name: kind for name, kind in options.kinds.items() if name in own},
        missing=missing_marks(options.missing or DEFAULT_MISSING),
        ignore=tuple(name for name in options.ignore if name not in data.encoder.kinds_),
        encoder=data.encoder,
        quantity=data.classes is None,
        drop_missing_target=options.drop_missing_target,
        **{
            **{name: value for name in PASSED_ON if (value := getattr(options, name))},
            "ignore_unusable": True,
        },
    )
    if data.classes is not None:
        assert test.classes is not None
        new = ~np.isin(test.classes, data.classes)
        if new.any():
            raise DataError(
                f"{test.source} has rows of class {quoted(test.classes[new][0].item())}, which "
                f"does not occur in {data.source}"
            )
    return test


def report_blocks(out: Output, rows: BlockRows) -> None:
    """Print what was read, and in which blocks."""
    data, encoder = rows.data, rows.encoder
    out.report(
        "read",
        f"{counted(rows.n_fit + rows.n_held, 'row')}, {encoder.summary_} -> "
        f"{counted(data.n_features, 'feature')}",
    )
    if encoder.formula_ is not None:
        out.report("formula", f"{rows.options.target} ~ {encoder.formula_}")
    for note in data.notes[:1]:
        out.report("blocks", note)
    for note in data.notes[1:]:
        out.note(note)
    report_alerts(out, ranked_alerts(encoder))


def _prepare(out: Output, checkpoint: str, resume: bool) -> None:
    """Remove an earlier checkpoint, or note that there is none to resume from."""
    if not resume:
        _forget(checkpoint)
    elif not os.path.exists(checkpoint):
        out.note(
            f"there is no {checkpoint}: the earlier fit was completed, or it ended before its "
            "first complete pass. This fit starts with its first pass; row groups that are encoded "
            "are not encoded again"
        )


def _forget(checkpoint: str) -> None:
    """Remove the checkpoint of an earlier fit, which counts for nothing without --resume."""
    try:
        os.unlink(checkpoint)
    except FileNotFoundError:
        return
    except OSError as error:
        raise DataError(f"{checkpoint} cannot be removed: {error.strerror}") from error
