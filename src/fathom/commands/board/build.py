"""Build a leaderboard as a static site that any host can serve and that opens from disk."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.board.shared import ModelsFile, Published, Title
from fathom.commands.shared import Json, JudgeOfRows, Terminal, Unanswered
from fathom.options.declare import arg, command, given, hidden, opt, unset
from fathom.options.values import ManyPaths, MaybePath, Paths, Several, paths_of
from fathom.printing import several
from fathom.types.choices import Rule

if TYPE_CHECKING:
    from fathom.board.build import Built


class BuildOptions(Terminal, Json):
    results: Annotated[
        ManyPaths,
        arg("Run folders, rows files, bundles, and folders of bundles or runs; omit for the published results alone."),
    ] = ()
    out: Annotated[Path | str, opt("Folder of the site; an existing one is replaced.", "-o", metavar="FOLDER")] = "site"
    _: KW_ONLY
    boards: Annotated[
        Several,
        opt(
            "Id of a board, for instance leader-32k; may be given several times. All by default.",
            flag="--board",
            metavar="ID",
        ),
    ] = unset
    published: Published = True
    more: Annotated[
        Paths,
        opt("A file of further published results; may be given several times.", flag="--published", metavar="FILE"),
    ] = given(())
    models: ModelsFile = unset
    title: Title = None
    date: Annotated[
        str | None, opt("Date of the site; by default that of its newest result.", metavar="YYYY-MM-DD")
    ] = None
    suites: Annotated[Paths, opt("A built suite, for example prompts; may be given several times.", flag="--suite")] = (
        given(())
    )
    examples: Annotated[bool, opt("Without example prompts.", flag="--no-examples")] = True
    since: Annotated[MaybePath, opt("An older site; the new one lists the changes since.", metavar="FOLDER")] = unset
    rule: Annotated[
        Rule | None,
        opt(
            "Scoring rule for runs and bundles: strict, or official, by which the papers scored. Default: strict; with "
            "published results, official."
        ),
    ] = None
    unanswered: Unanswered = "zero"
    judge: JudgeOfRows = None
    progress: Annotated[Callable[[int, int], None] | None, hidden("Called with (pages written, pages in all).")] = None


@command(BuildOptions)
def board_build(options: BuildOptions) -> "Built":
    """Build a leaderboard as a static site that any host can serve and that opens from disk."""
    from fathom.board.build import TITLE, SiteSettings, build_site

    settings = SiteSettings(
        results=paths_of(options.results),
        published=options.published,
        more=options.more,
        boards=options.boards or (),
        title=TITLE if options.title is None else options.title,
        date=options.date or "",
        suites=options.suites,
        examples=options.examples,
        since=options.since,
        rule=options.rule,
        unanswered=options.unanswered,
        judge=options.judge,
        models=options.models,
    )
    return build_site(settings, Path(options.out), options.progress)


def main(line: BuildOptions) -> None:
    """Build, and print a table of the boards, or JSON."""
    from fathom.options.terminal import print_json, print_records, progress_bar, tell

    with progress_bar("building", line.quiet) as bar:
        built = board_build.body(line.but(progress=bar))
    for note in built.notes:
        tell(note)
    if line.as_json:
        names = ("out", "built", "boards", "files", "notes", "rule")
        return print_json({name: getattr(built, name) for name in names} | {"bytes": built.size})
    columns = ("id", "title", "lines", "models", "tasks", "measured")
    print_records([{name: board[name] for name in columns} for board in built.boards], denominator="none")
    index = Path(line.out) / "index.html"
    rule = f", scored by the rule {built.rule}" if built.rule else ""
    print(f"{index}: {several(built.files, 'file')}, {built.size / 1e6:,.1f} MB, dated {built.built}{rule}")
