from .commands import app
from .endings import say
from .entry import main
from .progress import StudyProgress
from .screen import Console, Table, Text, escape
from .steps import StepLines, StepProgress

__all__ = [
    "Console",
    "StepLines",
    "StepProgress",
    "StudyProgress",
    "Table",
    "Text",
    "app",
    "escape",
    "main",
    "say",
]
