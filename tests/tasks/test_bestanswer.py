"""BestAnswer: which answers stand beside the accepted one, where it stands, and what fills a length."""

from __future__ import annotations

from collections import Counter as Tally
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine_calls import configure
from fathom.benchmarks.ada import bestanswer
from fathom.benchmarks.ada.bestanswer_prompt import place
from fathom.documents.corpus.stackexchange import thread_documents
from fathom.rows.scoring import score_reply
from fathom.suites.build import build
from fathom.suites.registry import get_task
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.tokens.counts import TokenCounter
from fathom.tokens.length import render
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import Document, FathomError, Resources, Sample
from made_threads import answer, answers_of, made_thread, sentences, thread, write_lines, write_threads
from stored_replies import stored

LENGTHS = (512, 1024, 2048, 4096)


def built(folder: Path, source: Path, **wanted: Any) -> BuiltSuite:
    choices = {"tokenizer": "words", "lengths": LENGTHS, "items": 1000, "threads": (str(source),), **wanted}
    return open_suite(build(configure("bestanswer", **choices), folder / "suite", force=True).folder)


def gold_of(sample: Sample) -> int:
    return int(sample.targets[0][1:]) - 1


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> BuiltSuite:
    folder = tmp_path_factory.mktemp("bestanswer")
    return built(folder, write_threads(folder, 60, ("en", "zh")), items=12)


# Distractors


@pytest.mark.slow
def test_questions_with_one_tag_in_common_come_in_above_16k_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bestanswer, "LONG", 1024)
    asking = {**made_thread(1), "tags": ["pumps", "a", "b"]}
    similar = [{**made_thread(n), "tags": ["pumps", "a"]} for n in range(2, 9)]
    loose = [{**made_thread(n, longest=6), "tags": ["pumps", f"x{n}", f"y{n}"]} for n in range(9, 40)]
    suite = built(tmp_path, write_lines(tmp_path / "t.jsonl", [asking, *similar, *loose]))
    found = [sample for sample in suite.samples() if "machine 1 " in sample.asked or "machine 1?" in sample.asked]
    assert [sample.length for sample in found] == list(LENGTHS)
    for sample in found:
        assert (sample.facets["loose"] != 0) == (sample.length == 4096), sample.facets
        assert sample.facets["similar"] != 0


def test_a_text_stands_once_and_never_beside_gold(tmp_path: Path) -> None:
    same = [
        thread(n, [answer(2 * n, f"Open the valve {n % 3}.", accepted=True), answer(2 * n + 1, sentences(str(n), 3))])
        for n in range(80)
    ]
    for sample in (suite := built(tmp_path, write_lines(tmp_path / "t.jsonl", same), lengths=(512,))).samples():
        found = answers_of(suite, sample)
        assert len(set(found)) == len(found)
        assert sum(text.startswith("Open the valve") for text in found) <= 3


@pytest.mark.slow
def test_distractors_of_the_same_question_stand_at_every_length(suite: BuiltSuite, tmp_path: Path) -> None:
    long = made_thread(1, answers=3, longest=1)
    long["answers"] = [
        answer(1, sentences("x", 60), day=2),
        answer(2, sentences("y", 60), day=3),
        answer(3, "Yes.", day=4, accepted=True),
    ]
    long["accepted_answer_id"] = 3
    others = [made_thread(n) for n in range(2, 40)]
    found = built(tmp_path, write_lines(tmp_path / "t.jsonl", [long, *others]))
    one = [sample for sample in found.samples() if sample.asked.startswith("What is wrong with machine 1?")]
    assert [sample.length for sample in one] == [2048, 4096]
    assert {sample.facets["same"] for sample in one} == {2}
    for sample in one:
        assert {sentences("x", 60), sentences("y", 60)} < set(answers_of(found, sample))


# Lengths


@pytest.mark.slow
def test_the_same_questions_stand_at_every_length_with_the_answers_of_the_shorter_ones(suite: BuiltSuite) -> None:
    by_item: dict[str, list[Sample]] = {}
    for sample in suite.samples():
        by_item.setdefault(sample.item, []).append(sample)
    assert len(by_item) == 24
    lost = 0
    for samples in by_item.values():
        lost += len(LENGTHS) - len(samples)
        assert len({sample.asked for sample in samples}) == 1
        answers = [answers_of(suite, sample) for sample in samples]
        for sample, fewer, more in zip(samples, answers, answers[1:], strict=False):
            assert set(fewer) < set(more)
            assert [text for text in more if text in fewer and text != fewer[gold_of(sample)]] == [
                text for text in fewer if text != fewer[gold_of(sample)]
            ]
        assert len({found[gold_of(sample)] for sample, found in zip(samples, answers, strict=True)}) == 1
    assert lost <= 2


