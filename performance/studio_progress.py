"""Measures the progress page of a studio with many samples in every state.

python performance/studio_progress.py --samples 10000
python performance/studio_progress.py --samples 400 --keep FOLDER    # makes a studio to look at, and measures nothing
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from sqlalchemy import insert, update

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fathom.server.database import moment
from fathom.studio.faults import faults_of_sample
from fathom.studio.histories import Histories
from fathom.studio.log import Head, new_entry
from fathom.studio.people import People
from fathom.studio.quality import DIMENSIONS, LEVELS, rated_samples
from fathom.studio.quotas import Design
from fathom.studio.records import as_record, canonical
from fathom.studio.schema import entries, head, sample_row, samples
from fathom.studio.states import DONE, RATING, apply
from fathom.studio.statistics import audits
from fathom.studio.store import AT_SERVER, Store
from fathom.studio.tasks import find_task, proposed_prompts, standard_prompts, studio_tasks
from fathom.studio.types import (
    AUDIT_VERDICTS,
    DECISIONS,
    Action,
    Adjudicate,
    Audit,
    Candidate,
    Component,
    ComponentVerdict,
    Content,
    Create,
    Decision,
    Edit,
    Event,
    ExpertPass,
    ExpertReturn,
    Mark,
    Note,
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
from loopback_studio import serving
from studio_stores import DOCUMENT, PASSWORD, PEOPLE, fill, quick_hasher

EXPERTS = [Person(name, "expert") for name in ("eve", "ed", "ella", "emil")]
ANNOTATORS = [Person(name, "annotator") for name in ("ann", "bo", "cy", "di", "fay", "gus")]
ANY = find_task(studio_tasks(), "T5.2")
"""The task whose form all made answers have."""


@dataclass
class Life:
    """Simulated work on a studio, without a server: entries and samples, which are stored together at the end."""

    store: Store
    rng: Random
    end: Head
    clock: float = 1_790_000_000
    rows: list[dict[str, object]] = field(default_factory=list)
    samples: dict[str, Sample] = field(default_factory=dict)

    def do(self, action: Action, by: Person, minutes: float = 0.0) -> Sample:
        """Somebody acts on a sample, and takes about so many minutes."""
        seconds = round(60 * minutes * self.rng.lognormvariate(0, 0.6)) if minutes else 0
        action = replace(action, seconds=float(seconds))
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
            connection.execute(update(head).values(number=self.end.number, hash=self.end.hash))


def written(rng: Random) -> Content:
    """A question with an answer of two to five components."""
    who = rng.choice(("Ida", "Bo", "the captain", "the ferry", "nobody"))
    parts = tuple(Component(f"{who} at {hour}") for hour in rng.sample(range(1, 13), rng.randint(2, 5)))
    return Content(f"Who lit lamp {rng.randrange(10**9)}, and when?", parts, "It needs one passage.", "Find the lamp.")


def review(sample: Sample, rng: Random, fault: bool) -> SubmitReview:
    """A review that finds most faults, and sometimes one that is none."""
    bad = rng.random() < (0.8 if fault else 0.05)
    marks: list[Mark] = ["right"] * len(sample.content.components)
    if bad:
        marks[0] = rng.choice(("wrong", "unsure"))
    verdicts = tuple(ComponentVerdict(mark) for mark in marks)
    return SubmitReview(sample.id, sample.version, verdicts, (), "problem" if bad else "pass")


def live(life: Life, id: str, key: tuple[str, str, int], stop: float) -> None:
    """One sample as far as it comes: ``stop`` is the share of its way."""
    rng, longer = life.rng, 1 + key[2] / 65536
    ann, *others = rng.sample(ANNOTATORS, 4)
    eve, ed = rng.sample(EXPERTS, 2)
    origin = rng.choices(("people", "models", "together"), (1, 1, 3))[0]
    names = range(0 if origin == "people" else 3)
    drafts = tuple(Candidate(f"c{at}", f"lab/model-{at}", written(rng), rng.uniform(0.01, 0.2), 9.0) for at in names)
    now = life.do(Create(id, *key, (DOCUMENT,), drafts), AT_SERVER)
    if stop < 0.1:
        return
    if origin == "people":
        now = life.do(Write(id, now.version, written(rng)), ann, 30 * longer)
    else:
        now = life.do(Select(id, now.version, "c1"), ann, 6 * longer)
    if origin == "together":
        now = life.do(Edit(id, now.version, replace(now.content, rationale="Edited.")), ann, 8 * longer)
    if stop < 0.2:
        return
    now = life.do(SubmitForReview(id, now.version), ann)
    if stop < 0.3:
        return
    if origin != "models" and rng.random() < 0.2:
        now = life.do(ExpertReturn(id, now.version, "Unclear."), eve, 5 * longer)
        if stop < 0.35:
            return
        now = life.do(Edit(id, now.version, replace(now.content, solution="Edited again.")), ann, 8 * longer)
        now = life.do(SubmitForReview(id, now.version), ann)
    if rng.random() < 0.04:
        life.do(Reject(id, now.version, "The document says nothing about it."), eve, 3)
        return
    now = life.do(ExpertPass(id, now.version), eve, 5 * longer)
    if stop < 0.4:
        return
    now = life.do(Standardise(id, now.version, *standard_prompts(ANY, key[1], now.content.question)), ann, 1)
    fault = rng.random() < {"people": 0.15, "models": 0.3, "together": 0.1}[origin]
    for at, reviewer in enumerate(others[:2]):
        if stop < 0.45 + 0.05 * at:
            return
        now = life.do(review(now, rng, fault), reviewer, 7 * longer)
    if now.state == "adjudication":
        if stop < 0.55:
            return
        decision: Decision = "reconstruct" if fault else "accept"
        now = life.do(Adjudicate(id, now.version, decision, "As the text says."), ed, 4 * longer)
    if now.state == "reconstruct" and stop > 0.6:
        now = life.do(Reconstruct(id, now.version), ann)
        other = replace(now.content, question=f"Who lit the lamp of {id}?")
        now = life.do(Edit(id, now.version, other), ann, 8 * longer)
        now = life.do(SubmitForReview(id, now.version), ann)
        now = life.do(ExpertPass(id, now.version), eve, 5 * longer)
        now = life.do(Standardise(id, now.version, *standard_prompts(ANY, key[1], now.content.question)), ann, 1)
        for reviewer in others[:2]:
            now = life.do(review(now, rng, False), reviewer, 7 * longer)


def judge(store: Store, design: Design, rng: Random) -> None:
    """Experts audit most of the samples that are drawn, and rate most of those of the quality study."""
    histories = Histories(store)
    for id in audits(histories.all().values(), design, histories.start).waiting:
        able = [one for one in EXPERTS if one.name not in histories.all()[id].barred]
        if able and rng.random() < 0.7:
            verdict = rng.choices(AUDIT_VERDICTS, (93, 2, 4, 1))[0]
            minutes = rng.lognormvariate(0, 0.6) * 9
            now = store.act(Audit(id, store.sample(id).version, verdict, "It says so.", seconds=60 * minutes), able[0])
            if now.state == "adjudication" and len(able) > 1:
                decision = rng.choice(DECISIONS)
                store.act(Adjudicate(id, now.version, decision, "As the text says.", seconds=300), able[1])
    for one in rated_samples(histories.all().values(), design, histories.start):
        able = [person for person in EXPERTS if person.name not in one.workers]
        faults = [rng.random() < 0.15 for _ in DIMENSIONS]
        for person in able[: design.raters] if one.state in DONE and rng.random() < 0.8 else ():
            level = [rng.choices(tuple(LEVELS), (1, 9, 3) if bad else (1, 3, 90))[0] for bad in faults]
            body = canonical(dict(zip(DIMENSIONS, level, strict=True)))
            store.note(Note(RATING, one.id, body, round(rng.lognormvariate(5, 0.4))), person)


def make(place: str, count: int, seed: int = 0) -> None:
    """A studio with samples in every state, audits and ratings."""
    rng, design = Random(seed), Design()
    with closing(Store(place)) as store:
        store.tasks = dict.fromkeys(studio_tasks(), ANY)
        fill(store)
        for one in (*EXPERTS, *ANNOTATORS):
            store.set_person(one, AT_SERVER)
        people = People(store, hasher=quick_hasher())
        for name in dict.fromkeys((*PEOPLE, *(one.name for one in (*EXPERTS, *ANNOTATORS)))):
            people.set_password(name, PASSWORD)
        store.review_document(ReviewDocument(DOCUMENT, "available"), AT_SERVER)
        life = Life(store, rng, store.head())
        cells = design.cells()
        for number in range(count):
            live(life, f"s-{number:05}", cells[int(len(cells) * rng.random() ** 1.5)], rng.random() ** 0.5)
        life.save()
        judge(store, design, rng)


def measure(place: str) -> None:
    """The time of pages: the first, the next, and after an action."""
    import httpx

    with serving(place) as (address, _):
        client = httpx.Client(base_url=address, timeout=60)
        client.post("/login", data={"name": "ella", "password": PASSWORD})
        for turn in ("first", "next", "next"):
            for path in ("/progress", "/quality", "/?state=to_audit", "/samples/s-00001/history"):
                began = time.monotonic()
                assert client.get(path).status_code == 200, path
                print(f"{path}, {turn} request: {1000 * (time.monotonic() - began):.0f} ms")
        with closing(Store(place)) as store:
            store.note(Note("remark", "s-00001", "{}"), EXPERTS[0])
            waiting = store.samples(states=["standardised"])
            one = next(sample for sample in waiting if not faults_of_sample(sample, store.tasks))
            store.act(Standardise(one.id, one.version, *proposed_prompts(store.tasks, one)), ANNOTATORS[0])
        began = time.monotonic()
        client.get("/progress")
        print(f"/progress after an action: {1000 * (time.monotonic() - began):.0f} ms")


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--keep", help="make a studio in this folder, and measure nothing")
    given = parser.parse_args()
    if given.keep:
        make(given.keep, given.samples)
        return
    with tempfile.TemporaryDirectory() as place:
        make(place, given.samples)
        measure(place)


if __name__ == "__main__":
    main()
