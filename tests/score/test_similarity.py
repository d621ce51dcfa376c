from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.benchmarks.pro.scoring import character_similarity, nearest


@given(st.text(), st.text())
def test_it_is_symmetric_and_between_0_and_1(first: str, second: str) -> None:
    value = character_similarity(first, second)
    assert 0 <= value <= 1
    assert value == pytest.approx(character_similarity(second, first))


@given(st.text())
def test_a_text_is_like_itself_unless_it_says_nothing(text: str) -> None:
    assert character_similarity(text, text) == (pytest.approx(1.0) if text.split() else 0.0)
    assert character_similarity(text, "") == 0.0


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        (
            "The council passed the bill, and voters approved it in May.",
            "Voters approved the bill in May after the council passed it.",
            "A quiet harbour lay under the morning fog.",
        ),
        ("文章分析长江洪水的成因。", "本文分析了长江洪水的成因与特征。", "那天晚上港口很安静。"),
        ("a", "a b", "c"),
    ],
)
def test_texts_about_the_same_are_nearer(text: str, near: str, far: str) -> None:
    assert character_similarity(text, near) > 2 * character_similarity(text, far)


def test_the_numbers_are_those_of_any_machine() -> None:
    # " ab ", " ac ": one of three pairs and no triple is shared, five runs each.
    assert character_similarity("ab", "AC ") == pytest.approx(1 / 5)
    assert character_similarity("塔很旧", "塔旧") == pytest.approx(2 / (7 * 5) ** 0.5)


@given(st.text(), st.lists(st.text(), min_size=1, max_size=4))
def test_the_nearest_of_several_counts(text: str, others: list[str]) -> None:
    assert nearest(text, others) == max(character_similarity(text, one) for one in others)