@pytest.mark.slow
@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from(["en", "zh"]), st.integers(5, 20), st.integers(400, 1500))
def test_a_prompt_is_within_its_budget_and_fills_it(
    tmp_path_factory: pytest.TempPathFactory, seed: int, language: str, longest: int, length: int
) -> None:
    folder = tmp_path_factory.mktemp("budget")
    made = [made_thread(seed + n, language, answers=7, longest=longest) for n in range(30)]
    source = write_lines(folder / "t.jsonl", made)
    suite = built(folder, source, lengths=(length, 2 * length), items=4, tokenizer="tekken", seed=seed)
    known, tokenizer = suite.texts(), get_tokenizer("tekken")
    for sample in suite.samples():
        assert tokenizer.count(render(sample, known)) == sample.tokens
        assert 0.9 * sample.length <= sample.tokens <= sample.length
        assert sample.chance == 1 / int(sample.facets["answers"]) <= 1 / 2


def test_a_bound_that_is_cheap_is_a_bound(tmp_path: Path) -> None:
    source = write_threads(tmp_path, 12)
    suite = built(tmp_path, source, lengths=(512, 2048, 4096, 8192))
    resources = Resources(
        "en", thread_documents(str(source)).documents, (), (512, 2048, 4096, 8192), TokenCounter(get_tokenizer("words"))
    )
    pool = bestanswer.pool(resources)
    assert pool.candidates
    bound = {
        candidate.document.text[: candidate.spans[0].end]: candidate.lengths or () for candidate in pool.candidates
    }
    stands: dict[str, set[int]] = {}
    for sample in suite.samples():
        stands.setdefault(sample.asked, set()).add(sample.length)
    assert set(stands) <= set(bound)
    assert all(lengths <= set(bound[question]) for question, lengths in stands.items())
    assert not any(8192 in lengths for lengths in bound.values())


# Positions


