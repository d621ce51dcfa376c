"""How well models predict long texts: the loss per token by the tokens before it, of the same texts."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev

from pydantic import TypeAdapter, ValidationError

from fathom.models.loop import drive
from fathom.models.protocol import RequestError
from fathom.printing import readable
from fathom.run.likelihood.tokens import Backend, TokenLogprobs
from fathom.stats.student import upper_quantile
from fathom.storage.atomic import whole_file
from fathom.types import FathomError

LOSSES = "losses.json"
SHORTEST = 128
"""Tokens of the first part of a text."""
MOST_PARTS = 8
LEVEL = 0.95

Measured = dict[str, dict[str, list[float | None]]]
"""The loss of each part of a text, by the name of the model and the id of the text."""
_FILE: TypeAdapter[dict[str, Measured]] = TypeAdapter(dict[str, Measured])


@dataclass(frozen=True, slots=True)
class Loss:
    """The loss of a model in one part of the texts.

    Attributes:
        model: Its name.
        start: Tokens before the part.
        end: Tokens up to its end.
        texts: Number of texts.
        loss: Mean over texts of the mean negative log-likelihood of a token, in nats.
        low: Lower end of its 95% interval (Student, over texts); None with fewer than two texts.
        high: Upper end.
        difference: To the first model, in nats, of the same texts; None for the first model.
        difference_low: Lower end of the difference's 95% interval.
        difference_high: Upper end.
    """

    model: str
    start: int
    end: int
    texts: int
    loss: float
    low: float | None
    high: float | None
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None


@dataclass(frozen=True, slots=True)
class Rise:
    """Where the loss of a model clearly rises.

    Attributes:
        model: Its name.
        before: Its part with the least loss.
        after: The first later part whose loss is clearly higher in the same texts.
    """

    model: str
    before: Loss
    after: Loss


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


def parts_of(length: int) -> tuple[int, ...]:
    """The ends of the parts of a text: its length halved again and again, at most eight times.

    Args:
        length: Tokens of the texts.
    """
    ends = [length]
    while len(ends) < MOST_PARTS and ends[-1] // 2 >= SHORTEST:
        ends.append(ends[-1] // 2)
    return tuple(reversed(ends))


def losses_in(scored: TokenLogprobs, ends: Sequence[int]) -> list[float | None]:
    """The mean loss of a token in each part of a text, in nats; None where a part has no token.

    Args:
        scored: The tokens of the text.
        ends: As of ``parts_of``; tokens beyond the last are left out.
    """
    found: list[float | None] = []
    for start, end in zip((0, *ends), ends, strict=False):
        known = [-logprob for logprob in scored.logprobs[start:end] if logprob is not None]
        found.append(math.fsum(known) / len(known) if known else None)
    return found


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
    kept = _kept(path)
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


def _kept(path: Path) -> dict[str, Measured]:
    try:
        return _FILE.validate_json(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValidationError) as error:
        raise FathomError(
            f"{path}: not a file that `fathom lab loss` wrote; remove it, or give another `out`"
        ) from error


def compared(measured: Measured, ends: Sequence[int]) -> list[Loss]:
    """The losses of all models, with the differences to the first of them.

    Args:
        measured: As ``measure_losses`` returns it.
        ends: The ends of the parts, in tokens.

    Returns:
        One for each model and part that has a token, in their order.
    """
    losses = list[Loss]()
    base = next(iter(measured.values()), {})
    for number, (model, texts) in enumerate(measured.items()):
        for place, (start, end) in enumerate(zip((0, *ends), ends, strict=False)):
            here = {name: loss for name, parts in texts.items() if (loss := parts[place]) is not None}
            if not here:
                continue
            mean, low, high = mean_with_interval(list(here.values()))
            paired = [loss - other for name, loss in here.items() if (other := base[name][place]) is not None]
            difference = mean_with_interval(paired) if number and paired else (None, None, None)
            losses.append(Loss(model, start, end, len(here), mean, low, high, *difference))
    return losses


def mean_with_interval(values: Sequence[float]) -> tuple[float, float | None, float | None]:
    """The mean of some values, and the ends of its 95% interval by Student's distribution; None for one value."""
    mean = fmean(values)
    if len(values) < 2:
        return mean, None, None
    half = upper_quantile((1 - LEVEL) / 2, len(values) - 1) * stdev(values) / math.sqrt(len(values))
    return mean, mean - half, mean + half


def rises_in(measured: Measured, losses: Sequence[Loss]) -> list[Rise]:
    """Where the loss of each model clearly rises.

    Args:
        measured: As ``measure_losses`` returns it.
        losses: As ``compared`` returns them.
    """
    rises = list[Rise]()
    for model, texts in measured.items():
        best: tuple[int, Loss] | None = None
        for place, loss in enumerate(one for one in losses if one.model == model):
            if best is not None and _clearly_above(texts.values(), place, best[0]):
                rises.append(Rise(model, best[1], loss))
                break
            if best is None or loss.loss <= best[1].loss:
                best = place, loss
    return rises


def _clearly_above(texts: Iterable[Sequence[float | None]], place: int, before: int) -> bool:
    pairs = ((parts[place], parts[before]) for parts in texts)
    rises = [after - earlier for after, earlier in pairs if after is not None and earlier is not None]
    _, low, _ = mean_with_interval(rises) if rises else (0.0, None, None)
    return low is not None and low > 0
