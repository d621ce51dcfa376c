"""Example prompts for the pages of tasks, from built suites or generated documents."""

import json
import re
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from fathom.suites.registry import task_name, tasks
from fathom.suites.suitefile import open_suite
from fathom.tokens.length import render
from fathom.types import FathomError, Sample, Span, Task

SHOWN = 1200
"""Characters of each end of a prompt."""
PACKAGED = "examples.json"
"""Examples that are made once: ``python tests/board/test_examples.py`` makes them again."""
LENGTHS = (1024, 2048)
"""Lengths in tokens to try in order: some questions alone are longer than the first."""


@dataclass(frozen=True, slots=True)
class Example:
    """A prompt without its middle.

    Attributes:
        start: Its first characters.
        end: Its last characters; "" if the start is the whole prompt.
        tokens: Tokens of the whole prompt.
        target: The gold answer, or its first characters.
        chance: Expected score of a valid answer drawn at random.
    """

    start: str
    end: str
    tokens: int
    target: str
    chance: float


def examples(names: Sequence[str], suites: Iterable[Path] = ()) -> dict[str, Example]:
    """An example of each task, if possible.

    Args:
        suites: Folders of built suites, which are searched first.

    Raises:
        FathomError: A folder has no suite.
    """
    by_task: dict[str, Example] = {}
    for folder in suites:
        by_task = _of_suite(folder, [name for name in names if name not in by_task]) | by_task
    for name in names:
        if name not in by_task and (made := _of_world(name)) is not None:
            by_task[name] = made
    return by_task


@cache
def packaged() -> dict[str, Any]:
    """The examples of fathom's own tasks with generated documents, by task: the version of the task, and the fields."""
    return dict(json.loads(resources.files("fathom.board").joinpath(PACKAGED).read_text("utf-8")))


def _of_suite(folder: Path, names: Sequence[str]) -> dict[str, Example]:
    """The first sample of each task at its shortest length."""
    suite = open_suite(folder)
    first: dict[str, Sample] = {}
    for sample in suite.samples(tasks=names, limit=1, parts=False) if names else ():
        if sample.length and (sample.task not in first or sample.length < first[sample.task].length):
            first[sample.task] = sample
    texts = suite.texts()
    chosen = {sample.id for sample in first.values()}
    try:
        return {
            task_name(sample.task): _example(
                sample, {part.doc: texts[part.doc] for part in sample.parts if isinstance(part, Span)}
            )
            for sample in (suite.samples(tasks=names, only=chosen) if chosen else ())
            if sample.id in chosen
        }
    except KeyError as missing:
        raise FathomError(f"{folder}: document {missing} is missing; build the suite again with `force`") from None


def _of_world(name: str) -> Example | None:
    """An example with generated documents; None if the task needs other data."""
    task = tasks().get(name)
    if task is None or task.gold == ("record",):
        return None
    kept = packaged().get(name)
    if kept is not None and kept["version"] == task.version:
        return Example(**kept["example"]) if kept["example"] else None
    return made_of_world(task)


def made_of_world(task: Task) -> Example | None:
    """The same, made now."""
    from fathom.suites.build import build, configure
    from fathom.suites.settings import BuildSettings

    name = task.name
    for length in LENGTHS:
        try:
            with tempfile.TemporaryDirectory() as place:
                settings = BuildSettings(lengths=(length,), items=1, corpus=("world",), languages=task.languages[:1])
                configuration = configure(name, settings)
                build(configuration, Path(place) / "suite")
                return _of_suite(Path(place) / "suite", [name]).get(name)
        except FathomError:
            continue
    return None


def _example(sample: Sample, texts: dict[str, str]) -> Example:
    prompt = render(sample, texts)
    whole = len(prompt) <= 2 * SHOWN
    return Example(
        start=prompt if whole else _to_word(prompt[:SHOWN]),
        end="" if whole else _to_word(prompt[-SHOWN:][::-1])[::-1],
        tokens=sample.tokens,
        target=next(iter(sample.targets), "")[:SHOWN],
        chance=sample.chance,
    )


def _to_word(text: str) -> str:
    """The text without its last, partial word; unchanged if no word starts near its end, as in Chinese."""
    cut = re.search(r"\s\S{0,40}$", text)
    return text[: cut.start()] if cut else text
