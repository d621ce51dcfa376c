"""The tasks of fathom inside Inspect: ``inspect eval fathom/kv_retrieval -T length=8k --model ...``.

Inspect imports this module through the package's entry point. Samples carry their facts as metadata, so that ``fathom
rows --from inspect`` converts the log to rows. Inspect keeps every prompt in memory and in its log; for long contexts
use ``fathom run``.
"""

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

from inspect_ai import Task as InspectTask
from inspect_ai import task as inspect_task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import MemoryDataset
from inspect_ai.dataset import Sample as InspectSample
from inspect_ai.model import ChatMessageUser, GenerateConfig
from inspect_ai.model._generate_config import active_generate_config
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, mean, metric, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import registry_info

from fathom.models.model_settings import reasoning_settings
from fathom.run.preflight import REASONING_ALLOWANCE
from fathom.suites.build import BuildConfig, build, configure
from fathom.suites.registry import get_task, tasks
from fathom.suites.settings import BuildSettings
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.tokens.counts import cache_folder
from fathom.tokens.length import parse_length, render
from fathom.types import FathomError, Sample, Task

NAMESPACE = "fathom"

Texts = str | Sequence[str] | None
Numbers = str | float | Sequence[str | float]


@metric
def invalid() -> Metric:
    """Share of replies that lack the requested format; they count as 0 in the mean."""

    def share(scores: list[SampleScore]) -> float:
        flags = [not (scored.score.metadata or {}).get("valid", True) for scored in scores]
        return sum(flags) / len(flags) if flags else math.nan

    return share


def _scorer_of(name: str) -> Callable[[str], Scorer]:
    """Inspect's scorer for all tasks with the metric ``name``, so that logs and rows use the same name."""

    @scorer(name=name, metrics=[mean(), stderr(), invalid()])
    def by_task(task: str) -> Scorer:
        declared = get_task(task)

        async def score(state: TaskState, target: Target) -> Score:
            scored = declared.score(state.output.completion, _sample(state, target))
            return Score(
                value=math.nan if scored.value is None else scored.value,
                answer=scored.answer,
                explanation=scored.detail or None,
                metadata={"valid": scored.valid, "grader": scored.grader, "rule": "strict"},
            )

        return score

    return by_task


_SCORERS = {name: _scorer_of(name) for name in dict.fromkeys(task.metric for task in tasks().values())}


@solver
def asked_with_room(task: str) -> Solver:
    """Sends the prompt of a task, with room for reasoning in the output cap of a model that reasons."""
    cap = get_task(task).max_output_tokens

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if (roomy := _with_room(state, cap)) is None:
            return await generate(state)
        return await generate(state, max_tokens=roomy)

    return solve


def _with_room(state: TaskState, cap: int) -> int | None:
    """The output cap with room for reasoning; None if the model needs none or the user gave a cap."""
    if active_generate_config().max_tokens is not None or reasoning_settings(str(state.model)) is None:
        return None
    return cap + REASONING_ALLOWANCE


@solver
def asked_again(task: str) -> Solver:
    """Sends the second prompt of a task as a new conversation and keeps the second reply."""
    declared = get_task(task)
    follow_up, cap = declared.follow_up, declared.follow_up_tokens
    assert follow_up is not None

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        prompt = follow_up(state.output.completion, _sample(state, state.target))
        state.messages = [ChatMessageUser(content=prompt)]
        last = _with_room(state, cap or declared.max_output_tokens) or cap
        return await (generate(state) if last is None else generate(state, max_tokens=last))

    return solve


def _sample(state: TaskState, target: Target) -> Sample:
    """The sample as scorers need it, from the log alone, so that ``inspect score`` works too."""
    facts = state.metadata
    return Sample(
        id=str(state.sample_id),
        item=facts["item"],
        task=facts["task"],
        parts=(),
        targets=tuple(target),
        length=facts["length"],
        tokens=facts["tokens"],
        language=facts["language"],
        chance=facts["chance"],
        facets=facts["facets"],
        asked=facts.get("asked", ""),
        inputs=facts.get("inputs", facts["facets"]),  # earlier logs have one field for both
    )


