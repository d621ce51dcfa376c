"""Faults of servers by name, and a schedule that deals them to samples by a seed.

What must stand in the store for each sample follows from the schedule, so that a test, or a script that sends tens of
thousands of requests, can account for every one of them. ``python fault_server.py SEED SHARE`` serves the schedule on
the loopback and prints its address; it ends with its standard input, and prints how many requests came.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random

from scripted_server import Act, Script, ScriptedServer, completion, refusal


@dataclass(frozen=True)
class Fault:
    """What the server does, and what must stand in the store.

    Attributes:
        act: What is done at attempt n, from 0, given the number of the sample.
        status: Status of the reply in a run that asks once and retries.
        text: Its text; None for that of a sample without a fault.
        weight: How often the schedule deals it.
    """

    act: Callable[[int, int], Act]
    status: str = "ok"
    text: str | None = None
    weight: float = 1.0


def well(number: int) -> Act:
    """What a model that is well says to a sample."""
    return completion(f"answer {number}")


def once(act: Act) -> Callable[[int, int], Act]:
    """A fault that passes."""
    return lambda number, before: act if before == 0 else well(number)


def always(act: Act) -> Callable[[int, int], Act]:
    """A fault that stays."""
    return lambda number, before: act


def usage(**counts: object) -> Callable[[int, int], Act]:
    """A good reply with odd counts of tokens."""
    return lambda number, before: completion(f"answer {number}", **counts)  # type: ignore[arg-type]  # names of counts


def choice(**parts: object) -> Act:
    """A reply whose only choice has other parts."""
    usual = {"index": 0, "message": {"role": "assistant", "content": "nine"}, "finish_reason": "stop"}
    return completion("", choices=[{**usual, **parts}])


NOTHING = {"role": "assistant", "content": None}
TAGS = 50_000
HUGE = "x" * 8_000_001

FAULTS: Mapping[str, Fault] = {
    "429 with Retry-After": Fault(once(refusal(429, "slow down", headers={"Retry-After-Ms": "5"}))),
    "429 that asks for hours": Fault(always(refusal(429, "slow down", headers={"Retry-After": "7200"})), "error", ""),
    "500": Fault(once(refusal(500, "oops"))),
    "503": Fault(once(refusal(503, "overloaded"))),
    "connection reset": Fault(once(Act(reset=True))),
    "half a body": Fault(once(Act(body={"x": "y" * 500}, cut=True))),
    "JSON that is no reply": Fault(once(Act(body={"foo": 1}))),
    "no JSON": Fault(once(Act(body='{"choices": [{'))),
    "a page": Fault(once(Act(body="<html><body>Bad gateway</body></html>"))),
    "error in the body": Fault(once(completion("", error={"message": "overloaded", "code": 502}))),
    "error in the choice": Fault(once(choice(error={"message": "upstream failed", "code": 502}))),
    "stop: error": Fault(once(choice(finish_reason="error"))),
    "stop: abort": Fault(once(choice(finish_reason="abort", message={**NOTHING, "content": "ni"}))),
    "null for an unknown reason": Fault(once(choice(message=NOTHING, finish_reason="odd"))),
    "no choice": Fault(once(Act(body={"choices": []}))),
    "huge counts": Fault(usage(tokens_in=10**30, tokens_out=2**63)),
    "negative counts": Fault(usage(tokens_in=-1, tokens_out=-(2**63))),
    "counts in words": Fault(usage(tokens_in="many", tokens_out=None)),
    "fractions": Fault(usage(tokens_in=1.5, tokens_out=0.1)),
    "model: null": Fault(lambda number, before: completion(f"answer {number}", model=None, id=7)),
    "slow": Fault(lambda number, before: replace(well(number), delay=0.02)),
    "denied": Fault(once(refusal(403, "this prompt is not allowed")), "error", ""),
    "413": Fault(always(refusal(413, "Request Entity Too Large")), "overflow", ""),
    "too long": Fault(always(refusal(400, "Range of input length should be [1, 30720]")), "overflow", ""),
    "refused": Fault(always(refusal(400, "Content Exists Risk")), "refused", ""),
    "refused with 200": Fault(always(choice(finish_reason="sensitive", message=NOTHING)), "refused", ""),
    "huge reply": Fault(always(completion(HUGE)), "error", "", weight=0.05),
    "tags that never end": Fault(always(completion("<think>" * TAGS)), "incomplete", "", weight=0.1),
    "nested tags": Fault(lambda number, before: completion(f"{'<think>' * 99}so</think>answer {number}")),
}
NAMES = tuple(FAULTS)


@dataclass(frozen=True)
class Schedule:
    """Which fault befalls which sample.

    Attributes:
        seed: Another one deals other faults.
        share: Share of the samples that have one.
    """

    seed: int
    share: float

    def fault(self, number: int) -> Fault | None:
        """The fault of a sample by its number; None for those without."""
        rng = Random(f"{self.seed}/{number}")
        if number < 0 or rng.random() >= self.share:
            return None
        return FAULTS[rng.choices(NAMES, [fault.weight for fault in FAULTS.values()])[0]]

    def script(self) -> Script:
        """The script of a ``ScriptedServer``."""

        def act(number: int, before: int) -> Act:
            fault = self.fault(number)
            return fault.act(number, before) if fault else well(number)

        return act

    def expected(self, number: int) -> tuple[str, str]:
        """Status and text that must stand in the store."""
        fault = self.fault(number)
        said = f"answer {number}"
        return ("ok", said) if fault is None else (fault.status, said if fault.text is None else fault.text)


def main() -> None:
    seed, share = int(sys.argv[1]), float(sys.argv[2])
    with ScriptedServer(Schedule(seed, share).script(), remembers=False) as server:
        print(server.base_url, flush=True)
        sys.stdin.read()
        print(sum(server.prompts.values()))


if __name__ == "__main__":
    main()
