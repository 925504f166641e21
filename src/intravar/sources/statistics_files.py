"""Tables of Stata, SPSS and SAS, read by ReadStat (package pyreadstat).

These files describe their columns: a code may have a label (1 is "never smoked"), and codes may be
declared missing (-9, or .a in Stata). Declared missing codes become missing values. A column
becomes the texts of its labels if every code in it has one; it stays as it is if some have none,
because a number with a label for a few special values is still a number.
"""

from pathlib import Path
from typing import Any

import polars as pl

from intravar.errors import InputError, option
from intravar.text import MISSING, first_line, shortened

#: Endings of files, the program that writes them, and the function of pyreadstat that reads them.
PROGRAMS = {
    ".dta": ("Stata", "read_dta"),
    ".sav": ("SPSS", "read_sav"),
    ".zsav": ("SPSS", "read_sav"),
    ".por": ("SPSS", "read_por"),
    ".sas7bdat": ("SAS", "read_sas7bdat"),
    ".xpt": ("SAS", "read_xport"),
}
#: How files begin whose ending may have been changed.
_BEGINNINGS = {
    b"<stata_dta": ".dta",
    b"$FL2": ".sav",
    b"$FL3": ".zsav",
    b"HEADER RECORD***": ".xpt",
}
#: Formats of which the encoding can be given, and those that declare missing codes.
_WITH_ENCODING = ("read_dta", "read_sav", "read_sas7bdat", "read_xport")
_WITH_MISSING_CODES = ("read_dta", "read_sav", "read_sas7bdat")
_EXTRA = "pip install 'intravar[statistics]'"


def format_of(path: Path, beginning: bytes) -> str | None:
    """Return the ending that belongs to a file of a statistics program; None for other files.

    Examples
    --------
    >>> format_of(Path("visits.SAV"), b""), format_of(Path("visits.dat"), b"$FL2@(#)")
    ('.sav', '.sav')
    """
    for start, suffix in _BEGINNINGS.items():
        if beginning.startswith(start):
            return suffix
    suffix = path.suffix.lower()
    return suffix if suffix in PROGRAMS else None


def read_statistics_file(
    path: Path, suffix: str, *, encoding: str | None = None
) -> tuple[pl.DataFrame, list[str]]:
    """Read a file of Stata, SPSS or SAS; return the table and notes on how it was read.

    Parameters
    ----------
    path
        The file.
    suffix
        The ending of its format, one of `PROGRAMS`.
    encoding
        Encoding of its texts, if the file does not declare it correctly.
    """
    program, reader_name = PROGRAMS[suffix]
    try:
        import pyreadstat
    except ImportError as error:
        raise InputError(
            f"'{path}' is a file of {program}; reading it takes an extra: {_EXTRA}"
        ) from error
    if encoding is not None and reader_name not in _WITH_ENCODING:
        raise InputError(f"'{path}' declares its encoding; leave {option('encoding')} out")
    reader = getattr(pyreadstat, reader_name)
    options: dict[str, Any] = {} if encoding is None else {"encoding": encoding}
    try:
        table, description = reader(str(path), output_format="polars", **options)
        missing_codes = dict[str, str]()
        if reader_name in _WITH_MISSING_CODES:
            _, declared = reader(str(path), metadataonly=True, user_missing=True, **options)
            missing_codes = _missing_codes(declared)
    except Exception as error:  # the library raises classes of several kinds for defects of a file
        raise InputError(
            f"'{path}' is not a readable file of {program} ({first_line(error)}); is it whole, and "
            f"is its encoding known? If not, name it with {option('encoding')}"
        ) from error
    notes = [f"a file of {program}"]
    if missing_codes:
        listed = [f"{name} ({codes})" for name, codes in missing_codes.items()]
        notes.append(f"codes declared missing in {_listed(listed)}")
    return _with_labels(table, description.variable_value_labels, notes)


def _missing_codes(declared: Any) -> dict[str, str]:
    """Return the codes of each column that its file declares missing, as they are written."""
    codes = {}
    for name, ranges in declared.missing_ranges.items():
        ends = [(_code(each["lo"]), _code(each["hi"])) for each in ranges]
        codes[name] = ", ".join(low if low == high else f"{low} to {high}" for low, high in ends)
    return {name: listed for name, listed in codes.items() if listed}


def _with_labels(
    table: pl.DataFrame, labels_of: dict[str, dict[Any, str]], notes: list[str]
) -> tuple[pl.DataFrame, list[str]]:
    """Replace codes by their labels in the columns of which every code has one."""
    replaced, partly = [], []
    for name, labels in labels_of.items():
        column = table[name]
        if not (column.dtype.is_numeric() or column.dtype == pl.String):
            continue
        codes = column.drop_nulls().unique().to_list()
        known = {_key(code): text.strip() for code, text in labels.items() if text.strip()}
        labelled = [code for code in codes if _key(code) in known]
        if not labelled:
            continue
        if len(labelled) < len(codes):
            shown = ", ".join(f"{_code(code)} '{known[_key(code)]}'" for code in labelled[:3])
            partly.append(f"{name} ({shortened(shown)})")
            continue
        texts = _distinct_texts({code: known[_key(code)] for code in codes})
        table = table.with_columns(
            column.replace_strict(list(texts), list(texts.values()), return_dtype=pl.String)
        )
        replaced.append(name)
    if replaced:
        notes.append(f"value labels in {_listed(replaced)}")
    if partly:
        notes.append(f"codes kept where some have no label, in {_listed(partly)}")
    return table, notes


def _distinct_texts(label_of: dict[Any, str]) -> dict[Any, str]:
    """Return a text for each code; the code is added where its label alone would mislead.

    Two codes may have one label: two physicians called Smith stay two. A label such as "None" would
    be read as a missing value.

    Examples
    --------
    >>> _distinct_texts({1.0: "Smith", 2.0: "Jones", 3.0: "Smith", 4.0: "None"})
    {1.0: 'Smith (1)', 2.0: 'Jones', 3.0: 'Smith (3)', 4.0: 'None (4)'}
    """
    labels = list(label_of.values())
    return {
        code: f"{label} ({_code(code)})" if labels.count(label) > 1 or label in MISSING else label
        for code, label in label_of.items()
    }


def _key(code: Any) -> Any:
    """Return a code in the form in which codes are compared: SPSS fills texts with spaces."""
    return code.rstrip() if isinstance(code, str) else float(code)


def _code(code: Any) -> str:
    """Write a code as the program shows it: 1 and not 1.0."""
    if isinstance(code, float) and code.is_integer():
        return str(int(code))
    return str(code)


def _listed(names: list[str]) -> str:
    shown = ", ".join(shortened(name, 40) for name in names[:8])
    return f"{shown} and {len(names) - 8} more" if len(names) > 8 else shown
