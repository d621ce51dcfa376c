"""What a careful reader would check: contradictions, dates, news, causes, marks, and where fillers are cut."""

from __future__ import annotations

import ast
import re
from collections import Counter
from itertools import combinations, islice

import pytest

from fathom.benchmarks.world.tasks import AT_LEAST, DIALS, OF, asked, ends
from fathom.world.annals.builders import WRONG
from fathom.world.facts import ACTS, Record, fillers
from fathom.world.ledger import _filler_pages
from fathom.world.names import OWN_MARKS, grammar
from fathom.world.reading import date_in
from fathom.world.types import Dials, Language, Passage

LANGUAGES: tuple[Language, ...] = ("en", "zh")
HAPPENS_ONCE = ("contract", "completion", "opening")
BUILDER = ("contract", "payment", "completion")
each_language = pytest.mark.parametrize("language", LANGUAGES)


def contradict(first: Record, second: Record) -> bool:
    """Whether two records of one work cannot both be true."""
    if first.act in BUILDER and second.act in BUILDER and first.values["firm"] != second.values["firm"]:
        return True
    return first.act == second.act and first.act in HAPPENS_ONCE and first.values != second.values


def test_exactly_the_planted_pairs_contradict_each_other() -> None:
    for number in range(60):
        facts = OF["T7.1"].facts("T7.1", 2, number, DIALS)
        reported = [(paper, record) for paper in facts.papers for record in paper.records]
        found = {
            frozenset((paper.mark, other_paper.mark))
            for (paper, record), (other_paper, other) in combinations(reported, 2)
            if (paper.town, record.work) == (other_paper.town, other.work) and contradict(record, other)
        }
        assert found == set(map(frozenset, facts.asked["pairs"]))
        kinds = [(paper.town, record.work, record.act) for paper, record in reported]
        assert {kind[2] for kind in kinds if kinds.count(kind) > 1} <= set(HAPPENS_ONCE)


def test_no_effect_is_told_in_an_earlier_paper_than_its_cause() -> None:
    for number in range(40):
        papers = OF["T2.2"].facts("T2.2", 2, number, DIALS).papers
        days = {(paper.town, effect): paper.day for paper in papers for _, effect in paper.links}
        for paper in papers:
            assert all(days.get((paper.town, cause), paper.day) <= paper.day for cause, _ in paper.links)


@pytest.mark.slow
def test_neither_acts_nor_other_papers_of_the_towns_tell_the_order_of_events() -> None:
    right: dict[str, list[bool]] = {"act": [], "first paper": [], "last paper": []}
    for number in range(100):
        facts = OF["T2.1"].facts("T2.1", 2, number, DIALS)
        days = [facts.entry(*event)[0].day for event in facts.asked["events"]]
        of_town = [[paper.day for paper in facts.papers if paper.town == town] for town, _, _ in facts.asked["events"]]
        signs = {
            "act": [ACTS.index(act) for _, act, _ in facts.asked["events"]],
            "first paper": list(map(min, of_town)),
            "last paper": list(map(max, of_town)),
        }
        for name, values in signs.items():
            pairs = combinations(zip(days, values, strict=True), 2)
            right[name] += [(a < b) == (x < y) for (a, x), (b, y) in pairs if x != y]
    assert all(0.45 < sum(hits) / len(hits) < 0.56 for hits in right.values())


def test_no_defect_is_of_a_part_that_a_quay_or_a_bridge_lacks() -> None:
    for language, lacking in (("en", "wall|cellar|roof|door|pane|window"), ("zh", "墙|窖|瓦|门|窗|梁")):
        assert not re.search(lacking, " ".join(grammar(language)["defects"]))


@pytest.mark.slow
def test_how_often_all_papers_tell_of_works_says_nothing_of_their_order_in_the_district() -> None:
    for number in range(10):
        facts = OF["T6.3"].facts("T6.3", 2, number, DIALS)
        told = Counter(record.work for paper in facts.papers for record in paper.records)
        own = Counter(r.work for p in facts.papers if p.district == facts.asked["district"] for r in p.records)
        ranked = sorted(facts.asked["works"], key=own.__getitem__)
        leads = [(told[more] - told[less]) / (told[more] + told[less]) for less, more in combinations(ranked, 2)]
        assert sum(lead > 0 for lead in leads) == sum(lead < 0 for lead in leads)
        assert abs(sum(leads)) <= 0.2


def test_the_chance_of_counts_is_the_share_of_the_most_frequent_number_over_all_items() -> None:
    problems = [OF["T6.1"].problem(OF["T6.1"].facts("T6.1", 2, number, DIALS), "T6.1", "en") for number in range(150)]
    counts = Counter(line.partition(": ")[2] for problem in problems for line in problem.answers)
    assert max(counts.values()) / counts.total() == pytest.approx(problems[0].chance, abs=0.03)


