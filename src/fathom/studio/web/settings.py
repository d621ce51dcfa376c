"""What a server of the studio is started with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fathom.server.limits import ConnectionLimits
from fathom.studio.quotas import Design
from fathom.studio.tasks import StudioTask
from fathom.studio.types import Sample


def _no_prompts(sample: Sample) -> tuple[str, str]:
    return "", ""


@dataclass(frozen=True)
class Settings(ConnectionLimits):
    """What a server of the studio is started with.

    Attributes:
        title: Title of its pages.
        tasks: Names of the tasks for new samples; any name where it is empty.
        prompts: Proposes the prompts of a sample: with reasoning first, and without.
        guideline: Gives the guideline of a task, "" without one.
        design: Which samples are wanted, and how many are audited and rated.
        task: Gives a task by its name; None if it is unknown.
        secure: Whether cookies are sent over HTTPS only.
        hashes: Passwords that are checked at once; others wait.
        per_hour: Forms that one person may send in an hour.
    """

    title: str = "fathom studio"
    tasks: Sequence[str] = ()
    prompts: Callable[[Sample], tuple[str, str]] = _no_prompts
    guideline: Callable[[str], str] = lambda task: ""
    design: Design = Design()  # noqa: RUF009 - a frozen value
    task: Callable[[str], StudioTask | None] = lambda name: None
    secure: bool = False
    hashes: int = 2
    per_hour: int = 10_000
