from .omop import DECISION, PHYSICIAN
from .reading import Source, read_source
from .urls import scrubbed, without_password

__all__ = ["DECISION", "PHYSICIAN", "Source", "read_source", "scrubbed", "without_password"]
