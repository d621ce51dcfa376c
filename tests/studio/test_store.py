"""The store: actions are durable, ordered and complete; its tables are a projection of its log."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, insert, select, text, update

from fathom.server.database import StoreError
from fathom.studio.auditing import audit
from fathom.studio.checks import MOST_BYTES
from fathom.studio.log import Entry, Head, hash_of, head_of
from fathom.studio.people import People
from fathom.studio.records import RecordError
from fathom.studio.schema import documents, entries, head, notes, people, samples, texts
from fathom.studio.states import RefusedError, StaleError
from fathom.studio.store import MissingError, Store
from fathom.studio.types import (
    Adjudicate,
    Component,
    Content,
    Create,
    Edit,
    Evidence,
    Note,
    Person,
    ReviewDocument,
    Select,
    SetIntake,
    State,
    StudioDocument,
    SubmitForReview,
    SubmitReview,
)
from fathom.types import FathomError
from processes import start_program, until
from studio_stores import DOCUMENT, OPERATOR, PEOPLE, TEXT, content, create, fill, person, review, to_answer_review

Damage = Callable[[Any], None]


def test_a_sample_goes_all_the_way(studio: Store) -> None:
    sample = to_answer_review(studio)
    studio.act(review(sample), person("bo"))
    split = studio.act(review(sample, good=False), person("cy"))
    assert split.state == "adjudication"
    done = studio.act(Adjudicate("s-1", split.version, "accept", "Ida lit it."), person("ed"))
    assert studio.sample("s-1") == done
    assert studio.counts() == {"accepted": 1}
    (listed,) = studio.listed(states=["accepted"], task="qa", language="en", bucket=8192)
    assert (listed.title, listed.version) == ("Who lit the lamp?", done.version)
    found = audit(studio)
    assert (found.problems, found.samples, found.documents) == ((), 1, 1)
    assert found.entries == studio.head().number == len(list(studio.entries()))
    assert [one.kind for one in studio.log(subject="s-1", limit=2)] == ["Adjudicate", "SubmitReview"]


def test_two_people_on_one_sample_never_overwrite_each_other(studio: Store) -> None:
    sample = studio.act(Select("s-1", create(studio).version, "c1"), person("ann"))
    mine = Edit("s-1", sample.version, replace(sample.content, question="Mine?"))
    theirs = Edit("s-1", sample.version, replace(sample.content, question="Theirs?"))
    studio.act(mine, person("ann"))
    with pytest.raises(StaleError) as conflict:
        studio.act(theirs, person("bo"))
    assert conflict.value.sample.content.question == "Mine?"
    assert conflict.value.action == theirs
    assert studio.sample("s-1").writers == ("ann",)


def test_two_servers_and_many_people_lose_no_update(studio: Store, place: str) -> None:
    sample = studio.act(Select("s-1", create(studio).version, "c1"), person("ann"))
    rounds, begin = 3, threading.Barrier(8)

    def edit(number: int, store: Store) -> list[int]:
        """Edits whatever there is, and gives the versions that others had changed meanwhile."""
        stale = []
        for _ in range(rounds):
            seen = store.sample("s-1")
            begin.wait()
            text = f"{seen.content.question} {number}"
            try:
                store.act(Edit("s-1", seen.version, replace(seen.content, question=text)), person("ann"))
            except StaleError:
                stale.append(seen.version)
            begin.wait()
        return stale

    with closing(Store(place)) as other, ThreadPoolExecutor(8) as pool:
        stale = [one for found in pool.map(edit, range(8), [studio, other] * 4) for one in found]
    assert len(stale) == 7 * rounds
    after = studio.sample("s-1")
    assert after.version == sample.version + rounds
    # Each winner read what the one before it wrote, and added a word.
    assert len(after.content.question.split()) == len(sample.content.question.split()) + rounds
    assert audit(studio).problems == ()


@pytest.mark.slow
def test_an_audit_reads_one_state_while_people_work(studio: Store, place: str) -> None:
    stop, further = threading.Event(), threading.Event()

    def work() -> int:
        made = 0
        with closing(Store(place)) as other:
            while not stop.is_set():
                create(other, f"s-{made}")
                made += 1
                further.set()
        return made

    with ThreadPoolExecutor(1) as pool:
        made = pool.submit(work)
        try:
            found = [audit(studio)]
            further.clear()  # a machine with much to do may not have come to the other thread
            assert further.wait(60)
            found += [audit(studio) for _ in range(9)]
        finally:
            stop.set()
    assert [one.problems for one in found] == [()] * 10
    assert found[0].samples < made.result()


def test_ids_are_in_the_same_order_in_each_kind_of_store(studio: Store) -> None:
    ids = ["B", "a", "b", "a-1", "a1", "a.1", "A-2", "Z", "10", "9"]
    for id in ids:
        create(studio, id)
    assert [one.id for one in studio.samples()] == sorted(ids)
    studio.set_person(Person("Bo", "reader"), OPERATOR)
    assert [one.name for one in People(studio).listed()] == sorted([*PEOPLE, "Bo"])


def test_what_some_databases_cannot_hold_is_refused_by_each(studio: Store) -> None:
    with pytest.raises(RecordError, match="language"):
        studio.add_document(StudioDocument("d", "t", "x" * 17), "text", OPERATOR)
    with pytest.raises(RefusedError, match="bucket"):
        studio.add_document(StudioDocument("d", "t", "en", bucket=1 << 40), "text", OPERATOR)
    with pytest.raises(RefusedError, match="bucket"):
        studio.act(Create("s-1", "qa", "en", 1 << 40, (DOCUMENT,)), OPERATOR)


def test_lists_are_those_of_the_present(studio: Store, place: str) -> None:
    create(studio)
    asked: dict[str, Any] = {"states": ["drafted", "selected"], "waiting_for": "ann"}
    assert [one.state for one in studio.listed(**asked)] == ["drafted"]
    with closing(Store(place)) as other:  # another server
        other.act(Select("s-1", 1, "c1"), person("ann"))
    assert [one.state for one in studio.listed(**asked)] == ["selected"]
    assert studio.counts() == {"selected": 1}
    studio.listed(**asked).clear()
    assert len(studio.listed(**asked)) == 1


def test_the_queue_leaves_out_what_somebody_else_must_decide(studio: Store) -> None:
    sample = to_answer_review(studio)
    studio.act(review(sample), person("bo"))
    for number in range(3):
        create(studio, f"s-{number + 2}")
    studio.act(Select("s-4", 1, "c1"), person("bo"))
    states: list[State] = ["drafted", "selected", "answer_review"]
    assert [one.id for one in studio.listed(states=states, waiting_for="bo")] == ["s-4", "s-2", "s-3"]
    assert [one.id for one in studio.listed(states=states, waiting_for="bo", offset=1, limit=1)] == ["s-2"]
    assert {one.id for one in studio.listed(states=states, waiting_for="cy")} == {"s-1", "s-2", "s-3", "s-4"}


def test_an_action_that_is_sent_again_is_done_once(studio: Store) -> None:
    sample = create(studio)
    action = Select("s-1", sample.version, "c1", seconds=7.0)
    first = studio.act(action, person("ann"))
    assert studio.act(action, person("ann")) == first
    with pytest.raises(StaleError):
        studio.act(action, person("bo"))
    one = to_answer_review(studio, "s-2")
    assert studio.act(review(one), person("bo")) == studio.act(review(one), person("bo"))
    assert len(studio.sample("s-2").reviews) == 1


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        (Evidence(DOCUMENT, 20, 23, "Bob"), "is not what the document says"),
        (Evidence(DOCUMENT, 20, 20, ""), "outside of the document"),
        (Evidence(DOCUMENT, 20, len(TEXT) + 1, "Ida"), "outside of the document"),
        (Evidence("other", 20, 23, "Ida"), "has no document"),
    ],
)
def test_evidence_is_what_the_document_says(studio: Store, evidence: Evidence, words: str) -> None:
    sample = studio.act(Select("s-1", create(studio).version, "c1"), person("ann"))
    wrong = replace(sample.content, components=(Component("Ida", (evidence,)),))
    with pytest.raises(RefusedError, match=words):
        studio.act(Edit("s-1", sample.version, wrong), person("ann"))
    missing = SubmitReview("s-1", sample.version, (), (Component("Ida", (evidence,)),), "problem")
    with pytest.raises(RefusedError, match=words):
        studio.act(missing, person("bo"))


def test_what_is_too_large_or_unknown_is_refused(studio: Store) -> None:
    sample = studio.act(Select("s-1", create(studio).version, "c1"), person("ann"))
    large = Content("q", tuple(Component("x" * 150_000) for _ in range(MOST_BYTES // 150_000 + 1)))
    with pytest.raises(RefusedError, match="more than 4,194,304 bytes"):
        studio.act(Edit("s-1", sample.version, large), person("ann"))
    with pytest.raises(RecordError, match="NUL"):
        studio.act(Edit("s-1", sample.version, Content("a\0b")), person("ann"))
    for id in ("", "../x", "a b", "x" * 65):
        with pytest.raises(RefusedError, match="expected an id"):
            studio.act(Create(id, "qa", "en", 1, (DOCUMENT,)), OPERATOR)
    with pytest.raises(RefusedError, match="there is no document"):
        studio.act(Create("s-9", "qa", "en", 1, ("none",)), OPERATOR)
    for missing in (lambda: studio.sample("s-9"), lambda: studio.text("x"), lambda: studio.document("x")):
        with pytest.raises(MissingError, match="there is no"):
            missing()
    assert audit(studio).problems == ()


def test_rights_are_those_in_the_store_and_not_those_that_are_claimed(studio: Store) -> None:
    create(studio)
    with pytest.raises(RefusedError, match="needs the role annotator"):
        studio.act(Select("s-1", 1, "c1"), Person("ray", "administrator"))
    with pytest.raises(RefusedError, match="switched off"):
        studio.act(Select("s-1", 1, "c1"), Person("nobody", "administrator"))
    studio.set_person(Person("ann", "annotator", active=False), OPERATOR)
    with pytest.raises(RefusedError, match="switched off"):
        studio.act(Select("s-1", 1, "c1"), person("ann"))
    with pytest.raises(RefusedError, match="needs the role administrator"):
        studio.set_person(Person("bo", "administrator"), person("bo"))
    with pytest.raises(RefusedError, match="last administrator"):
        studio.set_person(Person("ada", "reader"), OPERATOR)
    with pytest.raises(RefusedError, match="needs the role annotator"):
        studio.add_document(StudioDocument("d", "t", "en"), "text", person("ray"))
    with pytest.raises(RefusedError, match="needs the role expert"):
        studio.add_document(StudioDocument("d", "t", "en", state="available"), "text", person("bo"))
    with pytest.raises(RefusedError, match="needs the role administrator"):
        studio.set_intake(SetIntake("words"), person("eve"))


def test_measures_and_sketches_are_kept(studio: Store) -> None:
    assert studio.intake() == SetIntake()
    changed = SetIntake(buckets=(4096,), tolerance=0.1)
    studio.set_intake(changed)
    assert studio.intake() == changed
    with pytest.raises(RefusedError, match="measured with the tokenizer tekken"):
        studio.set_intake(SetIntake("words"))
    studio.add_document(StudioDocument("d", "t", "en"), "text", person("bo"), (1, b"\0\xff"))
    assert studio.sketches(1) == {"d": b"\0\xff"}
    studio.keep_sketch("d", 2, b"")
    assert (studio.sketches(1), studio.sketches(2)) == ({}, {"d": b""})
    assert studio.document_ids(state="collected") == sorted(["d", DOCUMENT])
    assert audit(studio).problems == ()


def test_documents_and_notes_are_in_the_log(studio: Store) -> None:
    assert studio.text(DOCUMENT) == TEXT
    again = StudioDocument(DOCUMENT, "Another title", "en")
    assert studio.add_document(again, TEXT).title == "The lamp"
    assert studio.review_document(ReviewDocument(DOCUMENT, "available"), person("eve")).state == "available"
    assert [one.id for one in studio.documents(state="available", language="en", bucket=8192)] == [DOCUMENT]
    assert studio.documents(state="excluded") == []
    note = Note("rating", "s-1", '{"level":1}')
    entry = studio.note(note, person("eve"))
    assert studio.notes(topic="rating", subject="s-1") == [entry]
    with pytest.raises(RefusedError):
        studio.note(note, person("bo"))
    assert audit(studio).problems == ()


def test_what_others_must_decide_does_not_wait_for_who_wrote_it(studio: Store) -> None:
    now = create(studio)
    now = studio.act(Select("s-1", now.version, "c1"), person("eve"))
    now = studio.act(Edit("s-1", now.version, content("Bo")), person("eve"))
    states: tuple[State, ...] = ("selected", "expert_review")

    def waiting(name: str) -> list[str]:
        return [one.id for one in studio.listed(states=states, waiting_for=name)]

    assert waiting("eve") == ["s-1"]
    studio.act(SubmitForReview("s-1", now.version), person("eve"))
    assert (waiting("eve"), waiting("ed")) == ([], ["s-1"])


def test_drafts_are_kept_until_they_are_sent(studio: Store) -> None:
    assert studio.draft("ann", "s-1", "edit") is None
    studio.save_draft("ann", "s-1", "edit", 2, '{"question": "W"}')
    studio.save_draft("ann", "s-1", "edit", 2, '{"question": "Who"}')
    kept = studio.draft("ann", "s-1", "edit")
    assert kept is not None
    assert (kept.version, kept.body) == (2, '{"question": "Who"}')
    assert studio.draft("bo", "s-1", "edit") is None
    studio.drop_drafts("ann", "s-1")
    assert studio.draft("ann", "s-1", "edit") is None
    with pytest.raises(RefusedError, match="shorten"):
        studio.save_draft("ann", "s-1", "edit", 2, "x" * (MOST_BYTES + 1))


def _edit_entry(connection: Any) -> None:
    body = connection.execute(select(entries.c.body).where(entries.c.number == 9)).scalar_one()
    connection.execute(update(entries).where(entries.c.number == 9).values(body=body.replace("model/a", "model/z")))


def _tenth() -> Any:
    return update(entries).where(entries.c.number == 10)


def _rewrite(connection: Any) -> None:
    """Another name in an entry, with the hash that it would have had."""
    entry = Entry(**connection.execute(select(entries).where(entries.c.number == 9)).one()._mapping)
    other = replace(entry, person="bo")
    connection.execute(update(entries).where(entries.c.number == 9).values(person="bo", hash=hash_of(other)))


def _swap(connection: Any) -> None:
    for one, other in ((9, 9009), (10, 9), (9009, 10)):
        connection.execute(update(entries).where(entries.c.number == one).values(number=other))


def _cut(connection: Any) -> None:
    last = connection.execute(select(head.c.number)).scalar_one()
    connection.execute(delete(entries).where(entries.c.number == last))


DAMAGES: dict[str, tuple[Damage, str]] = {
    "an edited entry": (_edit_entry, "entry 9: it was changed"),
    "an entry with its hash": (_rewrite, "entry 10: it does not follow entry 9"),
    "another name": (
        lambda c: c.execute(update(entries).where(entries.c.number == 10).values(person="bo")),
        "entry 10",
    ),
    "another time": (lambda c: c.execute(update(entries).where(entries.c.number == 10).values(at="x")), "entry 10"),
    "a deleted entry": (lambda c: c.execute(delete(entries).where(entries.c.number == 9)), "entry 9 is missing"),
    "the first one deleted": (lambda c: c.execute(delete(entries).where(entries.c.number == 1)), "entry 1 is missing"),
    "two entries in another order": (_swap, "entry 9"),
    "the end removed": (_cut, "the end of the log was changed"),
    "the table of samples": (lambda c: c.execute(update(samples).values(state="accepted")), "samples: s-1 differs"),
    "the body of a sample": (lambda c: c.execute(update(samples).values(body="{}")), "samples: s-1 differs"),
    "a deleted sample": (lambda c: c.execute(delete(samples)), "samples: s-1 is in the log"),
    "a role": (lambda c: c.execute(update(people).where(people.c.name == "ray").values(role="expert")), "people: ray"),
    "an account": (
        lambda c: c.execute(insert(people).values(name="eva", role="expert", active=1, password="", changed="")),
        "people: eva",
    ),
    "a document": (lambda c: c.execute(update(documents).values(state="excluded")), f"documents: {DOCUMENT} differs"),
    "a text": (lambda c: c.execute(update(texts).values(content=b"else")), f"the text of document {DOCUMENT}"),
    "who noted": (lambda c: c.execute(update(notes).values(person="eve")), "notes: they differ"),
    "what a note is about": (lambda c: c.execute(update(notes).values(subject="s-2")), "notes: they differ"),
    "what a note is": (lambda c: c.execute(update(notes).values(topic="else")), "notes: they differ"),
    "a note": (lambda c: c.execute(update(notes).values(body="{}")), "notes: they differ"),
    "a deleted note": (lambda c: c.execute(delete(notes)), "notes: they differ"),
    "a deleted text": (lambda c: c.execute(delete(texts)), f"the text of document {DOCUMENT} is missing"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_the_audit_finds_every_change(place: str, name: str) -> None:
    damage, words = DAMAGES[name]
    with closing(Store(place)) as store:
        fill(store)
        to_answer_review(store)
        store.note(Note("remark", "s-1", "{}"), person("bo"))
        assert audit(store).problems == ()
        with store.engine.begin() as connection:
            damage(connection)
        assert words in audit(store).problems[0]


def test_a_noted_head_shows_a_log_that_was_cut_with_its_tables(place: str) -> None:
    with closing(Store(place)) as store:
        fill(store)
        create(store)
        before = store.head()
        store.act(Select("s-1", 1, "c1"), person("ann"))
        noted = head_of(str(store.head()))
        assert audit(store, noted).problems == audit(store, before).problems == ()
        # Somebody with write access, who knows how: the log, its head and the tables are as before the last action.
        with store.engine.begin() as connection:
            connection.execute(delete(entries).where(entries.c.number == noted.number))
            connection.execute(update(head).values(number=before.number, hash=before.hash))
            connection.execute(delete(samples))
        create_again = audit(store)
        assert create_again.problems[0].startswith("samples: s-1")
        assert "its end was removed" in audit(store, noted).problems[0]
        assert "was replaced" in audit(store, Head(before.number, "f" * 64)).problems[0]


@pytest.mark.parametrize("wrong", ["", "5", "5:abc", "x:" + "0" * 64, "5:" + "z" * 64])
def test_a_head_is_a_number_and_a_hash(wrong: str) -> None:
    with pytest.raises(FathomError, match="NUMBER:HASH"):
        head_of(wrong)


def test_a_forged_chain_still_has_to_keep_the_rules(place: str) -> None:
    from fathom.studio.log import BrokenLogError, new_entry, replay

    with closing(Store(place)) as store:
        fill(store)
        sample = to_answer_review(store)
        log = list(store.entries())
        forged = new_entry(store.head(), log[-1].at, "ray", review(sample))
        with pytest.raises(BrokenLogError, match="needs the role annotator"):
            replay([*log, forged])
        unknown = replace(forged, kind="Nonsense")
        with pytest.raises(BrokenLogError, match="was changed"):
            replay([*log, unknown])


WORKER = """
import random, sys
from fathom.studio.store import Store
from fathom.studio.states import RefusedError, StaleError
from fathom.studio.types import *
place, name, role, seed = sys.argv[1:5]
store, random = Store(place), random.Random(seed)
me = Person(name, role)
while True:
    listed = store.listed(limit=1000)
    one = store.sample(random.choice(listed).id)
    parts = tuple(ComponentVerdict("right") for _ in one.content.components)
    good = random.random() < 0.8
    action = {
        "drafted": Select(one.id, one.version, one.candidates[0].id if one.candidates else ""),
        "selected": SubmitForReview(one.id, one.version),
        "revision": SubmitForReview(one.id, one.version),
        "expert_review": ExpertPass(one.id, one.version) if good else ExpertReturn(one.id, one.version, "no"),
        "standardised": Standardise(one.id, one.version, "Think.", "Say."),
        "answer_review": SubmitReview(one.id, one.version, parts, (), "pass" if good else "problem", "why"),
        "adjudication": Adjudicate(one.id, one.version, "accept" if good else "reconstruct", "so"),
        "reconstruct": Reconstruct(one.id, one.version),
        "accepted": Audit(one.id, one.version, "problem", "again"),
    }[one.state]
    if random.random() < 0.2:  # so that there is always something to do
        id = f"s-{random.getrandbits(60):x}"
        action = Create(id, "qa", "en", 8192, one.documents, one.candidates)
    try:
        store.act(action, me)
    except (RefusedError, StaleError):
        continue
    with open(sys.argv[5], "a") as out:
        out.write(f"{type(action).__name__} {action.sample} {action.version}\\n")
        out.flush()
