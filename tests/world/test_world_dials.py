"""Dials of the world: what they change, that answers still follow from the text, and twins that differ in one thing."""

from __future__ import annotations

import json
import re
from itertools import combinations, islice
from pathlib import Path
from random import Random

import polars as pl
import pytest

from engine_calls import configure
from fathom.benchmarks.world.tasks import DIALS, OF, asked
from fathom.options.values import dials_of as read_dials
from fathom.suites.build import build
from fathom.suites.build.config import settings_of
from fathom.suites.registry import get_task
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.tokens.length import render
from fathom.types import Facet, FathomError
from fathom.world.annals.case import NONE, mixed
from fathom.world.asides import teller
from fathom.world.dials import BOOKS, HEEDED, IN_ORDER, PAPERS, STATE, TWINS, dials_of, settled
from fathom.world.facts import GENRES, SLOTS
from fathom.world.names import Names, grammar
from fathom.world.reading import papers_of
from fathom.world.types import Dials, Language, Passage

LANGUAGES: tuple[Language, ...] = ("en", "zh")
each_language = pytest.mark.parametrize("language", LANGUAGES)
LENGTHS = (8192, 12288)
# Words of questions that say nothing of the subject.
PLAIN = frozenset(re.findall(
    "[a-z]+",
    "the of in to a for was what which who how many at on did that so could be had it and were when up by after over",
))  # fmt: skip


def text_of(passages: list[Passage]) -> str:
    ordered = sorted(passages, key=lambda passage: passage.place)
    return "\n\n".join(f"{passage.title}\n{passage.text}" for passage in ordered)


def solved(code: str, number: int, dials: Dials, language: Language) -> tuple[list[str], list[str]]:
    """The answers of an item from the facts and from the text."""
    family = OF[code]
    facts = family.facts(code, 6, number, dials)
    problem, passages = family.problem(facts, code, language), list(family.passages(facts, language))
    around = list(islice(family.siblings(facts, language), 4))
    text = text_of([*around[:2], *passages, *around[2:]])
    return sorted(problem.answers), sorted(family.solve(text, asked(problem, language), code, language))


SETTINGS = [
    (code, {name: value})
    for code, dials in HEEDED.items()
    for name, dial in dials.items()
    if name not in ("spread", "order", "noise")
    for value in dict.fromkeys((*dial.words, *(dial.read(f"{end:g}") for end in (dial.least, dial.most))))
    if value is not None and value != dial.default
]


@each_language
@pytest.mark.parametrize(
    ("code", "setting"),
    [
        pytest.param(*case, marks=pytest.mark.slow if case[0] == "T6.3" or case[1] == {"density": 0.1} else ())
        for case in SETTINGS
    ],
    ids=str,
)
def test_at_every_end_of_a_dial_the_answer_follows_from_the_text(
    code: str, setting: dict[str, Facet], language: Language
) -> None:
    for number in range(2):
        gold, read = solved(code, number, dials_of(setting), language)
        assert gold == read, number


@pytest.mark.slow
@pytest.mark.parametrize("code", HEEDED)
def test_ends_of_any_two_dials_go_together(code: str) -> None:
    ends = [setting for own, setting in SETTINGS if own == code]
    for first, second in combinations(ends, 2):
        if first.keys() != second.keys():
            for number in range(3):
                assert OF[code].facts(code, 3, number, dials_of(first | second))


@pytest.mark.slow
def test_a_twin_with_one_near_paper_exists_for_every_item() -> None:
    for number in range(150):
        sides = [OF["T6.2"].facts("T6.2", 3, number, Dials(near=1, counterfactual=twin)) for twin in (False, True)]
        assert sides[0].needed != sides[1].needed or sides[0].papers != sides[1].papers


def test_every_task_has_dials_and_none_that_it_does_not_heed() -> None:
    assert set(HEEDED) == set(OF) == {*PAPERS, *BOOKS, *STATE}
    for code in OF:
        task = get_task("world_" + code.lower().replace(".", "_"))
        assert task.dials == HEEDED[code]
        assert ("names" in task.dials) == (code not in STATE)
        assert ("order" in task.dials) == (code in IN_ORDER)
        assert settled(code, DIALS).near == HEEDED[code]["near"].default if "near" in HEEDED[code] else True


def test_the_districts_of_towns_are_mixed() -> None:
    assert mixed(3, 3) == [0, 1, 0, 1, 0, 1]
    assert mixed(2, 4, 2) == [0, 1, 2, 0, 1, 2]
    assert mixed(3, 1) == [0, 1, 0, 0]
    assert mixed(1, 4) == [0, 1, 1, 1, 1]


