"""What changes with time or with the patient: steadiness, or the rule itself.

Patients come over two years. In some conditions physicians become less steady, at once or slowly;
in one a guideline changes the rule while physicians stay as they are; in one some patients are
harder to decide on than others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import ndtr

from intravar.study.simulation.covariates import PAPER_COVARIATES, CovariateModel, FloatArray
from intravar.study.simulation.physicians import Continuum
from intravar.study.simulation.rules import Rule, Score2Rule
from intravar.study.simulation.scenario import Scenario

#: The covariate that says when a patient came, in whole days from the first.
DAY = "day"
DAYS = 730
MIDDLE = DAYS // 2
#: By so much p_high falls.
FALL = 0.15


@dataclass(frozen=True)
class WholeDays:
    """Every day from 0 to `n_days` - 1 alike."""

    n_days: int = DAYS

    def from_normal(self, standard_normal: FloatArray) -> FloatArray:
        """See :class:`intravar.study.simulation.covariates.Marginal`."""
        days = np.floor(ndtr(standard_normal) * self.n_days)
        return np.asarray(np.minimum(days, self.n_days - 1.0))

    def quantile(self, probability: float) -> float:
        """See :class:`intravar.study.simulation.covariates.Marginal`."""
        return float(max(np.ceil(probability * self.n_days) - 1, 0))


@dataclass(frozen=True)
class FallsAtOnce:
    """p_high falls from one day to the next."""

    size: float = FALL
    day: int = MIDDLE

    def fall(self, covariates: pl.DataFrame) -> FloatArray:
        """See :class:`intravar.study.simulation.departures.Steadiness`."""
        return np.where(covariates[DAY].to_numpy() >= self.day, self.size, 0.0)

    def describe(self) -> str:
        """See :class:`intravar.study.simulation.departures.Steadiness`."""
        return f"p_high lower by {self.size:g} from day {self.day} on"


@dataclass(frozen=True)
class FallsSlowly:
    """p_high falls evenly from the first day to the last."""

    size: float = FALL
    n_days: int = DAYS

    def fall(self, covariates: pl.DataFrame) -> FloatArray:
        """See :class:`intravar.study.simulation.departures.Steadiness`."""
        return np.asarray(self.size * covariates[DAY].to_numpy() / (self.n_days - 1))

    def describe(self) -> str:
        """See :class:`intravar.study.simulation.departures.Steadiness`."""
        return f"p_high lower by {self.size:g} from the first day to the last, evenly"


@dataclass(frozen=True)
class HarderPatients:
    """p_high is lower for patients with a 1 in a covariate."""

    covariate: str = "male"
    size: float = FALL

    def fall(self, covariates: pl.DataFrame) -> FloatArray:
        """See :class:`intravar.study.simulation.departures.Steadiness`."""
        return np.asarray(self.size * covariates[self.covariate].to_numpy())

    def describe(self) -> str:
        """See :class:`intravar.study.simulation.departures.Steadiness`."""
        return f"p_high lower by {self.size:g} where {self.covariate} is 1"


@dataclass(frozen=True)
class Guideline:
    """One rule until a day, another from then on.

    Examples
    --------
    >>> rule = Guideline(Score2Rule(), Score2Rule(thresholds=(0.05, 0.1, 0.15)), day=10)
    >>> rule.covariates[-1]
    'day'
    """

    before: Rule
    after: Rule
    day: int = MIDDLE

    @property
    def covariates(self) -> tuple[str, ...]:
        """See :class:`intravar.study.simulation.rules.Rule`."""
        return tuple(dict.fromkeys((*self.before.covariates, *self.after.covariates, DAY)))

    def eligible(self, covariates: pl.DataFrame) -> npt.NDArray[np.bool_]:
        """See :class:`intravar.study.simulation.rules.Rule`."""
        late = covariates[DAY].to_numpy() >= self.day
        return np.where(late, self.after.eligible(covariates), self.before.eligible(covariates))

    def describe(self) -> str:
        """See :class:`intravar.study.simulation.rules.Rule`."""
        return f"until day {self.day}: {self.before.describe()}; then: {self.after.describe()}"


WITH_DAYS = CovariateModel({**PAPER_COVARIATES.marginals, DAY: WholeDays()})
_BASE = Scenario(
    "drift", covariates=WITH_DAYS, physicians=Continuum(), n_patients=20_000, n_physicians=40
)

COURSE_SCENARIOS: tuple[Scenario, ...] = tuple(
    replace(scenario, name=name)
    for name, scenario in {
        "drift-none": _BASE,
        "drift-step": replace(_BASE, steadiness=FallsAtOnce()),
        "drift-slow": replace(_BASE, steadiness=FallsSlowly()),
        "drift-guideline": replace(
            _BASE, rule=Guideline(Score2Rule(), Score2Rule(thresholds=(0.0125, 0.025, 0.0375)))
        ),
        "subgroup-harder": replace(_BASE, steadiness=HarderPatients()),
    }.items()
)
