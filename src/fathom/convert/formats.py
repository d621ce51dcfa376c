"""The formats, declared once: choices, help and checks follow from this table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from fathom.plugins.names import unknown
from fathom.printing import readable

if TYPE_CHECKING:
    from fathom.convert.material import Material


@readable
@dataclass(frozen=True)
class Written:
    """What a conversion wrote.

    Attributes:
        places: Files, folders, or names of runs.
        notes: What the reader must know, such as scores that are missing.
        upload: The command that uploads it; "" if there is nothing to upload.
    """

    places: tuple[str, ...]
    notes: tuple[str, ...] = ()
    upload: str = ""


@dataclass(frozen=True)
class Choices:
    """What only the user knows, or decides.

    Attributes:
        force: Replace what was written before.
        prompts: Write the prompts too.
        model: Only this model; needed where a format describes one.
        dataset: Id of the data set on the Hub.
        task_ids: The format's names of figures, by fathom's: ``kv_retrieval``, or ``all@8k`` for the mean over tasks
            at a length. Empty for fathom's own.
        revision: Revision of the data set.
        source: Address of a page about the results.
        notes: A remark on the setup.
        date: When the model was asked, ISO 8601; by default as the run says.
        organization: Who made the evaluation.
        relationship: Of the evaluator to the model.
        experiment: Experiment of MLflow or project of Weights & Biases; by default the suites.
        most_rows: Maximum number of rows of a table that is shown.
    """

    force: bool = False
    prompts: bool = True
    model: str | None = None
    dataset: str | None = None
    task_ids: Mapping[str, str] = field(default_factory=dict)
    revision: str | None = None
    source: str | None = None
    notes: str | None = None
    date: str | None = None
    organization: str | None = None
    relationship: str = "other"
    experiment: str | None = None
    most_rows: int = 1000


RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")
"""Relationships of an evaluator to the model that Every Eval Ever knows."""


@dataclass(frozen=True)
class Format:
    """A format.

    Attributes:
        name: Its name on the command line.
        what: What is written.
        where: What ``--out`` is.
        module: Module of this package with the function ``write(material, out, choices)``.
    """

    name: str
    what: str
    where: str
    module: str

    @property
    def write(self) -> Callable[[Material, Path | str, Choices], Written]:
        """The function that writes."""
        found: Any = import_module(f"fathom.convert.{self.module}")
        return found.write  # type: ignore[no-any-return]


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        one.name: one
        for one in (
            Format("inspect", "logs for Inspect's viewer", "a folder", "inspect_eval"),
            Format("hub", "evaluation results of a model repository on the Hub", "a model repository", "hub"),
            Format("model-card", "metadata of a model card", "a README.md", "model_card"),
            Format("every-eval-ever", "records of Every Eval Ever", "a folder", "every_eval_ever"),
            Format("mlflow", "runs of MLflow", "a tracking URI", "mlflow_run"),
            Format("wandb", "offline runs of Weights & Biases", "a folder", "wandb_run"),
        )
    }
)
"""The formats by name."""


def format_named(name: str) -> Format:
    """The format with a name.

    Raises:
        FathomError: There is none.
    """
    if name not in FORMATS:
        raise unknown("format", name, FORMATS, "fathom convert --help")
    return FORMATS[name]
