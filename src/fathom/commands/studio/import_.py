"""Import records of LongBench Pro or an earlier export, to review them."""

from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.studio.shared import STORE, Store, libraries, opened
from fathom.options.declare import Options, arg, command, opt
from fathom.printing import several

if TYPE_CHECKING:
    from fathom.studio.transfer import ImportedSamples


class ImportOptions(Options):
    source: Annotated[
        Path | str,
        arg("A folder, file or ZIP archive: an export, or records of LongBench Pro in any format of tables."),
    ]
    store: Store = STORE
    _: KW_ONLY
    tokenizer: Annotated[
        str | None, opt("Tokenizer that counts lengths of documents; by default that of the studio.", metavar="NAME")
    ] = None
    available: Annotated[bool, opt("Use new documents at once, without a compliance review.")] = False


@command(ImportOptions)
def studio_import(options: ImportOptions) -> "ImportedSamples":
    """Import records of LongBench Pro or an earlier export, to review them.

    Samples arrive as drafts with one candidate; those that the studio has already are left unchanged. Every field is
    checked, what the studio does not accept is said, and evidence that is not the quoted text is left out.

    Needs the extra studio of fathom-eval.
    """
    with libraries():
        from fathom.studio.transfer import import_samples
    with opened(options.store) as store:
        path = Path(options.source)
        return import_samples(store, path, tokenizer=options.tokenizer, available=options.available)


def main(line: ImportOptions) -> None:
    """Import, and say what was left out."""
    from fathom.options.terminal import tell

    imported = studio_import.body(line)
    for problem in imported.problems:
        tell(problem)
    more = imported.problem_count - len(imported.problems)
    if more > 0:
        tell(f"and {more:,} more problems")
    counts = f"{several(len(imported.samples), 'sample')} and {several(imported.documents, 'document')} imported"
    print(f"{counts}; {len(imported.known):,} were there")
