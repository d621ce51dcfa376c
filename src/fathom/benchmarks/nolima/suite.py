"""The suite ``nolima``, whose lengths are those of the paper: generated tasks, and published records where given."""

from fathom.benchmarks.nolima.published import TASKS as PUBLISHED
from fathom.benchmarks.nolima.records import NAME
from fathom.benchmarks.nolima.tasks import TASKS
from fathom.types import Suite

SUITES = (
    Suite(
        name=NAME,
        tasks=tuple(task.name for task in (*TASKS, *PUBLISHED)),
        lengths=(1024, 2048, 4096, 8192, 16384, 32768),
        description="a name whose sentence shares no words with the question",
        source="NoLiMa, section 3",
        sources={"record": (NAME,)},
    ),
)
