"""LongLeader's two boards."""

from fathom.benchmarks.ada.board import BEST_OF_MANY
from fathom.benchmarks.leader import icl_tasks
from fathom.types.boards import Board, Category, Part

_CHANCE = {"leader_bestchoice": BEST_OF_MANY, "leader_en_mc": 1 / 4, "leader_code_debug": 1 / 4}
_RETRIEVAL = ("passkey_5", "passkey_100", "passkey_1000", "needle")
_SHORT = {
    "syr": tuple(f"leader_{task}_short" for task in (*_RETRIEVAL, "kv")),
    "f-qa": ("leader_musique", "leader_narrativeqa", "leader_hotpotqa"),
    "mc-qa": ("leader_bestchoice",),
    "icl": ("leader_dialogre", "leader_fewnerd", "leader_triviaqa"),
    "sum": ("leader_qmsum", "leader_gov_report"),
}
_LONG = {
    "syr": tuple(f"leader_{task}_long" for task in (*_RETRIEVAL, "kv")),
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
# Records, but each at all lengths: more examples make the prompts longer.
_LEADER_COUNTED = {task: grid.lengths for task, grid in icl_tasks.GRIDS.items()}
# InfiniteBench's records with at most 128,000 tokens (table 3).
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
    length_tasks=tuple(f"leader_{task}_short" for task in _RETRIEVAL),
    counted=_LEADER_COUNTED,
    missing_is_zero=True,
    chance=_CHANCE,
    licence=_LEADER_LICENCE,
    citation=_LEADER,
    url="https://aclanthology.org/2025.naacl-long.439/",
    order=1,
)

LEADER_128K = Board(
    id="leader-128k",
    title="LongLeader 128K",
    suites=("leader",),
    about="All 24 data sets of LongLeader, six kinds, with texts of up to 128,000 tokens.",
    rule="mean of six categories; each the mean of its tasks up to 32k and of those from 32k to 128k, as two halves",
    categories=tuple(map(_leader, _KINDS)),
    lengths=tuple(range(16_000, 128_001, 16_000)),
    length_tasks=tuple(f"leader_{task}_long" for task in _RETRIEVAL),
    counted=_LEADER_COUNTED,
    items=_LEADER_ITEMS,
    missing_is_zero=True,
    chance=_CHANCE,
    licence=_LEADER_LICENCE,
    citation=_LEADER,
    url="https://aclanthology.org/2025.naacl-long.439/",
    order=2,
)

BOARDS = (LEADER_32K, LEADER_128K)
