"""Compare two models: one sentence, scores and differences by length, tasks, and what flipped."""

import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fathom.commands.shared import Json, JudgeOfRows, Known, Seed, Suites, Unanswered, sources_of
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
SUFFIXES: dict[str, Literal["html", "markdown", "json"]] = {".html": "html", ".md": "markdown", ".json": "json"}


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
        Literal["text", "html", "markdown", "json"] | None,
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
    from fathom.storage.atomic import whole_file

    paths, names = _paths_and_names(options.sources)
    notes = list[str]()
    table = scan(paths, judge=options.judge, options=ReadOptions(tell=notes.append))
    how: dict[str, Any] = {**options.of(Known), "judge": options.judge, "seed": options.seed}
    rows = without_known(table, **how, tell=notes.append).rows
    a, b = _sides(paths, names, rows)
    ours = [rows.filter(model=side.model, variant=side.variant) for side in (a, b)]
    result = two_models(*ours, unanswered=options.unanswered, seed=options.seed)
    folders = [Path(source) for side in (a, b) for source in side.sources]
    compared = Compared(
        result,
        a,
        b,
        flipped=tuple(_flipped(result, (a, b), ours, options.suites)),
        notes=(*notes, *served(folders), *shared_contexts(folders), *_one_name(a, b)),
        made=(("Command", _command(options)), *((side.name, ", ".join(side.sources)) for side in (a, b))),
        link=_link(options, folders),
    )
    if options.out is not None:
        with whole_file(options.out) as stream:
            stream.write(compared.text(options.format or SUFFIXES.get(options.out.suffix, "html")))
    return compared


def main(line: CompareOptions) -> None:
    """Print the sentence, the tables, and what to do next."""
    from fathom.options.terminal import print_json, tell
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
    sources = [source for side in (compared.a, compared.b) for source in side.sources]
    if line.out is not None:
        print(line.out)
    else:
        tell(f"{_command(line)} -o {PAGE} writes a page with the curves")
    tell(
        f"{shlex.join(['fathom', 'browse', *dict.fromkeys(sources), '--only', 'differ'])} shows the replies that differ"
    )


