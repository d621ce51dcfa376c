"""How much of their gold texts the passages of built suites have, before and after unsupported items are left out.

The tasks with gold text are built with one shortest length at a time, from every document there is. Support is measured
again from the finished suites (recipes, documents and targets), not taken from the build. An earlier checkout can be
built beside this one, and measured in the same way:

    git worktree add /tmp/earlier 7c38c1c1
    python performance/gold.py --data FOLDER --before /tmp/earlier --lengths 2k,8k,32k

As a comparison, each cut passage is replaced by the same number of characters elsewhere in its document, which says how
much of a gold text any passage has.

Last, questions whose answer is at several places of a document, with equally many words of the question near it: the
first of these, around which a build cuts, and another one, to be read.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter as Tally
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median

from fathom.suites.build import configure
from fathom.suites.build.material import gather
from fathom.suites.settings import BuildSettings
from fathom.suites.suitefile import open_suite
from fathom.suites.tasks.evidence import NEAR, best_places, distinct
from fathom.suites.tasks.support import Support, best_support
from fathom.tokens.counts import TokenCounter
from fathom.tokens.length import parse_length
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import Sample, Span

TASKS = ("single_doc_qa", "multi_doc_qa", "single_doc_summary", "multi_doc_summary")
RECORDS = ("longbench", "mini", "leader_musique,leader_hotpotqa,leader_qmsum")
COLUMNS = ("shortest", "task", "build", "gold texts", "of the document", "elsewhere", "kept", "coverage",
           "lost > 1/4", "absent", "not measured")  # fmt: skip
EVERY = 100_000  # more items than there are
CHILD = """
import json, sys
from pathlib import Path
from fathom.suites.build import build, configure
from fathom.suites.settings import BuildSettings
target, folder, choice = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
print(json.dumps(dict(build(configure(target, BuildSettings(**choice)), folder).manifest)))
"""


@dataclass(frozen=True)
class Measured:
    """A sample's gold text: its support, the share of the document, and its support by another part of that."""

    support: Support
    size: float
    elsewhere: Support


def built(checkout: Path, target: str, folder: Path, choice: dict[str, object]) -> dict[str, object]:
    """Build with the code of a checkout; the manifest."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    command = [sys.executable, "-c", CHILD, target, str(folder), json.dumps(choice)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1]}
    manifest: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return manifest


def measured(folder: Path) -> Iterator[tuple[str, Measured]]:
    """The gold texts of a suite, by task."""
    suite = open_suite(folder)
    texts = suite.texts()
    samples = [sample for sample in suite.samples() if sample.length]
    for sample in sorted(samples, key=lambda one: _gold(one)[0].doc):  # the words of a document are found once
        yield sample.task, _measured(sample, texts)


def _gold(sample: Sample) -> list[Span]:
    passages = [part for part in sample.parts if isinstance(part, Span)]
    return [passages[int(number) - 1] for number in str(sample.facets["gold"]).split(", ")]


def _measured(sample: Sample, texts: Mapping[str, str]) -> Measured:
    gold = _gold(sample)
    whole = texts[gold[0].doc]
    passage = "\n\n".join(whole[span.start : span.end] for span in gold)
    start = Random(sample.id).randrange(max(1, len(whole) - len(passage)))
    return Measured(
        best_support(sample.targets, passage, whole),
        min(1.0, len(passage) / len(whole)),
        best_support(sample.targets, whole[start : start + len(passage)], whole),
    )


def line(which: str, length: str, task: str, found: Sequence[Measured]) -> str:
    """One row of the table."""
    known = [one for one in found if one.support.words]
    faults = Tally(one.support.fault for one in known)
    cut = [one for one in known if one.size < 0.99]
    elsewhere = f"{median(one.elsewhere.words_kept for one in cut):.2f}" if cut else ""
    return (
        f"| {length} | `{task}` | {which} | {len(found)} | {median(one.size for one in found):.0%} | {elsewhere} | "
        f"{median(one.support.words_kept for one in known):.2f} | "
        f"{median(one.support.coverage for one in known):.2f} | "
        f"{faults['cut'] / len(known):.1%} | {faults['absent']} | {len(found) - len(known)} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder with the data sources")
    parser.add_argument("--before", type=Path, help="an earlier checkout, to build with its code too")
    parser.add_argument("--lengths", default="2k,8k,32k", help="shortest lengths, each built on its own")
    chosen = parser.parse_args()
    here = Path(__file__).resolve().parent.parent
    versions = [*([("before", chosen.before)] if chosen.before else []), ("after", here)]
    print(f"| {' | '.join(COLUMNS)} |\n| {' | '.join('---' for _ in COLUMNS)} |")
    faults: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as name:
        for length in chosen.lengths.split(","):
            rows: dict[tuple[str, str], list[Measured]] = {}
            for which, checkout in versions:
                folder = Path(name) / f"{which}-{length}"
                choice: dict[str, object] = {"data": [chosen.data], "lengths": [parse_length(length)], "items": EVERY}
                manifest = built(checkout, ",".join(TASKS), folder, {**choice, "closed_book": False})
                if "failed" in manifest:
                    sys.exit(f"{which}, {length}: {manifest['failed']}")
                for task, one in measured(folder):
                    rows.setdefault((task, which), []).append(one)
                faults = {"errata": manifest.get("errata", ()), "gold": manifest.get("gold", {})}
            for task in TASKS:
                for which, _ in versions:
                    if found := rows.get((task, which)):
                        print(line(which, length, task, found), flush=True)
        _errata(faults)
        for suite in RECORDS:
            manifest = built(here, suite, Path(name) / suite, {"data": [chosen.data], "items": EVERY})
            _records(suite, manifest)
    _second_places(chosen.data)


def _second_places(data: str) -> None:
    """Questions without evidence of a source, and those of them whose answer has another place as good as the first."""
    wanted = configure("single_doc_qa", BuildSettings(data=[data], lengths=[parse_length("32k")]))
    documents = gather(wanted, TokenCounter(get_tokenizer(wanted.tokenizer), None)).of(("qa",), "en")
    located, several = 0, 0
    for document in documents:
        for question in (one for one in distinct(document.questions) if not one.evidence):
            places = best_places(document, question)
            located += bool(places)
            others = [place for place in places[1:] if place[0] - places[0][0] > 2 * NEAR]
            several += bool(others)
            for start, end in (*places[:1], *others[:1]) if others else ():
                around = " ".join(document.text[max(0, start - 100) : end + 100].split())
                print(f"{question.text} -> {question.answers[0]}: ...{around}...")
    print(f"{located} questions whose answer was located, {several} with a second place as good")


def _errata(faults: dict[str, object]) -> None:
    """What was left out or named, in the last build."""
    errata, gold = faults["errata"], faults["gold"]
    assert isinstance(errata, list | tuple)
    assert isinstance(gold, dict)
    print(f"\nerrata: {len(errata)} left out: {dict(Tally(str(one['fault']) for one in errata))}")
    for task, checks in gold.items():
        print(f"{task}: {dict(Tally(str(one['fault']) for one in checks['questions']))}")


def _records(suite: str, manifest: dict[str, object]) -> None:
    """Published records, which are counted and not left out."""
    if "failed" in manifest:
        print(f"{suite}: {manifest['failed']}")
        return
    gold = manifest.get("gold", {})
    assert isinstance(gold, dict)
    for task, checks in gold.items():
        print(
            f"{suite} {task}: {checks['checked']} records, {checks['faults'].get('absent', 0)} absent, "
            f"{sum(checks['errata'].values())} in the errata, {checks['unmeasured']} not measured"
        )


if __name__ == "__main__":
    main()
