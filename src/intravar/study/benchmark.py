"""The study: conditions x methods -> scores -> tables, resumable at any moment.

Results lie in a folder: one part per finished unit, and the tables made of them. A part is a
Parquet file with scores and a JSON file beside it that says how they came about and carries the
checksums of both. The JSON file is written last: a part without it was not finished. Everything
else is in the folder's ledger. What neither a checksum nor the ledger proves to be ours is never
touched.
"""

import json
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Any, get_args

import polars as pl

from intravar.errors import InputError, renamed
from intravar.estimators import STUDY_METHODS, Estimator, make_estimator
from intravar.processes import Listener, count_workers
from intravar.runs.engines import Engine, make_engine
from intravar.runs.store import PartsFolder, locked, software_versions
from intravar.study.grids import markdown
from intravar.study.results import Study
from intravar.study.simulation.conditions import Family, conditions_of, find_condition
from intravar.study.simulation.scenario import Scenario
from intravar.study.tables import TITLES, build_tables
from intravar.study.units import RUN_SCHEMA, SCORE_SCHEMA, Replicates, Unit, plan, run_unit
from intravar.table_files import read_parquet
from intravar.wording import declared_in
from intravar.writing import Ledger, make_folder, sweep

#: One condition of each kind: a first look at the whole study within a minute or two.
QUICK = (
    *("score2", "continuous", "copula", "lognormal"),
    *("pass1-w1-p1", "pass1-w3-p4", "pass2-w3-p4", "pass1-w6-p1", "pass1-w9-p1"),
)

#: Files of a study; before hours of work it is made sure that each may be written.
_FILES = (
    *("scores.parquet", "runs.parquet", "details.json", "manifest.json", "summary.json"),
    *(f"tables/{name}.{suffix}" for name in TITLES for suffix in ("csv", "parquet", "md")),
)
#: What a record of a part must hold, and of which type.
_RECORD: dict[str, type] = {
    **dict.fromkeys(("unit", "condition", "replicates"), str),
    **dict.fromkeys(("configuration", "versions", "details"), dict),
    "replicate": int,
    "runs": list,
}
#: What a run must hold; parts of earlier versions hold no more.
_RUN = frozenset(("condition", "replicate", "method", "seconds", "error"))
#: What tells one run from all others.
_KEY = itemgetter("condition", "replicate", "method")
#: Texts longer than this are not printed where a configuration has changed.
_LONGEST = 120

#: What a part says of itself, as it is read back.
Record = dict[str, Any]


def resolve_conditions(names: str | Scenario | Iterable[str | Scenario]) -> list[Scenario]:
    """Return the conditions of names, each once; `all`, `quick` and families are names.

    Examples
    --------
    >>> len(resolve_conditions("all"))
    94
    """
    groups: dict[str, Iterable[str]] = {"quick": QUICK, "all": conditions_of("paper")}
    groups |= {family: conditions_of(family) for family in get_args(Family)}
    return _resolved("condition", names, groups, find_condition)


def resolve_methods(names: str | Estimator | Iterable[str | Estimator]) -> list[Estimator]:
    """Return unfitted estimators for names, `all` among them, each once."""
    return _resolved("method", names, {"all": STUDY_METHODS}, make_estimator)


def _listed(given: Any) -> list[Any]:
    return [given] if isinstance(given, str | Scenario | Estimator) else list(given)


def _resolved(
    what: str, names: Any, groups: Mapping[str, Iterable[str]], make: Callable[[str], Any]
) -> list[Any]:
    """Return what names stand for, each once; some names stand for a group of names."""
    chosen = {}
    for given in _listed(names):
        for name in groups.get(given, [given]) if isinstance(given, str) else [given]:
            each = make(name) if isinstance(name, str) else name
            chosen[each.name] = each
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
    conditions, methods = _listed(conditions), _listed(methods)
    chosen, estimators = resolve_conditions(conditions), resolve_methods(methods)
    work, workers = make_engine(engine, n_jobs), count_workers(n_jobs)
    units = plan(chosen, estimators, replicates, replicates_are)
    store, tell = Store(out), progress or Listener()
    with store.held():
        if fresh:
            store.clear()
        store.ledger.check(_FILES)
        pending = _missing(store, units, replicates_are, tell, allow_mixed)
        kept = len(units) - len(pending)
        notes = [f"{kept} units are there from an earlier run and are kept"] * bool(kept)
        notes += [f"{len(pending)} units to do, {workers} at a time"] * bool(pending)
        # With a time, if only that of nothing, it is also said where short steps are not.
        tell.step("; ".join(notes), 0.0)
        if pending:
            _run_units(work, pending, store, tell, workers)
        command = _command_line(conditions, methods, replicates, replicates_are, out)
        about = manifest(chosen, estimators, replicates, replicates_are, command)
        return _write_study(store, about)


