"""MRCR: several texts were given on request in a long conversation, and one of them is to be copied.

``mrcr_2``, ``mrcr_4`` and ``mrcr_8`` are generated from any documents, for any length. An archivist is asked for
entries of registers kept at places; 2, 4 or 8 requests name the same register and place, all others another pair, which
may share one of both. The entries are passages of the documents; the conversation of a longer prompt has all of a
shorter one, in the same order, and the last entry may be shortened to fill it. The random string that a reply begins
with, and the number of the entry in question, are drawn once. Chance is the mean of the
strict scores of copying each of the like entries.

Unlike in the publishers' data, entries are no model's writing, so that every one can be told from the others, and other
entries may follow the last like one.

``mrcr_google_2``, ``_4`` and ``_8`` are made like Google's MRCR v2: a request names three things (register, hand and
place), each that occurs at all occurs 2, 4 or 8 times, and the random string has 12 characters.

``mrcr_published_2``, ``_4``, ``_8`` are OpenAI's records, and ``mrcr_google_published`` are Google's.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from statistics import fmean
from string import ascii_letters, digits

from fathom.benchmarks.leader.needle_tasks import PLACES as TOWNS
from fathom.benchmarks.mrcr.records import GOOGLE, NEEDLES, OPENAI, RECORDS
from fathom.benchmarks.mrcr.scoring import OTHERS, PREFIX, similarity
from fathom.score.registry import strict_score
from fathom.storage.toml import packaged_toml
from fathom.suites.tasks import passages
from fathom.suites.tasks.growing import Growing, Piece, enough, growing
from fathom.suites.tasks.published import Published, asking
from fathom.types import Candidate, CandidatePool, Document, Draw, Ending, Plan, Resources, Span, Task

ENTRY = 120  # tokens of an entry at most
LEAST = 40  # tokens of an entry with its request
SIZE, GOOGLE_SIZE = 10, 12  # characters of the random string
ITEMS = 4  # items that may begin with one document
SOURCE = "MRCR, OpenAI 2025"
FORM = "one message"
REGISTERS = {
    "en": "ledger,diary,letter book,guest book,ship's log,chronicle,minute book,herbal,sketchbook",
    "zh": "账簿,日记,书信集,来客簿,航海日志,编年录,会议记录,草药志,写生册",
}
HANDS = {
    "en": "{} in red ink,{} in black ink,{} in pencil,{} in chalk,{} in print",
    "zh": "红墨水写的{},黑墨水写的{},铅笔写的{},粉笔写的{},印刷的{}",
}
PLACES = {
    "en": ",".join(TOWNS),
    "zh": "云溪,白塔,柳渡,石门,青浦,枫桥,落雁,松江,望山,南亭,竹坞,桃源,清河,古井,双溪,海门",
}
PROMPTS: Mapping[str, Mapping[str, str]] = packaged_toml(__package__, "prompts.toml")
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive(Candidate):
    """What a conversation can be made of: all passages, and the documents that they are from."""

    passages: Sequence[Span]
    documents: Sequence[Document]


def pool(resources: Resources) -> CandidatePool:
    """Candidates that share all passages of the documents."""
    entries = passages(resources, ENTRY)
    shared = partial(Archive, spans=(), passages=entries, documents=resources.noise)
    return CandidatePool((), [shared(document) for document in resources.noise for _ in range(ITEMS)])


def plan(draw: Draw, needles: int, grouped: bool = False) -> Plan:
    """A conversation with so many entries of the register in question.

    Args:
        grouped: Whether there are as many of each other register, and registers are in several hands.
    """
    archive, rng, prompts = draw.candidate, draw.rng, draw.resources.texts_of(PROMPTS)
    assert isinstance(archive, Archive)
    by_id = {document.id: document for document in archive.documents}
    registers, places = (names[draw.resources.language].split(",") for names in (REGISTERS, PLACES))
    if grouped:
        registers = [
            hand.format(register) for register in registers for hand in HANDS[draw.resources.language].split(",")
        ]
    pairs = [(register, place) for register in registers for place in places]
    asked = pairs.pop(rng.randrange(len(pairs)))
    # Near requests, which share the register or the place, are as frequent as all others.
    near = [pair for pair in pairs if pair[0] == asked[0] or pair[1] == asked[1]]
    wanted = needles + enough(draw.resources.lengths[-1], LEAST)
    entries = rng.sample(archive.passages, min(wanted, len(archive.passages)))
    at = sorted(rng.random() for _ in range(needles))

    def turn(pair: tuple[str, str], entry: Span, place: float) -> Piece:
        return Piece((prompts["turn"].format(register=pair[0], place=pair[1]), _stripped(by_id, entry)), place)

    core = [turn(asked, entry, place) for entry, place in zip(entries, at, strict=False)]
    groups = cycle(pair for pair in rng.sample(pairs, len(pairs)) for _ in range(needles)) if grouped else None
    more = [
        turn(next(groups) if groups else rng.choice(rng.choice((near, pairs))), entry, rng.random())
        for entry in entries[needles:]
    ]
    texts = [_text(by_id, piece) for piece in core]
    number = rng.randrange(needles)
    prefix = "".join(rng.choices(ascii_letters + digits, k=GOOGLE_SIZE if grouped else SIZE))
    ordinal = ORDINALS[number] if draw.resources.language == "en" else str(number + 1)
    question = prompts["question"].format(prefix=prefix, number=ordinal, register=asked[0], place=asked[1])
    others = texts[:number] + texts[number + 1 :]
    ending = Ending(
        question,
        (prefix + texts[number],),
        chance=fmean(similarity(text.strip(), texts[number].strip()) for text in texts),
        facets={"needles": needles, "asked": number + 1},
        inputs={PREFIX: prefix, OTHERS: json.dumps(others, ensure_ascii=False)},
    )
    context = Growing(prompts["intro"], core, more, lambda pieces: ending, gap="\n\n")
    return growing(context, draw.resources.counter, archive.documents)


def _stripped(documents: dict[str, Document], span: Span) -> Span:
    """A passage without blanks around it."""
    text = documents[span.doc].text[span.start : span.end]
    start = span.start + len(text) - len(text.lstrip())
    return Span(span.doc, start, start + len(text.strip()))


def _text(documents: dict[str, Document], piece: Piece) -> str:
    span = piece.parts[-1]
    assert isinstance(span, Span)
    return documents[span.doc].text[span.start : span.end]


def _ending(record: Document) -> Ending:
    prefix = str(record.meta["prefix"])
    return Ending(
        "",
        (str(record.meta["answer"]),),
        chance=0.0,
        inputs={PREFIX: prefix},
        facets={"form": FORM} if str(record.meta["dataset"]) != GOOGLE else {},
    )


def _task(needles: int, grouped: bool = False) -> Task:
    metric = "mrcr/gdm_mrcr_v2" if grouped else "mrcr/openai_mrcr"
    return Task(
        name=f"mrcr_google_{needles}" if grouped else f"mrcr_{needles}",
        title=f"MRCR v2 (Google's), {needles} needles" if grouped else f"MRCR, {needles} needles",
        plan=partial(plan, needles=needles, grouped=grouped),
        score=partial(strict_score, metric=metric),
        metric="similarity",
        max_output_tokens=512,
        description=f"copy one of {needles} entries of one register in a conversation"
        + (", in which every register has as many" if grouped else ""),
        source=SOURCE,
        pool=pool,
        gold=(),
        noise=("qa", "news", "noise"),
        official=metric,
        published="" if grouped else f"mrcr_published_{needles}",
    )


def _published(name: str, dataset: str, source: str, metric: str, what: str, records: int | None) -> Task:
    pool, asked = asking(Published(dataset, _ending, records=records))
    return Task(
        name=name,
        title=what,
        plan=asked,
        score=partial(strict_score, metric=metric),
        metric="similarity",
        max_output_tokens=4096,
        description=f"published records: {what}",
        source=SOURCE,
        languages=("en",),
        pool=pool,
        data=(source,),
        needs="records of MRCR",
        gold=("record",),
        noise=(),
        official=metric,
        substitutes={FORM: "the conversation is sent as one message, with the role at the head of each of its messages"}
        if source == OPENAI
        else {},
    )


TASKS = (
    *(_task(needles, grouped) for grouped in (False, True) for needles in NEEDLES),
    *(
        _published(
            f"mrcr_published_{needles}",
            f"{OPENAI}_{needles}",
            OPENAI,
            "mrcr/openai_mrcr",
            f"OpenAI's MRCR, {needles} needles",
            RECORDS,
        )
        for needles in NEEDLES
    ),
    _published("mrcr_google_published", GOOGLE, GOOGLE, "mrcr/gdm_mrcr_v2", "Google's MRCR v2", None),
)
