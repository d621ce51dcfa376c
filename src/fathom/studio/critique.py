"""Recursive critique: a model criticises a draft, another one criticises the critique, and people decide.

A claim says that a component of the answer is wrong, superfluous or missing, and quotes the documents. A second model
sees each claim with the text around its quotes, not the whole documents, and says whether it holds: a second look at a
review costs less than a second review (LongBench Pro, section 7). Nothing is changed by models: people see the claim,
its evidence and the objection.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import StringConstraints

from fathom.storage.toml import packaged_toml
from fathom.storage.validation import Amount, Count, Items, Text, Words
from fathom.studio.asking import Answer, Asking, Prompt, UnreadableReplyError, ask_model, failure_of, limited, read_list
from fathom.studio.candidates import shortened_text
from fathom.studio.drafting import find_quote
from fathom.studio.exports import Collection, context_of, joined
from fathom.studio.records import RecordError, from_record
from fathom.studio.tasks import find_task
from fathom.studio.types import Evidence, Sample
from fathom.types import Json

ClaimKind: TypeAlias = Literal["wrong", "superfluous", "missing"]
CLAIM_KINDS: tuple[ClaimKind, ...] = get_args(ClaimKind)
Stand: TypeAlias = Literal["holds", "fails", "unclear"]
STANDS: tuple[Stand, ...] = get_args(Stand)

Outcome: TypeAlias = Literal["holds", "does_not_hold"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

CRITIQUE = "critique"
"""Topic of the notes that hold critiques."""
CRITIQUE_DECISION = "critique-decision"
"""Topic of the notes in which people decide on claims."""
CRITIQUE_TOKENS = 4096
MOST_CLAIMS = 200
AROUND = 600
"""Characters of text shown before and after a quote."""

_REQUESTS: Mapping[str, str] = packaged_toml(__package__, "requests.toml")["critique"]
_CRITICISE, _OBJECT = _REQUESTS["claims"], _REQUESTS["objections"]

_SAID_SO_FAR = "Said of it so far, by both reviewers in turn; judge this too, by the passages alone:"
DEPTH = 2
"""Levels of critique: claims, and objections to them."""
MOST_DEPTH = 9


@dataclass(frozen=True, slots=True)
class Claim:
    """A fault of an answer, as a model sees it.

    Attributes:
        component: Place of the component from 0; None for a missing one.
        text: Wording of a missing component, or "".
        reason: What is wrong.
        evidence: Passages that it quotes, where they were found.
    """

    kind: ClaimKind
    component: Count | None
    text: Text
    reason: Text
    evidence: Items[Evidence] = ()


@dataclass(frozen=True, slots=True)
class Objection:
    """What a second model says of a claim.

    Attributes:
        stand: Whether the claim holds.
        reason: Why.
    """

    stand: Stand
    reason: Text


@dataclass(frozen=True, slots=True)
class _Claim:
    """A claim, as a model writes it."""

    kind: ClaimKind
    element: Count
    text: Annotated[Text, StringConstraints(strip_whitespace=True)]
    reason: Words
    quotes: Items[Text]


@dataclass(frozen=True, slots=True)
class _Objection:
    """An objection, as a model writes it."""

    claim: Count
    stand: Stand
    reason: Words


@dataclass(frozen=True, slots=True)
class Critique:
    """Claims about one sample, each with what a second model says of it.

    Attributes:
        sample: Id of the sample.
        critic: Model that made the claims.
        objector: Model that checked them; "" if none did.
        objections: One for each claim; None where there is none.
        replies: Further levels, by critic and objector in turn: what each says of the claims on which the two levels
            before differ; None for others.
        notes: What was left out, and why.
        cost: US dollars; None if a price is unknown.
    """

    sample: Text
    version: Count
    critic: Text
    claims: Items[Claim] = ()
    objector: Text = ""
    objections: Items[Objection | None] = ()
    notes: Items[Text] = ()
    cost: Amount | None = 0.0
    replies: Items[Items[Objection | None]] = ()

    def replies_to(self, claim: int) -> tuple[Objection, ...]:
        """What was said of a claim, level by level.

        Args:
            claim: Its place from 0.
        """
        levels = (self.objections, *self.replies)
        return tuple(reply for level in levels if (reply := level[claim]) is not None)

    @property
    def standing(self) -> tuple[Claim, ...]:
        """Claims that do not fail by what was said last: what people look at first."""
        return tuple(claim for place, claim in enumerate(self.claims) if stands(self.replies_to(place)))


def stands(replies: Sequence[Objection]) -> bool:
    """Whether a claim does not fail by what was said of it last."""
    return not replies or replies[-1].stand != "fails"


@dataclass(frozen=True, slots=True)
class ClaimDecision:
    """What somebody decided on a claim; the body of a note.

    Attributes:
        critique: Number of the critique's entry in the log.
        claim: Place of the claim from 0.
        decision: Whether it holds.
        reason: Why.
        version: Version of the sample that they saw.
    """

    critique: Count
    claim: Count
    decision: Outcome
    reason: Text
    version: Count


def criticise(
    samples: Sequence[Sample],
    collection: Collection,
    critic: Asking,
    objector: Asking | None = None,
    depth: int = DEPTH,
) -> tuple[Critique, ...]:
    """Have a model criticise the answers of samples, and another one its claims, and so on in turn.

    Args:
        samples: The samples, with questions and answers.
        collection: Where their documents and tasks are.
        critic: The model that makes claims.
        objector: The model that checks them; None for no second look. One that did not draft the samples is better.
            What the critic costs counts for its limit of cost too.
        depth: Levels: 1 for claims alone, 2 with objections, 3 with what the critic says of these, and so on. From the
            third on, only claims on which the two levels before differ are looked at again.

    Returns:
        A critique of each sample, in their order.

    Raises:
        FathomError: A model is unknown or unreachable, or a document is missing.
    """
    prompts = [Prompt(f"{sample.id}/critique", critique_prompt(sample, collection)) for sample in samples]
    critiques = []
    for sample, answer in zip(samples, ask_model(critic, prompts, cap=CRITIQUE_TOKENS), strict=True):
        claims, notes = read_claims(answer, sample, collection)
        critiques.append(
            Critique(sample.id, sample.version, critic.model, claims, "", (None,) * len(claims), notes, answer.cost)
        )
    if objector is None or depth < DEPTH:
        return tuple(critiques)
    now = tuple(critiques)
    for level in range(DEPTH, depth + 1):
        asked = objector if level % 2 == 0 else critic
        left = limited(asked, asked.settings.max_cost, [critique.cost for critique in now])
        now = _objected(now, samples, collection, left, level)
    return tuple(replace(critique, objector=objector.model) for critique in now)


def open_claims(critique: Critique) -> tuple[int, ...]:
    """Places of the claims of a critique that are looked at next: those on which the last two levels differ."""
    places = []
    for place in range(len(critique.claims)):
        replies = critique.replies_to(place)
        stances: list[Stand] = ["holds", *(objection.stand for objection in replies)]
        answered = len(replies) == len((critique.objections, *critique.replies))
        if not critique.objector or (answered and stances[-1] != stances[-2]):
            places.append(place)
    return tuple(places)


def _objected(
    critiques: Sequence[Critique], samples: Sequence[Sample], collection: Collection, asked: Asking, level: int
) -> tuple[Critique, ...]:
    """Critiques with what a model says of the claims that are open on a level."""
    by_id = {sample.id: sample for sample in samples}
    waiting = {critique.sample: places for critique in critiques if (places := open_claims(critique))}
    prompts = [
        Prompt(
            f"{critique.sample}/objections" + (f"-{level}" if level > DEPTH else ""),
            objection_prompt(
                by_id[critique.sample],
                collection,
                [critique.claims[place] for place in waiting[critique.sample]],
                [critique.replies_to(place) for place in waiting[critique.sample]],
            ),
        )
        for critique in critiques
        if critique.sample in waiting
    ]
    answers = dict(zip(waiting, ask_model(asked, prompts, cap=CRITIQUE_TOKENS), strict=True))
    objected = []
    for critique in critiques:
        level_replies: list[Objection | None] = [None] * len(critique.claims)
        if critique.sample in answers:
            answer, places = answers[critique.sample], waiting[critique.sample]
            objections, notes = read_objections(answer, len(places))
            for place, objection in zip(places, objections, strict=True):
                level_replies[place] = objection
            cost = None if critique.cost is None or answer.cost is None else critique.cost + answer.cost
            critique = replace(critique, notes=(*critique.notes, *notes), cost=cost)
        if level == DEPTH:
            critique = replace(critique, objector=asked.model, objections=tuple(level_replies))
        elif any(level_replies):
            critique = replace(critique, replies=(*critique.replies, tuple(level_replies)))
        objected.append(critique)
    return tuple(objected)


def critique_prompt(sample: Sample, collection: Collection) -> str:
    """The prompt that asks for claims."""
    return _CRITICISE.format(
        task=find_task(collection.tasks, sample.task).name,
        context=joined(context_of(sample, collection), collection.texts),
        question=sample.content.question,
        answer=_numbered(sample),
    )


def objection_prompt(
    sample: Sample, collection: Collection, claims: Sequence[Claim], replies: Sequence[Sequence[Objection]] = ()
) -> str:
    """The prompt that asks whether claims hold: with the text around their quotes only.

    Args:
        replies: What was said of each so far.
    """
    described = []
    for number, (claim, so_far) in enumerate(zip(claims, replies or [()] * len(claims), strict=True), start=1):
        about = "a missing element: " + claim.text if claim.component is None else f"element {claim.component + 1}"
        lines = [f"Claim {number} ({claim.kind}), about {about}", f"Reason given: {claim.reason}"]
        lines += [f"Passage:\n{_around(passage, collection.texts)}" for passage in claim.evidence] or [
            "It quotes no passage."
        ]
        if so_far:
            lines += [_SAID_SO_FAR, *(f"- {objection.stand}: {objection.reason}" for objection in so_far)]
        described.append("\n".join(lines))
    return _OBJECT.format(question=sample.content.question, answer=_numbered(sample), claims="\n\n".join(described))


def read_claims(answer: Answer, sample: Sample, collection: Collection) -> tuple[tuple[Claim, ...], tuple[str, ...]]:
    """The claims in a reply, and why others were left out.

    A claim that something is missing must quote a passage that is in the documents: otherwise it may be made up.
    """
    if reason := failure_of(answer):
        return (), (reason,)
    texts = {id: collection.texts[id] for id in sample.documents}
    claims, notes = [], []
    try:
        listed = read_list(answer.text, "claims", most=MOST_CLAIMS)
    except UnreadableReplyError as error:
        return (), (f"{error}: {shortened_text(answer.text, 200)!r}",)
    for number, value in enumerate(listed, start=1):
        try:
            claim = _claim(value, len(sample.content.components), texts)
        except (UnreadableReplyError, RecordError) as error:
            notes.append(f"claim {number}: {error}")
            continue
        if claim.kind == "missing" and not claim.evidence:
            notes.append(f"claim {number}: it quotes nothing that is in the documents")
        elif claim not in claims:
            claims.append(claim)
    return tuple(claims), tuple(notes)


def read_objections(answer: Answer, claims: int) -> tuple[tuple[Objection | None, ...], tuple[str, ...]]:
    """The objections in a reply by claim, None where there is none; and why some were left out."""
    none: tuple[None, ...] = (None,) * claims
    if reason := failure_of(answer):
        return none, (reason,)
    objections: dict[int, Objection] = {}
    notes = []
    try:
        listed = read_list(answer.text, "objections", most=MOST_CLAIMS)
    except UnreadableReplyError as error:
        return none, (f"{error}: {shortened_text(answer.text, 200)!r}",)
    for number, value in enumerate(listed, start=1):
        try:
            written = from_record(_Objection, value, "")
            place = _checked_number(written.claim, claims, "claim")
            if place in objections:
                raise UnreadableReplyError(f"claim {place} has an objection already")
            objections[place] = Objection(written.stand, written.reason)
        except (UnreadableReplyError, RecordError) as error:
            notes.append(f"objection {number}: {error}")
    return tuple(objections.get(place) for place in range(1, claims + 1)), tuple(notes)


def _claim(value: Json, components: int, texts: Mapping[str, str]) -> Claim:
    written = from_record(_Claim, value, "")
    evidence = tuple(dict.fromkeys(filter(None, (find_quote(quote, texts) for quote in written.quotes))))
    if written.kind == "missing":
        if not written.text:
            raise UnreadableReplyError("text: it is empty")
        return Claim(written.kind, None, written.text, written.reason, evidence)
    return Claim(
        written.kind, _checked_number(written.element, components, "element") - 1, "", written.reason, evidence
    )


def _checked_number(number: int, most: int, name: str) -> int:
    if not 1 <= number <= most:
        raise UnreadableReplyError(f"{name}: expected a number from 1 to {most}")
    return number


def _numbered(sample: Sample) -> str:
    components = enumerate(sample.content.components, start=1)
    return "\n".join(f"{number}. {component.text}" for number, component in components) or "(no element)"


def _around(evidence: Evidence, texts: Mapping[str, str]) -> str:
    text = texts[evidence.document]
    before, after = text[max(0, evidence.start - AROUND) : evidence.start], text[evidence.end : evidence.end + AROUND]
    return f"{before}>>>{evidence.quote}<<<{after}"
