"""The family of the annals."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count
from random import Random

from fathom.world.annals import answers, builders, checking, order, retrieval, summaries
from fathom.world.annals.case import Case, Kind, as_written
from fathom.world.annals.twins import answering, counterfactual, turns_of
from fathom.world.dials import settled
from fathom.world.facts import prove
from fathom.world.papers import filler_passages
from fathom.world.prose import Writer
from fathom.world.reading import papers_of
from fathom.world.types import Dials, Language, Passage, Problem

KINDS: Mapping[str, Kind] = {
    **retrieval.KINDS,
    **order.KINDS,
    **answers.KINDS,
    **checking.KINDS,
    **builders.KINDS,
    **summaries.KINDS,
}


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
        case = replace(case, seed=seed, code=code, number=number, dials=dials, paraphrased=paraphrased)
        return replace(case, left_out=answering(case)) if dials.unanswerable else case

    def passages(self, facts: Case, language: Language) -> tuple[Passage, ...]:
        """See ``Family.passages``."""
        written, turns = as_written(facts, _writer(facts, language)), turns_of(facts)
        return tuple(
            replace(passage, turn=turns.get(paper.mark, 0))
            for paper, passage in zip(facts.papers, written, strict=True)
        )

    def siblings(self, facts: Case, language: Language) -> Iterator[Passage]:
        """See ``Family.siblings``. Items share these papers, each in an order of its own."""
        for group in count():
            passages = list(filler_passages(_writer(facts, language), group, facts.dials.noise))
            Random(f"siblings|{facts.seed}|{facts.code}|{facts.number}|{group}").shuffle(passages)
            yield from passages

    def problem(self, facts: Case, code: str, language: Language) -> Problem:
        """See ``Family.problem``."""
        return KINDS[code].ask(facts, _writer(facts, language))

    def solve(self, text: str, question: str, code: str, language: Language) -> tuple[str, ...]:
        """See ``Family.solve``."""
        return tuple(KINDS[code].solve(papers_of(text, language), question, language))


def _writer(facts: Case, language: Language) -> Writer:
    return Writer(facts.seed, language, facts.dials.names, facts.dials.density)


ANNALS = Annals()
