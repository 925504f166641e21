"""Commands about the study: conditions, simulate, oracle, methods and benchmark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import intravar
from intravar import cli, estimators
from intravar.cli.commands import PRINTED, Answer, listed
from intravar.study import report, simulation
from intravar.writing import Ledger

if TYPE_CHECKING:
    import polars as pl

#: Exit code of a study that went through although some methods failed somewhere.
SOME_FAILED = 3

#: How the names begin of tables that a narrow terminal would only make unreadable; they lie in the
#: folder.
_LONG = ("rank_correlations", "grid", "recovery_")


def conditions(
    everything: bool = False,
) -> Answer:
    """List the paper's 94 conditions with their rule in words and their seed."""
    known = simulation.all_conditions() if everything else simulation.conditions_of("paper")
    rows: list[dict[str, Any]] = []
    for condition in known.values():
        rule = condition.realised_rule()
        number, width, position = simulation.window_of(condition.name) or (None, None, None)
        share = rule.target_share if isinstance(rule, simulation.ThresholdRule) else None
        rows.append(
            {
                "condition": condition.name,
                "family": condition.family,
                "patients": condition.n_patients,
                "physicians": condition.n_physicians,
                "physician_model": condition.physicians.describe(),
                "pass": number,
                "width": width,
                "position": position,
                "seed": condition.seed,
                "target_share": share,
                "rule": rule.describe(),
                "departures": condition.describe() or None,
            }
        )
    yield rows
    cells = [
        [
            row["condition"],
            f"{row['patients']:,}",
            str(row["physicians"]),
            str(row["seed"]),
            "" if row["target_share"] is None else f"{row['target_share']:.3f}",
            "; ".join(filter(None, (row["rule"], row["departures"]))),
        ]
        for row in rows
    ]
    numbers = ("patients", "phys.", "seed", "p*")
    heads = ("condition", *numbers, "eligible if")
    whole = ("condition", "seed", "p*")
    cli.Console().print(cli.table(heads, cells, right=numbers, unbroken=whole))


def simulate(
    condition: str,
    out: Path,
    patients: int | None = None,
    physicians: int | None = None,
    seed: int | None = None,
    truth: bool = True,
) -> None:
    """Simulate a cohort and write it to a file, one row per patient.

    Columns: age, hba1c, non_hdl, hdl, ldl, sbp, egfr, smoker, male, physician, decision; with the
    truth also eligible, p_high, p_low, d_star, group.
    """
    cohort = intravar.simulate(
        condition, random_state=seed, n_patients=patients, n_physicians=physicians
    )
    cohort.write(out, truth=truth)
    cli.say(repr(cohort))
    cli.say(f"written to {out}")


def oracle(
    condition: str = "score2",
    patients: int | None = None,
    physicians: int | None = None,
    seed: int | None = None,
) -> Answer:
    """Print what an oracle that knows the truth finds, beside the paper's figures.

    One row per group of physicians: the expected discordance D* = 2 p_high (1 - p_high), and the
    share of discordant pairs among all pairs of eligible patients.
    """
    cohort = intravar.simulate(
        condition, random_state=seed, n_patients=patients, n_physicians=physicians
    )
    truth = intravar.oracle(cohort)
    yield truth.to_dicts()
    cli.say(f"{cohort!r}\n")
    paper = intravar.study.GROUP_TABLES.get(condition)
    rows = []
    for row in intravar.study.oracle_by_group(truth).iter_rows(named=True):
        group = row["group"]
        printed = intravar.study.printed_cell(paper, "oracle", f"group{group}") if paper else None
        rows.append(
            [
                "all" if group is None else str(group),
                str(row["physicians"]),
                f"{row['n_patients']:,}",
                f"{row['n_eligible']:,}",
                f"{row['d_star']:.3f}",
                "undefined" if row["oracle"] is None else f"{row['oracle']:.3f}",
                "-" if printed is None else f"{printed.value:.3f}",
            ]
        )
    heads = ("group", "physicians", "patients", "eligible", "D*", "oracle", "paper")
    title = "discordance among eligible patients, by physician group"
    cli.Console().print(cli.table(heads, rows, right=heads, title=title))
    for row in truth.drop_nulls("reason").iter_rows(named=True):
        cli.say(f"{row['physician']}: undefined, {row['reason']}")


