"""The profile of a table as a page, and its numbers beside it."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

from separatrix.assessment.documents import jsonable
from separatrix.geometry.diagnosis.diagnosis import Diagnosis
from separatrix.geometry.diagnosis.findings import counts_by_severity
from separatrix.report.histograms import MOST_CLASSES, heights_of, means_of, shares_of
from separatrix.report.rendering import document_head, page_of
from separatrix.tables.profiles.values import value_text

# The most columns with a card, and the most rows of the tables about pairs and missing cells.
_CARDS, _ROWS = 200, 20
# The side of a cell of the matrix, in pixels.
_CELL = 16


def profile_document(found: Diagnosis, *, source: str | None = None) -> dict[str, Any]:
    """The versioned document of a diagnosis with a profile."""
    if found.profile is None:
        raise ValueError("the diagnosis has no profile; call diagnose with profile=True")
    profile = found.profile.to_dict()
    source = found.profile.source if source is None else source
    document: dict[str, Any] = jsonable(
        {
            **document_head("profile"),
            "data": source,
            "title": os.path.basename(source) or source,
            "alerts": {
                "findings": [finding.to_dict() for finding in found],
                "counts": counts_by_severity(found),
                "checked": list(found.checked),
                "skipped": dict(found.skipped),
            },
            "profile": profile,
        }
    )
    return document


def profile_page(document: Mapping[str, Any]) -> str:
    """The page of the document of a profile."""
    profile = document["profile"]
    columns = profile["columns"]
    return page_of(
        "profile.html.jinja",
        r=document,
        p=profile,
        quantity=bool(profile["target"]) and not profile["classes"],
        colours=_colours(profile),
        cards=[_card(one, profile) for one in columns[:_CARDS]],
        gone=sorted(
            (one for one in columns if one["n_missing"]), key=lambda one: -one["n_missing"]
        ),
        most=_ROWS,
        matrix=_matrix(profile["matrix"]),
    )


def _colours(profile: Mapping[str, Any]) -> list[str]:
    """The colours of the classes in the bars; one colour where the rows have no class."""
    classes = profile["classes"]
    if not 0 < len(classes) <= MOST_CLASSES:
        return ["var(--plus)"]
    from separatrix.plots.style import class_colours

    return class_colours(len(classes))


def _card(one: Mapping[str, Any], profile: Mapping[str, Any]) -> dict[str, Any]:
    """The card of a column: its record, with drawings and words of its values."""
    bins = one["bins"]
    counted = any("by_class" in group for group in bins)
    counts = [group.get("by_class", []) if counted else [group["n"]] for group in bins]
    k = len(profile["classes"]) if counted else 1
    counts = [own or [0] * k for own in counts]
    groups = [
        {"counts": own, "missing": group.get("missing", False)}
        for own, group in zip(counts, bins, strict=True)
    ]
    words = [_words(one["kind"], group) for group in bins]
    card: dict[str, Any] = {"column": one, "bars": None, "below": None, "ends": None}
    # Names that occur once each have no distribution.
    card["levels"] = [] if _once_each(one) else one["levels"]
    if bins and not _once_each(one):
        card["bars"] = heights_of(groups, range(k))
        if counted and one["name"] != profile["target"]:
            card["below"] = shares_of(groups, range(k))
        elif any("mean" in group for group in bins):
            card["below"] = means_of([group.get("mean") for group in bins], groups)
        own = [word for word, group in zip(words, bins, strict=True) if not group.get("missing")]
        if one["numbers"]:
            card["ends"] = [value_text(one["kind"], one["numbers"][e]) for e in ("least", "most")]
        elif own:
            card["ends"] = [own[0], own[-1]] if len(own) > 1 else own
    card["figures"] = _figures(one["kind"], one["numbers"])
    return card


def _once_each(one: Mapping[str, Any]) -> bool:
    return bool(one["levels"]) and one["levels"][0][1] == 1


def _figures(kind: str, numbers: Mapping[str, Any]) -> dict[str, Any]:
    """The range, the moments and the quartiles of a column in words."""
    if not numbers:
        return {}
    ends = {name: value_text(kind, numbers[name]) for name in ("least", "most")}
    mean, quartiles = numbers["mean"], numbers["quartiles"]
    if kind == "date" and float(numbers["least"]).is_integer():
        # Days have no hours.
        mean = math.floor(mean)
    return {
        **ends,
        "mean": value_text("number" if kind == "truth" else kind, mean),
        "deviation": value_text("number", numbers["deviation"]),
        "quartiles": [value_text(kind, value) for value in quartiles],
    }


def _words(kind: str, group: Mapping[str, Any]) -> str:
    if group.get("missing"):
        return "missing"
    if "level" in group:
        return str(group["level"])
    if "others" in group:
        return f"{group['others']:,} others"
    ends = [value_text(kind, group[end]) for end in ("least", "most")]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def _matrix(matrix: Mapping[str, Any]) -> dict[str, Any] | None:
    """The lower triangle of the matrix as squares; None for fewer than two columns."""
    names, values = matrix["columns"], matrix["values"]
    if len(names) < 2:
        return None
    cells = [
        {
            "x": j * _CELL,
            "y": i * _CELL,
            "minus": values[i][j] < 0,
            "size": f"{abs(values[i][j]):.2f}",
        }
        for i in range(len(names))
        for j in range(i)
        if abs(values[i][j]) >= 0.05
    ]
    return {"cells": cells, "side": _CELL, "extent": len(names) * _CELL, "names": names}
