"""The rubric of LongBench Pro's summaries: an embedding model compares the summary with the references.

The request is a JSON object of texts, the reply one with the highest cosine of each summary with a reference::

    {"summaries": ["TEXT", "TEXT"], "references": ["TEXT", "TEXT", "TEXT"]}
    {"cosines": [0.91, 0.94]}

The summaries are the reply as seen by the released code, including the text before the marker, and the answer alone
(``scoring``); one if both are equal. ROUGE-L is computed here; the rule decides which pair is scored.
"""

import json
from collections.abc import Generator

from fathom.benchmarks.pro.official import fold, is_chinese, max_rouge_l
from fathom.benchmarks.pro.scoring import strict_rouge_l, strict_summary_texts, summary_score
from fathom.score.judge import Ask, Case, Parts, Rubric, UnreadableError, check_rule, kept_references
from fathom.score.registry import ScoringRow

RULES = ("official", "strict")
# A cosine computed from rounded numbers can exceed 1.
_ROUNDING = 1e-3


def similarity_steps(case: Case) -> Generator[Ask, str, Parts]:
    """One request for both summaries; none for an empty reply."""
    if not case.said:
        return {f"{part}_{rule}": 0.0 for rule in RULES for part in ("similarity", "rouge")}
    references = [fold(text) for text in kept_references(case)]
    official, strict = fold(case.reply), _answer(case)
    summaries = list(dict.fromkeys(filter(None, (official, strict))))
    request = json.dumps({"summaries": summaries, "references": references}, ensure_ascii=False)
    cosines = dict(zip(summaries, _read((yield Ask("similarity", request)), len(summaries)), strict=True))
    chinese = is_chinese(case.language)
    return {
        "similarity_official": cosines[official],
        "rouge_official": max_rouge_l(official, references, chinese),
        "similarity_strict": cosines.get(strict, 0.0),
        "rouge_strict": strict_rouge_l(strict, references, chinese),
    }


def _answer(case: Case) -> str:
    texts = strict_summary_texts(ScoringRow(case.reply, list(case.references), language=case.language))
    assert isinstance(texts, tuple)  # the reply is a text and there are references
    return texts[0]


def _read(reply: str, count: int) -> list[float]:
    """The cosines in a reply, one per summary."""
    try:
        parsed = json.loads(reply)
    except (ValueError, RecursionError):
        parsed = None
    listed = parsed.get("cosines") if isinstance(parsed, dict) else None
    values = listed[:count] if isinstance(listed, list) else []
    cosines = [float(cosine) for cosine in values if isinstance(cosine, int | float) and abs(cosine) <= 1 + _ROUNDING]
    if len(cosines) < count:
        raise UnreadableError(f"expected {count} cosines, got {reply[:200]!r}")
    return cosines


def similarity_value(parts: Parts, rule: str) -> float:
    """Half the similarity, half ROUGE-L.

    ``official``: 0 if the sum is outside 0 to 1, as in its evaluation. ``strict``: negative cosines count as 0.
    """
    check_rule(rule)
    similarity, rouge = parts[f"similarity_{rule}"], parts[f"rouge_{rule}"]
    if rule == "strict":
        return summary_score(min(1.0, max(0.0, similarity)), rouge)
    value = summary_score(similarity, rouge)
    return value if 0.0 <= value <= 1.0 else 0.0


RUBRICS = (
    Rubric(
        name="similarity",
        version=1,
        steps=similarity_steps,
        value=similarity_value,
        description="half the cosine of embeddings, half ROUGE-L, to the nearest reference",
        source="LongBench Pro, section 3 and its code; the paper embeds with Qwen3-Embedding-8B",
        by="embedding",
    ),
)
