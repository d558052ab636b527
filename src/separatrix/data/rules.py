"""Rules that the attributes of fitted models are held to, where they come from a file.

A model that was read from a file is made of whatever the file holds, and compiled loops follow the
sizes that it states without looking.  So every estimator states a rule for each of its attributes
(``_attributes``): its type, its shape in terms of the others' sizes, what its numbers may be.
An attribute that breaks a rule is reported in one sentence.

Sizes have names: ``d`` columns, ``K`` classes, ``h`` half-spaces (one for two classes, else one a
class), ``pairs`` of classes, ``K-1``, ``m`` targets.  Any other name stands for a size that the
first array with it settles.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.certificate import REMEDIES, Certificate, ResidualCertificate

# Columns of a machine without support vectors, and the like, where no array is as long as they.
MOST_UNSEEN = 1_000_000
# Certificates have parts, and these might.
_DEEPEST = 4
TRUTH = (bool, np.bool_)
WHOLE = (int, np.integer)
NUMBERS = (int, float, np.integer, np.floating)
_LABELS = (str, *TRUTH, *NUMBERS)


class ModelCheckError(ValueError):
    """The fault of a model, as the end of a sentence: ``coef_ has the shape ...``."""


def refuse(name: str, why: str) -> ModelCheckError:
    return ModelCheckError(f"{name} {why}")


# --- rules -----------------------------------------------------------------------------------


@dataclass
class Sizes:
    """The sizes of one model, as far as they are known."""

    # The attributes of the model.
    own: dict[str, Any] = field(default_factory=dict)
    # Attributes that only other estimators have, or no file may hold.
    foreign: Callable[[], frozenset[str]] = frozenset
    known: dict[str, int] = field(default_factory=lambda: {"3": 3})
    # Numbers of a fit that overflowed need not be finite.
    overflowed: bool = False

    def hold(self, name: str, shape: tuple[int, ...], wanted: tuple[str, ...]) -> None:
        """Settle the sizes that are new; raise ModelCheckError where one is another."""
        good = len(shape) == len(wanted)
        for size, found in zip(wanted, shape, strict=False):
            good = good and self.known.setdefault(size, found) == found
        if not good:
            sizes = [f"{self.known[size]:,}" if size in self.known else size for size in wanted]
            raise refuse(
                name,
                f"has the shape ({', '.join(f'{n:,}' for n in shape)}), and the rest of the "
                f"model requires ({', '.join(sizes)})",
            )


Rule = Callable[[str, Any, Sizes], None]
Rules = dict[str, Rule]


def array(*shape: str, finite: bool = True, low: float = -math.inf, single: bool = False) -> Rule:
    """An array of float64, or of float32 where that may be."""

    def check(name: str, value: Any, sizes: Sizes) -> None:
        _require_array(name, value)
        if value.dtype != np.float64 and not (single and value.dtype == np.float32):
            raise refuse(name, f"holds {value.dtype}, and not float64")
        sizes.hold(name, value.shape, shape)
        _require_numbers(name, value, finite and not sizes.overflowed, low)

    return check


def whole_array(*shape: str, low: int = 0, below: str | None = None) -> Rule:
    """An array of whole numbers, from ``low`` to less than the size ``below``."""

    def check(name: str, value: Any, sizes: Sizes) -> None:
        _require_array(name, value)
        if value.dtype.kind != "i":
            raise refuse(name, f"holds {value.dtype}, and not whole numbers")
        sizes.hold(name, value.shape, shape)
        most = math.inf if below is None else sizes.known.get(below, math.inf)
        if value.size and not low <= int(value.min()) <= int(value.max()) < most:
            raise refuse(name, f"has a number that is not at least {low} and less than {most:,}")

    return check


def flags(*shape: str) -> Rule:
    def check(name: str, value: Any, sizes: Sizes) -> None:
        _require_array(name, value)
        if value.dtype != np.bool_:
            raise refuse(name, f"holds {value.dtype}, and not true and false")
        sizes.hold(name, value.shape, shape)

    return check


def number(*, finite: bool = True, low: float = -math.inf) -> Rule:
    def check(name: str, value: Any, sizes: Sizes) -> None:
        if not isinstance(value, NUMBERS) or isinstance(value, TRUTH):
            raise refuse(name, f"is of {type(value).__name__}, and not a number")
        _require_numbers(name, np.float64(value), finite and not sizes.overflowed, low)

    return check


def whole(low: int = 0, most: int = 2**53) -> Rule:
    def check(name: str, value: Any, sizes: Sizes) -> None:
        if not isinstance(value, WHOLE) or isinstance(value, TRUTH):
            raise refuse(name, f"is of {type(value).__name__}, and not a whole number")
        if not low <= value <= most:
            raise refuse(name, f"is not a whole number from {low:,} to {most:,}")

    return check


def text(name: str, value: Any, sizes: Sizes) -> None:
    if not isinstance(value, str):
        raise refuse(name, f"is of {type(value).__name__}, and not a text")


def texts(name: str, value: Any, sizes: Sizes) -> None:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise refuse(name, "is not a list of texts")


def either(alone: Rule, several: Rule) -> Rule:
    """A rule for one target, and another for several."""

    def check(name: str, value: Any, sizes: Sizes) -> None:
        (several if isinstance(value, np.ndarray) and value.ndim else alone)(name, value, sizes)

    return check


def _require_array(name: str, value: Any) -> None:
    if not isinstance(value, np.ndarray):
        raise refuse(name, f"is of {type(value).__name__}, and not an array")


def _require_numbers(name: str, value: Any, finite: bool, low: float) -> None:
    if finite and not np.all(np.isfinite(value)):
        raise refuse(name, "holds NaN or infinity")
    # NaN, where it may be, is not less than anything.
    if low > -math.inf and np.any(value < low):
        raise refuse(name, f"holds a number less than {low:g}")


def classes(name: str, value: Any, sizes: Sizes) -> None:
    _require_array(name, value)
    if value.ndim != 1 or len(value) < 2 or value.dtype.kind not in "biufUTO":
        raise refuse(name, "is not a list of two labels or more")
    if value.dtype.kind == "O" and not all(isinstance(item, _LABELS) for item in value.tolist()):
        raise refuse(name, "holds a value that cannot be a label")
    # Labels are looked up by bisection.
    if not all(bool(a < b) for a, b in zip(value[:-1].tolist(), value[1:].tolist(), strict=True)):
        raise refuse(name, "does not hold distinct labels in ascending order")
    _require_numbers(name, value, value.dtype.kind == "f", -math.inf)
    k = len(value)
    sizes.known.update({"K": k, "K-1": k - 1, "h": 1 if k == 2 else k, "pairs": k * (k - 1) // 2})


def names(name: str, value: Any, sizes: Sizes) -> None:
    _require_array(name, value)
    if value.dtype.kind not in "OUT" or not all(isinstance(n, str) for n in value.ravel().tolist()):
        raise refuse(name, "does not hold names")
    sizes.hold(name, value.shape, ("d",))


def any_certificate(name: str, value: Any, sizes: Sizes) -> None:
    if not isinstance(value, Certificate):
        raise refuse(name, f"is of {type(value).__name__}, and not a certificate")
    _check_certificate(name, value, ("gap", "relative_gap"), 0)
    for part in (value, *value.parts):
        if math.isfinite(part.gap) and math.isfinite(part.primal) and part.primal:
            relative = part.gap / abs(part.primal)
            if not abs(part.relative_gap - relative) <= 1e-3 * relative:
                raise refuse(
                    name,
                    f"states the relative gap {part.relative_gap:.3g}, but its gap {part.gap:.3g} "
                    f"relative to {part.primal:.3g} is {relative:.3g}",
                )


def _residual_certificate(name: str, value: Any, sizes: Sizes) -> None:
    if not isinstance(value, ResidualCertificate):
        raise refuse(name, f"is of {type(value).__name__}, and not a certificate of equations")
    _check_certificate(name, value, ("relative_residual", "orthogonality"), 0)
    for part in (value, *value.parts):
        if not 0 <= part.rank <= part.n_columns:
            raise refuse(name, f"has the rank {part.rank:,} of {part.n_columns:,} columns")


def _check_certificate(name: str, value: Any, positive: tuple[str, ...], depth: int) -> None:
    if depth > _DEEPEST:
        raise refuse(name, "nests its parts too deeply")
    if value.status not in REMEDIES:
        raise refuse(name, f"has the status {value.status[:40]!r}, which does not exist")
    for figure in (*positive, "tol", "seconds", "n_iter"):
        found = getattr(value, figure)
        if found is not None and found < 0:
            raise refuse(name, f"has a negative {figure}")
    if not (value.tol < math.inf and value.seconds < math.inf):
        raise refuse(name, "has a tolerance or a time that is not finite")
    if not 0.0 < getattr(value, "scale", 1.0) < math.inf:
        raise refuse(name, "has a scale that is not a positive number")
    for part in value.parts:
        if type(part) is not type(value):
            raise refuse(name, "has a part that is not a certificate")
        _check_certificate(name, part, positive, depth + 1)


def certificate(name: str, value: Any, sizes: Sizes) -> None:
    """Check that a certificate that is called optimal is within its tolerance."""
    any_certificate(name, value, sizes)
    _require_within(name, value, value.relative_gap)


def equations(name: str, value: Any, sizes: Sizes) -> None:
    """The same of a closed form."""
    _residual_certificate(name, value, sizes)
    _require_within(name, value, value.relative_residual)


def _require_within(name: str, value: Any, off: float) -> None:
    if value.ok and not off <= value.tol * (1.0 + 1e-9):
        raise refuse(
            name,
            f"has the status optimal at {off:.3g}, which is above the tolerance {value.tol:.3g}",
        )


def check_parts(name: str, value: Any, rules: Rules, sizes: Sizes) -> None:
    if not isinstance(value, dict) or set(value) != set(rules):
        raise refuse(name, f"does not hold {', '.join(sorted(rules))}")
    for key, rule in rules.items():
        rule(f"{name}[{key!r}]", value[key], sizes)


def label(name: str, value: Any, sizes: Sizes) -> None:
    if not isinstance(value, _LABELS):
        raise refuse(name, f"is of {type(value).__name__}, which cannot be a label")


def record(kind: str, rules: Rules) -> Rule:
    def check(name: str, value: Any, sizes: Sizes) -> None:
        if type(value).__name__ != kind:
            raise refuse(name, f"is of {type(value).__name__}, and not of {kind}")
        for part in fields(value):
            rules[part.name](f"{name}.{part.name}", getattr(value, part.name), sizes)

    return check


def optional(rule: Rule) -> Rule:
    def check(name: str, value: Any, sizes: Sizes) -> None:
        if value is not None:
            rule(name, value, sizes)

    return check


def flag(name: str, value: Any, sizes: Sizes) -> None:
    if not isinstance(value, TRUTH):
        raise refuse(name, "is neither true nor false")


def one_of(*rules: Rule) -> Rule:
    """A rule that is kept where one of several is; the last one reports where none is."""

    def check(name: str, value: Any, sizes: Sizes) -> None:
        for rule in rules[:-1]:
            known = dict(sizes.known)
            try:
                return rule(name, value, sizes)
            except ModelCheckError:
                sizes.known = known
        return rules[-1](name, value, sizes)

    return check


def points(count: str, width: str = "d") -> Rule:
    """Rows of data, dense or CSR; or another matrix that may be either."""

    def check(name: str, value: Any, sizes: Sizes) -> None:
        numbers_of = value.data if sp.issparse(value) else value
        if sp.issparse(value) and value.format != "csr":
            raise refuse(name, f"is in the format {value.format}")
        _require_array(name, numbers_of)
        if numbers_of.dtype not in (np.float32, np.float64):
            raise refuse(name, f"holds {numbers_of.dtype}, and not floats")
        sizes.hold(name, tuple(value.shape), (count, width))
        _require_numbers(name, numbers_of, True, -math.inf)

    return check


def weights(count: str, width: str = "d") -> Rule:
    """An array, or a CSR matrix of the same numbers."""

    def check(name: str, value: Any, sizes: Sizes) -> None:
        rule = points(count, width) if sp.issparse(value) else array(count, width, single=True)
        rule(name, value, sizes)

    return check


def check_attributes(fitted: Any, sizes: Sizes, where: str = "") -> None:
    """Raise ModelCheckError unless every attribute keeps the rule that its class states.

    Parameters
    ----------
    fitted : object
        The object whose class has ``_attributes``.
    sizes : Sizes
        The sizes of the model that it is, or is a part of.
    where : str
        The text that stands before the names of its attributes.
    """
    own, rules = vars(fitted), fitted._attributes
    unknown = [name for name in own if name.endswith("_") and name not in rules]
    foreign = next((name for name in unknown if name in sizes.foreign()), None)
    if foreign is not None:
        raise refuse(where + foreign, f"is not an attribute of {type(fitted).__name__}")
    require(fitted, ["n_features_in_"])
    # Those come first that others are measured by.
    rules["n_features_in_"](f"{where}n_features_in_", own["n_features_in_"], sizes)
    d = int(own["n_features_in_"])
    if sizes.known.setdefault("d", d) != d:
        raise refuse(
            f"{where}n_features_in_", f"is {d:,}, which is not the number of columns of the model"
        )
    if "n_components_" in rules:
        require(fitted, rules.keys() - {"feature_names_in_"})
        rules["n_components_"](f"{where}n_components_", own["n_components_"], sizes)
        sizes.known["components"] = int(own["n_components_"])
    status = getattr(own.get("certificate_"), "status", "")
    sizes.overflowed = sizes.overflowed or status == "non_finite"
    first = ["classes_", "certificate_", "lift_"]
    for name in [*first, *(name for name in rules if name not in first)]:
        if name in own and name in rules:
            rules[name](where + name, own[name], sizes)


def require(fitted: Any, names: Iterable[str]) -> None:
    """Raise ModelCheckError unless all of these attributes are there."""
    lacking = next((name for name in names if name not in vars(fitted)), None)
    if lacking is not None:
        raise ModelCheckError(f"it lacks {lacking}")


#: The rules for the attributes that every estimator has.
COMMON: Rules = {
    "n_features_in_": whole(1),
    "feature_names_in_": names,
    "n_iter_": whole(),
    "objective_formula_": text,
}
