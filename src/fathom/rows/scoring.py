"""A stored reply becomes a verdict: by a judge, by the official rule of a paper, or by its task's own scorer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from fathom.registry import get_task
from fathom.run.judgements import Judgement, case_key, case_of, judgements, judges
from fathom.run.store import StoredReply
from fathom.score.judge import get_rubric
from fathom.score.registry import get_scorer, row_of
from fathom.types import FathomError, Sample, Task, Verdict

RULES = ("strict", "official")
NO_JUDGE = "none"


@dataclass(frozen=True, slots=True)
class Judged:
    """What one judge said of the replies of a run.

    Attributes:
        name: The judge.
        judgements: Its judgements by ``fathom.run.judgements.case_key``.
    """

    name: str
    judgements: Mapping[str, Judgement]


@dataclass(frozen=True, slots=True)
class Scored:
    """The verdict on one reply.

    Attributes:
        verdict: The verdict.
        metric: What its value is.
        task_version: Version of the task; 0 where it is not installed.
    """

    verdict: Verdict
    metric: str = ""
    task_version: int = 0


def choose_judge(folders: Sequence[Path], judge: str | None) -> str | None:
    """The judge by whom replies are scored, the same for all runs, so that no two scales are mixed.

    Args:
        folders: Run folders.
        judge: Name of a judge, which may leave out its settings where that is clear; ``none`` for no judge; None for
            the one judge that the folders hold judgements of, if any.

    Returns:
        The judge's full name, or None where tasks' own scorers are to be used.

    Raises:
        FathomError: The judge has judged nothing here although others have, or there are several and none was named.
    """
    if judge == NO_JUDGE:
        return None
    found = sorted({name for folder in folders for name in judges(folder)})
    if judge is None:
        if len(found) > 1:
            raise FathomError(
                f"{_listed(folders)}: judged by {', '.join(found)}: choose one with --judge, or --judge none for the "
                "tasks' own scorers"
            )
        return found[0] if found else None
    alike = [judge] if judge in found else [name for name in found if name.split(" ")[0] == judge]
    if not found or len(alike) == 1:
        return alike[0] if alike else judge
    raise FathomError(
        f"--judge {judge}: {_listed(folders)}: judged by {', '.join(found)}; choose one of these, run `fathom judge` "
        "with another, or give --judge none for the tasks' own scorers"
    )


def read_judged(folder: Path, judge: str | None) -> Judged | None:
    """What a judge said of the replies of a run; None for no judge."""
    return Judged(judge, judgements(folder, judge)) if judge is not None else None


def score_reply(stored: StoredReply, rule: str, judged: Judged | None) -> Scored:
    """Score one reply.

    Args:
        stored: The reply; only one with status ``ok`` is scored.
        rule: One of ``RULES``. ``official`` is the rule of the paper where a task names its metric.
        judged: Scores the tasks that have a rubric; None leaves them to the other rules.

    Returns:
        The verdict. What has no score (an unreadable judgement, one that is missing, a scorer that failed, a task
        that is not installed or that has no official rule) says so in ``detail``.
    """
    try:
        task = get_task(stored.task)
    except FathomError as error:
        return Scored(Verdict(None, valid=False, detail=str(error)))
    if judged is not None and task.rubric:
        metric, score = f"judge_{task.rubric}", partial(_by_judge, task, stored, rule, judged)
    elif rule == "official":
        metric, score = task.official, partial(_by_paper, task, stored)
    else:
        metric, score = task.metric, partial(_by_task, task, stored)
    if stored.reply.status != "ok":
        return Scored(Verdict(None, valid=False, detail=stored.reply.error), metric, task.version)
    return Scored(_attempt(score), metric, task.version)


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
    )


def _by_paper(task: Task, stored: StoredReply) -> Verdict:
    if not task.official:
        return Verdict(None, valid=False, grader="official", detail=f"task {task.name!r} has no official rule")
    return get_scorer(task.official, "official")(row_of(stored.reply.text, _sample_of(stored)))


def _by_judge(task: Task, stored: StoredReply, rule: str, judged: Judged) -> Verdict:
    """What the judge said; whether the form was right, and which answer was given, is for the task's scorer to say."""
    rubric, case = get_rubric(task.rubric), case_of(stored)
    own = _attempt(partial(_by_task, task, stored))
    verdict = replace(own, value=None, grader=f"judge {judged.name} ({rubric.name} v{rubric.version})")
    if not case.said:
        return replace(verdict, value=0.0, detail="empty reply")
    found = judged.judgements.get(case_key(rubric, case))
    if found is None:
        return replace(verdict, detail=f"not judged yet by {judged.name}: run `fathom judge`")
    if found.status == "ok":
        parts = ", ".join(f"{name} {value:.3g}" for name, value in found.parts.items())
        return replace(verdict, value=rubric.value(found.parts, rule), detail=parts)
    why = "judgement unreadable" if found.status == "unreadable" else "not judged yet, the judge did not answer"
    return replace(verdict, detail=f"{why}: {found.detail}")


def _listed(folders: Sequence[Path]) -> str:
    return ", ".join(map(str, folders))
