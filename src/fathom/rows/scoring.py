"""Scores a stored reply: by a judge, by a paper's official rule, by its task's own scorer, or as a likelihood."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from fathom.models.embedding_judge import judge_kind
from fathom.plugins.extras import MissingLibraryError
from fathom.runfile.judgements import SECONDS, Judgement, case_key, case_of, first_and_second, judgements, judges
from fathom.runfile.store import StoredReply
from fathom.score.checks import checked_score
from fathom.score.judge import JUDGE_KINDS, JudgeKind, Rubric, get_rubric
from fathom.score.registry import Crash, crash, get_scorer, row_of
from fathom.stats.outcomes import NOT_JUDGED as NOT_JUDGED
from fathom.stats.outcomes import SCORER_FAILED
from fathom.storage.time_limits import TooLongError, within_time
from fathom.suites.registry import get_task
from fathom.types import FathomError, Reply, Sample, Score, Task

RULES = ("strict", "official")
NO_JUDGE = "none"
LIKELIHOOD = "likelihood of the gold answer"
"""Metric and grader of such runs."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The judgements of a run's replies by one judge.

    Attributes:
        judgements: Its judgements by ``fathom.runfile.judgements.case_key``.
    """

    name: str
    judgements: Mapping[str, Judgement]

    @property
    def kind(self) -> JudgeKind:
        """The kind of judge, which determines its rubrics."""
        return judge_kind(first_and_second(self.name)[1] if self.name.startswith(SECONDS) else self.name)


@dataclass(frozen=True, slots=True)
class Scored:
    """The score of one reply.

    Attributes:
        metric: Name of the score.
        target: The gold answer: one of several, or all its lines.
        task_version: Version of the task; 0 if it is not installed.
    """

    score: Score
    metric: str = ""
    target: str = ""
    task_version: int = 0


def choose_judges(folders: Sequence[Path], judge: str | None) -> tuple[str, ...]:
    """The judges that score replies, the same for all runs, so that no scales are mixed.

    There is at most one of each kind: chat models and embedding models score different tasks.

    Args:
        judge: Name of a judge, without its settings if that is unambiguous, or one of each kind separated by a comma;
            ``none`` for no judge. For a kind that is not named, the only judge of that kind with judgements in the
            folders, if any.

    Returns:
        Full names; other tasks are scored by their own scorers.

    Raises:
        FathomError: The judge has no judgements here although others have, or there are several of a kind and none was
            named.
    """
    if judge == NO_JUDGE:
        return ()
    if judge is not None and judge.startswith(SECONDS):
        return (judge,)
    available = sorted({name for folder in folders for name in judges(folder)})
    chosen: dict[JudgeKind, str] = {}
    for named in _names_in(judge, available):
        kind = judge_kind(named)
        if kind in chosen:
            raise FathomError(f"`judge` {judge}: names two judges of one kind; name one")
        chosen[kind] = _full_name(named, [name for name in available if judge_kind(name) == kind], folders)
    for kind in JUDGE_KINDS:
        alike = [name for name in available if judge_kind(name) == kind]
        if kind not in chosen and len(alike) > 1:
            raise FathomError(
                f"{_listed(folders)}: judged by {', '.join(alike)}: choose one with `judge`, or `judge` none for the "
                "tasks' own scorers" + (f"; beside {judge}, with a comma between them" if judge else "")
            )
        if kind not in chosen and alike:
            chosen[kind] = alike[0]
    return tuple(chosen.values())


def _names_in(judge: str | None, available: Sequence[str]) -> list[str]:
    """The names in ``--judge``; the settings of a judge may contain a comma as well."""
    if judge is None:
        return []
    parts = [part.strip() for part in judge.split(",")]
    several = judge not in available and len({judge_kind(part) for part in parts}) > 1
    return parts if several else [judge]


def _full_name(named: str, available: Sequence[str], folders: Sequence[Path]) -> str:
    alike = [named] if named in available else [name for name in available if name.split(" ")[0] == named]
    if not available or len(alike) == 1:
        return alike[0] if alike else named
    raise FathomError(
        f"`judge` {named}: {_listed(folders)}: judged by {', '.join(available)}; choose one of these, run `fathom "
        "judge` with another, or give `judge` none for the tasks' own scorers"
    )


def read_judged(folder: Path, judges: Sequence[str]) -> tuple[Judged, ...]:
    """The judgements of a run's replies by some judges."""
    return tuple(Judged(name, judgements(folder, name)) for name in judges)


