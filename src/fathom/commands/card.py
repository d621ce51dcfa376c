"""A model's card: every score with what it needs to be believed, beside what others printed."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.forms import SUFFIXES, TextFormat, form_of
from fathom.commands.shared import (
    Json,
    JudgeOfRows,
    Seed,
    Sources,
    Unanswered,
    flags_of_figures,
    sources_of,
)
from fathom.options.declare import arg, at_least, command, given, line_only, opt, unset
from fathom.options.values import MaybePath, Paths, Several
from fathom.types import FathomError

if TYPE_CHECKING:
    import polars as pl

    from fathom.analysis.card import CardRow, How
    from fathom.report.card import Card

NAMED = 3
"""Files that a row names."""


class CardOptions(Json):
    model: Annotated[str, arg("Name of the model, as in its runs; runs of others are left out.")]
    sources: Sources = given(())
    out: Annotated[
        MaybePath,
        opt("Write the card to a file: a page (.html), Markdown (.md) or JSON (.json).", "-o", metavar="FILE"),
    ] = unset
    _: KW_ONLY
    printed: Annotated[
        Paths,
        opt(
            "Scores that others printed of it, with source and date: a CSV. May be given several times.", metavar="FILE"
        ),
    ] = given(())
    errata: Annotated[
        Several,
        opt("A table (CSV) of faulty items beside the benchmarks' own; may be given more than once.", metavar="FILE"),
    ] = unset
    check: Annotated[
        bool, opt("Exit code 1 if a printed score that was measured again is not reproduced; see --within.")
    ] = False
    within: Annotated[
        float,
        opt("Standard errors of the difference by which a reproduced score may differ.", check=at_least(0, above=True)),
    ] = 1.0
    format: Annotated[
        TextFormat | None,
        opt("What is printed or written; default: by the suffix of the file, else text."),
    ] = None
    seed: Seed = 0
    judge: JudgeOfRows = None
    unanswered: Unanswered = "zero"
    quiet: Annotated[bool, opt("Print the sentence and its remarks, no tables.", "-q")] = line_only(False)


@command(CardOptions)
def card(options: CardOptions) -> "Card":
    """Write a model's card: every score with scorer, prompt, judge, window, date, items, interval and cost.

    Runs, rows files and results of other programs are measured rows. What papers printed of the model, as far as boards
    have it, and the rows of `printed` stand beside them, and each that was measured again is checked.
    """
    from fathom.analysis.card import ModelCard, check_printed
    from fathom.commands.analyze.second_judge import shifts_of
    from fathom.plugins.names import system_name
    from fathom.printing import several
    from fathom.report.card import Card
    from fathom.storage.atomic import whole_file

    form = options.format
    if options.out is not None and form is None:
        form = form_of(options.out, SUFFIXES, "a card")
    notes = list[str]()
    measured = _measured(options, notes) if options.sources else []
    printed = _dated([*_of_boards(options.model), *_of_files(options.printed, options.model)])
    if not measured and not printed:
        raise FathomError(
            f"{options.model}: no board has a printed score of a model with this name; give runs of it, or `printed`"
        )
    if lacking := sum(row.score is None for row in measured):
        notes.append(f"{several(lacking, 'measured row has', 'measured rows have')} no score: the notes say why.")
    checks = tuple(check_printed(printed, measured, options.within))
    if options.check and all(check.reproduced is None for check in checks):
        raise FathomError(_nothing_checked(printed, measured))
    shifts = shifts_of(sources_of(options.sources), options.judge, options.seed)
    made = Card(
        ModelCard(options.model, (*measured, *printed), checks),
        notes=tuple(notes),
        made=(
            ("Command", _command(options)),
            ("Measured", ", ".join(map(str, sources_of(options.sources))) or "nothing"),
        ),
        shifts=tuple(
            shift for shift in shifts if options.model in (shift.model, system_name(shift.model, shift.variant))
        ),
    )
    if options.out is not None:
        with whole_file(options.out) as stream:
            stream.write(made.text(form or "text"))
    return made


def main(line: CardOptions) -> int:
    """Print the sentence and the tables."""
    from fathom.options.terminal import print_json
    from fathom.report.terminal import show

    made = card.body(line)
    code = int(line.check and any(check.reproduced is False for check in made.card.checks))
    if line.as_json:
        print_json(made.numbers())
        return code
    if line.out is None and line.format not in (None, "text"):
        print(made.text(line.format), end="")
        return code
    print(made.sentence)
    for note in made.notes:
        print(f"note: {note}")
    if not line.quiet:
        show(made.tables(tasks=False))
    if line.out is not None:
        print(line.out)
    else:
        print(f"next: {_command(line)} -o card.html")
    return code


def _measured(options: CardOptions, notes: list[str]) -> "list[CardRow]":
    """The measured rows of the model under both scoring rules."""
    from fathom.analysis.card import How, measured_rows, with_both_rules
    from fathom.analysis.faulty_items import faulty_items
    from fathom.rows import scan
    from fathom.rows.parts import ReadOptions

    both, sources, faulty = [], sources_of(options.sources), faulty_items(options.errata or ())
    facts: Mapping[str, How] = {}
    for rule in ("strict", "official"):
        tell = notes.append if rule == "strict" else lambda _: None
        table = scan(sources, rule, judge=options.judge, options=ReadOptions(tell=tell))
        rows = table.read()
        model, variant = _system(rows, options.model)
        own = rows.filter(model=model, variant=variant)
        if not facts:
            logs = dict.fromkeys(own["suite"].unique(), _of_logs(table.origins, model, variant))
            facts = {**logs, **_facts(sources, model, variant)}
        both.append(measured_rows(own, facts, faulty=faulty, unanswered=options.unanswered, seed=options.seed))
    return with_both_rules(*both)


def _system(rows: "pl.DataFrame", model: str) -> tuple[str, str]:
    """The model and variant that a name stands for."""
    from fathom.plugins.names import system_name, unknown

    systems = [(str(name), str(variant)) for name, variant in rows.select("model", "variant").unique().rows()]
    chosen = [pair for pair in systems if model in (pair[0], system_name(*pair))]
    if not chosen:
        raise unknown("model", model, sorted(system_name(*pair) for pair in systems), see="fathom card --help")
    if len(chosen) > 1:
        listed = ", ".join(sorted(repr(system_name(*pair)) for pair in chosen))
        raise FathomError(f"{model} was run in several ways, and a card is of one of them: name {listed}")
    return chosen[0]


def _facts(sources: Iterable[Path], model: str, variant: str) -> "dict[str, How]":
    """How each suite was run, from the files of its runs; of several runs what they share, and their last date."""
    from fathom.analysis.card import How
    from fathom.rows.runs import is_run, labels
    from fathom.runfile.manifest import read_manifest

    runs: dict[str, list[Path]] = {}
    for path, (suite, *system) in labels([path for path in sources if is_run(path)]).items():
        if system == [model, variant]:
            runs.setdefault(suite, []).append(path)
    facts = {}
    for suite, paths in runs.items():
        manifests = [read_manifest(path) for path in paths]
        windows = {manifest.get("window") for manifest in manifests}
        prompts = {_prompts(manifest["suite"]) for manifest in manifests}
        facts[suite] = How(
            version=f"suite {str(manifests[0]['suite']['fingerprint'])[:8]}",
            revision=_revisions(manifests[0]["suite"]),
            prompt=prompts.pop() if len(prompts) == 1 else "",
            window=windows.pop() if len(windows) == 1 else None,
            date=max(str(manifest.get("started") or "")[:10] for manifest in manifests),
            source=", ".join(path.resolve().name for path in paths),
            note="; ".join(filter(None, map(_unfinished, paths))),
        )
    return facts


def _nothing_checked(printed: "Sequence[CardRow]", measured: "Sequence[CardRow]") -> str:
    """What to do where no printed row has a measured one to be checked with."""
    if not printed:
        return "nothing is checked: no printed score of this model is known; give a table of them with `printed`"
    wanted = ", ".join(dict.fromkeys(f"{row.benchmark} {row.task}" for row in printed[:5]))
    known = ", ".join(dict.fromkeys(f"{row.benchmark} {row.task}" for row in measured)) or "nothing"
    return (
        f"nothing is checked: printed scores are of {wanted}, and measured was {known}; benchmark, task and length "
        "must be the same"
    )


def _prompts(suite: Mapping[str, object]) -> str:
    """Whose prompts a suite has, where it still is; "" if that is unknown."""
    from fathom.suites.suitefile import is_suite, read_manifest

    folder = Path(str(suite.get("path") or ""))
    return str(read_manifest(folder).get("prompts") or "") if is_suite(folder) else ""


def _revisions(suite: Mapping[str, object]) -> str:
    """The commits of the published records of a suite, where they were fetched and the suite still is."""
    from fathom.documents.sources.lock import read_pins
    from fathom.documents.sources.registry import sources
    from fathom.suites.registry import tasks
    from fathom.suites.suitefile import is_suite, read_manifest

    folder = Path(str(suite.get("path") or ""))
    if not is_suite(folder):
        return ""
    manifest, known = read_manifest(folder), tasks()
    named = {name for task in manifest["tasks"] if task in known for name in known[task].data}
    datasets = {source.dataset for name, source in sources().items() if name in named}
    pins = (pin for path in map(Path, manifest["inputs"].get("data", ())) for pin in read_pins(path).values())
    revisions = {pin.dataset: pin.revision[:8] for pin in pins if pin.dataset in datasets}
    return ", ".join(f"{dataset} {revision}" for dataset, revision in sorted(revisions.items()))


def _of_logs(origins: Iterable[tuple[str, str, str]], model: str, variant: str) -> "How":
    """What is known of rows of other programs: which one scored them, and the names of their files."""
    from fathom.analysis.card import How
    from fathom.rows.origins import origin_of
    from fathom.rows.runs import is_run

    named = dict.fromkeys(Path(name) for *system, name in origins if system == [model, variant])
    files = [path for path in named if path.exists() and not is_run(path)]
    programs = dict.fromkeys(program.title for path in files if (program := origin_of(path)) is not None)
    more = [f"{len(files) - NAMED:,} more"] if len(files) > NAMED else []
    return How(port=", ".join(programs), source=", ".join([*(path.name for path in files[:NAMED]), *more]))


def _dated(rows: "Iterable[CardRow]") -> "list[CardRow]":
    """Printed rows, each with what has changed in its benchmark since."""
    from dataclasses import replace

    from fathom.analysis.changes import benchmark_changes, stale

    changes = benchmark_changes()
    return [
        row
        if row.how.stale
        else replace(row, how=replace(row.how, stale=stale((row.benchmark, row.task), row.how.date, changes)))
        for row in rows
    ]


def _unfinished(run: Path) -> str:
    from fathom.runfile.progress import status

    state = status(run)
    return "" if state.finished >= state.total else f"unfinished: {state.finished:,} of {state.total:,} replies"


def _of_boards(model: str) -> "Iterator[CardRow]":
    """What the published results of boards have of a model: means where they are printed, else cells, else extras."""
    from fathom.analysis.card import CardRow, How
    from fathom.analysis.grid import ALL
    from fathom.board.published import OVERALL, published, published_models
    from fathom.suites.registry import get_board

    named = {board for board, models in published_models().items() if model.partition(" · ")[0] in models}
    for board in sorted(named):
        for entry in published()[board]:
            if model not in (entry.model, f"{entry.model} · {entry.variant}"):
                continue
            origin = entry.origin
            source = ", ".join(filter(None, (origin.title, origin.table, entry.variant)))
            # Whether others than the authors of a benchmark used its own scorer is rarely said.
            by_authors = origin.authors or origin.provenance == "recomputed"
            how = How(
                scorer="official" if by_authors else "",
                date=origin.date,
                source=source,
                url=origin.url,
                note=origin.note,
                stale=origin.stale,
            )
            means = {
                name: mean for name, mean in entry.printed.items() if name == OVERALL or name.startswith("length/")
            }
            for name, mean in means.items():
                length = None if name == OVERALL else int(name.partition("/")[2])
                yield CardRow("printed", board, ALL, length, mean.value, None, mean.n, how=how)
            for (task, length), cell in ({} if means else entry.cells).items():
                if cell is not None:
                    yield CardRow("printed", board, task, length or None, cell.value, None, cell.n, how=how)
            for name, extra in ({} if means or entry.cells else entry.extras).items():
                title, _, is_share = get_board(board).extras[name]
                if is_share:
                    yield CardRow("printed", board, title, None, extra.value, None, extra.n, how=how)


def _of_files(files: Iterable[Path], model: str) -> "Iterator[CardRow]":
    from fathom.analysis.card import read_printed

    for path in files:
        rows = read_printed(path)
        own = [row for name, row in rows if model in (name, name.partition(" · ")[0])]
        if not own:
            listed = ", ".join(dict.fromkeys(name for name, _ in rows)) or "no models"
            raise FathomError(f"{path}: no row of {model}; it has {listed}")
        yield from own


def _command(options: CardOptions) -> str:
    printed = [text for path in options.printed for text in ("--printed", str(path))]
    sources = map(str, sources_of(options.sources))
    return shlex.join(["fathom", "card", options.model, *sources, *printed, *flags_of_figures(options)])
