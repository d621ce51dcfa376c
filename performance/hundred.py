"""Building 100-LongBench: time, memory, file size and lengths, beside the procedure of the released code.

The plain procedure, in our own words: for each task and length tokenize every source document, then draw documents at
random, with replacement, as long as one fits into what is left. Headings and the question are not counted, and nothing
is cut, so that its prompts come near their length but not to it. Both sides use the same documents and tokenizer.

    python performance/hundred.py --data FOLDER            # the whole suite, 2k to 256k, 100 items: minutes
    python performance/hundred.py --items 5 --lengths 2k,8k  # a small one from the generated corpus
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from random import Random

from fathom.suites.build.config import BuildConfig, configure
from fathom.suites.build.material import Material, gather
from fathom.suites.registry import get_suite, get_task
from fathom.suites.settings import BuildSettings
from fathom.suites.suitefile import open_suite
from fathom.tokens.counts import TokenCounter, cut_points
from fathom.tokens.length import format_length, parse_length, render
from fathom.tokens.tokenizers import Tokenizer, get_tokenizer

FILLED = 2  # prompts of a task and length that are filled to measure how long that takes
CHECKED = 20  # prompts a length that are tokenized again, on both sides


def plain(texts: Sequence[str], length: int, items: int, rng: Random, tokenizer: Tokenizer) -> list[str]:
    """The prompts of one task at one length, made as the released code makes them."""
    sizes = [tokenizer.count(text) for text in texts]
    prompts = []
    for _ in range(items):
        left, chosen = length, []
        while fitting := [n for n, size in enumerate(sizes) if size < left]:
            chosen.append(rng.choice(fitting))
            left -= sizes[chosen[-1]]
        context = "\n\n".join(f"Passage {number}:\n{texts[n]}" for number, n in enumerate(chosen, start=1))
        prompts.append(f"Below are numbered passages.\n\n{context}\n\nWhat does Passage 1 say?\nAnswer:")
    return prompts


def filled(prompt: str, length: int, text: str, tokenizer: Tokenizer) -> str:
    """A plain prompt made to fit: a last passage whose end is bisected, tokenizing the whole prompt each time."""
    context, gap, question = prompt.rpartition("\n\nWhat does")
    points = [point for point in cut_points(text) if point]
    fit = bisect_right(points, length, key=lambda end: tokenizer.count(f"{context}\n\n{text[:end]}{gap}{question}"))
    return f"{context}\n\n{text[: points[fit - 1]]}{gap}{question}" if fit else prompt


def measure_plain(
    wanted: BuildConfig, material: Material, tokenizer: Tokenizer
) -> tuple[float, float, dict[int, list[float]]]:
    """The plain procedure over all tasks and lengths.

    Returns:
        Seconds of CPU time; seconds that it would take beside to fill its prompts, from a few of them; and how full a
        sample of the prompts is at each length, as the released code leaves them.
    """
    seconds = filling = 0.0
    fill: dict[int, list[float]] = {}
    for name in wanted.tasks:
        texts = [document.text for document in material.of(get_task(name).noise, "en")]
        for length in wanted.lengths:
            start = time.process_time()
            prompts = plain(texts, length, wanted.items, Random(length), tokenizer)
            seconds += time.process_time() - start
            start = time.process_time()
            for prompt in prompts[:FILLED]:
                filled(prompt, length, max(texts, key=len), tokenizer)
            filling += (time.process_time() - start) * wanted.items / min(FILLED, wanted.items)
            found = [tokenizer.count(prompt) / length for prompt in prompts[: CHECKED // len(wanted.tasks) + 1]]
            fill.setdefault(length, []).extend(found)
    return seconds, filling, fill


CHILD = """
import json, resource, sys, time
from pathlib import Path
from fathom.suites.build import build, configure
from fathom.suites.settings import BuildSettings
choice = json.loads(sys.argv[1])
built = build(configure("hundred", BuildSettings(**choice)), Path(sys.argv[2]))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([time.process_time(), peak, built.manifest["samples"], built.manifest["notes"]]))
"""


def ours(choice: dict[str, object], folder: Path, cache: Path) -> tuple[float, float, dict[str, int], list[str]]:
    """Seconds of CPU time, peak memory in MB, samples and notes of a build in a process of its own."""
    environment = {**os.environ, "FATHOM_CACHE": str(cache)}
    command = [sys.executable, "-c", CHILD, json.dumps(choice), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    seconds, peak, samples, notes = json.loads(done.stdout.splitlines()[-1])
    return seconds, peak, samples, notes


def fullness(folder: Path, tokenizer: Tokenizer, lengths: Sequence[int]) -> dict[int, list[float]]:
    """How full a sample of the built prompts is at each length, tokenized as a whole."""
    suite = open_suite(folder)
    texts = suite.texts()
    found: dict[int, list[float]] = {}
    for length in lengths:
        samples = [sample for sample in suite.samples(lengths=[length]) if sample.length == length]
        for sample in Random(length).sample(samples, min(CHECKED, len(samples))):
            found.setdefault(length, []).append(tokenizer.count(render(sample, texts)) / length)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder with the data sources; the generated corpus if left out")
    parser.add_argument("--tokenizer", default="tekken", help="what lengths are counted in, on both sides")
    parser.add_argument("--lengths", default="2k,4k,6k,8k,16k,32k,64k,128k,256k")
    parser.add_argument("--items", type=int, default=100)
    chosen = parser.parse_args()
    lengths = [parse_length(text) for text in chosen.lengths.split(",")]
    source = {"data": [chosen.data]} if chosen.data else {"corpus": ["world"]}
    choice: dict[str, object] = {**source, "lengths": lengths, "items": chosen.items, "tokenizer": chosen.tokenizer}
    tokenizer = get_tokenizer(chosen.tokenizer)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        cold = ours(choice, place / "suite", place / "cache")[0]
        shutil.rmtree(place / "suite")
        warm, peak, samples, notes = ours(choice, place / "suite", place / "cache")
        size = sum(file.stat().st_size for file in (place / "suite").iterdir()) / 1e6
        full = fullness(place / "suite", tokenizer, lengths)
    wanted = configure("hundred", BuildSettings(**choice))  # type: ignore[arg-type]
    material = gather(wanted, TokenCounter(tokenizer))
    seconds, filling, spread = measure_plain(wanted, material, tokenizer)
    print(f"hundred, {len(get_suite('hundred').tasks)} tasks, {chosen.items} items, tokenizer {tokenizer.name}")
    for note in notes:
        print(f"  note: {note}")
    print(f"{sum(samples.values()):,} samples: {samples}")
    print(f"CPU time: cold {cold:.1f} s, warm {warm:.1f} s; peak memory {peak:,.0f} MB, suite {size:.1f} MB on disk")
    print(f"plain procedure with the same tokenizer: {seconds:.1f} s")
    print(f"ours is {seconds / cold:.1f} x as fast cold, {seconds / warm:.1f} x warm")
    total = seconds + filling
    print(f"with its prompts filled by tokenizing them whole (from {FILLED} prompts a cell): {total:.0f} s")
    print(f"ours is {total / cold:.0f} x as fast cold, {total / warm:.0f} x warm")
    print(f"{'length':>8} {'ours, fullest to emptiest':>28} {'plain, fullest to emptiest':>28}")
    for length in lengths:
        mine, theirs = (f"{max(side[length]):.2%} to {min(side[length]):.2%}" for side in (full, spread))
        print(f"{format_length(length):>8} {mine:>28} {theirs:>28}")


if __name__ == "__main__":
    main()
