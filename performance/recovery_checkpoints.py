"""Whether recovery orders checkpoints whose order is known: python performance/recovery_checkpoints.py FOLDER.

The checkpoints are Llamas whose weights are written by hand (``fathom.extend.hf.example``) so that they read 128, 256,
512 and 1,024 tokens back and nothing beyond. They read the same 300 items at 128 to 1,024 tokens, with the evidence
alone and without context, by fathom's own client for local models, as steps 1 to 4 of a training. It prints what each
recovers, and for every two neighbours what ``fathom gate --on recovery`` says of the smaller window against the larger
one. FOLDER gets the runs, the report and the picture; the same command resumes. Needs torch and transformers.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "extend"))
from handwritten_reader import REPLY, WORDS, make_items
from made_chains import PLUGIN

from fathom import api
from fathom.extend.hf.example import save_example
from fathom.suites.suitefile import SampleWriter, fresh_folder, is_suite, write_documents, write_manifest
from fathom.types import Json, Sample

WINDOWS = (128, 256, 512, 1024)
LENGTHS = (128, 256, 512, 1024)
ROOM = 16
"""Tokens beyond the longest prompt, for the reply."""


def samples_of(count: int) -> Iterator[Sample]:
    """Every item at every length, with its evidence alone, and without context."""
    for length in LENGTHS:
        for number, item in enumerate(make_items(length, count)):
            evidence = item.prompt[item.place : item.place + 1 + REPLY]
            first, last = item.prompt[:1], item.prompt[-1:]
            prompts: list[tuple[str, Sequence[int], int, dict[str, str | float]]]
            prompts = [(f"@{length}", item.prompt, length, {"depth": round(1 - (number + 0.5) / count, 4)})]
            if length == LENGTHS[0]:
                prompts.append(("@alone", (*first, *evidence, *last), 0, {"context": "alone"}))
                prompts.append(("@none", (*first, *last), 0, {"context": "none"}))
            for end, prompt, tokens, facets in prompts:
                yield Sample(
                    id=f"item{number}{end}",
                    item=f"item{number}",
                    task="chain",
                    parts=(" ".join(WORDS[word] for word in prompt),),
                    targets=(" ".join(WORDS[word] for word in item.answer),),
                    length=tokens,
                    tokens=len(prompt),
                    chance=0.0,
                    facets=facets,
                )


def write_suite(folder: Path, name: str, samples: Sequence[Sample]) -> None:
    """Write samples of one task, each of which has its item at several lengths, as the suite of that name."""
    manifest: dict[str, Json] = {
        "fathom": "suite",
        "suite": name,
        "tokenizer": "words",
        "fingerprint": hashlib.sha256(repr(samples).encode()).hexdigest()[:12],
        "inputs": {},
    }
    tasks = Counter(sample.task for sample in samples)
    lengths = sorted({sample.length or 0 for sample in samples} - {0})
    manifest |= {"notes": [], "left_out": [], "left_out_in_all": 0, "duplicates": 0, "tasks": list(tasks)}
    with fresh_folder(folder) as fresh:
        write_documents(fresh, [])
        with SampleWriter(fresh) as writer:
            for sample in samples:
                writer.add(sample)
        write_manifest(fresh, manifest | {"lengths": list(lengths), "samples": dict(tasks)})


def compare(runs: Sequence[Path], names: Sequence[str], lengths: Sequence[int]) -> None:
    """Print what each step recovers at each length, and what the gate says of every two neighbours."""
    found = api.analyze_recovery(runs)
    cells = {(result.step, result.length): result for result in found}  # the mean over tasks comes last
    for step, name in zip(sorted({step for step, _ in cells if step is not None}), names, strict=True):
        shown = [
            f"{100 * part.value:.0f} ({100 * part.interval.low:.0f} to {100 * part.interval.high:.0f})" if part else "-"
            for part in (cells[step, length].recovery for length in lengths)
        ]
        print(f"| {name} | {' | '.join(shown)} |")
    for (run, name), (other, later) in itertools.pairwise(zip(runs, names, strict=True)):
        for candidate, baseline, words in (
            (run, other, f"{name} after {later}"),
            (other, run, f"{later} after {name}"),
        ):
            decided = api.gate(candidate, baseline=baseline, on="recovery")
            print(f"{words}: {decided.decision}: {decided.reason}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--items", type=int, default=300)
    parser.add_argument("--window", type=int, help="run this one only, for a machine with many cores")
    given = parser.parse_args()
    folder: Path = given.folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "chain.py").write_text(PLUGIN, "utf-8")
    if not is_suite(folder / "suite"):
        write_suite(folder / "suite", "chains", list(samples_of(given.items)))
    api.use_plugin(folder / "chain.py")
    runs = []
    for step, window in enumerate(WINDOWS, start=1):
        place = folder / f"window-{window}"
        if not place.exists():
            save_example(place, window)
        runs.append(folder / f"run-{window}")
        arguments = {"device": "cpu", "batch_size": 60}
        if given.window not in (None, window):
            continue
        model = f"hf/{place}?extend=none&length={LENGTHS[-1] + ROOM}"
        api.run(folder / "suite", model, runs[-1], step=step, chat_template="never", model_args=arguments)
    if given.window:
        return
    compare(runs, [f"{window:,}" for window in WINDOWS], LENGTHS)
    api.report(runs, folder / "report.html", title="Four windows")
    api.plot(runs, "recovery-steps", out=folder / "steps.svg")


if __name__ == "__main__":
    main()
