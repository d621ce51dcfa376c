"""Ada-LEval: texts to put in order (TSort) and the accepted answer among many (BestAnswer), at any length.

The paper has 1k to 16k for BestAnswer, 2k to 16k for TSort, and the ultra-long 32k to 128k for both (table 1).
"""

from fathom.types import Suite

SUITES = (
    Suite(
        name="ada",
        alias="ada_leval",
        tasks=("tsort", "bestanswer"),
        lengths=(1024, 2048, 4096, 6144, 8192, 12288, 16384, 32768, 65536, 131072),
        items=100,
        description="parts of a novel to put in order, and the answer that an asker accepted among many",
        source="Ada-LEval, sections 3 and 4",
        corpus="",
    ),
    Suite(
        name="ada_published",
        tasks=("bestanswer_published",),
        lengths=(1024,),
        items=1000,
        description="the published cases of BestAnswer as they are",
        source="Ada-LEval, section 4; its repository",
        corpus="",
    ),
)
