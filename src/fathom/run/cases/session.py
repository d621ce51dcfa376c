"""One process that asks a model about cases, in plain requests or in batches.

In batches all requests that can be sent now are one batch, and the next steps of their conversations another one. When
nothing is left to ask, the outcomes are made of the replies that are kept.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import takewhile

from fathom.models.failures import Failure
from fathom.models.prices import cost_of
from fathom.models.protocol import Call
from fathom.models.retry import ended_by
from fathom.models.usage import with_counts
from fathom.run.batches.sender import UnsentRequest
from fathom.run.cases.pending import JudgeProgress, PendingCase
from fathom.run.engine import Engine, unexpected_error_message
from fathom.run.queue import Queue, Queued
from fathom.runfile.batches import BatchedRequest
from fathom.runfile.judgements import Judgement, JudgementStore, Outcome, Spent
from fathom.runfile.ledger import Key
from fathom.score.judge import Ask, UnreadableError
from fathom.types import FathomError, Reply


class CaseSession:
    """One process that asks about cases.

    Args:
        store: Receives replies and outcomes.
        engine: Sends the requests.
        cap: Output cap of the replies in tokens.
        state: The state at the start.
        used: What other models of the same work have used, which counts against the limits.
        progress: Called after every outcome.
        failed: With batches, the requests that have failed for good, by key; one without a stored reply counts as
            failed. None for plain requests.
    """

    def __init__(
        self,
        store: JudgementStore,
        engine: Engine,
        cap: int,
        state: JudgeProgress,
        used: Spent,
        progress: Callable[[JudgeProgress], None],
        failed: Mapping[Key, Failure] | None = None,
    ) -> None:
        self.engine = engine
        self.state = state
        self._failed = failed
        self._store = store
        self._cap = cap
        self._used = used
        self._progress = progress
        # Several cases may need the same prompt at once; all but the first wait for its reply.
        self._asking: defaultdict[Key, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def work_through(self, cases: Sequence[PendingCase]) -> None:
        """Ask about all cases that no other process has asked about meanwhile.

        Raises:
            FathomError: The model cannot be asked, or a limit is exceeded; what is finished is kept.
        """
        await self.engine.work_through(Queue(cases, lambda case: case.key, 0), self._do)
        self._store.check_place()

    async def _do(self, queued: Queued[PendingCase]) -> None:
        pending = queued.job
        outcome = self._store.judgement(pending.key)
        if outcome is None:
            try:
                outcome = await self._outcome(pending)
            except FathomError:
                raise
            except Exception as error:
                outcome = Judgement("error", {}, unexpected_error_message(error))
            self._store.finish(pending.key, pending.conversation, outcome)
            self.engine.stop = self.engine.stop or self._store.place.gone
        counts = {**self.state.counts}
        counts[outcome.status] += pending.replies
        self.state = replace(self.state, counts=counts)
        self._progress(self.state)

    async def _outcome(self, pending: PendingCase) -> Judgement:
        """Send all requests of a conversation."""
        requests = pending.requests()
        sent: list[tuple[str, Key]] = []
        try:
            key, ask = next(requests)
            while True:
                sent.append((ask.step, key))
                reply = await self._reply(key, ask)
                if reply.status != "ok":
                    status: Outcome = "error" if reply.status == "error" else "unreadable"
                    return Judgement(status, {}, f"the judge, asked for {ask.step}: {reply.error or reply.status}")
                key, ask = requests.send(reply.text)
        except StopIteration as end:
            return Judgement("ok", end.value)
        except UnreadableError as error:
            # The last step failed, with all its attempts.
            for _, key in takewhile(lambda request: request[0] == sent[-1][0], reversed(sent)):
                self._store.mark_unreadable(*key)
            return Judgement("unreadable", {}, str(error))

    async def _reply(self, key: Key, ask: Ask) -> Reply:
        """The model's reply, from the store if it is kept."""
        async with self._asking[key]:
            known = self._store.reply_to(*key)
            if known is not None:
                return known
            if self._failed is not None:
                failure = self._failed.get(key, Failure("bad", "the request was not sent"))
                self.engine.health.errors, self.engine.health.last = self.engine.health.errors + 1, failure.message
                return Reply("error", error=failure.message)
            reply = await self.engine.ask(ask.prompt, self.call(key, ask))
            if reply.status != "error":
                self.keep(key, ask.step, reply)
            return reply

    def call(self, key: Key, ask: Ask | None = None) -> Call:
        """The parameters of a request: a repeated prompt is another epoch, and so has another seed."""
        form = None if ask is None else ask.form
        return Call(sample=key[0], epoch=key[1], seed=0, max_output_tokens=self._cap, response_format=form)

    def keep(self, key: Key, step: str, reply: Reply) -> None:
        """Commit and count a reply of the model; see ``JudgementStore.keep``."""
        cost = cost_of(reply, self.engine.terms.price)
        self._store.keep(*key, step, reply, cost)
        self.engine.stop = self.engine.stop or self._store.place.gone
        before = self.state.spent
        now = before + Spent(1, reply.tokens_in or 0, reply.tokens_out or 0, cost or 0.0, int(cost is None))
        self.state = replace(self.state, spent=now)
        used = now + self._used
        self.engine.check_limits(used.tokens_in + used.tokens_out, used.paid)


