"""Commands about simulated cohorts: conditions, simulate, oracle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import intravar
from intravar import cli
from intravar.cli.options import described
from intravar.study import benchmark, simulation

if TYPE_CHECKING:
    from intravar.study.simulation import Condition

_DRAWN = {
    "patients": "Number of patients instead of the condition's.",
    "physicians": "Number of physicians instead of the condition's.",
    "seed": "Seed of the draw instead of the condition's.",
}


@described(everything="--all: List the grid of sizes and the other families as well.")
def conditions(everything: bool = False, as_json: bool = False) -> None:
    """List the paper's 94 conditions with their rule in words and their seed."""
    known = simulation.all_conditions() if everything else simulation.conditions_of("paper")
    rows = [_condition_row(condition) for condition in known.values()]
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
        return
    told = [
        [
            row["condition"],
            f"{row['patients']:,}",
            str(row["physicians"]),
            str(row["seed"]),
            "" if row["target_share"] is None else f"{row['target_share']:.3f}",
            "; ".join(part for part in (row["rule"], row["departures"]) if part),
        ]
        for row in rows
    ]
    numbers = ("patients", "phys.", "seed", "p*")
    heads = ("condition", *numbers, "eligible if")
    whole = ("condition", "seed", "p*")
    cli.Console().print(cli.table(heads, told, right=numbers, unbroken=whole))


def _condition_row(condition: Condition) -> dict[str, Any]:
    rule = condition.rule
    return {
        "condition": condition.name,
        "family": condition.family,
        "patients": condition.scenario.n_patients,
        "physicians": condition.scenario.n_physicians,
        "physician_model": condition.scenario.physicians.describe(),
        "pass": condition.pass_number,
        "width": condition.width,
        "position": condition.position,
        "seed": condition.seed,
        "target_share": rule.target_share if isinstance(rule, simulation.ThresholdRule) else None,
        "rule": rule.describe(),
        "departures": condition.scenario.describe() or None,
    }


@described(
    out="File to write: .parquet or .csv.",
    truth="--truth/--no-truth: Write the columns of the truth as well.",
    **_DRAWN,
)
def simulate(
    condition: Annotated[str, typer.Argument(help="Name of a condition; see `conditions`.")],
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


@described(**_DRAWN)
def oracle(
    condition: Annotated[str, typer.Argument(help="Name of a condition.")] = "score2",
    patients: int | None = None,
    physicians: int | None = None,
    seed: int | None = None,
    as_json: bool = False,
) -> None:
    """Print what an oracle that knows the truth finds, beside the paper's figures.

    One row per group of physicians: the expected discordance D* = 2 p_high (1 - p_high), and the
    share of discordant pairs among all pairs of eligible patients.
    """
    cohort = intravar.simulate(
        condition, random_state=seed, n_patients=patients, n_physicians=physicians
    )
    found = intravar.oracle(cohort)
    if as_json:
        typer.echo(json.dumps(found.to_dicts(), indent=1))
        return
    cli.say(f"{cohort!r}\n")
    paper = benchmark.GROUP_TABLES.get(condition)
    table = cli.Table(title="discordance among eligible patients, by physician group", box=None)
    for column in ("group", "physicians", "patients", "eligible", "D*", "oracle", "paper"):
        table.add_column(column, justify="right")
    for row in intravar.study.oracle_by_group(found).iter_rows(named=True):
        group = row["group"]
        printed = benchmark.printed_cell(paper, "oracle", f"group{group}") if paper else None
        table.add_row(
            "all" if group is None else str(group),
            str(row["physicians"]),
            f"{row['n_patients']:,}",
            f"{row['n_eligible']:,}",
            f"{row['d_star']:.3f}",
            "undefined" if row["oracle"] is None else f"{row['oracle']:.3f}",
            "-" if printed is None else f"{printed.value:.3f}",
        )
    cli.Console().print(table)
    undefined = found.filter(found["reason"].is_not_null())
    for row in undefined.iter_rows(named=True):
        cli.say(f"{row['physician']}: undefined, {row['reason']}")
