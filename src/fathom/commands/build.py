"""Build length-controlled samples from documents."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from fathom.commands.shared import AllowUnread, Build, Cluster, Recorded, Terminal, engine_of
from fathom.options.declare import Read, arg, command, given, hidden, opt, unset
from fathom.options.values import Several, folders_of, lengths_of
from fathom.runfile.settings import Lengths, Where

if TYPE_CHECKING:
    from fathom.documents.corpus import Fields
    from fathom.suites.build import Built


class BuildOptions(Build, Cluster, Recorded, Terminal):
    target: Annotated[
        str | Path,
        arg(
            "A suite, tasks separated by commas (see `fathom list`), or a .py file that declares them, which is "
            "executed."
        ),
    ]
    out: Annotated[Path | str, opt("Folder to write.", "-o", metavar="FOLDER")]
    _: KW_ONLY
    lengths: Lengths = unset
    seed: Annotated[int, opt("Seed of all draws.")] = 0
    data: Annotated[
        Several,
        opt(
            "Folder with the suite's data sources; may be given more than once.",
            metavar="FOLDER",
            read=folders_of,
        ),
    ] = unset
    qa: Annotated[Several, opt("Your documents with questions and answers; as --corpus.", metavar="SPEC")] = unset
    summaries: Annotated[Several, opt("Your documents with summaries; as --corpus.", metavar="SPEC")] = unset
    noise: Annotated[Several, opt("Your documents to fill contexts with; as --corpus.", metavar="SPEC")] = unset
    questions: Annotated[
        Several,
        opt(
            "A table of questions about your documents, such as a .csv with the columns document, question, answer and "
            "optionally evidence.",
            metavar="FILE",
        ),
    ] = unset
    errata: Annotated[
        Several,
        opt(
            "A TOML file of faulty questions to leave out, besides fathom's own list (none: without that list). May be "
            "given more than once.",
            metavar="FILE",
        ),
    ] = unset
    books: Annotated[Several, opt("Novels in chapters, for TSort: a folder or file of plain text.", metavar="SPEC")] = (
        unset
    )
    threads: Annotated[
        Several,
        opt(
            "Stack Exchange threads, for BestAnswer: Posts.xml of a data dump, plain or in a .7z, or .jsonl; also "
            "FILE?tags=python,c&top=2500 for the most popular questions with these tags.",
            metavar="FILE",
        ),
    ] = unset
    cases: Annotated[
        Several, opt("Published cases of BestAnswer, used unchanged (.jsonl or another table).", metavar="FILE")
    ] = unset
    closed_book: Annotated[
        bool | None, opt("Also ask questions closed-book (without context); by default as in the suite.")
    ] = None
    alone: Annotated[bool, opt("Also ask questions with their own document only, without distractors.")] = False
    common: Annotated[bool, opt("Only items that fit every length: the same questions at all lengths.")] = False
    truncate: Annotated[
        Read[Sequence[int | str] | str | int, tuple[int, ...]],
        opt(
            "Also truncate the longest prompts in the middle to these lengths, for instance 2k,4k,8k.",
            metavar="TOKENS,...",
            read=lengths_of,
        ),
    ] = given(())
    prompts: Annotated[
        Literal["own", "official"],
        opt(
            "Prompts of published benchmarks: fathom's own, or the authors', read from --templates or --data; what has "
            "none is named."
        ),
    ] = "own"
    templates: Annotated[
        Several,
        opt(
            "For --prompts official: a copy of the authors' repository, or a .toml file with the prompts; may be given "
            "more than once.",
            metavar="PATH",
            read=folders_of,
        ),
    ] = unset
    where: Where = unset
    skip_bad: Annotated[bool, opt("Skip rows of published records that cannot be used.")] = False
    allow_unread: AllowUnread = False
    force: Annotated[bool, opt("Replace another suite in the folder, or an earlier format of this one.")] = False
    fields: Annotated["Fields | None", hidden("Names of the fields in corpus files.")] = None
    progress: Annotated[Callable[[int, int], None] | None, hidden("Called with (samples built, all samples).")] = None
    reading: Annotated[
        Callable[[int, int | None], None] | None,
        hidden("Called with the bytes read of documents and the bytes in all, None where that is not known."),
    ] = None


_NOT_ORDERED = {"target", "out", "allow_unread", "force", "progress", "reading", "engine", "address"}


@command(BuildOptions)
def build(options: BuildOptions) -> "Built":
    """Build length-controlled samples from documents.

    Repeating the command finds the existing suite and does nothing.
    """
    from fathom.plugins import loading
    from fathom.suites.build import build, configure

    target = str(options.target)
    wanted = configure(
        loading.target_of(loading.use(Path(target))) if target.endswith(".py") else target,
        **options.of(Build),
        **{name: value for name, value in options.of(BuildOptions).items() if name not in _NOT_ORDERED},
    )
    return build(
        wanted,
        Path(options.out),
        force=options.force,
        allow_unread=options.allow_unread,
        config=options.config.record() if options.config else None,
        progress=options.progress,
        reading=options.reading,
        engine=engine_of(options),
    )


def main(line: BuildOptions) -> None:
    """Build, and print what was built."""
    from fathom.options.terminal import progress_bars, tell_below

    with progress_bars(line.quiet) as bars:
        built = build.body(line.but(progress=bars("building"), reading=bars("reading", in_bytes=True)))
    made = built.manifest
    there = "" if built.fresh else "already built, "
    print(f"{built.folder}: {there}{sum(made['samples'].values()):,} samples")
    left_out = _left_out(made["left_out"], made["left_out_in_all"], made["duplicates"])
    counts = [
        f"{one['corpus']}: {one['read']:,} files read, {one['missed']:,} not read"
        for one in made.get("files_of_corpus", ())
        if one["missed"]
    ]
    for note in [*made["notes"], *counts, *left_out, *made.get("unread", ())]:
        tell_below(note)


def _left_out(problems: list[str], total: int, duplicates: int) -> list[str]:
    shown = [f"left out: {problem}" for problem in problems[:10]]
    if total > 10:
        shown.append(f"left out: {total - 10:,} more, see manifest.json")
    return shown + ([f"{duplicates} documents were duplicates and count once"] if duplicates else [])
