"""Retrieval: the model reads only the passages that resemble the question."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fathom.models.baselines.retrieval import rank
from fathom.run.systems.prompts import Passage, joined, passages_of
from fathom.run.systems.system import Forecasted, Task, answered_by, too_long
from fathom.types import Reply

Rank = Callable[[str, Sequence[str]], Sequence[float]]
"""The relevance of each text to a question; the larger, the better."""
AROUND = 512
"""Tokens of instructions and question, for forecasts."""
BESIDE = 16
"""Tokens of a passage's heading and of the marks around it, for forecasts."""


@dataclass(frozen=True)
class Retrieval:
    """Sends the most relevant passages in the order of the text.

    Attributes:
        top: Passages that are sent; fewer if the window has no room for them.
        passage: Tokens of a passage, at most.
        rank: The relevance of passages.
    """

    top: int
    passage: int
    rank: Rank = rank

    def most(self, tokens: int, cap: int, window: int | None) -> Forecasted:
        """One request."""
        read = min(tokens, self.top * (self.passage + BESIDE) + AROUND)
        return Forecasted(1, read, cap, longest=read)

    async def answer(self, task: Task) -> Reply:
        """Rank the passages, and ask over the best."""
        passages = await asyncio.to_thread(passages_of, task.prompt.units, self.passage, task.tokenizer)
        scores = await asyncio.to_thread(self.rank, task.prompt.query, [passage.body for passage in passages])
        # Of passages that are as relevant, the first: sorting is stable.
        best = sorted(range(len(passages)), key=lambda place: -scores[place])[: self.top]
        prompt = _with([passages[place] for place in best], task)
        return too_long(task, prompt, "one passage with the question") or await answered_by(task.send, prompt)


def _with(chosen: list[Passage], task: Task) -> str:
    """The prompt with as many of the passages as fit, at least one; the best come first."""
    room = task.room(task.cap)
    while True:
        prompt = task.prompt.with_text(joined(chosen))
        if room is None or len(chosen) == 1 or task.tokenizer.count(prompt) <= room:
            return prompt
        chosen = chosen[:-1]
