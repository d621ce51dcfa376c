"""The board of LongProc, of published scores alone: two of its six procedures are not here."""

from fathom.types.boards import Board, Category, Part

_ALL = ("html_to_tsv", "path_traversal", "tom_tracking", "countdown")
_SIZES = {
    "short": ("0.5K", (*_ALL, "pseudo_to_code")),
    "medium": ("2K", (*_ALL, "pseudo_to_code", "travel_planning")),
    "long": ("8K", (*_ALL, "travel_planning")),
}

BOARDS = (
    Board(
        id="longproc",
        title="LongProc",
        suites=(),
        about="Six procedures that follow exactly from the prompt, with replies of up to 500, 2,000 and 8,000 tokens.",
        rule="mean over the three sizes of replies, each the mean of its procedures",
        categories=tuple(
            Category(size, title, (Part(tuple(f"longproc_published_{kind}_{size}" for kind in kinds)),))
            for size, (title, kinds) in _SIZES.items()
        ),
        licence="Apache-2.0",
        citation="Ye et al. (2025), LongProc: Benchmarking Long-Context Language Models on Long Procedural Generation, "
        "arXiv:2501.05414",
        url="https://arxiv.org/abs/2501.05414",
        order=20,
    ),
)
