from .catalogue import (
    Condition,
    all_conditions,
    find_condition,
    grid_conditions,
    multi_conditions,
    paper_conditions,
    simulate,
    stress_conditions,
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
from .noise_truth import NoiseTruth, noise_truth
from .physicians import Continuum, FiveGroups, PhysicianModel, Physicians
from .rules import Rule, RuleRecipe, Score2Rule, ThresholdRule, WindowRecipe
from .scenario import Scenario
from .score2 import score2_risk

__all__ = [
    "PAPER_COVARIATES",
    "Bernoulli",
    "Condition",
    "Continuum",
    "CovariateModel",
    "FiveGroups",
    "GaussianCopula",
    "LogNormal",
    "Marginal",
    "NoiseTruth",
    "Normal",
    "PhysicianModel",
    "Physicians",
    "Rule",
    "RuleRecipe",
    "Scenario",
    "Score2Rule",
    "ThresholdRule",
    "WindowRecipe",
    "all_conditions",
    "find_condition",
    "grid_conditions",
    "multi_conditions",
    "noise_truth",
    "paper_conditions",
    "score2_risk",
    "simulate",
    "stress_conditions",
]
