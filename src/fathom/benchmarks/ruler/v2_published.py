"""RULERv2's prompts as its released generator writes them, from a copy of yours. They have all instructions.

The released configuration sets no cap on replies; here it is 16,384 tokens.
"""

import json
from functools import partial

from fathom.benchmarks.ruler.v2_records import NAME
from fathom.benchmarks.ruler.v2_scoring import LAST, LETTER, METRIC_OF, PART
from fathom.benchmarks.ruler.v2_tasks import CHANCES, DESCRIPTIONS, SOURCE
from fathom.score.registry import strict_score
from fathom.score.released import GOLD
from fathom.suites.tasks.published import Published, asking
from fathom.types import Document, Ending, Task


def _ending(record: Document, task: str) -> Ending:
    answers = json.loads(str(record.meta["answer"]))
    metric = METRIC_OF[task]
    targets = ["\n".join(answers)]
    if metric == LETTER:
        answers = [answers[0].strip().upper()]
        targets = [f"\\boxed{{{answers[0]}}}"]
    elif metric in (PART, LAST):
        targets = answers
    return Ending("", tuple(targets), chance=CHANCES.get(task, 0.0), inputs={GOLD: json.dumps(answers)})


def _task(name: str, description: str) -> Task:
    pool, plan = asking(Published(f"{NAME}_{name}", partial(_ending, task=name)))
    metric = METRIC_OF[name]
    return Task(
        name=f"ruler2_published_{name}",
        title=f"RULERv2 {name} (published)",
        plan=plan,
        score=partial(strict_score, metric=metric),
        metric="accuracy" if metric == LETTER else "share",
        max_output_tokens=16384,
        description=f"prompts of the released generator: {description}",
        source=SOURCE,
        languages=("en",),
        pool=pool,
        data=(NAME,),
        needs="records of RULERv2",
        gold=("record",),
        noise=(),
        official=metric,
    )


TASKS = tuple(_task(name, description) for name, description in DESCRIPTIONS.items())
