"""Offline baselines: plain functions that answer a prompt without a model.

They get the prompt, the kind of answer it asks for (``Task.answer``) and the form of the sample's prompt
(``fathom.models.form``), and nothing else.

``fathom/guess`` shows the chance level, ``fathom/lexical`` what word matching achieves; either of them with a window
of known size validates the measurement itself. ``fathom/longest``, ``fathom/first`` and ``fathom/copy`` take shortcuts
if there are candidates or an example, and guess otherwise.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Protocol
from urllib.parse import parse_qsl

from fathom.models.baselines.guess import copy, first, guess, longest
from fathom.models.baselines.lexical import read
from fathom.models.failures import Failure, shorten
from fathom.models.form import PromptForm
from fathom.models.overflow import Overflow, fit, parse_policy
from fathom.models.protocol import Call, RequestError
from fathom.plugins.names import did_you_mean, unknown
from fathom.tokens.length import WIDEST, parse_length
from fathom.tokens.tokenizers import Tokenizer
from fathom.types import AnswerKind, FathomError, Reply


class Baseline(Protocol):
    """Answers a prompt without a model."""

    def __call__(self, prompt: str, answer: AnswerKind, rng: Random, form: PromptForm | None = None) -> str:
        """The answer.

        Args:
            prompt: The whole prompt, or what a window left of it.
            answer: The kind of answer that it asks for.
            rng: Random generator.
            form: The form of the sample's prompt; None for a prompt without a sample.
        """
        ...


_BASELINES: Mapping[str, tuple[Baseline, str]] = MappingProxyType(
    {
        "fathom/guess": (guess, "a valid answer at random"),
        "fathom/lexical": (
            read,
            "the best sentence, passage or answer by BM25; parts ordered by the words at their edges",
        ),
        "fathom/longest": (longest, "the longest of the candidate answers, else a guess"),
        "fathom/first": (
            first,
            "the first of the candidate answers, or the parts in the order given, else a guess",
        ),
        "fathom/copy": (copy, "the example in the instructions, else a guess"),
    }
)


def baselines() -> Mapping[str, str]:
    """Descriptions of the offline baselines, by name."""
    return {name: line for name, (_, line) in _BASELINES.items()}


def get_baseline(name: str) -> Baseline:
    """The offline baseline of that name: takes a prompt, the kind of answer it asks for, a random generator
    and the form of the sample's prompt.

    Raises:
        FathomError: It does not exist; the message names those that do.
    """
    if name not in _BASELINES:
        raise unknown("offline baseline", name, _BASELINES, see="fathom list models")
    return _BASELINES[name][0]


@dataclass(frozen=True)
class BaselineClient:
    """An offline baseline, with a window if its name says so: it then truncates prompts as a server would."""

    baseline: Baseline
    tokenizer: Tokenizer | None = None
    window: int | None = None
    policy: Overflow = "refuse"

    async def complete(self, prompt: str, call: Call) -> Reply:
        """Answer the prompt; the random generator is seeded by (seed, sample, epoch).

        Raises:
            RequestError: The prompt exceeds the window, or the baseline failed.
        """
        removed = 0
        if self.window is not None and self.tokenizer is not None:
            fitted = fit(prompt, self.window, self.policy, self.tokenizer)
            if fitted is None:
                raise RequestError(
                    Failure("overflow", f"the prompt exceeds the baseline's window of {self.window} tokens")
                )
            prompt, removed = fitted.prompt, fitted.removed
        rng = Random(f"{call.seed}/{call.sample}/{call.epoch}")
        try:
            text = self.baseline(prompt, call.answer, rng, call.form)
        except Exception as error:
            raise RequestError(Failure("bad", shorten(f"{type(error).__name__}: {error}", 300))) from error
        return Reply(status="ok", text=text, stop="stop", truncated=removed)

    async def close(self) -> None:
        """Nothing to release."""


def baseline_client(model: str, tokenizer: Callable[[], Tokenizer]) -> BaselineClient:
    """The client of an offline baseline.

    Args:
        model: ``fathom/NAME``, or ``fathom/NAME?window=4k&truncate=refuse|middle|left|right``.
        tokenizer: Loads the tokenizer in which the window is counted.

    Raises:
        FathomError: The baseline or an option is unknown.
    """
    name, _, query = model.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    strange = [*sorted(set(options) - {"window", "truncate"}), *([query] if query and not options else [])]
    if strange:
        hint = did_you_mean(strange[0], ("window", "truncate"))
        raise FathomError(f"model {model!r}: unknown option {strange[0]!r}; expected window, truncate{hint}")
    if "truncate" in options and "window" not in options:
        raise FathomError(f"model {model!r}: truncate needs a window, as in {name}?window=4k&truncate=middle")
    window = parse_length(options["window"], WIDEST) if "window" in options else None
    policy = parse_policy(options.get("truncate", "refuse"), f"model {model!r}")
    return BaselineClient(get_baseline(name), tokenizer() if window else None, window, policy)
