"""The board of Ada-LEval."""

from fathom.types.boards import Board, Category, Part

BEST_OF_MANY = (0.267 + 0.101 + 0.045 + 0.030 + 0.023 + 0.014 + 0.011) / 7
"""Mean score of random guessing at 1k, 2k, 4k, 6k, 8k, 12k and 16k (Ada-LEval, table 3)."""

BOARDS = (
    Board(
        id="ada",
        title="Ada-LEval",
        suites=("ada",),
        about="Parts of a novel to put in order (TSort) and the answer that an asker accepted among many (BestAnswer).",
        rule="mean of both tasks over the long-context lengths (up to 16k); longer ones are shown and do not count",
        categories=(
            Category("tsort", "TSort", (Part(("tsort",)),)),
            Category("bestanswer", "BestAnswer", (Part(("bestanswer",)),)),
        ),
        # Those shared by both tasks.
        lengths=(2048, 4096, 8192, 16384, 32768, 65536, 131072),
        chance={"tsort": 1 / 24, "bestanswer": BEST_OF_MANY},
        counted={
            "tsort": (2048, 4096, 8192, 16384),
            "bestanswer": (1024, 2048, 4096, 6144, 8192, 12288, 16384),
        },
        # It has the same questions at all lengths up to 16k (section 3.3).
        paired=("bestanswer",),
        extras={
            "followed_tsort": ("Form right, TSort", "share of replies whose form was right", True),
            "followed_bestanswer": ("Form right, BestAnswer", "share of replies whose form was right", True),
            "copied_tsort": ("Copied, TSort", "share of replies that repeat the order in the example", True),
            "copied_bestanswer": ("Copied, BestAnswer", "share of replies that repeat the answer in the example", True),
        },
        licence="not stated (Ada-LEval); CC BY-SA (Stack Overflow); public domain (Project Gutenberg)",
        citation="Wang et al. (2024), Ada-LEval: Evaluating long-context LLMs with length-adaptable benchmarks, "
        "arXiv:2404.06480",
        url="https://arxiv.org/abs/2404.06480",
        order=5,
    ),
)
