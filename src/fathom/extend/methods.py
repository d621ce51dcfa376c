"""The methods by name, each with its options, checks and source; a ``Method`` is one of them with its options set."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeAlias
from urllib.parse import parse_qsl

from fathom.plugins.names import listed, unknown
from fathom.tokens.length import parse_length
from fathom.types import FathomError, Json

Family: TypeAlias = Literal["none", "frequencies", "positions", "cache", "system"]
Value: TypeAlias = float | int | bool | str | tuple[float, ...] | None
Unit: TypeAlias = Literal["tokens", "whole", "number", "switch", "numbers", "name"]

KEY = "extend"
"""The option of a model's name that names the method, as in ``hf/PATH?extend=yarn&factor=4``."""
CACHE = "cache"
"""The option that names what is kept of keys and values, as in ``hf/PATH?cache=snapkv&budget=1024``."""
_EXPECTED: Mapping[Unit, str] = {
    "tokens": "a number of tokens, such as 4096 or 4k",
    "whole": "a whole number",
    "number": "a number",
    "switch": "true or false",
    "numbers": "numbers separated by commas, or the path of a file with them",
    "name": "a name",
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """An option of a method.

    Attributes:
        name: As users write it.
        unit: What its values are.
        help: A sentence for people.
        default: None where it follows from the model or from other options.
        least: The least value.
        among: The names that a ``name`` may be.
        former: Other names for it.
    """

    name: str
    unit: Unit
    help: str
    default: Value = None
    least: float = -math.inf
    among: tuple[str, ...] = ()
    former: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kind:
    """A method without values.

    Attributes:
        name: As users write it.
        family: ``frequencies`` are changed, relative ``positions`` are mapped, less is kept in the ``cache``, or a
            ``system`` around the model gives it other prompts.
        description: What it does, in a sentence.
        source: The paper or the code that it is from.
        parameters: Its options.
        per_request: Whether the frequencies of a request depend on its length.
    """

    name: str
    family: Family
    description: str
    source: str
    parameters: tuple[Parameter, ...] = ()
    per_request: bool = False


_FACTOR = Parameter("factor", "number", "How many times the window becomes longer.", least=1)
_ORIGINAL = Parameter(
    "original", "tokens", "The window that the model was trained with; by default its configuration says.", least=2
)
_LENGTH = Parameter("length", "tokens", "Tokens to be read, prompt and reply together.", least=1)
_LOG = "Multiply queries beyond the trained window by ln(position + 1)/ln(window)."
_ATTENTION = Parameter(
    "attention_factor", "number", "Factor of cosines and sines; by default it follows from the factor.", least=0
)

_CHUNK = Parameter(
    "chunk", "tokens", "Tokens of a part; by default half of the window, or 8192 if it is unknown.", least=256
)

METHODS: Mapping[str, Kind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            Kind("none", "none", "the model as it is", "Su et al. 2021, RoFormer", (_LENGTH,)),
            Kind(
                "pi",
                "frequencies",
                "all frequencies divided by the factor",
                "Chen et al. 2023, Position Interpolation",
                (_FACTOR, _ORIGINAL, _LENGTH),
            ),
            Kind(
                "ntk",
                "frequencies",
                "a larger base, so that the slowest frequency is divided by the factor and the fastest stays",
                "bloc97 2023; jquesnelle/yarn; forms su and mixed: kexue.fm 9706 and bojone/rerope",
                (
                    _FACTOR,
                    Parameter(
                        "form",
                        "name",
                        "bloc97: the usual one. su: the fastest frequency is divided too. mixed: with log-scaled "
                        "queries.",
                        "bloc97",
                        among=("bloc97", "su", "mixed"),
                    ),
                    _ORIGINAL,
                    _LENGTH,
                ),
            ),
            Kind(
                "dynamic",
                "frequencies",
                "NTK with a base that grows with the length of the request, beyond the window",
                "emozilla 2023; jquesnelle/yarn",
                (
                    Parameter("factor", "number", "1 in its first form; larger ones overshoot.", 1.0, least=1),
                    _ORIGINAL,
                    _LENGTH,
                ),
                per_request=True,
            ),
            Kind(
                "yarn",
                "frequencies",
                "slow frequencies divided by the factor, fast ones kept, a ramp between; sharper attention",
                "Peng et al. 2023, YaRN",
                (
                    _FACTOR,
                    _ORIGINAL,
                    _LENGTH,
                    Parameter("beta_fast", "number", "Turns in the window from which frequencies stay.", 32.0, least=0),
                    Parameter("beta_slow", "number", "Turns below which they are divided.", 1.0, least=0),
                    Parameter("truncate", "switch", "Whether the ends of the ramp are whole numbers.", True),
                    _ATTENTION,
                    Parameter("mscale", "number", "With mscale_all_dim: a part of the attention factor.", least=0),
                    Parameter("mscale_all_dim", "number", "With mscale: what it is divided by.", least=0),
                ),
            ),
            Kind(
                "abf",
                "frequencies",
                "another base",
                "Xiong et al. 2023, Effective Long-Context Scaling",
                (Parameter("theta", "number", "The base.", 500_000.0, least=1), _LENGTH),
            ),
            Kind(
                "llama3",
                "frequencies",
                "wavelengths beyond the window divided by the factor, short ones kept, a ramp between",
                "Llama 3.1",
                (
                    Parameter("factor", "number", _FACTOR.help, 8.0, least=1),
                    Parameter("low_freq_factor", "number", "Turns below which frequencies are divided.", 1.0, least=0),
                    Parameter("high_freq_factor", "number", "Turns from which they stay.", 4.0, least=0),
                    _ORIGINAL,
                    _LENGTH,
                ),
            ),
            Kind(
                "longrope",
                "frequencies",
                "each frequency divided by a number of its own, searched for the model",
                "Ding et al. 2024, LongRoPE; microsoft/LongRoPE",
                (
                    Parameter("long_factor", "numbers", "Divisors beyond the window, one for each frequency.", least=0),
                    Parameter("short_factor", "numbers", "Divisors within the window; by default 1.", least=0),
                    _FACTOR,
                    _ORIGINAL,
                    _LENGTH,
                    _ATTENTION,
                ),
                per_request=True,
            ),
            Kind(
                "rerope",
                "positions",
                "all keys beyond the window have its distance",
                "bojone/rerope (Su 2023)",
                (
                    Parameter("window", "tokens", "Distances below this stay.", 512, least=1),
                    Parameter("log", "switch", _LOG, True),
                    _ORIGINAL,
                    _LENGTH,
                ),
            ),
            Kind(
                "leaky",
                "positions",
                "distances beyond the window grow by 1 every group of tokens",
                "bojone/rerope, Leaky ReRoPE",
                (
                    Parameter("window", "tokens", "Distances below this stay.", 512, least=1),
                    Parameter("group", "number", "By how much further distances are divided.", 16, 1, former=("k",)),
                    Parameter("log", "switch", _LOG, True),
                    _ORIGINAL,
                    _LENGTH,
                ),
            ),
            Kind(
                "selfextend",
                "positions",
                "beyond the window, groups of tokens share a position",
                "Jin et al. 2024, SelfExtend; datamllab/LongLM",
                (
                    Parameter("window", "tokens", "Distances below this stay; a multiple of the group.", 1024, least=1),
                    Parameter("group", "whole", "Tokens that share a position.", 8, least=1),
                    Parameter("log", "switch", _LOG, False),
                    _ORIGINAL,
                    _LENGTH,
                ),
            ),
            Kind(
                "dca",
                "positions",
                "positions within chunks; other chunks at the distance of one chunk",
                "An et al. 2024, ChunkLlama (DCA)",
                (
                    Parameter("chunk", "tokens", "The largest distance; by default 3/4 of the window.", least=2),
                    Parameter("local", "tokens", "Distances that stay exact; by default 1/8 of the window.", least=1),
                    _ORIGINAL,
                    _LENGTH,
                ),
            ),
            Kind(
                "streaming",
                "positions",
                "only the first tokens and the last ones are seen, at their places in the cache",
                "Xiao et al. 2023, StreamingLLM; mit-han-lab/streaming-llm",
                (
                    Parameter("sinks", "tokens", "First tokens that stay.", 4, least=0),
                    Parameter("window", "tokens", "Tokens before the present one that stay.", 512, least=1),
                    _ORIGINAL,
                    _LENGTH,
                ),
            ),
        )
    }
)

