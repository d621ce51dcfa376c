"""Build length-controlled samples from documents."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fathom.commands.shared import AllowUnread, Cluster, Recorded, Terminal, engine_of
from fathom.options.declare import Options, arg, command, hidden, opt
from fathom.printing import several
from fathom.suites.settings import Build, BuildSettings, Contents

if TYPE_CHECKING:
    from fathom.suites.build import Built
    from fathom.types import Json, Sample

SHOWN = 10
"""Problems of the documents that are printed."""


class Replacing(Options, kw_only=True):
    """Options."""

    allow_unread: AllowUnread = False
    force: Annotated[bool, opt("Replace another suite in the folder, or an earlier format of this one.")] = False


class BuildOptions(Contents, Replacing, Build, Cluster, Recorded, Terminal):
    target: Annotated[
        str | Path,
        arg(
            "A suite, tasks separated by commas (see `fathom list`), or a .py file that declares them, which is "
            "executed."
        ),
    ]
    out: Annotated[Path | str, opt("Folder to write.", "-o", metavar="FOLDER")]
    _: KW_ONLY
    shortcuts: Annotated[
        bool,
        opt("Do not measure what replies without reading score (up to 16k).", flag="--no-shortcuts"),
    ] = True
    progress: Annotated[Callable[[int, int], None] | None, hidden("Called with (samples built, all samples).")] = None
    reading: Annotated[
        Callable[[int, int | None], None] | None,
        hidden("Called with the bytes read of documents and the bytes in all, None where that is not known."),
    ] = None


@command(BuildOptions)
def build(options: BuildOptions) -> "Built":
    """Build length-controlled samples from documents.

    Repeating the command finds the existing suite and does nothing.
    """
    from fathom.plugins import loading
    from fathom.suites.build import Beside, build, configure

    target = str(options.target)
    name = loading.target_of(loading.use(Path(target))) if target.endswith(".py") else target
    wanted = configure(name, options.part(BuildSettings))
    return build(
        wanted,
        Path(options.out),
        force=options.force,
        allow_unread=options.allow_unread,
        progress=options.progress,
        reading=options.reading,
        engine=engine_of(options),
        beside=Beside(options.config.record() if options.config else None, _shortcuts if options.shortcuts else None),
    )


def _shortcuts(samples: "Sequence[Sample]", texts: Mapping[str, str]) -> "Json":
    from fathom.models.baselines.shortcuts import shortcuts

    return [asdict(best) for best in shortcuts(samples, texts)]


def main(line: BuildOptions) -> None:
    """Build, and print what was built."""
    from fathom.options.terminal import progress_bars, tell_below, tell_next

    with progress_bars(line.quiet) as bars:
        built = build.body(line.but(progress=bars("building"), reading=bars("reading", in_bytes=True)))
    made = built.manifest
    state = "" if built.fresh else "already built, "
    print(f"{built.folder}: {state}{several(sum(made['samples'].values()), 'sample')}")
    for note in notes_of(made):
        tell_below(note)
    if not line.quiet:
        tell_next("run", built.folder, "--model", "PROVIDER/NAME")


def notes_of(made: Mapping[str, Any]) -> list[str]:
    """What the reader of a build must know.

    Args:
        made: Its manifest.
    """
    left_out = _left_out(made["left_out"], made["left_out_in_all"], made["duplicates"])
    counts = [
        f"{file['corpus']}: {several(file['read'], 'file')} read, {file['missed']:,} not read"
        for file in made.get("files_of_corpus", ())
        if file["missed"]
    ]
    return [*made["notes"], *_worthwhile(made.get("shortcuts", ())), *counts, *left_out, *made.get("unread", ())]


def _worthwhile(records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What replies without reading score where that clearly exceeds chance: of each task the longest length."""
    from fathom.models.baselines.shortcuts import Shortcut

    clear = [best for record in records if (best := Shortcut(**record)).clear]
    strict = {(best.task, best.kind) for best in clear if best.grader == "strict"}
    notes = {
        (best.task, best.kind): str(best)
        for best in clear
        if best.grader == "strict" or (best.task, best.kind) not in strict
    }
    yield from notes.values()


def _left_out(problems: list[str], total: int, duplicates: int) -> list[str]:
    shown = [f"left out: {problem}" for problem in problems[:SHOWN]]
    if total > SHOWN:
        shown.append(f"left out: {total - SHOWN:,} more, see manifest.json")
    if total:
        shown.append("to use what is left out, correct it or download it again, and build with --force")
    return shown + ([f"{several(duplicates, 'document')} left out as duplicates"] if duplicates else [])
