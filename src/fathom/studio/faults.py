"""Faults of a sample, each with what to do. Pure functions without I/O.

Pages list them while somebody edits. A sample with a fault is not handed over, passed, standardised, accepted or
exported; imports and drafts name them.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Literal, TypeAlias

from fathom.benchmarks.pro.official import fold
from fathom.benchmarks.pro.secondary_tasks import Metric
from fathom.benchmarks.pro.tasks import options_of, shows_several
from fathom.studio.tasks import MARKERS, StudioTask, proposed_prompts, standard_instructions
from fathom.studio.types import (
    Action,
    Adjudicate,
    Audit,
    Content,
    ExpertPass,
    Sample,
    Standardise,
    State,
    SubmitForReview,
    SubmitReview,
    SubmitVerdicts,
)

FaultName: TypeAlias = Literal[
    "question",
    "repeated question",
    "answer",
    "empty component",
    "repeated component",
    "lines",
    "references",
    "options",
    "choice",
    "prompts",
    "question in the prompts",
    "marker",
    "difference of the prompts",
]
REFERENCES = 3
"""Reference summaries of a sample of T4 (LongBench Pro, section 3.4)."""
STANDARDISED: frozenset[State] = frozenset({"answer_review", "adjudication", "accepted", "audited"})
"""States in which a sample has its prompts."""
_ONCE: frozenset[Metric] = frozenset({"NDCG", "Pairwise_Accuracy", "F1_Score", "Summary"})
"""Metrics that an element of the answer that occurs twice would make wrong."""
_Sentence: TypeAlias = tuple[tuple[str, ...], str]
"""What a sentence says but for whether to reason, and the sentence."""
_SENTENCE = re.compile(r"\n+|(?<=[.!?;])[ \t]+|(?<=[。！？；])")
_MARKER = re.compile("|".join(map(re.escape, MARKERS.values())), re.IGNORECASE)
# Words of instructions on whether to reason: the only ones in which the two prompts may differ, beside the standard
# instructions. Plain ones say nothing of an answer; of the others, those that the answer or the question has count.
_PLAIN_WORDS = (
    r"the|and|or|any|please|your|question|answer(?:ing)?|giv(?:e|ing)|provid(?:e|ing)|let's|let us|"
    r"you(?: may| can| should)?|(?:about|through) (?:it|the question)|it through"
)
_PLAIN_SIGNS = "请|你|让我们|写出|并|回答|作答|给出"
_PLAIN = re.compile(f"{_PLAIN_WORDS}|{_PLAIN_SIGNS}")
_REASON = r"(?:think(?:ing)?|thoughts?|reason(?:ing)?|explain(?:ing)?|explanations?|analy[sz]e|analysis)\b"
_REASON_SIGNS = "(?:思考|推理|分析|解释)"
_NOT = (
    r"(?:(?:do not|don't)(?: give| provide| show| write)?|without|with no|no need to|no need for)"
    r"(?: any| an| the| your)? |无需|不需要|不用|不要"
)
_WAY = re.compile(
    rf"\b(?:{_NOT})?{_REASON}|\b(?:step[ -]by[ -]step|at once|in detail|nothing else)\b|"
    r"(?<!\[)\b(?:steps?|first|then|next|before|after|directly|direct|immediately|slowly|carefully|thoroughly|briefly|"
    rf"explicit(?:ly)?|process|show|{_PLAIN_WORDS})\b|"
    rf"不要写其他内容|(?:{_NOT})?{_REASON_SIGNS}|一步一步|逐步|步骤|过程|首先|先|再|然后|之后|最后|直接|立即|仔细|详细|{_PLAIN_SIGNS}"
)
_NEGATION = re.compile(f"^(?:{_NOT})")
# "First" beside a word for reasoning is no answer, whatever the question is.
_FIRST = re.compile(
    rf"\bfirst,? (?={_REASON})|({_REASON}(?: carefully| step[ -]by[ -]step)?) first\b|"
    rf"(?:首先|先)(?=(?:仔细|详细|逐步|一步一步)*{_REASON_SIGNS})|(?<={_REASON_SIGNS})后"
)
_EDGES = ".,;:!?()\"'“”‘’。，；：！？、（）–—"
_PROMPTS: Mapping[str, str] = {
    "prompt_thinking": "the prompt that asks for reasoning first",
    "prompt_answering": "the prompt that asks for the answer at once",
}
_STANDARD = "or empty both prompts to take the standard ones"


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a sample.

    Attributes:
        what: What is wrong.
        todo: What to do.
    """

    name: FaultName
    what: str
    todo: str

    def __str__(self) -> str:
        return f"{self.what}; {self.todo}"


