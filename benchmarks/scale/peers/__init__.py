"""Other libraries that fit what does not fit memory, one a file.

Each has ``NAME``; ``NEEDS``, the modules without which it cannot run, and ``HOW``, how to get
them; ``SETTINGS``, from the fastest to the most exact, and ``fit(files, target, n_rows, C, setting,
out, started)``, which is called in a fresh process for each of them.  It saves its weights with
`points.save` as often as it likes, and every one of them is judged by this library's own pass.
All of them minimise ``0.5 |w|^2 + C sum log(1 + exp(-y (w.x + b)))``, the intercept unpenalised, in
whatever units they state it.
"""

from __future__ import annotations

LOGISTIC = ("sgd", "dask_ml", "vowpal_wabbit", "spark")
