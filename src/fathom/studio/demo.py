"""A studio to try without a model: documents of the generated corpus, drafts and answers of offline baselines, and
people who began to work.

Everything is made by actions of the workflow, so the log of a demo verifies as any other.
"""

import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from random import Random

from fathom.studio.asking import Asking
from fathom.studio.intake import IntakeRules
from fathom.studio.offline import right_answer
from fathom.studio.people import People
from fathom.studio.predicting import mined
from fathom.studio.quality import Rating
from fathom.studio.quotas import FILE as DESIGN
from fathom.studio.records import as_record, canonical
from fathom.studio.schema import STUDIO
from fathom.studio.states import RATING, involved
from fathom.studio.store import AT_SERVER, Store
from fathom.studio.tasks import StudioTask, find_task, proposed_prompts, studio_tasks
from fathom.studio.types import (
    Action,
    Adjudicate,
    Audit,
    Component,
    ComponentVerdict,
    Content,
    Edit,
    ExpertPass,
    ExpertReturn,
    Note,
    Person,
    Reject,
    ReviewDocument,
    Role,
    Sample,
    Select,
    Standardise,
    SubmitForReview,
    SubmitReview,
    SubmitVerdicts,
)
from fathom.studio.work import DraftPlan, add_documents, draft_samples, predict_samples
from fathom.tokens.length import format_length
from fathom.types import FathomError

DEMO = "demo"
"""Topic of the note that says that a studio is a demo."""
FOLDER = "studio-demo"
PEOPLE: Mapping[str, Role] = {
    "ann": "annotator",
    "ben": "annotator",
    "eve": "expert",
    "dan": "expert",
    "ada": "administrator",
}
ANN, BEN, EVE, DAN, ADA = (Person(name, role) for name, role in PEOPLE.items())
BASELINES = ("fathom/lexical", "fathom/guess")
_WORLDS = ("world?seed=7", "world?seed=7&language=zh")
_PLANS = (
    DraftPlan("T3.2", "en", 8192, samples=6, candidates=2),
    DraftPlan("T8.2", "en", 8192, samples=8, candidates=2),
    DraftPlan("T3.2", "zh", 8192, samples=4, candidates=2),
    DraftPlan("T8.2", "en", 16384, samples=3, candidates=2),
    DraftPlan("T8.2", "zh", 16384, samples=2, candidates=2),
    DraftPlan("T3.2", "zh", 32768, samples=1, candidates=2),
    DraftPlan("T3.1", "en", 32768, samples=1, candidates=2, several=True),
)
_DESIGN = """# Which samples this studio wants, and how many of the accepted ones are audited and rated.
tasks = ["T3.1", "T3.2", "T8.2"]
lengths = ["8k", "16k", "32k"]
each = 2
audit_one_in = 2
rate_one_in = 1
raters = 2
"""
_NUMBER = re.compile(r"\d[\d,]*")


def open_demo(place: str, progress: Callable[[str], None] | None = None) -> str:
    """Makes a demo in a new folder, or continues an earlier one.

    Args:
        progress: Called with what is being done.

    Returns:
        The password of all accounts in ``PEOPLE``: a new one each time.

    Raises:
        FathomError: The folder has something else than a demo, or it cannot be written.
    """
    if "://" in place:
        raise FathomError("`demo` makes a studio in a folder, not in a database; name a folder with `store`")
    folder = Path(place)
    if not (folder / STUDIO.file).is_file():
        _make(folder, progress or (lambda words: None))
    with closing(Store(place)) as store:
        if not store.notes(topic=DEMO):
            raise FathomError(f"`store` {place}: this studio is not a demo; name another folder, or leave out `demo`")
        people, password = People(store), secrets.token_urlsafe(9)
        for name in PEOPLE:
            people.set_password(name, password)
    return password


