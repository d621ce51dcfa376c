"""HELMET's 21 data sets, with two demonstrations, output caps and cuts at the end of the context as released.

Instructions are our own, in HELMET's order; those of answers with citations are the user's copy of HELMET's. A file of
HELMET has one length, in Llama 2's tokens, and its records are asked at that length alone. Books, passages to be cited
and labelled texts are asked at every length: more of the same record, or more examples.

A prompt takes at most the length without the output cap (``tokenize`` of the released ``model_utils.py``): longer
contexts lose their end. The released configurations ask for stops at a new line by a key that the code does not read;
here prompts that are continued stop there.
"""

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil, log2
from random import Random

from fathom.benchmarks.helmet.records import CITED, LENGTHS, QUESTIONS, SEED, SHOTS, hashed, permutation
from fathom.benchmarks.helmet.scoring import WITH_CITATIONS
from fathom.benchmarks.hundred.rubrics import answer_steps, summary_steps, summary_value
from fathom.benchmarks.leader.infinitebench_records import LETTERS
from fathom.benchmarks.leader.suite import TOKENIZER
from fathom.score.judge import Parts, Rubric, check_rule
from fathom.score.registry import strict_score
from fathom.score.released import GOLD
from fathom.storage.toml import packaged_toml
from fathom.suites.tasks import whole_text
from fathom.suites.tasks.natural import stands_at
from fathom.types import (
    AnswerKind,
    Arranged,
    Candidate,
    CandidatePool,
    Document,
    Draw,
    Ending,
    Facet,
    FathomError,
    Grid,
    Measure,
    Part,
    Plan,
    Resources,
    Span,
    Suite,
    Task,
    Whole,
)

SOURCE = "HELMET, section 2, and its released code"
OMITTED = " ... [the rest is left out]"
PASSAGES = (8, 30, 75, 165, 345, CITED)
"""Passages of a question with citations, by length."""
CONTINUED = ("recall", "rag", "rerank", "icl")
PROMPTS: Mapping[str, Mapping[str, str]] = packaged_toml(__package__, "prompts.toml")


@dataclass(frozen=True, slots=True)
class Data:
    """A data set; see ``data.toml``.

    Attributes:
        category: One of HELMET's seven.
        cap: Output cap in tokens.
        items: Records of each length.
        spare: Tokens of a length that stay free besides the reply.
        classes: Number of labels.
        examples: Labelled texts in a prompt, by length.
    """

    name: str
    category: str
    prompt: str
    source: str
    metric: str
    cap: int
    what: str
    items: int = QUESTIONS
    spare: int = 0
    classes: int = 0
    examples: Sequence[int] = ()
    rubric: str = ""


@dataclass(frozen=True, slots=True)
class Question(Candidate):
    """A record with what is around its context.

    Attributes:
        values: Texts for the gaps of the prompt.
        gold: The gold answers in JSON, as the released scorer gets them.
        reply: Replies that are right.
        chance: Expected score of a random answer of the right form.
        examples: Texts with their labels, from which a prompt takes as many as its length says.
        names: The numbers that stand for labels.
        order: Seed of the choice of examples.
    """

    values: Mapping[str, str] | None = None
    gold: str = ""
    reply: tuple[str, ...] = ()
    chance: float = 0.0
    examples: Sequence[tuple[str, int]] = ()
    names: Sequence[int] = ()
    order: int = 0


# ---------------------------------------------------------------------------------------------------------------- pools


def pool(resources: Resources, data: Data) -> CandidatePool:
    """The records of a data set that are asked, in the order of the released code."""
    if data.prompt == "icl":
        return CandidatePool((), _labelled(_mine(resources, f"helmet_{data.name}"), data), shuffled=False)
    if data.spare:
        dataset = data.source.removeprefix("infinitebench_")
        return CandidatePool((), _books(_mine(resources, dataset), data), shuffled=False)
    asked = _stated(resources, data)
    here = [question for question in asked if question.lengths is None or question.lengths[0] in resources.lengths]
    return CandidatePool((), here, shuffled=False, stated=True, elsewhere=len(asked) - len(here))


