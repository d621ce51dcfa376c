"""Sends the requests of a run in batches, waits, and keeps the replies.

What must never happen is that a request is paid for twice. So a batch is committed to ``batches.sqlite`` before its
upload, with a name that the provider is told; a process that finds a batch of which it does not know whether the
provider got it looks for that name first.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from fathom.run.batches.provider import HOURS, Provider, Result, State, as_line
from fathom.run.batches.recording import Recording
from fathom.run.batches.store import Asked, Batch, BatchStore, new_id, number_of, request_id
from fathom.run.failures import Failure, chain_of, classify, shorten, status_code
from fathom.run.ledger import Key, Ledger
from fathom.run.model import Call, RequestError
from fathom.run.progress import Progress
from fathom.run.retry import ended_by
from fathom.run.session import Job, Session, Work
from fathom.run.store import peek
from fathom.run.worker import is_alive
from fathom.types import FathomError, Reply, Sample

Outcome = TypeVar("Outcome")

FILES = ".batch-*"
"""Files of requests in the run folder, which are removed when they are uploaded."""
DOWNLOADS = 3
"""How often results are read if some are missing that the provider counts, or does not count."""
TOO_MANY = 3
"""How often a batch is refused, because too much is waiting, before it is sent in halves; nothing else is waiting."""
# Status codes with which a server may have started the batch all the same.
_UNCERTAIN = frozenset({408, 409, 425})


@dataclass(frozen=True, slots=True)
class Pace:
    """How often the provider is asked, in seconds.

    Attributes:
        first: Before a new batch is asked about; each wait is half as long again.
        longest: The longest wait.
        settle: How long a batch may be missing from the provider's list after its upload.
        patience: How long the provider may be out of reach.
    """

    first: float = 5.0
    longest: float = 60.0
    settle: float = 60.0
    patience: float = 3600.0


class BatchSession(Session):
    """One process that sends a run in batches; there is only one at a time.

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
        self._recording = recording
        self._provider = provider
        self._store = store
        self._named = named
        self._tell = tell
        self._pace = pace
        self._tries: Counter[Key] = Counter()
        self._most = provider.form.requests
        self._full = self._all_sent = False
        self._done: dict[str, int] = {}

    async def _ask_all(self) -> None:
        """Send everything, and collect until nothing is under way."""
        for left in self._ledger.folder.glob(FILES):
            left.unlink(missing_ok=True)
        self._check_alone()
        for batch in self._store.batches("intended"):
            if not await self._is_there(batch):
                self._store.forget(batch)
        wait = self._pace.first
        while True:
            stages = [await self._look(batch) for batch in self._store.batches("sent")]
            # The next file is sent when the last one has been accepted: it may have been too much.
            ready = "checked" not in stages and not self._full and not self._all_sent and not self._stop
            if ready and await self._send_next():
                wait = self._pace.first
                continue
            if not self._store.batches("sent") and (self._all_sent or self._stop):
                return
            await asyncio.sleep(wait)
            wait = min(self._pace.longest, wait * 1.5)

    def _check_alone(self) -> None:
        """Check that no other process works on the run.

        Raises:
            FathomError: One does; it could ask for the same samples.
        """
        with peek(self._ledger.folder) as store:
            others = [one for one in store.workers() if one.worker.id != self._ledger.worker.id]
        if any(is_alive(one.worker, beat=one.beat, now=time.time()) for one in others):
            raise FathomError(
                f"{self._ledger.folder}: another process works on this run, and batches are sent by one process alone; "
                "wait until it has ended"
            )

    async def _send_next(self) -> bool:
        """Send the next batch; False if nothing is left, or the provider takes no more now."""
        id = new_id()
        file = self._ledger.folder / FILES.replace("*", id)
        try:
            requests = await self._write(id, file)
            self._all_sent = not requests
            if not requests:
                return False
            newest = await self._patiently(self._provider.newest)
            batch = self._store.intend(id, newest, requests)
            try:
                # A process that joins later sees the batch.
                self._check_alone()
            except FathomError:
                self._store.forget(batch)
                raise
            return await self._send(batch, file)
        finally:
            file.unlink(missing_ok=True)

    async def _write(self, id: str, file: Path) -> list[Asked]:
        """Write the requests of one batch to a file, one prompt at a time; what cannot be sent is kept at once."""
        form, requests = self._provider.form, list[Asked]()
        with file.open("wb") as stream:
            size = stream.write(form.start)
            for sample, epoch in self._pending():
                prepared = self._prepare(sample, epoch, self._work.caps(sample.task))
                if isinstance(prepared, Reply):
                    self._keep(sample, epoch, prepared, "", ())
                    continue
                sent = await self._recording.record(prepared.prompt, prepared.call)
                line = self._provider.line(request_id(id, len(requests)), sent)
                if len(form.start) + len(line) + len(form.end) > form.size:
                    too_large = f"the request has {len(line):,} bytes, more than a batch may have ({form.size:,})"
                    self._fail(sample, epoch, Failure("bad", too_large), prepared.prompt_hash)
                    continue
                if size + len(form.between) + len(line) + len(form.end) > form.size:
                    break
                size += stream.write((form.between if requests else b"") + line)
                requests.append(Asked((sample.id, epoch), prepared.prompt_hash, prepared.removed))
                if len(requests) >= self._most:
                    break
            stream.write(form.end)
        return requests

    def _pending(self) -> Iterator[Job]:
        under_way = self._store.under_way()
        for sample, epoch in self._all():
            key = sample.id, epoch
            if key not in under_way and not self._ledger.is_finished(key):
                yield sample, epoch

    async def _send(self, batch: Batch, file: Path) -> bool:
        """Send a batch until it is known whether the provider has it; False if it takes no more now."""
        size, retry = file.stat().st_size, self._work.retry
        for attempt in range(1, retry.retries + 2):
            try:
                name = await self._provider.send(batch, file)
            except FathomError:
                self._store.forget(batch)
                raise
            except Exception as error:
                failure = classify(error)
                refused = _was_refused(error)
                if not refused and await self._is_there(batch):
                    return True
                if refused and failure.kind != "busy":
                    self._store.forget(batch)
                    raise FathomError(f"the provider did not take the batch: {failure.message}") from None
                if refused and self._store.batches("sent"):
                    self._store.forget(batch)
                    self._full = True  # until one of them has ended
                    return False
                if refused and attempt == TOO_MANY and batch.requests > 1:
                    self._store.forget(batch)
                    self._most = batch.requests // 2
                    return False
                if attempt > retry.retries:
                    self._store.forget(batch)
                    raise FathomError(
                        f"the batch could not be sent: {failure.message.rstrip('.')}. Run the same command again to "
                        "resume"
                    ) from None
                await retry.sleep(retry.wait(attempt, failure.wait))
            else:
                self._store.sent(batch, name)
                words = f"{batch.requests:,} requests, {size / 1_000_000:,.1f} MB"
                self._tell(f"batch {name}: {words} sent; to be answered within {HOURS} hours")
                return True
        raise AssertionError("unreachable: the last attempt gives up")

    async def _is_there(self, batch: Batch) -> bool:
        """Whether the provider has a batch of which that is not known; it is then one of those that were sent.

        What was on its way when a process was killed may arrive later, so only a batch that does not appear for a while
        is missing.
        """
        until, wait, told = time.monotonic() + self._pace.settle, self._pace.first, False
        while True:
            name = await self._patiently(lambda: self._provider.find(batch, self._store.names()))
            if name:
                self._store.sent(batch, name)
                self._tell(f"batch {name}: {batch.requests:,} requests, found again")
                return True
            if name is not None and time.monotonic() >= until:
                return False
            if name is None and not told:
                told = True
                self._tell(
                    f"{batch.requests:,} requests may be at the provider already; that is known when a batch that it "
                    f"works on has ended, within {HOURS} hours"
                )
            await asyncio.sleep(wait)
            wait = min(self._pace.longest, wait * 1.5)

    async def _look(self, batch: Batch) -> str:
        """The stage of a batch, which is collected if it has ended."""
        state = await self._patiently(lambda: self._provider.look(batch.name), of=batch)
        self._done[batch.id] = state.done
        if state.stage in ("checked", "working"):
            self._work.progress(self._state())
            return state.stage
        # Whatever it was, room is free again.
        self._full = self._all_sent = False
        if state.stage == "failed":
            self._not_accepted(batch, state)
        else:
            await self._collect(batch, state)
        self._done.pop(batch.id)
        self._store.end(batch)
        if state.stage == "cancelled":
            raise FathomError(
                f"batch {batch.name} was cancelled at the provider; what it had answered is kept. Run the same command "
                "again to send the rest"
            )
        return state.stage

    def _not_accepted(self, batch: Batch, state: State) -> None:
        """A batch failed as a whole, and nothing of it is paid: requests that are wrong fail, others are sent again."""
        reasons = {number: why for number, why in state.errors if number is not None}
        why = shorten("; ".join(dict.fromkeys(why for _, why in state.errors))) or "the provider does not say why"
        asked = self._store.requests(batch)
        if state.full and batch.requests > 1:
            if len(self._store.batches("sent")) > 1:
                self._full = True
                self._tell(f"batch {batch.name}: too much is waiting there already; sent again when others have ended")
            else:
                self._most = batch.requests // 2
                self._tell(f"batch {batch.name}: too much for one batch; sent again in batches of {self._most:,}")
            return
        wrong = {number for number in reasons if number in asked} or (set(asked) if state.full else set())
        if not wrong:
            self._store.end(batch)
            raise FathomError(f"the provider did not accept the batch: {why}. Nothing of it was paid")
        samples = self._samples_of(asked[number] for number in wrong)
        for number in wrong:
            sample_id, epoch = asked[number].key
            failure = Failure("bad", reasons.get(number, why))
            self._fail(samples[sample_id], epoch, failure, asked[number].prompt_hash)

    async def _collect(self, batch: Batch, state: State) -> None:
        """Keep all replies of a batch; those that failed for a while and those that are missing are asked again."""
        asked, seen, responses = self._store.requests(batch), set[int](), 0
        samples = self._samples_of(asked.values())
        again: dict[int, Failure] = {}

        async def read() -> None:
            nonlocal responses
            async for result in self._provider.results(batch.name, state):
                number = number_of(batch.id, result.custom_id)
                if number is None or number not in asked or number in seen:
                    continue
                one = asked[number]
                if not self._ledger.is_finished(one.key):
                    failure = await self._take(samples[one.key[0]], one, result)
                    if failure is not None:
                        again[number] = failure
                seen.add(number)
                responses += result.status is not None
            if not seen and (state.results or state.counted):
                # It cannot last; if it does, nobody pays for all of them again unless told to.
                raise RequestError(Failure("busy", "it has ended, and its results are empty"))

        for download in range(1, DOWNLOADS + 1):
            await self._patiently(read, of=batch)
            whole = len(seen) == len(asked) if state.counted is None else responses >= state.counted
            if whole or download == DOWNLOADS:
                break
            await asyncio.sleep(self._pace.first)
        lost = [number for number in asked if number not in seen and not self._ledger.is_finished(asked[number].key)]
        again |= dict.fromkeys(lost, Failure("busy", f"batch {batch.name} ended without a result for this request"))
        if state.stage != "cancelled":
            for number, failure in again.items():
                self._try_again(samples[asked[number].key[0]], asked[number], failure)
        self._tell(f"batch {batch.name}: {len(seen) - len(again) + len(lost):,} of {batch.requests:,} answered")
        if len(again) == len(asked) and all(failure.kind == "denied" for failure in again.values()):
            self._store.end(batch)
            why = self._health.last.rstrip(".")
            raise FathomError(f"the provider denies all requests of the batch: {why}. Check the model's name")

    async def _take(self, sample: Sample, one: Asked, result: Result) -> Failure | None:
        """Keep the reply in a result; the failure, if there is none that counts."""
        mode, epoch = self._work.request_mode(sample.task), one.key[1]
        cap = mode.caps(self._work.caps(sample.task))[0]
        call = Call(sample.id, epoch, self._work.seed, cap, mode.stop_sent, mode.continued, mode.answers[0])
        if result.status is None:
            return Failure("busy", result.reason)
        outcome = await self._recording.read(result.status, as_line(result.body), call, self._work.retry)
        if isinstance(outcome, Failure):
            if outcome.kind not in ("overflow", "refused"):
                return outcome
            outcome = ended_by(outcome)
        self._health.note_reply()
        requests: list[Reply] = []
        # Nobody knows how long the model took.
        reply = replace(outcome, attempts=self._tries[one.key] + 1, seconds=0.0)
        reply = await self._received(reply, mode, requests)
        self._keep(sample, epoch, replace(reply, truncated=reply.truncated + one.removed), one.prompt_hash, requests)
        return None

    def _try_again(self, sample: Sample, one: Asked, failure: Failure) -> None:
        """Leave a request to the next batch, or give it up."""
        self._tries[one.key] += 1
        if failure.kind not in ("busy", "silent") or self._tries[one.key] > self._work.retry.retries:
            self._fail(sample, one.key[1], failure, one.prompt_hash)

    def _fail(self, sample: Sample, epoch: int, failure: Failure, prompt_hash: str) -> None:
        reply = replace(ended_by(failure), attempts=max(1, self._tries[sample.id, epoch]))
        self._health.errors, self._health.last = self._health.errors + 1, failure.message
        self._keep(sample, epoch, reply, prompt_hash, [reply])

    def _samples_of(self, asked: Iterable[Asked]) -> Mapping[str, Sample]:
        return {sample.id: sample for sample in self._named({one.key[0] for one in asked})}

    async def _patiently(self, ask: Callable[[], Awaitable[Outcome]], of: Batch | None = None) -> Outcome:
        """What a request to the provider returns that may be repeated.

        Raises:
            FathomError: It is denied, or the provider has been out of reach for long.
        """
        started, retry, attempt = time.monotonic(), self._work.retry, 0
        while True:
            try:
                return await ask()
            except FathomError:
                raise
            except Exception as error:
                failure, attempt = classify(error), attempt + 1
                late = time.monotonic() - started > self._pace.patience
                if failure.kind not in ("busy", "silent") or late:
                    what = f"batch {of.name}" if of else "the batches of the account"
                    raise FathomError(
                        f"{what} cannot be read: {failure.message.rstrip('.')}. Run the same command again, with the "
                        "same account's key, to resume"
                    ) from None
                await retry.sleep(min(retry.wait(attempt, failure.wait), self._pace.longest))

    def _state(self) -> Progress:
        return replace(super()._state(), in_batches=sum(self._done.values()))


def _was_refused(error: Exception) -> bool:
    """Whether a server certainly did not do what it was asked for."""
    code = next((code for link in chain_of(error) if (code := status_code(link)) is not None), None)
    return code is not None and code < 500 and code not in _UNCERTAIN
