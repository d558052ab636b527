"""Approximate feature maps of kernels, under their public name."""

from __future__ import annotations

from separatrix.kernels.feature_maps import FourierLift, NystroemLift

__all__ = [
    "FourierLift",
    "NystroemLift",
]
