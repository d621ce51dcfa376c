"""Map-reduce and compaction: what is sent, what is kept, what happens when a request fails or notes do not fit."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_server import Act, ScriptedServer, completion

from engine_calls import run
from fathom import api
from fathom.extend.methods import SYSTEMS, make_method
from fathom.models.baselines.lexical import read
from fathom.models.form import Heading, PromptForm
from fathom.run import replies, status
from fathom.run.preflight import Preflight
from fathom.run.systems import Request, SplitPrompt, System, Task, Unit, open_system
from fathom.run.systems.notes import Compaction, MapReduce
from fathom.run.systems.prompts import parts_of
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import Reply, Status
from processes import start_program, until

TOKENIZER = get_tokenizer("words")
SENTENCES = " ".join(f"Ship {number} sails on day {number}." for number in range(60))
SHIPS = SplitPrompt("Read this.\n\n", (Unit("Log 1:\n", SENTENCES),), "\n\nWhen does ship 7 sail?\n\nAnswer:")
LONG = replace(SHIPS, units=(Unit("", SENTENCES * 7),))
Answer = Callable[[int, Request], Reply]


def said(number: int, request: Request) -> Reply:
    text = "day 7" if request.notes is None else f"note {number}"
    return Reply(status="ok", text=text, tokens_in=TOKENIZER.count(request.prompt), tokens_out=2)


def answered(
    system: System, prompt: SplitPrompt = SHIPS, window: int | None = None, answer: Answer = said, language: str = "en"
) -> tuple[list[Request], Reply]:
    """What a system sends, and its reply."""
    sent: list[Request] = []

    async def send(request: Request) -> Reply:
        sent.append(request)
        return answer(len(sent), request)

    def room(cap: int) -> int | None:
        return None if window is None else window - cap

    return sent, asyncio.run(system.answer(Task(prompt, 8, room, TOKENIZER, send, language)))


def test_map_reduce_notes_each_part_and_answers_from_the_notes() -> None:
    sent, reply = answered(MapReduce(100, 64))
    *parts, last = sent
    assert [one.notes for one in sent] == [64] * len(parts) + [None]
    assert len(parts) == 4
    for number, one in enumerate(parts, start=1):
        assert one.prompt.startswith(f"This is part {number} of {len(parts)}")
        assert f"Read this.\n\n[Part {number} of 4]\nLog 1:\n" in one.prompt
        # What is asked stands in the last paragraph, with what the notes are to be.
        assert one.prompt.rpartition("\n\n")[2].startswith("When does ship 7 sail?\nAnswer:\nReply with notes")
    for number in range(60):
        assert sum(f"Ship {number} sails" in one.prompt for one in parts) == 1
    assert last.prompt.startswith("Read this.\n\n(")
    assert last.prompt.endswith(f"[Notes on part 4 of 4]\nnote 4{SHIPS.after}")
    assert "Ship" not in last.prompt
    assert reply.text == "day 7"
    assert reply.reasoning.count("[Notes on part") == 4
    assert reply.tokens_in == sum(TOKENIZER.count(one.prompt) for one in sent)
    assert reply.tokens_out == 10
    assert reply.attempts == 5


@pytest.mark.parametrize("system", [MapReduce(1024, 64), Compaction(1024, 64)])
def test_a_text_of_one_part_is_sent_whole(system: System) -> None:
    (only,), reply = answered(system)
    assert only == Request(SHIPS.whole)
    assert not reply.reasoning


def test_notes_that_do_not_fit_are_noted_again() -> None:
    def wordy(number: int, request: Request) -> Reply:
        text = "word " * (30 if "Ship" in request.prompt else 3)
        return Reply(status="ok", text=text, tokens_in=TOKENIZER.count(request.prompt), tokens_out=30)

    sent, reply = answered(MapReduce(None, 60), LONG, window=400, answer=wordy)
    assert all(TOKENIZER.count(one.prompt) + (one.notes or 8) <= 400 for one in sent)
    first = [one for one in sent if "Ship" in one.prompt]
    again = sent[len(first) : -1]
    assert len(first) > len(again) > 1
    assert reply.status == "ok"


def test_notes_that_never_become_shorter_are_an_overflow() -> None:
    def verbose(number: int, request: Request) -> Reply:
        return Reply(status="ok", text="word " * 300, tokens_in=1, tokens_out=1)

    sent, reply = answered(MapReduce(None, 32), window=300, answer=verbose)
    assert reply.status == "overflow"
    assert "the notes with the question" in reply.error
    assert reply.tokens_in == len(sent)


@pytest.mark.parametrize("system", [MapReduce(None, 64), Compaction(None, 64)])
def test_a_window_without_room_for_a_part_is_an_overflow(system: System) -> None:
    sent, reply = answered(system, window=210)
    assert not sent
    assert (reply.status, reply.attempts) == ("overflow", 0)
    assert "smaller value of notes" in reply.error


def test_compaction_rewrites_its_notes() -> None:
    sent, reply = answered(Compaction(100, 64))
    *parts, last = sent
    assert len(parts) == 4
    assert "[Notes so far]" not in parts[0].prompt
    for number, one in enumerate(parts[1:], start=2):
        assert f"[Notes so far]\nnote {number - 1}\n\n[Part {number} of 4]\nLog 1:\n" in one.prompt
    assert last.prompt.endswith(f"note 4{SHIPS.after}")
    assert "note 3" not in last.prompt
    assert reply.reasoning.startswith("[Notes on part 1 of 4]\nnote 1\n\n[Notes on part 2 of 4]\nnote 2")


def test_notes_without_text_leave_those_before_them() -> None:
    def cut_off(number: int, request: Request) -> Reply:
        silent = number > 1 and request.notes is not None
        return replace(said(number, request), text="" if silent else f"note {number}", status="incomplete")

    sent, reply = answered(Compaction(100, 64), answer=cut_off)
    assert len(sent) == 5
    assert sent[-1].prompt.endswith(f"note 1{SHIPS.after}")
    assert (reply.status, reply.text) == ("incomplete", "note 5")
    sent, reply = answered(MapReduce(100, 64), answer=cut_off)
    assert sent[-1].prompt.count("[Notes on part") == 1


@pytest.mark.parametrize("system", [MapReduce(100, 64), Compaction(100, 64)])
@pytest.mark.parametrize("status", ["error", "refused", "overflow"])
def test_a_failed_request_ends_the_sample_with_its_tokens(system: System, status: Status) -> None:
    def fails(number: int, request: Request) -> Reply:
        return Reply(status=status, error="no", attempts=3) if number == 3 else said(number, request)

    sent, reply = answered(system, answer=fails)
    assert len(sent) == 3
    assert (reply.status, reply.text, reply.error, reply.attempts) == (status, "", "no", 5)
    assert reply.reasoning.count("[Notes on part") == 2
    if status != "refused":  # whose prompt was read, by nobody knows how many tokens
        assert reply.tokens_in == sum(TOKENIZER.count(one.prompt) for one in sent[:2])
        assert reply.tokens_out == 4


def test_chinese_prompts_ask_in_chinese() -> None:
    text = "".join(f"第{number}条船在第{number}天出发。" for number in range(60))
    prompt = SplitPrompt("请阅读。\n\n", (Unit("", text),), "\n\n第七条船何时出发？")

    def nothing(number: int, request: Request) -> Reply:
        return Reply(status="ok", text="无。", tokens_in=1, tokens_out=1)

    for system in (MapReduce(256, 64), Compaction(256, 64)):
        sent, _ = answered(system, prompt, language="zh")
        for one in sent:
            assert not any("a" <= letter <= "z" for letter in one.prompt.replace("note", ""))
    sent, _ = answered(MapReduce(256, 64), prompt, answer=nothing, language="zh")
    noted = "（正文太长，无法一次读完。下面是按原文顺序所做的笔记。）"
    assert sent[-1].prompt == f"请阅读。\n\n{noted}\n\n无\n\n第七条船何时出发？"


@given(
    tokens=st.integers(17, 300),
    texts=st.lists(st.text(alphabet="ab .!?\n字", max_size=400), min_size=1, max_size=4),
)
def test_parts_have_all_of_the_text_and_are_not_too_long(tokens: int, texts: list[str]) -> None:
    units = [Unit(f"\n\nH{number}:\n", text) for number, text in enumerate(texts)]
    parts = parts_of(units, tokens, TOKENIZER)
    letters = Counter("".join(texts))
    found = Counter("".join(parts))
    assert all(found[letter] == letters[letter] for letter in "ab字!?")
    assert all(TOKENIZER.count(part) <= tokens + 4 for part in parts)


@pytest.mark.slow
@given(
    count=st.integers(1, 400),
    chunk=st.sampled_from([None, 256, 1024]),
    window=st.sampled_from([None, 1500, 4096]),
    name=st.sampled_from(["map-reduce", "compaction", "retrieval"]),
)
def test_the_forecast_is_not_exceeded(count: int, chunk: int | None, window: int | None, name: str) -> None:
    options = {"top": 3} if name == "retrieval" else {"chunk": chunk, "notes": 64}
    system = open_system(make_method(name, options, SYSTEMS))
    assert system is not None
    text = " ".join(f"Ship {number} sails on the day {number} to a port." for number in range(count))
    prompt = SplitPrompt("Read this.\n\n", (Unit("", text),), "\n\nWhen does ship 7 sail?")

    def full(number: int, request: Request) -> Reply:
        words = "word " * (request.notes or 8)
        return Reply("ok", words, tokens_in=TOKENIZER.count(request.prompt), tokens_out=request.notes or 8)

    sent, reply = answered(system, prompt, window, full)
    most = system.most(TOKENIZER.count(prompt.whole), 8, window)
    assert len(sent) <= most.requests
    if reply.status == "ok":
        assert (reply.tokens_in or 0) <= most.tokens_in
        assert (reply.tokens_out or 0) <= most.tokens_out


def test_the_lexical_baseline_takes_notes_below_headings() -> None:
    prompt = (
        "Read.\n\nPassage 3:\nAlder stands on a hill.\n\nPassage 4:\nBirch lies on the river Tew. It rains.\n\n"
        "Answer the following question about Passage 4 from what it says.\nOn which river does Birch lie?\n"
        "Reply with notes on this part only"
    )
    form = PromptForm("en", heading=Heading("Passage ", ":"))
    assert read(prompt, "notes", Random(0), form).startswith("Passage 4:\nBirch lies on the river Tew.")
    few = read(f"{prompt}, in at most 9 words: short", "notes", Random(0), form)
    assert few == "Passage 4:\nBirch lies on the river Tew."
    assert read(prompt.replace("about Passage 4", "about Passage 9"), "notes", Random(0), form) == "nothing"
    form = PromptForm("zh", heading=Heading("文章", "："))
    chinese = "文章3：\n柏村在特河边。\n\n请根据文章3的内容回答下面的问题。\n问题：柏村在哪里？\n请只回答笔记"
    assert read(chinese, "notes", Random(0), form) == "文章3：\n柏村在特河边。"
    assert read(chinese.replace("根据文章3", "根据文章5"), "notes", Random(0), form) == "无"


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("notes") / "suite"
    api.build("passkey,single_doc_qa", folder, lengths="1k,2k", items=2, seed=3, languages=["en", "zh"])
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("system", ["map-reduce?chunk=256&notes=128", "compaction?chunk=256&notes=128"])
@pytest.mark.parametrize("model", ["fathom/lexical", "fathom/guess", "fathom/lexical?window=1k"])
def test_offline_baselines_read_through_systems(suite: Path, tmp_path: Path, system: str, model: str) -> None:
    out = tmp_path / "run"
    summary = api.run(suite, model, out, system=system)
    assert not any("reasons" in hint for hint in summary.hints)
    for one in replies(out):
        assert one.reply.status == "ok"
        assert "[Notes on part 1 of" in one.reply.reasoning or "笔记" in one.reply.reasoning
        assert (one.reply.tokens_in or 0) > one.tokens
        if model.startswith("fathom/lexical") and one.task == "passkey":
            assert one.reply.text in one.targets


PROGRAM = """
import json, sys, urllib.request
from pathlib import Path
from fathom.models import baselines
from fathom.run import run
from fathom.runfile.settings import RunSettings
suite, out, url = sys.argv[1:]
def read(prompt, answer, rng, form):
    body = json.dumps({"messages": [{"content": "[sample 1] " + prompt}]}).encode()
    with urllib.request.urlopen(url + "/chat/completions", body) as reply:
        return json.load(reply)["choices"][0]["message"]["content"]
