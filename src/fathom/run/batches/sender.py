"""Sends requests in batches, waits, and hands the results on.

What must never happen is that a request is paid for twice. So a batch is committed to a file before its upload, with a
name that the provider is told; a process that finds a batch of which it does not know whether the provider got it looks
for that name first.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Protocol, TypeVar

from fathom.models.failures import Failure, ServerError, chain_of, classify, describe, shorten, status_code
from fathom.models.protocol import Call, RequestError
from fathom.models.retry import Retry
from fathom.run.batches.provider import HOURS, Provider, Result, State, as_line
from fathom.run.batches.recording import Recording
from fathom.run.batches.results import Line, ResultLines, append, find_lines, open_results, result_of
from fathom.runfile.batches import Batch, BatchedRequest, BatchStore, new_id, request_id
from fathom.runfile.ledger import Key
from fathom.types import FathomError, Reply

Outcome = TypeVar("Outcome")

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


@dataclass(frozen=True, slots=True)
class UnsentRequest:
    """A request that is to be sent.

    Attributes:
        batched: What it asks for.
        call: Its other parameters.
    """

    batched: BatchedRequest
    prompt: str
    call: Call


class Asking(Protocol):
    """What is asked in batches, and where the results go."""

    @property
    def stopped(self) -> bool:
        """Whether a limit is reached, so that nothing more may be sent."""
        ...

    def check_alone(self) -> None:
        """Check that no other process asks for the same.

        Raises:
            FathomError: One does.
        """
        ...

    def unsent(self, under_way: Collection[Key]) -> Iterator[UnsentRequest]:
        """The requests that are neither finished nor under way, one prompt at a time."""
        ...

    def expect(self, asked: Collection[BatchedRequest]) -> None:
        """Get ready for the results of these requests, some of which may not be wanted any more."""
        ...

    def is_finished(self, key: Key) -> bool:
        """Whether the reply to a request is kept."""
        ...

    async def keep(
        self, asked: BatchedRequest, outcome: Callable[[Call], Awaitable[Reply | Failure]], tries: int
    ) -> Failure | None:
        """Keep the reply to a request.

        Args:
            outcome: What a plain run would make of its result, for the parameters of the request.
            tries: How often it was sent.

        Returns:
            The failure, if there is no reply that counts.
        """
        ...

    def fail(self, asked: BatchedRequest, failure: Failure, tries: int) -> None:
        """Note that a request has failed for good."""
        ...

    def show(self, answered: int) -> None:
        """Show the progress, with the number of replies in batches that have not ended."""
        ...


class _GoneError(FathomError):
    """The provider may have deleted a batch; ``Sender._way_out`` says what then helps."""


class Sender:
    """One process that sends requests in batches; there is only one at a time.

    Args:
        asking: What is asked.
        folder: Receives files of requests until they are uploaded.
        recording: Makes requests and reads replies.
        provider: The batch API.
        store: The batches.
        retry: When failed requests are repeated.
        tell: Called with a line about each batch.
        pace: How often the provider is asked.
    """

    def __init__(
        self,
        asking: Asking,
        folder: Path,
        recording: Recording,
        provider: Provider,
        store: BatchStore,
        *,
        retry: Retry,
        tell: Callable[[str], None],
        pace: Pace,
    ) -> None:
        self._asking = asking
        self._folder = folder
        self._recording = recording
        self._provider = provider
        self._store = store
        self._retry = retry
        self._tell = tell
        self._pace = pace
        # Files of requests, removed when they are uploaded; a run and its judges have their own.
        self._files = f".{Path(store.file).stem}.*.jsonl"
        self._tries: Counter[Key] = Counter()
        self._last = ""
        self._most = provider.form.requests
        self._full = self._all_sent = False
        self._done: dict[str, int] = {}
        # Batches that were sent when no other one was waiting, and whether one has ended since the last one was sent.
        self._alone: set[str] = set()
        # By batch, what the server was known to refuse when its requests were made.
        self._sent_with: dict[str, Mapping[str, str]] = {}
        self._freed = False

    async def work_through(self) -> None:
        """Send everything, and collect until nothing is under way.

        Raises:
            FathomError: The provider has lost a batch.
        """
        self._asking.check_alone()
        # Now they can only be those of processes that have ended.
        for left in self._folder.glob(self._files):
            left.unlink(missing_ok=True)
        for batch in self._store.batches("intended"):
            if not await self._is_there(batch):
                self._store.forget(batch)
        wait = self._pace.first
        while True:
            self._store.check_place()
            stages, gone = list[str](), list[_GoneError]()
            for batch in self._store.batches("sent"):
                try:
                    stages.append(await self._look(batch))
                except _GoneError as error:
                    gone.append(error)  # what the others have answered is kept first
            if gone:
                raise FathomError(f"{gone[0]}{self._way_out(len(gone))}")
            # The next file is sent when the last one has been accepted: it may have been too much.
            ready = "checked" not in stages and not self._full and not self._all_sent and not self._asking.stopped
            if ready and await self._send_next():
                wait = self._pace.first
                continue
            if not self._store.batches("sent") and (self._all_sent or self._asking.stopped):
                return
            await asyncio.sleep(wait)
            wait = min(self._pace.longest, wait * 1.5)

    async def _send_next(self) -> bool:
        """Send the next batch; False if nothing is left, or the provider takes no more now."""
        id = new_id()
        file = self._folder / self._files.replace("*", id)
        self._sent_with[id] = dict(self._recording.negotiation.changes)
        try:
            requests = await self._write(id, file)
            self._all_sent = not requests
            if not requests:
                return False
            newest = await self._patiently(self._provider.newest)
            batch = self._store.intend(id, newest, requests)
            try:
                # A process that joins later sees the batch.
                self._asking.check_alone()
            except FathomError:
                self._store.forget(batch)
                raise
            return await self._send(batch, file)
        finally:
            file.unlink(missing_ok=True)

    async def _write(self, id: str, file: Path) -> list[BatchedRequest]:
        """Write the requests of one batch to a file, one prompt at a time; what cannot be sent is kept at once."""
        form, requests = self._provider.form, list[BatchedRequest]()
        with file.open("wb") as stream:
            size = stream.write(form.start)
            for request in self._asking.unsent(self._store.under_way()):
                sent = await self._recording.record(request.prompt, request.call)
                line = self._provider.line(request_id(id, len(requests)), sent)
                if len(form.start) + len(line) + len(form.end) > form.size:
                    too_large = f"the request has {len(line):,} bytes, more than a batch may have ({form.size:,})"
                    self._give_up(request.batched, Failure("bad", too_large))
                    continue
                if size + len(form.between) + len(line) + len(form.end) > form.size:
                    break
                size += stream.write((form.between if requests else b"") + line)
                requests.append(request.batched)
                if len(requests) >= self._most:
                    break
            stream.write(form.end)
        return requests

    async def _send(self, batch: Batch, file: Path) -> bool:
        """Send a batch until it is known whether the provider has it; False if it takes no more now."""
        retry, refusals = self._retry, 0
        self._freed = False
        if not self._store.batches("sent"):
            self._alone.add(batch.id)
        for attempt in range(1, retry.retries + 2):
            try:
                size = file.stat().st_size
                name = await self._provider.send(batch, file)
            except FathomError:
                self._store.forget(batch)
                raise
            except FileNotFoundError:
                self._store.forget(batch)
                raise FathomError(
                    f"{file} was removed before its upload; nothing of it was sent. Run the same command again to "
                    "resume"
                ) from None
            except Exception as error:
                failure = classify(error)
                refused = _was_refused(error)
                refusals += refused
                if not refused and await self._is_there(batch):
                    return True
                if refused and failure.kind != "busy":
                    self._store.forget(batch)
                    if self._learn(batch, failure):
                        return True
                    raise ServerError(f"the provider did not take the batch: {failure.message}") from None
                if refused and self._store.batches("sent"):
                    self._store.forget(batch)
                    self._full = True  # until one of them has ended
                    return False
                if refusals == TOO_MANY and batch.requests > 1:
                    self._store.forget(batch)
                    self._most = batch.requests // 2
                    return False
                if attempt > retry.retries:
                    self._store.forget(batch)
                    raise ServerError(
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
        is missing. Time in which the provider was out of reach does not count.
        """
        until, wait, announced = float("inf"), self._pace.first, False
        while True:
            name = await self._patiently(lambda: self._provider.find(batch, self._store.names()))
            until = min(until, time.monotonic() + self._pace.settle)
            if name:
                self._store.sent(batch, name)
                self._tell(f"batch {name}: {batch.requests:,} requests, found again")
                return True
            if name is not None and time.monotonic() >= until:
                return False
            if name is None and not announced:
                announced = True
                self._tell(
                    f"{batch.requests:,} requests may be at the provider already; that is known when a batch that it "
                    f"works on has ended, within {HOURS} hours"
                )
            await asyncio.sleep(wait)
            wait = min(self._pace.longest, wait * 1.5)

    async def _look(self, batch: Batch) -> str:
        """The stage of a batch, which is collected if it has ended."""
        results, all_read = self._results(batch), True
        downloaded = results.exists()  # by a process that was killed before it had read them
        state = (
            State("ended") if downloaded else await self._patiently(lambda: self._provider.look(batch.name), of=batch)
        )
        working = state.stage in ("checked", "working")
        self._done[batch.id] = state.done if working else 0
        self._asking.show(sum(self._done.values()))
        if working:
            return state.stage
        # Whatever it was, room is free again.
        self._full = self._all_sent = False
        if state.stage == "failed":
            self._not_accepted(batch, state)
        else:
            self._freed = True
            all_read = await self._collect(batch, state)
        self._store.end(batch)
        if all_read:
            results.unlink(missing_ok=True)
        if state.stage == "cancelled":
            raise FathomError(
                f"batch {batch.name} was cancelled at the provider; what it had answered is kept. Run the same command "
                "again to send the rest"
            )
        return state.stage

    def _not_accepted(self, batch: Batch, state: State) -> None:
        """A batch failed as a whole: requests that are wrong fail, others are sent again."""
        reasons = {number: why for number, why in state.errors if number is not None}
        why = shorten("; ".join(dict.fromkeys(why for _, why in state.errors))) or "the provider does not say why"
        asked = self._store.requests(batch)
        if state.full and batch.id not in self._alone:
            # Each new attempt follows the end of another batch, so this ends.
            self._full = len(self._store.batches("sent")) > 1 and not self._freed
            self._tell(f"batch {batch.name}: too much was waiting there; sent again when others have ended")
            return
        if state.full and batch.requests > 1:
            self._most = batch.requests // 2
            self._tell(f"batch {batch.name}: too much for one batch; sent again in batches of {self._most:,}")
            return
        wrong = {number for number in reasons if number in asked} or (set(asked) if state.full else set())
        if not wrong:
            self._store.end(batch)
            if self._learn(batch, Failure("bad", why)):
                return
            raise FathomError(f"the provider did not accept the batch: {why}")
        self._asking.expect([asked[number] for number in wrong])
        for number in wrong:
            failure = Failure("bad", reasons.get(number, why))
            learned = self._learn(batch, failure)
            self._try_again(asked[number], replace(failure, kind="busy") if learned else failure)

    def _learn(self, batch: Batch, failure: Failure) -> bool:
        """Whether the next batch differs by what a failure shows: it leaves out what the server refuses."""
        negotiation = self._recording.negotiation
        return negotiation.learn(failure, self._sent_with.get(batch.id, {}))

    async def _collect(self, batch: Batch, state: State) -> bool:
        """Keep all replies of a batch; those that failed for a while and those that are missing are asked again.

        Returns:
            Whether all results could be read.
        """
        asked, path = self._store.requests(batch), self._results(batch)
        self._asking.expect(asked.values())
        if not path.exists():
            await self._download(batch, state, path)
        known = dict(self._recording.negotiation.changes)
        with path.open("rb") as stream:
            results = await find_lines(stream, batch, self._provider)
            again = {
                number: failure
                for number, request in asked.items()
                if not self._asking.is_finished(request.key)
                and (failure := await self._keep_best(batch, request, results.lines.get(number, ()), stream))
            }
        lost = [number for number in again if number not in results.lines]
        if lost and results.stray:
            why = f"batch {batch.name} has no readable result for it; {results.stray:,} lines of {path} may be its own"
            again |= dict.fromkeys(lost, Failure("bad", why))
        if state.stage != "cancelled":
            for number, failure in again.items():
                self._try_again(asked[number], failure)
        negotiation = self._recording.negotiation
        changed = "" if negotiation.changes == known else f"; {'; '.join(negotiation.describe())}"
        unread = any(number in again and lines[0].rank in (0, 3) for number, lines in results.lines.items())
        kept = (
            f"; results that cannot be read are kept in {path}, and their samples asked again by the next run"
            if unread or results.stray
            else ""
        )
        self._tell(f"batch {batch.name}: {len(asked) - len(again):,} of {batch.requests:,} answered{changed}{kept}")
        if len(again) == len(asked) and all(failure.kind == "denied" for failure in again.values()):
            self._store.end(batch)
            why = self._last.rstrip(".")
            raise FathomError(f"the provider denies all requests of the batch: {why}. Check the model's name")
        return not kept

    def _results(self, batch: Batch) -> Path:
        """The file that has the results of a batch once they are downloaded, until they are read."""
        return self._folder / f"{Path(self._store.file).stem}.{batch.id}.results.jsonl"

    async def _download(self, batch: Batch, state: State, path: Path) -> None:
        """Download the results of a batch: again if some are missing that the provider counts, or cannot be read.

        Raises:
            FathomError: They cannot be had, or written.
        """
        part = path.with_suffix(".part")
        with open_results(part) as stream:

            async def read() -> ResultLines:
                await append(stream, self._provider.download(batch.name, state), start)
                results = await find_lines(stream, batch, self._provider)
                if not results.lines and not results.stray and (state.results or state.counted):
                    # It cannot last; if it does, nobody pays for all of them again unless told to.
                    raise RequestError(Failure("busy", "it has ended, and its results are empty"))
                return results

            for download in range(1, DOWNLOADS + 1):
                start = stream.seek(0, 2)
                results = await self._patiently(read, of=batch)
                seen = len(results.lines) if state.counted is None else results.responses
                whole = seen >= (batch.requests if state.counted is None else state.counted)
                if download == DOWNLOADS or (whole and not results.unreadable):
                    break
                await asyncio.sleep(self._pace.first)
        part.replace(path)

    async def _keep_best(
        self, batch: Batch, request: BatchedRequest, lines: Sequence[Line], stream: BinaryIO
    ) -> Failure | None:
        """Keep the reply in the first result of a request that has one; the failure, if there is none that counts."""
        failure = None
        for line in lines:
            stream.seek(line.start)
            result = result_of(stream.read(line.size), batch, self._provider)
            failed = await self._take(batch, request, result)
            if failed is None:
                return None
            # A line that cannot be read may be the answer, which is not paid again unless the user says so.
            failure = failed if failure is None or isinstance(result, str) else failure
        return failure or Failure("busy", f"batch {batch.name} ended without a result for this request")

    async def _take(self, batch: Batch, request: BatchedRequest, result: Result | str) -> Failure | None:
        """Keep the reply in a result; the failure, if there is none that counts."""
        if isinstance(result, str):
            where = self._results(batch)
            return Failure("bad", f"its result cannot be read: {shorten(result, 200)}; the line is kept in {where}")
        if result.status is None:
            return Failure("busy", result.reason)
        status = result.status

        async def read(call: Call) -> Reply | Failure:
            return await self._recording.read(
                status, as_line(result.body), call, self._retry, self._sent_with.get(batch.id)
            )

        try:
            return await self._asking.keep(request, read, self._tries[request.key] + 1)
        except FathomError:
            raise
        except Exception as error:  # a result that nobody foresaw costs its request, not the batch
            return Failure("bad", f"its result cannot be read: {describe([error])}")

    def _try_again(self, request: BatchedRequest, failure: Failure) -> None:
        """Leave a request to the next batch, or give it up."""
        self._tries[request.key] += 1
        if failure.kind not in ("busy", "silent") or self._tries[request.key] > self._retry.retries:
            self._give_up(request, failure)

    def _give_up(self, request: BatchedRequest, failure: Failure) -> None:
        self._last = failure.message
        self._asking.fail(request, failure, max(1, self._tries[request.key]))

    async def _patiently(self, ask: Callable[[], Awaitable[Outcome]], of: Batch | None = None) -> Outcome:
        """What a request to the provider returns that may be repeated.

        Raises:
            FathomError: It is denied, or the provider has been out of reach for long.
        """
        started, retry, attempt = time.monotonic(), self._retry, 0
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
                    gone = of is not None and (failure.kind == "bad" or _is_missing(error))
                    raise (_GoneError if gone else ServerError)(
                        f"{what} cannot be read: {failure.message.rstrip('.')}. Run the same command again, with the "
                        "same account's key, to resume"
                    ) from None
                await retry.sleep(min(retry.wait(attempt, failure.wait), self._pace.longest))

    def _way_out(self, gone: int) -> str:
        """What to do if the provider has deleted batches, and what that costs."""
        sent, intended = self._store.batches("sent"), self._store.batches("intended")
        requests = sum(batch.requests for batch in (*sent, *intended))
        others = len(sent) - gone
        first = (
            f" First repeat it until the other batches ({others}) have ended, to keep their replies." if others else ""
        )
        return (
            f".{first} If the provider has deleted {'the batch' if gone == 1 else f'{gone} batches'}, delete "
            f"{self._folder / self._store.file} to give up all batches that are under way: their {requests:,} requests "
            "are then sent, and paid, again"
        )


def _is_missing(error: Exception) -> bool:
    return any(status_code(link) == 404 for link in chain_of(error))


def _was_refused(error: Exception) -> bool:
    """Whether a server certainly did not do what it was asked for."""
    code = next((code for link in chain_of(error) if (code := status_code(link)) is not None), None)
    return code is not None and code < 500 and code not in _UNCERTAIN
