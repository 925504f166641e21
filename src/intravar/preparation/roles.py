"""Which column is the physician, which the decision, which names patients: roles of columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

import polars as pl

from intravar.errors import InputError, did_you_mean, option
from intravar.request import Request
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


def in_words(name: str) -> str:
    """Return a name with its words apart: nhsNo is nhs_No."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)


def names_patients(name: str) -> bool:
    """Tell whether a column is called as one by which patients are known again.

    Examples
    --------
    >>> names_patients("patientId"), names_patients("person"), names_patients("postcode")
    (True, True, False)
    """
    return _KNOWN_BY.search(in_words(name)) is not None


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
    name = in_words(column.name)
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


def assign_roles(columns: Sequence[str], request: Request) -> Request:
    """Return a request in the names of a table, with every covariate that is in use.

    A case is a patient whom a physician sees again; who is one patient is found out where no column
    is named. A name that is not in the table is refused.

    Examples
    --------
    >>> request = Request(physician="doctor", decision="drug")
    >>> assign_roles(["doctor", "drug", "age"], request).covariates
    ('age',)
    """
    physician, decision = clean_name(request.physician), clean_name(request.decision)
    listed = None if request.covariates is None else _names(request.covariates)
    after, excluded = _names(request.after), _names(request.exclude)
    categorical = _names(request.categorical)
    patient, case, date, by = (
        None if name is None else clean_name(name)
        for name in (request.patient, request.case, request.date, request.by)
    )
    patient = patient or case
    named = (physician, decision, *(listed or ()), *excluded, *after, *categorical)
    for name in (*named, *filter(None, (patient, case, date, by))):
        if name not in columns:
            raise missing_column(name, columns)
    if physician == decision:
        raise InputError(f"column '{physician}' cannot be both who decided and what was decided")
    for asked_for, role in ((date, "date"), (by, "by")):
        if asked_for in (physician, decision):
            other = "one who decided" if asked_for == physician else "decision"
            raise InputError(
                "{} names '{}', which is the {}; name another", option(role), asked_for, other
            )
    for name in listed or ():
        if name in (physician, decision):
            role = "physician" if name == physician else "decision"
            raise InputError(f"column '{name}' is the {role}; it cannot be a covariate as well")
    left_out = {physician, decision, *excluded, *after, patient, case, date}
    kept = tuple(name for name in (columns if listed is None else listed) if name not in left_out)
    if not kept:
        raise InputError(
            "no covariate is left to compare by; name some with {} or exclude fewer",
            option("covariates"),
        )
    return replace(
        request,
        physician=physician,
        decision=decision,
        covariates=kept,
        after=after,
        exclude=excluded,
        categorical=categorical,
        patient=patient,
        case=case,
        date=date,
        by=by,
    )


def _names(given: Iterable[str]) -> tuple[str, ...]:
    """Return names as those of a table are spelled after reading, each once."""
    return tuple(dict.fromkeys(clean_name(name) for name in given))


def missing_column(name: str, columns: Sequence[str]) -> InputError:
    """Word the error for a column that is not there, with the nearest one that is."""
    guess = did_you_mean(name, columns) or "."
    first = ", ".join(shortened(column, 30) for column in columns[:NAMED_COLUMNS])
    more = f" and {len(columns) - NAMED_COLUMNS} more" if len(columns) > NAMED_COLUMNS else ""
    above = "; is there a title above the header? Delete it" if "column 2" in columns else ""
    return InputError(f"there is no column '{name}'{guess} The table has {first}{more}{above}")
