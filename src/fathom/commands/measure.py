"""Measure a model with one command: check it, build samples, ask, report."""

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fathom.commands.run import Judge
from fathom.commands.shared import Asking, Confirm, OnReply, Watch
from fathom.models.settings import Limits, Reasoning, Sampling, Served
from fathom.options.declare import arg, at_least, command, fields_of, hidden, line_only, opt, unset
from fathom.options.values import MaybePath, Several, Tokens
from fathom.storage.atomic import whole_file
from fathom.types import FathomError

if TYPE_CHECKING:
    from fathom.commands.run import RunOptions
    from fathom.report.made import Report
    from fathom.run import Preflight
    from fathom.run.checks import Diagnosis, Plan

SUITE = "starter"
RECORD = "measure.json"
GRID = (1024, 2048, 4096, 6144, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576)
"""Lengths in tokens that are measured; 2k, 4k and 6k are the base of LongScore and of effective lengths."""
ROOM = 512
"""Tokens of a window that are kept for the reply: twice the longest output cap of the suite's tasks."""
DOCTOR_COST = 0.25
"""US dollars that checking a model may cost without a question."""


@dataclass(frozen=True)
class Size:
    """How much is measured: the longest length unless the window is smaller, and the items of a task."""

    longest: int
    items: int


QUICK, USUAL, THOROUGH = Size(8192, 5), Size(32768, 25), Size(131072, 50)
QUICK_HERE = Size(4096, 1)
"""``--quick`` of a model that fathom serves itself: two cores read a few hundred tokens a second."""


class MeasureOptions(Sampling, Served, Reasoning, Limits, Judge, Asking):
    model: Annotated[
        str, arg("openai/NAME, vllm/NAME, hf/PATH ..., as for fathom run; local for a small one that needs no key.")
    ]
    documents: Annotated[MaybePath, arg("Your documents: a folder or a file; by default a corpus is generated.")] = (
        unset
    )
    _: KW_ONLY
    quick: Annotated[bool, opt("Few items, lengths up to 8k.")] = False
    thorough: Annotated[bool, opt("Twice the items, lengths up to 128k.")] = False
    lengths: Annotated[
        Tokens, opt("Lengths in tokens, for instance 2k,4k,8k (8k is 8,192); default: those that fit the window.")
    ] = unset
    items: Annotated[
        int | None, opt("Items per task, the same ones at every length; by default 25.", check=at_least(1))
    ] = None
    questions: Annotated[
        Several,
        opt("A table of questions about your documents, with the columns document, question, answer.", metavar="FILE"),
    ] = unset
    out: Annotated[
        MaybePath,
        opt(
            "Folder for the run and the report; by default measured/MODEL, with DOCUMENTS and label.",
            "-o",
            metavar="FOLDER",
        ),
    ] = unset
    confirm: Confirm = None
    progress: OnReply = None
    watch: Watch = None
    building: Annotated[Callable[[int, int], None] | None, hidden("Called with (samples built, samples in all).")] = (
        None
    )
    tell: Annotated[Callable[[str], None] | None, hidden("Called with a line about each step.")] = None
    open: Annotated[bool, opt("Do not open the report in a browser.", flag="--no-open")] = line_only(True)


@command(MeasureOptions)
def measure(options: MeasureOptions) -> "Report | None":
    """Measure a model with one command: check it, build samples, ask, report.

    Each step is a command of its own, which is printed: `fathom doctor`, `build`, `run`, `report`. Before the samples
    are sent it says what they cost, and asks. The same command resumes, and repeats no finished request.

    Returns the report, or None if nothing was asked.
    """
    from fathom.commands.judge import check_judge
    from fathom.commands.report import report

    tell = options.tell or (lambda line: None)
    judge = None if options.judge == "none" else options.judge
    if judge is not None:
        check_judge(judge, options.judge_base_url)
    folder = _folder(options)
    plan = _planned(options, folder, tell)
    suite = _built(options, plan, tell)
    if not _asked(options, plan, suite, folder, tell):
        return None
    if judge is not None and not _judged(options, judge, folder / "run", tell):
        return None
    tell(shlex.join(["fathom", "report", str(folder / "run"), "--out", str(folder / "report.html")]))
    return report([folder / "run"], folder / "report.html", title=f"{options.model} by length")


