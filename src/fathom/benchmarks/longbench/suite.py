"""All of LongBench and LongBench-E, MiniLongBench's 237 items of it, and LongBench v2."""

from dataclasses import replace

from fathom.benchmarks.longbench.records import ANCHORS, EVEN, LANGUAGES, SOURCES
from fathom.benchmarks.longbench.v2_records import NAME
from fathom.types import Suite

_RECORDS = tuple(source.name for source in SOURCES if source.dataset and not source.name.endswith("_e"))
_EVEN = tuple(source.name for source in SOURCES if source.dataset and source.name.endswith("_e"))

LONGBENCH = Suite(
    name="longbench",
    tasks=tuple(f"longbench_{dataset}" for dataset in LANGUAGES),
    lengths=(2048, 4096, 8192, 16384, 32768, 65536, 131072),
    description="LongBench: 21 tasks on published records in English, Chinese and code, at their own lengths",
    source="LongBench, table 1",
    items=500,
    corpus="",
    sources={"record": _RECORDS},
)


def _suite(name: str, description: str) -> Suite:
    return Suite(
        name=name,
        tasks=(name,),
        # The shortest context has about 10,000 tokens; longer prompts than the longest length are truncated in the
        # middle.
        lengths=(16384, 32768, 65536, 131072, 262144, 524288),
        description=description,
        source="Bai et al. (2024), LongBench v2, arXiv:2412.15204",
        items=503,
        corpus="",
        sources={"record": (NAME,)},
    )


SUITES = (
    LONGBENCH,
    replace(
        LONGBENCH,
        name="longbench_e",
        tasks=tuple(f"longbench_{dataset}" for dataset in EVEN),
        description="LongBench-E: 13 of the tasks on records whose lengths are spread evenly",
        source="LongBench (LongBench-E)",
        sources={"record": _EVEN},
    ),
    replace(
        LONGBENCH,
        name="mini",
        alias="minilongbench",
        description="MiniLongBench: 237 of LongBench's items, chosen to represent all",
        source="MiniLongBench, section 3; its repository",
        sources={"record": (*_RECORDS, "minilongbench")},
        only=tuple(
            f"longbench_{dataset}/{LANGUAGES[dataset]}/{row:04d}" for dataset, rows in ANCHORS.items() for row in rows
        ),
    ),
    _suite(NAME, "the 503 questions of LongBench v2, each once at the length that it has"),
    _suite(f"{NAME}_cot", "the same with thoughts first, and the choice in a second request"),
)
