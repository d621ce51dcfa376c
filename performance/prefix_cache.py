"""The simulator of prefix caches against real ones, its speed, and what a suite costs in each order.

    pip install xllamacpp gguf
    python performance/prefix_cache.py servers     # llama.cpp's server, and an LRU cache of blocks as in vLLM
    python performance/prefix_cache.py speed       # 100,000 prompts of 128k tokens
    fathom build hundred --data DATA --items 20 --lengths 8k,32k,128k --out hundred
    python performance/prefix_cache.py dollars hundred

``servers`` runs a suite of the corpus ``world`` with ``fathom run``, in the order of the suite and in random order, and
compares the tokens that the server says it had cached with those of the simulator. The server of blocks follows vLLM's
rules: full blocks of 16 tokens are found by the hash of all tokens up to their end, blocks of running requests stay,
and of the others the least recently used one goes first, at the end of a prompt first. It knows nothing of fathom.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from fathom import api
from fathom.models.prices import Limit, Price, find_price
from fathom.models.protocol import Settings
from fathom.run.cache_forecast import BLOCK, cache_table, provider_cache, untruncated_samples
from fathom.run.order import even_order
from fathom.run.prefix_cache import Cache, Prefixes, Prompt, prompts_of, share, simulate
from fathom.run.runner import task_cap
from fathom.suites.suitefile import SampleWriter, open_suite, read_manifest, write_documents, write_manifest

SUITES = {"blocks": ([512, 768], 24), "llama.cpp": ([256, 512], 8)}
"""Lengths and items."""
BLOCKS = tuple((tokens, connections) for tokens in (8_192, 32_768, 131_072) for connections in (1, 4, 16))
SLOTS = ((1, 1), (4, 1), (8, 1), (4, 4), (8, 8))
"""Slots of llama.cpp and connections. Which slot is free first depends on its batches, so that only the share for one
connection is simulated."""
MODELS = ("anthropic/claude-sonnet-5", "openai/gpt-5.1", "google/gemini-2.5-pro")


# ------------------------------------------------------------------------------------------------- a server of blocks


class Blocks:
    """A cache of blocks, found by the hash of all tokens up to their end; a token is a character.

    Args:
        tokens: How many it holds.
    """

    def __init__(self, tokens: int) -> None:
        self.room = tokens // BLOCK
        self.free: OrderedDict[int, None] = OrderedDict()
        self.used: dict[int, int] = {}
        self.changed = asyncio.Condition()

    async def take(self, text: str) -> tuple[list[int], int]:
        """Take the blocks of a prompt when there is room: their hashes, and how many tokens of them were there."""
        hashes, last = [], 0
        for end in range(BLOCK, len(text) + 1, BLOCK):
            last = hash((last, text[end - BLOCK : end]))
            hashes.append(last)
        async with self.changed:
            await self.changed.wait_for(lambda: not self.used or self._room_for(hashes))
            found = next((at for at, one in enumerate(hashes) if one not in self.free and one not in self.used), None)
            cached = len(hashes) if found is None else found
            for one in hashes:
                self.free.pop(one, None)
                self.used[one] = self.used.get(one, 0) + 1
            while self.free and len(self.free) + len(self.used) > self.room:
                self.free.popitem(last=False)
        tokens = cached * BLOCK
        return hashes, tokens - BLOCK if tokens >= len(text) else tokens

    async def give(self, hashes: list[int]) -> None:
        """Free the blocks of a prompt, the last one first."""
        async with self.changed:
            for one in reversed(hashes):
                self.used[one] -= 1
                if not self.used[one]:
                    del self.used[one]
                    self.free[one] = None
            while self.free and len(self.free) + len(self.used) > self.room:
                self.free.popitem(last=False)
            self.changed.notify_all()

    def _room_for(self, hashes: list[int]) -> bool:
        return len(self.used) + sum(one not in self.used for one in set(hashes)) <= self.room


class BlockServer:
    """Computes one prompt after the other, in the order in which they come, and generates replies at once."""

    def __init__(self, tokens: int) -> None:
        self.blocks = Blocks(tokens)
        self.prefill = asyncio.Lock()

    async def answer(self, text: str) -> dict[str, int]:
        """The usage of a request."""
        async with self.prefill:
            hashes, cached = await self.blocks.take(text)
            await asyncio.sleep((len(text) - cached) / 2_000_000)
        await asyncio.sleep(0.02)
        await self.blocks.give(hashes)
        return {"prompt_tokens": len(text), "completion_tokens": 1, "total_tokens": len(text) + 1, "cached": cached}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, with any number of requests."""
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                names = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
                body = json.loads(await reader.readexactly(int(names.get(b"content-length", b"0"))))
                usage: dict[str, Any] = await self.answer(body["messages"][-1]["content"])
                usage["prompt_tokens_details"] = {"cached_tokens": usage.pop("cached")}
                message = {"role": "assistant", "content": "one"}
                choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
                found = {"id": "r", "object": "chat.completion", "created": 0, "model": "m", "choices": choices}
                payload = json.dumps({**found, "usage": usage}).encode()
                line = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(payload)}\r\n\r\n"
                writer.write(line.encode() + payload)
                await writer.drain()
        writer.close()


