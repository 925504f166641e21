from .commands import app
from .endings import main, say
from .progress import (
    Console,
    StepLines,
    StepProgress,
    Text,
    print_leaks,
    print_request,
    table,
)

__all__ = [
    "Console",
    "StepLines",
    "StepProgress",
    "Text",
    "app",
    "main",
    "print_leaks",
    "print_request",
    "say",
    "table",
]
