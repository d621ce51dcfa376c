"""Histories of samples follow from the log, and are kept up to date."""

from __future__ import annotations

import pytest

from fathom.studio.histories import AuditResult, Histories, History, read_histories
from fathom.studio.log import BrokenLogError
from fathom.studio.store import Store
from fathom.studio.types import (
    IMPORT,
    AddPredictions,
    Adjudicate,
    Audit,
    AuditVerdict,
    Candidate,
    Create,
    Edit,
    Note,
    Prediction,
    Reconstruct,
    Reject,
    Sample,
    Select,
    Write,
)
from studio_stores import DOCUMENT, OPERATOR, content, create, person, review, to_answer_review


def accepted(store: Store, id: str = "s-1") -> Sample:
    now = to_answer_review(store, id)
    store.act(review(now), person("bo"))
    return store.act(review(now), person("cy"))


def of(store: Store, id: str = "s-1") -> History:
    return Histories(store).all()[id]


def test_time_cost_and_people_of_a_sample(studio: Store) -> None:
    now = accepted(studio)
    studio.act(AddPredictions("s-1", now.version, (Prediction("m", ("Ida",), cost=0.5), Prediction("n", ()))), OPERATOR)
    studio.act(Audit("s-1", now.version, "pass", seconds=40), person("ed"))
    studio.note(Note("remark", "s-1", "{}", 99), person("bo"))
    found = of(studio)
    spent = {one.state: (one.actions, one.seconds, one.cost) for one in found.spent}
    assert spent["drafted"] == pytest.approx((1, 60, 0.03))
    assert spent["answer_review"] == (2, 60, 0)
    assert spent["accepted"] == (1, 40, 0.5)
    assert (found.state, found.origin, found.seconds) == ("audited", "models", 60 + 120 + 5 + 60)
    assert found.workers == {"ann", "eve", "bo", "cy", "ed"}
    assert [one.verdicts for one in found.pairs] == [("pass", "pass")]
    assert found.audit == AuditResult(False, ())


def test_origins(studio: Store) -> None:
    for id in ("models", "people", "together", "imported"):
        create(studio, id) if id != "imported" else studio.act(
            Create(id, "qa", "en", 8192, (DOCUMENT,), (Candidate("c1", f"{IMPORT}x.json", content()),)), OPERATOR
        )
    assert {one.origin for one in Histories(studio).all().values()} == {None}
    ann = person("ann")
    studio.act(Write("people", 1, content()), ann)
    studio.act(Edit("people", 2, content("Bo")), ann)
    for id in ("models", "together", "imported"):
        studio.act(Select(id, 1, "c1"), ann)
    studio.act(Edit("together", 2, content("Bo")), ann)
    studio.act(Edit("imported", 2, content("Bo")), ann)
    assert {one.id: one.origin for one in Histories(studio).all().values()} == {
        name: name for name in ("models", "people", "together", "imported")
    }


def test_a_later_round_does_not_change_the_origin_of_the_draw(studio: Store) -> None:
    """Otherwise samples would leave the quality study after they were rated, and others would come in for them."""
    now = accepted(studio)
    assert (of(studio).origin, of(studio).accepted_origin) == ("models", "models")
    now = studio.act(Audit("s-1", now.version, "problem", "It was Bo."), person("ed"))
    now = studio.act(Adjudicate("s-1", now.version, "reconstruct", "It was Bo."), person("eve"))
    now = studio.act(Reconstruct("s-1", now.version), person("ann"))
    studio.act(Edit("s-1", now.version, content("Bo")), person("ann"))
    assert (of(studio).origin, of(studio).accepted_origin) == ("together", "models")


@pytest.mark.parametrize(
    ("verdict", "faults"),
    [("answer", {"answer"}), ("attributes", {"attributes"}), ("problem", {"answer", "attributes"})],
)
def test_the_adjudicator_decides_whether_an_audit_is_right(
    studio: Store, verdict: AuditVerdict, faults: set[str]
) -> None:
    for id in ("upheld", "overruled", "rejected"):
        now = studio.act(Audit(id, accepted(studio, id).version, verdict, "It was Bo."), person("ed"))
        first = of(studio, id).audit
        assert first is not None
        assert (first.open, set(first.faults)) == (True, faults)
    ada = person("ada")
    studio.act(Adjudicate("upheld", now.version, "reconstruct", "Yes."), ada)
    studio.act(Reconstruct("upheld", now.version + 1), person("ann"))
    studio.act(Adjudicate("overruled", now.version, "accept", "No."), ada)
    studio.act(Reject("rejected", now.version, "Yes."), ada)
    found = {id: one.audit for id, one in Histories(studio).all().items()}
    assert {id: (one.open, set(one.faults)) for id, one in found.items() if one} == {
        "upheld": (False, faults), "overruled": (False, set()), "rejected": (False, faults)
    }  # fmt: skip


def test_only_what_is_new_is_read(studio: Store) -> None:
    kept = Histories(studio)
    assert kept.all() == {}
    first = accepted(studio, "s-1")
    to_answer_review(studio, "s-2")
    before = kept.all()
    asked: list[int] = []
    for _ in range(2):
        assert kept.cached("number", lambda all_: asked.append(1) or len(list(all_))) == 2  # type: ignore[func-returns-value]
    assert asked == [1]
    number = studio.head().number
    studio.act(Audit("s-1", first.version, "pass"), person("ed"))
    assert [one.id for one in read_histories(studio, after=number)] == ["s-1"]
    after = kept.all()
    assert after["s-2"] is before["s-2"]
    assert after == {one.id: one for one in read_histories(studio)} == Histories(studio).all()
    assert before["s-1"].state == "accepted"
    assert after["s-1"].state == "audited"
    assert len(kept.start) == 64


def test_a_damaged_log_is_said(studio: Store) -> None:
    from sqlalchemy import update

    from fathom.studio.schema import entries

    to_answer_review(studio)
    with studio.engine.begin() as connection:
        connection.execute(update(entries).where(entries.c.kind == "ExpertPass").values(body="{}"))
    with pytest.raises(BrokenLogError, match="cannot be read"):
        Histories(studio).all()