def faults_of(
    content: Content, task: StudioTask | None, language: str, *, standardised: bool = False
) -> tuple[Fault, ...]:
    """The faults of a question with its answer and prompts.

    Args:
        task: Its task; None if it is unknown, so that only what holds for all tasks is checked.
        language: ``en`` or ``zh``.
        standardised: Whether it must have prompts already.
    """
    return (
        *_of_question(content),
        *_of_answer(content, task),
        *(_of_choice(content, task, language) if task is not None and task.metric == "Accuracy" else ()),
        *_of_prompts(content, language, standardised),
    )


def faults_of_sample(sample: Sample, tasks: Mapping[str, StudioTask]) -> tuple[Fault, ...]:
    """The faults of a sample in its state."""
    standardised = sample.state in STANDARDISED
    return faults_of(sample.content, tasks.get(sample.task), sample.language, standardised=standardised)


def faults_against(
    before: Sample | None, action: Action, after: Sample, tasks: Mapping[str, StudioTask]
) -> tuple[Fault, ...]:
    """The faults for which an action is refused: those of a sample that would go on or be accepted.

    What leads back is never refused. Prompts that nobody has reviewed are a fault of ``Standardise``: only those of the
    content and the standard ones are confirmed without another review.

    Args:
        before: The sample; None for a new one.
        after: What would follow.
    """
    match action:
        case SubmitForReview() | ExpertPass():
            return faults_of_sample(after, tasks)
        case SubmitVerdicts(verdict="pass") | SubmitReview(verdict="pass"):
            return faults_of_sample(after, tasks)
        case Adjudicate(decision="accept") | Audit(verdict="pass"):
            return faults_of_sample(after, tasks)
        case Standardise() if before is not None:
            given = (action.prompt_thinking.strip(), action.prompt_answering.strip())
            if given not in (reviewed_prompts(before), proposed_prompts(tasks, before)) and any(given):
                what = "these prompts are others than those that were reviewed"
                return (Fault("prompts", what, "hand them to an expert, as an edit, or take the reviewed ones"),)
            return faults_of_sample(after, tasks)
    return ()


def repeats(sample: Sample, others: Iterable[Sample]) -> Iterator[Fault]:
    """The fault that another sample over one of its documents asks the same question.

    Args:
        others: Samples that were handed over already.
    """
    question = fold(sample.content.question)
    for other in others:
        shared = other.id != sample.id and set(other.documents) & set(sample.documents)
        if shared and fold(other.content.question) == question:
            yield Fault("repeated question", f"sample {other.id} asks the same over the same document", "ask another")


def with_standard_prompts(action: Standardise, sample: Sample, tasks: Mapping[str, StudioTask]) -> Standardise:
    """An action with the standard prompts where both are empty."""
    if action.prompt_thinking.strip() or action.prompt_answering.strip():
        return action
    thinking, answering = proposed_prompts(tasks, sample)
    return replace(action, prompt_thinking=thinking, prompt_answering=answering)


def reviewed_prompts(sample: Sample) -> tuple[str, str]:
    """The two prompts that a sample has already; empty ones before."""
    return sample.content.prompt_thinking.strip(), sample.content.prompt_answering.strip()


def _of_question(content: Content) -> Iterator[Fault]:
    if _is_blank(content.question):
        yield Fault("question", "it lacks a question", "write one")


