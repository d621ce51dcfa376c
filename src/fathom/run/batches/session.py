"""A run in batches: its samples are what is asked."""

import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from dataclasses import replace

from fathom.models.failures import Failure
from fathom.models.protocol import Call
from fathom.models.retry import ended_by
from fathom.run.batches.provider import Provider
from fathom.run.batches.recording import Recording
from fathom.run.batches.sender import Pace, Sender, UnsentRequest
from fathom.run.queue import Queue, prefix_key
from fathom.run.session import Job, Session, Work
from fathom.runfile.batches import BatchedRequest, BatchStore
from fathom.runfile.ledger import Key, Ledger
from fathom.runfile.progress import Progress
from fathom.runfile.store import peek
from fathom.runfile.worker import is_alive
from fathom.types import FathomError, Reply, Sample


class BatchSession(Session):
    """One process that sends a run in batches (``Asking``); there is only one at a time.

    Args:
        ledger: The store of the run.
        recording: Makes requests and reads replies.
        provider: The batch API.
        store: The batches of the run.
        work: What to do; its prices are those of batches.
        total: Replies that the run will have when finished.
        named: Samples of the suite by id, without recipes: a batch may have more than are wanted now.
        tell: Called with a line about each batch.
        pace: How often the provider is asked.
    """

    def __init__(
        self,
        ledger: Ledger,
        recording: Recording,
        provider: Provider,
        store: BatchStore,
        work: Work,
        total: int,
        *,
        named: Callable[[set[str]], Iterable[Sample]],
        tell: Callable[[str], None],
        pace: Pace,
    ) -> None:
        super().__init__(ledger, recording, work, total)
        self._named = named
        # Those that a result is expected of.
        self._samples: dict[str, Sample] = {}
        self._in_batches = 0
        self._sender = Sender(
            self, ledger.folder, recording, provider, store, retry=work.terms.retry, tell=tell, pace=pace
        )

    async def _ask_all(self) -> None:
        await self._sender.work_through()

    @property
    def stopped(self) -> bool:
        """See ``Asking``."""
        return bool(self._engine.stop)

    def check_alone(self) -> None:
        """See ``Asking``.

        Raises:
            FathomError: Another process works on this run.
        """
        with peek(self._ledger.folder) as store:
            others = [process for process in store.workers() if process.worker.id != self._ledger.worker.id]
        if any(is_alive(process.worker, beat=process.beat, now=time.time()) for process in others):
            raise FathomError(
                f"{self._ledger.folder}: another process works on this run, and batches are sent by one process alone; "
                "wait until it has ended"
            )

    def unsent(self, under_way: Collection[Key]) -> Iterator[UnsentRequest]:
        """See ``Asking``; what cannot be sent is kept at once."""
        pending = (job for job in self._all() if not self._known(job, under_way))
        queue = Queue(pending, lambda job: prefix_key(job[0]), 0)
        while (queued := queue.take()) is not None:
            sample, epoch = queued.job
            prepared = self._prepare(queued, self._work.caps(sample.task))
            if isinstance(prepared, Reply):
                self._keep(sample, epoch, prepared, "", ())
                continue
            self._samples = {sample.id: sample}
            yield UnsentRequest(
                BatchedRequest((sample.id, epoch), prepared.prompt_hash, prepared.removed),
                prepared.prompt,
                prepared.call,
            )

    def _known(self, job: Job, under_way: Collection[Key]) -> bool:
        key = job[0].id, job[1]
        return key in under_way or self.is_finished(key)

    def expect(self, asked: Collection[BatchedRequest]) -> None:
        """See ``Asking``."""
        self._samples = {sample.id: sample for sample in self._named({request.key[0] for request in asked})}

    def is_finished(self, key: Key) -> bool:
        """See ``Asking``."""
        return self._ledger.is_finished(key)

    async def keep(
        self, asked: BatchedRequest, outcome: Callable[[Call], Awaitable[Reply | Failure]], tries: int
    ) -> Failure | None:
        """See ``Asking``."""
        sample, epoch = self._samples[asked.key[0]], asked.key[1]
        mode = self._work.request_mode(sample.task)
        cap = mode.caps(self._work.caps(sample.task))[0]
        call = Call(sample.id, epoch, self._work.seed, cap, mode.stop_sent, mode.continued, mode.answers[0])
        reply_or_failure = await outcome(call)
        if isinstance(reply_or_failure, Failure):
            if reply_or_failure.kind not in ("overflow", "refused"):
                return reply_or_failure
            reply_or_failure = ended_by(reply_or_failure)
        self._engine.health.note_reply()
        requests: list[Reply] = []
        # Nobody knows how long the model took.
        reply = await self._received(replace(reply_or_failure, attempts=tries, seconds=0.0), mode, requests)
        reply = replace(reply, truncated=reply.truncated + asked.removed)
        self._keep(sample, epoch, reply, asked.prompt_hash, requests)
        return None

    def fail(self, asked: BatchedRequest, failure: Failure, tries: int) -> None:
        """See ``Asking``."""
        reply = replace(ended_by(failure), attempts=tries)
        self._engine.health.errors, self._engine.health.last = self._engine.health.errors + 1, failure.message
        self._keep(self._samples[asked.key[0]], asked.key[1], reply, asked.prompt_hash, [reply])

    def show(self, answered: int) -> None:
        """See ``Asking``."""
        self._in_batches = answered
        self._work.progress(self._state())

    def _state(self) -> Progress:
        return replace(super()._state(), in_batches=self._in_batches)
