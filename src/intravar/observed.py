"""What an estimator is given: covariates, decisions and physicians, checked and in one shape."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeVar

import narwhals as nw
import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.sparse import issparse

from intravar.arrays import FloatArray, IntArray
from intravar.errors import InputError

PHYSICIAN = "physician"
DECISION = "decision"
#: Columns that a simulated table may carry beside these; no method ever sees them.
TRUTH_COLUMNS = ("eligible", "p_high", "p_low", "d_star", "group")
#: Number of the patient in rows without an identifier.
UNIDENTIFIED = np.uint64(0)
#: Share of rows without an identifier up to which patients count as identified.
MOST_UNIDENTIFIED = 0.05


def checked_decision(decision: npt.ArrayLike) -> npt.NDArray[np.int8]:
    """Return the decisions as read-only 0 and 1, or say which row is neither."""
    raw = np.asarray(decision)
    if raw.ndim != 1:
        raise InputError(f"column '{DECISION}' has {raw.ndim} dimensions; give one value a row")
    if raw.dtype.kind in "mM":  # dates and durations
        raise InputError(f"column '{DECISION}' is {raw.dtype}; it takes 0 and 1 only")
    values = pl.Series(raw.tolist() if raw.dtype == object else raw, strict=False)
    _refuse_missing(values, DECISION)
    binary = np.isin(raw, (0, 1))
    if not binary.all():
        row = int((~binary).argmax())
        found = raw.tolist()[row]
        raise InputError(f"column '{DECISION}' has {found!r} in row {row}; it takes 0 and 1 only")
    result = raw.astype(np.int8)
    result.setflags(write=False)
    return result


def checked_labels(physician: Sequence[Any] | pl.Series | npt.NDArray[Any]) -> pl.Series:
    """Return the physician of every patient as given, or say where one is missing.

    Numbers stay numbers. Names of mixed kinds (7 and "Ada") become text.
    """
    series = physician if isinstance(physician, pl.Series) else pl.Series(_plain(physician))
    _refuse_missing(series, PHYSICIAN)
    if series.dtype in (pl.String, pl.Categorical, pl.Enum):
        names = series.unique().cast(pl.String)
        blank = names.filter(names.str.strip_chars() == "")
        if len(blank):
            row = int(series.cast(pl.String).is_in(blank.implode()).arg_max() or 0)
            raise InputError(f"column '{PHYSICIAN}' is blank in row {row}; fill it or drop the row")
    return series.alias(PHYSICIAN)


def _refuse_missing(values: pl.Series, column: str) -> None:
    missing = (values.is_nan() if values.dtype.is_float() else values.is_null()).fill_null(True)
    if missing.any():
        row = int(missing.arg_max() or 0)
        raise InputError(f"column '{column}' is missing in row {row}; fill it or drop the row")


def physician_or_groups(physician: Any, groups: Any) -> Any:
    """Return the physician of every patient, under either of the two names it may be given."""
    if (physician is None) == (groups is None):
        given = "neither physician nor groups is" if physician is None else "both are"
        raise InputError(f"{given} given; say who decided, one value a patient, with one of them")
    return groups if physician is None else physician


def checked_physician(physician: Sequence[Any] | pl.Series | npt.NDArray[Any]) -> pl.Series:
    """Return the physician of every patient as a categorical, or say where one is missing."""
    series = checked_labels(physician)
    # A Categorical keeps a million repeated names as a million small integers.
    return series if series.dtype == pl.Categorical else series.cast(pl.String).cast(pl.Categorical)


def _plain(physician: Sequence[Any] | npt.NDArray[Any]) -> list[Any] | npt.NDArray[Any]:
    array = np.asarray(physician)
    if array.ndim != 1:
        raise InputError(f"column '{PHYSICIAN}' has {array.ndim} dimensions; give one value a row")
    if array.dtype.kind in "mM":  # polars has not all of their units
        return [None if name == "NaT" else name for name in array.astype(str).tolist()]
    if array.dtype != object:
        return array
    values = [None if value is None or value != value else value for value in array.tolist()]
    if {type(value) for value in values} - {type(None)} == {int}:
        return values
    # Names of mixed kinds (7 and "Ada") become text.
    return [None if value is None else str(value) for value in values]


Learned = TypeVar("Learned")

# Squares, and single precision, which the forests use, hold between these.
LARGEST = 1e30
SMALLEST_RANGE = 1e-30


@dataclass(frozen=True, eq=False)
class Observed:
    """Covariates, decision and physician of every patient, ready for the estimators.

    Several estimators may be fitted on one object: what they learn in common, a forest say, is then
    learned once. Covariates are finite, NaN where missing values were kept. Physicians are named as
    they were given, each at the place that its code says; for a reader they are sorted by
    :func:`in_natural_order`. Columns of a block code one covariate together, the levels of a
    category say: it is scaled as one, weighs as much as one number, and its levels lie equally far
    apart.

    A category with many levels is also known by the number of each patient's level, in `categories`
    with one column per category. Numbers are names, not quantities; a negative one is a level that
    was not known when levels were numbered. Predictions encode them; methods that measure distances
    see the indicator columns of the frequent levels alone.
    """

    covariates: FloatArray
    names: tuple[str, ...]
    decision: npt.NDArray[np.int8]
    code: IntArray
    named: pl.Series
    blocks: tuple[tuple[int, ...], ...] = ()
    as_pandas: bool = False
    #: A number per row that rows of one patient share, `UNIDENTIFIED` for few rows; None if no
    #: patient has several rows, or if patients are not identified.
    patient: npt.NDArray[np.uint64] | None = None
    categories: IntArray | None = None
    category_names: tuple[str, ...] = ()
    #: Days since 1970 when every decision was made, NaN where it is not known; None without dates.
    time: FloatArray | None = None
    #: How many patients of the population every row stands for; None where all count alike.
    weight: FloatArray | None = None
    _learned: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        physician: Any,
        blocks: Iterable[tuple[int, ...]] = (),
        *,
        keep_missing: bool = False,
        patient: Any = None,
        categories: Mapping[str, IntArray] | None = None,
        time: FloatArray | None = None,
        weight: FloatArray | None = None,
    ) -> Observed:
        """Check the input of `fit` and bring it into shape: arrays, lists, frames.

        Missing covariates are refused unless they are kept, as NaN. `patient` identifies the
        patient of every row, if patients may have several rows; `categories` has the number of
        every row's level, by name of the category; `time` is the day of every decision, `weight`
        the sampling weight of every row, checked before.
        """
        covariates, names = _covariates(X, keep_missing)
        _refuse_other_order({"X": X, "y": y, "physician": physician})
        decision = checked_decision(_values(y))
        labels = checked_labels(_values(physician))
        n_patients = len(covariates)
        if n_patients == 0:
            raise InputError("there are no rows; give at least one")
        for name, length in {"decision": len(decision), "physician": len(labels)}.items():
            if length != n_patients:
                raise InputError(
                    f"{name} has {length:,} entries for {n_patients:,} rows; one each is needed"
                )
        named = in_natural_order(labels.unique())
        code = labels.replace_strict(named, np.arange(len(named)), return_dtype=pl.Int64)
        return cls(
            covariates,
            names,
            decision,
            code.to_numpy().astype(np.int64),
            named,
            tuple(blocks),
            is_pandas(X, y, physician),
            patient=None if patient is None else hash_patients(_values(patient), n_patients),
            categories=np.column_stack(list(categories.values())) if categories else None,
            category_names=tuple(categories or ()),
            time=time,
            weight=weight,
        )

    def __len__(self) -> int:
        return len(self.named)

    def take(self, rows: IntArray) -> Self:
        """Return some patients as input of their own, with the physicians who are left."""
        present, code = np.unique(self.code[rows], return_inverse=True)
        return replace(
            self,
            covariates=self.covariates[rows],
            decision=self.decision[rows],
            code=code.astype(np.int64),
            named=self.named[present],
            patient=None if self.patient is None else self.patient[rows],
            categories=None if self.categories is None else self.categories[rows],
            time=None if self.time is None else self.time[rows],
            weight=None if self.weight is None else self.weight[rows],
            _learned={},
        )

    def without_equal_weights(self) -> Self:
        """Return the same without weights if all are equal: then they change nothing."""
        if self.weight is None or self.weight.min() < self.weight.max():
            return self
        return replace(self, weight=None, _learned={})

    @cached_property
    def y(self) -> IntArray:
        """The decisions as whole numbers that add up."""
        return self.decision.astype(np.int64)

    @property
    def n_patients(self) -> int:
        """Number of patients."""
        return len(self.decision)

    @cached_property
    def physicians(self) -> tuple[Any, ...]:
        """The physicians as plain values."""
        return tuple(self.named.to_list())

    @cached_property
    def counts(self) -> tuple[IntArray, IntArray]:
        """Patients of every physician, and those of them who were decided for."""
        return self.counts_of(slice(None))

    def counts_of(self, rows: IntArray | slice) -> tuple[IntArray, IntArray]:
        """Count the same among some of the patients."""
        code, n = self.code[rows], len(self)
        decided_for = np.bincount(code, self.decision[rows], minlength=n)
        return np.bincount(code, minlength=n), decided_for.astype(np.int64)

    @cached_property
    def panels(self) -> list[IntArray]:
        """Row numbers of every physician's patients, rising."""
        order = np.argsort(self.code, kind="stable")
        return np.split(order, np.cumsum(self.counts[0])[:-1])

    @cached_property
    def standardised(self) -> FloatArray:
        """Covariates with mean 0 and standard deviation 1 over the cohort; 0 where constant.

        The variances of a block's columns add up to 1.
        """
        mean, spread = self.mean_and_spread
        centred = self.covariates - mean
        centred[:, np.isinf(spread)] = 0.0
        scaled: FloatArray = centred / spread
        return scaled

    @cached_property
    def mean_and_spread(self) -> tuple[FloatArray, FloatArray]:
        """Mean and spread of every column, as it is standardised by; constant: infinite."""
        spread = self.covariates.std(axis=0)
        for block in self.blocks:
            columns = list(block)
            spread[columns] = np.sqrt(np.square(spread[columns]).sum())
        # A constant column has a rounding error for a spread, not zero.
        constant = np.ptp(self.covariates, axis=0) == 0
        return self.covariates.mean(axis=0), np.where(constant, np.inf, spread)

    def learn(self, key: Hashable, learner: Callable[[], Learned]) -> Learned:
        """Return what was learned under a key, learning it the first time."""
        if key not in self._learned:
            self._learned[key] = learner()
        learned: Learned = self._learned[key]
        return learned


