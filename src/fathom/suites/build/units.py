"""Tasks of a suite, built as units of work on other machines: what a unit needs, and its result as JSON."""

from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from fathom.parallel.units import Engine, ResultsFile, run_units
from fathom.storage.versions import fathom_version
from fathom.suites.build.config import BuildConfig
from fathom.suites.build.items import BuiltTask, Part, build_task, names_of_tasks
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
) -> dict[str, BuiltTask]:
    """Build every task of a suite on an engine.

    Args:
        wanted: What to build.
        material: The documents; sent to each machine once.
        inputs: All inputs that determine the build.
        engine: Does the work.
        kept: A file for tasks that are built, which the next call with the same inputs reads.

    Returns:
        The tasks by name.
    """
    names = names_of_tasks(wanted)
    keep = ResultsFile(kept, fathom_version(), dict(inputs))
    done = run_units({name: name for name in names}, partial(_built, wanted, material), keep=keep, workers=engine)
    return {name: _read(found) for name, found in zip(names, done, strict=True)}


def _built(wanted: BuildConfig, material: Material, name: str) -> dict[str, Any]:
    cache = CountCache(cache_folder() / "counts.sqlite")
    try:
        texts = CountedTexts(material.all(), TokenCounter(get_tokenizer(wanted.tokenizer), cache))
        found = build_task(wanted, material, texts, name)
    finally:
        cache.close()
    records = found.records
    return {
        "parts": {
            language: {
                "contexts": [[record_of(sample) for sample in samples] for samples in part.contexts],
                "notes": part.notes,
                "gold": part.gold,
                "pools": part.pools,
                "clusters": part.clusters,
            }
            for language, part in found.parts.items()
        },
        "records": {**vars(records), **{name: list(vars(records)[name].items()) for name in _TALLIES}},
        "values": {name: sorted(values) for name, values in found.values.items()},
    }


def _read(found: Mapping[str, Any]) -> BuiltTask:
    """The task of a result that JSON has held."""
    tallies = {name: Counter(dict(found["records"][name])) for name in _TALLIES}
    return BuiltTask(
        {
            language: Part(
                [[_sample(record) for record in records] for records in part["contexts"]],
                part["notes"],
                part["gold"],
                part["pools"],
                part["clusters"],
            )
            for language, part in found["parts"].items()
        },
        RecordCounts(**{**found["records"], **tallies}),
        {name: set(values) for name, values in found["values"].items()},
    )


def _sample(record: Mapping[str, Any]) -> Sample:
    parts = (one["text"] if "text" in one else Span(**one) for one in record["parts"])
    return sample_of({**record, "parts": tuple(parts)})
