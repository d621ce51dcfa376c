"""Compares ``mrcr_google_8`` with what the generator of Google's MRCR v2 makes: like entries, turns, tokens and places.

    python performance/official_mrcr.py FOLDER --tokenizer tokenizer.json --corpus ESSAYS --length 16k --items 12

FOLDER has ``mrcr_utils.py`` of google-deepmind/eval_hub, which needs pandas. Pieces of 75 words of the essays stand in
for the texts that a model wrote. Each official conversation is drawn with its own seed, and its first group of like
entries is compared. Places are numbers of turns as shares of all, by a Kolmogorov-Smirnov test of two samples; seconds
are of CPU.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
import time
from itertools import cycle
from pathlib import Path
from typing import Any

from scipy.stats import ks_2samp

from fathom.suites.build import build, configure
from fathom.suites.settings import BuildSettings
from fathom.suites.suitefile import open_suite
from fathom.tokens.length import parse_length, render

NEEDLES, WORDS = 8, 75
FORMATS, STYLES = range(7), range(5)
TOPICS = {"asked": 7, "filler": 6}


def official(folder: Path, essays: Path, tokenizer: Path, length: int, seed: int) -> tuple[int, int, list[float]]:
    """Turns, tokens and places of the like entries of one official conversation."""
    sys.path.insert(0, str(folder))
    from mrcr_utils import generate_mrcr_v2  # type: ignore[import-not-found]
    from tokenizers import Tokenizer

    loaded = Tokenizer.from_file(str(tokenizer))

    def tokens(text: str) -> tuple[list[int], int]:
        ids = loaded.encode(text, add_special_tokens=False).ids
        return ids, len(ids)

    words = " ".join(path.read_text("utf-8") for path in sorted(essays.glob("*.txt"))).split()
    pieces = cycle(" ".join(words[at : at + WORDS]) for at in range(0, len(words) - WORDS, WORDS))

    def texts(kind: str) -> dict[str, Any]:
        return {
            f"format {form}": {
                f"{kind} {topic}": {
                    f"style {style}": {f"seed{number}": next(pieces) for number in range(NEEDLES)} for style in STYLES
                }
                for topic in range(TOPICS[kind])
            }
            for form in FORMATS
        }

    random.seed(seed)
    bucket = (length - 1, length)
    made, _ = generate_mrcr_v2(texts("asked"), texts("filler"), {}, NEEDLES, 1, [bucket], True, False, tokens)
    row = made[bucket][0]
    turns = row["queries"].split("EXAMPLE 3")[-1].count("User: Write a ")
    return turns, row["context_len"], [place / (turns - 1) for place in row["index_positions_of_seeds"]]


def ours(settings: BuildSettings) -> list[tuple[int, int, list[float]]]:
    """The same of our own conversations."""
    with tempfile.TemporaryDirectory() as folder:
        suite = open_suite(build(configure(f"mrcr_google_{NEEDLES}", settings), Path(folder) / "suite").folder)
        texts = suite.texts()
        return [_read(render(sample, texts), sample.tokens) for sample in suite.samples() if sample.length]


def _read(prompt: str, tokens: int) -> tuple[int, int, list[float]]:
    asked = re.findall(r"entry of the (.+) kept at (.+) that the", prompt)[-1]
    turns = re.findall(r"Show me an entry of the (.+) kept at (.+)\.", prompt)
    return len(turns), tokens, [number / (len(turns) - 1) for number, turn in enumerate(turns) if turn == asked]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--length", default="16k")
    parser.add_argument("--items", type=int, default=12)
    options = parser.parse_args()
    length = parse_length(options.length)
    begin = time.process_time()
    theirs = [
        official(options.folder, options.corpus, options.tokenizer, length, seed) for seed in range(options.items)
    ]
    between = time.process_time()
    own = ours(
        BuildSettings(lengths=options.length, items=options.items, languages="en", tokenizer=str(options.tokenizer))
    )
    end = time.process_time()
    for name, made, seconds in (("official", theirs, between - begin), ("ours", own, end - between)):
        turns, tokens, places = zip(*made, strict=True)
        print(
            f"{name}: {sorted({len(each) for each in places})} like entries, {min(turns)} to {max(turns)} turns, "
            f"{min(tokens):,} to {max(tokens):,} tokens, {seconds / len(made):.2f} seconds each"
        )
    test = ks_2samp(*([place for _, _, places in made for place in places] for made in (theirs, own)))
    print(f"places: D {test.statistic:.2f}, p {test.pvalue:.2g}")


if __name__ == "__main__":
    main()