def _folder(options: MeasureOptions) -> Path:
    from fathom.plugins.names import folder_name

    size = "-quick" if options.quick else "-thorough" if options.thorough else ""
    label = "".join(f"-{folder_name(name)}" for name in options.names)
    about = f"-{folder_name(Path(options.documents).name)}" if options.documents else ""
    return options.out or Path("measured") / f"{folder_name(options.model)}{about}{label}{size}"


# --------------------------------------------------------------------------------------------------- what is measured


def _planned(options: MeasureOptions, folder: Path, tell: Callable[[str], None]) -> dict[str, Any]:
    """What is built and how the model is asked: as recorded if the command was given before, else as doctor advises.

    Raises:
        FathomError: A run would not work, or the folder has a measurement with other options.
    """
    if options.quick and options.thorough:
        raise FathomError("--quick and --thorough exclude each other: give one of them")
    if options.questions and options.documents is None:
        raise FathomError("`questions` need the documents that they are about: fathom measure MODEL DOCUMENTS")
    wanted = _wanted(options)
    if (folder / RECORD).is_file():
        plan = _recorded(folder / RECORD)
        if plan["wanted"] != wanted:
            raise FathomError(f"{folder}: has a measurement with other options; give this one another --out")
        return plan
    diagnosis = _checked(options, tell)
    followed = diagnosis.followed
    lengths = list(options.lengths or _lengths(options, followed))
    items = options.items or _size(options).items
    return {
        "wanted": wanted,
        "followed": dict(followed),
        "command": diagnosis.command,
        "lengths": lengths,
        "items": items,
    }


def _wanted(options: MeasureOptions) -> dict[str, Any]:
    """The options that decide what is measured, without secrets."""
    from fathom.safety.secrets import hide_secrets

    limits = {field.name for field in fields_of(Limits)} | {"out", "judge", "judge_base_url"}
    given = {name: value for name, value in options.record()["options"].items() if name not in limits}
    wanted: dict[str, Any] = json.loads(json.dumps(hide_secrets(given), default=str))
    return wanted


def _recorded(path: Path) -> dict[str, Any]:
    from fathom.storage.foreign import read_text

    try:
        plan = json.loads(read_text(path))
        return {name: plan[name] for name in ("wanted", "followed", "command", "lengths", "items")}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FathomError(
            f"{path}: not what fathom measure wrote ({error}); delete it, or give another --out"
        ) from None


def _checked(options: MeasureOptions, tell: Callable[[str], None]) -> "Diagnosis":
    """What doctor finds.

    Raises:
        FathomError: A run would not work, or the check was not confirmed.
    """
    from fathom.commands.doctor import DoctorOptions, doctor, words_given

    parts = {**vars(options.part(Sampling)), **vars(options.part(Reasoning))}
    asked = DoctorOptions.made({**parts, "model": options.model, "confirm": partial(_cheap, options.confirm)})
    diagnosis = doctor.body(asked)
    words = [word for flag, values in words_given(asked).items() for value in values for word in (flag, value)]
    tell(shlex.join(["fathom", "doctor", options.model, *words]))
    for check in diagnosis.checks:
        if check.state in ("warning", "failed"):
            tell(
                f"  {check.state}: {check.name}: {check.found}{f' -> {check.consequence}' if check.consequence else ''}"
            )
    if diagnosis.stopped:
        raise FathomError(diagnosis.stopped)
    if not diagnosis.healthy and not diagnosis.command:
        raise FathomError(f"model {options.model!r}: a run would not work; mend what failed above, then try again")
    return diagnosis


