"""The workflow: which action is allowed to whom in which state, and what follows. Pure functions without I/O.

    drafted -> selected -> expert_review -> standardised -> answer_review -> accepted -> audited
                               |    ^          | (edit)        |               |
                               v    |          v               v               v
                              revision <-------+          adjudication <- (audit: problem)
                                                             |     |
                        selected <- reconstruct <------------+     +-> accepted

An expert can reject a sample in any state, and lead an accepted one in which a fault is found to ``reconstruct``.
Nobody reviews what they wrote or edited; two different people review the answer, neither sees the other's review
before; an adjudicator is an expert who did neither. Smaller groups have other policies (``fathom.studio.policies``),
and who is kept for a later step is in ``fathom.studio.staffing``. Where models have answered, a review has two steps:
verdicts on the components, and only then the models' answers, to find what is missing. What is edited after a review
goes back to it. Whether a sample may go on as it is, ``fathom.studio.faults`` says.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, assert_never

from fathom.plugins.names import listed
from fathom.studio.policies import policy_of
from fathom.studio.types import (
    OPERATOR,
    ROLES,
    STATES,
    Action,
    AddCandidates,
    AddPredictions,
    Adjudicate,
    Audit,
    Content,
    Create,
    Edit,
    ExpertPass,
    ExpertReturn,
    NoneFits,
    Note,
    Person,
    Prediction,
    Reconstruct,
    Reject,
    Reopen,
    Review,
    ReviewDocument,
    Role,
    Ruling,
    Sample,
    Select,
    SetDifficulty,
    SetIntake,
    Standardise,
    State,
    StudioDocument,
    SubmitForReview,
    SubmitReview,
    SubmitVerdicts,
    Write,
)
from fathom.types import FathomError

DECIDING: tuple[State, ...] = ("answer_review", "adjudication")
"""States that a sample leaves for another round where nobody can go on; see ``fathom.studio.staffing``."""
ACCOUNT = "account"
"""Topic of notes on another password, a new token, or revoked tokens of an account."""
DONE: frozenset[State] = frozenset({"accepted", "audited"})
"""States of a sample whose answer was found right."""
RATING = "rating"
"""Topic of the notes that hold ratings of the quality study, by experts."""
_LIVE: frozenset[State] = frozenset(STATES) - {"rejected"}


class RefusedError(FathomError):
    """The action is not allowed; nothing was changed."""


class StaleError(FathomError):
    """Somebody else changed the sample after it was read; nothing was changed.

    Args:
        sample: The present sample.
    """

    def __init__(self, sample: Sample, action: Action) -> None:
        super().__init__(
            f"sample {sample.id}: it is now version {sample.version} ({sample.state}), and this was made from version "
            f"{action.version}; compare both and send it again"
        )
        self.sample, self.action = sample, action


@dataclass(frozen=True)
class _Rule:
    """When an action is allowed.

    Attributes:
        role: To this role and the higher ones.
        barred: Why it is not allowed to one person; "" if it is.
        operator: Whether commands on the server's machine may do it.
    """

    states: frozenset[State]
    role: Role
    barred: Callable[[Sample, str], str] = lambda sample, name: ""
    operator: bool = False


def _wrote(sample: Sample, name: str) -> str:
    return "you wrote or edited this sample; somebody else must decide on it" if name in sample.writers else ""


def _reviewed(sample: Sample, name: str) -> str:
    if any(review.reviewer == name for review in sample.current_reviews):
        return "you have reviewed this sample; somebody else must decide on it"
    return ""


def _judged(sample: Sample, name: str) -> str:
    return "you have judged this answer; somebody else must decide on it" if sample.judged_by(name) else ""


def _unjudged(sample: Sample, name: str) -> str:
    if sample.answered and not sample.judged_by(name):
        return "models have answered it: send your own verdicts first, then you see what they found"
    return ""


def _unanswered(sample: Sample, name: str) -> str:
    return "" if sample.answered else "no model has answered it; send the whole review"


def _ruled(sample: Sample, name: str) -> str:
    for ruling in sample.rulings:
        if ruling.by == name and ruling.round == sample.round and ruling.kind in ("adjudication", "audit"):
            return "you have decided on this sample before; another expert must decide on it"
    return ""


def _any(*reasons: Callable[[Sample, str], str]) -> Callable[[Sample, str], str]:
    return lambda sample, name: next((why for reason in reasons if (why := reason(sample, name))), "")


def _in(*states: State) -> frozenset[State]:
    return frozenset(states)


RULES: Mapping[type[Action], _Rule] = {
    AddCandidates: _Rule(_in("drafted"), "annotator", operator=True),
    AddPredictions: _Rule(_LIVE, "annotator", operator=True),
    SetDifficulty: _Rule(_LIVE, "administrator", operator=True),
    Select: _Rule(_in("drafted", "selected"), "annotator", operator=True),
    NoneFits: _Rule(_in("drafted"), "annotator"),
    Write: _Rule(_in("drafted"), "annotator"),
    Edit: _Rule(_in("selected", "revision", "standardised"), "annotator"),
    SubmitForReview: _Rule(_in("selected", "revision"), "annotator", operator=True),
    ExpertPass: _Rule(_in("expert_review"), "expert", _wrote),
    ExpertReturn: _Rule(_in("expert_review"), "expert", _wrote),
    Standardise: _Rule(_in("standardised"), "annotator"),
    SubmitVerdicts: _Rule(_in("answer_review"), "annotator", _any(_wrote, _judged, _unanswered)),
    SubmitReview: _Rule(_in("answer_review"), "annotator", _any(_wrote, _reviewed, _unjudged)),
    Adjudicate: _Rule(_in("adjudication"), "expert", _any(_wrote, _judged, _ruled)),
    Reconstruct: _Rule(_in("reconstruct"), "annotator"),
    Reopen: _Rule(DONE, "expert"),
    Reject: _Rule(_LIVE, "expert"),
    Audit: _Rule(_in("accepted"), "expert", _any(_wrote, _judged, _ruled)),
}
"""Rules of all actions but ``Create``, which every annotator may do."""


DECIDED_BY_OTHERS: tuple[State, ...] = ("expert_review", "answer_review", "adjudication")
"""States in which those who are ``involved`` may not decide."""


def involved(sample: Sample) -> set[str]:
    """Who may not decide on a sample in the states of ``DECIDED_BY_OTHERS``."""
    names = set(sample.writers)
    if sample.state != "expert_review":
        names |= {review.reviewer for review in sample.current_reviews}
        names |= {ruling.by for ruling in sample.rulings if _ruled(sample, ruling.by)}
    if sample.state not in ("expert_review", "answer_review"):
        names |= {review.reviewer for review in sample.first_verdicts if review.round == sample.round}
    return names


def may(role: Role, least: Role) -> bool:
    """Whether a role includes another."""
    return ROLES.index(role) >= ROLES.index(least)


def states_waiting_for(role: Role) -> tuple[State, ...]:
    """States in which a sample waits for people of a role: those from which one of their forms leads on."""
    rules = [rule for kind, rule in RULES.items() if kind.words.form and may(role, rule.role) and rule.states != _LIVE]
    waiting = {state for rule in rules for state in rule.states}
    return tuple(state for state in STATES if state in waiting - DONE)


def why_not(sample: Sample, kind: type[Action], by: Person) -> str:
    """Why a person may not do something to a sample now; "" if they may."""
    rule = RULES[kind]
    if reason := _no_right(rule.role, by, rule.operator):
        return reason
    if sample.state not in rule.states:
        return f"the sample is in state {sample.state}, this needs {listed(sorted(rule.states), 'or')}"
    return rule.barred(sample, by.name)


def apply(sample: Sample | None, action: Action, by: Person, at: str) -> Sample:
    """What follows from an action.

    Args:
        sample: The sample; None only for ``Create``.
        at: The time.

    Raises:
        RefusedError: It is not allowed, or incomplete.
        StaleError: The sample was changed since the person read it.
    """
    if isinstance(action, Create):
        if sample is not None:
            raise RefusedError(f"sample {action.sample}: it exists already; choose another id")
        return _created(action, by, at)
    if sample is None:
        raise RefusedError(f"sample {action.sample}: there is no such sample; look for it in the queue")
    if action.version != sample.version:
        raise StaleError(sample, action)
    left = isinstance(action, Reconstruct) and sample.state in DECIDING and action.policy != ""
    if reason := _no_right("annotator", by, operator=False) if left else why_not(sample, type(action), by):
        raise RefusedError(f"sample {sample.id}: {reason}")
    return replace(_changed(sample, action, by.name, at), updated=at)


def _changed(sample: Sample, action: Action, by: str, at: str) -> Sample:
    match action:
        case AddCandidates():
            _check_ids(sample, action)
            return replace(sample, candidates=sample.candidates + action.candidates)
        case AddPredictions():
            return replace(sample, predictions=sample.predictions + action.predictions)
        case SetDifficulty():
            return replace(sample, difficulty=action.difficulty)
        case Select():
            content = next(
                (candidate.content for candidate in sample.candidates if candidate.id == action.candidate), None
            )
            if content is None:
                raise RefusedError(f"sample {sample.id}: there is no candidate {action.candidate!r}; choose another")
            if sample.state == "drafted":
                return _next(sample, "selected", content=content, author=by)
            if content == sample.content:
                raise RefusedError(f"sample {sample.id}: this draft is selected already; edit it")
            return replace(_edited(sample, content), author=by)
        case NoneFits():
            return _next(sample, "rejected")
        case Write():
            return _next(sample, "selected", content=action.content, author=by, writers=_with(sample.writers, by))
        case Edit():
            if action.content == sample.content:
                raise RefusedError(f"sample {sample.id}: nothing was changed; edit it first")
            return replace(_edited(sample, action.content), writers=_with(sample.writers, by))
        case SubmitForReview():
            return _next(sample, "expert_review")
        case ExpertPass():
            return _ruling(sample, "standardised", Ruling(by, "expert_review", sample.round, "pass", action.note, at))
        case ExpertReturn():
            _check_reason(sample, action.reason)
            return _ruling(sample, "revision", Ruling(by, "expert_review", sample.round, "return", action.reason, at))
        case Standardise():
            thinking, answering = action.prompt_thinking, action.prompt_answering
            content = replace(sample.content, prompt_thinking=thinking, prompt_answering=answering)
            return _next(sample, "answer_review", content=content)
        case SubmitVerdicts():
            return replace(sample, first_verdicts=(*sample.first_verdicts, _review(sample, action, by, at)))
        case SubmitReview():
            review = replace(_review(sample, action, by, at), not_missing=action.not_missing)
            return _with_review(sample, review)
        case Adjudicate():
            _check_reason(sample, action.reason)
            ruling = Ruling(by, "adjudication", sample.round, action.decision, action.reason, at)
            return _ruling(sample, "accepted" if action.decision == "accept" else "reconstruct", ruling)
        case Reconstruct():
            return _next(sample, "selected", round=sample.round + 1, policy=action.policy)
        case Reopen():
            return _next(sample, "reconstruct")
        case Reject():
            _check_reason(sample, action.reason)
            return _ruling(sample, "rejected", Ruling(by, "rejection", sample.round, "reject", action.reason, at))
        case Audit():
            if action.verdict == "pass":
                return _ruling(sample, "audited", Ruling(by, "audit", sample.round, "pass", action.reason, at))
            _check_reason(sample, action.reason)
            return _ruling(sample, "adjudication", Ruling(by, "audit", sample.round, "problem", action.reason, at))
        case Create():
            raise RefusedError(f"sample {sample.id}: it exists already; choose another id")
    assert_never(action)


def review_document(document: StudioDocument, action: ReviewDocument, by: Person) -> StudioDocument:
    """What follows from the review of a document.

    Args:
        action: The review, by an expert; annotators may say that an available document is exhausted.

    Raises:
        RefusedError: It is not allowed.
    """
    exhausting = (document.state, action.state) == ("available", "exhausted")
    if reason := _no_right("annotator" if exhausting else "expert", by, operator=True):
        raise RefusedError(f"document {document.id}: {reason}")
    if action.state == document.state:
        raise RefusedError(f"document {document.id}: it is {document.state} already; reload the page")
    if action.state == "collected" or (action.state == "exhausted" and not exhausting):
        raise RefusedError(f"document {document.id}: it is {document.state} and cannot become {action.state}")
    if action.state == "excluded" and not action.reason.strip():
        raise RefusedError(f"document {document.id}: the reason is missing; write why it is excluded")
    return replace(document, state=action.state, reason=action.reason)


def check_new_document(document: StudioDocument, by: Person) -> None:
    """Check that a person may add a document: annotators may, to have it reviewed; experts also without a review.

    Raises:
        RefusedError: They may not.
    """
    check_right("annotator" if document.state == "collected" else "expert", by, operator=True)


def check_intake(action: SetIntake, present: SetIntake, by: Person, *, filled: bool) -> None:
    """Check that a person may change how documents are measured.

    Args:
        present: How they are measured now.
        filled: Whether there are documents.

    Raises:
        RefusedError: They may not, or lengths of two tokenizers would be mixed.
    """
    check_right("administrator", by, operator=True)
    if filled and action.tokenizer != present.tokenizer:
        raise RefusedError(
            f"the documents of this studio are measured with the tokenizer {present.tokenizer}; use it, or make "
            f"another studio: fathom studio init --tokenizer {action.tokenizer}"
        )


def check_note(note: Note, by: Person) -> None:
    """Check that a person may write a note; everybody may write those on accounts, which the server writes for them.

    Raises:
        RefusedError: They may not.
    """
    roles: dict[str, Role] = {ACCOUNT: "reader", RATING: "expert"}
    check_right(roles.get(note.topic, "annotator"), by, operator=note.topic != RATING)


def check_right(role: Role, by: Person, *, operator: bool = False) -> None:
    """Check that a person has a role or a higher one.

    Raises:
        RefusedError: They have not, or their account is switched off.
    """
    if reason := _no_right(role, by, operator):
        raise RefusedError(reason)


def visible(sample: Sample, person: Person) -> Sample:
    """A sample as a person may see it: what would bias a decision is left out until it is made.

    Before their own review of an answer, people see no review, no ruling, no candidate and no score of a prediction.
    Models' answers are seen only by those who gave their own verdicts in this round: a later round may ask everybody
    else, and who reads along could tell them. While an expert adjudicates, nobody sees names.

    Args:
        person: Who looks at it.
    """
    if not sample.judged_by(person.name):
        sample = _without_answers(sample)
    if sample.state == "answer_review":
        mine = tuple(review for review in sample.current_reviews if review.reviewer == person.name)
        first = tuple(
            review for review in sample.first_verdicts if (review.reviewer, review.round) == (person.name, sample.round)
        )
        sample = replace(sample, first_verdicts=first)
        if not mine:
            return replace(_unscored(sample), reviews=(), rulings=(), candidates=())
        return replace(sample, reviews=tuple(review for review in sample.reviews if review.round < sample.round) + mine)
    if sample.state == "expert_review":
        return _unscored(sample)
    if sample.state == "adjudication":
        return _unscored(_nameless(sample))
    return sample


def sees_claims(sample: Sample, person: Person) -> bool:
    """Whether somebody sees what models claim about the answer, and decides on it.

    An expert in expert review and adjudication, annotators while they edit, and reviewers in the second step. Nobody
    once the prompts are to be confirmed: they may be a reviewer soon.

    Args:
        person: Who looks at it.
    """
    if sample.state == "answer_review":
        return sample.judged_by(person.name) is not None and not why_not(sample, SubmitReview, person)
    if sample.state == "standardised":
        return False
    return any(not why_not(sample, kind, person) for kind in (Edit, ExpertPass, Adjudicate))


def _without_answers(sample: Sample) -> Sample:
    """Without models' answers, also where a review says what in them is not missing and no other review says it is."""
    raised = {(review.round, part.text) for review in sample.reviews for part in review.missing}
    reviews = tuple(
        replace(review, not_missing=tuple(text for text in review.not_missing if (review.round, text) in raised))
        for review in sample.reviews
    )
    return replace(sample, predictions=(), reviews=reviews)