def hash_patients(patient: Any, n_rows: int) -> npt.NDArray[np.uint64] | None:
    """Return a number per row that rows of one patient share.

    Returns
    -------
    ndarray of shape (n_rows,), or None
        None if no patient has a second row, or if too many rows have no identifier.

    Examples
    --------
    >>> hash_patients(["a", "b"], 2) is None
    True
    >>> len(set(hash_patients(["a", "b", "a"], 3).tolist()))
    2
    >>> hash_patients(["a", "b", "a", None, None], 5) is None
    True
    """
    series = patient if isinstance(patient, pl.Series) else pl.Series(list(patient), strict=False)
    if len(series) != n_rows:
        raise InputError(f"patient has {len(series):,} entries for {n_rows:,} rows; one is needed")
    numbers = number_patients(series)
    return numbers if identify_repeats(numbers) else None


def number_patients(patient: pl.Series) -> npt.NDArray[np.uint64]:
    """Return the number of every row's patient, `UNIDENTIFIED` for a row without an identifier.

    The number follows from the text of the identifier alone, so that a patient has the same one in
    every part of a large table.
    """
    # "NaN" is no name of a patient.
    known = patient.fill_nan(None) if patient.dtype.is_float() else patient
    texts = known.cast(pl.String)
    missing = (texts.is_null() | (texts.str.strip_chars() == "")).to_numpy()
    numbers = texts.hash(seed=0).to_numpy().copy()
    numbers[missing] = UNIDENTIFIED
    return np.asarray(numbers, dtype=np.uint64)