def _cheap(confirm: Callable[[Any], bool] | None, plan: "Plan") -> bool:
    """Whether the model may be checked: without a question if that costs cents."""
    return confirm is None or (plan.cost_most or 0.0) <= DOCTOR_COST or confirm(plan)


def _size(options: MeasureOptions) -> Size:
    from fathom.models.local_model import starts_server

    quick = QUICK_HERE if starts_server(options.model) else QUICK
    return quick if options.quick else THOROUGH if options.thorough else USUAL


def _lengths(options: MeasureOptions, followed: Mapping[str, str]) -> list[int]:
    """The lengths that fit the window with room for reasoning and reply.

    Raises:
        FathomError: None fits.
    """
    from fathom.models.hugging_face import is_local, trained_window
    from fathom.models.local_model import find_model, starts_server
    from fathom.models.prices import find_limit
    from fathom.models.protocol import is_baseline
    from fathom.run.chosen import choose
    from fathom.run.preflight import sent_cap

    asking = _asking(options, followed)
    chosen = choose(options.model, asking.part(Sampling), asking.part(Reasoning))
    room = sent_cap(chosen.settings, chosen.price)(ROOM)
    window = chosen.settings.window
    if not is_baseline(options.model):  # these are made to be measured beyond their windows
        name, arguments = options.model, chosen.settings.model_args
        own = trained_window(name, arguments) if is_local(name) else None
        own = find_model(name, arguments).context if starts_server(name) else own
        window = find_limit(chosen.settings, None, chosen.price, own=own).window
    most = _size(options).longest
    fit = [length for length in GRID if length <= most and (window is None or length + room <= window)]
    if not fit:
        raise FathomError(
            f"model {options.model!r}: its window of {window:,} tokens does not hold {GRID[0]:,} and a reply of "
            f"{room:,}; give the server a larger one, or --lengths"
        )
    return fit[1:] if fit[-1] > 4096 else fit


# -------------------------------------------------------------------------------------------------------- the steps


def _built(options: MeasureOptions, plan: Mapping[str, Any], tell: Callable[[str], None]) -> Path:
    """The suite's folder; models that are measured alike share it."""
    import hashlib

    from fathom.commands.build import build

    about = [_state(Path(path)) for path in (options.documents, *(options.questions or ())) if path]
    key = hashlib.sha256(json.dumps([plan["lengths"], plan["items"], about], sort_keys=True).encode()).hexdigest()[:8]
    suite = Path("builds") / f"measure-{key}"
    words = ["--lengths", _listed_lengths(plan["lengths"]), "--items", str(plan["items"])]
    words += ["--corpus", str(options.documents)] if options.documents else []
    words += [word for file in options.questions or () for word in ("--questions", str(file))]
    tell(shlex.join(["fathom", "build", SUITE, *words, "--no-shortcuts", "--out", str(suite)]))
    more: dict[str, Any] = {"corpus": [str(options.documents)]} if options.documents else {}
    if options.questions:
        more["questions"] = options.questions
    build(
        SUITE, suite, lengths=plan["lengths"], items=plan["items"], shortcuts=False, progress=options.building, **more
    )
    return suite


def _state(path: Path) -> list[tuple[str, int, int]]:
    """Names, sizes and times of files: documents that were changed make another suite."""
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    return [(str(file), (state := file.stat()).st_size, state.st_mtime_ns) for file in files if file.exists()]


def _listed_lengths(lengths: list[int]) -> str:
    from fathom.tokens.length import format_length

    return ",".join(map(format_length, lengths))


def _asking(options: MeasureOptions, followed: Mapping[str, str], **more: Any) -> "RunOptions":
    """The options of the run: those that were given, and those that doctor advises."""
    from fathom.commands.run import RunOptions

    kinds = (Sampling, Served, Reasoning, Limits)
    given = {name: value for kind in kinds for name, value in vars(options.part(kind)).items()}
    names = {field.flag: field.name for field in fields_of(RunOptions)}
    advised = {names[flag]: int(value) if value.isdigit() else value for flag, value in followed.items()}
    return RunOptions.made({"suite": SUITE, "model": options.model, **given, **advised, **more})


