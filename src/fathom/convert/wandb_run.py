"""Runs of Weights & Biases, written offline; ``wandb sync`` uploads them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fathom.convert.formats import Choices, Written
from fathom.convert.material import Material, chosen_systems, without_score
from fathom.convert.mlflow_run import key_of, metrics_of, parameters
from fathom.plugins.extras import libraries_of
from fathom.report.results import System
from fathom.safety.secrets import hide_in_text
from fathom.types import FathomError

COLUMNS = ("task", "length", "sample", "epoch", "value", "status", "answer", "target", "detail")
"""Columns of the table of rows."""


def write(material: Material, out: Path | str, choices: Choices) -> Written:
    """Writes one offline run for each model and variant.

    The id of a run follows from suites, model and variant, so that uploading it again updates the same run.

    Args:
        material: Rows and figures.
        out: The folder, in which Weights & Biases makes ``wandb/offline-run-*``.
        choices: ``experiment`` names the project, ``most_rows`` limits the table of rows.

    Raises:
        FathomError: wandb is missing, the folder has runs of these results already, or it cannot be written.
    """
    with libraries_of("`to` wandb", "wandb"):
        import wandb
    folder = Path(out)
    systems = chosen_systems(material, choices.about.model)
    for system in systems:
        earlier = sorted(folder.glob(f"wandb/offline-run-*-{key_of(material, system)}"))
        if earlier and not choices.force:
            raise FathomError(f"{earlier[0]} has these results already; write them again with `force`")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        places = [_log(material, system, folder, choices) for system in systems]
    except (wandb.Error, OSError) as error:
        reason = hide_in_text((str(error).splitlines() or [type(error).__name__])[0])
        raise FathomError(f"{folder}: wandb says: {reason}") from error
    notes = [note for system in systems for note in without_score(system, material.figures(system))]
    for system in systems:
        rows = material.rows_of(system).height
        if rows > choices.most_rows:
            notes.append(f"{system.name}: the table has the first {choices.most_rows:,} of {rows:,} rows (--rows)")
    return Written(tuple(places), tuple(notes), f"wandb sync {' '.join(places)}")


def _log(material: Material, system: System, folder: Path, choices: Choices) -> str:
    import wandb

    run = wandb.init(
        dir=str(folder),
        mode="offline",
        project=choices.experiment or "fathom",
        id=key_of(material, system),
        name=hide_in_text(system.name),
        config=parameters(material, system, material.run_of(system)),
        reinit="create_new",
        # Nothing of this machine, its folders or its command line belongs to the results.
        settings=wandb.Settings(
            console="off",
            disable_code=True,
            disable_git=True,
            host="",
            save_code=False,
            silent=True,
            x_disable_machine_info=True,
            x_disable_meta=True,
            x_disable_stats=True,
            x_save_requirements=False,
        ),
    )
    try:
        run.define_metric("length")
        run.define_metric("by_length/*", step_metric="length")
        figures = material.figures(system)
        by_length: dict[int, dict[str, float]] = {}
        for name, value, step in metrics_of(figures):
            if step:
                by_length.setdefault(step, {})[name] = value
            else:
                run.summary[name] = value
        for length in sorted(by_length):
            run.log({"length": length, **by_length[length]})
        run.log({"rows": wandb.Table(columns=list(COLUMNS), data=list(_records(material, system, choices.most_rows)))})
        place = str(Path(run.settings.sync_dir))
    except BaseException:
        run.finish(exit_code=1)
        raise
    run.finish()
    return place


def _records(material: Material, system: System, most: int) -> Iterator[list[Any]]:
    """Rows of the table; a score that is missing is empty, never 0."""
    for row in material.rows_of(system).head(most).iter_rows(named=True):
        yield [hide_in_text(row[name]) if isinstance(row[name], str) else row[name] for name in COLUMNS]
