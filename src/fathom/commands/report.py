"""Write one self-contained HTML page about runs, or its summary as Markdown, and print the summary."""

import os
import shlex
from collections.abc import Callable
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

from fathom.commands.forms import REPORTS, Format, form_of
from fathom.commands.shared import Json, JudgeOfRows, Known, Seed, Sources, Suites, Unanswered, flags_of_figures
from fathom.options.declare import command, given, hidden, line_only, opt, unset
from fathom.options.values import MaybePath, paths_of
from fathom.types import FathomError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.analysis import Filtered
    from fathom.report.made import Report
    from fathom.report.table import Replies

PAGE = "report.html"


class ReportOptions(Known, Json):
    sources: Sources
    out: Annotated[
        Path | str,
        opt("The file to write; Markdown and JSON are printed if none is named, and - prints.", "-o", metavar="FILE"),
    ] = PAGE
    _: KW_ONLY
    format: Annotated[
        Format | None,
        opt("html (the page), markdown (its summary) or json (its numbers); default: by the suffix of the file."),
    ] = None
    title: Annotated[str | None, opt("Title of the page.")] = None
    replies: Annotated[
        MaybePath, opt("Write pages of the replies into this folder, and link scores to them.", metavar="FOLDER")
    ] = unset
    suites: Suites = given(())
    seed: Seed = 0
    judge: JudgeOfRows = None
    unanswered: Unanswered = "zero"
    progress: Annotated[Callable[[int, int], None] | None, hidden("Called with (units done, units in all).")] = None
    tables: Annotated[bool, opt("Print all tables, not only the summary.")] = line_only(False)
    quiet: Annotated[bool, opt("Print no summary and show no progress.", "-q")] = line_only(False)


def _format(options: ReportOptions) -> Format:
    if options.as_json:
        if options.format not in (None, "json"):
            raise FathomError(f"`as_json` is `format` json; `format` {options.format} is given too")
        return "json"
    return options.format or form_of(options.out, REPORTS, "a report", default="html")


def _file(options: ReportOptions) -> Path | None:
    """The file to write; None if the report is printed."""
    printed = str(options.out) == "-" or (str(options.out) == PAGE and _format(options) != "html")
    return None if printed else Path(options.out)


@command(ReportOptions)
def report(options: ReportOptions) -> "Report":
    """Write one self-contained HTML page about runs, and return its tables.

    Of more than 12 models, the details of each ten but the first are on pages in a folder beside it.

    The result has the summary too: ``result.markdown()`` gives it as Markdown, ``result.numbers()`` as numbers.
    """
    from fathom.report.made import measured, write
    from fathom.report.page import TITLE
    from fathom.report.reading import filtered
    from fathom.rows import fingerprints, questions_left_out, served, servers, shared_contexts, unfinished, unread_files

    out, form = _file(options), _format(options)
    sources, read = paths_of(options.sources), list[str]()
    left = filtered(sources, **options.of(Known), judge=options.judge, seed=options.seed, tell_read=read.append)
    made = measured(
        left,
        title=options.title or TITLE,
        seed=options.seed,
        unanswered=options.unanswered,
        notes=[
            *unread_files(sources),
            *questions_left_out(sources),
            *unfinished(sources),
            *served(sources),
            *shared_contexts(sources),
            *read,
        ],
        made=(*fingerprints(sources), *servers(sources), ("Command", _command(options))),
        link=linked_replies(sources, options.replies, out, options.suites, options.judge),
        progress=options.progress,
    )
    made = _under_both(made, left, options)
    if out is not None:
        write(made, out, form)
    return made


def _under_both(made: "Report", left: "Filtered", options: ReportOptions) -> "Report":
    """The report with scores under both rules, if it is on tasks of LongBench Pro or generated ones like them."""
    from fathom.analysis.rules import rule_gaps
    from fathom.benchmarks.pro.records import NAME
    from fathom.commands.analyze.rules import under_both
    from fathom.report.made import with_values
    from fathom.report.sections.rules import BY_RULES
    from fathom.suites.registry import tasks

    known = tasks()
    if not any(name in known and known[name].official.startswith(f"{NAME}/") for name in made.results.tasks):
        return made
    rows = under_both(left.left, paths_of(options.sources), options.judge, options.unanswered)
    return with_values(made, BY_RULES, rule_gaps(rows, seed=options.seed))


def _command(options: ReportOptions) -> str:
    """The command without what does not change its figures; of absolute paths, which name people, only the end."""
    sources = list(map(_without_folders, paths_of(options.sources)))
    return shlex.join(["fathom", "report", *sources, *map(_without_folders, flags_of_figures(options))])


def _without_folders(value: object) -> str:
    return Path(str(value)).name if Path(str(value)).is_absolute() else str(value)


def linked_replies(
    sources: "Sequence[Path]", replies: Path | None, out: Path | None, suites: "Sequence[Path]", judge: str | None
) -> Callable[["Replies"], str] | None:
    """Write the pages of the replies, and give what makes addresses of them; None without a folder for them.

    Args:
        sources: Run folders and rows files.
        out: The page that links to them; None if it is printed.
        suites: See ``fathom.browse.write``.
        judge: Likewise.

    Raises:
        FathomError: The page would be in the folder, which is replaced.
    """
    if replies is None:
        return None
    from fathom import browse

    pages = replies.resolve()
    start = out.resolve().parent if out is not None else Path.cwd()
    if out is not None and start.is_relative_to(pages):
        raise FathomError(f"`replies` {replies}: the folder is replaced, so write {out} to another one")
    browse.write(sources, replies, suites=suites, judge=judge)
    folder = quote(Path(os.path.relpath(pages, start)).as_posix())
    return lambda replies: browse.address(folder, **{name: value or None for name, value in replies._asdict().items()})


def main(line: ReportOptions) -> None:
    """Write the page, and print its summary."""
    from fathom.options.terminal import progress_bar, tell
    from fathom.report.reading import tell_unfinished
    from fathom.report.terminal import show

    with progress_bar("measuring", line.quiet) as bar:
        made = report.body(line.but(progress=bar))
    tell_unfinished(paths_of(line.sources), tell)
    out = _file(line)
    if out is None:
        return print(made.text(_format(line)), end="")
    print(out)
    if line.tables:
        show(made)
    elif not line.quiet:
        made.show_summary()
