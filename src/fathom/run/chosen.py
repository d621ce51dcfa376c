"""How a model is asked, from the options of a command: for ``run``, and for ``doctor``, which asks as a run would."""

from collections.abc import Mapping
from dataclasses import dataclass

from fathom.extend.methods import WHOLE, system_of
from fathom.models.model_settings import ModelSettings, find_settings
from fathom.models.prices import Price, find_price
from fathom.models.protocol import Settings
from fathom.models.settings import Reasoning, Sampling
from fathom.models.thinking import ThinkingSettings, thinking_settings
from fathom.run.options import check_settings, generation_of
from fathom.types import Json


@dataclass(frozen=True, slots=True)
class Chosen:
    """How a model is asked, and what the tables say of it.

    Attributes:
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
    sampling: Sampling,
    reasoning: Reasoning,
    *,
    system: str = WHOLE.name,
    server_command: str | None = None,
    label: str | None = None,
    step: int | None = None,
    subset: Mapping[str, Json] | None = None,
) -> Chosen:
    """How a model is asked.

    Args:
        model: ``PROVIDER/NAME``.
        sampling: How the user wants it to be asked.
        reasoning: How the user wants it to reason.
        system: The system around it.
        server_command: The command line with which its server was started; None if unsaid.
        label: The user's name for the run; None for none.
        step: The step of the training after which the model was saved; None if unsaid.
        subset: Description of the subset to run; None for all samples.

    Raises:
        FathomError: An option is wrong.
    """
    price = find_price(model, sampling.model_base_url)
    entry = find_settings(model) if reasoning.thinking is not None else None
    decided = thinking_settings(
        model,
        entry,
        sampling,
        reasoning,
        known_window=price.window,
        generation=generation_of(
            sampling.generation,
            reasoning_effort=reasoning.reasoning_effort,
            reasoning_tokens=reasoning.reasoning_tokens,
        ),
    )
    settings = Settings(
        model=model,
        temperature=decided.temperature,
        seed=sampling.seed,
        max_output_tokens=decided.max_output_tokens,
        window=sampling.window,
        on_overflow=decided.on_overflow,
        generation=decided.generation,
        model_args=sampling.model_args or {},
        base_url=sampling.model_base_url,
        chat_template=sampling.chat_template,
        subset=subset,
        thinking=decided.thinking,
        kind=decided.kind,
        system=system_of(system),
        server_command=server_command,
        label=label or "",
        step=step,
        chosen_temperature=sampling.temperature != "default",
    )
    check_settings(settings)
    return Chosen(settings, price, entry, decided)