class CaseBatches:
    """The requests about cases that are sent in batches (``fathom.run.batches.sender.Asking``).

    Args:
        cases: What is asked about.
        store: The model's replies.
        session: Keeps and counts them.
        failed: Receives the requests that failed for good, by prompt and attempt.
    """

    def __init__(
        self, cases: Sequence[PendingCase], store: JudgementStore, session: CaseSession, failed: dict[Key, Failure]
    ) -> None:
        self._cases = cases
        self._store = store
        self._session = session
        self._failed = failed
        self._steps: dict[Key, str] = {}

    @property
    def stopped(self) -> bool:
        """See ``Asking``."""
        return bool(self._session.engine.stop)

    def check_alone(self) -> None:
        """See ``Asking``: the file of the batches is locked, by plain asking too."""

    def unsent(self, under_way: Collection[Key]) -> Iterator[UnsentRequest]:
        """See ``Asking``. Cases may need the same prompt, which is sent once."""
        seen = set(under_way)
        for key, ask in self._next():
            if key not in seen:
                seen.add(key)
                yield UnsentRequest(BatchedRequest(key, key[0], 0), ask.prompt, self._session.call(key, ask))

    def _next(self) -> Iterator[tuple[Key, Ask]]:
        """The next request of each case that has one."""
        for pending in self._cases:
            requests = pending.requests()
            with suppress(StopIteration, UnreadableError):
                key, ask = next(requests)
                while (reply := self._store.reply_to(*key)) is not None and reply.status == "ok":
                    key, ask = requests.send(reply.text)
                if reply is None and key not in self._failed:
                    self._steps[key] = ask.step
                    yield key, ask

    def expect(self, asked: Collection[BatchedRequest]) -> None:
        """See ``Asking``: the steps of requests that another process sent."""
        if any(request.key not in self._steps for request in asked):
            for _ in self._next():
                pass

    def is_finished(self, key: Key) -> bool:
        """See ``Asking``."""
        return self._store.reply_to(*key) is not None

    async def keep(
        self, asked: BatchedRequest, outcome: Callable[[Call], Awaitable[Reply | Failure]], tries: int
    ) -> Failure | None:
        """See ``Asking``."""
        reply = await outcome(self._session.call(asked.key))
        if isinstance(reply, Failure):
            if reply.kind not in ("overflow", "refused"):
                return reply
            reply = ended_by(reply)
        reply = replace(with_counts(reply), attempts=tries, seconds=0.0)
        self._session.keep(asked.key, self._steps.get(asked.key, ""), reply)
        self._session.engine.health.note_reply()
        return None

    def fail(self, asked: BatchedRequest, failure: Failure, tries: int) -> None:
        """See ``Asking``."""
        self._failed[asked.key] = failure

    def show(self, answered: int) -> None:
        """See ``Asking``: the progress is that of outcomes, which are made at the end."""