def _asked(
    options: MeasureOptions, plan: Mapping[str, Any], suite: Path, folder: Path, tell: Callable[[str], None]
) -> bool:
    """Whether all replies are there; False if the question was answered with no.

    Raises:
        FathomError: The run was stopped early.
    """
    from fathom.commands.run import run

    words = [str(suite) if word == "SUITE" else word for word in shlex.split(plan["command"])]
    words += ["--label", options.label] if options.label else []
    words += [] if options.step is None else ["--step", str(options.step)]
    tell(shlex.join([*words, "--out", str(folder / "run")]))
    agreed = True

    def begin(ahead: "Preflight") -> bool:
        nonlocal agreed
        agreed = options.confirm is None or options.confirm(ahead)
        if agreed:
            folder.mkdir(parents=True, exist_ok=True)
            with whole_file(folder / RECORD) as stream:
                stream.write(json.dumps(plan, indent=1) + "\n")
        return agreed

    more = {"suite": suite, "out": folder / "run", "confirm": begin}
    more |= {"progress": options.progress, "watch": options.watch}
    summary = run.body(_asking(options, plan["followed"], **more))
    return agreed and _went_on(summary, tell)


def _judged(options: MeasureOptions, name: str, run: Path, tell: Callable[[str], None]) -> bool:
    """Whether the replies are judged; False if the question was answered with no.

    Raises:
        FathomError: Judging was stopped early.
    """
    from fathom.commands.judge import JudgeOptions, judge

    words = ["--judge-base-url", options.judge_base_url] if options.judge_base_url else []
    tell(shlex.join(["fathom", "judge", str(run), "--judge", name, *words]))
    agreed = True

    def begin(ahead: Any) -> bool:
        nonlocal agreed
        agreed = options.confirm is None or options.confirm(ahead)
        return agreed

    asked = JudgeOptions((run,), name, model_base_url=options.judge_base_url).but(confirm=begin)
    return all(agreed and _went_on(summary, tell) for summary in judge.body(asked))


def _went_on(summary: Any, tell: Callable[[str], None]) -> bool:
    """Tell what a run or a judge noted; whether it began.

    Raises:
        FathomError: It was stopped early.
    """
    for hint in summary.hints:
        tell(f"  note: {hint}")
    if summary.stopped:
        raise FathomError(f"{summary}; the same command resumes")
    return summary.progress is not None


def main(line: MeasureOptions) -> int:
    """Measure, print the answer, and open the report."""
    from fathom.options.terminal import as_typed, confirmed, progress_bar
    from fathom.report.live import Panel, print_scores

    def say(text: str) -> None:
        print(as_typed(text))

    def step(text: str) -> None:
        if not line.quiet or text.startswith(" "):
            say(text)

    panel = None if line.quiet else Panel(line.model, None if line.judge == "none" else line.judge)
    with progress_bar("building", line.quiet) as building:
        made = measure.body(
            line.but(
                confirm=lambda plan: confirmed(plan, yes=line.yes, quiet=line.quiet),
                progress=panel and panel.progress,
                watch=panel and panel.watch,
                building=building,
                tell=step,
            )
        )
    if made is None:
        return 0
    if not line.quiet:
        print()
        print_scores(made.results)
    shown = (
        made.summary.answers
        or [reason for reason in made.summary.unmeasured if reason.subject]
        or made.summary.unmeasured
    )
    say(str(shown[0]) if shown else "Nothing has a score.")
    page = _folder(line) / "report.html"
    say(f"{page}: the report; {shlex.join(['fathom', 'browse', str(_folder(line) / 'run')])} shows every reply")
    if line.open and _has_screen():
        import webbrowser

        webbrowser.open(page.resolve().as_uri())
    return int(not made.summary.answers)


def _has_screen() -> bool:
    """Whether somebody sits at a screen: a terminal, and on Linux a display."""
    import os
    import sys

    return sys.stdout.isatty() and (
        sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    )
