"""The work of one process on a run: claim, render, ask, commit, at most so many at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256

from fathom.length import render
from fathom.run.ledger import Key, Ledger
from fathom.run.model import Call, Client
from fathom.run.overflow import fit
from fathom.run.preflight import Caps, Limit
from fathom.run.prices import Price
from fathom.run.progress import Progress, RunSummary
from fathom.run.retry import Health, Retry, ask
from fathom.run.worker import BEAT_SECONDS
from fathom.tokens import Tokenizer
from fathom.types import FathomError, Reply, Sample

# Claims are written a few at a time: fewer means more writing, more means more waiting for a process that died.
LEAST_CLAIMS = 8
INCOMPLETE_SHARE = 0.1


@dataclass(frozen=True)
class Work:
    """What is to be done, and how.

    Attributes:
        samples: Streams the samples in the order of the suite; called again for a further look.
        texts: Gives the texts of the suite's documents by id.
        epochs: How often each sample is asked.
        max_connections: Requests in flight at once.
        seed: Seed of the run.
        limit: The window.
        price: The model's prices.
        caps: Output cap by task name.
        tokenizer: Loads the suite's tokenizer, for cuts.
        retry: Patience with failing requests.
        max_tokens_total: Tokens after which the run stops; None for no limit.
        max_cost: US dollars after which the run stops; None for no limit.
        progress: Told the state after every reply.
    """

    samples: Callable[[], Iterator[Sample]]
    texts: Callable[[], Mapping[str, str]]
    epochs: int
    max_connections: int
    seed: int
    limit: Limit
    price: Price
    caps: Caps
    tokenizer: Callable[[], Tokenizer]
    retry: Retry
    max_tokens_total: int | None
    max_cost: float | None
    progress: Callable[[Progress], None]


class Session:
    """One process at work on a run."""

    def __init__(self, ledger: Ledger, client: Client, work: Work, total: int) -> None:
        self._ledger = ledger
        self._client = client
        self._work = work
        self._texts = work.texts()
        self._health = Health()
        self._started = time.monotonic()
        self._asked = 0
        self._total = total
        self._stop = ""
        before = ledger.totals()
        self._counts = before.counts
        self._tokens_in, self._tokens_out, self._cost = before.tokens_in, before.tokens_out, before.cost

    async def work_through(self) -> None:
        """Ask for all that is not finished and that no other process holds.

        Raises:
            FathomError: Going on makes no sense, or a limit is reached; replies that came are kept.
        """
        jobs = self._jobs()
        beat = asyncio.create_task(self._beat())
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._work.max_connections):
                    group.create_task(self._work_on(jobs))
        except* FathomError as errors:
            raise _first(errors) from None
        finally:
            beat.cancel()
            with suppress(asyncio.CancelledError):
                await beat
        if self._stop:
            raise FathomError(f"{self._stop}; all replies that came are kept")
        if self._health.errors and self._counts["error"] == sum(self._counts.values()):
            raise FathomError(
                f"all {self._health.errors} samples failed, the last one with: {self._health.last}. Mend that, then "
                "run the same command again, which asks for them again"
            )

    def summary(self) -> RunSummary:
        """The state at the end."""
        hints = []
        finished = sum(self._counts.values())
        if self._counts["incomplete"] > INCOMPLETE_SHARE * finished:
            hints.append(
                f"{self._counts['incomplete']} replies were cut before any answer: the model may reason; give it room "
                "with --max-output-tokens or --reasoning-tokens"
            )
        if self._counts["error"]:
            hints.append(f"{self._counts['error']} samples failed; the same command again asks for them again")
        held = self._ledger.others()
        if held:
            hints.append(f"{held} samples are in the hands of another process")
        return RunSummary(self._ledger.folder, self._state(), hints=tuple(hints))

    def _jobs(self) -> Iterator[tuple[Sample, int]]:
        """Claimed (sample, epoch) pairs in the order of the suite, until nothing is left to claim."""
        size = max(LEAST_CLAIMS, self._work.max_connections)
        while True:
            claimed = held = 0
            batch: list[tuple[Sample, int]] = []
            for sample in self._work.samples():
                batch += [(sample, epoch) for epoch in range(1, self._work.epochs + 1)]
                if len(batch) >= size:
                    mine, others = self._claim(batch)
                    claimed, held, batch = claimed + len(mine), held + others, []
                    yield from mine
            mine, others = self._claim(batch)
            claimed, held = claimed + len(mine), held + others
            yield from mine
            # Another look is worth it only where another process held something, and may have died since.
            if not claimed or not held:
                return

    def _claim(self, batch: list[tuple[Sample, int]]) -> tuple[list[tuple[Sample, int]], int]:
        keys: list[Key] = [(sample.id, epoch) for sample, epoch in batch]
        mine, held = self._ledger.claim(keys)
        return [job for job, key in zip(batch, keys, strict=True) if key in mine], held

    async def _work_on(self, jobs: Iterator[tuple[Sample, int]]) -> None:
        for sample, epoch in jobs:
            await self._do(sample, epoch)
            if self._stop:
                return

    async def _do(self, sample: Sample, epoch: int) -> None:
        cap = self._work.caps(sample.task)
        prompt_hash, reply = await self._reply(sample, epoch, cap)
        cost = 0.0 if not prompt_hash else self._price(sample, reply)
        self._ledger.finish(sample, epoch, reply, prompt_hash=prompt_hash, cost=cost)
        self._count(sample, reply, cost, sent=bool(prompt_hash))
        # Readers answer without waiting for anything; others want their turn too.
        await asyncio.sleep(0)

    async def _reply(self, sample: Sample, epoch: int, cap: int) -> tuple[str, Reply]:
        limit = self._work.limit
        budget = None if limit.by_client else limit.budget(cap)
        over = budget is not None and sample.tokens > budget
        if over and limit.policy == "refuse":
            reason = f"{sample.tokens} tokens and a reply of {cap} exceed the window of {limit.window}; not sent"
            return "", Reply(status="overflow", stop="not_sent", attempts=0, error=reason)
        # The prompt lives in this frame only: from here until the reply is in.
        prompt, removed = render(sample, self._texts), 0
        if over and budget is not None:
            fitted = fit(prompt, budget, limit.policy, self._work.tokenizer())
            if fitted is not None:
                prompt, removed = fitted.prompt, fitted.removed
        prompt_hash = sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        call = Call(sample.id, epoch, self._work.seed, cap)
        reply = await ask(self._client, prompt, call, self._work.retry, self._health)
        return prompt_hash, replace(reply, truncated=reply.truncated + removed)

    def _price(self, sample: Sample, reply: Reply) -> float | None:
        if self._work.price.input == 0 == self._work.price.output:
            return 0.0
        if reply.tokens_out is None:
            return None
        tokens_in = sample.tokens if reply.tokens_in is None else reply.tokens_in
        return self._work.price.cost(tokens_in, reply.tokens_out, reply.tokens_cached or 0)

    def _count(self, sample: Sample, reply: Reply, cost: float | None, *, sent: bool) -> None:
        self._asked += 1
        self._counts[reply.status] += 1
        if sent:
            self._tokens_in += sample.tokens if reply.tokens_in is None else reply.tokens_in
            self._tokens_out += reply.tokens_out or 0
        self._cost += cost or 0.0
        tokens, most, dollars = self._tokens_in + self._tokens_out, self._work.max_tokens_total, self._work.max_cost
        if most is not None and tokens > most:
            self._stop = f"stopped: {tokens:,} tokens are used, --max-tokens-total allows {most:,}"
        if dollars is not None and self._cost > dollars:
            self._stop = f"stopped: ${self._cost:,.2f} are spent, --max-cost allows ${dollars:,.2f}"
        self._work.progress(self._state())

    def _state(self) -> Progress:
        finished = sum(self._counts.values())
        return Progress(
            finished=finished,
            total=max(finished, self._total),
            counts=dict(self._counts),
            tokens_in=self._tokens_in,
            tokens_out=self._tokens_out,
            cost=self._cost,
            seconds=time.monotonic() - self._started,
            asked=self._asked,
        )

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            with suppress(FathomError):
                self._ledger.beat()


def _first(errors: BaseExceptionGroup[FathomError]) -> FathomError:
    first: BaseException = errors
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return first if isinstance(first, FathomError) else FathomError(str(first))
