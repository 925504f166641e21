"""The study: conditions x methods -> scores -> tables, resumable at any moment."""

from __future__ import annotations

import json
import os
import shlex
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any, get_args

from intravar.errors import InputError, renamed
from intravar.estimators import STUDY_METHODS, Estimator, make_estimator
from intravar.processes import Listener, Nobody, count_workers
from intravar.runs.engines import Engine, make_engine
from intravar.runs.store import software_versions
from intravar.study.benchmark.store import Store, check_parts, check_same_software, finished
from intravar.study.benchmark.units import Replicates, Unit, plan, run_unit
from intravar.study.results import Study
from intravar.study.simulation.conditions import (
    Family,
    conditions_of,
    find_condition,
)
from intravar.study.simulation.scenario import Scenario
from intravar.study.tables import TITLES, build_tables
from intravar.study.tables.grids import markdown

#: One condition of each kind: a first look at the whole study within a minute or two.
QUICK = (
    *("score2", "continuous", "copula", "lognormal"),
    *("pass1-w1-p1", "pass1-w3-p4", "pass2-w3-p4", "pass1-w6-p1", "pass1-w9-p1"),
)

#: Files of a study; before hours of work it is made sure that each may be written.
_FILES = (
    "scores.parquet",
    "runs.parquet",
    "details.json",
    "manifest.json",
    "summary.json",
    *(f"tables/{name}.{suffix}" for name in TITLES for suffix in ("csv", "parquet", "md")),
)


def resolve_conditions(names: str | Scenario | Iterable[str | Scenario]) -> list[Scenario]:
    """Return the conditions of names, each once; `all`, `quick` and families are names.

    Examples
    --------
    >>> len(resolve_conditions("all"))
    94
    """

    def called(name: str) -> list[Scenario]:
        if name == "quick":
            return [find_condition(each) for each in QUICK]
        family: Any = "paper" if name == "all" else name
        known = family in get_args(Family)
        return list(conditions_of(family).values()) if known else [find_condition(name)]

    return _resolved("condition", names, called)


def resolve_methods(names: str | Estimator | Iterable[str | Estimator]) -> list[Estimator]:
    """Return unfitted estimators for names, `all` among them, each once."""

    def called(name: str) -> list[Estimator]:
        return [make_estimator(each) for each in (STUDY_METHODS if name == "all" else [name])]

    return _resolved("method", names, called)


def _listed(given: Any) -> list[Any]:
    return [given] if isinstance(given, str | Scenario | Estimator) else list(given)


def _resolved(what: str, names: Any, called: Callable[[str], list[Any]]) -> list[Any]:
    parts = [called(each) if isinstance(each, str) else [each] for each in _listed(names)]
    chosen = {each.name: each for part in parts for each in part}
    if not chosen:
        raise InputError(f"there is no {what} to run; name one, or 'all'")
    return list(chosen.values())


@renamed(workers="n_jobs")
def benchmark(
    conditions: str | Scenario | Iterable[str | Scenario] = "score2",
    methods: str | Estimator | Iterable[str | Estimator] = "all",
    *,
    out: str | os.PathLike[str],
    replicates: int = 1,
    n_jobs: int | None = None,
    engine: str = "local",
    fresh: bool = False,
    allow_mixed: bool = False,
    replicates_are: Replicates = "fresh",
    progress: Listener | None = None,
) -> Study:
    """Run methods on conditions and set their scores beside the truth and the paper.

    A second call with the same folder does only what is missing. Results do not depend on the
    engine, the number of workers, the order of the work or the other methods.

    Parameters
    ----------
    conditions
        Names of conditions, `all` (the paper's 94), `quick`, `grid` or `stress`; or scenarios of
        your own.
    methods
        Names of methods, or `all`; or unfitted estimators.
    out
        Folder of the results.
    replicates
        Independent draws per condition.
    n_jobs
        Processes; None and -1 stand for one per processor.
    engine
        `local`, `dask` (a cluster on this machine) or `dask:ADDRESS`.
    fresh
        Whether to discard what lies in the folder.
    allow_mixed
        Whether to keep results of other versions or configurations beside new ones.
    replicates_are
        "fresh" cohorts, or cohorts "resampled" from the patients of the first.
    progress
        Is told how it goes.
    """
    if replicates < 1:
        raise InputError(f"{replicates} replicates leave nothing to run; ask for at least one")
    chosen, estimators = resolve_conditions(conditions), resolve_methods(methods)
    work = make_engine(engine, n_jobs)
    units = plan(chosen, estimators, replicates, replicates_are)
    store = Store(out)
    with store.held():
        if fresh:
            store.clear()
        store.ledger.check(_FILES)
        tell = progress or Nobody()
        pending = _missing(store, units, replicates_are, tell, allow_mixed)
        kept, workers = len(units) - len(pending), count_workers(n_jobs)
        notes = [f"{kept} units are there from an earlier run and are kept"] * bool(kept)
        notes += [f"{len(pending)} units to do, {workers} at a time"] * bool(pending)
        # With a time, if only that of nothing, it is also said where short steps are not.
        tell.step("; ".join(notes), 0.0)
        if pending:
            _work_off(pending, work, workers, store, tell)
        command = _command(conditions, methods, replicates, replicates_are, out)
        return _write_study(
            store, manifest(chosen, estimators, replicates, replicates_are, command)
        )


