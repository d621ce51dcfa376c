"""The board of BABILong: its first five tasks, as its authors average them."""

from fathom.benchmarks.babilong.records import NAME
from fathom.benchmarks.babilong.scoring import LABELS
from fathom.types.boards import Board, Category, Part

_COUNTED = tuple(1024 * 2**n for n in range(8))
_KINDS = {
    "qa1": "One fact",
    "qa2": "Two facts",
    "qa3": "Three facts",
    "qa4": "Two arguments",
    "qa5": "Three arguments",
}

BOARDS = (
    Board(
        id="babilong",
        title="BABILong",
        suites=(NAME,),
        about="Facts of the first five bAbI tasks, scattered in books, with a question about them.",
        rule="mean of five tasks, each the mean over 1k to 128k; longer ones are shown and do not count",
        categories=tuple(
            Category(kind, title, (Part((f"babilong_published_{kind}",)),)) for kind, title in _KINDS.items()
        ),
        lengths=(*_COUNTED, 524288, 1048576),
        counted={f"babilong_published_{kind}": _COUNTED for kind in _KINDS},
        chance={f"babilong_published_{kind}": 1 / len(LABELS[kind]) for kind in _KINDS},
        licence="Apache-2.0; BSD (bAbI)",
        citation="Kuratov et al. (2024), BABILong: Testing the Limits of LLMs with Long Context "
        "Reasoning-in-a-Haystack, arXiv:2406.10149",
        url="https://arxiv.org/abs/2406.10149",
        order=13,
    ),
)
