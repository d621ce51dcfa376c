from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.score.rouge import rouge_l
from fathom.score.text import bag_f1, english_words, exact_match, official_words, token_f1


@pytest.mark.parametrize(
    ("prediction", "answer", "language", "value"),
    [
        ("The Eiffel Tower in Paris", "the eiffel tower, in paris!", "en", 1.0),
        ("“Eiffel Tower”", "Eiffel Tower", "en", 1.0),
        ("Ｅｉｆｆｅｌ　Ｔｏｗｅｒ", "Eiffel Tower", "en", 1.0),
        ("Eiffel", "the Eiffel Tower", "en", 2 / 3),
        ("Eiffel Eiffel", "Eiffel", "en", 2 / 3),
        ("Rome", "Paris", "en", 0.0),
        ("", "Paris", "en", 0.0),
        ("A", "a", "en", 1.0),
        ("B", "a", "en", 0.0),
        ("北京大学。", "北京大学", "zh", 1.0),
        ("北京大学，图书馆", "图书馆", "zh", 2 / 3),
        ("上海", "北京", "zh", 0.0),
    ],
)
def test_token_f1(prediction: str, answer: str, language: str, value: float) -> None:
    assert token_f1(prediction, answer, language) == pytest.approx(value)


def test_the_nearest_of_several_answers_counts() -> None:
    assert token_f1("Paris", ["Rome", "Paris", "the city of Paris"]) == 1.0
    assert token_f1("Paris", []) == 0.0


def test_official_words_keep_what_ascii_does_not_know() -> None:
    assert official_words("The “cat”, a dog.") == ["“cat”", "dog"]
    assert english_words("The “cat”, a dog.") == ["cat", "dog"]


def test_exact_match() -> None:
    assert exact_match("The Cat!", "cat") == 1.0
    assert exact_match("cat dog", "dog cat") == 0.0


def test_rouge_l_against_hand_counted_values() -> None:
    # Shared in order: a, c, d of four distinct words each.
    assert rouge_l("a b c d", "a c x d") == pytest.approx(0.75, abs=1e-7)
    # Words that come again count once; a second sentence adds what it shares.
    assert rouge_l("a a a a", "a") == pytest.approx(1.0, abs=1e-7)
    assert rouge_l("a b. c d.", "c d a b") == pytest.approx(1.0, abs=1e-7)
    assert rouge_l("a b", "c d") == 0.0
    assert rouge_l("...", "a") is None


def test_rouge_l_stops_where_the_package_would() -> None:
    long = " ".join(f"w{n}" for n in range(1500))
    assert rouge_l(long, long, 970) is None
    # Without a common word it walks along the prediction only.
    assert rouge_l("x", long, 970) == 0.0
    assert rouge_l(long, "x", 970) is None
    assert rouge_l(long, long) == pytest.approx(1.0, abs=1e-7)
    cut = long.replace("w500 ", "w500. ").replace("w1000 ", "w1000. ")
    assert rouge_l(cut, cut, 970) == pytest.approx(1.0, abs=1e-7)


words = st.lists(st.sampled_from(["cat", "dog", "hen", "owl"]))


@given(words, words)
def test_f1_is_symmetric_bounded_and_full_only_for_equal_bags(first: list[str], second: list[str]) -> None:
    value = bag_f1(first, second)
    assert 0.0 <= value <= 1.0
    assert value == pytest.approx(bag_f1(second, first))
    assert (value == 1.0) == (sorted(first) == sorted(second) and bool(first))


@given(st.text(max_size=200), st.text(max_size=200), st.sampled_from(["en", "zh"]))
def test_any_texts_have_an_f1(prediction: str, answer: str, language: str) -> None:
    assert 0.0 <= token_f1(prediction, answer, language) <= 1.0
    if answer.strip():
        assert token_f1(answer, answer, language) == pytest.approx(1.0) or not answer.isprintable()
