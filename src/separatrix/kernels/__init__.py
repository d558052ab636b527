"""Kernels: their values, sets of points, Gram matrices, approximate features, objectives."""

from __future__ import annotations

from separatrix.kernels.functions import (
    CallableKernel,
    DeltaKernel,
    InnerProductKernel,
    Kernel,
    LinearKernel,
    PolynomialKernel,
    PrecomputedKernel,
    RBFKernel,
    SigmoidKernel,
    SquaresKernel,
)

__all__ = [
    "CallableKernel",
    "DeltaKernel",
    "InnerProductKernel",
    "Kernel",
    "LinearKernel",
    "PolynomialKernel",
    "PrecomputedKernel",
    "RBFKernel",
    "SigmoidKernel",
    "SquaresKernel",
]
