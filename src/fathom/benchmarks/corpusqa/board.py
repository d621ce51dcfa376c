"""The board of CorpusQA, of published scores alone, which are of its records of 1M tokens."""

from fathom.types.boards import Board, Category, Part

BOARDS = (
    Board(
        id="corpusqa",
        title="CorpusQA",
        suites=(),
        about="Questions over collections of documents of 1M tokens, which a judge scores.",
        rule="share of right answers at 1M",
        categories=(Category("questions", "Questions", (Part(("corpusqa",)),)),),
        lengths=(1048576,),
        counted={"corpusqa": (1048576,)},
        licence="MIT",
        citation="Tongyi Lab (2025), CorpusQA: A 10 Million Token Benchmark for Corpus-Level Analysis and Reasoning, "
        "github.com/Tongyi-Zhiwen/CorpusQA",
        url="https://github.com/Tongyi-Zhiwen/CorpusQA",
        order=19,
    ),
)
