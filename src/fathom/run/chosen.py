"""How a model is asked, from the options of a command: for ``run``, and for ``doctor``, which asks as a run would."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from fathom.extend.methods import WHOLE, system_of
from fathom.models.model_settings import ModelSettings, find_settings
from fathom.models.prices import Price, find_price
from fathom.models.protocol import Settings
from fathom.models.request_mode import parse_chat_template
from fathom.models.thinking import ThinkingSettings, thinking_settings
from fathom.run.options import check_settings, generation_of
from fathom.types import Json


@dataclass(frozen=True, slots=True)
class Chosen:
    """How a model is asked, and what the tables say of it.

    Attributes:
        settings: How it is asked.
        price: Its entry in the price table.
        entry: Its entry in the table of models, if ``--thinking`` is given; else None.
        decided: The settings for ``--thinking``.
    """

    settings: Settings
    price: Price
    entry: ModelSettings | None
    decided: ThinkingSettings


def choose(
    model: str,
    *,
    seed: int = 0,
    temperature: float | Literal["default"] | None = "default",
    max_output_tokens: int | None = None,
    reasoning_effort: str | None = None,
    reasoning_tokens: int | None = None,
    generation: Mapping[str, Json] | None = None,
    model_base_url: str | None = None,
    model_args: Mapping[str, Json] | None = None,
    window: int | None = None,
    on_overflow: str | None = None,
    chat_template: str = "always",
    thinking: str | None = None,
    model_kind: str | None = None,
    thinking_switch: str | None = None,
    server_command: str | None = None,
    subset: Mapping[str, Json] | None = None,
    system: str = WHOLE.name,
) -> Chosen:
    """How a model is asked; all arguments but ``subset`` are those of ``fathom.run.run``.

    Args:
        subset: Description of the subset to run; None for all samples.

    Raises:
        FathomError: An option is wrong.
    """
    price = find_price(model, model_base_url)
    entry = find_settings(model) if thinking is not None else None
    decided = thinking_settings(
        thinking,
        model,
        entry,
        kind=model_kind,
        switch=thinking_switch,
        base_url=model_base_url,
        chat_template=chat_template,
        window=window,
        known_window=price.window,
        on_overflow=on_overflow,
        max_output_tokens=max_output_tokens,
        temperature=temperature,
        generation=generation_of(generation, reasoning_effort=reasoning_effort, reasoning_tokens=reasoning_tokens),
    )
    settings = Settings(
        model=model,
        temperature=decided.temperature,
        seed=seed,
        max_output_tokens=decided.max_output_tokens,
        window=window,
        on_overflow=decided.on_overflow,
        generation=decided.generation,
        model_args=dict(model_args or {}),
        base_url=model_base_url,
        chat_template=parse_chat_template(chat_template),
        subset=subset,
        thinking=decided.thinking,
        kind=decided.kind,
        system=system_of(system),
        server_command=server_command,
    )
    check_settings(settings, reasoning_tokens=reasoning_tokens)
    return Chosen(settings, price, entry, decided)