def _unscored(sample: Sample) -> Sample:
    predictions = tuple(replace(prediction, score=None) for prediction in sample.predictions)
    return replace(sample, predictions=predictions, difficulty="")


def _nameless(sample: Sample) -> Sample:
    names: dict[tuple[int, str], str] = {}
    for review in sample.reviews:
        number = sum(round == review.round for round, _ in names) + 1
        names.setdefault((review.round, review.reviewer), f"Reviewer {number}")
    reviews, first = (
        tuple(
            replace(review, reviewer=names[review.round, review.reviewer], at="")
            for review in given
            if (review.round, review.reviewer) in names
        )
        for given in (sample.reviews, sample.first_verdicts)
    )
    rulings = tuple(replace(ruling, by="Expert", at="") for ruling in sample.rulings)
    return replace(sample, author="", writers=(), reviews=reviews, first_verdicts=first, rulings=rulings)


def _created(action: Create, by: Person, at: str) -> Sample:
    if reason := _no_right("annotator", by, operator=True):
        raise RefusedError(f"sample {action.sample}: {reason}")
    if action.version != 0:
        raise RefusedError(f"sample {action.sample}: a new sample has version 0")
    if not action.documents:
        raise RefusedError(f"sample {action.sample}: it has no document; choose at least one")
    sample = Sample(action.sample, action.task, action.language, action.bucket, action.documents, updated=at)
    _check_ids(sample, action)
    return replace(sample, candidates=action.candidates, policy=action.policy)


