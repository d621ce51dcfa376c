"""The suite ``mrcr``: generated conversations at any length, and the published ones where they are given."""

from fathom.benchmarks.mrcr.records import GOOGLE, OPENAI
from fathom.benchmarks.mrcr.tasks import TASKS
from fathom.types import Suite

SUITES = (
    Suite(
        name="mrcr",
        tasks=tuple(task.name for task in TASKS),
        lengths=(8192, 32768, 131072),
        description="copies of one of 2, 4 or 8 like texts in a conversation, generated and published",
        source="MRCR, OpenAI 2025; Michelangelo, section 3",
        sources={"record": (OPENAI, GOOGLE)},
    ),
)
