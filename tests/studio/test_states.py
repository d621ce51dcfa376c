"""The workflow: every transition, every refusal, and rules that hold whatever anybody does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from fathom.studio.states import RULES, RefusedError, StaleError, apply, involved, review_document, visible, why_not
from fathom.studio.types import (
    OPERATOR,
    STATES,
    Action,
    AddCandidates,
    AddPredictions,
    Adjudicate,
    Audit,
    Candidate,
    Component,
    ComponentVerdict,
    Create,
    Edit,
    ExpertPass,
    ExpertReturn,
    NoneFits,
    Person,
    Prediction,
    Reconstruct,
    Reject,
    Reopen,
    ReviewDocument,
    Sample,
    Select,
    SetDifficulty,
    Standardise,
    State,
    StudioDocument,
    SubmitForReview,
    SubmitReview,
    SubmitVerdicts,
    Write,
)
from studio_stores import content, person

AT = "2026-01-31T10:00:00Z"
CANDIDATES = (Candidate("c1", "model/a", content()), Candidate("c2", "model/b", content("Ida")))
RIGHT, WRONG = ComponentVerdict("right"), ComponentVerdict("wrong", "no")

Make = Callable[[Sample], Action]


def made(kind: type[Action], sample: Sample) -> Action:
    """An action of a kind that is complete, so that only rules can refuse it."""
    id, version, parts = sample.id, sample.version, len(sample.content.components)
    makers: dict[Any, Make] = {
        AddCandidates: lambda s: AddCandidates(id, version, (replace(CANDIDATES[0], id=f"d{len(s.candidates)}"),)),
        AddPredictions: lambda _: AddPredictions(id, version, (Prediction("m", ("Ida",), score=0.5),)),
        SetDifficulty: lambda _: SetDifficulty(id, version, "Hard"),
        Select: lambda s: Select(id, version, "c1" if s.state == "drafted" else "c2"),
        NoneFits: lambda _: NoneFits(id, version),
        Write: lambda _: Write(id, version, content("Ida")),
        Edit: lambda s: Edit(id, version, replace(s.content, rationale=s.content.rationale + "!")),
        SubmitForReview: lambda _: SubmitForReview(id, version),
        ExpertPass: lambda _: ExpertPass(id, version),
        ExpertReturn: lambda _: ExpertReturn(id, version, "unclear"),
        Standardise: lambda _: Standardise(id, version, "Think.", "Answer."),
        SubmitVerdicts: lambda _: SubmitVerdicts(id, version, (RIGHT,) * parts, (), "pass"),
        SubmitReview: lambda _: SubmitReview(id, version, (RIGHT,) * parts, (), "pass"),
        Adjudicate: lambda _: Adjudicate(id, version, "accept", "the first is right"),
        Reconstruct: lambda _: Reconstruct(id, version),
        Reopen: lambda _: Reopen(id, version),
        Reject: lambda _: Reject(id, version, "no"),
        Audit: lambda _: Audit(id, version, "pass"),
    }
    return makers[kind](sample)


def drafted() -> Sample:
    return apply(None, Create("s-1", "qa", "en", 8192, ("d",), CANDIDATES), person("ann"), AT)


def after(sample: Sample, *did: tuple[str, type[Action]]) -> Sample:
    for name, kind in did:
        sample = apply(sample, made(kind, sample), person(name), AT)
    return sample


def problem(sample: Sample) -> SubmitReview:
    verdicts = (WRONG, *(RIGHT,) * (len(sample.content.components) - 1))
    return SubmitReview(sample.id, sample.version, verdicts, (), "problem")


def in_answer_review() -> Sample:
    return after(
        drafted(), ("ann", Select), ("ann", Edit), ("ann", SubmitForReview), ("eve", ExpertPass), ("ann", Standardise)
    )


def answered() -> Sample:
    return after(in_answer_review(), ("ann", AddPredictions))


def in_adjudication() -> Sample:
    one = after(in_answer_review(), ("bo", SubmitReview))
    return apply(one, problem(one), person("cy"), AT)


PLACES: dict[State, Callable[[], Sample]] = {
    "drafted": drafted,
    "selected": lambda: after(drafted(), ("ann", Select), ("ann", Edit)),
    "expert_review": lambda: after(PLACES["selected"](), ("ann", SubmitForReview)),
    "revision": lambda: after(PLACES["expert_review"](), ("eve", ExpertReturn)),
    "standardised": lambda: after(PLACES["expert_review"](), ("eve", ExpertPass)),
    "answer_review": in_answer_review,
    "adjudication": in_adjudication,
    "accepted": lambda: after(in_answer_review(), ("bo", SubmitReview), ("cy", SubmitReview)),
    "reconstruct": lambda: apply(
        (one := in_adjudication()), Adjudicate(one.id, one.version, "reconstruct", "wrong"), person("eve"), AT
    ),
    "audited": lambda: after(PLACES["accepted"](), ("eve", Audit)),
    "rejected": lambda: after(drafted(), ("eve", Reject)),
}
FOLLOWS: dict[tuple[State, type[Action]], State] = {
    ("drafted", AddCandidates): "drafted",
    ("drafted", Select): "selected",
    ("drafted", Write): "selected",
    ("drafted", NoneFits): "rejected",
    ("selected", Select): "selected",
    ("selected", Edit): "selected",
    ("selected", SubmitForReview): "expert_review",
    ("expert_review", ExpertPass): "standardised",
    ("expert_review", ExpertReturn): "revision",
    ("revision", Edit): "revision",
    ("revision", SubmitForReview): "expert_review",
    ("standardised", Standardise): "answer_review",
    ("standardised", Edit): "revision",
    ("answer_review", SubmitReview): "answer_review",
    ("adjudication", Adjudicate): "accepted",
    ("reconstruct", Reconstruct): "selected",
    ("accepted", Audit): "audited",
    ("accepted", Reopen): "reconstruct",
    ("audited", Reopen): "reconstruct",
    **{(state, kind): state for state in STATES if state != "rejected" for kind in (AddPredictions, SetDifficulty)},
    **{(state, Reject): "rejected" for state in STATES if state != "rejected"},
}
LEAST = {
    ExpertPass: "expert", ExpertReturn: "expert", Adjudicate: "expert", Reject: "expert", Audit: "expert",
    SetDifficulty: "administrator", Reopen: "expert",
}  # fmt: skip
RANK = {"reader": 0, "annotator": 1, "expert": 2, "administrator": 3}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("kind", [one for one in get_args(Action) if one is not Create])
def test_each_action_in_each_state_by_each_role(state: State, kind: type[Action]) -> None:
    sample = PLACES[state]()
    assert sample.state == state
    for role, rank in RANK.items():
        by = Person("zoe", role)  # type: ignore[arg-type]
        allowed = (state, kind) in FOLLOWS and rank >= RANK[LEAST.get(kind, "annotator")]
        assert (why_not(sample, kind, by) == "") == allowed
        if allowed:
            after = apply(sample, made(kind, sample), by, AT)
            assert after.state == FOLLOWS[state, kind]
            additions = (AddCandidates, AddPredictions, SetDifficulty, SubmitReview)
            assert after.version == sample.version + (kind not in additions)
        else:
            with pytest.raises(RefusedError):
                apply(sample, made(kind, sample), by, AT)
        with pytest.raises(RefusedError):
            apply(sample, made(kind, sample), replace(by, active=False), AT)


@pytest.mark.parametrize("kind", list(RULES))
def test_commands_never_decide(kind: type[Action]) -> None:
    by = Person(OPERATOR, "administrator")
    permitted = {AddCandidates, AddPredictions, SetDifficulty, Select, SubmitForReview}
    places = [*(PLACES[state]() for state in STATES), answered()]
    assert any(why_not(sample, kind, by) == "" for sample in places) == (kind in permitted)


def test_whoever_wrote_never_decides() -> None:
    decisions: list[tuple[State, type[Action]]] = [
        ("expert_review", ExpertPass),
        ("expert_review", ExpertReturn),
        ("answer_review", SubmitReview),
        ("adjudication", Adjudicate),
        ("accepted", Audit),
    ]
    for state, kind in decisions:
        sample = PLACES[state]()
        assert sample.writers == ("ann",)
        with pytest.raises(RefusedError, match="wrote or edited"):
            apply(sample, made(kind, sample), Person("ann", "administrator"), AT)


def test_selecting_a_candidate_is_not_writing() -> None:
    sample = after(drafted(), ("ann", Select), ("ann", SubmitForReview), ("eve", ExpertPass), ("ann", Standardise))
    assert (sample.author, sample.writers) == ("ann", ())
    assert after(sample, ("ann", SubmitReview)).current_reviews[0].reviewer == "ann"


def test_nobody_reviews_twice_and_nobody_adjudicates_after_a_review() -> None:
    once = after(in_answer_review(), ("bo", SubmitReview))
    with pytest.raises(RefusedError, match="have reviewed"):
        apply(once, made(SubmitReview, once), person("bo"), AT)
    sample = apply(once, problem(once), person("ed"), AT)
    with pytest.raises(RefusedError, match="have judged"):
        apply(sample, made(Adjudicate, sample), person("ed"), AT)
    accepted = apply(sample, made(Adjudicate, sample), person("eve"), AT)
    with pytest.raises(RefusedError, match="decided on this sample before"):
        apply(accepted, made(Audit, accepted), person("eve"), AT)


def test_where_models_have_answered_a_review_has_two_steps() -> None:
    sample = answered()
    with pytest.raises(RefusedError, match="send your own verdicts first"):
        apply(sample, made(SubmitReview, sample), person("bo"), AT)
    with pytest.raises(RefusedError, match="no model has answered"):
        apply(in_answer_review(), made(SubmitVerdicts, sample), person("bo"), AT)
    with pytest.raises(RefusedError, match="wrote or edited"):
        apply(sample, made(SubmitVerdicts, sample), person("ann"), AT)
    once = after(sample, ("bo", SubmitVerdicts))
    assert (once.version, once.state, once.reviews) == (sample.version, "answer_review", ())
    with pytest.raises(RefusedError, match="have judged this answer"):
        apply(once, made(SubmitVerdicts, once), person("bo"), AT)
    changed = problem(once)
    done = apply(once, replace(changed, not_missing=("Bo",)), person("bo"), AT)
    assert [one.mark for one in done.first_verdicts[0].verdicts] == ["right", "right"]
    assert [one.mark for one in done.reviews[0].verdicts] == ["wrong", "right"]
    assert done.reviews[0].not_missing == ("Bo",)
    with pytest.raises(RefusedError, match="send your own verdicts first"):
        apply(done, made(SubmitReview, done), person("cy"), AT)


def test_whoever_gave_first_verdicts_does_not_adjudicate() -> None:
    sample = after(answered(), ("ed", SubmitVerdicts), *((name, SubmitVerdicts) for name in ("bo", "cy")))
    split = apply(after(sample, ("bo", SubmitReview)), problem(sample), person("cy"), AT)
    with pytest.raises(RefusedError, match="have judged this answer"):
        apply(split, made(Adjudicate, split), person("ed"), AT)
    assert "ed" in involved(split)
    assert "ed" not in involved(sample)
    passed = after(sample, ("bo", SubmitReview), ("cy", SubmitReview))
    assert passed.state == "accepted"
    assert "ed" in involved(passed), "nor audits it"
    assert apply(split, made(Adjudicate, split), person("eve"), AT).state == "accepted"


def test_answers_of_models_are_dropped_with_their_question() -> None:
    asked = AddPredictions("s-1", 0, (Prediction("m", ("Ida",), score=1), Prediction("m", ("Ida",), True, 1)))
    sample = PLACES["selected"]()
    sample = apply(sample, replace(asked, version=sample.version), person("ann"), AT)
    for changes, kept in (
        ({"rationale": "Another."}, sample.predictions),
        ({"components": (Component("Bo"),)}, (Prediction("m", ("Ida",)),)),
        ({"question": "Who else?"}, ()),
    ):
        content: Any = replace(sample.content, **changes)
        assert apply(sample, Edit("s-1", sample.version, content), person("ann"), AT).predictions == kept


def test_the_difficulty_goes_with_question_and_answer() -> None:
    sample = PLACES["selected"]()
    sample = apply(sample, SetDifficulty("s-1", sample.version, "Easy"), person("ada"), AT)
    for changes, difficulty in (
        ({"rationale": "Another."}, "Easy"),
        ({"components": (Component("Bo"),)}, ""),
        ({"question": "Who else?"}, ""),
    ):
        content: Any = replace(sample.content, **changes)
        assert apply(sample, Edit("s-1", sample.version, content), person("ann"), AT).difficulty == difficulty


def test_two_blind_reviews_of_one_version_both_count() -> None:
    sample = in_answer_review()
    first, second = made(SubmitReview, sample), made(SubmitReview, sample)
    one = apply(sample, first, person("bo"), AT)
    assert (one.state, one.version) == ("answer_review", sample.version)
    two = apply(one, second, person("cy"), AT)
    assert (two.state, two.version) == ("accepted", sample.version + 1)
    with pytest.raises(StaleError):
        apply(two, first, person("ed"), AT)


def test_a_round_begins_again_with_its_own_reviews() -> None:
    sample = after(PLACES["reconstruct"](), ("ann", Reconstruct))
    assert (sample.state, sample.round, len(sample.reviews), sample.current_reviews) == ("selected", 2, 2, ())
    again = after(sample, ("ann", SubmitForReview), ("eve", ExpertPass), ("ann", Standardise), ("bo", SubmitReview))
    assert len(again.current_reviews) == 1


def test_a_problem_in_an_audit_leads_to_another_expert() -> None:
    sample = PLACES["accepted"]()
    doubt = apply(sample, Audit(sample.id, sample.version, "problem", "the lamp"), person("eve"), AT)
    assert doubt.state == "adjudication"
    with pytest.raises(RefusedError, match="decided on this sample before"):
        apply(doubt, made(Adjudicate, doubt), person("eve"), AT)
    assert apply(doubt, made(Adjudicate, doubt), person("ed"), AT).state == "accepted"


@pytest.mark.parametrize(
    ("state", "action", "words"),
    [
        ("drafted", lambda s: Select(s.id, s.version, "c9"), "there is no candidate"),
        ("drafted", lambda s: AddCandidates(s.id, s.version, CANDIDATES[:1]), "not unique"),
        ("drafted", lambda s: AddCandidates(s.id, s.version, (replace(CANDIDATES[0], id=""),)), "empty"),
        ("selected", lambda s: Edit(s.id, s.version, s.content), "nothing was changed"),
        ("expert_review", lambda s: ExpertReturn(s.id, s.version, " "), "reason is missing"),
        ("answer_review", lambda s: SubmitReview(s.id, s.version, (RIGHT,), (), "pass"), "1 verdicts for 2"),
        ("answer_review", lambda s: SubmitReview(s.id, s.version, (RIGHT, WRONG), (), "pass"), "does not pass"),
        ("answer_review", lambda s: SubmitReview(s.id, s.version, (RIGHT,) * 2, (Component("x"),), "pass"), "not pass"),
        ("answer_review", lambda s: SubmitReview(s.id, s.version, (RIGHT,) * 2, (), "problem"), "what the problem is"),
        ("adjudication", lambda s: Adjudicate(s.id, s.version, "accept", ""), "reason is missing"),
        ("accepted", lambda s: Audit(s.id, s.version, "problem"), "reason is missing"),
        ("accepted", lambda s: Reject(s.id, s.version, ""), "reason is missing"),
        ("accepted", lambda s: Audit(s.id, s.version - 1, "pass"), "it is now version"),
    ],
)
def test_incomplete_actions_are_refused(state: State, action: Make, words: str) -> None:
    sample = PLACES[state]()
    with pytest.raises((RefusedError, StaleError), match=words):
        apply(sample, action(sample), Person("zoe", "administrator"), AT)


def test_a_sample_is_created_once_with_a_document() -> None:
    with pytest.raises(RefusedError, match="exists already"):
        apply(drafted(), Create("s-1", "qa", "en", 8192, ("d",)), person("ann"), AT)
    for wrong in (Create("s", "qa", "en", 1, ()), Create("s", "qa", "en", 1, ("d",), version=1)):
        with pytest.raises(RefusedError):
            apply(None, wrong, person("ann"), AT)
    with pytest.raises(RefusedError, match="no such sample"):
        apply(None, Select("s", 1, "c1"), person("ann"), AT)
    with pytest.raises(RefusedError, match="needs the role annotator"):
        apply(None, Create("s", "qa", "en", 1, ("d",)), person("ray"), AT)


def test_nobody_sees_what_would_bias_them() -> None:
    sample = after(answered(), ("ada", SetDifficulty), ("bo", SubmitVerdicts))
    for name in ("cy", "ray", "ada", "eve", "ann", "bo"):
        seen = visible(sample, person(name))
        assert (seen.reviews, seen.rulings, seen.candidates, seen.difficulty) == ((), (), (), "")
        assert [one.score for one in seen.predictions] == [None] * (name == "bo")
        assert [one.reviewer for one in seen.first_verdicts] == ["bo"] * (name == "bo")
    sample = after(sample, ("bo", SubmitReview))
    assert visible(sample, person("cy")).reviews == ()
    assert [one.reviewer for one in visible(sample, person("bo")).reviews] == ["bo"]
    sample = after(sample, ("cy", SubmitVerdicts))
    split = visible(apply(sample, replace(problem(sample), not_missing=("x",)), person("cy"), AT), person("eve"))
    assert [one.reviewer for one in split.reviews] == ["Reviewer 1", "Reviewer 2"]
    assert [one.reviewer for one in split.first_verdicts] == ["Reviewer 1", "Reviewer 2"]
    assert [one.not_missing for one in split.reviews] == [(), ()]
    assert split.predictions == ()
    assert (split.author, split.writers, [one.by for one in split.rulings]) == ("", (), ["Expert"])
    waiting = after(PLACES["expert_review"](), ("ada", SetDifficulty))
    assert waiting.difficulty
    assert visible(waiting, person("eve")).difficulty == "", "an expert does not know how models did"
    done = PLACES["accepted"]()
    assert visible(done, person("ray")) == done


def test_documents_are_reviewed_by_experts() -> None:
    document = StudioDocument("d", "Title", "en")
    available = review_document(document, ReviewDocument("d", "available"), person("eve"))
    assert available.state == "available"
    assert review_document(available, ReviewDocument("d", "exhausted"), person("ann")).state == "exhausted"
    for wrong, by in (
        (ReviewDocument("d", "available"), "ann"),
        (ReviewDocument("d", "excluded"), "eve"),
        (ReviewDocument("d", "collected"), "eve"),
        (ReviewDocument("d", "exhausted"), "eve"),
    ):
        with pytest.raises(RefusedError):
            review_document(document, wrong, person(by))


NAMES = ("ann", "bo", "cy", "eve", "ed", "ada", "ray")
moves = st.tuples(
    st.sampled_from(NAMES),
    st.sampled_from(list(RULES)),
    st.integers(0, 9),  # which of the actions of the state is done instead; 0 for none of them
    st.booleans(),  # whether a decision is negative
    st.sampled_from([0, 0, 0, 0, 1]),  # how old the version is that they saw
)
ONWARD = {
    state: [kind for at, kind in FOLLOWS if at == state and kind not in (Reject, AddPredictions, SetDifficulty)]
    for state in STATES
}
ONWARD["answer_review"].append(SubmitVerdicts)


@pytest.mark.slow
@settings(max_examples=300)
@given(st.lists(moves, min_size=20, max_size=120))
def test_random_people_never_reach_a_forbidden_state(did: list[tuple[str, type[Action], int, bool, int]]) -> None:
    sample, wrote = drafted(), set[str]()
    for name, kind, choice, negative, age in did:
        onward = ONWARD[sample.state]
        if choice and onward:
            kind = onward[choice % len(onward)]
        action = made(kind, sample)
        if negative:
            action = _negative(action, sample)
        action = replace(action, version=max(0, sample.version - age))
        before = sample
        try:
            sample = apply(sample, action, person(name), AT)
        except (RefusedError, StaleError):
            assert sample == before
            continue
        assert age == 0
        if kind in (Edit, Write):
            wrote.add(name)
        event(sample.state)
        _check(sample, before, wrote)


def _negative(action: Action, sample: Sample) -> Action:
    match action:
        case SubmitReview() if sample.content.components:
            return problem(sample)
        case Adjudicate():
            return replace(action, decision="reconstruct")
        case Audit():
            return replace(action, verdict="problem", reason="no")
    return action


def _check(sample: Sample, before: Sample, wrote: set[str]) -> None:
    """What must hold after each step, whoever did it."""
    assert sample.version >= before.version
    assert set(sample.writers) == wrote
    reviewers = [one.reviewer for one in sample.current_reviews]
    assert len(reviewers) == len(set(reviewers)) <= 2
    new = sample.reviews[len(before.reviews) :]
    assert not any(one.reviewer in wrote for one in new)
    assert not before.answered or all(before.judged_by(one.reviewer) for one in new)
    judged = [(one.round, one.reviewer) for one in sample.first_verdicts]
    assert len(judged) == len(set(judged))
    for name in NAMES:  # models' answers only after one's own verdicts
        assert not visible(sample, person(name)).predictions or sample.judged_by(name)
    ruled = sample.rulings[len(before.rulings) :]
    for one in ruled:
        assert person(one.by).role in ("expert", "administrator")
        if one.kind != "rejection":
            assert one.by not in wrote
        if one.kind in ("adjudication", "audit"):
            assert one.by not in reviewers
            earlier = [was.by for was in before.rulings if was.round == sample.round]
            assert one.by not in earlier or one.kind == "audit" or _only_expert_review(before, one.by)
    if sample.state in ("accepted", "audited"):
        passed = len(reviewers) == 2 and all(one.verdict == "pass" for one in sample.current_reviews)
        decided = any(
            one.kind == "adjudication" and one.outcome == "accept" and one.round == sample.round
            for one in sample.rulings
        )
        assert passed or decided
        assert any(one.kind == "expert_review" and one.outcome == "pass" for one in sample.rulings)
    if before.state == "rejected":
        assert sample == before


def _only_expert_review(sample: Sample, name: str) -> bool:
    return all(one.kind == "expert_review" for one in sample.rulings if one.by == name and one.round == sample.round)
