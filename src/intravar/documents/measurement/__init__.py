"""The page of a measurement."""

from intravar.documents.measurement.measurement_page import render_page

__all__ = ["render_page"]
