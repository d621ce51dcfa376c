from __future__ import annotations

import math
import re
import warnings
from functools import cache
from importlib.util import find_spec, module_from_spec
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.score.chinese import cut_words, likeliest, most_likely_states
from fathom.tokens.counts import cache_folder

if TYPE_CHECKING:
    import jieba

# Words of the dictionary, names and other runs that are not in it, letters and digits that are parts of words.
PIECES = re.findall(
    r"\S+",
    "北京大学 研究生命起源 长春市长春药店 结婚的和尚未结婚的 乒乓球拍卖完了 阿斯顿 的 T恤 卡拉OK 2024年"
    " 3.5% A4 abc C++ ， 。 《 · é 𠮷 龘靐 1-2 # _ １２",
)
LETTERS = "上海自来水来自人民中国会议讨论预算"
TEXTS = st.lists(
    st.sampled_from([*PIECES, " ", "\r\n"]) | st.text(LETTERS, max_size=8) | st.text(max_size=4), max_size=12
)


@cache
def plain() -> jieba.Tokenizer:
    """jieba as it comes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import jieba
    jieba.setLogLevel("ERROR")
    tokenizer = jieba.Tokenizer()
    cache_folder().mkdir(parents=True, exist_ok=True)
    tokenizer.tmp_dir = str(cache_folder())
    tokenizer.initialize()
    return tokenizer


@pytest.mark.slow
@given(TEXTS.map("".join))
def test_words_are_those_of_jieba(text: str) -> None:
    assert cut_words(text) == list(plain().cut(text))
    assert "".join(cut_words(text)) == text


@pytest.mark.slow
def test_what_is_given_away_is_the_callers_own() -> None:
    words = cut_words("北京大学")
    words.append("x")
    assert cut_words("北京大学") == ["北京大学"]


@pytest.mark.parametrize(
    ("counts", "ends"),
    [
        ({"a": 1, "b": 1, "ab": 1}, [1, 1]),
        ({"a": 9, "b": 9, "ab": 1}, [0, 1]),
        ({"a": 1, "b": 1, "ab": 0}, [0, 1]),
        ({}, [0, 1]),
    ],
)
def test_the_likeliest_words(counts: dict[str, int], ends: list[int]) -> None:
    total = math.log(10)
    route = likeliest("ab", counts, {count: math.log(count) - total for count in (1, 9)})
    assert [route[place][1] for place in range(2)] == ends


def test_of_equal_shares_the_longer_word_is_taken() -> None:
    route = likeliest("ab", {"a": 1, "b": 1, "ab": 1}, {1: 0.0})
    assert route[0] == (0.0, 1)


def test_the_most_likely_states_are_those_of_jieba() -> None:
    original = find_spec("jieba.finalseg")
    assert original is not None
    assert original.loader is not None
    module = module_from_spec(original)  # its own search, which the program replaces
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        original.loader.exec_module(module)
    model = ("BMES", module.start_P, module.trans_P, module.emit_P)
    rng = Random(7)
    for size in (1, 2, 3, 5, 8, 40, 40, 40):
        run = "".join(rng.choices("图书馆的管理员在大學裡面齉龘乂丂", k=size))
        assert most_likely_states(run, *model) == module.viterbi(run, *model)
