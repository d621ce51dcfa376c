"""The suite to begin with: six tasks that can be made from any documents, or from none."""

from fathom.types import Suite

SUITES = (
    Suite(
        name="starter",
        tasks=("kv_retrieval", "counting_stars", "passkey", "passage_count", "passage_retrieval", "single_doc_qa"),
        lengths=(2048, 4096, 6144, 8192, 16384, 32768),
        description="key retrieval, counting, passage retrieval and question answering at any length",
        source="tasks of 100-LongBench A.2 and LongLeader table 3",
    ),
)
