"""Wrappers that stand within sentences hold no answer, and several of them hold none that is chosen."""

import pytest

from fathom.score.answers import choice_letter
from fathom.score.unwrapping import unwrapped


@pytest.mark.parametrize(
    "text",
    [
        'The bridge opened late. It quotes {"value": 5}.',
        'The function `f` returns {"type": "x"} for Paris',
        'In JSON {"a": 1} the key is a. Paris',
        "The paper says <answer>x</answer> tags wrap outputs of models.",
    ],
)
def test_wrappers_within_sentences_are_part_of_them(text: str) -> None:
    assert unwrapped(text) == text


@pytest.mark.parametrize(
    "text",
    [
        r"\boxed{A}, \boxed{B}",
        "\\boxed{A}\n\\boxed{B}",
        "<answer>B</answer> or <answer>C</answer>",
        "<answer>B</answer><answer>C</answer>",
    ],
)
def test_two_wrapped_answers_are_no_choice(text: str) -> None:
    assert choice_letter(text) is None


@pytest.mark.parametrize(
    "text",
    [
        'Here it is: {"answer": "B", "reason": "A is older"}',
        'So:\n{"choice": "B"}\n',
        "First <answer>A</answer> seemed right.\nBut then: <answer>B</answer>",
        r"Not \boxed{A}. After a second look: \boxed{B}",
    ],
)
def test_the_last_of_several_is_chosen_where_words_lead_to_it(text: str) -> None:
    assert choice_letter(text) == "B"
