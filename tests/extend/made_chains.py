"""A suite for the reader with weights written by hand, which offline baselines and systems can read too.

Its texts are lines: each chain of words is a line of its own, so that it is a sentence for retrieval and for baselines.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from handwritten_reader import CODED, REPLY, WORDS, Item, make_items

from fathom.documents.corpus import document_id
from fathom.suites.suitefile import SampleWriter, fresh_folder, write_documents, write_manifest
from fathom.types import Document, Json, Sample, Span

LINE = 12
"""Other words in a line."""
PLUGIN = f"""
from fathom.types import Score, Task


def plan(draw):
    raise NotImplementedError  # the suite is written by a script


def score(reply, sample):
    right = sample.targets[0] in " ".join(reply.split())
    return Score(float(right), bool(reply.strip()), reply, "the same words in a row")


TASKS = (
    Task(
        name="chain",
        plan=plan,
        score=score,
        metric="accuracy",
        max_output_tokens={REPLY},
        description="the words that follow a word",
        source="a test",
        answer="sentence",
        languages=("en",),
    ),
)
"""


def make_chain_suite(
    folder: Path, plugin: Path, lengths: Sequence[int], count: int = 20, seed: int = 0
) -> tuple[Path, Path]:
    """Write the suite, and the file with its task.

    Args:
        folder: The suite's folder, which is new.
        plugin: The file of the task.
        lengths: Tokens of the prompts, in words.
        count: Items.
        seed: Of the items; none is the same with another one.
    """
    plugin.write_text(PLUGIN, "utf-8")
    manifest: dict[str, Json] = {
        "fathom": "suite",
        "suite": "chains",
        "tokenizer": "words",
        "fingerprint": f"c4a1{seed:04d}{count:04d}{'x'.join(map(str, lengths))}",
        "inputs": {},
    }
    manifest |= {"notes": [], "left_out": [], "left_out_in_all": 0, "duplicates": 0, "tasks": ["chain"]}
    documents: dict[str, Document] = {}
    samples = []
    for length in lengths:
        for number, item in enumerate(make_items(length, count, seed)):
            text = lines_of(item)
            name = document_id(text)
            documents[name] = Document(name, text, f"chains:{seed}/{number}@{length}")
            samples.append(
                Sample(
                    id=f"item{seed}.{number}@{length}",
                    item=f"item{seed}.{number}",
                    task="chain",
                    parts=(f"{WORDS[item.prompt[0]]}\n\n", Span(name, 0, len(text)), f"\n\n{WORDS[item.prompt[-1]]}"),
                    targets=(" ".join(WORDS[word] for word in item.answer),),
                    length=length,
                    tokens=length,
                )
            )
    with fresh_folder(folder) as fresh:
        write_documents(fresh, list(documents.values()))
        with SampleWriter(fresh) as writer:
            for sample in samples:
                writer.add(sample)
        counts: dict[str, Json] = {"chain": len(samples)}
        write_manifest(fresh, manifest | {"lengths": list(lengths), "samples": counts})
    return folder, plugin


def lines_of(item: Item) -> str:
    """The words of a prompt between its first and its last, in lines."""
    lines: list[list[str]] = [[]]
    coded = False
    for word in item.prompt[1:-1]:
        if (2 <= word < 2 + CODED) != coded or (not coded and len(lines[-1]) == LINE):
            coded = 2 <= word < 2 + CODED
            lines.append([])
        lines[-1].append(WORDS[word])
    return "\n".join(" ".join(line) for line in lines if line)
