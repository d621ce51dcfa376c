"""The suite ``world``: generated tasks whose answers follow from facts, and from the text alone."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import get_args

import pytest

from engine_calls import configure
from fathom.benchmarks.pro.secondary_tasks import SECONDARY
from fathom.benchmarks.world.tasks import DIALS, MARK, OF, TASKS, asked
from fathom.score.registry import ScoringRow, get_scorer
from fathom.suites.build import build
from fathom.suites.registry import get_suite, get_task
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.tokens.length import render
from fathom.types import FathomError
from fathom.world.facts import Record, Stage, altered, fillers, prove
from fathom.world.papers import passage as passage_of
from fathom.world.prose import Writer
from fathom.world.types import Language, Passage

LENGTHS = (8192, 12288)
LANGUAGES: tuple[Language, ...] = get_args(Language)
METRICS = {task.code: task.metric for task in SECONDARY}
SETS = ("F1_Score", "SubEM")
EACH = [(code, language) for code in sorted(OF) for language in LANGUAGES]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> BuiltSuite:
    folder = tmp_path_factory.mktemp("world")
    wanted = configure("world", lengths=LENGTHS, items=1, tokenizer="words")
    return open_suite(build(wanted, folder / "suite").folder)


def text_of(passages: list[Passage]) -> str:
    ordered = sorted(passages, key=lambda passage: passage.place)
    return "\n\n".join(f"{passage.title}\n{passage.text}" for passage in ordered)


@pytest.mark.parametrize(("code", "language"), EACH)
def test_an_answer_from_the_text_alone_is_the_answer_from_the_facts(code: str, language: Language) -> None:
    family = OF[code]
    for number in range(6):
        facts = family.facts(code, 3, number, DIALS)
        problem, passages = family.problem(facts, code, language), list(family.passages(facts, language))
        around = list(islice(family.siblings(facts, language), 4))
        text = text_of([*around[:2], *passages, *around[2:]])
        solved = family.solve(text, asked(problem, language), code, language)
        ordered = METRICS[code] not in SETS
        assert (list if ordered else sorted)(solved) == (list if ordered else sorted)(problem.answers), number


@pytest.mark.parametrize(("code", "language"), EACH)
def test_evidence_is_where_the_spans_say_and_options_are_not_told_apart_by_form(code: str, language: Language) -> None:
    family = OF[code]
    facts = family.facts(code, 3, 0, DIALS)
    problem = family.problem(facts, code, language)
    spans = [passage.text[a:b] for passage in family.passages(facts, language) for a, b in passage.evidence]
    assert spans
    assert all(span == span.strip() and span for span in spans)
    assert len(set(problem.options)) == len(problem.options)
    assert 0 <= problem.chance < 0.6
    forms = {re.sub(r"[\d,]+", "0", option) for option in problem.options if option[0].isdigit()}
    assert len(forms) <= 1


@pytest.mark.parametrize(("code", "language"), EACH)
def test_the_gold_answer_scores_one_and_an_empty_one_zero_under_both_rules(code: str, language: Language) -> None:
    problem = OF[code].problem(OF[code].facts(code, 4, 0, DIALS), code, language)
    gold = problem.references or problem.answers
    # The released code compares the whole reply with the references of a summary, the marker too.
    bare, empty = (gold[0], "") if problem.references else ("\n".join(gold), MARK[language])
    for rule, reply in (("strict", f"{MARK[language]}\n{bare}"), ("official", bare)):
        scorer = get_scorer(f"longbench_pro/{METRICS[code]}", rule)
        full, none = (scorer(ScoringRow(text, list(gold), language=language)).value for text in (reply, empty))
        assert full == pytest.approx(1)
        assert none == 0


def test_both_languages_share_the_facts() -> None:
    for code in ("T1.1", "T3.2", "T6.3", "T8.2"):
        facts = OF[code].facts(code, 5, 1, DIALS)
        english, chinese = (OF[code].problem(facts, code, language) for language in LANGUAGES)
        assert english.answers == chinese.answers


def test_equal_seeds_give_equal_texts_and_others_do_not() -> None:
    def texts(seed: int) -> list[str]:
        facts = OF["T3.2"].facts("T3.2", seed, 0, DIALS)
        return [passage.text for passage in OF["T3.2"].passages(facts, "en")]

    assert texts(1) == texts(1)
    assert texts(1) != texts(2)


def test_the_checker_finds_contradictions_and_effects_before_their_causes() -> None:
    papers = list(fillers(0, 0)[:40])
    prove(papers)
    place = next(place for place, paper in enumerate(papers) if paper.has("vote") and len(papers[place].records) > 1)
    paper = papers[place]
    reported = next(record for record in paper.records if record.act == "vote")
    other = replace(paper, mark=-1, records=(altered(reported, "money", 1),))
    with pytest.raises(FathomError, match="told in two ways"):
        prove([*papers, other])
    prove([*papers, other], planned=(-1,))
    early = replace(paper, mark=-2, day=paper.day - 9999, records=(Record(reported.work, "opening", {}),))
    late = replace(paper, mark=-3, records=(Record(reported.work, "completion", {}),))
    with pytest.raises(FathomError, match=r"opening of work .* comes before completion"):
        prove([early, late])
    with pytest.raises(FathomError, match="two papers have mark"):
        prove([paper, paper])


def test_no_filler_shares_a_town_district_or_mark_with_an_item() -> None:
    facts = OF["T1.1"].facts("T1.1", 0, 0, DIALS)
    for papers in (fillers(0, 0), fillers(0, 1)):
        assert {p.town for p in papers}.isdisjoint(p.town for p in facts.papers)
        assert {p.district for p in papers}.isdisjoint(p.district for p in facts.papers)
        assert {p.mark for p in papers}.isdisjoint(p.mark for p in facts.papers)


def test_a_stage_never_gives_a_sum_or_person_twice() -> None:
    import random

    stage = Stage.of(random.Random(0))
    projects = [stage.project(work, ("vote", "contract", "completion", "gift")) for work in range(6)]
    sums = [record.values["money"] for project in projects for record in project]
    assert len(set(sums)) == len(sums)


def test_sentences_start_with_a_capital_and_have_no_open_slot() -> None:
    for language in LANGUAGES:
        writer = Writer(0, language)
        for paper in fillers(0, 0)[:60]:
            passage = passage_of(writer, paper)
            assert not re.search(r"[{}]|  |\bNone\b", passage.title + passage.text)
            for line in passage.text.split("\n"):
                assert line.lstrip("“")[0].isupper() or line[0].isdigit() or language == "zh"


@pytest.mark.slow
def test_every_task_is_built_at_every_length_within_its_budget_and_nested(built: BuiltSuite) -> None:
    texts = built.texts()
    for name in get_suite("world").tasks:
        samples = [sample for sample in built.samples(tasks=[name]) if sample.length]
        assert {sample.language for sample in samples} == {"en", "zh"}
        assert len(samples) == len(LENGTHS) * 2
        by_item: dict[str, list[str]] = {}
        for sample in samples:
            assert 0.99 * sample.length <= sample.tokens <= sample.length
            prompt = render(sample, texts)
            headings = re.findall(r"^[A-Z]\d{4} .+$", prompt, re.MULTILINE)
            shorter = by_item.setdefault(sample.item, headings)
            # A filler at the end of the shorter context may be another one that fits.
            assert len(set(shorter) - set(headings)) <= 1
            assert sample.tokens != sample.thinking_tokens <= sample.length
            assert MARK[sample.language] in prompt


@pytest.mark.slow
def test_the_answer_is_found_in_the_built_prompt(built: BuiltSuite) -> None:
    texts = built.texts()
    for task in TASKS:
        code = task.title.split(" ")[0]
        for sample in built.samples(tasks=[task.name]):
            if not sample.length or METRICS[code] == "Summary":
                continue
            language: Language = "zh" if sample.language == "zh" else "en"
            solved = OF[code].solve(render(sample, texts), sample.asked, code, language)
            assert sorted(solved) == sorted(sample.targets), sample.id


@pytest.mark.slow
def test_equal_seeds_build_equal_suites(built: BuiltSuite, tmp_path: Path) -> None:
    name = "world_t3_2"
    once = [open_suite(build(configure(name, lengths=(8192,), items=2, tokenizer="words"), tmp_path / out).folder)
            for out in ("a", "b")]  # fmt: skip
    assert [list(suite.samples()) for suite in once[:1]] == [list(suite.samples()) for suite in once[1:]]


def test_a_task_of_the_world_needs_no_documents() -> None:
    assert configure("world_t3_2").corpus == ()
    assert get_task("world_t8_2").metric == "sub_em"
