"""Runs with and without thinking: what is sent for a model's thinking or non-thinking score.

The protocol is that of LongBench Pro (section 5.1, table 5 and appendix E). It depends on the kind of model:

* ``thinking``: always reasons, and has only a thinking score, from the plain prompt;
* ``mixed``: both scores are from the plain prompt, with native reasoning switched on or off;
* ``instruct``: never reasons natively. The thinking score is from the prompt that asks for thoughts.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from fathom.models.model_settings import (
    SWITCHES,
    Kind,
    ModelSettings,
    Switch,
    like_models,
    reasoning_settings,
)
from fathom.models.overflow import EFFECTS, Overflow
from fathom.models.settings import Reasoning, Sampling
from fathom.types import FathomError, Json

Mode: TypeAlias = Literal["on", "off"]
Prompt: TypeAlias = Literal["plain", "thinking"]
MODES: tuple[Mode, ...] = get_args(Mode)
PROMPTS: tuple[Prompt, ...] = get_args(Prompt)

# Cap on replies with thinking, and the window from which the longer one applies: section 5.1.
OUTPUT, LONG_OUTPUT, LONG_WINDOW = 8_192, 32_768, 256_000
TEMPERATURE = 1.0

# Tokens of the output cap reserved for the answer, for providers that take a reasoning budget.
ANSWER = 1_024
_PROVIDERS: Mapping[str, Switch] = {
    "anthropic": "tokens",
    "deepseek": "type",
    "fathom": "none",
    "google": "tokens",
    "hf": "enable_thinking",
    "openai-api": "enable_thinking",
    "sglang": "enable_thinking",
    "vllm": "enable_thinking",
}
# What a switch adds to the request body.
_FIELDS = ("chat_template_kwargs", "thinking")


@dataclass(frozen=True, slots=True)
class Thinking:
    """The thinking settings of a run.

    Attributes:
        mode: ``on`` for the thinking score, ``off`` for the non-thinking score.
        kind: The kind of model.
        prompt: ``thinking`` for the prompt that asks for thoughts, ``plain`` for the other.
        switch: How native reasoning is switched; ``none`` if nothing is sent for that.
        truncation: Prompts of more tokens are truncated, whatever the reply takes; None if only a window applies.
    """

    mode: Mode
    kind: Kind
    prompt: Prompt
    switch: Switch
    truncation: int | None = None

    @property
    def native(self) -> bool:
        """Whether the model reasons natively."""
        return self.kind == "thinking" or (self.kind == "mixed" and self.mode == "on")

    @property
    def visible(self) -> bool:
        """Whether the reply contains thoughts before the answer."""
        return self.prompt == "thinking"

    @property
    def thoughts(self) -> Literal["", "native", "visible"]:
        """Which thoughts precede the answer; "" for none."""
        return "visible" if self.visible else "native" if self.native else ""

    @property
    def score(self) -> str:
        """Which score replies are for, as named in rows and folders."""
        return "thinking" if self.mode == "on" else "non-thinking"


@dataclass(frozen=True, slots=True)
class ThinkingSettings:
    """Values for the ``Settings`` of a run; ``thinking`` is None without ``--thinking``."""

    thinking: Thinking | None
    max_output_tokens: int | None
    temperature: float | None
    on_overflow: Overflow
    generation: Mapping[str, Json]
    kind: Kind | None = None


def thinking_settings(
    model: str,
    entry: ModelSettings | None,
    sampling: Sampling,
    reasoning: Reasoning,
    *,
    known_window: int | None = None,
    generation: Mapping[str, Json] | None = None,
) -> ThinkingSettings:
    """The settings for one of a model's two scores. The user's values override the table's.

    Without ``--thinking``, for a run for neither score, long prompts are refused, and the temperature is 0 or, for a
    model that reasons unless told not to, that of the table.

    Args:
        model: ``PROVIDER/NAME``.
        entry: The model's entry in the table of models; None if it has none.
        sampling: How the user wants it to be asked. What happens to prompts that are too long: by default their middle
            is removed with ``--thinking``, else they are refused.
        reasoning: How the user wants it to reason. The kind of model and the switch are by default the entry's, the
            switch else the provider's.
        known_window: The window from other tables.
        generation: The user's generation options, including those for reasoning.

    Raises:
        FathomError: The kind is unknown, the model has no such score, or options contradict each other.
    """
    given, window, policy, cap = sampling.temperature, sampling.window, sampling.on_overflow, sampling.max_output_tokens
    generation = generation or {}
    if reasoning.thinking is None:
        if reasoning.thinking_switch is not None:
            raise FathomError(f"`thinking_switch` {reasoning.thinking_switch}: needs `thinking` on or `thinking` off")
        plain = _plain_temperature(model, reasoning.model_kind, generation) if given == "default" else given
        return ThinkingSettings(None, cap, plain, policy or "refuse", generation, reasoning.model_kind)
    chosen = reasoning.thinking
    known = _kind(model, entry, reasoning.model_kind)
    if known == "thinking" and chosen == "off":
        raise FathomError(
            f"`thinking` off: {model} always reasons, and so has no non-thinking score; use `thinking` on"
        )
    way = _switch(model, entry, known, reasoning.thinking_switch, sampling.model_base_url)
    if way != "none" and sampling.chat_template != "always":
        raise FathomError(
            f"`chat_template` {sampling.chat_template}: reasoning cannot be switched ({way}) for prompts without a "
            "chat template; use `chat_template` always"
        )
    thinking = Thinking(
        mode=chosen,
        kind=known,
        prompt="thinking" if known == "instruct" and chosen == "on" else "plain",
        switch=way,
        truncation=_truncation(entry) if entry and window is None else None,
    )
    _check_reasoning(generation, thinking)
    if cap is None and chosen == "on":
        cap = _output(entry, window, known_window)
    return ThinkingSettings(
        thinking,
        max_output_tokens=cap,
        temperature=_temperature(chosen, entry) if given == "default" else given,
        on_overflow=policy or "middle",
        generation=switched(generation, way, native=thinking.native, model=model, cap=cap),
    )


def _plain_temperature(model: str, kind: Kind | None, generation: Mapping[str, Json]) -> float:
    """0, or that of the table for a model that reasons: greedy decoding makes many of them repeat themselves."""
    entry = None if kind == "instruct" else reasoning_settings(model)
    if entry is None or generation.get("reasoning_effort") == "none":
        return 0.0
    return _temperature("on", entry)


def describe_thinking(settings: ThinkingSettings, *, window: int | None) -> str:
    """The settings in one line; "" without ``--thinking``.

    Args:
        window: The window that applies, in tokens; None if none does, or only the truncation length.
    """
    thinking, cap = settings.thinking, settings.max_output_tokens
    if thinking is None:
        return ""
    words = [f"thinking {thinking.mode}: {thinking.kind} model", f"{thinking.prompt} prompt"]
    words.append("each task's own output cap" if cap is None else f"at most {cap:,} output tokens")
    given = settings.temperature
    words.append("the provider's temperature" if given is None else f"temperature {given:g}")
    if thinking.truncation is not None:
        words.append(f"prompts beyond {thinking.truncation:,} tokens {EFFECTS[settings.on_overflow]}")
    elif window is not None:
        words.append(f"prompts that, with their reply, exceed {window:,} tokens {EFFECTS[settings.on_overflow]}")
    return ", ".join([*words, *describe_switch(settings.generation)])


def doubts(thinking: Thinking, *, replies: int, reasoned: int) -> str:
    """A warning if native reasoning was not on or off as intended; else "".

    Args:
        thinking: The intended settings.
        replies: Number of replies.
        reasoned: How many of them hold native reasoning, or tokens of it.
    """
    way = "use --thinking-switch to say how this server switches it, in another run folder"
    if thinking.native and replies and not reasoned:
        return f"native reasoning should be on, but none of {replies:,} replies has any: if it was not on, {way}"
    if not thinking.native and reasoned:
        return f"native reasoning should be off, but {reasoned:,} of {replies:,} replies have some: {way}"
    return ""


def _kind(model: str, entry: ModelSettings | None, given: Kind | None) -> Kind:
    if given is not None:
        return given
    if entry is not None:
        return entry.kind
    near = like_models(model)
    hint = f" Similar names: {', '.join(near)}." if near else ""
    raise FathomError(
        f"`thinking`: {model} is not in the table of models (`fathom list settings`).{hint} Use `model_kind` to say "
        "whether it always reasons (thinking), can be switched (mixed), or never reasons natively (instruct)"
    )


def _switch(model: str, entry: ModelSettings | None, kind: Kind, given: Switch | None, base_url: str | None) -> Switch:
    if given is not None:
        return given
    if kind != "mixed":
        return "none"
    return entry.switch if entry is not None and entry.switch is not None else switch_of(model, base_url)


def _check_reasoning(generation: Mapping[str, Json], thinking: Thinking) -> None:
    """Check that the user does not turn native reasoning on where it should be off, or the reverse."""
    for name in ("reasoning_effort", "reasoning_tokens"):
        value = generation.get(name)
        if value is not None and (value not in (0, "none")) != thinking.native:
            raise FathomError(
                f"`{name}` {value}: with `thinking` {thinking.mode} native reasoning is "
                f"{'on' if thinking.native else 'off'} in a model of kind {thinking.kind}; drop the option, or set "
                "`model_kind`"
            )


def _truncation(entry: ModelSettings) -> int | None:
    """Maximum tokens of the prompt; a window that does not hold the reply applies to the prompt alone."""
    if entry.truncation is None and entry.longest_output is not None:
        return entry.context
    return entry.truncation


def _output(entry: ModelSettings | None, window: int | None, known_window: int | None) -> int:
    if entry is not None and entry.output_thinking is not None:
        return entry.output_thinking
    tokens = window or (entry and entry.context) or known_window or 0
    return LONG_OUTPUT if tokens >= LONG_WINDOW else OUTPUT


def _temperature(mode: Mode, entry: ModelSettings | None) -> float:
    own = None if entry is None else entry.temperature_thinking if mode == "on" else entry.temperature
    return TEMPERATURE if own is None else own


def switch_of(model: str, base_url: str | None) -> Switch:
    """How a provider, or the server at an address, switches the reasoning of its models.

    Args:
        model: ``PROVIDER/NAME``.
        base_url: Address of a server other than the provider's.

    Raises:
        FathomError: It is unknown.
    """
    provider = model.partition("/")[0]
    if provider in _PROVIDERS:
        return _PROVIDERS[provider]
    if base_url is not None:
        return "enable_thinking"
    if provider == "openai":
        return "effort"
    raise FathomError(
        f"`thinking`: how {provider} switches the reasoning of {model} is unknown; give `thinking_switch`, one of "
        f"{', '.join(SWITCHES)}"
    )


def switched(
    generation: Mapping[str, Json], switch: Switch, *, native: bool, model: str, cap: int | None
) -> Mapping[str, Json]:
    """Generation options including those that switch native reasoning; the user's take precedence.

    Args:
        generation: The user's generation options. ``reasoning_effort`` or ``reasoning_tokens`` among them replaces
            both of these switches.
        switch: How reasoning is switched.
        native: Whether it should be on.
        model: ``PROVIDER/NAME``.
        cap: The output cap, reasoning included; needed if reasoning is on.
    """
    budgeted = "reasoning_effort" in generation or "reasoning_tokens" in generation
    if budgeted and switch in ("effort", "tokens"):
        return generation
    return _merged(_options(switch, native, model, cap or 0), generation)


def describe_switch(generation: Mapping[str, Json]) -> list[str]:
    """The generation options that concern reasoning, as ``name=value``."""
    names = ("reasoning_effort", "reasoning_tokens")
    body = generation.get("extra_body")
    # Other fields of the body are not about reasoning, and may be secret.
    ours = {name: body[name] for name in _FIELDS if name in body} if isinstance(body, Mapping) else {}
    return [f"{name}={generation[name]}" for name in names if name in generation] + _leaves(ours)


def unknown_switch(message: str, generation: Mapping[str, Json]) -> str:
    """Advice if a server's error names an option that switches reasoning; else "".

    Args:
        generation: The generation options that were sent.
    """
    places = [setting.partition("=")[0] for setting in describe_switch(generation)]
    named = [name for place in places for name in place.split(".") if re.search(rf"\b{name}\b", message)]
    if not named:
        return ""
    return (
        f"{named[0]} is sent to switch reasoning; if this server does not support it, give another --thinking-switch, "
        "or none to send nothing, in another run folder"
    )


def _options(switch: Switch, native: bool, model: str, cap: int) -> Mapping[str, Json]:
    match switch:
        case "effort":
            return {"reasoning_effort": "medium" if native else "none"}
        case "tokens":
            if native:
                return {"reasoning_tokens": max(cap - ANSWER, cap // 2, 1)}
            # Anthropic's models reason if given a budget, and reject a budget of 0.
            return {} if model.startswith("anthropic/") else {"reasoning_tokens": 0}
        case "enable_thinking" | "thinking":
            return {"extra_body": {"chat_template_kwargs": {switch: native}}}
        case "type":
            return {"extra_body": {"thinking": {"type": "enabled" if native else "disabled"}}}
        case "none":
            return {}


def _merged(ours: Mapping[str, Any], users: Mapping[str, Any]) -> dict[str, Json]:
    """Both merged; the user's values take precedence, objects are merged recursively."""
    merged = {**ours, **users}
    for name in ours.keys() & users.keys():
        if isinstance(ours[name], Mapping) and isinstance(users[name], Mapping):
            merged[name] = _merged(ours[name], users[name])
    return merged


def _leaves(value: Mapping[str, Json], place: str = "") -> list[str]:
    leaves = []
    for name, inner in value.items():
        if isinstance(inner, Mapping):
            leaves += _leaves(inner, f"{place}{name}.")
        else:
            leaves.append(f"{place}{name}={str(inner).lower() if isinstance(inner, bool) else inner}")
    return leaves
