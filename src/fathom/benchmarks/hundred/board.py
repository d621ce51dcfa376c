"""The board of 100-LongBench."""

from fathom.types.boards import Board, Category, Part

_CATEGORIES = {
    "key-retrieval": ("Key retrieval", ("kv_retrieval", "counting_stars")),
    "information-retrieval": ("Information retrieval", ("passage_retrieval", "passage_count")),
    "comprehension": ("Comprehension", ("single_doc_qa", "multi_doc_qa")),
    "summarization": ("Summarization", ("single_doc_summary", "multi_doc_summary")),
}
# The paper averages over these (tables 4 and 7); shorter ones are Base Ability.
_COUNTED = (8192, 16384, 32768, 65536, 131072)

BOARDS = (
    Board(
        id="hundred",
        title="100-LongBench",
        suites=("hundred",),
        about="Eight tasks made from real documents at any length, asked at 2k to 128k tokens.",
        rule="mean of eight tasks, each the mean over 8k, 16k, 32k, 64k and 128k",
        categories=tuple(Category(name, title, (Part(tasks),)) for name, (title, tasks) in _CATEGORIES.items()),
        lengths=(2048, 4096, 6144, *_COUNTED, 262144),
        counted={task: _COUNTED for _, tasks in _CATEGORIES.values() for task in tasks},
        extras={
            "base": ("Base Ability", "mean score at 2k, 4k and 6k", True),
            "longscore": ("LongScore", "mean relative change from Base Ability to the score at longer lengths", True),
        },
        unbounded=("longscore",),
        licence="MIT (100-LongBench, LongBench); GPL-3.0 (L-Eval)",
        citation="Yang et al. (2025), 100-LongBench: Are de facto Long-Context Benchmarks Literally Evaluating "
        "Long-Context Ability?, arXiv:2505.19293",
        url="https://arxiv.org/abs/2505.19293",
        order=4,
    ),
)
