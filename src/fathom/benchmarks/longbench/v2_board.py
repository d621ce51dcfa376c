"""The board of LongBench v2."""

from fathom.types.boards import Board, Category, Part

_SETS = {
    "easy": ("Easy", "questions that the benchmark calls easy"),
    "hard": ("Hard", "questions that the benchmark calls hard"),
    "short": ("Short", "contexts of up to 32,000 words"),
    "medium": ("Medium", "contexts of 32,000 to 128,000 words"),
    "long": ("Long", "contexts of more than 128,000 words"),
}

BOARDS = (
    Board(
        id="longbench-v2",
        title="LongBench v2",
        suites=("longbench_v2",),
        about="503 questions with four choices over contexts of 8,000 to 2 million words.",
        rule="share of right answers",
        categories=(Category("questions", "Questions", (Part(("longbench_v2",)),)),),
        chance={"longbench_v2": 0.25},
        extras={name: (title, text, True) for name, (title, text) in _SETS.items()},
        licence="Apache-2.0",
        citation="Bai et al. (2024), LongBench v2: Towards Deeper Understanding and Reasoning on Realistic "
        "Long-context Multitasks, arXiv:2412.15204",
        url="https://arxiv.org/abs/2412.15204",
        order=18,
    ),
)
