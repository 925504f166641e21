"""The methods by name, and how to make and fit them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from intravar.checks import physician_or_groups
from intravar.errors import InputError, unknown_name
from intravar.estimators.base import Estimator
from intravar.estimators.euclidean import Euclidean
from intravar.estimators.genetic_mahalanobis import GeneticMahalanobis
from intravar.estimators.glmm import GLMM
from intravar.estimators.latent_rule import LatentRule
from intravar.estimators.learned_weights import LearnedWeights
from intravar.estimators.lpa_guided import LPAGuided
from intravar.estimators.mahalanobis import Mahalanobis
from intravar.estimators.mutual_information import MutualInformation
from intravar.estimators.predictability import Predictability
from intravar.estimators.rate import Rate
from intravar.estimators.repeats import Repeats
from intravar.estimators.rf_proximity import RFProximity
from intravar.observed import Observed as Observed

#: The paper's eight, in its order.
PAPER_METHODS: dict[str, type[Estimator]] = {
    method.name: method
    for method in (
        Euclidean,
        Mahalanobis,
        LearnedWeights,
        GeneticMahalanobis,
        RFProximity,
        LPAGuided,
        MutualInformation,
        GLMM,
    )
}
#: All methods by their name on the command line.
METHODS: dict[str, type[Estimator]] = {
    **PAPER_METHODS,
    LatentRule.name: LatentRule,
    Predictability.name: Predictability,
    Rate.name: Rate,
}
#: What `all` means: the paper's eight and the Latent Rule. Others take their time, or aim at
#: something else than D*, and must be named.
STUDY_METHODS: dict[str, type[Estimator]] = {**PAPER_METHODS, LatentRule.name: LatentRule}
#: What can be told about every method, the one that takes cases instead of covariates included.
DESCRIBED: dict[str, type[Estimator] | type[Repeats]] = {**METHODS, Repeats.name: Repeats}
#: Methods that measure by default, the best that is there first.
PREFERRED = ("predictability", "latent-rule")


def default_method() -> str:
    """Return the method that measures a user's own data unless another is named."""
    return next(name for name in PREFERRED if name in METHODS)


def introduce(method: Estimator) -> str:
    """Let a method of one's own be asked for, and told about, by its name; return that."""
    METHODS.setdefault(method.name, type(method))
    DESCRIBED.setdefault(method.name, type(method))
    return method.name


def described(name: str) -> type[Estimator] | type[Repeats]:
    """Return what can be told about a method, or say that it is not known here."""
    if name not in DESCRIBED:
        raise InputError(
            f"method '{name}' is not one of intravar's; whoever measured with it can write the "
            "documents, with `intravar.write_measurement` in the same program"
        )
    return DESCRIBED[name]


def make_estimator(name: str, **parameters: Any) -> Estimator:
    """Return an unfitted estimator by its name on the command line.

    Examples
    --------
    >>> make_estimator("euclidean", caliper=0.1)
    Euclidean(caliper=0.1)
    """
    if name not in METHODS:
        raise unknown_name("method", name, METHODS, remedy="'intravar methods' lists all of them")
    return METHODS[name](**parameters)


def fit_methods(
    methods: str | Estimator | Iterable[str | Estimator],
    X: Any,
    y: Any,
    physician: Any = None,
    *,
    groups: Any = None,
) -> dict[str, Estimator]:
    """Fit several methods on the same data; what they learn in common is learned once.

    Examples
    --------
    >>> import intravar
    >>> cohort = intravar.simulate("score2", n_patients=500, n_physicians=5)
    >>> fitted = fit_methods(["euclidean", "glmm"], *cohort.observed())
    >>> list(fitted)
    ['euclidean', 'glmm']
    """
    observed = Observed.of(X, y, physician_or_groups(physician, groups))
    wanted = [methods] if isinstance(methods, str | Estimator) else methods
    estimators = [
        make_estimator(method) if isinstance(method, str) else method for method in wanted
    ]
    return {estimator.name: estimator.fit_observed(observed) for estimator in estimators}
