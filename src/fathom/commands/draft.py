"""Have a model draft questions about your documents."""

from collections.abc import Callable
from dataclasses import KW_ONLY, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.shared import AllowUnread, Asking
from fathom.models.settings import Backoff, BaseUrl, Limits, ModelArgs, Temperature
from fathom.options.declare import arg, at_least, command, given, hidden, opt, unset
from fathom.options.values import ManyPaths, paths_of

if TYPE_CHECKING:
    from fathom.run.drafting import DraftPlan, DraftSummary


class DraftOptions(Limits, Asking):
    documents: Annotated[ManyPaths, arg("Folders or files with documents, as for `fathom build --corpus`.")]
    model: Annotated[str, opt("The model that writes the questions.", "-m", metavar="PROVIDER/NAME")]
    checker: Annotated[
        str, opt("A second model, which answers each question with and without the text.", metavar="PROVIDER/NAME")
    ]
    out: Annotated[
        Path | str, opt("The table of questions to write, for `fathom build --questions`.", "-o", metavar="FILE.csv")
    ]
    _: KW_ONLY
    per_document: Annotated[int, opt("Questions to draft for each document.", check=at_least(1))] = 2
    model_base_url: BaseUrl = None
    checker_base_url: Annotated[BaseUrl, opt("Address of the checker's server; default: that of the model.")] = None
    temperature: Temperature = given(0.0)
    max_output_tokens: Annotated[
        int | None,
        opt("Cap on every reply; by default 1024, with room for reasoning.", metavar="TOKENS", check=at_least(1)),
    ] = None
    model_args: ModelArgs = unset
    allow_unread: AllowUnread = False
    backoff: Backoff = 1.0
    confirm: Annotated[
        Callable[["DraftPlan"], bool] | None, hidden("Called with what is ahead before any request; False stops.")
    ] = None
    progress: Annotated[
        Callable[[str, int, int], None] | None, hidden("Called with the stage, what is finished and all of it.")
    ] = None


@command(DraftOptions)
def draft(options: DraftOptions) -> "DraftSummary":
    """Have a model draft questions about your documents.

    A question is kept if its evidence is in the text word for word, and a second model answers it with the text but not
    without it. The table names the model in the column `drafted`, and so do the results.

    Before it sends anything, it prints the number of requests and the cost. If it is interrupted, the same command asks
    only for what is missing.
    """
    from fathom.documents.corpus import read_corpus
    from fathom.models.protocol import Settings
    from fathom.models.retry import Retry
    from fathom.run.drafting import DraftWork, draft
    from fathom.run.options import check_settings

    model, checker = (
        Settings(
            name,
            temperature=options.temperature,
            max_output_tokens=options.max_output_tokens,
            model_args=options.model_args or {},
            base_url=address,
        )
        for name, address in (
            (options.model, options.model_base_url),
            (options.checker, options.checker_base_url or options.model_base_url),
        )
    )
    for settings in (model, checker):
        check_settings(settings)
    corpora = [read_corpus(str(spec), questions=[Path(options.out)]) for spec in paths_of(options.documents)]
    if not options.allow_unread:
        for corpus in corpora:
            corpus.check_read()
    documents = {document.id: document for corpus in corpora for document in corpus.documents}
    retry = Retry(retries=options.retries, timeout=options.timeout, first=options.backoff)
    work = DraftWork(
        max_connections=options.max_connections,
        retry=retry,
        max_tokens_total=options.max_tokens_total,
        max_cost=options.max_cost,
        progress=options.progress or (lambda stage, done, total: None),
    )
    summary = draft(
        list(documents.values()),
        model,
        checker,
        Path(options.out),
        work,
        per_document=options.per_document,
        confirm=options.confirm,
    )
    left_out = [problem for corpus in corpora for problem in (*corpus.problems, *corpus.unread)]
    drawn = [f"{corpus.spec}: {corpus.drawn}" for corpus in corpora if corpus.drawn]
    return replace(summary, hints=(*map(str, left_out), *drawn, *summary.hints))


def main(line: DraftOptions) -> int:
    """Draft, and print what came of it."""
    from fathom.options.terminal import confirmed, print_summary, progress_bars

    with progress_bars(line.quiet) as bars:
        shown = {stage: bars(stage) for stage in ("drafting", "checking")}

        def progress(stage: str, done: int, total: int) -> None:
            if (bar := shown[stage]) is not None:
                bar(done, total)

        asked = line.but(confirm=lambda plan: confirmed(plan, yes=line.yes, quiet=line.quiet), progress=progress)
        summary = draft.body(asked)
    return print_summary(summary)
