"""The common parts of ``fit`` and ``path``: the target, the rows, the words, the origin."""

from __future__ import annotations

import contextlib
import csv
import io
import shlex
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import click
import numpy as np

from separatrix._compiled import pool
from separatrix.assessment.decision import Decision
from separatrix.assessment.records import versions
from separatrix.assessment.scoring import Predictions, rarer_class
from separatrix.assessment.weights import column_spread, has_weights, largest_weights
from separatrix.cli.commands.fit.models import MODELS, OF_QUANTITIES, ModelOptions
from separatrix.cli.output import MANY_CLASSES, progress_bar
from separatrix.cli.reading import LabelledTable, read_training_table, target_name
from separatrix.cli.wording import Terminal
from separatrix.data.splitting import Fold, drawn_folds
from separatrix.exceptions import ConventionWarning, DataError, NotSeparableError
from separatrix.geometry.diagnosis.alerts import alerts_as_findings
from separatrix.geometry.diagnosis.findings import Finding
from separatrix.messages import counted, join, percent, quoted
from separatrix.models.registry import OFFERS
from separatrix.persistence.model_file import StoredModel
from separatrix.tables import Encoder, Table, looks_like_quantity, take_quantity, take_target
from separatrix.tables.column_parts import source_of
from separatrix.tables.roles import take_roles
from separatrix.tables.table import LevelMatch, label_text, missing_marks, quote

O = TypeVar("O", bound=ModelOptions)  # noqa: E741


@dataclass(frozen=True, eq=False)
class Target(LabelledTable):
    """A table, and what is predicted from it.

    Attributes
    ----------
    quantity : bool
        Whether `y` is a quantity.
    remark : str or None
        A remark on what was settled for the user, in one line.
    fingerprint : callable
        Waits for the fingerprint of the table, which is taken while other things are done.
    """

    quantity: bool
    remark: str | None
    fingerprint: Callable[[], str]

    @cached_property
    def classes(self) -> np.ndarray:
        """The different labels, or numbers."""
        return np.unique(self.y)

    @property
    def n_classes(self) -> int | None:
        """The number of classes; None for a quantity."""
        return None if self.quantity else len(self.classes)

    def fit_encoder(
        self,
        features: Table,
        rows: Any = slice(None),
        *,
        in_units: bool,
        encoding: dict[str, Any],
        standardise: bool | None = None,
    ) -> Encoder:
        """The encoding of some rows for a model that sees numbers as they are, or standardised.

        By default they are standardised unless coefficients are to be read in the table's units.
        """
        standardise = not in_units if standardise is None else standardise
        # Columns that give a quantity away show when it is fitted exactly.
        labels = None if self.quantity else self.y[rows]
        encoder = Encoder(standardise=standardise, reference=in_units, **encoding)
        return encoder.fit(features, labels)

    def folds(self, X: Any, count: int, *, seed: int) -> list[Fold]:
        """The rows of every fold to fit and to score, by times or groups where a column has them.

        Equal rows stay together otherwise.
        """
        return drawn_folds(
            count,
            X,
            self.y,
            self.roles.weights,
            self.roles.together if self.roles.grouped else None,
            times=self.roles.times,
            stratify=not self.quantity,
            seed=seed,
        )


def read_target(options: O) -> tuple[O, Target]:
    """Read the table, and settle what is predicted and by which model where none was named."""
    table = read_training_table(options)
    fingerprint = pool.aside(table.fingerprint)
    name = target_name(table, options.target)
    chosen = options.model is None
    if chosen or options.model == "lstsq":
        quantity = looks_like_quantity(table, name) or (not chosen and _constant(table, name))
    else:
        quantity = options.model in OF_QUANTITIES
    model = options.model or ("lstsq" if quantity else MODELS[0])
    settled = replace(options, target=name, model=model)
    if quantity:
        check_options_of_a_quantity(settled, chosen=chosen)
    target = target_in(settled, table, quantity=quantity, fingerprint=fingerprint)
    remark = None
    if quantity and chosen:
        remark = "a quantity, so least squares; --model poly for curves"
    elif model == "lstsq" and not quantity:
        count = len(target.classes)
        remark = f"{count} classes, so least squares on " + (
            "targets -1 and +1" if count == 2 else "one-hot targets"
        )
        if table.columns[name].dtype == np.float64:
            remark += f"; --kind {quote(f'{name}=number')} for a quantity"
    return settled, replace(target, remark=remark)


