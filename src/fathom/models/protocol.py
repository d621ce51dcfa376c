"""The protocol of models and offline baselines: calls, clients, and the settings of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

from fathom.extend.methods import WHOLE, Method
from fathom.models.failures import Failure
from fathom.models.form import PromptForm
from fathom.models.local_model import full_name
from fathom.models.model_settings import Kind
from fathom.models.overflow import Overflow
from fathom.models.thinking import Thinking
from fathom.safety.address import check_address
from fathom.safety.secrets import remember, remember_command, strip_given
from fathom.types import AnswerKind, Json, Reply

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, ChatMessageAssistant
    from inspect_ai.tool import ToolDef

ChatTemplate: TypeAlias = Literal["always", "by-task", "never"]

BASELINES = "fathom/"
RAY_VLLM = "ray-vllm/"

PROBE = ""
"""``Call.sample`` of a request that only checks whether the server answers."""
TINY_PROMPT = "Reply with OK."
"""Its prompt, if no other prompt is known to work."""


@dataclass(frozen=True, slots=True)
class Call:
    """The parameters of a request besides its prompt.

    Attributes:
        sample: Id of the sample.
        epoch: Number of the repetition, from 1.
        seed: Seed of the run; each epoch adds its number.
        max_output_tokens: Cap on the reply, reasoning included.
        stop: Stop sequences to send.
        continued: Whether the prompt is sent without a chat template.
        answer: The kind of answer that the prompt asks for; used by offline baselines only.
        ending: Characters of the prompt after its context, which are the question; 0 if unknown.
        form: The form of the sample's prompt, for offline baselines; always None for models.
        shared: Characters at the beginning of the prompt with which other requests of the run begin too, adjacent to
            this one; 0 if there are none.
        response_format: The form that the reply must have, for servers that know it; None for words.
    """

    sample: str
    epoch: int
    seed: int
    max_output_tokens: int
    stop: tuple[str, ...] = ()
    continued: bool = False
    answer: AnswerKind = "words"
    ending: int = 0
    form: PromptForm | None = None
    shared: int = 0
    response_format: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class Chat:
    """A conversation that a model is to continue.

    Attributes:
        messages: All messages, as Inspect has them.
        tools: Tools that the model may call.
        last: Whether the model has to answer; some providers want the tools all the same.
    """

    messages: "Sequence[ChatMessage]"
    tools: "Sequence[ToolDef]" = ()
    last: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """What a model said in a conversation.

    Attributes:
        reply: Its words, tokens and status. A turn that calls tools is ``ok``, also without words.
        message: The message with its tool calls; None if there was no reply.
    """

    reply: Reply
    message: "ChatMessageAssistant | None" = None


@dataclass(frozen=True, slots=True)
class Measured:
    """One request with its times.

    Attributes:
        first: Seconds until the first token of the reply.
        whole: Seconds until the last one.
        tokens_in: Tokens of the prompt, as the model counts them; None if unknown.
        tokens_out: Tokens of the reply; None if unknown.
        cached: Bytes of keys and values, after the prompt and at the end; None if unknown.
    """

    first: float
    whole: float
    tokens_in: int | None
    tokens_out: int | None
    cached: tuple[int, int] | None = None


class RequestError(Exception):
    """A failed request; ``failure`` classifies it."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Client(Protocol):
    """Answers prompts. One call is one request: the runner retries, the client does not.

    ``window`` and ``policy`` describe truncation by the client itself; ``window`` is None if it does none.
    """

    @property
    def window(self) -> int | None:
        """Tokens (suite's tokenizer) beyond which the client itself truncates or refuses a prompt."""
        ...

    @property
    def policy(self) -> Overflow:
        """What the client does with a longer prompt."""
        ...

    async def complete(self, prompt: str, call: Call) -> Reply:
        """Answer one prompt.

        Raises:
            RequestError: There was no reply.
        """
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


@runtime_checkable
class Conversing(Protocol):
    """A client that can also continue conversations, in which the model calls tools."""

    async def converse(self, chat: Chat, call: Call) -> Turn:
        """Continue a conversation; one request, as ``Client.complete``.

        Raises:
            RequestError: There was no reply.
        """
        ...


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a model that affect replies. Runs with different settings do not mix.

    Attributes:
        model: Name, ``PROVIDER/NAME`` as in Inspect or ``fathom/BASELINE[?window=4k&truncate=middle]``; ``local`` is
            replaced by the model which it stands for.
        temperature: Sampling temperature; None for the provider's default.
        seed: Seed for baselines, and for providers that support one.
        max_output_tokens: Cap on every reply; None for each task's own.
        window: The model's window in tokens, prompt and reply together; None if unknown.
        on_overflow: What happens to prompts that exceed the window.
        generation: Further options of Inspect's ``GenerateConfig`` (``reasoning_effort``, ``top_p``, ...).
        model_args: Arguments of the provider.
        base_url: Address of the server; None for the provider's own.
        chat_template: Which prompts are sent with the chat template: ``always`` all, ``by-task`` all but those to be
            continued, ``never`` none.
        subset: Name and hash of the subset to run; None for all samples.
        thinking: Settings of the thinking or non-thinking score; None for other runs.
        kind: The kind of model as the user says in a run for neither score; None if unsaid.
        system: The system around the model.
        server_command: The command line with which the server was started; None if unsaid.
        label: The user's name for the run; "" for none.
        step: The step of the training after which the model was saved; None if unsaid.
        chosen_temperature: Whether the user chose the temperature: then it is not left out where the server refuses it.

    Raises:
        FathomError: The address is invalid, or a key in the arguments cannot be sent.
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
    kind: Kind | None = None
    system: Method = WHOLE
    server_command: str | None = None
    label: str = ""
    step: int | None = None
    chosen_temperature: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", full_name(self.model))
        if self.base_url is not None:
            check_address(self.base_url)
        object.__setattr__(self, "model_args", strip_given(self.model_args, "`model_args`"))
        # From here on they are redacted from everything that is written.
        remember(self.model_args, self.generation, self.base_url)
        remember_command(self.server_command or "")


def is_ray_vllm(model: str) -> bool:
    """Whether a model name names a model that vLLM computes on a Ray cluster, without a server."""
    return model.startswith(RAY_VLLM)


def is_baseline(model: str) -> bool:
    """Whether a model name names an offline baseline."""
    return model.startswith(BASELINES)
