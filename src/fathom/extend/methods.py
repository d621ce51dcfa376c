"""All methods by name; those that users write are read, checked and given the values that follow from the model."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar
from urllib.parse import parse_qsl

from fathom.extend.caches import CACHES as CACHES
from fathom.extend.caches import CacheKind, check_cache
from fathom.extend.caches import always as always
from fathom.extend.caches import evicts as evicts
from fathom.extend.caches import is_apart as is_apart
from fathom.extend.caches import stay as stay
from fathom.extend.frequencies import FREQUENCIES
from fathom.extend.kinds import LENGTH, Family, Value, declared
from fathom.extend.kinds import Kind as Kind
from fathom.extend.kinds import Method as Method
from fathom.extend.kinds import Parameter as Parameter
from fathom.extend.kinds import tokens_of as tokens_of
from fathom.extend.positions import POSITIONS, PositionKind
from fathom.plugins.names import did_you_mean, listed, unknown
from fathom.types import FathomError

KEY = "extend"
"""The option of a model's name that names the method, as in ``hf/PATH?extend=yarn&factor=4``."""
CACHE = "cache"
"""The option that names what is kept of keys and values, as in ``hf/PATH?cache=snapkv&budget=1024``."""

METHODS: Mapping[str, Kind] = MappingProxyType(
    {
        **declared(Kind("none", "the model as it is", "Su et al. 2021, RoFormer", (LENGTH,))),
        **FREQUENCIES,
        **POSITIONS,
    }
)


@dataclass(frozen=True, slots=True)
class SystemKind(Kind):
    """A system around the model, which gives it other prompts."""

    family: ClassVar[Family] = "system"


_CHUNK = Parameter(
    "chunk", "tokens", "Tokens of a part; by default half of the window, or 8192 if it is unknown.", least=256
)
AGENT = "agent"
"""The system that needs a model with tool calls."""
SYSTEMS = declared(
    SystemKind("whole", "the whole prompt, in one request", "no system around the model"),
    SystemKind(
        "retrieval",
        "only the passages that resemble the question, in the order of the text",
        "Lewis et al. 2020, Retrieval-Augmented Generation; BM25: Robertson and Zaragoza 2009",
        (
            Parameter("top", "whole", "Passages that the model reads.", 8, least=1),
            Parameter("passage", "tokens", "Tokens of a passage, at most.", 256, least=16),
            Parameter(
                "by",
                "name",
                "An embedding model that ranks passages, embed/NAME or embed-local/NAME; by default bm25.",
            ),
        ),
    ),
    SystemKind(
        AGENT,
        "the model searches the text and reads parts of it with tools, and answers when it is ready",
        "Yao et al. 2022, ReAct; tool calls of Inspect; BM25: Robertson and Zaragoza 2009",
        (
            Parameter("steps", "whole", "Requests, at most; the last one has to be the answer.", 20, least=2),
            Parameter("top", "whole", "Parts of the text that a search returns, at most.", 4, least=1),
            Parameter("passage", "tokens", "Tokens of a part, at most.", 256, least=16),
            Parameter("read", "tokens", "Tokens that the tools return in one step, at most.", 2048, least=128),
        ),
    ),
    SystemKind(
        "map-reduce",
        "notes on each part of the text by itself, then the answer from all notes",
        "Wu et al. 2021, Recursively Summarizing Books; Zhou et al. 2024, LLM x MapReduce",
        (_CHUNK, Parameter("notes", "whole", "Tokens of the notes on a part, at most.", 256, least=16)),
    ),
    SystemKind(
        "compaction",
        "one part after the other, with notes that are rewritten each time, then the answer from the notes",
        "Chang et al. 2023, BooookScore: incremental updating",
        (_CHUNK, Parameter("notes", "whole", "Tokens of the notes that are kept, at most.", 1024, least=16)),
    ),
    SystemKind(
        "memory",
        "message after message in a small context, which is compacted when it is full, before the question is known",
        "Packer et al. 2023, MemGPT; compaction as in coding agents",
        (
            Parameter(
                "keep",
                "name",
                "What stays: the last messages (recent), a summary that is rewritten (summary), both (summary-recent), "
                "the last messages with a list of facts (facts) or with a search in the older ones (recall).",
                "summary-recent",
                among=("recent", "summary", "summary-recent", "facts", "recall"),
            ),
            Parameter(
                "context", "tokens", "Tokens of the context; by default half of the window, or 8192.", least=1024
            ),
            Parameter("notes", "whole", "Tokens of notes or recalled messages, at most.", 1024, least=16),
        ),
    ),
)
"""Systems around a model, for ``fathom run --system``."""


NONE = Method("none")
FULL = Method("full")
WHOLE = Method("whole")


