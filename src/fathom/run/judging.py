"""What there is to judge in a run, and the work of one process on it: ask what a rubric asks, commit what comes."""

from __future__ import annotations

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

from fathom.registry import get_task
from fathom.run.failures import shorten
from fathom.run.judgements import Judgement, JudgementStore, Outcome, Spent, case_key, case_of, hashed
from fathom.run.model import Call, Client
from fathom.run.prices import Price
from fathom.run.retry import Health, Retry, ask
from fathom.run.store import replies
from fathom.score.judge import Ask, Case, JudgeKind, Rubric, UnreadableError, get_rubric
from fathom.types import FathomError, Reply

EXAMPLE = json.dumps(
    {
        "key_points": [f"Point {number} is a sentence of some twelve words with a name in it." for number in range(10)],
        **{"fluency": 1, "correctness": 1, "supported": [], "covered": [], "rating": 5, "cosines": [1, 1]},
    }
)
"""A reply that every step of the rubrics can read, of common size: what they ask after it is what they are likely to
ask."""

BYTES_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Pending:
    """A case to be judged.

    Attributes:
        key: Where its judgement will stand.
        rubric: How it is judged.
        case: What the judge is shown.
        replies: Replies of the run that are this very case.
    """

    key: str
    rubric: Rubric
    case: Case
    replies: int


@dataclass(frozen=True, slots=True)
class Docket:
    """The replies of a run that a judge is needed for.

    Attributes:
        pending: Cases that are not judged yet.
        counts: Replies whose judgement is final, by what became of it.
        others: Replies for which a judge of the other kind is needed.
    """

    pending: tuple[Pending, ...]
    counts: Mapping[Outcome, int]
    others: int = 0

    @property
    def total(self) -> int:
        """Replies that a judge is needed for."""
        return sum(self.counts.values()) + sum(pending.replies for pending in self.pending)


@dataclass(frozen=True, slots=True)
class JudgePlan:
    """What a judge will be asked, as far as that can be known: what it says decides what it is asked next.

    Attributes:
        folder: The run folder.
        judge: Name of the judge.
        replies: Replies to be judged.
        finished: Replies that are judged already.
        requests: About how many requests that takes; more where replies of the judge cannot be read.
        tokens_in: About how many prompt tokens, estimated from the characters.
        tokens_out: The most that the replies to these requests can have.
        cost_least: US dollars if these replies are empty; None where no price is known.
        cost_most: US dollars if every one is as long as it may be.
        checked: Month in which the price was last checked; "" if no price is known.
    """

    folder: Path
    judge: str
    replies: int
    finished: int
    requests: int
    tokens_in: int
    tokens_out: int
    cost_least: float | None
    cost_most: float | None
    checked: str = ""


def find_cases(folder: Path, judged: Mapping[str, Judgement], *, again: bool, by: JudgeKind = "chat") -> Docket:
    """Go through the replies of a run.

    Judged are replies with visible text, whole or cut by the output cap, to samples of tasks that have a rubric for
    this kind of judge.

    Args:
        folder: The run folder.
        judged: Judgements that are there, by ``case_key``.
        again: Whether judgements that could not be read count as missing.
        by: Which kind of judge it is.

    Raises:
        FathomError: The folder holds no run, or a task of it names a rubric that does not exist.
    """
    rubrics: dict[str, Rubric | None] = {}
    final = ("ok",) if again else ("ok", "unreadable")
    counts: Counter[Outcome] = Counter({"ok": 0, "unreadable": 0, "error": 0})
    pending: Counter[str] = Counter()
    cases: dict[str, tuple[Rubric, Case]] = {}
    others = 0
    for stored in replies(folder):
        if stored.task not in rubrics:
            rubrics[stored.task] = _rubric_of(stored.task)
        rubric, case = rubrics[stored.task], case_of(stored)
        if rubric is None or not stored.reply.answered or not case.said:
            continue
        if rubric.by != by:
            others += 1
            continue
        key = case_key(rubric, case)
        if key in judged and judged[key].status in final:
            counts[judged[key].status] += 1
        else:
            pending[key] += 1
            cases[key] = rubric, case
    return Docket(tuple(Pending(key, *cases[key], number) for key, number in pending.items()), counts, others)


