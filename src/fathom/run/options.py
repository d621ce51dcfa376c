"""Checks all options of a run before anything is opened or created."""

import difflib
import math
from collections.abc import Mapping, Sequence
from typing import Any

from fathom.extend.methods import AGENT
from fathom.models.failures import provider_errors
from fathom.models.hugging_face import is_local
from fathom.models.protocol import Settings, is_baseline
from fathom.suites.registry import task_name
from fathom.tokens.length import format_length, named_lengths
from fathom.types import FathomError, Json

# Generation options that the runner sets itself; otherwise one of two values would be recorded but not sent.
_OWN = {
    "temperature": "use --temperature",
    "seed": "use --seed",
    "max_tokens": "use --max-output-tokens",
    "reasoning_effort": "use --reasoning-effort",
    "reasoning_tokens": "use --reasoning-tokens",
    "max_retries": "use --retries",
    "max_connections": "use --max-connections",
    "adaptive_connections": "use --max-connections",
    "timeout": "use --timeout",
    "attempt_timeout": "use --timeout",
    "stream_idle_timeout": "use --timeout",
    "cache": "every reply is kept and asked for once; use --epochs to ask again",
    "batch": "use --batch",
    "num_choices": "each request has one reply; use --epochs",
}
_LARGEST_SEED = 2**63 - 1


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
            raise FathomError(f"--generation {name}: {_OWN[name]}")
    reasoning: Mapping[str, Json] = {"reasoning_effort": reasoning_effort, "reasoning_tokens": reasoning_tokens}
    return {**(generation or {}), **{name: value for name, value in reasoning.items() if value is not None}}


def check_settings(settings: Settings, *, reasoning_tokens: int | None) -> None:
    """Check the settings that affect replies.

    Args:
        settings: How the model is asked.
        reasoning_tokens: Tokens for reasoning; None if not given.

    Raises:
        FathomError: A number is out of range, the model cannot do what the system needs, or there is no server that
            could have a command line; the message names the option.
    """
    _counts(max_output_tokens=settings.max_output_tokens, window=settings.window)
    _amounts(temperature=settings.temperature, reasoning_tokens=reasoning_tokens)
    if settings.system.name == AGENT:
        _check_agent(settings)
    if not 0 <= settings.seed <= _LARGEST_SEED:
        raise FathomError(f"--seed {settings.seed}: expected a whole number from 0 to {_LARGEST_SEED}")
    if settings.server_command is None:
        return
    if is_local(settings.model) or is_baseline(settings.model):
        raise FathomError(f"--server-command: {settings.model} has no server, it runs in this process; leave it out")
    if not settings.server_command.strip():
        raise FathomError("--server-command: expected the command line with which the server was started")


def _check_agent(settings: Settings) -> None:
    """Refuse models that cannot call tools."""
    if settings.chat_template != "always":
        raise FathomError(
            f"--system {AGENT} needs a chat in which the model calls tools; leave out --chat-template "
            f"{settings.chat_template}"
        )
    if is_baseline(settings.model) or is_local(settings.model):
        why = "an offline baseline" if is_baseline(settings.model) else "a model in this process"
        raise FathomError(
            f"--system {AGENT}: {settings.model!r} is {why}, which cannot call tools; give a model of a provider, or "
            "start it on a server that supports tool calls and give its --model-base-url"
        )


def check_work(
    *,
    epochs: int = 1,
    limit: int | None = None,
    max_connections: int,
    retries: int,
    timeout: float,
    backoff: float,
    max_tokens_total: int | None,
    max_cost: float | None,
) -> None:
    """Check the options of the work; the arguments are those of ``fathom.run.run``.

    Raises:
        FathomError: A number is out of range; the message names the option. Or the user's table of provider errors is
            invalid.
    """
    provider_errors()
    _counts(epochs=epochs, limit=limit, max_connections=max_connections, max_tokens_total=max_tokens_total)
    _amounts(retries=retries, backoff=backoff, max_cost=max_cost)
    if not (math.isfinite(timeout) and timeout > 0):
        raise FathomError(f"--timeout {timeout:g}: expected a positive number of seconds")


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
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
            hint = f"did you mean {near[0]}? " if near else ""
            raise FathomError(f"--tasks {name}: {hint}Suite {manifest['suite']!r} has the tasks {', '.join(known)}")
    held = sorted({int(length) for length in (*manifest["lengths"], *manifest.get("truncate", ()))})
    for length in lengths or ():
        if length not in held:
            raise FathomError(
                f"--lengths {format_length(length)}: suite {manifest['suite']!r} was built at {named_lengths(held)}; "
                "choose among these, or build it at other lengths"
            )


def _counts(**counts: int | None) -> None:
    for name, value in counts.items():
        if value is not None and value < 1:
            raise FathomError(f"--{name.replace('_', '-')} {value}: expected a positive number")


def _amounts(**amounts: float | None) -> None:
    for name, value in amounts.items():
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise FathomError(f"--{name.replace('_', '-')} {value:g}: expected 0 or a positive number")
