"""``judge``: have a model score the stored replies of a run, by the rubrics of its tasks.

Some rubrics need a chat model, others an embedding model (``embedding_judge``); a judge skips rubrics of the other
kind, and a run can be judged by one of each.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from fathom.models.embedding_judge import PAPERS, judge_kind
from fathom.models.entailment import is_entailment
from fathom.models.hugging_face import is_local
from fathom.models.local_client import check_local_model
from fathom.models.prices import shown_cost
from fathom.models.protocol import Settings
from fathom.plugins import loading
from fathom.printing import readable, several
from fathom.run.cases.model import CaseModel, case_settings, open_case_client
from fathom.run.cases.pending import JudgePlan, JudgeProgress, PendingCases
from fathom.run.session import not_watched
from fathom.runfile.judgements import SECOND, SECOND_PROMPT, SECONDS, THEN, Spent, case_key, case_of, hashed
from fathom.runfile.manifest import read_manifest
from fathom.runfile.settings import JudgeSettings
from fathom.runfile.store import replies
from fathom.safety.address import check_address
from fathom.score.judge import Case, Conversation, JudgeKind, Rubric, get_rubric
from fathom.score.second_prompt import with_second_prompt
from fathom.suites.registry import get_task
from fathom.types import FathomError


@readable
@dataclass(frozen=True, slots=True)
class JudgeSummary:
    """Result of ``judge``.

    Attributes:
        folder: The run folder.
        judge: Name of the judge, as in rows.
        judged: Replies with a judgement.
        unreadable: Replies whose judgement could not be parsed: they have no score.
        missing: Replies that are still to be judged.
        spent: Cost of this judge so far, without that of the run.
        stopped: Why it stopped early; "" if it did not.
        hints: Notes for the user.
    """

    folder: Path
    judge: str
    judged: int
    unreadable: int
    missing: int
    spent: Spent
    stopped: str = ""
    hints: tuple[str, ...] = ()

    def __str__(self) -> str:
        """One line."""
        if self.stopped:
            return f"{self.folder}: stopped: {self.stopped}"
        spent = self.spent
        unknown = f" and {several(spent.unpriced, 'request')} of unknown price" if spent.cost and spent.unpriced else ""
        by = f" by {self.judge}" if self.judge.startswith(SECONDS) else ""
        return (
            f"{self.folder}: {self.judged:,} judged{by}, {self.unreadable:,} unreadable, {self.missing:,} missing; the "
            f"judge read {spent.tokens_in:,} and wrote {spent.tokens_out:,} tokens, {shown_cost(spent.cost)}{unknown}"
        )


@dataclass(frozen=True, slots=True)
class JudgeCallbacks:
    """Who hears of the work; see :func:`judge`."""

    confirm: Callable[[JudgePlan], bool] | None = None
    progress: Callable[[JudgeProgress], None] | None = None
    tell: Callable[[str], None] | None = None
    watch: Callable[[Path, int], AbstractContextManager[None]] = not_watched


NO_CALLBACKS = JudgeCallbacks()


def judge(
    run: Path,
    model: str,
    settings: JudgeSettings,
    *,
    confirm: Callable[[JudgePlan], bool] | None = None,
    progress: Callable[[JudgeProgress], None] | None = None,
    tell: Callable[[str], None] | None = None,
    watch: Callable[[Path, int], AbstractContextManager[None]] = not_watched,
) -> JudgeSummary:
    """Judge the replies of a run; repeating the call judges only what is missing.

    Complete replies with text are judged, if their task has a rubric for this kind of judge. A judgement is tied to its
    reply, question, references and rubric version; when one of them changes, it is missing. Several processes may judge
    at once, and a run can have several judges.

    Args:
        run: A folder written by ``fathom run``, finished or not.
        model: The judge, ``PROVIDER/NAME`` as in Inspect; or an embedding model, ``embed/NAME`` on a server or
            ``embed-local/NAME`` for sentence-transformers.
        settings: How it is asked, and up to which limits. A local model takes one request at a time; the cap on its
            replies is by default ``REPLY_TOKENS``, more for models known to reason.
        confirm: Called with the plan before any request; False stops. None skips it.
        progress: Called after every judgement.
        tell: Called with a line about each batch.
        watch: Entered with the run folder and the number of connections while requests are sent.

    Returns:
        The final state.

    Raises:
        FathomError: The folder holds no run or nothing for this kind of judge, a setting is wrong, a limit is or would
            be exceeded, the judge is unreachable or denies all requests, the disk is full, or the judging was
            interrupted. Finished judgements are kept.
    """
    folder = Path(run)
    judge = _opened(folder, model, settings)
    return _judged(judge, _cases(folder, judge_kind(model)), JudgeCallbacks(confirm, progress, tell, watch))


@dataclass(frozen=True, slots=True)
class Second:
    """A second judge.

    Attributes:
        model: The judge, ``PROVIDER/NAME``; the first one itself is asked with a second prompt
            (``fathom.score.second_prompt``).
        base_url: Address of its server.
        sample: Replies of each run that it judges.
        seed: Seed of the sample; a larger one contains a smaller one of the same seed.
    """

    model: str
    base_url: str | None = None
    sample: int = 100
    seed: int = 0


def judge_second(
    run: Path, model: str, second: Second, settings: JudgeSettings, callbacks: JudgeCallbacks = NO_CALLBACKS
) -> JudgeSummary:
    """Have a second judge score a random sample of the replies that the first has judged.

    Its judgements never score rows: ``fathom.analysis.judge_shift`` compares them.

    Args:
        second: The second one, and the sample.
        settings: How both are asked.

    Returns:
        The final state.

    Raises:
        FathomError: The first judge has judged nothing here, or as :func:`judge`.
    """
    folder = Path(run)
    first = _opened(folder, model, settings)
    known = {key for key, outcome in first.outcomes().items() if outcome.status == "ok"}
    cases = {
        case_key(rubric, case): (rubric, case)
        for rubric, case in _cases(folder, judge_kind(model))
        if rubric is not None and case_key(rubric, case) in known
    }
    if not cases:
        raise FathomError(f"{folder}: judge {first.name} has judged no reply of it; judge the run with it first")
    order = sorted(cases, key=lambda key: hashed(f"{second.seed} {key}"))
    chosen = [cases[key] for key in order[: second.sample]]
    judge = _opened(folder, second.model, replace(settings, model_base_url=second.base_url))
    if judge.name == first.name:
        prompted = ((with_second_prompt(rubric), case) for rubric, case in chosen)
        return _judged(replace(judge, prefix=SECOND_PROMPT), prompted, callbacks)
    return _judged(replace(judge, prefix=f"{SECOND}{first.name}{THEN}"), chosen, callbacks)


def _opened(folder: Path, model: str, settings: JudgeSettings) -> CaseModel:
    manifest = read_manifest(folder)
    loading.use_again(manifest["suite"].get("plugins"), folder)
    _check_judge(model, settings.model_base_url)
    asked = case_settings(model, settings, settings.model_base_url)
    return CaseModel(folder, asked, settings, manifest["suite"]["tokenizer"])


def _judged(
    judge: CaseModel, cases: Iterable[tuple[Conversation | None, Case]], callbacks: JudgeCallbacks
) -> JudgeSummary:
    """Ask about the cases that have no judgement."""
    folder, model, settings = judge.folder, judge.asked.model, judge.settings
    waiting = judge.pending(cases)
    _check_kind(folder, model, waiting)
    state = JudgeProgress(waiting.counts, waiting.total, judge.spent)
    hints = _hints_before(read_manifest(folder)["model"], model, waiting)
    try:
        if waiting.cases:
            client, plan = judge.open(), judge.plan(waiting)
            if callbacks.confirm is not None and not callbacks.confirm(plan):
                return _summary(judge, state, stopped="not confirmed", hints=hints)
            with callbacks.watch(folder, settings.max_connections):
                state = judge.ask(waiting, client, progress=callbacks.progress, tell=callbacks.tell)
            hints = (*hints, *_hints_after(state))
    except FathomError as error:
        raise error.renamed(model_base_url="judge_base_url", model="judge") from None
    return _summary(judge, state, hints=hints)


def check_judge(model: str, model_base_url: str | None = None) -> None:
    """Check that a judge can be opened, before there is anything to judge. Nothing is sent.

    Args:
        model: The judge.
        model_base_url: Address of the server.

    Raises:
        FathomError: The model is unknown, its library is missing, or a key is missing.
    """
    _check_judge(model, model_base_url)
    settings = Settings(model, base_url=model_base_url)
    if is_local(model):
        check_local_model(settings)
        return
    try:
        open_case_client(settings, "words", JudgeSettings())
    except FathomError as error:
        raise error.renamed(model_base_url="judge_base_url") from None


def _check_judge(model: str, model_base_url: str | None) -> None:
    if model == "none":
        raise FathomError("`judge` none means that no judge is used; it is an option of rows, report and analyze")
    if is_entailment(model):
        raise FathomError(f"`judge` {model}: entailment models check gold texts (`fathom check-gold`)")
    if model_base_url is not None:
        check_address(model_base_url, "judge_base_url")


def _cases(folder: Path, kind: JudgeKind) -> Iterator[tuple[Rubric | None, Case]]:
    """The replies of a run that need a judge, with their rubrics; None for a rubric of the other kind of judges.

    These are replies with visible text, complete or truncated, of tasks that have a rubric.

    Raises:
        FathomError: The folder holds no run, or one of its tasks names an unknown rubric.
    """
    rubrics: dict[str, Rubric | None] = {}
    for stored in replies(folder):
        if stored.task not in rubrics:
            rubrics[stored.task] = _rubric_of(stored.task)
        rubric, case = rubrics[stored.task], case_of(stored)
        if rubric is not None and stored.reply.answered and case.said:
            yield (rubric if rubric.by == kind else None), case


def _rubric_of(name: str) -> Rubric | None:
    """The rubric of a task; None if it has none or is not installed, which its rows say."""
    try:
        task = get_task(name)
    except FathomError:
        return None
    return get_rubric(task.rubric) if task.rubric else None


def _summary(judge: CaseModel, state: JudgeProgress, *, stopped: str = "", hints: tuple[str, ...] = ()) -> JudgeSummary:
    judged, unreadable = state.counts["ok"], state.counts["unreadable"]
    missing = state.total - judged - unreadable
    return JudgeSummary(judge.folder, judge.name, judged, unreadable, missing, state.spent, stopped, hints)


_KINDS: Mapping[JudgeKind, str] = {
    "chat": "chat models (PROVIDER/NAME)",
    "embedding": "embedding models (embed/NAME or embed-local/NAME)",
}


def _check_kind(folder: Path, model: str, waiting: PendingCases) -> None:
    if waiting.others and not waiting.total:
        raise FathomError(
            f"{folder}: judge {model}: this run has no replies for {_KINDS[judge_kind(model)]}; {waiting.others:,} "
            f"replies need {_KINDS[_other(model)]}"
        )


def _other(model: str) -> JudgeKind:
    return "chat" if judge_kind(model) == "embedding" else "embedding"


def _hints_before(model: str, judge: str, waiting: PendingCases) -> tuple[str, ...]:
    hints = []
    if not waiting.total:
        hints.append("no reply of this run needs a judge: no task has a rubric, or all replies are empty")
    if waiting.others:
        hints.append(f"{several(waiting.others, 'reply was', 'replies were')} skipped, for {_KINDS[_other(judge)]}")
    if model == judge:
        hints.append("the judge is the judged model: models tend to prefer their own replies")
    if judge_kind(judge) == "embedding" and PAPERS.lower() not in judge.lower():
        hints.append(f"these are not the scores of LongBench Pro's paper, which uses {PAPERS}")
    return tuple(hints)


def _hints_after(state: JudgeProgress) -> tuple[str, ...]:
    hints = []
    if state.counts["unreadable"]:
        hints.append(
            f"{several(state.counts['unreadable'], 'judgement')} could not be parsed, so that there is no score; "
            "`again` repeats them"
        )
    if state.counts["error"]:
        hints.append(f"{several(state.counts['error'], 'request')} failed; repeat the command to judge what is missing")
    return tuple(hints)
