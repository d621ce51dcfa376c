"""The board of AA-LCR."""

from fathom.types.boards import Board, Category, Part

BOARDS = (
    Board(
        id="aa-lcr",
        title="AA-LCR",
        suites=("aa_lcr",),
        about="100 questions over several documents of about 100k tokens together, which a judge scores. Each source "
        "has a judge of its own.",
        rule="share of right answers",
        categories=(Category("questions", "Questions", (Part(("aa_lcr",)),)),),
        licence="Apache-2.0",
        citation="Artificial Analysis (2025), AA-LCR, huggingface.co/datasets/ArtificialAnalysis/AA-LCR",
        url="https://huggingface.co/datasets/ArtificialAnalysis/AA-LCR",
        order=17,
    ),
)
