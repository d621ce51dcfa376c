"""RULER as two harnesses score it; the released rules are in ``fathom.benchmarks.leader.ruler_scoring``.

``nemo_skills_string_match_*`` (NVIDIA's NeMo Skills) search the reply as it is, where the released code makes newlines
of control characters first. ``lm_eval_process_results*`` (lm-evaluation-harness) are the released rule, but its *part*
takes the largest of one share, which is that share: of three gold texts one gives a third instead of 1.

``strict`` is that of the released rules.
"""

from collections.abc import Callable
from typing import Any

from fathom.benchmarks.leader import ruler_scoring
from fathom.score.registry import Metric, ScoringRow
from fathom.score.released import Answer, Released, released


def _contained(reply: str, gold: Any) -> list[float]:
    return [float(text.lower() in reply.lower()) for text in gold]


def _share(reply: str, gold: Any) -> float:
    contained = _contained(reply, gold)
    return sum(contained) / len(contained)


def _any(reply: str, gold: Any) -> float:
    return max(_contained(reply, gold))


def _official(score: Callable[[str, Any], float], clean: Callable[[str], str]) -> Released:
    def compute(reply: Any, gold: Any, row: ScoringRow) -> Answer:
        text = clean(reply)
        return score(text, gold), bool(text.strip()), None

    return compute


_STRICT = {metric.name: metric.rules["strict"] for metric in ruler_scoring.METRICS}
METRICS = tuple(
    Metric.of("ruler", name, released(_official(score, clean)), _STRICT[f"string_match_{kind}"], description)
    for name, score, clean, kind, description in (
        ("nemo_skills_string_match_all", _share, str, "all", "string_match_all as NeMo Skills computes it"),
        ("nemo_skills_string_match_part", _any, str, "part", "string_match_part as NeMo Skills computes it"),
        (
            "lm_eval_process_results",
            _share,
            ruler_scoring.cleaned,
            "all",
            "string_match_all as lm-evaluation-harness computes it",
        ),
        (
            "lm_eval_process_results_part",
            _share,
            ruler_scoring.cleaned,
            "part",
            "string_match_part as lm-evaluation-harness computes it: a share instead of whether any",
        ),
    )
)
