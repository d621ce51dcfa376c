"""What is left to judge in a run, and a forecast of the requests that it takes."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fathom.models.prices import Price, price_range
from fathom.runfile.judgements import Judgement, Outcome, Spent, case_key, case_of, hashed
from fathom.runfile.store import replies
from fathom.score.judge import Case, Conversation, JudgeKind, Rubric, UnreadableError, get_rubric
from fathom.suites.registry import get_task
from fathom.types import FathomError

EXAMPLE = json.dumps(
    {
        "key_points": [f"Point {number} is a sentence of some twelve words with a name in it." for number in range(10)],
        **{"fluency": 1, "correctness": 1, "supported": [], "covered": [], "rating": 5, "cosines": [1, 1]},
        **{"answered": 1, "others": [], "entailment": 1},
    }
)
"""A reply of typical size that every step of the rubrics can parse, to predict the prompts that follow it."""

BYTES_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class PendingCase:
    """A case to be judged.

    Attributes:
        key: Key of its judgement in the store.
        rubric: What the judge is asked.
        case: What the judge sees.
        replies: Replies of the run that share this case.
    """

    key: str
    rubric: Conversation
    case: Case
    replies: int


@dataclass(frozen=True, slots=True)
class PendingCases:
    """The replies of a run that need a judge.

    Attributes:
        cases: Cases not judged yet.
        counts: Replies whose judgement is final, by outcome.
        others: Replies that need a judge of the other kind.
    """

    cases: tuple[PendingCase, ...]
    counts: Mapping[Outcome, int]
    others: int = 0

    @property
    def total(self) -> int:
        """Replies that need a judge."""
        return sum(self.counts.values()) + sum(pending.replies for pending in self.cases)


@dataclass(frozen=True, slots=True)
class JudgePlan:
    """Forecast of a judge's requests. Later prompts depend on its earlier replies, so that it is an estimate.

    Attributes:
        folder: The run folder.
        judge: Name of the judge.
        replies: Replies to be judged.
        finished: Replies already judged.
        requests: Approximate number of requests; more if replies of the judge cannot be parsed.
        tokens_in: Approximate prompt tokens, estimated from the text.
        tokens_out: Upper limit of the tokens of these replies.
        cost_least: US dollars if these replies are empty; None if the price is unknown.
        cost_most: US dollars if all replies reach the cap.
        checked: Month in which the price was last checked; "" if the price is unknown.
        what: What is judged, in words.
        batches: How the requests are sent if they are sent in batches; "" for plain requests.
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
    what: str = "replies"
    batches: str = ""

    def __str__(self) -> str:
        """One line."""
        price = price_range(self.cost_least, self.cost_most, self.checked)
        done = f"; {self.finished:,} are judged already" if self.finished else ""
        return (
            f"{self.folder}: {self.replies:,} {self.what} to be judged by {self.judge}: about {self.requests:,} "
            f"requests, {self.tokens_in:,} tokens in, {price}{done}{f'; {self.batches}' if self.batches else ''}"
        )


def find_cases(folder: Path, judged: Mapping[str, Judgement], *, again: bool, by: JudgeKind = "chat") -> PendingCases:
    """Find the replies of a run that need a judge.

    These are replies with visible text, complete or truncated, of tasks that have a rubric for this kind of judge.

    Args:
        folder: The run folder.
        judged: Existing judgements, by ``case_key``.
        again: Whether judgements that could not be parsed count as missing.
        by: Kind of judge.

    Raises:
        FathomError: The folder holds no run, or one of its tasks names an unknown rubric.
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
    return PendingCases(tuple(PendingCase(key, *cases[key], number) for key, number in pending.items()), counts, others)


def _rubric_of(name: str) -> Rubric | None:
    """The rubric of a task; None if it has none or is not installed, which its rows say."""
    try:
        task = get_task(name)
    except FathomError:
        return None
    return get_rubric(task.rubric) if task.rubric else None


def plan_judging(
    folder: Path,
    judge: str,
    waiting: PendingCases,
    *,
    said: Mapping[tuple[str, int], str],
    price: Price,
    cap: int,
    what: str = "replies",
) -> JudgePlan:
    """Forecast the requests of a judge.

    Args:
        folder: The run folder.
        judge: Name of the judge.
        waiting: What is to be judged.
        said: Existing replies of the judge, by hash of the prompt and attempt.
        price: The judge's prices.
        cap: Output cap of its replies in tokens.
        what: What is judged, in words.
    """
    prompts: dict[tuple[str, int], int] = {}
    for pending in waiting.cases:
        for prompt, attempt, tokens in _likely(pending, said):
            prompts[prompt, attempt] = tokens
    least = [price.cost(tokens, 0) for tokens in prompts.values()]
    most = [price.cost(tokens, cap) for tokens in prompts.values()]
    priced = price.cost(1, 1) is not None
    return JudgePlan(
        folder=folder,
        judge=judge,
        replies=sum(pending.replies for pending in waiting.cases),
        finished=sum(waiting.counts.values()),
        requests=len(prompts),
        tokens_in=sum(prompts.values()),
        tokens_out=len(prompts) * cap,
        cost_least=sum(cost or 0.0 for cost in least) if priced else None,
        cost_most=sum(cost or 0.0 for cost in most) if priced else None,
        checked=price.checked if priced else "",
        what=what,
    )


def _likely(pending: PendingCase, said: Mapping[tuple[str, int], str]) -> Iterator[tuple[str, int, int]]:
    """Hash, attempt and tokens of the prompts that a case is likely to need and that were not sent yet."""
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
    """Approximate number of tokens of a text: a quarter of its bytes."""
    return len(text.encode("utf-8", "surrogatepass")) // BYTES_A_TOKEN + 1


def check_limits(plan: JudgePlan, spent: Spent, *, max_tokens_total: int | None, max_cost: float | None) -> None:
    """Check that the plan stays within the user's limits.

    Args:
        plan: What is ahead.
        spent: What the judge has cost so far.
        max_tokens_total: The most tokens allowed, prompts and replies; None for no limit.
        max_cost: The most US dollars allowed; None for no limit.

    Raises:
        FathomError: Even empty replies would exceed a limit, or the price is unknown, so that the limit cannot be
            enforced.
    """
    tokens = spent.tokens_in + spent.tokens_out + plan.tokens_in
    if max_tokens_total is not None and plan.requests and tokens > max_tokens_total:
        raise FathomError(
            f"judge {plan.judge}: needs about {tokens:,} tokens, more than `max_tokens_total` {max_tokens_total:,}; "
            "nothing was sent. Raise the limit"
        )
    if max_cost is None or not plan.requests:
        return
    if plan.cost_least is None:
        raise FathomError(
            f"`max_cost` {max_cost:g}: the price of {plan.judge!r} is unknown, so the limit cannot be enforced; "
            "nothing was sent. Add the model to ~/.config/fathom/prices.toml, or use `max_tokens_total`"
        )
    if spent.paid + plan.cost_least > max_cost:
        raise FathomError(
            f"judge {plan.judge}: costs at least ${spent.paid + plan.cost_least:,.2f} (${spent.paid:,.2f} spent), more "
            f"than `max_cost` ${max_cost:,.2f}; nothing was sent. Raise the limit"
        )
