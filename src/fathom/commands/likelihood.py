"""Answer ordering tasks by comparing the likelihood of each order."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from fathom.commands.shared import (
    Asking,
    Backoff,
    Lengths,
    Limit,
    ModelArgs,
    OnReply,
    Retries,
    RunFolder,
    Tasks,
    Timeout,
)
from fathom.options.declare import arg, at_least, command, hidden, opt, unset
from fathom.types.choices import RETRIES, TIMEOUT, Method

if TYPE_CHECKING:
    from fathom.run import RunSummary
    from fathom.run.likelihood.asking import Ahead


class LikelihoodOptions(Asking):
    suite: Annotated[Path | str, arg("A built suite's folder.")]
    model: Annotated[
        str, opt("openai/NAME with --model-base-url, or hf/PATH for a local model.", "-m", metavar="PROVIDER/NAME")
    ]
    out: RunFolder = unset
    _: KW_ONLY
    method: Annotated[
        Method,
        opt(
            "orders: the order with the lowest perplexity of all N!. pairs: the most likely chain of segments, from "
            "N^2 + N short texts."
        ),
    ] = "orders"
    model_base_url: Annotated[
        str | None,
        opt(
            "Address of a server that returns log-probabilities of prompts (see docs/how-to/likelihood.md).",
            metavar="URL",
        ),
    ] = None
    model_args: ModelArgs = unset
    via: Annotated[
        Literal["auto", "echo", "prompt_logprobs"],
        opt("How the server is asked: echo, prompt_logprobs (vLLM), or auto, which tries both.", metavar="WAY"),
    ] = "auto"
    lengths: Lengths = unset
    tasks: Tasks = unset
    limit: Limit = None
    most_orders: Annotated[int, opt("With orders: maximum number of orders per question.", check=at_least(1))] = 120
    max_connections: Annotated[
        int, opt("Samples processed in parallel; the texts of one sample are sent in sequence.", check=at_least(1))
    ] = 1
    retries: Retries = RETRIES
    timeout: Timeout = TIMEOUT
    backoff: Backoff = 1.0
    tell: Annotated[Callable[[str], None] | None, hidden("Called with what is ahead, before the first text.")] = None
    confirm: Annotated[
        Callable[["Ahead"], bool] | None, hidden("Shown what is ahead before the first text; False stops.")
    ] = None
    progress: OnReply = None


@command(LikelihoodOptions)
def likelihood(options: LikelihoodOptions) -> "RunSummary":
    """Answer ordering tasks by comparing the likelihood of each order.

    No question is sent. The run folder is like any other: the same command resumes, and its rows can be compared
    with those of the same model's written answers. OPENAI_API_KEY is sent if it is set, and never stored.
    """
    from fathom.run import likelihood, run_folder

    settings = options.of(LikelihoodOptions)
    suite, model, out = Path(settings.pop("suite")), settings.pop("model"), settings.pop("out")
    place = out or run_folder(suite, suite.resolve().name, f"{model}-{options.method}")
    return likelihood(suite, model, out=place, **settings)


def main(line: LikelihoodOptions) -> int:
    """Answer, and print how many replies there are."""
    from fathom.options.terminal import confirmed, print_summary, progress_bar

    with progress_bar("scoring", line.quiet) as bar:
        asked = line.but(
            confirm=lambda plan: confirmed(plan, yes=line.yes, quiet=line.quiet),
            progress=(lambda state: bar(state.finished, state.total)) if bar else None,
        )
        summary = likelihood.body(asked)
    return print_summary(summary)
