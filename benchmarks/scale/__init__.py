"""``python -m benchmarks scale``: what does not fit memory, beside what others do about it.

Data are made on the spot (`generators`); every row of the table is measured in whole processes
(`processes`) and has a file of its own (`rows`).  ``--model`` measures the constants of the cost
model in ``docs/scale.md`` instead, and prints what it predicts (`cost_model`).
"""

from __future__ import annotations

ROWS = (
    "peak_memory",
    "from_files",
    "cached_pass",
    "logistic_peers",
    "hinge",
    "dask_cluster",
    "same_bits",
    "resume",
)