def score_reply(stored: StoredReply, rule: str, judged: Sequence[Judged] = ()) -> Scored:
    """Score one reply.

    Args:
        stored: The reply. Visible text is scored, even if truncated by the output cap; a reply without text or a
            refusal scores 0.
        rule: One of ``RULES``. ``official`` is the paper's rule, for tasks that name its metric.
        judged: Judgements, which score the tasks with a rubric for that kind of judge.

    Returns:
        The score. If there is none (a judgement that is unreadable or missing, a scorer that fails or does not end, a
        task that is not installed or has no official rule), ``detail`` says why.
    """
    try:
        task = get_task(stored.task)
        rubric = get_rubric(task.rubric) if task.rubric and judged else None
    except FathomError as error:
        return Scored(Score(None, valid=False, detail=str(error)), target=stored.targets[0] if stored.targets else "")
    target = "\n".join(stored.targets if task.lines else stored.targets[:1])
    judge = next((candidate for candidate in judged if rubric is not None and candidate.kind == rubric.by), None)
    if rubric is not None and judge is not None:
        metric, score = f"judge_{rubric.name}", partial(_by_judge, task, rubric, stored, rule, judge)
    elif rule == "official":
        metric, score = task.official, partial(_by_paper, task, stored)
    else:
        metric, score = task.metric, partial(_by_task, task, stored)
    try:
        with within_time(len(stored.reply.text)):
            outcome = _outcome(stored.reply, score)
    except TooLongError as error:
        scorer = task.official if rule == "official" else f"{task.name}.score"
        outcome = Score(None, valid=False, detail=f"{SCORER_FAILED}TooLongError in {scorer}: {error}")
    return Scored(outcome, metric, target, task.version)


def score_of_likelihood(stored: StoredReply) -> Scored:
    """The likelihood of a gold answer as a score (``fathom likelihood --method gold``).

    Args:
        stored: The reply, with the log-probability of the answer.

    Returns:
        The geometric mean of the probabilities of the answer's tokens, in [0, 1]: lengths of answers do
        not matter.
    """
    target = stored.targets[0] if stored.targets else ""
    if stored.reply.status != "ok":
        return Scored(Score(None, valid=False, detail=stored.reply.error), LIKELIHOOD, target)
    try:
        kept = json.loads(stored.reply.text)
        value = math.exp(min(0.0, float(kept["logprob"])) / int(kept["tokens"]))
        if not math.isfinite(kept["logprob"]):
            raise ValueError
    except (ValueError, KeyError, TypeError, ZeroDivisionError):
        return Scored(Score(None, valid=False, detail="no log-probability was kept"), LIKELIHOOD, target)
    detail = f"log-probability {kept['logprob']:g} of {kept['tokens']} tokens"
    return Scored(Score(value, valid=True, answer=target, grader=LIKELIHOOD, detail=detail), LIKELIHOOD, target)


def _outcome(reply: Reply, score: Callable[[], Score]) -> Score:
    if reply.answered:
        return score()
    if reply.status in ("error", "overflow"):
        return Score(None, valid=False, detail=reply.error)
    return Score(0.0, valid=False, detail=reply.error or "empty reply")


def _by_task(task: Task, stored: StoredReply) -> Score:
    try:
        return checked_score(task.score(stored.reply.text, _sample_of(stored)))
    except (MissingLibraryError, TooLongError):  # which say nothing of the reply
        raise
    except Exception as error:  # scorers may come from any package, and one reply must not stop the others
        why = f"{SCORER_FAILED}{type(error).__name__} in {task.name}.score: {error}"
        return Score(None, valid=False, detail=why)


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


def _by_paper(task: Task, stored: StoredReply) -> Score:
    if not task.official:
        hint = " without a judge; see `fathom judge`" if task.rubric else ""
        return Score(None, valid=False, grader="official", detail=f"task {task.name!r} has no official rule{hint}")
    try:
        scorer = get_scorer(task.official, "official")
    except FathomError as error:
        return Score(None, valid=False, detail=str(error))
    try:
        score = scorer(row_of(stored.reply.text, _sample_of(stored)))
    except (MissingLibraryError, TooLongError):
        raise
    except Exception as error:  # the code is as released
        score = crash(type(error).__name__, str(error))
    if isinstance(score, Crash):
        return replace(
            score, value=0.0, detail=f"the official code raises an exception, which counts as 0: {score.detail}"
        )
    if score.value is None or 0.0 <= score.value <= 1.0:
        return score
    # LongBench Pro's evaluator, the only one that checks, counts such a score as 0.
    return replace(score, value=0.0, detail=f"the official metric gives {score.value:g}, which counts as 0")


def _by_judge(task: Task, rubric: Rubric, stored: StoredReply, rule: str, judged: Judged) -> Score:
    """The judge's score; validity and the extracted answer come from the task's scorer."""
    case = case_of(stored)
    own = _by_task(task, stored)
    score = replace(own, value=None, grader=f"judge {judged.name} ({rubric.name} v{rubric.version})")
    if not case.said:
        return replace(score, value=0.0, detail="empty reply")
    judgement = judged.judgements.get(case_key(rubric, case))
    if judgement is None:
        return replace(score, detail=f"{NOT_JUDGED} by {judged.name}: run `fathom judge`")
    if judgement.status == "ok":
        try:
            value = rubric.value(judgement.parts, rule)
        except Exception as error:  # rubrics may come from any package, and parts from any bundle
            why = f"{SCORER_FAILED}{type(error).__name__} in rubric {rubric.name}: {error}"
            return replace(score, valid=False, detail=why)
        detail = ", ".join(f"{name} {part:.3g}" for name, part in judgement.parts.items())
        return replace(score, value=value, detail=detail)
    why = "judgement unreadable" if judgement.status == "unreadable" else f"{NOT_JUDGED}, the judge did not answer"
    return replace(score, detail=f"{why}: {judgement.detail}")


def _listed(folders: Sequence[Path]) -> str:
    return ", ".join(map(str, folders))
