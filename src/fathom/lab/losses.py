"""Measures how well models predict texts, part by part, and keeps what was measured."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from fathom.analysis.losses import Loss, LossesByText, Rise
from fathom.models.loop import drive
from fathom.models.protocol import RequestError
from fathom.printing import readable
from fathom.run.likelihood.tokens import Backend, TokenLogprobs
from fathom.storage.atomic import whole_file
from fathom.types import FathomError, Json

LOSSES = "losses.json"
_FILE: TypeAdapter[dict[str, list[float]]] = TypeAdapter(dict[str, list[float]])
"""The losses of the parts of a text, by a fingerprint of text, parts and model."""


@readable
@dataclass(frozen=True)
class Losses:
    """The losses of several models on the same texts.

    Attributes:
        points: One for each model and part, in their order.
        rises: One for each model whose loss clearly rises; with fewer than two texts nothing is clear.
        picture: The loss by the tokens before.
    """

    points: tuple[Loss, ...]
    rises: tuple[Rise, ...]
    picture: Path


@dataclass(frozen=True, slots=True)
class Text:
    """A text that is measured in parts.

    Attributes:
        id: Its name.
        text: What models read.
        ends: Where each part ends, in characters.
        sizes: Tokens of each part, by the tokenizer that cut it.
    """

    id: str
    text: str
    ends: tuple[int, ...]
    sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Reader:
    """A model, and how it is opened.

    Attributes:
        model: Its name.
        open: Loads it, or connects to it.
        described: What else its losses depend on: arguments, address, weights.
    """

    model: str
    open: Callable[[], Backend]
    described: Json = None


def losses_in(scored: TokenLogprobs, text: Text) -> list[float]:
    """The loss of each part of a text, in nats per token of the tokenizer that cut it.

    Models with different tokenizers can be compared: all of them are asked how likely the same characters are.

    Args:
        scored: The model's own tokens, each of which belongs to the part in which it begins.

    Raises:
        FathomError: The model gave no probability for a part, or an impossible one.
    """
    losses = list[float]()
    for number, (start, end, size) in enumerate(zip((0, *text.ends), text.ends, text.sizes, strict=False), 1):
        logprobs = [
            logprob
            for offset, logprob in zip(scored.offsets, scored.logprobs, strict=True)
            if start <= offset < end and logprob is not None
        ]
        if not logprobs or not math.isfinite(loss := -math.fsum(logprobs)):
            kind = "an infinite loss or none" if logprobs else "no likelihood"
            raise FathomError(
                f"text {text.id}, part {number}: {kind}; try -M dtype=float32, or shorter texts (`length`)"
            )
        losses.append(loss / (size - 1 if start == 0 and scored.logprobs[0] is None and size > 1 else size))
    return losses


def measure_losses(
    readers: Sequence[Reader], texts: Sequence[Text], folder: Path, progress: Callable[[str, int], None]
) -> LossesByText:
    """Measure every model on every text; what was measured before is read from the folder.

    Args:
        readers: One is open at a time.
        folder: Keeps ``losses.json``, which is written after each text.
        progress: Called with a model's name and the number of its finished texts.

    Raises:
        FathomError: A text cannot be scored, or the folder cannot be written.
    """
    path = folder / LOSSES
    measured = {reader.model: dict[str, Sequence[float]]() for reader in readers}
    for reader in readers:
        keys = {text.id: _key(reader, text) for text in texts}
        kept, known = _read(path), measured[reader.model]
        known |= {text.id: kept[keys[text.id]] for text in texts if keys[text.id] in kept}

        def keep(text: Text, losses: list[float], model: str = reader.model, keys: Mapping[str, str] = keys) -> None:
            measured[model][text.id] = losses
            latest = {**_read(path), keys[text.id]: losses}  # another command may have written meanwhile
            with whole_file(path, "wb") as stream:
                stream.write(_FILE.dump_json(latest, indent=1))
            progress(model, len(measured[model]))

        progress(reader.model, len(known))
        if left := [text for text in texts if text.id not in known]:
            drive(_score(reader, left, keep))
    return measured


async def _score(reader: Reader, texts: Sequence[Text], keep: Callable[[Text, list[float]], None]) -> None:
    backend = reader.open()
    try:
        for text in texts:
            try:
                keep(text, losses_in(await backend.score(text.text), text))
            except (RequestError, FathomError) as error:
                reason = error.failure.message if isinstance(error, RequestError) else error
                raise FathomError(f"model {reader.model}: {reason}") from error
    finally:
        await backend.close()


def _key(reader: Reader, text: Text) -> str:
    asked = [reader.model, reader.described, text.text, text.ends, text.sizes]
    return sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()[:32]


def _read(path: Path) -> dict[str, list[float]]:
    try:
        return _FILE.validate_json(path.read_bytes())
    except FileNotFoundError:
        return {}
    except NotADirectoryError:
        raise FathomError(f"`out` {path.parent}: a file, where a folder is expected") from None
    except (OSError, ValidationError) as error:
        raise FathomError(
            f"{path}: not a file that `fathom lab loss` wrote; remove it, or give another `out`"
        ) from error
