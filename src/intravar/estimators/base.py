"""What all estimators share, and the methods by name.

The interface is that of scikit-learn, and a result explains itself.

There are two kinds of methods. An :class:`Estimator` scores the physicians it is given, and that is
all. A :class:`CommonEstimator` does it in two steps:

``learn(panels) -> Common``
    What physicians have in common. It can be pickled, and no patient is in it.
``read(common, panels) -> Reading``
    A fitted method with score, interval and evidence of every physician, each from the own panel
    and from `common` alone, whoever else is read.

``fit(X, y, physician)`` is both on the same patients. The only difference that is left is that a
patient who was learned from needs a common score that has not seen the own decision: `fit` hands it
in as a column, made by cross-fitting while learning. A table in memory is one bucket, a large table
is many: every bucket is read the same way.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections import UserDict
from collections.abc import Iterable
from importlib import import_module
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from intravar.arrays import FloatArray
from intravar.errors import InputError, unknown_name
from intravar.estimators.evidence import Decisions, Estimand, Evidence
from intravar.inference.intervals import LEVEL, Interval, TwoHalves, checked_level
from intravar.inference.shrinkage import Scale
from intravar.observed import Observed as Observed
from intravar.observed import handed_back, physician_or_groups
from intravar.request import checked_seed

#: Why a score is undefined, in the words that results print.
TOO_FEW_PATIENTS = "fewer than two decisions"


class Size(NamedTuple):
    """How large a task is: patients, covariates, and the patients of every physician."""

    n_patients: int
    n_covariates: int
    panels: FloatArray

    @classmethod
    def of(cls, observed: Observed) -> Size:
        """Return the size of what an estimator is given."""
        n_patients, n_covariates = observed.covariates.shape
        return cls(n_patients, n_covariates, observed.counts[0].astype(np.float64))


class Work(NamedTuple):
    """What a method takes on a task of some size, told before it begins.

    Seconds of what runs on one processor, and processor seconds of what is spread over them; copies
    of the covariates that are held at a time, and bytes beside them for every patient; processor
    seconds to read a patient beyond those who are learned from. Constants are processor seconds on
    a server processor of 2020; machines differ by a factor of two.
    """

    alone: float
    shared: float = 0.0
    copies: float = 8.0
    held: float = 0.0
    other: float = 0.0


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
    #: Whether every decision is predicted without it: subgroups and periods are compared by that.
    predicts: ClassVar[bool] = False
    #: Whether rows of one patient are told from rows of different patients.
    uses_patients: ClassVar[bool] = False
    #: Whether sampling weights can be used.
    uses_weights: ClassVar[bool] = False
    #: Methods with the same word learn something in common and are best run together.
    shares: ClassVar[str] = "distances"
    #: What fitting takes: passes over all values, pairings of every panel, forests.
    effort: ClassVar[tuple[int, int, int]] = (1, 0, 0)

    physicians_: npt.NDArray[Any]
    score_: FloatArray
    reason_: list[str | None]
    n_patients_: npt.NDArray[np.int64]
    feature_names_in_: npt.NDArray[np.str_]
    n_features_in_: int

    def fit(self, X: Any, y: Any, physician: Any = None, *, groups: Any = None) -> Self:
        """Score every physician.

        Parameters
        ----------
        X
            Covariates, one row per patient: a NumPy array, or a pandas, polars or other frame
            that narwhals reads. Finite numbers only.
        y
            Decision per patient, 0 or 1.
        physician, groups
            Physician per patient, by any name; give it as either.
        """
        parameters = self.get_params(deep=False)
        if "random_state" in parameters:
            checked_seed(parameters["random_state"])
        who = physician_or_groups(physician, groups)
        observed = Observed.of(X, y, who, keep_missing=self.accepts_missing)
        return self.fit_observed(observed)

    def fit_observed(self, observed: Observed) -> Self:
        """Score every physician of input that was checked before, sharing what others learned."""
        if observed.weight is not None and not self.uses_weights:
            raise InputError(
                f"method '{self.name}' cannot use sampling weights; use method "
                f"'{default_method()}', or leave the weights out"
            )
        self._describe(observed)
        self._fit(observed)
        return self

    def _describe(self, observed: Observed) -> None:
        """Set who is scored and by which covariates."""
        self._named, self._as_pandas = observed.named, observed.as_pandas
        self.physicians_ = np.asarray(observed.physicians)
        self.n_patients_ = observed.counts[0]
        self.feature_names_in_ = np.asarray(observed.names)
        self.n_features_in_ = len(observed.names)

    @abstractmethod
    def _fit(self, observed: Observed) -> None:
        """Set `score_` and `reason_`, and whatever else the method has to say."""

    def two_halves(self, observed: Observed, deal: int) -> TwoHalves | None:
        """Return what either half of the patients says, where that takes less than fitting anew.

        Deals into halves are numbered from 0. None where every half must be fitted for itself.
        """
        return None

    def evidence(self, observed: Observed) -> Evidence:
        """Return what stands behind the scores, for the patients that were fitted."""
        return Decisions()

    @classmethod
    def work(cls, size: Size) -> Work:
        """Return what fitting takes on a task of some size."""
        passes, pairings, forests = cls.effort
        n, p, panels = size.n_patients, size.n_covariates, size.panels
        pairing = float(1.2e-8 * (panels**2 * np.log2(panels + 2)).sum() + 2e-3 * len(panels))
        growing = float(1.4e-5 * n * np.sqrt(p))
        return Work(passes * 2e-7 * n * p + pairings * pairing, forests * growing)

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
            Of pandas if one was given, else of polars: physician, score_low, score_high,
            standard_error; null where the score is undefined or the method has no interval.
            `low` and `high` of a measurement are wider: they also hold how far the score may lie
            from the discordance.

        Examples
        --------
        >>> import intravar
        >>> cohort = intravar.simulate("score2", n_patients=500, n_physicians=5)
        >>> intravar.estimators.Euclidean().fit(*cohort.observed()).interval(level=0.9).columns
        ['physician', 'score_low', 'score_high', 'standard_error']
        """
        ends = self._end_columns(level)
        table = pl.DataFrame({"physician": self._named, **ends})
        return handed_back(table, as_pandas=self._as_pandas)

    def ends(self, level: float = LEVEL) -> Interval:
        """Return the same as arrays, in the order of `physicians_`; NaN where there is none."""
        check_is_fitted(self)
        return self._interval(checked_level(level))

    def _end_columns(self, level: float) -> dict[str, pl.Series]:
        names = ("score_low", "score_high", "standard_error")
        ends = zip(names, self.ends(level), strict=True)
        return {name: pl.Series(values).fill_nan(None) for name, values in ends}

    def _interval(self, level: float) -> Interval:
        """Return the intervals in the order of `physicians_`; a method without any says so."""
        return Interval(*np.full((3, len(self.physicians_)), np.nan))

    def details(self) -> dict[str, Any]:
        """Return what was learned on the way, in a form that fits into JSON."""
        return {}

    def _profile_columns(self) -> dict[str, Any]:
        return {}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = self.accepts_missing
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "score_")


