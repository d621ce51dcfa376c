"""Rules that find gold texts to be read: what they name, what they leave, and what the command writes."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from command_line import Call
from fathom import api
from fathom.documents.sources.errata import own_errata
from fathom.run.gold_rules import suspicion

TEXT = ("The library of Wend was opened in 1951. It has 30,000 books and is closed on Mondays.",)
NOTICE = (
    "The harbour was closed in May. Ships waited for nine days. It was opened again in June.",
    "These crawls are part of an effort to archive pages. Data are added to the Wayback Machine. Go back.",
)


def kind(question: str, answer: str = "1951", passages: tuple[str, ...] = TEXT, *, summary: bool = False) -> str:
    found = suspicion(question, (answer,), passages, summary=summary)
    return found.kind if found else ""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Also, I need to find out other Financial Plans.", "See the other plans."),
        ("yes", "You may apply."),
        ("How would I be able to get this mailed to me?", "By mail."),
        ("I lost my licence", "Call the office."),
        ("What are the requirements?", "A form."),
        ("Who won last year's cup?", "Wend"),
        ("How do I apply for a card of the library?", "Do you live in Wend?"),
    ],
)
def test_turns_of_dialogues_are_named(question: str, answer: str) -> None:
    assert kind(question, answer) == "turn"


@pytest.mark.parametrize(
    "question",
    [
        "When was the library of Wend opened?",
        "what is the name of the library in wend",
        "Is the library of Wend open on Mondays?",
        "Highlight the parts of this contract related to renewal. Details: is it automatic",
        "Okay, but how do I apply for a card of the library if I live in another town than Wend?",
        "Which film came first, All or What Ever Happened?",
        "图书馆是什么时候开放的？",
    ],
)
def test_whole_questions_are_left(question: str) -> None:
    assert kind(question) == ""


def test_garbled_questions_and_articles_about_web_pages_are_named() -> None:
    assert kind("How many books does the library that is in Wend has are there?") == "garbled"
    assert kind('who wrote "The opera "Lulu"') == "garbled"
    assert kind("", "A harbour was closed.", NOTICE, summary=True) == "boilerplate"
    assert kind("", "A harbour was closed.", NOTICE[:1], summary=True) == ""


def test_markup_and_second_answers_are_named() -> None:
    marked = ("<Ul> <Li> </Li> <Li> opened in 1951 </Li> </Ul> and nothing else here",)
    assert kind("When was the library opened?", passages=marked) == "markup"
    two = (
        "The first library of Wend was built in 1951.\nThe old library of Wend was first opened to readers in 1948.",
    )
    assert kind("When was the library of Wend opened to readers?", passages=two) == "second answer"
    assert kind("When was the first library of Wend built?", passages=two) == ""


def test_the_command_writes_what_it_finds_without_a_model(call: Call, tmp_path: Path) -> None:
    questions = [("When was the library opened?", "1951"), ("yes", "closed on Mondays")]
    rows: list[dict[str, Any]] = [
        {"text": TEXT[0], "questions": [{"question": q, "answers": [a]} for q, a in questions]}
    ]
    rows += [{"text": f"{number} gulls were counted on pier {number * 7}. " * 20} for number in range(9)]
    (tmp_path / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    api.build("single_doc_qa", tmp_path / "suite", corpus=str(tmp_path / "own.jsonl"), lengths="256", tokenizer="words")
    for _ in range(2):  # the folder is its own, and read again
        code, out, err = call("check-gold", "suite", "--model", "rules", "--out", "gold")
        assert (code, "2 gold texts: 1 dependent, 1 unsuspected" in out) == (0, True), (out, err)
    (entry,) = tomllib.loads(Path("gold/errata.toml").read_text("utf-8")).values()
    assert (entry["fault"], "a reply to a turn" in entry["reason"]) == ("dependent", True)
    verdicts = [json.loads(line)["verdict"] for line in Path("gold/support.jsonl").read_text("utf-8").splitlines()]
    assert sorted(verdicts) == ["dependent", "unsuspected"]


def test_errata_give_reasons_and_no_fault_twice() -> None:
    assert all(erratum.reason and erratum.source for erratum in own_errata().values())
