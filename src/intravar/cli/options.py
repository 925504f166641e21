"""Options that the commands on a user's own table share: the fields of a request."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import Field, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from intravar.errors import flag_of
from intravar.request import Request, requested

Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
Input = Annotated[
    str,
    typer.Argument(
        metavar="INPUT",
        help="CSV, TSV, Parquet, Excel, DuckDB or SQLite file, folder of Parquet parts, "
        "postgresql:// URL, or a study.toml that holds all of this.",
        show_default=False,
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print errors only, and what --json asks for.")
]
Piped = Annotated[bool, typer.Option("--piped", hidden=True)]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Print every step, what it took and the request.")
]
ShowNames = Annotated[bool, typer.Option("--show-names", help="Write names instead of pseudonyms.")]
Key = Annotated[
    Path | None,
    typer.Option("--key", help="Key file of an earlier measurement, for the same pseudonyms."),
]


Workers = Annotated[
    int | None,
    typer.Option("--workers", help="Processes. Default: one per processor.", show_default=False),
]
Engine = Annotated[
    str, typer.Option("--engine", help="local, dask, or dask:ADDRESS of a scheduler.")
]
Memory = Annotated[
    str | None,
    typer.Option("--memory", help="What all processes may take, 4GB say.", show_default=False),
]


_WORDS = inspect.Parameter(
    "words",
    inspect.Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[
        Path | None,
        typer.Option(
            "--words",
            help="File of words and labels that an institution keeps (words.toml).",
            show_default=False,
            rich_help_panel="Words",
        ),
    ],
)


def of_request(*left_out: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the fields of a request as options.

    The command takes the source and the request; whatever else it declares stays its own.

    Parameters
    ----------
    *left_out
        Fields that mean nothing to this command.
    """
    asked = {each.name: each for each in fields(Request) if each.name not in left_out}

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters
        others = [
            each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for name, each in own.items()
            if name not in ("source", "request")
        ]
        options = [*(_option(each) for each in asked.values()), _WORDS]
        shown = [own["source"], *options, *others]

        @wraps(command)
        def wrapped(source: str, **given: Any) -> None:
            values = {name: given.pop(name) for name in asked}
            options = {
                name: _value(asked[name], value)
                for name, value in values.items()
                if value not in (None, [])
            }
            found, request = requested(source, None, options | {"words": given.pop("words")})
            command(source=found, request=request, **given)

        wrapped.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        wrapped.__annotations__ = {each.name: each.annotation for each in shown}
        return wrapped

    return decorated


def _option(asked: Field[Any]) -> inspect.Parameter:
    """Make an option of a field; what is not given stays None."""
    kind = str(asked.type)
    several, again = kind.startswith("tuple"), kind == "Labels"
    python: Any = int if kind.startswith("int") else float if kind.startswith("float") else str
    words = asked.metadata["words"]
    if several:
        words = words.replace(".", ", with commas between.", 1)
    if asked.default not in (None, "", ()):
        words = f"{words} Default: {asked.default}."
    declared = typer.Option(
        flag_of(asked.name),
        help=words,
        show_default=False,
        rich_help_panel=f"{asked.metadata['section'].capitalize()}",
    )
    return inspect.Parameter(
        asked.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[(list[str] if again else python) | None, declared],
    )


def _value(asked: Field[Any], given: Any) -> Any:
    return tuple(listed(given)) if str(asked.type).startswith("tuple") else given


def listed(names: str | None) -> list[str]:
    """Split names given with commas between.

    Examples
    --------
    >>> listed("age, sex,")
    ['age', 'sex']
    """
    return [name.strip() for name in (names or "").split(",") if name.strip()]
