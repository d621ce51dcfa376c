"""The suite ``frontier``: a selection of the benchmarks that makers print, generated and as published.

It costs little: ten items of each task. Generated items are the same at every length; published records, which have
one length each, are as many at each length. Tasks whose records are not given are left out. AA-LCR, which has one
length and needs a judge, is a suite of its own.
"""

from fathom.benchmarks.babilong.records import NAME as BABILONG
from fathom.benchmarks.graphwalks.records import SOURCE_NAME as GRAPHWALKS
from fathom.benchmarks.mrcr.records import OPENAI as MRCR
from fathom.benchmarks.nolima.records import NAME as NOLIMA
from fathom.types import Suite

GENERATED = (
    "mrcr_8",
    "graphwalks_bfs",
    "graphwalks_parents",
    "ruler_niah_multikey_3",
    "ruler_vt",
    "ruler_cwe",
    "nolima_twohop",
    "babilong_qa2",
)
PUBLISHED = (
    "mrcr_published_8",
    "graphwalks_published_bfs",
    "graphwalks_published_parents",
    "nolima_published_twohop",
    "babilong_published_qa2",
)
SUITES = (
    Suite(
        name="frontier",
        tasks=(*GENERATED, *PUBLISHED),
        lengths=(8192, 32768, 131072),
        description="what makers print: MRCR, Graphwalks, RULER, NoLiMa and BABILong, generated and published",
        source="model cards of 2026",
        items=10,
        sources={"record": (MRCR, GRAPHWALKS, NOLIMA, BABILONG)},
        each_length=True,
        languages=("en",),
    ),
)
