"""The example of the kernel trick: what it says is true, and it draws its picture."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from separatrix import separability
from separatrix.kernels import DeltaKernel, PolynomialKernel, RBFKernel, SquaresKernel


@pytest.fixture(scope="module")
def example():
    path = Path(__file__).resolve().parents[1] / "examples" / "kernel_trick.py"
    spec = importlib.util.spec_from_file_location("kernel_trick", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_ellipse_is_a_line_in_the_squares(example):
    points, labels, verdict = example.ellipse()
    lifted = SquaresKernel().lift(points)
    assert not separability(points, labels).separable
    assert verdict.separable and verdict.check(lifted, labels)
    (w0, w1), b = verdict.hyperplane.w, verdict.hyperplane.b
    # Both coefficients of one sign and the offset of the other: an ellipse, in the band that the
    # points leave free.
    axes = np.sqrt([-b / w0, -b / w1])
    assert np.all(axes > 0.85 * example.AXES) and np.all(axes < 1.15 * example.AXES)
    inside = ((points / axes) ** 2).sum(axis=1) < 1
    assert np.array_equal(inside, labels == 1)


def test_the_corners_come_apart_in_the_product(example):
    points, labels, kernel, verdict = example.corners()
    assert kernel == PolynomialKernel(degree=2, coef0=1)
    assert not separability(points, labels).separable and verdict.separable
    w = dict(zip(kernel.lift_names(2), verdict.hyperplane.w, strict=True))
    product = w.pop("sqrt(2) x0 x1")
    assert product > 0.5 and max(map(abs, w.values())) < 1e-9


@pytest.mark.parametrize("n", [2, 3, 5])
def test_every_labelling_is_separable(example, n):
    # All but the two that give every point the same label.
    assert example.any_labels(n) == 2**n - 2


def test_the_gaussian_kernel_learns_by_heart(example):
    curves = example.towards_unit_vectors()
    assert all(values.shape == example.GAMMAS.shape for values in curves.values())
    # Whatever the labels, what was seen is known in the end, and nothing else.
    for labels in ("true", "tossed"):
        assert curves[f"{labels}, seen"][-1] == 0.0
        assert curves[f"{labels}, new"][-1] > 0.9
    # In between, new points follow true labels, and no coin.
    assert curves["true, new"].min() < 0.02 < 0.4 < curves["tossed, new"].min()
    points, _ = example.inside_and_outside(120, seed=0)
    assert np.abs(RBFKernel(example.GAMMAS[-1])(points) - DeltaKernel()(points)).max() < 1e-20


# Matplotlib 3.9 calls pyparsing by names that later versions of that have deprecated.
@pytest.mark.filterwarnings("ignore:.* deprecated - use:DeprecationWarning")
def test_it_tells_and_draws(example, capsys, tmp_path):
    picture = tmp_path / "picture.png"
    example.main(picture)
    text = capsys.readouterr().out
    assert text.count("not separable") == 2 and text.count("checked:") == 4
    assert "all 126 ways" in text and str(picture) in text
    # A picture of the size that is drawn, and not an empty one.
    assert picture.read_bytes().startswith(b"\x89PNG")
    from matplotlib.image import imread

    pixels = imread(picture)
    assert pixels.shape[:2] == (1008, 1560)
    assert len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) > 100
