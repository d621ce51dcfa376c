"""The facts and questions of generated frontier tasks, before any text is around them."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice, pairwise
from random import Random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.benchmarks.babilong.tasks import ASKED, CARRIED, drawn
from fathom.benchmarks.longproc.puzzles import beliefs, links, solution, sums
from fathom.benchmarks.longproc.scoring import arithmetic
from fathom.benchmarks.oolong.scoring import DECAY
from fathom.benchmarks.oolong.tasks import BEST_CONSTANT, KINDS, MOST, RELATIONS, asked_of
from fathom.benchmarks.ruler import v2_documents, v2_questions
from frontier_solvers import letter


@given(st.integers(0, 1 << 32), st.sampled_from(sorted(ASKED)))
def test_a_person_takes_a_thing_only_where_it_lies(seed: int, task: str) -> None:
    facts, _, _ = drawn(Random(seed), task)
    places: dict[str, str] = {}
    lies: dict[str, str] = {}
    carrier: dict[str, str] = {}
    for fact in facts:
        ((person, verb, name),) = re.findall(r"^(\w+) (went to|took|put down) the (\w+)", fact)
        if verb == "went to":
            places[person] = name
        elif verb == "took":
            assert name not in carrier
            assert lies.pop(name, places[person]) == places[person], facts
            carrier[name] = person
        else:
            assert carrier.pop(name) == person
            lies[name] = places[person]


def test_each_number_of_carried_things_is_equally_often_the_answer() -> None:
    answers = Counter(drawn(Random(seed), "qa7")[2] for seed in range(300))
    assert set(answers) == set(CARRIED)
    assert all(count == pytest.approx(100, abs=35) for count in answers.values())


@given(st.integers(0, 1 << 32))
def test_a_depth_first_search_finds_equations_exactly_where_there_are_any(seed: int) -> None:
    puzzle = sums(Random(seed))
    equations = solution(puzzle.numbers, puzzle.target)
    assert equations is not None
    left = list(puzzle.numbers)
    for equation in equations:
        first, sign, second, result = re.fullmatch(r"(\d+) ([-+*/]) (\d+) = (\d+)", equation).groups()  # type: ignore[union-attr]
        left.remove(int(first))
        left.remove(int(second))
        assert arithmetic(f"{first} {sign} {second}") == int(result) > 0
        left.append(int(result))
    assert left == [puzzle.target]
    assert solution((1, 1, 1, 1), 50) is None


@given(st.integers(0, 1 << 32), st.integers(1, 14))
def test_a_person_believes_what_was_seen_last(seed: int, steps: int) -> None:
    story = beliefs(Random(seed), steps, "Ann", ("Ben", "Cleo"), ("attic", "cellar"), ("shelf", "table"))
    seen = None
    for before, step in pairwise(story):
        assert (step.room != before.room) == (step.mover == "Ann") == (step.place == before.place)
    for step in story:
        seen = step.place if step.place[1] == step.room else seen
        assert step.believed == seen


@given(st.integers(0, 1 << 32), st.integers(1, 24))
def test_every_city_has_one_connection_which_leads_to_a_city_of_the_map(seed: int, steps: int) -> None:
    route, more = links(Random(seed), steps, 30, "en")
    starts = [link.start for link in (*route, *more)]
    assert len(starts) == len(set(starts))
    assert len(route) == steps
    for count in range(1, len(more) + 1):
        assert {link.end for link in (*route, *more[:count])} <= set(starts[: steps + count])


@pytest.mark.parametrize("kind", KINDS)
def test_no_constant_scores_more_than_the_stated_chance(kind: str) -> None:
    answers = [asked_of(Random(seed), list("abcdef"), kind).answer for seed in range(3000)]
    if kind == "number":
        best = max(fmean(DECAY ** abs(guess - int(answer)) for answer in answers) for guess in range(MOST + 1))
        assert best == pytest.approx(BEST_CONSTANT, abs=0.02)
    else:
        possible = 6 if kind == "most" else 3
        assert max(Counter(answers).values()) / len(answers) == pytest.approx(1 / possible, abs=0.03)


@given(st.integers(0, 1 << 32), st.sampled_from(KINDS))
def test_the_answer_follows_from_the_counts(seed: int, kind: str) -> None:
    asked = asked_of(Random(seed), list("abcdef"), kind)
    first, second = asked.counts[:2]
    if kind == "number":
        assert asked.answer == first
    elif kind == "most":
        assert asked.counts[asked.options.index(str(asked.answer))] == max(asked.counts) > sorted(asked.counts)[-2]
    else:
        assert asked.answer == RELATIONS[(first < second) + 2 * (first == second)]


@given(st.integers(0, 1 << 32))
def test_a_question_of_rulerv2_has_four_options_of_which_the_right_one_follows_from_its_text(seed: int) -> None:
    made = v2_questions.choice(Random(seed), v2_questions.TEXTS["en"])
    assert made.text == f"{made.setting} {made.asked}"
    values = [int(value) for value in re.findall(r"[A-D]\. (\d+)", made.text)]
    assert len(set(values)) == 4
    assert min(values) > 0
    assert letter(made.text) == made.letter


@given(st.integers(0, 1 << 32), st.sampled_from(["en", "zh"]))
def test_only_food_is_harvested_or_kept_in_a_cellar(seed: int, language: str) -> None:
    texts = v2_questions.TEXTS[language]
    made = v2_questions.choice(Random(seed), texts)
    foods, things = texts["foods"].split(","), texts["things"].split(",")
    assert not set(foods) & set(things)
    eaten = re.search("harvest was|cellar|星期一收了|地窖", made.text) is not None
    named = re.search(r"(?:was|the) \d+ (\w+)[; ]|[了的]\d+个(.+?)(?:；|坏)", made.setting) if eaten else None
    assert bool(named) == eaten
    assert named is None or (named[1] or named[2]) in foods


@given(st.integers(0, 1 << 32), st.sampled_from(["en", "zh"]))
def test_people_keep_few_hives_and_live_until_their_book_is_old(seed: int, language: str) -> None:
    person = v2_documents.chain(Random(seed), v2_documents.TEXTS[language], 2).person
    text = "\n".join(person.sentences)
    hives = re.search(r"kept (\d+) hives|养了(\d+)箱", text)
    early, late = map(int, re.findall(r"\b\d{4}|(?<=于)\d{4}", person.sentences[0]))
    assert hives is not None
    assert int(hives[1] or hives[2]) <= 40
    assert late - early >= 60


@pytest.mark.parametrize("kind", v2_questions.KINDS)
def test_the_right_option_is_as_often_each_letter_and_each_in_size(kind: str) -> None:
    rng, letters, sizes = Random(kind), Counter[str](), Counter[int]()
    for _ in range(4000):
        answer = v2_questions.KINDS[kind](rng).answer
        shuffled, right = v2_questions.options(rng, answer)
        letters[right] += 1
        sizes[sorted(shuffled).index(answer)] += 1
    assert all(count == pytest.approx(1000, abs=150) for count in (*letters.values(), *sizes.values()))


@given(st.integers(0, 1 << 32), st.sampled_from(["en", "zh"]))
def test_a_question_of_rulerv2_needs_two_documents_which_no_other_is_about(seed: int, language: str) -> None:
    asked = v2_documents.chain(Random(seed), v2_documents.TEXTS[language], 10)
    others = list(islice(asked.others, 10))
    titles = [text.title for text in (asked.person, asked.town, *others)]
    assert len(set(titles)) == 12
    assert asked.person.title in asked.question
    assert asked.town.title not in asked.question
    assert asked.town.title in (asked.person.names["born"], asked.person.names["worked"])
    assert any(asked.answer in sentence for sentence in asked.town.sentences)
    for text in others:
        assert not any(asked.person.title in sentence for sentence in text.sentences)
