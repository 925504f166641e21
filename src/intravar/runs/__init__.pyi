from .engines import Engine, count_workers, make_engine
from .settings import RunSettings
from .store import software_versions

__all__ = [
    "Engine",
    "RunSettings",
    "count_workers",
    "make_engine",
    "software_versions",
]
