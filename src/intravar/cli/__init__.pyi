from .commands import app
from .endings import main, say
from .progress import Console, StepLines, StepProgress, Table, Text, escape, table

__all__ = [
    "Console",
    "StepLines",
    "StepProgress",
    "Table",
    "Text",
    "app",
    "escape",
    "main",
    "say",
    "table",
]
