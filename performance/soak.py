"""Many requests to a server that is often at fault: is every sample accounted for, and does anything grow or slow down?

A server in a process of its own answers 20,000 samples; one in five meets a fault of ``tests/run/fault_server.py``,
dealt by a seed, so that status and text of every reply are known before. The run is ``fathom.api.run``. Its process
measures itself while it goes on: memory, and time and CPU time from reply to reply. On a machine that others use too,
both are as long as the others let them; so a fixed piece of work is measured now and then, and CPU time is told in
units of it. The script ends with 1 where a reply is not what the schedule says.

    python performance/soak.py                    # 20,000 samples: ten minutes or so
    python performance/soak.py --count 2000
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from statistics import median

TESTS = Path(__file__).parents[1] / "tests" / "run"
sys.path.insert(0, str(TESTS))

MB = 1 << 20
EVERY = 50  # replies between two looks at memory and speed
PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass
class Watch:
    """What the process measures of itself after every reply."""

    times: list[float] = field(default_factory=lambda: [time.perf_counter()])
    cpu: list[float] = field(default_factory=lambda: [time.process_time()])
    memory: list[int] = field(default_factory=list)
    fixed: list[float] = field(default_factory=list)
    spent: float = 0.0

    def see(self, state: object) -> None:
        self.times.append(time.perf_counter())
        self.cpu.append(time.process_time() - self.spent)
        if len(self.times) % EVERY == 0:
            self.memory.append(resident())
            self.fixed.append(fixed_work())
            self.spent += self.fixed[-1]


def fixed_work() -> float:
    """Seconds of CPU time that a piece of work takes which is always the same: objects, texts and hashes."""
    started = time.process_time()
    made = [json.dumps({"number": number, "text": "nine" * (number % 7)}) for number in range(200)]
    sha256("".join(json.loads(text)["text"] for text in made).encode()).hexdigest()
    return time.process_time() - started


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * PAGE


def soak(count: int, share: float, seed: int, connections: int, place: Path) -> int:
    """Run, account for every sample and print the figures; how many replies are not as they should be."""
    from fault_server import Schedule
    from run_suites import make_suite

    from fathom.api import run
    from fathom.run import replies

    warnings.simplefilter("ignore")
    suite, folder, watch = make_suite(place, count), place / "run", Watch()
    command = [sys.executable, str(TESTS / "fault_server.py"), str(seed), str(share)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        run(
            suite,
            "openai/scripted",
            out=folder,
            model_base_url=address,
            max_output_tokens=50,
            max_connections=connections,
            backoff=0.01,
            progress=watch.see,
        )
        requests = int(server.communicate()[0])
    schedule = Schedule(seed, share)
    rows = {int(row.item.removeprefix("item")): row.reply for row in replies(folder)}
    wrong = [n for n, reply in rows.items() if (reply.status, reply.text) != schedule.expected(n)]
    print_counts(Counter(reply.status for reply in rows.values()), count, requests, wrong)
    attempts = sum(reply.attempts for reply in rows.values())
    print(f"requests sent              {requests:,}: {attempts:,} for the samples, {requests - attempts:,} probes")
    print(f"replies that are missing   {count - len(rows):,}")
    print_course(watch)
    return len(wrong) + count - len(rows)


def print_counts(counts: Counter[str], count: int, requests: int, wrong: list[int]) -> None:
    """Print what became of the samples."""
    print(f"samples                    {count:,}")
    for status, number in sorted(counts.items()):
        print(f"  {status:<25}{number:,}")
    print(f"replies that differ        {len(wrong):,} {wrong[:5] or ''}")


def print_course(watch: Watch) -> None:
    """Print how the run went from its second tenth, after libraries are loaded, to its last."""
    tenth = len(watch.times) // 10
    print("tenth     replies/s   CPU ms a reply   in units of fixed work   memory at its end, MB")
    for part in range(10):
        first, last = part * tenth, (part + 1) * tenth
        rate = tenth / (watch.times[last] - watch.times[first])
        cpu = (watch.cpu[last] - watch.cpu[first]) / tenth
        looks = slice(first // EVERY, max(last // EVERY, first // EVERY + 1))
        unit, memory = median(watch.fixed[looks]), watch.memory[looks][-1] / MB
        print(f"{part + 1:<10}{rate:<12.1f}{1000 * cpu:<17.2f}{cpu / unit:<25.2f}{memory:.0f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000, help="samples")
    parser.add_argument("--share", type=float, default=0.2, help="share of samples with a fault")
    parser.add_argument("--seed", type=int, default=15)
    parser.add_argument("--connections", type=int, default=16)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak") as place:
        return int(soak(options.count, options.share, options.seed, options.connections, Path(place)) > 0)


if __name__ == "__main__":
    sys.exit(main())