def target_in(
    settled: ModelOptions,
    table: Table,
    *,
    quantity: bool,
    fingerprint: Callable[[], str] | None = None,
) -> Target:
    """Take out what is predicted; ``settled``: options that name the target and the model."""
    name = str(settled.target)
    if quantity:
        features, y = take_quantity(table, name, least=OFFERS[str(settled.model)].least)
    else:
        features, y = take_target(table, name)
    features, roles = take_roles(features, given_roles(settled))
    fingerprint = fingerprint or table.fingerprint
    return Target(table, name, features, y, roles, quantity, None, fingerprint)


def given_roles(options: ModelOptions) -> dict[str, str | None]:
    """The columns of groups, times and weights, by role."""
    return {role: getattr(options, role) for role in ("group", "time", "weight")}


def _constant(table: Table, name: str) -> bool:
    """Whether a column holds one number only: as a quantity it is refused in better words."""
    column = table.columns[name]
    return column.dtype == np.float64 and len(np.unique(np.ma.compressed(column))) == 1


def check_options_of_a_quantity(settled: ModelOptions, *, chosen: bool) -> None:
    column = f"column {quote(settled.target)} is a quantity"
    if settled.class_weight is not None:
        raise click.UsageError(f"--class-weight is for classes, and {column}")
    if not chosen:
        return
    try:
        settled.check_model()
    except click.UsageError as error:
        raise click.UsageError(
            f"{column}, so least squares is fitted, but {error.message}"
        ) from error


def starting_values(
    options: ModelOptions, encoder: Encoder, n_classes: int | None
) -> dict[str, Any]:
    """The start of a fit, as estimators take it; empty where nothing was given.

    Raises
    ------
    click.UsageError
        If there are not as many numbers as weights.
    """
    given = options.start
    if given is None:
        return {}
    names = encoder.feature_names_
    if n_classes is not None and n_classes > 2:
        raise click.UsageError(
            f"--start is for two classes, and column {quoted(options.target)} has {n_classes:,}"
        )
    with_offset = len(given) == len(names) + 1 and not options.no_intercept
    if len(given) != len(names) and not with_offset:
        shown = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
        more = f", or {len(names) + 1:,} with the intercept"
        more = "" if options.no_intercept else more
        raise click.UsageError(
            f"--start has {counted(len(given), 'number')}, and there "
            f"{'is 1 feature' if len(names) == 1 else f'are {len(names):,} features'} "
            f"({shown}): give {len(names):,}{more}"
        )
    weights = {"coef_init": given[: len(names)]}
    return {**weights, "intercept_init": given[-1]} if with_offset else weights


# ------------------------------------------------------------------------------- the rows of a fit


