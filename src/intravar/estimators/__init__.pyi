from .base import (
    DESCRIBED,
    METHODS,
    PAPER_METHODS,
    STUDY_METHODS,
    CommonEstimator,
    Estimator,
    Observed,
    default_method,
    fit_methods,
    make_estimator,
)
from .glmm import GLMM
from .latent_rule import LatentRule
from .matching import Euclidean, GeneticMahalanobis, LPAGuided, Mahalanobis
from .noise import Noise
from .predictability import Predictability
from .repeats import Repeats
from .several import Several, several_decisions
from .supervised import LearnedWeights, MutualInformation, RFProximity

__all__ = [
    "DESCRIBED",
    "GLMM",
    "METHODS",
    "PAPER_METHODS",
    "STUDY_METHODS",
    "CommonEstimator",
    "Estimator",
    "Euclidean",
    "GeneticMahalanobis",
    "LPAGuided",
    "LatentRule",
    "LearnedWeights",
    "Mahalanobis",
    "MutualInformation",
    "Noise",
    "Observed",
    "Predictability",
    "RFProximity",
    "Repeats",
    "Several",
    "default_method",
    "fit_methods",
    "make_estimator",
    "several_decisions",
]
