"""The library's sentences in the words of the command line."""

from __future__ import annotations

import pytest

from separatrix.cli.describing import in_fit_options, with_names

NAMES = ["age", "job=cook", "it's"]


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("column 0 is constant", "column 'age' is constant"),
        ("Columns 0, 1 and 2 overflow", "Columns 'age', 'job=cook' and \"it's\" overflow"),
        ("columns 1 and 2 more", "columns 'job=cook' and 2 more"),
        ("'x1' = 2 * 'x0' - 3", "'job=cook' = 2 * 'age' - 3"),
        ("column 7 is none of these", "column 7 is none of these"),
        ("'x7' nor this", "'x7' nor this"),
        ("30 columns, 12 rows", "30 columns, 12 rows"),
    ],
)
def test_columns_have_their_names(sentence, told):
    assert with_names(sentence, NAMES) == told


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("shrink it (shrinkage='auto')", "shrink it (--shrinkage auto)"),
        ("or use covariance='mle'", "or use --covariance mle"),
        ("lower the degree, or set lam > 0.", "lower the degree, or give --lam."),
        ("early_stopping=False goes on", "without --early-stopping it goes on"),
        ("lower step_tol, or", "lower --step-tol, or"),
        ("raise max_passes", "raise --max-iter"),
        ("before tol=1e-06;", "before --tol 1e-06;"),
        ("leave columns out, or set interactions=False.",
         "leave columns out, or do without --interactions."),
        ("raise max_iter, or standardise the features", "raise --max-iter"),
    ],
)  # fmt: skip
def test_arguments_are_options(sentence, told):
    assert in_fit_options(sentence) == told
