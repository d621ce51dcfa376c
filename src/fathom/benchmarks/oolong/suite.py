"""The suite ``oolong``: generated streams of messages at any length, and the published records where they are given."""

from fathom.benchmarks.oolong import published
from fathom.benchmarks.oolong.records import REAL, SYNTH
from fathom.benchmarks.oolong.tasks import TASKS
from fathom.types import Suite

SUITES = (
    Suite(
        name="oolong",
        tasks=tuple(task.name for task in (*TASKS, *published.TASKS)),
        lengths=(2048, 4096, 8192, 16384, 32768, 65536, 131072),
        description="counts and comparisons over a long stream of messages, generated and published",
        source="Oolong, section 3",
        sources={"record": (SYNTH, REAL)},
    ),
)