_BUDGET = Parameter("budget", "tokens", "Tokens of the prompt whose keys and values stay, in each key head.", least=1)
_RATIO = Parameter("ratio", "number", "Share of the prompt's tokens that is left out, instead of a budget.", least=0)
_RECENT = Parameter("recent", "tokens", "The last tokens, which always stay; by default half of the budget.", least=1)
_QUESTION = Parameter(
    "question",
    "name",
    "together: the choice sees the prompt with its question. apart: what comes before the question is thinned out "
    "without having seen it.",
    "together",
    among=("together", "apart"),
)
_WINDOW = Parameter("window", "tokens", "Last queries of the prompt that choose; they stay.", 32, least=1)
_NEIGHBOURS = (
    Parameter("kernel", "whole", "Neighbours that share their attention; an odd number.", 5, least=1),
    Parameter("pooling", "name", "How neighbours share: their mean or largest.", "avg", among=("avg", "max")),
)

CACHES: Mapping[str, Kind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            Kind("full", "cache", "all keys and values", "transformers"),
            Kind(
                "snapkv",
                "cache",
                "what the last queries of the prompt attend to, with its neighbours, and the last tokens",
                "Li et al. 2024, SnapKV; FasterDecoding/SnapKV",
                (Parameter("budget", "tokens", _BUDGET.help, 2048, least=1), _RATIO, _WINDOW, *_NEIGHBOURS, _QUESTION),
            ),
            Kind(
                "pyramid",
                "cache",
                "the choice of SnapKV, with budgets that fall from the first layer to the last",
                "Cai et al. 2024, PyramidKV; Zefan-Cai/PyramidKV",
                (
                    Parameter("budget", "tokens", "Tokens of the prompt that stay: their mean over layers.", least=1),
                    _RATIO,
                    Parameter("beta", "number", "By how much the last layer chooses fewer than the mean.", 20, least=1),
                    _WINDOW,
                    *_NEIGHBOURS,
                    _QUESTION,
                ),
            ),
            Kind(
                "h2o",
                "cache",
                "what all queries together attended to most, and the last tokens; chosen again for each token",
                "Zhang et al. 2023, H2O; FMInference/H2O",
                (_BUDGET, _RATIO, _RECENT, _QUESTION),
            ),
            Kind(
                "random",
                "cache",
                "tokens drawn at random, and the last tokens; a control",
                "NVIDIA/kvpress, RandomPress",
                (
                    _BUDGET,
                    _RATIO,
                    _RECENT,
                    Parameter("seed", "whole", "Another number gives another draw.", 0, least=0),
                    _QUESTION,
                ),
            ),
            Kind(
                "recent",
                "cache",
                "the first tokens and the last ones; a control",
                "Xiao et al. 2023, StreamingLLM; NVIDIA/kvpress",
                (_BUDGET, _RATIO, Parameter("sinks", "tokens", "First tokens that stay.", 4, least=0), _QUESTION),
            ),
            Kind(
                "kvpress",
                "cache",
                "what a press of kvpress says, in an environment of its own",
                "NVIDIA/kvpress",
                (Parameter("press", "name", "Class of kvpress, such as KnormPress."), _RATIO, _QUESTION),
            ),
            Kind("fp8", "cache", "all keys and values, in 8 bits", "transformers, Fp8QuantizedLayer"),
        )
    }
)

