"""What happened to each sample, as far as statistics need it.

A history follows from the entries of one sample. So all are read once, and later only those of samples that somebody
acted on since.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from threading import Lock
from typing import Literal, TypeAlias, TypeVar, cast

from sqlalchemy import select

from fathom.studio.log import Entry, steps_of_sample
from fathom.studio.schema import entries
from fathom.studio.states import DECIDING, DONE, involved
from fathom.studio.store import PAGE, Store
from fathom.studio.types import (
    ACTIONS,
    IMPORT,
    OPERATOR,
    Action,
    AddCandidates,
    AddPredictions,
    Adjudicate,
    Audit,
    AuditVerdict,
    Create,
    Edit,
    ExpertPass,
    ExpertReturn,
    Mark,
    PolicyName,
    Reject,
    Sample,
    Select,
    State,
    SubmitForReview,
    Write,
)

Kind = TypeVar("Kind")
Origin: TypeAlias = Literal["people", "models", "together", "imported"]
"""Who made a sample: people without drafts, models without edits, or people who edited a draft."""
Fault: TypeAlias = Literal["attributes", "answer"]
_FAULTS: Mapping[AuditVerdict, tuple[Fault, ...]] = {
    "pass": (),
    "attributes": ("attributes",),
    "answer": ("answer",),
    "problem": ("attributes", "answer"),
}
MOST_KEPT = 64
"""Results that are kept until the next action."""


@dataclass(frozen=True, slots=True)
class StateEffort:
    """Time and cost of a sample in one state.

    Attributes:
        actions: What people did there.
        cost: Price of drafts and predictions in US dollars, as far as known.
    """

    state: State
    actions: int
    seconds: float
    cost: float


@dataclass(frozen=True, slots=True)
class Pair:
    """The two blind reviews of a round.

    Attributes:
        marks: Both marks of each component.
        verdicts: Both verdicts.
    """

    marks: tuple[tuple[Mark, Mark], ...]
    verdicts: tuple[str, str]


@dataclass(frozen=True, slots=True)
class PersonEffort:
    """What one person did to a sample, without reviews of a round that is not decided yet.

    Attributes:
        counts: How often: kinds of actions; ``passed`` and ``returned``, what experts said of what they handed over;
            ``problem``, reviews that found one; ``upheld`` and ``overruled``, reviews on which an expert decided.
        seconds: Their time.
    """

    person: str
    counts: tuple[tuple[str, int], ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class AuditResult:
    """The first audit of a sample.

    Attributes:
        open: Whether it found a problem on which nobody has decided yet.
        faults: What is wrong; nothing if the audit passed, or if it was decided that nothing is.
    """

    open: bool
    faults: tuple[Fault, ...]


@dataclass(frozen=True, slots=True)
class History:
    """What happened to a sample.

    Attributes:
        bucket: Its length bucket in tokens.
        origin: Who made it; None before a draft is selected.
        spent: Time and cost by state.
        accepted: Number of the entry that accepted it first; 0 before.
        accepted_origin: Who had made it then; None before. Draws go by this: a later round may change the origin.
        accepted_by: The policy by which it was reviewed then; "" before.
        edited: Number of the entry that changed its content last; 0 before.
        seconds: People's time until it was accepted first, or until now.
        audit: Its first audit; None before.
        pairs: Blind reviews of all rounds that have both.
        barred: Who may not decide on it now.
        workers: Everybody who did something to it.
        efforts: What each of them did.
    """

    id: str
    task: str
    language: str
    bucket: int
    state: State
    origin: Origin | None
    spent: tuple[StateEffort, ...]
    accepted: int
    accepted_origin: Origin | None
    edited: int
    seconds: float
    audit: AuditResult | None
    pairs: tuple[Pair, ...]
    barred: frozenset[str]
    workers: frozenset[str]
    efforts: tuple[PersonEffort, ...] = ()
    accepted_by: PolicyName = ""


class Histories:
    """The histories of all samples of a store, kept up to date; for several threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = Lock()
        self._number = 0
        self._all: Mapping[str, History] = {}
        self._kept: dict[Hashable, object] = {}
        self._start = ""

    @property
    def start(self) -> str:
        """Hash of the first entry of the log, which differs from studio to studio; "" of an empty one."""
        if not self._start:
            self._start = next((entry.hash for entry in self._store.log(before=2, limit=1)), "")
        return self._start

    def all(self) -> Mapping[str, History]:
        """All histories by id of the sample.

        Raises:
            BrokenLogError: The log is damaged.
        """
        with self._lock:
            return self._present()

    def cached(self, asked: Hashable, compute: Callable[[Iterable[History]], Kind]) -> Kind:
        """What follows from all histories; kept until the next action.

        Args:
            asked: Names what is computed.

        Raises:
            BrokenLogError: The log is damaged.
        """
        with self._lock:
            present, number = self._present(), self._number
            if asked in self._kept:
                return cast(Kind, self._kept[asked])
        result = compute(present.values())  # while others go on
        with self._lock:
            if self._number == number:
                if len(self._kept) >= MOST_KEPT:
                    self._kept.clear()
                self._kept[asked] = result
        return result

    def _present(self) -> Mapping[str, History]:
        number = self._store.head().number
        if number != self._number:
            changed = {history.id: history for history in read_histories(self._store, after=self._number)}
            self._all, self._number = {**self._all, **changed}, number
            self._kept.clear()
        return self._all


