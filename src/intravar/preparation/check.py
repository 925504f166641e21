"""The check before a measurement: what the table holds, what would be done to it, what it costs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any

import polars as pl

from intravar.estimators import METHODS, make_estimator
from intravar.preparation.cost import Cost, estimate_cost
from intravar.preparation.encoding import Missing
from intravar.preparation.panels import MIN_PANEL, Panels, panel_sizes
from intravar.preparation.prepare import Prepared, prepare
from intravar.preparation.roles import assign_roles
from intravar.publication.suppression import (
    SMALLEST_CELL,
    is_small,
    part_is_safe,
    safe_total,
    shown,
    shown_part,
)
from intravar.sources import Source, read_source

#: Methods that measure by default, the best that is there first.
PREFERRED = ("latent-rule", "learned-weights")


def default_method() -> str:
    """Return the method that measures unless another is named."""
    return next(name for name in PREFERRED if name in METHODS)


@dataclass(frozen=True, eq=False)
class Check:
    """What a check found; printing it says so in words.

    Attributes
    ----------
    prepared
        The table as the estimators would get it.
    panels
        Panel sizes and who cannot be measured.
    cost
        Time and memory of a measurement.
    """

    source: str
    notes: tuple[str, ...]
    prepared: Prepared
    panels: Panels
    cost: Cost
    method: str
    min_panel: int
    smallest_cell: int

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Say in words what was found; no small count is given away."""
        sizes = self.panels.table["n_patients"].to_list()
        total, hidden = self.rounded_total()
        about = "about " if self.smallest_cell > 1 else ""
        larger = f"{about}{total:,} patients of {len(sizes) - hidden:,} physicians"
        smaller = f"{hidden:,} physicians with {shown(1, self.smallest_cell)} patients each"
        lines = [
            ", and ".join([larger] * (hidden < len(sizes)) + [smaller] * (hidden > 0)),
            *self._panel_lines(),
            self._decision_line(),
            f"{len(self.prepared.covariates)} covariates in use"
            + (f", coded in {len(self.prepared.origin)} columns" if self._coded() else ""),
            f"missing values: {self._missing_line()}",
            *(f"dropped: {line}" for line in self._dropped_lines()),
            f"{self.panels.n_measurable:,} of {len(sizes):,} physicians can be measured "
            f"({self.min_panel} patients or more)",
            f"measuring with {self.method} will take {self.cost.in_words()}",
        ]
        return lines + [f"read with {note}" for note in self.notes]

    def rounded_total(self) -> tuple[int, int]:
        """Return the patients in panels that may be shown, to the nearest ten, and other panels.

        An exact total beside a measurement would give away a panel size hidden there.
        """
        total, hidden = safe_total(self.panels.table["n_patients"].to_list(), self.smallest_cell)
        return (round(total, -1) if self.smallest_cell > 1 else total), hidden

    def leak_lines(self) -> list[str]:
        """Name the columns that may give the decision away, the certain ones first."""
        ordered = sorted(self.prepared.leaks, key=lambda leak: not leak.certain)
        return [f"{leak.column}: {leak.why}" for leak in ordered]

    def as_json(self) -> dict[str, Any]:
        """Return what was found in a form that fits into JSON, without small counts."""
        sizes = self.panels.table["n_patients"].to_list()
        total, hidden = self.rounded_total()
        name, positive, negative = self.prepared.decision
        return {
            "source": self.source,
            "read_with": list(self.notes),
            "n_patients": total,
            "n_physicians": len(sizes),
            "n_physicians_with_few_patients": hidden,
            "n_physicians_measurable": self.panels.n_measurable,
            "min_panel": self.min_panel,
            "smallest_cell": self.smallest_cell,
            "decision": {"column": name, "positive": positive, "negative": negative},
            "decision_share": self._share(),
            "covariates": list(self.prepared.covariates),
            "columns": self.column_rows(),
            "missing_policy": self.prepared.missing,
            "missing": self._missing_line(),
            "dropped": self._dropped_lines(),
            "leaks": [
                {"column": leak.column, "why": leak.why, "auc": leak.auc}
                for leak in self.prepared.leaks
            ],
            "method": self.method,
            "estimated_seconds": round(self.cost.seconds, 1),
            "estimated_memory_mb": round(self.cost.memory_mb),
        }

    def unmeasurable(self, names: dict[str, str] | None = None) -> list[dict[str, Any]]:
        """Return how many physicians cannot be measured, by reason and size of their panels.

        Parameters
        ----------
        names
            What to call each physician; without it they are counted and not named.
        """
        cannot = self.panels.table.filter(pl.col("reason").is_not_null())
        few = self.smallest_cell
        rows = []
        for hidden in (True, False):
            chosen = cannot.filter(pl.col("n_patients").is_between(1, few - 1) == hidden)
            if not chosen.height:
                continue
            upper = self.min_panel - 1
            sizes = shown(1, few) if hidden else f"{few} to {upper}" if few < upper else f"{upper}"
            row: dict[str, Any] = {
                "reason": chosen["reason"][0],
                "n_patients": f"{sizes} patients each",
                "n_physicians": chosen.height,
            }
            if names is not None:
                row["physicians"] = sorted(names[name] for name in chosen["physician"])
            rows.append(row)
        return rows

    def column_rows(self) -> list[dict[str, Any]]:
        """Return one row per column: its use, kind, missing values and a note."""
        rows = []
        for report in self.prepared.columns:
            missing = report.n_missing or 0
            # Beyond a hundred the number of values comes close to the number of rows.
            distinct = None if report.n_distinct is None else min(report.n_distinct, 100)
            rows.append(
                {
                    "column": report.column,
                    "use": report.use,
                    "kind": report.kind,
                    "missing": shown_part(missing, self.prepared.n_rows, self.smallest_cell),
                    "distinct": "100+" if distinct == 100 else distinct,
                    "note": report.note,
                }
            )
        return rows

    def _share(self) -> float | None:
        """Return the share of positive decisions, unless it gives a small count away."""
        positive = int(self.prepared.observed.decision.sum())
        whole = self.prepared.observed.n_patients
        if not part_is_safe(positive, whole, self.smallest_cell):
            return None
        # To three digits: the exact share would tell the number of patients.
        return round(positive / whole, 3)

    def _panel_lines(self) -> list[str]:
        """Say how large the panels are that may be shown, to the nearest ten as all totals."""
        sizes = [
            size
            for size in self.panels.table["n_patients"].to_list()
            if not is_small(size, self.smallest_cell)
        ]
        if len(sizes) < 2:
            return []
        low, middle, high = (
            round(value, -1) if self.smallest_cell > 1 else value
            for value in (min(sizes), int(median(sizes)), max(sizes))
        )
        return [f"panels of {low:,} to {high:,} patients, {middle:,} in the middle"]

    def _decision_line(self) -> str:
        name, positive, _ = self.prepared.decision
        share = self._share()
        if share is None:
            return f"decision '{name}': nearly all or nearly none are '{positive}'"
        return f"decision '{name}': {100 * share:.1f} % are '{positive}'"

    def _coded(self) -> bool:
        return len(self.prepared.origin) != len(self.prepared.covariates)

    def _missing_line(self) -> str:
        policy, filled = self.prepared.missing, self.prepared.filled
        cells = sum(filled.values())
        if policy == "drop":
            dropped = self.prepared.dropped.get("a covariate is missing", 0)
            return f"--missing drop cost {shown(dropped, self.smallest_cell)} patients"
        if not cells:
            return "none among the covariates"
        few = any(is_small(count, self.smallest_cell) for count in filled.values())
        count = "some" if few else f"{cells:,}"
        how = (
            "filled with the median and marked in columns of their own; categories get a level"
            if policy == "indicator"
            else "filled with the median or the most frequent category, without a mark"
        )
        return f"--missing {policy}: {count} cells in {len(filled)} covariates {how}"

    def _dropped_lines(self) -> list[str]:
        return [
            f"{shown(count, self.smallest_cell)} rows because {reason}"
            for reason, count in self.prepared.dropped.items()
        ]


