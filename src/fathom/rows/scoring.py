"""A stored reply becomes a verdict: by a judge, by the official rule of a paper, or by its task's own scorer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from fathom.registry import get_task
from fathom.run.embedding_judge import judge_kind
from fathom.run.judgements import Judgement, case_key, case_of, judgements, judges
from fathom.run.store import StoredReply
from fathom.score.judge import JUDGE_KINDS, JudgeKind, Rubric, get_rubric
from fathom.score.registry import get_scorer, row_of
from fathom.types import FathomError, Reply, Sample, Task, Verdict

RULES = ("strict", "official")
NO_JUDGE = "none"
NOT_JUDGED = "not judged yet"


@dataclass(frozen=True, slots=True)
class Judged:
    """What one judge said of the replies of a run.

    Attributes:
        name: The judge.
        judgements: Its judgements by ``fathom.run.judgements.case_key``.
    """

    name: str
    judgements: Mapping[str, Judgement]

    @property
    def kind(self) -> JudgeKind:
        """Which kind of judge it is, and so which rubrics are for it."""
        return judge_kind(self.name)


@dataclass(frozen=True, slots=True)
class Scored:
    """The verdict on one reply.

    Attributes:
        verdict: The verdict.
        metric: What its value is.
        target: The gold answer: one of several, or all its lines.
        task_version: Version of the task; 0 where it is not installed.
    """

    verdict: Verdict
    metric: str = ""
    target: str = ""
    task_version: int = 0


def choose_judges(folders: Sequence[Path], judge: str | None) -> tuple[str, ...]:
    """The judges by whom replies are scored, the same for all runs, so that no two scales are mixed.

    There is at most one of each kind: a model that chats and a model of embeddings score different tasks.

    Args:
        folders: Run folders.
        judge: Name of a judge, which may leave out its settings where that is clear, or of one of each kind with a
            comma between them; ``none`` for no judge. For a kind of which none is named, and for None, it is the one
            judge of that kind that the folders hold judgements of, if any.

    Returns:
        Full names; tasks whose kind of judge is not among them are scored by their own scorers.

    Raises:
        FathomError: The judge has judged nothing here although others have, or there are several of a kind and none of
            them was named.
    """
    if judge == NO_JUDGE:
        return ()
    found = sorted({name for folder in folders for name in judges(folder)})
    chosen: dict[JudgeKind, str] = {}
    for named in _named(judge, found):
        kind = judge_kind(named)
        if kind in chosen:
            raise FathomError(f"--judge {judge}: these are two judges of one kind; name one")
        chosen[kind] = _full_name(named, [name for name in found if judge_kind(name) == kind], folders)
    for kind in JUDGE_KINDS:
        alike = [name for name in found if judge_kind(name) == kind]
        if kind not in chosen and len(alike) > 1:
            raise FathomError(
                f"{_listed(folders)}: judged by {', '.join(alike)}: choose one with --judge, or --judge none for the "
                "tasks' own scorers" + (f"; beside {judge}, with a comma between them" if judge else "")
            )
        if kind not in chosen and alike:
            chosen[kind] = alike[0]
    return tuple(chosen.values())


def _named(judge: str | None, found: Sequence[str]) -> list[str]:
    """The names in what ``--judge`` gives; settings of a judge may hold a comma as well."""
    if judge is None:
        return []
    parts = [part.strip() for part in judge.split(",")]
    several = judge not in found and len({judge_kind(part) for part in parts}) > 1
    return parts if several else [judge]


def _full_name(named: str, found: Sequence[str], folders: Sequence[Path]) -> str:
    alike = [named] if named in found else [name for name in found if name.split(" ")[0] == named]
    if not found or len(alike) == 1:
        return alike[0] if alike else named
    raise FathomError(
        f"--judge {named}: {_listed(folders)}: judged by {', '.join(found)}; choose one of these, run `fathom judge` "
        "with another, or give --judge none for the tasks' own scorers"
    )


def read_judged(folder: Path, judges: Sequence[str]) -> tuple[Judged, ...]:
    """What judges said of the replies of a run."""
    return tuple(Judged(name, judgements(folder, name)) for name in judges)


def score_reply(stored: StoredReply, rule: str, judged: Sequence[Judged] = ()) -> Scored:
    """Score one reply.

    Args:
        stored: The reply. Its visible text is scored, also where the output cap cut it off; where there is none
            although the model replied, or it refused, the score is 0.
        rule: One of ``RULES``. ``official`` is the rule of the paper where a task names its metric.
        judged: Score the tasks that have a rubric for their kind of judge; other tasks are left to the other rules.

    Returns:
        The verdict. What has no score (an unreadable judgement, one that is missing, a scorer that failed, a task
        that is not installed or that has no official rule) says so in ``detail``.
    """
    try:
        task = get_task(stored.task)
        rubric = get_rubric(task.rubric) if task.rubric and judged else None
    except FathomError as error:
        return Scored(Verdict(None, valid=False, detail=str(error)), target=stored.targets[0] if stored.targets else "")
    target = "\n".join(stored.targets if task.lines else stored.targets[:1])
    judge = next((one for one in judged if rubric is not None and one.kind == rubric.by), None)
    if rubric is not None and judge is not None:
        metric, score = f"judge_{rubric.name}", partial(_by_judge, task, rubric, stored, rule, judge)
    elif rule == "official":
        metric, score = task.official, partial(_by_paper, task, stored)
    else:
        metric, score = task.metric, partial(_by_task, task, stored)
    return Scored(_outcome(stored.reply, score), metric, target, task.version)


def _outcome(reply: Reply, score: Callable[[], Verdict]) -> Verdict:
    if reply.answered:
        return _attempt(score)
    if reply.status in ("error", "overflow"):
        return Verdict(None, valid=False, detail=reply.error)
    return Verdict(0.0, valid=False, detail=reply.error or "empty reply")


def _attempt(score: Callable[[], Verdict]) -> Verdict:
    try:
        return score()
    except FathomError as error:
        return Verdict(None, valid=False, detail=str(error))
    except Exception as error:  # a scorer may come from any package, and one reply must not end the reading
        return Verdict(None, valid=False, detail=f"scorer failed: {type(error).__name__}: {error}")


def _by_task(task: Task, stored: StoredReply) -> Verdict:
    return task.score(stored.reply.text, _sample_of(stored))


def _sample_of(stored: StoredReply) -> Sample:
    return Sample(
        id=stored.sample,
        item=stored.item,
        task=stored.task,
        parts=(),
        targets=stored.targets,
        length=stored.length,
        tokens=stored.tokens,
        language=stored.language,
        chance=stored.chance,
        facets=stored.facets,
        asked=stored.asked,
        inputs=stored.inputs,
    )


def _by_paper(task: Task, stored: StoredReply) -> Verdict:
    if not task.official:
        hint = " without a judge; see `fathom judge`" if task.rubric else ""
        return Verdict(None, valid=False, grader="official", detail=f"task {task.name!r} has no official rule{hint}")
    verdict = get_scorer(task.official, "official")(row_of(stored.reply.text, _sample_of(stored)))
    if verdict.value is None or 0.0 <= verdict.value <= 1.0:
        return verdict
    # LongBench Pro's evaluator, the only one that looks, counts such a score as 0.
    return replace(verdict, value=0.0, detail=f"the official metric gives {verdict.value:g}, which counts as 0")


def _by_judge(task: Task, rubric: Rubric, stored: StoredReply, rule: str, judged: Judged) -> Verdict:
    """What the judge said; whether the form was right, and which answer was given, is for the task's scorer to say."""
    case = case_of(stored)
    own = _attempt(partial(_by_task, task, stored))
    verdict = replace(own, value=None, grader=f"judge {judged.name} ({rubric.name} v{rubric.version})")
    if not case.said:
        return replace(verdict, value=0.0, detail="empty reply")
    found = judged.judgements.get(case_key(rubric, case))
    if found is None:
        return replace(verdict, detail=f"{NOT_JUDGED} by {judged.name}: run `fathom judge`")
    if found.status == "ok":
        parts = ", ".join(f"{name} {value:.3g}" for name, value in found.parts.items())
        return replace(verdict, value=rubric.value(found.parts, rule), detail=parts)
    why = "judgement unreadable" if found.status == "unreadable" else f"{NOT_JUDGED}, the judge did not answer"
    return replace(verdict, detail=f"{why}: {found.detail}")


def _listed(folders: Sequence[Path]) -> str:
    return ", ".join(map(str, folders))
