"""Drafters answer each other's candidates before one is selected (LongBench Pro, section 3.3, step 3).

Each model answers the questions that other models drafted, with the documents or closed-book. People see how many are
right, not what they answered: a candidate is challenging if at least one model that reads the text is wrong. Trials are
notes on the sample, which later steps never show.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from fathom.storage.validation import Flag, Text
from fathom.studio.log import NoteEntry
from fathom.studio.predicting import is_right
from fathom.studio.records import as_record, canonical, from_json
from fathom.studio.tasks import StudioTask
from fathom.studio.types import Note, Prediction, Sample

TRIAL = "trial"
"""Topic of the notes that say whether a model answered a candidate."""
_BETWEEN = "/"


@dataclass(frozen=True, slots=True)
class Trial:
    """Whether a model answered the question of a candidate; the body of a note.

    Attributes:
        candidate: Id of the candidate.
        model: Who answered.
        right: Whether the answer is that of the candidate, by the metric of the task.
    """

    candidate: Text
    model: Text
    closed_book: Flag
    right: Flag


@dataclass(frozen=True, slots=True)
class TrialCounts:
    """How many models answer a candidate.

    Attributes:
        right: Models that are right with the documents,
        asked: of so many.
        known: Models that are right closed-book,
        asked_closed: of so many.
    """

    right: int = 0
    asked: int = 0
    known: int = 0
    asked_closed: int = 0

    @property
    def challenging(self) -> bool:
        """Whether at least one model that reads the text is wrong."""
        return self.right < self.asked


def to_try(
    samples: Iterable[Sample], notes: Iterable[NoteEntry], model: str, *, closed_book: bool = False
) -> list[Sample]:
    """The candidates that a model has not answered yet and did not draft itself, each as a sample of its own.

    Args:
        samples: Drafted samples.
        notes: All trials.
        closed_book: Whether it is about answers without the documents.
    """
    tried = {
        (note.note.subject, trial.candidate)
        for note in notes
        if (trial := read_trial(note)).model == model and trial.closed_book == closed_book
    }
    return [
        replace(sample, id=f"{sample.id}{_BETWEEN}{candidate.id}", content=candidate.content)
        for sample in samples
        if sample.state == "drafted"
        for candidate in sample.candidates
        if candidate.drafter != model and candidate.content.components and (sample.id, candidate.id) not in tried
    ]


def is_trial(sample: Sample) -> bool:
    """Whether a sample is a candidate of ``to_try``."""
    return _BETWEEN in sample.id


def trial_note(tried: Sample, prediction: Prediction, task: StudioTask) -> Note:
    """The note that says whether a model answered a candidate.

    Args:
        tried: The candidate as a sample; see ``to_try``.
        prediction: The model's answer, which is not kept.
    """
    sample, _, candidate = tried.id.partition(_BETWEEN)
    right = prediction.score is not None and is_right(prediction.score, task)
    trial = Trial(candidate, prediction.model, prediction.closed_book, right)
    return Note(TRIAL, sample, canonical(as_record(trial)))


def read_trial(note: NoteEntry) -> Trial:
    """The trial in a note.

    Raises:
        RecordError: It is none.
    """
    return from_json(Trial, note.note.body, "trial")


def trial_counts(notes: Sequence[NoteEntry]) -> Mapping[str, TrialCounts]:
    """How many models answer each candidate of a sample, by the candidate's id.

    Args:
        notes: Trials of one sample.
    """
    counts: dict[str, TrialCounts] = {}
    for trial in map(read_trial, notes):
        now = counts.get(trial.candidate, TrialCounts())
        if trial.closed_book:
            counts[trial.candidate] = replace(now, known=now.known + trial.right, asked_closed=now.asked_closed + 1)
        else:
            counts[trial.candidate] = replace(now, right=now.right + trial.right, asked=now.asked + 1)
    return counts
