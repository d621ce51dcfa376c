"""Look at replies in a browser: prompts with gold text marked, replies, and why they scored so."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fathom.commands.servers import Port, Ready
from fathom.commands.shared import RUN, Json, JudgeOfRows, Sources, Suites, Tell, Terminal
from fathom.options.declare import command, given, hidden, line_only, opt, unset
from fathom.options.values import MaybePath, Names, paths_of
from fathom.printing import several

if TYPE_CHECKING:
    from fathom.browse import Written


class BrowseOptions(Terminal, Json):
    sources: Sources
    _: KW_ONLY
    out: Annotated[
        MaybePath,
        opt("Write the pages to this folder, to open or to send, instead of serving them.", "-o", metavar="FOLDER"),
    ] = unset
    suites: Suites = given(())
    only: Annotated[
        Names,
        opt(
            "Only samples with one of these scores: right, partly, wrong, none (not scored), or differ (the scores of "
            "two runs differ by at least a half).",
            metavar="SCORE,...",
        ),
    ] = unset
    rule: Annotated[
        Literal["strict", "official"], opt("strict, or official (as the code of the paper that a task comes from).")
    ] = "strict"
    judge: JudgeOfRows = None
    port: Port = 0
    ready: Ready = None
    tell: Tell = None
    progress: Annotated[Callable[[int, int], None] | None, hidden("Called with (samples written, samples in all).")] = (
        None
    )
    open_page: Annotated[bool, opt("Do not open the browser.", flag="--no-open")] = line_only(True)


@command(BrowseOptions)
def browse(options: BrowseOptions) -> "Written | None":
    """Look at replies in a browser: prompts with gold text marked, replies, and why they scored so.

    Serves pages on this machine until Ctrl-C, or writes them to a folder with --out. Served pages of a run that goes on
    refresh themselves until it ends, unless --only is given.
    """
    from fathom.browse import Pages, Refreshed, only_some, read_replies, serve, write

    sources, only = paths_of(options.sources), options.only or ()
    how: dict[str, Any] = {name: getattr(options, name) for name in ("suites", "rule", "judge")}
    if options.out is not None:
        return write(sources, Path(options.out), only=only, tell=options.tell, progress=options.progress, **how)
    reported = False

    def read() -> Pages:
        nonlocal reported
        replies = only_some(read_replies(sources, **how), only)
        if options.tell is not None and not reported:
            for note in replies.notes:
                options.tell(note)
        reported = True
        return Pages(replies)

    # With --only, samples come and go with their scores: those pages stay as they are.
    folders = [] if only else [folder for folder in sources if (folder / RUN).exists()]
    serve(Refreshed(read, folders), options.port, options.ready)
    return None


def main(line: BrowseOptions) -> None:
    """Serve until Ctrl-C, or write and say what was written."""
    from fathom.options.terminal import print_json, progress_bar, tell

    def ready(address: str) -> None:
        print(address, flush=True)
        tell("these pages are served until Ctrl-C; with --out FOLDER they are written instead")
        if line.open_page:
            _open(address)

    with progress_bar("writing", line.quiet) as bar:
        written = browse.body(line.but(tell=tell, ready=ready, progress=bar))
    if written is None:
        return
    if line.as_json:
        return print_json(written)
    print(
        f"{written.out / 'index.html'}: {several(written.replies, 'reply')} to "
        f"{several(written.samples, 'sample')}, {several(written.files, 'file')}, {written.size / 1e6:,.1f} MB"
    )


def _open(address: str) -> None:
    import os
    import sys
    import webbrowser

    # Without a display, a browser for text would take over the terminal.
    if sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open(address)