@each_language
@pytest.mark.parametrize("code", TWINS)
def test_a_counterfactual_twin_has_another_answer_and_the_same_question_and_numbers(
    code: str, language: Language
) -> None:
    family = OF[code]
    for number in range(8):
        sides = [family.facts(code, 6, number, Dials(counterfactual=turn)) for turn in (False, True)]
        first, second = (family.problem(facts, code, language) for facts in sides)
        assert first.question == second.question
        assert first.options == second.options
        assert first.answers != second.answers
        texts = [text_of(list(family.passages(facts, language))) for facts in sides]
        lines = [text.split("\n") for text in texts]
        assert len(lines[0]) == len(lines[1])
        assert 0 < sum(one != other for one, other in zip(*lines, strict=True)) <= 6
        if code in PAPERS:  # values are exchanged, so that none is more frequent than before
            assert sorted(re.findall(r"\d+", texts[0])) == sorted(re.findall(r"\d+", texts[1]))


@each_language
@pytest.mark.parametrize("code", ["T3.1", "T3.2", "T5.1"])
def test_papers_without_an_answer_lack_what_tells_it_and_nothing_else(code: str, language: Language) -> None:
    family = OF[code]
    for number in range(4):
        there, gone = (family.facts(code, 6, number, Dials(unanswerable=side)) for side in (False, True))
        first, second = (family.problem(facts, code, language) for facts in (there, gone))
        assert (first.question, first.options) == (second.question, second.options)
        assert set(second.answers) == (
            {"E"} if code != "T5.1" else {f"{letter}: {NONE[language]}" for letter in "ABCDEF"}
        )
        read = [papers_of(text_of(list(family.passages(facts, language))), language) for facts in (there, gone)]
        told = [{(paper.mark, each.work, each.act) for paper in papers for each in paper.reported} for papers in read]
        assert told[1] < told[0]
        assert len(told[0]) - len(told[1]) == len(gone.left_out)


@pytest.mark.parametrize("code", ["T3.1", "T3.2"])
def test_the_answer_that_papers_do_not_say_it_is_offered_where_the_dial_is_chosen(code: str) -> None:
    for side, is_offered in ((None, False), (False, True), (True, True)):
        facts = OF[code].facts(code, 6, 0, Dials(unanswerable=side))
        problem = OF[code].problem(facts, code, "en")
        assert ("letter E" in problem.question) == is_offered
        assert problem.chance == (1 / 5 if is_offered else 1 / 4)


def fillers_of(code: str, noise: float, language: Language) -> dict[str, Passage]:
    siblings = OF[code].siblings(OF[code].facts(code, 6, 0, Dials(noise=noise)), language)
    return {passage.key: passage for passage in islice(siblings, 72)}


@each_language
def test_more_noise_makes_more_fillers_tell_no_facts_and_changes_no_other(language: Language) -> None:
    without, some, only = (fillers_of("T7.1", noise, language) for noise in (0, 0.4, 1))
    assert without.keys() == some.keys() == only.keys()
    changed = [key for key in without if some[key] != without[key]]
    assert 15 < len(changed) < 45
    assert all(some[key] == only[key] for key in changed)
    read = papers_of(text_of([*only.values()]), language)
    assert len(read) == len(only)
    assert not any(paper.reported or paper.links for paper in read)


def test_noise_puts_papers_in_the_place_of_books() -> None:
    books = [sum(key.startswith("ledger") for key in fillers_of("T8.2", noise, "en")) for noise in (0, 0.4, 1)]
    assert books[0] > books[1] > books[2] == 0


@each_language
@pytest.mark.parametrize("density", [0.5, 0.2])
def test_the_density_is_the_share_of_sentences_that_tell_facts(density: float, language: Language) -> None:
    plain, thin = (
        text_of([*OF["T1.1"].passages(OF["T1.1"].facts("T1.1", 6, 0, Dials(density=each)), language)])
        for each in (1, density)
    )
    told = [
        [(paper.mark, paper.links, [(each.work, each.act, each.values) for each in paper.reported]) for paper in papers]
        for papers in (papers_of(text, language) for text in (plain, thin))
    ]
    assert told[0] == told[1]
    facts = sum(len(links) + len(records) for _, links, records in told[0])
    sentences = [len(re.findall(r"[.?!](?=\s|$)|[。？！]", text)) for text in (plain, thin)]
    assert density * 0.7 < facts / (facts + sentences[1] - sentences[0]) < density * 1.3


