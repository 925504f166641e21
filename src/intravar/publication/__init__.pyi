from .exports import safe_csv
from .folders import (
    checked_out,
    is_measurement,
    private_folder,
    rebuild_page,
    write_measurement,
)
from .outputs import Outputs
from .pseudonyms import Pseudonyms, read_key
from .suppression import SMALLEST_CELL, shown

__all__ = [
    "SMALLEST_CELL",
    "Outputs",
    "Pseudonyms",
    "checked_out",
    "is_measurement",
    "private_folder",
    "read_key",
    "rebuild_page",
    "safe_csv",
    "shown",
    "write_measurement",
]