class Store:
    """The results of a study in a folder, which is made if its parent exists."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.parts = PartsFolder(self.folder / "parts")

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the folder for this run alone; its `ledger` has the files that are ours."""
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"'{self.folder}' is a file; name a folder with --out")
        if not self.folder.exists() and not self.folder.parent.is_dir():
            raise InputError(f"folder '{self.folder.parent}' does not exist; make it first")
        make_folder(self.parts.folder)
        lock = locked(self.folder / ".intravar.lock", self.folder)
        try:
            # Whoever holds the lock is alone: what is unfinished now was left by a killed run.
            for folder in (self.folder, self.parts.folder, self.folder / "tables"):
                sweep(folder)
            self.ledger = Ledger(self.folder)
            yield
        finally:
            lock.release()

    def clear(self) -> None:
        """Remove the results of earlier runs, and nothing that is not proved to be theirs."""
        self.ledger.clear()
        for record in self.scan()[0]:
            self.parts.remove(record["unit"])

    def write(self, name: str, scores: pl.DataFrame, record: Record) -> None:
        """Keep the result of a unit; a crash at any moment leaves either all of it or none.

        What lies in its place and is no part is kept under another name.
        """
        if self.parts.record(name).exists() and self._sound(name) is None:
            for path in (self.parts.record(name), self.parts.table(name)):
                try:
                    if path.exists():
                        os.replace(path, path.with_name(f"{name}.damaged{path.suffix}.kept"))
                except OSError as error:
                    raise InputError(
                        f"'{path}' is damaged and cannot be moved away: {error.strerror}"
                    ) from error
        self.parts.keep(name, {"": scores}, record)

    def scan(self) -> tuple[list[Record], list[str]]:
        """Return the records of sound parts, and the names of those truncated or changed."""
        names = [path.stem for path in sorted(self.parts.folder.glob("*.json"))]
        records = {name: self._sound(name) for name in names}
        return [each for each in records.values() if each], [n for n in names if not records[n]]

    def _sound(self, name: str) -> Record | None:
        """Return the record of a part that is whole, unchanged and under its own name, or None."""
        record = self.parts.kept(name) or {}
        typed = all(isinstance(record.get(key), kind) for key, kind in _RECORD.items())
        # A copy under another name would count a second time.
        own = typed and record["unit"] == name
        return record if own and all(set(run) >= _RUN for run in record["runs"]) else None


def _run_units(
    engine: Engine, units: Sequence[Unit], store: Store, tell: Listener, workers: int
) -> None:
    """Run units, keep the result of each, and say how it goes."""
    left = [unit.name for unit in units]
    seconds, failed = 0.0, 0
    for name, scores, record in engine.run(run_unit, units):
        store.write(name, scores, record)
        left.remove(name)
        for run in (run for run in record["runs"] if run["error"]):
            failed += 1
            tell.note("failed: {condition}, replicate {replicate}, {method}: {error}".format(**run))
        # Units that are left are expected to take as long as those before.
        done = len(units) - len(left)
        seconds += record["seconds"]
        running = ", ".join(name.rsplit(".", 1)[0] for name in left[:workers])
        words = "; ".join(filter(None, (f"{failed} failed" * bool(failed), running)))
        tell.part(done, len(units), seconds / done * len(left) / workers, words)


def _command_line(
    conditions: Sequence[str | Scenario],
    methods: Sequence[str | Estimator],
    replicates: int,
    replicates_are: Replicates,
    out: str | os.PathLike[str],
) -> str:
    """Return the command line that does the same."""
    names, labels = (
        [each if isinstance(each, str) else each.name for each in given]
        for given in (conditions, methods)
    )
    text = ["intravar", "benchmark", *names, "--methods", ",".join(labels)]
    text += ["--replicates", str(replicates), "--out", str(out)]
    return shlex.join(text + ["--resample-patients"] * (replicates_are == "resampled"))


def _finished(record: Record) -> list[tuple[Any, ...]]:
    """Return condition, replicate and method of all runs of a part that did not fail."""
    return [_KEY(run) for run in record["runs"] if run["error"] is None]


