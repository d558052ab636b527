"""Points to begin with."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.studio.state import LIMITS, StateError, named, number_of

SHAPES: list[dict[str, Any]] = [
    {"name": "blobs", "label": "two blobs"},
    {"name": "moons", "label": "moons"},
    {"name": "circles", "label": "circles"},
    {"name": "xor", "label": "XOR"},
    {"name": "strip", "label": "a strip"},
    {"name": "wave", "label": "a wave"},
    {"name": "iris", "label": "iris: two species", "fixed": True},
    {"name": "species", "label": "iris: three species", "fixed": True},
    {"name": "sepals", "label": "iris: sepals of three species", "fixed": True},
    {"name": "four", "label": "four points", "fixed": True},
]
"""The shapes; fixed ones have their own number of points, and no noise."""

_MOST = LIMITS["points"]
# Measured in units of a standard deviation.
_APART, _REACH = 2.0, 0.3
# The largest ratio of the spans of the two axes with one scale for both.
_ALIKE = 4.0


def shape(name: str, n: int = 60, noise: float = 1.0, seed: int = 0) -> dict[str, Any]:
    """A built-in set of points, as a page takes it.

    Raises
    ------
    StateError
        For an unknown name, or a number out of its range.
    """
    if name not in [one["name"] for one in SHAPES]:
        raise StateError(f"There is no shape {named(name)}.")
    n, seed = _whole(n, "the number of points", 4, _MOST), _whole(seed, "the seed", 0, 2**32)
    noise = number_of(noise, "the noise", 0, 10)
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % 2
    names = {"x": "x1", "y": "x2", "classes": ["-1", "+1"]}
    if name in _IRIS:
        points, codes, names = iris(**_IRIS[name])
    elif name == "four":
        points = np.array([[-1.0, -1.0], [-2.0, 1.0], [1.0, 2.0], [2.0, -0.5]])
        codes = np.array([0, 0, 1, 1])
    else:
        points = _MAKERS[name](codes, noise, rng)
    padding = np.maximum(0.15 * np.ptp(points, axis=0), 0.5)
    made = framed(points, codes, names, padding=padding)
    return {**made, "source": {"name": name, "noise": noise} if name in _MAKERS else None}


def framed(
    points: np.ndarray,
    codes: Any,
    names: dict[str, Any],
    *,
    lock: bool | None = None,
    padding: Any = None,
) -> dict[str, Any]:
    """Points as a page takes them, with a view that has a tenth more around them by default.

    One scale serves both axes, so that right angles look right, unless one of the two spans so much
    more than the other that the points would be a streak; ``lock`` overrides this.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    if lock is None:
        short, long = np.sort(high - low)
        lock = bool(long <= _ALIKE * short)
    padding = np.where(high > low, 0.1 * (high - low), 0.5) if padding is None else padding
    ends = np.stack([low - padding, high + padding], axis=1).tolist()
    return {
        "points": [[*map(float, row), int(c)] for row, c in zip(points, codes, strict=True)],
        "names": names,
        "view": {"x": ends[0], "y": ends[1], "lock": lock},
    }


def _whole(given: Any, what: str, low: int, high: int) -> int:
    found = number_of(given, what, low, high)
    if found != int(found):
        raise StateError(f"{what[:1].upper()}{what[1:]} must be a whole number.")
    return int(found)


_IRIS: dict[str, dict[str, Any]] = {
    "iris": {"species": (1, 2)},
    "species": {},
    "sepals": {"columns": (0, 1)},
}


def iris(
    columns: tuple[int, int] = (2, 3), species: tuple[int, ...] = (0, 1, 2)
) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Points, codes and names of two of the four columns of iris, and of some species."""
    from sklearn.datasets import load_iris

    data = load_iris()
    chosen = np.isin(data.target, species)
    x, y = (str(data.feature_names[column]) for column in columns)
    codes = np.searchsorted(species, data.target[chosen])
    classes = [str(data.target_names[one]) for one in species]
    return data.data[chosen][:, list(columns)], codes, {"x": x, "y": y, "classes": classes}


def _blobs(codes: np.ndarray, noise: float, rng: np.random.Generator) -> np.ndarray:
    centre = np.where(codes[:, None] == 1, _APART, -_APART) * np.array([1.0, 0.5])
    return centre + noise * rng.standard_normal((len(codes), 2))


def _moons(codes: np.ndarray, noise: float, rng: np.random.Generator) -> np.ndarray:
    angle = np.pi * rng.random(len(codes))
    x = np.where(codes == 1, 1.0 - np.cos(angle), np.cos(angle))
    y = np.where(codes == 1, 0.5 - np.sin(angle), np.sin(angle))
    return 2.0 * np.stack([x, y], axis=1) + _REACH * noise * rng.standard_normal((len(codes), 2))


def _circles(codes: np.ndarray, noise: float, rng: np.random.Generator) -> np.ndarray:
    angle = 2.0 * np.pi * rng.random(len(codes))
    radius = np.where(codes == 1, 1.0, 3.0)
    ring = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return ring + _REACH * noise * rng.standard_normal((len(codes), 2))


def _xor(codes: np.ndarray, noise: float, rng: np.random.Generator) -> np.ndarray:
    side = np.where(rng.random(len(codes)) < 0.5, 1.0, -1.0)
    corner = np.stack([side, np.where(codes == 1, side, -side)], axis=1)
    return _APART * corner + 0.6 * noise * rng.standard_normal((len(codes), 2))


def _strip(codes: np.ndarray, noise: float, rng: np.random.Generator) -> np.ndarray:
    along = 6.0 * (rng.random(len(codes)) - 0.5)
    sign = np.where(codes == 1, 1.0, -1.0)
    off = sign * (0.5 + noise * rng.random(len(codes)))
    return np.stack([along - 0.5 * off, 0.5 * along + off], axis=1)


def _wave(codes: np.ndarray, noise: float, rng: np.random.Generator) -> np.ndarray:
    """Values of a sine with noise, of which one class is above it and the other below."""
    x = 6.0 * (rng.random(len(codes)) - 0.5)
    off = noise * np.abs(rng.standard_normal(len(codes)))
    return np.stack([x, 1.5 * np.sin(1.5 * x) + np.where(codes == 1, off, -off)], axis=1)


_MAKERS = {
    "blobs": _blobs,
    "moons": _moons,
    "circles": _circles,
    "xor": _xor,
    "strip": _strip,
    "wave": _wave,
}