def _rubric_of(name: str) -> Rubric | None:
    """The rubric of a task; None where it has none, or is not installed, which its rows will say."""
    try:
        task = get_task(name)
    except FathomError:
        return None
    return get_rubric(task.rubric) if task.rubric else None


def plan_judging(
    folder: Path, judge: str, docket: Docket, *, said: Mapping[tuple[str, int], str], price: Price, cap: int
) -> JudgePlan:
    """Add up what a judge is likely to be asked.

    Args:
        folder: The run folder.
        judge: Name of the judge.
        docket: What is to be judged.
        said: Replies of the judge that are there, by hash of the prompt and attempt.
        price: The judge's prices.
        cap: Output cap of its replies in tokens.
    """
    prompts: dict[tuple[str, int], int] = {}
    for pending in docket.pending:
        for prompt, attempt, tokens in _likely(pending, said):
            prompts[prompt, attempt] = tokens
    least = [price.cost(tokens, 0) for tokens in prompts.values()]
    most = [price.cost(tokens, cap) for tokens in prompts.values()]
    priced = price.cost(1, 1) is not None
    return JudgePlan(
        folder=folder,
        judge=judge,
        replies=sum(pending.replies for pending in docket.pending),
        finished=sum(docket.counts.values()),
        requests=len(prompts),
        tokens_in=sum(prompts.values()),
        tokens_out=len(prompts) * cap,
        cost_least=sum(cost or 0.0 for cost in least) if priced else None,
        cost_most=sum(cost or 0.0 for cost in most) if priced else None,
        checked=price.checked if priced else "",
    )


def _likely(pending: Pending, said: Mapping[tuple[str, int], str]) -> Iterator[tuple[str, int, int]]:
    """Hash, attempt and tokens of the prompts that a case is likely to take and that were not asked yet."""
    steps, tries = pending.rubric.steps(pending.case), Counter[str]()
    try:
        wanted = next(steps)
        while True:
            prompt = hashed(wanted.prompt)
            tries[prompt] += 1
            key = prompt, tries[prompt]
            if key not in said:
                yield *key, estimate(wanted.prompt)
            wanted = steps.send(said.get(key, EXAMPLE))
    except (StopIteration, UnreadableError):
        return


def estimate(text: str) -> int:
    """About how many tokens a text has for the tokenizers of today: a quarter of its bytes."""
    return len(text.encode("utf-8", "surrogatepass")) // BYTES_A_TOKEN + 1


def check_limits(plan: JudgePlan, spent: Spent, *, max_tokens_total: int | None, max_cost: float | None) -> None:
    """Refuse what is sure to exceed what the user allows.

    Args:
        plan: What is ahead.
        spent: What the judge has cost already.
        max_tokens_total: The most tokens allowed, prompts and replies; None for no limit.
        max_cost: The most US dollars allowed; None for no limit.

    Raises:
        FathomError: Even with empty replies it would be more, or the price is not known and so cannot be kept below a
            limit.
    """
    tokens = spent.tokens_in + spent.tokens_out + plan.tokens_in
    if max_tokens_total is not None and plan.requests and tokens > max_tokens_total:
        raise FathomError(
            f"judge {plan.judge}: about {tokens:,} tokens are needed, more than --max-tokens-total "
            f"{max_tokens_total:,}; nothing was sent. Raise it"
        )
    if max_cost is None or not plan.requests:
        return
    if plan.cost_least is None:
        raise FathomError(
            f"--max-cost {max_cost:g}: no price is known for {plan.judge!r}, so the limit cannot be kept; nothing was "
            "sent. Add the model to ~/.config/fathom/prices.toml, or use --max-tokens-total"
        )
    if spent.paid + plan.cost_least > max_cost:
        raise FathomError(
            f"judge {plan.judge}: at least ${spent.paid + plan.cost_least:,.2f} are needed (${spent.paid:,.2f} spent), "
            f"more than --max-cost ${max_cost:,.2f}; nothing was sent. Raise it"
        )