def _edited(sample: Sample, content: Content) -> Sample:
    """A sample with other content, without what models said and scored with the earlier one."""
    same = asked_of(content) == asked_of(sample.content)
    return _next(
        sample,
        "revision" if sample.state == "standardised" else sample.state,
        content=content,
        predictions=_still_answering(sample, content),
        difficulty=sample.difficulty if same else "",
    )


def _still_answering(sample: Sample, content: Content) -> tuple[Prediction, ...]:
    """The models' answers that are of use with other content.

    Answers to another question are left out. With another reference, scores are void, and so are answers without the
    documents, of which only the score counts.
    """
    before = sample.content
    if content.question != before.question:
        return ()
    if asked_of(content) == asked_of(before):
        return sample.predictions
    return tuple(replace(prediction, score=None) for prediction in sample.predictions if not prediction.closed_book)


def _review(sample: Sample, action: SubmitReview | SubmitVerdicts, by: str, at: str) -> Review:
    expected, given = len(sample.content.components), len(action.verdicts)
    if given != expected:
        raise RefusedError(f"sample {sample.id}: {given} verdicts for {expected} components; give one for each")
    sound = all(verdict.mark == "right" for verdict in action.verdicts) and not action.missing
    if action.verdict == "pass" and not sound:
        raise RefusedError(
            f"sample {sample.id}: an answer with a component that is wrong, unsure or missing does not pass; choose "
            "problem, or change the verdicts"
        )
    if action.verdict == "problem" and sound and not action.note.strip():
        raise RefusedError(
            f"sample {sample.id}: every component is right and none is missing; write what the problem is"
        )
    return Review(by, sample.round, action.verdicts, action.missing, action.verdict, action.note, action.seconds, at)


