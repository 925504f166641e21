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
    RFProximity,
    fit_methods,
)
from intravar.measurement.measure import measure
from intravar.measurement.result import Measurement
from intravar.oracle import oracle
from intravar.pages.measurement.handover import write_measurement
from intravar.preparation.check import check
from intravar.publication.explain import explain
from intravar.request import Request
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
    "RFProximity",
    "Request",
    "Scenario",
    "Study",
    "Truth",
    "__version__",
    "benchmark",
    "check",
    "explain",
    "fit_methods",
    "measure",
    "omop_patients",
    "oracle",
    "simulate",
    "write_measurement",
]
