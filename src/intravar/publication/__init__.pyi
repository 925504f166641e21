from .explain import WARNING, measurement_folders
from .exports import safe_csv
from .folders import (
    checked_out,
    is_measurement,
    private_folder,
    rebuild_page,
    write_measurement,
)
from .outputs import Outputs
from .pseudonyms import Pseudonyms, read_key, write_private
from .suppression import SMALLEST_CELL, shown

__all__ = [
    "SMALLEST_CELL",
    "WARNING",
    "Outputs",
    "Pseudonyms",
    "checked_out",
    "is_measurement",
    "measurement_folders",
    "private_folder",
    "read_key",
    "rebuild_page",
    "safe_csv",
    "shown",
    "write_measurement",
    "write_private",
]