baselines.get_baseline = lambda name: read
run(Path(suite), "fathom/ask", RunSettings(system="map-reduce?chunk=256", max_connections=2), out=Path(out))
"""


def slowly(number: int, before: int) -> Act:
    return Act(body=completion(f"answer {before}").body, delay=0.02)


@pytest.mark.slow
@pytest.mark.long
def test_kill_9_within_a_sample_loses_nothing_that_is_finished(suite: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with ScriptedServer(slowly) as server:
        process = start_program(PROGRAM, suite, out, server.base_url)
        until(lambda: out.exists() and (out / "run.json").exists() and status(out).finished >= 3, process)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        kept = {one.sample: one.reply for one in replies(out)}
        assert 3 <= len(kept) < status(out).total
        both = [start_program(PROGRAM, suite, out, server.base_url) for _ in range(2)]
        errors = [one.communicate()[1].decode() for one in both]
        assert [one.returncode for one in both] == [0, 0], errors
    found = {one.sample: one.reply for one in replies(out)}
    assert len(found) == status(out).finished == status(out).total
    assert {name: found[name] for name in kept} == kept
    assert all(one.reasoning for one in found.values())


@pytest.mark.slow
def test_the_forecast_of_a_run_counts_all_requests(suite: Path, tmp_path: Path) -> None:
    seen: list[Preflight] = []

    def look(plan: Preflight) -> bool:
        seen.append(plan)
        return True

    run(
        suite,
        "fathom/lexical",
        out=tmp_path / "run",
        system="map-reduce?chunk=256&notes=64",
        confirm=look,
    )
    (plan,) = seen
    made = [one.reply for one in replies(tmp_path / "run")]
    assert sum(one.attempts for one in made) <= plan.requests
    assert sum(one.tokens_in or 0 for one in made) <= plan.tokens_in
    assert plan.requests > 4 * len(made)
    assert "the most that the system asks for" in str(plan)


@pytest.mark.slow
def test_readers_are_told_that_prompts_were_not_sent_as_shown(suite: Path, tmp_path: Path) -> None:
    api.run(suite, "fathom/lexical", tmp_path / "run", system="compaction?chunk=256", limit=1)
    api.run(suite, "fathom/lexical", tmp_path / "whole", limit=1)
    words = "not sent the prompts as shown, but what the system compaction made of them"
    assert any(words in note for note in api.show(tmp_path / "run")["notes"])
    assert not any("system" in note for note in api.show(tmp_path / "whole")["notes"])
