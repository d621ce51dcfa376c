"""Settings of models and of requests to them, as users give them: groups of options."""

from typing import Annotated, Literal, TypeAlias

from fathom.options.declare import Option, Options, Read, at_least, given, opt, unset
from fathom.options.values import Pairs, temperature_of, temperature_or_default, window_of
from fathom.types import choices

Retries: TypeAlias = Annotated[int, opt("Number of retries after a temporary failure.", check=at_least(0))]
Timeout: TypeAlias = Annotated[float, opt("Seconds for one attempt.", metavar="SECONDS", check=at_least(0, above=True))]
MaxOutputTokens: TypeAlias = Annotated[
    int | None,
    opt(
        "Cap on every reply; by default each task's own, with room for reasoning.", metavar="TOKENS", check=at_least(1)
    ),
]
Temperature: TypeAlias = Annotated[
    Read[float | str | None, float | None],
    opt("Sampling temperature; negative leaves it to the provider.", metavar="NUMBER", read=temperature_of),
]
Generation: TypeAlias = Annotated[Pairs, opt("Generation option of Inspect. May be given more than once.", "-G")]
ModelArgs: TypeAlias = Annotated[
    Pairs, opt("Argument of the provider. May be given more than once.", "-M", flag="--model-arg")
]
ReasoningEffort: TypeAlias = Annotated[
    Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None,
    opt("Effort of reasoning: none, minimal, low, medium, high, xhigh or max.", metavar="EFFORT"),
]
BaseUrl: TypeAlias = Annotated[
    str | None, opt("Address of a server such as http://127.0.0.1:8000/v1; it needs no key.", metavar="URL")
]
Backoff: TypeAlias = Annotated[
    float, Option(help="Seconds before the first retry; doubles with each.", hidden=True, check=at_least(0))
]
Step: TypeAlias = Annotated[
    int | None,
    opt(
        "The step of the training after which the model was saved: reports draw recovery against it, and --label tells "
        "several trainings apart.",
        check=at_least(0),
    ),
]
ReasoningTokens: TypeAlias = Annotated[
    int | None, opt("Tokens for reasoning, added to each output cap.", metavar="TOKENS", check=at_least(0))
]


def _seed(value: int) -> str:
    return "" if 0 <= value < 2**63 else f"expected a whole number from 0 to {2**63 - 1}"


def _label(name: str | None) -> str:
    return "" if name is None or (0 < len(name) <= 60 and name.isprintable()) else "expected 1 to 60 characters"


class Sampling(Options, kw_only=True):
    """Model."""

    model_base_url: BaseUrl = None
    temperature: Annotated[
        Read[float | str | None, float | Literal["default"] | None],
        opt(
            "Sampling temperature; negative leaves it to the provider. Default: 0, for a model that is known to reason "
            "its own; with --thinking its own, or 1 if unknown.",
            metavar="NUMBER",
            read=temperature_or_default,
        ),
    ] = given("default")
    seed: Annotated[int, opt("Seed for baselines and for providers that take one.", check=_seed)] = 0
    max_output_tokens: MaxOutputTokens = None
    generation: Generation = unset
    model_args: ModelArgs = unset
    window: Annotated[
        Read[int | str | None, int | None],
        opt(
            "The model's context window, for prompt and reply together; for instance 128k.",
            metavar="TOKENS",
            read=window_of,
            check=at_least(1),
        ),
    ] = unset
    on_overflow: Annotated[
        choices.Overflow | None,
        opt(
            "What to do with prompts that exceed the window: refuse (do not send them), or remove their middle, left "
            "or right part. Default: refuse; with --thinking middle."
        ),
    ] = None
    chat_template: Annotated[
        Literal["always", "by-task", "never"],
        opt(
            "Which prompts reach the model through its chat template: always, by-task (all but examples or code to be "
            "continued), or never. The others are sent without it to /completions of --model-base-url."
        ),
    ] = "always"


class Served(Options, kw_only=True):
    """Model."""

    server_command: Annotated[
        str | None,
        opt(
            "The command line with which the server was started, recorded in run.json without keys: a client cannot "
            "see a server's flags.",
            metavar="TEXT",
        ),
    ] = None
    label: Annotated[
        str | None,
        opt(
            "A name for this run, such as step-2000, shown beside the model's: it tells apart checkpoints that "
            "a server serves under one name.",
            metavar="NAME",
            check=_label,
        ),
    ] = None
    step: Step = None

    @property
    def names(self) -> list[str]:
        """What the user calls the run: its label and its step."""
        return [*([self.label] if self.label else []), *([] if self.step is None else [f"step {self.step}"])]


class Reasoning(Options, kw_only=True):
    """Reasoning."""

    thinking: Annotated[
        Literal["on", "off"] | None,
        opt(
            "LongBench Pro's thinking or non-thinking protocol. Prompts, caps, temperature and truncation come from "
            "the model's entry in `fathom list settings`."
        ),
    ] = None
    model_kind: Annotated[
        Literal["thinking", "mixed", "instruct"] | None,
        opt(
            "Whether the model always reasons (thinking), can be switched (mixed) or never reasons natively "
            "(instruct). Say it for a model that `fathom list settings` does not know, such as my-model on your own "
            "server: without room for its reasoning, replies end before the answer."
        ),
    ] = None
    thinking_switch: Annotated[
        Literal["effort", "tokens", "enable_thinking", "thinking", "type", "none"] | None,
        opt(
            "With --thinking: how reasoning is switched: effort, tokens, enable_thinking, thinking, type or none.",
            metavar="SWITCH",
        ),
    ] = None
    reasoning_effort: ReasoningEffort = None
    reasoning_tokens: ReasoningTokens = None


class Limits(Options, kw_only=True):
    """Limits."""

    max_connections: Annotated[int, opt("Requests in flight at once.", check=at_least(1))] = 16
    retries: Retries = choices.RETRIES
    timeout: Timeout = choices.TIMEOUT
    max_tokens_total: Annotated[
        int | None, opt("Stop at this many tokens, and do not start beyond.", metavar="TOKENS", check=at_least(1))
    ] = None
    max_cost: Annotated[
        float | None,
        opt("Stop at this cost in US dollars, and do not start beyond.", metavar="DOLLARS", check=at_least(0)),
    ] = None


class AskSettings(Options, kw_only=True):
    """Models."""

    base_url: Annotated[BaseUrl, opt(flag="--model-base-url")] = None
    temperature: Temperature = given(-1.0)
    max_output_tokens: Annotated[
        int | None, opt("Cap on every reply, with reasoning.", metavar="TOKENS", check=at_least(1))
    ] = None
    max_connections: Annotated[int, opt("Requests in flight at once.", check=at_least(1))] = 4
    max_cost: Annotated[float | None, opt("Stop at this cost in US dollars.", metavar="DOLLARS", check=at_least(0))] = (
        None
    )
    retries: Retries = choices.RETRIES
    timeout: Timeout = choices.TIMEOUT
    seed: Annotated[int, opt("Seed of offline baselines and of the choice of documents.", check=_seed)] = 0
    backoff: Backoff = 1.0
