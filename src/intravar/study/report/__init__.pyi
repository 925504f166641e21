from .page import FORMATS, write_report

__all__ = ["FORMATS", "write_report"]
