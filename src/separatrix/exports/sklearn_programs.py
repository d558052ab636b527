"""The features that scikit-learn's fitted transformers compute, found by their classes' names."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, ClassVar

import numpy as np

from separatrix.data.design import as_design
from separatrix.data.labels import is_pipeline
from separatrix.exports.artefacts import Answers, Unprintable
from separatrix.exports.sklearn_models import sklearn_class
from separatrix.expressions.base import Evaluation
from separatrix.expressions.features import Program
from separatrix.expressions.scores import Wins, wins
from separatrix.tables.cells import ONE, ZERO, divided, less
from separatrix.tables.features import (
    Arithmetic,
    Cell,
    Compare,
    Condition,
    Constant,
    Feature,
    Function,
    IsLevel,
    IsMissing,
    Number,
    Power,
    Where,
    Words,
    cells_of,
    nodes_of,
)

REMARKS = (
    "A row that the pipeline refuses, as one with a category that was not seen in the fit, has no "
    "answer.",
    "None and NaN in a table of the pipeline are one here: a missing cell.",
)
NOTHING = Constant(math.nan)
LARGEST = Constant(sys.float_info.max)


@dataclass(frozen=True)
class Raw:
    """A column of the input that no step has made a number of.

    Attributes
    ----------
    name : str
    fill : str or None
        The text that its missing cells and ``marks`` are read as; None where they stay.
    gone : bool
        Whether missing cells are among those.
    marks : tuple of str
    """

    name: str
    fill: str | None = None
    gone: bool = False
    marks: tuple[str, ...] = ()
    n_columns: ClassVar[int] = 1

    @property
    def text(self) -> Cell:
        """Its cell as a text."""
        return Cell(self.name, "text")


Signal = Raw | Number | Words
# Conditions in the order of their evaluation, each with the outcome that counts; one that counts is
# enough.
Conditions = list[tuple[Condition, bool]]


def taken_apart(model: Any) -> tuple[list[Any], Any]:
    """The transformers of a pipeline and its model; no transformers for a model alone."""
    steps: list[Any] = []
    while sklearn_class(model) == "Pipeline":
        steps += [step for _, step in model.steps[:-1]]
        model = model.steps[-1][1]
    return steps, model


def input_names(steps: Sequence[Any], model: Any) -> list[str]:
    """The names of the columns that the first transformer, or the model, was fitted to."""
    first = _first(steps, model)
    names = getattr(first, "feature_names_in_", None)
    if names is not None:
        return [str(name) for name in names]
    count = getattr(first, "n_features_in_", None)
    return ["text"] if count is None else [f"x{j}" for j in range(int(count))]


def _first(steps: Sequence[Any], model: Any) -> Any:
    """The first transformer that changes something, or the model."""
    first = next((step for step in steps if not _is_idle(step)), model)
    while sklearn_class(first) == "Pipeline":
        first = first.steps[0][1]
    return first


def features_of(steps: Sequence[Any], columns: Sequence[str]) -> tuple[list[Feature], list[str]]:
    """The features that transformers, one after the other, make of columns, and their names."""
    signals: list[Signal] = [Raw(name) for name in columns]
    names = [*columns]
    for step in steps:
        if not _is_idle(step):
            signals = _applied(step, signals)
            names = _names(step, names, signals)
    return [one if isinstance(one, Words) else _number(one, "the model") for one in signals], names


def _is_idle(step: Any) -> bool:
    return step is None or step == "passthrough"


def _names(step: Any, before: list[str], signals: Sequence[Signal]) -> list[str]:
    """The names of what a step gives; numbers where it has none."""
    width = sum(one.n_columns for one in signals)
    try:
        found = [str(name) for name in step.get_feature_names_out()]
    except (AttributeError, ValueError):
        found = before
    return found if len(found) == width else [f"feature {k}" for k in range(width)]


def _applied(step: Any, signals: list[Signal]) -> list[Signal]:
    name = sklearn_class(step)
    if name == "Pipeline":
        for _, one in step.steps:
            signals = signals if _is_idle(one) else _applied(one, signals)
        return signals
    if name not in _STEPS:
        raise Unprintable(
            f"The step {type(step).__name__} has no formula here; steps that have one are "
            f"scikit-learn's {', '.join(_STEPS)}."
        )
    if name not in _OF_WORDS and any(isinstance(one, Words) for one in signals):
        raise Unprintable(
            f"The step {name} comes after words, which have an export as features of the model "
            "alone; leave the step out."
        )
    return [*_STEPS[name](step, signals)]


def _number(signal: Signal, where: str) -> Number:
    """A signal as a number, for a step or a model."""
    if isinstance(signal, Raw):
        if signal.fill is not None:
            raise Unprintable(f"Column {signal.name!r} holds texts, and {where} takes numbers.")
        return Cell(signal.name)
    assert isinstance(signal, Number)
    return signal


def _missing(signal: Raw | Number) -> Conditions:
    """Whether there is nothing in a signal."""
    if isinstance(signal, Raw):
        return [] if signal.gone else [(IsMissing(signal.text), True)]
    if any(isinstance(one, Where) for one in nodes_of(signal)):
        return [(Compare("==", signal, signal), False)]
    return [(IsMissing(cell), True) for cell in dict.fromkeys(cells_of(signal))]


def _chosen(conditions: Conditions, then: Number, otherwise: Number) -> Number:
    """A number where one of some conditions holds, and another where none does."""
    number = otherwise
    for condition, holds in reversed(conditions):
        first, second = (then, number) if holds else (number, then)
        number = Where(condition, first, second)
    return number


# --- numbers -------------------------------------------------------------------------------------


def _scaled(step: Any, signals: Sequence[Signal]) -> Iterable[Signal]:
    n = len(signals)
    shifts = step.mean_ if getattr(step, "with_mean", False) else getattr(step, "center_", None)
    shifts = np.zeros(n) if shifts is None else shifts
    scales = np.ones(n) if step.scale_ is None else step.scale_
    for one, shift, scale in zip(signals, shifts, scales, strict=True):
        own = divided(less(_number(one, sklearn_class(step)), float(shift)), float(scale))
        # MaxAbsScaler has an option to clip.
        yield _clipped(own, -1.0, 1.0) if getattr(step, "clip", False) else own


def _min_max(step: Any, signals: Sequence[Signal]) -> Iterable[Signal]:
    for one, scale, shift in zip(signals, step.scale_, step.min_, strict=True):
        own = Arithmetic("*", _number(one, "MinMaxScaler"), Constant(float(scale)))
        moved = Arithmetic("+", own, Constant(float(shift)))
        yield _clipped(moved, *map(float, step.feature_range)) if step.clip else moved


def _unless_infinite(number: Number, feature: Number) -> Number:
    """A feature that would hide that a number is infinite, which pipelines refuse."""
    return Where(Compare("<", LARGEST, Function("absolute", number)), NOTHING, feature)


def _clipped(number: Number, low: float, high: float) -> Number:
    within = Where(Compare("<", Constant(high), number), Constant(high), number)
    own = Where(Compare("<", number, Constant(low)), Constant(low), within)
    return _unless_infinite(number, own)


def _powers(step: Any, signals: Sequence[Signal]) -> Iterable[Signal]:
    numbers = [_number(one, "PolynomialFeatures") for one in signals]
    for row in step.powers_.tolist():
        factors = [
            one if power == 1 else Power(one, power)
            for one, power in zip(numbers, row, strict=True)
            if power
        ]
        yield reduce(partial(Arithmetic, "*"), factors) if factors else ONE


def _function(step: Any, signals: Sequence[Signal]) -> Iterable[Signal]:
    lowest = {np.log: 0.0, np.log1p: -1.0}
    if step.func is None:
        yield from signals
        return
    if step.func not in lowest or step.kw_args:
        raise Unprintable(
            f"The step FunctionTransformer has the function {step.func!r}, and only numpy.log and "
            "numpy.log1p have a formula here."
        )
    for one in signals:
        number = _number(one, "FunctionTransformer")
        there = Compare("<", Constant(lowest[step.func]), number)
        yield Where(there, Function(step.func.__name__, number), NOTHING)


def _bins(step: Any, signals: Sequence[Signal]) -> Iterable[Signal]:
    for one, edges in zip(signals, step.bin_edges_, strict=True):
        number = _number(one, "KBinsDiscretizer")
        inner = [float(edge) for edge in edges[1:-1]]
        finite = Compare("<=", Function("absolute", number), LARGEST)
        marks = [Compare("<", number, Constant(edge)) for edge in inner]
        if step.encode == "ordinal":
            place: Number = Constant(float(len(inner)))
            for k in reversed(range(len(inner))):
                place = Where(marks[k], Constant(float(k)), place)
            yield Where(finite, place, NOTHING)
            continue
        for k in range(len(inner) + 1):
            bin_: Number = Where(marks[k], ONE, ZERO) if k < len(inner) else ONE
            bin_ = Where(marks[k - 1], ZERO, bin_) if k else bin_
            # Cells without a finite number are in no bin, and one feature marks them for all.
            yield bin_ if k and k < len(inner) else Where(finite, bin_, ZERO if k else NOTHING)


# --- categories ----------------------------------------------------------------------------------


def _is_nothing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value)) or str(value) == "<NA>"


class _Categories:
    """The categories of a column, and the conditions under which a row has one.

    Parameters
    ----------
    signal : Signal
    values : ndarray of shape (n_categories,)
    step : str
    """

    def __init__(self, signal: Signal, values: Any, step: str):
        self.values: list[Any] = np.asarray(values).tolist()
        there = [value for value in self.values if not _is_nothing(value)]
        if all(isinstance(value, str) for value in there) and there:
            if not isinstance(signal, Raw):
                raise Unprintable(f"The step {step} has categories of text and takes numbers.")
            self.signal: Raw | Number = signal
        elif all(isinstance(value, (bool, int, float)) for value in there):
            self.signal = _number(signal, step)
        else:
            raise Unprintable(f"The step {step} has categories that are neither texts nor numbers.")
        if len(self.values) - len(there) > 1:
            raise Unprintable(
                f"The step {step} tells None from NaN, which are one missing cell elsewhere; "
                "replace one by the other before the fit."
            )

    def guarded(self, feature: Number) -> Number:
        """A feature that refuses infinite numbers, which are in no category."""
        if isinstance(self.signal, Raw):
            return feature
        return _unless_infinite(self.signal, feature)

    def conditions(self, places: Iterable[int]) -> Conditions:
        """The conditions under which a row has one of some categories."""
        own = [self.values[k] for k in places]
        there = [value for value in own if not _is_nothing(value)]
        missing = _missing(self.signal) if len(there) < len(own) else []
        signal = self.signal
        if not isinstance(signal, Raw):
            equal = [Compare("==", signal, Constant(float(value))) for value in there]
            return [*((one, True) for one in equal), *missing]
        texts = [text for text in there if text not in signal.marks]
        if signal.fill in there:
            texts += signal.marks
            missing = [(IsMissing(signal.text), True)] if signal.gone else []
        known: Conditions = [(IsLevel(signal.text, tuple(texts)), True)] if texts else []
        return [*known, *missing]


def _infrequent(step: Any, place: int, values: Sequence[Any]) -> list[int]:
    """The categories of a column that share a feature, as the last one."""
    # Only an encoder that looks for infrequent categories has these.
    every = getattr(step, "infrequent_categories_", None)
    infrequent = [] if every is None or every[place] is None else [*every[place].tolist()]
    nothing = any(map(_is_nothing, infrequent))
    return [
        k
        for k, value in enumerate(values)
        if (nothing if _is_nothing(value) else value in infrequent)
    ]


def _groups(n: int, rare: list[int]) -> list[list[int]]:
    """The categories of each feature."""
    return [*([k] for k in range(n) if k not in rare), *([rare] if rare else [])]


def _one_hot(step: Any, signals: Sequence[Signal]) -> Iterable[Signal]:
    for j, (signal, values) in enumerate(zip(signals, step.categories_, strict=True)):
        own = _Categories(signal, values, "OneHotEncoder")
        rare = _infrequent(step, j, own.values)
        groups = _groups(len(own.values), rare)
        known = own.conditions(range(len(own.values)))
        dropped = None if step.drop_idx_ is None else step.drop_idx_[j]
        first = True
        for group in groups:
            if dropped is not None and dropped in group:
                continue
            feature = _chosen(own.conditions(group), ONE, ZERO)
            if group == rare and step.handle_unknown in ("infrequent_if_exist", "warn"):
                others = [k for k in range(len(own.values)) if k not in group]
                feature = _chosen(own.conditions(others), ZERO, ONE)
            if first and step.handle_unknown == "error":
                feature = _chosen(known, feature, NOTHING)
            yield own.guarded(feature) if first else feature
            first = False


def _ordinal(step: Any, signals: Sequence[Signal]) -> Iterable[Signal]:
    unknown = NOTHING
    if step.handle_unknown == "use_encoded_value":
        unknown = Constant(float(step.unknown_value))
    for j, (signal, values) in enumerate(zip(signals, step.categories_, strict=True)):
        own = _Categories(signal, values, "OrdinalEncoder")
        place: Number = unknown
        missing = [k for k, value in enumerate(own.values) if _is_nothing(value)]
        n = len(own.values) - len(missing)
        groups = _groups(n, _infrequent(step, j, own.values[:n]))
        for code, group in reversed([*enumerate(groups)]):
            place = _chosen(own.conditions(group), Constant(float(code)), place)
        if missing:
            given = Constant(float(step.encoded_missing_value))
            place = _chosen(own.conditions(missing), given, place)
        yield own.guarded(place)


def _imputed(step: Any, signals: Sequence[Signal]) -> Iterable[Signal]:
    mark = step.missing_values
    gone = _is_nothing(mark)
    there: list[Conditions] = []
    for signal, fill in zip(signals, step.statistics_.tolist(), strict=True):
        if isinstance(fill, str) or isinstance(mark, str):
            if not isinstance(signal, Raw) or signal.fill is not None:
                raise Unprintable("The step SimpleImputer fills texts that a step has changed.")
            there.append(
                [(IsMissing(signal.text) if gone else IsLevel(signal.text, (str(mark),)), True)]
            )
            if _is_nothing(fill):
                continue
            yield replace(signal, fill=fill, gone=gone, marks=() if gone else (str(mark),))
            continue
        number = _number(signal, "SimpleImputer")
        own: Conditions = (
            _missing(number) if gone else [(Compare("==", number, Constant(float(mark))), True)]
        )
        there.append(own)
        if _is_nothing(fill) and not step.keep_empty_features:
            continue  # a column without a value in the fit is left out
        yield _chosen(own, Constant(0.0 if _is_nothing(fill) else float(fill)), number)
    if step.add_indicator:
        for place in step.indicator_.features_.tolist():
            yield _chosen(there[place], ONE, ZERO)


# --- words ---------------------------------------------------------------------------------------

_COUNTING = ("lowercase", "token_pattern", "ngram_range", "binary", "strip_accents")


def _counted(step: Any, signals: Sequence[Signal]) -> Iterable[Signal]:
    name = sklearn_class(step)
    given = {key: getattr(step, key) for key in ("tokenizer", "preprocessor")}
    if step.analyzer != "word" or any(given.values()) or callable(step.strip_accents):
        raise Unprintable(
            f"The step {name} has a function of its own for words; analyzer='word' without "
            "tokenizer, preprocessor and callables has a formula here."
        )
    (signal,) = signals
    if not isinstance(signal, Raw) or signal.fill or signal.marks:
        raise Unprintable(f"The step {name} takes a column of texts that no step has changed.")
    words = sorted(step.vocabulary_, key=step.vocabulary_.__getitem__)
    stops = step.get_stop_words()
    options = {key: getattr(step, key) for key in _COUNTING}
    options["stop_words"] = None if stops is None else sorted(stops)
    counted = Words(signal.text, tuple(words), (1.0,) * len(words), options)
    plain = {"sublinear_tf": False, "norm": None}
    yield _weighed(
        step if name == "TfidfVectorizer" else None, replace(counted, options=options | plain)
    )


def _weighed(step: Any, words: Words) -> Words:
    """Words with the weights of a step that has them."""
    if step is None:
        return words
    weights = tuple(step.idf_.tolist()) if step.use_idf else words.weights
    options = words.options | {"sublinear_tf": step.sublinear_tf, "norm": step.norm}
    return replace(words, weights=weights, options=options)


def _tfidf(step: Any, signals: Sequence[Signal]) -> Iterable[Signal]:
    if not all(isinstance(one, Words) for one in signals):
        raise Unprintable("The step TfidfTransformer has a formula after CountVectorizer alone.")
    return [_weighed(step, one) for one in signals if isinstance(one, Words)]


# --- columns -------------------------------------------------------------------------------------


def _by_columns(step: Any, signals: Sequence[Signal]) -> Iterable[Signal]:
    weights = step.transformer_weights or {}
    for name, one, _ in step.transformers_:
        places = step._transformer_to_input_indices[name]
        if (isinstance(one, str) and one == "drop") or not len(places):
            continue
        own = [signals[place] for place in places]
        made = own if _is_idle(one) else _applied(one, own)
        factor = weights.get(name)
        for signal in made:
            if factor is None:
                yield signal
            elif isinstance(signal, Words):
                raise Unprintable("ColumnTransformer has transformer_weights for words.")
            else:
                yield Arithmetic("*", _number(signal, "ColumnTransformer"), Constant(float(factor)))


_STEPS: dict[str, Callable[[Any, Sequence[Signal]], Iterable[Signal]]] = {
    "ColumnTransformer": _by_columns,
    "StandardScaler": _scaled,
    "MinMaxScaler": _min_max,
    "MaxAbsScaler": _scaled,
    "RobustScaler": _scaled,
    "OneHotEncoder": _one_hot,
    "OrdinalEncoder": _ordinal,
    "SimpleImputer": _imputed,
    "PolynomialFeatures": _powers,
    "KBinsDiscretizer": _bins,
    "FunctionTransformer": _function,
    "CountVectorizer": _counted,
    "TfidfVectorizer": _counted,
    "TfidfTransformer": _tfidf,
}
_OF_WORDS = ("TfidfTransformer",)


# --- scikit-learn's own answers ------------------------------------------------------------------


def answers_of(model: Any, program: Program, rows: Mapping[str, Sequence[Any]]) -> Answers:
    """The answers that a fitted model or pipeline itself gives for rows of its program's cells.

    Parameters
    ----------
    model : estimator
    program : Program
        The program that :func:`~separatrix.exports.programs.program_of` made of the model.
    rows : mapping of str to sequence
        The cells, as in ``Sample.rows``.

    Returns
    -------
    Answers

    Raises
    ------
    ValueError
        If the model refuses a row.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return _answers(model, program, rows)