@each_language
def test_real_and_invented_names_tell_the_same_world(language: Language) -> None:
    for code in ("T1.1", "T3.1", "T8.2"):
        sides = [OF[code].facts(code, 6, 1, Dials(names=kind)) for kind in ("invented", "real")]
        problems = [OF[code].problem(facts, code, language) for facts in sides]
        passages = [OF[code].passages(facts, language) for facts in sides]
        assert problems[0].answers == problems[1].answers
        assert problems[0].question != problems[1].question
        assert [len(passage.evidence) for passage in passages[0]] == [len(passage.evidence) for passage in passages[1]]


def test_real_names_are_as_many_as_invented_ones_and_no_town_is_a_district() -> None:
    for language in LANGUAGES:
        invented, real = (grammar(name)[language] for name in ("names", "real_names"))
        assert set(invented) == set(real)
        for part, names in real.items():
            assert part == "firm" or len(set(names)) == len(invented[part]) == len(names)
        towns = {Names(0, language, "real").town(number).removesuffix("镇") for number in range(1288)}
        assert not towns & set(real["districts"])


def words_of(text: str, language: Language) -> set[str]:
    """Words, or pairs of Chinese characters, without those that say nothing of the subject."""
    if language == "en":
        return set(re.findall("[a-z]+", text.lower())) - PLAIN
    return {
        pair
        for place in range(len(text))
        if re.fullmatch("(?![了的]|.[了的]|是在)[\u4e00-\u9fff]{2}", pair := text[place : place + 2])
    }


@pytest.mark.slow
@each_language
def test_a_question_in_other_words_shares_none_with_its_evidence_and_a_literal_one_does(language: Language) -> None:
    for number in range(60):
        for paraphrase in (0, 1):
            facts = OF["T3.2"].facts("T3.2", 6, number, Dials(paraphrase=paraphrase))
            question = OF["T3.2"].problem(facts, "T3.2", language).question
            passage = next(each for each in OF["T3.2"].passages(facts, language) if each.evidence)
            sentence = passage.text[slice(*passage.evidence[0])]
            assert bool(words_of(question, language) & words_of(sentence, language)) != bool(paraphrase), question


@each_language
def test_no_question_in_other_words_shares_one_with_any_plan_or_lead(language: Language) -> None:
    table, other = grammar(language), grammar("other_words")
    writer = teller(Random(0), language, "Oldham", 5)
    writer.someone = str
    slots = dict.fromkeys(("work", *{slot for slots in SLOTS.values() for slot in slots}), "#")
    leads = [writer.phrase(f"lead.{genre}") for genre in GENRES for _ in range(150)]
    for act in table["acts"]:
        plans = [writer.phrase(f"act.{act}", **slots) for _ in range(400)]
        told = set[str]().union(*(words_of(text, language) for text in (*plans, *leads)))
        for slot in other[act].values():
            asked_for = words_of(re.sub(r"\{\w+\}", "#", slot[language]), language)
            assert not asked_for & told, (act, asked_for & told)
        for name, work in zip(table["works"], other["works"][language], strict=True):
            assert not words_of(work, language) & (told | words_of(name, language)), (act, work)


def test_values_of_dials_are_read_and_others_refused() -> None:
    hops, spread, order = HEEDED["T3.1"]["hops"], HEEDED["T3.1"]["spread"], HEEDED["T3.1"]["order"]
    assert (hops.read("3"), hops.read("5"), hops.read("2.5"), hops.read("many")) == (3, None, None, None)
    assert (spread.read("0.25"), spread.read("1"), spread.read("1.5")) == (0.25, 1, None)
    assert (order.read("reverse"), order.read("1"), str(hops)) == ("reverse", None, "2 to 4")


@pytest.mark.parametrize("given", ["foo", "hops=", "=2"])
def test_a_dial_without_values_is_answered_with_the_form_of_a_dial(given: str) -> None:
    with pytest.raises(FathomError, match="expected DIAL=VALUE,VALUE, for instance hops=2,3"):
        read_dials([given])
    assert read_dials(["hops=2,3"]) == {"hops": ("2", "3")}


