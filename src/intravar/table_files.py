"""Read table files by their exact path.

Polars expands ``*``, ``?`` and ``[ ]`` in a path as a shell would, so that ``data[1].parquet``
would be read from ``data1.parquet``. These functions read the file that has exactly the given name.
Every module reads table files through them; a test checks that none calls polars directly.
"""

from pathlib import Path
from typing import IO, Any

import polars as pl

#: A path, the content of a file, or an open file.
FileContent = Path | bytes | IO[bytes]


def read_parquet(source: FileContent, **options: Any) -> pl.DataFrame:
    """Read a Parquet file into memory.

    Parameters
    ----------
    source
        Exact path of one file, its bytes, or an open file.
    **options
        Further options of :func:`polars.read_parquet`.
    """
    return pl.read_parquet(_exact(source), glob=False, hive_partitioning=False, **options)


def scan_parquet(source: FileContent, **options: Any) -> pl.LazyFrame:
    """Scan a Parquet file lazily; see :func:`read_parquet` for the parameters."""
    return pl.scan_parquet(_exact(source), glob=False, hive_partitioning=False, **options)


def read_csv(source: FileContent, **options: Any) -> pl.DataFrame:
    """Read delimited text into memory.

    Parameters
    ----------
    source
        Exact path of one file, its bytes, or an open file.
    **options
        Further options of :func:`polars.read_csv`.
    """
    return pl.read_csv(_exact(source), glob=False, **options)


def scan_csv(source: FileContent, **options: Any) -> pl.LazyFrame:
    """Scan delimited text lazily; see :func:`read_csv` for the parameters."""
    return pl.scan_csv(_exact(source), glob=False, **options)


def _exact(source: FileContent) -> FileContent:
    """Return an absolute path, in which ``~`` and ``s3:`` are plain names."""
    return source.absolute() if isinstance(source, Path) else source
