"""Offline baselines as drafters, so that the studio can be tried without a model.

A question asks for a number of the text, in the sentence around it. The answer is what the baseline answers, which is
often wrong: that is what reviews are for.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from fathom.models.protocol import is_baseline
from fathom.studio.asking import Asking, Prompt, ask_model
from fathom.studio.candidates import Drafts, RejectedDraft, candidate_id
from fathom.studio.exports import Collection, context_of, joined
from fathom.studio.tasks import MARKERS, StudioTask, find_task
from fathom.studio.types import Candidate, Component, Content, Evidence, Requirement, Sample
from fathom.tokens.counts import cut_points
from fathom.types import AnswerKind, FathomError

_NUMBER = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])|(?<![\d.,])\d{2,6}(?![\d.,]\d)")
_SENTENCE = (30, 300)
"""Least and most characters of a sentence that a question quotes."""
_BLANK = "____"
_LETTERS = "ABCD"
_OPTION = re.compile(r"^([A-D])\. (.*)$", re.MULTILINE)
_TEXTS = {
    "en": (
        "How much or how many, or which number, stands at the gap in this sentence? “{sentence}”",
        "The number stands in one sentence of the text.",
        "Find the sentence; the answer is {answer}.",
    ),
    "zh": (
        "下面句子的空缺处是哪个数字？“{sentence}”",
        "该数字出现在文中的一个句子里。",
        "找到该句，答案为{answer}。",
    ),
}


@dataclass(frozen=True, slots=True)
class _Gap:
    """A sentence with a number that is asked for."""

    sentence: Evidence
    number: str
    asked: str


def draft_offline(
    sample: Sample,
    collection: Collection,
    asking: Asking,
    requirement: Requirement | None,
    count: int,
) -> Drafts:
    """Candidates of an offline baseline.

    Args:
        sample: Task, language and documents.
        collection: Where the documents and the task are.
        requirement: Requirement to note in the candidates; the questions do not depend on it.
        count: Candidates to make; fewer if the text has too few numbers.

    Raises:
        FathomError: The model is not an offline baseline, or a document is missing.
    """
    if not is_baseline(asking.model):
        raise FathomError(f"{asking.model}: not an offline baseline; expected one such as fathom/lexical")
    task = find_task(collection.tasks, sample.task)
    rng = Random(f"{asking.settings.seed}|{sample.id}|{asking.model}")
    context = joined(context_of(sample, collection), collection.texts)
    gaps = _gaps({id: collection.texts[id] for id in sample.documents}, count, rng)
    if not gaps:
        return Drafts(rejected=(RejectedDraft(asking.model, "the text has no sentence with a number to ask for"),))
    numbers = sorted({gap.number for gap in gaps} | set(_NUMBER.findall(context)[:400]))
    asks, rationale, solution = _TEXTS.get(sample.language, _TEXTS["en"])
    questions = []
    for gap in gaps:
        question = asks.format(sentence=gap.asked)
        questions.append(question + (_options(gap.number, numbers, rng) if task.metric == "Accuracy" else ""))
    prompts = [
        offline_prompt(f"{sample.id}/{number}", context, question, task) for number, question in enumerate(questions)
    ]
    candidates = []
    for number, (gap, question, answer) in enumerate(
        zip(gaps, questions, ask_model(asking, prompts, cap=64), strict=True), start=1
    ):
        text = _element(answer.text)
        content = Content(
            question=question,
            components=(Component(text or "?", (gap.sentence,)),),
            rationale=rationale,
            solution=solution.format(answer=text),
            requirement=requirement or task.requirement,
        )
        id = candidate_id(asking.model, number, sample)
        candidates.append(Candidate(id, asking.model, content, 0.0))
    return Drafts(tuple(candidates))


def offline_prompt(key: str, context: str, question: str, task: StudioTask) -> Prompt:
    """A prompt in the form that offline baselines parse: the question is the last paragraph."""
    kind: AnswerKind = "letter" if task.metric == "Accuracy" else "summary" if task.is_summary else "words"
    asked = "\n".join(line for line in question.splitlines() if line.strip())
    return Prompt(key, f"{context}\n\n{asked}", kind)


def right_answer(content: Content) -> str:
    """The answer to a question that a baseline drafted: the number that its evidence has at the gap, or its letter.

    Raises:
        FathomError: The question has no gap, or no evidence is the sentence around it.
    """
    before, gap, after = content.question.partition(_BLANK)
    before, (after, _, options) = before.partition("“")[2], after.rpartition("”")
    quotes = (" ".join(passage.quote.split()) for part in content.components for passage in part.evidence)
    sentence = next((quote for quote in quotes if gap and quote.startswith(before) and quote.endswith(after)), "")
    number = sentence[len(before) : len(sentence) - len(after)]
    if not number:
        raise FathomError("this question was not drafted by an offline baseline; its right answer is not known")
    if not options:
        return number
    return next(str(option[1]) for option in _OPTION.finditer(options) if option[2] == number)


def as_reply(text: str, task: StudioTask) -> str:
    """What a baseline said, as a reply in the form that the prompts ask for."""
    return f"{MARKERS['en']}\n{text if task.is_summary else _element(text)}"


def _element(text: str) -> str:
    return " ".join(text.split())


def _gaps(texts: Mapping[str, str], count: int, rng: Random) -> list[_Gap]:
    """Numbers that occur once, each with its sentence, anywhere in the texts."""
    gaps = []
    for id, text in texts.items():
        points = cut_points(text)
        for number in _NUMBER.finditer(text):
            if text.count(number.group()) > 1:
                continue
            start = points[bisect_right(points, number.start()) - 1]
            end = points[bisect_left(points, number.end())]
            start += len(text[start:end]) - len(text[start:end].lstrip())
            if _SENTENCE[0] <= end - start <= _SENTENCE[1]:
                sentence = Evidence(id, start, end, text[start:end])
                asked = f"{text[start : number.start()]}{_BLANK}{text[number.end() : end]}"
                gaps.append(_Gap(sentence, number.group(), " ".join(asked.split())))
    return rng.sample(gaps, min(count, len(gaps)))


def _options(right: str, numbers: Sequence[str], rng: Random) -> str:
    others = [number for number in numbers if number != right] or ["1", "2", "3"]
    wrong = rng.sample(others, 3) if len(others) >= 3 else [*others, "0", "1", "2"][:3]
    options = rng.sample([right, *wrong], 4)
    return "".join(f"\n{letter}. {option}" for letter, option in zip(_LETTERS, options, strict=True))
