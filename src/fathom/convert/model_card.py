"""Metadata of a model card (``model-index``), merged into its README.md without losing what is there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fathom.convert.formats import Choices, Written
from fathom.convert.material import Figure, Material, only_system, without_score
from fathom.convert.places import refuse_existing
from fathom.plugins.extras import libraries_of
from fathom.report.results import ALL, System
from fathom.stats.outcomes import LOST
from fathom.storage.atomic import whole_file
from fathom.storage.foreign import read_regular
from fathom.storage.versions import fathom_version
from fathom.types import FathomError

WHAT = "a model card"
TASK = {"type": "text-generation", "name": "Text generation"}
METRIC = "fathom"
"""Prefix of the names of fathom's metrics."""


def write(material: Material, out: Path | str, choices: Choices) -> Written:
    """Merges the figures into the metadata of a model card; the text below stays as it is.

    Args:
        out: A README.md, or the folder of the repository.
        choices: ``dataset`` names the data set; with ``force`` our earlier figures are replaced. Those of others stay.

    Raises:
        FathomError: There are several models, no score, the card cannot be read, or has our figures already.
    """
    with libraries_of("`to` model-card", "hub"):
        from huggingface_hub import metadata_load, metadata_save
    system = only_system(material, choices.about.model, WHAT)
    figures = material.figures(system)
    if all(figure.mean is None for figure in figures):
        raise FathomError(f"{system.name}: no figure has a score, so that there is nothing to write")
    place = Path(out) / "README.md" if Path(out).is_dir() else Path(out)
    refuse_existing(place, True)
    try:
        before: dict[str, Any] = (metadata_load(place) or {}) if place.exists() else {}
    except Exception as error:  # yaml has many
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise FathomError(f"{place}: its metadata cannot be read: {reason}; correct the YAML at its top") from error
    after = {
        **before,
        "model-index": _merged(before.get("model-index"), _ours(material, system, figures, choices), place, choices),
    }
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "README.md"
        if place.exists():
            copy.write_bytes(read_regular(place))
        metadata_save(copy, after)
        content = copy.read_bytes()
    with whole_file(place, "wb") as stream:
        stream.write(content)
    return Written(
        (str(place),), tuple(without_score(system, figures)), f"hf upload OWNER/MODEL {place} README.md --create-pr"
    )


def _ours(material: Material, system: System, figures: Sequence[Figure], choices: Choices) -> list[dict[str, Any]]:
    from huggingface_hub import EvalResult
    from huggingface_hub.repocard_data import eval_results_to_model_index

    suite = ", ".join(material.suites_of(system))
    results = [
        EvalResult(
            task_type=TASK["type"],
            task_name=TASK["name"],
            dataset_type=choices.about.dataset or suite,
            dataset_name=suite,
            dataset_config=choices.task_ids.get(figure.name, figure.name),
            dataset_revision=choices.about.revision,
            metric_type="score" if figure.task == ALL else _metric(material, system, figure.task),
            metric_name=f"{METRIC}: mean score",
            metric_value=figure.mean,
            metric_args=_args(figure, system, choices),
            source_url=choices.about.source,
            source_name=f"fathom {fathom_version()}" if choices.about.source else None,
        )
        for figure in figures
        if figure.mean is not None
    ]
    index: list[dict[str, Any]] = eval_results_to_model_index(system.model, results)
    return index


def _metric(material: Material, system: System, task: str) -> str:
    names = material.rows_of(system, task=task)["metric"].drop_nulls().unique(maintain_order=True)
    return next((str(name) for name in names if name), "score")


def _args(figure: Figure, system: System, choices: Choices) -> dict[str, Any]:
    counts = figure.counts
    return {
        **({"variant": system.variant} if system.variant else {}),
        **({"length": figure.length} if figure.length is not None else {}),
        **({"interval_95": [figure.interval.low, figure.interval.high]} if figure.interval is not None else {}),
        **({name: getattr(counts, name) for name in ("replies", "unanswered", *LOST)} if counts else {}),
        **({"notes": choices.about.notes} if choices.about.notes else {}),
    }


def _merged(index: Any, ours: list[dict[str, Any]], place: Path, choices: Choices) -> list[dict[str, Any]]:
    """The index with our results in place of our earlier ones; those of others unchanged."""
    if index is None or index == []:
        return ours
    if not isinstance(index, list) or not all(
        isinstance(entry, dict) and isinstance(entry.get("results"), list) for entry in index
    ):
        raise FathomError(f"{place}: model-index is not a list of models with results; correct it first")
    kept, replaced = [], 0
    for result in index[0]["results"]:
        metrics = result.get("metrics") if isinstance(result, dict) else None
        mine = isinstance(metrics, list) and any(
            isinstance(metric, dict) and str(metric.get("name", "")).startswith(f"{METRIC}:") for metric in metrics
        )
        replaced += mine
        kept += [] if mine else [result]
    if replaced and not choices.force:
        raise FathomError(f"{place} has {replaced} results of fathom; replace them with `force`")
    return [{**index[0], "results": [*kept, *ours[0]["results"]]}, *index[1:]]
