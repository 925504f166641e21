"""Tables of patients from files, databases and frames; this package knows nothing of methods."""

from intravar.sources.reading import Source, read_source

__all__ = ["Source", "read_source"]
