"""Why a reply has its score, in words: rule, extracted answer and gold answers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fathom.browse.marks import task_of
from fathom.rows.scoring import Judged, Scored, score_reply
from fathom.runfile.judgements import Judgement, case_key, case_of, hashed
from fathom.runfile.store import StoredReply
from fathom.score.judge import UnreadableError, get_rubric
from fathom.types import Row

SHOWN = 160
"""Characters of an answer in a sentence."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One score of a reply, with its explanation.

    Attributes:
        metric: Name of the score.
        rule: ``strict`` (the task's scorer), ``official`` (the paper's) or ``judge``.
        counts: Whether this is the score in reports.
        value: Score in [0, 1]; None if there is none.
        valid: Whether the reply had the requested form.
        answer: The answer extracted from the reply, or None.
        grader: The rule or judge in detail.
        detail: The grader's comment.
        words: Sentences that explain it.
    """

    metric: str
    rule: str
    counts: bool
    value: float | None
    valid: bool
    answer: str | None
    grader: str
    detail: str
    words: tuple[str, ...]


def reasons(row: Row, stored: StoredReply | None, judged: Sequence[Judged] = ()) -> tuple[Reason, ...]:
    """All scores of a reply, the one that counts first.

    Args:
        row: Its row, with the score that counts.
        stored: The reply with its texts; None if only the row is known.
        judged: Judgements of the run's replies.
    """
    rule = "judge" if row.metric.startswith("judge_") else row.rule
    task = task_of(row.task)
    lines = task is not None and task.lines
    targets = stored.targets if stored is not None else (row.target,) if row.target else ()
    words = tuple(_explained(row, targets, rule, lines))
    first = Reason(row.metric, rule, True, row.value, row.valid, row.answer, row.grader, row.detail, words)
    if stored is None or not stored.reply.answered:
        return (first,)
    others = (
        Reason(
            scored.metric, rule, False, scored.score.value, scored.score.valid, scored.score.answer,
            scored.score.grader, scored.score.detail, (),
        )
        for rule, scored in _others(row, stored, judged)
    )  # fmt: skip
    return (first, *others)


def _others(row: Row, stored: StoredReply, judged: Sequence[Judged]) -> Iterator[tuple[str, Scored]]:
    """The scores that do not count in reports: by the other rule, without a judge, by other judges."""
    task = task_of(stored.task)
    if task is None:
        return
    by_judge = row.metric.startswith("judge_")
    if by_judge or row.rule != "strict":
        yield "strict", score_reply(stored, "strict")
    if task.official and (by_judge or row.rule != "official"):
        yield "official", score_reply(stored, "official")
    for judge in judged:
        scored = score_reply(stored, row.rule, [judge])
        if scored.metric.startswith("judge_") and scored.score.grader != row.grader:
            yield "judge", scored


def _explained(row: Row, targets: Sequence[str], rule: str, lines: bool) -> Iterator[str]:
    if row.stop == "not_asked":
        yield "Not scored: this sample was not asked yet."
        return
    if row.status == "error":
        yield f"Not scored: the request failed ({row.detail or 'no reason is stored'})."
        return
    if row.status == "overflow":
        yield f"Not scored: the prompt did not fit the model's window ({row.detail or 'no reason is stored'})."
        yield "It counts as 0, unless so many prompts of this length did not fit that the length has no score."
        return
    if row.answered is False:
        what = "the model refused" if row.status == "refused" else "the reply has no visible text"
        if row.status == "incomplete":
            what = "the output cap was reached before any visible text"
        more = "" if row.detail in ("", "empty reply") else f" ({row.detail})"
        yield f"Scored 0: {what}{more}."
        return
    if row.status == "incomplete":
        yield "The reply was stopped by its output cap; what there is of it was scored."
    if row.value is None:
        yield f"Not scored: {row.detail or 'no reason is stored'}."
        return
    gold = _gold(targets, lines)
    if rule == "judge":
        yield f"The judge's score is {_number(row.value)}" + (f" ({row.detail})." if row.detail else ".")
        yield f"The judge saw the question, the reply and the {gold}; it did not see the context."
        return
    by = _rule(row)
    if row.answer is None and not row.valid:
        yield f"Scored {_number(row.value)}: {by} found no answer of the requested form in the reply."
        yield f"Expected: {gold}."
        return
    taken = f"{by} took “{_short(row.answer)}” from the reply" if row.answer is not None else f"by {by}"
    if row.value == 1:
        one_of = "one of " if len(targets) > 1 and not lines else ""
        yield f"Full score: {taken}, which matches {one_of}the {gold}."
    elif row.value == 0:
        no = "matches none of" if len(targets) > 1 and not lines else "does not match"
        yield f"Scored 0: {taken}, which {no} the {gold}."
    else:
        name = f"{row.metric} " if row.metric else ""
        yield f"Partial score: {taken}; compared with the {gold}, its {name}is {_number(row.value)}."
    if not row.valid:
        yield "The reply does not have the requested form."
    if row.detail:
        yield f"The scorer adds: {row.detail}."


def _rule(row: Row) -> str:
    """The rule in words; scorers of benchmarks name only whether it is the official one."""
    if row.grader in ("", "strict", "official"):
        return f"the {row.grader or row.rule} rule" + (f" of {row.metric}" if row.metric else "")
    return f"the rule “{row.grader}”"


def _gold(targets: Sequence[str], lines: bool) -> str:
    if not targets:
        return "gold answer (not stored)"
    shown = ", ".join(f"“{_short(target)}”" for target in targets[:3])
    more = f" and {len(targets) - 3} more" if len(targets) > 3 else ""
    if len(targets) == 1:
        return f"gold answer {shown}"
    return f"{len(targets)} lines of the gold answer: {shown}{more}" if lines else f"gold answers {shown}{more}"


def _short(text: str | None) -> str:
    flat = " ".join((text or "").split())
    return flat if len(flat) <= SHOWN else flat[:SHOWN].rstrip() + "…"


def _number(value: float) -> str:
    return f"{value:.3g}"


@dataclass(frozen=True, slots=True)
class JudgeMessage:
    """One reply of a judge.

    Attributes:
        judge: Name of the judge.
        step: What it was asked for.
    """

    judge: str
    step: str
    text: str


def judge_replies(
    stored: StoredReply, judge: Judged, judge_texts: Mapping[tuple[str, int], str]
) -> tuple[JudgeMessage, ...]:
    """The messages of a judge about a reply, from its stored replies.

    Args:
        judge: The judgements of that judge.
        judge_texts: The judge's replies by hash of the prompt and attempt
            (``fathom.runfile.judgements.replies_by_prompt``).
    """
    task = task_of(stored.task)
    if task is None or not task.rubric:
        return ()
    rubric = get_rubric(task.rubric)
    case = case_of(stored)
    judgement: Judgement | None = judge.judgements.get(case_key(rubric, case))
    if judgement is None or rubric.by != judge.kind:
        return ()
    messages: list[JudgeMessage] = []
    tries: dict[str, int] = {}
    steps = rubric.steps(case)
    try:
        request = next(steps)
        while True:
            key = hashed(request.prompt)
            tries[key] = tries.get(key, 0) + 1
            text = judge_texts.get((key, tries[key]))
            if text is None:
                break
            messages.append(JudgeMessage(judge.name, request.step, text))
            request = steps.send(text)
    except (StopIteration, UnreadableError):
        pass
    return tuple(messages)
