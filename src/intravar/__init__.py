"""Measures how often a physician decides differently for two comparable patients."""

from importlib.metadata import version

from intravar.benchmarking import Study, benchmark
from intravar.cohort import Cohort, Truth
from intravar.errors import InputError
from intravar.estimators import (
    GLMM,
    Euclidean,
    GeneticMahalanobis,
    GeneticMatching,
    LatentRule,
    LearnedWeights,
    LPAGuided,
    Mahalanobis,
    MutualInformation,
    Predictability,
    RFProximity,
    fit_methods,
)
from intravar.estimators.noise import Noise, noise
from intravar.estimators.repeats import Repeats
from intravar.measurement.checking import check
from intravar.measurement.explain import explain
from intravar.measurement.run import Measurement, measure
from intravar.oracle import oracle
from intravar.simulation import Scenario, simulate
from intravar.sources.omop import omop_patients

__version__ = version("intravar")

__all__ = [
    "GLMM",
    "Cohort",
    "Euclidean",
    "GeneticMahalanobis",
    "GeneticMatching",
    "InputError",
    "LPAGuided",
    "LatentRule",
    "LearnedWeights",
    "Mahalanobis",
    "Measurement",
    "MutualInformation",
    "Noise",
    "Predictability",
    "RFProximity",
    "Repeats",
    "Scenario",
    "Study",
    "Truth",
    "__version__",
    "benchmark",
    "check",
    "explain",
    "fit_methods",
    "measure",
    "noise",
    "omop_patients",
    "oracle",
    "simulate",
]