def _with_review(sample: Sample, review: Review) -> Sample:
    now = replace(sample, reviews=(*sample.reviews, review))
    policy = policy_of(sample)
    if len(now.current_reviews) < policy.reviews:
        return now
    passed = all(review.verdict == "pass" for review in now.current_reviews)
    return _next(now, "accepted" if passed else "adjudication" if policy.adjudicated else "reconstruct")


def _ruling(sample: Sample, state: State, ruling: Ruling) -> Sample:
    return _next(sample, state, rulings=(*sample.rulings, ruling))


def _next(sample: Sample, state: State, **changes: Any) -> Sample:
    return replace(sample, state=state, version=sample.version + 1, **changes)


def _with(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    return names if name in names else (*names, name)


def _no_right(role: Role, by: Person, operator: bool) -> str:
    if not by.active:
        return f"the account {by.name} is switched off; ask an administrator"
    if by.name == OPERATOR and not operator:
        return "this needs a person: log in and do it in the browser"
    if not may(by.role, role):
        return f"this needs the role {role}, and {by.name} has {by.role}; ask an administrator"
    return ""


def asked_of(content: Content) -> tuple[str, ...]:
    """Question and answer: answers of models and their scores hold as long as these stay."""
    return content.question, *(component.text for component in content.components)


def _check_reason(sample: Sample, reason: str) -> None:
    if not reason.strip():
        raise RefusedError(f"sample {sample.id}: the reason is missing; write one, others will read it")


def _check_ids(sample: Sample, action: Create | AddCandidates) -> None:
    ids = [candidate.id for candidate in (*sample.candidates, *action.candidates)]
    if "" in ids or len(set(ids)) < len(ids):
        raise RefusedError(f"sample {sample.id}: ids of candidates are empty or not unique; give each another")
