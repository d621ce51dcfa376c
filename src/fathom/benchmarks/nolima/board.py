"""The boards of NoLiMa: its tests of one and two hops, and the ten hardest pairs of needle and question."""

from fathom.benchmarks.nolima.records import NAME
from fathom.types.boards import Board, Category, Part

_LENGTHS = (1024, 2048, 4096, 8192, 16384, 32768)
_HARD = "nolima_published_hard"
_LICENCE = "Adobe Research License, non-commercial"
_CITATION = "Modarressi et al. (2025), NoLiMa: Long-Context Evaluation Beyond Literal Matching, arXiv:2502.05167"
_URL = "https://arxiv.org/abs/2502.05167"
_BASE = ("Base score", "the score at 250, 500 and 1k tokens, as the README prints it", True)
_HOPS = {"onehop": "One hop", "twohop": "Two hops"}

BOARDS = (
    Board(
        id="nolima",
        title="NoLiMa",
        suites=(NAME,),
        about="A name in a long text, whose sentence shares no words with the question. Published scores are over all "
        "questions, of one hop and of two.",
        rule="mean of one hop and two hops, each the mean over 1k to 32k",
        categories=tuple(
            Category(kind, title, (Part((f"nolima_published_{kind}",)),)) for kind, title in _HOPS.items()
        ),
        lengths=_LENGTHS,
        counted={f"nolima_published_{kind}": _LENGTHS for kind in _HOPS},
        extras={
            "base": _BASE,
            "effective": (
                "Effective, k",
                "longest length that keeps 85% of the base score, in thousands of tokens, as the README prints it; 0 "
                "for less than 1",
                False,
            ),
        },
        licence=_LICENCE,
        citation=_CITATION,
        url=_URL,
        order=11,
    ),
    Board(
        id="nolima-hard",
        title="NoLiMa-Hard",
        suites=(NAME,),
        about="The ten pairs of needle and question of NoLiMa that were the hardest.",
        rule="mean over 4k, 8k, 16k and 32k",
        categories=(Category("hard", "Hard", (Part((_HARD,)),)),),
        lengths=_LENGTHS[2:],
        counted={_HARD: _LENGTHS[2:]},
        extras={"base": _BASE},
        licence=_LICENCE,
        citation=_CITATION,
        url=_URL,
        order=12,
    ),
)