"""


@pytest.mark.slow
def test_what_was_acknowledged_survives_kill_nine(studio: Store, place: str, tmp_path: Path) -> None:
    for number in range(6):
        create(studio, f"s-{number}")
    done = tmp_path / "done"
    done.touch()
    for run in range(3):
        workers = [
            start_program(WORKER, place, name, role, f"{run}{name}", str(done))
            for name, role in (("ann", "annotator"), ("bo", "annotator"), ("eve", "expert"), ("ed", "expert"))
        ]
        there = len(done.read_text().splitlines())
        until(lambda there=there: len(done.read_text().splitlines()) > there + 40, workers[0])  # type: ignore[misc]
        for worker in workers:
            worker.kill()
        for worker in workers:
            worker.wait()
        log = {f"{one.kind} {one.subject} {json.loads(one.body).get('version')}" for one in studio.entries()}
        assert set(done.read_text().splitlines()) <= log
        assert audit(studio).problems == ()


def test_a_store_of_a_later_fathom_is_left_alone(place: str) -> None:
    with closing(Store(place)) as store, store.engine.begin() as connection:
        connection.execute(text("INSERT INTO migrations VALUES (99)"))
    with pytest.raises(FathomError, match="update fathom-eval"):
        Store(place)


def test_a_database_that_fails_is_a_clear_error(place: str) -> None:
    with closing(Store(place)) as store:
        with store.engine.begin() as connection:
            connection.execute(text("DROP TABLE samples"))
        with pytest.raises(StoreError, match="check the database"):
            store.sample("s-1")
        assert store.is_there()