class CommonEstimator(Estimator):
    """A method that learns what physicians have in common, and reads any physician by it.

    Attributes
    ----------
    common_
        What was learned in common. It can be pickled, and no patient is in it.
    """

    common_: Any

    def learn(self, panels: Observed) -> Any:
        """Return what the physicians have in common: it can be pickled, and no patient is in it.

        Parameters
        ----------
        panels
            Patients of the physicians to learn from, checked before.
        """
        with threadpool_limits(limits=1, user_api="blas"):
            return self._learn(panels)[0]

    def read(self, common: Any, panels: Observed) -> Self:
        """Return the method fitted to these physicians by what others have in common.

        What is said of a physician depends on the own panel and on `common` alone.

        Parameters
        ----------
        common
            What :meth:`learn` returned.
        panels
            Patients of physicians who were not learned from, with the same covariates.
        """
        reading: Self = clone(self)
        reading._describe(panels)
        reading.common_ = common
        with threadpool_limits(limits=1, user_api="blas"):
            reading._read(common, panels, None)
        return reading

    def reader(self) -> Reader:
        """Return what others can be read by, without the patients that were fitted."""
        check_is_fitted(self)
        return Reader(clone(self), self.common_)

    def _fit(self, observed: Observed) -> None:
        # The products are many and small: threads of BLAS would only wait for each other.
        with threadpool_limits(limits=1, user_api="blas"):
            self.common_, handed_in = self._learn(observed)
            self._read(self.common_, observed, handed_in)

    @abstractmethod
    def _learn(self, observed: Observed) -> tuple[Any, Any]:
        """Return what is common, and what is handed in about the patients learned from."""

    @abstractmethod
    def _read(self, common: Any, observed: Observed, handed_in: Any) -> None:
        """Set all fitted attributes; `handed_in` is None for patients not learned from."""


class Reader(NamedTuple):
    """A method and what it learned in common: small, and sent to wherever physicians are read."""

    method: CommonEstimator
    common: Any

    def read(self, panels: Observed) -> CommonEstimator:
        """Read physicians; see :meth:`CommonEstimator.read`."""
        return self.method.read(self.common, panels)


class Methods(UserDict[str, Any]):
    """Methods by their name on the command line; each is loaded when it is first asked for."""

    def __getitem__(self, name: str) -> type[Estimator]:
        """Return the class of a method."""
        entry = self.data[name]
        if isinstance(entry, str):
            module, _, title = entry.partition(".")
            entry = self.data[name] = getattr(import_module(f"{__package__}.{module}"), title)
        method: type[Estimator] = entry
        return method


#: The paper's eight, in its order.
PAPER_METHODS = Methods(
    {
        "euclidean": "matching.Euclidean",
        "mahalanobis": "matching.Mahalanobis",
        "learned-weights": "supervised.LearnedWeights",
        "genetic-mahalanobis": "matching.GeneticMahalanobis",
        "rf-proximity": "supervised.RFProximity",
        "lpa-guided": "matching.LPAGuided",
        "mutual-information": "supervised.MutualInformation",
        "glmm": "glmm.GLMM",
    }
)
#: What `all` means: the paper's eight and the Latent Rule. Others take their time, or aim at
#: something else than D*, and must be named.
STUDY_METHODS = Methods({**PAPER_METHODS.data, "latent-rule": "latent_rule.LatentRule"})
_FURTHER = {"predictability": "predictability.Predictability", "rate": "matching.Rate"}
#: All methods by their name on the command line.
METHODS = Methods(STUDY_METHODS.data | _FURTHER)
#: The name of the method that counts.
REPEATS = "repeats"
#: What can be told about every method, the one that takes cases instead of covariates included.
DESCRIBED = Methods({**METHODS.data, REPEATS: "repeats.Repeats"})


def default_method() -> str:
    """Return the method that measures a user's own data unless another is named."""
    return "predictability"


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
    unfitted = [make_estimator(each) if isinstance(each, str) else each for each in wanted]
    return {each.name: each.fit_observed(observed) for each in unfitted}
