"""Have a model draft questions about your documents."""

from collections.abc import Callable
from dataclasses import KW_ONLY, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.shared import AllowUnread, Asking
from fathom.options.declare import arg, command, hidden, opt
from fathom.options.values import ManyPaths, paths_of
from fathom.runfile.settings import DraftSettings

if TYPE_CHECKING:
    from fathom.run.drafting import DraftPlan, DraftSummary


class DraftOptions(DraftSettings, Asking):
    documents: Annotated[ManyPaths, arg("Folders or files with documents, as for `fathom build --corpus`.")]
    model: Annotated[str, opt("The model that writes the questions.", "-m", metavar="PROVIDER/NAME")]
    checker: Annotated[
        str, opt("A second model, which answers each question with and without the text.", metavar="PROVIDER/NAME")
    ]
    out: Annotated[
        Path | str, opt("The table of questions to write, for `fathom build --questions`.", "-o", metavar="FILE.csv")
    ]
    _: KW_ONLY
    allow_unread: AllowUnread = False
    confirm: Annotated[
        Callable[["DraftPlan"], bool] | None, hidden("Called with what is ahead before any request; False stops.")
    ] = None
    progress: Annotated[
        Callable[[str, int, int], None] | None, hidden("Called with the stage, what is finished and all of it.")
    ] = None
    tell: Annotated[Callable[[str], None] | None, hidden("Called with a line about each batch.")] = None


@command(DraftOptions)
def draft(options: DraftOptions) -> "DraftSummary":
    """Have a model draft questions about your documents.

    A question is kept if its evidence is in the text word for word, and a second model answers it with the text but not
    without it. The table names the model in the column `drafted`, and so do the results.

    Before it sends anything, it prints the number of requests and the cost. If it is interrupted, the same command asks
    only for what is missing.
    """
    from fathom.documents.corpus import read_corpus
    from fathom.run.drafting import DraftCallbacks, draft

    corpora = [read_corpus(str(spec), questions=[Path(options.out)]) for spec in paths_of(options.documents)]
    if not options.allow_unread:
        for corpus in corpora:
            corpus.check_read()
    documents = {document.id: document for corpus in corpora for document in corpus.documents}
    summary = draft(
        list(documents.values()),
        options.model,
        options.checker,
        options.part(DraftSettings),
        out=Path(options.out),
        callbacks=DraftCallbacks(options.confirm, options.progress, options.tell),
    )
    left_out = [problem for corpus in corpora for problem in (*corpus.problems, *corpus.unread)]
    drawn = [f"{corpus.spec}: {corpus.drawn}" for corpus in corpora if corpus.drawn]
    return replace(summary, hints=(*map(str, left_out), *drawn, *summary.hints))


def main(line: DraftOptions) -> int:
    """Draft, and print what came of it."""
    from fathom.options.terminal import confirmed, print_summary, progress_bars, tell

    with progress_bars(line.quiet) as bars:
        shown = {stage: bars(stage) for stage in ("drafting", "checking")}

        def progress(stage: str, done: int, total: int) -> None:
            if (bar := shown[stage]) is not None:
                bar(done, total)

        asked = line.but(
            confirm=lambda plan: confirmed(plan, yes=line.yes, quiet=line.quiet),
            progress=progress,
            tell=None if line.quiet else tell,
        )
        summary = draft.body(asked)
    return print_summary(summary)