@dataclass(frozen=True, slots=True)
class JudgeProgress:
    """Where the judging of a run stands, told after every judgement.

    Attributes:
        counts: Replies of the run by what became of their judgement; those not judged yet are in none of them.
        total: Replies that a judge is needed for.
        spent: What the judge has cost so far.
    """

    counts: Mapping[Outcome, int]
    total: int
    spent: Spent

    @property
    def finished(self) -> int:
        """Replies whose judgement came or failed."""
        return sum(self.counts.values())


@dataclass(frozen=True)
class JudgeWork:
    """How the judge is asked.

    Attributes:
        cap: Output cap of its replies in tokens.
        price: Its prices.
        max_connections: Requests in flight at once.
        retry: Patience with failing requests.
        max_tokens_total: Tokens after which the judging stops; None for no limit.
        max_cost: US dollars after which it stops; None for no limit.
        progress: Told the state after every judgement.
    """

    cap: int
    price: Price
    max_connections: int
    retry: Retry
    max_tokens_total: int | None
    max_cost: float | None
    progress: Callable[[JudgeProgress], None]


class Judging:
    """One process that asks a judge.

    Args:
        store: Where judgements go.
        client: The judge.
        work: How it is asked.
        state: Where the judging stands before.
    """

    def __init__(self, store: JudgementStore, client: Client, work: JudgeWork, state: JudgeProgress) -> None:
        self.state = state
        self._store = store
        self._client = client
        self._work = work
        self._health = Health(before=state.spent.requests > 0)
        self._stop = ""
        # Several cases can need the same prompt at once; all but the first wait for its reply.
        self._asking: defaultdict[tuple[str, int], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def work_through(self, cases: Sequence[Pending]) -> None:
        """Judge all cases that nobody has judged meanwhile.

        Raises:
            FathomError: Going on makes no sense, or a limit is reached; judgements that came are kept.
        """
        rest = iter(cases)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._work.max_connections):
                    group.create_task(self._work_on(rest))
        except* FathomError as errors:
            raise FathomError(f"judge {self._store.judge}: {errors.exceptions[0]}") from None
        if self._stop:
            raise FathomError(f"judge {self._store.judge}: {self._stop}; all judgements that came are kept")
        if self._health.errors and not self._health.replies:
            raise FathomError(
                f"judge {self._store.judge}: no request was answered, the last one failed with: {self._health.last}. "
                "Mend that, then run the same command again, which asks for what is missing"
            )

    async def _work_on(self, cases: Iterator[Pending]) -> None:
        for pending in cases:
            if self._stop:
                return
            await self._judge(pending)

    async def _judge(self, pending: Pending) -> None:
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

    async def _ask_for(self, pending: Pending) -> Judgement:
        """Ask all that the rubric asks for one case."""
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
        """The judge's reply, from the store where it is there."""
        async with self._asking[prompt, attempt]:
            known = self._store.said(prompt, attempt)
            if known is not None:
                return known
            # Asking the same once more is another epoch, so that the seed is another one too.
            call = Call(sample=prompt, epoch=attempt, seed=0, max_output_tokens=self._work.cap)
            reply = await ask(self._client, wanted.prompt, call, self._work.retry, self._health)
            if reply.status != "error":
                cost = cost_of(reply, self._work.price)
                self._store.keep(prompt, attempt, wanted.step, reply, cost)
                self._count(reply, cost)
            return reply

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
            self._stop = f"stopped: {tokens:,} tokens are used, --max-tokens-total allows {most:,}"
        if dollars is not None and spent.paid > dollars:
            self._stop = f"stopped: ${spent.paid:,.2f} are spent, --max-cost allows ${dollars:,.2f}"


def cost_of(reply: Reply, price: Price) -> float | None:
    """US dollars that a reply cost; None where its price or its tokens are not known."""
    if price.input == 0 == price.output:
        return 0.0
    if reply.tokens_in is None or reply.tokens_out is None:
        return None
    return price.cost(reply.tokens_in, reply.tokens_out, reply.tokens_cached or 0)
