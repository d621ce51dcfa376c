"""LongLeader: 24 data sets in six categories and two sets of lengths, each with its own number of items and lengths.

The tasks are in the order of table 3 of the paper. Their modules define their grids.
"""

from collections.abc import Mapping
from itertools import chain

from fathom.benchmarks.leader import generated_tasks, icl_tasks, kv_tasks, needle_tasks, prompts, record_tasks
from fathom.benchmarks.leader.infinitebench_records import ABOUT
from fathom.types import Grid, Suite

TOKENIZER = "hf:hf-internal-testing/llama-tokenizer"
"""Llama 2's vocabulary in an ungated repository: the paper counts in its tokens (section 3.1)."""

GRIDS: Mapping[str, Grid] = {
    **generated_tasks.GRIDS,
    **needle_tasks.GRIDS,
    **kv_tasks.GRIDS,
    **record_tasks.GRIDS,
    **icl_tasks.GRIDS,
}
"""The grid of every task, by name."""

_RETRIEVAL = ("passkey_5", "passkey_100", "passkey_1000", "needle", "kv")
NAMES = tuple(
    f"leader_{task}"
    for task in (
        *(f"{task}_short" for task in _RETRIEVAL),
        *(f"{task}_long" for task in _RETRIEVAL),
        *("musique", "narrativeqa", "hotpotqa", "en_qa"),
        *("bestchoice", "en_mc"),
        *("dialogre", "fewnerd", "triviaqa"),
        *("qmsum", "gov_report", "en_sum"),
        *("code_debug", "math_find"),
    )
)

RECORDS = (
    *(f"longbench_{dataset}" for dataset in prompts.SHORT),
    "minilongbench",
    *record_tasks.AUTHORS,
    *(f"infinitebench_{dataset}" for dataset in ABOUT),
    *("dialogre", "longicl_dialogre", "fewnerd", "fewnerd_demos"),
)

SUITES = (
    Suite(
        name="leader",
        tasks=NAMES,
        lengths=tuple(sorted(set(chain.from_iterable(grid.lengths for grid in GRIDS.values())))),
        description="LongLeader: retrieval, questions, many examples, summaries, code and numbers up to 32k and 128k",
        source="LongLeader, table 3",
        sources={"record": RECORDS},
        grids=GRIDS,
        tokenizer=TOKENIZER,
    ),
)
