"""The suite ``nolima``, whose lengths are those of the paper."""

from fathom.benchmarks.nolima.tasks import TASKS
from fathom.types import Suite

SUITES = (
    Suite(
        name="nolima",
        tasks=tuple(task.name for task in TASKS),
        lengths=(1024, 2048, 4096, 8192, 16384, 32768),
        description="a name whose sentence shares no words with the question",
        source="NoLiMa, section 3",
    ),
)
