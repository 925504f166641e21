"""Tables to paste into a manuscript: LaTeX with booktabs, the paper's figures below ours."""

from __future__ import annotations

import unicodedata

from intravar.study.report.table_grids import Cell, Grid

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "−": "$-$",
    "+": "$+$",
    "*": r"$^{*}$",
}


def latex_text(text: str) -> str:
    r"""Return text that LaTeX sets as it stands.

    Examples
    --------
    >>> latex_text("50 % of a_b")
    '50 \\% of a\\_b'
    """
    # Marks that turn the direction of writing have no place in a table's source.
    visible = (letter for letter in text if unicodedata.category(letter)[0] != "C")
    return "".join(_SPECIAL.get(letter, letter) for letter in visible)


def latex_table(grid: Grid) -> str:
    """Return a table environment with our figures and, a row below, the paper's."""
    lines = [
        "% needs \\usepackage{booktabs}",
        r"\begin{table}[htbp]",
        r"\centering",
        rf"\caption{{{latex_text(f'{grid.title}. {grid.note}'.strip())}}}",
        rf"\label{{tab:{grid.name.replace('_', '-')}}}",
        r"\footnotesize",
        rf"\begin{{tabular}}{{@{{}}l{'c' * len(grid.headings)}@{{}}}}",
        r"\toprule",
        _line([grid.corner, *grid.headings]),
        r"\midrule",
    ]
    for row in grid.rows:
        lines.append(_line([row.heading, *(_ours(cell) for cell in row.cells)]))
        if any(cell and cell.published is not None for cell in row.cells):
            published = [_latex_published(cell) for cell in row.cells]
            lines.append(" & ".join([r"\quad paper", *published]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}", ""]
    return "\n".join(lines)


def _line(texts: list[str]) -> str:
    return " & ".join(latex_text(text) for text in texts) + r" \\"


def _ours(cell: Cell | None) -> str:
    if cell is None:
        return "—"
    return f"{cell.text} {cell.interval}".strip()


def _latex_published(cell: Cell | None) -> str:
    if cell is None or cell.published is None:
        return ""
    return latex_text(cell.published_text + ("*" if cell.outside else ""))
