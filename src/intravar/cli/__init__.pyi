from .commands import app
from .endings import say
from .entry import main
from .progress import StudyProgress
from .screen import Console, Table, Text, escape
from .steps import StepProgress

__all__ = [
    "Console",
    "StepProgress",
    "StudyProgress",
    "Table",
    "Text",
    "app",
    "escape",
    "main",
    "say",
]
