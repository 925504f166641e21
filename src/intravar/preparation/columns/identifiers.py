"""Columns that name patients, visits or rows, and say nothing to compare patients by."""

from __future__ import annotations

import re

import polars as pl

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
