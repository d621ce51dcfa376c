"""RULERv2's twelve tasks for any length and nested: a longer prompt has all of a shorter one.

The structure is that of the released generator (NVIDIA-NeMo/Gym 07d6b0d, ``benchmarks/ruler2``): how many keys, values,
options, examples, documents and steps. Prompts are our own. Each family has four levels:

``mk_niah``: one code number of ten digits among those of other keys (``basic``); one of many numbered questions, to be
copied (``easy``), copied and solved after five examples (``medium``), or solved at once after five (``hard``).
``mv_niah``: the four code numbers of a key (``basic``); the four questions of a number, to be copied all (``easy``),
copied all and then the one at a place in their order once more (``medium``), or that one alone (``hard``).
``qa``: the number of the document with a given text (``basic``), or of one that helps with a question (``easy``); a
question whose answer needs two documents, which are copied first (``medium``) or not (``hard``).

Questions are sums (``v2_questions``) instead of MMLU's, documents are coined (``v2_documents``) instead of HotpotQA's.
The piece that fills a prompt last may be incomplete: a question without its options, or the start of a document.

Scores are those of ``v2_scoring``.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from random import Random

from fathom.benchmarks.ruler.tasks import PROMPTS as FIRST_PROMPTS
from fathom.benchmarks.ruler.tasks import key_of
from fathom.benchmarks.ruler.v2_documents import TEXTS as DOCUMENTS
from fathom.benchmarks.ruler.v2_documents import Chain, Text, chain
from fathom.benchmarks.ruler.v2_questions import LETTERS, Choice, choice
from fathom.benchmarks.ruler.v2_questions import TEXTS as QUESTIONS
from fathom.benchmarks.ruler.v2_scoring import LETTER, METRIC_OF, OTHERS
from fathom.score.registry import strict_score
from fathom.score.released import GOLD
from fathom.storage.toml import packaged_toml
from fathom.suites.tasks import depths
from fathom.suites.tasks.growing import Growing, Piece, different, enough, growing, no_documents
from fathom.types import Draw, Ending, Plan, Task

SOURCE = "RULERv2, NVIDIA 2026"
PROMPTS: Mapping[str, Mapping[str, str]] = packaged_toml(__package__, "v2_prompts.toml")
VALUES = 4
"""Values of a key, or questions with a number, in ``mv_niah``."""
EXAMPLES = 5
NEAR = 8
"""Further documents of a question in every prompt, as many as a record of HotpotQA has."""
CHANCES: Mapping[str, float] = dict.fromkeys(("mk_niah_medium", "mk_niah_hard"), 1 / len(LETTERS)) | dict.fromkeys(
    ("mv_niah_medium", "mv_niah_hard"), 1 / VALUES
)
"""What a random option scores, or a random one of the questions of a number; of other tasks nothing, or by item."""
CODE, QUESTION, DOCUMENT = 10, 36, 60
"""Fewest tokens of a code number in its sentence, of a question and of a document."""
_NEXT = 1e-12
"""Between the places of pieces that stand together."""


def _gold(question: str, targets: Sequence[str], gold: Sequence[str], chance: float = 0.0, asked: str = "") -> Ending:
    return Ending(
        question, tuple(targets), chance=chance, inputs={GOLD: json.dumps(list(gold), ensure_ascii=False)}, asked=asked
    )


def _number(rng: Random, digits: int) -> str:
    return str(rng.randrange(10 ** (digits - 1), 10**digits))


# ------------------------------------------------------------------------------------------------------- code numbers


def plan_codes(draw: Draw, values: int) -> Plan:
    """Code numbers of a key among those of other keys, each of which has as many."""
    rng, prompts = draw.rng, draw.resources.texts_of(FIRST_PROMPTS)
    kind, count = prompts["number"], enough(draw.resources.lengths[-1], CODE)
    asked, *others = different(partial(key_of, rng, "words"), 1 + count // values + 1)
    gold = different(partial(_number, rng, 10), values)

    def piece(key: str, value: str, place: float) -> Piece:
        return Piece((prompts["needle"].format(kind=kind, key=key, value=value),), place)

    places = [draw.depth] if values == 1 else depths(draw, values)
    question = prompts["one" if values == 1 else "several"].format(kind=kind, key=asked)
    ending = _gold(f"\n\n{question}", [", ".join(gold)], gold)
    context = Growing(
        prompts["intro"].format(kind=kind),
        [piece(asked, value, place) for value, place in zip(gold, places, strict=True)],
        [piece(key, _number(rng, 10), rng.random()) for key in others for _ in range(values)],
        lambda pieces: ending,
    )
    return growing(context, draw.resources.counter)


# ----------------------------------------------------------------------------------------------------------- questions


def plan_questions(draw: Draw, level: str, values: int) -> Plan:
    """Numbered questions, of which one, or all of a number, are to be copied or solved."""
    rng, prompts = draw.rng, draw.resources.texts_of(PROMPTS)
    solving = values == 1 and level != "easy"
    texts = QUESTIONS[draw.resources.language]
    count = enough(draw.resources.lengths[-1], QUESTION)
    drawn = {made.text: made for made in (choice(rng, texts) for _ in range(values + EXAMPLES + count))}
    choices = list(drawn.values())
    asked, *numbers = different(partial(_number, rng, 7), 1 + EXAMPLES + len(choices) // values + 1)
    wanted, shown, others = choices[:values], choices[values : values + EXAMPLES], choices[values + EXAMPLES :]
    places = [draw.depth] if values == 1 else list(depths(draw, values))
    core = [piece for made, place in zip(wanted, places, strict=True) for piece in _pieces(draw, asked, made, place)]
    examples = list(zip(numbers, shown, strict=False)) if solving else []
    core += [piece for number, made in examples for piece in _pieces(draw, number, made, rng.random())]
    more = [
        piece
        for at, made in enumerate(others)
        for piece in _pieces(draw, numbers[EXAMPLES + at // values], made, rng.random())
    ]
    ending = (
        _solved(level, asked, wanted[0], examples, prompts)
        if solving
        else _copied(level, asked, wanted, rng.randrange(values), prompts)
    )
    intro = prompts["solve" if solving else "copy"]
    context = Growing(intro, core, more, lambda pieces: ending, gap="")
    return growing(context, draw.resources.counter)


def _pieces(draw: Draw, number: str, made: Choice, place: float) -> list[Piece]:
    """A question in two pieces that stand together: what is so, and what is asked."""
    prompts, gap = draw.resources.texts_of(PROMPTS), QUESTIONS[draw.resources.language]["gap"]
    setting = "\n\n" + prompts["needle"].format(number=number, text=made.setting)
    return [Piece((setting,), place), Piece((gap + made.asked,), place + _NEXT)]


def _copied(level: str, number: str, wanted: Sequence[Choice], at: int, prompts: Mapping[str, str]) -> Ending:
    """To copy the question of a number, all of them, or the one at a place."""
    texts = [made.text for made in wanted]
    if level == "easy":
        asked = prompts["copy_one" if len(wanted) == 1 else "copy_all"].format(number=number)
        return _gold(asked, ["\n\n".join(texts)], texts)
    ordinal = prompts["ordinals"].split(",")[at]
    asked = prompts["copy_then_choose" if level == "medium" else "copy_nth"].format(number=number, ordinal=ordinal)
    return _gold(asked, [texts[at]], [texts[at]], chance=CHANCES[f"mv_niah_{level}"])


def _solved(
    level: str, number: str, wanted: Choice, examples: Sequence[tuple[str, Choice]], prompts: Mapping[str, str]
) -> Ending:
    """To solve a question, after others that are solved."""
    task, form = ("copy_and_solve", "copied") if level == "medium" else ("solve_one", "solved")
    shown = "\n\n".join(
        prompts[form].format(
            task=prompts[task].format(number=other), number=other, text=made.text, answer=_boxed(made.letter)
        )
        for other, made in examples
    )
    asked = prompts["examples"].format(examples=shown, task=prompts[task].format(number=number))
    return _gold(asked, [_boxed(wanted.letter)], [wanted.letter], chance=CHANCES[f"mk_niah_{level}"])


def _boxed(letter: str) -> str:
    return f"\\boxed{{{letter}}}"


# ----------------------------------------------------------------------------------------------------------- documents


def plan_documents(draw: Draw, level: str) -> Plan:
    """Numbered documents, two of which a question needs.

    By chance a random number is right, or a random name of the kind in question, of those in the documents.
    """
    rng, prompts = draw.rng, draw.resources.texts_of(PROMPTS)
    count = NEAR + enough(draw.resources.lengths[-1], DOCUMENT)
    asked = chain(rng, DOCUMENTS[draw.resources.language], count)
    others = list(islice(asked.others, count))
    numbers = different(partial(_number, rng, 7), 2 + count)
    places = (draw.depth if level == "basic" else rng.random(), *(rng.random() for _ in range(1 + count)))
    made = [
        _document(number, text, place, DOCUMENTS[draw.resources.language])
        for number, text, place in zip(numbers, (asked.person, asked.town, *others), places, strict=True)
    ]
    core = [piece for pieces in made[: 2 + NEAR] for piece in pieces]
    more = [piece for pieces in made[2 + NEAR :] for piece in pieces]
    naming = level in ("medium", "hard")
    ending = _about(level, numbers[:2], asked, draw)
    names: Sequence[str | None] = (
        [text.names.get(asked.asked) for text in (asked.person, asked.town, *others)] if naming else numbers
    )
    named = {
        piece.place: name
        for name, pieces in zip(names, made, strict=True)
        for piece in pieces
        if name and name in str(piece.parts[0])
    }

    def finish(pieces: Sequence[Piece]) -> Ending:
        shown = list(dict.fromkeys(named[piece.place] for piece in pieces if piece.place in named))
        rest = json.dumps([name for name in shown if name not in ending.targets])
        inputs = {**ending.inputs, OTHERS: rest} if naming else ending.inputs
        return replace(ending, chance=len(ending.targets) / len(shown), inputs=inputs)

    context = Growing(prompts["answer" if naming else "find"], core, more, finish, "")
    return growing(context, draw.resources.counter)


def _document(number: str, text: Text, place: float, texts: Mapping[str, str]) -> list[Piece]:
    """A document in its heading and sentences, which stand together."""
    first, *rest = text.sentences
    head = texts["document"].format(number=number, title=text.title)
    sentences = (head, "\n" + first, *(texts["gap"] + sentence for sentence in rest))
    return [Piece((sentence,), place + at * _NEXT) for at, sentence in enumerate(sentences)]


def _about(level: str, numbers: Sequence[str], chain: Chain, draw: Draw) -> Ending:
    """The text after the documents, without what depends on their number."""
    prompts, person, question = draw.resources.texts_of(PROMPTS), chain.person, chain.question
    if level == "basic":
        text = f"{person.title}\n{DOCUMENTS[draw.resources.language]['gap'].join(person.sentences)}"
        return _gold(prompts["find_text"].format(text=text), numbers[:1], numbers[:1])
    if level == "easy":
        return _gold(prompts["find_useful"].format(question=question), numbers, numbers, asked=question)
    asked = prompts["copy_and_answer" if level == "medium" else "answer_one"].format(question=question)
    return _gold(asked, [chain.answer], [chain.answer], asked=question)


# --------------------------------------------------------------------------------------------------------------- tasks


DESCRIPTIONS: Mapping[str, str] = {
    "mk_niah_basic": "the code number of 10 digits of one of many keys",
    "mk_niah_easy": "copy one of many numbered questions",
    "mk_niah_medium": "copy one of many numbered questions and choose its answer",
    "mk_niah_hard": "choose the answer to one of many numbered questions",
    "mv_niah_basic": "the 4 code numbers of one of many keys",
    "mv_niah_easy": "copy the 4 questions of a number",
    "mv_niah_medium": "copy the 4 questions of a number, and then one of them by its place",
    "mv_niah_hard": "copy one of the 4 questions of a number by its place",
    "qa_basic": "the number of the document with a given text",
    "qa_easy": "the number of a document that a question needs",
    "qa_medium": "copy the two documents that a question needs and answer it",
    "qa_hard": "a question that needs two documents",
}


def _plan(family: str, level: str) -> Callable[[Draw], Plan]:
    values = VALUES if family == "mv_niah" else 1
    if family == "qa":
        return partial(plan_documents, level=level)
    return (
        partial(plan_codes, values=values) if level == "basic" else partial(plan_questions, level=level, values=values)
    )


def _task(name: str, description: str) -> Task:
    family, _, level = name.rpartition("_")
    metric = METRIC_OF[name]
    # What is copied is longer than an answer.
    long = level != "basic" if family != "qa" else level == "medium"
    return Task(
        name=f"ruler2_{name}",
        title=f"RULERv2 {name}",
        plan=_plan(family, level),
        score=partial(strict_score, metric=metric),
        metric="accuracy" if metric == LETTER else "share",
        max_output_tokens=1024 if long else 128,
        description=description,
        source=SOURCE,
        positioned=family == "mk_niah" or name == "qa_basic",
        pool=no_documents,
        gold=(),
        noise=(),
        official=metric,
        published=f"ruler2_published_{name}",
    )


TASKS = tuple(_task(name, description) for name, description in DESCRIPTIONS.items())
