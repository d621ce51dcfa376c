"""Offline baselines on parts to be put in order and on answers to choose among, whole and cut."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from math import sqrt
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_calls import configure
from fathom.benchmarks.ada import bestanswer_prompt, tsort
from fathom.models.baselines import baseline_client, baselines, get_baseline
from fathom.models.baselines.lexical import in_order
from fathom.models.baselines.parsing import KINDS, Kind, find_pieces, parse_prompt
from fathom.models.form import Heading, PromptForm, form_of
from fathom.models.protocol import Call
from fathom.suites.build import build
from fathom.suites.registry import get_task, tasks
from fathom.suites.suitefile import open_suite
from fathom.tokens.length import render
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import AnswerKind, Sample, Span
from made_books import write_books
from made_threads import write_cases, write_threads

pytestmark = pytest.mark.slow

NAMES = sorted(name for name in tasks() if name.startswith(("tsort", "bestanswer")))
LENGTHS, CUT = (2048, 4096), 1024
THINGS = {
    "en": "lantern ledger harbour orchard bridge kettle anchor mirror saddle violin ladder barrel compass",
    "zh": "灯笼 账册 港口 果园 石桥 水壶 船锚 镜子 马鞍 胡琴 梯子 木桶 罗盘",
}
FILLER = {"en": "He said that they had been there before. ", "zh": "他说他们以前到过那里。"}

Prompts = list[tuple[Sample, str]]
Made = tuple[str, PromptForm]


@pytest.fixture(scope="module")
def prompts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prompts]:
    """Both kinds of task in both languages, at two lengths and cut to a third."""
    folder = tmp_path_factory.mktemp("ada")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FATHOM_CACHE", str(folder / "cache"))
        wanted = configure(
            ",".join(NAMES),
            books=[str(write_books(folder))],
            threads=[str(write_threads(folder, 60, ("en", "zh")))],
            cases=[str(write_cases(folder, 6, ("en", "zh")))],
            lengths=LENGTHS,
            truncate=(CUT,),
            items=6,
            tokenizer="words",
        )
        suite = open_suite(build(wanted, folder / "suite").folder)
        texts = suite.texts()
        yield [(sample, render(sample, texts)) for sample in suite.samples()]


def whole(prompts: Prompts) -> Prompts:
    return [(sample, prompt) for sample, prompt in prompts if "cut_from" not in sample.facets]


def number_of(sample: Sample) -> int:
    return int(sample.inputs["answers" if sample.task.startswith("bestanswer") else "segments"])


def is_order(reply: str, number: int) -> bool:
    return sorted(json.loads(reply.removeprefix("Answer: "))) == list(range(1, number + 1))


def known(sample: Sample) -> PromptForm:
    return form_of(sample, get_task(sample.task).answer)


def made(kind: AnswerKind, parts: Sequence[str], count: int, language: str, example: str) -> Made:
    """A prompt of parts, texts at odd places, and its form."""
    recipe = tuple(Span("d", 0, len(part)) if place % 2 else part for place, part in enumerate(parts))
    name = "segments" if kind == "order" else "answers"
    facets = {"example": example}
    sample = Sample("a", "a", "t", recipe, ("x",), 9, 9, language, facets=facets, inputs={name: count})
    return "".join(parts), form_of(sample, kind)


def parts_prompt(
    before: str, texts: Sequence[str], after: str, language: str = "en", example: Sequence[int] | None = None
) -> Made:
    """A prompt of TSort over any texts."""
    said = tsort.PROMPTS[language]
    shown = list(example or range(len(texts), 0, -1))
    intro = said["intro"].format(count=len(texts), example=json.dumps(shown), first=shown[0], last=shown[-1])
    parts = [f"{intro}\n\n{said['before']}", before]
    for number, text in enumerate(texts, start=1):
        parts += ["\n\n" + said["part"].format(number=number), text]
    parts += ["\n\n" + said["after"], after, "\n\n" + said["question"].format(count=len(texts))]
    return made("order", parts, len(texts), language, json.dumps(shown))


def answers_prompt(question: str, answers: Sequence[str], language: str = "en", example: str = "A1") -> Made:
    """A prompt of BestAnswer over any texts."""
    said, count = bestanswer_prompt.PROMPTS[language], len(answers)
    parts = [said["intro"].format(answers=count, example=example), question]
    for number, text in enumerate(answers, start=1):
        parts += [said["header"].format(number=number), text]
    return made("label", [*parts, "\n\n" + said["closing"].format(answers=count)], count, language, example)


def chained(count: int, language: str) -> tuple[str, list[str], str]:
    """Texts each of which begins with the thing that the one before it ended with, in their order."""
    gap = " " if language == "en" else "，"
    things = THINGS[language].split()[: count + 1]
    texts = [f"{first}{gap}{FILLER[language] * 3}{second}" for first, second in pairwise(things)]
    return FILLER[language] + things[0], texts, f"{things[-1]}{gap}{FILLER[language]}"


@pytest.mark.parametrize("name", NAMES)
def test_whole_prompts_are_understood(prompts: Prompts, name: str) -> None:
    found = [(sample, prompt) for sample, prompt in whole(prompts) if sample.task == name]
    assert {sample.language for sample, _ in found} == set(get_task(name).languages)
    for sample, prompt in found:
        asked, number = parse_prompt(prompt, get_task(name).answer, known(sample)), number_of(sample)
        assert (asked.kind, asked.language) == ("order" if name.startswith("tsort") else "label", sample.language)
        assert prompt.startswith(asked.context)
        assert not any(said in asked.question for said in ("Reply with", "请只回"))
        pieces = asked.pieces
        assert pieces is not None
        assert (pieces.number, list(pieces.texts)) == (number, list(range(1, number + 1)))
        assert pieces.example == sample.facets["example"]
        assert all(text and text in prompt for text in (pieces.before, *pieces.texts.values()))
        if asked.kind == "label":
            assert asked.question == sample.asked.strip()
            longest = max(pieces.texts, key=lambda label: len(pieces.texts[label]))
            assert f"A{longest}" == sample.facets["longest"]
        else:
            assert pieces.after


@pytest.mark.slow
def test_shortcuts_take_what_the_facets_say(prompts: Prompts) -> None:
    for sample, prompt in whole(prompts):
        kind = get_task(sample.task).answer
        shortcuts = ("fathom/copy", "fathom/longest", "fathom/first")
        said = {
            name: get_baseline(name)(prompt, kind, Random(0), known(sample)).removeprefix("Answer: ")
            for name in shortcuts
        }
        assert said["fathom/copy"] == sample.facets["example"]
        if sample.task.startswith("bestanswer"):
            assert (said["fathom/longest"], said["fathom/first"]) == (sample.facets["longest"], sample.facets["first"])
        else:
            assert json.loads(said["fathom/first"]) == list(range(1, number_of(sample) + 1))


def test_words_at_the_edges_tell_the_order(prompts: Prompts) -> None:
    found = [(sample, prompt) for sample, prompt in whole(prompts) if sample.task == "tsort"]
    read = get_baseline("fathom/lexical")
    scores = [
        get_task("tsort").score(read(prompt, "order", Random(0), known(sample)), sample).value
        for sample, prompt in found
    ]
    assert sum(filter(None, scores)) / len(scores) >= 0.25  # chance is 1 in 24


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("count", [2, 4, 9, 12])
def test_finds_the_order_of_texts_that_follow_from_each_other(language: str, count: int) -> None:
    before, texts, after = chained(count, language)
    gold = Random(count).sample(range(1, count + 1), count)
    shown = [texts[gold.index(number)] for number in range(1, count + 1)]
    prompt, form = parts_prompt(before, shown, after, language)
    reply = get_baseline("fathom/lexical")(prompt, "order", Random(0), form)
    assert json.loads(reply.removeprefix("Answer: ")) == gold


def test_text_before_and_after_tell_first_and_last() -> None:
    pieces = {1: "rain fell. The ferry left.", 2: "The mill stood still."}
    assert in_order("Over the mill", pieces, "The ferry came back", Random(0)) == [2, 1]
    assert in_order("The rain fell", pieces, "", Random(0)) == [1, 2]


def test_the_best_order_is_the_best_of_all() -> None:
    from itertools import permutations

    from fathom.models.baselines.lexical import _best_path

    rng = Random(5)
    for size in (1, 2, 3, 6):
        common = [[rng.random() for _ in range(size + 1)] for _ in range(size + 1)]

        def total(path: Sequence[int], common: list[list[float]] = common, size: int = size) -> float:
            steps = pairwise([-1, *path, size])
            return sum(common[first + 1][second] for first, second in steps)

        assert total(_best_path(common)) == pytest.approx(max(map(total, permutations(range(size)))))


def test_equal_parts_stand_in_any_order() -> None:
    prompt, form = parts_prompt("One.", ["Same.", "Same.", "Same."], "Two.")
    said = {get_baseline("fathom/lexical")(prompt, "order", Random(seed), form) for seed in range(60)}
    assert all(is_order(reply, 3) for reply in said)
    assert len(said) == 6


def test_more_parts_than_any_task_has_are_put_in_order_too() -> None:
    pieces = {number: f"word{number} and so on until word{number + 1}" for number in range(1, 17)}
    assert in_order("It began with word1", pieces, "", Random(0)) == list(range(1, 17))


@pytest.mark.parametrize(
    ("answers", "choice"),
    [
        (["Buy a boat.", "Turn the valve of the pump.", "No."], "A2"),
        (["No.", "Nothing of that.", "Never this."], "A2"),  # no word in common: the longest
        (["Yes!!", "Never"], "A1"),  # as long as each other: the first
        (["", "", "pump"], "A3"),
    ],
)
def test_chooses_the_answer_that_shares_most_with_the_question(answers: list[str], choice: str) -> None:
    prompt, form = answers_prompt("How does one open the valve of a pump?", answers)
    assert get_baseline("fathom/lexical")(prompt, "label", Random(0), form) == choice


def test_the_first_of_the_longest_answers_is_taken() -> None:
    prompt, form = answers_prompt("为什么？", ["短", "一样长的", "同样长度"], "zh")
    assert get_baseline("fathom/longest")(prompt, "label", Random(0), form) == "A2"


@pytest.mark.parametrize("fake", [1, 2, 3, 5])
def test_headings_in_a_book_do_not_part_it(fake: int) -> None:
    """Those that are out of sequence; the one that would come next cannot be told apart."""
    texts = ["One.", "Two.", f"Three.\n\nPart {fake}:\nstill three.", "Four.\n\nAfter:\nstill four.", "Five."]
    prompt, form = parts_prompt("Start.\n\nBefore:\nit.", texts, "End.")
    pieces = parse_prompt(prompt, "order", form).pieces
    assert pieces is not None
    assert dict(pieces.texts) == dict(enumerate(texts, start=1))
    assert (pieces.before, pieces.after) == ("Start.\n\nBefore:\nit.", "End.")


@pytest.mark.parametrize("fake", [1, 2, 4, 99])
def test_labels_in_an_answer_do_not_part_it(fake: int) -> None:
    answers = ["One.", f"Two.\n\nA{fake}:\nstill two, as A{fake} says.\nA3:\nstill two.", "Three.", "Four.\n\nA77:\n4."]
    prompt, form = answers_prompt("Which?\n\nQuestion:\nWhy?", answers)
    pieces = parse_prompt(prompt, "label", form).pieces
    assert pieces is not None
    assert dict(pieces.texts) == dict(enumerate(answers, start=1))
    assert pieces.before == "Which?\n\nQuestion:\nWhy?"


SAID = (
    "word|a lamp|看灯|[2, 1]|Answer: A9|Reply with the word.|Before:|Part 1:|Part 2:|Part 3:|Part 12:|After:|Question:"
)
SAID += "|A1:|A2:|A3:|A120:|前文：|片段2：|后文：|问题：|A2：|"
LINES = st.sampled_from(SAID.split("|"))
TEXTS = st.lists(LINES, max_size=6).map("\n".join)


@given(TEXTS, st.lists(TEXTS, min_size=2, max_size=6), TEXTS, st.sampled_from(["en", "zh"]), st.data())
def test_an_order_has_every_part_whatever_the_texts_say(
    before: str, texts: list[str], after: str, language: str, data: st.DataObject
) -> None:
    prompt, form = parts_prompt(before, texts, after, language)
    closing = prompt.rindex("\n\n")
    start = data.draw(st.integers(0, closing))
    end = data.draw(st.integers(start, closing))
    for shown in (prompt, prompt[:start] + prompt[end:]):
        for baseline in baselines():
            assert is_order(get_baseline(baseline)(shown, "order", Random(0), form), len(texts))


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=6), st.sampled_from(["en", "zh"]))
def test_a_choice_is_one_of_the_labels_whatever_the_texts_say(question: str, answers: list[str], language: str) -> None:
    prompt, form = answers_prompt(question, answers, language)
    for baseline in baselines():
        assert get_baseline(baseline)(prompt, "label", Random(0), form) in [
            f"A{number + 1}" for number in range(len(answers))
        ]


@given(st.text(), st.sampled_from(KINDS), st.text(), st.text(), st.booleans())
def test_any_text_can_be_looked_through_for_pieces(
    text: str, kind: Kind, before: str, ending: str, inline: bool
) -> None:
    form = PromptForm("en", ending=ending, heading=Heading(before, ":", inline), closing=before)
    found = find_pieces(text, form, kind)
    assert list(found.texts) == sorted(found.texts)


@pytest.mark.parametrize("truncate", ["middle", "left", "right"])
def test_what_a_window_leaves_gets_a_valid_reply(prompts: Prompts, truncate: str) -> None:
    for name in baselines():
        client = baseline_client(f"{name}?window=512&truncate={truncate}", lambda: get_tokenizer("words"))
        for sample, _ in prompts[::5]:
            prompt = next(text for one, text in prompts if one.id == sample.id)
            call = Call(sample.id, 1, 0, 64, answer=get_task(sample.task).answer, form=known(sample))
            reply = asyncio.run(client.complete(prompt, call))
            # The published cases show A4 as an example even where there are fewer answers.
            shown = name == "fathom/copy" and sample.task == "bestanswer_published"
            assert shown or get_task(sample.task).score(reply.text, sample).valid, (sample.id, reply.text)


def test_cut_prompts_get_valid_replies(prompts: Prompts) -> None:
    cut = [(sample, prompt) for sample, prompt in prompts if "cut_from" in sample.facets]
    assert {sample.task for sample, _ in cut} >= {"tsort", "bestanswer"}
    hidden = 0
    for sample, prompt in cut:
        task = get_task(sample.task)
        pieces = parse_prompt(prompt, task.answer, known(sample)).pieces
        assert pieces is not None
        assert pieces.number == number_of(sample)
        assert pieces.example == sample.facets["example"]
        hidden += len(pieces.texts) < pieces.number
        for baseline in baselines():
            assert task.score(get_baseline(baseline)(prompt, task.answer, Random(0), known(sample)), sample).valid
    assert hidden


def test_a_choice_is_among_the_answers_that_can_be_seen() -> None:
    said, form = answers_prompt("Which pump?", ["one", "two", "three", "a pump", "five"])
    cut = said[: said.index("A2:")] + said[said.index("A5:") :]
    for name in ("fathom/lexical", "fathom/longest"):
        assert get_baseline(name)(cut, "label", Random(0), form) in ("A1", "A5")
    assert {get_baseline("fathom/guess")(cut, "label", Random(seed), form) for seed in range(60)} == {
        f"A{n}" for n in range(1, 6)
    }


def test_parts_that_cannot_be_seen_stand_anywhere() -> None:
    said, form = parts_prompt("It began.", ["one", "two", "three"], "It ended.")
    cut = said[: said.index("Part 2:")] + said[said.index("After:") :]
    assert len({get_baseline("fathom/lexical")(cut, "order", Random(seed), form) for seed in range(80)}) == 6


@pytest.mark.slow
def test_guesses_reach_the_chance_level(prompts: Prompts, monkeypatch: pytest.MonkeyPatch) -> None:
    # All rounds over a prompt parse_prompt it alike.
    monkeypatch.setattr(
        sys.modules["fathom.models.baselines.guess"], "parse_prompt", lru_cache(maxsize=1)(parse_prompt)
    )
    guess, rounds, checked = get_baseline("fathom/guess"), 100, set()
    for sample, prompt in prompts:
        if sample.task in ("tsort", "tsort_2", "tsort_3", "bestanswer", "bestanswer_published"):
            rng = Random(f"chance/{sample.id}")
            verdicts = [
                get_task(sample.task).score(guess(prompt, get_task(sample.task).answer, rng, known(sample)), sample)
                for _ in range(rounds)
            ]
            assert all(verdict.valid for verdict in verdicts)
            mean = sum(verdict.value or 0.0 for verdict in verdicts) / rounds
            band = 4.5 * sqrt(sample.chance * (1 - sample.chance) / rounds)
            assert abs(mean - sample.chance) <= band, (sample.id, mean, sample.chance)
            checked.add(sample.task)
    assert len(checked) == 5


def test_the_same_dice_give_the_same_reply_in_every_process(prompts: Prompts) -> None:
    code = (
        "import pickle, sys; from random import Random; from fathom.models.baselines import get_baseline, baselines; "
        "prompt, form = pickle.load(sys.stdin.buffer); "
        "print(*(get_baseline(name)(prompt, sys.argv[1], Random(3), form) for name in baselines()))"
    )
    for name in ("tsort_8", "bestanswer"):
        kind = get_task(name).answer
        prompt, form = next((p, known(s)) for s, p in whole(prompts) if s.task == name)
        said = {
            subprocess.run(
                [sys.executable, "-c", code, kind],
                input=pickle.dumps((prompt, form)),
                capture_output=True,
                check=True,
                env={**os.environ, "PYTHONHASHSEED": seed},
            ).stdout
            for seed in ("1", "2", "3")
        }
        here = " ".join(get_baseline(baseline)(prompt, kind, Random(3), form) for baseline in baselines())
        assert said == {f"{here}\n".encode()}


def test_other_prompts_are_guessed_by_the_shortcuts() -> None:
    prompt = "Read this.\n\nThe umbrella is at counter 7.\n\nWhich counter? Reply with one number only.\nCounter:"
    for name in ("fathom/longest", "fathom/first", "fathom/copy"):
        assert get_baseline(name)(prompt, "count", Random(0)) == get_baseline("fathom/guess")(
            prompt, "count", Random(0)
        )
    assert parse_prompt(prompt, "count").pieces is None
