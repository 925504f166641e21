from .files.extra_packages import lacking
from .files.measurement_files import MEASUREMENT_FORMATS, write_measurement_files
from .measurement.handover import write_measurement
from .measurement.several_handover import decision_folders, write_several
from .sheet.sheet_files import SHEET_FORMATS, write_sheets
from .study.report_files import FORMATS, missing_packages, parse_formats, write_report

__all__ = [
    "FORMATS",
    "MEASUREMENT_FORMATS",
    "SHEET_FORMATS",
    "decision_folders",
    "lacking",
    "missing_packages",
    "parse_formats",
    "write_measurement",
    "write_measurement_files",
    "write_report",
    "write_several",
    "write_sheets",
]