@contextmanager
def block_server(tokens: int) -> Iterator[str]:
    """The address of a server whose cache holds so many tokens."""
    loop, ready, place = asyncio.new_event_loop(), threading.Event(), list[str]()

    async def run() -> None:
        server = await asyncio.start_server(BlockServer(tokens).serve, "127.0.0.1", 0)
        place.append(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
        ready.set()
        await server.serve_forever()

    thread = threading.Thread(target=lambda: loop.run_until_complete(_until_cancelled(run())), daemon=True)
    thread.start()
    ready.wait()
    try:
        yield place[0]
    finally:
        loop.call_soon_threadsafe(lambda: [task.cancel() for task in asyncio.all_tasks(loop)])
        thread.join()
        loop.close()


async def _until_cancelled(work: Any) -> None:
    with suppress(asyncio.CancelledError):
        await work


@contextmanager
def llama_server(model: Path, slots: int) -> Iterator[str]:
    """The address of llama.cpp's server with so many slots, and no cache besides them."""
    xllamacpp = import_module("xllamacpp")

    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.n_ctx, params.n_parallel, params.cache_ram_mib = 4096 * slots, slots, 0
    params.fit_params, params.cpuparams.n_threads, params.verbosity = False, 1, 0
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server


# -------------------------------------------------------------------------------------------- measured and simulated


def mixed(suite: Path, folder: Path) -> Path:
    """The same suite in random order."""
    built = open_suite(suite)
    samples = list(built.samples())
    Random(0).shuffle(samples)
    folder.mkdir()
    ids = set(built.sizes())
    write_documents(folder, list(built.documents(ids).values()))
    with SampleWriter(folder) as writer:
        for sample in samples:
            writer.add(sample)
    manifest = {key: value for key, value in read_manifest(suite).items() if key not in ("files", "checksum", "format")}
    write_manifest(folder, manifest)
    return folder


def measured(suite: Path, url: str, connections: int) -> float:
    """The share of prompt tokens that a server says it had cached in a run."""
    with TemporaryDirectory() as place:
        out = Path(place) / "run"
        api.run(suite, "openai/m", out, model_base_url=url, window="100k", max_connections=connections)
        with sqlite3.connect(out / "replies.sqlite") as db:
            query = "SELECT sum(coalesce(tokens_cached, 0)), sum(tokens_in), sum(status = 'error') FROM replies"
            cached, tokens, failed = db.execute(query).fetchone()
    assert not failed
    return float(cached / tokens)


def simulated(suites: dict[str, Path], order: str, cache: Cache, connections: int) -> float:
    """The same share by the simulator; a token is a character, as for both servers."""
    prefixes = Prefixes()
    samples = list(open_suite(suites["suite"]).samples())
    whole = [
        (replace(sample, tokens=sum(len(p) if isinstance(p, str) else p.end - p.start for p in sample.parts)), 0)
        for sample in samples
    ]
    by_id = dict(zip((one.id for one in samples), prompts_of(whole, prefixes), strict=True))
    sent = list(open_suite(suites[order]).samples(parts=False))
    prompts = [by_id[sent[place].id] for place in even_order(sent)]
    return share(prompts, simulate(prompts, prefixes, cache, connections=connections, wait=False))


def servers(place: Path) -> None:
    """Compare the simulator with both servers."""
    print("| cache | order | connections | server, % | simulator, % | difference, points |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    worst = 0.0
    for kind, (lengths, items) in SUITES.items():
        suites = {"suite": place / kind / "suite", "random": place / kind / "random"}
        api.build("single_doc_qa", suites["suite"], corpus=["world"], lengths=lengths, items=items)
        mixed(suites["suite"], suites["random"])
        model = _tiny(place / "tiny.gguf") if kind == "llama.cpp" else Path()
        for size, connections in SLOTS if model.name else BLOCKS:
            for order, suite in suites.items():
                with llama_server(model, size) if model.name else block_server(size) as url:
                    real = measured(suite, url, connections)
                cache = Cache(slots=size) if model.name else Cache(size, BLOCK, at_once=True)
                guess = simulated(suites, order, cache, connections)
                known = not model.name or connections == 1
                worst = max(worst, abs(real - guess) if known else 0.0)
                figures = f"{100 * real:.1f} | " + (
                    f"{100 * guess:.1f} | {100 * (guess - real):+.1f}" if known else "not simulated | "
                )
                name = f"{kind}, {size:,} {'slots' if model.name else 'tokens'}"
                print(f"| {name} | {order} | {connections} | {figures} |", flush=True)
    print(f"largest difference: {100 * worst:.1f} points")


def _tiny(path: Path) -> Path:
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "run"))
    from tiny_models import make_gguf

    return make_gguf(path, reply="one")