def _mine(resources: Resources, dataset: str) -> list[Document]:
    return [document for document in resources.documents if document.meta.get("dataset") == dataset]


def _stated(resources: Resources, data: Data) -> list[Question]:
    """Records at the length of their file, if they have one.

    Gold texts of a question stand at several depths: first all questions have one of them, in turn, then another.
    """
    same: dict[tuple[int, str], list[Document]] = {}
    records = sorted(_mine(resources, f"helmet_{data.name}"), key=lambda record: int(str(record.meta.get("place", 0))))
    for record in records:
        length = int(str(record.meta.get("length", -1)))
        key = str(record.meta.get("cluster", f"{max(length, 0)}-{record.meta.get('place')}"))
        same.setdefault((length, key), []).append(record)
    turns = list[tuple[int, int, Question]]()
    for number, ((length, key), depths) in enumerate(same.items()):
        for turn in range(len(depths)):
            depth = (number + turn) % len(depths)
            record = depths[depth]
            values = {name: str(value) for name, value in record.meta.items()}
            question = Question(
                record,
                (),
                lengths=None if length < 0 else (length or stands_at([whole_text(record)], record, resources),),
                name=f"{hashed(key):08x}-{depth}" if "cluster" in values else f"{key}-{depth}",
                cluster=f"helmet {data.name} {key}" if "cluster" in values else "",
                values=values,
                gold=values["gold"],
                reply=(values["reply"],) if "reply" in values else _replies(data, values["gold"]),
                chance=_of_random_order(values["gold"]) if data.category == "rerank" else 0.0,
            )
            turns.append((turn, number, question))
    return [question for _, _, question in sorted(turns, key=lambda entry: entry[:2])]


def _replies(data: Data, gold: str) -> tuple[str, ...]:
    answers = json.loads(gold)
    if data.category == "cite":
        return (", ".join(min(group, key=lambda answer: "," in answer) for group in answers),)
    if data.metric == "ruler_recall":
        return (", ".join(answers),)
    return (answers,) if isinstance(answers, str) else tuple(answers)


def _of_random_order(gold: str) -> float:
    """The expected discounted gain of the first ten of a random order, as a share of the best."""
    gains = sorted((max(0, int(value)) for value in json.loads(gold).values()), reverse=True)
    shares = [1 / log2(rank + 2) for rank in range(min(10, len(gains)))]
    best = sum(gain * share for gain, share in zip(gains, shares, strict=False))
    return sum(gains) / len(gains) * sum(shares) / best if best else 0.0


def _books(documents: Sequence[Document], data: Data) -> list[Question]:
    """Long texts at every length; demonstrations are other questions of the same data, without their texts.

    Those that HELMET filters by their tokens are asked as they are given.
    """
    records = sorted(documents, key=lambda record: int(str(record.meta["row"])))
    order = permutation(len(records)) if data.source.startswith("infinitebench_") else list(range(len(records)))
    form, questions = PROMPTS[data.prompt], list[Question]()
    for number in order[:QUESTIONS]:
        record = records[number]
        others = [other for other in records if other.meta["id"] != record.meta["id"]]
        shown = [_about(others[place]) for place in permutation(len(others))[:SHOTS]]
        demos = "\n\n".join(form["shown"].format(**about) for about in shown)
        values = {**_about(record), "demos": form["frame"].format(shown=demos) if shown else ""}
        answers, options = _listed(record, "answers"), _listed(record, "options")
        gold = [answers[0], f"{answers[0]}. {options[LETTERS.index(answers[0])]}"] if options else list(answers)
        questions.append(
            Question(
                record,
                (),
                name=f"{number:04d}",
                values=values,
                gold=json.dumps(gold),
                reply=answers,
                chance=1 / len(options) if options else 0.0,
            )
        )
    return questions


def _about(record: Document) -> dict[str, str]:
    """The question, an answer and the options of a long text."""
    options = (f"{letter}. {text}" for letter, text in zip(LETTERS, _listed(record, "options"), strict=False))
    return {
        "question": str(record.meta["input"]),
        "answer": _listed(record, "answers")[0],
        "options": "\n".join(options),
    }


