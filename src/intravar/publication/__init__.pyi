from .checks import check_lines, column_rows, published_check, unmeasurable
from .compare import compare_each
from .explain import WARNING, chosen_decision
from .files import (
    checked_out,
    is_published,
    measurement_folders,
    plain,
    private_folder,
    read_published,
    safe_csv,
    tables_of,
    unfinished_folder,
)
from .hiding import shown
from .pseudonyms import Pseudonyms, read_key
from .results import Decision, Joint, Published
from .sentences import NOT_SHOWN, joint_lines

__all__ = [
    "NOT_SHOWN",
    "WARNING",
    "Decision",
    "Joint",
    "Pseudonyms",
    "Published",
    "check_lines",
    "checked_out",
    "chosen_decision",
    "column_rows",
    "compare_each",
    "is_published",
    "joint_lines",
    "measurement_folders",
    "plain",
    "private_folder",
    "published_check",
    "read_key",
    "read_published",
    "safe_csv",
    "shown",
    "tables_of",
    "unfinished_folder",
    "unmeasurable",
]
