"""The methods that keep less than all keys and values of a prompt.

The layers of ``fathom.extend.hf.caches`` do what is declared here: they see the attention of the queries that choose,
rank the first tokens of a prompt and keep as many as the budget has room for.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from fathom.extend.kinds import Family, Kind, Method, Parameter, declared
from fathom.types import FathomError

Watched: TypeAlias = Literal["none", "last", "all"]


@dataclass(frozen=True, slots=True)
class Choice:
    """What a layer chooses from.

    Attributes:
        method: The method, with its values.
        keys: Keys of the tokens that are ranked, shape (batch, key heads, tokens, size).
        attention: What each of them got from the queries that choose, shape (batch, key heads, tokens); None if no
            query chooses.
        seed: Seed of random draws.
    """

    method: Method
    keys: Any
    attention: Any
    seed: int


def _half_or_recent(method: Method, budget: int) -> int:
    return budget // 2 if method["recent"] is None else method.whole("recent")


def _mean(method: Method, tokens: int, mean: int, layer: int, layers: int) -> int:
    return mean


def _attention(choice: Choice) -> Any:
    return choice.attention


@dataclass(frozen=True, slots=True)
class CacheKind(Kind):
    """A method for the cache.

    Attributes:
        evicts: Whether tokens are left out.
        always: How many of the last tokens of a prompt always stay with a budget.
        fixed: The option that says how many tokens always stay.
        least: How many tokens have to be left to choose, for the choice to mean something.
        chosen: How many of so many tokens a layer chooses if all layers choose a number on average; arguments: the
            method, the tokens, the mean, the number of the layer and how many layers there are.
        watched: Which queries choose: none, the last ones (``window``), or all, those of the reply too.
        rank: How much each of the first tokens deserves to stay, shape (batch, key heads, tokens).
        engine: Module of ``fathom.extend.hf`` whose ``Engine`` does it.
        backend: Backend of the quantized cache of transformers that holds all; "" for its usual cache.
        no_batch: Why prompts cannot be asked in batches.
        no_maps: Why maps of positions cannot be combined with it; "" if they can.
    """

    family: ClassVar[Family] = "cache"

    _: KW_ONLY
    evicts: bool = True
    always: Callable[[Method, int], int] = _half_or_recent
    fixed: str = "recent"
    least: int = 1
    chosen: Callable[[Method, int, int, int, int], int] = _mean
    watched: Watched = "none"
    rank: Callable[[Choice], Any] = _attention
    engine: str = "caches"
    backend: str = ""
    no_batch: str = "padding could stay in its place"
    no_maps: str = ""

    @property
    def counts(self) -> bool:
        """Whether it is known how many tokens stay."""
        return self.takes("budget")


def kind_of(cache: Method) -> CacheKind:
    """The declaration of a method for the cache."""
    kind = cache.kind
    assert isinstance(kind, CacheKind)
    return kind


def evicts(cache: Method) -> bool:
    """Whether a method for the cache leaves out tokens."""
    return kind_of(cache).evicts


def is_apart(cache: Method) -> bool:
    """Whether a method for the cache thins out the context before it has seen the question."""
    return cache["question"] == "apart"


def stay(cache: Method, tokens: int, layer: int = 0, layers: int = 1) -> int:
    """Tokens of a prompt whose keys and values stay in a layer.

    Args:
        cache: A method that evicts.
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
    kind, last = kind_of(cache), always(cache, budget)
    if last < 1 or budget - last < kind.least:
        fixed = _fixed(cache)
        raise FathomError(
            f"{cache.name}: of a prompt of {tokens:,} tokens {budget:,} stay, which leaves nothing to choose beside "
            f"those that always stay{'' if fixed is None else f' ({fixed})'}; give a "
            f"{'larger budget' if cache['ratio'] is None else 'smaller ratio'}, or longer prompts"
        )
    return last + kind.chosen(cache, tokens - last, budget - last, layer, layers)


def always(cache: Method, budget: int) -> int:
    """How many of the last tokens of a prompt always stay.

    Args:
        cache: A method that evicts.
    """
    return kind_of(cache).always(cache, budget)


def check_cache(cache: Method) -> None:
    """Check that what always stays leaves room in the budget for what is chosen.

    Raises:
        FathomError: It does not, or a value is missing.
    """
    kind, ratio = kind_of(cache), cache["ratio"]
    if ratio is not None and cache.number("ratio") >= 1:
        raise FathomError(f"{cache.name}: ratio={ratio:g}: expected less than 1, the share of tokens that is left out")
    if kind.counts and cache["budget"] is None and ratio is None:
        raise FathomError(
            f"{cache.name} needs a budget, the tokens whose keys and values stay (budget=1024), or a ratio, the share "
            "of the prompt's tokens that is left out (ratio=0.75)"
        )
    if kind.takes("kernel") and cache.whole("kernel") % 2 == 0:
        raise FathomError(
            f"{cache.name}: kernel {cache['kernel']}: expected an odd number, so that a place has its middle"
        )
    if not kind.counts or ratio is not None:
        return
    budget, fixed = cache.whole("budget"), _fixed(cache)
    if fixed is not None and cache.whole(kind.fixed) >= budget:
        raise FathomError(f"{cache.name}: {fixed} must be less than budget {budget}")
    if kind.takes("recent") and budget < 2:
        raise FathomError(f"{cache.name}: budget {budget}: expected 2 or more, for a chosen and a last token")


