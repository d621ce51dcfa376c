"""An entailment model: whether a statement follows from a passage, by a classifier on this machine (``nli/NAME``).

NAME is a model of the hub or a folder that transformers' pipeline ``text-classification`` loads, trained on pairs of a
premise and a hypothesis. Such models read some hundred tokens. So a passage is split between sentences, and the piece
that supports a statement best counts, as in SummaC (Laban et al. 2022); a piece has several sentences, not one.
"""

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from fathom.models.failures import Failure, shorten
from fathom.models.overflow import Overflow
from fathom.models.protocol import TINY_PROMPT, Call, RequestError
from fathom.options.terminal import no_widgets
from fathom.plugins.extras import install
from fathom.tokens.counts import cut_points
from fathom.types import FathomError, Reply

PREFIX = "nli/"
WINDOW = 512  # tokens read at once at most, premise and hypothesis together
SPECIAL = 4  # tokens between and around them
BATCH = 16


def is_entailment(model: str) -> bool:
    """Whether a model name names an entailment model."""
    return model.startswith(PREFIX)


@dataclass(frozen=True)
class Entailment:
    """A local classifier of pairs, loaded once.

    Attributes:
        model: Name or folder of the model.
    """

    model: str

    def load(self) -> None:
        """Load the model.

        Raises:
            FathomError: A library is not installed, or it is no entailment model.
        """
        _ = self._loaded

    def __call__(self, passage: str, statement: str) -> tuple[float, str] | None:
        """How well a passage supports a statement.

        Args:
            passage: Any text with at least one letter.
            statement: One sentence.

        Returns:
            The highest probability, in [0, 1], that a piece of the passage entails the statement, and that piece; None
            if the statement is longer than half of the model's window.
        """
        classify, label, room = self._loaded
        if self._size(statement) > room:
            return None
        pieces = self._pieces(passage)
        pairs = [{"text": piece, "text_pair": statement} for piece in pieces]
        classified = classify(pairs, batch_size=BATCH, top_k=None, function_to_apply="softmax")
        each = [next(float(entry["score"]) for entry in scores if entry["label"] == label) for scores in classified]
        best = max(range(len(each)), key=each.__getitem__)
        return each[best], pieces[best]

    @cached_property
    def _loaded(self) -> tuple[Any, str, int]:
        """The pipeline, its label of entailment, and the tokens of half its window."""
        try:
            import torch  # noqa: F401

            with no_widgets():
                from transformers import pipeline
            from transformers.utils.logging import disable_progress_bar, set_verbosity_error
        except ImportError as error:
            raise FathomError(f"{PREFIX}{self.model} needs torch and transformers: {install('hf')}") from error
        disable_progress_bar()
        set_verbosity_error()
        try:
            classify = pipeline("text-classification", model=self.model)
        except (OSError, ValueError, KeyError) as error:
            raise FathomError(f"{PREFIX}{self.model}: not a classifier of texts: {shorten(str(error))}") from error
        labels = list(classify.model.config.id2label.values())
        entailed = [label for label in labels if str(label).lower().startswith("entail")]
        if len(entailed) != 1:
            raise FathomError(
                f"{PREFIX}{self.model}: not an entailment model: its labels are {', '.join(map(str, labels))}, and "
                "exactly one must begin with entail"
            )
        holds = getattr(classify.model.config, "max_position_embeddings", None) or WINDOW
        window = min(WINDOW, holds, classify.tokenizer.model_max_length)
        return classify, entailed[0], (window - SPECIAL) // 2

    @cached_property
    def _pieces(self) -> Callable[[str], Sequence[str]]:
        # The statements about a passage follow one another.
        return lru_cache(maxsize=8)(lambda passage: list(self._split(passage)))

    def _split(self, text: str) -> Iterator[str]:
        """Pieces that fit half the window, split near the middle: between sentences, else words, else letters."""
        text = text.strip()
        if self._size(text) <= self._loaded[2] or len(text) < 2:
            yield text
            return
        middle = len(text) // 2
        inner = [point for point in cut_points(text) if 0 < point < len(text)]
        inner = inner or [match.start() for match in re.finditer(r"\s+", text)]
        cut = min(inner, key=lambda point: abs(point - middle), default=middle)
        yield from self._split(text[:cut])
        yield from self._split(text[cut:])

    def _size(self, text: str) -> int:
        return len(self._loaded[0].tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])


class EntailmentClient:
    """Answers whether a passage entails a statement, computed in a thread of its own.

    A prompt is a JSON object of ``passage`` and ``statement``; a reply one of ``entailment``, in [0, 1], and ``piece``,
    or of ``problem``.

    Args:
        model: The model.
    """

    window: int | None = None
    policy: Overflow = "refuse"

    def __init__(self, model: Entailment) -> None:
        self._model = model
        self._thread = ThreadPoolExecutor(1, "entailment")

    def load(self) -> None:
        """Load the model before the first request.

        Raises:
            FathomError: See ``Entailment``.
        """
        self._model.load()

    async def complete(self, prompt: str, call: Call) -> Reply:
        """Classify one statement.

        Raises:
            RequestError: The model failed.
        """
        if prompt == TINY_PROMPT:
            prompt = json.dumps({"passage": prompt, "statement": prompt})
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._answer, prompt)
        except Exception as error:
            raise RequestError(Failure("bad", shorten(str(error)))) from None

    async def close(self) -> None:
        """Shut down the thread without waiting for running work."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _answer(self, prompt: str) -> Reply:
        # A lone surrogate cannot be tokenized.
        asked = {name: str(text).encode("utf-8", "replace").decode() for name, text in json.loads(prompt).items()}
        result = self._model(asked["passage"], asked["statement"])
        content = (
            {"problem": "the statement is longer than half of what the model reads at once"}
            if result is None
            else {"entailment": round(result[0], 4), "piece": result[1]}
        )
        return Reply("ok", json.dumps(content, ensure_ascii=False), stop="stop", tokens_in=None, tokens_out=0)
