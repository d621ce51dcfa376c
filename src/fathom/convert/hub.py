"""Evaluation results of a model repository on the Hugging Face Hub: ``.eval_results/NAME.yaml``.

The form is the one that ``huggingface_hub`` reads and writes (``EvalResultEntry``). An entry has one value, in percent;
the interval and the counts are in its notes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fathom.convert.formats import Choices, Written
from fathom.convert.material import Figure, Material, counts_text, only_system, without_score
from fathom.convert.places import file_name, refuse_existing
from fathom.plugins.extras import libraries_of
from fathom.report.results import ALL, System
from fathom.storage.atomic import whole_file
from fathom.storage.versions import fathom_version
from fathom.tokens.length import named_lengths
from fathom.types import FathomError

FOLDER = ".eval_results"
WHAT = "a model repository on the Hub"


def write(material: Material, out: Path | str, choices: Choices) -> Written:
    """Writes ``.eval_results/NAME.yaml`` into a copy of a model repository.

    Args:
        choices: ``dataset`` is required; ``task_ids`` says what the data set's ``eval.yaml`` calls the tasks.

    Raises:
        FathomError: There are several models, no score, or the file exists.
    """
    with libraries_of("`to` hub", "hub"):
        from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml
    system = only_system(material, choices.about.model, WHAT)
    if not choices.about.dataset:
        raise FathomError(
            "`to` hub needs `dataset` OWNER/NAME, the data set on the Hub whose leaderboard lists the results"
        )
    every = material.figures(system)
    figures = _wanted(every, choices)
    entries = [
        EvalResultEntry(
            dataset_id=choices.about.dataset,
            task_id=_task_id(figure, every, choices),
            value=round(100 * figure.mean, 4),
            dataset_revision=choices.about.revision,
            date=choices.about.date or _date(material, system),
            source_url=choices.about.source,
            notes=_notes(material, system, figure, choices),
        )
        for figure in figures
        if figure.mean is not None
    ]
    if not entries:
        raise FathomError(f"{system.name}: no figure has a score, so that there is nothing to write")
    place = Path(out) / FOLDER / f"{file_name(choices.about.dataset.rpartition('/')[2])}.yaml"
    refuse_existing(place, choices.force)
    with whole_file(place) as stream:
        stream.write(_yaml(eval_result_entries_to_yaml(entries)))
    upload = f"hf upload OWNER/MODEL {place} {FOLDER}/{place.name} --create-pr"
    return Written((str(place),), tuple(without_score(system, figures)), upload)


def _wanted(figures: Sequence[Figure], choices: Choices) -> list[Figure]:
    """The figures that the user named, such as ``kv_retrieval`` or ``all@8k``; by default the means over lengths."""
    if not choices.task_ids:
        return [figure for figure in figures if figure.length is None]
    names_of = [_names_of(figure, figures) for figure in figures]
    if strange := [name for name in choices.task_ids if not any(name in names for names in names_of)]:
        known = ", ".join(names[0] for names in names_of)
        raise FathomError(f"`task_id` {strange[0]}: no such figure; there are {known}")
    return [
        figure
        for figure, names in zip(figures, names_of, strict=True)
        if any(name in choices.task_ids for name in names)
    ]


def _names_of(figure: Figure, figures: Sequence[Figure]) -> tuple[str, ...]:
    """The names of a figure: that of a single task is also the mean over all tasks."""
    alone = len({other.task for other in figures}) == 1
    return (figure.name, figure._replace(task=ALL).name) if alone else (figure.name,)


def _task_id(figure: Figure, figures: Sequence[Figure], choices: Choices) -> str:
    return next(
        (choices.task_ids[name] for name in _names_of(figure, figures) if name in choices.task_ids), figure.name
    )


def _date(material: Material, system: System) -> str | None:
    run = material.run_of(system)
    return run.started if run is not None and run.started else None


def _notes(material: Material, system: System, figure: Figure, choices: Choices) -> str:
    interval = figure.interval
    parts = [
        choices.about.notes or "",
        system.variant,
        f"percent, 95% interval {100 * interval.low:.1f} to {100 * interval.high:.1f}" if interval else "percent",
        f"{'mean over tasks' if figure.task == ALL else figure.task} {_lengths(material, figure)}",
        counts_text(figure.counts) if figure.counts is not None else "",
        f"unanswered replies {'count 0' if material.results.unanswered == 'zero' else 'are left out'}",
        f"fathom {fathom_version()}",
    ]
    return "; ".join(filter(None, parts))


def _lengths(material: Material, figure: Figure) -> str:
    if figure.length is not None:
        return f"at {figure.length:,} tokens"
    return f"over {named_lengths(material.results.lengths)} tokens"


def _yaml(data: Any) -> str:
    from huggingface_hub.utils import yaml_dump

    return yaml_dump(data, sort_keys=False)
