"""The values of the studio: people, documents, samples, reviews, and one class for each action.

All are frozen and can be written as JSON (see ``fathom.studio.records``). Ids are strings, times are UTC in ISO format
with seconds, offsets are in characters.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias, get_args

from fathom.benchmarks.pro.secondary_tasks import LENGTHS
from fathom.storage.validation import Amount, Count, Flag, Items, Text

Role: TypeAlias = Literal["reader", "annotator", "expert", "administrator"]
"""Roles in ascending order: each may do what the roles before it may."""
ROLES: tuple[Role, ...] = get_args(Role)

OPERATOR = "operator"
"""Name under which commands on the server's machine act; no account can have it."""

IMPORT = "import:"
"""Beginning of the drafter's name of a candidate that was imported; the name of the file follows."""

DocumentState: TypeAlias = Literal["collected", "available", "excluded", "exhausted"]
DOCUMENT_STATES: tuple[DocumentState, ...] = get_args(DocumentState)

TOKENIZER = "tekken"
"""Measures documents where nobody chose another one."""
BUCKETS = tuple(LENGTHS.values())
TOLERANCE = 0.2
"""Share of a bucket by which a text may be shorter or longer; the paper does not give its own."""
NEAR = 0.8
"""Share of the shorter text from which two texts are nearly equal."""

State: TypeAlias = Literal[
    "drafted",
    "selected",
    "expert_review",
    "revision",
    "standardised",
    "answer_review",
    "adjudication",
    "reconstruct",
    "accepted",
    "audited",
    "rejected",
]
"""States of a sample, named by what is done next or was decided last; see ``fathom.studio.states``."""
STATES: tuple[State, ...] = get_args(State)

Requirement: TypeAlias = Literal["full", "partial"]
"""Whether the question needs the whole context or parts of it."""
REQUIREMENTS: tuple[Requirement, ...] = get_args(Requirement)

Mark: TypeAlias = Literal["right", "wrong", "unsure"]
"""A reviewer's verdict on one component of the answer."""
MARKS: tuple[Mark, ...] = get_args(Mark)

Verdict: TypeAlias = Literal["pass", "problem"]
"""A verdict on a sample, of a reviewer or an audit."""
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

Decision: TypeAlias = Literal["accept", "reconstruct"]
"""An expert's decision on a sample with a negative review."""
DECISIONS: tuple[Decision, ...] = get_args(Decision)

PolicyName: TypeAlias = Literal["two", "three", "four", ""]
"""How many people make samples; see ``fathom.studio.policies``. "" where nobody chose one."""

AuditVerdict: TypeAlias = Literal["pass", "attributes", "answer", "problem"]
"""The verdict of an audit: what is wrong, attributes (task, requirement and the like), the answer, or both."""
AUDIT_VERDICTS: tuple[AuditVerdict, ...] = get_args(AuditVerdict)


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with an account.

    Attributes:
        name: The account's name.
        role: What they may do.
        active: Whether they may log in; accounts are never deleted, because the log names them.
    """

    name: Text
    role: Role
    active: Flag = True


@dataclass(frozen=True, slots=True)
class StudioDocument:
    """A document, without its text, which is in a table of its own.

    Attributes:
        id: Hash of its text (``fathom.types.Document.id``).
        language: ``en`` or ``zh``.
        source: Where it is from.
        licence: Its licence; "" if unknown.
        tokens: Its length.
        bucket: Its length bucket, in tokens; 0 if it fits none.
        state: ``collected`` until the compliance review.
        domain: Subject, for balanced designs.
        format: Kind of text such as ``novel`` or ``contract``, for balanced designs.
        duplicate_of: Id of an earlier document with the same or nearly the same text; "" without one.
    """

    id: Text
    title: Text
    language: Text
    source: Text = ""
    licence: Text = ""
    tokens: Count = 0
    bucket: Count = 0
    state: DocumentState = "collected"
    domain: Text = ""
    format: Text = ""
    duplicate_of: Text = ""
    reason: Text = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage of a document.

    Attributes:
        document: Its id.
        start: First character.
        end: Character after the last.
        quote: The characters between.
    """

    document: Text
    start: Count
    end: Count
    quote: Text


@dataclass(frozen=True, slots=True)
class Component:
    """One element of the answer.

    Attributes:
        text: As it stands in the answer.
        evidence: Passages that support it.
    """

    text: Text
    evidence: Items[Evidence] = ()


