"""Offline readers: plain functions that answer a prompt without a model.

They see the prompt and are told which kind of answer it asks for (``Task.answer``), and nothing else.

``fathom/guess`` shows what chance gives, ``fathom/lexical`` what matching words gives; either of them behind a window
of known size checks the instrument itself. ``fathom/longest``, ``fathom/first`` and ``fathom/copy`` take shortcuts
where there are candidates or an example, and guess elsewhere.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import TypeAlias
from urllib.parse import parse_qsl

from fathom.length import parse_length
from fathom.names import unknown
from fathom.run.failures import Failure, shorten
from fathom.run.model import Call, RequestError
from fathom.run.overflow import Overflow, fit, parse_policy
from fathom.run.readers.guess import copy, first, guess, longest
from fathom.run.readers.lexical import read
from fathom.tokens import Tokenizer
from fathom.types import AnswerKind, FathomError, Reply

Reader: TypeAlias = Callable[[str, AnswerKind, Random], str]

_READERS: Mapping[str, tuple[Reader, str]] = MappingProxyType(
    {
        "fathom/guess": (guess, "a valid answer at random"),
        "fathom/lexical": (
            read,
            "the best sentence, passage or answer by BM25; parts in order by the words at their edges",
        ),
        "fathom/longest": (longest, "the longest of the answers to choose among, else a guess"),
        "fathom/first": (
            first,
            "the first of the answers, or the parts in the order in which they stand, else a guess",
        ),
        "fathom/copy": (copy, "the example that the instructions show, else a guess"),
    }
)


def readers() -> Mapping[str, str]:
    """One line about each offline reader, by name."""
    return {name: line for name, (_, line) in _READERS.items()}


def get_reader(name: str) -> Reader:
    """The offline reader of that name: takes a prompt, the kind of answer it asks for and a random generator.

    Raises:
        FathomError: There is none; the message names those that there are.
    """
    if name not in _READERS:
        raise unknown("offline reader", name, _READERS, see="fathom list models")
    return _READERS[name][0]


@dataclass(frozen=True)
class ReaderClient:
    """An offline reader, behind a window if its name says so: it cuts prompts as a server of that window would."""

    reader: Reader
    tokenizer: Tokenizer | None = None
    window: int | None = None
    policy: Overflow = "refuse"

    async def complete(self, prompt: str, call: Call) -> Reply:
        """Read the prompt; the reader's dice are seeded by (seed, sample, epoch)."""
        removed = 0
        if self.window is not None and self.tokenizer is not None:
            fitted = fit(prompt, self.window, self.policy, self.tokenizer)
            if fitted is None:
                raise RequestError(
                    Failure("overflow", f"the prompt exceeds the reader's window of {self.window} tokens")
                )
            prompt, removed = fitted.prompt, fitted.removed
        rng = Random(f"{call.seed}/{call.sample}/{call.epoch}")
        try:
            text = self.reader(prompt, call.answer, rng)
        except Exception as error:
            raise RequestError(Failure("bad", shorten(f"{type(error).__name__}: {error}", 300))) from error
        return Reply(status="ok", text=text, stop="stop", truncated=removed)

    async def close(self) -> None:
        """Nothing to give back."""


def reader_client(model: str, tokenizer: Callable[[], Tokenizer]) -> ReaderClient:
    """The client of an offline reader.

    Args:
        model: ``fathom/NAME``, or ``fathom/NAME?window=4k&truncate=refuse|middle|left|right``.
        tokenizer: Loads the tokenizer in which the window is measured.

    Raises:
        FathomError: The reader or an option is unknown.
    """
    name, _, query = model.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    unknown = sorted(set(options) - {"window", "truncate"})
    if unknown or (query and not options):
        raise FathomError(
            f"model {model!r}: unknown reader option {(unknown or [query])[0]!r}; expected window, truncate"
        )
    if "truncate" in options and "window" not in options:
        raise FathomError(f"model {model!r}: truncate needs a window, as in {name}?window=4k&truncate=middle")
    window = parse_length(options["window"]) if "window" in options else None
    policy = parse_policy(options.get("truncate", "refuse"), f"model {model!r}")
    return ReaderClient(get_reader(name), tokenizer() if window else None, window, policy)
