"""Forms of samples: fields to actions, and back."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast

from fathom.server.answers import AnswerError
from fathom.studio.records import MOST_ITEMS, RecordError, from_record
from fathom.studio.types import (
    FAULTS,
    Action,
    Adjudicate,
    Audit,
    Component,
    ComponentVerdict,
    Content,
    Edit,
    Evidence,
    ExpertPass,
    ExpertReturn,
    Mark,
    Reconstruct,
    Reject,
    Requirement,
    Sample,
    Select,
    Standardise,
    SubmitForReview,
    SubmitReview,
    Write,
)
from fathom.studio.web.visit import Form


@dataclass(frozen=True, slots=True)
class _Evidences:
    evidence: tuple[Evidence, ...]


FORMS: dict[str, type[Action]] = {
    "select": Select,
    "write": Write,
    "edit": Edit,
    "submit": SubmitForReview,
    "pass": ExpertPass,
    "return": ExpertReturn,
    "standardise": Standardise,
    "review": SubmitReview,
    "adjudicate": Adjudicate,
    "reconstruct": Reconstruct,
    "reject": Reject,
    "audit": Audit,
}
"""Actions by the name of their form."""


def action_of(name: str, sample: Sample, form: Form) -> Action:
    """The action of a form.

    Args:
        name: Name of the form.
        sample: The sample as it is now.
        form: Its fields.

    Raises:
        AnswerError: There is no such form.
        RecordError: A field is invalid.
    """
    id, version, seconds, reason = sample.id, form.number("version"), form.seconds, form.text("reason")
    match name:
        case "select":
            return Select(id, version, form.text("candidate"), seconds)
        case "write":
            return Write(id, version, content_of(form, Content()), seconds)
        case "edit":
            return Edit(id, version, content_of(form, sample.content), seconds)
        case "submit":
            return SubmitForReview(id, version, seconds)
        case "pass":
            return ExpertPass(id, version, reason, seconds)
        case "return":
            return ExpertReturn(id, version, reason, seconds)
        case "standardise":
            return Standardise(id, version, form.text("prompt_thinking"), form.text("prompt_answering"), seconds)
        case "review":
            return review_of(form, sample, version, seconds)
        case "adjudicate":
            decision = _one_of(form.text("decision"), ("accept", "reconstruct"), "a decision: accept or reconstruct")
            return Adjudicate(id, version, decision, reason, seconds)  # type: ignore[arg-type]
        case "reconstruct":
            return Reconstruct(id, version, seconds)
        case "reject":
            return Reject(id, version, reason, seconds)
        case "audit":
            verdict = _one_of(form.text("verdict"), ("pass", "problem"), "a verdict: pass or problem")
            faults = tuple(one for one in FAULTS if form.text(f"fault-{one}"))
            return Audit(id, version, verdict, reason, seconds, faults if verdict == "problem" else ())  # type: ignore[arg-type]
    raise AnswerError(404, "there is no such page")


def content_of(form: Form, before: Content) -> Content:
    """The content that a form describes; what it has no fields for stays as before."""
    requirement = _one_of(form.text("requirement", before.requirement), ("full", "partial"), "full or partial")
    return Content(
        form.text("question"),
        tuple(components_of(form, "component")),
        form.text("rationale"),
        form.text("solution"),
        cast(Requirement, requirement),
        before.prompt_thinking,
        before.prompt_answering,
    )


def components_of(form: Form, prefix: str) -> Iterator[Component]:
    """The components of numbered fields; empty ones are left out."""
    for at in _numbers(form, prefix):
        text = form.text(f"{prefix}-{at}").strip()
        if text:
            yield Component(text, evidence_of(form, f"{prefix}-evidence-{at}"))


def evidence_of(form: Form, name: str) -> tuple[Evidence, ...]:
    """The evidence of a hidden field.

    Raises:
        RecordError: It is none.
    """
    text = form.text(name)
    if not text:
        return ()
    try:
        return from_record(_Evidences, {"evidence": json.loads(text)}, name).evidence
    except (ValueError, RecursionError) as error:
        if isinstance(error, RecordError):
            raise
        raise RecordError(f"{name}: expected JSON; reload the page") from None


def review_of(form: Form, sample: Sample, version: int, seconds: float) -> SubmitReview:
    """A review of the answer."""
    verdicts = []
    for at in range(len(sample.content.components)):
        mark = _one_of(form.text(f"mark-{at}"), ("right", "wrong", "unsure"), f"a verdict on component {at + 1}")
        note = form.text(f"note-{at}")
        verdicts.append(ComponentVerdict(cast(Mark, mark), note, evidence_of(form, f"verdict-evidence-{at}")))
    missing = tuple(components_of(form, "missing"))
    sound = all(one.mark == "right" for one in verdicts) and not missing and not form.text("problem")
    verdict: Literal["pass", "problem"] = "pass" if sound else "problem"
    return SubmitReview(sample.id, version, tuple(verdicts), missing, verdict, form.text("reason"), seconds)


def _numbers(form: Form, prefix: str) -> list[int]:
    numbers = (name.removeprefix(f"{prefix}-") for name in form.fields if name.startswith(f"{prefix}-"))
    found = sorted(int(one) for one in numbers if one.isascii() and one.isdecimal() and len(one) < 6)
    if len(found) > MOST_ITEMS:
        raise RecordError(f"{prefix}: more than {MOST_ITEMS:,}; remove some")
    return found


def _one_of(value: str, choices: tuple[str, ...], words: str) -> str:
    if value not in choices:
        raise RecordError(f"{words} is missing; choose one")
    return value