@pytest.mark.parametrize("code", ["T5.1", "T5.2"])
def test_no_statement_of_a_list_betrays_that_another_one_is_false(code: str) -> None:
    for number in range(60):
        claims = OF[code].facts(code, 3, number, DIALS).asked["claims"]
        values = [pair for _, r in claims for pair in r.values.items() if pair[0] in ("person", "money", "count")]
        assert len(set(values)) == len(values)
        builders = {(town, r.work, r.values["firm"]) for town, r in claims if r.act in BUILDER}
        assert len(builders) == len({(town, work) for town, work, _ in builders})


@pytest.mark.slow
@each_language
def test_a_date_is_a_market_day_in_a_whole_context_or_it_is_none(language: Language) -> None:
    for number in range(30):
        facts = OF["T7.2"].facts("T7.2", 2, number, DIALS)
        passages = [*OF["T7.2"].passages(facts, language), *islice(OF["T7.2"].siblings(facts, language), 40)]
        days: dict[tuple[int, int, int], set[bool]] = {}
        for passage in passages:
            for head in re.findall(r"^[A-Z]-\d{4}[^:：]*[:：]", passage.text, re.MULTILINE):
                if not re.search("roll|名册|amendment|修订", head):
                    days.setdefault(date_in(head, language), set()).add(bool(re.search("market day|集日", head)))
        assert set().union(*days.values()) == {False, True}
        assert all(len(said) == 1 for said in days.values())


def test_no_day_has_two_entries_of_the_article_asked_for() -> None:
    for number in range(60):
        facts = OF["T7.2"].facts("T7.2", 2, number, DIALS)
        days = [entry.day for entry in facts.entries if entry.article]
        assert len(set(days)) == len(days)
        text = OF["T7.2"].passages(facts, "en")[0].text
        assert "week" not in text


@pytest.mark.slow
def test_only_the_work_betrays_a_wrong_builder() -> None:
    for number in range(40):
        facts = OF["T7.3"].facts("T7.3", 2, number, DIALS)
        wrong, of_work = dict(facts.asked["wrong"]), dict[tuple[int, int], Counter[int]]()
        days: dict[tuple[int, int, str], list[int]] = {}
        for paper in facts.papers:
            builders = [record for record in paper.records if record.act in BUILDER]
            assert len({record.values["firm"] for record in builders}) == len(builders)
            for record in builders:
                of_work.setdefault((paper.town, record.work), Counter())[record.values["firm"]] += 1
                days.setdefault((paper.town, record.values["firm"], record.act), []).append(paper.day)
        named = [firms.most_common() for firms in of_work.values()]
        assert sorted(firms[1][0] for firms in named if len(firms) > 1) == sorted(wrong.values())
        assert all([times for _, times in firms] in ([3], [2, 1]) for firms in named)
        assert len(wrong) == sum(WRONG)
        assert all(len(each) == 1 for each in days.values())
        for town, firm in {(town, firm) for town, firm, _ in days}:
            assert days[town, firm, "contract"] < days[town, firm, "payment"] < days[town, firm, "completion"]


@each_language
@pytest.mark.parametrize("hops", [2, 3])
def test_what_a_promise_rests_on_is_told_before_the_end_of_the_day_asked_about(language: Language, hops: int) -> None:
    family, dials = OF["T11.1"], Dials(hops=hops)
    for number in range(60):
        facts = family.facts("T11.1", 2, number, dials)
        problem = family.problem(facts, "T11.1", language)
        until = date_in(problem.question, language)
        heard = [p.text for p in family.passages(facts, language) if date_in(p.text, language) <= until]
        assert family.solve("\n\n".join(heard), asked(problem, language), "T11.1", language) == problem.answers


def test_books_that_fill_contexts_have_no_mark_of_an_item_or_of_papers_among_them() -> None:
    for group in (0, 1, 7, 50):
        marks = {page.mark for page in _filler_pages(1, group)}
        assert min(marks) >= OWN_MARKS
        assert marks.isdisjoint(paper.mark for paper in fillers(1, group))


def written(passage: Passage) -> str:
    return f"{passage.title}\n{passage.text}" if passage.title else passage.text


@pytest.mark.parametrize("code", sorted(OF))
@each_language
def test_a_cut_filler_ends_where_a_part_ends_and_has_more_than_its_heading(code: str, language: Language) -> None:
    family, cuts = OF[code], 0
    facts = family.facts(code, 2, 0, DIALS)
    for passage in islice(family.siblings(facts, language), 20):
        text = written(passage)
        for end in ends(text):
            start, cuts = text[:end], cuts + 1
            if "\ndef " in text:
                assert ast.parse(start).body[-1].lineno > 1
                assert "\ndef " in start
            else:
                assert text[end] == "\n" or start[-1] in ".。"
                assert len(re.findall(r"[^\n.。]+[\n.。]", f"{start}\n")) >= AT_LEAST
    assert cuts
