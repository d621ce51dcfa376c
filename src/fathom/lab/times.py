"""Times of the setups of a comparison, measured once and kept."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from random import Random

from pydantic import OnErrorOmit, TypeAdapter, ValidationError

from fathom.analysis.setups import Timing
from fathom.lab.checks import chosen_samples
from fathom.lab.plan import RequestedSetup
from fathom.models.protocol import Settings
from fathom.run.timing import Timed, time_model
from fathom.runfile.settings import Choice
from fathom.storage.atomic import whole_file
from fathom.storage.foreign import read_regular
from fathom.suites.suitefile import BuiltSuite
from fathom.tokens.length import question_part, render

TIMES = "times.json"


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


@dataclass(frozen=True, slots=True)
class _StoredTimes:
    """What the file has of a setup: how it was measured, and the times."""

    key: str
    timings: tuple[Timed, ...]


_FILE: TypeAdapter[dict[str, _StoredTimes]] = TypeAdapter(dict[str, OnErrorOmit[_StoredTimes]])


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
        if known is None or known.key != key:
            tell(setup.name)
            known = _StoredTimes(key, tuple(time_model(settings, texts, endings=endings, repeats=repeats)))
            if all(timed.repeats for timed in known.timings):  # what failed is measured again
                kept[setup.name] = known
                _write(out, kept)
        for timed in known.timings:
            kernels[setup.name] = kernels.get(setup.name) or timed.kernel
            if timed.repeats:
                timings.append(
                    Timing(
                        setup.name,
                        timed.length,
                        timed.first_token_seconds,
                        timed.tokens_per_second,
                        timed.cache_bytes_prompt,
                        timed.cache_bytes,
                        timed.repeats,
                    )
                )
            if timed.reason:
                missing[setup.name] = timed.reason
    return Times(tuple(timings), kernels, missing)


def prompts_of(suite: BuiltSuite, choice: Choice) -> dict[int, Prompt]:
    """The first prompt of each length.

    Args:
        choice: The settings that choose samples.
    """
    prompts: dict[int, Prompt] = {}
    texts = suite.texts()
    for sample in chosen_samples(suite, choice, parts=True):
        if sample.length and sample.length not in prompts:
            prompts[sample.length] = Prompt(render(sample, texts), len(question_part(sample)))
    return dict(sorted(prompts.items()))


def _earlier(out: Path) -> dict[str, _StoredTimes]:
    """What was measured before, without damaged records: these are measured again."""
    try:
        return _FILE.validate_json(read_regular(out / TIMES))
    except (OSError, ValidationError):
        return {}


def _write(out: Path, kept: Mapping[str, _StoredTimes]) -> None:
    with whole_file(out / TIMES) as stream:
        stream.write(json.dumps({name: asdict(known) for name, known in kept.items()}, indent=2) + "\n")
