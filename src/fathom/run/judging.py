"""One process that judges: sends the requests of the rubrics, commits the results, limits the connections."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from fathom.models.failures import shorten
from fathom.models.prices import Price
from fathom.models.protocol import Call, Client
from fathom.models.retry import Health, Retry, ask
from fathom.run.judge_plan import PendingCase
from fathom.runfile.judgements import Judgement, JudgementStore, Outcome, Spent, hashed
from fathom.score.judge import Ask, UnreadableError
from fathom.types import FathomError, Reply


@dataclass(frozen=True, slots=True)
class JudgeProgress:
    """The state of a run's judging, reported after every judgement.

    Attributes:
        counts: Replies of the run by outcome of their judgement; those not judged yet are not counted.
        total: Replies that need a judge.
        spent: What the judge has cost so far.
    """

    counts: Mapping[Outcome, int]
    total: int
    spent: Spent

    @property
    def finished(self) -> int:
        """Replies whose judgement is done or failed."""
        return sum(self.counts.values())


@dataclass(frozen=True)
class JudgeWork:
    """How the judge is asked.

    Attributes:
        cap: Output cap of its replies in tokens.
        price: The judge's prices.
        max_connections: Requests in flight at once.
        retry: When failed requests are repeated.
        max_tokens_total: Tokens at which the judging stops; None for no limit.
        max_cost: US dollars at which it stops; None for no limit.
        progress: Called after every judgement.
        purpose: Beginning of messages, before the judge's name.
        results: What is kept, in messages.
    """

    cap: int
    price: Price
    max_connections: int
    retry: Retry
    max_tokens_total: int | None
    max_cost: float | None
    progress: Callable[[JudgeProgress], None]
    purpose: str = "judge"
    results: str = "judgements"


class Judging:
    """One process that asks a judge.

    Args:
        store: Receives the judgements.
        client: The judge.
        work: How it is asked.
        state: The state at the start.
    """

    def __init__(self, store: JudgementStore, client: Client, work: JudgeWork, state: JudgeProgress) -> None:
        self.state = state
        self._store = store
        self._client = client
        self._work = work
        self._health = Health(before=state.spent.requests > 0)
        self._stop = ""
        # Several cases may need the same prompt at once; all but the first wait for its reply.
        self._asking: defaultdict[tuple[str, int], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def work_through(self, cases: Sequence[PendingCase]) -> None:
        """Judge all cases that no other process has judged meanwhile.

        Raises:
            FathomError: The judge cannot continue, or a limit is reached; finished judgements are kept.
        """
        rest, name = iter(cases), f"{self._work.purpose} {self._store.judge}"
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._work.max_connections):
                    group.create_task(self._work_on(rest))
        except* FathomError as errors:
            raise FathomError(f"{name}: {errors.exceptions[0]}") from None
        if self._stop:
            raise FathomError(f"{name}: {self._stop}; all finished {self._work.results} are kept")
        if self._health.errors and not self._health.replies:
            raise FathomError(
                f"{name}: no request was answered; the last one failed with: {self._health.last}. Fix the cause and "
                "repeat the command for what is missing"
            )

    async def _work_on(self, cases: Iterator[PendingCase]) -> None:
        for pending in cases:
            if self._stop:
                return
            await self._judge(pending)

    async def _judge(self, pending: PendingCase) -> None:
        judgement = self._store.judgement(pending.key)
        if judgement is None:
            try:
                judgement = await self._ask_for(pending)
            except FathomError:
                raise
            except Exception as error:
                words = shorten(f"unexpected, please report it: {type(error).__name__}: {error}")
                judgement = Judgement("error", {}, words)
            self._store.finish(pending.key, pending.rubric, judgement)
        counts = {**self.state.counts}
        counts[judgement.status] += pending.replies
        self.state = replace(self.state, counts=counts)
        self._work.progress(self.state)

    async def _ask_for(self, pending: PendingCase) -> Judgement:
        """Send all requests of the rubric for one case."""
        steps, tries = pending.rubric.steps(pending.case), Counter[str]()
        asked: list[tuple[str, str, int]] = []
        try:
            wanted = next(steps)
            while True:
                prompt = hashed(wanted.prompt)
                tries[prompt] += 1
                asked.append((wanted.step, prompt, tries[prompt]))
                reply = await self._reply(wanted, prompt, tries[prompt])
                if reply.status != "ok":
                    status: Outcome = "error" if reply.status == "error" else "unreadable"
                    return Judgement(status, {}, f"the judge, asked for {wanted.step}: {reply.error or reply.status}")
                wanted = steps.send(reply.text)
        except StopIteration as end:
            return Judgement("ok", end.value)
        except UnreadableError as error:
            # The last step failed, with all its attempts.
            for _, prompt, attempt in takewhile(lambda one: one[0] == asked[-1][0], reversed(asked)):
                self._store.mark_unreadable(prompt, attempt)
            return Judgement("unreadable", {}, str(error))

    async def _reply(self, wanted: Ask, prompt: str, attempt: int) -> Reply:
        """The judge's reply, from the store if it is there."""
        async with self._asking[prompt, attempt]:
            known = self._store.said(prompt, attempt)
            if known is not None:
                return known
            # A repeated prompt is another epoch, and so has another seed.
            call = Call(sample=prompt, epoch=attempt, seed=0, max_output_tokens=self._work.cap)
            reply = await ask(self._client, wanted.prompt, call, self._work.retry, self._health)
            if reply.status != "error":
                self.keep(prompt, attempt, wanted.step, reply)
            return reply

    @property
    def stopped(self) -> bool:
        """Whether a limit is reached."""
        return bool(self._stop)

    def keep(self, prompt: str, attempt: int, step: str, reply: Reply) -> None:
        """Commit and count a reply of the judge; see ``JudgementStore.keep``."""
        cost = cost_of(reply, self._work.price)
        self._store.keep(prompt, attempt, step, reply, cost)
        self._health.note_reply()
        self._count(reply, cost)

    def _count(self, reply: Reply, cost: float | None) -> None:
        old = self.state.spent
        spent = Spent(
            requests=old.requests + 1,
            tokens_in=old.tokens_in + (reply.tokens_in or 0),
            tokens_out=old.tokens_out + (reply.tokens_out or 0),
            paid=old.paid + (cost or 0.0),
            unpriced=old.unpriced + (cost is None),
        )
        self.state = replace(self.state, spent=spent)
        tokens, most, dollars = spent.tokens_in + spent.tokens_out, self._work.max_tokens_total, self._work.max_cost
        if most is not None and tokens > most:
            self._stop = f"stopped: {tokens:,} tokens used, `max_tokens_total` is {most:,}"
        if dollars is not None and spent.paid > dollars:
            self._stop = f"stopped: ${spent.paid:,.2f} spent, `max_cost` is ${dollars:,.2f}"


def cost_of(reply: Reply, price: Price) -> float | None:
    """Cost of a reply in US dollars; None if its price or its tokens are unknown."""
    if price.input == 0 == price.output:
        return 0.0
    if reply.tokens_in is None or reply.tokens_out is None:
        return None
    read, written = reply.tokens_cached or 0, reply.tokens_written or 0
    return price.cost(reply.tokens_in, reply.tokens_out, read, tokens_written=written)
