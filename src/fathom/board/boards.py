"""The boards: LongLeader's two, and one for each of the other suites that papers have published results of."""

from __future__ import annotations

from fathom.benchmarks.leader import icl_tasks
from fathom.benchmarks.pro.secondary_tasks import LENGTHS, PRIMARY, SECONDARY
from fathom.board.model import Board, Category, Part
from fathom.names import unknown

# The mean of what a random guess scores at 1k, 2k, 4k, 6k, 8k, 12k and 16k (Ada-LEval, table 3).
_BEST_OF_MANY = (0.267 + 0.101 + 0.045 + 0.030 + 0.023 + 0.014 + 0.011) / 7
_CHANCE = {"leader_bestchoice": _BEST_OF_MANY, "leader_en_mc": 1 / 4, "leader_code_debug": 1 / 4}
_RETRIEVAL = ("passkey_5", "passkey_100", "passkey_1000", "needle")
_SHORT = {
    "syr": tuple(f"leader_{task}_32k" for task in (*_RETRIEVAL, "kv")),
    "f-qa": ("leader_musique", "leader_narrativeqa", "leader_hotpotqa"),
    "mc-qa": ("leader_bestchoice",),
    "icl": ("leader_dialogre", "leader_fewnerd", "leader_triviaqa"),
    "sum": ("leader_qmsum", "leader_gov_report"),
}
_LONG = {
    "syr": tuple(f"leader_{task}_128k" for task in (*_RETRIEVAL, "kv")),
    "f-qa": ("leader_en_qa",),
    "mc-qa": ("leader_en_mc",),
    "sum": ("leader_en_sum",),
    "lgr": ("leader_code_debug", "leader_math_find"),
}
_KINDS = {
    "syr": "Synthetic retrieval",
    "f-qa": "Free-form questions",
    "mc-qa": "Multiple choice",
    "icl": "In-context learning",
    "sum": "Summarization",
    "lgr": "Logical reasoning",
}
# Records, and yet each stands at all lengths: more examples make the prompts longer.
_LEADER_COUNTED = {task: grid.lengths for task, grid in icl_tasks.GRIDS.items()}
# Of InfiniteBench's records those that have no more than 128,000 tokens (table 3).
_LEADER_ITEMS = {
    "leader_en_qa": 92,
    "leader_en_mc": 63,
    "leader_en_sum": 37,
    "leader_code_debug": 155,
    "leader_math_find": 350,
}
_LEADER = (
    "Chen et al. (2025), LongLeader: A Comprehensive Leaderboard for Large Language Models in Long-context Scenarios, "
    "NAACL 2025"
)
_LEADER_LICENCE = (
    "Each data set has its own: MIT (InfiniteBench, LongBench, LongICLBench, QMSum), CC BY-SA (HotpotQA, BestChoice), "
    "CC BY (MuSiQue), research only (DialogRE)"
)


def _leader(kind: str) -> Category:
    parts = (Part(_SHORT.get(kind, ()), "up to 32k"), Part(_LONG.get(kind, ()), "32k to 128k"))
    return Category(kind, _KINDS[kind], tuple(part for part in parts if part.tasks))


LEADER_32K = Board(
    id="leader-32k",
    title="LongLeader 32K",
    suites=("leader",),
    about="Fourteen data sets of five kinds with texts of up to 32,000 tokens (LongLeader's 32K set).",
    rule="mean of five categories, each the mean of its tasks",
    categories=tuple(Category(kind, _KINDS[kind], (Part(tasks),)) for kind, tasks in _SHORT.items()),
    lengths=tuple(range(4000, 32001, 4000)),
    length_tasks=tuple(f"leader_{task}_32k" for task in _RETRIEVAL),
    counted=_LEADER_COUNTED,
    missing_is_zero=True,
    chance=_CHANCE,
    licence=_LEADER_LICENCE,
    citation=_LEADER,
    url="https://aclanthology.org/2025.naacl-long.439/",
)

LEADER_128K = Board(
    id="leader-128k",
    title="LongLeader 128K",
    suites=("leader",),
    about="All 24 data sets of LongLeader, six kinds, with texts of up to 128,000 tokens.",
    rule="mean of six categories; each the mean of its tasks up to 32k and of those from 32k to 128k, as two halves",
    categories=tuple(map(_leader, _KINDS)),
    lengths=tuple(range(16_000, 128_001, 16_000)),
    length_tasks=tuple(f"leader_{task}_128k" for task in _RETRIEVAL),
    counted=_LEADER_COUNTED,
    items=_LEADER_ITEMS,
    missing_is_zero=True,
    chance=_CHANCE,
    licence=_LEADER_LICENCE,
    citation=_LEADER,
    url="https://aclanthology.org/2025.naacl-long.439/",
)

PRO = Board(
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
    # Five questions of each task, language and length: a mean over some lengths would be that of an easier benchmark.
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
    citation="Chen et al. (2026), LongBench Pro: A More Realistic and Comprehensive Bilingual Long-Context Evaluation "
    "Benchmark, arXiv:2601.02872",
    url="https://arxiv.org/abs/2601.02872",
)

