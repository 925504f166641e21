"""The commands on a user's own patients: `omop`, `check` and `measure`."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import intravar
from intravar import cli, documents, measurement, publication, runs, sources
from intravar.cli.commands import NOBODY_REPORTABLE, PRINTED, Answer, listed
from intravar.errors import InputError, flag_of
from intravar.prediction.compile_ahead import compile_beside
from intravar.request import SMALLEST_CELL, WINDOW, Request
from intravar.writing import checked_target, make_private, privacy_words, whole_file

if TYPE_CHECKING:
    import polars as pl

    from intravar.measurement.result import Measurement
    from intravar.preparation.check import Check
    from intravar.publication import Decision, Joint, Published
    from intravar.wording import Words

#: Physicians without a figure who are named for one reason; --json names all.
MOST_NAMED = 10
COMPILING = "the first measurement after installation compiles: about 10 s more, once"


def omop(
    source: str,
    drug: list[str],
    covariates: str = "age,sex",
    out: Path = Path("patients.parquet"),
    visits: str | None = None,
    eligible: str | None = None,
    window: int = WINDOW,
    new_users: bool = True,
    same_day: bool = False,
    provider: str = "visit",
    descendants: bool = True,
    date: str | None = None,
    schema: str | None = None,
) -> Answer:
    """Build a table of patients from OMOP CDM 5.4, ready for 'intravar check' and 'measure'.

    One row per person at the first eligible visit: who decided, whether each drug was given, and
    what was known before. The table is patient-level and readable by you alone.
    """
    if out.suffix.lower() not in (".parquet", ".csv"):
        raise InputError(f"unknown format '{out.suffix or out.name}'; end it in .parquet or .csv")
    checked_target(out)
    patients = intravar.omop_patients(
        source,
        drug=sources.parse_drugs(drug),
        covariates=listed(covariates),
        visits=[sources.parse_concept(text) for text in listed(visits)],
        eligible=listed(eligible),
        window=window,
        new_users=new_users,
        same_day=same_day,
        provider=provider,  # type: ignore[arg-type]
        descendants=descendants,
        date=date,
        schema=schema,
    )
    with whole_file(out) as beside:
        make_private(beside)
        if out.suffix.lower() == ".parquet":
            patients.table.write_parquet(beside)
        else:
            beside.write_text(publication.safe_csv(patients.table), "utf-8")
    steps = {words: publication.shown(count, SMALLEST_CELL) for words, count in patients.steps}
    yield {"out": str(out), "steps": steps}
    for words, count in steps.items():
        cli.say(f"{words}: {count}")
    cli.say(f"table of patients (patient-level): {out}")
    if warning := privacy_words(out):
        cli.say(f"warning: {warning}")
    cli.say(_next_step(patients.table, patients.decisions, out, date))


def _next_step(table: pl.DataFrame, decisions: Sequence[str], out: Path, date: str | None) -> str:
    """Return the command that goes on with a table of patients, or why none can."""
    for name in decisions:
        if table[name].drop_nulls().n_unique() < 2:
            about = "every decision" if len(decisions) == 1 else f"every decision of '{name}'"
            return (
                f"{about} is the same: there is nothing to compare; a longer --window, another "
                "--drug or --all-users may help"
            )
    command = f"intravar check {out} --physician {sources.PHYSICIAN}"
    dated = "" if date is None else f" --date {shlex.quote(date)}"
    return f"next: {command} --decision {shlex.quote(','.join(decisions))}{dated}"


def check(
    source: str,
    request: Annotated[Request, "methods", "random_state", "min_reliability"],
    show_names: bool = False,
    key: Path | None = None,
    quiet: bool = False,
    verbose: bool = False,
) -> Answer:
    """Look at your own table: its quality, panel sizes, leaks, and what measuring would take.

    Nothing is measured and nothing is written. Physicians are counted and not named, unless asked.
    Several decisions are looked at one after the other.
    """
    from intravar.preparation.check import checked_each  # loads what reads and computes

    secret = None if key is None else publication.read_key(key)
    answers: dict[str, Any] = {}
    several = len(request.decisions) > 1
    checks = checked_each(source, request)
    for decision, checked in checks.items():
        names = [str(name) for name in checked.panels.table["physician"]]
        called = dict(zip(names, names, strict=True)) if show_names else None
        if secret is not None and not show_names:
            called = publication.Pseudonyms.of(names, secret).by_name
        published = publication.published_check(checked, several=several)
        answers[decision] = publication.plain(published) | {
            "not_measurable": publication.unmeasurable(checked, called),
            "estimated_seconds": round(checked.cost.here().seconds, 1),
        }
    yield answers if several else answers[request.decision]
    console = cli.Console(highlight=False, quiet=quiet)
    for decision, checked in checks.items():
        _print_check(console, checked, answers[decision]["not_measurable"], several)
        if verbose:
            console.say("", checked.request.to_toml().rstrip())


def _print_check(
    console: cli.Console, check: Check, cannot: list[dict[str, Any]], several: bool
) -> None:
    words = check.request.words
    columns = publication.column_rows(check, several=several)
    console.show([documents.columns_table(columns, words)], "see --json")
    console.say("", *publication.check_lines(check, several=several))
    # How many physicians can have no figure and why; and who, if they have been named.
    if cannot:
        console.say("", "without a figure:")
    for row in cannot:
        count = words.counted(row["n_physicians"])
        console.say(f"  {count}: {row['reason']} ({row['n_patients']})")
        named = row.get("physicians", [])
        console.say(*(f"    {name}" for name in named[:MOST_NAMED]))
        if len(named) > MOST_NAMED:
            console.say(f"    and {len(named) - MOST_NAMED:,} more")
    if cannot and "physicians" not in cannot[0]:
        console.say(
            "  (--show-names names them; --key gives the pseudonyms of an earlier measurement)"
        )
    _print_leaks(console, check.leak_lines(), words)


def _print_leaks(console: cli.Console, lines: list[str], words: Words) -> None:
    """Say loudly which columns may give the decision away."""
    if lines:
        console.say(
            "", "POSSIBLE LEAKS: these columns may give the decision away", style="bold red"
        )
        console.say(*(f"  {line}" for line in lines), style="red")
        console.say(words.fill(PRINTED["after"]))


def measure(
    source: str,
    request: Request,
    out: Path = Path("intravar-measurement"),
    replace: bool = False,
    show_names: bool = False,
    key: Path | None = None,
    pairs_in_report: bool = False,
    memory: str | None = None,
    workers: int | None = None,
    engine: str = "local",
    quiet: bool = False,
    verbose: bool = False,
    piped: bool = False,
    as_json: bool = False,
) -> None:
    """Measure how consistently each physician in your own table decides.

    Results for others to read go to the folder of --out, under pseudonyms and without small
    counts. What must stay with you (the key, the pairs) goes to a private folder beside it.
    Exit code 4: nobody can be reported one by one; all files are written.
    Several decisions are measured each by itself and all together.
    Interrupted on a large table, the same command goes on where it was.
    """
    publication.checked_out(out, request, sources.without_password(source), replace=replace)
    if key is not None:
        publication.read_key(key)
    aside = cli.Console(stderr=True, highlight=False, quiet=quiet)
    with cli.StepLines() if piped else cli.StepProgress(aside, every=verbose) as progress:
        if compile_beside():
            progress.before_long = COMPILING
        settings = runs.RunSettings(engine, workers, memory, publication.unfinished_folder(out))
        try:
            measured = intravar.measure(source, request, progress=progress, settings=settings)
        except KeyboardInterrupt:
            if settings.kept_in is not None and settings.kept_in.is_dir():
                progress.note(PRINTED["kept"].format(folder=settings.kept_in))
            raise
        progress.step("writing the report")
        published = intravar.write_measurement(
            measured,
            out,
            show_names=show_names,
            key=key,
            pairs_in_report=pairs_in_report,
            replace=replace,
        )
        settings.clear_unfinished()
    if as_json:
        answer: dict[str, Any] = publication.plain(published)
        for name, rows in publication.tables_of(published).items():
            answer[f"{name}_rows" if name in answer else name] = rows.to_dicts()
        typer.echo(json.dumps(answer, default=str))
    else:
        console = cli.Console(highlight=False, quiet=quiet)
        _print_all(console, measured, published, out)
        if verbose:
            took = (f"{name}: {value:.1f} s" for name, value in measured.seconds.items())
            console.say("", request.to_toml().rstrip(), *took)
    if not any(each.n_reportable + each.n_banded for each in published.decisions):
        raise typer.Exit(NOBODY_REPORTABLE)


def _print_all(console: cli.Console, results: Measurement, published: Published, out: Path) -> None:
    words, joint = published.words, published.joint
    if joint is not None:
        _print_joint(console, joint, words)
    for each in published.decisions:
        if joint is not None:
            console.say("", f"{words.label(each.decision)} by itself", style="bold")
        _print_results(console, each, words)
    for name, measured in results.decisions.items():
        whose = "" if joint is None else f"{words.label(name)}: "
        _print_leaks(console, [whose + line for line in measured.check.leak_lines()], words)
    for warning in dict.fromkeys(
        line for each in published.decisions for line in documents.new_warnings(each)
    ):
        console.say(f"warning: {warning}")
    private = publication.private_folder(out)
    console.say("", f"report: {out / 'report.html'}", soft_wrap=True)
    if problem := privacy_words(private):
        console.say(f"warning: {problem}")
    console.say(f"kept for you alone (key, pairs): {private}", soft_wrap=True)


def _print_results(console: cli.Console, decision: Decision, words: Words) -> None:
    verdict = cli.Text(decision.verdict.upper(), style="bold")
    console.print(verdict.append(f": {'; '.join(decision.verdict_reasons)}", style="not bold"))
    console.print()
    table = documents.decider_table(decision, words)
    shown = [row for row in table.rows if row.shown]
    if shown:
        console.show([table], "see physicians.csv")
        console.say("")
        if not decision.n_ranked:
            ranges = ", those with a range last" * bool(decision.n_banded)
            console.say(words.fill(PRINTED["not_ranked"], ranges=ranges))
        first = decision.physicians[shown[0].p or 0]
        line = measurement.in_words(vars(first), decision.claim, words, decision.compared)
        order = "" if first.rank is None else "The most consistent by rank, "
        console.say(f"{order}{first.physician}: {line}")
        console.say(documents.with_figure(decision, words))
    _print_reasons(console, decision, words)
    console.say("", *documents.summary_lines(decision, words))
    for part in (decision.by, decision.course):
        console.say(*(() if part is None else part.lines))
    if not shown:
        bars = " and ".join(map(flag_of, decision.barred_by))
        console.say(
            words.fill("No {decider} has a figure.") + f" The bar is set by {bars}." * bool(bars)
        )


def _print_reasons(console: cli.Console, decision: Decision, words: Words) -> None:
    """Say why some have no rank, a range of levels or nothing."""
    reasons: Counter[tuple[str, str]] = Counter()
    for row in decision.physicians:
        reason = row.reason or ""
        if decision.verdict in measurement.UNRANKED:  # the verdict says why nobody is ranked
            reason = reason.partition(measurement.NO_RANK)[0].rstrip("; ")
        if reason and (row.reportable or row.band is None):
            reasons["with a figure" if row.reportable else "without a figure", reason] += 1
    for (kind, reason), count in sorted(reasons.items(), key=lambda each: (each[0][0], -each[1])):
        console.say(f"{kind}: {words.counted(count)}: {reason}")


def _print_joint(console: cli.Console, joint: Joint, words: Words) -> None:
    """Print the joint figures of all, and the table of those who have one."""
    console.say(*publication.joint_lines(joint, words), "")
    table = documents.together_table(words, joint)
    silent = sum(not row.shown for row in table.rows)
    if silent < len(table.rows):
        console.show([table], "see joint.csv")
        console.say("")
    if joint.n_banded:
        console.say(f"{words.counted(joint.n_banded)} with a range: {publication.NOT_SHOWN}")
    if silent:
        console.say(f"without joint figures: {words.counted(silent)}")