def _answers(model: Any, program: Program, rows: Mapping[str, Sequence[Any]]) -> Answers:
    steps, last = taken_apart(model)
    X, trees = _input(steps, last, rows), program.prediction
    if hasattr(last, "_prediction"):
        for step in steps:
            X = X if _is_idle(step) else step.transform(X)
        values = Evaluation(as_design(X if program.kept is None else X[:, program.kept]))
        label, shares = (
            None if node is None else values.of(node) for node in (trees.label, trees.probabilities)
        )
        return Answers(values.of(trees.scores), label, shares)
    predicted = np.asarray(model.predict(X))
    if trees.label is None:
        return Answers(_finite(predicted.reshape(len(X), -1)))
    shares = None if trees.probabilities is None else np.asarray(model.predict_proba(X))
    if sklearn_class(last) == "CalibratedClassifierCV":
        assert shares is not None
        scores = shares[:, 1:] - shares[:, :1] if shares.shape[1] == 2 else shares
    else:
        scores = np.asarray(model.decision_function(X)).reshape(len(X), -1)
        if isinstance(trees.scores, Wins):
            # A share of less than one half settles what the wins leave equal.
            together = last.decision_function_shape == "ovr"
            scores = np.rint(scores) if together else wins(scores, trees.scores.n_classes)
    places = {label: k for k, label in enumerate(trees.classes)}
    return Answers(_finite(scores), np.array([places[one] for one in predicted.tolist()]), shares)


