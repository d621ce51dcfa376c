"""Add documents to a studio: any format that corpora have."""

from collections.abc import Callable
from dataclasses import KW_ONLY, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from fathom.commands.studio.shared import STORE, Store, libraries, opened
from fathom.options.declare import Options, Read, arg, at_least, command, hidden, line_only, opt, unset
from fathom.options.values import ManyPaths, lengths_of
from fathom.printing import several

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.studio.intake import Intake


class AddDocumentsOptions(Options):
    sources: Annotated[
        ManyPaths,
        arg(
            "Folders and files, with names of fields as in --corpus of build: FILE.jsonl?text=body&title=name; or "
            "world, a generated corpus to try the studio, as world?language=zh&seed=3."
        ),
    ]
    store: Store = STORE
    _: KW_ONLY
    tokenizer: Annotated[
        str | None,
        opt(
            "Tokenizer that counts lengths: tekken, tiktoken:NAME, hf:NAME, words, chars, or a path. By default that "
            "of the studio, which stays once there are documents.",
            metavar="NAME",
        ),
    ] = None
    buckets: Annotated[
        Read["Sequence[int | str] | str | int | None", tuple[int, ...] | None],
        opt(
            "Length buckets in tokens, for these and later documents; by default those of the studio, at first "
            "8k,16k,32k,64k,128k,256k.",
            metavar="TOKENS,...",
            read=lengths_of,
        ),
    ] = unset
    tolerance: Annotated[
        float | None,
        opt(
            "Share of a bucket by which a text may be shorter or longer, for these and later documents; at first 0.2.",
            check=at_least(0),
        ),
    ] = None
    near: Annotated[
        float | None,
        opt(
            "Share of the shorter text from which two texts are nearly equal, for these and later documents; at first "
            "0.8.",
            check=at_least(0),
        ),
    ] = None
    available: Annotated[bool, opt("Use the documents at once, without a compliance review.")] = False
    domain: Annotated[str, opt("Subject of all of them.", metavar="TEXT")] = ""
    format: Annotated[str, opt("Kind of text of all of them, such as contract or novel.", metavar="TEXT")] = ""
    language: Annotated[
        Literal["en", "zh"] | None, opt("Language of all of them; by default as stated in a record, or detected.")
    ] = None
    licence: Annotated[str, opt("Licence of those that do not state their own.", metavar="TEXT")] = ""
    source: Annotated[str, opt("Where all of them are from, such as a web address.", metavar="TEXT")] = ""
    progress: Annotated[Callable[[int, int], None] | None, hidden("Called with (measured, all).")] = None


@command(AddDocumentsOptions)
def studio_add_documents(options: AddDocumentsOptions) -> "Intake":
    """Add documents to a studio, with length bucket, language and near duplicates.

    Equal texts are added once. Until people have reviewed their compliance (private, copyrighted or otherwise
    unsuitable texts are excluded), documents are collected and cannot be used; --available skips the review.

    Needs the extra studio of fathom-eval.
    """
    with libraries():
        from fathom.studio.intake import rules_of
        from fathom.studio.work import add_documents
    paths = [options.sources] if isinstance(options.sources, Path | str) else list(options.sources)
    with opened(options.store) as store:
        measures = {name: getattr(options, name) for name in ("buckets", "tolerance", "near")}
        measured = replace(
            store.intake(), **{name: measure for name, measure in measures.items() if measure is not None}
        )
        rules = rules_of(
            measured,
            state="available" if options.available else "collected",
            domain=options.domain,
            format=options.format,
            language=options.language or "",
            licence=options.licence,
            source=options.source,
        )
        specs = list(map(str, paths))
        return add_documents(store, specs, tokenizer=options.tokenizer, rules=rules, progress=options.progress)


class Line(AddDocumentsOptions, kw_only=True):
    quiet: Annotated[bool, opt("No progress bar.", "-q")] = line_only(False)


def main(line: Line) -> None:
    """Add the documents, and say what was left out."""
    from fathom.options.terminal import progress_bar, tell
    from fathom.studio.intake import about

    with progress_bar("counting", line.quiet) as progress:
        intake = studio_add_documents.body(line.but(progress=progress))
    for problem in (*intake.problems[:20], *intake.unread):
        tell(problem)
    for taken in intake.taken:
        if taken.document.duplicate_of:
            tell(about(taken.document))
    usable = len(intake.taken) - intake.nearly_equal
    states = "waiting for their compliance review"
    if line.available:
        states = f"{usable:,} of them available" if intake.nearly_equal else "available"
    print(
        f"{several(len(intake.taken), 'document')} added, {states}; {len(intake.known):,} were there; "
        f"{intake.no_bucket:,} are of no bucket's length, {intake.nearly_equal:,} nearly equal to another"
    )