def identify_repeats(numbers: npt.NDArray[np.uint64]) -> bool:
    """Return whether the numbers of patients tell which rows belong together.

    They do if patients have several rows, and hardly any row is without an identifier: rows without
    one may be further visits of any patient.
    """
    known = numbers[numbers != UNIDENTIFIED]
    identified = len(numbers) - len(known) <= MOST_UNIDENTIFIED * len(numbers)
    return bool(identified and len(np.unique(known)) < len(known))


def checked_weights(weight: Any, n_rows: int) -> FloatArray:
    """Return sampling weights, or report which row has none or one that is not positive."""
    values = pl.Series(_values(weight), strict=False)
    if len(values) != n_rows:
        raise InputError(
            f"sample_weight has {len(values):,} entries for {n_rows:,} rows; one is needed"
        )
    numbers = values.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
    wrong = ~(np.isfinite(numbers) & (numbers > 0))
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(
            f"sample_weight is {values[row]} in row {row}; weights are positive numbers, correct "
            "it or drop the row"
        )
    return numbers


def _values(column: Any) -> Any:
    """Unwrap a series of any library to what NumPy or polars takes."""
    if column is None:
        raise InputError("y is None; y should be a 1d array, one decision a patient")
    if isinstance(column, pl.Series | np.ndarray | list | tuple):
        return column
    series = nw.from_native(column, series_only=True, pass_through=True)
    return series.to_polars() if isinstance(series, nw.Series) else list(column)