@dataclass(frozen=True, eq=False, kw_only=True)
class SplitRows(ABC):
    """The rows that are fitted and those to measure on: in memory, or in row blocks.

    Attributes
    ----------
    options : ModelOptions
        The options, which name the target and the model.
    encoder : Encoder
    quantity : bool
        Whether the target is a quantity.
    n_classes : int or None
        The number of classes; None for a quantity.
    positive : label or None
        The positive class of two.
    n_fit, n_held : int
        The numbers of rows of the table that are fitted and that are held out.
    given : tuple
        The rows to fit, as estimators take them: a matrix and labels, or row blocks and None.
    weighted : dict
        The ``sample_weight`` that they take beside, where there is one.
    sample : matrix or None
        The rows by which the spread of a column is measured.
    numbers : ndarray of int, or None
        The numbers of the rows to fit in the table, where they are known.
    findings : tuple of Finding
        The findings in the matrix that the encoder did not make.
    features : list of int or None
        The places of the features that are kept, where they are not all of the encoder's.
    """

    options: Any
    encoder: Encoder
    quantity: bool
    n_classes: int | None
    n_fit: int
    n_held: int = 0
    positive: Any = None
    given: tuple[Any, Any]
    weighted: dict[str, np.ndarray] = field(default_factory=dict)
    sample: Any
    numbers: np.ndarray | None = None
    findings: tuple[Finding, ...] = ()
    features: list[int] | None = None

    # The bar that shows how far a fit is.
    bar: ClassVar[Any] = staticmethod(progress_bar)

    @abstractmethod
    def held_predictions(self, model: Any) -> tuple[Predictions, np.ndarray]:
        """The predictions of a model for the rows to measure on, and their labels.

        Raises
        ------
        ValueError
            If there are no rows to measure on.
        """

    @abstractmethod
    def scores(self, model: Any, decision: Decision | None) -> dict[str, Any] | None:
        """The scores of a model on the rows to measure on; None where there are none."""

    @abstractmethod
    def folds(self, cv: int) -> Any:
        """The folds of the rows to fit, as ``path`` of an estimator takes them."""

    @abstractmethod
    def data_record(self) -> dict[str, Any]:
        """The record of the table in a model file."""

    @abstractmethod
    def test_record(self) -> dict[str, Any] | None:
        """The record of another table to measure on in a model file; None where there is none."""

    @abstractmethod
    def make_report(self, stored: StoredModel) -> Any:
        """The report of a model that was just fitted."""

    @abstractmethod
    def evaluation(self, stored: StoredModel) -> Any:
        """The data from which pictures of a model that was just fitted are drawn."""

    @abstractmethod
    def split_again(
        self, role: str, column: str, *, shown: bool = False
    ) -> contextlib.AbstractContextManager[SplitRows]:
        """The rows as ``--group COLUMN`` or ``--time COLUMN`` would have split them.

        ``shown``: whether a bar shows how far the reading of them is, where they are read again.

        Raises
        ------
        DataError
            If they cannot be split in that way.
        """

    @abstractmethod
    def without(self, kept: Sequence[int]) -> SplitRows:
        """The same rows with some features, by the places of these among the present ones."""

    @abstractmethod
    def source_of(self, name: str) -> str:
        """The column of the table that a column of the encoding is, or is made of."""

    @property
    def sources(self) -> list[str]:
        """The column of the table that each feature is of."""
        found = [self.source_of(name or "") for name in self.encoder.columns_]
        return found if self.features is None else [found[j] for j in self.features]

    def places_of(self, kept: Sequence[int]) -> list[int]:
        """The places among all features of some of the present features."""
        return [*kept] if self.features is None else [self.features[j] for j in kept]

    def alerted_leaks(self) -> set[str]:
        """The columns that give the target away according to an alert."""
        # A part of a date stands for the date.
        source = dict(zip(self.encoder.feature_names_, self.sources, strict=True))
        found = [*alerts_as_findings(self.encoder), *self.findings]
        return {
            source.get(name) or source_of(name, self.encoder.spellings_) or name
            for one in found
            if one.code in ("gives_label_away", "nearly_gives_label_away")
            for name in one.where.get("columns", ())
        }

    def fit(self, model: Any) -> None:
        """Fit a model to the rows."""
        model.fit(*self.given, **self.weighted, **self.start)

    @property
    def start(self) -> dict[str, Any]:
        """The start of a fit, as estimators take it; empty where nothing was given."""
        return starting_values(self.options, self.encoder, self.n_classes)

    def until_saved(self) -> contextlib.AbstractContextManager[None]:
        """The context from the fit to the model file, which keeps what a fit continues from."""
        return contextlib.nullcontext()

    def fitted_scores(self, model: Any) -> dict[str, Any] | None:
        """The scores of a model of a quantity on the rows to fit; None where not printed."""
        return None

    @property
    def split_by(self) -> dict[str, str]:
        """The fields of a model file about the split, beside its numbers."""
        return {}

    @property
    def held_notes(self) -> list[str]:
        """Notes on the encoding of the rows to measure on."""
        return []

    def describe_passes(self, model: Any) -> str | None:
        """The number of passes over the rows that a fit took, in words, where it makes any."""
        return None

    def how_to_resume(self, model: Any) -> str | None:
        """The way to continue a fit that was interrupted, where it is one in passes."""
        return None

    def largest_weights(self, model: Any) -> list[dict[str, Any]] | None:
        """Return the largest weights of the columns; None for a model without weights."""
        if self.sample is None or not has_weights(model):
            return None
        names, scales = self.encoder.feature_names_, self.encoder.scales_
        spread = column_spread(self.sample)
        return largest_weights(model, names, spread, scales=scales, positive=self.positive)

    def origin(self, command: str, model: Any, **measured: Any) -> dict[str, Any]:
        """The record of the origin of a model in its file.

        Parameters
        ----------
        command : str
            The command that does the same again.
        model : estimator
        **measured
            ``trained`` and ``held_out``, the scores on the rows that were fitted and on those that
            were not, and ``weights``; each may be None.
        """
        options = self.options
        marks = missing_marks(options.missing) if options.missing else None
        return {
            "command": command,
            "config": {
                **options.to_dict(),
                **({} if marks is None else {"missing_marks": sorted(marks)}),
                "test_size": options.test_size,
                "parameters": model.get_params(),
            },
            "target": options.target,
            "data": self.data_record(),
            "split": {
                "fit_rows": self.n_fit,
                "held_out_rows": self.n_held,
                "test_size": options.test_size,
                "seed": options.seed,
                "stratified": not (self.quantity or self.split_by),
                # Equal rows are on one side of the split.
                "together": True,
                **self.split_by,
            },
            "quantity": self.quantity,
            **measured,
            # Files of earlier versions have weights per feature, which may be standardised.
            "weights_per": "unit",
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": versions(),
        }


