"""What is ahead of a comparison: every setup is opened before the first request, and its time is estimated."""

import gc
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fathom.lab.times import Prompt
from fathom.models.local_client import LocalClient
from fathom.models.loop import drive
from fathom.models.prices import price_range
from fathom.models.protocol import Call, Client, Measured, RequestError
from fathom.printing import several
from fathom.run import Callbacks, Preflight, run
from fathom.run.timing import REPLY_TOKENS
from fathom.runfile.settings import RunSettings
from fathom.types import FathomError, StoppedError

TRIED_TOKENS = 4
"""Tokens of a reply from which the time of one is taken."""
MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Speed:
    """Seconds that a model in this process takes: for a prompt of n tokens ``linear`` n + ``square`` n^2."""

    linear: float
    square: float
    reply_token: float

    def prompt(self, tokens: float) -> float:
        """Seconds for a prompt."""
        return self.linear * tokens + self.square * tokens**2


@dataclass(frozen=True, slots=True)
class SetupForecast:
    """What is ahead of one setup.

    Attributes:
        name: Its name, with the values that are tried.
        plan: The forecast of its run; None if it cannot be asked.
        least: Seconds if replies are empty; None if unknown.
        most: Seconds if every reply reaches its cap.
        reason: Why it cannot be asked; "" if it can.
    """

    name: str
    plan: Preflight | None = None
    least: float | None = None
    most: float | None = None
    reason: str = ""

    def __str__(self) -> str:
        """One line."""
        if self.plan is None:
            return f"{self.name}: fails: {self.reason}"
        asked = f"{self.name}: {several(self.plan.requests, 'request')}"
        return asked if self.least is None else f"{asked}, {_minutes(self.least, self.most)}"


@dataclass(frozen=True, slots=True)
class Forecasts:
    """What is ahead of a whole comparison; ``str`` says it.

    Attributes:
        unit: What each of them is, in a word.
    """

    setups: tuple[SetupForecast, ...]
    unit: str = "setup"

    @property
    def requests(self) -> int:
        """Requests to be made."""
        return sum(plan.requests for plan in self._plans)

    @property
    def cost_most(self) -> float | None:
        """The most that they cost, in US dollars; None where a price is unknown."""
        return _sum(plan.cost_most for plan in self._plans)

    @property
    def minutes(self) -> float | None:
        """Minutes if every reply reaches its cap; None if unknown."""
        seconds = _sum(ahead.most for ahead in self.setups if ahead.plan is not None)
        return None if seconds is None else seconds / MINUTE

    @property
    def _plans(self) -> list[Preflight]:
        return [ahead.plan for ahead in self.setups if ahead.plan is not None]

    def __str__(self) -> str:
        """The sum, and a line for each setup."""
        plans = self._plans
        tokens_in, tokens_out = sum(plan.tokens_in for plan in plans), sum(plan.tokens_out for plan in plans)
        price = price_range(_sum(plan.cost_least for plan in plans), self.cost_most)
        asked = [ahead for ahead in self.setups if ahead.plan is not None]
        least, most = _sum(ahead.least for ahead in asked), _sum(ahead.most for ahead in asked)
        time = f"; {_minutes(least, most)}" if least is not None else ""
        single = len(self.setups) == 1 and not self.setups[0].reason
        name = self.setups[0].name if single else several(len(self.setups), self.unit)
        whole = (
            f"{name}: {several(self.requests, 'request')}, {tokens_in:,} tokens in, at "
            f"most {tokens_out:,} out, {price}{time}"
        )
        return whole if single else "\n  ".join((whole, *map(str, self.setups)))


def look_ahead(
    name: str, suite: Path, model: str, settings: RunSettings, out: Path, prompts: Mapping[int, Prompt], repeats: int
) -> SetupForecast:
    """Open a setup, as its run will be opened, and forecast it. Nothing is asked of a server, and nothing is kept.

    Args:
        suite: The suite's folder.
        model: The model's name, with its methods.
        settings: Settings of its run; the limits of all runs together are not those of this one.
        out: The folder of its run.
        prompts: Prompts from which the time of a model in this process is taken; without any it stays unknown.
        repeats: Requests at each length from which times will be taken.

    Raises:
        StoppedError: Work was stopped.
    """
    speeds: list[Speed] = []
    plans: list[Preflight] = []

    def opened(client: Client) -> None:
        if prompts and isinstance(client, LocalClient):
            with suppress(RequestError):  # such as a prompt that is too long for the model; the run tells
                speeds.append(_speed(client, prompts))

    def keep(plan: Preflight) -> bool:
        plans.append(plan)
        return False

    try:
        free = settings.but(max_tokens_total=None, max_cost=None)
        run(suite, model, free, out=out, callbacks=Callbacks(confirm=keep, opened=opened))
    except StoppedError:
        raise
    except FathomError as error:
        return SetupForecast(name, reason=re.sub(r"^model \S+: ", "", str(error)))
    finally:
        gc.collect()  # the weights of one setup make room for those of the next
    plan, (speed, *_) = plans[0], (*speeds, None)
    if speed is None:
        return SetupForecast(name, plan)
    least = sum(
        forecast.requests * speed.prompt(forecast.tokens_in / forecast.requests)
        for forecast in plan.lengths
        if forecast.requests
    )
    timed = sum(speed.prompt(length) + REPLY_TOKENS * speed.reply_token for length in prompts) if repeats else 0.0
    least += (repeats + 1) * timed
    return SetupForecast(name, plan, least, least + speed.reply_token * plan.tokens_out)


def _speed(client: LocalClient, prompts: Mapping[int, Prompt]) -> Speed:
    """The speed of a model, from the prompts of two short lengths, the first of which is asked twice to warm up.

    Raises:
        RequestError: It cannot compute them.
    """
    short = [prompts[length] for length in sorted(prompts)[:2]]

    async def measure() -> list[Measured]:
        calls = [Call("ahead", 1, 0, TRIED_TOKENS, ending=prompt.ending) for prompt in short]
        asked = [*zip(short, calls, strict=True)]
        return [await client.measure(prompt.text, call) for prompt, call in (asked[0], *asked)][1:]

    measured = drive(measure())
    first, last = measured[0], measured[-1]
    reply = (last.whole - last.first) / max(1, (last.tokens_out or 1) - 1)
    few, many = first.tokens_in or 1, last.tokens_in or 1
    square = max(0.0, (last.first / many - first.first / few) / (many - few)) if many > few else 0.0
    return Speed(max(0.0, last.first / many - square * many), square, reply)


def _minutes(least: float, most: float | None) -> str:
    low, high = (max(1, round(seconds / MINUTE)) for seconds in (least, least if most is None else most))
    return f"about {several(low, 'minute')}" if low == high else f"about {low:,} to {high:,} minutes"


def _sum(parts: Iterable[float | None]) -> float | None:
    known = list(parts)
    return None if any(part is None for part in known) else sum(part for part in known if part is not None)
