"""Own tasks of the studio, one for each metric of LongBench Pro.

``fathom studio export`` writes their samples; there is nothing to build them from. The facet ``studio_task`` of a
sample is the name that its makers gave to the task. Samples of the 25 tasks of LongBench Pro are of those tasks
(``fathom.benchmarks.pro``).
"""

from functools import partial
from typing import get_args

from fathom.benchmarks.pro.records import NAME
from fathom.benchmarks.pro.secondary_tasks import METRIC_NAMES, Metric
from fathom.benchmarks.pro.tasks import OUTPUT_TOKENS
from fathom.score.registry import strict_score
from fathom.types import CandidatePool, Draw, FathomError, Plan, Resources, Task


def task_of(metric: Metric) -> str:
    """Name of the task that scores own tasks by a metric: ``studio_f1``."""
    return f"studio_{METRIC_NAMES[metric]}"


def pool(resources: Resources) -> CandidatePool:
    """Refuses to build.

    Raises:
        FathomError: Always.
    """
    raise FathomError("samples of the studio cannot be built from documents; write a suite with `fathom studio export`")


def plan(draw: Draw) -> Plan:
    """Never called: there are no candidates."""
    raise AssertionError("unreachable: the pool refuses")


def _task(metric: Metric) -> Task:
    official = f"{NAME}/{metric}"
    return Task(
        name=task_of(metric),
        title=f"Own task ({metric.replace('_', ' ')})",
        plan=plan,
        score=partial(strict_score, metric=official),
        metric=METRIC_NAMES[metric],
        max_output_tokens=OUTPUT_TOKENS,
        description=f"own tasks of the studio, scored by {METRIC_NAMES[metric]}",
        source="fathom studio",
        pool=pool,
        needs="samples made in the studio",
        gold=(),
        noise=(),
        rubric="similarity" if metric == "Summary" else "",
        official=official,
        capped=True,
        lines=metric != "Summary",
    )


TASKS = tuple(map(_task, get_args(Metric)))
