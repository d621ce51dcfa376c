"""LongProc's published records, asked in our own words: routes, beliefs, countdown and web pages."""

import json
from collections.abc import Mapping
from functools import partial

from fathom.benchmarks.longproc.records import NAME
from fathom.score.registry import strict_score
from fathom.score.released import GOLD
from fathom.suites.tasks.published import Published, asking
from fathom.types import Document, Ending, Task

BEFORE = {
    "tom_tracking": "Below is a story in steps. Somebody who is in the room of a thing sees where it is. Somebody who "
    "is in no room, or in another one, goes on believing that it is where they last saw it; who has never seen it has "
    "the belief None.\n\n",
    "html_to_tsv": "Below is a web page.\n\n",
}
AFTER = {
    "path_traversal": "\n\nWrite the route from {start} to {end}, one line for each connection, in this form and with "
    "nothing else:\n<Route>\nFrom CITY, take a TRANSIT to CITY.\nFrom CITY, take a TRANSIT to CITY.\n</Route>",
    "tom_tracking": "\n\nQuestion: {question}\n\nAnswer by following that person and that thing. Write one line for "
    "each "
    "step from 0, in exactly this form, and nothing else:\n"
    "- Step NUMBER: (initial state) {{PERSON location: ROOM; THING location: CONTAINER; PERSON sees THING: True; "
    "PERSON's belief on THING: CONTAINER}}\nFrom step 1, write in brackets instead of `initial state` what the step "
    "changed, as in `(PERSON location changed; THING location unchanged)`. A container is written with its room, as in "
    "`kitchen's shelf`, names of things and rooms are written without `the`. The location of a person in no room is "
    "None.",
    "countdown": "\n\nUse each of the four numbers once, with +, -, * and /, to reach the target. Results on the way "
    "are "
    "positive whole numbers of at most 2000. End your reply with three equations of two numbers each, where results "
    "may "
    "be used further, in this form:\n<Solution>\na + b = c\nc - d = e\ne * f = g\n</Solution>",
    "html_to_tsv": "\n\nThe page is about this: {topic}\nWrite a table of the items on it, in their order, with these "
    "properties: {asked}\nA property that is missing is N/A; several values are separated by commas; values are copied "
    "as they are, with units and without tags or line breaks. Write the table with tabs between properties, in this "
    "form and with nothing else:\n```tsv\n{header}\n...\n```",
}
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


def _task(kind: str) -> Task:
    metric, score, what = SCORED[kind]
    pool, plan = asking(
        Published(f"{NAME}_{kind}", partial(_ending, kind=kind), before=lambda record: BEFORE.get(kind, ""))
    )
    return Task(
        name=f"longproc_published_{kind}",
        title=f"LongProc {kind} (published)",
        plan=plan,
        score=partial(strict_score, metric=f"longproc/{metric}"),
        metric=score,
        max_output_tokens=10240,
        description=f"the published records of {kind}: {what}",
        source="LongProc, section 3",
        languages=("en",),
        pool=pool,
        data=(NAME,),
        needs="records of LongProc",
        gold=("record",),
        noise=(),
        official=f"longproc/{metric}",
    )


TASKS = tuple(map(_task, SCORED))
