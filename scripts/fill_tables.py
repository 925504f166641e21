"""Fill the tables of a document from stored results.

A document marks where a table goes:

    <!-- table score2_groups from draws -->
    <!-- end -->

`python scripts/fill_tables.py docs/reproduction.md draws=results/draws all=results/all` writes the
stored tables between the marks and leaves everything else as it is.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from intravar.study.grids import markdown
from intravar.table_files import read_parquet
from intravar.writing import whole_file

MARK = re.compile(r"<!-- table (\S+) from (\S+) -->\n.*?<!-- end -->", re.DOTALL)


def filled(text: str, folders: dict[str, Path]) -> str:
    """Return the document with its tables renewed; results that are not given keep theirs."""

    def table(found: re.Match[str]) -> str:
        name, source = found.groups()
        if source not in folders:
            return found.group(0)
        stored = read_parquet(folders[source] / "tables" / f"{name}.parquet")
        return f"<!-- table {name} from {source} -->\n{markdown(stored)}<!-- end -->"

    return MARK.sub(table, text)


def main() -> int:
    """Fill the document named first from the folders named after it."""
    document, *sources = sys.argv[1:]
    folders = {name: Path(folder) for name, _, folder in (each.partition("=") for each in sources)}
    text = filled(Path(document).read_text("utf-8"), folders)
    with whole_file(document) as beside:
        beside.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
