"""Exact statements about data: hyperplanes, separability, margins and bounds.

What is stated here is true of the floats as they are stored: a verdict comes with a witness
that is checked in exact arithmetic, and a bound is rounded to the side on which it stays one.
"""

from __future__ import annotations

# Not lazily, unlike the package's own names: the functions carry the names of their modules, and an
# import of the module alone would put the module in the function's place.
from separatrix.geometry.diagnosis.diagnosis import Diagnosis, diagnose
from separatrix.geometry.diagnosis.findings import Finding
from separatrix.geometry.discriminant import Discriminant, Quadric
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.geometry.mistakes.training_error import (
    Mistakes,
    TrainingError,
    min_training_error,
    training_error,
    zero_one_loss,
)
from separatrix.geometry.separation.deciding import separability
from separatrix.geometry.separation.margin import MarginBounds
from separatrix.geometry.separation.perceptron_bound import PerceptronBound, perceptron_bound
from separatrix.geometry.separation.separability import Separability, SeparabilityTable
from separatrix.geometry.separation.witness import HyperplaneWitness, MultiplierWitness, Proof

__all__ = [
    "Diagnosis",
    "Discriminant",
    "Finding",
    "Hyperplane",
    "HyperplaneWitness",
    "MarginBounds",
    "Mistakes",
    "MultiplierWitness",
    "PerceptronBound",
    "Proof",
    "Quadric",
    "Separability",
    "SeparabilityTable",
    "TrainingError",
    "diagnose",
    "min_training_error",
    "perceptron_bound",
    "separability",
    "training_error",
    "zero_one_loss",
]
