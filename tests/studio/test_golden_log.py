"""Logs of earlier versions stay readable: their hashes hold, and each event is what it was."""

import json
from pathlib import Path

from fathom.studio.log import Entry, event_of, verified
from fathom.studio.types import (
    ACTIONS,
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
    SampleAction,
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
EARLIER: list[Event] = [
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


def test_a_log_of_an_earlier_version_is_read() -> None:
    lines = Path(__file__).with_name("golden_log.jsonl").read_text("utf-8").splitlines()
    entries = list(verified(Entry(**json.loads(line)) for line in lines))
    assert [event_of(entry) for entry in entries] == EARLIER


def test_every_action_says_of_which_sample_and_version() -> None:
    assert all(issubclass(kind, SampleAction) for kind in ACTIONS.values())
