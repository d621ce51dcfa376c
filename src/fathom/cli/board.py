"""Commands ``fathom board build`` and ``diff``: results become a static site, and what changed between two of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathom import api
from fathom.cli.arguments import AsJson, Judge, Quiet, Unanswered, print_records, progress_bar, tell
from fathom.printing import printable, printable_json

if TYPE_CHECKING:
    from fathom.board.build import Built
    from fathom.board.changes import Changes

SHOWN = 40
"""Changes that are printed as sentences."""

app = typer.Typer(
    help="The leaderboard: a static site from results, and results of others checked and taken in.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
def build(
    results: Annotated[
        list[Path] | None,
        typer.Argument(help="Run folders, rows files, bundles, and folders of bundles or runs; none for the papers'."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the site; one that is there is replaced.")] = Path(
        "site"
    ),
    board: Annotated[
        list[str] | None,
        typer.Option(help="Id of a board, for instance leader-32k; may be given several times. All by default."),
    ] = None,
    no_published: Annotated[
        bool, typer.Option("--no-published", help="Without the papers' results that come with fathom.")
    ] = False,
    published: Annotated[
        list[Path] | None,
        typer.Option(help="A file of further published results; may be given several times."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the site.")] = None,
    date: Annotated[
        str | None, typer.Option(help="Date of the site, YYYY-MM-DD; by default that of its newest result.")
    ] = None,
    suite: Annotated[
        list[Path] | None,
        typer.Option(help="A built suite, for example prompts; may be given several times."),
    ] = None,
    no_examples: Annotated[bool, typer.Option("--no-examples", help="Without example prompts.")] = False,
    since: Annotated[
        Path | None, typer.Option(help="An older site: what has changed since then is told on the new one.")
    ] = None,
    rule: Annotated[
        str, typer.Option(help="Scoring rule for runs and bundles: strict or official, by which the papers scored.")
    ] = "official",
    unanswered: Unanswered = "zero",
    judge: Judge = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Build a leaderboard as a static site that any host can serve and that opens from disk."""
    with progress_bar("building", quiet) as bar:
        built = api.board_build(
            results or (),
            out,
            published=not no_published,
            more=published or (),
            boards=board or (),
            title=title,
            date=date,
            suites=suite or (),
            examples=not no_examples,
            since=since,
            rule=rule,
            unanswered=unanswered,
            judge=judge,
            progress=bar,
        )
    for note in built.notes:
        tell(note)
    if as_json:
        print(printable_json(json.dumps(_summary(built), indent=2, ensure_ascii=False)))
        return
    columns = ("id", "title", "lines", "models", "tasks", "measured")
    print_records([{name: one[name] for name in columns} for one in built.boards], as_json=False)
    print(f"{out / 'index.html'}: {built.files:,} files, {built.size / 1e6:,.1f} MB, dated {built.built}")


def _summary(built: Built) -> dict[str, object]:
    return {
        "out": str(built.out),
        "built": built.built,
        "boards": [dict(one) for one in built.boards],
        "files": built.files,
        "bytes": built.size,
        "notes": list(built.notes),
    }


@app.command()
def diff(
    old: Annotated[Path, typer.Argument(help="Folder of a site, or its downloads/all.json.")],
    new: Annotated[Path, typer.Argument(help="A newer one.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="A JSON file for all changes.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say what has changed between two sites, and why: lines, scores and ranks."""
    found = api.board_diff(old, new, out)
    if as_json:
        print(printable_json(json.dumps(found.as_json(), indent=2, ensure_ascii=False)))
        return
    _print_changes(found)
    if out is not None:
        print(out)


def _print_changes(found: Changes) -> None:
    from fathom.board.changes import counted, sentences

    counts = ", ".join(f"{name}: {count:,}" for name, count in counted(found.changes).items()) or "nothing has changed"
    print(f"{found.old} to {found.new}: {counts}")
    for sentence in sentences(found, SHOWN):
        print(printable(sentence))
