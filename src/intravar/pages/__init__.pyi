from .measurement.handover import rebuild_page, write_measurement
from .study.report_files import FORMATS, missing_packages, parse_formats, write_report

__all__ = [
    "FORMATS",
    "missing_packages",
    "parse_formats",
    "rebuild_page",
    "write_measurement",
    "write_report",
]
