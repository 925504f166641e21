"""A small condition on which a study takes a second or two."""

from intravar.study.simulation import Scenario
from intravar.study.simulation.physicians import Continuum
from intravar.study.simulation.rules import WindowRecipe

SMALL = Scenario("small", n_patients=500, n_physicians=5, seed=1)
WINDOW = Scenario("small-window", rule=WindowRecipe(2, 2), n_patients=500, n_physicians=5, seed=2)
CONTINUUM = Scenario(
    "small-continuum", physicians=Continuum(), n_patients=600, n_physicians=6, seed=3
)
METHODS = ["euclidean", "genetic-mahalanobis", "glmm"]