def _of_answer(content: Content, task: StudioTask | None) -> Iterator[Fault]:
    texts = [component.text.strip() for component in content.components]
    if not texts:
        yield Fault("answer", "it lacks an answer", "write at least one component")
        return
    if empty := [at for at, text in enumerate(texts, start=1) if _is_blank(text)]:
        yield Fault("empty component", f"component {empty[0]} of the answer is empty", "write it")
    if task is None:
        return
    repeated = [text for text, count in Counter(map(fold, texts)).items() if text and count > 1]
    if repeated and task.metric in _ONCE:
        yield Fault("repeated component", f"{_short(repeated[0])!r} occurs twice in the answer", "remove one of them")
    if task.is_summary:
        if task.published and len(texts) != REFERENCES:
            count = f"{len(texts)} reference summaries" if len(texts) > 1 else "1 reference summary"
            yield Fault("references", f"the answer has {count}", f"write {REFERENCES}, one in each field")
        return
    if several := [at for at, text in enumerate(texts, start=1) if "\n" in text]:
        what = f"component {several[0]} of the answer has several lines"
        yield Fault("lines", what, "give each line as a component")


def _of_choice(content: Content, task: StudioTask, language: str) -> Iterator[Fault]:
    options = options_of(content.question)
    if content.question.strip() and not options:
        yield Fault("options", "the question has no options", "put A., B., C., D. at the start of lines")
    texts = [text for component in content.components if (text := component.text.strip())]
    if len(texts) > 1:
        yield Fault("choice", f"the answer has {len(texts)} components; this task has one", "write one")
    elif texts and options and not _is_choice(texts[0], options):
        what = f"the answer {_short(texts[0])!r} is none of the options"
        yield Fault("choice", what, f"write one of the letters {', '.join(options)}")
    elif texts and len(texts[0]) > 1 and options and not _takes_several(content, task, language):
        todo = f"write one of the letters {', '.join(options)}"
        yield Fault("choice", f"the answer {texts[0]} has several letters; this task has one", todo)


def _is_choice(answer: str, options: str) -> bool:
    """Whether an answer is letters of options, each once and in their order."""
    return set(answer) <= set(options) and "".join(sorted(set(answer))) == answer


def _takes_several(content: Content, task: StudioTask, language: str) -> bool:
    """Whether the example of an answer, in the sample's prompt or that of its task, has several letters."""
    wording = task.wordings.get(language)
    examples = [f"{_marker(language)}\n{line}" for line in wording.example] if wording else []
    return any(map(shows_several, (*examples, content.prompt_answering, content.question)))


def _of_prompts(content: Content, language: str, standardised: bool) -> Iterator[Fault]:
    prompts = {name: text for name in _PROMPTS if (text := getattr(content, name).strip())}
    if len(prompts) < len(_PROMPTS):
        if prompts or standardised:
            lacking = next(words for name, words in _PROMPTS.items() if name not in prompts)
            yield Fault("prompts", f"{lacking} is empty", f"write both, {_STANDARD}")
        return
    question = _words(content.question)
    for name, text in prompts.items():
        # Records of LongBench Pro have no question beside their prompts: it is the second one, whole.
        if content.question.strip() != prompts["prompt_answering"] and question not in _words(text):
            what = f"the question does not stand in {_PROMPTS[name]}"
            yield Fault("question in the prompts", what, f"write it into the prompt as it is, {_STANDARD}")
        if language in MARKERS and not _MARKER.search(text):
            what = f"{_PROMPTS[name]} does not say that {_marker(language)} comes before the answer"
            yield Fault("marker", what, f"add it, {_STANDARD}")
    thinking, answering = prompts["prompt_thinking"], prompts["prompt_answering"]
    if thinking == answering:
        what = "both prompts are the same"
        yield Fault("difference of the prompts", what, f"let the first one ask for reasoning, {_STANDARD}")
    elif language in MARKERS and (differs := _difference(*_aligned(thinking, answering, content, language))):
        what = f"the prompts differ in more than the reasoning that they ask for: {_short(differs)!r} is in one only"
        yield Fault("difference of the prompts", what, f"make them equal there, {_STANDARD}")


