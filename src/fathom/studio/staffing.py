"""Who is kept for a later step of a sample, and what follows where too few people are left: so that nobody gets stuck.

An action that takes the last person for a later step, such as an edit by the only expert, is refused as long as
somebody else can do it and leave enough people. Where nobody can, it is allowed, and ``outlook`` says before what will
follow. Where nobody can go on in the answer review or in adjudication, everybody may begin another round. All of it
holds for samples with a policy (``fathom.studio.policies``).
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from fathom.printing import readable
from fathom.studio.policies import POLICIES, policy_of
from fathom.studio.states import DECIDING, DONE, RefusedError, involved, may, why_not
from fathom.studio.types import (
    Action,
    Adjudicate,
    Audit,
    Edit,
    ExpertPass,
    ExpertReturn,
    Person,
    PolicyName,
    Reconstruct,
    Review,
    Role,
    Ruling,
    Sample,
    Select,
    Standardise,
    State,
    SubmitForReview,
    SubmitReview,
    SubmitVerdicts,
    Write,
)

_SAME_STEP: tuple[tuple[type[Action], ...], ...] = ((Write, Select), (Edit,), (SubmitVerdicts, SubmitReview), (Audit,))
"""Actions that take somebody from a later step, each with those by which others can do the same step."""
ONWARD: tuple[type[Action], ...] = (
    *(Select, Write, SubmitForReview, ExpertPass, ExpertReturn, Standardise, SubmitVerdicts, SubmitReview, Adjudicate),
    Reconstruct,
)
"""Actions by which a sample gets on."""
_PASSED: tuple[State, ...] = ("standardised", "answer_review", "adjudication")


@dataclass(frozen=True, slots=True)
class Staff:
    """The people of a studio.

    Attributes:
        policy: The policy of rounds that begin now.
        people: Everybody with an account.
    """

    policy: PolicyName = ""
    people: tuple[Person, ...] = ()

    def names(self, role: Role) -> set[str]:
        """Active people with a role or a higher one."""
        return {person.name for person in self.people if person.active and may(person.role, role)}

    @property
    def lacks(self) -> str:
        """Whom the studio needs for its policy and does not have; "" if it has all."""
        needed, able = POLICIES[self.policy].people, len(self.names("annotator"))
        if self.policy and able < needed:
            return f"{needed} people who annotate, review or decide, and has {able}"
        return "" if not self.policy or self.names("expert") else "an expert"


def enough(sample: Sample, staff: Staff) -> bool:
    """Whether there are people for all that may follow in this round, also if a reviewer finds a problem."""
    return _left(sample, staff) == 2


def _left(sample: Sample, staff: Staff) -> int:
    """How far people suffice in this round: 2 in any case, 1 unless a reviewer finds a problem, 0 not at all."""
    if sample.state in DONE or sample.state == "rejected":
        return 2
    policy = policy_of(sample)
    free, experts = (staff.names(role) - set(sample.writers) for role in ("annotator", "expert"))
    if sample.state not in _PASSED and not experts:
        return 0
    reviewed: set[str] = set()
    if sample.state in DECIDING:
        reviewed = {review.reviewer for review in sample.current_reviews}
        experts -= involved(replace(sample, state="adjudication"))
    needed = 0 if sample.state == "adjudication" else max(0, policy.reviews - len(reviewed))
    able = free - reviewed
    if len(able) < needed:
        return 0
    adjudicated = policy.adjudicated or sample.state == "adjudication"
    return 2 if not adjudicated or any(len(able - {name}) >= needed for name in experts) else 1


def why_not_now(sample: Sample, kind: type[Action], by: Person, staff: Staff) -> str:
    """Why a person may not do something to a sample now, also because they are kept for a later step; "" if they may.

    Args:
        kind: What they want to do.
    """
    if kind is Reconstruct and sample.state in DECIDING and staff.policy:
        return "" if may(by.role, "annotator") and by.active and not can_go_on(sample, staff) else _OTHERS
    if kind is Select and not sample.candidates:
        return "there is no draft; somebody must write the sample"
    return why_not(sample, kind, by) or _why_reserved(sample, kind, by, staff)


def check_staff(sample: Sample | None, action: Action, by: Person, staff: Staff) -> None:
    """Check that an action leaves enough people, or that nobody could do it and leave more.

    Raises:
        RefusedError: It does not.
    """
    if sample is None or action.version != sample.version:
        return
    if isinstance(action, Reconstruct) and sample.state in DECIDING:
        reason = why_not_now(sample, Reconstruct, by, staff)
    else:
        reason = _why_reserved(sample, type(action), by, staff)
    if reason:
        raise RefusedError(f"sample {sample.id}: {reason}")


def can_go_on(sample: Sample, staff: Staff) -> list[str]:
    """Names of those who can bring a sample further now, in order; nobody where only another round is left."""
    if sample.state in DONE or sample.state == "rejected":
        return []
    kinds = [kind for kind in ONWARD if not (kind is Reconstruct and sample.state in DECIDING)]
    return sorted(
        person.name for person in staff.people if any(not why_not_now(sample, kind, person, staff) for kind in kinds)
    )


def outlook(sample: Sample, staff: Staff) -> str:
    """What will follow because too few people are left; "" if there are enough, or no policy was chosen."""
    if not sample.policy or enough(sample, staff):
        return ""
    if sample.state == "adjudication":
        return f"No expert is left who can decide. {_ROUND}"
    free = staff.names("annotator") - set(sample.writers)
    reviewed = {review.reviewer for review in sample.current_reviews} if sample.state == "answer_review" else set()
    if sample.state not in _PASSED and not free & staff.names("expert"):
        return "Every expert has written this sample: nobody can pass it. An administrator must add another expert."
    if len(free - reviewed) < policy_of(sample).reviews - len(reviewed):
        return (
            "Too few people are left who can review the answer. An administrator must add somebody, or choose another "
            "policy, and then begin another round."
        )
    return "If a reviewer finds a problem, no expert is left who can decide: everybody may then begin another round."


def stuck(state: State, involved_names: Collection[str], staff: Staff) -> bool:
    """Whether nobody can decide on a sample, as far as its row in a list tells.

    Args:
        involved_names: Who may not decide; see ``states.involved``.
    """
    if state == "answer_review":
        return not staff.names("annotator") - set(involved_names)
    return state in ("expert_review", "adjudication") and not staff.names("expert") - set(involved_names)


@readable
@dataclass(frozen=True, slots=True)
class PolicyReport:
    """The policy of a studio and its people.

    Attributes:
        policy: Its name; "" if none was chosen.
        words: What it says.
        able: Active annotators, experts and administrators.
        experts: Active experts and administrators.
        lacks: Whom it needs and does not have; "" if it has all.
        stuck: Samples with which nobody can go on.
    """

    policy: PolicyName
    words: str
    able: int
    experts: int
    lacks: str
    stuck: int


def policy_report(staff: Staff, stuck: int) -> PolicyReport:
    """The policy of a studio and its people.

    Args:
        stuck: Samples with which nobody can go on.
    """
    able, experts = len(staff.names("annotator")), len(staff.names("expert"))
    return PolicyReport(staff.policy, POLICIES[staff.policy].words, able, experts, staff.lacks, stuck)


_OTHERS = "others can still go on with it"
_ROUND = "Whoever annotates may begin another round, in which it is edited and reviewed again."


def _why_reserved(sample: Sample, kind: type[Action], by: Person, staff: Staff) -> str:
    same_step = next((kinds for kinds in _SAME_STEP if kind in kinds), ())
    if not sample.policy or kind is Select or not same_step:
        return ""
    left = _left(_after(sample, kind, by.name), staff)
    if left == 2:
        return ""
    for other in staff.people:
        for able in same_step if other.name != by.name else ():
            offered = able is not Select or sample.candidates
            if offered and not why_not(sample, able, other) and _left(_after(sample, able, other.name), staff) > left:
                return (
                    "you are the last one who could do a later step; leave this one to somebody else, such as "
                    f"{_label(sample, other.name)}"
                )
    return ""


def _label(sample: Sample, name: str) -> str:
    """Names of reviewers are hidden."""
    return "somebody who has not reviewed it" if sample.state in DECIDING else name


def _after(sample: Sample, kind: type[Action], name: str) -> Sample:
    """A sample after somebody acted, as far as it matters for who is left."""
    review = Review(name, sample.round, (), (), "problem")
    effects: dict[type[Action], Callable[[], Sample]] = {
        Write: lambda: replace(sample, writers=(*sample.writers, name)),
        Edit: lambda: replace(
            sample,
            writers=(*sample.writers, name),
            state="revision" if sample.state == "standardised" else sample.state,
        ),
        SubmitVerdicts: lambda: replace(sample, first_verdicts=(*sample.first_verdicts, review)),
        SubmitReview: lambda: replace(sample, reviews=(*sample.reviews, review)),
        Audit: lambda: replace(
            sample,
            state="adjudication",
            rulings=(*sample.rulings, Ruling(name, "audit", sample.round, "problem", "", "")),
        ),
    }
    return effects[kind]() if kind in effects else sample
