"""The board of HELMET, of published scores alone, which are of its data at 128k tokens."""

from fathom.types.boards import Board, Category, Part

_KINDS = {
    "recall": "Recall",
    "rag": "RAG",
    "icl": "ICL",
    "cite": "Cite",
    "rerank": "Re-rank",
    "longqa": "LongQA",
    "summ": "Summ",
}

BOARDS = (
    Board(
        id="helmet",
        title="HELMET",
        suites=(),
        about="Seven kinds of tasks at 128k tokens: recall, retrieval-augmented answers, many examples, citations, "
        "ranking, questions and summaries.",
        rule="mean of seven kinds of tasks",
        categories=tuple(Category(kind, title, (Part((f"helmet_{kind}",)),)) for kind, title in _KINDS.items()),
        licence="MIT",
        citation="Yen et al. (2024), HELMET: How to Evaluate Long-Context Language Models Effectively and Thoroughly, "
        "arXiv:2410.02694",
        url="https://arxiv.org/abs/2410.02694",
        order=21,
    ),
)
