"""A small condition on which a study takes a second or two."""

from intravar.study.simulation import Condition, Scenario
from intravar.study.simulation.physicians import Continuum
from intravar.study.simulation.rules import WindowRecipe

SMALL = Condition("small", "score2", Scenario("small", n_patients=500, n_physicians=5), seed=1)
WINDOW = Condition(
    "small-window",
    "window",
    Scenario("small-window", rule=WindowRecipe(2, 2), n_patients=500, n_physicians=5),
    seed=2,
)
CONTINUUM = Condition(
    "small-continuum",
    "continuous",
    Scenario("small-continuum", physicians=Continuum(), n_patients=600, n_physicians=6),
    seed=3,
)
METHODS = ["euclidean", "genetic-mahalanobis", "glmm"]
