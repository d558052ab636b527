"""Which of scikit-learn's checks ``make exhaustive`` runs alone."""

from __future__ import annotations

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Check scipy's old matrices on one class of each file, and its arrays on every class.

    Both are made rows by the same lines, whatever the class, and take a fifth of all checks' time.
    """
    seen = set()
    for item in items:
        check = getattr(item, "callspec", None) and item.callspec.params.get("check")
        if (
            getattr(getattr(check, "func", check), "__name__", "")
            == "check_estimator_sparse_matrix"
        ):
            if item.path in seen:
                item.add_marker("exhaustive")
            seen.add(item.path)
