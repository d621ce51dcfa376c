"""The family of the annals."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count
from random import Random

from fathom.world.annals import answers, checking, order, retrieval, summaries
from fathom.world.annals.case import Case, Kind
from fathom.world.facts import prove
from fathom.world.prose import Writer, filler_passages
from fathom.world.reading import papers_of
from fathom.world.types import Dials, Language, Passage, Problem

KINDS: Mapping[str, Kind] = {**retrieval.KINDS, **order.KINDS, **answers.KINDS, **checking.KINDS, **summaries.KINDS}


class Annals:
    """Papers of towns on their public works; see ``Family``."""

    codes: tuple[str, ...] = tuple(KINDS)

    def facts(self, code: str, seed: int, number: int, dials: Dials) -> Case:
        """See ``Family.facts``."""
        case = KINDS[code].draw(Random(f"annals|{seed}|{code}|{number}"), dials)
        prove(case.papers, case.planned)
        return replace(case, seed=seed, code=code, number=number)

    def passages(self, facts: Case, language: Language) -> tuple[Passage, ...]:
        """See ``Family.passages``."""
        return tuple(KINDS[facts.code].write(facts, Writer(facts.seed, language)))

    def siblings(self, facts: Case, language: Language) -> Iterator[Passage]:
        """See ``Family.siblings``. Items share these papers, each in an order of its own."""
        for group in count():
            passages = list(filler_passages(facts.seed, language, group))
            Random(f"siblings|{facts.seed}|{facts.code}|{facts.number}|{group}").shuffle(passages)
            yield from passages

    def problem(self, facts: Case, code: str, language: Language) -> Problem:
        """See ``Family.problem``."""
        return KINDS[code].ask(facts, Writer(facts.seed, language))

    def solve(self, text: str, question: str, code: str, language: Language) -> tuple[str, ...]:
        """See ``Family.solve``."""
        return tuple(KINDS[code].solve(papers_of(text, language), question, language))


ANNALS = Annals()
