"""Run a suite against a model and keep every reply."""

import hashlib
import json
from collections.abc import Callable, Collection
from dataclasses import KW_ONLY, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from fathom.commands.forms import REPORTS, form_of
from fathom.commands.shared import Asking, Confirm, OnReply, Recorded, Watch, tell_answer
from fathom.options.declare import Options, Read, arg, at_least, command, fields_of, hidden, line_only, opt, unset
from fathom.options.values import MaybePath, place_of
from fathom.runfile.settings import RunSettings
from fathom.suites.settings import Build
from fathom.types import FathomError
from fathom.types.choices import ALPHA, MARGIN

if TYPE_CHECKING:
    from fathom.run import RunSummary
    from fathom.run.runner import Callbacks


SCORING_SECONDS = 60.0
"""Time for scoring the replies at the end of a run, to name those that cannot be scored."""


class Judge(Options, kw_only=True):
    """Judge."""

    judge: Annotated[
        str | None,
        opt("A model that judges answers and summaries afterwards, as `fathom judge` does.", metavar="PROVIDER/NAME"),
    ] = line_only(None)
    judge_base_url: Annotated[str | None, opt("Address of the judge's server.", metavar="URL")] = line_only(None)


def _shard_of(given: object) -> str:
    from fathom.run.shards.cutting import parse_shard

    shard = parse_shard(str(given))
    return f"{shard.number}/{shard.of}"


class Machines(Options, kw_only=True):
    """Several machines."""

    shard: Annotated[
        str | None,
        opt(
            "Only this part of the run, such as 3/64, the third of 64. Every machine runs one, with the same --out: a "
            "folder that all of them reach, or s3://, gs:// or az://. `fathom merge` joins them.",
            metavar="NUMBER/SHARDS",
            read=_shard_of,
        ),
    ] = None
    engine: Annotated[
        Literal["ray"] | None, opt("ray: run all shards as tasks of a Ray cluster; the same command resumes.")
    ] = None
    address: Annotated[
        str | None, opt("Address of the Ray cluster; default: RAY_ADDRESS, or this machine.", metavar="ADDRESS")
    ] = None
    shards: Annotated[
        int | None,
        opt("Number of shards for --engine; default: that of the run in --out, else 64.", check=at_least(1)),
    ] = None


class Reported(Options, kw_only=True):
    """Report."""

    report: Annotated[
        Path | None, opt("Write a report afterwards, as `fathom report` does: .html, .md or .json.", metavar="FILE")
    ] = line_only(None)


class Until(Options, kw_only=True):
    """Until it is decided."""

    until: Annotated[
        MaybePath,
        opt(
            "Stop as soon as it is decided, as `fathom gate --sequential` does, whether the model is worse than this "
            "finished run or rows file, or not worse by more than --margin.",
            metavar="BASELINE",
        ),
    ] = unset
    margin: Annotated[
        float, opt("With --until: largest accepted loss, as a fraction.", check=at_least(0, above=True))
    ] = MARGIN
    alpha: Annotated[float, opt("With --until: level of the tests.", check=at_least(0, above=True))] = ALPHA


class RunOptions(RunSettings, Until, Machines, Build, Recorded, Judge, Reported, Asking):
    suite: Annotated[str | Path, arg("A built suite's folder; or a suite or tasks, which are then built first.")]
    model: Annotated[
        str,
        opt(
            "For instance openai/gpt-5 or vllm/NAME; or a baseline such as fathom/lexical?window=4k.",
            "-m",
            metavar="PROVIDER/NAME",
        ),
    ]
    out: Annotated[
        Read[Path | str | None, Path | str | None],
        opt(
            "Run folder; by default runs/SUITE/MODEL, after the suite's folder. Of a run in shards, a folder or an "
            "address.",
            "-o",
            metavar="FOLDER",
            read=place_of,
        ),
    ] = unset
    _: KW_ONLY
    confirm: Confirm = None
    progress: OnReply = None
    tell: Annotated[Callable[[str], None] | None, hidden("Called with a line about each batch.")] = None
    watch: Watch = None
    building: Annotated[Callable[[int, int], None] | None, hidden("Called with (samples built, samples in all).")] = (
        None
    )


