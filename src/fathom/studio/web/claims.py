"""Claims of models about an answer on the page of a sample, and what people decide on them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from starlette.responses import Response

from fathom.studio.critique import (
    CRITIQUE,
    CRITIQUE_DECISION,
    OUTCOMES,
    Claim,
    ClaimDecision,
    Critique,
    Objection,
    stands,
)
from fathom.studio.log import Entry
from fathom.studio.records import as_record, canonical, from_json
from fathom.studio.states import RefusedError, sees_claims
from fathom.studio.types import Note, Sample
from fathom.studio.web.visit import Visit


@dataclass(frozen=True, slots=True)
class ClaimDecisionBy:
    """What somebody decided on a claim.

    Attributes:
        by: Who decided; "" while names are hidden.
    """

    by: str
    decision: ClaimDecision


@dataclass(frozen=True, slots=True)
class ClaimView:
    """A claim as the page shows it.

    Attributes:
        critique: Number of the critique's entry in the log.
        place: Place of the claim in the critique.
        replies: What models said of it, level by level: a second one, then both in turn.
        version: Version of the sample that it is about.
        outdated: Whether the sample was edited since.
        decisions: What people decided, each person's last.
        mine: The decision of who looks at it; None before.
    """

    critique: int
    place: int
    claim: Claim
    replies: tuple[Objection, ...]
    version: int
    outdated: bool
    decisions: tuple[ClaimDecisionBy, ...]
    mine: ClaimDecision | None

    @property
    def stands(self) -> bool:
        """Whether it does not fail by what was said last."""
        return stands(self.replies)


def claims_of(visit: Visit, sample: Sample) -> tuple[ClaimView, ...]:
    """The claims about a sample that somebody sees now: those without an objection first, outdated ones last.

    In the answer review, people see their own decisions only; in adjudication, they see no names.

    Args:
        visit: Who looks at it.
    """
    if not sees_claims(sample, visit.me):
        return ()
    notes = visit.store.notes(topic=CRITIQUE, subject=sample.id)
    if not notes:
        return ()
    last = _last_edit(visit.store.log(subject=sample.id))
    decided = _decisions(visit, sample)
    claims = []
    for entry in notes:
        critique = from_json(Critique, entry.note.body)
        for place, claim in enumerate(critique.claims):
            decisions_here = [
                decision
                for decision in decided
                if (decision.decision.critique, decision.decision.claim) == (entry.number, place)
            ]
            mine = next((decision.decision for decision in decisions_here if decision.by == visit.me.name), None)
            if sample.state == "adjudication":
                decisions_here = [replace(decision, by="") for decision in decisions_here]
            outdated = critique.version <= last
            where = entry.number, place, claim, critique.replies_to(place), critique.version, outdated
            claims.append(ClaimView(*where, tuple(decisions_here), mine))
    return tuple(sorted(claims, key=lambda claim: (claim.outdated, not claim.stands)))


def decide(visit: Visit) -> Response:
    """Records what somebody decides on a claim.

    Raises:
        RefusedError: They may not, or something is missing.
    """
    sample, form = visit.store.sample(visit.path("id")), visit.form
    open_claims = {(claim.critique, claim.place) for claim in claims_of(visit, sample)}
    about = form.number("critique"), form.number("claim")
    if about not in open_claims:
        raise RefusedError("there is no such claim that you can decide on now; reload the page")
    decision = next((outcome for outcome in OUTCOMES if outcome == form.text("decision")), None)
    if decision is None:
        raise RefusedError("choose whether the claim holds")
    if not form.text("reason").strip():
        raise RefusedError("the reason is missing; write why the claim holds or does not hold")
    decision_made = ClaimDecision(*about, decision, form.text("reason"), form.number("version"))
    note = Note(CRITIQUE_DECISION, sample.id, canonical(as_record(decision_made)), form.seconds)
    visit.store.note(note, visit.me)
    return visit.to(f"/samples/{sample.id}?done=claim#claims")


def _last_edit(log: Sequence[Entry]) -> int:
    """The version of the sample before its content was changed last; 0 if it never was."""
    kinds = ("Select", "Write", "Edit")
    return max((int(json.loads(entry.body)["version"]) for entry in log if entry.kind in kinds), default=0)


def _decisions(visit: Visit, sample: Sample) -> list[ClaimDecisionBy]:
    decisions: dict[tuple[str, int, int], ClaimDecisionBy] = {}
    for entry in visit.store.notes(topic=CRITIQUE_DECISION, subject=sample.id):
        if sample.state == "answer_review" and entry.person != visit.me.name:
            continue
        decision = from_json(ClaimDecision, entry.note.body)
        decisions[entry.person, decision.critique, decision.claim] = ClaimDecisionBy(entry.person, decision)
    return list(decisions.values())
