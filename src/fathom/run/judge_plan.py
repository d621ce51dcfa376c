"""What there is to judge in a run, and what a judge will be asked for it, before it is asked."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fathom.registry import get_task
from fathom.run.judgements import Judgement, Outcome, Spent, case_key, case_of, hashed
from fathom.run.prices import Price, price_range
from fathom.run.store import replies
from fathom.score.judge import Case, JudgeKind, Rubric, UnreadableError, get_rubric
from fathom.types import FathomError

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

    def __str__(self) -> str:
        """One line."""
        price = price_range(self.cost_least, self.cost_most, self.checked)
        done = f"; {self.finished:,} are judged already" if self.finished else ""
        return (
            f"{self.folder}: {self.replies:,} replies to be judged by {self.judge}: about {self.requests:,} requests, "
            f"{self.tokens_in:,} tokens in, {price}{done}"
        )


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
