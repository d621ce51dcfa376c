"""The suite ``loft``: generated corpora at any length, and LOFT's text data sets where they are given."""

from fathom.benchmarks.loft import published
from fathom.benchmarks.loft.records import SOURCE_NAME
from fathom.benchmarks.loft.tasks import TASKS
from fathom.types import Suite

SUITES = (
    Suite(
        name="loft",
        tasks=tuple(task.name for task in (*TASKS, *published.TASKS)),
        lengths=(8192, 32768, 131072),
        description="retrieval, answers, tables and many examples from a corpus in the prompt, generated and published",
        source="LOFT, section 3",
        sources={"record": (SOURCE_NAME,)},
    ),
)
