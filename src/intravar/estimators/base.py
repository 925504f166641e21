"""What all estimators share: the interface of scikit-learn, and a result that explains itself."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from intravar.arrays import FloatArray
from intravar.estimators.evidence import Decisions, Estimand, Evidence
from intravar.estimators.work import Size, Work, scanning
from intravar.frames import handed_back
from intravar.inference.intervals import LEVEL, Interval, TwoHalves, checked_level
from intravar.inference.scales import Scale
from intravar.observed import Observed


class Estimator(BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """From (X, y, physician) to one score per physician.

    Attributes
    ----------
    physicians_
        The physicians as they were given, in order: numbers by size, texts as a reader counts.
    score_
        One score per physician; NaN where it is undefined.
    reason_
        Why a score is undefined, None where it is defined.
    n_patients_
        Patients per physician.
    profile_
        The same as one table.
    """

    #: Name on the command line.
    name: ClassVar[str]
    #: Name in tables and figures.
    label: ClassVar[str]
    #: The idea in one line.
    idea: ClassVar[str]
    #: Whether the decisions inform how patients are compared.
    supervised: ClassVar[bool]
    #: What the score aims at.
    estimand: ClassVar[Estimand] = "comparable"
    #: What the score measures.
    scale: ClassVar[Scale] = "discordance"
    #: What a discordance can tend to at the most: a share of pairs may be 1, 2 p (1 - p) one half.
    most: ClassVar[float] = 1.0
    #: Whether covariates may be missing.
    accepts_missing: ClassVar[bool] = False
    #: Methods with the same word learn something in common and are best run together.
    shares: ClassVar[str] = "distances"
    #: Whether physicians that were not fitted can be scored by what was learned in common.
    reads_others: ClassVar[bool] = False

    physicians_: npt.NDArray[Any]
    score_: FloatArray
    reason_: list[str | None]
    n_patients_: npt.NDArray[np.int64]
    feature_names_in_: npt.NDArray[np.str_]
    n_features_in_: int

    def fit(self, X: Any, y: Any, physician: Any) -> Self:
        """Score every physician.

        Parameters
        ----------
        X
            Covariates, one row per patient: a NumPy array, or a pandas, polars or other frame
            that narwhals reads. Finite numbers only.
        y
            Decision per patient, 0 or 1.
        physician
            Physician per patient, by any name.
        """
        observed = Observed.of(X, y, physician, keep_missing=self.accepts_missing)
        return self.fit_observed(observed)

    def fit_observed(self, observed: Observed) -> Self:
        """Score every physician of input that was checked before, sharing what others learned."""
        self._describe(observed)
        self._fit(observed)
        return self

    def _describe(self, observed: Observed) -> None:
        """Set who is scored and by which covariates."""
        self._named, self._as_pandas = observed.named, observed.as_pandas
        self.physicians_ = observed.physician_array
        self.n_patients_ = np.array([len(panel) for panel in observed.panels], dtype=np.int64)
        self.feature_names_in_ = np.asarray(observed.names)
        self.n_features_in_ = len(observed.names)

    @abstractmethod
    def _fit(self, observed: Observed) -> None:
        """Set `score_` and `reason_`, and whatever else the method has to say."""

    def common(self) -> Self:
        """Return the fitted method without patients.

        It is what `others` needs, small enough to send about.
        """
        raise NotImplementedError

    def others(self, observed: Observed) -> Self:
        """Score other physicians by what was learned in common; nothing common is learned."""
        raise NotImplementedError

    def two_halves(self, observed: Observed, deal: int) -> TwoHalves | None:
        """Return what either half of the patients says, where that takes less than fitting anew.

        Parameters
        ----------
        observed
            The patients that were fitted.
        deal
            Number of the deal into halves, from 0.

        Returns
        -------
        halves
            None where every half must be fitted for itself.
        """
        return None

    def evidence(self, observed: Observed) -> Evidence:
        """Return what stands behind the scores, for the patients that were fitted."""
        return Decisions()

    @classmethod
    def work(cls, size: Size) -> Work:
        """Return what fitting takes on a task of some size."""
        return Work(scanning(size))

    @property
    def profile_(self) -> Any:
        """One row per physician: patients, score, its 95 % interval, and why it is undefined.

        A frame of pandas if one was given, else of polars.
        """
        check_is_fitted(self)
        table = pl.DataFrame(
            {
                "physician": self._named,
                "n_patients": self.n_patients_,
                "score": pl.Series(self.score_).fill_nan(None),
                **self._end_columns(LEVEL),
                **self._profile_columns(),
                "reason": pl.Series(self.reason_, dtype=pl.String),
            }
        )
        return handed_back(table, as_pandas=self._as_pandas)

    def interval(self, level: float = LEVEL) -> Any:
        """Return an interval of every physician's score.

        It covers what the method's score tends to, sampling error and nothing else; how far
        that lies from the discordance of comparable patients is not in it.

        Parameters
        ----------
        level
            Nominal coverage.

        Returns
        -------
        frame
            Of pandas if one was given, else of polars: physician, low, high, standard_error; null
            where the score is undefined or the method has no interval.

        Examples
        --------
        >>> import intravar
        >>> cohort = intravar.simulate("score2", n_patients=500, n_physicians=5)
        >>> intravar.Euclidean().fit(*cohort.observed()).interval(level=0.9).columns
        ['physician', 'low', 'high', 'standard_error']
        """
        ends = self._end_columns(level)
        table = pl.DataFrame({"physician": self._named, **ends})
        return handed_back(table, as_pandas=self._as_pandas)

    def ends(self, level: float = LEVEL) -> Interval:
        """Return the same as arrays, in the order of `physicians_`; NaN where there is none."""
        check_is_fitted(self)
        return self._interval(checked_level(level))

    def _end_columns(self, level: float) -> dict[str, pl.Series]:
        ends = self.ends(level)._asdict()
        return {name: pl.Series(values).fill_nan(None) for name, values in ends.items()}

    def _interval(self, level: float) -> Interval:
        """Return the intervals in the order of `physicians_`; a method without any says so."""
        return Interval.undefined(len(self.physicians_))

    def details(self) -> dict[str, Any]:
        """Return what was learned on the way, in a form that fits into JSON."""
        return {}

    def _profile_columns(self) -> dict[str, Any]:
        return {}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "score_")
