"""Measures the progress page of a studio with many samples in every state.

python performance/studio_progress.py --samples 10000
python performance/studio_progress.py --samples 400 --keep FOLDER    # makes a studio to look at, and measures nothing
"""

from __future__ import annotations

import sys
import time
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from sqlalchemy import insert, update

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fathom.server.database import moment
from fathom.studio.log import Head, new_entry
from fathom.studio.people import People
from fathom.studio.quotas import Design
from fathom.studio.records import as_record
from fathom.studio.schema import entries, head, notes, samples
from fathom.studio.states import apply
from fathom.studio.store import AT_SERVER, Store, sample_row
from fathom.studio.types import (
    Action,
    Adjudicate,
    Candidate,
    Component,
    ComponentVerdict,
    Content,
    Create,
    Edit,
    Event,
    ExpertPass,
    ExpertReturn,
    Mark,
    Person,
    Reconstruct,
    Reject,
    ReviewDocument,
    Sample,
    Select,
    Standardise,
    SubmitForReview,
    SubmitReview,
    Write,
)
from studio_stores import DOCUMENT, PASSWORD, PEOPLE, fill, quick_hasher

EXPERTS = [Person(name, "expert") for name in ("eve", "ed", "ella", "emil")]
ANNOTATORS = [Person(name, "annotator") for name in ("ann", "bo", "cy", "di", "fay", "gus")]


@dataclass
class Life:
    """Simulated work on a studio, without a server: entries and samples, which are stored together at the end."""

    store: Store
    rng: Random
    end: Head
    clock: float = 1_790_000_000
    rows: list[dict[str, object]] = field(default_factory=list)
    samples: dict[str, Sample] = field(default_factory=dict)
    notes: list[dict[str, object]] = field(default_factory=list)

    def do(self, action: Action, by: Person) -> Sample:
        """Somebody acts on a sample."""
        self.samples[action.sample] = apply(self.samples.get(action.sample), action, by, moment(self.clock))
        self.log(action, by)
        return self.samples[action.sample]

    def log(self, event: Event, by: Person) -> int:
        """Adds an entry and returns its number."""
        self.clock += self.rng.expovariate(1 / 40)
        entry = new_entry(self.end, moment(self.clock), by.name, event)
        self.end = Head(entry.number, entry.hash)
        self.rows.append(as_record(entry))
        return entry.number

    def save(self) -> None:
        """Stores everything."""
        with self.store.engine.begin() as connection:
            for start in range(0, len(self.rows), 1000):
                connection.execute(insert(entries), self.rows[start : start + 1000])
            made = [sample_row(one) for one in self.samples.values()]
            for start in range(0, len(made), 1000):
                connection.execute(insert(samples), made[start : start + 1000])
            if self.notes:
                connection.execute(insert(notes), self.notes)
            connection.execute(update(head).values(number=self.end.number, hash=self.end.hash))


def written(rng: Random) -> Content:
    """A question with an answer of two to five components."""
    who = rng.choice(("Ida", "Bo", "the captain", "the ferry", "nobody"))
    parts = tuple(Component(f"{who} at {hour}") for hour in rng.sample(range(1, 13), rng.randint(2, 5)))
    return Content(f"Who lit lamp {rng.randrange(10_000)}, and when?", parts, "It needs one passage.", "Find the lamp.")


def review(sample: Sample, rng: Random, fault: bool) -> SubmitReview:
    """A review that finds most faults, and sometimes one that is none."""
    bad = rng.random() < (0.8 if fault else 0.05)
    marks: list[Mark] = ["right"] * len(sample.content.components)
    if bad:
        marks[0] = rng.choice(("wrong", "unsure"))
    verdicts = tuple(ComponentVerdict(mark) for mark in marks)
    return SubmitReview(
        sample.id, sample.version, verdicts, (), "problem" if bad else "pass", "", rng.lognormvariate(6, 0.5)
    )