def _is_blank(text: str) -> bool:
    """Whether nothing of a text is seen, also where it has characters without a width."""
    return not any(letter.isprintable() and not letter.isspace() for letter in text)


def _aligned(thinking: str, answering: str, content: Content, language: str) -> Iterator[list[_Sentence]]:
    """The sentences of both prompts, the standard instruction of the second in the place of that of the first."""
    instead, standard = (_words(text) for text in standard_instructions(language))
    prompts = (_lines(thinking).replace(instead, standard), _lines(answering))
    kept = _counting_words(content, *prompts)
    for prompt in prompts:
        yield list(_sentences(prompt, kept))


def _sentences(prompt: str, kept: Set[str]) -> Iterator[_Sentence]:
    """The sentences of a prompt that say more than whether to reason, or that again: repeats may stand for a number."""
    before = set[str]()
    for sentence in _SENTENCE.split(prompt):
        text = _folded(sentence).strip(_EDGES)
        if core := _core(_folded(sentence), kept):
            yield core, sentence
        elif text in before:
            yield (text,), sentence
        elif text:
            before.add(text)


def _counting_words(content: Content, thinking: str, answering: str) -> Set[str]:
    """Words on reasoning, and signs, that the answer or the question has: in the prompts they may tell the answer."""
    components = [_folded(component.text) for component in content.components]
    question = content.question
    if question.strip() == content.prompt_answering.strip():
        # A record of LongBench Pro: its question is the second prompt, whole. What both prompts say is the question.
        shared = set(_SENTENCE.split(thinking)) & set(_SENTENCE.split(answering))
        question = "\n".join(sentence for sentence in shared if not _MARKER.search(sentence))
    texts = [*components, _folded(question)]
    kept = {way for text in texts for way in _ways(text) if not _PLAIN.fullmatch(way)}
    kept |= {way for text in components if not _core(text, kept) for way in _ways(text)}
    return kept | {sign for text in texts for piece in text.split() if not piece.strip(_EDGES) for sign in piece}


def _core(text: str, kept: Set[str]) -> tuple[str, ...]:
    """What a text says but for whether to reason.

    Args:
        text: Folded.
        kept: Words and signs that count all the same.
    """
    pieces, end, last = list[str](), 0, ""
    text = _FIRST.sub(lambda match: f"{match[1] or ''} ", text)
    for match in _WAY.finditer(text):
        between, way = text[end : match.start()], _way(match[0])
        again = way == last and not between.strip(_EDGES + " ")
        pieces += [between, match[0] if again or way in kept else " "]
        end, last = match.end(), way
    edges = "".join(sign for sign in _EDGES if sign not in kept)
    remaining = "".join([*pieces, text[end:]])
    return tuple(word for piece in remaining.split() if (word := piece.strip(edges)))


def _ways(text: str) -> Iterator[str]:
    """The words on reasoning of a folded text."""
    return (_way(match[0]) for match in _WAY.finditer(text))


def _way(words: str) -> str:
    """Words on reasoning without a negation, in one spelling."""
    return _NEGATION.sub("", words).replace("-", " ")


def _folded(text: str) -> str:
    """A text in lower case with plain apostrophes."""
    return text.casefold().replace("’", "'")


def _difference(first: Sequence[_Sentence], second: Sequence[_Sentence]) -> str:
    """The first sentence that one list has alone, or that stands elsewhere in the other; "" if they are equal."""
    cores, others = ({core for core, _ in sentences} for sentences in (first, second))
    alone = (sentence for core, sentence in (*first, *second) if (core in cores) != (core in others))
    pairs = zip_longest(first, second, fillvalue=((), ""))
    return next(chain(alone, (left or right for (core, left), (other, right) in pairs if core != other)), "")


def _marker(language: str) -> str:
    return MARKERS.get(language, MARKERS["en"])


def _words(text: str) -> str:
    return " ".join(text.split())


def _lines(text: str) -> str:
    """A text with one blank between the words of a line."""
    return "\n".join(map(_words, text.splitlines()))


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"
