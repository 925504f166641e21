"""What the latent rule warns of, and in which words."""

from __future__ import annotations

import warnings

from intravar.latent.anchors import Anchors
from intravar.wording import Sentence


class AnchorWarning(UserWarning):
    """Few patients are surely eligible or surely not: the level of the scores is not pinned."""


class OwnRulesWarning(UserWarning):
    """Physicians follow rules of their own, and no rule known here explains their decisions."""


def warn_of_thin_anchors(anchors: Anchors, share: float, stacklevel: int) -> None:
    """Warn if fewer than a share of the eligible, or of the others, is surely so."""
    thin = anchors.complaints(share)
    if thin:
        warnings.warn(
            f"fewer than {share:.0%} of {', and of '.join(thin)}: these data do not determine the "
            "level of the scores, and their order only if all draw the line at the same place; the "
            "range of levels they allow is in "
            "identified_low and identified_high of the profile",
            AnchorWarning,
            stacklevel=stacklevel + 1,
        )


def warn_of_own_rules(stacklevel: int) -> None:
    """Warn that the rules that physicians follow could not be followed."""
    warnings.warn(
        Sentence(
            "{deciders} follow rules of their own, and neither a shared rule nor "
            "personal weights or limits explain their decisions: scores may take "
            "another rule for inconsistency; the intervals hold whatever the rules "
            "are"
        ),
        OwnRulesWarning,
        stacklevel=stacklevel + 1,
    )
