from .design import Plan, Planned, plan
from .drawing import Patient, ReviewPair, draw, pairs
from .packet import NOTE, QUESTION
from .reading import Review, read, results
from .store import ANSWERS, REASONS, Answer, answer

__all__ = [
    "ANSWERS",
    "NOTE",
    "QUESTION",
    "REASONS",
    "Answer",
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
