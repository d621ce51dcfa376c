"""The family of the annals."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count
from random import Random

from fathom.world.annals import answers, checking, order, retrieval, summaries
from fathom.world.annals.case import Case, Kind
from fathom.world.annals.twins import counterfactual, turns_of
from fathom.world.dials import settled
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
        name = f"{seed}|{code}|{number}"
        case = KINDS[code].draw(Random(f"annals|{name}"), settled(code, dials))
        if dials.counterfactual:
            case = counterfactual(case, code, Random(f"counterfactual|{name}"))
        prove(case.papers, case.planned)
        paraphrased = Random(f"paraphrase|{name}").random() < dials.paraphrase
        return replace(case, seed=seed, code=code, number=number, names=dials.names, paraphrased=paraphrased)

    def passages(self, facts: Case, language: Language) -> tuple[Passage, ...]:
        """See ``Family.passages``."""
        written, turns = KINDS[facts.code].write(facts, _writer(facts, language)), turns_of(facts)
        return tuple(
            replace(passage, turn=turns.get(paper.mark, 0))
            for paper, passage in zip(facts.papers, written, strict=True)
        )

    def siblings(self, facts: Case, language: Language) -> Iterator[Passage]:
        """See ``Family.siblings``. Items share these papers, each in an order of its own."""
        for group in count():
            passages = list(filler_passages(_writer(facts, language), group))
            Random(f"siblings|{facts.seed}|{facts.code}|{facts.number}|{group}").shuffle(passages)
            yield from passages

    def problem(self, facts: Case, code: str, language: Language) -> Problem:
        """See ``Family.problem``."""
        return KINDS[code].ask(facts, _writer(facts, language))

    def solve(self, text: str, question: str, code: str, language: Language) -> tuple[str, ...]:
        """See ``Family.solve``."""
        return tuple(KINDS[code].solve(papers_of(text, language), question, language))


def _writer(facts: Case, language: Language) -> Writer:
    return Writer(facts.seed, language, facts.names)


ANNALS = Annals()
