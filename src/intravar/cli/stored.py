"""The commands on stored results: explain, compare, report, sheet, and the blind review."""

from __future__ import annotations

import warnings
import webbrowser
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

import intravar
from intravar import cli, documents, publication, review
from intravar.cli.commands import PRINTED, Answer, as_command
from intravar.errors import InputError, errors_in
from intravar.study import report as study_report
from intravar.writing import checked_target, privacy_words, whole_file, write_private

if TYPE_CHECKING:
    import polars as pl

    from intravar.wording import Words


def explain(
    folder: Path,
    physician: str | None = None,
    most: int = 5,
    decision: str | None = None,
    out: Path | None = None,
) -> Answer:
    """Show the decisions behind a physician's score, or the rule the data suggest.

    The decisions that surprised most stand beside patients alike who were decided the other way.
    They are patient-level data, are read from the private folder beside DIR and are never part of
    the report unless it was asked for.
    """
    path, _ = publication.measurement_folders(folder)
    if out is not None:
        checked_target(out)
    published = publication.read_published(path)
    listed = [each.decision for each in published.decisions]
    chosen = published.decisions[publication.chosen_decision(listed, decision)]
    words, console = published.words, cli.Console(highlight=False)
    if physician is None:
        yield publication.plain(chosen.rule)
        console.show(documents.rule_blocks(chosen, words), "see --json")
        return
    with errors_in(words):
        table = intravar.explain(folder, physician, most=most, decision=decision)
    warning = publication.WARNING
    if out is not None:
        with whole_file(out) as beside:
            write_private(beside, f"# {warning}\n{publication.safe_csv(table)}".encode())
        cli.say("\n".join(filter(None, [warning, privacy_words(out), str(out)])), err=True)
        return
    yield {"warning": warning, "pairs": table.to_dicts()}
    _print_cases(console, table, chosen.decision, words)


def _print_cases(console: cli.Console, table: pl.DataFrame, decision: str, words: Words) -> None:
    console.say(publication.WARNING, style="bold red")
    beside = 2 if console.width < 80 else 3
    cases = documents.case_blocks(table, decision, words, beside=beside)
    if not cases:
        console.say(documents.NO_CASES)
    console.show(cases, "see --json")


def compare(
    first: Path,
    second: Path,
    exact: bool = False,
) -> Answer:
    """Compare two stored measurements: what changed from the first to the second.

    Physicians are matched by the names in both private folders. Where these are not at hand they
    meet by pseudonym: measure the second time with --key and the key.json of the first. Several
    decisions are compared together and one after the other.
    """
    compared = publication.compare_each(first, second, exact=exact)
    changes = {name: each.naming(lambda called: called.flag) for name, each in compared.items()}
    answer = {name: change.as_json() for name, change in changes.items()}
    yield answer.get("", answer)
    cli.Console(highlight=False).show(documents.comparison_blocks(changes), "see --json")


def report(
    folder: Path,
    open_it: bool = False,
    formats: str = "html",
    paper: str = "a4",
) -> Answer:
    """Make the report again from stored results, as page or as files; nothing is run.

    Of a measurement it reads what was published, never the private folder.
    """
    if publication.is_published(folder):
        written = documents.write_files(folder, formats, paper)
    else:
        written = study_report.write_report(folder, formats)
    for path in written:
        if open_it and path.name == "report.html":
            webbrowser.open(path.resolve().as_uri())
    yield written
    cli.say("\n".join(map(str, written)))


def sheet(
    folder: Path,
    out: Path | None = None,
    physician: str | None = None,
    everybody: bool = False,
    formats: str | None = None,
    names: bool = False,
    cases: bool = False,
    exact: bool = False,
    paper: str = "a4",
) -> Answer:
    """Write one printable page per physician, for that physician alone.

    Own figure among unnamed peers, what it does not mean, space for a comment. Files are named by
    pseudonym, or by name where names are shown; sheets.csv lists them for a mail merge, key.xlsx in
    the private folder tells who is who.
    """
    if (physician is None) == (not everybody):
        raise InputError("name one with --physician, or ask for everybody's sheet with --all")
    asked = [name for name in documents.SHEET_FORMATS if not documents.lacking([name])]
    if formats is not None:
        asked = documents.parse_formats(formats, documents.SHEET_FORMATS)
    written = documents.write_sheets(
        folder,
        out,
        physician=physician,
        formats=asked,
        names=names,
        cases=cases,
        exact=exact,
        paper=paper,
    )
    if formats is None and "pdf" not in asked:
        cli.say(PRINTED["without_pdf"], err=True)
    if cases:
        cli.say(publication.WARNING, err=True)
    if written.private and (words := privacy_words(written.files[0].parent)):
        cli.say(words, err=True)
    yield written.files
    cli.say("\n".join(map(str, written.files)))


def plan(folder: Path) -> Answer:
    """Print how wide the interval would be for 30, 60, 120 and 240 pairs."""
    planned = review.plan(folder)
    yield asdict(planned)
    cases = publication.read_published(folder).words.cases
    cli.say(
        f"{planned.n_frame:,} pairs of {cases} are alike in the record; of 100, "
        f"{100 * planned.record:.0f} were decided differently."
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
) -> Answer:
    """Draw pairs at random and write the packet for the reviewers.

    The packet holds neither decisions nor physicians; which pairs were decided differently stays
    in the private folder beside DIR. Everything in the packet is patient data.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
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
    for warning in caught:
        if issubclass(warning.category, review.BlindingWarning):
            cli.say(f"warning: {warning.message}", err=True)
    yield {"packet": str(out), "n_pairs": len(drawn)}
    cli.say(f"{len(drawn):,} pairs: {out}")
    if more is None and len(drawn) < pairs:
        cli.say(f"Fewer than {pairs:,}: there are no more.")
    cli.say(f"Open review.html, or fill in answers-R1.xlsx or answers-R1.csv.\n{review.NOTE}")
    if not_private := privacy_words(out):
        cli.say(f"warning: {not_private}")
    cli.say(f"Then: intravar review read {folder} FILES")


def read(
    folder: Path,
    answers: list[Path] | None = None,
) -> Answer:
    """Read answers, and add what they tell to the measurement and its pages."""
    result = review.read(folder, answers or [])
    yield asdict(result) | {"physicians": result.physicians.to_dicts()}
    cli.say("\n".join(result.lines(publication.read_published(folder).words)))


def _interval(low: float | None, high: float | None) -> str:
    return "nothing" if low is None or high is None else f"{100 * low:.0f} to {100 * high:.0f}"


review_group = typer.Typer(
    help="Blind review of pairs of patients. Two patients of the same physician, alike in the "
    "record, are set side by side. A reviewer who sees neither the decision nor the physician says "
    "whether they are comparable.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
for command in (plan, draw, read):
    review_group.command(command.__name__)(as_command(command))