@command(RunOptions)
def run(options: RunOptions) -> "RunSummary":
    """Run a suite against a model and keep every reply.

    A suite that is not built yet is built first, with the options under Build.

    Before it sends anything, it prints the number of requests and tokens, the cost, and the prompts that do not fit. If
    it is interrupted or killed, the same command resumes and repeats no finished request.
    """
    from fathom.rows import scorer_failures
    from fathom.run import run, run_folder
    from fathom.suites.subsetfile import read_subset

    if options.until is not None and (options.shard or options.engine or options.batch):
        raise FathomError("`until` looks at the replies of this process; leave out `shard`, `engine` and `batch`")
    if options.shard is not None or options.engine is not None:
        return _run_shards(options)
    if alone := [flag for flag, value in (("--shards", options.shards), ("--address", options.address)) if value]:
        raise FathomError(f"{alone[0]} is for `engine` ray, which is missing")
    if isinstance(options.out, str):
        raise FathomError(f"`out` {options.out}: a run is a folder of this machine; `shard` can use an object store")
    suite, name = _suite(options)
    subset = f"-{read_subset(options.subset).name}" if options.subset else ""
    score = {"on": "-thinking", "off": "-non-thinking"}.get(options.thinking or "", "")
    label = "".join(f"-{name}" for name in options.names)
    around = "" if options.system == "whole" else f"-{options.system}"
    out = options.out or run_folder(suite, name, options.model + label + score + around, subset)
    summary = run(
        suite,
        options.model,
        options.part(RunSettings),
        out=out,
        command=options.record(),
        callbacks=_callbacks(options, _enough(options, Path(out))),
    )
    if summary.progress is None:
        return summary
    failed = scorer_failures(summary.folder, SCORING_SECONDS)
    advice = "correct the scorer: replies are scored whenever they are read, so the run need not be repeated"
    return replace(summary, hints=(*summary.hints, *(f"{sentence}; {advice}" for sentence in failed)))


def _callbacks(options: RunOptions, enough: Callable[[Path], str] | None = None) -> "Callbacks":
    from fathom.run.runner import Callbacks
    from fathom.run.session import not_watched

    return Callbacks(options.confirm, options.progress, options.tell, options.watch or not_watched, enough)


def _enough(options: RunOptions, out: Path) -> Callable[[Path], str] | None:
    """Says what is decided of a run against a baseline.

    Raises:
        FathomError: The baseline cannot decide anything.
    """
    from fathom.analysis.gate import check_levels
    from fathom.analysis.sequential import sequential_gate
    from fathom.rows import load
    from fathom.stats.outcomes import not_asked

    until, margin, alpha = options.until, options.margin, options.alpha
    levels = "".join(
        f" --{name} {value:g}"
        for name, value, usual in (("margin", margin, MARGIN), ("alpha", alpha, ALPHA))
        if value != usual
    )
    if until is None:
        if levels:
            raise FathomError(f"{levels.split()[0]} is for `until`, which is missing")
        return None
    check_levels(margin, alpha)
    if Path(until).resolve() == out.resolve():
        raise FathomError(f"`until` {until} is this run itself; name a finished run of another model")
    baseline = load([until])
    if left := int(baseline.select(not_asked().fill_null(False).sum()).item()):
        raise FathomError(
            f"`until` {until} is unfinished: {left:,} of {len(baseline):,} prompts were not asked; resume it"
        )
    shared = ["task", "length", "sample"]

    def enough(folder: Path) -> str:
        rows = load([folder])
        # Only what is asked here: fewer tasks, lengths or samples of the baseline's suite are as good.
        planned = baseline.join(rows, on=shared, how="semi", maintain_order="left")
        if planned.is_empty() or set(planned["suite"]).isdisjoint(rows["suite"]):
            raise FathomError(f"`until` {until} has none of the samples of this run: it is of another suite")
        decided = sequential_gate(rows, planned, margin=margin, alpha=alpha)
        if decided.decision == "INCONCLUSIVE":
            return ""
        same = len(planned) == len(baseline)
        command = f" (fathom gate {folder} --baseline {until} --sequential{levels})" if same else ""
        return f"{decided.decision}: {decided.reason}{command}"

    return enough


def _run_shards(options: RunOptions) -> "RunSummary":
    from fathom.run.sharded import run_on_ray, run_shard
    from fathom.run.shards.cutting import parse_shard
    from fathom.suites.suitefile import is_suite

    flag = "--shard" if options.engine is None else "--engine"
    if options.shard is not None and (options.engine or options.shards or options.address):
        raise FathomError("`shard` runs one shard in this process; leave out `engine`, `shards` and `address`")
    if options.batch:
        raise FathomError(f"{flag}: a provider's batches need no other machines; leave out {flag} or `batch`")
    if options.out is None:
        raise FathomError(f"{flag} needs `out`: a folder that all machines reach, or s3://, gs:// or az://")
    if not is_suite(Path(options.suite)):
        raise FathomError(
            f"{flag}: {options.suite} is not a built suite, and machines that build it at once would disturb each "
            "other; make it first with `fathom build`"
        )
    suite, _ = _suite(options)
    record = options.record()
    for field in fields_of(Machines):
        record["options"].pop(field.name, None)  # of a process, not of the run
    settings, callbacks = options.part(RunSettings), _callbacks(options)
    if options.shard is not None:
        shard = parse_shard(options.shard)
        return run_shard(
            suite, options.model, settings, out=options.out, shard=shard, command=record, callbacks=callbacks
        )
    return run_on_ray(
        suite,
        options.model,
        settings,
        out=options.out,
        shards=options.shards,
        address=options.address,
        command=record,
        callbacks=callbacks,
    )


