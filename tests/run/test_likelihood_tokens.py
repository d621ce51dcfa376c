"""Where tokens begin, from the many ways in which servers write them; and answers that say too little."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fathom.run.likelihood.completions import UnsupportedError, read_echo, read_prompt_logprobs
from fathom.run.likelihood.tokens import TokenLogprobs, believed, offsets_of

pieces = st.lists(st.text(st.sampled_from("ab é中.\n"), min_size=1, max_size=6), min_size=1, max_size=12)
words = st.lists(st.text(st.sampled_from("abcd中文.,"), min_size=1, max_size=7), min_size=2, max_size=12)


@given(pieces)
def test_tokens_that_join_to_the_text_are_where_they_are(tokens: list[str]) -> None:
    offsets = offsets_of(tokens, "".join(tokens))
    assert offsets == tuple(accumulate(map(len, tokens), initial=0))[:-1]


@given(words, st.sampled_from([" ", "\n\n", "  "]), st.booleans())
def test_a_lost_space_before_a_token_moves_it_by_that_space_at_most(found: list[str], gap: str, bos: bool) -> None:
    text = gap.join(found)
    true = list(accumulate((len(word) + len(gap) for word in found), initial=0))[: len(found)]
    offsets = offsets_of([*["<s>"] * bos, *found], text)
    assert offsets is not None
    for at, place in zip(offsets[bos:], true, strict=True):
        assert 0 <= place - at <= len(gap)


@given(words, st.data())
def test_a_token_that_cannot_be_read_does_not_lose_the_rest(found: list[str], data: st.DataObject) -> None:
    text = " ".join(found)
    tokens = [word if place == 0 else f" {word}" for place, word in enumerate(found)]
    lost = data.draw(st.integers(0, len(tokens) - 1))
    # A character in several tokens: what is left of each is the sign for what cannot be decoded.
    broken = [*tokens[:lost], "\ufffd", "\ufffd", *tokens[lost + 1 :]]
    offsets = offsets_of(broken, text)
    if offsets is not None:
        true = list(accumulate(map(len, tokens), initial=0))
        assert offsets[:lost] == tuple(true[:lost])
        assert all(0 <= at <= len(text) for at in offsets)
        assert list(offsets) == sorted(offsets)


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (["one"], "one two three and four"),
        (["token_id:5", "token_id:9", "token_id:3"], "one two three"),
        ([" "], "one two three and four"),
        (["four", "three"], "one two three and four"),
    ],
)
def test_other_tokens_are_not_those_of_the_text(tokens: list[str], text: str) -> None:
    assert offsets_of(tokens, text) is None


def test_offsets_of_a_server_are_believed_where_its_tokens_stand_there() -> None:
    assert believed([0, 3, 7, 7, 8], ["one", " two", "\ufffd", "\ufffd", "!"], "one two中!")
    assert not believed([0, 5, 7], ["one", " two", "!"], "one two!")
    assert not believed([0, 3], ["one"], "one")
    assert not believed([3, 0], ["e", "one"], "one")


def test_sums_begin_at_a_boundary() -> None:
    scored = TokenLogprobs((0, 3, 4, 8), (None, -1.0, -2.0, -4.0))
    assert scored.after(0) == (-7.0, 3)
    assert scored.after(4) == (-6.0, 2)
    assert scored.after(8) == (-4.0, 1)


def test_a_token_across_a_boundary_belongs_to_what_follows() -> None:
    assert TokenLogprobs((0, 3, 4, 8), (None, -1.0, -2.0, -4.0)).after(5) == (-6.0, 2)
    assert TokenLogprobs((0, 3), (None, -1.0)).after(9) == (-1.0, 1)  # the last token, up to the end of the text
    parts = TokenLogprobs((0, 3, 3, 3, 4, 0), (None, -1.0, -2.0, -4.0, -8.0, None))  # of a character; a special token
    assert parts.after(4) == (-8.0, 1)
    assert parts.after(3) == (-15.0, 4)


def echoed(tokens: list[str], logprobs: list[Any], offsets: list[int] | None = None) -> dict[str, Any]:
    return {"choices": [{"logprobs": {"tokens": tokens, "token_logprobs": logprobs, "text_offset": offsets}}]}


def test_what_the_server_wrote_itself_is_not_the_prompt() -> None:
    found = read_echo(echoed(["one", " two", " six"], [None, -1.0, -9.0]), "one two")
    assert found == TokenLogprobs((0, 3), (None, -1.0))
    # And where it wrote nothing, all is.
    assert read_echo(echoed(["one", " two"], [None, -1.0]), "one two") == found


def test_a_bos_token_has_no_part_in_the_text() -> None:
    found = read_echo(echoed(["<s>", "one", " two", "."], [None, -2.0, -1.0, -9.0]), "one two")
    assert found.after(0) == (-3.0, 2)


def test_half_characters_are_placed_by_the_offsets_of_the_server() -> None:
    text = "中文字典"
    tokens, offsets = ["\ufffd"] * 11 + ["典", "x"], [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4]
    found = read_echo(echoed(tokens, [None, *[-1.0] * 12], offsets), text)
    assert found.after(2) == (-6.0, 6)


@pytest.mark.parametrize("unreadable", ["", "\ufffd"])
@pytest.mark.parametrize("ahead", [0, 1])
def test_a_text_of_which_only_line_ends_can_be_read(unreadable: str, ahead: int) -> None:
    """A tokenizer without Chinese has three tokens a character, and none of them can be read alone."""
    text = "灯火照着海港，老人守到天明。\n\n潮水退去。\n\n他睡了。"
    pairs = [(at, letter) for at, letter in enumerate(text) for _ in range(1 if letter == "\n" else 3)]
    tokens = [" "] * ahead + [letter if letter == "\n" else unreadable for _, letter in pairs]
    offsets = [0] * ahead + [at + ahead for at, _ in pairs]
    found = read_echo(echoed(tokens, [None, *[-1.0] * (len(tokens) - 1)], offsets), text)
    for start in (text.index("潮"), text.index("他")):
        assert found.after(start)[1] == sum(at >= start for at, _ in pairs)
    wrong = [max(0, at - 2) for at in offsets]
    with pytest.raises(UnsupportedError):
        read_echo(echoed(tokens, [None, *[-1.0] * (len(tokens) - 1)], wrong), text)


def test_offsets_that_count_a_space_before_the_text_are_put_right() -> None:
    text = "中文 a stone"
    tokens, offsets = [" ", *[""] * 6, " a", " stone", "x"], [0, 1, 1, 1, 2, 2, 2, 3, 5, 11]
    found = read_echo(echoed(tokens, [None, *[-1.0] * 9], offsets), text)
    assert found.offsets == (0, 0, 0, 0, 1, 1, 1, 2, 4)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "no log-probabilities of the prompt"),
        ({"choices": []}, "no log-probabilities of the prompt"),
        ({"choices": [{"logprobs": None}]}, "no log-probabilities of the prompt"),
        ({"choices": [{"logprobs": {"content": []}}]}, "no log-probabilities of the prompt"),
        (echoed([" six"], [-1.0]), "1 tokens, which are not those"),
        (echoed(["one", " two", " six"], [None, None, -1.0]), "is None"),
        (echoed(["one", " two", " six"], [None, float("nan"), -1.0]), "is nan"),
        (echoed(["one", " two", " six"], [None, float("-inf"), -1.0]), "is -inf"),
        (echoed(["one", " two", " six"], [None, 0.5, -1.0]), "more than 0"),
        (echoed(["one", " ", "two", " six"], [None, 0.0, 0.0, -1.0]), "are 0"),
        (echoed(["one", " two", " six"], [None, "-1", -1.0]), "is '-1'"),
    ],
)
def test_an_echo_that_says_too_little_is_refused(body: dict[str, Any], said: str) -> None:
    with pytest.raises(UnsupportedError, match=said):
        read_echo(body, "one two")


def placed(*tokens: tuple[str, Any]) -> dict[str, Any]:
    places = [{"7": {"logprob": logprob, "rank": 1, "decoded_token": token}} for token, logprob in tokens]
    return {"choices": [{"prompt_logprobs": [None, *places]}]}


def test_prompt_logprobs_with_and_without_a_bos_token() -> None:
    found = read_prompt_logprobs(placed(("one", -3.0), (" two", -1.0)), "one two")
    assert (found.offsets, found.after(0), found.after(3)) == ((0, 0, 3), (-4.0, 2), (-1.0, 1))
    found = read_prompt_logprobs(placed((" two", -1.0)), "one two")
    assert (found.offsets, found.after(0)) == ((0, 3), (-1.0, 1))
    found = read_prompt_logprobs(placed((" two", -1.0)), "Llanfairpwllgwyngyll two")
    assert found.after(20) == (-1.0, 1)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "no prompt_logprobs"),
        ({"choices": [{"prompt_logprobs": None}]}, "no prompt_logprobs"),
        ({"choices": [{"prompt_logprobs": [None]}]}, "no prompt_logprobs"),
        ({"choices": [{"prompt_logprobs": [None, None]}]}, "one entry"),
        ({"choices": [{"prompt_logprobs": [None, {"1": {"logprob": -1}, "2": {"logprob": -2}}]}]}, "one entry"),
        (placed(("one", None), (" two", -1.0)), "is None"),
        (placed(("else", -1.0), ("where", -1.0)), "not those of the prompt"),
    ],
)
def test_prompt_logprobs_that_say_too_little_are_refused(body: dict[str, Any], said: str) -> None:
    with pytest.raises(UnsupportedError, match=said):
        read_prompt_logprobs(body, "one two")


CHINESE = "山的那边是海，海的那边没有人知道。\n\n他说：“明天再来吧。”\n\n龘靐齉爩𠮷🙂"


def prompt_logprobs(tokens: list[bytes], *, bos: bool, whole: bool) -> dict[str, Any]:
    """vLLM's reply: bytes decoded token by token, or nothing until a character is whole. Of the first token there is
    none."""
    shown, held = list[str](), b""
    for token in tokens:
        held = held + token if whole else token
        shown.append("" if whole and "\ufffd" in held.decode(errors="replace") else held.decode(errors="replace"))
        held = b"" if shown[-1] else held
    places = [{str(at): {"logprob": -1.0 - at, "rank": 1, "decoded_token": one}} for at, one in enumerate(shown)]
    return {"choices": [{"prompt_logprobs": [None, *places[not bos :]]}]}


@pytest.mark.parametrize("bos", [True, False])
@pytest.mark.parametrize("whole", [True, False])
@given(sizes=st.lists(st.sampled_from([(1, 1, 2), (1, 3), (2, 2), (4,), (8,), (40,)]), min_size=1))
def test_chinese_in_parts_of_characters_is_summed_from_the_same_boundaries(
    bos: bool, whole: bool, sizes: list[tuple[int, ...]]
) -> None:
    assume(bos or sizes[0] != (40,))  # without the first ten characters the rest cannot be found, which is an error
    tokens, boundaries = list[bytes](), list[int]()
    for piece in CHINESE.split("\n\n"):
        place, turn = 0, 0
        while place < len(piece):
            # A character in parts, or several characters as one token, up to whole sentences.
            ends, turn = [*accumulate(sizes[turn % len(sizes)], initial=0)], turn + 1
            several = max(1, ends[-1] // 4)
            data = piece[place : place + several].encode()
            tokens += [data] if several > 1 else [data[at:end] for at, end in pairwise(ends) if at < len(data)]
            place += several
        tokens.append(b"\n\n")
        boundaries.append(len(tokens))
    tokens.pop()
    found = read_prompt_logprobs(prompt_logprobs(tokens, bos=bos, whole=whole), CHINESE)
    starts = [at + 2 for at in range(len(CHINESE)) if CHINESE.startswith("\n\n", at)]
    for start, first in zip(starts, boundaries, strict=False):
        assert found.after(start) == (sum(-1.0 - at for at in range(first, len(tokens))), len(tokens) - first)


def test_parts_of_characters_are_not_ascii_letters_and_no_more_than_bytes() -> None:
    assert offsets_of(["\ufffd"] * 6, "中文", complete=True) == (0,) * 6
    assert offsets_of(["\ufffd"] * 7, "中文", complete=True) is None
    assert offsets_of(["\ufffd"] * 5, "abc中", complete=True) is None
    assert offsets_of(["\ufffd"] * 3, "中\n\n", complete=True) is None
    assert offsets_of([""] * 6, "中文", complete=True) is None
