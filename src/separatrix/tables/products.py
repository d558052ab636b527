"""Products of columns: an interaction is how the effect of one column differs by another."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np

from separatrix.exceptions import DataError
from separatrix.messages import Message, Setting
from separatrix.tables.category_encoding import Category
from separatrix.tables.column_encoding import (
    Alert,
    Arrays,
    ColumnOf,
    Encoding,
    Entries,
    Settings,
    Unusable,
    damaged,
)
from separatrix.tables.curves import Curve
from separatrix.tables.features import Arithmetic
from separatrix.tables.features import Number as Formula
from separatrix.tables.number_encoding import Number
from separatrix.tables.statistics import CategoryFacts, Facts, NumberFacts
from separatrix.tables.table import Remarks, Table, quote
from separatrix.tables.terms import CURVES, Factor, Terms

# The most features of a product.
_MOST_FEATURES = 10_000


def learned(factor: Factor, facts: Facts, settings: Settings, alert: Alert) -> Any:
    """The encoding of a factor by the facts about its column."""
    if factor.function in CURVES:
        if not isinstance(facts, NumberFacts):
            setting = Setting("kinds", (factor.column, "number"))
            raise DataError(
                Message(
                    "curve_of_words", term=str(factor), column=quote(factor.column), kind=setting
                )
            )
        return Curve.of_factor(facts, factor, settings, alert)
    if factor.function and not isinstance(facts, CategoryFacts):
        setting = Setting("kinds", (factor.column, "category"))
        raise DataError(
            Message(
                "category_of_numbers", term=str(factor), column=quote(factor.column), kind=setting
            )
        )
    return facts.learned(settings, alert)


_times = partial(Arithmetic, "*")


@dataclass
class Product(Encoding):
    """The products of the features of several columns, without those for missing values.

    Every combination of levels of categories has a feature, whether it occurs in the fit or not.
    """

    factors: list[Any]

    noun = ("interaction", "interactions")

    @classmethod
    def of_term(
        cls,
        terms: Terms,
        product: Sequence[Factor],
        facts_of: Callable[[str], Facts],
        settings: Settings,
        alert: Alert,
    ) -> Product:
        """The product of the factors of a term, by the facts about their columns."""
        factors, text = [], ":".join(map(str, product))
        for factor in product:
            facts, own = facts_of(factor.column), settings
            if isinstance(facts, CategoryFacts) and not terms.is_reduced(product, factor):
                # Nothing else covers the level without a feature.
                own = replace(settings, reference=False)
            try:
                factors.append(learned(factor, facts, own, alert))
            except Unusable as fault:
                raise DataError(
                    f"{text}: column {quote(factor.column)} {fault.why}; leave the term out"
                ) from None
        return cls.of_factors(factors, text)

    @classmethod
    def of_factors(cls, factors: list[Any], text: str) -> Product:
        """The product of encodings; DataError where it has too many features, or a text."""
        for one in factors:
            if not isinstance(one, (Number, Category)):
                raise DataError(f"{text}: a text has no products; leave it out of them")
        made = cls(factors)
        if made.n_features > _MOST_FEATURES:
            raise DataError(
                f"{text} has {made.n_features:,} features, one for every combination; at most "
                f"{_MOST_FEATURES:,} are made: give fewer levels, as --min-count does, or leave it "
                "out"
            )
        return made

    @property
    def name(self) -> str:
        """The column that its features are listed under."""
        return str(self.factors[0].name)

    @property
    def n_features(self) -> int:
        return math.prod(
            len(one.unit_scales) if isinstance(one, Number) else one.n_features
            for one in self.factors
        )

    def _each(self, of: Callable[[Any], Sequence[Any]]) -> list[tuple[Any, ...]]:
        """A tuple for every feature, with its item of each factor; numbers vary fastest."""
        places = [*range(len(self.factors))]
        order = sorted(places, key=lambda k: isinstance(self.factors[k], Number))
        back = [order.index(k) for k in places]
        own = itertools.product(*(of(self.factors[k]) for k in order))
        return [tuple(one[k] for k in back) for one in own]

    @property
    def feature_names(self) -> list[str]:
        def names(one: Any) -> list[str]:
            every: list[str] = one.feature_names
            return every[: len(one.unit_scales)] if isinstance(one, Number) else every

        return [":".join(one) for one in self._each(names)]

    @property
    def unit_scales(self) -> list[float]:
        def scales(one: Any) -> list[float]:
            return one.unit_scales if isinstance(one, Number) else [1.0] * one.n_features

        return [math.prod(one) for one in self._each(scales)]

    @property
    def filled(self) -> int:
        """The number of its features that are not zero in a row."""
        return math.prod(len(one.unit_scales) for one in self.factors if isinstance(one, Number))

    def encode(
        self, table: Table, settings: Settings, notes: Remarks, noted: Iterable[str] = ()
    ) -> Any:
        """The features, as a CSR matrix; ``noted``: columns that are in the notes already."""
        from scipy import sparse

        n_rows, noted = table.n_rows, set(noted)
        numbers: list[Any] = [np.ones(n_rows)]
        codes, width = np.zeros(n_rows, dtype=np.int64), 1
        for one in self.factors:
            own = Remarks() if one.name in noted else notes
            found = one.encode(table, settings, own)
            if isinstance(one, Number):
                found = found[: len(one.unit_scales)]
                numbers = [first * second for first in numbers for second in found]
            else:
                codes = np.where((codes < 0) | (found < 0), -1, codes * one.n_features + found)
                width *= one.n_features
        there = codes >= 0
        values = np.column_stack(numbers)[there]
        per_row = len(numbers)
        indices = codes[there][:, None] * per_row + np.arange(per_row)
        indptr = np.concatenate([[0], np.cumsum(there * per_row)])
        shape = (n_rows, width * per_row)
        matrix = sparse.csr_matrix((values.ravel(), indices.ravel(), indptr), shape=shape)
        matrix.eliminate_zeros()
        return matrix

    def features(self, column_of: ColumnOf, settings: Settings) -> list[Formula]:
        def own(one: Any) -> Sequence[Formula]:
            every: list[Formula] = one.features(column_of, settings)
            return every[: len(one.unit_scales)] if isinstance(one, Number) else every

        return [reduce(_times, each) for each in self._each(own)]

    @staticmethod
    def store(
        encodings: Sequence[Product], arrays: Arrays, settings: Settings, kinds: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The products, and the encodings of their factors by kind."""
        own: Arrays = {}
        listed: dict[str, list[Any]] = {key: [] for key in kinds}
        places: list[list[Any]] = []
        for product in encodings:
            places.append([])
            for one in product.factors:
                key = next(key for key, kind in kinds.items() if type(one) is kind)
                places[-1].append([key, len(listed[key])])
                listed[key].append(one)
        stored: dict[str, Entries] = {}
        for key, kind in kinds.items():
            if listed[key]:
                stored[key] = kind.store(listed[key], own, settings)
        # The levels of a product may be all of them, where the column alone has a reference.
        arrays.update({f"products.{name}": values for name, values in own.items()})
        return {"places": places, "factors": stored}

    @classmethod
    def load(
        cls, stored: Mapping[str, Any], arrays: Mapping[str, Any], kinds: Mapping[str, Any]
    ) -> list[Product]:
        own = {
            name.removeprefix("products."): values
            for name, values in arrays.items()
            if name.startswith("products.")
        }
        factors = {key: kinds[key].load(each, own) for key, each in stored["factors"].items()}
        made = [cls([factors[key][int(k)] for key, k in places]) for places in stored["places"]]
        if not all(len(one.factors) > 1 and min(k for _, k in places) >= 0
                   for one, places in zip(made, stored["places"], strict=True)):  # fmt: skip
            raise damaged("a product has no factors")
        return made

    def require_sound(self) -> None:
        for one in self.factors:
            if not isinstance(one, (Number, Category)):
                raise damaged("a product of texts")
            one.require_sound()
        if self.n_features > _MOST_FEATURES:
            raise damaged("a product has too many features")
