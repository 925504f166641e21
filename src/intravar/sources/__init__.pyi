from .omop_drugs import PHYSICIAN, parse_concept, parse_drugs
from .reading import Source, read_source
from .urls import scrubbed, without_password

__all__ = [
    "PHYSICIAN",
    "Source",
    "parse_concept",
    "parse_drugs",
    "read_source",
    "scrubbed",
    "without_password",
]
