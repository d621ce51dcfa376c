"""The board of LongBench Pro."""

from fathom.benchmarks.pro.secondary_tasks import LENGTHS, PRIMARY, SECONDARY
from fathom.types.boards import Board, Category, Part

BOARDS = (
    Board(
        id="pro",
        title="LongBench Pro",
        suites=("pro",),
        about="1,500 questions in English and Chinese about texts of 8k to 256k tokens: 25 tasks of eleven kinds.",
        rule="mean of all questions",
        categories=tuple(
            Category(
                name.partition(".")[0].lower(),
                name,
                (Part(tuple(task.task for task in SECONDARY if task.primary == name)),),
            )
            for name in PRIMARY
        ),
        lengths=tuple(LENGTHS.values()),
        # Five questions of each task, language and length: a mean over some lengths would be of an easier benchmark.
        counted={task.task: tuple(LENGTHS.values()) for task in SECONDARY},
        items={task.task: 60 for task in SECONDARY},
        weighting="questions",
        extras={
            "english": ("English", "mean of the 750 questions in English", True),
            "chinese": ("Chinese", "mean of the 750 questions in Chinese", True),
            "easy": ("Easy", "mean of the questions that LongBench Pro calls easy", True),
            "moderate": ("Moderate", "mean of its moderate questions", True),
            "hard": ("Hard", "mean of its hard questions", True),
            "extreme": ("Extreme", "mean of its extreme questions", True),
        },
        licence="Apache-2.0",
        citation="Chen et al. (2026), LongBench Pro: A More Realistic and Comprehensive Bilingual Long-Context "
        "Evaluation Benchmark, arXiv:2601.02872",
        url="https://arxiv.org/abs/2601.02872",
        order=3,
    ),
)