@dataclass(frozen=True, slots=True)
class Content:
    """What people write: a question with its answer and both prompts.

    Attributes:
        components: The reference answer.
        rationale: Why the question fits the task and the requirement.
        solution: How the answer is found.
        requirement: ``full`` or ``partial`` context.
        prompt_thinking: Standardised prompt that asks for reasoning first; "" before.
        prompt_answering: Standardised prompt that asks for the answer at once; "" before.
    """

    question: Text = ""
    components: Items[Component] = ()
    rationale: Text = ""
    solution: Text = ""
    requirement: Requirement = "full"
    prompt_thinking: Text = ""
    prompt_answering: Text = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A draft of a sample.

    Attributes:
        id: Unique within its sample.
        drafter: Name of the model, or of the file it was imported from.
        cost: Price of drafting it in US dollars; None if unknown.
        seconds: Time that the model took.
    """

    id: Text
    drafter: Text
    content: Content
    cost: Amount | None = None
    seconds: Amount = 0.0


@dataclass(frozen=True, slots=True)
class Prediction:
    """A model's answer to the question of a sample.

    Attributes:
        components: Elements of its answer.
        closed_book: Whether it was asked without the documents.
        score: Score against the reference in [0, 1]; None without one.
        cost: Price in US dollars; None if unknown.
    """

    model: Text
    components: Items[Text]
    closed_book: Flag = False
    score: Amount | None = None
    cost: Amount | None = None


@dataclass(frozen=True, slots=True)
class ComponentVerdict:
    """A reviewer's verdict on one component of the answer.

    Attributes:
        note: Reason.
        evidence: Passages that support the verdict.
    """

    mark: Mark
    note: Text = ""
    evidence: Items[Evidence] = ()


@dataclass(frozen=True, slots=True)
class Review:
    """A blind review of the answer.

    Attributes:
        reviewer: Who reviewed.
        round: Round of the sample.
        verdicts: One for each component, in their order.
        missing: Components that the answer lacks.
        verdict: ``pass`` only if every component is right and none is missing.
        note: Reason, for problems of the question.
        seconds: Time spent.
        at: Time of submission.
        not_missing: Components that models give and that do not belong to the answer.
    """

    reviewer: Text
    round: Count
    verdicts: Items[ComponentVerdict]
    missing: Items[Component]
    verdict: Verdict
    note: Text = ""
    seconds: Amount = 0.0
    at: Text = ""
    not_missing: Items[Text] = ()


@dataclass(frozen=True, slots=True)
class Ruling:
    """A decision of an expert: on the question, on disagreeing or negative reviews, or of an audit.

    Attributes:
        by: Who decided.
        round: Round of the sample.
        outcome: ``pass``, ``return``; ``accept``, ``reconstruct``; ``pass``, ``problem``; ``reject``.
        at: Time.
    """

    by: Text
    kind: Literal["expert_review", "adjudication", "audit", "rejection"]
    round: Count
    outcome: Text
    reason: Text
    at: Text


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample with everything that was said about it.

    Attributes:
        language: ``en`` or ``zh``.
        bucket: Length bucket in tokens.
        documents: Ids of its documents, in order.
        version: Rises with each change of its content or state. Additions (candidates, predictions, a first review)
            leave it, so that two blind reviewers never conflict.
        content: The present content; that of no candidate before one is selected.
        author: Who selected or began it; "" before. Selecting is not writing.
        round: Rises with each reconstruction; reviews count in their round only.
        writers: Everybody who wrote or edited the content of this round or an earlier one; they never review it.
        candidates: Drafts.
        predictions: Answers of models.
        first_verdicts: What reviewers of all rounds said before they saw the models' answers; complete like a review.
        reviews: Reviews of all rounds.
        rulings: Experts' decisions of all rounds.
        difficulty: Tier from runs of models; "" before.
        updated: Time of the last action.
        policy: How it is reviewed in this round.
    """

    id: Text
    task: Text
    language: Text
    bucket: Count
    documents: Items[Text]
    state: State = "drafted"
    version: Count = 1
    content: Content = Content()
    author: Text = ""
    round: Count = 1
    writers: Items[Text] = ()
    candidates: Items[Candidate] = ()
    predictions: Items[Prediction] = ()
    first_verdicts: Items[Review] = ()
    reviews: Items[Review] = ()
    rulings: Items[Ruling] = ()
    difficulty: Text = ""
    updated: Text = ""
    policy: PolicyName = ""

    @property
    def current_reviews(self) -> tuple[Review, ...]:
        """Reviews of the present round."""
        return tuple(review for review in self.reviews if review.round == self.round)

    def judged_by(self, name: str) -> Review | None:
        """What somebody said of the answer in this round, without the models' answers; None before."""
        mine = (review for review in (*self.first_verdicts, *self.reviews) if review.reviewer == name)
        return next((review for review in mine if review.round == self.round), None)

    @property
    def answered(self) -> bool:
        """Whether models have answered from the documents, so that reviewers can look for missing components."""
        return any(prediction.components and not prediction.closed_book for prediction in self.predictions)