def read_histories(store: Store, *, after: int = 0) -> Iterator[History]:
    """The histories of all samples on which somebody acted after an entry.

    Raises:
        BrokenLogError: The log is damaged.
    """
    ours = entries.c.kind.in_(ACTIONS)
    query = select(entries).where(ours).order_by(entries.c.subject, entries.c.number)
    if after:
        query = query.where(entries.c.subject.in_(select(entries.c.subject).where(ours, entries.c.number > after)))
    query = query.execution_options(yield_per=PAGE)
    with store.reader() as connection, connection.execute(query) as rows:
        all_entries = (Entry(**row._mapping) for row in rows)
        for _, own in groupby(all_entries, key=lambda entry: entry.subject):
            yield history_of(own)


def history_of(own: Iterable[Entry]) -> History:
    """The history of a sample.

    Args:
        own: Its entries, one at least, in order.

    Raises:
        BrokenLogError: One is not permitted.
        ValueError: There is no entry.
    """
    actions: defaultdict[State, int] = defaultdict(int)
    seconds: defaultdict[State, float] = defaultdict(float)
    costs: defaultdict[State, float] = defaultdict(float)
    origin: Origin | None = None
    accepted_origin: Origin | None = None
    accepted_by: PolicyName = ""
    accepted, edited, until = 0, 0, 0.0
    workers: set[str] = set()
    audit: AuditResult | None = None
    now: Sample | None = None
    tally = _Tally()
    for entry, action, after in steps_of_sample(own):
        tally.add(entry.person, action, after.round)
        state = (now or after).state
        if entry.person != OPERATOR:
            actions[state] += 1
            workers.add(entry.person)
        seconds[state] += action.seconds
        costs[state] += _cost(action)
        origin = _origin(origin, action, after)
        audit = _audit(audit, action)
        if isinstance(action, Select | Write | Edit):
            edited = entry.number
        if not accepted:
            until += action.seconds
            if after.state in DONE:
                accepted, accepted_origin, accepted_by = entry.number, origin, after.policy
        now = after
    if now is None:
        raise ValueError("a history of no entries")
    return History(
        now.id,
        now.task,
        now.language,
        now.bucket,
        now.state,
        origin,
        tuple(StateEffort(state, actions[state], seconds[state], costs[state]) for state in seconds),
        accepted,
        accepted_origin,
        edited,
        until,
        audit,
        tuple(_pairs(now)),
        frozenset(involved(now)),
        frozenset(workers),
        tally.efforts(now),
        accepted_by,
    )


class _Tally:
    """Counts what each person did to a sample."""

    def __init__(self) -> None:
        self._acts: list[tuple[str, str, float, int]] = []
        self._handed_over = ""

    def add(self, person: str, action: Action, round: int) -> None:
        if person != OPERATOR:
            self._acts.append((person, type(action).__name__, action.seconds, round))
        match action:
            case SubmitForReview():
                self._handed_over = person
            case ExpertPass() | ExpertReturn() if self._handed_over not in ("", OPERATOR):
                what = "passed" if isinstance(action, ExpertPass) else "returned"
                self._acts.append((self._handed_over, what, 0.0, round))

    def efforts(self, now: Sample) -> tuple[PersonEffort, ...]:
        counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        seconds: defaultdict[str, float] = defaultdict(float)
        open_round = now.round if now.state in DECIDING else 0
        for person, kind, time, round in self._acts:
            if round != open_round or kind not in ("SubmitVerdicts", "SubmitReview"):
                counts[person][kind] += 1
                seconds[person] += time
        decided = {ruling.round: ruling.outcome for ruling in now.rulings if ruling.kind == "adjudication"}
        for review in now.reviews:
            if review.round != open_round:
                counts[review.reviewer]["problem"] += review.verdict == "problem"
                if outcome := decided.get(review.round):
                    right = (review.verdict == "pass") == (outcome == "accept")
                    counts[review.reviewer]["upheld" if right else "overruled"] += 1
        return tuple(
            PersonEffort(person, tuple(sorted(counts[person].items())), seconds[person]) for person in sorted(counts)
        )


def _cost(action: Action) -> float:
    if isinstance(action, Create | AddCandidates):
        return sum(candidate.cost or 0 for candidate in action.candidates)
    if isinstance(action, AddPredictions):
        return sum(prediction.cost or 0 for prediction in action.predictions)
    return 0.0


def _origin(origin: Origin | None, action: Action, after: Sample) -> Origin | None:
    match action:
        case Write():
            return "people"
        case Select():
            drafter = next(candidate.drafter for candidate in after.candidates if candidate.id == action.candidate)
            return "imported" if drafter.startswith(IMPORT) else "models"
        case Edit() if origin == "models":
            return "together"
    return origin


def _audit(audit: AuditResult | None, action: Action) -> AuditResult | None:
    match action:
        case Audit() if audit is None:
            return AuditResult(action.verdict != "pass", _FAULTS[action.verdict])
        case Adjudicate() if audit is not None and audit.open:
            return AuditResult(False, () if action.decision == "accept" else audit.faults)
        case Reject() if audit is not None and audit.open:
            return AuditResult(False, audit.faults)
    return audit


def _pairs(sample: Sample) -> Iterator[Pair]:
    rounds = groupby(sorted(sample.reviews, key=lambda review: review.round), key=lambda review: review.round)
    for _, reviews in rounds:
        both = tuple(reviews)
        if len(both) == 2:
            first, other = both
            marks = tuple((a.mark, b.mark) for a, b in zip(first.verdicts, other.verdicts, strict=True))
            yield Pair(marks, (first.verdict, other.verdict))
