"""MRCR as published: OpenAI's conversations (openai/mrcr) and the CSV files of Google's MRCR v2.

OpenAI's records are chat messages. They are sent as one text here, with the role at the head of each message.
"""

import json
from collections.abc import Mapping
from typing import Annotated, Any, NotRequired

from annotated_types import Predicate
from typing_extensions import TypedDict

from fathom.documents.corpus.records import BadRowError, typed
from fathom.documents.corpus.text import document_id, storable
from fathom.documents.sources.forms import published_record
from fathom.documents.sources.source import HubFile, Shape, packaged_sources
from fathom.storage.schema import Filled
from fathom.types import Document

OPENAI, GOOGLE = "mrcr", "google_mrcr"
NEEDLES = (2, 4, 8)
RECORDS = 800
"""OpenAI's published records with each number of needles."""
HASH = 12


class Record(TypedDict):
    """A record of openai/mrcr; ``prompt`` is a JSON list of messages."""

    prompt: Filled
    answer: Filled
    random_string_to_prepend: Annotated[str, Predicate(bool), "a text"]
    n_needles: int
    desired_msg_index: NotRequired[Any]
    total_messages: NotRequired[Any]
    n_chars: NotRequired[Any]
    date_added: NotRequired[Any]


class Messages(TypedDict):
    """A message of a prompt."""

    role: str
    content: str


class GoogleRecord(TypedDict):
    """A row of Google's files, of whose columns these are used."""

    queries: Filled
    answer: Filled


def read_record(record: Mapping[str, object], where: str) -> Document:
    """A record of openai/mrcr: its text is the conversation, each message under the name of its role.

    Raises:
        BadRowError: A field is missing or has another form, or the prompt is no list of messages.
    """
    fields = typed(Record, record)
    try:
        given = json.loads(fields["prompt"])
    except (ValueError, RecursionError) as error:
        raise BadRowError(f"the field 'prompt' is no JSON list of messages: {error}") from None
    if not isinstance(given, list) or not all(isinstance(message, dict) for message in given):
        raise BadRowError("the field 'prompt' is no JSON list of messages")
    messages = [typed(Messages, message) for message in given]
    text = storable("\n\n".join(f"{message['role'].capitalize()}:\n{message['content']}" for message in messages))
    answer, prefix = storable(fields["answer"]), fields["random_string_to_prepend"]
    return _document(text, where, f"{OPENAI}_{fields['n_needles']}", answer, prefix)


def read_google(record: Mapping[str, object], where: str) -> Document:
    """A row of Google's files: its text is the whole prompt; the first twelve characters of its answer are random.

    Raises:
        BadRowError: A field is missing or has another form.
    """
    fields = typed(GoogleRecord, record)
    answer = storable(fields["answer"])
    return _document(storable(fields["queries"]), where, GOOGLE, answer, answer.strip()[:HASH])


def _document(text: str, where: str, dataset: str, answer: str, prefix: str) -> Document:
    meta = {"dataset": dataset, "id": document_id(text + answer)[:12], "answer": answer, "prefix": prefix}
    return published_record(text, where, f"{dataset} {where}", meta)


SOURCES = (
    *packaged_sources(
        __package__,
        {OPENAI: (Shape.of("MRCR", Record, read_record),)},
        files=tuple(HubFile(f"{count}needle/{count}needle_{part}.parquet") for count in NEEDLES for part in (0, 1)),
        vague=tuple(f"{count}needle{part}" for count in NEEDLES for part in ("", "_0", "_1")),
    ),
    *packaged_sources(__package__, {GOOGLE: (Shape.of("Google MRCR v2", GoogleRecord, read_google),)}),
)
