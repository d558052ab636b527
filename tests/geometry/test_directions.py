"""Main directions against the singular value decomposition."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix.data.design import as_design
from separatrix.geometry.directions import main_direction, mean_row, oriented, scatter_along


def rows(n, d, seed=0, density=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(3.0, 1.0, d)
    # One direction stands out, as in most data.
    X += 4.0 * rng.normal(size=(n, 1)) * rng.normal(size=d) / np.sqrt(d)
    return np.where(rng.random((n, d)) < density, X, 0.0)


def expected(X, unit):
    flat = (X - X.mean(axis=0)) @ (np.eye(len(unit)) - np.outer(unit, unit))
    _, spans, axes = np.linalg.svd(flat, full_matrices=False)
    return axes[0], spans[0] ** 2 / (spans**2).sum()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("shape", [(50, 3), (200, 40), (60, 1200)])
def test_the_main_direction_within_a_plane(shape, sparse) -> None:
    X = rows(*shape, density=0.4 if sparse else 1.0)
    unit = np.random.default_rng(1).normal(size=shape[1])
    unit /= np.linalg.norm(unit)
    design = as_design(sp.csr_array(X) if sparse else X)
    found, share = main_direction(design, mean_row(design), unit[None])
    axis, true_share = expected(X, unit)
    assert np.linalg.norm(found) == pytest.approx(1.0)
    assert abs(found @ unit) < 1e-12
    # With more than a thousand columns the value is close before the vector is.
    assert share == pytest.approx(true_share, rel=1e-6 if shape[1] <= 1000 else 1e-2)
    assert abs(found @ axis) > (1.0 - 1e-8 if shape[1] <= 1000 else 0.95)


@pytest.mark.parametrize("sparse", [False, True])
def test_means_and_scatter(sparse) -> None:
    X = rows(80, 6, density=0.5) + (0.0 if sparse else 1e8)
    design = as_design(sp.csr_array(X) if sparse else X)
    mean = mean_row(design)
    np.testing.assert_allclose(mean, X.mean(axis=0), rtol=1e-14)
    along = np.eye(6)[:2]
    centred = (X - X.mean(axis=0))[:, :2]
    np.testing.assert_allclose(scatter_along(design, mean, along), centred.T @ centred, rtol=1e-7)


def test_where_nothing_varies_there_is_a_direction_all_the_same() -> None:
    unit = np.array([[0.0, 1.0, 0.0]])
    for X in (np.zeros((5, 3)), np.ones((1, 3)), np.full((4, 3), 7.0)):
        design = as_design(X)
        found, share = main_direction(design, mean_row(design), unit)
        assert np.linalg.norm(found) == pytest.approx(1.0)
        assert found @ unit[0] == 0.0
        assert share == 1.0


def test_directions_point_where_their_largest_entry_is_positive() -> None:
    assert oriented(np.array([[0.1, -0.9], [0.8, -0.1]])).tolist() == [[-0.1, 0.9], [0.8, -0.1]]
