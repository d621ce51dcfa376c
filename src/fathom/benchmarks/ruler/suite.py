"""The suites ``ruler`` and ``ruler2``: their thirteen and twelve tasks at six lengths."""

from fathom.benchmarks.ruler import v2_published, v2_tasks
from fathom.benchmarks.ruler.tasks import TASKS
from fathom.benchmarks.ruler.v2_records import NAME
from fathom.types import Suite

LENGTHS = (4096, 8192, 16384, 32768, 65536, 131072)
SUITES = (
    Suite(
        name="ruler",
        tasks=tuple(task.name for task in TASKS),
        lengths=LENGTHS,
        description="RULER: thirteen tasks of retrieval, tracing, counting and answers, nested from 4k to 128k",
        source="RULER, section 3",
    ),
    Suite(
        name="ruler2",
        tasks=tuple(task.name for task in (*v2_tasks.TASKS, *v2_published.TASKS)),
        lengths=LENGTHS,
        description="RULERv2: twelve tasks of finding, copying, solving and answers, generated and published",
        source=v2_tasks.SOURCE,
        sources={"record": (NAME,)},
    ),
)
