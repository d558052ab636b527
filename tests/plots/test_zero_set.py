"""Level sets on an adaptive grid, and the convex cells of linear scores."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.plots.planar import half_plane_cells
from separatrix.plots.zero_set import Field

BOX = (-2.0, 2.0, -2.0, 2.0)


def area(ring: np.ndarray) -> float:
    a, b = ring, np.roll(ring, -1, axis=0)
    return 0.5 * abs(float((a[:, 0] * b[:, 1] - b[:, 0] * a[:, 1]).sum()))


def radius(points: np.ndarray) -> np.ndarray:
    return np.hypot(points[:, 0], points[:, 1])


@pytest.mark.parametrize("size", [1.0, 1e-12, 1e12, 1e250])
@pytest.mark.parametrize("level", [0.0, 0.5])
def test_a_circle_to_far_below_a_pixel(size, level) -> None:
    field = Field(lambda x: size * (radius(x) ** 2 - 1.0), BOX, levels=(level * size,))
    (circle,) = field.lines(level * size)
    np.testing.assert_array_equal(circle[0], circle[-1])
    expected = np.sqrt(1.0 + level)
    assert np.abs(radius(circle) - expected).max() < 1e-5
    middles = 0.5 * (circle[1:] + circle[:-1])
    assert np.abs(radius(middles) - expected).max() < 1e-3


def test_few_evaluations_whatever_the_function() -> None:
    for function in (
        lambda x: radius(x) - 1.0,
        lambda x: np.sin(3.0 * x[:, 0]) * np.cos(2.0 * x[:, 1]) + 0.1 * x[:, 0],
        lambda x: np.where(radius(x) > 1.0, 1.0, -1.0),
        lambda x: np.where(x[:, 0] > 0.3, np.inf, -np.inf),
    ):
        seen: list[int] = []

        def counted(x: np.ndarray, f=function, seen=seen) -> np.ndarray:
            seen.append(len(x))
            return f(x)

        field = Field(counted, BOX)
        field.lines()
        field.regions()
        field.regions(-np.inf, 0.0)
        assert sum(seen) == field.n_evaluations < 8_000


def test_jumps_are_found_too() -> None:
    (line,) = Field(lambda x: np.where(x[:, 0] + 0.1 * x[:, 1] > 0.3, 1.0, -7.0), BOX).lines()
    assert np.abs(line[:, 0] + 0.1 * line[:, 1] - 0.3).max() < 4e-5


def test_a_thin_finger_is_followed_out_of_the_coarse_cells() -> None:
    # Narrower than a coarse cell (1/8), it leaves the cells whose corners it separates.
    def finger(x: np.ndarray) -> np.ndarray:
        return np.maximum(np.abs(x[:, 1] - 0.03) - 0.05, np.abs(x[:, 0]) - 1.5)

    lines = Field(finger, BOX).lines()
    assert np.abs(finger(np.concatenate(lines))).max() < 1e-4
    assert max(line[:, 0].max() for line in lines) > 1.45


def test_regions_have_the_right_area_and_holes() -> None:
    field = Field(lambda x: radius(x) ** 2, BOX, levels=(0.25, 1.0))
    ((outline, hole),) = field.regions(0.25, 1.0)
    assert area(outline) == pytest.approx(np.pi, rel=1e-3)
    assert area(hole) == pytest.approx(np.pi / 4, rel=1e-3)
    ((outer, inner),) = field.regions(1.0)
    assert area(outer) - area(inner) == pytest.approx(16.0 - np.pi, rel=1e-3)
    ((disc,),) = field.regions(-np.inf, 1.0)
    assert area(disc) == pytest.approx(np.pi, rel=1e-3)


def test_regions_of_several_scores_fill_the_box() -> None:
    centres = np.array([[0.0, 0.0], [1.0, 0.3], [-0.2, 1.0], [9.0, 9.0]])

    def scores(x: np.ndarray) -> np.ndarray:
        return -((x[:, None] - centres) ** 2).sum(axis=2)

    field = Field(scores, BOX, halvings=3)
    cells = half_plane_cells(2.0 * centres, -(centres**2).sum(axis=1), BOX)
    for k, cell in enumerate(cells):
        found = sum(area(ring) for rings in field.regions(k=k) for ring in rings)
        assert found == pytest.approx(area(cell) if len(cell) else 0.0, abs=2e-3)
    assert field.regions(k=3) == [] and not len(cells[3])
    assert sum(area(cell) for cell in cells if len(cell)) == pytest.approx(16.0, rel=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_cells_are_where_a_linear_score_is_the_largest(seed) -> None:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 8))
    unit, far = 10.0 ** rng.integers(-12, 12), rng.normal(size=2)
    coef, intercept = rng.normal(size=(k, 2)), rng.normal(size=k)
    extent = tuple((np.array([-1.0, 1.0, -1.5, 1.0]) + far.repeat(2)) * unit)
    cells = half_plane_cells(coef / unit, intercept, extent)
    whole = (extent[1] - extent[0]) * (extent[3] - extent[2])
    assert sum(area(cell) for cell in cells if len(cell)) == pytest.approx(whole, rel=1e-9)
    for own, cell in enumerate(cells):
        if len(cell):
            inner = cell.mean(axis=0) @ (coef / unit).T + intercept
            assert inner.argmax() == own
            lead = cell @ (coef / unit).T + intercept
            assert (lead.max(axis=1) - lead[:, own]).max() < 1e-9


def test_equal_scores_belong_to_the_first() -> None:
    cells = half_plane_cells(np.zeros((2, 2)), np.zeros(2), BOX)
    assert area(cells[0]) == 16.0 and not len(cells[1])


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="left < right"):
        Field(radius, (1.0, 1.0, 0.0, 1.0))
    with pytest.raises(ValueError, match="NaN at"):
        Field(lambda x: np.where(x[:, 0] > 0.5, np.nan, 1.0), BOX)
    assert Field(radius, BOX).lines(-1.0) == []


def test_without_steps_a_crossing_is_interpolated() -> None:
    field = Field(lambda x: x @ [1.0, 0.3] - 0.1, BOX, cells=8, halvings=0, steps=0)
    (line,) = field.lines()
    np.testing.assert_allclose(line @ [1.0, 0.3], 0.1, rtol=1e-12)
    assert field.n_evaluations == 9 * 9
