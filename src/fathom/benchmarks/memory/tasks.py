"""Facts of a conversation: each is stated once, and asked for at the end.

A conversation is exchanges of a user with an assistant about building works. Each has six facts in question, one of a
kind: a number, a name, a date, a decision, a rule that is to hold from then on, and a correction of an earlier fact.
They stand in different sixths of the conversation, at the same relative place at every length, so that a longer one has
older facts. Near misses, which are the same attribute of other works and what was corrected, are in every length too.
Further exchanges of the same form, about works that no question is about, fill the conversation.

The facets are ``kind``, ``age`` (tokens between the fact and the question) and ``place`` (0 is the start of the
conversation, 1 its end). The input ``fact`` is the sentence, by which a run finds how often a system compacted it.
"""

import json
import re
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import accumulate

from fathom.benchmarks.memory.facts import KINDS, conversation, exchange, other_facts
from fathom.documents.corpus.text import document_id
from fathom.score.answers import reply_text
from fathom.score.reading import gives_name
from fathom.suites.tasks import scattered
from fathom.types import (
    Candidate,
    CandidatePool,
    Counter,
    Document,
    Draw,
    Ending,
    Facet,
    Layout,
    Passages,
    Plan,
    Question,
    Resources,
    Sample,
    Score,
    Span,
    Task,
)
from fathom.world.names import Names
from fathom.world.types import Language
from fathom.world.wording import draws

NAME = "memory_facts"
FACT, OTHERS = "fact", "others"
NEAR = 3
"""Near misses of each fact."""
FILLED = 2.5
"""Tokens of the exchanges that fill conversations, as a multiple of the longest length."""
JOINT = "\n\n"
_EARLIER = re.compile(
    r"[,;(（，；]\s*(?:(?:was |it was )?(?:changed|moved|corrected|updated|passed) from|previously|formerly"
    r"|not|originally|instead of|rather than|原来|原先|之前|此前|而不是|不是)[^.。;；\n]*",
    re.IGNORECASE,
)
"""What a reply says of what was corrected, after the answer."""
_BANNING = re.compile(
    r"\b(?:must|may|can|should|is|are|do|does)(?: not|n['’]t)\b|\b(?:cannot|not|never|no)\b"
    r"|排除|除了|不能|不可以?|不得|不要|不是|不许|绝不|禁止",
    re.IGNORECASE,
)
PROMPTS = {
    "en": {
        "intro": "Below is a conversation of a user with an assistant about building works.",
        "header": "[Message {number}]\n",
        "question": "Now the user asks: {question} What was said last counts. Reply with the answer only.",
    },
    "zh": {
        "intro": "下面是用户与助手关于建筑工程的一段对话。",
        "header": "[消息{number}]\n",
        "question": "现在用户问：{question}以最后一次说的为准。请只回答答案。",
    },
}


def documents(seed: int, language: str, items: int, longest: int, counter: Counter) -> Iterable[Document]:
    """One document with the exchanges that fill conversations, and one for each conversation with its facts.

    Args:
        seed: Seed of the suite.
        language: ``en`` or ``zh``.
        items: Number of conversations.
        longest: Longest length in tokens.
        counter: Counts the exchanges.
    """
    spoken: Language = "zh" if language == "zh" else "en"
    names, rng = Names(seed, spoken), draws("memory/others", seed)
    texts, tokens, others = list[str](), 0, other_facts(rng)
    while tokens < longest * FILLED:
        texts.append(exchange(rng, [next(others), next(others)], names))
        tokens += counter.count(texts[-1])
    yield _document(texts, language, "others", ())
    for number in range(items):
        rng, texts, questions = draws("memory", seed, number), [], []
        for kind, facts in conversation(seed, number, NEAR).items():
            places = range(len(texts), len(texts) + len(facts))
            texts += [exchange(rng, [fact], names) for fact in facts]
            values = facts[0].values(spoken)
            others_said = [value for fact in facts[1:] for value in fact.values(spoken)]
            meta = {"kind": kind, "places": list(places), FACT: facts[0].statement(names), OTHERS: others_said}
            questions.append(Question(facts[0].asked(names), values, meta=meta))
        yield _document(texts, language, str(number), questions)


def _document(texts: Sequence[str], language: str, name: str, questions: Sequence[Question]) -> Document:
    text = JOINT.join(texts)
    ends = list(accumulate(len(each) + len(JOINT) for each in texts))
    passages = tuple((end - len(JOINT) - len(each), end - len(JOINT)) for end, each in zip(ends, texts, strict=True))
    meta = {"task": NAME, "number": name}
    return Document(
        document_id(text), text, f"memory:{name}", language, questions=tuple(questions), meta=meta, passages=passages
    )


