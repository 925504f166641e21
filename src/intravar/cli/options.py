"""Commands made of functions: parameters become options, and what is yielded is for `--json`."""

import inspect
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, fields
from importlib.resources import files
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, TypeAlias, get_args

import typer

from intravar.errors import flag_of
from intravar.request import Request, requested

#: What a command with `--json` yields: its answer, which ends it there. Without, it goes on to
#: print the same for people.
Answer: TypeAlias = Iterator[object]
#: What --help says about options, by command and by parameter.
TEXTS = tomllib.loads(files(__package__).joinpath("options.toml").read_text("utf-8"))
_HEAD = re.compile(r"^(--[\w/ -]+|[A-Z]+\d?): ")
_KEYWORD = Parameter.KEYWORD_ONLY


def as_command(function: Callable[..., object]) -> Callable[..., None]:
    """Return a function as typer makes a command of it.

    What options mean stands in `options.toml`. A request becomes an option per field, but those
    that its annotation lists; a function that yields has `--json`.
    """
    texts = TEXTS["shared"] | TEXTS.get(function.__name__, {})
    own = dict(inspect.signature(function, eval_str=True).parameters)
    yields = inspect.isgeneratorfunction(function)
    asked: dict[str, Field[Any]] = {}
    options: list[Parameter] = []
    if "request" in own:
        left_out = get_args(own.pop("request").annotation)[1:]
        asked = {each.name: each for each in fields(Request) if each.name not in left_out}
        words = Parameter("words", _KEYWORD, default=None, annotation=Path | None)
        options = [*map(_field_option, asked.values()), _option(words, texts)]
    if yields:
        own["as_json"] = Parameter("as_json", _KEYWORD, default=False, annotation=bool)
    declared = [_option(each, texts) for each in own.values()]

    def command(**given: Any) -> None:
        as_json = given.pop("as_json") if yields else False
        if asked:
            values = {name: (each, given.pop(name)) for name, each in asked.items()}
            chosen = {
                name: tuple(listed(value)) if str(each.type).startswith("tuple") else value
                for name, (each, value) in values.items()
                if value not in (None, [])
            }
            chosen["words"] = given.pop("words")
            given["source"], given["request"] = requested(given["source"], None, chosen)
        answers: Any = function(**given)
        for answer in answers or ():
            if as_json:
                typer.echo(json.dumps(answer, indent=1, default=str))
                return

    parameters = [*declared[: bool(asked)], *options, *declared[bool(asked) :]]
    command.__doc__, command.__name__ = function.__doc__, function.__name__
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


def _option(own: Parameter, texts: Mapping[str, str]) -> Parameter:
    """Make an option of a parameter, or an argument if its text calls it so."""
    text = texts[own.name]
    head = _HEAD.match(text)
    text = text[head.end() :] if head else text
    if head and not head[1].startswith("--"):
        declared = typer.Argument(metavar=head[1], help=text, show_default=False)
    else:
        flags = head[1].split() if head else [flag_of(own.name)]
        declared = typer.Option(*flags, help=text or None, hidden=not text)
    return own.replace(kind=_KEYWORD, annotation=Annotated[own.annotation, declared])


def _field_option(asked: Field[Any]) -> Parameter:
    """Make an option of a request's field; what is not given stays None."""
    kind, words = str(asked.type), asked.metadata["words"]
    python: Any = int if kind.startswith("int") else float if kind.startswith("float") else str
    if kind == "Labels":
        python = list[str]
    if kind.startswith("tuple"):
        words = words.replace(".", ", with commas between.", 1)
    if asked.default not in (None, "", ()):
        words = f"{words} Default: {asked.default}."
    declared = typer.Option(flag_of(asked.name), help=words, show_default=False)
    return Parameter(
        asked.name, _KEYWORD, default=None, annotation=Annotated[python | None, declared]
    )


def listed(names: str | None) -> list[str]:
    """Split names given with commas between.

    Examples
    --------
    >>> listed("age, sex,")
    ['age', 'sex']
    """
    return [name.strip() for name in (names or "").split(",") if name.strip()]