# Actions on a sample


@dataclass(frozen=True, slots=True)
class ActionWords:
    """How pages name an action.

    Attributes:
        deed: What somebody did, in the log.
        form: Name of its form on the page of a sample; "" if it has none.
        notice: What the next page says.
        stays: Whether the next page is that of the sample, not the queue.
    """

    deed: str
    form: str = ""
    notice: str = ""
    stays: bool = False


@dataclass(frozen=True, slots=True)
class SampleAction:
    """What all actions on a sample have.

    Attributes:
        sample: Id of the sample.
        version: The version that the person saw.
        seconds: Time that they spent.
    """

    words: ClassVar[ActionWords]
    sample: Text
    version: Count
    seconds: Amount = field(default=0.0, kw_only=True)


@dataclass(frozen=True, slots=True)
class Create(SampleAction):
    """A new sample with its first candidates; version 0. The store fills in its policy."""

    words: ClassVar = ActionWords("began the sample")
    version: Count = field(default=0, kw_only=True)
    task: Text
    language: Text
    bucket: Count
    documents: Items[Text]
    candidates: Items[Candidate] = ()
    policy: PolicyName = ""


@dataclass(frozen=True, slots=True)
class AddCandidates(SampleAction):
    """Further candidates."""

    words: ClassVar = ActionWords("added drafts")
    candidates: Items[Candidate]


@dataclass(frozen=True, slots=True)
class AddPredictions(SampleAction):
    """Answers of models to the question."""

    words: ClassVar = ActionWords("added answers of models")
    predictions: Items[Prediction]


@dataclass(frozen=True, slots=True)
class SetDifficulty(SampleAction):
    """The difficulty tier."""

    words: ClassVar = ActionWords("set the difficulty")
    difficulty: Text


@dataclass(frozen=True, slots=True)
class Select(SampleAction):
    """Chooses a candidate, also another one than before."""

    words: ClassVar = ActionWords("selected a draft", "select", "Selected: now edit it.", stays=True)
    candidate: Text


@dataclass(frozen=True, slots=True)
class NoneFits(SampleAction):
    """No candidate fits, and the document is left for another one: the sample ends."""

    words: ClassVar = ActionWords("found that no draft fits", "none_fits", "Here is the next document.")


@dataclass(frozen=True, slots=True)
class Write(SampleAction):
    """Writes a sample without a candidate."""

    words: ClassVar = ActionWords("wrote the sample", "write", "Saved.", stays=True)
    content: Content


@dataclass(frozen=True, slots=True)
class Edit(SampleAction):
    """Changes the content."""

    words: ClassVar = ActionWords("edited", "edit", "Saved.", stays=True)
    content: Content


@dataclass(frozen=True, slots=True)
class SubmitForReview(SampleAction):
    """Hands the sample to an expert."""

    words: ClassVar = ActionWords("handed it to an expert", "submit", "Handed to an expert.")


@dataclass(frozen=True, slots=True)
class ExpertPass(SampleAction):
    """The expert finds no fault with question, answer and evidence."""

    words: ClassVar = ActionWords("passed it", "pass", "Passed.")
    note: Text = ""


@dataclass(frozen=True, slots=True)
class ExpertReturn(SampleAction):
    """The expert returns the sample for revision."""

    words: ClassVar = ActionWords("returned it for revision", "return", "Returned for revision.")
    reason: Text


@dataclass(frozen=True, slots=True)
class Standardise(SampleAction):
    """Confirms both prompts, which begins the answer review."""

    words: ClassVar = ActionWords("confirmed the prompts", "standardise", "The answer review has begun.")
    prompt_thinking: Text
    prompt_answering: Text


@dataclass(frozen=True, slots=True)
class SubmitVerdicts(SampleAction):
    """What a reviewer says before they see the models' answers: the first step of a review; see ``Review``."""

    words: ClassVar = ActionWords(
        "sent first verdicts", "verdicts", "Your verdicts are stored. Now look at what models found.", stays=True
    )
    verdicts: Items[ComponentVerdict]
    missing: Items[Component]
    verdict: Verdict
    note: Text = ""


