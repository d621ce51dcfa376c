"""Answer questions about an order by how likely a model finds the texts."""

import sys
from collections.abc import Callable
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from fathom.commands.shared import Lengths, Limit, MaybePath, Retries, Tasks, Terminal, Timeout
from fathom.options.declare import arg, at_least, command, hidden, opt, unset
from fathom.options.values import folder_name

if TYPE_CHECKING:
    from fathom.run import Progress, RunSummary


class LikelihoodOptions(Terminal):
    suite: Annotated[Path | str, arg("A built suite's folder.")]
    model: Annotated[
        str,
        opt(
            "openai/NAME with --model-base-url, or hf/PATH for a local model.",
            "-m",
            metavar="PROVIDER/NAME",
        ),
    ]
    out: Annotated[MaybePath, opt("Run folder; by default runs/SUITE/MODEL-METHOD.", "-o", metavar="FOLDER")] = unset
    _: KW_ONLY
    method: Annotated[
        Literal["orders", "pairs"],
        opt(
            "orders: the order of least perplexity among all N!. pairs: the order whose neighbours follow each other "
            "best, from N^2 + N short texts."
        ),
    ] = "orders"
    model_base_url: Annotated[
        str | None,
        opt("Address of a server that returns log-probabilities of prompts, see likelihood.md.", metavar="URL"),
    ] = None
    via: Annotated[
        Literal["auto", "echo", "prompt_logprobs"],
        opt("How the server is asked: echo, prompt_logprobs (vLLM), or auto, which tries both.", metavar="WAY"),
    ] = "auto"
    lengths: Lengths = unset
    tasks: Tasks = unset
    limit: Limit = None
    most_orders: Annotated[int, opt("With orders: the most orders of one question.", check=at_least(1))] = 120
    max_connections: Annotated[
        int, opt("Samples at work at once; the texts of one sample follow each other.", check=at_least(1))
    ] = 1
    retries: Retries = 5
    timeout: Timeout = 600.0
    backoff: Annotated[float, hidden("Seconds before the first retry; doubles with each.")] = 1.0
    tell: Annotated[Callable[[str], None] | None, hidden("Told what is ahead before the first text.")] = None
    progress: Annotated[Callable[["Progress"], None] | None, hidden("Told the state after every reply.")] = None


@command(LikelihoodOptions)
def likelihood(options: LikelihoodOptions) -> "RunSummary":
    """Answer questions about an order by how likely a model finds the texts.

    Nothing is asked in words. The run folder is like any other: the same command resumes, and its rows stand beside
    those of the same model asked in words. OPENAI_API_KEY is sent if it is set, and never stored.
    """
    from fathom.run import likelihood
    from fathom.suitefile import open_suite

    settings = options.of(LikelihoodOptions)
    folder, model = Path(settings.pop("suite")), settings.pop("model")
    name = folder_name(str(open_suite(folder).manifest["suite"]))
    place = settings.pop("out") or Path("runs") / name / folder_name(f"{model}-{options.method}")
    return likelihood(folder, model, out=place, **settings)


def main(line: LikelihoodOptions) -> None:
    """Answer, and print how many replies there are."""
    from fathom.terminal import progress_bar, tell

    with progress_bar("scoring", line.quiet) as bar:
        asked = line.but(
            tell=None if line.quiet else lambda words: print(words, file=sys.stderr),
            progress=(lambda state: bar(state.finished, state.total)) if bar else None,
        )
        summary = likelihood.body(asked)
    for hint in summary.hints:
        tell(hint)
    if done := summary.progress:
        counts = ", ".join(f"{count} {status}" for status, count in done.counts.items() if count)
        print(f"{summary.folder}: {done.finished:,} of {done.total:,} replies ({counts}), {done.tokens_in:,} tokens")
