"""Rules fitted to all of a physician's patients: what they leave unexplained, and what they weigh.

They have seen the decisions and predict nothing. A rule that weighs the covariates and the pooled
prediction says who decides by chance more often than whom, and bounds nothing. The rule and the
held-out errors share the decisions, and with them chance. How far, to first order: a decision moves
the rule's parameters by their covariance, and these move p. A rule that weighs the covariates alone
says, in numbers and in words, what a physician weighs more or less than the others.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from intravar.arrays import FloatArray, IntArray
from intravar.learning import personal_rules
from intravar.learning.personal_rules import Hyper, PersonalRules, fit_rules, learn_hyper
from intravar.prediction.bound import Left, panel_means
from intravar.prediction.candidates import clipped_logit
from intravar.prediction.tasks import TIME, Task, telling_columns

#: A difference of so many standard errors is worth a word.
WORTH_A_WORD = 2.5
#: At most so many words per physician.
MOST_WORDS = 3
#: Others' weight below this share of the largest is next to nothing.
NOTHING = 0.15


class OwnRules(NamedTuple):
    """What is common to the rules of physicians that have seen all of their patients."""

    chosen: IntArray
    hyper: Hyper

    def fitted(
        self, task: Task, pooled: FloatArray | None = None
    ) -> tuple[PersonalRules, FloatArray]:
        """Return every physician's rule, and the design that it weighs."""
        design = _design(task, self.chosen, pooled)
        return fit_rules(task.table(design, np.arange(len(design))), self.hyper), design

    def left(self, task: Task, pooled: FloatArray) -> FloatArray:
        """Return the mean of 2 p (1 - p) over every physician's patients, p by their own rule.

        `pooled` is P(yes) by a prediction that does not know the physician. Nobody's value depends
        on who else is asked about.
        """
        rules, design = self.fitted(task, pooled)
        p, _ = rules.slopes(design, task.code)
        return panel_means(2 * p * (1 - p), task.code, len(task))

    def weights(self, task: Task) -> pl.DataFrame:
        """Return the weights of every panel's physician beside those of the others.

        Nobody's weights depend on who else is asked about.
        """
        rules, _ = self.fitted(task)
        weight = rules.theta[:, 1:-2]
        error = np.sqrt(np.einsum("jkk->jk", rules.covariance))[:, 1:-2]
        others = np.broadcast_to(self.hyper.mean[1:-2], weight.shape)
        names = [task.names[task.owner[at]] for at in self.chosen]
        weights = pl.DataFrame(
            {
                "physician": np.repeat(list(task.physicians), len(names)),
                "covariate": names * len(task),
                "weight": weight.ravel(),
                "others": others.ravel(),
                "difference": (weight - others).ravel(),
                "standard_error": error.ravel(),
            },
            schema_overrides={"physician": pl.String, "covariate": pl.String},
        )
        # The time of a decision is in the rule, but it is no covariate.
        return weights.filter(pl.col("covariate") != TIME)


def _design(task: Task, chosen: IntArray, pooled: FloatArray | None) -> FloatArray:
    """Return what rules weigh: a constant, the pooled prediction if there is one, columns."""
    first = [np.ones(len(task.y))] + ([] if pooled is None else [clipped_logit(pooled)])
    return np.column_stack([*first, task.columns[:, chosen]])


def learn_weights(
    task: Task, pooled: FloatArray | None = None, seed: int | None = None
) -> OwnRules:
    """Learn what is common to the physicians' weights, by default of covariates alone.

    Weights are per standard deviation of the covariate, from a rule without trees that is learned
    from all patients: it describes, and predicts nothing. Given a seed, parameters are drawn.
    """
    rows = np.flatnonzero(task.sampled)
    chosen = telling_columns(task.table(task.columns, rows))
    table = task.table(_design(task, chosen, pooled), rows)
    hyper = learn_hyper(table)
    if seed is not None:
        hyper = personal_rules.sampled_hyper(table, hyper, seed)
    return OwnRules(chosen, hyper)


def learn_own_rules(
    task: Task, prediction: FloatArray, pooled: FloatArray, seed: int
) -> tuple[OwnRules, Left]:
    """Learn what is common to own rules; return what they leave of those learned from as well.

    `prediction` and `pooled` are P(yes) by predictions that have not seen the decision: the best
    ones, and those that do not know the physician. The seed is that of the draws.
    """
    code, J, own = task.code, len(task), learn_weights(task, pooled, seed)
    rules, design = own.fitted(task, pooled)
    p, slopes = rules.slopes(design, code)
    moved, held = (
        np.column_stack([panel_means(2 * (1 - 2 * at) * slope, code, J) for slope in slopes.T])
        for at in (p, prediction)
    )
    shared = np.einsum("jk,jkl,jl->j", moved, rules.covariance, held)
    return own, Left(panel_means(2 * p * (1 - p), code, J), shared)


def notable(weights: pl.DataFrame) -> pl.DataFrame:
    """Return which covariates each physician weighs otherwise than the others, the surest first.

    `how` is "more", "less", "the other way", or "up" and "down" where the others give it next to no
    weight.

    Examples
    --------
    >>> table = pl.DataFrame(
    ...     {"physician": ["A", "A"], "covariate": ["age", "sbp"], "weight": [2.0, 0.1],
    ...      "others": [1.0, 1.0], "difference": [1.0, -0.9], "standard_error": [0.1, 0.2]}
    ... )
    >>> notable(table).rows()
    [('A', 'age', 'more'), ('A', 'sbp', 'less')]
    """
    own, others = pl.col("weight"), pl.col("others")
    nothing = NOTHING * (max((abs(value) for value in weights["others"]), default=0.0) or 1e-9)
    how = (
        pl.when(others.abs() < nothing)
        .then(pl.when(own > 0).then(pl.lit("up")).otherwise(pl.lit("down")))
        .when((own * others < 0) & (own.abs() > nothing))
        .then(pl.lit("the other way"))
        .when(own.abs() > others.abs())
        .then(pl.lit("more"))
        .otherwise(pl.lit("less"))
    )
    return (
        weights.with_columns(sure=pl.col("difference").abs() / pl.col("standard_error"), how=how)
        .filter(pl.col("sure") >= WORTH_A_WORD)
        .sort("sure", descending=True, maintain_order=True)
        .select("physician", "covariate", "how")
    )


def in_words(differences: pl.DataFrame, physicians: Sequence[str]) -> list[str | None]:
    """Say which covariates each physician weighs more or less; None where nothing stands out.

    Examples
    --------
    >>> rows = [("A", "age", "more"), ("A", "sbp", "less")]
    >>> table = pl.DataFrame(rows, schema=["physician", "covariate", "how"], orient="row")
    >>> in_words(table, ["A", "B"])
    ['weighs age more and sbp less than the others', None]
    """
    words = pl.format("{} {}", "covariate", "how").head(MOST_WORDS).alias("words")
    said = dict(differences.group_by("physician", maintain_order=True).agg(words).iter_rows())
    sentences: list[str | None] = []
    for name in physicians:
        *others, last = said.get(str(name)) or [""]
        listed = f"{', '.join(others)} and {last}" if others else last
        compares = last.endswith(("more", "less"))
        sentence = f"weighs {listed} than the others" if compares else f"weighs {listed}"
        sentences.append(sentence if last else None)
    return sentences
