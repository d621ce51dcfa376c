"""LongProc's published records, asked in our own words: routes, beliefs, countdown and web pages.

Each file is a task, whose cap is that of its size.
"""

import json
from collections.abc import Mapping
from functools import partial

from fathom.benchmarks.longproc.records import LARGEST, NAME, SIZES
from fathom.score.registry import strict_score
from fathom.score.released import GOLD
from fathom.storage.toml import packaged_toml
from fathom.suites.tasks.published import Published, asking
from fathom.types import Document, Ending, Task

_PROMPTS: Mapping[str, Mapping[str, str]] = packaged_toml(__package__, "published_prompts.toml")
BEFORE, AFTER = _PROMPTS["before"], _PROMPTS["after"]
REPLIES = {
    "path_traversal": "<Route>\n{}\n</Route>",
    "countdown": "<Solution>\n{}\n</Solution>",
    "html_to_tsv": "```tsv\n{}\n```",
}
SCORED: Mapping[str, tuple[str, str, str]] = {
    "path_traversal": ("path_traversal_partial_accuracy", "prefix", "routes"),
    "tom_tracking": ("tom_tracking_partial_accuracy", "prefix", "beliefs"),
    "countdown": ("countdown_accuracy", "accuracy", "countdown"),
    "html_to_tsv": ("html_to_tsv_f1", "f1", "tables from web pages"),
}
INPUTS = ("nums", "target")
WORDS = {"0.5k": "short", "2k": "medium", "8k": "long"}
"""Sizes of replies in names of tasks."""


def _ending(record: Document, kind: str) -> Ending:
    gold = str(record.meta["gold"])
    return Ending(
        AFTER[kind].format_map(record.meta),
        (REPLIES.get(kind, "{}").format(gold),),
        chance=0.0,
        inputs={
            GOLD: json.dumps(gold),
            **{name: value for name in INPUTS if isinstance(value := record.meta.get(name), str | int)},
        },
    )


def _task(kind: str, size: str) -> Task:
    metric, score, what = SCORED[kind]
    pool, plan = asking(
        Published(f"{NAME}_{kind}_{size}", partial(_ending, kind=kind), before=lambda record: BEFORE.get(kind, ""))
    )
    return Task(
        name=f"longproc_published_{kind}_{WORDS[size]}",
        formerly=f"longproc_published_{kind}" if size == LARGEST else "",
        title=f"LongProc {kind.replace('_', ' ')} {size} (published)",
        plan=plan,
        score=partial(strict_score, metric=f"longproc/{metric}"),
        metric=score,
        max_output_tokens=SIZES[size],
        description=f"the published records of {kind}_{size}: {what}",
        source="LongProc, section 3",
        languages=("en",),
        pool=pool,
        data=(NAME,),
        needs="records of LongProc",
        gold=("record",),
        noise=(),
        official=f"longproc/{metric}",
    )


TASKS = tuple(_task(kind, size) for kind in SCORED for size in SIZES)
