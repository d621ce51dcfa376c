"""What a server of the studio is started with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fathom.studio.quotas import Design
from fathom.studio.types import Sample


def _no_prompts(sample: Sample) -> tuple[str, str]:
    return "", ""


@dataclass(frozen=True)
class Settings:
    """What a server of the studio is started with.

    Attributes:
        title: Title of its pages.
        tasks: Names of the tasks for new samples; any name where it is empty.
        prompts: Proposes the prompts of a sample: with reasoning first, and without.
        guideline: Gives the guideline of a task, "" without one.
        design: Which samples are wanted, and how many are audited and rated.
        secure: Whether cookies are sent over HTTPS only.
        connections: Open at once.
        per_address: Connections, and running requests, of one address; 0 for no limit.
        header_seconds: For all headers of a request.
        write_seconds: For a client that does not read.
        hashes: Passwords that are checked at once; others wait.
    """

    title: str = "fathom studio"
    tasks: Sequence[str] = ()
    prompts: Callable[[Sample], tuple[str, str]] = _no_prompts
    guideline: Callable[[str], str] = lambda task: ""
    design: Design = Design()  # noqa: RUF009 - a frozen value
    secure: bool = False
    connections: int = 512
    per_address: int = 64
    header_seconds: float = 10
    write_seconds: float = 60
    hashes: int = 2