def positive_class(options: Any, classes: np.ndarray | None, counts: np.ndarray) -> Any:
    """Return the positive class of two, the one named or the rarer; None for any other target.

    Parameters
    ----------
    options : FitOptions
    classes : ndarray or None
        The classes; None for a quantity.
    counts : ndarray
        The rows of each class.
    """
    flags = ("positive", "threshold", "optimise")
    named = [f"--{name}" for name in flags if getattr(options, name) is not None]
    if classes is None or len(classes) != 2:
        if named:
            has = "is a quantity" if classes is None else f"has {len(classes):,} classes"
            raise click.UsageError(
                f"{named[0]} needs a target of two classes, and column "
                f"{quoted(options.target)} {has}"
            )
        return None
    if options.positive is None:
        return rarer_class(classes, counts)
    found = LevelMatch([label_text(label) for label in classes.tolist()]).find(options.positive)
    if found < 0:
        raise click.UsageError(
            f"--positive {options.positive} is not one of the classes, which are "
            f"{join(map(quoted, classes.tolist()))}"
        )
    return classes[found].item()


def describe_positive(options: Any, positive: Any, share: float) -> str:
    """The positive class, why it is that one, and how many of the rows have it."""
    rows = percent(share)
    why = f"the rarer, {rows}" if options.positive is None else f"{rows} of the rows"
    return f"{quoted(positive)} ({why})"


def how_held_out(options: ModelOptions, otherwise: str) -> str:
    """The rule by which rows are held out, in words: times, groups, or what ``otherwise`` names."""
    if options.time is not None:
        return f"the latest by {quoted(options.time)}"
    by = otherwise if options.group is None else f"by {quoted(options.group)}"
    return f"{by}, seed {options.seed}"


def how_folded(options: Any, *, quantity: bool) -> str:
    """The rule by which folds are made, in words."""
    if options.time is not None:
        by = quoted(options.time)
        return f"{options.cv}, each fits the rows before those that it scores, by {by}"
    together = f"by {quoted(options.group)}" if options.group else "equal rows stay together"
    kind = "at random" if quantity else "stratified"
    return f"{options.cv}, {kind}, seed {options.seed}; {together}"


_FEW_ROWS = 12


def describe_split(options: ModelOptions, fitted: int, held: int, how: str) -> str:
    """The numbers of rows that are fitted and held out, and the rule for it, in words."""
    if options.test is not None and held:
        return f"{fitted:,} to fit, {counted(held, 'row')} of {options.test} to measure on"
    if not held:
        return f"{fitted:,} to fit, none held out"
    # A few points of one's own are meant to be fitted, all of them.
    all_of_them = "; --test-size 0 fits all rows" if fitted + held < _FEW_ROWS else ""
    return f"{fitted:,} to fit, {held:,} held out ({how}){all_of_them}"


# ------------------------------------------------------------------------------- words of a fit


def in_words(message: BaseException | str, encoder: Encoder) -> str:
    """A message of the library about a fit, in the words of the command line and of the table."""
    return " ".join(Terminal(encoder.feature_names_)(message).split())


@contextlib.contextmanager
def catching_warnings(encoder: Encoder) -> Iterator[list[warnings.WarningMessage]]:
    """Catch what a fit warns of, and put into words what it refuses."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", message=MANY_CLASSES)
        try:
            yield caught
        except NotSeparableError:
            raise
        except DataError as error:
            raise DataError(in_words(error, encoder)) from error
        except ValueError as error:
            # The table was checked before, so what an estimator refuses now is an option.
            raise click.UsageError(in_words(error, encoder)) from error
        finally:
            # Who types a command comes from no other library.
            foreign = DeprecationWarning, ConventionWarning
            caught[:] = [w for w in caught if not issubclass(w.category, foreign)]


# ------------------------------------------------------------------------------------ the command


def _listed(value: Any) -> str:
    """A value of an option, or several with commas between them."""
    if isinstance(value, str):
        return value
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(value)
    return line.getvalue()


def command_line(config: dict[str, Any], command: str) -> str:
    """The command that does the same again."""
    words = ["separatrix", command, config["data"]]
    for option, value in config.items():
        name = {"kinds": "kind"}.get(option, option).replace("_", "-")
        if option == "average" and value is False:
            words.append("--no-average")  # the one flag that is not off by itself
        elif option == "data" or value is None or value is False:
            continue
        elif value is True:
            words.append(f"--{name}")
        elif isinstance(value, dict):
            words += [f"--{name}={key}={_listed(item)}" for key, item in value.items()]
        elif isinstance(value, tuple):
            words.append(f"--{name}={','.join(f'{one:g}' for one in value)}")
        elif isinstance(value, list):
            words += [f"--{name}={item}" for item in value]
        else:
            words.append(f"--{name}={value}")
    return shlex.join(words)
