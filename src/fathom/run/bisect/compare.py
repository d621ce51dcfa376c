"""Drives the search with two servers, and keeps every reply in a folder, so that the same command resumes."""

from __future__ import annotations

import fcntl
import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any, TypeAlias

from fathom.models.loop import drive
from fathom.models.prices import Price, total_cost
from fathom.models.retry import Retry
from fathom.run.bisect.asking import FRESH, Side
from fathom.run.bisect.outcomes import SIDES, Answer, Bisection, Letter
from fathom.run.bisect.prompts import CAP, VERSION
from fathom.run.bisect.search import OF_CALIBRATION, OF_ITEM, RESERVE, Plan, search
from fathom.run.cache_forecast import provider_cache
from fathom.run.checks import Plan as Ahead
from fathom.run.chosen import Chosen
from fathom.safety.secrets import hide_in_address, hide_secrets, redact
from fathom.types import FathomError

REPLIES, RECORD, LOCK = "replies.jsonl", "asked.json", ".lock"
PAGE, MARKDOWN, JSON = WRITTEN = "bisect.html", "bisect.md", "bisect.json"
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
    retry = Retry(retries=retries, timeout=timeout, first=backoff)
    with _locked(folder):
        drawn, kept = _open(folder, comparing)
        reported = progress or (lambda done, most, what: None)
        return drive(_compare(comparing, folder, (drawn, kept), retry, reported))


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep the folder for this process; what another program has in it is left alone.

    Raises:
        FathomError: Another comparison writes into it, it has something else, or it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        others = {path.name for path in folder.iterdir()} - {LOCK}
        if others and not (folder / RECORD).is_file():
            raise FathomError(f"{folder}: has something else ({min(others)}); give another `out`")
        wrong = [name for name in (REPLIES, *WRITTEN) if (folder / name).exists() and not (folder / name).is_file()]
        if wrong:
            raise FathomError(f"{folder / wrong[0]}: not a file; give another `out`")
        stream = (folder / LOCK).open("a")
    except OSError as error:
        raise FathomError(f"{folder}: cannot be written ({error}); give another `out`") from None
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FathomError(f"{folder}: another `fathom bisect` writes into it; wait for it") from None
        except OSError:
            pass  # a file system without locks
        yield


def line_of(key: str, answer: Answer) -> str:
    """The line of a reply in ``replies.jsonl``, without secrets that a server repeats.

    Args:
        key: The key of its request.
        answer: What came back.
    """
    return redact(json.dumps({"key": key, **asdict(answer)})) + "\n"


async def _compare(
    comparing: Comparing, folder: Path, before: tuple[str, dict[str, Answer]], retry: Retry, progress: Told
) -> Bisection:
    drawn, kept = before
    sides: dict[Letter, Side] = {
        letter: Side(letter, chosen.settings, retry, comparing.seed, drawn)
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
                    stream.write(line_of(ask.key, answer))
                    stream.flush()
                else:
                    sides[ask.side].resume(answer)
                done += 1
                ask = asking.send(answer)
    except StopIteration as end:
        result: Bisection = end.value
        return result
    finally:
        for side in sides.values():
            await side.close()


def _open(folder: Path, comparing: Comparing) -> tuple[str, dict[str, Answer]]:
    """What was drawn for the comparison of a folder, and the replies that it has.

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
                json.dump({**asked, "drawn": token_hex(8)}, stream, indent=1)
        before = json.loads(read_text(record))
        drawn = str(before.pop("drawn", ""))
        if before != json.loads(json.dumps(asked)):
            raise FathomError(f"{folder}: has a comparison with other options; give this one another `out`")
        text = read_text(replies) if replies.exists() else ""
        if text and not text.endswith("\n"):  # the last line was broken off
            with replies.open("a", encoding="utf-8") as stream:
                stream.write("\n")
        return drawn, dict(filter(None, map(_reply_of, text.split("\n"))))
    except (ValueError, TypeError, AttributeError, OSError) as error:
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
            "max_output_tokens": chosen.settings.max_output_tokens,
            "generation": hide_secrets(chosen.settings.generation),
            "model_args": hide_secrets(chosen.settings.model_args),
            "thinking": None if chosen.settings.thinking is None else asdict(chosen.settings.thinking),
        }
        for name, chosen in zip(comparing.names, (comparing.a, comparing.b), strict=True)
    ]
    return {
        "format": 2,
        "prompts": VERSION,
        "a": sides[0],
        "b": sides[1],
        "lengths": list(comparing.lengths),
        "seed": comparing.seed,
    }


def _reply_of(line: str) -> tuple[str, Answer] | None:
    """A reply of the folder; None for a line that was broken off, or is none of `fathom bisect`."""
    try:
        fields = json.loads(line)
        key = fields.pop("key")
        fields |= {name: tuple(fields[name]) for name in ("found", "tokens", "logprobs")}
        answer = Answer(**fields)
    except (ValueError, TypeError, AttributeError, KeyError):
        return None
    return (key, answer) if isinstance(key, str) and _is_whole(answer) else None


def _is_whole(answer: Answer) -> bool:
    """Whether the values have the types that are written."""
    counts = (answer.tokens_in, answer.cached)
    return (
        answer.status in ("ok", "overflow", "error")
        and all(isinstance(text, str) for text in (answer.text, answer.error, *answer.tokens))
        and all(isinstance(truth, bool) for truth in (answer.ended, answer.reasons, *answer.found))
        and all(count is None or type(count) is int for count in counts)
        and all(type(value) in (int, float) and math.isfinite(value) for value in answer.logprobs)
        and len(answer.tokens) == len(answer.logprobs)
    )