def _listed(record: Document, name: str) -> tuple[str, ...]:
    listed = record.meta[name]
    return tuple(map(str, listed)) if isinstance(listed, list) else ()


def _labelled(records: Sequence[Document], data: Data) -> list[Question]:
    """Texts of the test split with balanced labels, whose examples are drawn from the others.

    A file that is no split is divided as in the released code. Labels are numbers in an order of each text's own.

    Raises:
        FathomError: There are more labels than the data set has.
    """
    if wrong := next((record for record in records if _label(record) >= data.classes), None):
        raise FathomError(f"{wrong.source}: label = {_label(wrong)}, expected a number below {data.classes}")
    train = [record for record in records if record.meta["split"] == "train"]
    test = [record for record in records if record.meta["split"] not in ("", "train")]
    if whole := [record for record in records if not record.meta["split"]]:
        order, tests = permutation(len(whole)), ceil(len(whole) / 10)
        test, train = ([whole[place] for place in places] for places in (order[:tests], order[tests:]))
    if len(test) > data.items:
        test = [test[place] for place in permutation(len(test))]
        test = [test[place] for place in balanced(list(map(_label, test)), data.items, SEED)]
    known, questions = [(record.text, _label(record)) for record in train], list[Question]()
    for number, record in enumerate(test if train else ()):
        seed = (hashed(record.text) + SEED) % 2**31
        names = list(range(data.classes))
        Random(seed).shuffle(names)
        gold = str(names[_label(record)])
        questions.append(
            Question(
                record,
                (),
                name=f"{number:04d}",
                values={"question": record.text},
                gold=json.dumps(gold),
                reply=(gold,),
                chance=1 / len(names),
                examples=known,
                names=names,
                order=seed,
            )
        )
    return questions


def _label(record: Document) -> int:
    return int(str(record.meta["gold"]))


def balanced(labels: Sequence[int], count: int, seed: int) -> list[int]:
    """Places of texts by rounds over all labels, as the released ``balance_labels`` draws them.

    Args:
        labels: The label of each text.
        count: Number of texts.
        seed: Seed of the random generator.
    """
    rng, by_label = Random(seed), dict[int, list[int]]()
    for place, label in enumerate(labels):
        by_label.setdefault(label, []).append(place)
    rounds: list[list[int]] = [[] for _ in range(ceil(count / len(by_label)))]
    for members in by_label.values():
        picks = rng.sample(range(len(members)), len(rounds) % len(members))
        while len(picks) < len(rounds):
            picks += rng.sample(range(len(members)), min(len(rounds) - len(picks), len(members)))
        for own, pick in zip(rounds, picks, strict=True):
            own.append(members[pick])
    for own in rounds:
        rng.shuffle(own)
    return [place for own in rounds for place in own][:count]


# ---------------------------------------------------------------------------------------------------------------- plans


def plan(draw: Draw, data: Data) -> Plan:
    """The prompt of one record, whose context loses its end where it is too long."""
    question, counter = draw.candidate, draw.resources.counter
    assert isinstance(question, Question)
    values = {"demos": "", **(question.values or {})}
    record, form = question.document, PROMPTS[data.prompt]
    before, after = (form[name].format_map(values) for name in ("before", "after"))
    inputs: dict[str, Facet] = {GOLD: question.gold} | ({WITH_CITATIONS: True} if data.category == "cite" else {})
    ending = Ending(after, question.reply, question.chance, inputs=inputs, asked=values["question"])

    def fitting(tokens: int) -> int:
        return bisect_right(range(1, len(record.text) + 1), tokens, key=lambda end: counter.between(record, 0, end))

    def prompt(context: Part, omitted: str = "") -> tuple[Part, ...]:
        return tuple(part for part in (before, context, omitted, after) if part)

    def labelled(length: int, measure: Measure) -> Arranged | None:
        places = balanced([label for _, label in question.examples], _at(data.examples, length), question.order)
        shown = (question.examples[place] for place in places)
        text = "\n\n".join(f"{text}\nlabel: {question.names[label]}" for text, label in shown)
        room = length - data.cap
        if measure(prompt(text)) > room:
            text = text[: bisect_right(range(1, len(text) + 1), room, key=lambda end: measure(prompt(text[:end])))]
        return Arranged(prompt(text), ending) if text else None

    def arrange(length: int, measure: Measure) -> Arranged | None:
        end, omitted, room = len(record.text), "", length - data.cap
        if data.category == "cite":
            end = record.passages[min(_at(PASSAGES, length), len(record.passages)) - 1][1]
        if data.spare and counter.size(record) > room - data.spare:
            end, omitted = fitting(room - data.spare - counter.count(OMITTED)), OMITTED
        while end > 0 and (over := measure(prompt(Span(record.id, 0, end), omitted)) - room) > 0:
            end, omitted = min(end - 1, fitting(counter.between(record, 0, end) - over)), ""
        return Arranged(prompt(Span(record.id, 0, end), omitted), ending) if end > 0 else None

    return Whole(labelled if question.examples else arrange)


