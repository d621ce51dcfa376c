"""The cases that a model is to be asked about, a forecast of the requests, and the state of the work."""

import json
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fathom.models.prices import price_range
from fathom.runfile.judgements import Outcome, Spent, hashed
from fathom.runfile.ledger import Key
from fathom.runfile.progress import Progress
from fathom.score.judge import Ask, Case, Conversation, Parts, UnreadableError
from fathom.types import STATUSES

EXAMPLE = json.dumps(
    {
        "key_points": [f"Point {number} is a sentence of some twelve words with a name in it." for number in range(10)],
        **{"fluency": 1, "correctness": 1, "supported": [], "covered": [], "rating": 5, "cosines": [1, 1]},
        **{"answered": 1, "others": [], "entailment": 1},
    }
)
"""A reply of typical size that every step of a conversation can parse, to predict the prompts that follow it."""

BYTES_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class PendingCase:
    """A case that a model is to be asked about.

    Attributes:
        key: Key of its outcome in the store.
        conversation: What the model is asked.
        case: What the model sees.
        replies: Replies of a run, or gold texts, that share this case.
    """

    key: str
    conversation: Conversation
    case: Case
    replies: int

    def requests(self) -> Generator[tuple[Key, Ask], str, Parts]:
        """The steps of the conversation, each with its key: hash of the prompt, and how often the case has sent it.

        Raises:
            UnreadableError: A reply could not be parsed.
        """
        steps, tries = self.conversation.steps(self.case), Counter[str]()
        try:
            ask = next(steps)
            while True:
                prompt = hashed(ask.prompt)
                tries[prompt] += 1
                reply = yield (prompt, tries[prompt]), ask
                ask = steps.send(reply)
        except StopIteration as end:
            parts: Parts = end.value
            return parts


@dataclass(frozen=True, slots=True)
class PendingCases:
    """The cases that a model is to be asked about.

    Attributes:
        cases: Those without an outcome.
        counts: Replies or gold texts whose outcome is final, by outcome.
        others: Replies that need a judge of the other kind.
    """

    cases: tuple[PendingCase, ...]
    counts: Mapping[Outcome, int]
    others: int = 0

    @property
    def total(self) -> int:
        """Replies or gold texts, finished or not."""
        return sum(self.counts.values()) + sum(pending.replies for pending in self.cases)


@dataclass(frozen=True, slots=True)
class JudgePlan:
    """Forecast of requests about cases. Later prompts depend on earlier replies, so that it is an estimate.

    Attributes:
        folder: The folder of the replies.
        judge: Name of the model.
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


@dataclass(frozen=True, slots=True)
class JudgeProgress:
    """The state of the cases, reported after every outcome.

    Attributes:
        counts: Replies or gold texts by outcome; those without one are not counted.
        total: All of them.
        spent: What the model has cost so far.
    """

    counts: Mapping[Outcome, int]
    total: int
    spent: Spent

    @property
    def finished(self) -> int:
        """Replies or gold texts whose outcome is final, or failed."""
        return sum(self.counts.values())

    @property
    def of_run(self) -> Progress:
        """The same as the progress of a run, for what shows it."""
        counts = {**dict.fromkeys(STATUSES, 0), "error": self.counts.get("error", 0)}
        spent = self.spent
        return Progress(
            self.finished, self.total, counts, spent.tokens_in, spent.tokens_out, spent.cost, 0.0, 0, spent.unpriced
        )


def estimate(text: str) -> int:
    """Approximate number of tokens of a text: a quarter of its bytes."""
    return len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN + 1


def likely_prompts(pending: PendingCase, known: Mapping[Key, str]) -> dict[Key, int]:
    """The prompts that a case is likely to need and that were not sent yet, with their approximate tokens."""
    requests, tokens = pending.requests(), dict[Key, int]()
    with suppress(StopIteration, UnreadableError):
        key, ask = next(requests)
        while True:
            if key not in known:
                tokens[key] = estimate(ask.prompt)
            key, ask = requests.send(known.get(key, EXAMPLE))
    return tokens
