"""The commands `review plan`, `draw` and `read`: blind review of pairs."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from intravar import cli, publication, review
from intravar.cli.options import described
from intravar.writing import privacy_words

HOW = (
    "Two patients of the same physician, alike in the record, are set side by side. A reviewer who "
    "sees neither the decision nor the physician says whether they are comparable."
)


@described()
def plan(folder: Path, as_json: bool = False) -> None:
    """Print how wide the interval would be for 30, 60, 120 and 240 pairs."""
    planned = review.plan(folder)
    if as_json:
        typer.echo(json.dumps(asdict(planned)))
        return
    words = _words(folder)
    cli.say(
        words.fill(
            "{n_frame:,} pairs of {cases} are alike in the record; of 100, "
            "{record:.0f} were decided differently.",
            n_frame=planned.n_frame,
            record=100 * planned.record,
        )
    )
    basis = "as reviewed so far" if planned.reviewed else "a guess, before anything is reviewed"
    first, second = (round(100 * share) for share in planned.comparable)
    cli.say(
        f"Thought comparable: {first} of 100 pairs decided differently, {second} of 100 decided "
        f"alike ({basis})."
    )
    heads = ("pairs", "of 100 comparable pairs", "95 % interval", "as published")
    rows = [
        (
            f"{each.n_pairs}",
            f"{100 * each.discordance:.0f}",
            _interval(each.low, each.high),
            _interval(each.published_low, each.published_high),
        )
        for each in planned.sizes
    ]
    cli.Console(highlight=False).print(cli.table(heads, rows, right=heads))
    cli.say("Published figures are rounded, with few pairs more so: small numbers must not show.")


@described(
    out="Folder of the packet; must be new.",
    pairs="Pairs to draw.",
    more="Pairs to add to those drawn before.",
    reviewers="How many people review.",
    twice="Share that two people review. Default: 0.2 if there are two.",
    each="Equally many pairs of every physician.",
    show="Column that reviewers see besides; may be given again.",
    replace="Drop pairs that have answers already.",
)
def draw(
    folder: Path,
    out: Path,
    pairs: int = 120,
    more: int | None = None,
    reviewers: int = 1,
    twice: float | None = None,
    each: bool = False,
    show: list[str] | None = None,
    replace: bool = False,
    as_json: bool = False,
) -> None:
    """Draw pairs at random and write the packet for the reviewers.

    The packet holds neither decisions nor physicians; which pairs were decided differently stays
    in the private folder beside DIR. Everything in the packet is patient data.
    """
    drawn = review.draw(
        folder,
        out,
        pairs=pairs,
        more=more,
        reviewers=reviewers,
        twice=twice,
        each=each,
        show=tuple(show or ()),
        replace_drawn=replace,
    )
    if as_json:
        typer.echo(json.dumps({"packet": str(out), "n_pairs": len(drawn)}))
        return
    cli.say(f"{len(drawn):,} pairs: {out}")
    if more is None and len(drawn) < pairs:
        cli.say(f"Fewer than {pairs:,}: there are no more.")
    cli.say("Open review.html, or fill in answers-R1.xlsx or answers-R1.csv.")
    cli.say(review.NOTE)
    if warning := privacy_words(out):
        cli.say(f"warning: {warning}")
    cli.say(f"Then: intravar review read {folder} FILES")


@described(answers="FILES: Answers: CSV, Excel, or what review.html saved.")
def read(folder: Path, answers: list[Path] | None = None, as_json: bool = False) -> None:
    """Read answers, and add what they tell to the measurement and its pages."""
    result = review.read(folder, answers or [])
    if as_json:
        answer = asdict(result) | {"physicians": result.physicians.to_dicts()}
        typer.echo(json.dumps(answer, default=str))
        return
    cli.say("\n".join(result.lines(_words(folder))))


def _words(folder: Path) -> Any:
    return publication.read_published(folder).words


def _interval(low: float | None, high: float | None) -> str:
    return "nothing" if low is None or high is None else f"{100 * low:.0f} to {100 * high:.0f}"


group = typer.Typer(
    help=f"Blind review of pairs of patients. {HOW}",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
for command in (plan, draw, read):
    group.command(command.__name__)(command)
