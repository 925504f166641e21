from .files import MEASUREMENT_FORMATS, write_measurement_files
from .measurement.handover import write_measurement
from .packages import lacking
from .sheet.files import SHEET_FORMATS, write_sheets

__all__ = [
    "MEASUREMENT_FORMATS",
    "SHEET_FORMATS",
    "lacking",
    "write_measurement",
    "write_measurement_files",
    "write_sheets",
]
