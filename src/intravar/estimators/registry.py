"""The methods by name, and how to make and fit them."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

from intravar.errors import InputError, unknown_name
from intravar.estimators.base import Estimator
from intravar.observed import Observed as Observed
from intravar.observed import physician_or_groups


class Methods(UserDict[str, type[Estimator]]):
    """Methods by their name on the command line; each is loaded when it is first asked for."""

    def __init__(self, places: Mapping[str, str]) -> None:
        super().__init__()
        self.data: dict[str, Any] = dict(places)

    def __getitem__(self, name: str) -> type[Estimator]:
        """Return the class of a method."""
        found = self.data[name]
        if isinstance(found, str):
            module, _, title = found.partition(".")
            found = self.data[name] = getattr(import_module(f"{__package__}.{module}"), title)
        method: type[Estimator] = found
        return method


#: The paper's eight, in its order.
PAPER_METHODS = Methods(
    {
        "euclidean": "matching.Euclidean",
        "mahalanobis": "matching.Mahalanobis",
        "learned-weights": "weighted.LearnedWeights",
        "genetic-mahalanobis": "genetic_mahalanobis.GeneticMahalanobis",
        "rf-proximity": "rf_proximity.RFProximity",
        "lpa-guided": "lpa_guided.LPAGuided",
        "mutual-information": "weighted.MutualInformation",
        "glmm": "glmm.GLMM",
    }
)
#: What `all` means: the paper's eight and the Latent Rule. Others take their time, or aim at
#: something else than D*, and must be named.
STUDY_METHODS = Methods({**PAPER_METHODS.data, "latent-rule": "latent_rule.LatentRule"})
#: All methods by their name on the command line.
METHODS = Methods(
    {
        **STUDY_METHODS.data,
        "predictability": "predictability.Predictability",
        "rate": "rate.Rate",
    }
)
#: The name of the method that counts.
REPEATS = "repeats"
#: What can be told about every method, the one that takes cases instead of covariates included.
DESCRIBED = Methods({**METHODS.data, REPEATS: "repeats.Repeats"})
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


def described(name: str) -> type[Estimator]:
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
