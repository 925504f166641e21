"""The results of a study, as they are stored and read back; nothing here is computed again."""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import polars as pl

from intravar.errors import InputError
from intravar.estimators import METHODS
from intravar.study.grids import Grid, make_grid, method_label
from intravar.study.simulation.conditions import all_conditions, main_conditions
from intravar.study.tables import CELL_SCHEMA, TITLES
from intravar.study.units import CONSTANT, ORACLE, RUN_SCHEMA, SCORE_SCHEMA
from intravar.table_files import read_parquet

#: What a manifest must hold.
_MANIFEST = ("methods", "data_generating_mechanisms", "command", "versions")


@dataclass(frozen=True)
class Study:
    """The results of a study.

    Parameters
    ----------
    folder
        Where they lie.
    scores
        One row per condition, replicate, method and physician.
    runs
        One row per condition, replicate and method: seconds, memory, versions, error.
    tables
        The tables by name; see :data:`intravar.study.tables.CELL_SCHEMA`.
    manifest
        What was run.
    details
        What the methods learned, per cohort (`score2.r000`) and method.
    """

    folder: Path
    scores: pl.DataFrame
    runs: pl.DataFrame
    tables: Mapping[str, pl.DataFrame]
    manifest: Mapping[str, Any]
    details: Mapping[str, Any]

    @property
    def failures(self) -> pl.DataFrame:
        """The runs that failed, with their error."""
        return self.runs.filter(pl.col("error").is_not_null())

    @property
    def undefined(self) -> pl.DataFrame:
        """The scores that are undefined, with their reason."""
        return self.scores.filter(pl.col("score").is_null())

    def summary(self) -> dict[str, Any]:
        """Return the study in a form for programs."""
        undefined = self.undefined
        return {
            "conditions": self.scores["condition"].n_unique(),
            "cohorts": self.scores.select("condition", "replicate").n_unique(),
            "methods": sorted(self.scores["method"].unique().to_list()),
            "scores": self.scores.height,
            "undefined_scores": undefined.height,
            "undefined_reasons": dict(undefined["reason"].value_counts().iter_rows()),
            "failures": self.failures.select(*list(RUN_SCHEMA)[:3], "error").to_dicts(),
            "seconds_of_work": float(self.runs["seconds"].sum()),
            "tables": {name: table.to_dicts() for name, table in self.tables.items()},
        }

    @cached_property
    def methods(self) -> list[str]:
        """All methods that have scores: the paper's in its order, then others by name."""
        return _in_order({*self.scores["method"]} - {ORACLE, CONSTANT}, METHODS)

    @cached_property
    def rate_methods(self) -> list[str]:
        """Methods whose score is a discordance rate and can be held against the oracle."""
        return [name for name in self.methods if self.scale(name) == "discordance"]

    @cached_property
    def _described(self) -> dict[str, dict[str, Any]]:
        return {str(row["method"]): row for row in self.manifest["methods"]}

    def scale(self, method: str) -> str:
        """Return what the score of a method measures."""
        known = METHODS[method].scale if method in METHODS else "discordance"
        return str(self._described.get(method, {}).get("scale", known))

    def label(self, method: str) -> str:
        """Return the name of a method as people read it."""
        return str(self._described.get(method, {}).get("label") or method_label(method))

    @cached_property
    def conditions(self) -> list[str]:
        """Conditions with scores: the paper's in its order, then the grid, then others."""
        return _in_order({*self.scores["condition"]}, all_conditions())

    @cached_property
    def main_conditions(self) -> list[str]:
        """Conditions of the cross-experiment table: SCORE2 and the window rules."""
        return [name for name in self.conditions if name in main_conditions()]

    @cached_property
    def first_draw(self) -> pl.DataFrame:
        """Scores of the first draw of every condition, which the paper's figures show."""
        first = pl.col("replicate").min().over("condition")
        return self.scores.filter(pl.col("replicate") == first)

    def draws(self, condition: str) -> int:
        """Return how many draws a condition has."""
        return self.scores.filter(pl.col("condition") == condition)["replicate"].n_unique()

    def of(self, condition: str, methods: list[str]) -> pl.DataFrame:
        """Return the first draw of a condition for some methods, with their labels."""
        rows = self.first_draw.filter(pl.col("method").is_in(methods), condition=condition)
        place = pl.col("method").replace_strict(methods, range(len(methods)), return_dtype=pl.Int32)
        return self._labelled(rows.sort(place, "physician", maintain_order=True))

    def cells(
        self,
        table: str,
        columns: Iterable[str],
        methods: Iterable[str],
        *,
        value: Literal["value", "first"] = "value",
    ) -> pl.DataFrame:
        """Return the defined cells of some columns of a stored table for some methods, labelled.

        `value` is the mean over draws, or that of the first. None where there is no such table.
        """
        rows = self.tables.get(table, pl.DataFrame(schema=CELL_SCHEMA))
        chosen = pl.col("column").is_in(list(columns)) & pl.col("method").is_in(list(methods))
        rows = rows.filter(chosen).with_columns(pl.col(value).alias("value"))
        return self._labelled(rows.drop_nulls("value"))

    def _labelled(self, rows: pl.DataFrame) -> pl.DataFrame:
        names = {method: self.label(method) for method in rows["method"].unique()}
        label = pl.col("method").replace_strict(names, return_dtype=pl.String)
        return rows.with_columns(label.alias("label"))

    def grid(self, table: str) -> Grid:
        """Return a stored table as people read it."""
        return make_grid(self.tables[table], table, TITLES.get(table, table), self.label)

    def physicians(self, condition: str) -> dict[str, Any]:
        """Return the physicians of the first draw of a condition, column by column.

        `scores`, `low` and `high` hold one list per method of the study, in the study's order; null
        where undefined.
        """
        rows = self.first_draw.filter(pl.col("condition") == condition).sort("physician")
        first = pl.col("group", "n_patients", "d_star", "oracle").drop_nulls().first()
        about = rows.group_by("physician", maintain_order=True).agg(first)
        physicians: dict[str, Any] = about.to_dict(as_series=False)
        for name, column in (("scores", "score"), ("low", "low"), ("high", "high")):
            wide = rows.pivot("method", index="physician", values=column)
            methods = [method for method in self.methods if method in wide.columns]
            physicians[name] = wide.select(methods).to_dict(as_series=False)
        return physicians

    def undefined_reasons(self) -> list[dict[str, Any]]:
        """Return how many scores are undefined, per method and reason."""
        rows = self.undefined.filter(pl.col("method").is_in(self.methods))
        counts = pl.len().alias("scores"), pl.col("condition").n_unique().alias("conditions")
        return rows.group_by("method", "reason").agg(*counts).sort("method", "reason").to_dicts()

    def method_details(self, condition: str, method: str) -> Mapping[str, Any]:
        """Return what a method learned on the first cohort of a condition; of `cohort`, its facts.

        Empty if nothing is stored.
        """
        stored = self.details.get(f"{condition}.r000", {}).get(method, {})
        return stored if isinstance(stored, dict) else {}


