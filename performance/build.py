"""Processor time, size and memory of building, against naive building of the same prompts.

Naive building tokenizes the whole prompt for every attempt: it bisects the number of whole documents, then the sentence
at which the last one is cut. Both sides get the same plans, documents and tokenizer, in one process.

    python performance/build.py            # the full figures: minutes
    python performance/build.py --quick    # a small version: seconds

Or the processor time of one command, from an empty cache of token counts and again, of this checkout and of another one
in turns; every suite must be the same, byte for byte. ``--documents`` writes a corpus of so many records first:

    python performance/build.py --command "build starter" --source CHECKOUT/src
    python performance/build.py --command "build passkey --lengths 8k --items 10" --documents 100000
    python performance/build.py --command "build longbench_v2 --data DATA --tokenizer tokenizer.json"
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from bisect import bisect_right
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from random import Random

from fathom.benchmarks.starter.passkey import plan
from fathom.suites.compose import CountedTexts, compose
from fathom.suites.suitefile import open_suite
from fathom.tokens.counts import CountCache, TokenCounter, cut_points
from fathom.tokens.length import format_length, render
from fathom.tokens.tokenizers import Tokenizer, get_tokenizer
from fathom.types import Document, Draw, Haystack, Resources, Span
from fathom.world.corpus import generate


def naive(plan: Haystack, length: int, fillers: Sequence[Document], tokenizer: Tokenizer) -> str:
    """The same prompt, found by tokenizing whole prompts. Needles go before the middle document."""

    def prompt(count: int, last: str) -> str:
        texts = [document.text for document in fillers[:count]] + ([last] if last else [])
        texts.insert(len(texts) // 2, plan.needles[0].text)
        return "\n\n".join([plan.intro, *texts, plan.ending.question])

    whole = bisect_right(range(1, len(fillers)), length, key=lambda count: tokenizer.count(prompt(count, "")))
    text = fillers[whole].text
    points = cut_points(text)
    cut = bisect_right(points, length, key=lambda point: tokenizer.count(prompt(whole, text[:point]))) - 1
    return prompt(whole, text[: points[max(0, cut)]])


def compare(lengths: Sequence[int], samples: int, articles: int) -> None:
    tokenizer = get_tokenizer()
    documents = list(islice(generate(0, "en"), articles))
    plans = []
    for index in range(samples):
        resources = Resources("en", documents, documents, tuple(lengths), TokenCounter(tokenizer))
        drawn = plan(Draw(resources, Random(index), Random(index).random(), len(documents)), size=5)
        assert isinstance(drawn, Haystack)
        orders = documents.copy()
        Random(index).shuffle(orders)
        plans.append((drawn, orders))
    print(f"passkey over `world`, {samples} samples a length, {len(documents)} articles, tokenizer {tokenizer.name}")
    print(f"{'length':>8} {'naive ms':>10} {'cold ms':>10} {'warm ms':>10} {'cold x':>8} {'warm x':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for length in lengths:
            start = time.process_time()
            for drawn, orders in plans:
                found = tokenizer.count(naive(drawn, length, orders, tokenizer))
                assert found <= length
            slow = (time.process_time() - start) / samples
            path = Path(folder) / f"{length}.sqlite"
            cold = _ours(plans, documents, length, tokenizer, path) / samples
            warm = _ours(plans, documents, length, tokenizer, path) / samples
            print(
                f"{format_length(length):>8} {slow * 1e3:10.2f} {cold * 1e3:10.2f} {warm * 1e3:10.2f} "
                f"{slow / cold:8.1f} {slow / warm:8.1f}"
            )


def _ours(
    plans: Sequence[tuple[Haystack, list[Document]]],
    documents: list[Document],
    length: int,
    tokenizer: Tokenizer,
    path: Path,
) -> float:
    """Processor seconds for all samples, the cache on disk included."""
    start = time.process_time()
    cache = CountCache(path)
    texts = CountedTexts({document.id: document for document in documents}, TokenCounter(tokenizer, cache))
    for drawn, orders in plans:
        (made,) = compose(drawn, length, [Span(d.id, 0, len(d.text)) for d in orders], texts)
        assert 0.99 * length <= made.tokens <= length
    cache.close()
    return time.process_time() - start


def whole_suite(items: int, lengths: Sequence[int]) -> None:
    """Time, peak memory and size of a whole suite, built in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        code = (
            "import json, resource, sys, time; from pathlib import Path\n"
            "from fathom.suites.build import build, configure\n"
            "from fathom.suites.settings import BuildSettings\n"
            "start = time.process_time()\n"
            f"tasks = {TASKS!r}\n"
            f"settings = BuildSettings(lengths={tuple(lengths)!r}, items={items})\n"
            "built = build(configure(tasks, settings), Path(sys.argv[1]))\n"
            "print(json.dumps([sum(built.manifest['samples'].values()), time.process_time() - start, "
            "resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, f"{folder}/suite"], capture_output=True, text=True, check=True
        )
        samples, seconds, peak = json.loads(done.stdout)
        suite = open_suite(Path(folder) / "suite")
        texts = suite.texts()
        rendered = sum(len(render(sample, texts).encode()) for sample in suite.samples())
        recipes = (suite.folder / "samples.parquet").stat().st_size
        stored = (suite.folder / "documents.parquet").stat().st_size
    names = ", ".join(format_length(length) for length in lengths)
    print(f"\nwhole suite: {samples:,} samples at {names}")
    print(f"  {seconds:.0f} s of CPU, peak memory {peak:.0f} MB")
    print(
        f"  rendered {rendered / 1e6:,.0f} MB; recipes {recipes / 1e6:.1f} MB ({100 * recipes / rendered:.2f}% of it), "
    )
    print(f"  documents {stored / 1e6:.1f} MB")


