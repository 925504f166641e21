"""The version, in the one place that the build reads it from as well."""

__version__ = "0.1.0"
