"""A small suite with two runs of offline baselines, and a run with hostile text, for tests of looking at replies."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fathom import api
from fathom.documents.corpus import document_id
from fathom.runfile.ledger import Ledger
from fathom.runfile.worker import this_worker
from fathom.suites.suitefile import SampleWriter, write_documents, write_manifest
from fathom.types import Document, Json, Reply, Sample, Span

TASKS = "passkey,kv_retrieval,counting_stars,passage_count,passage_retrieval,single_doc_qa"
HOSTILE = (
    "</script><script>document.title='hacked'</script><img src=x onerror=\"document.title='hacked'\">"
    "\u202egnp.live\u202c \x00\x1b[31mred\x1b[0m \u2028 __proto__ \U000e0041 <!-- ${document.title}"
)


@dataclass(frozen=True)
class Made:
    """A suite, and runs of it by name."""

    suite: Path
    runs: tuple[Path, ...]


def make_runs(folder: Path) -> Made:
    """The suite with its runs ``lexical`` and ``guess``."""
    suite = folder / "suite"
    api.build(TASKS, suite, lengths="1k,2k", items=2, languages="en,zh", depths="0,0.5,1", closed_book=True, alone=True)
    runs = []
    for name in ("lexical", "guess"):
        api.run(suite, f"fathom/{name}", out=folder / name)
        runs.append(folder / name)
    return Made(suite, tuple(runs))


def make_suite(folder: Path, samples: Sequence[Sample], documents: Sequence[Document] = ()) -> Path:
    """A suite of given samples."""
    folder.mkdir(parents=True)
    write_documents(folder, documents)
    with SampleWriter(folder) as writer:
        for sample in samples:
            writer.add(sample)
    manifest: dict[str, Json] = {
        **{"suite": "made", "fingerprint": "f00d", "tokenizer": "words", "lengths": [1024], "tasks": ["passkey"]},
        **{"samples": {}, "notes": [], "left_out": [], "left_out_in_all": 0, "duplicates": 0, "inputs": {}},
    }
    write_manifest(folder, manifest)
    return folder


def make_run(folder: Path, replies: Sequence[tuple[Sample, Reply]], model: str = "lab/m", suite: str = "made") -> Path:
    """A run folder with given replies; further replies to a sample are repeats."""
    folder.mkdir(parents=True)
    about = {"name": suite, "fingerprint": "f00d", "tokenizer": "words", "path": "nowhere"}
    (folder / "run.json").write_text(json.dumps({"format": 1, "suite": about, "model": model}))
    ledger = Ledger(folder, this_worker())
    seen: dict[str, int] = {}
    for sample, reply in replies:
        seen[sample.id] = seen.get(sample.id, 0) + 1
        ledger.finish(sample, seen[sample.id], reply, prompt_hash="abc", cost=None)
    ledger.close()
    return folder


def document(text: str, title: str = "A title") -> Document:
    """A document with that text."""
    return Document(document_id(text), text, "made:1", "en", title)


def passkey(number: int = 0, parts: tuple[str | Span, ...] = (), targets: tuple[str, ...] = ("12345",)) -> Sample:
    """A sample of the task passkey."""
    item = f"passkey/en/{number:04d}"
    return Sample(f"{item}@1024", item, "passkey", parts, targets, 1024, 1000, inputs={"digits": 5})


def make_hostile(folder: Path) -> Made:
    """A run whose prompts, replies, names and answers are hostile."""
    one = document(f"{HOSTILE} \U0001f600 The passkey is 12345. {HOSTILE} " + "word " * 10, title=HOSTILE)
    sample = passkey(
        0, (HOSTILE + "\n\n", Span(one.id, 0, len(one.text)), "\n\nWhat is it? " + HOSTILE), (HOSTILE[:40], "12345")
    )
    suite = make_suite(folder / "hostile-suite", [sample], [one])
    replies = [
        (sample, Reply("ok", f"54321 {HOSTILE} \ud800", reasoning=HOSTILE)),
        (sample, Reply("error", error=HOSTILE)),
    ]
    return Made(suite, (make_run(folder / "hostile", replies, model=f"lab/{HOSTILE}"),))
