"""What measurement and publication ask of predictions, beside the scores of a method."""

from intravar.prediction.bound import cell_bound
from intravar.prediction.left_out import losses_without
from intravar.prediction.own.weights import MOST_WORDS

__all__ = ["MOST_WORDS", "cell_bound", "losses_without"]
