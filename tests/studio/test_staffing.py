"""Nobody gets stuck: a walk over every state that a sample can reach in groups of two to five people."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import combinations_with_replacement, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fathom.studio.policies import POLICIES
from fathom.studio.staffing import Staff, can_go_on, check_staff, enough, outlook, why_not_now
from fathom.studio.states import DONE, RULES, RefusedError, apply, may
from fathom.studio.types import (
    ROLES,
    Action,
    AddPredictions,
    Adjudicate,
    Audit,
    Candidate,
    Component,
    ComponentVerdict,
    Content,
    Create,
    Edit,
    ExpertPass,
    ExpertReturn,
    Person,
    PolicyName,
    Prediction,
    Reconstruct,
    Role,
    Sample,
    Select,
    SetDifficulty,
    Standardise,
    SubmitForReview,
    SubmitReview,
    SubmitVerdicts,
    Write,
)

AT = "2026-01-31T10:00:00Z"
CONTENT = Content("Who?", (Component("Ida"),), "why", "how", "partial")
RIGHT, WRONG = (ComponentVerdict("right"),), (ComponentVerdict("wrong", "no"),)
Group = tuple[Role, ...]
ROLES_OF_WORK: Group = ("annotator", "expert")
GROUPS: dict[PolicyName, list[Group]] = {
    name: [group for group in combinations_with_replacement(ROLES_OF_WORK, POLICIES[name].people) if "expert" in group]
    for name in ("two", "three", "four")
}
"""All groups of as many people as a policy needs; to a sample, an administrator is an expert."""
ALL = [(policy, group) for policy, groups in GROUPS.items() for group in groups]
TOO_FEW: list[tuple[PolicyName, Group]] = [("three", GROUPS["two"][0]), ("four", GROUPS["three"][0])]


def staff(policy: PolicyName, group: Group) -> Staff:
    people = tuple(Person(f"{role}-{number}", role) for number, role in enumerate(group))
    return Staff(policy, (*people, Person("ray", "reader")))


def moves(sample: Sample) -> Iterator[Action]:
    """Everything that somebody could want to do, with every outcome; nobody rejects."""
    id, version = sample.id, sample.version
    yield Select(id, version, "c")
    yield Write(id, version, CONTENT)
    yield Edit(id, version, replace(CONTENT, rationale=sample.content.rationale + "!"))
    yield SubmitForReview(id, version)
    yield ExpertPass(id, version)
    yield ExpertReturn(id, version, "no")
    yield Standardise(id, version, "Think.", "Say.")
    if sample.state == "answer_review" and not sample.predictions:
        yield AddPredictions(id, version, (Prediction("m", ("Bo",)),))
    for kind in (SubmitVerdicts, SubmitReview):
        yield kind(id, version, RIGHT, (), "pass")
        yield kind(id, version, WRONG, (), "problem")
    yield Adjudicate(id, version, "accept", "so")
    yield Adjudicate(id, version, "reconstruct", "so")
    yield Reconstruct(id, version)
    yield Audit(id, version, "pass")
    yield Audit(id, version, "problem", "so")


def essence(sample: Sample) -> Sample:
    """A sample without what decides nothing, so that equal ones are met again."""
    deciding = sample.state in ("answer_review", "adjudication", "accepted")

    def kept(items: tuple, *, names: bool = True) -> tuple:  # type: ignore[type-arg]
        now = [replace(item, round=1, at="") for item in items if item.round == sample.round]
        return tuple(sorted(set(now), key=repr)) if deciding and names else ()

    rulings = tuple(ruling for ruling in sample.rulings if ruling.kind in ("audit", "adjudication"))
    return replace(
        sample,
        version=1,
        round=1,
        author="",
        updated="",
        writers=tuple(sorted(sample.writers)),
        content=CONTENT if sample.state != "drafted" else Content(),
        reviews=kept(sample.reviews),
        first_verdicts=kept(sample.first_verdicts),
        rulings=kept(rulings),
        predictions=sample.predictions if sample.state == "answer_review" else (),
    )


def follow(sample: Sample, staff: Staff) -> Iterator[tuple[Person, Action, Sample]]:
    for person, action in product(staff.people, moves(sample)):
        filled = replace(action, policy=staff.policy) if isinstance(action, Reconstruct) else action
        with suppress(RefusedError):
            after = apply(sample, filled, person, AT)
            check_staff(sample, filled, person, staff)
            yield person, filled, essence(after)


@cache
def walked(staff: Staff) -> dict[Sample, list[tuple[Person, Action, Sample]]]:
    """Every sample that can be reached, with what can follow."""
    start = Create("s-1", "qa", "en", 8192, ("d",), (Candidate("c", "m", CONTENT),), policy=staff.policy)
    waiting = [essence(apply(None, start, staff.people[0], AT))]
    graph: dict[Sample, list[tuple[Person, Action, Sample]]] = {}
    while waiting:
        sample = waiting.pop()
        if sample not in graph:
            graph[sample] = list(follow(sample, staff))
            waiting += [after for _, _, after in graph[sample]]
    return graph


def test_an_administrator_is_to_a_sample_what_an_expert_is() -> None:
    assert {kind for kind, rule in RULES.items() if may(rule.role, "administrator")} == {SetDifficulty}


@settings(max_examples=15)
@given(st.data(), st.sampled_from(["two", "three", "four"]))
def test_somebody_goes_on_after_any_steps_of_any_group(data: st.DataObject, policy: PolicyName) -> None:
    """Also larger groups, with administrators and readers, and samples that nobody drafted."""
    some = st.lists(st.sampled_from(ROLES), min_size=POLICIES[policy].people, max_size=5)
    people = staff(policy, tuple(data.draw(some.filter(lambda roles: not staff(policy, tuple(roles)).lacks))))
    drafts = (Candidate("c", "m", CONTENT),) * data.draw(st.integers(0, 1))
    worker = next(person for person in people.people if person.role != "reader")
    sample = essence(apply(None, Create("s-1", "qa", "en", 8192, ("d",), drafts, policy=policy), worker, AT))
    for _ in range(10):
        edges = list(follow(sample, people))
        onward = [edge for edge in edges if not isinstance(edge[1], AddPredictions | Edit | Audit)]
        assert onward or sample.state in DONE, sample
        assert set(can_go_on(sample, people)) <= {person.name for person, _, _ in onward}
        if not edges:
            return
        _, _, sample = edges[data.draw(st.integers(0, len(edges) - 1))]


@pytest.mark.parametrize(
    ("policy", "group"),
    [
        pytest.param(*case, marks=pytest.mark.slow if len(case[1]) > 4 or case[0] == "four" else ())
        for case in ALL + TOO_FEW
    ],
)
def test_from_each_reachable_state_somebody_can_go_on_until_it_is_accepted(policy: PolicyName, group: Group) -> None:
    people = staff(policy, group)
    graph = walked(people)
    good = {sample for sample in graph if sample.state in DONE}
    before = 0
    while len(good) > before:
        before = len(good)
        good |= {sample for sample, edges in graph.items() if any(after in good for _, _, after in edges)}
    assert set(graph) - good == set()
    for sample, edges in graph.items():
        onward = {person.name for person, action, _ in edges if not isinstance(action, AddPredictions | Edit | Audit)}
        assert onward or sample.state in DONE
        named = can_go_on(sample, people)
        assert named == sorted(onward) or (not named and onward and outlook(sample, people))


@pytest.mark.parametrize(
    ("policy", "group"), [pytest.param(*case, marks=pytest.mark.slow if case[0] == "four" else ()) for case in ALL]
)
def test_an_expert_who_neither_wrote_nor_reviewed_is_always_left_to_decide(policy: PolicyName, group: Group) -> None:
    people = staff(policy, group)
    for sample in walked(people):
        audited = any(ruling.kind == "audit" for ruling in sample.rulings)
        assert enough(sample, people) or (audited and sample.state == "adjudication")
        if sample.state == "adjudication" and not audited:
            assert POLICIES[policy].adjudicated
            assert can_go_on(sample, people)


def test_without_people_kept_for_later_steps_samples_get_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    people = staff("three", GROUPS["three"][0])
    monkeypatch.setattr("fathom.studio.staffing._why_reserved", lambda *about: "")
    assert not all(enough(sample, people) for sample in walked.__wrapped__(people) if sample.state != "adjudication")


def test_a_sample_without_a_policy_keeps_nobody() -> None:
    people = staff("", GROUPS["three"][0])
    graph = walked(people)
    dead = [sample for sample, edges in graph.items() if not edges and sample.state == "adjudication"]
    assert dead, "as before there were policies"
    chosen = replace(people, policy="four")
    for sample in dead:
        assert outlook(sample, people) == ""
        assert why_not_now(sample, Reconstruct, people.people[0], chosen) == "", "another round ends it"
