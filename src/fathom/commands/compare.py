"""Compare two models: one sentence, scores and differences by length, tasks, and what flipped."""

import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fathom.commands.forms import SUFFIXES, TextFormat, form_of
from fathom.commands.shared import Json, JudgeOfRows, Known, Seed, Suites, Unanswered, flags_of_figures, sources_of
from fathom.options.declare import Read, arg, command, given, line_only, opt, unset
from fathom.options.values import MaybePath
from fathom.types import FathomError

if TYPE_CHECKING:
    import polars as pl

    from fathom.analysis.two_models import TwoModels
    from fathom.browse.texts import Texts
    from fathom.report.table import Replies
    from fathom.report.two_models import Compared, FlippedReply, Side

PAGE = "compare.html"


def _given(sources: Sequence[Path | str] | Path | str) -> tuple[str, ...]:
    return tuple(map(str, [sources] if isinstance(sources, Path | str) else sources))


class CompareOptions(Known, Json):
    sources: Annotated[
        Read[Sequence[Path | str] | Path | str, tuple[str, ...]],
        arg(
            "Two run folders or rows files; or a folder of runs and the names of two in it: labels, models or folders. "
            "A folder with two models needs no names.",
            metavar="A",
            many=True,
            read=_given,
        ),
    ]
    out: Annotated[
        MaybePath,
        opt("Write the comparison to a file: a page (.html), Markdown (.md) or JSON (.json).", "-o", metavar="FILE"),
    ] = unset
    _: KW_ONLY
    format: Annotated[
        TextFormat | None,
        opt("What is printed or written; default: by the suffix of the file, else text."),
    ] = None
    replies: Annotated[
        MaybePath, opt("Write pages of the replies into this folder, and link samples to them.", metavar="FOLDER")
    ] = unset
    suites: Suites = given(())
    seed: Seed = 0
    judge: JudgeOfRows = None
    unanswered: Unanswered = "zero"
    quiet: Annotated[bool, opt("Print the sentence and its remarks, no tables.", "-q")] = line_only(False)


@command(CompareOptions)
def compare(options: CompareOptions) -> "Compared":
    """Compare two models on the samples that both have a score for: B minus A.

    The answer is one sentence: where B scores significantly more or less than A, and how many answers flipped. Then
    come scores and differences by length and by task, and the samples that flipped. `fathom analyze compare` compares
    every two of many models.
    """
    from fathom.analysis.two_models import two_models
    from fathom.report.reading import without_known
    from fathom.report.two_models import Compared
    from fathom.rows import scan, served, shared_contexts
    from fathom.rows.parts import ReadOptions
    from fathom.rows.runs import labels
    from fathom.storage.atomic import whole_file

    form = options.format
    if options.out is not None and form is None:
        form = form_of(options.out, SUFFIXES, "a comparison", default="html")
    paths, names = _paths_and_names(options.sources)
    notes = list[str]()
    table = scan(paths, judge=options.judge, options=ReadOptions(tell=notes.append))
    how: dict[str, Any] = {**options.of(Known), "judge": options.judge, "seed": options.seed}
    rows = without_known(table, **how, tell=notes.append).rows
    a, b = _sides(paths, names, rows, table.origins)
    ours = [rows.filter(model=side.model, variant=side.variant) for side in (a, b)]
    result = two_models(*ours, unanswered=options.unanswered, seed=options.seed)
    sources = list(dict.fromkeys(Path(source) for side in (a, b) for source in side.sources))
    suites = {path: suite for path, (suite, *_) in labels(paths).items()}
    compared = Compared(
        result,
        a,
        b,
        flipped=tuple(_flipped(result, (a, b), ours, suites, options.suites)),
        notes=(*notes, *served(sources), *shared_contexts(sources), *_one_name(a, b)),
        made=(("Command", _command(options)), *((side.name, ", ".join(side.sources)) for side in (a, b))),
        link=_link(options, sources),
    )
    if options.out is not None:
        with whole_file(options.out) as stream:
            stream.write(compared.text(form or "html"))
    return compared


