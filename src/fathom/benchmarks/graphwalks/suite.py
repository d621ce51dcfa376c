"""The suite ``graphwalks``: generated graphs at any length, and the published records where they are given."""

from fathom.benchmarks.graphwalks.records import SOURCE_NAME
from fathom.benchmarks.graphwalks.tasks import TASKS
from fathom.types import Suite

SUITES = (
    Suite(
        name="graphwalks",
        tasks=tuple(task.name for task in TASKS),
        lengths=(8192, 32768, 131072),
        description="breadth-first searches and parents in a list of edges, generated and published",
        source="Graphwalks, OpenAI 2025",
        sources={"record": (SOURCE_NAME,)},
    ),
)