def test_settings_are_all_values_with_each_other_and_those_that_a_task_does_not_take_are_left_out() -> None:
    task = get_task("world_t3_1")
    settings = settings_of(task, [("hops", ("1", "2", "3")), ("order", ("forward", "reverse")), ("noise", ("1",))])
    assert [(setting["hops"], setting["order"]) for setting in settings] == [
        (2, "forward"), (2, "reverse"), (3, "forward"), (3, "reverse"),
    ]  # fmt: skip
    assert settings[0]["names"] == "invented"
    assert len(settings_of(task, [("hops", ("1",))])) == 1


@pytest.mark.parametrize(
    ("dials", "message"),
    [
        ({"hop": ("2",)}, "has no such dial"),
        ({"hops": ("9",)}, "`dials` hops=9: expected 2 to 4"),
        ({"hops": ("2", "3"), "order": ("forward", "reverse")}, "4 settings, of which 3 items cannot take all"),
    ],
)
def test_a_dial_that_cannot_be_set_is_named(dials: dict[str, tuple[str, ...]], message: str) -> None:
    with pytest.raises(FathomError, match=re.escape(message)):
        configure("world_t3_1", dials=dials, items=3)


TASKS = "world_t3_1,world_t3_2,world_t8_3"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> BuiltSuite:
    dials = {"hops": ("2", "3"), "spread": ("0", "1"), "order": ("forward", "reverse"), "paraphrase": ("0", "1")}
    wanted = configure(TASKS, lengths=LENGTHS, items=8, tokenizer="words", dials=dials, languages=("en",))
    return open_suite(build(wanted, tmp_path_factory.mktemp("dials") / "suite").folder)


def prompts_of(built: BuiltSuite, task: str, length: int) -> list[tuple[dict[str, object], str]]:
    texts = built.texts()
    return [
        (dict(sample.facets), render(sample, texts))
        for sample in built.samples(tasks=[task])
        if sample.length == length
    ]


@pytest.mark.slow
def test_rows_name_the_settings_of_their_item_and_only_dials_that_the_task_heeds(built: BuiltSuite) -> None:
    frame = pl.read_parquet(built.folder / "samples.parquet").filter(pl.col("length") > 0)
    for row in frame.iter_rows(named=True):
        facets = json.loads(row["facets"])
        code = facets["secondary_task"].split(" ")[0]
        assert facets.keys() & set().union(*HEEDED.values()) == HEEDED[code].keys()
        assert 0.99 * row["length"] <= row["tokens"] <= row["length"]
    settings = frame.filter(pl.col("task") == "world_t3_1")["facets"].str.json_path_match("$.order").to_list()
    assert settings.count("forward") == settings.count("reverse") == 8


def test_items_of_one_round_share_a_cluster_and_their_facts(built: BuiltSuite) -> None:
    samples = [sample for sample in built.samples(tasks=["world_t3_2"]) if sample.length == LENGTHS[0]]
    clusters = [str(sample.facets["cluster"]) for sample in samples]
    assert len(samples) == 8
    assert {clusters.count(name) for name in clusters} == {2}
    texts = built.texts()
    literal, other = samples[:2]
    assert literal.targets == other.targets
    assert render(literal, texts).split("\n\nWho")[0][:4000] == render(other, texts)[:4000]


def test_spread_and_order_say_where_the_evidence_stands(built: BuiltSuite) -> None:
    for length in LENGTHS:
        for facets, prompt in prompts_of(built, "world_t3_1", length):
            options = dict(re.findall(r"^([A-D])\. (.+)$", prompt, re.MULTILINE))
            assert len(options) == 4
            number = next(n for n in range(8) if facets["cluster"] == f"0|T3.1|en|{n}")
            facts = OF["T3.1"].facts("T3.1", 0, number, dials_of({"hops": int(str(facets["hops"]))}))
            used = sorted(
                (passage for passage in OF["T3.1"].passages(facts, "en") if passage.turn), key=lambda each: each.turn
            )
            places = [prompt.index(passage.title) for passage in used]
            assert len(used) >= 2
            ascending = places == sorted(places)
            assert ascending == (facets["order"] == "forward")
            gap = max(places) - min(places)
            if facets["spread"] == 0:
                assert gap <= sum(len(passage.title) + len(passage.text) + 9 for passage in used)


@pytest.mark.slow
def test_equal_seeds_and_dials_build_equal_suites(tmp_path: Path) -> None:
    folders = []
    for out in ("a", "b"):
        wanted = configure("world_t3_2", lengths=(8192,), items=4, tokenizer="words", dials={"near": ("3", "6")})
        folders.append(build(wanted, tmp_path / out).folder)
    for name in ("samples.parquet", "documents.parquet"):
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()
