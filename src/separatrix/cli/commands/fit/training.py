"""What ``fit`` and ``path`` share: the target, the encoding, the words of a fit, its origin."""

from __future__ import annotations

import contextlib
import csv
import io
import shlex
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, TypeVar

import click
import numpy as np

from separatrix._compiled import pool
from separatrix.assessment.decision import Decision
from separatrix.assessment.records import versions
from separatrix.assessment.scoring import Predictions, predictions
from separatrix.assessment.weights import column_spread, has_weights, largest_weights
from separatrix.cli.commands.fit.models import MODELS, OF_QUANTITIES, ModelOptions
from separatrix.cli.output import MANY_CLASSES
from separatrix.cli.reading import (
    LabelledTable,
    read_like,
    read_training_table,
    target_name,
)
from separatrix.cli.wording import Terminal
from separatrix.data.splitting import Fold, drawn_folds
from separatrix.exceptions import ConventionWarning, DataError, NotSeparableError
from separatrix.messages import said_by
from separatrix.models.registry import OFFERS
from separatrix.tables import (
    DEFAULT_MISSING,
    Encoder,
    Table,
    looks_like_quantity,
    take_quantity,
    take_target,
)
from separatrix.tables.reader import OPTIONS
from separatrix.tables.roles import take_roles
from separatrix.tables.table import missing_marks, quote

O = TypeVar("O", bound=ModelOptions)  # noqa: E741


