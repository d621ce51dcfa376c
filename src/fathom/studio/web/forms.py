"""Forms of samples: fields to actions, and back."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from typing import TypeVar

from fathom.server.answers import AnswerError
from fathom.storage.validation import Items
from fathom.studio.records import MOST_ITEMS, RecordError, as_record, from_json
from fathom.studio.types import (
    ACTIONS,
    AUDIT_VERDICTS,
    DECISIONS,
    MARKS,
    REQUIREMENTS,
    VERDICTS,
    Action,
    Adjudicate,
    Audit,
    Component,
    ComponentVerdict,
    Content,
    Edit,
    Evidence,
    Review,
    Sample,
    SampleAction,
    SubmitReview,
    SubmitVerdicts,
    Verdict,
    Write,
)
from fathom.studio.web.visit import Form

Choice = TypeVar("Choice", bound=str)


MINED = ("missing", "not missing")
"""What a reviewer says of a component that models give and the reference lacks."""
FORMS: dict[str, type[Action]] = {kind.words.form: kind for kind in ACTIONS.values() if kind.words.form}
"""Actions by the name of their form."""
_COMMON = {field.name for field in fields(SampleAction)}
_FIELDS = {"note": "reason"}
"""Fields of forms that have another name than that of the action."""


def action_of(name: str, sample: Sample, form: Form) -> Action:
    """The action of a form.

    Args:
        sample: The sample as it is now.

    Raises:
        AnswerError: There is no such form.
        RecordError: A field is invalid.
    """
    return replace(_action(name, sample, form), seconds=form.seconds)


def _action(name: str, sample: Sample, form: Form) -> Action:
    kind: Callable[..., Action] | None = FORMS.get(name)
    if kind is None:
        raise AnswerError(404, "there is no such page")
    id, version = sample.id, form.number("version")
    match name:
        case "write":
            return Write(id, version, content_of(form, Content()))
        case "edit":
            return Edit(id, version, content_of(form, sample.content))
        case "verdicts":
            review = _review(sample, form)
            return SubmitVerdicts(id, version, review.verdicts, review.missing, review.verdict, review.note)
        case "review":
            return _review(sample, form)
        case "adjudicate":
            decision = _one_of(form.text("decision"), DECISIONS, "a decision: accept or reconstruct")
            return Adjudicate(id, version, decision, form.text("reason"))
        case "audit":
            verdict = _one_of(form.text("verdict"), VERDICTS, "a verdict: pass or problem")
            wrong = _one_of(form.text("wrong", "problem"), AUDIT_VERDICTS[1:], "what is wrong")
            return Audit(id, version, "pass" if verdict == "pass" else wrong, form.text("reason"))
    # The fields of all others are texts.
    own = [field.name for field in fields(FORMS[name]) if field.name not in _COMMON]
    return kind(id, version, **{field: form.text(_FIELDS.get(field, field)) for field in own})


def content_of(form: Form, before: Content) -> Content:
    """The content that a form describes; what it has no fields for stays, prompts as long as the question does."""
    question = form.text("question", before.question)
    prompts = (before.prompt_thinking, before.prompt_answering) if question == before.question else ("", "")
    has_components = any(name.startswith("component-") for name in form.fields)
    return Content(
        question,
        tuple(components_of(form, "component")) if has_components else before.components,
        form.text("rationale", before.rationale),
        form.text("solution", before.solution),
        _one_of(form.text("requirement", before.requirement), REQUIREMENTS, "full or partial"),
        form.text("prompt_thinking", prompts[0]),
        form.text("prompt_answering", prompts[1]),
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
    return from_json(Items[Evidence], text, name)


def _review(sample: Sample, form: Form) -> SubmitReview:
    """What the reviewer wrote, with the components of models that they take over."""
    verdicts = []
    for at in range(len(sample.content.components)):
        mark = _one_of(form.text(f"mark-{at}"), MARKS, f"a verdict on component {at + 1}")
        evidence = evidence_of(form, f"verdict-evidence-{at}")
        verdicts.append(ComponentVerdict(mark, form.text(f"note-{at}"), evidence))
    missing, not_missing = list(components_of(form, "missing")), []
    for name in form.fields:
        if name.startswith("mined-text-"):
            text, key = form.text(name), name.removeprefix("mined-text-")
            words = f"a verdict on {text[:60]!r}, which models found,"
            if _one_of(form.text(f"mined-{key}"), MINED, words) == MINED[0]:
                missing.append(Component(text, evidence_of(form, f"mined-evidence-{key}")))
            else:
                not_missing.append(text)
    sound = all(verdict.mark == "right" for verdict in verdicts) and not missing and not form.text("problem")
    verdict: Verdict = "pass" if sound else "problem"
    values = tuple(verdicts), tuple(missing), verdict, form.text("reason"), tuple(not_missing)
    return SubmitReview(sample.id, form.number("version"), *values)


def form_of(review: Review) -> Form:
    """A review as the fields of its form, to go on from it."""
    fields = {"problem": "1" if review.note else "", "reason": review.note}
    for at, verdict in enumerate(review.verdicts):
        evidence = _evidence_text(verdict.evidence)
        fields |= {f"mark-{at}": verdict.mark, f"note-{at}": verdict.note, f"verdict-evidence-{at}": evidence}
    for at, part in enumerate(review.missing):
        fields |= {f"missing-{at}": part.text, f"missing-evidence-{at}": _evidence_text(part.evidence)}
    return Form(fields)


def _evidence_text(evidence: tuple[Evidence, ...]) -> str:
    return json.dumps(as_record(evidence)) if evidence else ""


def _numbers(form: Form, prefix: str) -> list[int]:
    numbers = (name.removeprefix(f"{prefix}-") for name in form.fields if name.startswith(f"{prefix}-"))
    sorted_numbers = sorted(
        int(number) for number in numbers if number.isascii() and number.isdecimal() and len(number) < 6
    )
    if len(sorted_numbers) > MOST_ITEMS:
        raise RecordError(f"{prefix}: more than {MOST_ITEMS:,}; remove some")
    return sorted_numbers


def _one_of(value: str, choices: Sequence[Choice], words: str) -> Choice:
    for choice in choices:
        if choice == value:
            return choice
    raise RecordError(f"{words} is missing; choose one")
