"""Small suites for the tests of ``fathom.run``, in the real format."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fathom.suites.suitefile import SampleWriter, fresh_folder, write_documents, write_manifest
from fathom.types import Document, Json, Sample, Span

FILLER = "The ferry leaves at nine. " * 40
TOKENS = 207  # of every prompt, by the tokenizer ``words``


def make_suite(
    place: Path,
    count: int,
    *,
    name: str = "suite",
    lengths: tuple[int, ...] = (256,),
    fingerprint: str = "f00d",
    tasks: tuple[str, ...] = ("passkey",),
) -> Path:
    """Write a suite into ``place/name``: sample number n says ``[sample n]``, and most of it is borrowed text."""
    folder = place / name
    manifest: dict[str, Json] = {
        "fathom": "suite",
        "suite": "tiny",
        "tokenizer": "words",
        "fingerprint": fingerprint,
        "inputs": {},
    }
    manifest |= {"notes": [], "left_out": [], "left_out_in_all": 0, "duplicates": 0, "tasks": list(tasks)}
    with fresh_folder(folder) as fresh:
        write_documents(fresh, [Document("doc", FILLER, "test")])
        with SampleWriter(fresh) as writer:
            for number in range(count):
                made = sample(number, lengths[number % len(lengths)])
                writer.add(replace(made, task=tasks[number % len(tasks)]))
        write_manifest(fresh, manifest | {"lengths": list(lengths), "samples": {"passkey": count}})
    return folder


def sample(number: int, length: int = 256) -> Sample:
    """Sample number ``number``; it is the same at every length, which no real suite would do."""
    return Sample(
        id=f"item{number}@{length}",
        item=f"item{number}",
        task="passkey",
        parts=(f"[sample {number}] Read.\n", Span("doc", 0, len(FILLER)), "\nWhen does it leave?"),
        targets=("nine", "9"),
        length=length,
        tokens=TOKENS,
        chance=0.25,
        facets={"depth": 0.5, "ort": "Köln"},
        inputs={"classes": '["neun", "zehn"]'},
    )