def _missing(
    store: Store, units: list[Unit], kind: Replicates, tell: Listener, allow_mixed: bool
) -> list[Unit]:
    """Return what is left to do: units without the methods that are finished.

    Refused are parts that no table could tell apart, or that would count twice: fresh and resampled
    replicates, and two parts that score one method on one cohort; and, unless that is allowed,
    results of other versions or of another configuration.
    """
    records, damaged = store.scan()
    for name in damaged:
        tell.note(f"the part '{name}' is damaged or a copy; it is not counted")
    by_name, file_of = {unit.name: unit for unit in units}, dict[tuple[Any, ...], str]()
    for record in records:
        name, stored = record["unit"], record["replicates"]
        if stored != kind:
            raise InputError(
                f"the folder holds {stored} replicates ('{name}'), this run makes {kind} ones; "
                "use another --out, or --fresh to start over"
            )
        for key in _finished(record):
            if (other := file_of.setdefault(key, name)) != name:
                condition, replicate, method = key
                raise InputError(
                    f"'{other}' and '{name}' both hold {method} on {condition}, replicate "
                    f"{replicate}; move one of them out of the folder 'parts'"
                )
        changed = [] if allow_mixed else _changed(record, by_name.get(name))
        if changed:
            raise InputError(
                f"the results of '{name}' were made with another version or configuration "
                f"({', '.join(changed)}); use --fresh to start over, --allow-mixed to keep them, "
                "or another --out"
            )
    missing = []
    for unit in units:
        where = unit.condition.name, unit.replicate
        left = [name for name in unit.method_names if (*where, name) not in file_of]
        methods = tuple(method for method in unit.methods if method.name in left)
        missing += [replace(unit, methods=methods)] * bool(left)
    return missing


def _changed(record: Record, unit: Unit | None) -> list[str]:
    """Say what a part was made with that is another now; long texts are not printed."""
    changed = []
    pairs = [(record["versions"], software_versions())]
    if unit is not None:
        then, now = record["configuration"], unit.configuration()
        pairs += [(then, now), (then.get("methods", {}), now.pop("methods"))]
    for then, now in pairs:
        for name in (name for name in now if then.get(name) != now[name]):
            values = f"{then.get(name)} then, {now[name]} now"
            changed.append(f"{name}: {values if len(values) <= _LONGEST else 'not the same'}")
    return changed


def _write_study(store: Store, described: dict[str, Any]) -> Study:
    """Join parts to the scores, runs and details of the study, and write them with its tables.

    A method that failed once and went through later counts as having gone through.
    """
    records, _ = store.scan()
    order = ["condition", "replicate", "method", "physician"]
    parts = [pl.DataFrame(schema=SCORE_SCHEMA)]
    done = {key for record in records for key in _finished(record)}
    rows: list[dict[str, Any]] = []
    details: dict[str, Any] = {}
    try:
        for record in records:
            table = store.parts.table(record["unit"])
            parts.append(read_parquet(table, columns=list(SCORE_SCHEMA)))
            rows += [r for r in record["runs"] if r["error"] is None or _KEY(r) not in done]
            key = f"{record['condition']}.r{record['replicate']:03d}"
            details.setdefault(key, {}).update(record["details"])
        scores = pl.concat(parts).sort(order)
        runs = pl.DataFrame(rows, schema=RUN_SCHEMA).sort(order[:3])
    except (KeyError, TypeError, ValueError, OSError, pl.exceptions.PolarsError) as error:
        first = str(error).partition("\n")[0]
        raise InputError(
            f"the parts in '{store.parts.folder}' do not fit together ({first}); use --fresh to "
            "start over, or another --out"
        ) from error
    tables = build_tables(scores, runs)
    study = Study(store.folder, scores, runs, tables, described, details)
    frames = {"scores": scores, "runs": runs}
    frames |= {f"tables/{name}": table for name, table in tables.items()}
    for name, frame in frames.items():
        with store.ledger.writing(f"{name}.parquet") as beside:
            frame.write_parquet(beside)
    contents = {"details": details, "manifest": described, "summary": study.summary()}
    texts = {
        f"{n}.json": json.dumps(content, indent=1, default=str) for n, content in contents.items()
    }
    for name, each in tables.items():
        texts |= {f"tables/{name}.csv": each.write_csv(), f"tables/{name}.md": markdown(each)}
    store.ledger.write_all({name: text.encode() for name, text in texts.items()})
    return study


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
    declared = declared_in(__package__, "manifest")
    mechanisms, described = [], []
    for condition in conditions:
        rule, sizes = condition.realised_rule(), ("family", "seed", "n_patients", "n_physicians")
        about = {"condition": condition.name} | {n: getattr(condition, n) for n in sizes}
        about |= {"rule": rule.describe(), "target_share": getattr(rule, "target_share", None)}
        mechanisms.append(about | {"physicians": condition.physicians.describe()})
    for method in methods:
        about = {name: getattr(method, name) for name in ("label", "idea", "supervised", "scale")}
        plain = str | int | float | bool | None
        settings = {n: each for n, each in method.get_params().items() if isinstance(each, plain)}
        described.append({"method": method.name, **about, "parameters": settings})
    described += [{"method": name, "idea": idea} for name, idea in declared["baselines"].items()]
    return {
        "title": declared["title"],
        "command": command,
        "versions": software_versions(),
        "aims": declared["aims"],
        "data_generating_mechanisms": {
            "replicates": replicates,
            "replicates_are": "fresh cohorts" if kind == "fresh" else "resampled patients",
            "conditions": mechanisms,
        },
        "estimands": declared["estimands"],
        "methods": described,
        "performance_measures": declared["performance_measures"],
    }
