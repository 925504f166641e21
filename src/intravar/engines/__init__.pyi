from .choosing import Engine, make_engine
from .software import software_versions
from .workers import count_workers

__all__ = ["Engine", "count_workers", "make_engine", "software_versions"]