def _paths_and_names(sources: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Run folders and rows files, and names of models among them."""
    paths = [Path(source) for source in sources if Path(source).exists()]
    names = [source for source in sources if not Path(source).exists()]
    if not paths:
        first = names[0] if names else ""
        raise FathomError(f"{first}: no such run or rows file; give two of them, or a folder of runs and two names")
    if names and len(names) != 2:
        raise FathomError(f"{', '.join(names)}: no such run folder or rows file; names of runs are given two at a time")
    return list(sources_of(paths)), names


def _sides(paths: Sequence[Path], names: Sequence[str], rows: "pl.DataFrame") -> "tuple[Side, Side]":
    """The two models, in the order in which they are given."""
    sides = _every_side(paths, rows)
    chosen = [_by_name(name, sides) for name in names] if names else list(sides)
    if len(chosen) != 2 or chosen[0] == chosen[1]:
        listed = ", ".join(repr(side.name) for side in sides) or "none"
        raise FathomError(
            f"two models are compared, and there {'is' if len(sides) == 1 else 'are'} {listed}: name two of them after "
            "the folder, or give two runs with different models or labels"
        )
    return chosen[0], chosen[1]


def _every_side(paths: Sequence[Path], rows: "pl.DataFrame") -> "list[Side]":
    """Each model and variant, in the order of the sources."""
    from fathom.report.two_models import Side
    from fathom.rows.runs import labels
    from fathom.runfile.manifest import read_manifest
    from fathom.runfile.progress import status

    folders: dict[tuple[str, str], list[Path]] = {}
    systems = rows.select("model", "variant").unique(maintain_order=True).rows()
    for path, (_, model, variant) in labels(paths).items():
        folders.setdefault((model, variant), []).append(path)
    models = [model for model, _ in systems]
    sides = []
    for model, variant in systems:
        own = folders.get((model, variant), [])
        label = {read_manifest(folder).get("label") or "" for folder in own}
        states = [status(folder) for folder in own]
        answering = rows.filter(model=model, variant=variant)["served"]
        sides.append(
            Side(
                name=variant if variant and models.count(model) > 1 else model,
                label=label.pop() if len(label) == 1 else "",
                model=model,
                variant=variant,
                sources=tuple(map(str, own or [path for path in paths if path.is_file()])),
                finished=sum(state.finished for state in states) if states else None,
                planned=sum(state.total for state in states) if states else None,
                served=tuple(sorted(set(filter(None, answering)))),
            )
        )
    labelled = [side.label for side in sides if side.label]
    # A label is a name if no other run has it.
    return [replace(side, name=side.label) if labelled.count(side.label) == 1 else side for side in sides]


def _by_name(name: str, sides: "Sequence[Side]") -> "Side":
    """The one with a name: its label, its model, both, or its folder."""
    from fathom.plugins.names import unknown

    matching = [side for side in sides if name in _names(side)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        listed = ", ".join(repr(side.name) for side in matching)
        raise FathomError(f"{name!r} is the name of several runs: {listed}; give one of these")
    known = dict.fromkeys(each for side in sides for each in _names(side))
    raise unknown("run", name, known, see="fathom compare --help")


def _names(side: "Side") -> list[str]:
    """The names that it can be given by."""
    from fathom.plugins.names import system_name

    folders = [path.resolve().name for path in map(Path, side.sources) if path.is_dir()]
    return [*filter(None, side.variant.split(", ")), *folders, side.model, system_name(side.model, side.variant)]


def _one_name(a: "Side", b: "Side") -> list[str]:
    """A note on two runs of one model name: by what their servers tell them apart."""
    if a.model != b.model or not (a.served or b.served):
        return []
    if a.served == b.served:
        return [f"Both were run as {a.model}, and their servers named the same model: {', '.join(a.served)}."]
    return [
        f"{side.name} was run as {side.model}, and its server named {', '.join(side.served) or 'no model'}."
        for side in (a, b)
    ]


def _flipped(
    result: "TwoModels", sides: "Sequence[Side]", rows: "Sequence[pl.DataFrame]", suites: Sequence[Path]
) -> "list[FlippedReply]":
    """The flipped samples with question, gold answer and both replies."""
    from fathom.browse.texts import Texts
    from fathom.report.two_models import flipped_reply

    flips = [*result.lost, *result.gained]
    wanted = {flip.sample for flip in flips}
    a, b = (_texts(side, own, wanted, suites) for side, own in zip(sides, rows, strict=True))
    made, nothing = [], Texts("", "", "")
    for flip in flips:
        first, second = a.get(flip.sample, nothing), b.get(flip.sample, nothing)
        texts = (first.question or second.question, first.gold or second.gold)
        made.append(flipped_reply(flip, *texts, (first.reply, second.reply)))
    return made


def _texts(
    side: "Side", rows: "pl.DataFrame", wanted: "Collection[str]", suites: Sequence[Path]
) -> "Mapping[str, Texts]":
    """The texts of some samples of a run; of a rows file, which has no replies, what was extracted from them."""
    from fathom.browse.texts import Texts, texts_of

    folders = [path for path in map(Path, side.sources) if path.is_dir()]
    stored = [texts_of(folder, wanted, suites) for folder in folders]
    own = rows.filter(rows["sample"].is_in(list(wanted))).unique("sample", keep="first")
    extracted = {
        str(sample): Texts("", str(target or ""), str(answer or ""))
        for sample, target, answer in own.select("sample", "target", "answer").iter_rows()
    }
    return extracted | {sample: texts for run in stored for sample, texts in run.items()}


def _link(options: CompareOptions, folders: "Sequence[Path]") -> "Callable[[Replies], str] | None":
    """Write the pages of the replies, and give what makes addresses of them; None without ``--replies``."""
    from fathom.commands.report import linked_replies

    return linked_replies(list(dict.fromkeys(folders)), options.replies, options.out, options.suites, options.judge)


def _command(options: CompareOptions) -> str:
    return shlex.join(["fathom", "compare", *options.sources])