_HUNDRED = {
    "key-retrieval": ("Key retrieval", ("kv_retrieval", "counting_stars")),
    "information-retrieval": ("Information retrieval", ("passage_retrieval", "passage_count")),
    "comprehension": ("Comprehension", ("single_doc_qa", "multi_doc_qa")),
    "summarization": ("Summarization", ("single_doc_summary", "multi_doc_summary")),
}
# The paper averages over these (tables 4 and 7); what is shorter is Base Ability.
_HUNDRED_COUNTED = (8192, 16384, 32768, 65536, 131072)

HUNDRED = Board(
    id="hundred",
    title="100-LongBench",
    suites=("hundred",),
    about="Eight tasks made from real documents at any length, asked at 2k to 128k tokens.",
    rule="mean of eight tasks, each the mean over 8k, 16k, 32k, 64k and 128k",
    categories=tuple(Category(name, title, (Part(tasks),)) for name, (title, tasks) in _HUNDRED.items()),
    lengths=(2048, 4096, 6144, *_HUNDRED_COUNTED, 262144),
    counted={task: _HUNDRED_COUNTED for _, tasks in _HUNDRED.values() for task in tasks},
    extras={
        "base": ("Base Ability", "mean score at 2k, 4k and 6k", True),
        "longscore": ("LongScore", "mean relative change from Base Ability to the score at longer lengths", True),
    },
    unbounded=("longscore",),
    licence="MIT (100-LongBench, LongBench); GPL-3.0 (L-Eval)",
    citation="Yang et al. (2025), 100-LongBench: Are de facto Long-Context Benchmarks Literally Evaluating "
    "Long-Context Ability?, arXiv:2505.19293",
    url="https://arxiv.org/abs/2505.19293",
)

ADA = Board(
    id="ada",
    title="Ada-LEval",
    suites=("ada",),
    about="Parts of a novel to put in order (TSort) and the answer that an asker accepted among many (BestAnswer).",
    rule="mean of both tasks over the long-context lengths (up to 16k); longer ones are shown and do not count",
    categories=(
        Category("tsort", "TSort", (Part(("tsort",)),)),
        Category("bestanswer", "BestAnswer", (Part(("bestanswer",)),)),
    ),
    # Those that both tasks have.
    lengths=(2048, 4096, 8192, 16384, 32768, 65536, 131072),
    chance={"tsort": 1 / 24, "bestanswer": _BEST_OF_MANY},
    counted={
        "tsort": (2048, 4096, 8192, 16384),
        "bestanswer": (1024, 2048, 4096, 6144, 8192, 12288, 16384),
    },
    # Its questions are the same at all lengths up to 16k (section 3.3).
    paired=("bestanswer",),
    extras={
        "followed_tsort": ("Form right, TSort", "share of replies whose form was right", True),
        "followed_bestanswer": ("Form right, BestAnswer", "share of replies whose form was right", True),
        "copied_tsort": ("Copied, TSort", "share of replies that repeat the order in the example", True),
        "copied_bestanswer": ("Copied, BestAnswer", "share of replies that repeat the answer in the example", True),
    },
    licence="not stated (Ada-LEval); CC BY-SA (Stack Overflow); public domain (Project Gutenberg)",
    citation="Wang et al. (2024), Ada-LEval: Evaluating long-context LLMs with length-adaptable benchmarks, "
    "arXiv:2404.06480",
    url="https://arxiv.org/abs/2404.06480",
)

_MINI = {
    "single-doc-qa": ("Single-document QA", ("narrativeqa", "qasper", "multifieldqa_en", "multifieldqa_zh")),
    "multi-doc-qa": ("Multi-document QA", ("hotpotqa", "2wikimqa", "musique", "dureader")),
    "summarization": ("Summarization", ("gov_report", "qmsum", "multi_news", "vcsum")),
    "few-shot": ("Few-shot learning", ("trec", "triviaqa", "samsum", "lsht")),
    "synthetic": ("Synthetic tasks", ("passage_count", "passage_retrieval_en", "passage_retrieval_zh")),
    "code": ("Code completion", ("lcc", "repobench-p")),
}

MINI = Board(
    id="mini",
    title="MiniLongBench",
    suites=("mini",),
    about="237 of LongBench's 4,750 questions, from all of its 21 tasks, chosen to stand for the whole.",
    rule="mean of six categories, each the mean of its tasks",
    categories=tuple(
        Category(name, title, (Part(tuple(f"longbench_{task}" for task in tasks)),))
        for name, (title, tasks) in _MINI.items()
    ),
    extras={"longbench": ("All of LongBench", "the same average over all 4,750 questions of LongBench", True)},
    licence="not stated (MiniLongBench); MIT (LongBench)",
    citation="Huang et al. (2025), MiniLongBench: The Low-cost Long Context Understanding Benchmark for Large Language "
    "Models, arXiv:2505.19959",
    url="https://arxiv.org/abs/2505.19959",
)

BOARDS = (LEADER_32K, LEADER_128K, PRO, HUNDRED, ADA, MINI)


def get_board(name: str) -> Board:
    """The board with this id.

    Raises:
        FathomError: There is no such board.
    """
    known = {board.id: board for board in BOARDS}
    if name not in known:
        raise unknown("board", name, known, see="fathom board build --help")
    return known[name]