def _at(counts: Sequence[int], length: int) -> int:
    """What belongs to a length; to others than HELMET's in proportion."""
    known = dict(zip(LENGTHS, counts, strict=True))
    return known.get(length) or max(1, counts[-1] * length // LENGTHS[-1])


# ---------------------------------------------------------------------------------------------------------------- tasks


def answer_value(parts: Parts, rule: str) -> float:
    """Whether the answer is fluent, times its correctness from 0 to 3, as a share of 3; the same under both rules."""
    check_rule(rule)
    return min(parts["fluency"], 1) * parts["correctness"] / 3


def covered_value(parts: Parts, rule: str) -> float:
    """Whether the summary is fluent, times the F1 of precision and recall; the same under both rules."""
    check_rule(rule)
    return summary_value(parts, "strict")


RUBRICS = (
    Rubric(
        name="helmet_answer",
        version=1,
        steps=answer_steps,
        value=answer_value,
        description="fluency 0 or 1 times correctness 0 to 3, of 3 points",
        source=SOURCE,
    ),
    Rubric(
        name="helmet_summary",
        version=1,
        steps=summary_steps,
        value=covered_value,
        description="fluency 0 or 1 times F1 of precision and recall of key points",
        source=SOURCE,
    ),
)
_ANSWERS: Mapping[str, AnswerKind] = {"icl": "number", "infbench_choice": "letter", "infbench_sum": "summary"}


def _task(data: Data) -> Task:
    continued = data.category in CONTINUED
    return Task(
        name=f"helmet_{data.name}",
        title=f"HELMET {data.name}",
        plan=partial(plan, data=data),
        score=partial(strict_score, metric=f"helmet/{data.metric}"),
        metric=data.metric,
        max_output_tokens=data.cap,
        description=data.what,
        answer=_ANSWERS.get(data.prompt, "words"),
        source=SOURCE,
        languages=("en",),
        pool=partial(pool, data=data),
        data=(data.source,),
        needs="records of HELMET",
        gold=("record",),
        noise=(),
        official=f"helmet/{data.metric}",
        rubric=data.rubric,
        continued=continued,
        stop=("\n",) if continued and data.category != "recall" else (),
        facets={"category": data.category},
    )


DATA = tuple(Data(name, **entry) for name, entry in packaged_toml(__package__, "data.toml").items())
TASKS = tuple(map(_task, DATA))
SUITES = (
    Suite(
        name="helmet",
        tasks=tuple(task.name for task in TASKS),
        lengths=LENGTHS[1:],
        description="HELMET: recall, retrieved passages, rankings, labels, long texts, summaries and citations",
        source=SOURCE,
        items=QUESTIONS,
        corpus="",
        sources={"record": tuple(dict.fromkeys(data.source for data in DATA))},
        grids={f"helmet_{data.name}": Grid(data.items, LENGTHS[1:]) for data in DATA if data.items != QUESTIONS},
        tokenizer=TOKENIZER,
        each_length=True,
        languages=("en",),
    ),
)