def _covariates(X: Any, keep_missing: bool) -> tuple[FloatArray, tuple[str, ...]]:
    columns: dict[str, Any]
    if isinstance(X, np.ndarray | list | tuple):
        X = np.asarray(X)
        if X.ndim != 2:
            raise InputError(f"X has {X.ndim} dimension(s); give one row per patient and columns")
        columns = {f"x{position}": values for position, values in enumerate(X.T)}
    else:
        try:
            frame = nw.from_native(X)
        except TypeError as error:
            kind = type(X).__name__
            dense = "; sparse tables are not taken, X.toarray() makes it dense" * issparse(X)
            raise InputError(f"X is a {kind}; give a NumPy array or a data frame{dense}") from error
        table = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
        columns = table.to_polars().to_dict()
    if not columns:
        raise InputError("X has no columns; give at least one covariate")
    numbers = [_column(name, values, keep_missing) for name, values in columns.items()]
    return np.column_stack(numbers), tuple(columns)


def _column(name: str, values: pl.Series | npt.NDArray[Any], keep_missing: bool) -> FloatArray:
    if isinstance(values, pl.Series):
        if not (values.dtype.is_numeric() or values.dtype in (pl.Boolean, pl.Null)):
            raise InputError(f"column '{name}' is {values.dtype}, not a number; encode or drop it")
        numbers = values.cast(pl.Float64).to_numpy()
    else:
        if values.dtype.kind in "mM":
            raise InputError(f"column '{name}' is {values.dtype}, not a number; encode or drop it")
        if np.iscomplexobj(values):
            raise InputError(f"column '{name}' has complex numbers; give real ones")
        try:
            numbers = values.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"column '{name}' is not a number ({error}); encode it") from error
    bad = np.isinf(numbers) if keep_missing else ~np.isfinite(numbers)
    if bad.any():
        row = int(bad.argmax())
        kind = "missing" if np.isnan(numbers[row]) else "infinite"
        raise InputError(
            f"column '{name}' is {kind} in row {row} ({int(bad.sum()):,} such rows); "
            "impute it or drop the rows"
        )
    _refuse_extremes(name, numbers)
    return np.asarray(numbers, dtype=np.float64)


