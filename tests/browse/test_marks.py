"""Which part of a prompt is gold, distractor or filler: checked against what the tasks themselves put there."""

from __future__ import annotations

from itertools import pairwise

import pytest

from fathom.benchmarks.ada.bestanswer_prompt import PROMPTS, laid_out
from fathom.browse.marks import Segment, answer_pattern, answers_of, number_of, segments
from fathom.suites.registry import get_task
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.types import Part, Sample, Span
from made_replies import document, make_runs, passkey


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> BuiltSuite:
    return open_suite(make_runs(tmp_path_factory.mktemp("marks")).suite)


def of(sample: Sample, kind: str) -> list[Part]:
    return [segment.part for segment in segments(sample, get_task(sample.task)) if segment.kind == kind]


def joined(parts: list[Part] | tuple[Part, ...], texts: dict[str, str]) -> str:
    return "".join(part if isinstance(part, str) else texts[part.doc][part.start : part.end] for part in parts)


@pytest.mark.slow
def test_parts_are_the_prompt_whatever_their_marks(suite: BuiltSuite) -> None:
    texts = dict(suite.texts())
    for sample in suite.samples():
        found = [segment.part for segment in segments(sample, get_task(sample.task))]
        assert joined(found, texts) == joined(sample.parts, texts)


@pytest.mark.slow
def test_the_hidden_pair_in_question_is_gold_and_the_others_are_distractors(suite: BuiltSuite) -> None:
    count = 0
    for sample in suite.samples(tasks=["kv_retrieval"]):
        key = sample.parts[-1]
        assert isinstance(key, str)
        gold = " ".join(map(str, of(sample, "gold")))
        assert sample.targets[0] in gold
        # The value in question is the key of the next pair, which is none of the gold.
        words = gold.replace("键", " ").replace("的值是", " ").replace("。", " ").replace(".", " ").split()
        assert words[-1] == sample.targets[0]
        assert any(word in key for word in words[:-1])
        assert gold.count("-") == 8
        assert sum(str(text).count("-") for text in of(sample, "distractor")) == 16
        count += 1
    assert count == 28


def test_all_counts_are_gold_because_the_answer_is_no_text_of_the_context(suite: BuiltSuite) -> None:
    for sample in suite.samples(tasks=["counting_stars"]):
        assert sum(str(text).count("★") for text in of(sample, "gold")) == 4
        assert of(sample, "distractor") == []


def test_a_passkey_at_either_end_is_neither_instruction_nor_question(suite: BuiltSuite) -> None:
    for sample in suite.samples(tasks=["passkey"]):
        (gold,) = of(sample, "gold")
        assert str(gold).count(sample.targets[0]) == 2
        assert sample.targets[0] not in "".join(map(str, [*of(sample, "instruction"), *of(sample, "question")]))


def test_gold_passages_are_those_that_the_facet_numbers(suite: BuiltSuite) -> None:
    for sample in suite.samples(tasks=["single_doc_qa", "passage_retrieval"]):
        found = segments(sample, get_task(sample.task))
        if sample.facets.get("context") == "none":
            assert [segment.kind for segment in found] == ["question"]
            continue
        spans = [segment.kind for segment in found if isinstance(segment.part, Span)]
        if sample.facets.get("context") == "alone":
            assert spans == ["gold"]
            continue
        assert spans.count("gold") == 1
        assert spans.index("gold") + 1 == sample.facets["gold"]
        assert set(spans) == {"gold", "distractor"}
        heads = [segment.part for segment in found if segment.kind == "heading"]
        assert len(heads) == sample.facets["passages"]


def test_passages_of_a_task_without_gold_are_text(suite: BuiltSuite) -> None:
    for sample in suite.samples(tasks=["passage_count"]):
        assert len(of(sample, "text")) == sample.facets["passages"]
        assert of(sample, "gold") == of(sample, "distractor") == []


