from .omop.patients import PHYSICIAN, parse_concept, parse_drugs
from .paths import scrubbed, without_password
from .reading import Source, read_source

__all__ = [
    "PHYSICIAN",
    "Source",
    "parse_concept",
    "parse_drugs",
    "read_source",
    "scrubbed",
    "without_password",
]
