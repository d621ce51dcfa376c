"""100-LongBench: eight tasks of any length made from real documents.

Table 2 of the paper gives the sources of each task; ``Task.gold`` and ``Task.noise`` express it in roles. Appendix A.6
adds sources of law and healthcare.
"""

from dataclasses import replace

from fathom.types import Suite

HUNDRED = Suite(
    name="hundred",
    alias="100longbench",
    tasks=(
        "kv_retrieval",
        "counting_stars",
        "passage_retrieval",
        "passage_count",
        "single_doc_qa",
        "multi_doc_qa",
        "single_doc_summary",
        "multi_doc_summary",
    ),
    lengths=(2048, 4096, 6144, 8192, 16384, 32768, 65536, 131072),
    items=100,
    description="key retrieval, information retrieval, comprehension and summaries, made from real documents",
    source="100-LongBench, table 2",
    corpus="",
    sources={
        "qa": (
            "qasper",
            "multifieldqa_en",
            "narrativeqa",
            "multidoc_qa",
            "legal_contract_qa",
            "financial_qa",
            "natural_question",
            "scientific_qa",
        ),
        "multi_qa": ("hotpotqa", "2wikimqa", "musique", "rag_mini_bioasq"),
        "summary": ("gov_report", "qmsum", "patent_summ", "tv_show_summ", "review_summ", "meeting_summ"),
        "multi_summary": ("multi_news_e",),
        "news": ("cnn_dailymail",),
    },
    closed_book=True,
)

DOMAINS = replace(
    HUNDRED,
    name="hundred_domains",
    alias="",
    description="hundred with documents of law and healthcare added",
    source="100-LongBench, appendix A.6",
    sources={
        **HUNDRED.sources,
        "qa": (*HUNDRED.sources["qa"], "medodyssey"),
        "summary": (*HUNDRED.sources["summary"], "casesumm", "medical_summary"),
    },
)

SUITES = (HUNDRED, DOMAINS)