def live(life: Life, id: str, key: tuple[str, str, int], stop: float) -> None:
    """One sample as far as it comes: ``stop`` is the share of its way."""
    rng = life.rng
    ann, *others = rng.sample(ANNOTATORS, 4)
    eve, ed = rng.sample(EXPERTS, 2)
    origin = rng.choices(("people", "models", "together"), (1, 1, 3))[0]
    drafts = tuple(Candidate(f"c{at}", f"lab/model-{at}", written(rng), rng.uniform(0.01, 0.2), 9.0) for at in range(3))
    now = life.do(Create(id, *key, (DOCUMENT,), drafts if origin != "people" else ()), AT_SERVER)
    if stop < 0.1:
        return

    def seconds(minutes: float) -> float:
        return 60 * rng.lognormvariate(0, 0.6) * minutes * (1 + key[2] / 65536)

    if origin == "people":
        now = life.do(Write(id, now.version, written(rng), seconds(30)), ann)
    else:
        now = life.do(Select(id, now.version, "c1", seconds(6)), ann)
    if origin == "together":
        now = life.do(Edit(id, now.version, replace(now.content, rationale="Edited."), seconds(8)), ann)
    if stop < 0.2:
        return
    now = life.do(SubmitForReview(id, now.version), ann)
    if stop < 0.3:
        return
    if origin != "models" and rng.random() < 0.2:
        now = life.do(ExpertReturn(id, now.version, "Unclear.", seconds(5)), eve)
        if stop < 0.35:
            return
        now = life.do(Edit(id, now.version, replace(now.content, solution="Edited again."), seconds(8)), ann)
        now = life.do(SubmitForReview(id, now.version), ann)
    if rng.random() < 0.04:
        life.do(Reject(id, now.version, "The document says nothing about it.", seconds(3)), eve)
        return
    now = life.do(ExpertPass(id, now.version, "", seconds(5)), eve)
    if stop < 0.4:
        return
    now = life.do(Standardise(id, now.version, "Think: who?", "Who?", seconds(1)), ann)
    fault = rng.random() < {"people": 0.15, "models": 0.3, "together": 0.1}[origin]
    for at, reviewer in enumerate(others[:2]):
        if stop < 0.45 + 0.05 * at:
            return
        now = life.do(review(now, rng, fault), reviewer)
    if now.state == "adjudication":
        if stop < 0.55:
            return
        decision = "reconstruct" if fault else "accept"
        now = life.do(Adjudicate(id, now.version, decision, "As the text says.", seconds(4)), ed)  # type: ignore[arg-type]
        if now.state == "reconstruct" and stop > 0.6:
            now = life.do(Reconstruct(id, now.version), ann)
            now = life.do(Edit(id, now.version, replace(now.content, question="Who lit it?"), seconds(8)), ann)
            now = life.do(SubmitForReview(id, now.version), ann)
            now = life.do(ExpertPass(id, now.version, "", seconds(5)), eve)
            now = life.do(Standardise(id, now.version, "Think: who?", "Who?", seconds(1)), ann)
            for reviewer in others[:2]:
                now = life.do(review(now, rng, False), reviewer)


def make(place: str, count: int, seed: int = 0) -> None:
    """A studio with samples in every state, audits and ratings."""
    rng = Random(seed)
    with closing(Store(place)) as store:
        fill(store)
        for one in (*EXPERTS, *ANNOTATORS):
            store.set_person(one, AT_SERVER)
        people = People(store, hasher=quick_hasher())
        for name in dict.fromkeys((*PEOPLE, *(one.name for one in (*EXPERTS, *ANNOTATORS)))):
            people.set_password(name, PASSWORD)
        store.review_document(ReviewDocument(DOCUMENT, "available"), AT_SERVER)
        life = Life(store, rng, store.head())
        cells = Design().cells()
        for number in range(count):
            key = cells[int(len(cells) * rng.random() ** 1.5)]
            live(life, f"s-{number:05}", key, rng.random() ** 0.5)
        life.save()


if __name__ == "__main__":
    began = time.monotonic()
    make(sys.argv[1], int(sys.argv[2]))
    print(time.monotonic() - began)
