"""Which pictures the page of several decisions has: one entry each."""

from __future__ import annotations

from functools import partial

from intravar.documents.measurement import joint_pictures as joint
from intravar.documents.measurement.picture_register import Picture
from intravar.documents.measurement.plot import NARROW
from intravar.errors import theirs
from intravar.outcomes import MOST_DECISIONS
from intravar.publication.several_outputs import SeveralOutputs


def _silent(outputs: SeveralOutputs) -> str:
    missing = outputs.summary["n_physicians"] - (
        outputs.summary["n_reportable"] + outputs.summary["n_banded"]
    )
    return f"{missing:,} of whom nothing can be told are not in it." if missing else ""


def _alone(place: int) -> Picture:
    return Picture(
        f"decision-{place + 1}",
        "each",
        lambda data: theirs(data.decision),
        "Upper limits; the same scale for every decision.",
        tuple(f"decisions.{name}" for name in ("discordance", "low", "high", "band", "given")),
        partial(joint.alone, place=place),
        joint.plot_alone,
        joint.alone_in_words,
        joint.alone_key,
        widths=(NARROW,),
    )


JOINT_PICTURES: tuple[Picture, ...] = (
    Picture(
        "differ",
        "together",
        "How often do two comparable patients differ in at least one decision?",
        joint.together_reading,
        (
            *(f"joint.differ{end}" for end in ("", "_low", "_high", "_apart")),
            "joint.band",
            "joint.physician",
        ),
        joint.together,
        joint.plot_together,
        joint.together_in_words,
        joint.together_key,
        _silent,
    ),
    *(_alone(place) for place in range(MOST_DECISIONS)),
    Picture(
        "order",
        "order",
        "With and without the order",
        "A decision that looks at those before it is explained by them: what is left is less.",
        ("several.by_decision",),
        joint.order_rows,
        joint.plot_order,
        joint.order_in_words,
        (("point", "by itself"), ("hollow", "given the decisions before it")),
    ),
    Picture(
        "square",
        "pairs",
        "Which decisions go together?",
        "Correlation of what covariates leave unexplained: above 0 both are given to the same "
        "patients, below 0 one instead of the other.",
        ("several.pairs",),
        joint.square,
        joint.plot_square,
        joint.square_in_words,
        (("fill", "together"), ("second", "one instead of the other")),
    ),
)