def _make(folder: Path, tell: Callable[[str], None]) -> None:
    """A demo appears complete or not at all."""
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise FathomError(f"`store` {folder}: no studio, and not empty; name a folder that does not exist yet")
        folder.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
        try:
            with closing(Store(str(part))) as store:
                _fill(store, studio_tasks(), tell)
            (part / DESIGN).write_text(_DESIGN, "utf-8")
            part.replace(folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        raise FathomError(f"`store` {folder}: cannot be written: {error.strerror or error}") from error


def _fill(store: Store, tasks: Mapping[str, StudioTask], tell: Callable[[str], None]) -> None:
    store.note(Note(DEMO, DEMO, canonical({"models": list(BASELINES)})), AT_SERVER)
    for person in (ADA, EVE, DAN, ANN, BEN):
        store.set_person(person)
    store.set_policy("four")
    tell("generating documents")
    add_documents(store, _WORLDS, tokenizer="tekken", rules=IntakeRules(format="articles"))
    _review_documents(store)
    tell("drafting samples with offline baselines")
    baselines = [Asking(name) for name in BASELINES]
    drafted = [id for plan in _PLANS for id in draft_samples(store, tasks, plan, baselines).samples]
    tell("working on some of them")
    work = _Work(store, tasks, [store.sample(id) for id in drafted])
    reviewed = _write(work)
    for closed_book in (False, True):
        predict_samples(store, tasks, baselines, states=("answer_review",), closed_book=closed_book)
    _review(work, reviewed)


def _review_documents(store: Store) -> None:
    """The last document of three lengths is excluded or waits; the others are available."""
    last = {(document.language, document.bucket): document for document in store.documents()}
    excluded, *waiting = (last[key].id for key in (("en", 16384), ("zh", 16384), ("en", 32768)))
    for document in store.documents():
        if document.id == excluded:
            reason = "A demo of the compliance review: suppose that it named private persons."
            store.review_document(ReviewDocument(document.id, "excluded", reason, 45), EVE)
        elif document.id not in waiting:
            store.review_document(ReviewDocument(document.id, "available", "", 20), EVE)


@dataclass
class _Work:
    """People at work in a store.

    Attributes:
        drafted: Samples that nobody has selected yet.
        random: Draws the seconds that an action took.
    """

    store: Store
    tasks: Mapping[str, StudioTask]
    drafted: list[Sample]
    random: Random = field(default_factory=lambda: Random(0))

    def act(self, by: Person, kind: Callable[..., Action], sample: Sample, *values: object) -> Sample:
        """Somebody does something."""
        action = kind(sample.id, sample.version, *values, seconds=float(self.random.randint(20, 240)))
        return self.store.act(action, by)

    def select(self, by: Person, code: str, language: str, *, right: bool = True) -> Sample:
        """Somebody selects a draft whose answer is right, correcting one if there is none; or overlooks a wrong one."""
        ours = (draft for draft in self.drafted if draft.task.startswith(f"{code} ") and draft.language == language)
        sample = next(ours)
        self.drafted.remove(sample)
        fits = _is_right if right else _is_wrong
        chosen = max(sample.candidates, key=lambda candidate: fits(candidate.content))
        sample = self.act(by, Select, sample, chosen.id)
        if right and not _is_right(sample.content):
            sample = self.act(by, Edit, sample, _corrected(sample.content))
        return sample

    def join(self, by: Person, code: str, language: str) -> Sample:
        """Somebody joins the drafts of a sample to one question with several components."""
        sample = self.select(by, code, language)
        return self.act(
            by, Edit, sample, _joined([candidate.content for candidate in sample.candidates], sample.content)
        )

    def hand_over(self, by: Person, sample: Sample) -> Sample:
        """Somebody hands a sample to an expert, who passes it."""
        return self.act(EVE, ExpertPass, self.act(by, SubmitForReview, sample), "")

    def begin_review(self, by: Person, sample: Sample) -> Sample:
        """Somebody confirms the prompts of a sample that an expert passed."""
        return self.act(by, Standardise, sample, *proposed_prompts(self.tasks, sample))

    def judge(self, by: Person, sample: Sample, *, fault: str = "", note: str = "") -> Sample:
        """Somebody reviews the answer: everything is right, or the first component has a fault, or there is a note.

        Nothing that models found beyond it is missing.
        """
        sample = self.store.sample(sample.id)
        marks = [ComponentVerdict("right") for _ in sample.content.components]
        if fault:
            marks[0] = ComponentVerdict("wrong", fault, sample.content.components[0].evidence)
        verdict = "problem" if fault or note else "pass"
        review = (tuple(marks), (), verdict, note)
        if not self.store.sample(sample.id).answered:
            return self.act(by, SubmitReview, sample, *review)
        self.act(by, SubmitVerdicts, sample, *review)
        not_missing = tuple(component.text for component in mined(sample, find_task(self.tasks, sample.task)))
        return self.act(by, partial(SubmitReview, not_missing=not_missing), sample, *review)


def _write(work: _Work) -> list[Sample]:
    """Samples up to their answer review, those to be reviewed are returned; some stay on the way."""
    work.select(ANN, "T3.2", "zh")
    work.join(BEN, "T8.2", "en")
    work.act(ANN, SubmitForReview, work.select(ANN, "T8.2", "en", right=False))
    work.act(BEN, SubmitForReview, work.join(BEN, "T8.2", "en"))
    returned = work.act(ANN, SubmitForReview, work.select(ANN, "T3.2", "en"))
    work.act(EVE, ExpertReturn, returned, "The options differ in length, which gives the answer away. Change them.")
    work.hand_over(BEN, work.select(BEN, "T3.2", "zh"))
    work.hand_over(ANN, work.select(ANN, "T8.2", "en"))
    work.act(EVE, Reject, work.select(ANN, "T8.2", "zh"), "Two other samples ask for the same kind of sentence.")
    begun = [
        (ANN, work.select(ANN, "T3.2", "en")),
        (BEN, work.select(BEN, "T3.2", "zh")),
        (ANN, work.select(ANN, "T8.2", "en")),
        (ANN, work.select(ANN, "T8.2", "en", right=False)),
        (BEN, work.select(BEN, "T8.2", "en", right=False)),
        (ANN, work.select(ANN, "T3.1", "en")),
        (BEN, work.select(BEN, "T3.2", "en")),
        (BEN, work.join(BEN, "T8.2", "en")),
        (ANN, work.select(ANN, "T3.2", "zh")),
    ]
    return [work.begin_review(by, work.hand_over(by, sample)) for by, sample in begun]


def _review(work: _Work, samples: Sequence[Sample]) -> None:
    """Reviews that agree and others that do not, with what follows; two samples are left to review."""
    *sound, disputed, wrong, doubted, half, _, _ = samples
    finished = []
    for sample in sound:
        for person in _reviewers(sample):
            now = work.judge(person, sample)
        finished.append(now)
    work.act(_decider(finished[-1]), Audit, finished[-1], "pass", "")

    first, second = _reviewers(disputed)
    work.judge(first, disputed)
    work.judge(second, disputed, fault=_fault(disputed))

    for person in _reviewers(wrong):
        now = work.judge(person, wrong, fault=_fault(wrong))
    work.act(_decider(now), Adjudicate, now, "reconstruct", "Both are right: the answer is another number.")

    first, second = _reviewers(doubted)
    work.judge(first, doubted)
    now = work.judge(second, doubted, note="The question quotes the sentence. Is it hard enough?")
    reason = f"The sentence has to be found among {format_length(doubted.bucket)} tokens; that is what the task asks."
    finished.append(work.act(_decider(now), Adjudicate, now, "accept", reason))

    work.judge(_reviewers(half)[0], half)
    *rated, _ = finished  # the last one is left to rate
    for number, sample in enumerate(rated):
        for person in (DAN, ADA):
            if person.name not in {ruling.by for ruling in work.store.sample(sample.id).rulings}:
                rating = Rating("yes", "yes", "partly", "no" if person == DAN or number else "partly", "yes")
                work.store.note(Note(RATING, sample.id, canonical(as_record(rating)), 60), person)


def _reviewers(sample: Sample) -> list[Person]:
    """Two people who did not write a sample."""
    return [person for person in (ANN, BEN, EVE) if person.name not in sample.writers][:2]


def _decider(sample: Sample) -> Person:
    """An expert who neither wrote nor reviewed a sample."""
    return next(expert for expert in (EVE, DAN) if expert.name not in involved(sample))


def _is_right(content: Content) -> bool:
    """Whether the answer of a draft is the right one, without a word too many."""
    return content.components[0].text == right_answer(content)


def _is_wrong(content: Content) -> bool:
    """Whether the right answer is no part of the answer of a draft."""
    text, right = content.components[0].text, right_answer(content)
    return right != text and right not in _NUMBER.findall(text)


def _corrected(content: Content) -> Content:
    """A draft with the right answer."""
    (component,), right = content.components, right_answer(content)
    before, component_text, after = content.solution.rpartition(component.text)
    solution = f"{before}{right}{after}" if component_text else content.solution
    return replace(content, components=(replace(component, text=right),), solution=solution)


def _fault(sample: Sample) -> str:
    """What a reviewer says of a wrong answer."""
    return f"The sentence has {right_answer(sample.content)} at this place."


def _joined(drafts: Sequence[Content], template: Content) -> Content:
    """One question for the numbers in several sentences, with all answers right."""
    parts = tuple(Component(right_answer(draft), draft.components[0].evidence) for draft in drafts)
    sentences = "\n".join(
        f"{number}. “{draft.question.partition('“')[2]}" for number, draft in enumerate(drafts, start=1)
    )
    numbers = ", ".join(part.text for part in parts)
    return replace(
        template,
        question=f"Which numbers stand at the gaps in these sentences? Give one a line, in this order.\n{sentences}",
        components=parts,
        rationale="The sentences are far apart, and every number is needed.",
        solution=f"Find each sentence; the numbers are {numbers}.",
    )
