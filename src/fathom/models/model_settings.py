"""Settings of models for their thinking and non-thinking scores: LongBench Pro's, which users can extend."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from typing import Literal, TypeAlias, get_args

from fathom.plugins.names import similar
from fathom.plugins.usertable import read_table, users_table
from fathom.types import FathomError

VARIABLE = "FATHOM_MODELS"
HOTTEST = 100  # no temperature is higher; excludes nan and infinity

Kind: TypeAlias = Literal["thinking", "mixed", "instruct"]
Switch: TypeAlias = Literal["effort", "tokens", "enable_thinking", "thinking", "type", "none"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SWITCHES: tuple[Switch, ...] = get_args(Switch)

_TEXTS: Mapping[str, tuple[str, ...]] = {"kind": KINDS, "switch": SWITCHES, "source": ()}
_TEMPERATURES = ("temperature", "temperature_thinking")


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """One entry of the table; numbers are in tokens unless stated otherwise.

    Attributes:
        kind: ``thinking`` (always reasons natively), ``mixed`` (can be switched) or ``instruct`` (never does).
        context: The window, prompt and reply together, or the prompt alone where ``longest_output`` is given; None if
            unknown.
        longest_output: The longest reply, if it does not count against ``context``.
        truncation: Longer prompts are truncated in the middle; None if only the window limits them.
        output: The source's cap on replies without thinking; runs use each task's own.
        output_thinking: The cap on replies with thinking, thoughts included; None derives it from the window.
        temperature: Sampling temperature without thinking; None if the model has no default.
        temperature_thinking: The same with thinking.
        switch: How native reasoning is switched, if not the provider's way; None for the provider's.
        source: Where the entry comes from.
        reasons: Of a ``mixed`` model: whether it reasons unless told not to.
    """

    kind: Kind
    context: int | None = None
    longest_output: int | None = None
    truncation: int | None = None
    output: int | None = None
    output_thinking: int | None = None
    temperature: float | None = None
    temperature_thinking: float | None = None
    switch: Switch | None = None
    source: str = ""
    reasons: bool = False

    @property
    def by_default(self) -> bool:
        """Whether the model reasons unless told not to."""
        return self.kind == "thinking" or (self.kind == "mixed" and self.reasons)


def find_settings(model: str) -> ModelSettings | None:
    """The entry of a model, by its full name or the last part of it, ignoring case; None if it has none.

    Args:
        model: Name as ``fathom run --model`` takes it, for instance ``vllm/Qwen/Qwen3-32B``.

    Raises:
        FathomError: A file of the user cannot be read.
    """
    table = {name.lower(): entry for name, entry in model_table().items()}
    return table.get(model.lower()) or table.get(_last(model))


def reasoning_settings(model: str) -> ModelSettings | None:
    """The entry of a model that reasons unless told not to; None for others and for unknown ones.

    The name may continue after that of an entry, as in ``deepseek-r1-distill-qwen-32b``, ``deepseek-r1:free`` or
    ``qwen3-32b-awq``; the entry with the longest name counts.

    Args:
        model: Name as ``fathom run --model`` takes it, with any provider.

    Raises:
        FathomError: A file of the user cannot be read.
    """
    entry = find_settings(model)
    if entry is None:
        last = _last(model).replace(":", "-")
        table = {name.lower(): entry_of_table for name, entry_of_table in model_table().items()}
        near = max((name for name in table if f"{last}-".startswith(f"{name}-")), key=len, default="")
        entry = table.get(near)
    return entry if entry is not None and entry.by_default else None


def like_models(model: str) -> list[str]:
    """Names in the table similar to the last part of a model's name; at most three.

    Raises:
        FathomError: A file of the user cannot be read.
    """
    known, last = {name.lower(): name for name in model_table()}, _last(model)
    # A date or quantization after the name makes it dissimilar by letter count.
    shorter = sorted((name for name in known if last.startswith(name)), key=len, reverse=True)
    return [known[name] for name in dict.fromkeys([*shorter, *similar(last, known, cutoff=0.6)])][:3]


def model_table() -> dict[str, ModelSettings]:
    """All entries by model name; the user's own replace built-in ones.

    Raises:
        FathomError: A file of the user cannot be read.
    """
    users = _users()
    own = {name.lower() for name in users}
    return {**{name: entry for name, entry in _built_in().items() if name.lower() not in own}, **users}


def _last(model: str) -> str:
    return model.partition("?")[0].rstrip("/").rpartition("/")[2].lower()


@cache  # asked for every sample of a forecast
def _built_in() -> Mapping[str, ModelSettings]:
    return read_table(
        files("fathom.models").joinpath("model_settings.toml").read_text("utf-8"), "model_settings.toml", _entry
    )


def _users() -> dict[str, ModelSettings]:
    return users_table(VARIABLE, "models.toml", _entry)


def _entry(entry: object, where: str) -> ModelSettings:
    if not isinstance(entry, Mapping):
        raise FathomError(f'{where}: expected a table, as ["my-model"]')
    known = [field.name for field in fields(ModelSettings)]
    for name, value in entry.items():
        if name not in known:
            hint = "; quote a name that has a dot in it" if isinstance(value, Mapping) else ""
            raise FathomError(f"{where}: unknown field {name!r}; expected one of {', '.join(known)}{hint}")
        _check(name, value, where)
    if "kind" not in entry:
        raise FathomError(f"{where}: kind is missing; expected one of {', '.join(KINDS)}")
    return ModelSettings(**entry)


def _check(name: str, value: object, where: str) -> None:
    # In Python true and false are integers.
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
    if name == "reasons":
        right, words = isinstance(value, bool), "true or false"
    elif name in _TEXTS:
        right = isinstance(value, str) and (not _TEXTS[name] or value in _TEXTS[name])
        words = f"one of {', '.join(_TEXTS[name])}" if _TEXTS[name] else "a text"
    elif name in _TEMPERATURES:
        right, words = number is not None and 0 <= number < HOTTEST, "a number of at least 0"
    else:
        right, words = isinstance(number, int) and number > 0, "a positive whole number of tokens"
    if not right:
        raise FathomError(f"{where}: {name} = {value!r}, expected {words}")
