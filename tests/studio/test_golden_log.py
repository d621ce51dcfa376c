"""Stores of earlier versions hold canonical JSON of events: it never changes."""

from fathom.studio.log import Head, head_of, new_entry
from fathom.studio.types import (
    EVENTS,
    AddCandidates,
    AddDocument,
    AddPredictions,
    Adjudicate,
    Audit,
    Candidate,
    Component,
    ComponentVerdict,
    Content,
    Create,
    Edit,
    Event,
    Evidence,
    ExpertPass,
    ExpertReturn,
    Note,
    Person,
    Prediction,
    Reconstruct,
    Reject,
    ReviewDocument,
    Select,
    SetDifficulty,
    SetPerson,
    Standardise,
    StudioDocument,
    SubmitForReview,
    SubmitReview,
    Write,
)

EVIDENCE = Evidence("d", 3, 6, "Ida")
CONTENT = Content("Who?", (Component("Ida", (EVIDENCE,)),), "why", "how", "partial", "Think.", "Say.")
CANDIDATE = Candidate("c", "m", CONTENT, 0.25, 1.5)
EVENTS_OF_EACH_KIND: list[Event] = [
    SetPerson(Person("ann", "annotator")),
    AddDocument(StudioDocument("d", "Title", "en", "web", "CC0", 9, 8192, "available", "law", "novel"), "0" * 64),
    ReviewDocument("d", "excluded", "private", 2.0),
    Create("s", "qa", "en", 8192, ("d",), (CANDIDATE,)),
    AddCandidates("s", 1, (CANDIDATE,)),
    AddPredictions("s", 1, (Prediction("m", ("Ida",), True, 0.5, 0.1), Prediction("n", ()))),
    SetDifficulty("s", 1, "Hard"),
    Select("s", 1, "c", seconds=60.5),
    Write("s", 1, CONTENT),
    Edit("s", 2, Content("“Wer?”"), seconds=1.0),
    SubmitForReview("s", 2),
    ExpertPass("s", 3, "good"),
    ExpertReturn("s", 3, "unclear"),
    Standardise("s", 4, "Think.", "Say."),
    SubmitReview("s", 5, (ComponentVerdict("wrong", "no", (EVIDENCE,)),), (Component("Bo"),), "problem", "so"),
    Adjudicate("s", 6, "accept", "right"),
    Reconstruct("s", 7),
    Reject("s", 7, "private"),
    Audit("s", 7, "problem", "doubt"),
    Note("rating", "s", '{"clear":5}', 4.0),
]


def test_the_log_of_every_kind_of_event_has_the_same_hash_as_in_earlier_versions() -> None:
    head = Head()
    for event in EVENTS_OF_EACH_KIND:
        entry = new_entry(head, "2026-01-31T23:59:59Z", "ann", event)
        head = Head(entry.number, entry.hash)
    assert {type(event).__name__ for event in EVENTS_OF_EACH_KIND} == set(EVENTS)
    assert head == head_of("20:c38fd58afa5305b380aca02f324c19b2ec07fbe3a5ee2a0bd73f725a4da879c2")