def _register(declared: Task) -> None:
    """Register a task with Inspect as ``fathom/NAME``."""

    def create(
        length: Numbers = "8k",
        items: int = 50,
        corpus: Texts = None,
        books: Texts = None,
        threads: Texts = None,
        cases: Texts = None,
        data: Texts = None,
        tokenizer: str | None = None,
        seed: int = 0,
        depth: Numbers = "random",
        language: Texts = None,
    ) -> InspectTask:
        try:
            settings = BuildSettings(
                lengths=tuple(parse_length(text) for text in _texts(length)),
                items=items,
                corpus=_texts(corpus),
                books=_texts(books),
                threads=_texts(threads),
                cases=_texts(cases),
                data=_texts(data),
                tokenizer=tokenizer,
                seed=seed,
                depths=_depths(depth),
                languages=_texts(language),
            )
            return _inspect_task(declared, configure(declared.name, settings))
        except FathomError as error:
            raise PrerequisiteError(str(error)) from error

    create.__name__, create.__doc__ = declared.name, declared.description
    made = inspect_task(create)
    # Inspect prefixes the task's name with the package's, except in an editable install whose distribution name differs
    # from the package name, as ours does.
    if registry_info(made).name != f"{NAMESPACE}/{declared.name}":
        inspect_task(name=f"{NAMESPACE}/{declared.name}")(create)


def _texts(given: Numbers | Texts) -> tuple[str, ...]:
    """One or several values from Inspect's command line: ``2k,4k`` may arrive as text or as a list."""
    if given is None:
        return ()
    values = given.split(",") if isinstance(given, str) else [given] if isinstance(given, int | float) else given
    return tuple(text for value in values if (text := str(value).strip()))


def _depths(given: Numbers) -> tuple[float, ...]:
    if given == "random":
        return ()
    try:
        return tuple(float(text) for text in _texts(given))
    except ValueError as error:
        raise FathomError(f"depth={given}: expected 'random', or numbers between 0 and 1 such as 0,0.5,1") from error


def _inspect_task(declared: Task, wanted: BuildConfig) -> InspectTask:
    key = hashlib.sha256(json.dumps(asdict(wanted), sort_keys=True).encode()).hexdigest()[:16]
    folder = cache_folder() / "inspect" / f"{declared.name}-{key}"
    suite = open_suite(build(wanted, folder, force=True).folder)
    return InspectTask(
        dataset=MemoryDataset(_samples(suite), name=suite.manifest["suite"]),
        solver=[asked_with_room(declared.name), *([asked_again(declared.name)] if declared.follow_up else [])],
        scorer=_SCORERS[declared.metric](declared.name),
        config=GenerateConfig(max_tokens=declared.max_output_tokens, stop_seqs=list(declared.stop) or None),
        version=declared.version,
        metadata={"fingerprint": suite.manifest["fingerprint"]},
    )


def _samples(suite: BuiltSuite) -> list[InspectSample]:
    texts = suite.texts()
    return [
        InspectSample(
            id=sample.id,
            input=render(sample, texts),
            target=list(sample.targets),
            metadata=_facts(sample, suite.manifest),
        )
        for sample in suite.samples()
    ]


def _facts(sample: Sample, manifest: Any) -> dict[str, Any]:
    """What ``fathom.rows`` reads from a log."""
    return {
        "suite": manifest["suite"],
        "tokenizer": manifest["tokenizer"],
        "task": sample.task,
        "item": sample.item,
        "length": sample.length,
        "tokens": sample.tokens,
        "language": sample.language,
        "chance": sample.chance,
        "facets": dict(sample.facets),
        "inputs": dict(sample.inputs),
        "asked": sample.asked,
    }


for _declared in tasks().values():
    _register(_declared)
    if _declared.formerly:
        _register(replace(_declared, name=_declared.formerly))
