"""What pages call languages and the entries of the log, and what they say after a form."""

import json
from collections.abc import Mapping

from fathom.benchmarks.pro.secondary_tasks import LANGUAGES
from fathom.printing import printable
from fathom.studio.log import Entry
from fathom.studio.store import NEARLY_EQUAL
from fathom.studio.types import ACTIONS, EVENTS, Note, State, StudioDocument

STEPS: Mapping[State, str] = {
    "drafted": "Select or write",
    "selected": "Edit and hand over",
    "expert_review": "Expert: pass or return",
    "revision": "Revise",
    "standardised": "Check the prompts",
    "answer_review": "Review the answer",
    "adjudication": "Expert: decide",
    "reconstruct": "Begin the next round",
    "accepted": "Done",
    "audited": "Done",
    "rejected": "Done",
}
"""What is done next with a sample in a state."""
NOTES: Mapping[str, str] = {
    "account": "changed how an account logs in",
    "comment": "commented",
    "trial": "answered a draft",
    "critique": "added claims of a model",
    "critique-decision": "decided on a claim",
    "demo": "made the demo",
    "rating": "rated it",
}
"""What somebody did, by the topic of a note."""
NOTICES: Mapping[str, str] = {form: kind.words.notice for kind in ACTIONS.values() if (form := kind.words.form)} | {
    "assign": "Assigned.",
    "release": "It is free for others.",
    "comment": "Your comment is stored.",
    "profile": "Saved.",
    "no_document": "That draft is closed. No other document of this language and length is available.",
    "claim": "Your decision is stored.",
    "rate": "Your rating is stored.",
    "saved": "Saved.",
    "password": "The password is changed; other sessions have ended.",
    "confirmed": "Thank you. You can change accounts for half an hour.",
    "sessions": "Ended.",
}
"""What a page says after a form, by the name of the form or of what was done."""
_LANGUAGES = {code: name for name, code in LANGUAGES.items()}


def deed(entry: Entry) -> str:
    """What somebody did.

    Args:
        entry: An entry of the log.
    """
    kind = EVENTS.get(entry.kind, Note)
    if kind is not Note:
        return kind.words.deed
    topic = str(json.loads(entry.body).get("topic", entry.kind))
    return NOTES.get(topic, printable(topic))


def standing(document: StudioDocument) -> str:
    """The state of a document in words; one that is nearly equal to another is not called available."""
    return NEARLY_EQUAL.replace("_", " ") if document.state == "available" and document.duplicate_of else document.state


def language(code: str) -> str:
    """The English name of a language.

    Args:
        code: Its code; one without a name stays.
    """
    return _LANGUAGES.get(code, printable(code))
