"""Small suites of TSort for the tests of likelihoods: stories whose words say which one comes next."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

from fathom.suites.suitefile import SampleWriter, fresh_folder, write_documents, write_manifest
from fathom.types import Document, Json, Part, Sample, Span

WORDS = 6  # of each piece


def story(number: int, pieces: int) -> list[str]:
    """The pieces of story ``number`` in their true order: before, the segments, after. No two share a word."""
    return [" ".join(f"s{number}p{piece}w{word}" for word in range(WORDS)) for piece in range(pieces + 2)]


def true_order(number: int, segments: int) -> tuple[int, ...]:
    """The answer to sample ``number``: numbers of the parts in the order of the story."""
    return tuple(Random(number).sample(range(1, segments + 1), segments))


def make_order_suite(
    place: Path, count: int, *, segments: int = 4, lengths: tuple[int, ...] = (2048,), others: int = 0
) -> Path:
    """Write a suite of ``count`` stories at each length, and ``others`` samples of a task that asks for no order."""
    folder = place / "stories"
    task = "tsort" if segments == 4 else f"tsort_{segments}"
    stories = {number: story(number, segments) for number in range(count)}
    documents = [Document(f"d{number}", "\n\n".join(pieces), "test") for number, pieces in stories.items()]
    manifest: dict[str, Json] = {
        "fathom": "suite",
        "suite": "stories",
        "tokenizer": "words",
        "fingerprint": "beef",
        "inputs": {},
        "notes": [],
        "left_out": [],
        "left_out_in_all": 0,
        "duplicates": 0,
        "tasks": [task, *(["passkey"] if others else [])],
        "lengths": list(lengths),
        "samples": {task: count},
    }
    with fresh_folder(folder) as fresh:
        write_documents(fresh, [*documents, Document("doc", "Nothing.", "test")])
        with SampleWriter(fresh) as writer:
            for length in lengths:
                for number, pieces in stories.items():
                    writer.add(_sample(number, pieces, task, length))
            for number in range(others):
                writer.add(Sample(f"o{number}", f"o{number}", "passkey", ("What?",), ("1",), lengths[0], 2))
        write_manifest(fresh, manifest)
    return folder


def _sample(number: int, pieces: list[str], task: str, length: int) -> Sample:
    segments = len(pieces) - 2
    order = true_order(number, segments)
    spans = []
    start = 0
    for piece in pieces:
        spans.append(Span(f"d{number}", start, start + len(piece)))
        start += len(piece) + 2
    parts: list[Part] = ["Put the parts in order.\n\nBefore:\n", spans[0]]
    for part in range(1, segments + 1):
        parts += [f"\n\nPart {part}:\n", spans[1 + order.index(part)]]
    parts += ["\n\nAfter:\n", spans[-1], "\n\nReply with a list."]
    return Sample(
        id=f"story{number}@{length}",
        item=f"story{number}",
        task=task,
        parts=tuple(parts),
        targets=(json.dumps(list(order)),),
        length=length,
        tokens=WORDS * len(pieces) + 20,
        chance=0.1,
        facets={"example": json.dumps(list(range(1, segments + 1)))},
        inputs={"segments": segments},
    )
