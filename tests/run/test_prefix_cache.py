"""Prefix caches: the order of requests, the shape of those to providers, prices, and the simulator."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_suites import TOKENS, make_suite, sample

from command_line import Call as Line
from engine_calls import run
from fathom import api
from fathom.models.prices import Price, find_price
from fathom.models.protocol import Call, Settings
from fathom.run import Preflight
from fathom.run.batches.recording import Recording
from fathom.run.cache_forecast import cache_table, forecast_cache, provider_cache
from fathom.run.prefix_cache import Cache, Prefixes, Prompt, prompts_of, share, simulate
from fathom.run.queue import Queue, Queued, prefix_key
from fathom.suites.registry import get_task
from fathom.types import Sample, Span

CONTEXT, QUESTION = "The ferry leaves at nine. " * 100, "\n\nWhen does it leave?"


# ------------------------------------------------------------------------------------------------------------- order


def taken(words: str, held: int, connections: int) -> list[str]:
    """The order in which requests, named by the letter of their prefix, are sent; ``|`` where all are waited for."""
    queue = Queue([f"{letter}{number}" for number, letter in enumerate(words)], lambda job: job[0], held)
    sent, running = list[str](), list[Queued[str]]()
    while True:
        while len(running) < connections and (one := queue.take()) is not None:
            sent.append(one.job[0])
            running.append(one)
        if not running:
            assert not queue.waiting
            return sent
        sent.append("|") if len(running) < connections else None
        queue.done(running.pop(0))


def test_the_first_request_of_a_prefix_is_answered_before_the_others_are_sent() -> None:
    assert "".join(taken("aaabbbccc", 8, 2)).replace("|", "") == "abaabcbcc"
    assert "".join(taken("aaabbbccc", 0, 2)).replace("|", "") == "aaabbbccc"
    # One prefix alone: nothing else could be sent.
    assert "".join(taken("aaa", 8, 3)).startswith("a|aa")
    # What shares nothing waits for nothing.
    assert "".join(taken("abcd", 8, 4)).startswith("abcd")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 4), max_size=12), st.integers(0, 6), st.integers(1, 4))
def test_every_request_is_sent_once(sizes: list[int], held: int, connections: int) -> None:
    words = "".join(chr(97 + number) * size for number, size in enumerate(sizes))
    assert sorted(one for one in taken(words, held, connections) if one != "|") == sorted(words)


def test_requests_know_whether_they_share_a_prefix() -> None:
    queue = Queue(list("aabcc"), str, 0)
    found = [one for one in iter(queue.take, None) if one is not None]
    assert [(one.shared, one.first) for one in found] == [(True, True), (True, False), (False, True), (True, True),
                                                          (True, False)]  # fmt: skip


def test_prompts_on_one_context_have_one_key() -> None:
    one = replace(sample(0), parts=("Read.\n", Span("doc", 0, 90), "\n\nWhat is it?"), asked="What is it?")
    other = replace(one, parts=(*one.parts[:2], "\n\nWho was there?"), asked="Who was there?")
    assert prefix_key(one) == prefix_key(other)
    assert prefix_key(one) != prefix_key(replace(one, parts=("Read.\n", Span("doc", 0, 91), one.parts[2])))


# --------------------------------------------------------------------------------------------------- shape and price


def body(model: str, shared: int, **options: Any) -> Mapping[str, Any]:
    """The request that is sent, plainly and in batches alike."""

    async def record() -> Mapping[str, Any]:
        client = Recording(Settings(model, model_args={"api_key": "none"}, **options))
        try:
            return (await client.record(CONTEXT + QUESTION, Call("a", 1, 0, 16, shared=shared))).body
        finally:
            await client.close()

    return asyncio.run(record())


def texts(content: str | Sequence[Mapping[str, Any]]) -> list[str]:
    return [content] if isinstance(content, str) else [block["text"] for block in content]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_anthropic_caches_what_is_shared_and_nothing_else() -> None:
    pytest.importorskip("anthropic")
    model = "anthropic/claude-sonnet-4-5"
    alone, shared, whole = (body(model, count) for count in (0, len(CONTEXT), len(CONTEXT + QUESTION)))
    assert "cache_control" not in str(alone)
    assert alone["messages"][0]["content"] == CONTEXT + QUESTION
    blocks = shared["messages"][0]["content"]
    assert [block.get("cache_control") for block in blocks] == [{"type": "ephemeral"}, None]
    assert texts(blocks) == [CONTEXT, QUESTION]
    assert "cache_control" not in shared
    assert texts(whole["messages"][0]["content"]) == [CONTEXT + QUESTION]
    assert "cache_control" in whole["messages"][0]["content"][0]
    # A short beginning is not worth it, and what the user says of caching holds.
    assert "cache_control" not in str(body(model, 500))
    assert "cache_control" in body(model, 0, generation={"cache_prompt": True})
    for sent in (alone, shared, whole):
        assert "".join(texts(sent["messages"][0]["content"])) == CONTEXT + QUESTION


@pytest.mark.filterwarnings("ignore")
def test_openai_routes_what_is_shared_to_one_place() -> None:
    alone, shared = (body("openai/gpt-4.1", count) for count in (0, len(CONTEXT)))
    assert "prompt_cache_key" not in alone
    assert len(shared["prompt_cache_key"]) == 32
    assert {**shared, "prompt_cache_key": None} == {**alone, "prompt_cache_key": None}
    assert shared["messages"][0]["content"] == CONTEXT + QUESTION
    # From GPT-5.6 on, writing costs more than reading, and requests say what is written.
    (message,) = body("openai/gpt-5.6", len(CONTEXT))["input"]
    assert texts(message["content"]) == [CONTEXT, QUESTION]
    assert [("prompt_cache_breakpoint" in block) for block in message["content"]] == [True, False]


def test_reads_and_writes_have_their_own_prices() -> None:
    price = Price(input=2.0, output=10.0, cached=0.2, write=2.5, above=1000, input_above=4.0, output_above=20.0)
    assert price.cost(1000, 0, 600, tokens_written=300) == pytest.approx((100 * 2 + 600 * 0.2 + 300 * 2.5) / 1e6)
    assert price.cost(2000, 0, 600, tokens_written=300) == pytest.approx((1100 * 4 + 600 * 0.4 + 300 * 5) / 1e6)
    assert replace(price, write=None).cost(1000, 0, tokens_written=300) == price.cost(1000, 0)
    sonnet = find_price("anthropic/claude-sonnet-5")
    assert sonnet.cost(10**6, 0, tokens_written=10**6) == pytest.approx(2.5)
    # The discounts of Anthropic's batches and of its cache add up; of others that is not known.
    assert sonnet.in_batches(0.5).cost(10**6, 0, 10**6) == pytest.approx(0.1)
    assert sonnet.in_batches(0.5).cost(10**6, 0, tokens_written=10**6) == pytest.approx(1.25)
    assert find_price("openai/gpt-5.1").in_batches(0.5).cost(10**6, 0, 10**6) == pytest.approx(0.625)


# --------------------------------------------------------------------------------------------------------- simulator


def tree(words: Sequence[str], ends: int = 0) -> tuple[Prefixes, list[Prompt]]:
    """Prompts that are texts of which each character is a token; their questions are the last ``ends`` of them."""
    prefixes, before, found = Prefixes(), "", []
    for word in words:
        same = next(
            (at for at, (a, b) in enumerate(zip(before, word, strict=False)) if a != b), min(len(before), len(word))
        )
        context = word[: len(word) - ends]
        found.append(Prompt(prefixes.add(len(word), same), len(word), len(context), context))
        before = word
    return prefixes, found


def by_blocks(words: Sequence[str], cache: Cache) -> list[int]:
    """The tokens read from a cache, one prompt after the other, by blocks of text."""
    assert cache.tokens is not None
    kept: OrderedDict[str, None] = OrderedDict()
    found = []
    for word in words:
        blocks = [word[:end] for end in range(cache.block, len(word) + 1, cache.block)]
        hits = next((at for at, block in enumerate(blocks) if block not in kept), len(blocks))
        read = hits * cache.block
        found.append(read - cache.block if read >= len(word) else read)
        for block in reversed(blocks):
            kept.pop(block, None)
            kept[block] = None
        while len(kept) > cache.tokens // cache.block:
            kept.popitem(last=False)
    return found


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.text("ab", min_size=1, max_size=24), min_size=1, max_size=30),
    st.integers(1, 4),
    st.integers(6, 40),
    st.randoms(use_true_random=False),
)
def test_segments_are_as_good_as_blocks(words: list[str], block: int, blocks: int, rng: Random) -> None:
    # Every prompt fits; sorted, all common prefixes are those of neighbours.
    cache = Cache(tokens=max(blocks * block, 24), block=block)
    prefixes, prompts = tree(sorted(words))
    order = list(range(len(words)))
    rng.shuffle(order)
    found = simulate([prompts[place] for place in order], prefixes, cache, wait=False)
    assert [read for read, _ in found] == by_blocks([sorted(words)[place] for place in order], cache)


def test_siblings_that_are_sent_together_read_nothing_unless_they_wait() -> None:
    prefixes, prompts = tree([f"{context * 8}{question}" for context in "ab" for question in "12345678"], ends=1)
    for cache in (Cache(), Cache(marked=True)):
        shares = [
            share(prompts, simulate(prompts, prefixes, cache, connections=8, wait=wait)) for wait in (False, True)
        ]
        assert shares == [0.0, pytest.approx(14 * 8 / (16 * 9))]
    at_once = simulate(prompts, prefixes, Cache(at_once=True), connections=8, wait=False)
    assert share(prompts, at_once) == pytest.approx(14 * 8 / (16 * 9))


def test_providers_forget_cache_from_a_minimum_and_read_only_what_is_marked() -> None:
    words = [f"{context * 8}{question}" for question in "12" for context in "abcd"]
    prefixes, prompts = tree(words, ends=1)
    assert simulate(prompts, prefixes, Cache(marked=True)) == [(0, 0)] * 8  # none is next to another of its prefix
    prefixes, prompts = tree(sorted(words), ends=1)
    assert simulate(prompts, prefixes, Cache(marked=True)) == [(0, 8), (8, 0)] * 4
    assert simulate(prompts, prefixes, Cache(marked=True, least=9)) == [(0, 0)] * 8
    assert simulate(prompts, prefixes, Cache(marked=True, seconds=5)) == [(0, 8)] * 8
    assert simulate(prompts, prefixes, Cache(seconds=5)) == [(0, 0)] * 8
    assert simulate(prompts, prefixes, Cache(least=8, seconds=10)) == [(0, 0), (8, 0)] * 4


def test_slots_hold_the_last_prompt_of_each() -> None:
    prefixes, prompts = tree(["aaaa1", "aaaa2", "bbbb1", "bbbb2"])
    order = [prompts[place] for place in (0, 2, 1, 3)]
    assert [read for read, _ in simulate(order, prefixes, Cache(slots=1))] == [0, 0, 0, 0]
    assert [read for read, _ in simulate(order, prefixes, Cache(slots=2))] == [0, 0, 4, 4]


def suite_of(questions: int, contexts: int = 3) -> list[tuple[Sample, int]]:
    return [
        (
            replace(
                sample(number),
                parts=("Read.\n", Span("doc", 0, 40_000 + context), f"\n\nWhat is {number}?"),
                asked=f"What is {number}?",
                tokens=10_000,
            ),
            50,
        )
        for context in range(contexts)
        for number in range(questions)
    ]


def test_the_forecast_has_what_the_cache_saves() -> None:
    price = find_price("anthropic/claude-sonnet-5")
    cache = provider_cache(Settings("anthropic/claude-sonnet-5"), price)
    assert cache is not None
    assert (cache.marked, cache.least) == (True, 1024)
    found = forecast_cache(suite_of(4), cache, price, connections=8)
    assert found.share == pytest.approx(0.75, abs=0.01)
    assert found.cost_least == pytest.approx((0.75 * 0.2 + 0.25 * 2.5) * 12 * 10_000 / 1e6, rel=0.01)
    assert found.risk == pytest.approx(0.5 * 12 * 10_000 / 1e6, rel=0.01)
    assert "75% of the prompt tokens: $0.0" in str(found)
    assert provider_cache(Settings("anthropic/claude-sonnet-5", base_url="http://127.0.0.1:1"), price) is None
    assert forecast_cache(suite_of(1), cache, price, connections=8).share == 0


def test_prompts_of_a_suite_share_what_their_recipes_share() -> None:
    prefixes = Prefixes()
    prompts = list(prompts_of(suite_of(2), prefixes))
    assert prefixes.common(prompts[0].leaf, prompts[1].leaf) == pytest.approx(10_000, abs=5)
    assert prompts[0].context == pytest.approx(10_000, abs=6)
    assert len({prompt.key for prompt in prompts}) == 3
    rows = cache_table(suite_of(2), [Cache(tokens=20_000, block=16, at_once=True)], [4], [(False, Price())])
    assert [row.order for row in rows] == ["random", "run"]
    assert rows[1].read == pytest.approx(0.5, abs=0.02) or rows[1].read > 0.5
    assert rows[1].cost_most is None


def test_the_command_prints_a_table(tmp_path: Path, call: Line) -> None:
    suite = make_suite(tmp_path, 3)
    code, out, _ = call("forecast", str(suite), "--max-connections", "1,2", "--cache-tokens", "4k", "--json")
    assert code == 0
    assert '"connections": 2' in out
    code, out, _ = call("forecast", str(suite), "-m", "openai/gpt-5.1")
    assert code == 0
    assert "in batches" in out
    code, _, error = call("forecast", str(suite), "-m", "openai/unknown")
    assert (code, "says nothing of a cache" in error) == (2, True)


@pytest.mark.parametrize(("model", "sent"), [("openai/gpt-5", 4), ("openai/m", 2)])
def test_the_command_and_a_run_have_the_same_caps_and_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, sent: int
) -> None:
    pytest.importorskip("openai")
    suite = make_suite(tmp_path, 4, tasks=("passkey", "single_doc_summary"))
    caps = [get_task(name).max_output_tokens for name in ("passkey", "single_doc_summary")]
    assert caps[0] < caps[1]
    (tmp_path / "prices.toml").write_text(
        f'["openai/m"]\nwindow = {TOKENS + caps[0]}\ninput = 2\noutput = 10\ncaches = 64\n'
    )
    monkeypatch.setenv("FATHOM_PRICES", str(tmp_path / "prices.toml"))
    plans: list[Preflight] = []

    def confirm(plan: Preflight) -> bool:
        plans.append(plan)
        return False

    run(suite, model, out=tmp_path / "run", model_args={"api_key": "none"}, confirm=confirm)
    (plan,) = plans
    rows = {(row.order, row.connections, row.batch): row for row in api.forecast(suite, model=model)}
    row = rows["run", 16, False]
    assert (plan.requests, plan.cached is not None) == (sent, True)
    assert plan.cached is not None
    assert (row.read, row.cost_least, row.cost_most) == pytest.approx(
        (plan.cached.share, plan.cached.cost_least, plan.cached.cost_most)
    )
    replies = find_price(model).cost(0, plan.tokens_out)
    assert (row.cost_most or 0.0) - (row.cost_least or 0.0) == pytest.approx(replies)
