"""The suite ``babilong``: five generated tasks at any length, and the published records where they are given."""

from fathom.benchmarks.babilong.records import NAME
from fathom.benchmarks.babilong.tasks import TASKS
from fathom.types import Suite

SUITES = (
    Suite(
        name=NAME,
        tasks=tuple(task.name for task in TASKS),
        lengths=(1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072),
        description="facts scattered in running text, generated and published",
        source="BABILong, section 2",
        sources={"record": (NAME,)},
    ),
)
