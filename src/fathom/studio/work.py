"""What commands do with a store: documents in, drafts, answers and critiques of models.

Drafts and answers are stored as each comes, so that an interrupted command loses only what was under way. Critiques are
stored together with the objections, up to ``TOGETHER`` at a time.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random

import polars as pl

from fathom.models.prices import total_cost
from fathom.plugins.names import chosen
from fathom.printing import readable, several
from fathom.studio.asking import Asking, limited
from fathom.studio.candidates import Drafts
from fathom.studio.critique import CRITIQUE, DEPTH, Critique, criticise
from fathom.studio.difficulties import Difficulty, Tier, difficulty, results_of
from fathom.studio.drafting import TOGETHER, DraftSettings, draft
from fathom.studio.exports import Collection, item_name
from fathom.studio.intake import (
    SKETCHES,
    Intake,
    IntakeDocument,
    IntakeRules,
    Sketch,
    bucket_of,
    groups,
    read_documents,
    rules_of,
    sketch_of,
)
from fathom.studio.log import NoteEntry
from fathom.studio.predicting import predict
from fathom.studio.records import as_record, canonical
from fathom.studio.states import RefusedError, StaleError, asked_of
from fathom.studio.store import AT_SERVER, NEARLY_EQUAL, Store, new_id
from fathom.studio.tasks import StudioTask, find_task, studio_tasks, tasks_folder
from fathom.studio.trials import TRIAL, is_trial, to_try, trial_note
from fathom.studio.types import (
    STATES,
    Action,
    AddCandidates,
    AddPredictions,
    Create,
    Note,
    Person,
    Prediction,
    Requirement,
    Sample,
    SetDifficulty,
    SetIntake,
    State,
    StudioDocument,
)
from fathom.tokens.length import format_length
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import FathomError


class StoreTexts(Mapping[str, str]):
    """Texts of a store's documents by id, read when they are needed."""

    def __init__(self, store: Store, ids: Sequence[str]) -> None:
        self._store, self._ids = store, dict.fromkeys(ids)

    def __getitem__(self, id: str) -> str:
        if id not in self._ids:
            raise KeyError(id)
        return self._store.text(id)

    def __contains__(self, id: object) -> bool:
        return id in self._ids

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)


def tasks_of(place: str, folder: Path | None = None) -> Mapping[str, StudioTask]:
    """The tasks of a studio: those of the package, and the files in a folder.

    Args:
        place: The store; the folder ``tasks`` in that of a SQLite store is used by default.
        folder: Another folder.

    Raises:
        FathomError: A file cannot be read, or the named folder does not exist.
    """
    if folder is not None and not folder.is_dir():
        raise FathomError(f"`tasks` {folder}: no such folder; `fathom studio tasks --write all` makes one")
    return studio_tasks(folder or tasks_folder(place))


def states_of(names: Sequence[str]) -> tuple[State, ...]:
    """States of samples by name.

    Raises:
        FathomError: One is unknown, or none is given.
    """
    return chosen("`states`", names, STATES)


def collection_of(store: Store, tasks: Mapping[str, StudioTask], *, states: Sequence[State] = ()) -> Collection:
    """The samples of a store with their documents.

    Args:
        states: Only samples in these states; all by default.
    """
    documents = {document.id: document for document in store.documents()}
    return Collection(tuple(store.samples(states=states)), documents, StoreTexts(store, list(documents)), tasks)


# ------------------------------------------------------------------------------------------------------------ documents


def sketches_of(store: Store) -> dict[str, Sketch]:
    """Sketches of all documents of a store; missing ones are made and stored."""
    sketches = store.sketches(SKETCHES)
    for id in store.document_ids():
        if id not in sketches:
            sketches[id] = sketch_of(store.text(id))
            store.keep_sketch(id, SKETCHES, sketches[id])
    return sketches


def settle_intake(store: Store, tokenizer: str | None = None, rules: IntakeRules | None = None) -> SetIntake:
    """How a store measures documents; what is given is recorded for later documents.

    Args:
        tokenizer: Name of the tokenizer; None for that of the store.
        rules: Buckets and limits; None for those of the store.

    Raises:
        FathomError: The tokenizer is unknown, or the documents of the store are measured with another one.
    """
    present = store.intake()
    wanted = replace(present, tokenizer=tokenizer or present.tokenizer)
    if rules is not None:
        wanted = replace(wanted, buckets=rules.buckets, tolerance=rules.tolerance, near=rules.near)
    if wanted != present:
        get_tokenizer(wanted.tokenizer)
        store.set_intake(wanted)
    return wanted


