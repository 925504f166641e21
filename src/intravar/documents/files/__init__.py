"""A measurement as files that people use: PDF, a workbook, a text to edit."""
