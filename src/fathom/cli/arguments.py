"""Kinds of arguments that several commands share."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from fathom.types import FathomError

# Names of places in the context.
DEPTHS = {"front": 0.0, "middle": 0.5, "rear": 1.0}

Lengths: TypeAlias = Annotated[
    str | None, typer.Option("--lengths", help="Lengths in tokens, for instance 2k,4k,8k (8k is 8,192).")
]
Subset: TypeAlias = Annotated[
    Path | None,
    typer.Option("--subset", help="File of a subset: only samples that it names, or whose item it names."),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Filter: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--filter",
        help="Which questions known without any context are left out: own (those that a model knows itself), "
        "intersection (those that any of the models knows), panel, or none.",
    ),
]
Threshold: TypeAlias = Annotated[
    float, typer.Option(help="Score without any context from which on a question is known.")
]
Panel: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(help="A run, a rows file or a model whose known questions are left out; may be given several times."),
]
Judge: TypeAlias = Annotated[
    str | None,
    typer.Option("--judge", help="Judge whose scores are shown, where there are several; none for no judge's."),
]
Unanswered: TypeAlias = Annotated[
    str,
    typer.Option(
        "--unanswered",
        "--unscored",
        help="zero: what a model did not answer (a refusal, an empty reply, nothing visible before the output cap) "
        "counts 0. drop: it is left out of the means.",
    ),
]
BaseUrl: TypeAlias = Annotated[
    str | None, typer.Option(help="Address of a server such as http://127.0.0.1:8000/v1; it needs no key.")
]
MaxConnections: TypeAlias = Annotated[int, typer.Option(help="Requests in flight at once.")]
Temperature: TypeAlias = Annotated[
    float, typer.Option(help="Sampling temperature; negative leaves it to the provider.")
]
Thinking: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="on or off: run for the model's thinking or non-thinking score. Prompts, caps, temperature and cuts then "
        "follow from what is known of the model (`fathom list settings`)."
    ),
]
ModelKind: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="With --thinking: whether the model always reasons (thinking), can be switched (mixed) or never "
        "reasons natively (instruct)."
    ),
]
ThinkingSwitch: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="With --thinking: how reasoning is switched: effort, tokens, enable_thinking, thinking, type or none."
    ),
]
ReasoningEffort: TypeAlias = Annotated[str | None, typer.Option(help="none, minimal, low, medium or high.")]
ReasoningTokens: TypeAlias = Annotated[int | None, typer.Option(help="Tokens for reasoning.")]
Generation: TypeAlias = Annotated[
    list[str] | None, typer.Option("--generation", "-G", help="NAME=VALUE of Inspect's generation options.")
]
ModelArgs: TypeAlias = Annotated[
    list[str] | None, typer.Option("--model-arg", "-M", help="NAME=VALUE of the provider's own arguments.")
]
Retries: TypeAlias = Annotated[int, typer.Option(help="Further attempts after a failure that may pass.")]
Timeout: TypeAlias = Annotated[float, typer.Option(help="Seconds for one attempt.")]
MaxTokensTotal: TypeAlias = Annotated[int | None, typer.Option(help="Do not start, or stop, beyond these tokens.")]
MaxCost: TypeAlias = Annotated[float | None, typer.Option(help="Do not start, or stop, beyond these US dollars.")]
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", "-y", help="Start without asking.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")]


Only: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        help="Only samples with one of these values of a facet: difficulty=Hard,Extreme; language, task and length "
        "count as facets. May be given more than once.",
    ),
]


def where_of(given: Sequence[str] | None) -> dict[str, tuple[str, ...]]:
    """The values of ``--where`` by the facet that they are of.

    Raises:
        FathomError: One of them has no name or no value, or a length is none.
    """
    from fathom.length import format_length, parse_length

    found: dict[str, tuple[str, ...]] = {}
    for pair in given or ():
        name, _, values = pair.partition("=")
        named = tuple(filter(None, (value.strip() for value in values.split(","))))
        if not name.strip() or not named:
            raise FathomError(f"--where {pair!r}: expected FACET=VALUE,VALUE, for instance difficulty=Hard,Extreme")
        if name.strip() == "length":
            named = tuple(format_length(parse_length(value)) for value in named)
        found[name.strip()] = (*found.get(name.strip(), ()), *named)
    return found


def lengths_of(text: str | None) -> tuple[int, ...] | None:
    """Lengths as people write them, in tokens; None where none are given."""
    from fathom.length import parse_length

    return tuple(parse_length(part) for part in text.split(",") if part.strip()) if text is not None else None


def known_of(
    filter: str | None, threshold: float, panel: list[str] | None, unanswered: str | None = None
) -> dict[str, Any]:
    """Arguments of ``api``: which known questions are left out, and how replies count that were not answered."""
    counting = {} if unanswered is None else {"unanswered": unanswered}
    return {"filter": filter, "threshold": threshold, "panel": panel, **counting}


def names_of(text: str | None) -> tuple[str, ...] | None:
    """Names separated by commas; None where none are given."""
    return tuple(part.strip() for part in text.split(",") if part.strip()) if text is not None else None


def depths_of(text: str) -> tuple[float, ...]:
    """Depths separated by commas, as numbers or as names of ``DEPTHS``; none for ``random``.

    Raises:
        FathomError: One of them is neither.
    """
    if text.strip() == "random":
        return ()
    parts = [part.strip().lower() for part in text.split(",") if part.strip()]
    try:
        return tuple(DEPTHS[part] if part in DEPTHS else float(part) for part in parts)
    except ValueError as error:
        raise FathomError(
            f"--depth {text!r}: expected random, or depths separated by commas: {', '.join(DEPTHS)}, or numbers from 0 "
            "to 1, for instance 0,0.5,1"
        ) from error


def options_of(given: Sequence[str] | None, option: str) -> dict[str, Any]:
    """``NAME=VALUE`` pairs; values are read as JSON where they are JSON, else they are text.

    Raises:
        FathomError: One of them has no equals sign.
    """
    options: dict[str, Any] = {}
    for pair in given or ():
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise FathomError(f"{option} {pair!r}: expected NAME=VALUE")
        try:
            options[name] = json.loads(value)
        except ValueError:
            options[name] = value
    return options
