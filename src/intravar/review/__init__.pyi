from .blinding import BlindingWarning
from .drawing import draw, pairs
from .packet import NOTE, QUESTION, Patient, ReviewPair
from .publishing import Plan, Planned, plan
from .reading import Review, read, results
from .store import ANSWERS, REASONS, Answer, answer

__all__ = [
    "ANSWERS",
    "NOTE",
    "QUESTION",
    "REASONS",
    "Answer",
    "BlindingWarning",
    "Patient",
    "Plan",
    "Planned",
    "Review",
    "ReviewPair",
    "answer",
    "draw",
    "pairs",
    "plan",
    "read",
    "results",
]
