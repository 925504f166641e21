from .comparison import comparison_blocks
from .html import as_fragment
from .measurement.deciders import decider_table
from .measurement.evidence import NO_CASES, case_blocks, cases_of_each, rule_blocks
from .measurement.first import new_warnings, summary_lines, with_figure
from .measurement.handover import (
    MEASUREMENT_FORMATS,
    SHEET_FORMATS,
    write_files,
    write_measurement,
    write_sheets,
)
from .measurement.joint import together_table
from .measurement.report import columns_table
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
