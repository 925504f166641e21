from .page import FORMATS, missing_packages, write_report

__all__ = ["FORMATS", "missing_packages", "write_report"]
