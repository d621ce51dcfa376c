"""Example prompts on the pages of tasks."""

from __future__ import annotations

from fathom.board.examples import SHOWN, _to_word


def test_an_example_is_cut_between_words() -> None:
    assert _to_word("The second cof") == "The second"
    assert _to_word("The second ") == "The second"
    without = "\u6c34" * SHOWN
    assert _to_word(without) == without