@dataclass(frozen=True, eq=False)
class Target(LabelledTable):
    """A table, and what is predicted from it.

    Attributes
    ----------
    quantity : bool
        Whether `y` is a quantity.
    remark : str or None
        What was settled for the user, in one line.
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
        """None of a quantity."""
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

        By default they are where coefficients are not to be read in the units of the table.
        """
        standardise = not in_units if standardise is None else standardise
        # That columns give a quantity away shows when it is fitted exactly.
        labels = None if self.quantity else self.y[rows]
        encoder = Encoder(standardise=standardise, reference=in_units, **encoding)
        return encoder.fit(features, labels)

    def folds(self, X: Any, count: int, *, grouped: bool, seed: int) -> list[Fold]:
        """The rows of every fold to fit and to score; equal rows stay together, or groups."""
        return drawn_folds(
            count,
            X,
            self.y,
            self.roles.weights,
            self.roles.together if grouped else None,
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
    remark = None
    if quantity:
        _check_options_of_a_quantity(settled, chosen=chosen)
        features, y = take_quantity(table, name, least=OFFERS[model].least)
        features, roles = take_roles(features, given_roles(options))
        if chosen:
            remark = "a quantity, so least squares; --model poly for curves"
        return settled, Target(table, name, features, y, roles, True, remark, fingerprint)
    features, y = take_target(table, name)
    features, roles = take_roles(features, given_roles(options))
    if model == "lstsq":
        count = len(np.unique(y))
        remark = f"{count} classes, so least squares on " + (
            "targets -1 and +1" if count == 2 else "one-hot targets"
        )
        if table.columns[name].dtype == np.float64:
            remark += f"; --kind {quote(f'{name}=number')} for a quantity"
    return settled, Target(table, name, features, y, roles, False, remark, fingerprint)


def given_roles(options: ModelOptions) -> dict[str, str | None]:
    """The columns that say something of the rows and are no features."""
    return {role: getattr(options, role) for role in ("group", "time", "weight")}


def _constant(table: Table, name: str) -> bool:
    """Whether a column holds one number only: as a quantity it is refused in better words."""
    column = table.columns[name]
    return column.dtype == np.float64 and len(np.unique(np.ma.compressed(column))) == 1


def _check_options_of_a_quantity(settled: ModelOptions, *, chosen: bool) -> None:
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


@dataclass(frozen=True, eq=False)
class Test:
    """The rows of another table, to measure on."""

    table: Table
    features: Table
    X: Any
    y: np.ndarray
    weights: np.ndarray | None

    def record(self) -> dict[str, Any]:
        """What a model file says of them."""
        return {
            "source": self.table.source,
            "rows": self.table.n_rows,
            "fingerprint": self.table.fingerprint(),
        }


def read_test(options: ModelOptions, target: Target, encoder: Encoder) -> Test:
    """Read a table as that of the fit was read, and encode it."""
    table = read_like(
        encoder,
        str(options.test),
        missing_marks(options.missing or DEFAULT_MISSING),
        target=target.name,
        **{name: getattr(options, name) for name in OPTIONS if name != "sql"},
    )
    table = table.drop(name for name in options.ignore if name in table.columns)
    if options.drop_missing_target:
        table = table.drop_missing(target.name)
    if target.quantity:
        least = OFFERS[options.model or MODELS[0]].least
        features, y = take_quantity(table, target.name, fitted=True, least=least)
    else:
        features, y = take_target(table, target.name, classes=target.classes.tolist())
    features, roles = take_roles(features, given_roles(options), equal=False, absent=True)
    return Test(table, features, encoder.transform(features), y, roles.weights)


@dataclass(frozen=True, eq=False)
class Encoded:
    """The rows to fit, by their numbers, and those that are held out, if any."""

    encoder: Encoder
    rows: np.ndarray
    X: Any
    y: np.ndarray
    held_X: Any = None
    held_y: Any = None
    weights: np.ndarray | None = None
    held_weights: np.ndarray | None = None
    test: Test | None = None

    @property
    def has_held(self) -> bool:
        """Whether there are rows to measure on."""
        return self.held_X is not None

    def predict_held(self, model: Any, decision: Decision | None = None) -> Predictions:
        """What a model says of the rows that are held out."""
        return predictions(model, self.held_X, decision)

    def largest_weights(self, model: Any) -> list[dict[str, Any]] | None:
        """Return the largest weights of the columns; None for a model without weights."""
        if not has_weights(model):
            return None
        encoder = self.encoder
        spread = column_spread(self.X)
        return largest_weights(model, encoder.feature_names_, spread, scales=encoder.scales_)


# ------------------------------------------------------------------------------- words of a fit


def in_words(said: BaseException | str, encoder: Encoder) -> str:
    """What the library says of a fit, in the words of the command line and of the table."""
    return " ".join(Terminal(encoder.feature_names_)(said_by(said)).split())


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


# ------------------------------------------------------------------------------------- origin


def origin_record(
    options: ModelOptions,
    command: str,
    model: Any,
    *,
    data: dict[str, Any],
    split: dict[str, Any],
    quantity: bool,
    **measured: Any,
) -> dict[str, Any]:
    """What a model file says of where its model came from.

    Parameters
    ----------
    options : ModelOptions
    command : str
        The command that does the same again.
    model : estimator
    data : dict
        Of the table, see :func:`data_record`.
    split : dict
        Of the rows, see :func:`split_record`.
    quantity : bool
        Whether a quantity is predicted.
    **measured
        ``trained`` and ``held_out``, the scores on the rows that were fitted and on those that
        were not, and ``weights``; each may be None.
    """
    return {
        "command": command,
        "config": {
            **options.record(),
            **(
                {"missing_marks": sorted(missing_marks(options.missing))} if options.missing else {}
            ),
            "test_size": split["test_size"],
            "parameters": model.get_params(),
        },
        "target": options.target,
        "data": data,
        "split": split,
        "quantity": quantity,
        **measured,
        # Files of earlier versions have those of features, which may be standardised.
        "weights_per": "unit",
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
    }


def split_record(
    options: ModelOptions, target: Target, data: Encoded, test_size: float
) -> dict[str, Any]:
    """What a model file says of which rows were fitted, and which were held out."""
    return {
        "fit_rows": len(data.rows),
        "held_out_rows": len(target.y) - len(data.rows),
        "test_size": test_size,
        "seed": options.seed,
        "stratified": not target.quantity,
        # Equal rows are on one side.
        "together": True,
    }


def data_record(target: Target, encoder: Encoder) -> dict[str, Any]:
    """What a model file says of its data."""
    return {
        "source": target.table.source,
        "rows": target.table.n_rows,
        "columns": list(target.features.names),
        "missing": encoder.n_missing(target.features),
        # Of the labels too: verify must notice when one was changed.
        "fingerprint": target.fingerprint(),
        "summary": encoder.summary_,
    }


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
        elif isinstance(value, list):
            words += [f"--{name}={item}" for item in value]
        else:
            words.append(f"--{name}={value}")
    return shlex.join(words)