def _in_order(names: set[str], known: Iterable[str]) -> list[str]:
    """Return names in the order in which they are known, then the others."""
    first = [name for name in known if name in names]
    return first + sorted(names.difference(first))


def read_study(folder: str | os.PathLike[str]) -> Study:
    """Read the results of a study, or say what is missing or damaged."""
    where = Path(folder)
    if not where.is_dir():
        raise InputError(
            f"folder '{where}' does not exist; 'intravar benchmark' and 'intravar measure' make one"
        )
    tables = {name: where / "tables" / f"{name}.parquet" for name in TITLES}
    return Study(
        where,
        _read(where / "scores.parquet", SCORE_SCHEMA),
        _read(where / "runs.parquet", RUN_SCHEMA),
        {name: _read(path, ()) for name, path in tables.items() if path.is_file()},
        _read(where / "manifest.json", _MANIFEST),
        _read(where / "details.json", ()),
    )


def _read(path: Path, needed: Iterable[str]) -> Any:
    """Return a table, or an object of JSON, in which nothing needed is missing."""
    try:
        content: Any
        if path.suffix == ".parquet":
            content = read_parquet(path)
            names = content.columns if content.height else []
        else:
            names = list(content := json.loads(path.read_text("utf-8")))
            content.keys()  # a list is none of ours
    except (OSError, ValueError, AttributeError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"'{path}' is missing or damaged; name a folder that 'intravar benchmark' wrote, or "
            "run the same again: it makes the file from its parts"
        ) from error
    if missing := [name for name in needed if name not in names]:
        raise InputError(
            f"'{path}' lacks {', '.join(missing)}; it is not what 'intravar benchmark' writes"
        )
    return content