def test_gold_stands_at_the_front_in_the_middle_and_at_the_rear(tmp_path: Path) -> None:
    suite = built(tmp_path, write_threads(tmp_path, 40), depths=(0, 0.5, 1), items=6)
    by_context: dict[tuple[str, int], list[Sample]] = {}
    for sample in suite.samples():
        by_context.setdefault((sample.item, sample.length), []).append(sample)
    assert len(by_context) >= 4 * 5
    for samples in by_context.values():
        answers = [answers_of(suite, sample) for sample in samples]
        count = len(answers[0])
        assert [gold_of(sample) for sample in samples] == [0, count // 2, count - 1]
        assert [sample.facets["depth_reached"] for sample in samples] == [
            pytest.approx(index / (count - 1), abs=1e-4) for index in (0, count // 2, count - 1)
        ]
        others = [
            [*found[: gold_of(one)], *found[gold_of(one) + 1 :]] for one, found in zip(samples, answers, strict=True)
        ]
        assert others[0] == others[1] == others[2]
        assert len({sample.facets["example"] for sample in samples}) == 1


@pytest.mark.parametrize("count", [1, 2, 3, 7, 40])
def test_even_shares_make_all_places_equally_likely(count: int) -> None:
    shares = [(n + 0.5) / (10 * count) for n in range(10 * count)]
    assert Tally(place(share, count) for share in shares) == dict.fromkeys(range(count), 10)
    assert [place(0, count), place(1, count)] == [0, count - 1]


def test_facets_are_of_the_prompt(suite: BuiltSuite) -> None:
    known = suite.texts()
    for sample in suite.samples():
        found, prompt, facets = answers_of(suite, sample), render(sample, known), sample.facets
        colon, question = {"en": (":", "Question"), "zh": ("：", "问题")}[sample.language]
        assert facets["answers"] == len(found) == facets["same"] + facets["similar"] + facets["loose"] + 1  # type: ignore
        assert facets["gold"] == gold_of(sample) + 1
        assert sample.inputs == {"answers": facets["answers"]}
        assert len(found[int(str(facets["longest"])[1:]) - 1]) == max(map(len, found))
        assert facets["first"] == "A1"
        assert f"\n\n{question}{colon}\n{sample.asked}\n\nA1{colon}\n{found[0]}\n\nA2{colon}\n{found[1]}\n\n" in prompt
        assert f"{colon} {facets['example']}\n".replace("： ", "：") in prompt
        assert 1 <= int(str(facets["example"])[1:]) <= len(found)


def test_examples_are_spread(suite: BuiltSuite) -> None:
    places = [int(str(s.facets["example"])[1:]) / int(s.facets["answers"]) for s in suite.samples()]
    assert min(places) < 0.3 < 0.7 < max(places)


# Scores


def sample_of(answers: int, gold: int) -> Sample:
    return Sample("s", "s", "bestanswer", (), (f"A{gold}",), 1024, 1000, inputs={"answers": answers})


@pytest.mark.parametrize(
    ("reply", "official", "strict", "valid", "read"),
    [
        ("A7", 1, 1, True, "A7"),
        ("Answer: A7", 1, 1, True, "A7"),
        ("<think>A3 or A9</think>A7", 0, 1, True, "A7"),  # the released code takes the highest label anywhere
        ("A3 is fine, but the answer is A7.", 1, 1, False, "A7"),
        ("A7 is better than A9.", 0, 1, False, "A7"),
        ("The 7th", 1, 0, False, None),
        ("A13", 0, 0, False, None),
        ("", 0, 0, False, None),
    ],
)
def test_replies_are_scored_by_both_rules(
    reply: str, official: int, strict: int, valid: bool, read: str | None
) -> None:
    made = stored(sample_of(12, 7), reply)
    assert score_reply(made, "official").score.value == official
    found = score_reply(made, "strict")
    assert (found.score.value, found.score.valid, found.score.answer) == (strict, valid, read)
    assert found.metric == "accuracy"


def test_gold_replies_score_one_by_both_rules(suite: BuiltSuite) -> None:
    for sample in suite.samples():
        for rule in ("official", "strict"):
            scored = score_reply(stored(sample, sample.targets[0]), rule)
            assert (scored.score.value, scored.score.answer) == (1, sample.targets[0])


# What cannot be used


def test_bad_threads_are_said_and_the_rest_is_built(tmp_path: Path) -> None:
    made = [made_thread(n) for n in range(40)]
    made[3]["accepted_answer_id"] = 99
    source = write_lines(tmp_path / "t.jsonl", made)
    source.write_text(source.read_text(encoding="utf-8") + '{"id": "cut', encoding="utf-8")
    suite = built(tmp_path, source, lengths=(512, 65_536))
    left_out = " ".join(suite.manifest["left_out"])
    assert "its accepted answer 99 is missing" in left_out
    assert f"{source}:41: not JSON" in left_out
    assert {sample.length for sample in suite.samples()} == {512}
    assert any("none at 64k" in note for note in suite.manifest["notes"])


def test_a_truncated_dump_keeps_its_whole_threads(tmp_path: Path) -> None:
    path = tmp_path / "Posts.xml"
    rows = ["<posts>"]
    for number in range(1, 40):
        date = 'CreationDate="2014-03-{:02}T10:00:00.000" Score="1"'
        asked_as = f'Id="{1000 * number}" PostTypeId="1" AcceptedAnswerId="{1000 * number + 3}" {date.format(1)}'
        rows.append(f'<row {asked_as} Title="Machine {number}" Tags="|pumps|" Body="&lt;p&gt;Why?&lt;/p&gt;" />')
        for given_as in range(1, 4):
            facts = f'Id="{1000 * number + given_as}" ParentId="{1000 * number}" {date.format(given_as + 1)}'
            body = sentences(f"{number}/{given_as}", 5)
            rows.append(f'<row PostTypeId="2" {facts} Body="&lt;p&gt;{body}&lt;/p&gt;" />')
    path.write_text("\n".join(rows)[:-40], encoding="utf-8")
    suite = built(tmp_path, path, lengths=(1024,))
    left_out = " ".join(suite.manifest["left_out"])
    assert "ends in the middle of the posts" in left_out
    assert "question 39000: its accepted answer 39003 is missing" in left_out
    assert len(list(suite.samples())) > 30


def test_a_question_that_is_too_long_is_no_candidate_and_nothing_at_all_is_an_error(tmp_path: Path) -> None:
    long = {**made_thread(1), "question": sentences("long", 100)}
    suite = built(tmp_path, write_lines(tmp_path / "t.jsonl", [long, *(made_thread(n) for n in range(2, 30))]))
    assert not any(sample.asked.startswith("What is wrong with machine 1?") for sample in suite.samples())
    assert "1 of 29 threads with an accepted answer left out: the question is too long" in suite.manifest["notes"][0]
    with pytest.raises(FathomError, match=r"nothing to build(.|\n)*answers enough to fill any length"):
        built(tmp_path / "none", write_lines(tmp_path / "few.jsonl", [made_thread(1)]), lengths=(65_536,))
    with pytest.raises(FathomError, match=r"unknown option tag;"):
        built(tmp_path / "none", Path(f"{tmp_path / 'few.jsonl'}?tag=pumps"))


def test_documents_that_are_no_threads_give_no_candidates() -> None:
    plain = Document("x", "A text like any other.", "made")
    resources = Resources("en", [plain], (), (1024,), TokenCounter(get_tokenizer("words")))
    for name in ("bestanswer", "bestanswer_published"):
        pool = get_task(name).pool
        assert pool
        assert pool(resources).candidates == []


@pytest.mark.slow
def test_common_items_stand_at_every_length(tmp_path: Path) -> None:
    rare = [{**made_thread(number), "tags": ["rare"]} for number in range(100, 108)]  # too few to fill 8k
    source = write_lines(tmp_path / "t.jsonl", [*(made_thread(number) for number in range(60)), *rare])
    lengths = (1024, 4096, 8192)
    wanted = configure("bestanswer", tokenizer="words", lengths=lengths, items=1000, threads=(str(source),))
    loose = open_suite(build(wanted, tmp_path / "loose").folder)
    common = open_suite(build(replace(wanted, common=True), tmp_path / "common").folder)
    at = {length: {sample.item for sample in common.samples(lengths=[length])} for length in lengths}
    assert at[1024] == at[4096] == at[8192]
    assert 0 < len(at[8192]) == len(list(loose.samples(lengths=[8192]))) < len(list(loose.samples(lengths=[1024])))
    assert any("items in language 'en' at every length" in note for note in common.manifest["notes"])
