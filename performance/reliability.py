"""Every fault that fathom promises to bear, injected many times: what was repeated, lost, changed or crashed. All zero.

A part for each row of the table in ``docs/explanation/reliability.md``. Commands are killed at random moments, started
twice, run out of disk (``performance/interrupted.py``); servers fail (``performance/soak.py``), bits flip
(``performance/bit_flips.py``), command lines, inputs and bundles are hostile (``performance/command_fuzz.py``,
``performance/bundle_fuzz.py``), and wrong replies are said to be no answers. For each part it prints:

* cases: how often something was done;
* repeated: requests for replies that were stored already;
* lost: stored replies that are gone or are other ones;
* silent: results that changed without a word, scores that rose, forgeries that were taken;
* tracebacks: ends other than a result or a clear message with exit code 2.

It ends with 1 where one of them is not 0. Parts that mount a disk say where that is not permitted.

    python performance/reliability.py                      # everything: hours
    python performance/reliability.py --quick              # a few cases of each: a minute
    python performance/reliability.py --share 0.25         # a quarter of the cases
    python performance/reliability.py --parts kill,relabel --json counts.json
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from random import Random

import interrupted
from interrupted import ROOT, Counts

sys.path[:0] = [str(ROOT / "tests" / name) for name in ("stats", "rows", "board")]


@dataclass(frozen=True)
class Surroundings:
    """What every part is given.

    Attributes:
        world: The inputs of the commands.
        place: A folder for it alone.
        seed: Of all that is random.
        quick: Whether a few cases will do.
        share: Of the cases of the full run, where those are not few.
    """

    world: Path
    place: Path
    seed: int
    quick: bool
    share: float

    def rng(self, name: str) -> Random:
        """A random generator of a part."""
        return Random(f"{self.seed}/{name}")

    def many(self, full: int, quick: int) -> int:
        """How many cases."""
        return quick if self.quick else max(quick, round(full * self.share))


Part = Callable[[Surroundings], Counts]


def killed(name: str) -> Part:
    """``kill -9`` of a command."""
    return lambda given: interrupted.kill(name, given.world, given.place, given.many(20, 1), given.rng(name))


def doubled(name: str) -> Part:
    """Two processes in one folder."""
    return lambda given: interrupted.two_at_once(name, given.world, given.place, given.many(10, 1))


def on_full_disk(name: str) -> Part:
    """A disk that runs full."""
    return lambda given: interrupted.full_disk(name, given.world, given.place, given.many(10, 1), given.rng(name))


def on_read_only_disk(given: Surroundings) -> Counts:
    """A finished run on a disk that cannot be written to."""
    return interrupted.read_only(given.world, given.place)


def flipped_bits(given: Surroundings) -> Counts:
    """One bit of each kind of file."""
    from flipped_bits import KINDS, flip_bits, make_all

    counts = Counts()
    make_all(given.place)
    for kind in KINDS:
        found, wrong = flip_bits(kind, given.place, given.many(2000, 3), given.seed)
        counts.cases += found.total()
        counts.silent += found["SILENT CHANGE"]
        counts.tracebacks += found["TRACEBACK"]
        counts.notes += wrong[:20]
        counts.note(f"{kind.file}: {found['refused']:,} refused, {found['same']:,} change nothing")
    return counts


def faulty_server(given: Surroundings) -> Counts:
    """Many requests with faults of the server."""
    from soak import soak

    counts, printed = Counts(cases=given.many(2000, 100)), io.StringIO()
    with redirect_stdout(printed), redirect_stderr(io.StringIO()):
        counts.silent = soak(counts.cases, 0.2, given.seed, 16, given.place)
    lines = [" ".join(line.split()) for line in printed.getvalue().split("tenth ")[0].splitlines()]
    counts.note("; ".join(lines))
    return counts


def hostile_commands(given: Surroundings) -> Counts:
    """Hostile command lines and inputs."""
    from command_fuzz import CLEAR, fuzz

    found = fuzz(range(given.many(10_000, 20)), given.seed)
    wrong = [one for one in found if one.end not in CLEAR]
    counts = Counts(cases=len(found), tracebacks=len(wrong))
    for one in wrong:
        counts.note(f"{' '.join(one.words)}: {one.end}: {one.told[-300:]}")
    counts.note(", ".join(f"{end}: {sum(one.end == end for one in found):,}" for end in CLEAR))
    return counts


def hostile_bundles(given: Surroundings) -> Counts:
    """Damaged and forged bundles."""
    from bundle_fuzz import fuzz

    counts, printed = Counts(cases=given.many(10_000, 24)), io.StringIO()
    with redirect_stdout(printed):
        failed = fuzz(counts.cases, given.seed, given.place)
    counts.note(printed.getvalue().splitlines()[-1])
    counts.tracebacks = len(list(given.place.glob("crash-*")))
    counts.silent = failed - counts.tracebacks
    return counts


# --------------------------------------------------------------------------------------------------- relabelling


def relabelled_rows(given: Surroundings) -> Counts:
    """Wrong replies in tables of rows are given every status; every score of analysis is looked at."""
    from test_relabelling import Shape, made, relabelled

    from every_score import every_score, risen
    from fathom.rows import to_frame
    from fathom.types import STATUSES

    counts = Counts()
    items, seeds = 4 if given.quick else 60, range(given.many(3, 1))
    for seed in seeds:
        rng = given.rng(f"rows/{seed}")
        rows = made(Shape(tasks=2, lengths=(2048, 8192), items=items), rng)
        before = every_score(to_frame(rows), "m0")
        for status, share in product(STATUSES, (1.0,) if given.quick else (0.03, 0.3, 1.0)):
            after = every_score(to_frame(relabelled(rows, "m0", rng, share, (status,))), "m0")
            higher = risen(before, after)
            counts.cases += 1
            counts.silent += len(higher)
            for line in higher[:3]:
                counts.note(f"{share:.0%} of the wrong replies as {status}: {line}")
    return counts


def relabelled_runs(given: Surroundings) -> Counts:
    """Wrong replies of a run folder are stored again with every status, checksums and all."""
    from test_relabelled_runs import averages, wrong_replies

    from fathom.run import replies
    from fathom.runfile.ledger import Ledger
    from fathom.runfile.worker import this_worker
    from fathom.suites.suitefile import open_suite
    from fathom.types import STATUSES, FathomError

    counts, run = Counts(), given.world / "done"
    samples = {one.id: one for one in open_suite(given.world / "suite").samples()}
    wrong, before = wrong_replies(run), averages(run)
    refused = empty = 0
    choices = {"one": wrong[:1], "half": wrong[::2], "all": wrong}
    texts = ("", None) if given.quick else ("", " \n", None)
    for status, text, (share, chosen) in product(STATUSES, texts, choices.items()):
        if given.quick and share != "all":
            continue
        forged = given.place / "forged"
        shutil.rmtree(forged, ignore_errors=True)
        forged.mkdir(parents=True)
        shutil.copy(run / "run.json", forged)
        ledger = Ledger(forged, this_worker())
        for one in replies(run):
            reply = one.reply
            if (one.sample, one.epoch) in chosen:
                reply = replace(reply, status=status, text=reply.text if text is None else text)
            ledger.finish(samples[one.sample], one.epoch, reply, prompt_hash=one.prompt_hash, cost=one.cost)
        ledger.close()
        counts.cases += 1
        try:
            after = averages(forged)
        except FathomError:  # an error with a text is none, and is refused
            refused += 1
            continue
        higher = [key for key, mean in after.items() if key not in before or mean > before[key] + 1e-12]
        counts.silent += len(higher)
        empty += not after
        for key in higher[:3]:
            counts.note(f"{share} of the wrong replies as {status} with text {text!r}: {key} rose")
    counts.note(f"{len(wrong)} wrong replies; {refused} of the forgeries are refused, {empty} have no score at all")
    return counts


def relabelled_bundles(given: Surroundings) -> Counts:
    """Wrong replies of a bundle are given every status, with and without logs, in all formats, emptied or not."""
    from test_bundle_relabelling import make_honest, raised, relabelled, ways

    from fathom.types import STATUSES

    counts = Counts()
    honest = make_honest(given.place)
    wrong = honest.wrong()
    taken = 0
    for status, samples in product(STATUSES, (wrong, wrong[:1])):
        for logs, form, answered, value, emptied in list(ways())[:: 13 if given.quick else 1]:
            content = honest.content(logs, form)
            data = relabelled(content, samples, status, answered=answered, value=value, emptied=emptied)
            higher = raised(honest, data)
            counts.cases += 1
            counts.silent += bool(higher)
            taken += higher is not None
            if higher:
                counts.note(f"{len(samples)} wrong replies as {status}: {higher}")
    counts.note(f"{taken} of the forgeries can be opened; none of them stands higher" if not counts.silent else "")
    return counts


PARTS: Mapping[str, Part] = {
    "kill build": killed("build"),
    "kill run of an offline baseline": killed("run offline"),
    "kill run against a faulty server": killed("run with faults"),
    "kill judge": killed("judge"),
    "kill compress select": killed("compress select"),
    "kill report": killed("report"),
    "two at once: run of a baseline": doubled("run offline"),
    "two at once: run against a server": doubled("run well"),
    "two at once: build": doubled("build"),
    "full disk: build": on_full_disk("build"),
    "full disk: run of a baseline": on_full_disk("run offline"),
    "full disk: run against a server": on_full_disk("run well"),
    "full disk: judge": on_full_disk("judge"),
    "full disk: report": on_full_disk("report"),
    "full disk: rows": on_full_disk("rows"),
    "read-only disk": on_read_only_disk,
    "flipped bits": flipped_bits,
    "faults of servers": faulty_server,
    "hostile command lines": hostile_commands,
    "hostile bundles": hostile_bundles,
    "relabel rows": relabelled_rows,
    "relabel runs": relabelled_runs,
    "relabel bundles": relabelled_bundles,
}
LEFT_OUT_OF_QUICK = (
    "kill run of an offline baseline", "kill compress select", "kill report", "two at once: run of a baseline",
    "two at once: build", "full disk: run of a baseline", "full disk: judge", "full disk: rows", "full disk: report",
    "kill run against a faulty server", "kill judge", "full disk: build", "faults of servers",
    "flipped bits", "hostile command lines", "relabel rows", "relabel runs", "relabel bundles",
)  # fmt: skip
"""Another part shows it of another command, or a test of its own in ``tests`` does."""
FIGURES = ("cases", "repeated", "lost", "silent", "tracebacks")


def chosen_parts(names: str, quick: bool) -> dict[str, Part]:
    """The parts whose names begin with one of these, all by default; if quick, some only if named in full."""
    wanted = [name.strip() for name in names.split(",")]
    for one in wanted:
        if not any(name.startswith(one) for name in PARTS):
            raise SystemExit(f"no part begins with {one!r}; there are: {'; '.join(PARTS)}")
    left_out = set(LEFT_OUT_OF_QUICK if quick else ()).difference(wanted)
    return {name: PARTS[name] for name in PARTS if name.startswith(tuple(wanted)) and name not in left_out}


def run_parts(chosen: Mapping[str, Part], seed: int, quick: bool, share: float) -> dict[str, Counts]:
    """Run the parts, each in a folder of its own, and print a line for each."""
    print(f"{'part':36}" + "".join(f"{name:>12}" for name in FIGURES) + "     seconds", flush=True)
    found: dict[str, Counts] = {}
    with tempfile.TemporaryDirectory(prefix="reliability-") as name:
        world = Path(name, "world")
        world.mkdir()
        interrupted.make_inputs(world)
        for number, (part, work) in enumerate(chosen.items()):
            place = Path(name, str(number), "place")
            place.mkdir(parents=True)
            start = time.perf_counter()
            found[part] = part_of(work, Surroundings(world, place, seed, quick, share))
            print_part(part, found[part], time.perf_counter() - start)
            shutil.rmtree(place.parent, ignore_errors=True)
    return found


def part_of(work: Part, given: Surroundings) -> Counts:
    """What came of a part; an exception is one traceback of it, and the other parts go on."""
    try:
        return work(given)
    except Exception as error:
        traceback.print_exc()
        return Counts(cases=1, tracebacks=1, notes=[f"the part itself ended: {type(error).__name__}: {error}"])


def print_part(part: str, counts: Counts, seconds: float) -> None:
    """Print the line of a part, and what is to be said of it."""
    if counts.skipped:
        print(f"{part:36}  left out: {counts.skipped}", flush=True)
        return
    print(f"{part:36}" + "".join(f"{getattr(counts, name):>12,}" for name in FIGURES) + f"{seconds:>12.0f}", flush=True)
    for line in filter(None, counts.notes):
        print(f"    {line}", flush=True)


def total(found: Sequence[Counts]) -> Counts:
    """The sums of all parts."""
    return Counts(**{name: sum(getattr(one, name) for one in found) for name in FIGURES})


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few cases of each part")
    parser.add_argument("--share", type=float, default=1.0, help="of the cases of the full run")
    parser.add_argument("--parts", default="", help="only parts whose names begin so, separated by commas")
    parser.add_argument("--seed", type=int, default=0, help="of all that is random")
    parser.add_argument("--json", type=Path, help="a file for the counts")
    given = parser.parse_args(words)
    found = run_parts(chosen_parts(given.parts, given.quick), given.seed, given.quick, given.share)
    whole = total(list(found.values()))
    print_part("all", whole, 0)
    if given.json:
        shown = {name: asdict(counts) for name, counts in (*found.items(), ("all", whole))}
        given.json.write_text(json.dumps(shown, indent=2), "utf-8")
    return int(whole.wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