# ------------------------------------------------------------------------------------------------- speed and dollars


def speed() -> None:
    """100,000 prompts of 128k tokens, four questions on each context."""
    tokens, prefixes, prompts = 131_072, Prefixes(), list[Prompt]()
    for context in range(25_000):
        for question in range(4):
            leaf = prefixes.add(tokens, tokens - 72 if question else 30)
            prompts.append(Prompt(leaf, tokens, tokens - 72, str(context)))
    for name, cache, wait in (
        ("a provider's, with marks", Cache(least=1024, marked=True, seconds=300), True),
        ("a server's, 16 prompts", Cache(16 * tokens, BLOCK, at_once=True), False),
        ("a server's, 200 prompts", Cache(200 * tokens, BLOCK, at_once=True), False),
    ):
        started = time.perf_counter()
        found = simulate(prompts, prefixes, cache, connections=16, wait=wait)
        print(f"{name}: {time.perf_counter() - started:.1f} s, {share(prompts, found):.1%} from the cache")


def dollars(suite: Path) -> None:
    """What a suite costs in random order and in its own, plainly and in batches."""
    built = open_suite(suite)
    print("| model | order | sent | read, % | written, % | dollars, prompts | with replies at their caps |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: |")
    for model in MODELS:
        price, settings = find_price(model), Settings(model)
        cache = provider_cache(settings, price)
        assert cache is not None
        samples = [
            (sample, cap) for sample, cap in untruncated_samples(((one, 1) for one in built.samples()), _ANY, task_cap)
        ]
        if cache.marked:
            _whole_prompts(model, samples, price)
        prices = [(False, price), (True, price.in_batches(0.5))]
        for row in cache_table(samples, [cache], [16], prices, seconds=at_limit(samples)):
            sent = "in batches" if row.batch else "plainly"
            shares = f"{100 * row.read:.1f} | {100 * row.written:.1f}"
            print(f"| {model} | {row.order} | {sent} | {shares} | {row.cost_least:.2f} | {row.cost_most:.2f} |")


_ANY = Limit(None, "", "refuse")


def at_limit(samples: list[Any]) -> float:
    """Seconds of a request if 16 at a time read two million tokens a minute, a usual rate limit."""
    return 16 * 60 * float(sum(one.tokens for one, _ in samples)) / len(samples) / 2_000_000


def _whole_prompts(model: str, samples: list[Any], price: Price) -> None:
    """Before: every whole prompt was written to the cache, and never read."""
    for sent, prices in (("plainly", price), ("in batches", price.in_batches(0.5))):
        least, most = (
            sum(
                prices.cost(one.tokens, own, tokens_written=one.tokens if one.tokens >= (price.caches or 0) else 0) or 0
                for one, own in ((one, cap if full else 0) for one, cap in samples)
            )
            for full in (False, True)
        )
        print(f"| {model} | whole prompts written | {sent} | 0.0 | 100.0 | {least:.2f} | {most:.2f} |")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("servers", "speed", "dollars"))
    parser.add_argument("suite", type=Path, nargs="?")
    given = parser.parse_args()
    if given.what == "servers":
        with TemporaryDirectory() as place:
            servers(Path(place))
    elif given.what == "speed":
        speed()
    else:
        dollars(given.suite)


if __name__ == "__main__":
    main()
