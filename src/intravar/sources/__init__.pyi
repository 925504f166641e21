from .omop import DECISION, PHYSICIAN
from .reading import Source, read_source

__all__ = ["DECISION", "PHYSICIAN", "Source", "read_source"]