def pool(resources: Resources) -> CandidatePool:
    """The conversations in order, and the exchanges that fill them."""
    own = [document for document in resources.documents if document.meta.get("task") == NAME]
    fillers = [span for document in own if not document.questions for span in _spans(document)]
    candidates = [
        Candidate(each, _spans(each), each.questions, cluster=f"memory:{each.meta['number']}")
        for each in own
        if each.questions
    ]
    return CandidatePool(fillers, candidates, shuffled=False)


def _spans(document: Document) -> tuple[Span, ...]:
    return tuple(Span(document.id, start, end) for start, end in document.passages)


def plan(draw: Draw) -> Plan:
    """A conversation with its facts in different sixths, and what is corrected before its correction."""
    prompts, candidate, rng = draw.resources.texts_of(PROMPTS), draw.candidate, draw.rng
    assert candidate is not None
    gold: list[tuple[Span, float]] = []
    parts = rng.sample(range(len(KINDS)), len(KINDS))
    for part, question in zip(parts, candidate.questions, strict=True):
        depth = (part + rng.random()) / len(KINDS)
        first, *others = _places(question)
        gold.append((candidate.spans[first], depth))
        for number, place in enumerate(others):
            is_corrected = question.meta["kind"] == "correction" and not number
            gold.append((candidate.spans[place], rng.random() * depth if is_corrected else rng.random()))
    return Passages(
        intro=prompts["intro"],
        header=prompts["header"],
        gold=tuple(gold),
        finish=partial(
            finish,
            candidate=candidate,
            question=prompts["question"],
            header=prompts["header"],
            resources=draw.resources,
        ),
        shuffle=scattered(draw),
    )


def _places(question: Question) -> list[int]:
    places = question.meta["places"]
    assert isinstance(places, list)
    return [int(str(place)) for place in places]


def finish(
    layout: Layout, candidate: Candidate, question: str, header: str, resources: Resources
) -> tuple[Ending, ...]:
    """The questions, with the age of each fact."""
    counter = resources.counter
    own = {document.id: document for document in resources.documents if document.meta.get("task") == NAME}
    beside = counter.count(JOINT + header.format(number=10))
    sizes = (counter.between(own[span.doc], span.start, span.end) + beside for span in reversed(layout.spans))
    after = list(accumulate(sizes, initial=0))[-2::-1]  # tokens after each exchange
    place_of = {span: place for place, span in enumerate(layout.spans)}
    endings = []
    for asked in candidate.questions:
        others = asked.meta[OTHERS]
        place = place_of[candidate.spans[_places(asked)[0]]]
        facets: dict[str, Facet] = {
            "kind": str(asked.meta["kind"]),
            "age": after[place],
            "place": round(1 - after[place] / max(1, after[0] + 1), 3),
        }
        inputs: dict[str, Facet] = {FACT: str(asked.meta[FACT]), OTHERS: json.dumps(others, ensure_ascii=False)}
        text = question.format(question=asked.text)
        chance = 1 / len(_places(asked))
        endings.append(Ending(text, asked.answers, chance, facets, asked=asked.text, inputs=inputs))
    return tuple(endings)


def _gives(text: str, values: Sequence[str], is_rule: bool) -> bool:
    """Whether a text gives a value; that of a ban is not rejected by "not", which says the ban again."""
    return gives_name(_BANNING.sub(" ", text) if is_rule else text, values)


def score(reply: str, sample: Sample) -> Score:
    """1 if the reply gives the value and none of its near misses; valid if it says anything."""
    text = reply_text(reply)
    if text is None:
        return Score(0.0, valid=False, grader="value")
    others = json.loads(str(sample.inputs.get(OTHERS, "[]")))
    latest = _EARLIER.sub("", text) or text
    right = _gives(latest, sample.targets, sample.facets.get("kind") == "rule") and not gives_name(latest, others)
    return Score(float(right), valid=True, answer=text, grader="value")


TASKS = (
    Task(
        name=NAME,
        title="Facts of a conversation",
        plan=plan,
        score=score,
        metric="accuracy",
        max_output_tokens=128,
        description="a number, name, date, decision, rule or correction that a long conversation stated once",
        source="generated",
        pool=pool,
        documents=documents,
        gold=("generated",),
        noise=(),
    ),
)
