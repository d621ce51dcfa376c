"""The suite ``ruler``: the thirteen tasks at six lengths."""

from fathom.benchmarks.ruler.tasks import TASKS
from fathom.types import Suite

SUITES = (
    Suite(
        name="ruler",
        tasks=tuple(task.name for task in TASKS),
        lengths=(4096, 8192, 16384, 32768, 65536, 131072),
        description="RULER: thirteen tasks of retrieval, tracing, counting and answers, nested from 4k to 128k",
        source="RULER, section 3",
    ),
)
