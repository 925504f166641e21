# Names as relative imports: that is the form from which lazy_loader learns where each lies.
from . import estimators, review, study
from .documents.measurement.handover import write_files, write_measurement, write_sheets
from .errors import InputError
from .estimators.latent_rule import LatentRule
from .estimators.noise import noise
from .estimators.predictability import Predictability
from .estimators.repeats import Repeats
from .measurement.measure import measure
from .measurement.result import Measurement
from .preparation.check import check
from .publication.compare import compare
from .publication.explain import explain
from .request import Request
from .runs.settings import RunSettings
from .sources.omop.patients import omop_patients
from .study.benchmark import benchmark
from .study.cohort import Cohort
from .study.oracle import oracle
from .study.simulation.conditions import simulate
from .version import __version__

__all__ = [
    "Cohort",
    "InputError",
    "LatentRule",
    "Measurement",
    "Predictability",
    "Repeats",
    "Request",
    "RunSettings",
    "__version__",
    "benchmark",
    "check",
    "compare",
    "estimators",
    "explain",
    "measure",
    "noise",
    "omop_patients",
    "oracle",
    "review",
    "simulate",
    "study",
    "write_files",
    "write_measurement",
    "write_sheets",
]
