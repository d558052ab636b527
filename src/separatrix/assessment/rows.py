"""The rows of a table that a model was fitted to, and their labels."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from separatrix.exceptions import DataError
from separatrix.messages import Message, counted
from separatrix.persistence.model_file import StoredModel
from separatrix.tables import Table, take_quantity, take_target
from separatrix.tables.roles import Roles, take_roles


@dataclass(frozen=True, eq=False)
class Labelled:
    """The rows of a table: the features of a model, the target, and the columns of other roles."""

    features: Table
    y: np.ndarray
    roles: Roles


def labelled(stored: StoredModel, table: Table, target: str, **given: str | None) -> Labelled:
    """Take out the target of a fitted model, classes that it knows or a quantity, and weights.

    ``given``: columns of ``group`` or ``time`` that are named now, which may be features of the
    model; those of the fit may be lacking.
    """
    if predicts_numbers(stored):
        features, y = take_quantity(table, target, fitted=True)
    else:
        features, y = take_target(table, target, classes=stored.model.classes_)
    config = stored.provenance.get("config") or {}
    names = {role: config.get(role) for role in ("group", "time", "weight")}
    split = stored.provenance.get("split") or {}
    # Files of earlier versions held out equal rows each by itself.
    equal = bool(split.get("together")) and split.get("test_size", 0.0) > 0.0
    own = {role: name for role, name in given.items() if name is not None}
    _, now = take_roles(features, own, equal=False)
    features, roles = take_roles(features, names, equal=equal, absent=True)
    if "group" in own:
        roles = replace(roles, together=now.together, grouped=True)
    if "time" in own:
        roles = replace(roles, times=now.times)
    return Labelled(features, y, roles)


def predicts_numbers(stored: StoredModel) -> bool:
    """Whether a model predicts a quantity rather than classes."""
    return not hasattr(stored.model, "classes_")


def both_parts(stored: StoredModel, rows: Labelled) -> tuple[np.ndarray, np.ndarray]:
    """The rows of the table of a fit that were fitted, and those that were held out."""
    split = stored.provenance["split"]
    try:
        return rows.roles.split(
            rows.y,
            test_size=split["test_size"],
            seed=split["seed"],
            stratify=split.get("stratified", True),
        )
    except DataError:
        # The rows of the fit were split, so these are others.
        values = {"rows": counted(len(rows.y), "row"), "share": split["test_size"]}
        raise DataError(Message("not_split_as_fit", **values)) from None
