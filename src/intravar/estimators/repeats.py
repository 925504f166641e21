"""The same case twice: self-contradiction, counted where it can be seen."""

from typing import Any, Self

import narwhals as nw
import numpy as np
import numpy.typing as npt
import polars as pl

from intravar import observed
from intravar.errors import InputError
from intravar.estimators.evidence import Estimand
from intravar.inference.intervals import LEVEL, share_interval
from intravar.inference.shrinkage import Scale

#: Why a physician has no share of self-contradictions.
NO_REPEATS = "no case was seen twice"


class Repeats:
    """Counts how often physicians contradict themselves on cases that they saw more than once.

    For every case the share of pairs of its occasions that were decided differently; the score is
    the mean over the physician's repeated cases. Nothing is predicted and nothing is matched.

    Attributes
    ----------
    physicians_
        Names of the physicians.
    score_
        Self-contradiction per physician; NaN where no case was seen twice.
    low_, high_
        95 % interval.
    n_cases_, n_repeated_
        Cases that each physician saw, and saw more than once.
    reason_
        Why a score is undefined, None where it is defined.
    overall_
        Self-contradiction of all physicians together, each weighing the same.

    Examples
    --------
    >>> model = Repeats().fit(
    ...     case=["a", "a", "b", "b", "a", "a"],
    ...     y=[1, 0, 1, 1, 0, 0],
    ...     physician=["Ada", "Ada", "Ada", "Ada", "Ben", "Ben"],
    ... )
    >>> model.score_.tolist()
    [0.5, 0.0]
    """

    name = "repeats"
    label = "Repeats"
    idea = "counts self-contradictions on cases that were seen twice"
    scale: Scale = "discordance"
    estimand: Estimand = "repeated"
    predicts: bool = False

    def fit(self, case: Any, y: Any, physician: Any = None, *, groups: Any = None) -> Self:
        """Count the self-contradictions of every physician.

        Parameters
        ----------
        case
            Which case was seen, one value per decision; a missing one stands for a case that
            nobody saw again.
        y
            Decision, 0 or 1.
        physician, groups
            Physician, by any name; give it as either.
        """
        who = observed.physician_or_groups(physician, groups)
        self._as_pandas = observed.is_pandas(case, y, who)
        n, k, differ = pl.col("n"), pl.col("k"), pl.col("differ")
        counts = (
            _table(case, y, who)
            .group_by("physician", "case")
            .agg(n=pl.len().cast(pl.Int64), k=pl.col("y").sum())
            .with_columns(differ=pl.when(n > 1).then(2 * k * (n - k) / (n * (n - 1))))
            .sort("physician", "case")
            .group_by("physician", maintain_order=True)
            .agg(cases=pl.len(), repeated=(n > 1).sum(), score=differ.mean(), variance=differ.var())
        )
        self.physicians_ = counts["physician"].to_numpy()
        self.n_cases_ = counts["cases"].to_numpy().astype(np.int64)
        self.n_repeated_ = counts["repeated"].to_numpy().astype(np.int64)
        self.score_ = counts["score"].cast(pl.Float64).fill_null(np.nan).to_numpy()
        variance = counts["variance"].cast(pl.Float64).fill_null(np.nan).to_numpy()
        # How many yes-or-no comparisons are as sure as these cases: a case seen twice is one, a
        # case seen more often says more. From two comparable cases on a variance can be told; few
        # are not believed to be surer.
        binomial = self.score_ * (1 - self.score_)
        usual = np.divide(binomial, variance, out=np.ones_like(binomial), where=variance > 0)
        trusted = np.clip(np.nan_to_num(usual, nan=1.0), 1.0, 6.0)
        self._effective = self.n_repeated_ * np.where(self.n_repeated_ >= 10, trusted, 1.0)
        self.reason_ = [None if n else NO_REPEATS for n in self.n_repeated_]
        self.low_, self.high_, _ = share_interval(self.score_ * self._effective, self._effective)
        known = self.score_[self.n_repeated_ > 0]
        self.overall_ = float(known.mean()) if len(known) else float("nan")
        return self

    @property
    def profile_(self) -> Any:
        """One row per physician: cases, repeated ones, self-contradiction and its interval.

        A frame of pandas if one was given, else of polars.
        """
        return self.interval(LEVEL)

    def interval(self, level: float = LEVEL) -> Any:
        """Return the profile with intervals of another level."""
        low, high, _ = share_interval(self.score_ * self._effective, self._effective, level)
        table = pl.DataFrame(
            {
                "physician": self.physicians_,
                "n_cases": self.n_cases_,
                "n_repeated": self.n_repeated_,
                "score": pl.Series(self.score_).fill_nan(None),
                "score_low": pl.Series(low).fill_nan(None),
                "score_high": pl.Series(high).fill_nan(None),
                "reason": pl.Series(self.reason_, dtype=pl.String),
            }
        )
        return observed.handed_back(table, as_pandas=self._as_pandas)

    def beside(self, profile: Any) -> Any:
        """Set self-contradiction beside a score made from the record alone.

        Parameters
        ----------
        profile
            `profile_` of an estimator, :class:`intravar.Predictability` for instance: columns
            physician, score, score_high.

        Returns
        -------
        frame
            Of pandas if the profile is, else of polars: physician, repeats, bound, `unexplained`
            (bound minus repeats: what the record does not explain though the physician is
            consistent) and `share_unexplained` (the share of the apparent discordance that is not
            inconsistency); `holds` says whether the bound's upper end is at or above the count.

        Examples
        --------
        >>> model = Repeats().fit(["a", "a"], [1, 0], ["Ada", "Ada"])
        >>> profile = pl.DataFrame({"physician": ["Ada"], "score": [1.0], "score_high": [1.0]})
        >>> model.beside(profile)["unexplained"].to_list()
        [0.0]
        """
        given = nw.from_native(profile, eager_only=True).to_polars()
        needed = ("physician", "score", "score_high")
        missing = [name for name in needed if name not in given.columns]
        if missing:
            raise InputError(
                f"the profile has no column '{missing[0]}'; give the profile_ of an estimator"
            )
        counted = pl.DataFrame({"physician": self.physicians_, "repeats": self.score_})
        other = given.with_columns(pl.col("physician").cast(pl.String)).select(needed)
        bound, repeats = pl.col("score"), pl.col("repeats").fill_nan(None)
        table = counted.join(other, on="physician", how="left", maintain_order="left").select(
            "physician",
            repeats,
            bound.alias("bound"),
            (bound - repeats).alias("unexplained"),
            pl.when(bound > 0).then((1 - repeats / bound).clip(0, 1)).alias("share_unexplained"),
            (pl.col("score_high") >= repeats).alias("holds"),
        )
        return observed.handed_back(table, as_pandas=observed.is_pandas(profile))