def _refuse_extremes(name: str, numbers: FloatArray) -> None:
    known = numbers[~np.isnan(numbers)]
    if not len(known):
        return
    low, high = float(known.min()), float(known.max())
    extreme = high if high >= -low else low
    if abs(extreme) > LARGEST:
        row = int(np.nanargmax(np.abs(numbers)))
        raise InputError(
            f"column '{name}' has {extreme:g} in row {row}; give it in a unit in which values "
            f"stay below {LARGEST:g}"
        )
    if 0 < high - low < SMALLEST_RANGE:
        raise InputError(
            f"column '{name}' spans only {high - low:g}; give it in a smaller unit, so that it "
            f"spans at least {SMALLEST_RANGE:g}"
        )


def _refuse_other_order(columns: dict[str, Any]) -> None:
    """Refuse labelled rows in another order: values are taken by position, not by label."""
    labels = {name: index for name, each in columns.items() if (index := _index(each)) is not None}
    first, *others = labels or [""]
    for name in others:
        mine, other = labels[first], labels[name]
        # Labels of mixed kinds cannot be sorted, but they can be counted.
        if not other.equals(mine) and Counter(other) == Counter(mine):
            raise InputError(
                f"the rows of {first} and {name} carry the same labels in another order; bring "
                f"them into one order, for example {name}.loc[{first}.index]"
            )


def _index(table: Any) -> Any:
    native = nw.from_native(table, allow_series=True, pass_through=True)
    return nw.maybe_get_index(native) if isinstance(native, nw.DataFrame | nw.Series) else None


def in_natural_order(values: pl.Series) -> pl.Series:
    """Sort different values: numbers by size, texts as a reader counts.

    Examples
    --------
    >>> in_natural_order(pl.Series(["ward 10", "ward 2"])).to_list()
    ['ward 2', 'ward 10']
    """
    return values[natural_places(values)]


def natural_places(values: pl.Series) -> list[int]:
    """Return where the first, second and so on of different values stand, in natural order."""
    if values.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return values.arg_sort().to_list()
    texts = values.cast(pl.String).to_list()
    return sorted(range(len(texts)), key=lambda at: (_counted(texts[at]), texts[at]))


def _counted(text: str) -> list[tuple[bool, int, str]]:
    """Split a text into numbers and the rest, so that 2 comes before 10.

    Numbers are compared by how many digits they have, then by these: of any length.
    """
    parts = []
    for part in re.findall(r"[0-9]+|[^0-9]+", text):
        digits = part.lstrip("0") if part.isdigit() else part
        parts.append((part.isdigit(), len(digits) if part.isdigit() else 0, digits))
    return parts


def is_pandas(*given: Any) -> bool:
    """Tell whether one of some frames or series is of pandas."""
    natives = (nw.from_native(each, allow_series=True, pass_through=True) for each in given)
    return any(
        native.implementation.is_pandas()
        for native in natives
        if isinstance(native, nw.DataFrame | nw.LazyFrame | nw.Series)
    )


Result = TypeVar("Result")


def as_they_came(result: Result, *, as_pandas: bool) -> Result:
    """Return a result with all its frames as pandas if pandas came in, else as it is."""
    if not as_pandas or not is_dataclass(result) or isinstance(result, type):
        return result
    changed = {}
    for each in fields(result):
        value = getattr(result, each.name)
        if isinstance(value, pl.DataFrame):
            changed[each.name] = handed_back(value, as_pandas=True)
        elif is_dataclass(value):
            changed[each.name] = as_they_came(value, as_pandas=True)
        elif isinstance(value, tuple):
            changed[each.name] = tuple(as_they_came(one, as_pandas=True) for one in value)
    return replace(result, **changed)


def handed_back(table: pl.DataFrame, *, as_pandas: bool) -> Any:
    """Return a table as pandas if pandas came in, else as it is."""
    if not as_pandas:
        return table
    import pandas as pd  # an extra; whoever gave a frame of it has it

    # Column by column: the shorter way of polars needs pyarrow as well.
    return pd.DataFrame({name: table[name].to_numpy() for name in table.columns})
