from .commands import app, main, say
from .progress import Console, StepLines, StepProgress, Text, table

__all__ = ["Console", "StepLines", "StepProgress", "Text", "app", "main", "say", "table"]
