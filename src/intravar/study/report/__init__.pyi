from .files import FORMATS, missing_packages, parse_formats, write_report

__all__ = ["FORMATS", "missing_packages", "parse_formats", "write_report"]