def methods() -> Answer:
    """List the methods."""
    rows = [
        {
            "method": name,
            "label": method.label,
            "idea": method.idea,
            "supervised": method.supervised,
            "scale": method.scale,
            "in_paper": name in estimators.PAPER_METHODS,
        }
        for name, method in estimators.METHODS.items()
    ]
    yield rows
    cells = [
        [str(row["method"]), "yes" if row["supervised"] else "no", str(row["idea"])] for row in rows
    ]
    heads = ("method", "sees decisions", "idea")
    cli.Console().print(cli.table(heads, cells, unbroken=("method",)))


def benchmark(
    conditions: list[str] | None = None,
    methods: str = "all",
    replicates: int = 1,
    workers: int | None = None,
    engine: str = "local",
    out: Path = Path("intravar-results"),
    fresh: bool = False,
    allow_mixed: bool = False,
    resample_patients: bool = False,
    as_json: bool = False,
) -> None:
    """Run methods on conditions and set their scores beside the truth and the paper.

    Run it again to do what is missing: finished work is kept, whatever interrupted it.
    Exit code 3: all was run, but some methods failed in some conditions.
    """
    console = cli.Console(stderr=as_json)
    if resample_patients:
        console.print(PRINTED["resampling"])
    Ledger(out).check(["report.html"])
    try:
        with cli.StepProgress(console) as progress:
            study = intravar.benchmark(
                conditions or ["score2"],
                listed(methods),
                out=out,
                replicates=replicates,
                n_jobs=workers,
                engine=engine,
                fresh=fresh,
                allow_mixed=allow_mixed,
                replicates_are="resampled" if resample_patients else "fresh",
                progress=progress,
            )
    except KeyboardInterrupt:
        message = f"interrupted; what was finished lies in {out}/ and the same command goes on"
        cli.say(f"intravar: {message}", err=True)
        raise typer.Exit(130) from None
    if as_json:
        typer.echo(json.dumps(study.summary(), default=str))
    else:
        _print_study(console, study)
    page, *_ = report.write_report(study.folder, ("html", "svg", "latex"))
    console.print(f"report: {page}", highlight=False, soft_wrap=True)
    if study.failures.height:
        raise typer.Exit(SOME_FAILED)


def _print_study(console: cli.Console, study: intravar.study.Study) -> None:
    for name, table in study.tables.items():
        if name in intravar.study.FIGURE_TABLES or (name.startswith(_LONG) and console.width < 120):
            continue
        _print_table(console, intravar.study.TITLES[name], table)
    if any("published" in table.columns for table in study.tables.values()):
        console.print(
            "Beside or below a figure its 95 % interval; in ( ) the paper's figure, * where it "
            "lies outside the interval or, with several draws, outside their range.\n",
            markup=False,
        )
    undefined = study.undefined
    if undefined.height:
        reasons = ", ".join(
            f"{count} x {reason}" for reason, count in undefined["reason"].value_counts().rows()
        )
        console.print(f"undefined scores: {undefined.height} ({reasons})")
    for row in study.failures.iter_rows(named=True):
        where = f"{row['condition']}, replicate {row['replicate']}, {row['method']}"
        console.print(f"failed: {where}: {row['error']}", markup=False)
    console.print(f"scores, tables and how they were made: {study.folder}/", highlight=False)


def _print_table(console: cli.Console, title: str, table: pl.DataFrame) -> None:
    # Intervals need room: seven columns with them take about 150 characters.
    heading, rows = intravar.study.text_grid(table, narrow=console.width < 150)
    if console.width < 10 * len(heading) - 2:
        # Too narrow for columns: one line per cell.
        cells = [zip(heading[1:], row[1:], strict=True) for row in rows]
        rows = [[row[0], *cell] for row, own in zip(rows, cells, strict=True) for cell in own]
        heading = [heading[0], "", ""]
    console.print(cli.table(heading, rows, right=heading[1:], title=title, gap=1))
    console.print()