def _work_off(
    pending: Sequence[Unit], engine: Engine, workers: int, store: Store, tell: Listener
) -> None:
    """Run units and keep them; those left are expected to take as long as those before."""
    left = [unit.name for unit in pending]
    seconds, failed = 0.0, 0
    for name, scores, record in engine.run(run_unit, pending):
        store.write(name, scores, record)
        left.remove(name)
        for run in record["runs"]:
            if run["error"]:
                failed += 1
                where = f"{run['condition']}, replicate {run['replicate']}, {run['method']}"
                tell.note(f"failed: {where}: {run['error']}")
        done = len(pending) - len(left)
        seconds += record["seconds"]
        running = ", ".join(name.rsplit(".", 1)[0] for name in left[:workers])
        words = "; ".join(filter(None, (f"{failed} failed" * bool(failed), running)))
        tell.part(done, len(pending), seconds / done * len(left) / workers, words)


def _missing(
    store: Store, units: list[Unit], kind: Replicates, tell: Listener, allow_mixed: bool
) -> list[Unit]:
    """Return what is left to do: units without the methods that are finished."""
    records, damaged = store.scan()
    for name in damaged:
        tell.note(f"the part '{name}' is damaged or a copy; it is not counted")
    check_parts(records, kind)
    if not allow_mixed:
        check_same_software(records, {unit.name: unit for unit in units})
    done = {key for record in records for key in finished(record)}
    missing = []
    for unit in units:
        where = unit.condition.name, unit.replicate
        left = [name for name in unit.method_names if (*where, name) not in done]
        if left:
            methods = tuple(method for method in unit.methods if method.name in left)
            missing.append(replace(unit, methods=methods))
    return missing


def _write_study(store: Store, described: dict[str, Any]) -> Study:
    scores, runs, details = store.gather(store.scan()[0])
    tables = build_tables(scores, runs)
    study = Study(store.folder, scores, runs, tables, described, details)
    frames = {"scores": scores, "runs": runs}
    frames |= {f"tables/{name}": table for name, table in tables.items()}
    for name, frame in frames.items():
        with store.ledger.writing(f"{name}.parquet") as beside:
            frame.write_parquet(beside)
    texts = {f"tables/{name}.csv": table.write_csv() for name, table in tables.items()}
    texts |= {f"tables/{name}.md": markdown(table) for name, table in tables.items()}
    contents = {"details": details, "manifest": described, "summary": study.summary()}
    for name, content in contents.items():
        texts[f"{name}.json"] = json.dumps(content, indent=1, default=str)
    for name, text in texts.items():
        with store.ledger.writing(name) as beside:
            beside.write_bytes(text.encode())
    return study


def _command(
    conditions: object, methods: object, replicates: int, kind: Replicates, out: object
) -> str:
    """Return the command line that does the same."""
    names, chosen = (
        [each if isinstance(each, str) else each.name for each in _listed(given)]
        for given in (conditions, methods)
    )
    text = ["intravar", "benchmark", *names, "--methods", ",".join(chosen)]
    text += ["--replicates", str(replicates), "--out", str(out)]
    return shlex.join(text + ["--resample-patients"] * (kind == "resampled"))


def manifest(
    conditions: Sequence[Scenario],
    methods: Sequence[Estimator],
    replicates: int,
    kind: Replicates,
    command: str,
) -> dict[str, Any]:
    """Return what a study is, in the order that simulation studies are reported in.

    Aims, data-generating mechanisms, estimands, methods, performance measures: Morris, White and
    Crowther, Using simulation studies to evaluate statistical methods, Stat Med 2019;38:2074-2102.
    """
    declared = tomllib.loads(files(__package__).joinpath("manifest.toml").read_text("utf-8"))
    baselines = [{"method": name, "idea": idea} for name, idea in declared["baselines"].items()]
    return {
        "title": declared["title"],
        "command": command,
        "versions": software_versions(),
        "aims": declared["aims"],
        "data_generating_mechanisms": {
            "replicates": replicates,
            "replicates_are": "fresh cohorts" if kind == "fresh" else "resampled patients",
            "conditions": [_mechanism(condition) for condition in conditions],
        },
        "estimands": declared["estimands"],
        "methods": [_method(method) for method in methods] + baselines,
        "performance_measures": declared["performance_measures"],
    }


def _mechanism(condition: Scenario) -> dict[str, Any]:
    rule, fields = condition.realised_rule(), ("family", "seed", "n_patients", "n_physicians")
    return {
        "condition": condition.name,
        **{name: getattr(condition, name) for name in fields},
        "rule": rule.describe(),
        "target_share": getattr(rule, "target_share", None),
        "physicians": condition.physicians.describe(),
    }


def _method(method: Estimator) -> dict[str, Any]:
    fields = {name: getattr(method, name) for name in ("label", "idea", "supervised", "scale")}
    plain = str | int | float | bool | None
    simple = {name: each for name, each in method.get_params().items() if isinstance(each, plain)}
    return {"method": method.name, **fields, "parameters": simple}
