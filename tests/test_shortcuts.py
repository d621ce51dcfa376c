"""``performance/shortcuts.py``: dumps and blind rules for every kind of answer, and the table of what they score."""

from __future__ import annotations

import sys
from pathlib import Path

from fathom.models.baselines.parsing import ParsedPrompt, Pieces
from fathom.models.form import Heading

sys.path.insert(0, str(Path(__file__).parents[1] / "performance"))

from shortcuts import best, replies


def test_every_dump_and_rule_gives_a_reply_in_the_form_of_the_task() -> None:
    key = "3f0c2a14-5b6d-4e7f-8a9b-0c1d2e3f4a5b"
    context = f"Text 1:\nAda Bell in 1838: {key}.\n\nText 2:\nThe old mill by the river, and more words."
    parsed = ParsedPrompt("passage", context, "The old mill by a pond.", "en", heading=Heading("Text ", ":"))
    made = {(kind, name): reply for kind, name, reply in replies(parsed)}
    assert made["dump", "names"] == "Text, Ada Bell, The"
    assert made["dump", "UUIDs"] == key
    assert (made["dump", "options"], made["dump", "context"]) == ("1, 2", context)
    assert [made["blind", name] for name in ("longest", "common run", "first", "last")] == ["1", "2", "1", "2"]
    texts = {1: "On 12 March it snowed.", 2: "No date.", 3: "It was February 3rd."}
    order = ParsedPrompt("order", "", "", "en", pieces=Pieces(3, texts, "", "", ""))
    assert {name: reply for kind, name, reply in replies(order) if kind == "blind"} == {
        "first": "Answer: [1, 2, 3]",
        "last": "Answer: [3, 2, 1]",
        "dates": "Answer: [2, 3, 1]",
    }


def test_the_table_marks_what_clearly_exceeds_chance() -> None:
    assert best({"numbers": [1.0] * 30, "names": [0.5] * 40}, 40).cell(0.2) == "75% numbers !"
    assert best({"first": [0.0, 1.0] * 10}, 20).cell(0.45) == "50% first"
    assert best({}, 20).cell(0.0) == "-"