AGENT = "agent"
"""The system that needs a model with tool calls."""
SYSTEMS: Mapping[str, Kind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            Kind("whole", "system", "the whole prompt, in one request", "no system around the model"),
            Kind(
                "retrieval",
                "system",
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
            Kind(
                AGENT,
                "system",
                "the model searches the text and reads parts of it with tools, and answers when it is ready",
                "Yao et al. 2022, ReAct; tool calls of Inspect; BM25: Robertson and Zaragoza 2009",
                (
                    Parameter("steps", "whole", "Requests, at most; the last one has to be the answer.", 20, least=2),
                    Parameter("top", "whole", "Parts of the text that a search returns, at most.", 4, least=1),
                    Parameter("passage", "tokens", "Tokens of a part, at most.", 256, least=16),
                    Parameter("read", "tokens", "Tokens that the tools return in one step, at most.", 2048, least=128),
                ),
            ),
            Kind(
                "map-reduce",
                "system",
                "notes on each part of the text by itself, then the answer from all notes",
                "Wu et al. 2021, Recursively Summarizing Books; Zhou et al. 2024, LLM x MapReduce",
                (_CHUNK, Parameter("notes", "whole", "Tokens of the notes on a part, at most.", 256, least=16)),
            ),
            Kind(
                "compaction",
                "system",
                "one part after the other, with notes that are rewritten each time, then the answer from the notes",
                "Chang et al. 2023, BooookScore: incremental updating",
                (_CHUNK, Parameter("notes", "whole", "Tokens of the notes that are kept, at most.", 1024, least=16)),
            ),
        )
    }
)
"""Systems around a model, for ``fathom run --system``."""


