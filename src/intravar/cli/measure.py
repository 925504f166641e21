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
from intravar.cli.commands import NOBODY_REPORTABLE
from intravar.cli.options import Answer, listed
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
KEPT = "what is finished is kept, with patients, in {folder}; the same command goes on from there"
NOT_RANKED = (
    "Not for comparing {deciders} with each other: see the verdict. Rows are in the order of "
    "names{ranges}."
)
AFTER = (
    "If a column is known only after the decision, name it with --after; "
    "compared by it, every {decider} looks consistent."
)


def omop(
    source: Annotated[str, "URL: Folder or zip of CSV files, DuckDB file, or postgresql:// URL."],
    drug: Annotated[
        list[str], "Concepts of the drug, with commas; NAME=CONCEPTS, once for each of several."
    ],
    covariates: Annotated[
        str,
        "age, sex, race, ethnicity, measurement:CONCEPT, condition:CONCEPT, drug:CONCEPT; "
        "name=... names a column.",
    ] = "age,sex",
    out: Annotated[Path, "Table to write (.parquet or .csv)."] = Path("patients.parquet"),
    visits: Annotated[str | None, "Concepts of the visits that count."] = None,
    eligible: Annotated[str | None, "What must be recorded before, as in --covariates."] = None,
    window: Annotated[int, "Days within which the drug counts as given."] = WINDOW,
    new_users: Annotated[
        bool, "--new-users/--all-users: Leave out earlier users of the drug."
    ] = True,
    same_day: Annotated[bool, "What was recorded on the visit's day counts."] = False,
    provider: Annotated[str, "Whose decision: visit, or drug where there is one."] = "visit",
    descendants: Annotated[
        bool, "--descendants/--no-descendants: Descendants of the drug count."
    ] = True,
    date: Annotated[str | None, "Name of a column for the date of the visit."] = None,
    schema: Annotated[str | None, "Schema of the tables."] = None,
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
    _write_privately(patients.table, out)
    steps = {words: publication.shown(count, SMALLEST_CELL) for words, count in patients.steps}
    yield {"out": str(out), "steps": steps}
    for words, count in steps.items():
        cli.say(f"{words}: {count}")
    cli.say(f"table of patients (patient-level): {out}")
    if warning := privacy_words(out):
        cli.say(f"warning: {warning}")
    cli.say(_next_step(patients.table, patients.decisions, out, date))


def _write_privately(table: pl.DataFrame, out: Path) -> None:
    """Write a table that its owner alone can read."""
    with whole_file(out) as beside:
        make_private(beside)
        if out.suffix.lower() == ".parquet":
            table.write_parquet(beside)
        else:
            beside.write_text(publication.safe_csv(table), "utf-8")


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
        called: dict[str, str] | None = None
        names = [str(name) for name in checked.panels.table["physician"]]
        if show_names:
            called = {name: name for name in names}
        elif secret is not None:
            called = publication.Pseudonyms.of(names, secret).by_name
        answers[decision] = publication.plain(
            publication.published_check(checked, several=several)
        ) | {
            "not_measurable": publication.unmeasurable(checked, called),
            "estimated_seconds": round(checked.cost.here().seconds, 1),
        }
    yield answers if several else answers[request.decision]
    console = cli.Console(highlight=False, quiet=quiet)
    for decision, checked in checks.items():
        _print_check(console, checked, answers[decision]["not_measurable"], several)
        if verbose:
            _print_request(console, checked.request)


def _print_check(
    console: cli.Console, check: Check, cannot: list[dict[str, Any]], several: bool
) -> None:
    words = check.request.words
    columns = publication.column_rows(check, several=several)
    console.show([documents.columns_table(columns, words)], "see --json")
    console.print()
    console.say(*publication.check_lines(check, several=several))
    # How many physicians can have no figure and why; and who, if they have been named.
    if cannot:
        console.print()
        console.say("without a figure:")
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


def _print_request(console: cli.Console, request: Request) -> None:
    console.print()
    console.say(request.to_toml().rstrip())


def _print_leaks(console: cli.Console, lines: list[str], words: Words) -> None:
    """Say loudly which columns may give the decision away."""
    if not lines:
        return
    console.print()
    console.say("POSSIBLE LEAKS: these columns may give the decision away", style="bold red")
    console.say(*(f"  {line}" for line in lines), style="red")
    console.say(words.fill(AFTER))


def measure(
    source: str,
    request: Request,
    out: Annotated[Path, "Folder of the results."] = Path("intravar-measurement"),
    replace: Annotated[bool, "Overwrite the result of another request."] = False,
    show_names: bool = False,
    key: Path | None = None,
    pairs_in_report: Annotated[bool, "Embed discordant pairs (patient-level!)."] = False,
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
                progress.note(KEPT.format(folder=settings.kept_in))
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
        typer.echo(json.dumps(_answer(published), default=str))
    else:
        console = cli.Console(highlight=False, quiet=quiet)
        _print_all(console, measured, published, out)
        if verbose:
            _print_request(console, request)
            console.say(*(f"{name}: {value:.1f} s" for name, value in measured.seconds.items()))
    if not any(each.n_reportable + each.n_banded for each in published.decisions):
        raise typer.Exit(NOBODY_REPORTABLE)


def _answer(published: Published) -> dict[str, Any]:
    """Return what was published with its tables, for programs."""
    answer: dict[str, Any] = publication.plain(published)
    for name, rows in publication.tables_of(published).items():
        answer[f"{name}_rows" if name in answer else name] = rows.to_dicts()
    return answer


def _print_all(console: cli.Console, results: Measurement, published: Published, out: Path) -> None:
    words, joint = published.words, published.joint
    if joint is not None:
        _print_joint(console, joint, words)
    for each in published.decisions:
        if joint is not None:
            console.print()
            console.print(cli.Text(f"{words.label(each.decision)} by itself", style="bold"))
        _print_results(console, each, words)
    for name, measured in results.decisions.items():
        leaks = measured.check.leak_lines()
        named = [f"{words.label(name)}: {line}" for line in leaks] if joint is not None else leaks
        _print_leaks(console, named, words)
    for warning in dict.fromkeys(
        line for each in published.decisions for line in documents.new_warnings(each)
    ):
        console.say(f"warning: {warning}")
    console.print()
    console.print(cli.Text(f"report: {out / 'report.html'}"), soft_wrap=True)
    if problem := privacy_words(publication.private_folder(out)):
        console.say(f"warning: {problem}")
    console.print(
        cli.Text(f"kept for you alone (key, pairs): {publication.private_folder(out)}"),
        soft_wrap=True,
    )


def _print_results(console: cli.Console, decision: Decision, words: Words) -> None:
    verdict = cli.Text(decision.verdict.upper(), style="bold")
    console.print(verdict.append(f": {'; '.join(decision.verdict_reasons)}", style="not bold"))
    console.print()
    table = documents.decider_table(decision, words)
    shown = [row for row in table.rows if row.shown]
    if shown:
        console.show([table], "see physicians.csv")
        console.print()
        if not decision.n_ranked:
            ranges = ", those with a range last" * bool(decision.n_banded)
            console.say(words.fill(NOT_RANKED, ranges=ranges))
        first = decision.physicians[shown[0].p or 0]
        line = measurement.in_words(vars(first), decision.claim, words, decision.compared)
        order = "" if first.rank is None else "The most consistent by rank, "
        console.say(f"{order}{first.physician}: {line}")
        console.say(documents.with_figure(decision, words))
    _print_reasons(console, decision, words)
    console.print()
    console.say(*documents.summary_lines(decision, words))
    for part in (decision.by, decision.course):
        console.say(*(() if part is None else part.lines))
    if not shown:
        bars = " and ".join(map(flag_of, decision.barred_by))
        console.say(
            words.fill("No {decider} has a figure.") + f" The bar is set by {bars}." * bool(bars)
        )


def _print_reasons(console: cli.Console, decision: Decision, words: Words) -> None:
    """Say why some have no rank, a range of levels or nothing."""

    def why(reason: str) -> str:
        # Where nobody is ranked the verdict says why.
        alone = reason.partition(measurement.NO_RANK)[0].rstrip("; ")
        return alone if decision.verdict in measurement.UNRANKED else reason

    reasons = Counter(
        ("with a figure" if row.reportable else "without a figure", reason)
        for row in decision.physicians
        if (row.reportable or row.band is None) and (reason := why(row.reason or ""))
    )
    for (kind, reason), count in sorted(reasons.items(), key=lambda each: (each[0][0], -each[1])):
        console.say(f"{kind}: {words.counted(count)}: {reason}")


def _print_joint(console: cli.Console, joint: Joint, words: Words) -> None:
    """Print the joint figures of all, and the table of those who have one."""
    console.say(*publication.joint_lines(joint, words))
    console.print()
    table = documents.together_table(words, joint)
    silent = sum(not row.shown for row in table.rows)
    if silent < len(table.rows):
        console.show([table], "see joint.csv")
        console.print()
    if joint.n_banded:
        few = f"{words.counted(joint.n_banded)} with a range: {publication.NOT_SHOWN}"
        console.say(few)
    if silent:
        console.say(f"without joint figures: {words.counted(silent)}")
