"""What pages call languages and the entries of the log."""

import json
from collections.abc import Mapping

from fathom.benchmarks.pro.secondary_tasks import LANGUAGES
from fathom.printing import printable
from fathom.studio.log import Entry

DEEDS: Mapping[str, str] = {
    "Create": "began the sample",
    "AddCandidates": "added drafts",
    "AddPredictions": "added answers of models",
    "SetDifficulty": "set the difficulty",
    "Select": "selected a draft",
    "Write": "wrote the sample",
    "Edit": "edited",
    "SubmitForReview": "handed it to an expert",
    "ExpertPass": "passed it",
    "ExpertReturn": "returned it for revision",
    "Standardise": "confirmed the prompts",
    "SubmitVerdicts": "sent first verdicts",
    "SubmitReview": "sent a review",
    "Adjudicate": "adjudicated",
    "Reconstruct": "began the next round",
    "Reject": "rejected it",
    "Audit": "audited it",
    "AddDocument": "added a document",
    "ReviewDocument": "decided on a document",
    "SetIntake": "set how documents are measured",
    "SetPerson": "added or changed an account",
}
"""What somebody did, by the event's name; a note says itself what it is."""
NOTES: Mapping[str, str] = {
    "account": "changed how an account logs in",
    "critique": "added claims of a model",
    "critique-decision": "decided on a claim",
    "demo": "made the demo",
    "rating": "rated it",
}
"""What somebody did, by the topic of a note."""
_LANGUAGES = {code: name for name, code in LANGUAGES.items()}


def deed(entry: Entry) -> str:
    """What somebody did.

    Args:
        entry: An entry of the log.
    """
    if entry.kind in DEEDS:
        return DEEDS[entry.kind]
    topic = str(json.loads(entry.body).get("topic", entry.kind))
    return NOTES.get(topic, printable(topic))


def language(code: str) -> str:
    """The English name of a language.

    Args:
        code: Its code; one without a name stays.
    """
    return _LANGUAGES.get(code, printable(code))
