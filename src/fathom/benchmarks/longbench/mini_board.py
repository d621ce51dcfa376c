"""The board of MiniLongBench."""

from fathom.types.boards import Board, Category, Part

_CATEGORIES = {
    "single-doc-qa": ("Single-document QA", ("narrativeqa", "qasper", "multifieldqa_en", "multifieldqa_zh")),
    "multi-doc-qa": ("Multi-document QA", ("hotpotqa", "2wikimqa", "musique", "dureader")),
    "summarization": ("Summarization", ("gov_report", "qmsum", "multi_news", "vcsum")),
    "few-shot": ("Few-shot learning", ("trec", "triviaqa", "samsum", "lsht")),
    "synthetic": ("Synthetic tasks", ("passage_count", "passage_retrieval_en", "passage_retrieval_zh")),
    "code": ("Code completion", ("lcc", "repobench-p")),
}

BOARDS = (
    Board(
        id="mini",
        title="MiniLongBench",
        suites=("mini",),
        about="237 of LongBench's 4,750 questions, from all of its 21 tasks, chosen to represent all of them.",
        rule="mean of six categories, each the mean of its tasks",
        categories=tuple(
            Category(name, title, (Part(tuple(f"longbench_{task}" for task in tasks)),))
            for name, (title, tasks) in _CATEGORIES.items()
        ),
        extras={"longbench": ("All of LongBench", "the same average over all 4,750 questions of LongBench", True)},
        licence="not stated (MiniLongBench); MIT (LongBench)",
        citation="Huang et al. (2025), MiniLongBench: The Low-cost Long Context Understanding Benchmark for Large "
        "Language Models, arXiv:2505.19959",
        url="https://arxiv.org/abs/2505.19959",
        order=6,
    ),
)
