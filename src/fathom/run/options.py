"""Checks settings of a run against each other and against the suite, before anything is opened or created."""

from collections.abc import Mapping, Sequence
from typing import Any

from fathom.extend.methods import AGENT
from fathom.models.failures import provider_errors
from fathom.models.hugging_face import is_local
from fathom.models.local_model import starts_server
from fathom.models.protocol import Settings, is_baseline
from fathom.plugins.names import did_you_mean
from fathom.score.dialects import dialects
from fathom.suites.registry import task_name
from fathom.tokens.length import format_length, named_lengths
from fathom.types import FathomError, Json

# Generation options that the runner sets itself; otherwise one of two values would be recorded but not sent.
_OWN = {
    "temperature": "use `temperature`",
    "seed": "use `seed`",
    "max_tokens": "use `max_output_tokens`",
    "reasoning_effort": "use `reasoning_effort`",
    "reasoning_tokens": "use `reasoning_tokens`",
    "max_retries": "use `retries`",
    "max_connections": "use `max_connections`",
    "adaptive_connections": "use `max_connections`",
    "timeout": "use `timeout`",
    "attempt_timeout": "use `timeout`",
    "stream_idle_timeout": "use `timeout`",
    "cache": "every reply is kept and asked for once; use `epochs` to ask again",
    "batch": "use `batch`",
    "num_choices": "each request has one reply; use `epochs`",
}


def generation_of(
    generation: Mapping[str, Json] | None, *, reasoning_effort: str | None, reasoning_tokens: int | None
) -> Mapping[str, Json]:
    """The generation options of a model, with those for reasoning.

    Args:
        generation: The values of ``--generation``, by name.
        reasoning_effort: The value of ``--reasoning-effort``.
        reasoning_tokens: The value of ``--reasoning-tokens``.

    Raises:
        FathomError: A name in ``generation`` has its own option; the message names it.
    """
    for name in generation or {}:
        if name in _OWN:
            raise FathomError(f"`generation` {name}: {_OWN[name]}")
    reasoning: Mapping[str, Json] = {"reasoning_effort": reasoning_effort, "reasoning_tokens": reasoning_tokens}
    return {**(generation or {}), **{name: value for name, value in reasoning.items() if value is not None}}


def check_settings(settings: Settings) -> None:
    """Check settings against each other. Each of them was checked where it was given.

    Args:
        settings: How the model is asked.

    Raises:
        FathomError: The model cannot do what the system needs, or there is no server that could have a command line;
            the message names the option. Or the user's table of provider errors is invalid.
    """
    provider_errors()
    dialects()
    if settings.system.name == AGENT:
        _check_agent(settings)
    if settings.server_command is None:
        return
    if is_local(settings.model) or is_baseline(settings.model):
        raise FathomError(f"`server_command`: {settings.model} has no server, it runs in this process; leave it out")
    if starts_server(settings.model):
        raise FathomError(f"`server_command`: fathom itself starts the server of {settings.model}; leave it out")
    if not settings.server_command.strip():
        raise FathomError("`server_command`: expected the command line with which the server was started")


def _check_agent(settings: Settings) -> None:
    """Refuse models that cannot call tools."""
    if settings.chat_template != "always":
        raise FathomError(
            f"`system` {AGENT} needs a chat in which the model calls tools; leave out `chat_template` "
            f"{settings.chat_template}"
        )
    if is_baseline(settings.model) or is_local(settings.model):
        why = "an offline baseline" if is_baseline(settings.model) else "a model in this process"
        raise FathomError(
            f"`system` {AGENT}: {settings.model!r} is {why}, which cannot call tools; give a model of a provider, or "
            "start it on a server that supports tool calls and give its `model_base_url`"
        )


def check_choice(manifest: Mapping[str, Any], tasks: Sequence[str] | None, lengths: Sequence[int] | None) -> None:
    """Check that a suite has the requested tasks and lengths.

    Args:
        manifest: The suite's manifest.
        tasks: Names of tasks, or None for all.
        lengths: Lengths in tokens, or None for all.

    Raises:
        FathomError: One is missing; the message names those that exist.
    """
    known = [str(name) for name in manifest["tasks"]]
    for name in tasks or ():
        if task_name(name) not in map(task_name, known):
            raise FathomError(
                f"`tasks` {name}: suite {manifest['suite']!r} has the tasks {', '.join(known)}"
                f"{did_you_mean(name, known, cutoff=0.4)}"
            )
    built = sorted({int(length) for length in (*manifest["lengths"], *manifest.get("truncate", ()))})
    for length in lengths or ():
        if length not in built:
            raise FathomError(
                f"`lengths` {format_length(length)}: suite {manifest['suite']!r} was built at {named_lengths(built)}; "
                "choose among these, or build it at other lengths"
            )
