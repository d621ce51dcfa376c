"""LongBench Pro: 25 tasks in English and Chinese at six lengths, and users' own benchmarks in its form."""

from fathom.benchmarks.pro.records import NAME
from fathom.benchmarks.pro.secondary_tasks import LENGTHS, SECONDARY
from fathom.types import Suite

SUITES = (
    Suite(
        name="pro",
        tasks=tuple(task.task for task in SECONDARY),
        lengths=tuple(LENGTHS.values()),
        description="the 1,500 questions of LongBench Pro, each once at the length that it states",
        source="Chen et al. (2026), LongBench Pro, arXiv:2601.02872",
        # More than any task has: users' own benchmarks can be larger than the published one.
        items=100_000,
        corpus="",
        sources={"record": (NAME,)},
    ),
)
