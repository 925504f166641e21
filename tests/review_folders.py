"""A stored measurement made without measuring, for the tests of reviews."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from intravar.arrays import IntArray
from intravar.publication.files import files_of, write_folders
from intravar.publication.pseudonyms import Pseudonyms
from intravar.request import Request
from made_published import made_published


@dataclass(frozen=True, eq=False)
class World:
    """Where a stored measurement lies, and the truth about its patients."""

    out: Path
    table: pl.DataFrame
    reason: IntArray

    @property
    def private(self) -> Path:
        return self.out.with_name(f"{self.out.name}-private")

    def comparable(self, a: str | int, b: str | int) -> bool:
        """Tell whether two patients, by row, agree in the reason that is not recorded."""
        return bool(self.reason[int(a) - 1] == self.reason[int(b) - 1])


def stored_world(
    folder: Path,
    *,
    n_physicians: int = 8,
    n_each: int = 60,
    hidden: float = 0.3,
    smallest: int = 11,
    seed: int = 0,
    sort: bool = False,
    request: Request | None = None,
) -> World:
    """Write a measurement whose patients come in pairs, side by side, with one hidden reason."""
    random = np.random.default_rng(seed)
    n = n_physicians * n_each
    age = np.repeat(random.integers(40, 90, n // 2), 2)
    reason = (random.random(n) < hidden).astype(np.int64)
    chance = np.where(reason == 1, 0.05, np.where(age > 65, 0.85, 0.2))
    table = pl.DataFrame(
        {
            "physician": np.repeat([f"Dr {k}" for k in range(n_physicians)], n_each),
            "decision": (random.random(n) < chance).astype(np.int64),
            "age": age.astype(float),
            "sex": random.choice(["f", "m"], n),
            "patient": [f"c{number}" for number in random.permutation(9 * n)[:n]],
            "ward": random.choice(["north", "south"], n),
        }
    )
    order = random.permutation(n)
    if sort:
        order = np.lexsort((table["decision"].to_numpy(), table["physician"].to_numpy()))
    table, reason = table[order], reason[order]
    table.write_csv(folder / "patients.csv")
    asked = request or Request(
        physician="physician",
        decision="decision",
        covariates=("age", "sex"),
        smallest_cell=smallest,
    )
    row_of = np.argsort(order) + 1  # where each patient went
    pairs = pl.DataFrame(
        {"first": row_of[0::2], "second": row_of[1::2], "distance": np.zeros(n // 2)}
    )
    decided = table["decision"].to_numpy()
    first, second = (pairs[name].to_numpy() - 1 for name in ("first", "second"))
    pairs = pairs.select(
        table["physician"][first].alias("physician"),
        "first",
        "second",
        "distance",
        pl.Series("different", decided[first] != decided[second]),
        pl.lit(1.0).alias("weight"),
    )
    patients = table.select("physician", "decision", "age", "sex").with_row_index("row", 1)
    out = folder / "mine"
    names = Pseudonyms.of(table["physician"].unique().to_list(), b"a key of some length")
    public = {
        **files_of(made_published(names.by_name.values(), asked)),
        "request.toml": asked.to_toml("../patients.csv").encode(),
    }
    private = {
        "key.json": names.as_json().encode(),
        "pairs.parquet": _parquet(pairs),
        "patients.parquet": _parquet(patients.with_columns(pl.col("row").cast(pl.Int64))),
    }
    write_folders(out, public, private)
    return World(out, table, reason)


def _parquet(table: pl.DataFrame) -> bytes:
    content = io.BytesIO()
    table.write_parquet(content)
    return content.getvalue()
