"""Measures how well models predict texts, part by part, and keeps what was measured."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from fathom.analysis.losses import Loss, Rise
from fathom.models.loop import drive
from fathom.models.protocol import RequestError
from fathom.printing import readable
from fathom.run.likelihood.tokens import Backend, TokenLogprobs
from fathom.storage.atomic import whole_file
from fathom.types import FathomError

LOSSES = "losses.json"

Measured = dict[str, dict[str, list[float | None]]]
"""The loss of each part of a text, by the name of the model and the id of the text."""
_FILE: TypeAdapter[dict[str, Measured]] = TypeAdapter(dict[str, Measured])


@readable
@dataclass(frozen=True)
class Losses:
    """The losses of several models on the same texts.

    Attributes:
        points: One for each model and part that has a token, in their order.
        rises: One for each model whose loss clearly rises; with fewer than two texts nothing is clear.
        picture: The loss by the tokens before.
    """

    points: tuple[Loss, ...]
    rises: tuple[Rise, ...]
    picture: Path


def losses_in(scored: TokenLogprobs, ends: Sequence[int]) -> list[float | None]:
    """The mean loss of a token in each part of a text, in nats; None where a part has no token.

    Args:
        scored: The tokens of the text.
        ends: As of ``parts_of``; tokens beyond the last are left out.
    """
    losses: list[float | None] = []
    for start, end in zip((0, *ends), ends, strict=False):
        known = [-logprob for logprob in scored.logprobs[start:end] if logprob is not None]
        losses.append(math.fsum(known) / len(known) if known else None)
    return losses


def measure_losses(
    backends: Mapping[str, Callable[[], Backend]],
    texts: Mapping[str, str],
    ends: Sequence[int],
    folder: Path,
    progress: Callable[[str, int], None],
) -> Measured:
    """Measure every model on every text; what was measured before is read from the folder.

    Args:
        backends: How each model is opened, by its name; one is open at a time.
        texts: By id.
        ends: The ends of the parts, in tokens.
        folder: Keeps ``losses.json``, which is written after each text.
        progress: Called with a model's name and the number of its finished texts.

    Raises:
        FathomError: A text cannot be scored, or the folder cannot be written.
    """
    path = folder / LOSSES
    kept = _read(path)
    measured = kept.setdefault(",".join(map(str, ends)), {})
    for model, open_model in backends.items():
        done = measured.setdefault(model, {})

        def keep(name: str, losses: list[float | None], model: str = model) -> None:
            measured[model][name] = losses
            with whole_file(path, "wb") as stream:
                stream.write(_FILE.dump_json(kept, indent=1))
            progress(model, len(measured[model].keys() & texts.keys()))

        progress(model, len(done.keys() & texts.keys()))
        if left := {name: text for name, text in texts.items() if name not in done}:
            drive(_score(model, open_model(), left, ends, keep))
    return {model: {name: measured[model][name] for name in texts} for model in backends}


async def _score(
    model: str,
    backend: Backend,
    texts: Mapping[str, str],
    ends: Sequence[int],
    keep: Callable[[str, list[float | None]], None],
) -> None:
    try:
        for name, text in texts.items():
            try:
                keep(name, losses_in(await backend.score(text), ends))
            except RequestError as error:
                raise FathomError(f"model {model}, text {name}: {error.failure.message}") from error
    finally:
        await backend.close()


def _read(path: Path) -> dict[str, Measured]:
    try:
        return _FILE.validate_json(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValidationError) as error:
        raise FathomError(
            f"{path}: not a file that `fathom lab loss` wrote; remove it, or give another `out`"
        ) from error
