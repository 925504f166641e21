from .files import MEASUREMENT_FORMATS, write_files
from .measurement.handover import write_measurement
from .packages import lacking, parse_formats
from .sheet.files import SHEET_FORMATS, write_sheets

__all__ = [
    "MEASUREMENT_FORMATS",
    "SHEET_FORMATS",
    "lacking",
    "parse_formats",
    "write_files",
    "write_measurement",
    "write_sheets",
]
