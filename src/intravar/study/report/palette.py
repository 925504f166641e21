"""One colour and one mark per method, wherever it appears; readable in grey and colour-blind.

Hues after Okabe and Ito (Color Universal Design, 2008) and Tol (SRON technical note, 2021), made
darker on white and lighter on black until they stand out from the ground.
"""

from __future__ import annotations

from collections.abc import Sequence

from intravar.documents.colours import Look

STAR = (
    "M0,-1L0.24,-0.32L0.95,-0.31L0.38,0.12L0.59,0.81L0,0.4"
    "L-0.59,0.81L-0.38,0.12L-0.95,-0.31L-0.24,-0.32Z"
)
PENTAGON = "M0,-0.95L0.9,-0.29L0.56,0.77L-0.56,0.77L-0.9,-0.29Z"
HEXAGON = "M0,-0.95L0.82,-0.47L0.82,0.47L0,0.95L-0.82,0.47L-0.82,-0.47Z"
BAR = "M-0.2,-1L0.2,-1L0.2,1L-0.2,1Z"
RING = (
    "M0,-0.9A0.9,0.9,0,1,1,0,0.9A0.9,0.9,0,1,1,0,-0.9"
    "M0,-0.4A0.4,0.4,0,1,0,0,0.4A0.4,0.4,0,1,0,0,-0.4"
)


LOOKS = {
    "oracle": Look("#1a1a1a", "#f2f2f2", BAR),
    "euclidean": Look("#0072b2", "#5db0ee", "circle"),
    "mahalanobis": Look("#3f93c4", "#9ad1f5", "square"),
    "learned-weights": Look("#d55e00", "#ff9248", "triangle-up"),
    "genetic-mahalanobis": Look("#857a12", "#d6ca58", "triangle-right"),
    "rf-proximity": Look("#b8528c", "#ee9fcb", "cross"),
    "lpa-guided": Look("#3b2f94", "#a79df5", "diamond"),
    "mutual-information": Look("#008a64", "#3fd0a4", "triangle-down"),
    "glmm": Look("#5c5c5c", "#c4c4c4", HEXAGON),
    "latent-rule": Look("#b07a00", "#f7c04a", STAR),
    "constant": Look("#8a8a8a", "#8f8f8f", RING),
}
#: For methods that have no look of their own, in turn.
SPARE = (
    Look("#117733", "#6fcf8b", PENTAGON),
    Look("#aa3377", "#f08cc0", RING),
    Look("#4477aa", "#8fbce8", "triangle-left"),
    Look("#997700", "#e5c558", "square"),
)
#: Physician groups from deterministic to coin-flip; dark to light, so that grey keeps the order.
GROUPS = (
    Look("#17256f", "#7f90ff"),
    Look("#6a2a91", "#b98aee"),
    Look("#b23a72", "#e884bb"),
    Look("#d9683f", "#ffa27d"),
    Look("#d39b12", "#ffd873"),
)


def looks_of(methods: Sequence[str]) -> dict[str, Look]:
    """Return the look of every method; those without one of their own take the spare ones.

    Examples
    --------
    >>> looks_of(["glmm", "mine", "yours"])["mine"].light
    '#117733'
    """
    unknown = [method for method in methods if method not in LOOKS]
    spare = {method: SPARE[turn % len(SPARE)] for turn, method in enumerate(unknown)}
    return {method: LOOKS.get(method) or spare[method] for method in methods}


def token(methods: Sequence[str], method: str) -> str:
    """Return the name of a method's colour in the page; it holds no text from the data."""
    return f"method-{list(methods).index(method) + 1}" if method in methods else method
