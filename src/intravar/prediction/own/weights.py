"""Which covariates a physician weighs more or less than the others, in numbers and in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from intravar.arrays import FloatArray, IntArray
from intravar.prediction.columns import telling_columns
from intravar.prediction.own.rules import Hyper, PersonalRules, fit_rules, learn_hyper
from intravar.prediction.tasks import Task

#: A difference of so many standard errors is worth a word.
WORTH_A_WORD = 2.5
#: At most so many words per physician.
MOST_WORDS = 3
#: Others' weight below this share of the largest is next to nothing.
NOTHING = 0.15


@dataclass(frozen=True, eq=False)
class SharedWeights:
    """What is common to the weights of physicians.

    Attributes
    ----------
    chosen, covariates
        Columns that are weighed, and the names of the covariates they belong to.
    hyper
        Mean and covariance of the physicians' parameters.
    """

    chosen: IntArray
    covariates: tuple[str, ...]
    hyper: Hyper

    def table(self, task: Task, physicians: Sequence[Any]) -> pl.DataFrame:
        """Return the weights of every panel's physician beside those of the others.

        Nobody's weights depend on who else is asked about.

        Returns
        -------
        polars.DataFrame
            physician, covariate, weight, others, difference, standard_error.
        """
        J = len(task.panels)
        Z = np.column_stack([np.ones(len(task.y)), task.columns[:, self.chosen]])
        rules = fit_rules(Z, task.y, task.code, np.arange(len(task.y)), J, self.hyper)
        weight, error = _weights(rules)
        others = np.broadcast_to(self.hyper.mean[1:-2], weight.shape)
        return pl.DataFrame(
            {
                "physician": np.repeat(list(physicians), len(self.covariates)),
                "covariate": list(self.covariates) * J,
                "weight": weight.ravel(),
                "others": others.ravel(),
                "difference": (weight - others).ravel(),
                "standard_error": error.ravel(),
            },
            schema_overrides={"physician": pl.String, "covariate": pl.String},
        )


def learn_weights(task: Task, names: Sequence[str]) -> SharedWeights:
    """Learn what is common to the physicians' weights.

    Weights are per standard deviation of the covariate, from a rule without trees that is learned
    from all patients: it describes, and predicts nothing.

    Parameters
    ----------
    task
        The panels, made ready.
    names
        Of the covariates, in the order of the panels.
    """
    y, code, J = task.y, task.code, len(task.panels)
    rows = np.flatnonzero(task.sampled)
    chosen = telling_columns(task.columns, y, code, rows, J)
    Z = np.column_stack([np.ones(len(y)), task.columns[:, chosen]])
    covariates = tuple(names[task.owner[at]] for at in chosen)
    return SharedWeights(chosen, covariates, learn_hyper(Z, y, code, rows, J))


def _weights(rules: PersonalRules) -> tuple[FloatArray, FloatArray]:
    error = np.sqrt(np.einsum("jkk->jk", rules.covariance))
    return rules.theta[:, 1:-2], error[:, 1:-2]


def notable(weights: pl.DataFrame) -> pl.DataFrame:
    """Return which covariates each physician weighs otherwise than the others, the surest first.

    Returns
    -------
    polars.DataFrame
        physician, covariate, how: "more", "less", "the other way", or "up" and "down" where the
        others give it next to no weight.

    Examples
    --------
    >>> table = pl.DataFrame(
    ...     {"physician": ["A", "A"], "covariate": ["age", "sbp"], "weight": [2.0, 0.1],
    ...      "others": [1.0, 1.0], "difference": [1.0, -0.9], "standard_error": [0.1, 0.2]}
    ... )
    >>> notable(table).rows()
    [('A', 'age', 'more'), ('A', 'sbp', 'less')]
    """
    largest = max((abs(value) for value in weights["others"]), default=0.0) or 1e-9
    sure = (
        weights.with_columns((pl.col("difference").abs() / pl.col("standard_error")).alias("sure"))
        .filter(pl.col("sure") >= WORTH_A_WORD)
        .sort("sure", descending=True, maintain_order=True)
    )
    how = [_how(row["weight"], row["others"], largest) for row in sure.iter_rows(named=True)]
    return sure.select("physician", "covariate", pl.Series("how", how, dtype=pl.String))


def _how(own: float, others: float, largest: float) -> str:
    if abs(others) < NOTHING * largest:
        return "up" if own > 0 else "down"
    if own * others < 0 and abs(own) > NOTHING * largest:
        return "the other way"
    return "more" if abs(own) > abs(others) else "less"


def in_words(differences: pl.DataFrame, physicians: Sequence[str]) -> list[str | None]:
    """Say which covariates each physician weighs more or less; None where nothing stands out.

    Examples
    --------
    >>> rows = [("A", "age", "more"), ("A", "sbp", "less")]
    >>> table = pl.DataFrame(rows, schema=["physician", "covariate", "how"], orient="row")
    >>> in_words(table, ["A", "B"])
    ['weighs age more and sbp less than the others', None]
    """
    said: dict[str, list[str]] = {}
    for physician, covariate, how in differences.iter_rows():
        words = said.setdefault(physician, [])
        if len(words) < MOST_WORDS:
            words.append(f"{covariate} {how}")
    return [_sentence(said.get(str(name))) for name in physicians]


def _sentence(words: list[str] | None) -> str | None:
    if not words:
        return None
    listed = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
    return f"weighs {listed} than the others" if _compares(words) else f"weighs {listed}"


def _compares(words: list[str]) -> bool:
    return words[-1].endswith(("more", "less"))
