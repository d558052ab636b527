"""What ``separatrix studio`` does."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.cli.commands.studio import StudioOptions
from separatrix.cli.output import Exit, Output
from separatrix.cli.reading import target_name
from separatrix.exceptions import DataError
from separatrix.studio.kernel import StudioModel
from separatrix.studio.serving import serve
from separatrix.tables import read_table, take_target


def run(out: Output, options: StudioOptions) -> Exit:
    """Serve the page."""
    table: dict[str, Any] | None = None
    labels, target = None, None
    if options.data is not None:
        read = read_table(options.data)
        target = target_name(read, options.target)
        features, labels = take_target(read, target)
        table = {
            name: np.ma.filled(features.columns[name].astype(float), np.nan)
            for name in features.names
            if features.kinds[name] == "number"
        }
        if len(table) < 2:
            raise DataError(
                f"{options.data} has {len(table)} columns of numbers, and a picture needs two"
            )
    out.note("one moment: loops are loaded")
    warm = StudioModel(table, labels, target)
    warm.reply({"type": "ask", "seq": 0, "state": warm.traits["state"]})

    def opened(address: str) -> None:
        out.answer("studio", address)

    try:
        serve(
            lambda: StudioModel(table, labels, target),
            port=options.port,
            keep=options.keep,
            opened=opened,
        )
    except OSError as error:
        raise DataError(
            f"port {options.port} cannot be had: {error.strerror or error}; choose another --port"
        ) from None
    return Exit.DONE