def write_corpus(path: Path, documents: int) -> None:
    """Records of about 1,100 characters: four paragraphs of the generated articles."""
    paragraphs = [each for document in islice(generate(0, "en"), 400) for each in document.text.split("\n\n")]
    rng = Random(1)
    with path.open("w", encoding="utf-8") as file:
        for number in range(documents):
            text = "\n\n".join([f"Document {number}.", *rng.choices(paragraphs, k=4)])
            file.write(json.dumps({"text": text}) + "\n")


def command(words: Sequence[str], documents: int, sources: Sequence[Path], repeats: int) -> None:
    """Processor seconds of a command, cold and warm, for each source in turns; exits if two suites differ."""
    seconds: dict[tuple[Path, str], list[float]] = {}
    suites: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        if documents:
            write_corpus(Path(folder) / "corpus.jsonl", documents)
            words = [*words, "--corpus", f"{folder}/corpus.jsonl"]
        for _ in range(repeats):
            for source in sources:
                with tempfile.TemporaryDirectory() as cache:
                    for state in ("cold", "warm"):
                        out = Path(folder) / "suite"
                        seconds.setdefault((source, state), []).append(_processor_time(words, out, source, cache))
                        suites.add(hashlib.sha256(b"".join(map(Path.read_bytes, sorted(out.iterdir())))).hexdigest())
                        shutil.rmtree(out)
    for (source, state), measured in seconds.items():
        print(f"{source} {state}: {min(measured):.2f} s of {', '.join(f'{each:.2f}' for each in measured)}")
    if len(suites) > 1:
        sys.exit("the suites differ")


def _processor_time(words: Sequence[str], out: Path, source: Path, cache: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    line = [sys.executable, "-c", "from fathom.cli import main; main()", *words, "--out", str(out), "--quiet"]
    environment = {**os.environ, "PYTHONPATH": str(source), "FATHOM_CACHE": cache}
    done = subprocess.run(line, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


SOURCE = Path(__file__).parents[1] / "src"
TASKS = (
    "kv_retrieval,counting_stars,counting_stars_corrected,passkey,passkey_100,"
    "passage_count,passage_retrieval,single_doc_qa"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a small version")
    parser.add_argument("--command", help="measure this command instead, which builds a suite")
    parser.add_argument("--documents", type=int, default=0, help="with --command: records of a corpus for it")
    parser.add_argument("--source", type=Path, help="with --command: the folder src of another checkout")
    parser.add_argument("--repeats", type=int, default=3, help="with --command; default 3")
    given = parser.parse_args()
    if given.command:
        sources = [source.resolve() for source in (given.source, SOURCE) if source]
        command(shlex.split(given.command), given.documents, sources, given.repeats)
        return
    if given.quick:
        compare((4096, 16384), samples=5, articles=100)
        whole_suite(5, (2048, 8192))
        return
    compare((8192, 32768, 131072), samples=20, articles=400)
    whole_suite(100, (2048, 4096, 8192, 16384, 32768, 65536, 262144))


if __name__ == "__main__":
    main()
