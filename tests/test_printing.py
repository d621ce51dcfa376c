"""Text from outside: what it may not bring along, and where its lines are folded."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from fathom.printing import folded, pieces, printable, printable_json

MODEL = "fathom/lexical?window=16k&truncate=middle"


@pytest.mark.parametrize(
    "harmful", ["\x1b", "\x00", "\n", "\r", "\x7f", "\x9b", "\u202e", "\u2066", "\u200b", "\u2028"]
)
def test_what_could_rewrite_a_line_is_replaced(harmful: str) -> None:
    assert printable(f"openai/a{harmful}[31mb") == "openai/a\N{REPLACEMENT CHARACTER}[31mb"


@pytest.mark.parametrize("text", ["", "a name-1.5/x?y=z", "模型", "é", "می\u200cخواهم", "a\u00a0b", "[bold]"])
def test_ordinary_names_stay(text: str) -> None:
    assert printable(text) == text


@given(st.text())
def test_json_says_the_same_without_control_characters(text: str) -> None:
    shown = printable_json(json.dumps({text: [text]}, indent=2, ensure_ascii=False))
    assert json.loads(shown) == {text: [text]}
    assert printable(shown.replace("\n", " ")) == shown.replace("\n", " ")


def test_a_model_name_is_folded_at_its_seams() -> None:
    assert folded(MODEL, 41) == MODEL
    assert folded(MODEL, 40).split("\n") == ["fathom/lexical?window=16k&truncate=", "middle"]
    assert folded(MODEL, 28).split("\n") == ["fathom/lexical?window=16k", "&truncate=middle"]
    assert folded(MODEL, 16).split("\n") == ["fathom/lexical", "?window=16k", "&truncate=middle"]
    assert folded("qwen-2.5_instruct", 12).split("\n") == ["qwen-2.5_", "instruct"]


def test_sentences_are_folded_at_spaces_first() -> None:
    assert folded("which of these-or-those", 16).split("\n") == ["which of", "these-or-those"]


@given(st.text(alphabet="ab/?&=-_ 模"), st.integers(2, 12))
def test_folding_fits_and_loses_nothing_but_spaces(text: str, width: int) -> None:
    lines = folded(text, width).split("\n")
    assert all(cell_len(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


@given(st.text())
def test_pieces_make_the_whole(text: str) -> None:
    assert "".join(pieces(text)) == text
