"""The suite ``world``: generated tasks of LongBench Pro in English and Chinese, at lengths up to 2M tokens."""

from fathom.benchmarks.world.tasks import TASKS
from fathom.types import Suite

LENGTHS = tuple(1024 * thousand for thousand in (8, 16, 32, 64, 128, 256))

SUITES = (
    Suite(
        name="world",
        tasks=tuple(task.name for task in TASKS),
        lengths=LENGTHS,
        description="tasks of LongBench Pro over a generated world with exact answers, the same items at every length",
        source="the 25 tasks of LongBench Pro (arXiv:2601.02872), generated",
        items=5,
        corpus="",
        closed_book=True,
    ),
)
