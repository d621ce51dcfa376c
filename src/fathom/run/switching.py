"""How native reasoning is switched on and off: what providers, servers and chat templates want to be sent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fathom.suites.models import SWITCHES, Switch
from fathom.types import FathomError, Json

# Tokens of the output cap that are left for the answer, where a provider wants to be told how many are for reasoning.
ANSWER = 1_024

_PROVIDERS: Mapping[str, Switch] = {
    "anthropic": "tokens",
    "deepseek": "type",
    "fathom": "none",
    "google": "tokens",
    "openai-api": "enable_thinking",
    "sglang": "enable_thinking",
    "vllm": "enable_thinking",
}
# What a switch adds to the body of a request.
_FIELDS = ("chat_template_kwargs", "thinking")


def switch_of(model: str, base_url: str | None) -> Switch:
    """How a provider, or the server at an address, switches the reasoning of its models.

    Args:
        model: ``PROVIDER/NAME``.
        base_url: Address of a server that is not the provider's.

    Raises:
        FathomError: It is not known.
    """
    provider = model.partition("/")[0]
    if provider in _PROVIDERS:
        return _PROVIDERS[provider]
    if base_url is not None:
        return "enable_thinking"
    if provider == "openai":
        return "effort"
    raise FathomError(
        f"--thinking: how {provider} switches the reasoning of {model} is not known; give --thinking-switch, one of "
        f"{', '.join(SWITCHES)}"
    )


def switched(
    generation: Mapping[str, Json], switch: Switch, *, native: bool, model: str, cap: int | None
) -> Mapping[str, Json]:
    """Generation options with those that switch native reasoning; what the user gives goes before.

    Args:
        generation: The user's generation options. One of ``reasoning_effort`` and ``reasoning_tokens`` among them does
            the work of both these switches.
        switch: How reasoning is switched.
        native: Whether it is to be on.
        model: ``PROVIDER/NAME``.
        cap: The output cap, reasoning included; needed where reasoning is to be on.
    """
    budgeted = "reasoning_effort" in generation or "reasoning_tokens" in generation
    if budgeted and switch in ("effort", "tokens"):
        return generation
    return _merged(_options(switch, native, model, cap or 0), generation)


def describe_switch(generation: Mapping[str, Json]) -> list[str]:
    """What of the generation options bears on reasoning, as ``name=value``."""
    names = ("reasoning_effort", "reasoning_tokens")
    body = generation.get("extra_body")
    # Other fields of the body are not about reasoning, and may be secret.
    ours = {name: body[name] for name in _FIELDS if name in body} if isinstance(body, Mapping) else {}
    return [f"{name}={generation[name]}" for name in names if name in generation] + _leaves(ours)


def unknown_switch(message: str, generation: Mapping[str, Json]) -> str:
    """What to do where the error of a server names an option that switches reasoning; "" where it names none.

    Args:
        message: The error.
        generation: The generation options that were sent.
    """
    places = [one.partition("=")[0] for one in describe_switch(generation)]
    named = [name for place in places for name in place.split(".") if re.search(rf"\b{name}\b", message)]
    if not named:
        return ""
    return (
        f"{named[0]} is sent to switch reasoning; if this server does not know it, say how it does with "
        "--thinking-switch, none to send nothing, in another run folder"
    )


def _options(switch: Switch, native: bool, model: str, cap: int) -> Mapping[str, Json]:
    match switch:
        case "effort":
            return {"reasoning_effort": "medium" if native else "none"}
        case "tokens":
            if native:
                return {"reasoning_tokens": max(cap - ANSWER, cap // 2, 1)}
            # Anthropic's models reason if they are given a budget, and one of 0 is refused.
            return {} if model.startswith("anthropic/") else {"reasoning_tokens": 0}
        case "enable_thinking" | "thinking":
            return {"extra_body": {"chat_template_kwargs": {switch: native}}}
        case "type":
            return {"extra_body": {"thinking": {"type": "enabled" if native else "disabled"}}}
        case "none":
            return {}


def _merged(ours: Mapping[str, Any], users: Mapping[str, Any]) -> dict[str, Json]:
    """Both; of what both have the user's, unless that is an object in both, and then both of these."""
    merged = {**ours, **users}
    for name in ours.keys() & users.keys():
        if isinstance(ours[name], Mapping) and isinstance(users[name], Mapping):
            merged[name] = _merged(ours[name], users[name])
    return merged


def _leaves(value: Mapping[str, Json], place: str = "") -> list[str]:
    found = []
    for name, inner in value.items():
        if isinstance(inner, Mapping):
            found += _leaves(inner, f"{place}{name}.")
        else:
            found.append(f"{place}{name}={str(inner).lower() if isinstance(inner, bool) else inner}")
    return found
