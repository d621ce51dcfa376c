"""Export accepted samples: LongBench Pro's records, a suite, JSON lines and a dataset card."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.studio.shared import STORE, Store, TasksFolder, libraries, opened
from fathom.options.declare import Options, Read, command, given, hidden, line_only, opt, unset
from fathom.options.values import Tokens, names_of
from fathom.printing import several

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.studio.transfer import ExportReport


class ExportOptions(Options):
    store: Store
    out: Annotated[Path | str, opt("The folder.", "-o", metavar="FOLDER")]
    _: KW_ONLY
    formats: Annotated[
        Read["Sequence[str] | str", tuple[str, ...]],
        opt("pro, suite, jsonl and card, or some of them.", metavar="NAME,...", read=names_of),
    ] = given("pro,suite,jsonl,card")
    title: Annotated[str, opt("Title of the data set.", metavar="TEXT")] = "Samples made with fathom studio"
    licence: Annotated[str, opt("Identifier of its licence, such as cc-by-4.0.", metavar="NAME")] = ""
    tokenizer: Annotated[str, opt("Tokenizer that measures the suite's prompts.", metavar="NAME")] = "tekken"
    lengths: Annotated[
        Tokens, opt("Shorter lengths at which samples are in the suite too, with their evidence kept.")
    ] = unset
    closed_book: Annotated[bool, opt("Also ask each question of the suite without its context.")] = False
    tasks: TasksFolder = unset
    progress: Annotated[Callable[[int, int], None] | None, hidden("Called with (done, all).")] = None


@command(ExportOptions)
def studio_export(options: ExportOptions) -> "ExportReport":
    """Export accepted samples: LongBench Pro's records, a suite, JSON lines and a dataset card.

    The suite in the folder is for `fathom run` and `fathom report`. Its samples know where their evidence is: studies
    of position use it, and shorter lengths keep it. `fathom build pro --data FOLDER` reads the records of LongBench
    Pro. The JSON lines are for `fathom studio import`. Exports name no people.

    Needs the extra studio of fathom-eval.
    """
    with libraries():
        from fathom.studio.exports import ExportOptions as Content
        from fathom.studio.transfer import export_samples, formats_of
        from fathom.studio.work import tasks_of
    content = Content(
        formats=formats_of(options.formats),
        title=options.title,
        licence=options.licence,
        tokenizer=options.tokenizer,
        lengths=options.lengths or (),
        closed_book=options.closed_book,
    )
    with opened(options.store) as store:
        tasks = tasks_of(options.store, options.tasks)
        return export_samples(store, tasks, Path(options.out), content, progress=options.progress)


class Line(ExportOptions, kw_only=True):
    store: Store = STORE
    quiet: Annotated[bool, opt("No progress bar.", "-q")] = line_only(False)


def main(line: Line) -> None:
    """Write the files, and say what is not in them."""
    from fathom.options.terminal import progress_bar, tell

    with progress_bar("measuring", line.quiet) as progress:
        exported = studio_export.body(line.but(progress=progress))
    for reason in exported.left_out:
        tell(reason)
    print(f"{exported.folder}: {several(exported.samples, 'sample')} as {', '.join(exported.files)}")
