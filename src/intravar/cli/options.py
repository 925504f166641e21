"""Options of the commands: their words, those that several share, and the fields of a request."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_origin

import typer

from intravar.errors import flag_of
from intravar.request import Request, requested

#: What the options mean that several commands have.
SHARED = {
    "source": "INPUT: CSV, TSV, Parquet, Excel, DuckDB or SQLite file, folder of Parquet parts, "
    "postgresql:// URL, or a study.toml that holds all of this.",
    "folder": "DIR: What 'intravar measure --out' wrote.",
    "as_json": "--json: Print JSON for a program to read.",
    "quiet": "--quiet -q: Print errors only, and what --json asks for.",
    "verbose": "--verbose -v: Print every step, what it took and the request.",
    "show_names": "Write names instead of pseudonyms.",
    "key": "Key file of an earlier measurement, for the same pseudonyms.",
    "workers": "Processes. Default: one per processor.",
    "engine": "local, dask, or dask:ADDRESS of a scheduler.",
    "memory": "What all processes may take, 4GB say.",
    "paper": "a4 or letter.",
    "words": "File of words and labels that an institution keeps (words.toml).",
    "piped": "",
}
_HEAD = re.compile(r"^(--[\w/ -]+|[A-Z]+\d?): ")
Command = Callable[..., None]


def described(**words: str) -> Callable[[Command], Command]:
    """Give the parameters of a command their words in the help.

    Words may begin with flags, `--json: `, where the name of the parameter does not tell them, or
    with what an argument is called, `DIR: `. Without a word the help does not show the option.
    What is annotated for typer stays as it is.
    """

    def decorated(command: Command) -> Command:
        own = inspect.signature(command, eval_str=True).parameters.values()
        return _with_parameters(command, [_declared(each, SHARED | words) for each in own])

    return decorated


def _declared(own: inspect.Parameter, words: Mapping[str, str]) -> inspect.Parameter:
    """Make an option of a parameter, or an argument if its words call it so."""
    if own.name not in words or get_origin(own.annotation) is Annotated:
        return own
    text = words[own.name]
    head = _HEAD.match(text)
    text = text[head.end() :] if head else text
    if head and not head[1].startswith("--"):
        declared = typer.Argument(metavar=head[1], help=text, show_default=False)
    else:
        flags = head[1].split() if head else [flag_of(own.name)]
        declared = typer.Option(*flags, help=text or None, hidden=not text)
    return own.replace(annotation=Annotated[own.annotation, declared])


def _with_parameters(command: Command, parameters: Sequence[inspect.Parameter]) -> Command:
    """Let typer see other parameters than a function has."""
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


def of_request(*left_out: str, **words: str) -> Callable[[Command], Command]:
    """Give a command the fields of a request as options, but those that mean nothing to it.

    The command takes the source and the request; whatever else it declares stays its own, with
    its words as in :func:`described`.
    """
    asked = {each.name: each for each in fields(Request) if each.name not in left_out}

    def decorated(command: Command) -> Command:
        own = dict(inspect.signature(command, eval_str=True).parameters)
        source = _declared(own.pop("source"), SHARED)
        del own["request"]
        others = [
            _declared(each.replace(kind=inspect.Parameter.KEYWORD_ONLY), SHARED | words)
            for each in own.values()
        ]

        @wraps(command)
        def wrapped(source: str, **given: Any) -> None:
            values = {name: given.pop(name) for name in asked}
            options = {
                name: _value(asked[name], value)
                for name, value in values.items()
                if value not in (None, [])
            }
            table, request = requested(source, None, options | {"words": given.pop("words")})
            command(source=table, request=request, **given)

        file = inspect.Parameter(
            "words", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Path | None
        )
        options = [*map(_option, asked.values()), _declared(file, SHARED)]
        return _with_parameters(wrapped, [source, *options, *others])

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
    declared = typer.Option(flag_of(asked.name), help=words, show_default=False)
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
