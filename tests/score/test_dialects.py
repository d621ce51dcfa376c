"""Reasoning and turns inside replies: the table of dialects, entries of users, unknown marks."""

from pathlib import Path

import pytest

from fathom.score.dialects import (
    VARIABLE,
    dialects,
    split_reasoning,
    unknown_mark,
    unknown_marks_note,
    without_reasoning,
)
from fathom.types import FathomError

THOUGHT = "Passage 7? No, 12 has it."
FINAL = "<|start|>assistant<|channel|>final<|message|>"
ENCLOSED = {
    "think": "<think>{}</think>{}",
    "attributes": '<think effort="high">\n{}\n</think>\n{}',
    "thinking": "<thinking>{}</thinking>\n\n{}",
    "thought": "<thought>{}</thought>{}",
    "reasoning": "<reasoning>{}</reasoning>{}",
    "capitals": "<THINK>{}</THINK>{}",
    "Seed": "<seed:think>{}</seed:think>{}",
    "Magistral": "[THINK]{}[/THINK]{}",
    "Kimi": "◁think▷{}◁/think▷{}",
    "harmony": f"<|channel|>analysis<|message|>{{}}<|end|>{FINAL}{{}}<|return|>",
    "harmony, a JSON answer": (
        "<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>{}"
    ),
    "harmony with a preamble": (
        f"<|channel|>analysis<|message|>{{}}<|end|><|start|>assistant<|channel|>commentary<|message|>So.<|end|>{FINAL}{{}}"
    ),
    "harmony without tokens": "analysis{}assistantfinal{}",
    "Gemma 4": "<|channel>thought\n{}\n<channel|>{}<turn|>",
    "Gemma, unused tokens": "<unused94>thought\n{}<unused95>{}",
    "Command A": "<|START_THINKING|>{}<|END_THINKING|><|START_RESPONSE|>{}<|END_RESPONSE|>",
    "Sky-T1": "<|begin_of_thought|>{}<|end_of_thought|><|begin_of_solution|>{}<|end_of_solution|>",
    "Apertus": "<|inner_prefix|>{}<|inner_suffix|>{}",
    "Granite 3.2": "Here is my thought process: {} Here is my response: {}",
    "Granite 3.3": "<think>{}</think><response>{}</response>",
    "Hunyuan": "<think>\n{}\n</think>\n<answer>\n{}\n</answer>",
    "the template opened it": "{}</think>{}",
    "the template opened the analysis": f"{{}}<|end|>{FINAL}{{}}",
}


@pytest.mark.parametrize("name", ENCLOSED)
def test_reasoning_of_every_dialect_is_no_answer(name: str) -> None:
    for answer in ("12", "Because of rain.\n12", "[1, 2]"):
        text = ENCLOSED[name].format(THOUGHT, answer)
        found, reasoning = split_reasoning(text)
        assert found == answer
        assert THOUGHT in reasoning
        assert without_reasoning(text) == answer
    assert split_reasoning(ENCLOSED[name].format(THOUGHT, ""))[0] == ""


OPENED = ("<think>", "[THINK]", "◁think▷", "<|channel|>analysis<|message|>", "<|channel>thought", "<seed:think>")


@pytest.mark.parametrize("mark", OPENED)
def test_reasoning_that_never_ends_is_no_answer(mark: str) -> None:
    assert split_reasoning(f"{mark} {THOUGHT}") == ("", THOUGHT)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("12<|im_end|>", "12"),
        ("12<|im_end|>\n<|im_start|>user\nAnd 13?<|im_end|>", "12"),
        ("12<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n13", "12"),
        ("<|im_start|>assistant\n12<|im_end|>", "12"),
        ("12</s>", "12"),
        ("12</s></s>", "12"),
        ("12<end_of_turn>\n<start_of_turn>user\n13", "12"),
        ("12<end_of_turn>", "12"),
        ("It is 12.<eos>\n", "It is 12."),
        ("12<｜end▁of▁sentence｜>", "12"),
        ("12<|endoftext|>13", "12"),
        ("12<|end|>", "12"),
        ("12<|user|>\nAnd 13?", "12"),
        ("<|im_end|>12", "12"),
        ("<s>13</s> 12", "<s>13</s> 12"),
        ("It is <|begin_of_box|>12<|end_of_box|>.", "It is 12."),
        ("<think>a</think>12<think>13", "12"),
    ],
)
def test_what_follows_the_end_of_a_turn_is_no_answer(text: str, answer: str) -> None:
    assert split_reasoning(text)[0] == answer


@pytest.mark.parametrize(
    "text",
    [
        "analysis of variance gives 12",
        "a < b and <thinker>",
        "<answer>12</answer>",
        "[Answer] 12",
        "Here is my thought process: it rains.",
        "if x < 3: print('[think]')\n",
        " indented ",
        'EOS = "<|endoftext|>" + x',
        'std::cout << "</s>" << x;',
        "tokens = ['[INST]', 'x']",
        "The model wraps it in <reasoning> tags. The answer is B.",
        "vector<thought> v;",
        "The tag </thought> closes the bubble.",
    ],
)
def test_ordinary_text_is_unchanged(text: str) -> None:
    assert without_reasoning(text) == text
    assert split_reasoning(text) == (text.strip(), "")


def test_users_add_dialects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "mine.toml"
    table.write_text('"mine" = { opens = ["~~muse"], closes = ["muse~~"], ends = ["~~over"] }\n')
    monkeypatch.setenv(VARIABLE, str(table))
    assert split_reasoning("~~muse 13? muse~~12~~over and out") == ("12", "13?")
    assert split_reasoning("<think>13</think>12") == ("12", "13")
    assert "mine" in dialects()


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ('{ opens = ["<a>"] }', "expected both opens and closes"),
        ('{ models = "Qwen" }', "no mark; give at least one of opens, closes, wraps, starts, ends"),
        ('{ wraps = ["<foo>"], words = true }', "expected both opens and closes"),
        ('{ ends = ["|"] }', "'|' is too short"),
        ("{ ends = [3] }", "expected text"),
        ('{ finishes = ["<a>"] }', "finishes"),
        ("3", "expected an object"),
    ],
)
def test_wrong_entries_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str, words: str) -> None:
    table = tmp_path / "mine.toml"
    table.write_text(f'"mine" = {entry}\n')
    monkeypatch.setenv(VARIABLE, str(table))
    with pytest.raises(FathomError) as error:
        split_reasoning("12")
    assert str(table) in str(error.value)
    assert "'mine'" in str(error.value)
    assert words in str(error.value)


def test_unknown_marks_are_noted() -> None:
    assert unknown_mark("<|muse|>so it is") == "<|muse|>"
    assert unknown_mark("<ponder>so it is</ponder>") == "<ponder>"
    assert unknown_mark("[PONDER]so it is") == "[PONDER]"
    assert [unknown_mark(text) for text in ("<answer>12", "<div>", "[Answer] 12", "12", "", "a <ponder>")] == [""] * 6
    note = unknown_marks_note(["<ponder>a</ponder>12"] * 4 + ["12"] * 10)
    assert note.startswith("4 of 14 replies begin with <ponder>, which fathom's table of dialects does not explain.")
    assert 'opens = ["<ponder>"], closes = ["</ponder>"]' in note
    assert unknown_marks_note(["<ponder>a"] * 2) == ""
    assert unknown_marks_note(["<ponder>a"] * 3 + ["12"] * 13) == ""