def main(line: CompareOptions) -> None:
    """Print the sentence, the tables, and what to do next."""
    from fathom.options.terminal import print_json, tell_next
    from fathom.report.terminal import show

    compared = compare.body(line)
    if line.as_json:
        return print_json(compared.numbers())
    if line.out is None and line.format not in (None, "text"):
        return print(compared.text(line.format), end="")
    print(compared.sentence)
    for remark in compared.remarks:
        print(remark)
    if not line.quiet:
        show(compared.tables())
    sources = _with_replies(Path(source) for side in (compared.a, compared.b) for source in side.sources)
    if line.out is not None:
        print(line.out)
    else:
        print(f"next: {_command(line)} -o {PAGE}")
    if sources:
        tell_next("browse", *sources, "--only", "differ")


def _paths_and_names(sources: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Run folders and rows files, and names of models among them."""
    paths = [Path(source) for source in sources if Path(source).exists()]
    names = [source for source in sources if not Path(source).exists()]
    first = sources_of(sources[:1])
    if len(sources) == 3 and len(first) > 1:
        # Where the command is given, a file may have the name of a run.
        known = _names_in(first)
        if all(own in known or own in names for own in sources[1:]):
            return list(first), list(sources[1:])
    if not paths:
        raise FathomError(
            f"{''.join(names[:1])}: no such run or rows file; give two of them, or a folder of runs and two names"
        )
    if names and len(names) != 2:
        raise FathomError(f"{', '.join(names)}: no such run folder or rows file; names of runs are given two at a time")
    return list(sources_of(paths)), names


def _names_in(runs: Sequence[Path]) -> set[str]:
    """The names of runs: labels, models and folders."""
    from fathom.report.two_models import Side
    from fathom.rows.runs import labels

    named = labels(runs).items()
    return {name for run, (_, model, variant) in named for name in _names(Side("", model, variant, (str(run),)))}


def _sides(
    paths: Sequence[Path], names: Sequence[str], rows: "pl.DataFrame", origins: Sequence[tuple[str, str, str]]
) -> "tuple[Side, Side]":
    """The two models, in the order in which they are given."""
    sides = _every_side(paths, rows, origins)
    chosen = [_by_name(name, sides) for name in names] if names else list(sides)
    if len(chosen) != 2 or chosen[0] == chosen[1]:
        listed = ", ".join(repr(side.name) for side in sides) or "none"
        raise FathomError(
            f"two models are compared, and there {'is' if len(sides) == 1 else 'are'} {listed}: name two of them after "
            "the folder, or give two runs with different models or labels"
        )
    return chosen[0], chosen[1]


def _every_side(paths: Sequence[Path], rows: "pl.DataFrame", origins: Sequence[tuple[str, str, str]]) -> "list[Side]":
    """Each model and variant, in the order of the sources."""
    from fathom.plugins.names import system_name
    from fathom.report.two_models import Side
    from fathom.rows.runs import is_run
    from fathom.runfile.manifest import read_manifest
    from fathom.runfile.part import asked_so_far
    from fathom.runfile.progress import status

    measured = rows.select("model", "variant").unique(maintain_order=True).rows()
    given: dict[tuple[str, str], list[Path]] = {}
    for path in paths:
        for *system, origin in origins:
            if tuple(system) in measured and Path(origin).is_relative_to(path):
                own = given.setdefault((system[0], system[1]), [])
                own += [] if path in own else [path]
    given |= {system: [] for system in measured if system not in given}  # of a source that no path leads to
    models = [model for model, _ in given]
    sides = []
    for (model, variant), sources in given.items():
        runs = [path for path in sources if is_run(path)]
        label = {read_manifest(run).get("label") or "" for run in runs}
        states = [state for run in runs if (state := status(run)) is not None]
        answering = rows.filter(model=model, variant=variant)["served"]
        sides.append(
            Side(
                name=variant if variant and models.count(model) > 1 else model,
                label=label.pop() if len(label) == 1 else "",
                model=model,
                variant=variant,
                sources=tuple(map(str, sources)),
                finished=sum(state.finished for state in states) if states else None,
                planned=sum(state.total for state in states) if states else None,
                served=tuple(sorted(set(filter(None, answering)))),
                servers=tuple(dict.fromkeys(words for state in states for words in state.served)),
                part="; ".join(dict.fromkeys(filter(None, map(asked_so_far, runs)))),
            )
        )
    labelled = [side.label for side in sides if side.label]
    # A label is a name if no other run has it.
    sides = [replace(side, name=side.label) if labelled.count(side.label) == 1 else side for side in sides]
    names = [side.name for side in sides]
    return [
        replace(side, name=system_name(side.model, side.variant)) if names.count(side.name) > 1 else side
        for side in sides
    ]


def _by_name(name: str, sides: "Sequence[Side]") -> "Side":
    """The one with a name: its label, its model, both, or its folder."""
    from fathom.plugins.names import unknown

    matching = [side for side in sides if name in _names(side)]
    if len(matching) == 1:
        return matching[0]
    every = [each for side in sides for each in set(_names(side))]
    if matching:
        alone = [next((each for each in _names(side) if every.count(each) == 1), side.name) for side in matching]
        raise FathomError(f"{name!r} is the name of several runs; give one of {', '.join(map(repr, alone))}")
    raise unknown("run", name, dict.fromkeys(every), see="fathom compare --help")


def _names(side: "Side") -> list[str]:
    """The names that it can be given by."""
    from fathom.plugins.names import system_name

    folders = [path.resolve().name for path in map(Path, side.sources) if path.is_dir()]
    whole = system_name(side.model, side.variant)
    return [*filter(None, (side.label, *side.variant.split(", "))), *folders, side.model, side.variant or whole, whole]


def _one_name(a: "Side", b: "Side") -> list[str]:
    """A note on two runs of one model name: by what their servers tell them apart."""
    if a.model != b.model or not (a.served or b.served or a.servers or b.servers):
        return []
    if a.servers != b.servers:
        return [f"{side.name} was run as {side.model}: {'; then '.join(side.servers) or 'unknown'}." for side in (a, b)]
    if a.served == b.served:
        return [f"Both were run as {a.model}, and their servers named the same model: {', '.join(a.served)}."]
    return [
        f"{side.name} was run as {side.model}, and its server named {', '.join(side.served) or 'no model'}."
        for side in (a, b)
    ]


def _flipped(
    result: "TwoModels",
    sides: "Sequence[Side]",
    rows: "Sequence[pl.DataFrame]",
    named: Mapping[Path, str],
    suites: Sequence[Path],
) -> "list[FlippedReply]":
    """The flipped samples with question, gold answer and both replies."""
    from fathom.browse.texts import Texts
    from fathom.report.two_models import flipped_reply

    flips = [*result.lost, *result.gained]
    wanted = {(flip.suite, flip.sample) for flip in flips}
    a, b = (_texts(side, own, wanted, named, suites) for side, own in zip(sides, rows, strict=True))
    made, nothing = [], Texts("", "", "")
    for flip in flips:
        first, second = (texts.get((flip.suite, flip.sample), nothing) for texts in (a, b))
        texts = (first.question or second.question, first.gold or second.gold)
        made.append(flipped_reply(flip, *texts, (first.reply, second.reply)))
    return made


def _texts(
    side: "Side",
    rows: "pl.DataFrame",
    wanted: Collection[tuple[str, str]],
    named: Mapping[Path, str],
    suites: Sequence[Path],
) -> "dict[tuple[str, str], Texts]":
    """The texts of some samples of a run; of a rows file, which has no replies, what was extracted from them.

    Args:
        wanted: Suite and id of each sample.
        named: The suite of each run folder.
    """
    from fathom.browse.texts import Texts, texts_of

    texts = {
        (str(suite), str(sample)): Texts("", str(target or ""), str(answer or ""))
        for suite, sample, target, answer in rows.unique(["suite", "sample"], keep="first")
        .select("suite", "sample", "target", "answer")
        .iter_rows()
        if (suite, sample) in wanted
    }
    for folder in map(Path, side.sources):
        if folder in named:
            asked = {sample for suite, sample in wanted if suite == named[folder]}
            own = texts_of(folder, asked, suites)
            texts |= {(named[folder], sample): text for sample, text in own.items()}
    return texts


def _with_replies(sources: Iterable[Path]) -> list[Path]:
    """Sources of which there are pages of replies: no results of other programs."""
    from fathom.rows.runs import is_foreign

    return [path for path in dict.fromkeys(sources) if not is_foreign(path)]


def _link(options: CompareOptions, sources: Sequence[Path]) -> "Callable[[Replies], str] | None":
    """Write the pages of the replies, and give what makes addresses of them; None without ``--replies``."""
    from fathom.commands.report import linked_replies

    return linked_replies(_with_replies(sources), options.replies, options.out, options.suites, options.judge)


def _command(options: CompareOptions) -> str:
    return shlex.join(["fathom", "compare", *options.sources, *flags_of_figures(options)])