@dataclass(frozen=True, slots=True)
class Method:
    """A method with its options.

    Attributes:
        name: One of ``METHODS``, ``CACHES`` or ``SYSTEMS``.
        options: A value for each parameter; None for what was left to the model.
    """

    name: str
    options: tuple[tuple[str, Value], ...] = ()

    @property
    def kind(self) -> Kind:
        """The method without values."""
        return METHODS.get(self.name) or CACHES.get(self.name) or SYSTEMS[self.name]

    def __getitem__(self, name: str) -> Value:
        return dict(self.options).get(name)

    def number(self, name: str) -> float:
        """The value of an option that is set and a number."""
        value = self[name]
        if not isinstance(value, int | float):
            raise FathomError(f"{self.name} needs {name}")
        return value

    def whole(self, name: str) -> int:
        """The value of an option that is set and a whole number."""
        return int(self.number(name))

    def numbers(self, name: str) -> tuple[float, ...]:
        """The values of an option that has several; none where it is not set."""
        value = self[name]
        return value if isinstance(value, tuple) else ()

    def but(self, **changes: Value) -> "Method":
        """The same method with some other values, which are not checked again."""
        return Method(self.name, tuple((name, changes.get(name, value)) for name, value in self.options))

    @property
    def words(self) -> str:
        """The name and the options that have a value, as users write them."""
        given = "&".join(f"{name}={value}" for name, value in self.options if value is not None)
        return f"{self.name}?{given}" if given else self.name

    def record(self) -> dict[str, Json]:
        """The name, the options that have a value, and the source, for a manifest."""
        options = {name: list(one) if isinstance(one, tuple) else one for name, one in self.options if one is not None}
        return {"method": self.name, **options, "source": self.kind.source}


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
    known = {each: one for one in kind.parameters for each in (one.name, *one.former)}
    values: dict[str, Value] = {one.name: one.default for one in kind.parameters}
    for key, value in (given or {}).items():
        if value is None:
            continue
        if key not in known:
            takes = f"it takes {listed(sorted(values))}" if values else "it takes none"
            raise FathomError(f"method {name} has no option {key!r}; {takes}")
        values[known[key].name] = _read(name, known[key], value)
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
        method: As it was given.
        original: The model's window in tokens, if the method does not say; None if unknown.

    Raises:
        FathomError: A value is missing, or does not fit the window.
    """
    trained, made = method["original"] or original, method
    names = {one.name for one in method.kind.parameters}
    if trained is None and _needs_original(method):
        raise FathomError(f"{method.name} needs original, the window that the model was trained with, in tokens")
    if "original" in names:
        made = made.but(original=trained)
    if "factor" in names and made["factor"] is None:
        if made["length"] is None:
            raise FathomError(f"{method.name} needs a factor, or the length to be read (factor=4 or length=32k)")
        made = made.but(factor=max(1.0, made.number("length") / made.number("original")))
    if made.name == "dca" and trained is not None:
        window = made.whole("original")
        made = made.but(
            chunk=window * 3 // 4 if made["chunk"] is None else made["chunk"],
            local=max(1, window // 8) if made["local"] is None else made["local"],
        )
    _check(made)
    _check_window(made)
    return made


def reach(method: Method) -> int | None:
    """Tokens that a settled method lets a model read; None where nothing limits them, or the model's own window does.

    Args:
        method: With its values (``settled``).
    """
    if method["length"] is not None:
        return method.whole("length")
    if method["original"] is None:
        return None
    if method.name == "leaky":
        window = method.whole("window")
        return int(window + (method.number("original") - window) * method.number("group"))
    if method.name == "selfextend":
        window = method.whole("window")
        return (method.whole("original") - window) * method.whole("group") + window
    if method.name == "dynamic" and method.number("factor") == 1:
        return None
    if method.kind.family == "frequencies" and method["factor"] is not None:
        return int(method.number("original") * method.number("factor"))
    return None


def evicts(cache: Method) -> bool:
    """Whether a method for the cache leaves out tokens."""
    return cache.kind.family == "cache" and cache.name not in ("full", "fp8")


def is_apart(cache: Method) -> bool:
    """Whether a method for the cache thins out the context before it has seen the question."""
    return cache["question"] == "apart"


def stay(cache: Method, tokens: int, layer: int = 0, layers: int = 1) -> int:
    """Tokens of a prompt whose keys and values stay in a layer.

    Args:
        cache: A method that evicts.
        tokens: Tokens of the prompt.
        layer: Number of the layer, from 0; only ``pyramid`` keeps more in some than in others.
        layers: How many there are.

    Returns:
        ``tokens`` where the budget has room for all of them. With a ratio, the mean over layers is
        ``int(tokens * (1 - ratio))``, as NVIDIA's kvpress counts.

    Raises:
        FathomError: So few stay that nothing is left to choose.
    """
    budget = cache.whole("budget") if cache["ratio"] is None else int(tokens * (1 - cache.number("ratio")))
    if budget >= tokens:
        return tokens
    last = always(cache, budget)
    if last < 1 or budget - last < (cache.name != "recent"):
        raise FathomError(
            f"{cache.name}: of a prompt of {tokens:,} tokens {budget:,} stay, which leaves nothing to choose beside "
            f"those that always stay{'' if _always(cache) is None else f' ({_always(cache)})'}; give a "
            f"{'larger budget' if cache['ratio'] is None else 'smaller ratio'}, or longer prompts"
        )
    return last + _pyramid(cache, tokens - last, budget - last, layer, layers) if cache.name == "pyramid" else budget


def always(cache: Method, budget: int) -> int:
    """How many of the last tokens of a prompt always stay.

    Args:
        cache: A method that evicts.
        budget: How many stay in all.
    """
    if cache.name in ("snapkv", "pyramid"):
        return cache.whole("window")
    if cache.name == "recent":
        return budget - cache.whole("sinks")
    return budget // 2 if cache["recent"] is None else cache.whole("recent")


def _always(cache: Method) -> str | None:
    """The option that says what always stays, with its value; None where it follows from the budget."""
    name = {"snapkv": "window", "pyramid": "window", "recent": "sinks"}.get(cache.name, "recent")
    return None if cache[name] is None else f"{name} {cache[name]}"


def _pyramid(cache: Method, tokens: int, mean: int, layer: int, layers: int) -> int:
    """How many tokens a layer of PyramidKV chooses.

    The last layer chooses ``mean / beta``, the first as many above the mean as the last below it, and those between lie
    on a line. The first cannot choose more than there are; the last then chooses more. Numbers are rounded in pairs, so
    that the mean over layers is exact.

    Args:
        cache: The method.
        tokens: Tokens to choose from.
        mean: How many the layers choose on average.
        layer: Number of the layer, from 0.
        layers: How many there are.
    """
    if layers == 1:
        return mean
    if mean < cache.number("beta"):
        raise FathomError(
            f"pyramid: {mean:,} chosen tokens on average, divided by beta {cache.number('beta'):g}, leave the last "
            "layer nothing to choose; give a larger budget, or a smaller window or beta"
        )
    first = min(2 * mean - mean / cache.number("beta"), float(tokens))
    nearer = min(layer, layers - 1 - layer)
    found = round(first - nearer * 2 * (first - mean) / (layers - 1))
    return found if layer == nearer else 2 * mean - found


def _needs_original(method: Method) -> bool:
    """Whether a value follows from the trained window."""
    if method.name == "dca":
        return None in (method["chunk"], method["local"])
    without_factor = method.name in ("pi", "ntk") and method["factor"] is None and method["length"] is not None
    return without_factor or method.name in ("dynamic", "yarn", "llama3", "longrope")


def _check(method: Method) -> None:
    """Check values that concern each other."""
    if method.kind.family == "cache":
        _check_cache(method)
    if method.name == "selfextend" and method.whole("window") % method.whole("group"):
        raise FathomError(
            f"selfextend: window {method['window']} is not a multiple of group {method['group']}: prompts and replies "
            "would have different positions; give a window that is"
        )
    both = method.name == "dca" and None not in (method["chunk"], method["local"])
    if both and method.whole("local") >= method.whole("chunk"):
        raise FathomError(f"dca: local {method['local']} must be less than chunk {method['chunk']}")
    if method.name == "yarn":
        if method.number("beta_fast") <= method.number("beta_slow"):
            raise FathomError("yarn: beta_fast must be more than beta_slow")
        if (method["mscale"] is None) != (method["mscale_all_dim"] is None):
            raise FathomError("yarn: give both mscale and mscale_all_dim, or neither")
    if method.name == "llama3" and method.number("high_freq_factor") <= method.number("low_freq_factor"):
        raise FathomError("llama3: high_freq_factor must be more than low_freq_factor")
    if method.name == "longrope" and not method.numbers("long_factor"):
        raise FathomError(
            "longrope needs long_factor, the divisors that were searched for the model (numbers, or a file with them)"
        )


def _check_cache(method: Method) -> None:
    """Check that what always stays leaves room in the budget for what is chosen."""
    if not evicts(method):
        return
    ratio = method["ratio"]
    if ratio is not None and method.number("ratio") >= 1:
        raise FathomError(f"{method.name}: ratio={ratio:g}: expected less than 1, the share of tokens that is left out")
    if method.name == "kvpress" and (method["press"] is None or ratio is None):
        raise FathomError("kvpress needs a press and a ratio, as in cache=kvpress&press=SnapKVPress&ratio=0.5")
    if method["budget"] is None and ratio is None:
        raise FathomError(
            f"{method.name} needs a budget, the tokens whose keys and values stay (budget=1024), or a ratio, the share "
            "of the prompt's tokens that is left out (ratio=0.75)"
        )
    if method.name in ("snapkv", "pyramid") and method.whole("kernel") % 2 == 0:
        raise FathomError(
            f"{method.name}: kernel {method['kernel']}: expected an odd number, so that a place has its middle"
        )
    if ratio is not None:
        return
    budget, fixed = method.whole("budget"), _always(method)
    if fixed is not None and int(fixed.split()[1]) >= budget:
        raise FathomError(f"{method.name}: {fixed} must be less than budget {budget}")
    if method.name in ("h2o", "random") and budget < 2:
        raise FathomError(f"{method.name}: budget {budget}: expected 2 or more, for a chosen and a last token")
    if method.name == "pyramid" and budget - method.whole("window") < method.number("beta"):
        raise FathomError(
            f"pyramid: budget {budget} less the window of {method['window']}, divided by beta {method['beta']:g}, "
            "leaves the last layer nothing to choose; give a larger budget, or a smaller window or beta"
        )


def _check_window(method: Method) -> None:
    """Check that the distances of a map are among those that the model was trained with."""
    largest = {
        "rerope": lambda: method.whole("window"),
        "leaky": lambda: method.whole("window"),
        "selfextend": lambda: method.whole("window"),
        "dca": lambda: method.whole("chunk"),
        "streaming": lambda: method.whole("sinks") + method.whole("window"),
    }
    if method.name not in largest or method["original"] is None:
        return
    found, trained = largest[method.name](), method.whole("original")
    if found > trained:
        raise FathomError(
            f"{method.name}: distances up to {found:,} are more than the {trained:,} tokens of the model's window; "
            f"give a smaller {'chunk' if method.name == 'dca' else 'window'}"
        )
    wanted, most = method["length"], reach(method.but(length=None))
    if isinstance(wanted, int) and most is not None and wanted > most:
        raise FathomError(
            f"{method.name}: a length of {wanted:,} is beyond its reach of {most:,} tokens; give a larger group or a "
            "smaller window"
        )


def _read(method: str, parameter: Parameter, given: object) -> Value:
    """The value of an option, of a text or of what it stands for."""
    try:
        value = _value(parameter.unit, given)
    except (FathomError, OSError, LookupError, ValueError, TypeError, OverflowError):
        raise FathomError(f"{method}: {parameter.name}={given}: expected {_EXPECTED[parameter.unit]}") from None
    if parameter.among and value not in parameter.among:
        raise FathomError(f"{method}: {parameter.name}={given}: expected one of {listed(parameter.among)}")
    for one in value if isinstance(value, tuple) else (value,):
        too_low = isinstance(one, int | float) and not parameter.least <= one < math.inf
        if too_low and parameter.unit != "switch":
            raise FathomError(f"{method}: {parameter.name}={given}: expected {parameter.least:g} or more")
    return value


def _value(unit: Unit, given: object) -> Value:
    if isinstance(given, bool) != (unit == "switch") and not isinstance(given, str):
        raise ValueError
    if unit == "tokens":
        return tokens_of(given)
    if unit == "whole":
        return _whole(given)
    if unit == "number":
        return float(str(given))
    if unit == "switch":
        return {"true": True, "false": False}[str(given).lower()]
    if unit == "name":
        return str(given)
    return _numbers(given)


def tokens_of(given: object) -> int:
    """A number of tokens, also a small one: ``8``, ``"8"`` or ``"8k"``.

    Raises:
        FathomError: It is none.
    """
    text = str(given)
    if text.isascii() and text.isdigit():
        return int(text)
    return parse_length(text)


def _whole(given: object) -> int:
    number = float(str(given))
    if number != int(number):
        raise ValueError
    return int(number)


def _numbers(given: object) -> tuple[float, ...]:
    """Numbers of a list, of a text with commas or brackets, or of a file with such a text."""
    if isinstance(given, list | tuple):
        return tuple(map(float, given))
    try:
        return _split(str(given))
    except ValueError:
        return _split(Path(str(given)).expanduser().read_text("utf-8"))


def _split(text: str) -> tuple[float, ...]:
    return tuple(float(one) for one in text.strip("[] \n").split(","))
