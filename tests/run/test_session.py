"""The session by itself: what is sent, counted, priced and said, with a client and a ledger and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from run_suites import FILLER, TOKENS, sample

from fathom.models.answers import LARGE_TEXT
from fathom.models.overflow import Overflow
from fathom.models.prices import FREE, TRUNCATION, UNKNOWN, Limit, Price
from fathom.models.protocol import Call
from fathom.models.request_mode import RequestMode
from fathom.models.retry import Retry
from fathom.models.thinking import Thinking
from fathom.run import replies
from fathom.run.engine import Terms, _first
from fathom.run.session import CLAIM_POLL_SECONDS, Session, Work
from fathom.runfile.ledger import Key, Ledger
from fathom.runfile.progress import Progress, RunSummary
from fathom.runfile.store import StoredReply
from fathom.runfile.worker import this_worker
from fathom.tokens.length import render
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import FathomError, Reply, Sample

TEXTS = {"doc": FILLER}
PROMPT = render(sample(0), TEXTS)
ENDING = len("\nWhen does it leave?")


@dataclass
class Client:
    """Answers as a function of the prompt and the call; remembers both, and how many were under way at once."""

    answer: Callable[[str, Call], Reply] = lambda prompt, call: Reply("ok", "nine")
    window: int | None = None
    policy: Overflow = "refuse"
    asked: list[tuple[str, Call]] = field(default_factory=list)
    under_way: int = 0
    most: int = 0

    async def complete(self, prompt: str, call: Call) -> Reply:
        self.asked.append((prompt, call))
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0)
        self.under_way -= 1
        return self.answer(prompt, call)

    async def close(self) -> None: ...


def work(count: int = 1, **options: Any) -> Work:
    usual: dict[str, Any] = {
        "samples": lambda: map(sample, range(count)), "texts": lambda: TEXTS, "epochs": 1, "seed": 7,
        "limit": Limit(None, "", "refuse"), "caps": lambda task: {"passkey": 10}[task],
        "tokenizer": lambda: get_tokenizer("words"), "progress": lambda state: None,
    }  # fmt: skip
    names = {one.name for one in fields(Terms)} & options.keys()
    terms = replace(Terms(FREE, 1, Retry(retries=0)), **{name: options.pop(name) for name in names})
    return Work(terms=terms, **{**usual, **options})


@dataclass
class Done:
    summary: RunSummary
    rows: list[StoredReply]
    client: Client
    states: list[Progress]

    @property
    def reply(self) -> Reply:
        (row,) = self.rows
        return row.reply


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    made = Ledger(tmp_path, this_worker())
    yield made
    made.close()


def go(ledger: Ledger, answer: Callable[[str, Call], Reply] | Reply, what: Work, total: int = 1) -> Done:
    client = Client((lambda prompt, call: answer) if isinstance(answer, Reply) else answer)
    states: list[Progress] = []
    session = Session(ledger, client, replace(what, progress=states.append), total)
    asyncio.run(session.work_through())
    return Done(session.summary(), list(replies(ledger.folder)), client, states)


OK = Reply("ok", "nine")


# -------------------------------------------------------------------------------------------------------- what is sent


def test_a_sample_is_asked_by_its_whole_prompt_and_with_what_goes_with_it(ledger: Ledger) -> None:
    request_mode = RequestMode(stop=("\n", "END"), continued=True, answer="words")
    done = go(ledger, OK, work(request_mode=lambda task: {"passkey": request_mode}[task], epochs=2))
    assert done.client.asked == [
        (PROMPT, Call("item0@256", epoch, 7, 10, ("\n", "END"), True, "words", ENDING, shared=len(PROMPT) - ENDING))
        for epoch in (1, 2)
    ]
    assert {row.prompt_hash for row in done.rows} == {sha256(PROMPT.encode()).hexdigest()[:16]}
    assert [row.epoch for row in done.rows] == [1, 2]


@pytest.mark.parametrize("waits", [True, False])
def test_the_first_prompt_of_a_context_is_answered_before_the_others_are_sent(ledger: Ledger, waits: bool) -> None:
    one = sample(0)
    context = (*one.parts[:-1], "\n\n")
    samples = [
        replace(one, id=f"{place}", parts=(f"[{place // 3}]", *context, f"What is {place}?"), asked=f"What is {place}?")
        for place in range(9)
    ]
    under_way: set[str] = set()
    together: list[tuple[str, ...]] = []

    @dataclass
    class Slow(Client):
        async def complete(self, prompt: str, call: Call) -> Reply:
            under_way.add(call.sample)
            together.append(tuple(sorted(under_way)))
            await asyncio.sleep(0.01)
            under_way.remove(call.sample)
            assert prompt[call.shared :] == prompt[-call.ending :]
            self.asked.append((prompt, call))
            return Reply("ok", "nine")

    client, what = Slow(), work(samples=lambda: iter(samples), max_connections=4, waits=waits)
    asyncio.run(Session(ledger, client, what, 9).work_through())
    assert len(client.asked) == 9
    assert all(call.shared for _, call in client.asked)
    siblings = [names for names in together if any({first, f"{int(first) + 1}"} <= set(names) for first in "036")]
    assert bool(siblings) != waits
    assert max(map(len, together)) == 4


def test_a_prompt_that_lost_its_end_does_not_say_where_its_question_begins(ledger: Ledger) -> None:
    policies: dict[Overflow, int] = {"left": ENDING, "middle": ENDING, "right": 0}
    for policy, ending in policies.items():
        limit = replace(work().limit, window=100, policy=policy)
        folder = ledger.folder / policy
        folder.mkdir()
        with closing(Ledger(folder, this_worker())) as other:
            ((prompt, call),) = go(other, OK, work(limit=limit)).client.asked
        assert len(prompt) < len(PROMPT)
        assert call.ending == ending


def test_lone_surrogates_have_a_hash(ledger: Ledger) -> None:
    odd = replace(sample(0), parts=("\ud800",))
    (row,) = go(ledger, OK, work(samples=lambda: iter([odd]))).rows
    assert row.prompt_hash == sha256("\ud800".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def test_a_second_request_has_a_prompt_a_cap_and_a_kind_of_its_own(ledger: Ledger) -> None:
    def follow_up(text: str, one: Sample) -> str:
        return f"{one.id} said {text}. So?"

    request_mode = RequestMode(follow_up=follow_up, second_cap=3, answer="label")
    done = go(
        ledger,
        lambda prompt, call: Reply("ok", f"{call.max_output_tokens} words"),
        work(request_mode=lambda _: request_mode),
    )
    first, second = done.client.asked
    assert first == (PROMPT, Call("item0@256", 1, 7, 10, answer="words", ending=ENDING))
    assert second == ("item0@256 said 10 words. So?", Call("item0@256", 1, 7, 3, answer="label"))
    assert (done.reply.text, done.reply.reasoning) == ("3 words", "10 words")
    assert done.rows[0].prompt_hash == sha256(PROMPT.encode()).hexdigest()[:16]
    assert done.summary.progress is not None
    assert done.summary.progress.asked == 1


def test_a_first_reply_that_says_nothing_is_the_last(ledger: Ledger) -> None:
    request_mode = RequestMode(follow_up=lambda text, one: "So?")
    assert len(go(ledger, Reply("ok", " \n"), work(request_mode=lambda _: request_mode)).client.asked) == 1


@pytest.mark.parametrize("connections", [1, 3])
def test_as_many_requests_are_under_way_as_are_allowed(ledger: Ledger, connections: int) -> None:
    done = go(ledger, OK, work(12, max_connections=connections, epochs=2))
    assert done.client.most == connections
    assert len(done.rows) == 24


def test_what_failed_before_is_asked_last(ledger: Ledger, tmp_path: Path) -> None:
    one = sample(0)
    ledger.finish(one, 2, Reply("error"), prompt_hash="", cost=None)
    ledger.close()
    again = Ledger(tmp_path, this_worker())
    done = go(again, OK, work(2, epochs=2))
    again.close()
    order = [(call.sample, call.epoch) for _, call in done.client.asked]
    assert order == [("item0@256", 1), ("item1@256", 1), ("item1@256", 2), ("item0@256", 2)]
    assert {row.reply.status for row in done.rows} == {"ok"}


@pytest.mark.parametrize(("connections", "claimed"), [(1, 8), (8, 8), (9, 9)])
def test_a_few_are_claimed_at_a_time(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, connections: int, claimed: int
) -> None:
    sizes: list[int] = []
    claim = ledger.claim

    def counting(keys: Sequence[Key]) -> tuple[list[Key], list[Key]]:
        sizes.append(len(keys))
        return claim(keys)

    monkeypatch.setattr(ledger, "claim", counting)
    go(ledger, OK, work(20, max_connections=connections))
    assert sizes == [claimed] * (20 // claimed) + [20 % claimed]


# ------------------------------------------------------------------------------------------------------------- windows


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (Limit(TOKENS + 9, "--window", "refuse"), "207 tokens and a reply of 10 exceed the window of 216; not sent"),
        (Limit(TOKENS - 1, TRUNCATION, "refuse"), "207 tokens exceed the window of 206; not sent"),
        (Limit(TOKENS + 10, "--window", "refuse"), ""),
        (Limit(TOKENS, TRUNCATION, "refuse"), ""),
        (Limit(1, "baseline", "refuse", by_client=True), ""),
        (Limit(None, "", "refuse"), ""),
    ],
)
def test_prompts_beyond_the_window_are_not_sent(ledger: Ledger, limit: Limit, said: str) -> None:
    def tokenizer() -> Any:
        raise AssertionError("nothing is to be cut")

    what = work(limit=limit, price=Price(input=1.0, output=1.0), tokenizer=tokenizer)
    done = go(ledger, replace(OK, tokens_in=5), what)
    if not said:
        assert done.client.asked == [(PROMPT, done.client.asked[0][1])]
        assert done.reply.truncated == 0
        return
    assert done.client.asked == []
    assert done.reply == Reply("overflow", stop="not_sent", attempts=0, error=said)
    (row,) = done.rows
    assert (row.prompt_hash, row.cost) == ("", 0.0)
    assert done.summary.progress is not None
    assert (done.summary.progress.tokens_in, done.summary.progress.cost) == (0, 0.0)
    assert (done.states[-1].tokens_in, done.states[-1].cost) == (0, 0.0)
    assert done.summary.progress.unpriced == 0


def test_prompts_are_cut_in_the_open(ledger: Ledger) -> None:
    limit = Limit(110, "--window", "left")
    done = go(ledger, replace(OK, truncated=3), work(limit=limit))
    ((prompt, _),) = done.client.asked
    assert prompt == get_tokenizer("words").tail(PROMPT, 100)
    assert done.reply.truncated == 107 + 3
    assert done.rows[0].prompt_hash == sha256(prompt.encode()).hexdigest()[:16]


# ------------------------------------------------------------------------------------------------------------ thoughts


@pytest.mark.slow
def test_thoughts_that_the_provider_has_not_counted_are_counted(ledger: Ledger) -> None:
    thoughts = {
        1: ("so it is", None),
        2: ("so it is", 0),
        3: ("so it is", 9),
        4: ("", None),
        5: ("w " * LARGE_TEXT, None),
    }

    def answer(prompt: str, call: Call) -> Reply:
        said, counted = thoughts[call.epoch]
        return replace(OK, reasoning=said, tokens_reasoning=counted)

    done = go(ledger, answer, work(epochs=5))
    assert [row.reply.tokens_reasoning for row in done.rows] == [3, 3, 9, None, LARGE_TEXT]


def test_without_a_tokenizer_thoughts_stay_uncounted(ledger: Ledger) -> None:
    asked = []

    def missing() -> Any:
        asked.append(1)
        raise FathomError("not at hand")

    done = go(ledger, replace(OK, reasoning="so it is"), work(3, tokenizer=missing))
    assert [row.reply.tokens_reasoning for row in done.rows] == [None] * 3
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("kind", "reply", "said"),
    [
        ("instruct", replace(OK, reasoning="hm"), "but 2 of 2 replies have some"),
        ("instruct", replace(OK, tokens_reasoning=4), "but 2 of 2 replies have some"),
        ("instruct", OK, ""),
        ("thinking", OK, "but none of 2 replies has any"),
        ("thinking", replace(OK, reasoning="hm"), ""),
        ("thinking", Reply("error", error="odd"), ""),
    ],
)
def test_reasoning_that_is_not_as_it_was_meant_is_a_hint(ledger: Ledger, kind: Any, reply: Reply, said: str) -> None:
    thinking = Thinking(mode="on" if kind == "thinking" else "off", kind=kind, prompt="plain", switch="none")
    done = go(ledger, reply, work(epochs=2, thinking=thinking))
    hints = [hint for hint in done.summary.hints if "reasoning should be" in hint]
    assert len(hints) == bool(said)
    assert all(said in hint for hint in hints)


# ---------------------------------------------------------------------------------------------- what it all adds up to


def test_every_reply_is_counted_as_it_comes(ledger: Ledger) -> None:
    said: Mapping[str, Reply] = {
        "item0@256": Reply("ok", "nine", tokens_in=1000, tokens_out=10),
        "item1@256": Reply("incomplete", "ni", tokens_out=20),  # the provider does not say what it read
        "item2@256": Reply("refused", tokens_in=0, tokens_out=0),
        "item3@256": Reply("ok", "nine", tokens_in=500),  # nor what it wrote
        "item4@256": Reply("ok", "nine", tokens_in=400, tokens_out=10, tokens_cached=400),
    }
    price = Price(input=10.0, output=100.0, cached=1.0)
    done = go(ledger, lambda prompt, call: said[call.sample], work(5, price=price), total=6)
    costs = [0.011, (TOKENS * 10 + 2000) / 1e6, 0.0, None, 0.0014]
    assert [row.cost for row in done.rows] == [None if one is None else pytest.approx(one) for one in costs]
    assert [state.asked for state in done.states] == [state.finished for state in done.states] == [1, 2, 3, 4, 5]
    assert {state.total for state in done.states} == {6}
    assert [state.tokens_in for state in done.states] == [1000, 1207, 1207, 1707, 2107]
    assert [state.tokens_out for state in done.states] == [10, 30, 30, 30, 40]
    assert [state.cost for state in done.states] == pytest.approx([0.011, 0.01507, 0.01507, 0.01507, 0.01647])
    assert [state.unpriced for state in done.states] == [0, 0, 0, 1, 1]
    assert done.states[2].counts["refused"] == 1
    assert {name: count for name, count in done.states[-1].counts.items() if count} == {
        "ok": 3, "incomplete": 1, "refused": 1,
    }  # fmt: skip
    # What was added up reply by reply is what the store holds.
    end = done.summary.progress
    assert end is not None
    assert end.cost == pytest.approx(done.states[-1].cost)
    assert replace(end, seconds=0, cost=0) == replace(done.states[-1], seconds=0, cost=0)
    assert 0 <= done.states[0].seconds <= done.states[-1].seconds < 60
    assert done.summary.folder == ledger.folder


def test_without_prices_there_is_no_cost(ledger: Ledger) -> None:
    done = go(ledger, replace(OK, tokens_out=5), work(2, price=UNKNOWN), total=1)
    assert [row.cost for row in done.rows] == [None, None]
    assert [(state.cost, state.unpriced, state.total) for state in done.states] == [(None, 1, 1), (None, 2, 2)]


def test_what_is_free_costs_nothing_whatever_is_not_said(ledger: Ledger) -> None:
    assert go(ledger, OK, work()).rows[0].cost == 0.0
    half = work(price=Price(input=0.0, output=5.0), samples=lambda: iter([sample(1)]))
    assert [row.cost for row in go(ledger, OK, half).rows] == [0.0, None]


def test_an_error_that_is_asked_again_is_counted_once(ledger: Ledger, tmp_path: Path) -> None:
    ledger.finish(sample(0), 1, Reply("error"), prompt_hash="", cost=0.0)
    ledger.close()
    again = Ledger(tmp_path, this_worker())
    done = go(again, OK, work(2), total=2)
    again.close()
    assert [(state.finished, state.counts["ok"], state.counts["error"]) for state in done.states] == [
        (2, 1, 1), (2, 2, 0),
    ]  # fmt: skip


# -------------------------------------------------------------------------------------------------------------- limits


@pytest.mark.parametrize(
    ("limit", "replies_kept", "said"),
    [
        ({"max_tokens_total": 2199}, 2, "stopped: 2,200 tokens used, `max_tokens_total` is 2,199"),
        ({"max_tokens_total": 2200}, 3, "stopped: 3,300 tokens used, `max_tokens_total` is 2,200"),
        ({"max_tokens_total": 4400}, 4, ""),
        ({"max_cost": 2199.0}, 2, "stopped: $2,200.00 spent, `max_cost` is $2,199.00"),
        ({"max_cost": 2200.0}, 3, "stopped: $3,300.00 spent, `max_cost` is $2,200.00"),
        ({"max_cost": 4400.0}, 4, ""),
    ],
)
def test_a_run_stops_when_more_is_used_than_allowed(
    ledger: Ledger, limit: dict[str, Any], replies_kept: int, said: str
) -> None:
    million = 1_000_000.0
    client = Client(lambda prompt, call: replace(OK, tokens_in=1000, tokens_out=100))
    session = Session(ledger, client, work(4, price=Price(input=million, output=million), **limit), 4)
    if said:
        with pytest.raises(FathomError) as caught:
            asyncio.run(session.work_through())
        assert str(caught.value) == f"{said}; all finished replies are kept"
    else:
        asyncio.run(session.work_through())
    assert len(list(replies(ledger.folder))) == replies_kept == len(client.asked)


# -------------------------------------------------------------------------------------------------------------- errors


def test_what_nobody_expected_is_the_error_of_one_sample(ledger: Ledger) -> None:
    def follow_up(text: str, one: Sample) -> str:
        raise ZeroDivisionError("odd " * 1000)

    done = go(
        ledger, OK, work(2, request_mode=lambda task: RequestMode(follow_up=follow_up if not ledger.failed() else None))
    )
    first, second = done.rows
    assert (first.reply.status, first.reply.stop, first.reply.attempts) == ("error", "error", 0)
    assert first.reply.error.startswith("unexpected, please report it: ZeroDivisionError: odd odd")
    assert len(first.reply.error) < 1000
    assert (first.prompt_hash, first.cost) == ("", 0.0)
    assert second.reply.status == "ok"
    (hint,) = done.summary.hints
    assert hint.startswith("1 sample failed, the last one with: unexpected, please report it: ZeroDivisionError")
    assert hint.endswith("; run the same command again to retry them")
    assert done.summary.progress is not None
    assert done.summary.progress.tokens_in == TOKENS


def test_where_all_samples_fail_the_run_says_so(ledger: Ledger) -> None:
    def follow_up(text: str, one: Sample) -> str:
        raise ZeroDivisionError("odd.")

    session = Session(ledger, Client(), work(2, request_mode=lambda task: RequestMode(follow_up=follow_up)), 2)
    with pytest.raises(FathomError) as caught:
        asyncio.run(session.work_through())
    assert str(caught.value) == (
        "all 2 samples failed, the last one with: unexpected, please report it: ZeroDivisionError: odd. Fix the "
        "cause and run the same command again to retry them"
    )
    (hint,) = session.summary().hints
    assert hint == (
        "2 samples failed, the last one with: unexpected, please report it: ZeroDivisionError: odd; run the same "
        "command again to retry them"
    )


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError("no such disk"), "the suite cannot be read: no such disk; all finished replies are kept"),
        (FathomError("the model is gone"), "the model is gone"),
    ],
)
def test_what_ends_a_run_is_told(ledger: Ledger, error: Exception, said: str) -> None:
    def follow_up(text: str, one: Sample) -> str:
        raise error

    session = Session(
        ledger, Client(), work(4, max_connections=2, request_mode=lambda _: RequestMode(follow_up=follow_up)), 4
    )
    with pytest.raises(FathomError) as caught:
        asyncio.run(session.work_through())
    assert str(caught.value) == said
    assert list(replies(ledger.folder)) == []


def test_errors_of_an_earlier_process_are_a_hint_too(ledger: Ledger, tmp_path: Path) -> None:
    ledger.finish(sample(0), 1, Reply("error"), prompt_hash="", cost=0.0)
    session = Session(ledger, Client(), work(0), 1)
    assert session.summary().hints == ("1 sample failed; run the same command again to retry them",)


@pytest.mark.parametrize(("cut", "of", "hinted"), [(1, 20, False), (2, 20, True), (1, 19, True), (0, 1, False)])
def test_more_than_a_twentieth_of_incomplete_replies_is_a_hint(ledger: Ledger, cut: int, of: int, hinted: bool) -> None:
    done = go(
        ledger, lambda prompt, call: replace(OK, status="incomplete" if call.epoch <= cut else "ok"), work(epochs=of)
    )
    said = (
        f"{cut} of {of} replies are incomplete: they reached the output cap, or contain only reasoning; raise "
        "--max-output-tokens, in another run folder"
    )
    assert done.summary.hints == ((said,) if hinted else ())


def test_of_errors_that_come_together_the_first_is_told() -> None:
    first, second = FathomError("first"), FathomError("second")
    together: list[Any] = [ExceptionGroup("", [first, second]), second]
    assert _first(ExceptionGroup("", together)) is first


def test_a_session_shows_that_it_lives_while_it_works(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    beats: list[int] = []

    def beat() -> None:
        beats.append(1)
        raise FathomError("the disk is full")  # is told where a reply is written

    class Slow(Client):
        async def complete(self, prompt: str, call: Call) -> Reply:
            while len(beats) < 3:
                await asyncio.sleep(0.001)
            return OK

    monkeypatch.setattr("fathom.run.session.BEAT_SECONDS", 0.001)
    monkeypatch.setattr(ledger, "beat", beat)
    asyncio.run(Session(ledger, Slow(), work(), 1).work_through())
    assert len(beats) >= 3


def test_what_others_hold_is_waited_for_and_taken_over_when_they_die(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Ledger(tmp_path, this_worker())
    other.claim([("item1@256", 1), ("item9@256", 1)])
    slept: list[float] = []
    sleep = asyncio.sleep

    async def look(seconds: float) -> None:
        if seconds == CLAIM_POLL_SECONDS:
            slept.append(seconds)
            if len(slept) == 2:
                other.close()
            seconds = 0
        await sleep(seconds)

    monkeypatch.setattr("fathom.run.session.asyncio.sleep", look)
    done = go(ledger, OK, work(10), total=10)
    assert slept == [0.5, 0.5]
    order = [0, *range(2, 9), 1, 9]
    assert [call.sample for _, call in done.client.asked] == [f"item{number}@256" for number in order]
    # Told after every reply, and after every look.
    assert [state.finished for state in done.states] == [*range(1, 9), 8, 9, 10, 10]


def test_who_watches_a_run_sees_that_it_stops_at_a_limit(ledger: Ledger) -> None:
    seen = []

    @contextmanager
    def watch(folder: Path, connections: int) -> Iterator[None]:
        try:
            yield
        except FathomError as error:
            seen.append(str(error))
            raise

    client = Client(lambda prompt, call: replace(OK, tokens_in=1000))
    with pytest.raises(FathomError) as caught:
        asyncio.run(Session(ledger, client, work(3, max_tokens_total=1500, watch=watch), 3).work_through())
    assert seen == [str(caught.value)]


def test_a_session_that_stops_takes_over_nothing(ledger: Ledger, tmp_path: Path) -> None:
    other = Ledger(tmp_path, this_worker())
    other.claim([("item1@256", 1)])
    client = Client(lambda prompt, call: replace(OK, tokens_in=1000))
    session = Session(ledger, client, work(3, max_tokens_total=1500), 3)
    with pytest.raises(FathomError, match="2,000 tokens used"):
        asyncio.run(session.work_through())
    other.close()
