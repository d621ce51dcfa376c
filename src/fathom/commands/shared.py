"""Options that several commands have."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from fathom.options.declare import Config, Options, Read, arg, at_least, given, hidden, line_only, opt, unset
from fathom.options.values import (
    ManyPaths,
    MaybePath,
    Names,
    Pairs,
    Paths,
    Several,
    Tokens,
    depths_of,
    temperature_or_default,
    where_of,
    window_of,
)
from fathom.types import FathomError, choices
from fathom.types.choices import THRESHOLD as THRESHOLD

if TYPE_CHECKING:
    from fathom.parallel.units import Engine
    from fathom.run import Preflight, Progress

Where: TypeAlias = Annotated[
    Read[Mapping[str, Sequence[str] | str] | Sequence[str] | None, dict[str, tuple[str, ...]] | None],
    opt(
        "Only samples with one of these values of a facet: difficulty=Hard,Extreme; language, task and length count as "
        "facets. May be given more than once.",
        metavar="FACET=VALUE,...",
        many=True,
        read=where_of,
    ),
]
Lengths: TypeAlias = Annotated[
    Tokens, opt("Lengths in tokens, for instance 2k,4k,8k (8k is 8,192); default: those of the suite.")
]
AllowUnread: TypeAlias = Annotated[
    bool, opt("Go on although more than a tenth of the files of a corpus cannot be read; they are always named.")
]
Retries: TypeAlias = Annotated[int, opt("Number of retries after a temporary failure.", check=at_least(0))]
Timeout: TypeAlias = Annotated[float, opt("Seconds for one attempt.", metavar="SECONDS", check=at_least(0, above=True))]
Tasks: TypeAlias = Annotated[Names, opt("Only these tasks, separated by commas.")]
Epochs: TypeAlias = Annotated[int, opt("How often each sample is asked.", check=at_least(1))]
Limit: TypeAlias = Annotated[int | None, opt("Samples per task, language and length.", check=at_least(1))]
Subset: TypeAlias = Annotated[MaybePath, opt("Subset file: only its samples or items.")]
MaxOutputTokens: TypeAlias = Annotated[
    int | None,
    opt(
        "Cap on every reply; by default each task's own, with room for reasoning.", metavar="TOKENS", check=at_least(1)
    ),
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
RunFolder: TypeAlias = Annotated[
    MaybePath, opt("Run folder; by default runs/SUITE/MODEL, after the suite's folder.", "-o", metavar="FOLDER")
]
Backoff: TypeAlias = Annotated[float, hidden("Seconds before the first retry; doubles with each.")]
Confirm: TypeAlias = Annotated[
    Callable[["Preflight"], bool] | None, hidden("Called with what is ahead before any request; False stops.")
]
OnReply: TypeAlias = Annotated[Callable[["Progress"], None] | None, hidden("Called with the state after every reply.")]
ReasoningTokens: TypeAlias = Annotated[
    int | None, opt("Tokens for reasoning, added to each output cap.", metavar="TOKENS", check=at_least(0))
]


class Build(Options, kw_only=True):
    """Build."""

    items: Annotated[
        int | None,
        opt(
            "Items per task and language, the same ones at every length; default: as in the suite, else 50.",
            check=at_least(1),
        ),
    ] = None
    corpus: Annotated[
        Several,
        opt(
            "Documents: world, world?seed=7, a folder, or a file: .txt, .md, .pdf, .docx, .pptx, .html, .epub, .jsonl, "
            ".json, .csv, .tsv, .parquet or .arrow, also with .gz or .zst, or in a .zip; may be given more than once. "
            "Field names follow a question mark: FILE.jsonl?text=body&answers=gold.",
            metavar="SPEC",
        ),
    ] = unset
    tokenizer: Annotated[
        str | None,
        opt("Tokenizer that counts lengths: tekken, tiktoken:NAME, hf:NAME, words, chars, or a path.", metavar="NAME"),
    ] = None
    languages: Annotated[
        Names, opt("en, zh or en,zh; by default the languages of the corpus.", former=("--language",))
    ] = unset
    depths: Annotated[
        Read[Sequence[float | str] | str | float, tuple[float, ...]],
        opt(
            "Position of the gold text: random (or as in the suite), or a list of depths: front, middle, end, or 0 to "
            "1, such as 0,0.25,1.",
            metavar="DEPTH,...",
            read=depths_of,
            former=("--depth",),
        ),
    ] = given("random")
    exact: Annotated[bool, opt("Fill each length to the last token (slower).")] = False


class Choice(Options, kw_only=True):
    """Samples."""

    lengths: Lengths = unset
    tasks: Tasks = unset
    limit: Limit = None
    epochs: Epochs = 1
    subset: Subset = unset
    where: Where = unset


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
    seed: Annotated[int, opt("Seed for baselines and for providers that take one.", check=at_least(0))] = 0
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


class Recorded(Options, kw_only=True):
    """Other."""

    config: Annotated[Config | None, hidden("The file that options were read from; the manifest names it.")] = None


class Cluster(Options, kw_only=True):
    """Several machines."""

    engine: Annotated[
        Literal["ray"] | None,
        opt("ray: do the work in tasks of a Ray cluster; what is done is kept, and the same command resumes."),
    ] = None
    address: Annotated[
        str | None, opt("Address of the Ray cluster; default: RAY_ADDRESS, or this machine.", metavar="ADDRESS")
    ] = None


def engine_of(options: Cluster) -> "Engine | None":
    """The engine that does units of work; None for this machine.

    Raises:
        FathomError: There is an address of a cluster, but no engine.
    """
    from fathom.parallel.on_ray import in_tasks

    if options.address and options.engine is None:
        raise FathomError("--address is for --engine ray, which is missing")
    return in_tasks(options.address) if options.engine else None


class Terminal(Options, kw_only=True):
    """Other."""

    quiet: Annotated[bool, opt("No progress bar.", "-q")] = line_only(False)


class Asking(Terminal, kw_only=True):
    """Other."""

    yes: Annotated[bool, opt("Start without asking.", "-y")] = line_only(False)


Sources: TypeAlias = Annotated[ManyPaths, arg("Run folders and rows files.")]
Suites: TypeAlias = Annotated[
    Paths,
    opt(
        "A built suite with the prompts, if it moved since the run; may be given several times.",
        flag="--suite",
        metavar="FOLDER",
    ),
]
JudgeOfRows: TypeAlias = Annotated[
    str | None, opt("Which judge's scores to use if there are several; none ignores all judges.", metavar="NAME")
]
Unanswered: TypeAlias = Annotated[
    choices.Unanswered,
    opt(
        "zero: unanswered samples (refused, empty, or nothing visible before the output cap) score 0. drop: they are "
        "excluded from means.",
        former=("--unscored",),
    ),
]
Seed: TypeAlias = Annotated[int, opt("Seed of the bootstrap.", check=at_least(0))]
Tell: TypeAlias = Annotated[Callable[[str], None] | None, hidden("Called with notes that readers of the results need.")]


class Known(Options, kw_only=True):
    """Closed-book questions."""

    filter: Annotated[
        choices.Policy | None,
        opt(
            "Which questions that models answer closed-book are excluded: own (by the model itself), intersection (by "
            "any model; the default), panel (by a model of --panel), or none.",
            metavar="WHICH",
        ),
    ] = None
    threshold: Annotated[float, opt("Closed-book score from which a question counts as known.", metavar="SCORE")] = (
        THRESHOLD
    )
    panel: Annotated[
        Several,
        opt(
            "A run, a rows file or a model whose closed-book answers decide; may be given more than once.",
            metavar="SOURCE",
        ),
    ] = unset


class Json(Options, kw_only=True):
    """Other."""

    as_json: Annotated[bool, opt("Print JSON instead of a table.", flag="--json")] = line_only(False)
