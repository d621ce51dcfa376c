"""The rubrics of answers and of summaries.

The scales are those of 100-LongBench (appendix A.2 and its code): fluency 0 to 2 times correctness 0 to 3 for answers,
fluency 0 or 1 times precision for summaries. The wording is our own and independent of the subject. Precision alone
rewards a summary of one safe sentence; the rule ``strict`` replaces it by the F1 of precision and recall of key points,
as in HELMET (Yen et al. 2024).
"""

from collections.abc import Generator
from types import MappingProxyType

from fathom.score import judge_texts
from fathom.score.judge import Ask, Case, Parts, Rubric, asked, check_rule, kept_references
from fathom.score.judge_texts import numbered, prompt, read_lines, read_marks, read_numbers, sentences

_MARKS = MappingProxyType({"fluency": 2, "correctness": 3})
_LANGUAGES = MappingProxyType({"en": "English", "zh": "Chinese"})


# ------------------------------------------------------------------------------------------------- answers


def answer_steps(case: Case) -> Generator[Ask, str, Parts]:
    """One request for both marks, with all acceptable answers."""
    if not case.said:
        return dict.fromkeys(_MARKS, 0)
    answers = kept_references(case)
    listed = [(f"accepted answer {number}", text) for number, text in enumerate(answers, start=1)]
    request = prompt(
        judge_texts.ANSWER_INTRO, [("question", case.asked), *listed, ("reply", case.said)], judge_texts.ANSWER_REQUEST
    )
    return (yield from asked("answer", request, lambda reply: read_marks(reply, _MARKS)))


def answer_value(parts: Parts, rule: str) -> float:
    """Fluency times correctness, as a share of the 6 points; the same under both rules."""
    check_rule(rule)
    return parts["fluency"] * parts["correctness"] / 6


# ----------------------------------------------------------------------------------------------- summaries


def summary_steps(case: Case) -> Generator[Ask, str, Parts]:
    """Requests for fluency, the sentences supported by the references, and the covered key points of each reference.

    A sentence may be supported by any reference; recall is that of the reference covered best.
    """
    lines = sentences(case.said)
    if not lines:
        return {"fluency": 0, "precision": 0, "recall": 0}
    references = kept_references(case)
    listed = [(f"reference {number}", text) for number, text in enumerate(references, start=1)]
    texts = [("request", case.asked), ("summary", case.said)]
    expected = _LANGUAGES.get(case.language, f"the language with the code {case.language!r}")
    fluency = yield from asked(
        "fluency",
        prompt(judge_texts.FLUENCY_INTRO, texts, judge_texts.FLUENCY_REQUEST.format(language=expected)),
        lambda reply: read_marks(reply, {"fluency": 1}),
    )
    supported = yield from asked(
        "precision",
        prompt(
            judge_texts.PRECISION_INTRO,
            [*listed, ("sentences", numbered(lines))],
            judge_texts.PRECISION_REQUEST.format(last=len(lines)),
        ),
        lambda reply: read_numbers(reply, "supported", len(lines)),
    )
    recall = 0.0
    for reference in references:
        covered = yield from _covered(reference, case.said)
        recall = max(recall, covered)
    return {"fluency": fluency["fluency"], "precision": len(supported) / len(lines), "recall": recall}


def _covered(reference: str, summary: str) -> Generator[Ask, str, float]:
    """Share of the key points of a reference that a summary covers."""
    # This request is the same for all summaries, so that all are compared with the same points, and it is cached.
    points = yield from asked(
        "key_points",
        prompt(judge_texts.POINTS_INTRO, [("reference", reference)], judge_texts.POINTS_REQUEST),
        lambda reply: read_lines(reply, "key_points"),
    )
    texts = [("key points", numbered(points)), ("summary", summary)]
    covered = yield from asked(
        "recall",
        prompt(judge_texts.RECALL_INTRO, texts, judge_texts.RECALL_REQUEST.format(last=len(points))),
        lambda reply: read_numbers(reply, "covered", len(points)),
    )
    return len(covered) / len(points)


def summary_value(parts: Parts, rule: str) -> float:
    """``official``: fluency times precision. ``strict``: fluency times the F1 of precision and recall."""
    check_rule(rule)
    precision, recall = parts["precision"], parts["recall"]
    if rule == "official":
        return parts["fluency"] * precision
    return parts["fluency"] * 2 * precision * recall / (precision + recall) if precision and recall else 0.0


RUBRICS = (
    Rubric(
        name="qa",
        version=1,
        steps=answer_steps,
        value=answer_value,
        description="fluency 0 to 2 times correctness 0 to 3, of 6 points",
        source="100-LongBench, appendix A.2",
    ),
    Rubric(
        name="summary",
        version=1,
        steps=summary_steps,
        value=summary_value,
        description="fluency 0 or 1 times precision (official), times F1 of precision and recall (strict)",
        source="100-LongBench, appendix A.2; recall as in HELMET",
    ),
)
