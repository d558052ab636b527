"""Exact statements about data: hyperplanes, separability, margins and bounds.

What is stated here is true of the floats as they are stored: a verdict comes with a witness
that is checked in exact arithmetic, and a bound is rounded to the side on which it stays one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from separatrix._compiled.lazy_names import lazy_names

# Loaded when they are first used: a diagnosis needs no search for the fewest mistakes.
_HOMES = {
    "Diagnosis": "separatrix.geometry.diagnosis.diagnosis",
    "Discriminant": "separatrix.geometry.discriminant",
    "Finding": "separatrix.geometry.diagnosis.findings",
    "Hyperplane": "separatrix.geometry.hyperplane",
    "HyperplaneWitness": "separatrix.geometry.separation.witness",
    "MarginBounds": "separatrix.geometry.separation.margin",
    "Mistakes": "separatrix.geometry.mistakes.training_error",
    "MultiplierWitness": "separatrix.geometry.separation.witness",
    "PerceptronBound": "separatrix.geometry.separation.perceptron_bound",
    "Proof": "separatrix.geometry.separation.witness",
    "Quadric": "separatrix.geometry.discriminant",
    "Separability": "separatrix.geometry.separation.separability",
    "SeparabilityTable": "separatrix.geometry.separation.separability",
    "TrainingError": "separatrix.geometry.mistakes.training_error",
    "diagnose": "separatrix.geometry.diagnosis.diagnosis",
    "min_training_error": "separatrix.geometry.mistakes.training_error",
    "perceptron_bound": "separatrix.geometry.separation.perceptron_bound",
    "separability": "separatrix.geometry.separation.deciding",
    "training_error": "separatrix.geometry.mistakes.training_error",
    "zero_one_loss": "separatrix.geometry.mistakes.training_error",
}

__all__ = [*_HOMES]

if TYPE_CHECKING:
    from separatrix.geometry.diagnosis.diagnosis import Diagnosis as Diagnosis
    from separatrix.geometry.diagnosis.diagnosis import diagnose as diagnose
    from separatrix.geometry.diagnosis.findings import Finding as Finding
    from separatrix.geometry.discriminant import Discriminant as Discriminant
    from separatrix.geometry.discriminant import Quadric as Quadric
    from separatrix.geometry.hyperplane import Hyperplane as Hyperplane
    from separatrix.geometry.mistakes.training_error import Mistakes as Mistakes
    from separatrix.geometry.mistakes.training_error import TrainingError as TrainingError
    from separatrix.geometry.mistakes.training_error import min_training_error as min_training_error
    from separatrix.geometry.mistakes.training_error import training_error as training_error
    from separatrix.geometry.mistakes.training_error import zero_one_loss as zero_one_loss
    from separatrix.geometry.separation.deciding import separability as separability
    from separatrix.geometry.separation.margin import MarginBounds as MarginBounds
    from separatrix.geometry.separation.perceptron_bound import PerceptronBound as PerceptronBound
    from separatrix.geometry.separation.perceptron_bound import perceptron_bound as perceptron_bound
    from separatrix.geometry.separation.separability import Separability as Separability
    from separatrix.geometry.separation.separability import SeparabilityTable as SeparabilityTable
    from separatrix.geometry.separation.witness import HyperplaneWitness as HyperplaneWitness
    from separatrix.geometry.separation.witness import MultiplierWitness as MultiplierWitness
    from separatrix.geometry.separation.witness import Proof as Proof

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
