"""Commands ``fathom board build``, ``diff``, ``bundle`` and ``check``: results become a static site, or a bundle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathom import api
from fathom.cli.arguments import AsJson, Judge, Quiet, Unanswered
from fathom.commands.terminal import print_records, progress_bar, tell
from fathom.printing import printable, printable_json

if TYPE_CHECKING:
    from fathom.board.build import Built
    from fathom.board.bundles.check import Checked
    from fathom.board.bundles.findings import Level
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


_HEADINGS: dict[Level, str] = {
    "refused": "wrong",
    "incomplete": "missing",
    "unverified": "not verified",
    "verified": "verified",
}


@app.command()
def bundle(
    runs: Annotated[list[Path], typer.Argument(help="Run folders of one model with the same settings.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The .zip file to write.")],
    logs: Annotated[
        bool, typer.Option("--logs/--no-logs", help="With the replies, so that others can compute the scores again.")
    ] = True,
    judge: Judge = None,
) -> None:
    """Write the results of runs into one file that others can check.

    It holds rows, settings, versions, hashes of prompts and replies, and with logs the replies and gold answers; no
    prompts, no thoughts, no addresses, paths or keys.
    """
    made = api.board_bundle(runs, out, judge=judge, logs=logs)
    without = "" if logs else "; without logs its scores cannot be computed again"
    print(f"{out}: {len(made.results):,} replies of {printable(made.model)}, {out.stat().st_size:,} bytes{without}")


@app.command()
def check(
    bundle: Annotated[Path, typer.Argument(help="A file that `fathom board bundle` wrote.")],
    suite: Annotated[
        list[Path] | None,
        typer.Option("--suite", help="Folder of the suite that was run; may be given several times."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a bundle: its form, its hashes, its scores, and with --suite its gold answers, prompts and completeness.

    It says what is right, what is wrong or missing, and what cannot be verified; it ends with 2 where something is
    wrong.
    """
    checked = api.board_check(bundle, suite or [])
    if as_json:
        print(printable_json(json.dumps(checked.json(), indent=2, ensure_ascii=False)))
    else:
        _print(bundle, checked)
    if not checked.accepted:
        raise typer.Exit(2)


def _print(path: Path, checked: Checked) -> None:
    said = "refused" if not checked.accepted else "accepted" if checked.complete else "accepted, but not complete"
    about = ""
    if checked.bundle is not None:
        name = " ".join(filter(None, (checked.bundle.model, checked.bundle.variant)))
        about = f": {len(checked.bundle.results):,} replies of {name} until {checked.bundle.created}"
    print(f"{path}: {said}{printable(about)}")
    for level, heading in _HEADINGS.items():
        for finding in checked.of(level):
            print(f"  {heading}: {printable(finding.words)}")
