from .conditions import (
    all_conditions,
    conditions_of,
    find_condition,
    simulate,
    window_of,
)
from .covariates import (
    PAPER_COVARIATES,
    Bernoulli,
    CovariateModel,
    GaussianCopula,
    LogNormal,
    Marginal,
    Normal,
)
from .physicians import CaseMix, Continuum, FiveGroups, PhysicianModel, Physicians
from .rules import Rule, RuleRecipe, Score2Rule, ThresholdRule, WindowRecipe
from .scenario import Fall, Recording, Scenario
from .score2 import score2_risk

__all__ = [
    "PAPER_COVARIATES",
    "Bernoulli",
    "CaseMix",
    "Continuum",
    "CovariateModel",
    "Fall",
    "FiveGroups",
    "GaussianCopula",
    "LogNormal",
    "Marginal",
    "Normal",
    "PhysicianModel",
    "Physicians",
    "Recording",
    "Rule",
    "RuleRecipe",
    "Scenario",
    "Score2Rule",
    "ThresholdRule",
    "WindowRecipe",
    "all_conditions",
    "conditions_of",
    "find_condition",
    "score2_risk",
    "simulate",
    "window_of",
]
