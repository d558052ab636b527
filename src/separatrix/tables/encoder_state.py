"""The state of an encoder: encodings of columns, what follows from them, its stored form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from separatrix.exceptions import DataError, ModelFileError
from separatrix.messages import Message
from separatrix.tables.category_encoding import Category
from separatrix.tables.column_alerts import ROW_NUMBERS, counts_rows
from separatrix.tables.column_encoding import Encoding, Settings, damaged
from separatrix.tables.curves import Curve
from separatrix.tables.date_parts import (
    part_of,
)
from separatrix.tables.formulas import terms_of
from separatrix.tables.number_encoding import Number
from separatrix.tables.products import Product
from separatrix.tables.sparse_encoding import Sparse
from separatrix.tables.table import (
    Remarks,
    day_text,
)
from separatrix.tables.terms import Terms
from separatrix.tables.value_format import NEW_KINDS, ValueFormat
from separatrix.tables.word_encoding import (
    Text,
    checked_text_options,
    from_json,
    jsonable,
    require_text_options,
)

# The share of nonzero entries from which the matrix is a dense array.
_DENSE_FROM = 0.25

COLUMN_KINDS: dict[str, Any] = {
    "numbers": Number,
    "curves": Curve,
    "categories": Category,
    "texts": Text,
}
"""The kinds of encodings in the order of their features, by their lists in a stored encoding."""


class EncoderState:
    """The parameters of an encoder, and what it has learned.

    See :class:`~separatrix.tables.Encoder`, which learns it, and encodes tables.
    """

    summary_: str
    _dense: bool

    def __init__(
        self,
        *,
        text: Mapping[str, Any] | None = None,
        min_frequency: int | None = None,
        standardise: bool = True,
        reference: bool = False,
        terms: Sequence[str] | Terms | None = None,
        formula: str | None = None,
    ):
        self.terms = terms_of(terms, formula)
        self.text = checked_text_options(text)
        self.standardise = bool(standardise)
        self.reference = bool(reference)
        if min_frequency is not None and (
            isinstance(min_frequency, bool)
            or int(min_frequency) != min_frequency
            or min_frequency < 1
        ):
            raise DataError(f"min_frequency must be a whole number from 1, not {min_frequency!r}")
        self.min_frequency = min_frequency
        self._fitted = False
        self._forget()

    def _forget(self) -> None:
        """Reset to the state that a fit starts from."""
        self.alerts_: list[str] = []
        self.alerted_: list[tuple[str, tuple[str, ...], str]] = []
        self.notes_: list[str] = []
        self.left_out_: list[str] = []
        # The columns left out that are parts of other columns, which nobody wrote.
        self._parts_left_out: set[str] = set()
        self.dependent_: list[str] = []
        self.spellings_: dict[str, ValueFormat] = {}
        self._alerts = Remarks()
        self._encodings: list[Encoding] = []
        self._products: list[Product] = []
        self._sparse: list[Sparse] = []  # one at most

    @property
    def encodings(self) -> list[Encoding]:
        """The encodings of the columns, in the order of their features."""
        return [*self._encodings, *self._products, *self._sparse]

    @property
    def column_encodings(self) -> list[Encoding]:
        """The encodings of single columns, those within products included."""
        return [*self._encodings, *(one for product in self._products for one in product.factors)]

    @property
    def fitted(self) -> bool:
        """Whether it has learned an encoding."""
        return self._fitted

    @property
    def dense(self) -> bool:
        """Whether the matrix is a dense array."""
        return self._dense

    @property
    def kept(self) -> list[int]:
        """The places of the features that are kept; the others were left out as dependent."""
        return self._kept

    @property
    def _settings(self) -> Settings:
        return Settings(self.text, self.min_frequency, self.standardise, self.reference)

    def _of(self, kind: type[Any]) -> list[Any]:
        return [one for one in self._encodings if type(one) is kind]

    @property
    def _numeric(self) -> list[Number]:
        """The columns of numbers, as they are and curved."""
        return [*self._of(Number), *self._of(Curve)]

    def _is_dense(self) -> bool:
        if self._sparse or self._of(Text):
            return False
        filled = sum(one.n_features for one in self._numeric)
        filled += len(self._of(Category)) + sum(one.filled for one in self._products)
        return filled / sum(one.n_features for one in self.encodings) >= _DENSE_FROM

    def _summarise(self) -> str:
        counts = [(len(self._of(kind)), kind.noun) for kind in COLUMN_KINDS.values()]
        counts += [(len(self._products), Product.noun)]
        counts += [(one.n_features, one.noun) for one in self._sparse]
        parts = [f"{count:,} {noun[count != 1]}" for count, noun in counts if count]
        left_out = [name for name in self.left_out_ if name not in self._parts_left_out]
        if left_out:
            parts.append(f"{len(left_out):,} left out")
        return ", ".join(parts)

    def _settle(self) -> None:
        """Set the names, kinds and places, which follow from the encodings of the columns."""
        every = self.encodings
        names = _unique([name for one in every for name in one.feature_names])
        columns = [one.name for one in every for _ in range(one.n_features)]
        gone = set(self.dependent_)
        scales = np.ones(len(names))
        j = 0
        for one in every:
            own = getattr(one, "unit_scales", ())
            scales[j : j + len(own)] = own
            j += one.n_features
        self._width = len(names)
        self._kept = [j for j, name in enumerate(names) if name not in gone]
        self.feature_names_ = [names[j] for j in self._kept]
        self.columns_: list[str | None] = [columns[j] for j in self._kept]
        self.scales_ = scales[self._kept]
        self.n_features_ = len(self._kept)
        columns_of = self.column_encodings
        self.references_ = {
            one.name: one.reference
            for one in columns_of
            if isinstance(one, Category) and one.reference is not None
        }
        numbers = [one for one in columns_of if isinstance(one, Number)]
        dates = {one.name for one in numbers if one.date}
        for one in columns_of:
            date = part_of(one.name)
            one.with_date = date is not None and date[0] in dates
        self.kinds_ = {one.name: one.kind for one in columns_of}
        self.placeholders_ = {one.name: one.placeholders for one in numbers if one.placeholders}
        self.origins_ = {
            one.name: day_text(one.origin)
            for one in numbers
            if one.origin is not None and one.with_value
        }
        self.formula_ = None if self.terms is None else str(self.terms)
        self._fitted = True

    def _require_fitted(self) -> None:
        if not self._fitted:
            raise DataError("the encoder has not been fitted: call fit(table) first")

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The whole state, as a JSON-able dictionary and arrays.

        Returns
        -------
        meta : dict
            Names, kinds, options.
        arrays : dict of str to ndarray
            Means, scales, idf (float64); levels and words as UTF-8 (uint8) with the offsets of
            their ends (int64).
        """
        self._require_fitted()
        arrays: dict[str, Any] = {}
        columns: dict[str, Any] = {
            key: kind.store(self._of(kind), arrays, self._settings)
            for key, kind in COLUMN_KINDS.items()
            if key != "curves" or self._of(kind)
        }
        if self._products:
            columns["products"] = Product.store(
                self._products, arrays, self._settings, COLUMN_KINDS
            )
        # The values of the sentences about row numbers.
        row_numbers = {
            names[0]: [message.values["first"], message.values["second"]]
            for _, names, message in self.alerted_
            if isinstance(message, Message) and message.code == "counts_rows"
        }
        meta: dict[str, Any] = {
            # A version that does not know of references, spellings, placeholders, origins or terms
            # must not read them.
            "version": self._version(),
            **columns,
            "matrix_columns": next(([one.first, one.stop] for one in self._sparse), None),
            "dense": self._dense,
            "text": jsonable(self.text),
            "min_frequency": self.min_frequency,
            "standardise": self.standardise,
            "left_out": list(self.left_out_),
            **({"reference": self.reference} if self.reference else {}),
            **({"dependent": list(self.dependent_)} if self.dependent_ else {}),
            **({} if self.terms is None else {"terms": self.terms.state()}),
            "alerts": list(self.alerts_),
            **(
                {"alerted": [[sort, list(columns), text] for sort, columns, text in self.alerted_]}
                if self.alerted_
                else {}
            ),
            **({"row_numbers": row_numbers} if row_numbers else {}),
            **(
                {"spellings": {name: one.state() for name, one in self.spellings_.items()}}
                if self.spellings_
                else {}
            ),
            "summary": self.summary_,
        }
        return meta, arrays

    def _version(self) -> int:
        if any(one.kind in NEW_KINDS for one in self.spellings_.values()):
            return 7
        if self.terms is not None:
            return 6
        if any(one.origin is not None for one in self._of(Number)):
            return 5
        if any(one.placeholders for one in self._of(Number)):
            return 4
        return 3 if self.spellings_ else 2 if self.reference or self.dependent_ else 1

    @classmethod
    def from_state(
        cls,
        meta: Mapping[str, Any],
        arrays: Mapping[str, Any],
        *,
        n_features: int | None = None,
    ) -> Self:
        """The encoder whose :meth:`state` this was; its matrices are equal bit for bit.

        With ``n_features``, a state with another number of features is refused before anything
        of that size is made.

        Raises
        ------
        ModelFileError
            If something is absent or does not fit together.
        """
        try:
            if meta["version"] not in range(1, 8):
                raise ModelFileError(
                    f"the encoding has version {meta['version']!r}, and this library reads "
                    "versions 1 to 7; update the library"
                )
            encoder = cls(
                text=from_json(meta["text"]),
                min_frequency=meta["min_frequency"],
                # Files of version 0.1.0 do not state it; they standardise.
                standardise=meta.get("standardise", True),
                reference=meta.get("reference", False),
                terms=Terms.from_state(meta["terms"]) if "terms" in meta else None,
            )
            for key, kind in COLUMN_KINDS.items():
                encoder._encodings += kind.load(meta[key], arrays) if key in meta else []
            if "products" in meta:
                encoder._products = Product.load(meta["products"], arrays, COLUMN_KINDS)
            if (place := meta["matrix_columns"]) is not None:
                encoder._sparse = [Sparse(int(place[0]), int(place[1]))]
            encoder._dense = bool(meta["dense"])
            encoder.left_out_ = list(meta["left_out"])
            encoder.dependent_ = list(meta.get("dependent", ()))
            encoder.spellings_ = {
                str(name): ValueFormat.from_state(one)
                for name, one in meta.get("spellings", {}).items()
            }
            encoder.alerts_ = list(meta["alerts"])
            # Files of version 0.1.0 have the sentences alone.
            encoder.alerted_ = [
                (str(sort), tuple(map(str, columns)), str(sentence))
                for sort, columns, sentence in meta.get("alerted", ())
            ]
            counted = meta.get("row_numbers", {})
            encoder.alerted_ = [
                (sort, names, counts_rows(names[0], *map(str, counted[names[0]])))
                if sort == ROW_NUMBERS and names[0] in counted
                else (sort, names, sentence)
                for sort, names, sentence in encoder.alerted_
            ]
            encoder.summary_ = str(meta["summary"])
            encoder._require_sound(n_features)
            encoder._settle()
        except ModelFileError:
            raise
        except (ArithmeticError, KeyError, TypeError, IndexError, ValueError) as error:
            raise damaged(error) from None
        return encoder

    def _require_sound(self, n_features: int | None) -> None:
        """Raise ModelFileError unless what was stored can have been fitted."""
        names = [one.name for one in self.column_encodings]
        stored = [*names, *self.left_out_, *self.dependent_, *self.alerts_]
        if not all(isinstance(text, str) for text in stored):
            raise damaged("one of its names is not a text")
        once = self.terms is not None or len(set(names)) == len(names)
        if not once or set(names) & set(self.left_out_):
            raise damaged("a column occurs twice")
        require_text_options(self.text)
        for one in (*self._encodings, *self._products):
            one.require_sound()
        for matrix in self._sparse:
            if not 0 <= matrix.first <= matrix.stop or self.column_encodings:
                raise damaged("its columns do not match its features")
        n_columns = sum(one.n_features for one in self.encodings)
        # Whether all of these are features is known when they have their names.
        n_columns -= len(set(self.dependent_))
        if n_features is not None and n_columns != n_features:
            raise ModelFileError(
                f"the encoding makes {n_columns:,} columns, and its model takes {n_features:,}"
            )


def _unique(names: list[str]) -> list[str]:
    """The same names, the later of equal ones marked ``#2``, ``#3``."""
    taken = set(names)
    if len(taken) == len(names):
        return names
    seen: set[str] = set()
    unique = []
    for name in names:
        own, k = name, 1
        while own in seen or (k > 1 and own in taken):
            k += 1
            own = f"{name} #{k}"
        seen.add(own)
        unique.append(own)
    return unique
