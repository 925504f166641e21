"""The report: figures, tables and one page, made from stored results alone."""

from intravar.pages.study.report_files import FORMATS, missing_packages, parse_formats, write_report

__all__ = ["FORMATS", "missing_packages", "parse_formats", "write_report"]
