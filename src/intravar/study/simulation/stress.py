"""The stress family: the continuum of physicians, one assumption broken at a time.

Six of them leave one rule for all: physicians follow rules of their own, 40 of them with 500
patients each, and once more, as `-small`, 160 of them with 100 each.
"""

from __future__ import annotations

from dataclasses import replace

from intravar.study.simulation.departures import (
    CaseMix,
    DrawnRule,
    ExclusiveOr,
    GradedScore2,
    Hidden,
    Irrelevant,
    MeasurementNoise,
    MissingValues,
    PersonalThresholds,
)
from intravar.study.simulation.own_rules import (
    COMMON_RULE,
    THREE_CAMPS,
    Camps,
    OwnConjunctions,
    PersonalWeights,
)
from intravar.study.simulation.physicians import Continuum
from intravar.study.simulation.rules import Score2Rule
from intravar.study.simulation.scenario import Scenario

#: Multiplies the SCORE2 thresholds so that 5 % of the patients are eligible.
RARE = 2.41

_BASE = Scenario("stress", physicians=Continuum(), n_patients=20_000, n_physicians=50)
_SPARSE = replace(_BASE, n_patients=10_000, minimum_panel=20)
_OWN = replace(_BASE, physicians=Continuum(p_low=0.02), n_patients=20_000, n_physicians=40)
_OWN_RULES: dict[str, DrawnRule] = {
    "two-camps": Camps(),
    "personal-weights": PersonalWeights(COMMON_RULE, weights_sd=0.3),
    "strong-thresholds": PersonalWeights(COMMON_RULE, threshold_sd=1.0),
    "own-rules": PersonalWeights({}, weights_sd=1.0),
    "own-conjunctions": OwnConjunctions(),
    "three-camps": Camps(THREE_CAMPS, drifters=0.2),
}

STRESS_SCENARIOS: tuple[Scenario, ...] = tuple(
    replace(scenario, name=f"stress-{name}")
    for name, scenario in {
        "hidden-weak": replace(_BASE, observation=(Hidden(("hdl",)),)),
        "hidden-strong": replace(_BASE, observation=(Hidden(("age",)),)),
        "personal-thresholds": replace(_BASE, rule=PersonalThresholds()),
        "graded": replace(_BASE, rule=GradedScore2()),
        "sparse-50": replace(_SPARSE, n_physicians=200),
        "sparse-25": replace(_SPARSE, n_physicians=400),
        "heterogeneous-p-low": replace(_BASE, physicians=Continuum(p_low=(0.0, 0.3))),
        "noise": replace(_BASE, observation=(MeasurementNoise(0.3),)),
        "case-mix": replace(_BASE, case_mix=CaseMix("age", 0.5)),
        "missing": replace(_BASE, observation=(MissingValues(0.1),)),
        "rare": replace(
            _BASE, rule=Score2Rule(thresholds=(0.025 * RARE, 0.05 * RARE, 0.075 * RARE))
        ),
        "exclusive-or": replace(_BASE, rule=ExclusiveOr({"age": 60, "sbp": 130})),
        "irrelevant": replace(_BASE, observation=(Irrelevant(30),)),
        **{name: replace(_OWN, rule=rule) for name, rule in _OWN_RULES.items()},
        **{
            f"{name}-small": replace(_OWN, rule=rule, n_patients=16_000, n_physicians=160)
            for name, rule in _OWN_RULES.items()
        },
    }.items()
)
