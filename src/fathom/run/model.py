"""The protocol behind which every model and offline reader stands: calls, clients, and the settings of a run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from fathom.address import check_address
from fathom.run.failures import Failure
from fathom.run.overflow import Overflow
from fathom.run.thinking import Thinking
from fathom.secrets import remember
from fathom.types import AnswerKind, Json, Reply

ChatTemplate: TypeAlias = Literal["always", "by-task", "never"]
CHAT_TEMPLATES: tuple[ChatTemplate, ...] = ("always", "by-task", "never")

READERS = "fathom/"

PROBE = ""
"""``Call.sample`` of a request that only finds out whether the server answers."""
TINY_PROMPT = "Reply with OK."
"""What it asks, where no other prompt is known to work."""


@dataclass(frozen=True, slots=True)
class Call:
    """What a request needs besides its prompt.

    Attributes:
        sample: Id of the sample.
        epoch: Number of the repetition, from 1.
        seed: Seed of the run; epochs differ by their number.
        max_output_tokens: Cap on the reply, reasoning included.
        stop: Texts at which the model is told to end.
        continued: Whether the prompt goes to the model as it is, without a chat template.
        answer: The kind of answer that the prompt asks for, which only offline readers look at.
    """

    sample: str
    epoch: int
    seed: int
    max_output_tokens: int
    stop: tuple[str, ...] = ()
    continued: bool = False
    answer: AnswerKind = "words"


class RequestError(Exception):
    """One request failed; ``failure`` says what that means."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Client(Protocol):
    """Answers prompts. One call is one request: the runner repeats failed ones, the client does not.

    ``window`` and ``policy`` describe cuts that the client makes itself; ``window`` is None where it makes none.
    """

    @property
    def window(self) -> int | None:
        """Tokens (suite's tokenizer) beyond which the client itself cuts or refuses a prompt."""
        ...

    @property
    def policy(self) -> Overflow:
        """What the client does with a longer prompt."""
        ...

    async def complete(self, prompt: str, call: Call) -> Reply:
        """Answer one prompt.

        Raises:
            RequestError: No reply came.
        """
        ...

    async def close(self) -> None:
        """Give back connections."""
        ...


@dataclass(frozen=True, slots=True)
class Settings:
    """How a model is asked: everything that changes replies. Two runs with other settings do not mix.

    Attributes:
        model: Name, ``PROVIDER/NAME`` as Inspect takes it or ``fathom/READER[?window=4k&truncate=middle]``.
        temperature: Sampling temperature; None leaves it to the provider.
        seed: Seed for readers, and for providers that take one.
        max_output_tokens: Cap on every reply; None takes each task's own.
        window: Model's window in tokens, prompt and reply together; None if unknown.
        on_overflow: What happens to prompts beyond the window.
        generation: Further options of Inspect's ``GenerateConfig`` (``reasoning_effort``, ``top_p``, ...).
        model_args: Arguments of the provider.
        base_url: Address of the server; None takes the provider's own.
        chat_template: Which prompts reach the model through its chat template: ``always`` all, ``by-task`` those of
            tasks whose prompt is no text to be continued, ``never`` none.
        subset: Name and hash of the subset that is asked; None for all samples.
        thinking: How the model thinks, or not, where the run is for its thinking or non-thinking score.

    Raises:
        FathomError: The address is none.
    """

    model: str
    temperature: float | None = 0.0
    seed: int = 0
    max_output_tokens: int | None = None
    window: int | None = None
    on_overflow: Overflow = "refuse"
    generation: Mapping[str, Json] = field(default_factory=dict)
    model_args: Mapping[str, Json] = field(default_factory=dict)
    base_url: str | None = None
    chat_template: ChatTemplate = "always"
    subset: Mapping[str, Json] | None = None
    thinking: Thinking | None = None

    def __post_init__(self) -> None:
        if self.base_url is not None:
            check_address(self.base_url)
        # From here on nothing that a server says can bring them into a file.
        remember(self.model_args, self.generation, self.base_url)


def is_reader(model: str) -> bool:
    """Whether a model name names one of the offline readers."""
    return model.startswith(READERS)