def one_occasion(case: Any, physician: Any) -> npt.NDArray[np.int64]:
    """Return the rows of the first occasion of every physician and case.

    A method that works from the record alone is given these and no other: a case seen twice would
    tell it the answer.

    Examples
    --------
    >>> one_occasion(["a", "a", "b"], ["Ada", "Ada", "Ada"]).tolist()
    [0, 2]
    """
    table = _table(case, np.zeros(len(case), dtype=np.int8), physician).with_row_index("row")
    first = table.unique(["physician", "case"], keep="first", maintain_order=True)
    return first["row"].to_numpy().astype(np.int64)


def _table(case: Any, y: Any, physician: Any) -> pl.DataFrame:
    decision = observed.checked_decision(y)
    labels = observed.checked_physician(physician).cast(pl.String)
    given = pl.Series("case", list(case), strict=False)
    cases = (given.fill_nan(None) if given.dtype.is_float() else given).cast(pl.String)
    if len(decision) == 0:
        raise InputError("there are no decisions; give at least one row")
    for name, length in {"case": len(cases), "physician": len(labels)}.items():
        if length != len(decision):
            raise InputError(
                f"{name} has {length:,} entries for {len(decision):,} decisions; one each is needed"
            )
    # Two cases without a name are two cases.
    alone = pl.Series([f"\x00{row}" for row in range(len(cases))])
    columns = {"physician": labels, "case": cases.fill_null(alone), "y": decision.astype(np.int64)}
    return pl.DataFrame(columns)