def _finite(scores: np.ndarray) -> np.ndarray:
    if not np.isfinite(scores).all():
        raise ValueError("The scores of a row are beyond the largest number.")
    return scores


def _input(steps: Sequence[Any], model: Any, rows: Mapping[str, Sequence[Any]]) -> Any:
    """The rows as a pipeline takes them: texts, an array or a data frame."""
    names = input_names(steps, model)
    features, _ = features_of(steps, names)
    read = [feature.cell.column for feature in features if isinstance(feature, Words)]
    first = _first(steps, model)
    if names == ["text"] and read == names and not hasattr(first, "n_features_in_"):
        return ["" if text is None else text for text in rows["text"]]
    kinds = {cell.column: cell.kind for feature in features for cell in cells_of(feature)}
    n = len(next(iter(rows.values())))
    nothing = None if _tells_none([*steps]) else math.nan
    columns: dict[str, Any] = {}
    for name in names:
        if kinds.get(name, "number") != "text":
            columns[name] = np.asarray(rows.get(name, np.zeros(n)), dtype=np.float64)
            continue
        gone = "" if name in read else nothing
        columns[name] = np.empty(n, dtype=object)
        columns[name][:] = [gone if v is None else v for v in rows.get(name, [None] * n)]
    if getattr(first, "feature_names_in_", None) is None:
        return np.column_stack([*columns.values()])
    import pandas as pd

    return pd.DataFrame(columns)


def _tells_none(steps: Iterable[Any]) -> bool:
    """Whether a step was fitted to None as a category."""
    inner = [one for step in steps for one in _inner(step)]
    own = [values for step in steps for values in getattr(step, "categories_", ())]
    return any(None in values.tolist() for values in own) or bool(inner and _tells_none(inner))


def _inner(step: Any) -> list[Any]:
    """The steps of a pipeline, or of the transformers of columns."""
    listed = step.steps if is_pipeline(step) else getattr(step, "transformers_", ())
    return [one[1] for one in listed]
