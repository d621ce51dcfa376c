"""The suite ``memory``: what is left of the facts of a conversation when it is long, or was compacted."""

from fathom.benchmarks.memory.tasks import TASKS
from fathom.types import Suite

SUITES = (
    Suite(
        name="memory",
        tasks=tuple(task.name for task in TASKS),
        lengths=(8192, 16384, 32768, 65536, 131072),
        description="numbers, names, dates, decisions, rules and corrections that a long conversation stated once",
        source="generated",
        items=20,
        corpus="",
    ),
)
