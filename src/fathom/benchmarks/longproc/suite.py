"""The suite ``longproc``: generated procedures at any length, and the published records where they are given."""

from fathom.benchmarks.longproc import published
from fathom.benchmarks.longproc.records import NAME
from fathom.benchmarks.longproc.tasks import TASKS
from fathom.types import Suite

SUITES = (
    Suite(
        name=NAME,
        tasks=tuple(task.name for task in (*TASKS, *published.TASKS)),
        lengths=(2048, 4096, 8192, 16384, 32768, 65536, 131072),
        description="procedures of many lines that follow exactly from a prompt, generated and published",
        source="LongProc, section 3",
        sources={"record": (NAME,)},
    ),
)
