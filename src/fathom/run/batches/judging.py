"""A judge in batches: all requests that can be sent now are a batch, and the next steps of its rubrics another one.

Replies go into the store of judgements, under the prompt and the number of times that one case sent it. When nothing is
left to ask, plain judging reads them from there, and finds that nothing is to be sent.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256

from fathom.models.failures import Failure
from fathom.models.overflow import Overflow
from fathom.models.protocol import Call, RequestError
from fathom.models.retry import ended_by
from fathom.models.usage import with_counts
from fathom.run.batches.sender import Wanted
from fathom.run.judge_plan import PendingCase
from fathom.run.judging import Judging
from fathom.runfile.batches import Asked
from fathom.runfile.judgements import JudgementStore, hashed
from fathom.runfile.ledger import Key
from fathom.score.judge import Ask, UnreadableError
from fathom.types import Reply


def batches_of(judge: str) -> str:
    """The file of a judge's batches in a run folder.

    Args:
        judge: Its name.
    """
    return f"batches-{sha256(judge.encode()).hexdigest()[:12]}.sqlite"


class Collected:
    """The client of a judge whose replies are all in the store: what is not there has failed.

    Attributes:
        failed: Why, by prompt and attempt.
    """

    window: int | None = None
    policy: Overflow = "refuse"

    def __init__(self, failed: dict[Key, Failure]) -> None:
        self.failed = failed

    async def complete(self, prompt: str, call: Call) -> Reply:
        """See ``Client``; no request is repeated here."""
        failure = self.failed.get((call.sample, call.epoch), Failure("bad", "the request was not sent"))
        raise RequestError(Failure("bad", failure.message))

    async def close(self) -> None:
        """See ``Client``."""


class JudgeAsking:
    """The requests of a judge (``Asking``).

    Args:
        cases: What is to be judged.
        store: The judge's replies.
        judging: Keeps and counts them.
        cap: Output cap of the replies in tokens.
        failed: Receives the requests that failed for good, by prompt and attempt.
    """

    def __init__(
        self,
        cases: Sequence[PendingCase],
        store: JudgementStore,
        judging: Judging,
        cap: int,
        failed: dict[Key, Failure],
    ) -> None:
        self._cases = cases
        self._store = store
        self._judging = judging
        self._cap = cap
        self._failed = failed
        self._steps: dict[Key, str] = {}

    @property
    def stopped(self) -> bool:
        """See ``Asking``."""
        return self._judging.stopped

    def check_alone(self) -> None:
        """See ``Asking``: the file of the batches is locked, by plain judging too."""

    def wanted(self, under_way: Collection[Key]) -> Iterator[Wanted]:
        """See ``Asking``. Cases may need the same prompt, which is sent once."""
        seen = set(under_way)
        for key, ask in self._next():
            if key not in seen:
                seen.add(key)
                yield Wanted(Asked(key, key[0], 0), ask.prompt, self._call(key))

    def _next(self) -> Iterator[tuple[Key, Ask]]:
        """The next request of each case that has one."""
        for pending in self._cases:
            steps, tries = pending.rubric.steps(pending.case), Counter[str]()
            try:
                ask = next(steps)
                while True:
                    prompt = hashed(ask.prompt)
                    tries[prompt] += 1
                    key = prompt, tries[prompt]
                    reply = self._store.said(*key)
                    if reply is None or reply.status != "ok":
                        break
                    ask = steps.send(reply.text)
            except (StopIteration, UnreadableError):
                continue
            if reply is None and key not in self._failed:
                self._steps[key] = ask.step
                yield key, ask

    def expect(self, asked: Collection[Asked]) -> None:
        """See ``Asking``: the steps of requests that another process sent."""
        if any(one.key not in self._steps for one in asked):
            for _ in self._next():
                pass

    def is_finished(self, key: Key) -> bool:
        """See ``Asking``."""
        return self._store.said(*key) is not None

    async def keep(
        self, asked: Asked, outcome: Callable[[Call], Awaitable[Reply | Failure]], tries: int
    ) -> Failure | None:
        """See ``Asking``."""
        found = await outcome(self._call(asked.key))
        if isinstance(found, Failure):
            if found.kind not in ("overflow", "refused"):
                return found
            found = ended_by(found)
        reply = replace(with_counts(found), attempts=tries, seconds=0.0)
        self._judging.keep(*asked.key, self._steps.get(asked.key, ""), reply)
        return None

    def fail(self, asked: Asked, failure: Failure, tries: int) -> None:
        """See ``Asking``."""
        self._failed[asked.key] = failure

    def show(self, answered: int) -> None:
        """See ``Asking``: the progress is that of judgements, which are made at the end."""

    def _call(self, key: Key) -> Call:
        # As in plain judging: a repeated prompt is another epoch, and so has another seed.
        return Call(sample=key[0], epoch=key[1], seed=0, max_output_tokens=self._cap)
