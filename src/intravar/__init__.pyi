# Names as relative imports: that is the form from which lazy_loader learns where each lies.
from .documents.measurement.handover import write_measurement
from .errors import InputError
from .estimators.genetic_mahalanobis import GeneticMahalanobis
from .estimators.glmm import GLMM
from .estimators.latent_rule import LatentRule
from .estimators.lpa_guided import LPAGuided
from .estimators.matching import Euclidean, Mahalanobis
from .estimators.noise import Noise, noise
from .estimators.predictability import Predictability
from .estimators.registry import fit_methods
from .estimators.repeats import Repeats
from .estimators.rf_proximity import RFProximity
from .estimators.several import Several, several
from .estimators.weighted import LearnedWeights, MutualInformation
from .measurement.measure import measure
from .measurement.result import Measurement
from .preparation.check import check
from .publication.compare import compare
from .publication.explain import explain
from .request import Request
from .runs.settings import Means, RunSettings
from .sources.omop.patients import omop_patients
from .study.benchmark.run import Study, benchmark
from .study.cohort import Cohort, Truth
from .study.oracle import oracle, oracle_by_group, oracle_several
from .study.simulation.catalogue import simulate
from .study.simulation.scenario import Scenario
from .version import __version__

__all__ = [
    "GLMM",
    "Cohort",
    "Euclidean",
    "GeneticMahalanobis",
    "InputError",
    "LPAGuided",
    "LatentRule",
    "LearnedWeights",
    "Mahalanobis",
    "Means",
    "Measurement",
    "MutualInformation",
    "Noise",
    "Predictability",
    "RFProximity",
    "Repeats",
    "Request",
    "RunSettings",
    "Scenario",
    "Several",
    "Study",
    "Truth",
    "__version__",
    "benchmark",
    "check",
    "compare",
    "explain",
    "fit_methods",
    "measure",
    "noise",
    "omop_patients",
    "oracle",
    "oracle_by_group",
    "oracle_several",
    "several",
    "simulate",
    "write_measurement",
]