def _suite(options: RunOptions) -> tuple[Path, str]:
    """The folder of the suite, which is built first where there is none, and its name for run folders."""
    from fathom.commands.build import SHOWN, build, notes_of
    from fathom.plugins.names import folder_name
    from fathom.suites.suitefile import is_suite

    wanted = options.of(Build)
    target, folder = str(options.suite), Path(options.suite)
    if is_suite(folder) or folder.is_dir():
        given = [field.flag for field in fields_of(Build) if wanted[field.name]]
        if given:
            raise FathomError(f"{folder} is built already: {', '.join(given)} cannot be changed; build another suite")
        return folder, folder.resolve().name
    wanted = {"lengths": options.lengths, **wanted, "seed": options.seed}
    # The name of the folder tells apart what was asked for.
    asked = {name: value for name, value in wanted.items() if value or name != "data"}  # earlier versions had no `data`
    key = hashlib.sha256(json.dumps([target, asked], sort_keys=True, default=str).encode()).hexdigest()[:8]
    folder = Path("builds") / f"{folder_name(target)}-{key}"
    made = build(target, folder, force=True, progress=options.building, **wanted).manifest
    if (tell := options.tell) is not None:
        for note in notes_of(made):
            tell(note)
    if options.data and _lacks_records(target, made["tasks"]):
        mend = (
            "correct what is named here, or download it again" if made["left_out"] else "`fathom list data` has names"
        )
        raise FathomError("\n  ".join([f"`data` has no usable record of {target}; {mend}", *made["left_out"][:SHOWN]]))
    return folder, folder_name(target)


def _lacks_records(target: str, built: Collection[str]) -> bool:
    """Whether a suite has tasks of published records, of which none was built."""
    from fathom.suites.registry import suites, tasks

    known, named = tasks(), suites().get(target)
    of_records = {name for name in (named.tasks if named else ()) if known[name].gold == ("record",)}
    return bool(of_records) and of_records.isdisjoint(built)


def main(line: RunOptions) -> int:
    """Run, print what came of it, and judge where that was asked for.

    Raises:
        FathomError: Replies are to be judged or reported before all of them are there.
    """
    from fathom.commands.judge import JudgeOptions, check_judge
    from fathom.commands.judge import main as judge_runs
    from fathom.options.terminal import confirmed, print_summary, progress_bar, tell, tell_next
    from fathom.report.live import Panel

    judge = None if line.judge == "none" else line.judge
    later = "when all of them are there: `fathom merge`, then `fathom"
    if judge is not None and (line.shard or line.engine):
        raise FathomError(f"`judge`: replies are judged {later} judge`")
    if line.report is not None and (line.shard or line.engine):
        raise FathomError(f"`report`: replies are reported {later} report`")
    if line.report is not None:
        form_of(line.report, REPORTS, "a report", option="report")
    if judge is not None:
        check_judge(judge, line.judge_base_url)
    panel = None if line.quiet else Panel(line.model, judge)
    with progress_bar("building", line.quiet) as building:
        asked = line.but(
            confirm=lambda plan: confirmed(plan, yes=line.yes, quiet=line.quiet),
            progress=panel and panel.progress,
            watch=panel and panel.watch,
            tell=None if line.quiet else tell,
            building=building,
        )
        summary = run.body(asked)
    code = print_summary(summary)
    if line.shard and not code:
        tell_next("merge", line.out, "--out", "merged")
    elif judge is None and not code and summary.progress is not None:
        tell_answer(summary.folder, quiet=line.quiet)
    if judge is not None and not code:
        options = JudgeOptions((summary.folder,), judge, model_base_url=line.judge_base_url)
        code = judge_runs(options.but(yes=line.yes, quiet=line.quiet))
    if line.report is not None and not code and summary.progress is not None:
        _write_report(line.report, summary.folder, line)
    return code


def _write_report(out: Path, run: Path, line: RunOptions) -> None:
    from fathom.commands.report import report
    from fathom.options.terminal import as_typed

    report([run], out, title=f"{line.model} on {Path(str(line.suite)).name}")
    if not line.quiet:
        print(as_typed(f"{out}: the report"))
