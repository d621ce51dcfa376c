"""NoLiMa's published needles in its published books, with the instructions that the records bring.

A test is an item: its needle with one of the names, hidden in parts of the books at the wanted depth, at every length.
Lengths are of whole prompts, where the released code counts the book alone, and the needle follows a sentence instead
of a line. The name is drawn for each item; the released code draws it by an order of files that is not fixed.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from fathom.benchmarks.nolima.records import BOOK, CHARACTER, HAYSTACK, NAME, QUESTION, filled
from fathom.benchmarks.nolima.scoring import NAMES
from fathom.documents.corpus.records import BadRowError
from fathom.score.registry import strict_score
from fathom.suites.tasks import passages_of
from fathom.types import (
    Candidate,
    CandidatePool,
    Document,
    Draw,
    Ending,
    FathomError,
    Haystack,
    Needle,
    Plan,
    Resources,
    Task,
)

FORM = "one message"
SECTION = 1024
"""Tokens of a part of a book; each item has the parts in an order of its own."""
METRIC = "nolima/contains"


@dataclass(frozen=True, slots=True)
class Test(Candidate):
    """A test of a record: its needle and its question, whose character is still open."""

    __test__ = False  # for pytest

    needle: str = ""
    question: str = ""
    characters: tuple[str, ...] = ()


def pool(resources: Resources, dataset: str, kind: str) -> CandidatePool:
    """The tests of the records of a set in their order, and the books.

    Args:
        resources: The documents of the build.
        kind: Kind of the questions; "" for all.

    Raises:
        FathomError: There are needles and no books, or a gap of a needle or question is not filled.
    """
    books = [
        piece
        for document in resources.documents
        if document.meta.get("dataset") == BOOK
        for piece in passages_of(document, SECTION, resources.counter)
    ]
    tests: dict[str, Test] = {}
    for record in resources.documents:
        if record.meta.get("dataset") == dataset:
            for test in _tests(record, kind):
                tests.setdefault(test.name, test)
    if tests and not books:
        raise FathomError("NoLiMa's needles have no books: add rand_book_*.txt of your copy to `data`")
    return CandidatePool(books, list(tests.values()), shuffled=False)


def _tests(record: Document, kind: str) -> Iterator[Test]:
    body = json.loads(str(record.meta["body"]))
    for name, test in body["tests"].items():
        for which, question in body["questions"].items():
            if kind in ("", which):
                try:
                    needle, asked = (filled(text, test["input_args"]) for text in (record.text, question))
                except BadRowError as error:
                    raise FathomError(f"{record.source}: test {name!r}, {which}: {error}") from None
                yield Test(
                    record,
                    (),
                    name=f"{record.meta['id']}-{name}-{which}",
                    cluster=f"nolima {record.meta['id']} {name}",
                    needle=needle,
                    question=asked,
                    characters=tuple(body["character_set"]),
                )


def plan(draw: Draw) -> Plan:
    """The needle of a test at the wanted depth of parts of the books."""
    test = draw.candidate
    assert isinstance(test, Test)
    name = draw.rng.choice(test.characters)
    needle, question = (text.replace(CHARACTER, name) for text in (test.needle, test.question))
    before, _, after = str(test.document.meta["template"]).partition(HAYSTACK)
    intro = "\n\n".join(filter(None, (str(test.document.meta["system"]), before.strip())))
    ending = Ending(
        after.strip().replace(QUESTION, question),
        (name,),
        chance=1 / len(test.characters),
        inputs={NAMES: json.dumps(test.characters, ensure_ascii=False)},
        facets={"form": FORM},
        asked=question,
    )
    return Haystack(intro, (Needle(needle, draw.depth),), ending)


def _task(name: str, dataset: str, kind: str, description: str) -> Task:
    return Task(
        name=f"nolima_published_{name}",
        title=f"NoLiMa, {name} (published)",
        plan=plan,
        score=partial(strict_score, metric=METRIC),
        metric="accuracy",
        max_output_tokens=192,
        description=description,
        source="NoLiMa, section 3",
        languages=("en",),
        positioned=True,
        pool=partial(pool, dataset=dataset, kind=kind),
        data=(NAME,),
        needs="records of NoLiMa",
        gold=("record",),
        noise=(),
        official=METRIC,
        substitutes={FORM: "the instructions of the records are sent as one message"},
    )


TASKS = (
    _task("onehop", NAME, "onehop", "the published needles whose questions need one fact"),
    _task("twohop", NAME, "twohop", "the published needles whose questions need two facts"),
    _task("hard", f"{NAME}_hard", "", "the ten needles of the hard set"),
    _task("direct", f"{NAME}_direct", "", "the published needles, asked for in their own words"),
)
