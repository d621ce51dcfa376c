"""Names of tasks for people."""

from __future__ import annotations

from fathom.benchmarks.leader.sets import SETS
from fathom.benchmarks.pro.secondary_tasks import SECONDARY

_PRO = {task.task: task.name for task in SECONDARY}
_NAMES = (
    *("2WikiMQA", "BestAnswer", "BestChoice", "DuReader", "FewNERD", "HotpotQA", "KV", "LCC", "LSHT", "MuSiQue"),
    *("NarrativeQA", "QA", "QMSum", "Qasper", "RepoBench-P", "SAMSum", "TREC", "TSort", "TriviaQA", "VCSUM"),
)
_LEADER = {
    **{"kv": "Retrieve.KV", "dialogre": "Dialog-RE", "en_qa": "En.QA", "en_mc": "En.MC", "en_sum": "En.Sum"},
    **{"code_debug": "Code.Debug", "math_find": "Math.Find"},
}
_LONGBENCH = {
    **{"multifieldqa_en": "MultiFieldQA-en", "multifieldqa_zh": "MultiFieldQA-zh", "multi_news": "MultiNews"},
    **{"passage_count": "PassageCount", "passage_retrieval_en": "PassageRetrieval-en"},
    **{"passage_retrieval_zh": "PassageRetrieval-zh"},
}
_WRITTEN = {
    **{name.lower(): name for name in _NAMES},
    **{f"leader_{name}": title for name, title in _LEADER.items()},
    **{f"longbench_{name}": title for name, title in _LONGBENCH.items()},
    **{"gov_report": "GovReport", "single_doc_qa": "Single-doc QA", "multi_doc_qa": "Multi-doc QA"},
    **{"single_doc_summary": "Single-doc summary", "multi_doc_summary": "Multi-doc summary"},
}
"""Names of tasks, or of parts of them, as their publishers write them."""


def task_title(task: str) -> str:
    """A task's name for people: data sets as their publishers write them, and the set of lengths behind it."""
    if task in _PRO:
        return _PRO[task]
    known, _, last = task.rpartition("_")
    known, lengths = (known, f" ({last})") if last in SETS else (task, "")
    name = known.removeprefix("leader_").removeprefix("longbench_")
    written = _WRITTEN.get(known) or _WRITTEN.get(name)
    if written is None:
        words = " ".join(_WRITTEN.get(word, word) for word in name.split("_"))
        written = words[:1].upper() + words[1:]
    return written + lengths
