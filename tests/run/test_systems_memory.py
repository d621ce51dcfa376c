"""Conversations that are compacted before the question is known: what is sent, what is kept, what is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from random import Random
from types import MappingProxyType

import pytest

from engine_calls import configure, run
from fathom.analysis import survival, survivors
from fathom.extend.methods import SYSTEMS, make_method
from fathom.models import baselines
from fathom.models.form import PromptForm
from fathom.rows import rows_from_run
from fathom.run.systems import Request, SplitPrompt, Task, Unit, compactions_of, open_system
from fathom.run.systems.memory import WAYS, Memory
from fathom.suites.build import build
from fathom.suites.suitefile import open_suite
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import AnswerKind, Reply

TOKENIZER = get_tokenizer("words")
MESSAGES = tuple(
    Unit(f"\n\n[Message {n}]\n", f"Ship {n} sails on day {n}. " + "Wind and rain. " * 20) for n in range(60)
)
PROMPT = SplitPrompt("Read this.", MESSAGES, "\n\nWhen does ship 7 sail?\nAnswer:")
SIZE, NOTES = 1024, 64


def answered(
    keep: str, *, window: int | None = None, fails: int = 0, notes: int = NOTES, says: str = "note"
) -> tuple[list[Request], Reply]:
    """What a system sends, and its reply; the request of that number fails."""
    sent: list[Request] = []

    async def send(request: Request) -> Reply:
        sent.append(request)
        if len(sent) == fails:
            return Reply(status="error", stop="error", error="no connection")
        text = "day 7" if request.notes is None else f"{says} {len(sent)}"
        return Reply(status="ok", text=text, tokens_in=TOKENIZER.count(request.prompt), tokens_out=2)

    def room(cap: int) -> int | None:
        return None if window is None else window - cap

    system = Memory(WAYS[keep], SIZE, notes)
    return sent, asyncio.run(system.answer(Task(PROMPT, 8, room, TOKENIZER, send)))


@pytest.mark.parametrize("keep", sorted(WAYS))
def test_no_request_exceeds_the_context_and_none_but_the_last_has_the_question(keep: str) -> None:
    sent, reply = answered(keep)
    *compactions, last = sent
    assert (reply.status, reply.text) == ("ok", "day 7")
    assert all(TOKENIZER.count(request.prompt) <= SIZE + 256 for request in sent)
    assert not any("When does ship 7 sail?" in request.prompt for request in compactions)
    assert last.prompt.startswith("Read this.")
    assert last.prompt.endswith(PROMPT.after)
    assert MESSAGES[-1].text in last.prompt
    assert len(compactions) == (len(reply.compacted) if WAYS[keep].notes != "none" else 0)
    assert list(reply.compacted) == sorted(reply.compacted, reverse=True)


def test_every_message_is_compacted_once_or_is_in_the_last_request() -> None:
    for keep in ("summary", "summary-recent", "facts"):
        sent, _ = answered(keep)
        for unit in MESSAGES:
            assert sum(unit.text.strip() in request.prompt for request in sent) == 1


def test_a_summary_is_rewritten_and_a_list_is_added_to() -> None:
    rewritten, _ = answered("summary")
    assert "[Notes so far]\nnote 1\n" in rewritten[1].prompt
    assert f"note {len(rewritten) - 1}" in rewritten[-1].prompt
    assert "note 1\n" not in rewritten[-1].prompt
    added, _ = answered("facts")
    assert "note 1" not in added[1].prompt
    assert "note 1\nnote 2\n" in added[-1].prompt


def test_old_messages_are_found_again_by_the_question() -> None:
    (recalled,), _ = answered("recall", notes=256)
    (recent,), _ = answered("recent", notes=256)
    assert MESSAGES[7].text.strip() in recalled.prompt
    assert MESSAGES[7].text.strip() not in recent.prompt
    assert recalled.prompt.index(MESSAGES[7].heading.strip()) < recalled.prompt.index(MESSAGES[59].heading.strip())


def test_what_was_compacted_is_counted_for_each_fact() -> None:
    _, reply = answered("recent")
    counts = [compactions_of(reply, PROMPT, f"Ship {n} sails on day {n}.") for n in range(60)]
    assert all(count is not None for count in counts)
    assert counts == sorted(counts, key=lambda count: -(count or 0))
    assert counts[0] == len(reply.compacted)
    assert counts[-1] == 0
    assert set(counts) == set(range(len(reply.compacted) + 1))


def test_without_the_fact_in_the_text_nothing_was_compacted_and_of_two_that_are_equal_its_place_decides() -> None:
    _, reply = answered("recent")
    assert compactions_of(reply, PROMPT, "") is None
    assert compactions_of(reply, PROMPT, "Ship 99 sinks.") is None
    assert compactions_of(reply, PROMPT, "Wind and rain.") == 0
    assert compactions_of(reply, PROMPT, "Wind and rain.", 0.0) == len(reply.compacted)


def test_a_failed_compaction_ends_the_sample_with_the_tokens_so_far() -> None:
    sent, reply = answered("summary", fails=2)
    assert len(sent) == 2
    assert (reply.status, reply.error) == ("error", "no connection")
    assert reply.tokens_in == TOKENIZER.count(sent[0].prompt)


def test_a_window_without_room_for_a_context_is_an_overflow() -> None:
    sent, reply = answered("summary", window=700)
    assert (sent, reply.status, reply.attempts) == ([], "overflow", 0)


@pytest.mark.parametrize("keep", sorted(WAYS))
@pytest.mark.parametrize("window", [None, 4096])
@pytest.mark.parametrize("says", ["note", "word " * 300])
def test_the_forecast_is_at_least_what_is_asked_also_of_a_model_that_exceeds_the_limit_of_notes(
    keep: str, window: int | None, says: str
) -> None:
    system = open_system(make_method("memory", {"keep": keep, "context": SIZE, "notes": NOTES}, SYSTEMS))
    assert isinstance(system, Memory)
    sent, reply = answered(keep, window=window, says=says)
    most = system.most(TOKENIZER.count(PROMPT.whole), 8, window)
    assert len(sent) <= most.requests
    assert (reply.tokens_in or 0) <= most.tokens_in
    assert (reply.tokens_out or 0) <= most.tokens_out
    assert max(TOKENIZER.count(request.prompt) for request in sent) <= most.longest


class Forgetful:
    """A model whose notes keep each fact that they read with a probability, and that answers from what it reads."""

    def __init__(self, facts: Mapping[str, tuple[str, str]], kept: float) -> None:
        self._facts = facts  # question and answer of each
        self._kept = kept

    def __call__(self, prompt: str, answer: AnswerKind, rng: Random, form: PromptForm | None = None) -> str:
        known = [fact for fact in self._facts if fact in prompt]
        if answer == "notes":
            luck = {fact: Random(sha256((fact + prompt).encode()).hexdigest()).random() for fact in known}
            return "\n".join(fact for fact in known if luck[fact] < self._kept) or "nothing"
        assert form is not None
        return next((self._facts[fact][1] for fact in known if self._facts[fact][0] == form.asked), "I cannot tell.")


@pytest.mark.slow
def test_a_model_that_forgets_at_a_known_rate_is_measured_at_that_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FATHOM_CACHE", str(tmp_path / "cache"))
    wanted = configure("memory", lengths=(4096, 12288), items=40, languages=("en",), tokenizer="words")
    suite = build(wanted, tmp_path / "suite").folder
    facts = {str(sample.inputs["fact"]): (sample.asked, sample.targets[0]) for sample in open_suite(suite).samples()}
    for kept in (0.7, 0.9):
        known = dict(baselines._BASELINES) | {"fathom/forgetful": (Forgetful(facts, kept), "")}
        monkeypatch.setattr(baselines, "_BASELINES", MappingProxyType(known))
        out = tmp_path / f"run-{kept}"
        run(suite, "fathom/forgetful", out=out, system="memory?keep=summary&context=2048&notes=512")
        rows = rows_from_run(out)
        (system,) = survivors(rows)
        assert system.kept is not None
        assert system.kept_interval is not None
        assert system.kept_interval.low <= kept <= system.kept_interval.high
        assert system.kept_interval.high - system.kept_interval.low < 0.12
        for point in survival(rows):
            if point.by == "compactions":
                # Within a group of several numbers the share is between those of its ends.
                assert point.interval.low <= kept**point.low
                assert point.interval.high >= kept**point.high
