from .measurement.deciders import decider_table
from .measurement.first import summary_lines
from .measurement.handover import MEASUREMENT_FORMATS, write_files, write_measurement
from .measurement.joint import together_table
from .sheet.files import SHEET_FORMATS, write_sheets
from .terminal import as_rich
from .typesetting import lacking, parse_formats

__all__ = [
    "MEASUREMENT_FORMATS",
    "SHEET_FORMATS",
    "as_rich",
    "decider_table",
    "lacking",
    "parse_formats",
    "summary_lines",
    "together_table",
    "write_files",
    "write_measurement",
    "write_sheets",
]
