from .case_words import NO_CASES, NOBODY_ALIKE, cases_shown
from .check_words import check_lines, column_rows, published_check, unmeasurable
from .compare import decisions_in_both
from .explain import WARNING, measurement_folders
from .files import plain, read_published, safe_csv
from .folders import (
    checked_out,
    private_folder,
    read_several,
    read_summary,
    unfinished_folder,
)
from .group_words import group_lines
from .outputs import Outputs
from .pseudonyms import Pseudonyms, read_key
from .several_outputs import NOT_SHOWN, SeveralOutputs, joint_lines
from .shown_location import location_lines
from .suppression import shown

__all__ = [
    "NOBODY_ALIKE",
    "NOT_SHOWN",
    "NO_CASES",
    "WARNING",
    "Outputs",
    "Pseudonyms",
    "SeveralOutputs",
    "cases_shown",
    "check_lines",
    "checked_out",
    "column_rows",
    "decisions_in_both",
    "group_lines",
    "joint_lines",
    "location_lines",
    "measurement_folders",
    "plain",
    "private_folder",
    "published_check",
    "read_key",
    "read_published",
    "read_several",
    "read_summary",
    "safe_csv",
    "shown",
    "unfinished_folder",
    "unmeasurable",
]
