from .comparison import comparison_blocks
from .measurement.deciders import decider_table
from .measurement.first import new_warnings, summary_lines, with_figure
from .measurement.handover import MEASUREMENT_FORMATS, write_files, write_measurement
from .measurement.joint import together_table
from .measurement.report import NO_CASES, case_blocks, cases_of_each, columns_table
from .measurement.rule import rule_blocks
from .page import as_fragment
from .sheet.files import SHEET_FORMATS, write_sheets
from .terminal import printed
from .typesetting import lacking, parse_formats

__all__ = [
    "MEASUREMENT_FORMATS",
    "NO_CASES",
    "SHEET_FORMATS",
    "as_fragment",
    "case_blocks",
    "cases_of_each",
    "columns_table",
    "comparison_blocks",
    "decider_table",
    "lacking",
    "new_warnings",
    "parse_formats",
    "printed",
    "rule_blocks",
    "summary_lines",
    "together_table",
    "with_figure",
    "write_files",
    "write_measurement",
    "write_sheets",
]
