"""Compares the generated tasks of RULER with what its official generator wrote: needles, answers, lengths and places.

    python performance/official_generators.py FOLDER --length 8k --tokenizer tokenizer.json --corpus ESSAYS

FOLDER has ``TASK/validation.jsonl`` of each task, as ``scripts/data/prepare.py`` of NVIDIA/RULER writes it; the
tokenizer and the essays are those that it was given. As many items are built of each task. The table has the counts of
needles and answers, the least and largest share of the length that is filled (the official length includes the reply),
and a Kolmogorov-Smirnov test of two samples on the places of the needles, as shares of the prompt. Those of ``cwe`` and
``fwe`` are all places of the answers.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from scipy.stats import ks_2samp

from fathom.benchmarks.ruler.tasks import RETRIEVAL
from fathom.suites.build import build, configure
from fathom.suites.settings import BuildSettings
from fathom.suites.suitefile import open_suite
from fathom.tokens.length import parse_length, render

TASKS = (*RETRIEVAL, "vt", "cwe", "fwe")
NEEDLES = (r"special magic \w+ for [^.\n]+? is: ", r"The code \w+ of [\w-]+ is ")
VARIABLES = (r"VAR [A-Z]{5} = ", r"VAR [A-Z]{5} = ")
LISTS = ("multikey_2", "multikey_3")
"""Tasks whose context is needles: the place of the one in question is compared."""


class Item(NamedTuple):
    """A prompt with its gold answers and the share of its length that is filled."""

    prompt: str
    answers: Sequence[str]
    filled: float


def official(path: Path, length: int) -> list[Item]:
    """The items of a file of the official generator."""
    rows = map(json.loads, path.read_text("utf-8").splitlines())
    return [Item(row["input"], row["outputs"], row["length"] / length) for row in rows]


def ours(name: str, items: int, settings: BuildSettings) -> list[Item]:
    """As many items of our own."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = configure(f"ruler_{name}", replace(settings, items=items))
        suite = open_suite(build(wanted, Path(folder) / "suite").folder)
        texts = suite.texts()
        return [
            Item(render(sample, texts), json.loads(str(sample.inputs["gold_json"])), sample.tokens / sample.length)
            for sample in suite.samples()
            if sample.length
        ]


def places(name: str, item: Item, number: int) -> list[float]:
    """Where the needles of an item begin, as shares of its prompt; ``number`` is 0 in official ones, else 1."""
    # The example that two official tasks begin with has the same first words as the prompt proper.
    start = item.prompt.rfind(item.prompt[:40])
    if name in ("cwe", "fwe") or name.endswith(LISTS):
        pattern = rf"\b(?:{'|'.join(map(re.escape, item.answers))})\b"
    else:
        pattern = (VARIABLES if name == "vt" else NEEDLES)[number]
    return [match.start() / (len(item.prompt) - start) for match in re.finditer(pattern, item.prompt[start:])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--length", default="8k")
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--corpus", required=True)
    options = parser.parse_args()
    settings = BuildSettings(lengths=options.length, languages="en", tokenizer=options.tokenizer, corpus=options.corpus)
    print("| task | needles, official and ours | answers | filled, official | filled, ours | places: D, p |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in TASKS:
        path = options.folder / name / "validation.jsonl"
        if not path.is_file():
            continue
        theirs = official(path, parse_length(options.length))
        pair = (theirs, ours(name, len(theirs), settings))
        where = [[places(name, item, number) for item in items] for number, items in enumerate(pair)]
        counts = " / ".join(ranged([len(found) for found in each], "{}") for each in where)
        answers = " / ".join(ranged([len(item.answers) for item in items], "{}") for items in pair)
        filled = [ranged([item.filled for item in items], "{:.1%}") for items in pair]
        test = ks_2samp(*([place for found in each for place in found] for each in where))
        print(
            f"| {name} | {counts} | {answers} | {filled[0]} | {filled[1]} | {test.statistic:.2f}, {test.pvalue:.2g} |",
            flush=True,
        )


def ranged(values: Sequence[float], form: str) -> str:
    """The least and the largest of some numbers, or the one that all are."""
    low, high = form.format(min(values)), form.format(max(values))
    return low if low == high else f"{low} to {high}"


if __name__ == "__main__":
    main()
