"""The board of LOFT, of published scores alone, which are means of its tasks at 128k tokens."""

from fathom.types.boards import Board, Category, Part

BOARDS = (
    Board(
        id="loft",
        title="LOFT",
        suites=(),
        about="Retrieval, answers, tables and many examples, from a corpus in the prompt of 128k tokens.",
        rule="mean of twelve tasks at 128k, as the source prints it",
        categories=(Category("text", "Text", (Part(("loft_text",)),)),),
        lengths=(131072,),
        counted={"loft_text": (131072,)},
        licence="Apache-2.0 (code), CC BY 4.0 (data)",
        citation="Lee et al. (2024), Can Long-Context Language Models Subsume Retrieval, RAG, SQL, and More?, "
        "arXiv:2406.13121",
        url="https://arxiv.org/abs/2406.13121",
        order=22,
    ),
)
