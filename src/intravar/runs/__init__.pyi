from .buckets import clear_unfinished
from .engines import Engine, count_workers, make_engine
from .settings import RunSettings
from .store import software_versions

__all__ = [
    "Engine",
    "RunSettings",
    "clear_unfinished",
    "count_workers",
    "make_engine",
    "software_versions",
]