def check(
    source: Any,
    *,
    physician: str,
    decision: str,
    covariates: Iterable[str] | None = None,
    exclude: Iterable[str] = (),
    after: Iterable[str] = (),
    categorical: Iterable[str] = (),
    decision_positive: str | None = None,
    missing: Missing = "indicator",
    method: str | None = None,
    min_panel: int = MIN_PANEL,
    smallest_cell: int = SMALLEST_CELL,
    **reading: Any,
) -> Check:
    """Look at a table of patients without measuring anything.

    Parameters
    ----------
    source
        A path, a URL of a database or a frame; see :func:`intravar.sources.read_source`.
    physician, decision
        Names of the columns.
    covariates, exclude
        What to compare patients by, or what not; all other columns by default.
    after
        Columns that are known only after the decision; they are never compared.
    categorical
        Columns of numbers that are codes of categories.
    decision_positive
        The value of the decision that counts, or a comparison such as ">=4".
    missing
        "indicator", "drop" or "impute".
    method
        The method whose cost is to be estimated.
    min_panel
        Patients below which a physician's result is not reported.
    smallest_cell
        The smallest count of patients or events that is shown.
    **reading
        `table`, `query`, `separator`, `encoding`, `sheet`.

    Examples
    --------
    >>> import intravar
    >>> cohort = intravar.simulate("score2", n_patients=1000, n_physicians=10)
    >>> found = check(cohort.to_polars(), physician="physician", decision="decision")
    >>> found.panels.n_measurable
    10
    """
    name = method or default_method()
    make_estimator(name)  # an unknown name is refused before a long file is read
    categorical = tuple(categorical)
    read = (
        source
        if isinstance(source, Source)
        else read_source(source, as_text=(physician, decision, *categorical), **reading)
    )
    roles = assign_roles(
        read.table.columns,
        physician=physician,
        decision=decision,
        covariates=covariates,
        exclude=exclude,
        after=after,
        categorical=categorical,
    )
    prepared = prepare(
        read.table,
        roles,
        decision_positive=decision_positive,
        missing=missing,
        smallest_cell=smallest_cell,
    )
    return Check(
        read.name,
        read.notes,
        prepared,
        panel_sizes(prepared.observed, min_panel),
        estimate_cost(prepared.observed, name),
        name,
        min_panel,
        smallest_cell,
    )