def test_the_question_of_an_asker_is_no_candidate_answer() -> None:
    text = document("Why?\n\n" + "\n\n".join(f"Because of {number}." for number in range(4)))
    starts = [text.text.index(f"Because of {number}.") for number in range(4)]
    spans = [Span(text.id, start, start + 13) for start in starts]
    made = laid_out(text, PROMPTS["en"], Span(text.id, 0, 4), spans, gold=2, example="A3", facets={})
    sample = Sample("b", "b", "bestanswer", made.parts, made.ending.targets, 1024, 99, facets=made.ending.facets)
    assert of(sample, "gold") == [spans[2]]
    assert of(sample, "distractor") == [*spans[:2], spans[3]]
    assert of(sample, "question")[0] == Span(text.id, 0, 4)


def test_two_sentences_hidden_in_one_place_are_told_apart() -> None:
    question = "\n\nAccording to the text, what is the value of the key k1? Reply with the UUID only.\nValue:"
    both = " The value of the key k1 is v2-x. The value of the key v2-x is v3."
    sample = Sample(
        "k", "k", "kv_retrieval", ("Read.\n\n", Span("d", 0, 9), both, Span("d", 9, 20), question), ("v2-x",), 1024, 99
    )
    assert of(sample, "gold") == ["The value of the key k1 is v2-x."]
    assert of(sample, "distractor") == ["The value of the key v2-x is v3."]


def test_a_task_that_is_not_installed_has_text_and_no_marks() -> None:
    sample = Sample(
        "x",
        "x",
        "gone",
        ("Read.\n\n", Span("d", 0, 9), "\n\nA note.\n\n", Span("d", 9, 20), "\n\nWhat?"),
        ("v",),
        1024,
        9,
    )
    assert [segment.kind for segment in segments(sample, None) if segment.kind != "gap"] == [
        *("instruction", "text", "heading", "text", "question")
    ]


def test_white_space_around_literal_text_is_a_gap() -> None:
    found = segments(passkey(0, ("Read.\n\n", Span("d", 0, 9), "\n\nWhat?\n")), get_task("passkey"))
    assert found == (
        *(Segment("instruction", "Read."), Segment("gap", "\n\n"), Segment("filler", Span("d", 0, 9))),
        *(Segment("gap", "\n\n"), Segment("question", "What?"), Segment("gap", "\n")),
    )


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("\n\nPassage 7:\n", 7),
        ("文章12：\n", 12),
        ("Read all.\n\nA3:\n", 3),
        ("Answer: A3\n\nQuestion:\n", None),
        ("Passage 7:", None),
        ("In 1864 there were 3:\n", None),
        ("小企鹅数到了60颗★。\n\n", None),
        ("", None),
    ],
)
def test_headings_end_with_a_line_of_one_number(text: str, number: int | None) -> None:
    assert number_of(text) == number


def test_answers_are_found_as_whole_words() -> None:
    pattern = answer_pattern(["Brockland", "J. H. Brockland", "★(", ""])
    assert pattern is not None
    assert [found[0] for found in pattern.finditer("brockland, J. H. Brockland, Brocklands, x★(y")] == [
        *("brockland", "J. H. Brockland", "★(")
    ]
    assert answer_pattern([" "]) is None


def test_only_distinctive_answers_that_are_texts_are_searched() -> None:
    sample = passkey(0, targets=("12345", "7", "x" * 301, " 12345 "))
    assert answers_of(sample, get_task("passkey")) == ("12345",)
    assert answers_of(sample, get_task("counting_stars")) == ()
    assert answers_of(sample, None) == ()


def test_marks_change_at_no_place_between_lengths(suite: BuiltSuite) -> None:
    """The gold text of an item is the same at every length."""
    samples = sorted(
        suite.samples(tasks=["passkey", "single_doc_qa"]),
        key=lambda one: (one.id.partition("@")[0], one.id.rpartition("/")[2]),
    )
    full = [sample for sample in samples if sample.length]
    same = [(one, other) for one, other in pairwise(full) if one.item == other.item and one.targets == other.targets]
    assert same
    for one, other in same:
        assert of(one, "gold") == of(other, "gold")
