"""LongBench Pro: 25 tasks on texts in English and Chinese, with the prompts of their records.

Chen et al. (2026), arXiv:2601.02872. A prompt is the context, four newlines and the question, stripped, as in the
released code. Every record has two questions: one that asks for the answer at once, and one that asks for thoughts
before it (``Sample.thinking``). A record has the length that it states, whatever its tokens, and builds never truncate
it.
"""

import math
import re
from functools import partial

from fathom.benchmarks.pro.records import DIFFICULTY, NAME
from fathom.benchmarks.pro.secondary_tasks import LENGTHS, METRIC_NAMES, SECONDARY, SUMMARY_PASSES_ABOVE, SecondaryTask
from fathom.score.registry import strict_score
from fathom.suites.tasks import whole_text
from fathom.types import (
    Arranged,
    Candidate,
    CandidatePool,
    Document,
    Draw,
    Ending,
    Facet,
    Json,
    Measure,
    Plan,
    Resources,
    Task,
    Whole,
    Wording,
)

GAP = "\n\n\n\n"
OUTPUT_TOKENS = 1024
FACETS = ("primary_task", "secondary_task", "contextual_requirement", DIFFICULTY)

# An option begins a line: "A.", "A)", "(A)", "A:", "A 、" or the letter alone before a blank or Chinese text.
_OPTION = re.compile(r"[ \t]*[(（]?([A-Z])(?:[ \t]*[.．)）、:：]|[ \t]|(?=[\u4e00-\u9fff]))")
_MARK = re.compile(r"\[(?:Answer|答案)\]")
_EXAMPLE = re.compile(r"[A-Z]+(?:/[A-Z]+)*")


def pool(resources: Resources, task: SecondaryTask) -> CandidatePool:
    """The records of a task in the order of their files, each at its stated length."""
    records = [record for record in resources.documents if _is_of(record, task)]
    candidates = [
        Candidate(record, (whole_text(record),), lengths=(length,), name=str(record.meta["id"]))
        for record in records
        if (length := LENGTHS[str(record.meta["token_length"])]) in resources.lengths
    ]
    # The published number does not apply to users' own benchmarks, which have the same form.
    return CandidatePool((), candidates, shuffled=False, stated=True, elsewhere=len(records) - len(candidates))


def plan(draw: Draw, task: SecondaryTask) -> Plan:
    """The prompt of one record, whatever its tokens."""
    assert draw.candidate is not None
    return Whole(partial(_arranged, draw.candidate.document, task), over=math.inf)


def chance_of(question: str, answers: list[str]) -> float:
    """The chance level of guessing among the options of a question.

    Args:
        question: The question with its options, A, B, C, ... at the start of lines.
        answers: The lines of the correct answer.

    Returns:
        One divided by the number of options; if the answer or the example in the question has several letters, one
        divided by the number of combinations. 0 if the answer does not consist of such letters.
    """
    letters = options_of(question)
    answer = answers[0].strip() if len(answers) == 1 else ""
    if len(letters) < 2 or not answer or not set(answer) <= set(letters):
        return 0.0
    several = len(answer) > 1 or shows_several(question)
    return 1 / (2 ** len(letters) - 1) if several else 1 / len(letters)


def options_of(question: str) -> str:
    """The letters of the longest list of options in a question, from A without gaps; "" if there is none."""
    best = run = ""
    for line in question.splitlines():
        if match := _OPTION.match(line):
            letter = match[1]
            if letter == chr(ord("A") + len(run)):
                run += letter
            elif letter == "A":
                run = letter
            best = max(best, run, key=len)
    return best if len(best) > 1 else ""


def shows_several(question: str) -> bool:
    """Whether the example answer at the end of a question has several letters, as in ``A/AC/BCD``."""
    _, *examples = _MARK.split(question)
    lines = (line.strip() for example in examples for line in example.splitlines())
    shown = [letters for line in lines if _EXAMPLE.fullmatch(line) for letters in line.split("/")]
    return any(len(letters) > 1 and sorted(set(letters)) == list(letters) for letters in shown)


def _is_of(record: Document, task: SecondaryTask) -> bool:
    return record.meta.get("dataset") == NAME and record.meta["secondary_task"] == task.name


def _arranged(record: Document, task: SecondaryTask, length: int, measure: Measure) -> Arranged:
    ending = _ending(record, task)
    return Arranged((whole_text(record), ending.question), ending)


def _ending(record: Document, task: SecondaryTask) -> Ending:
    question, answers = str(record.meta["question_nonthinking"]), _strings(record.meta["answer"])
    return Ending(
        question=GAP + question,
        targets=tuple(answers),
        chance=chance_of(question, answers) if task.metric == "Accuracy" else 0.0,
        facets=_facets(record, task),
        asked=question,
        thinking=GAP + str(record.meta["question_thinking"]),
        inputs={"dataset": task.name},
    )


def _facets(record: Document, task: SecondaryTask) -> dict[str, Facet]:
    facets: dict[str, Facet] = {name: str(record.meta[name]) for name in FACETS if name in record.meta}
    return facets | ({"pass_above": SUMMARY_PASSES_ABOVE} if task.metric == "Summary" else {})


def _strings(value: Json) -> list[str]:
    assert isinstance(value, list)
    return [str(item) for item in value]


def _task(task: SecondaryTask) -> Task:
    official = f"{NAME}/{task.metric}"
    return Task(
        name=task.task,
        title=task.name,
        plan=partial(plan, task=task),
        score=partial(strict_score, metric=official),
        metric=METRIC_NAMES[task.metric],
        max_output_tokens=OUTPUT_TOKENS,
        description=f"{task.name}, {task.requirement.lower()} context",
        source=f"LongBench Pro, {task.primary}",
        pool=partial(pool, task=task),
        data=(NAME,),
        needs="records of LongBench Pro, or of the same form",
        gold=("record",),
        noise=(),
        rubric="similarity" if task.metric == "Summary" else "",
        official=official,
        capped=True,
        lines=task.metric != "Summary",
        wording=Wording({}),
    )


TASKS = tuple(map(_task, SECONDARY))
