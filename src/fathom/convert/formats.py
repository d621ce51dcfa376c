"""The formats, declared once: choices, help and checks follow from this table."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from fathom.options.declare import Options, opt, unset
from fathom.options.values import Pairs
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


RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")
"""Relationships of an evaluator to the model that Every Eval Ever knows."""


def _known_relationship(name: str) -> str:
    return "" if name in RELATIONSHIPS else f"expected {', '.join(RELATIONSHIPS)}"


class About(Options, kw_only=True):
    """What fathom cannot know."""

    model: Annotated[str | None, opt("Only this model; needed by a format that describes one.", metavar="NAME")] = None
    dataset: Annotated[str | None, opt("Id of the data set on the Hub.", metavar="OWNER/NAME")] = None
    task_ids: Annotated[
        Pairs,
        opt(
            "What the data set on the Hub calls a task (all: the mean over tasks; all@8k: at a length).",
            flag="--task-id",
            metavar="TASK=ID",
        ),
    ] = unset
    revision: Annotated[str | None, opt("Revision of the data set.", metavar="COMMIT")] = None
    source: Annotated[str | None, opt("Address of a page about the results.", flag="--source-url", metavar="URL")] = (
        None
    )
    notes: Annotated[str | None, opt("A remark on the setup.", metavar="TEXT")] = None
    date: Annotated[str | None, opt("When the model was asked; default: as the run says.", metavar="ISO8601")] = None
    organization: Annotated[str | None, opt("Who made the evaluation.", metavar="NAME")] = None
    relationship: Annotated[
        str, opt(f"Of the evaluator to the model: {', '.join(RELATIONSHIPS)}.", check=_known_relationship)
    ] = "other"


@dataclass(frozen=True)
class Choices:
    """What the user chose.

    Attributes:
        about: What fathom cannot know.
        force: Replace what was written before.
        prompts: Write the prompts too.
        experiment: Experiment of MLflow or project of Weights & Biases; by default the suites.
        most_rows: Maximum number of rows of a table that is shown.
    """

    about: About
    force: bool = False
    prompts: bool = True
    experiment: str | None = None
    most_rows: int = 1000

    @property
    def task_ids(self) -> Mapping[str, str]:
        """The format's names of figures, by fathom's: ``kv_retrieval``, or ``all@8k`` for the mean over tasks."""
        return {name: str(value) for name, value in (self.about.task_ids or {}).items()}


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
    def write(self) -> Callable[["Material", Path | str, Choices], Written]:
        """The function that writes."""
        module: Any = import_module(f"fathom.convert.{self.module}")
        return module.write  # type: ignore[no-any-return]


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        form.name: form
        for form in (
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
