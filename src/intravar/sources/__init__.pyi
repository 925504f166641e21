from .databases import without_password
from .omop import DECISION, PHYSICIAN
from .reading import Source, read_source

__all__ = ["DECISION", "PHYSICIAN", "Source", "read_source", "without_password"]
