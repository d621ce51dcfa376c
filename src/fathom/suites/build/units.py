"""Tasks of a suite, built as units of work on other machines: what a unit needs, and its result as JSON."""

from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from fathom.parallel.units import Engine, ResultsFile, run_units
from fathom.storage.versions import fathom_version
from fathom.suites.build.config import BuildConfig
from fathom.suites.build.items import Part, build_task, names_of_tasks
from fathom.suites.build.material import Material
from fathom.suites.build.notes import RecordCounts
from fathom.suites.compose import CountedTexts
from fathom.suites.suitefile.samples import record_of, sample_of
from fathom.tokens.counts import CountCache, TokenCounter, cache_folder
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import Json, Sample, Span

_TALLIES = ("lengths", "cut", "over")


def built_tasks(
    wanted: BuildConfig, material: Material, inputs: Mapping[str, Json], engine: Engine, kept: Path
) -> dict[str, dict[str, Part]]:
    """Build every task of a suite on an engine.

    Args:
        material: The documents; sent to each machine once.
        inputs: All inputs that determine the build.
        engine: Does the work.
        kept: A file for tasks that are built, which the next call with the same inputs reads.

    Returns:
        The parts of each task by language, by name of the task.
    """
    names = names_of_tasks(wanted)
    keep = ResultsFile(kept, fathom_version(), "parts", dict(inputs))
    done = run_units({name: name for name in names}, partial(_built, wanted, material), keep=keep, workers=engine)
    return {name: _read(parts) for name, parts in zip(names, done, strict=True)}


def _built(wanted: BuildConfig, material: Material, name: str) -> dict[str, Any]:
    with closing(CountCache(cache_folder() / "counts.sqlite")) as cache:
        texts = CountedTexts(material.all(), TokenCounter(get_tokenizer(wanted.tokenizer), cache))
        parts = build_task(wanted, material, texts, name)
    return {
        language: {
            **vars(part),
            "contexts": [[record_of(sample) for sample in samples] for samples in part.contexts],
            "values": {name: sorted(values) for name, values in part.values.items()},
            "records": {**vars(part.records), **{name: list(vars(part.records)[name].items()) for name in _TALLIES}},
        }
        for language, part in parts.items()
    }


def _read(parts: Mapping[str, Any]) -> dict[str, Part]:
    """The parts of a result that JSON has held."""
    return {language: Part(**{**part, **_values_of(part)}) for language, part in parts.items()}


def _values_of(part: Mapping[str, Any]) -> dict[str, Any]:
    tallies = {name: Counter(dict(part["records"][name])) for name in _TALLIES}
    return {
        "contexts": [[_sample(record) for record in records] for records in part["contexts"]],
        "values": {name: set(values) for name, values in part["values"].items()},
        "records": RecordCounts(**{**part["records"], **tallies}),
    }


def _sample(record: Mapping[str, Any]) -> Sample:
    parts = (part["text"] if "text" in part else Span(**part) for part in record["parts"])
    return sample_of({**record, "parts": tuple(parts)})
