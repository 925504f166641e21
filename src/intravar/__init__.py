"""Measures how often a physician decides differently for two comparable patients.

The public names are those of the stub beside this file, for people, type checkers and Python alike.
Each is loaded when it is first used (SPEC 1): importing intravar costs next to nothing.
"""

from importlib import import_module
from typing import Any

import lazy_loader as lazy

from intravar.errors import warn_of

_load, __dir__, __all__ = lazy.attach_stub(__name__, __file__)

#: Names that stood here before, by where they are now.
_MOVED_TO = {
    "estimators": "GLMM Euclidean GeneticMahalanobis LPAGuided LearnedWeights Mahalanobis "
    "MutualInformation Noise RFProximity Several fit_methods",
    "study": "Scenario Study Truth oracle_by_group oracle_several",
}
_MOVED = {name: f"{to}.{name}" for to, names in _MOVED_TO.items() for name in names.split()}
_MOVED |= {"several": "estimators.several_decisions", "Means": "RunSettings"}


def __getattr__(name: str) -> Any:
    if name not in _MOVED:
        return _load(name)
    place = f"intravar.{_MOVED[name]}"
    warn_of(f"intravar.{name}", place)
    module, _, today = place.rpartition(".")
    return getattr(import_module(module), today)
