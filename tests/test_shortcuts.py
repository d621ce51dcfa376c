"""Dumps and blind rules for every kind of answer, and what they score: in the manifest of a suite and in a table."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random
from string import ascii_lowercase

import pytest

from fathom.models.baselines.parsing import ParsedPrompt, Pieces
from fathom.models.form import Heading
from fathom.plugins import discovery, loading
from fathom.storage import time_limits

sys.path.insert(0, str(Path(__file__).parents[1] / "performance"))

from command_line import Call
from fathom import api
from fathom.models.baselines.shortcuts import Shortcut, moment, replies
from shortcuts import cell


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


def found(score: float, error: float, chance: float, **more: str) -> Shortcut:
    return Shortcut(
        "t",
        8192,
        40,
        chance,
        **{"kind": "dump", "grader": "strict", "rule": "numbers", **more},
        score=score,
        error=error,
    )


def test_what_clearly_exceeds_chance_is_marked_and_said() -> None:
    assert cell(found(0.75, 0.05, 0.2)) == "75% numbers !"
    assert cell(found(0.5, 0.1, 0.45)) == "50% numbers"
    assert cell(found(0.5, 0.0, 0.46)) == "50% numbers"
    assert cell(None) == "-"
    said = found(0.9, 0.01, 0.1, kind="blind", rule="common run", grader="official")
    assert str(said) == (
        "t at 8k: 90% without reading, by the longest run of words in common with the question (chance 10%, official)"
    )


@pytest.mark.slow
def test_a_build_measures_shortcuts_and_says_which_are_worth_it(call: Call, tmp_path: Path) -> None:
    rng, lines = Random(0), []
    for _ in range(60):  # each summary has two sentences of its text
        told = [
            " ".join(
                ["The", *("".join(rng.choices(ascii_lowercase, k=6)) for _ in range(9)), f"{rng.randrange(99999)}."]
            )
            for _ in range(12)
        ]
        lines.append(json.dumps({"text": " ".join(told), "summary": " ".join(told[4:6])}))
    (tmp_path / "texts.jsonl").write_text("\n".join(lines), "utf-8")
    corpus = ("--corpus", f"{tmp_path}/texts.jsonl?summary=summary", "--languages", "en")
    tasks = ("build", "passage_retrieval,passkey", "--lengths", "1k,2k", "--items", "25", "--seed", "3", *corpus)
    code, _, err = call(*tasks, "--out", str(tmp_path / "suite"))
    assert code == 0
    manifest = json.loads((tmp_path / "suite" / "manifest.json").read_text())
    measured = {(one["task"], one["length"], one["kind"], one["grader"]): one for one in manifest["shortcuts"]}
    run = measured["passage_retrieval", 2048, "blind", "strict"]
    assert (run["samples"], run["rule"]) == (20, "common run")
    assert run["score"] > 0.8 > 0.2 > run["chance"]
    assert measured["passkey", 2048, "dump", "strict"]["score"] < 0.1
    assert "passage_retrieval at 2k: " in err
    assert "without reading, by the longest run of words in common with the question" in err
    assert "passkey at" not in err
    without = api.build("passkey", tmp_path / "other", lengths="1k", items=2, shortcuts=False)
    assert "shortcuts" not in without.manifest


TASK = """
from fathom.types import Draw, Ending, Haystack, Needle, Plan, Sample, Score, Task


def plan(draw: Draw) -> Plan:
    return Haystack("Where?", (Needle("It is at 7.", draw.depth),), Ending("Where?\\n", targets=("7",), chance=0.1))


def score(reply: str, sample: Sample) -> Score:
    if len(reply) > 1:
        LONG
    return Score(float(reply == "7"), True)


TASKS = (Task("mine", plan, score, "accuracy", 32, "where it is", "an example", languages=("en",)),)
"""


@pytest.mark.parametrize(
    ("does", "scores"),
    [
        ("raise ValueError('too long')", [0.0]),
        ("return Score('high', True)", [0.0]),
        ("return Score(float('nan'), True)", [0.0]),
        ("return Score(5.0, True)", [0.0]),
        ("from fathom.plugins.extras import MissingLibraryError; raise MissingLibraryError('no library')", []),
        ("while True: pass", []),
    ],
)
def test_whatever_a_scorer_does_with_a_dump_a_build_goes_on(
    does: str, scores: list[float], call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "_IN_USE", {})
    monkeypatch.setattr(loading, "_READ", set())
    monkeypatch.setattr(discovery, "_FOUND", {})
    monkeypatch.setattr(time_limits, "SECONDS", 0.1)
    Path("mine.py").write_text(TASK.replace("LONG", does), "utf-8")
    assert call("build", "./mine.py", "--lengths", "1k", "--items", "3", "--out", "suite", "--quiet")[0] == 0
    assert [one["score"] for one in json.loads(Path("suite", "manifest.json").read_text())["shortcuts"]] == scores


@pytest.mark.slow
def test_shortcuts_are_tried_on_one_sample_of_each_item_in_every_language(tmp_path: Path) -> None:
    built = api.build("single_doc_qa", tmp_path / "suite", lengths="1k", items=30, languages="en,zh")
    assert built.manifest["samples"]["single_doc_qa"] > 100
    assert {one["samples"] for one in built.manifest["shortcuts"]} == {40}


def test_a_long_s_is_no_month() -> None:
    assert moment("on the 2 \u017feptember 1750") is None
    assert moment("on the 2nd of September 1750") == (8, 2)