def add_documents(
    store: Store,
    specs: Sequence[str],
    *,
    tokenizer: str | None = None,
    rules: IntakeRules | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Intake:
    """Read documents and add them to a store; see ``fathom.studio.intake.read_documents`` and ``settle_intake``."""
    intake = settle_intake(store, tokenizer, rules)
    rules = rules or rules_of(intake)
    earlier = sketches_of(store)
    added = read_documents(specs, get_tokenizer(intake.tokenizer), rules=rules, earlier=earlier, progress=progress)
    for taken in added.taken:
        store_document(store, taken)
    return added


def store_document(store: Store, taken: IntakeDocument, by: Person = AT_SERVER) -> StudioDocument:
    """Add a document that was read, with its sketch."""
    return store.add_document(taken.document, taken.text, by, (SKETCHES, taken.sketch))


# ------------------------------------------------------------------------------------------------------------- drafting


@dataclass(frozen=True, slots=True)
class DraftPlan:
    """Samples to draft.

    Attributes:
        task: Name of the task, or code of one of LongBench Pro.
        language: Language of documents and questions.
        bucket: Length bucket in tokens.
        candidates: Candidates of each model for each sample.
        requirement: Requirement of the questions; None for that of the task.
        several: Whether contexts consist of several shorter documents.
        seed: Seed of the choice of documents.
    """

    task: str
    language: str = "en"
    bucket: int = 8192
    samples: int = 1
    candidates: int = 3
    requirement: Requirement | None = None
    several: bool = False
    seed: int = 0


@readable
@dataclass(frozen=True, slots=True)
class DraftedSamples:
    """What was drafted.

    Attributes:
        samples: Ids of the new samples.
        drafted: All candidates, rejections and notes.
        wanted: Samples that were asked for.
    """

    samples: tuple[str, ...]
    drafted: Drafts
    wanted: int


def planned(plan: DraftPlan, store: Store, tasks: Mapping[str, StudioTask]) -> list[Sample]:
    """New samples without candidates, over the documents that are used least.

    Raises:
        FathomError: The task is unknown, or no available document has this language and length.
    """
    task = find_task(tasks, plan.task)
    if plan.samples < 1:
        raise FathomError(f"`samples` {plan.samples}: expected at least 1")
    used = Counter(id for sample in store.samples() for id in sample.documents if _uses(sample, task.name))
    available = store.documents(state="available", language=plan.language)
    choices = _choices(plan, available, store.intake().tolerance)
    if not choices:
        others = len(store.documents(state="collected", language=plan.language))
        waiting = f"; {several(others, 'document')} not reviewed for compliance yet" if others else ""
        if equal := len(store.documents(state=NEARLY_EQUAL, language=plan.language)):
            waiting += f"; {several(equal, 'document')} nearly equal to another not used"
        raise FathomError(
            f"no available document in language {plan.language!r} of {format_length(plan.bucket)} tokens{waiting}"
            f"{_lengths(available)}; add some with `fathom studio add-documents`, or choose another `language` or "
            "`bucket`"
        )
    Random(f"{plan.seed}|{task.name}").shuffle(choices)
    samples = []
    for _ in range(plan.samples):
        documents = min(choices, key=lambda ids: sum(used[id] for id in ids))
        used.update(documents)
        samples.append(Sample(new_id(), task.name, plan.language, plan.bucket, documents))
    return samples


def _uses(sample: Sample, task: str) -> bool:
    """Whether a sample uses its documents; one of the same task also if no draft fitted, not if it was rejected."""
    closed = sample.state == "rejected"
    return not closed or (sample.task == task and not any(ruling.kind == "rejection" for ruling in sample.rulings))


def _lengths(available: Sequence[StudioDocument]) -> str:
    """What lengths there are, for somebody who asked for another one."""
    lengths = sorted(document.tokens for document in available)
    if not lengths:
        return ""
    return f"; those that are available have {lengths[0]:,} to {lengths[-1]:,} tokens"


def _choices(plan: DraftPlan, available: Sequence[StudioDocument], tolerance: float) -> list[tuple[str, ...]]:
    if plan.several:
        return list(groups(available, plan.bucket, tolerance=tolerance, seed=plan.seed))
    return [(text.id,) for text in available if _is_as_long(text, plan.bucket, tolerance)]


def _is_as_long(document: StudioDocument, bucket: int, tolerance: float) -> bool:
    """Whether a document is in a bucket; one that is in none can be used for every length that is near its own."""
    return (document.bucket or bucket_of(document.tokens, (bucket,), tolerance)) == bucket


def draft_samples(
    store: Store,
    tasks: Mapping[str, StudioTask],
    plan: DraftPlan,
    drafters: Sequence[Asking],
    *,
    max_cost: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> DraftedSamples:
    """Have models draft new samples; each is stored as soon as it has a candidate.

    Args:
        max_cost: US dollars at which no further request is sent.
        progress: Called with the numbers of replies and of all.

    Raises:
        FathomError: A model is unknown or unreachable, there are no documents, or it was interrupted. What was drafted
            is kept.
    """
    samples = planned(plan, store, tasks)
    documents = {document.id: document for document in store.documents()}
    used = {id for sample in samples for id in sample.documents}
    others = [sample for sample in store.samples() if used.intersection(sample.documents)]
    collection = Collection((*others, *samples), documents, StoreTexts(store, list(documents)), tasks)
    made: dict[str, Sample] = {}
    lost: list[str] = []
    done = 0

    def keep(sample: Sample, drafted: Drafts) -> None:
        nonlocal done
        done += 1
        if drafted.candidates and sample.id in made:
            add = partial(AddCandidates, candidates=drafted.candidates)
            if why := added(store, made[sample.id], add):
                lost.append(f"sample {sample.id}: {len(drafted.candidates)} candidates are not stored: {why}")
        elif drafted.candidates:
            facts = sample.id, sample.task, sample.language, sample.bucket, sample.documents
            made[sample.id] = store.act(Create(*facts, drafted.candidates), AT_SERVER)
        if progress:
            progress(done, len(samples) * len(drafters))

    wanted = DraftSettings(plan.requirement, plan.candidates, max_cost)
    whole = draft(samples, collection, drafters, wanted, keep)
    return DraftedSamples(tuple(made), replace(whole, notes=(*whole.notes, *lost)), len(samples))


# ---------------------------------------------------------------------------------------------------- answers, critique


@readable
@dataclass(frozen=True, slots=True)
class AskSummary:
    """What models said about samples.

    Attributes:
        done: Number of answers or critiques stored.
        failed: Why others are not, one line each.
        cost: US dollars; None if a price is unknown.
    """

    done: int
    failed: tuple[str, ...]
    cost: float | None


def predict_samples(
    store: Store,
    tasks: Mapping[str, StudioTask],
    models: Sequence[Asking],
    *,
    states: Sequence[State],
    closed_book: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> AskSummary:
    """Have models answer the questions of samples, for mining and the closed-book check; done ones are not repeated.

    In state ``drafted`` they answer the candidates that others drafted; see ``fathom.studio.trials``.

    Args:
        models: The models; the limit of cost of each holds for all together.
        closed_book: Whether to ask without the documents.
    """
    collection = collection_of(store, tasks, states=states)
    waiting = [
        (asking, sample)
        for asking in models
        for sample in questions_for(asking.model, collection.samples, store.notes(topic=TRIAL), closed_book=closed_book)
    ]
    done = 0
    failed: list[str] = []
    costs: list[float | None] = []

    def keep(sample: Sample, prediction: Prediction) -> None:
        nonlocal done
        if is_trial(sample):
            store.note(trial_note(sample, prediction, find_task(tasks, sample.task)), AT_SERVER)
            done += 1
        elif why := added(store, sample, partial(AddPredictions, predictions=(prediction,))):
            failed.append(f"{prediction.model}: sample {sample.id}: the answer is not stored: {why}")
        else:
            done += 1

    for start in range(0, len(waiting), TOGETHER):
        part = waiting[start : start + TOGETHER]
        for asking in dict.fromkeys(asking for asking, _ in part):
            mine = [sample for other, sample in part if other is asking]
            left = limited(asking, asking.settings.max_cost, costs)
            predicted = predict(mine, collection, left, closed_book=closed_book, each=keep)
            failed += [f"{asking.model}: sample {id}: {why}" for id, why in predicted.failed.items()]
            costs += predicted.costs
        if progress:
            progress(min(start + TOGETHER, len(waiting)), len(waiting))
    return AskSummary(done, tuple(failed), total_cost(costs))


def added(store: Store, asked: Sample, add: Callable[[str, int], Action]) -> str:
    """Stores what a model said about a sample, also if people acted on the sample meanwhile.

    Args:
        asked: The sample as the model saw it.
        add: Makes the action from the sample's id and version.

    Returns:
        Why it is not stored; "" if it is.
    """
    while True:
        now = store.sample(asked.id)
        if asked_of(now.content) != asked_of(asked.content):
            return "people have changed its question or answer while the model worked, so this is about an older one"
        try:
            store.act(add(now.id, now.version), AT_SERVER)
        except StaleError:
            continue  # somebody acted between reading and writing
        except RefusedError as error:
            return str(error)
        return ""


def questions_for(
    model: str, samples: Sequence[Sample], trials: Sequence[NoteEntry], *, closed_book: bool
) -> list[Sample]:
    """The samples, and candidates of others as samples, that a model has not answered yet.

    Args:
        model: Its name.
        trials: Notes on candidates that were answered.
        closed_book: Whether it is asked without the documents.
    """
    own = [sample for sample in samples if lacks_answer(sample, model, closed_book=closed_book)]
    return own + to_try(samples, trials, model, closed_book=closed_book)


def lacks_answer(sample: Sample, model: str, *, closed_book: bool) -> bool:
    """Whether a sample has a question that a model has not answered yet."""
    answered = any(
        prediction.model == model and prediction.closed_book == closed_book for prediction in sample.predictions
    )
    return bool(sample.content.question.strip()) and not answered


def critique_samples(
    store: Store,
    tasks: Mapping[str, StudioTask],
    critic: Asking,
    objector: Asking | None,
    *,
    states: Sequence[State],
    depth: int = DEPTH,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Critique, ...]:
    """Have models criticise answers; each critique is a note on its sample. Done ones are not repeated.

    Args:
        critic: The model that makes claims.
        objector: The model that checks them; None for none. The limit of cost of each holds for both together.
        depth: Levels of critique; see ``critique.criticise``.
    """
    collection = collection_of(store, tasks, states=states)
    known = {(note.note.subject, _version_of(note.note)) for note in store.notes(topic=CRITIQUE)}
    samples = [
        sample
        for sample in collection.samples
        if sample.content.components and (sample.id, sample.version) not in known
    ]
    critiques: list[Critique] = []
    for start in range(0, len(samples), TOGETHER):
        costs = [critique.cost for critique in critiques]
        models = (
            limited(critic, critic.settings.max_cost, costs),
            objector and limited(objector, objector.settings.max_cost, costs),
        )
        for critique in criticise(samples[start : start + TOGETHER], collection, *models, depth):
            if not critique.notes or critique.claims:
                store.note(Note(CRITIQUE, critique.sample, canonical(as_record(critique))), AT_SERVER)
            critiques.append(critique)
        if progress:
            progress(len(critiques), len(samples))
    return tuple(critiques)


def set_difficulties(
    store: Store, rows: pl.DataFrame, tiers: Mapping[str, Tier]
) -> tuple[dict[str, Difficulty], dict[str, str]]:
    """Set the difficulty of samples from runs of an exported suite.

    Returns:
        The difficulties by id of the sample, and why others have none.
    """
    results = results_of(rows)
    difficulties: dict[str, Difficulty] = {}
    failed: dict[str, str] = {}
    for sample in list(store.samples(states=("accepted", "audited"))):
        try:
            level = difficulty(results.get(item_name(sample.id), {}), tiers)
        except FathomError as error:
            failed[sample.id] = str(error)
            continue
        same = sample.difficulty == level.label
        if why := "" if same else added(store, sample, partial(SetDifficulty, difficulty=level.label)):
            failed[sample.id] = why
        else:
            difficulties[sample.id] = level
    return difficulties, failed


def _version_of(note: Note) -> int:
    return int(json.loads(note.body).get("version", 0))
