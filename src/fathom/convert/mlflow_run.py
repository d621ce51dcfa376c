"""Runs of MLflow: one for each model and variant, with parameters, metrics by length, and the report as an artifact."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from time import time
from typing import TYPE_CHECKING, Any

from fathom.convert.formats import Choices, Written
from fathom.convert.material import Figure, Material, RunFolder, chosen_systems, without_score
from fathom.plugins.extras import libraries_of
from fathom.report.results import System
from fathom.rows import write_rows
from fathom.safety.secrets import hide_in_address, hide_in_text, hide_secrets, remember
from fathom.storage.atomic import whole_file
from fathom.storage.versions import fathom_version
from fathom.types import FathomError

if TYPE_CHECKING:
    from mlflow import MlflowClient

KEY, COMPLETE = "fathom.key", "fathom.complete"
LONGEST = 500
"""Characters of the value of a parameter that every version of MLflow stores."""


def write(material: Material, out: Path | str, choices: Choices) -> Written:
    """Logs one run for each model and variant.

    A run has a key made of suites, model and variant. A complete run with that key is not repeated: it is replaced with
    ``force``, and refused otherwise. An incomplete one, whose conversion was stopped, is replaced.

    Args:
        material: Rows and figures.
        out: A tracking URI, such as ``sqlite:///mlflow.db`` or ``http://localhost:5000``.
        choices: ``experiment`` names the experiment, ``most_rows`` is not used: the artifact has all rows.

    Raises:
        FathomError: MLflow is missing, cannot be reached, or has the run already.
    """
    address = str(out)
    remember(address)
    with libraries_of("`to` mlflow", "mlflow"):
        from mlflow import MlflowClient
        from mlflow.exceptions import MlflowException
    systems = chosen_systems(material, choices.about.model)
    try:
        client = MlflowClient(tracking_uri=address)
        experiment = _experiment(client, choices.experiment or ", ".join(material.results.suites) or "fathom")
        for system in systems:  # before the first is written
            _refuse(client, experiment, material, system, choices)
        names = [_log(client, experiment, material, system) for system in systems]
    except (MlflowException, OSError) as error:
        reason = hide_in_text((str(error).splitlines() or [type(error).__name__])[0])
        raise FathomError(f"{hide_in_address(address)}: MLflow says: {reason}") from error
    notes = [note for system in systems for note in without_score(system, material.figures(system))]
    return Written(tuple(names), tuple(notes))


def _experiment(client: MlflowClient, name: str) -> str:
    experiment = client.get_experiment_by_name(name)
    return str(experiment.experiment_id if experiment is not None else client.create_experiment(name))


def key_of(material: Material, system: System) -> str:
    """The identity of a system's results: suites, with fingerprints where they are known, model and variant."""
    prints = [str(run.manifest["suite"].get("fingerprint")) for run in material.runs if run.system == system]
    parts = (*material.suites_of(system), *prints, *system)
    return hashlib.sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()[:24]


def _refuse(client: MlflowClient, experiment: str, material: Material, system: System, choices: Choices) -> None:
    for run in client.search_runs([experiment], f"tags.`{KEY}` = '{key_of(material, system)}'"):
        if run.data.tags.get(COMPLETE) == "true" and not choices.force:
            raise FathomError(
                f"{system.name}: MLflow has these results as run {run.info.run_id}; replace them with `force`"
            )


def _log(client: MlflowClient, experiment: str, material: Material, system: System) -> str:
    key = key_of(material, system)
    before = client.search_runs([experiment], f"tags.`{KEY}` = '{key}'")
    tags = {KEY: key, "fathom.version": fathom_version(), "fathom.variant": system.variant}
    named = {name: hide_in_text(text) for name, text in tags.items() if text}
    made = client.create_run(experiment, run_name=hide_in_text(system.name), tags=named)
    run = made.info.run_id
    try:
        _log_into(client, run, material, system)
        client.set_tag(run, COMPLETE, "true")
    except BaseException:
        client.set_terminated(run, "FAILED")
        raise
    client.set_terminated(run, "FINISHED")
    # Only now: until the new run is complete, the earlier one is the result.
    for earlier in before:
        client.delete_run(earlier.info.run_id)
    return f"run {run} ({system.name})"


def _log_into(client: MlflowClient, run: str, material: Material, system: System) -> None:
    from mlflow.entities import Metric, Param

    folder, now = material.run_of(system), int(1000 * time())
    figures = material.figures(system)
    metrics = [Metric(name, value, now, step) for name, value, step in metrics_of(figures)]
    params = [Param(name, value[:LONGEST]) for name, value in parameters(material, system, folder).items()]
    for first in range(0, len(metrics), 1000):
        client.log_batch(run, metrics=metrics[first : first + 1000])
    for first in range(0, len(params), 100):
        client.log_batch(run, params=params[first : first + 100])
    with TemporaryDirectory() as place:
        write_artifacts(material, system, Path(place))
        client.log_artifacts(run, place)


def metrics_of(figures: list[Figure]) -> Iterator[tuple[str, float, int]]:
    """Name, value and step (the length in tokens; 0 for the mean over lengths) of the figures that have a score."""
    for figure in figures:
        name, step = _allowed_name(figure.task), figure.length or 0
        where = "by_length" if figure.length is not None else "score"
        if figure.mean is not None:
            yield f"{where}/{name}", figure.mean, step
        if figure.interval is not None:
            yield f"{where}/{name}/low", figure.interval.low, step
            yield f"{where}/{name}/high", figure.interval.high, step
        if figure.counts is not None:
            for outcome in ("replies", "scored", "unanswered", "overflow", "missing", "scorer_error", "cut"):
                yield f"{where}/{name}/{outcome}", float(getattr(figure.counts, outcome)), step


def parameters(material: Material, system: System, run: RunFolder | None) -> dict[str, str]:
    """Settings without secrets and without addresses."""
    settings: dict[str, Any] = {
        "model": system.model,
        "variant": system.variant,
        "suite": ", ".join(material.suites_of(system)),
        "unanswered": material.results.unanswered,
        "closed_book_filter": material.filtered.policy,
    }
    if run is not None:
        manifest: Mapping[str, Any] = run.manifest
        settings |= {f"suite.{name}": manifest["suite"].get(name) for name in ("fingerprint", "tokenizer")}
        settings |= {f"generation.{name}": value for name, value in run.generation.items()}
        settings |= {name: manifest.get(name) for name in ("window", "on_overflow", "chat_template", "started")}
        settings |= {f"version.{name}": value for name, value in (manifest.get("versions") or {}).items()}
    shown = hide_secrets(settings)
    return {_allowed_name(name): hide_in_text(str(value)) for name, value in shown.items() if value not in (None, "")}


def write_artifacts(material: Material, system: System, folder: Path) -> None:
    """Writes ``report.html`` about all models, and ``rows.parquet`` of one."""
    from fathom.report.page import page

    write_rows(material.rows_of(system).drop("origin", strict=False), folder / "rows.parquet")
    with whole_file(folder / "report.html") as stream:
        stream.write(page(material.results))


def _allowed_name(name: str) -> str:
    """A name with the characters that MLflow allows."""
    return re.sub(r"[^\w\-. :/]+", "_", name).strip("/. ")[:200] or "unnamed"


def address_from_environment() -> str | None:
    """The tracking URI that MLflow's own variable names."""
    return os.environ.get("MLFLOW_TRACKING_URI") or None