@dataclass(frozen=True, slots=True)
class SubmitReview(SampleAction):
    """A blind review of the answer; see ``Review``."""

    words: ClassVar = ActionWords("sent a review", "review", "Your review is stored.")
    verdicts: Items[ComponentVerdict]
    missing: Items[Component]
    verdict: Verdict
    note: Text = ""
    not_missing: Items[Text] = ()


@dataclass(frozen=True, slots=True)
class Adjudicate(SampleAction):
    """An expert decides on a sample with a negative review."""

    words: ClassVar = ActionWords("adjudicated", "adjudicate", "Decided.")
    decision: Decision
    reason: Text


@dataclass(frozen=True, slots=True)
class Reconstruct(SampleAction):
    """Begins the next round of a sample that must be reconstructed, or with which nobody else can go on.

    The store fills in the policy of the round.
    """

    words: ClassVar = ActionWords("began the next round", "reconstruct", "A new round has begun.", stays=True)
    policy: PolicyName = field(default="", kw_only=True)


@dataclass(frozen=True, slots=True)
class Reopen(SampleAction):
    """Leads an accepted sample with a fault to another round; the store refuses it for one without a fault."""

    words: ClassVar = ActionWords("opened it again", "reopen", "It can be mended in the next round.", stays=True)


@dataclass(frozen=True, slots=True)
class Reject(SampleAction):
    """An expert rejects the sample."""

    words: ClassVar = ActionWords("rejected it", "reject", "Rejected.")
    reason: Text


@dataclass(frozen=True, slots=True)
class Audit(SampleAction):
    """An expert audits an accepted sample; every verdict but ``pass`` leads to adjudication."""

    words: ClassVar = ActionWords("audited it", "audit", "Audited.")
    verdict: AuditVerdict
    reason: Text = ""


# Actions on documents and accounts, which have no version.


@dataclass(frozen=True, slots=True)
class AddDocument:
    """A document was collected; ``digest`` is the SHA-256 of its text in UTF-8."""

    words: ClassVar = ActionWords("added a document")
    document: StudioDocument
    digest: Text


@dataclass(frozen=True, slots=True)
class ReviewDocument:
    """The compliance review of a document, or its exhaustion."""

    words: ClassVar = ActionWords("decided on a document")
    document: Text
    state: DocumentState
    reason: Text = ""
    seconds: Amount = 0.0


@dataclass(frozen=True, slots=True)
class SetIntake:
    """How documents are measured from now on; the tokenizer stays once there are documents.

    Attributes:
        tokenizer: Counts their lengths.
        buckets: Length buckets in tokens.
        tolerance: Share of a bucket by which a text may be shorter or longer.
        near: Share of the shorter text from which two texts are nearly equal.
    """

    words: ClassVar = ActionWords("set how documents are measured")
    tokenizer: Text = TOKENIZER
    buckets: Items[Count] = BUCKETS
    tolerance: Amount = TOLERANCE
    near: Amount = NEAR


@dataclass(frozen=True, slots=True)
class SetPolicy:
    """How samples are reviewed that begin a round from now on."""

    words: ClassVar = ActionWords("chose how samples are reviewed")
    policy: PolicyName


@dataclass(frozen=True, slots=True)
class SetPerson:
    """A new account, or another role or activity of one."""

    words: ClassVar = ActionWords("added or changed an account")
    person: Person


@dataclass(frozen=True, slots=True)
class Note:
    """Anything else that somebody said: a rating, a critique. It changes no sample.

    Attributes:
        topic: What it is, such as ``rating``.
        subject: Id of what it is about.
        body: JSON text, in canonical form.
    """

    words: ClassVar = ActionWords("wrote a note")
    topic: Text
    subject: Text
    body: Text
    seconds: Amount = 0.0


Action: TypeAlias = (
    Create
    | AddCandidates
    | AddPredictions
    | SetDifficulty
    | Select
    | NoneFits
    | Write
    | Edit
    | SubmitForReview
    | ExpertPass
    | ExpertReturn
    | Standardise
    | SubmitVerdicts
    | SubmitReview
    | Adjudicate
    | Reconstruct
    | Reopen
    | Reject
    | Audit
)
ACTIONS: dict[str, type[Action]] = {kind.__name__: kind for kind in get_args(Action)}
"""Actions by name, as in the log."""

Event: TypeAlias = Action | AddDocument | ReviewDocument | SetIntake | SetPolicy | SetPerson | Note
EVENTS: dict[str, type[Event]] = {kind.__name__: kind for kind in get_args(Event)}
"""Everything that the log records, by name."""
