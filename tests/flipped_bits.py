"""Single bits flipped in everything that fathom reads back: what was read before is read again, or it is refused.

A suite, a judged run, a subset, a bundle, a rows table and a board's downloads are made once. Then one bit of one file
is flipped in a copy, and what a command takes from it is compared with what it took before.
"""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from fathom.board.build import SiteSettings, build_site
from fathom.board.bundles.bundle import write_bundle
from fathom.board.bundles.bundling import bundle_of
from fathom.board.bundles.opening import read_bundle
from fathom.board.changes import read_snapshot
from fathom.rows import rows_from_run
from fathom.run import status
from fathom.runfile.judgements import JudgementStore, judgements, judges, replies_by_prompt, spent
from fathom.runfile.ledger import Ledger
from fathom.runfile.manifest import FORMAT
from fathom.runfile.manifest import read_manifest as read_run
from fathom.runfile.store import replies
from fathom.runfile.worker import this_worker
from fathom.storage.checksums import with_checksum
from fathom.suites.subsetfile import read_subset, write_subset
from fathom.suites.suitefile import open_suite
from fathom.tokens.length import render, thinking
from fathom.types import FathomError, Member, Reply, Subset
from made_bundles import JUDGE, make_run, make_suite

Outcome: TypeAlias = Literal["refused", "same", "SILENT CHANGE", "TRACEBACK"]
OUTCOMES: tuple[Outcome, ...] = ("refused", "same", "SILENT CHANGE", "TRACEBACK")
EPOCHS = 6  # enough rows for stores of several levels of pages


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of file, and what commands take from it.

    Attributes:
        file: Where it lies in the folder of all kinds.
        folder: What is copied before a bit is flipped; "" for the file alone.
        read: What commands take from a copy, in a form that can be compared.
    """

    file: str
    folder: str
    read: Callable[[Path], object]


def prompts(suite: Path) -> object:
    """Prompts, gold answers and facts of all samples, and the manifest."""
    built = open_suite(suite)
    texts = built.texts()
    told = [(render(one, texts), render(thinking(one), texts), one) for one in built.samples()]
    facts = list(built.samples(parts=False))
    documents = built.documents(set(texts))
    return repr((told, facts, documents, sorted(built.names()))), json.dumps(built.manifest)


def scores(run: Path) -> object:
    """Scores, replies, judgements and settings of a run, as reports and as a resumed run see them."""
    manifest, stored = read_run(run), list(replies(run))
    heard = [(judge, judgements(run, judge), replies_by_prompt(run, judge), spent(run, judge)) for judge in judges(run)]
    rows = [rows_from_run(run, rule).write_json() for rule in ("strict", "official")]
    found = status(run)
    shown = found.counts, found.tokens_in, found.tokens_out, found.cost
    ledger, judge = Ledger(run, this_worker()), JudgementStore(run, JUDGE)
    try:
        finished = [ledger.is_finished((one.sample, one.epoch)) for one in stored]
        known = [judge.judgement(key) for _, named, _, _ in heard for key in sorted(named)]
        return repr((manifest, stored, heard, rows, shown, finished, known, ledger.totals()))
    finally:
        judge.close()
        ledger.close()


KINDS = (
    Kind("suite/samples.parquet", "suite", prompts),
    Kind("suite/documents.parquet", "suite", prompts),
    Kind("suite/manifest.json", "suite", prompts),
    Kind("run/run.json", "run", scores),
    Kind("run/replies.sqlite", "run", scores),
    Kind("run/judgements.sqlite", "run", scores),
    Kind("subset.json", "", lambda path: repr(read_subset(path))),
    Kind("bundle.zip", "", lambda path: repr(read_bundle(path))),
    Kind("all.json", "", lambda path: repr(read_snapshot(path))),
)


def make_all(folder: Path) -> None:
    """Make a folder with a file of each of ``KINDS``."""
    suite = make_suite(folder / "suite")
    run = make_run(folder / "run", suite)
    manifest = {**json.loads((run / "run.json").read_text()), "format": FORMAT}
    (run / "run.json").write_text(json.dumps(with_checksum(manifest), indent=2))
    write_bundle(bundle_of([run], logs=True), folder / "bundle.zip")
    ledger, judge = Ledger(run, this_worker()), JudgementStore(run, JUDGE)
    for epoch in range(2, EPOCHS + 1):
        for number, one in enumerate(open_suite(suite).samples()):
            reply = Reply("ok", f"{one.targets[0]} " * (1 + number * epoch), stop="stop", tokens_in=250, tokens_out=9)
            ledger.finish(one, epoch, reply, prompt_hash="f00d", cost=0.25)
            judge.keep(f"{number:032x}", epoch, "qa", reply, 0.125)
    judge.mark_unreadable(f"{0:032x}", 2)
    judge.close()
    ledger.close()
    members = tuple(Member(f"passkey/{number}", 1 + number / 7, "all", 0.5) for number in range(6))
    write_subset(Subset("small", members, "made", {"seed": 0}, {"by": "a test"}), folder / "subset.json")
    build_site(SiteSettings(boards=("ada",), examples=False), folder / "site")
    (folder / "site" / "downloads" / "all.json").rename(folder / "all.json")
    shutil.rmtree(folder / "site")


def flipped(content: bytes, flips: int, seed: int) -> Iterator[tuple[int, bytes]]:
    """So many copies of a content, each with another bit flipped, and the number of that bit."""
    rng = random.Random(seed)
    bits = 8 * len(content)
    for bit in rng.sample(range(bits), min(flips, bits)):
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        yield bit, bytes(changed)


def outcome_of(read: Callable[[Path], object], place: Path, before: object) -> tuple[Outcome, str]:
    """What comes of reading a copy, and why where it is refused or wrong."""
    try:
        found = read(place)
    except FathomError as error:
        return "refused", str(error)
    except BaseException as error:  # whatever it is, a user would see it
        return "TRACEBACK", f"{type(error).__name__}: {error}"
    return ("same", "") if found == before else ("SILENT CHANGE", "")


def flip_bits(kind: Kind, folder: Path, flips: int, seed: int = 0) -> tuple[Counter[Outcome], list[str]]:
    """Flip single bits of one file.

    Args:
        kind: Which file.
        folder: What ``make_all`` made.
        flips: How many bits, each by itself; all where the file has fewer.
        seed: Of the choice of bits.

    Returns:
        How often what came of it, and lines about all that should not have come of it.
    """
    source = folder / (kind.folder or kind.file)
    content = (folder / kind.file).read_bytes()
    counts: Counter[Outcome] = Counter()
    wrong: list[str] = []

    def read(changed: bytes) -> tuple[Outcome, str]:
        place = folder / "copy" / source.name
        shutil.rmtree(place.parent, ignore_errors=True)
        place.parent.mkdir()
        if kind.folder:
            shutil.copytree(source, place)
        (place.parent / kind.file).write_bytes(changed)
        return outcome_of(kind.read, place, before)

    shutil.rmtree(folder / "copy", ignore_errors=True)
    shutil.copytree(source, folder / "copy" / source.name) if kind.folder else None
    before = kind.read(folder / "copy" / source.name if kind.folder else source)
    if (again := read(content))[0] != "same":
        return Counter({again[0]: 1}), [f"{kind.file}: nothing was flipped: {again[0]} {again[1]}"]
    for bit, changed in flipped(content, flips, seed):
        outcome, why = read(changed)
        counts[outcome] += 1
        if outcome not in ("refused", "same"):
            wrong.append(f"{kind.file}: bit {bit % 8} of byte {bit // 8}: {outcome} {why}"[:500])
    return counts, wrong
