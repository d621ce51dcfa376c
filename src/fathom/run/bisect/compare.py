"""Drives the search with two servers, and keeps every reply in a folder, so that the same command resumes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from fathom.models.loop import drive
from fathom.models.prices import Price, total_cost
from fathom.models.retry import Retry
from fathom.run.bisect.asking import FRESH, Side
from fathom.run.bisect.outcomes import SIDES, Answer, Bisection, Letter
from fathom.run.bisect.prompts import CAP
from fathom.run.bisect.search import OF_CALIBRATION, OF_ITEM, RESERVE, Plan, search
from fathom.run.cache_forecast import provider_cache
from fathom.run.checks import Plan as Ahead
from fathom.run.chosen import Chosen
from fathom.safety.secrets import hide_in_address
from fathom.types import FathomError

REPLIES, RECORD = "replies.jsonl", "asked.json"
Told: TypeAlias = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Comparing:
    """Two servers, and how they are compared.

    Attributes:
        a: How A is asked.
        b: How B is asked.
        lengths: Lengths of the prompts, from the shortest.
        requests: The most requests.
        alpha: Level of the decision.
        margin: Largest accepted difference of the shares of code words that are found.
        seed: Of the code words.
    """

    a: Chosen
    b: Chosen
    lengths: tuple[int, ...]
    requests: int
    alpha: float
    margin: float
    seed: int

    @property
    def names(self) -> tuple[str, str]:
        """Names of A and B, with their addresses where they are named."""
        first, second = (
            " at ".join(filter(None, (chosen.settings.model, hide_in_address(chosen.settings.base_url))))
            for chosen in (self.a, self.b)
        )
        return first, second


def forecast(comparing: Comparing) -> Ahead:
    """What is ahead at most: every request that is allowed, as they are divided among the lengths if nothing differs.

    A third of the requests repeats a prompt for the prefix cache, and costs what a provider asks for its cache.
    """
    lengths = comparing.lengths
    prompts = (comparing.requests - OF_CALIBRATION - RESERVE) // OF_ITEM
    # The longest length is asked as often as two others.
    counts = {length: prompts / (len(lengths) + 1) * (2 if length == lengths[-1] else 1) for length in lengths}
    tokens = OF_CALIBRATION * lengths[0] + round(sum(OF_ITEM * count * length for length, count in counts.items()))
    tokens_out = comparing.requests * CAP
    costs = [_cost(chosen, counts) for chosen in (comparing.a, comparing.b)]
    names = " and ".join(comparing.names)
    return Ahead(names, comparing.requests, tokens, tokens_out, lengths[-1], total_cost(costs))


def _cost(chosen: Chosen, counts: Mapping[int, float]) -> float | None:
    """US dollars of one side; None if a price is unknown."""
    price: Price = chosen.price
    cache = provider_cache(chosen.settings, price)

    def of_length(length: int) -> float | None:
        read = length if cache is not None and length >= (cache.least or 0) else 0
        return total_cost([price.cost(length, CAP), price.cost(length, CAP), price.cost(length, CAP, read)])

    costs = [(of_length(length), count) for length, count in counts.items()]
    return total_cost(None if cost is None else cost * count for cost, count in costs)


def bisect(
    comparing: Comparing,
    folder: Path,
    *,
    timeout: float,
    retries: int,
    backoff: float = 1.0,
    progress: Told | None = None,
) -> Bisection:
    """Compare two servers, and find the name of what differs.

    Args:
        comparing: The servers, and how they are compared.
        folder: Keeps what was asked and all replies; what it has is not asked again.
        timeout: Seconds for one attempt.
        retries: Attempts after the first.
        backoff: Seconds before the first retry.
        progress: Called with (requests so far, the most that there will be, what is asked).

    Raises:
        FathomError: A server does not answer, or the folder has another comparison.
        StoppedError: It was interrupted.
    """
    kept = _open(folder, comparing)
    retry = Retry(retries=retries, timeout=timeout, first=backoff)
    return drive(_compare(comparing, folder, kept, retry, progress or (lambda done, most, what: None)))


async def _compare(
    comparing: Comparing, folder: Path, kept: dict[str, Answer], retry: Retry, progress: Told
) -> Bisection:
    sides: dict[Letter, Side] = {
        letter: Side(letter, chosen.settings, retry, comparing.seed)
        for letter, chosen in zip(SIDES, (comparing.a, comparing.b), strict=True)
    }
    try:
        for side in sides.values():
            await side.open()
        plan = Plan(
            comparing.lengths,
            comparing.requests,
            comparing.alpha,
            comparing.margin,
            fresh=all(side.facts.get("software") in FRESH for side in sides.values()) or None,
            raw=all(side.raw for side in sides.values()),
            names=comparing.names,
            facts={letter: side.facts for letter, side in sides.items()},
        )
        asking = search(plan)
        with (folder / REPLIES).open("a", encoding="utf-8") as stream:
            done, ask = 0, next(asking)
            while True:
                answer = kept.get(ask.key)
                if answer is None:
                    progress(done, comparing.requests, f"{ask.side}, {ask.probe}, {ask.length:,} tokens")
                    answer = await sides[ask.side].ask(ask)
                    stream.write(json.dumps({"key": ask.key, **asdict(answer)}) + "\n")
                    stream.flush()
                done += 1
                ask = asking.send(answer)
    except StopIteration as end:
        result: Bisection = end.value
        return result
    finally:
        for side in sides.values():
            await side.close()


def _open(folder: Path, comparing: Comparing) -> dict[str, Answer]:
    """The replies that a folder has.

    Raises:
        FathomError: It has those of another comparison, or cannot be read.
    """
    from fathom.storage.atomic import whole_file
    from fathom.storage.foreign import read_text

    asked = _asked(comparing)
    record, replies = folder / RECORD, folder / REPLIES
    try:
        if not record.exists():
            with whole_file(record) as stream:
                json.dump(asked, stream, indent=1)
        elif json.loads(read_text(record)) != asked:
            raise FathomError(f"{folder}: has a comparison with other options; give this one another `out`")
        lines = read_text(replies).splitlines() if replies.exists() else []
        return dict(filter(None, map(_reply_of, lines)))
    except (ValueError, TypeError, KeyError, OSError) as error:
        raise FathomError(
            f"{folder}: not what fathom bisect wrote ({error}); delete it, or give another `out`"
        ) from None


def _asked(comparing: Comparing) -> dict[str, Any]:
    """What decides the replies; more requests, another level and another margin go on with those that are kept."""
    sides = [
        {
            "name": name,
            "temperature": chosen.settings.temperature,
            "seed": chosen.settings.seed,
            "template": chosen.settings.chat_template,
        }
        for name, chosen in zip(comparing.names, (comparing.a, comparing.b), strict=True)
    ]
    return {"format": 1, "a": sides[0], "b": sides[1], "lengths": list(comparing.lengths), "seed": comparing.seed}


def _reply_of(line: str) -> tuple[str, Answer] | None:
    """A reply of the folder; None for a line that was broken off."""
    try:
        fields = json.loads(line)
    except ValueError:
        return None
    key = fields.pop("key")
    fields |= {name: tuple(fields[name]) for name in ("found", "tokens", "logprobs")}
    return key, Answer(**fields)
