"""Times of the setups of a comparison, measured once and kept."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from fathom.analysis.setups import Timing
from fathom.lab.checks import chosen_samples
from fathom.lab.plan import RequestedSetup
from fathom.models.protocol import Settings
from fathom.runfile.settings import Choice
from fathom.storage.atomic import whole_file
from fathom.suites.suitefile import BuiltSuite
from fathom.tokens.length import question_part, render

TIMES = "times.json"
_KEPT = ("length", "first_token_seconds", "tokens_per_second", "cache_bytes_prompt", "cache_bytes", "repeats")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt, and how many characters at its end ask; 0 if that is unknown."""

    text: str
    ending: int


@dataclass(frozen=True, slots=True)
class Times:
    """What was measured.

    Attributes:
        timings: One for each setup and length that could be measured.
        kernels: Names of the attention kernels, by setup.
        missing: Why a time is missing, by setup.
    """

    timings: tuple[Timing, ...] = ()
    kernels: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)


def times_of(
    every: Sequence[tuple[RequestedSetup, Settings]],
    prompts: Mapping[int, Prompt],
    out: Path,
    *,
    repeats: int,
    seed: int,
    tell: Callable[[str], None],
) -> Times:
    """Times of the setups in which the model gets the whole prompt.

    Args:
        every: The setups, with how the model is asked. They are measured in shuffled order.
        prompts: One prompt for each length.
        out: Folder that keeps what is measured; it is not measured again for the same model.
        repeats: Measured requests at each length.
        seed: Seed of the order.
        tell: Called with the name of each setup that is measured.
    """
    from fathom.run.timing import time_model

    texts = {length: prompt.text for length, prompt in prompts.items()}
    endings = {length: prompt.ending for length, prompt in prompts.items()}
    kept = _earlier(out)
    order = list(every)
    Random(seed).shuffle(order)
    timings: list[Timing] = []
    kernels: dict[str, str] = {}
    missing: dict[str, str] = {}
    for setup, settings in order:
        server = sha256(settings.base_url.encode()).hexdigest()[:12] if settings.base_url else ""
        key = f"{settings.model} {server} {sorted(prompts)} {repeats}"
        known = kept.get(setup.name)
        if known is None or known["key"] != key:
            tell(setup.name)
            measured = time_model(settings, texts, endings=endings, repeats=repeats)
            known = {"key": key, "timings": [asdict(each) for each in measured]}
            if all(each["repeats"] for each in known["timings"]):  # what failed is measured again
                kept[setup.name] = known
                _write(out, kept)
        for each in known["timings"]:
            kernels[setup.name] = kernels.get(setup.name) or each["kernel"]
            if each["repeats"]:
                timings.append(Timing(setup.name, **{name: each[name] for name in _KEPT}))
            if each["reason"]:
                missing[setup.name] = each["reason"]
    return Times(tuple(timings), kernels, missing)


def prompts_of(suite: BuiltSuite, choice: Choice) -> dict[int, Prompt]:
    """The first prompt of each length.

    Args:
        suite: The suite.
        choice: The settings that choose samples.
    """
    prompts: dict[int, Prompt] = {}
    texts = suite.texts()
    for sample in chosen_samples(suite, choice, parts=True):
        if sample.length and sample.length not in prompts:
            prompts[sample.length] = Prompt(render(sample, texts), len(question_part(sample)))
    return dict(sorted(prompts.items()))


def _earlier(out: Path) -> dict[str, Any]:
    try:
        stored = json.loads((out / TIMES).read_text("utf-8"))
        return {name: record for name, record in stored.items() if _is_whole(record)}
    except (OSError, ValueError, RecursionError, AttributeError):
        return {}  # they are measured again


def _is_whole(known: Any) -> bool:
    """Whether the file is undamaged, as far as one setup goes."""
    if not isinstance(known, dict) or not isinstance(known.get("timings"), list):
        return False
    needed = {*_KEPT, "kernel", "reason"}
    return "key" in known and all(isinstance(each, dict) and needed <= each.keys() for each in known["timings"])


def _write(out: Path, kept: Mapping[str, Any]) -> None:
    with whole_file(out / TIMES) as stream:
        stream.write(json.dumps(kept, indent=2) + "\n")
