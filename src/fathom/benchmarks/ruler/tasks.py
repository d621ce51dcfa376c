"""RULER's thirteen tasks with its configuration, for any length and nested: a longer prompt has all of a shorter one.

Hsieh et al. (2024), arXiv:2404.06654, section 3 and the file ``synthetic.yaml`` of its repository: how many needles,
keys, values and queries, which haystack, how many hops, which words. Prompts and needles are our own, keys and words
are coined. Each item has a seed of its own, so that answers are at other places in every item (in the released code
those of the questions and lists are at the same places in all items of a length).

Eight retrieval tasks hide code numbers in a repeated sentence (``niah_single_1``), in documents, or among needles alone
(``niah_multikey_2`` and ``_3``). ``vt`` follows a chain of five variables. ``cwe`` asks for ten words that occur 30
times (6 times if the shortest length is below 4k), others 3 times (once). ``fwe`` has words with frequencies by a zeta
distribution of exponent 2, the most frequent of which is ``...``. ``qa_1`` and ``qa_2`` ask questions over one document
and over several.

The score is F1 of the answers of the kind in question that a reply names, so that a list of everything is worth little;
``--rule official`` is the released share of gold texts, or whether any gold text occurs.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from math import isqrt
from random import Random
from string import ascii_lowercase, ascii_uppercase
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

from fathom.benchmarks.hundred import multi_doc_qa
from fathom.benchmarks.leader.generated_tasks import one_sentence
from fathom.benchmarks.starter import single_doc_qa
from fathom.printing import several as counted
from fathom.score.answers import reply_text
from fathom.score.released import GOLD
from fathom.score.text import bag_f1, caseless
from fathom.storage.toml import packaged_toml
from fathom.suites.tasks import depths, scattered
from fathom.suites.tasks.growing import Growing, Piece, different, enough, growing, no_documents
from fathom.suites.tasks.several import apart
from fathom.types import (
    AnswerKind,
    CandidatePool,
    Draw,
    Ending,
    Haystack,
    Layout,
    Needle,
    Part,
    Passages,
    Plan,
    Question,
    Resources,
    Role,
    Sample,
    Score,
    Task,
)

SOURCE = "RULER, section 3"
ALL, ANY = "ruler/string_match_all", "ruler/string_match_part"


class Retrieval(NamedTuple):
    """A retrieval task: what it is hidden in, kinds of keys and values, and how many of each."""

    haystack: str
    key: str = "words"
    value: str = "number"
    keys: int = 1
    values: int = 1
    queries: int = 1


RETRIEVAL: Mapping[str, Retrieval] = MappingProxyType(
    {
        "niah_single_1": Retrieval("noise"),
        "niah_single_2": Retrieval("documents"),
        "niah_single_3": Retrieval("documents", value="uuid"),
        "niah_multikey_1": Retrieval("documents", keys=4),
        "niah_multikey_2": Retrieval("needles"),
        "niah_multikey_3": Retrieval("needles", key="uuid", value="uuid"),
        "niah_multivalue": Retrieval("documents", values=4),
        "niah_multiquery": Retrieval("documents", keys=4, queries=4),
    }
)
PATTERNS = {
    "number": re.compile(r"(?<!\d)\d{7}(?!\d)"),
    "uuid": re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    "variable": re.compile(r"(?<![A-Za-z])[A-Z]{5}(?![A-Za-z])"),
    "word": re.compile(r"[^\W\d_]+"),
}
"""Answers of each kind in a reply: variables in upper case, others in lower case."""
HOPS = 4
COMMON, OFTEN, RARE = 10, (30, 3), (6, 1)
FREQUENT, EXPONENT, CODED = 3, 2, 6
DOTS = "..."
PROMPTS: Mapping[str, Mapping[str, str]] = packaged_toml(__package__, "prompts.toml")
_SYLLABLES = [
    first + vowel + last for first in "bdfghklmnprstvwz" for vowel in "aeiou" for last in ("", "l", "n", "r", "s", "x")
]


def coined(rng: Random, syllables: int = 2) -> str:
    """A word of the given number of syllables that no language has, or hardly."""
    return "".join(rng.choice(_SYLLABLES) for _ in range(syllables))


def key_of(rng: Random, kind: str) -> str:
    """A key: two coined words, or a UUID."""
    return _uuid(rng) if kind == "uuid" else f"{coined(rng)}-{coined(rng)}"


def _uuid(rng: Random) -> str:
    return str(UUID(int=rng.getrandbits(128), version=4))


def _number(rng: Random) -> str:
    return str(rng.randint(1_000_000, 9_999_999))


def _value(rng: Random, kind: str) -> str:
    return _uuid(rng) if kind == "uuid" else _number(rng)


def ending_of(question: str, gold: Sequence[str], kind: str) -> Ending:
    """A question whose gold reply is a list of texts of a kind."""
    inputs = {"kind": kind, GOLD: json.dumps(list(gold), ensure_ascii=False)}
    return Ending(question, (", ".join(gold),), chance=0.0, facets={"answers": len(gold)}, inputs=inputs)


# ----------------------------------------------------------------------------------------------------------- retrieval


def plan_retrieval(draw: Draw, task: Retrieval) -> Plan:
    """Needles in running text, or among others; some of them are asked for."""
    rng, prompts = draw.rng, draw.resources.texts_of(PROMPTS)
    named = prompts[task.value]

    def needle(key: str, value: str) -> str:
        return prompts["needle"].format(kind=named, key=key, value=value)

    keys = different(partial(key_of, rng, task.key), task.keys)
    pairs = [(key, value) for key in keys for value in different(partial(_value, rng, task.value), task.values)]
    asked = rng.sample(keys, task.queries)
    gold = [value for wanted in asked for key, value in pairs if key == wanted]
    text = prompts["one" if len(gold) == 1 else "several"].format(kind=named, key=prompts["and"].join(asked))
    ending = ending_of(text, gold, task.value)
    intro = prompts["intro"].format(kind=named)
    if task.haystack == "needles":
        others = different(partial(key_of, rng, task.key), enough(draw.resources.lengths[-1], 10), keys)
        spaced = replace(ending, question="\n\n" + ending.question)
        context = Growing(
            intro,
            [Piece((needle(*pair),), draw.depth) for pair in pairs],
            [Piece((needle(key, _value(rng, task.value)),), rng.random()) for key in others],
            lambda pieces: spaced,
        )
        return growing(context, draw.resources.counter)
    places = [draw.depth] if len(pairs) == 1 else depths(draw, len(pairs))
    rng.shuffle(pairs)
    needles = tuple(Needle(needle(*pair), place) for pair, place in zip(pairs, places, strict=True))
    return Haystack(intro.strip(), needles, ending)


# ------------------------------------------------------------------------------------------- tracing and counting words


def plan_variables(draw: Draw) -> Plan:
    """A chain of variables: the first one has a value, each other one that of the one before."""
    rng, prompts = draw.rng, draw.resources.texts_of(PROMPTS)
    names = different(lambda: "".join(rng.choices(ascii_uppercase, k=5)), HOPS + 1)
    value = str(rng.randint(10_000, 99_999))
    texts = [
        f"VAR {name} = {before}" for name, before in zip(names, [value, *(f"VAR {n}" for n in names)], strict=False)
    ]
    needles = tuple(Needle(text + ".", place) for text, place in zip(texts, depths(draw, len(texts)), strict=True))
    question = prompts["vt_question"].format(count=len(names), value=value)
    return Haystack(prompts["vt"], needles, ending_of(question, names, "variable"))


def plan_common(draw: Draw) -> Plan:
    """Ten words that occur often among others that do not, in a numbered list."""
    rng, prompts = draw.rng, draw.resources.texts_of(PROMPTS)
    often, rare = OFTEN if draw.resources.shortest >= 4096 else RARE
    gold = different(partial(coined, rng), COMMON)
    others = different(partial(coined, rng), enough(draw.resources.lengths[-1], 3 * rare), gold)
    ending = ending_of(prompts["cwe_question"].format(count=COMMON), gold, "word")
    context = Growing(
        prompts["cwe"],
        [Piece((word,), rng.random()) for word in gold for _ in range(often)],
        [Piece((word,), rng.random()) for word in others for _ in range(rare)],
        lambda pieces: ending,
        render=_numbered,
    )
    return growing(context, draw.resources.counter)


def _numbered(pieces: Sequence[Piece]) -> list[Part]:
    return [" ".join(f"{number}. {piece.parts[0]}" for number, piece in enumerate(pieces, 1))]


def plan_frequent(draw: Draw) -> Plan:
    """Coded words whose counts follow a zeta distribution at every length; ranks 2 to 4 are asked for.

    The released code draws a word for each 50 tokens, of which it uses those that the distribution gives any of.
    """
    rng, prompts = draw.rng, draw.resources.texts_of(PROMPTS)
    longest = draw.resources.lengths[-1]
    drawn = different(lambda: "".join(rng.choices(ascii_lowercase, k=CODED)), max(2 * FREQUENT, isqrt(longest) + 1))
    ranked = [DOTS, *drawn[1:]]
    pieces = [Piece((ranked[rank],), rng.random()) for rank in by_frequency(enough(longest, 1), len(ranked))]
    ending = ending_of(prompts["fwe_question"].format(count=FREQUENT), ranked[1 : FREQUENT + 1], "word")
    context = Growing(prompts["fwe"], pieces[:1], pieces[1:], lambda ordered: ending, render=_spaced)
    return growing(context, draw.resources.counter)


def _spaced(pieces: Sequence[Piece]) -> list[Part]:
    return [" ".join(str(piece.parts[0]) for piece in pieces)]


def by_frequency(count: int, size: int) -> list[int]:
    """Ranks from 0, each as often as in the released code however many are taken: its zeta share, rounded down.

    Args:
        count: Number of ranks.
        size: Number of different ones.
    """
    times = (
        (number * (rank + 1) ** EXPONENT, rank)
        for rank in range(min(size, isqrt(count)))
        for number in range(1, count // (rank + 1) ** EXPONENT + 1)
    )
    return [rank for _, rank in islice(sorted(times), count)]


# ------------------------------------------------------------------------------------------------------------ questions


def plan_question(draw: Draw, several: bool) -> Plan:
    """Documents, and questions over one or several of them that do not name them."""
    prompts, candidate = draw.resources.texts_of(PROMPTS), draw.candidate
    assert candidate is not None
    gold = apart(draw, candidate.spans, in_order=False) if several else ((candidate.spans[0], draw.depth),)
    return Passages(
        prompts["qa"],
        prompts["header"],
        gold,
        partial(_asked, text=prompts["qa_question"], questions=candidate.questions),
        shuffle=scattered(draw),
    )


def _asked(layout: Layout, text: str, questions: tuple[Question, ...]) -> tuple[Ending, ...]:
    return tuple(
        Ending(
            text.format(question=question.text),
            question.answers,
            chance=0.0,
            facets={"passages": len(layout.spans)},
            asked=question.text,
        )
        for question in questions
    )


# -------------------------------------------------------------------------------------------------------------- scoring


def score(reply: str, sample: Sample) -> Score:
    """F1 of the answers of the kind in question that a reply names; valid if it names one.

    Words are those after the last colon, as a reply may say what it lists.
    """
    kind, gold = str(sample.inputs["kind"]), json.loads(str(sample.inputs[GOLD]))
    text = reply_text(reply) or ""
    if kind == "word":
        text = text.rpartition(":")[2]
    matches = PATTERNS[kind].findall(text if kind == "variable" else caseless(text))
    named = list(dict.fromkeys(map(caseless, matches)))
    return Score(
        bag_f1(named, [caseless(item) for item in gold]), bool(named), ", ".join(named) or None, f"F1 of {kind}s"
    )


DUMPED = {
    **dict.fromkeys(
        ("niah_single_1", "niah_single_2"), "100% (8k): all numbers of the text, one of which has 7 digits"
    ),
    "niah_single_3": "100% (8k): all UUIDs of the text, which has no other",
    "niah_multikey_1": "40% (8k; official 100%): all numbers of the text, four of which have 7 digits",
    "vt": "100% (8k): all names of the text, five of which are variables",
    **dict.fromkeys(
        ("niah_multivalue", "niah_multiquery"), "100% (8k): all numbers of the text, four of which have 7 digits"
    ),
}
"""What a dump of the context scores (``python performance/shortcuts.py ruler --lengths 8k --items 25``)."""


def _task(
    name: str,
    plan: Callable[[Draw], Plan],
    cap: int,
    description: str,
    *,
    answer: AnswerKind = "words",
    pool: Callable[[Resources], CandidatePool] | None = None,
    noise: tuple[Role, ...] = (),
    positioned: bool = False,
) -> Task:
    return Task(
        name=f"ruler_{name}",
        title=f"RULER {name.replace('_', ' ')}",
        plan=plan,
        score=score,
        metric="f1",
        max_output_tokens=cap,
        description=description,
        answer=answer,
        source=SOURCE,
        positioned=positioned,
        pool=pool,
        gold=(),
        noise=noise,
        official=ALL,
        shortcut=DUMPED.get(name, ""),
    )


_TEXT: tuple[Role, ...] = ("qa", "news", "noise")
_POOLS: Mapping[str, tuple[Callable[[Resources], CandidatePool] | None, tuple[Role, ...]]] = {
    "noise": (one_sentence, ("refrain",)),
    "documents": (None, _TEXT),
    "needles": (no_documents, ()),
}
_HIDDEN = {"noise": "in a repeated sentence", "documents": "in documents", "needles": "in a list of them"}


def _retrieval(name: str, task: Retrieval) -> Task:
    pool, noise = _POOLS[task.haystack]
    values = counted(task.values, {"number": "code number", "uuid": "UUID"}[task.value])
    many = task.haystack == "needles"
    keys = "many keys" if many else counted(task.keys, "key")
    asked = f" each, {task.queries} of them asked for" if many or task.keys > 1 else ""
    return _task(
        name,
        partial(plan_retrieval, task=task),
        128,
        f"{keys} with {values}{asked}, {_HIDDEN[task.haystack]}",
        answer="uuid" if task.value == "uuid" else "words",
        pool=pool,
        noise=noise,
        positioned=task.keys * task.values == 1,
    )


def _questions(name: str, several: bool) -> Task:
    home = multi_doc_qa if several else single_doc_qa
    return Task(
        name=f"ruler_{name}",
        title=f"RULER {name.replace('_', ' ')}",
        plan=partial(plan_question, several=several),
        score=single_doc_qa.score,
        metric="token_f1",
        max_output_tokens=64,
        description=f"questions over {'several documents' if several else 'one document'} that do not name them",
        source=SOURCE,
        positioned=not several,
        pool=home.pool,
        needs="questions with answers",
        gold=("multi_qa",) if several else ("qa",),
        noise=("qa", "noise"),
        gold_alone=True,
        gold_in_text=True,
        official=ANY,
    )


TASKS = (
    *(_retrieval(name, task) for name, task in RETRIEVAL.items()),
    _task(
        "vt",
        plan_variables,
        128,
        "the five variables of a chain of assignments",
        pool=one_sentence,
        noise=("refrain",),
    ),
    _task("cwe", plan_common, 160, "the ten most common words of a list", pool=no_documents),
    _task("fwe", plan_frequent, 96, "the three most frequent coded words of a text", pool=no_documents),
    _questions("qa_1", several=False),
    _questions("qa_2", several=True),
)