def _fixed(cache: Method) -> str | None:
    """The option that says what always stays, with its value; None where it follows from the budget."""
    name = kind_of(cache).fixed
    return None if cache[name] is None else f"{name} {cache[name]}"


def _pooled(choice: Choice) -> Any:
    """The attention that neighbours share."""
    import torch

    kernel = choice.method.whole("kernel")
    pool = torch.nn.functional.max_pool1d if choice.method["pooling"] == "max" else torch.nn.functional.avg_pool1d
    return pool(choice.attention, kernel, stride=1, padding=kernel // 2)


def _drawn(choice: Choice) -> Any:
    import torch

    shape = choice.keys.shape[:-1]
    return torch.rand(shape, generator=torch.Generator().manual_seed(choice.seed)).to(choice.keys.device)


def _first_tokens(choice: Choice) -> Any:
    import torch

    *shape, tokens, _ = choice.keys.shape
    return -torch.arange(tokens, device=choice.keys.device).expand(*shape, -1)


def _check_pyramid(method: Method) -> None:
    if method["budget"] is None:
        return
    budget = method.whole("budget")
    if budget - method.whole("window") < method.number("beta"):
        raise FathomError(
            f"pyramid: budget {budget} less the window of {method['window']}, divided by beta {method['beta']:g}, "
            "leaves the last layer nothing to choose; give a larger budget, or a smaller window or beta"
        )


def _pyramid(cache: Method, tokens: int, mean: int, layer: int, layers: int) -> int:
    """How many tokens a layer of PyramidKV chooses.

    The last layer chooses ``mean / beta``, the first as many above the mean as the last below it, and those between lie
    on a line. The first cannot choose more than there are; the last then chooses more. Numbers are rounded in pairs, so
    that the mean over layers is exact.
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
    chosen = round(first - nearer * 2 * (first - mean) / (layers - 1))
    return chosen if layer == nearer else 2 * mean - chosen


def _check_kvpress(method: Method) -> None:
    if method["press"] is None or method["ratio"] is None:
        raise FathomError("kvpress needs a press and a ratio, as in cache=kvpress&press=SnapKVPress&ratio=0.5")


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
CACHES = declared(
    CacheKind("full", "all keys and values", "transformers", evicts=False),
    CacheKind(
        "snapkv",
        "what the last queries of the prompt attend to, with its neighbours, and the last tokens",
        "Li et al. 2024, SnapKV; FasterDecoding/SnapKV",
        (Parameter("budget", "tokens", _BUDGET.help, 2048, least=1), _RATIO, _WINDOW, *_NEIGHBOURS, _QUESTION),
        always=lambda method, budget: method.whole("window"),
        fixed="window",
        watched="last",
        rank=_pooled,
    ),
    CacheKind(
        "pyramid",
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
        check=_check_pyramid,
        always=lambda method, budget: method.whole("window"),
        fixed="window",
        chosen=_pyramid,
        watched="last",
        rank=_pooled,
    ),
    CacheKind(
        "h2o",
        "what all queries together attended to most, and the last tokens; chosen again for each token",
        "Zhang et al. 2023, H2O; FMInference/H2O",
        (_BUDGET, _RATIO, _RECENT, _QUESTION),
        watched="all",
    ),
    CacheKind(
        "random",
        "tokens drawn at random, and the last tokens; a control",
        "NVIDIA/kvpress, RandomPress",
        (
            _BUDGET,
            _RATIO,
            _RECENT,
            Parameter("seed", "whole", "Another number gives another draw.", 0, least=0),
            _QUESTION,
        ),
        rank=_drawn,
    ),
    CacheKind(
        "recent",
        "the first tokens and the last ones; a control",
        "Xiao et al. 2023, StreamingLLM; NVIDIA/kvpress",
        (_BUDGET, _RATIO, Parameter("sinks", "tokens", "First tokens that stay.", 4, least=0), _QUESTION),
        always=lambda method, budget: budget - method.whole("sinks"),
        fixed="sinks",
        least=0,
        rank=_first_tokens,
    ),
    CacheKind(
        "kvpress",
        "what a press of kvpress says, in an environment of its own",
        "NVIDIA/kvpress",
        (Parameter("press", "name", "Class of kvpress, such as KnormPress."), _RATIO, _QUESTION),
        check=_check_kvpress,
        engine="presses",
        no_maps="kvpress reads rotated keys, which maps of positions do not have",
    ),
    CacheKind(
        "fp8",
        "all keys and values, in 8 bits",
        "transformers, Fp8QuantizedLayer",
        evicts=False,
        backend="fp8",
        no_batch="one scale holds for all keys of a batch",
        note=(
            "fp8 cache: the prompt is computed with keys and values as they are, so the first token of a reply is that "
            "of the full cache; what the reply adds is cut off at the largest number of the prompt"
        ),
    ),
)
