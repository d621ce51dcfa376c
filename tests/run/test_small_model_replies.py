"""Sixty replies of a real small model, each read by a person: what the strict rules say of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fathom.suites.registry import get_task
from fathom.types import Sample, Score

REPLIES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("small_model_replies.json").read_text("utf-8"))[
    "replies"
]
QUESTIONS = "single_doc_qa"


def scored(row: dict[str, Any]) -> Score:
    facts = {name: row[name] for name in ("task", "length", "chance", "asked", "facets", "inputs")}
    sample = Sample(
        id=row["sample"], item=row["sample"], parts=(), targets=tuple(row["targets"]), tokens=row["length"], **facts
    )
    return get_task(row["task"]).score(row["text"], sample)


@pytest.mark.parametrize("row", REPLIES, ids=lambda row: str(row["sample"]))
def test_the_score_of_each_reply_is_the_one_that_was_read_beside_it(row: dict[str, Any]) -> None:
    assert round(scored(row).value or 0.0, 4) == row["strict"]


def test_sixty_replies_of_six_tasks_were_read() -> None:
    assert len(REPLIES) == 60
    assert len({row["task"] for row in REPLIES}) == 6


def test_a_person_and_the_strict_rules_agree_wherever_an_answer_is_one_value() -> None:
    others = [row for row in REPLIES if row["task"] != QUESTIONS]
    assert [row["sample"] for row in others if row["right"] != (row["strict"] == 1.0)] == []


def test_token_f1_of_sentences_does_not_tell_right_from_wrong_but_the_detail_does() -> None:
    """A right sentence scores less than a wrong date: known, and why a judge is there; see the page of replies."""
    questions = [row for row in REPLIES if row["task"] == QUESTIONS]
    right, wrong = ([row["strict"] for row in questions if row["right"] == said] for said in (True, False))
    assert min(right) < max(wrong)
    contained = {row["sample"] for row in questions if "contains" in scored(row).detail or row["strict"] == 1.0}
    assert contained >= {row["sample"] for row in questions if row["right"]}
    assert {row["sample"] for row in questions if not row["right"]}.isdisjoint(contained)
