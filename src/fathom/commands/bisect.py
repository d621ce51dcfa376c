"""Find out whether two servers differ, from which length on, and what the difference is."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from fathom.commands.shared import Asking, Json
from fathom.models.settings import Backoff, Reasoning, Retries, Sampling, Timeout
from fathom.options.declare import Read, arg, at_least, command, hidden, line_only, opt, unset
from fathom.options.values import MaybePath, Tokens, window_of
from fathom.types.choices import Overflow

if TYPE_CHECKING:
    from fathom.models.protocol import Settings
    from fathom.run.bisect import Bisection, Comparing
    from fathom.run.checks import Plan
    from fathom.run.chosen import Chosen

CODES = {"PASS": 0, "FAIL": 1, "INCONCLUSIVE": 3}
"""Exit codes."""
LONGEST = 32_768
"""The longest prompt where no window is known."""


def _share(value: float) -> str:
    return "" if 0 < value < 1 else "expected a number between 0 and 1, without both"


class BisectOptions(Sampling, Reasoning, Json, Asking):
    a: Annotated[str, arg("Model A, the reference: openai/NAME, vllm/NAME, local ..., as for fathom run.")]
    b: Annotated[str | None, arg("Model B; by default the same name on another server.")] = None
    _: KW_ONLY
    a_base_url: Annotated[str | None, opt("Address of A's server; by default --model-base-url.", metavar="URL")] = None
    b_base_url: Annotated[str | None, opt("Address of B's server; by default --model-base-url.", metavar="URL")] = None
    lengths: Annotated[
        Tokens,
        opt(
            "Lengths of the prompts, for instance 1k,8k,32k,128k; default: five up to the window (--window), or to 32k."
        ),
    ] = unset
    requests: Annotated[int, opt("The most requests, to both together.", check=at_least(60))] = 200
    alpha: Annotated[
        float,
        opt("Level of the decision: how often equal servers may be said to differ.", check=_share),
    ] = 0.01
    margin: Annotated[
        float,
        opt("Difference of the share of code words found that must be excluded at each length for PASS.", check=_share),
    ] = 0.25
    out: Annotated[MaybePath, opt("Folder of replies and page; by default bisected/A-B.", "-o", metavar="FOLDER")] = (
        unset
    )
    window: Annotated[
        Read[int | str | None, int | None],
        opt(
            "The smaller of both windows, from which the default --lengths follow; for instance 128k.",
            metavar="TOKENS",
            read=window_of,
            check=at_least(1),
        ),
    ] = unset
    on_overflow: Annotated[
        Overflow | None, hidden("Nothing else than None: prompts are sent whole, and a refusal is a difference.")
    ] = None
    chat_template: Annotated[
        Literal["always", "never"],
        opt("Whether prompts with code words go through the chat template, or without it to /completions."),
    ] = "always"
    timeout: Timeout = 600.0
    retries: Retries = 3
    backoff: Backoff = 1.0
    confirm: Annotated[Callable[["Plan"], bool] | None, hidden("Called with what is ahead; False stops.")] = None
    progress: Annotated[
        Callable[[int, int, str], None] | None, hidden("Called with (requests so far, the most, what is asked).")
    ] = None
    forecast: Annotated[bool, opt("Only say how many requests, tokens and dollars it takes at most.")] = line_only(
        False
    )


@command(BisectOptions)
def bisect(options: BisectOptions) -> "Bisection | None":
    """Find out whether two servers, caches, quantisations or versions differ, from which length on, and why.

    Both get the same prompts, twice each, so that a difference is one beyond the noise of both; each prompt once more,
    for the prefix cache. FAIL (exit code 1): they differ, and the fault has a name where the replies fit one: wrong
    rope factor, sliding window, cut prompt, prefix-cache corruption, cache or weights precision, wrong template,
    another model. PASS (0): both answer, and a difference of --margin is excluded at each length. INCONCLUSIVE (3):
    neither. The same command resumes.

    Returns what was found, or None if it was not confirmed.
    """
    from fathom.run.bisect import bisect
    from fathom.run.bisect.compare import forecast
    from fathom.run.bisect.page import write

    comparing, folder = _comparing(options), _folder(options)
    if options.confirm is not None and not options.confirm(forecast(comparing)):
        return None
    result = bisect(
        comparing,
        folder,
        timeout=options.timeout,
        retries=options.retries,
        backoff=options.backoff,
        progress=options.progress,
    )
    write(result, folder)
    return result


def _comparing(options: BisectOptions) -> "Comparing":
    """Both models, and how they are compared.

    Raises:
        FathomError: A and B are the same, or an option is wrong.
    """
    from fathom.run.bisect import Comparing
    from fathom.run.chosen import choose
    from fathom.types import FathomError

    if options.on_overflow is not None:
        raise FathomError("`on_overflow` has no effect here: prompts are sent whole")
    models = (options.a, options.b or options.a)
    urls = [url or options.model_base_url for url in (options.a_base_url, options.b_base_url)]
    if options.b is None and urls[0] == urls[1]:
        raise FathomError("A and B are the same model on the same server: name another model, or give `b_base_url`")
    sampling, reasoning = options.part(Sampling), options.part(Reasoning)
    a, b = (choose(model, sampling.but(model_base_url=url), reasoning) for model, url in zip(models, urls, strict=True))
    lengths = tuple(sorted(set(options.lengths or _lengths(a, b))))
    return Comparing(a, b, lengths, options.requests, options.alpha, options.margin, options.seed)


def _lengths(*sides: "Chosen") -> tuple[int, ...]:
    """Five lengths up to the smallest window that is known, which has room for the reply and another tokenizer."""
    from fathom.run.bisect.prompts import CAP

    windows = [window for side in sides if (window := _window(side.settings, side)) is not None]
    longest = LONGEST
    if windows:
        fit = [size << shift for shift in range(12) for size in (512, 768)]
        longest = max((length for length in fit if 1.2 * length + CAP <= min(windows)), default=fit[0])
    return tuple(sorted({max(512, longest >> shift) for shift in (7, 5, 3, 1, 0)}))


def _window(settings: "Settings", chosen: "Chosen") -> int | None:
    from fathom.models.local_model import find_model, starts_server
    from fathom.models.prices import find_limit

    own = find_model(settings.model, settings.model_args).context if starts_server(settings.model) else None
    return find_limit(settings, None, chosen.price, own=own).window


def _folder(options: BisectOptions) -> Path:
    from fathom.plugins.names import folder_name
    from fathom.safety.secrets import hide_in_address

    if options.out is not None:
        return options.out
    names = [
        folder_name("-".join(filter(None, (model, (hide_in_address(url) or "").partition("://")[2]))))
        for model, url in ((options.a, options.a_base_url), (options.b or options.a, options.b_base_url))
    ]
    return Path("bisected") / "-".join(names)


def main(line: BisectOptions) -> int:
    """Print what was found; the exit code is that of the decision."""
    from fathom.options.terminal import confirmed, print_json
    from fathom.printing import printable
    from fathom.report.terminal import show
    from fathom.run.bisect import forecast
    from fathom.run.bisect.compare import PAGE
    from fathom.run.bisect.page import sentences, tables

    if line.forecast:
        print(printable(str(forecast(_comparing(line)))))
        return 0
    asked = line.but(
        confirm=lambda plan: confirmed(plan, yes=line.yes, quiet=line.quiet), progress=None if line.quiet else _say
    )
    result = bisect.body(asked)
    if result is None:
        return CODES["INCONCLUSIVE"]
    if line.as_json:
        print_json(result)
        return CODES[result.decision]
    for sentence in sentences(result):
        print(printable(sentence))
    if not line.quiet:
        show(tables(result))
        print(f"{result.requests} requests, {result.tokens_in:,} tokens; the page is {_folder(line) / PAGE}")
    return CODES[result.decision]


def _say(done: int, most: int, what: str) -> None:
    """One line for each request that is sent."""
    import sys

    print(f"{done + 1} of at most {most}: {what}", file=sys.stderr, flush=True)
