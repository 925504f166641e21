"""Which column is the physician, which the decision, which names patients: roles of columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import polars as pl

from intravar.errors import NEAR, InputError, option
from intravar.text import clean_name, shortened

#: Below this many rows no column is taken for an identifier by its values.
FEW_ROWS = 20
#: From this many rows on, whole numbers that never repeat on a short stretch are numbers of rows.
MANY_ROWS = 100
#: A column called an identifier is one if it has more different values than this share of rows.
NAMED_SHARE = 0.3

_WORD = r"(?:^|[_\W])"
_END = r"(?:$|[_\W])"
_ID = r"(?:id|ident\w*|no|nr|num|number|nummer|key|code|uuid|guid)"
_PATIENT = rf"(?:patient|person|pat|pt|subject|participant)[_\W]?{_ID}|nhs|mrn|ssn"
#: Names of columns by which a patient is known again.
_KNOWN_BY = re.compile(
    rf"{_WORD}(?:{_PATIENT}|(?:nhs|chi|hospital)[_\W]?(?:no|nr|num|number|nummer)){_END}"
    r"|^(?:patient|person|subject|participant)$",
    re.IGNORECASE,
)
#: Names of what belongs to one person, however often the person comes.
_PERSONAL = re.compile(
    rf"{_WORD}(?:{_PATIENT}|(?:client|case|nhs|chi)[_\W]?{_ID}"
    r"|(?:patient|person|pat|pt|subject|participant|client|case|nhs|chi)[_\W]?name"
    r"|(?:hospital|insurance|insured|study)[_\W]?(?:no|nr|num|number|nummer)"
    r"|hicn|mbi|uuid|guid|(?:tele|cell)?phone|mobile|fax|e?[_-]?mail"
    rf"|(?:first|last|sur|fore|family|full)[_\W]?name){_END}",
    re.IGNORECASE,
)
#: Names of identifiers of anything: a site's id is one too, and a site may be compared.
_ANY = re.compile(
    r"^(?:row_?(?:names?|id|number|nr|no)|index|unnamed.*|id|.*[_\W](?:id|ids|key|nr|uuid|guid)"
    r"|.*(?:Id|ID)|record|accession.*)$",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def names_patients(name: str) -> bool:
    """Tell whether a column is called as one by which patients are known again.

    Examples
    --------
    >>> names_patients("patientId"), names_patients("person"), names_patients("postcode")
    (True, True, False)
    """
    return _KNOWN_BY.search(_CAMEL.sub("_", name)) is not None


def identifier(column: pl.Series, present: pl.Series, part: float = 1.0) -> str:
    """Say why a column of whole numbers or texts names patients or rows; "" if it does not.

    The order of rows plays no part. `part` is the share of a table's rows that these are.

    Examples
    --------
    >>> visits = pl.Series("patient_id", [3, 3, 5, 5, 9, 9])
    >>> identifier(visits, visits)
    'its name says that it is an id'
    """
    if column.dtype.is_float():
        return ""
    distinct = present.n_unique()
    # nhsNo is nhs_No.
    name = _CAMEL.sub("_", column.name)
    if _PERSONAL.search(name) and distinct > min(FEW_ROWS, NAMED_SHARE * len(present)):
        return "its name says that it is an id"
    if len(present) < FEW_ROWS:
        return ""
    if column.dtype.is_integer() and distinct == len(present):
        stretch = int(present.max()) - int(present.min()) + 1  # type: ignore[arg-type]
        if stretch == distinct or (distinct >= MANY_ROWS and stretch * part <= 2 * distinct):
            return "a different whole number in every row"
    if _ANY.match(column.name) and distinct > NAMED_SHARE * len(present):
        return "its name and its many different values say that it names rows"
    return ""


#: Beyond this many, an error names only the first columns of a table.
NAMED_COLUMNS = 12


@dataclass(frozen=True)
class Roles:
    """The columns by what they are.

    Attributes
    ----------
    physician, decision
        Names of the two columns.
    covariates
        Columns that may be compared, in the order asked for or of the table.
    chosen
        Whether the covariates were named one by one.
    after
        Columns declared to be known only after the decision.
    excluded
        Columns left out on request.
    categorical
        Columns to be taken as categories although they hold numbers.
    patient
        Column that names the patient; None to find out.
    case
        Column that says which case was seen; a case is a patient whom a physician sees again.
    date
        Column that says when; patients are not compared by it.
    by
        Column whose levels are compared.
    """

    physician: str
    decision: str
    covariates: tuple[str, ...]
    chosen: bool
    after: tuple[str, ...]
    excluded: tuple[str, ...]
    categorical: tuple[str, ...]
    patient: str | None = None
    case: str | None = None
    date: str | None = None
    by: str | None = None


def assign_roles(
    columns: Sequence[str],
    *,
    physician: str,
    decision: str,
    covariates: Iterable[str] | None = None,
    exclude: Iterable[str] = (),
    after: Iterable[str] = (),
    categorical: Iterable[str] = (),
    patient: str | None = None,
    case: str | None = None,
    date: str | None = None,
    by: str | None = None,
) -> Roles:
    """Give every column its role, or say which name is not in the table.

    Examples
    --------
    >>> assign_roles(["doctor", "drug", "age"], physician="doctor", decision="drug").covariates
    ('age',)
    """
    physician, decision = clean_name(physician), clean_name(decision)
    named = {
        "covariates": None if covariates is None else _names(covariates),
        "exclude": _names(exclude),
        "after": _names(after),
        "categorical": _names(categorical),
    }
    case = None if case is None else clean_name(case)
    patient = case if patient is None else clean_name(patient)
    date = None if date is None else clean_name(date)
    by = None if by is None else clean_name(by)
    asked = (physician, decision, *(each for names in named.values() for each in names or ()))
    for name in (*asked, *(name for name in (patient, case, date, by) if name is not None)):
        if name not in columns:
            raise missing_column(name, columns)
    if physician == decision:
        raise InputError(f"column '{physician}' cannot be both who decided and what was decided")
    for asked_for, role in ((date, "date"), (by, "by")):
        if asked_for in (physician, decision):
            other = "one who decided" if asked_for == physician else "decision"
            raise InputError(
                f"{option(role)} names '{asked_for}', which is the {other}; name another"
            )
    listed = named["covariates"]
    for name in listed or ():
        if name in (physician, decision):
            role = "physician" if name == physician else "decision"
            raise InputError(f"column '{name}' is the {role}; it cannot be a covariate as well")
    left_out = {
        physician,
        decision,
        *(named["exclude"] or ()),
        *(named["after"] or ()),
        patient,
        case,
        date,
    }
    candidates = columns if listed is None else listed
    kept = tuple(name for name in candidates if name not in left_out)
    if not kept:
        raise InputError(
            "no covariate is left to compare by; name some with "
            f"{option('covariates')} or exclude fewer"
        )
    return Roles(
        physician,
        decision,
        kept,
        listed is not None,
        named["after"] or (),
        named["exclude"] or (),
        named["categorical"] or (),
        patient,
        case,
        date,
        by,
    )


def _names(given: Iterable[str]) -> tuple[str, ...]:
    """Return names as those of a table are spelled after reading, each once."""
    return tuple(dict.fromkeys(clean_name(name) for name in given))


def missing_column(name: str, columns: Sequence[str]) -> InputError:
    """Word the error for a column that is not there, with the nearest one that is."""
    by_lower = {column.lower(): column for column in columns}
    nearest = get_close_matches(name.lower(), by_lower, n=1, cutoff=NEAR)
    guess = f"; did you mean '{by_lower[nearest[0]]}'?" if nearest else "."
    first = ", ".join(shortened(column, 30) for column in columns[:NAMED_COLUMNS])
    more = f" and {len(columns) - NAMED_COLUMNS} more" if len(columns) > NAMED_COLUMNS else ""
    return InputError(f"there is no column '{name}'{guess} The table has {first}{more}")
