from .files import MEASUREMENT_FORMATS, write_measurement_files
from .measurement.handover import write_measurement
from .measurement.several_handover import decision_folders, write_several
from .packages import lacking
from .sheet.files import SHEET_FORMATS, write_sheets

__all__ = [
    "MEASUREMENT_FORMATS",
    "SHEET_FORMATS",
    "decision_folders",
    "lacking",
    "write_measurement",
    "write_measurement_files",
    "write_several",
    "write_sheets",
]
