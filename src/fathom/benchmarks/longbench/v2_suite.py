"""LongBench v2: 503 questions with four choices, answered at once or after thoughts."""

from fathom.benchmarks.longbench.v2_records import NAME
from fathom.types import Suite


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
    _suite(NAME, "the 503 questions of LongBench v2, each once at the length that it has"),
    _suite(f"{NAME}_cot", "the same with thoughts first, and the choice in a second request"),
)