def make_method(name: str, given: Mapping[str, object] | None = None, kinds: Mapping[str, Kind] = METHODS) -> Method:
    """A method with checked options.

    Args:
        name: One of ``kinds``.
        given: Values by the name of the option, as texts or as what they stand for; None leaves one out.
        kinds: ``METHODS``, ``CACHES`` or ``SYSTEMS``.

    Raises:
        FathomError: The method or an option is unknown, or a value is wrong; the message says what was expected.
    """
    if name not in kinds:
        raise unknown("method", name, kinds, see="fathom lab methods")
    kind = kinds[name]
    known = {each: parameter for parameter in kind.parameters for each in (parameter.name, *parameter.former)}
    values: dict[str, Value] = {parameter.name: parameter.default for parameter in kind.parameters}
    for key, value in (given or {}).items():
        if value is None:
            continue
        if key not in known:
            takes = f"it takes {listed(sorted(values))}" if values else "it takes none"
            raise FathomError(f"method {name} has no option {key!r}; {takes}{did_you_mean(key, known)}")
        values[known[key].name] = known[key].read(name, value)
    if values.get("ratio") is not None:
        if (given or {}).get("budget") is not None:
            raise FathomError(f"{name}: give a budget or a ratio, not both")
        values["budget"] = None
    made = Method(name, tuple(values.items()))
    _check(made)
    return made


def split_name(model: str) -> tuple[str, Method, Method]:
    """The name of a model without its query, and the methods for positions and for the cache that the query asks for.

    Args:
        model: ``hf/PATH``, ``hf/PATH?extend=METHOD&OPTION=VALUE``, ``hf/PATH?cache=METHOD&OPTION=VALUE``, or both in
            one query: an option belongs to the method before it.

    Raises:
        FathomError: See ``make_method``; or the query begins with no method.
    """
    name, mark, query = model.partition("?")
    if not mark:
        return model, NONE, FULL
    given: dict[str, dict[str, str]] = {}
    kinds = {KEY: METHODS, CACHE: CACHES}
    section = ""
    for key, value in parse_qsl(query, keep_blank_values=True):
        section = key if key in kinds else section
        if not section:
            break
        if key in given.setdefault(section, {}):
            raise FathomError(f"model {model!r}: an option is given twice")
        given[section][key] = value
    if not section:
        raise FathomError(
            f"model {model!r}: expected {name}?{KEY}=METHOD or {name}?{CACHE}=METHOD before options, as in "
            f"{name}?{KEY}=yarn&factor=4"
        )
    try:
        made = {key: make_method(options.pop(key), options, kinds[key]) for key, options in given.items()}
    except FathomError as error:
        raise FathomError(f"model {model!r}: {error}") from None
    return name, made.get(KEY, NONE), made.get(CACHE, FULL)


def system_of(text: str) -> Method:
    """The system around a model that users name as ``NAME?OPTION=VALUE&...``.

    Raises:
        FathomError: See ``make_method``; or an option is given twice.
    """
    name, _, query = text.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True)
    given = dict(pairs)
    if len(given) < len(pairs) or bool(query) != bool(pairs):
        raise FathomError(f"system {text!r}: expected options as in retrieval?top=8&passage=256, each once")
    if name not in SYSTEMS:
        raise unknown("system", name, SYSTEMS, see="fathom lab methods")
    return make_method(name, given, SYSTEMS)


def settled(method: Method, original: int | None) -> Method:
    """The method with every value that follows from the trained window.

    Args:
        original: The model's window in tokens, if the method does not say; None if unknown.

    Raises:
        FathomError: A value is missing, or does not fit the window.
    """
    kind = method.kind
    trained, made = method["original"] or original, method
    if trained is None and _follows_from_window(method):
        raise FathomError(f"{method.name} needs original, the window that the model was trained with, in tokens")
    if kind.takes("original"):
        made = made.but(original=trained)
    if kind.takes("factor") and made["factor"] is None:
        if made["length"] is None:
            raise FathomError(f"{method.name} needs a factor, or the length to be read (factor=4 or length=32k)")
        made = made.but(factor=max(1.0, made.number("length") / made.number("original")))
    if isinstance(trained, int):
        made = kind.settle(made, trained)
    _check(made)
    _check_window(made)
    return made


def reach(method: Method) -> int | None:
    """Tokens that a settled method lets a model read; None where nothing limits them, or the model's own window does.

    Args:
        method: With its values (``settled``).
    """
    return method.kind.reach(method) if method["length"] is None else method.whole("length")


def _follows_from_window(method: Method) -> bool:
    """Whether a value follows from the trained window."""
    kind = method.kind
    factor_of_length = kind.takes("factor") and method["factor"] is None and method["length"] is not None
    return factor_of_length or any(method[option] is None for option in kind.bound)


def _check(method: Method) -> None:
    """Check values that concern each other."""
    if isinstance(method.kind, CacheKind):
        check_cache(method)
    method.kind.check(method)


def _check_window(method: Method) -> None:
    """Check that the distances of a map are among those that the model was trained with."""
    kind = method.kind
    if not isinstance(kind, PositionKind) or method["original"] is None:
        return
    farthest, trained = kind.farthest(method), method.whole("original")
    if farthest > trained:
        raise FathomError(
            f"{method.name}: distances up to {farthest:,} are more than the {trained:,} tokens of the model's window; "
            f"give a smaller {kind.limit}"
        )
    length, most = method["length"], kind.reach(method)
    if isinstance(length, int) and most is not None and length > most:
        raise FathomError(
            f"{method.name}: a length of {length:,} is beyond its reach of {most:,} tokens; give a larger group or a "
            "smaller window"
        )
