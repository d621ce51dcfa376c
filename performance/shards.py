"""Runs in shards on a Ray cluster of three nodes on this machine, killed at random, against a server on the loopback.

    python performance/shards.py --samples 3000 --kills 20 --store folder
    python performance/shards.py --samples 3000 --kills 20 --store s3

Three runs of one suite: by one process (``alone``), on the cluster (``plain``), and on the cluster with workers, nodes
and the driver killed with ``kill -9`` (``killed``). It prints requests per second and what was asked twice, and exits
with 1 if a merged run differs from that of one process, or if more was asked twice than was in flight when something
was killed.

Needs the extras ``ray`` and, for ``--store s3``, ``cloud`` and ``moto[server]``, unless ``AWS_ENDPOINT_URL`` and the
other variables name a server with a bucket ``fathom``. The model's server answers after ``--delay`` seconds, so that
requests and not this machine limit the speed.

A long campaign can be cut into pieces, which keep what they have in ``--folder``:

    python performance/shards.py --folder campaign --part alone
    python performance/shards.py --folder campaign --part plain
    python performance/shards.py --folder campaign --part killed --seconds 400   # again, until it exits with 0 or 1

A piece that is over after ``--seconds`` kills the driver and the whole cluster, and exits with 3.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "run"))

from run_suites import make_suite
from scripted_server import Act, Script, ScriptedServer, completion

from fathom.run import replies
from fathom.run.shards.merging import merge

FATHOM = (sys.executable, "-c", "from fathom.cli import main; main()")
NODES, SHARDS, CONNECTIONS = 3, 24, 8
BUCKET = "fathom"


@dataclass
class Killed:
    """What was killed, how many requests were in flight then, and how many were sent in all.

    Attributes:
        marks: Numbers of requests after which something is still to be killed.
        pieces: Clusters that were killed as a whole, with the driver.
    """

    marks: list[float] = field(default_factory=list)
    workers: int = 0
    nodes: int = 0
    drivers: int = 0
    pieces: int = 0
    in_flight: int = 0
    asked: int = 0
    seconds: float = 0.0


def after(delay: float) -> Script:
    """A server that answers everything after some seconds."""

    def script(number: int, before: int) -> Act:
        act = completion(f"answer {number}")
        return Act(body=act.body, delay=delay)

    return script


def replied(folder: Path) -> list[tuple[object, ...]]:
    """What a run holds, without times."""
    return [(one.sample, one.epoch, one.reply.status, one.reply.text, one.prompt_hash) for one in replies(folder)]


# ---------------------------------------------------------------------------------------------- cluster and store


@contextmanager
def cluster() -> Iterator[Any]:
    """A cluster (``ray.cluster_utils.Cluster``) whose nodes are processes of this machine, each with one CPU."""
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        for _ in range(NODES - 1):
            made.add_node(num_cpus=1)
        yield made
    finally:
        made.shutdown()


@contextmanager
def objects() -> Iterator[str]:
    """The address of a bucket of a server that speaks S3's protocol; the variables for it are set."""
    if "AWS_ENDPOINT_URL" in os.environ:
        yield f"s3://{BUCKET}"
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    os.environ.update(
        AWS_ENDPOINT_URL=url,
        AWS_ALLOW_HTTP="true",
        AWS_REGION="us-east-1",
        AWS_ACCESS_KEY_ID="test",
        AWS_SECRET_ACCESS_KEY="test",
    )
    words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while True:
            try:
                urllib.request.urlopen(urllib.request.Request(f"{url}/{BUCKET}", method="PUT"))
                break
            except OSError:
                if server.poll() is not None:
                    raise RuntimeError("moto's server did not start: pip install 'moto[server]'") from None
                time.sleep(0.2)
        yield f"s3://{BUCKET}"
    finally:
        server.kill()
        server.wait()


def workers(above: int | None = None) -> list[int]:
    """Processes that run a shard, below a process; by default this one, which started the clusters."""
    return [one for one in below(above or os.getpid()) if _words(one).startswith(b"ray::_run")]


def below(above: int) -> list[int]:
    """All processes that a process has started, and those that these have."""
    children: dict[int, list[int]] = {}
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError):
            parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(place.name))
    found, left = [], [above]
    while left:
        found += (there := children.get(left.pop(), []))
        left += there
    return found


def _words(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def lose_node(made: Any, rng: Random) -> int:
    """Kill all processes of a node at once, as if its machine were lost, and add another one.

    Returns:
        How many of them ran a shard.
    """
    node = rng.choice(sorted(made.worker_nodes, key=lambda one: one.unique_id))
    raylet = node.all_processes["raylet"][0].process.pid
    lost, working = below(raylet), len(workers(raylet))
    for process in (raylet, *lost):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    made.remove_node(node, allow_graceful=False)
    made.add_node(num_cpus=1)
    return working


# ----------------------------------------------------------------------------------------------------------- runs


def command(suite: Path, out: str, server: ScriptedServer, *words: str) -> list[str]:
    """The words of a run."""
    asked = ["--model", "openai/scripted", "--model-base-url", server.base_url, "--max-output-tokens", "50"]
    return [*FATHOM, "run", str(suite), *asked, "--out", out, "--yes", "--quiet", *words]


def on_ray(address: str) -> Sequence[str]:
    """The options of a run on the cluster."""
    return ("--engine", "ray", "--address", address, "--shards", str(SHARDS), "--max-connections", str(CONNECTIONS))


def asked_in(words: Sequence[str], server: ScriptedServer, samples: int) -> tuple[float, float]:
    """Seconds of a whole command, and seconds between its first and its last request."""
    before, began, first = server.prompts.total(), time.monotonic(), 0.0
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    last = began
    while process.poll() is None:
        now, asked = time.monotonic(), server.prompts.total() - before
        if asked and not first:
            first = now
        if asked < samples:
            last = now
        time.sleep(0.05)
    if process.returncode:
        raise RuntimeError(f"exit code {process.returncode}: {' '.join(words)}")
    return time.monotonic() - began, last - first


def disturbed(
    words: Sequence[str],
    server: ScriptedServer,
    made: Any,
    found: Killed,
    rng: Random,
    seconds: float = float("inf"),
) -> bool:
    """Run a command to its end, while its workers, nodes and itself are killed at random.

    Args:
        words: The command.
        server: Counts requests from 0.
        made: The cluster.
        found: Goes on from the counts of earlier pieces.
        rng: Chooses what is killed.
        seconds: After that the driver is killed.

    Returns:
        Whether the command came to its end.
    """
    before, began = found.asked, time.monotonic()
    driver = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while driver.poll() is None and time.monotonic() - began < seconds:
        found.asked = before + server.prompts.total()
        if not found.marks or found.asked < found.marks[0] or not (working := workers()):
            time.sleep(0.02)
            continue
        found.marks.pop(0)
        chance = rng.random()
        if chance < 0.3:
            found.drivers, found.in_flight = found.drivers + 1, found.in_flight + len(working) * CONNECTIONS
            driver.kill()
            driver.wait()
            driver = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            until_gone(working)
        elif chance < 0.5:
            found.nodes, found.in_flight = found.nodes + 1, found.in_flight + lose_node(made, rng) * CONNECTIONS
        else:
            found.workers, found.in_flight = found.workers + 1, found.in_flight + CONNECTIONS
            with suppress(ProcessLookupError):
                os.kill(rng.choice(working), signal.SIGKILL)
    ended = driver.poll() is not None
    if not ended:
        working = workers()
        found.pieces, found.in_flight = found.pieces + 1, found.in_flight + len(working) * CONNECTIONS
        driver.kill()
        until_gone(working)
    _, said = driver.communicate()
    found.asked, found.seconds = before + server.prompts.total(), found.seconds + time.monotonic() - began
    if ended and driver.returncode:
        raise RuntimeError(f"the driver ended with exit code {driver.returncode}: {said}")
    return ended


def until_gone(processes: Sequence[int]) -> None:
    """Wait until the cluster has ended the tasks of a driver that died."""
    while set(processes) & set(workers()):
        time.sleep(0.05)


def main() -> int:
    """Run everything and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--delay", type=float, default=0.2, help="seconds until the server answers")
    parser.add_argument("--store", choices=("folder", "s3"), default="folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="keep everything here; by default in a folder that is deleted")
    parser.add_argument("--part", choices=("all", "alone", "plain", "killed"), default="all")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="of the killed part, in one piece")
    wanted = parser.parse_args()
    with TemporaryDirectory() as folder:
        place = wanted.folder or Path(folder)
        place.mkdir(exist_ok=True)
        wrong = parts(wanted, place)
    if wrong is None:
        return 3
    print("; ".join(wrong) or "nothing differs")
    return int(bool(wrong))


def parts(wanted: argparse.Namespace, place: Path) -> list[str] | None:
    """Run the parts that are wanted; what is wrong with them, or None where a piece ended before its run."""
    count, wrong = wanted.samples, []
    suite = place / "suite"
    if not suite.exists():
        make_suite(place, count)
    with ScriptedServer(after(wanted.delay), remembers=False) as server:
        if wanted.part in ("all", "alone"):
            alone = command(suite, str(place / "alone"), server, "--max-connections", str(NODES * CONNECTIONS))
            whole, asking = asked_in(alone, server, count)
            print(
                f"one process, {NODES * CONNECTIONS} connections: {count / asking:.0f} a second, {whole:.0f} s in all"
            )
        if wanted.part == "alone":
            return []
        # The store first: nodes of the cluster inherit its variables.
        with objects() if wanted.store == "s3" else same(str(place)) as store, cluster() as made:
            server.prompts.clear()
            if wanted.part in ("all", "plain"):
                words = command(suite, f"{store}/plain", server, *on_ray(made.address))
                whole, asking = asked_in(words, server, count)
                tasks = f"Ray, {NODES} tasks of {CONNECTIONS} connections"
                print(f"{tasks}: {count / asking:.0f} a second, {whole:.0f} s in all")
                wrong += differing(f"{store}/plain", place)
            server.prompts.clear()
            if wanted.part in ("all", "killed"):
                words = command(suite, f"{store}/killed", server, *on_ray(made.address))
                ended, killed = one_piece(wanted, place / f"killed-{wanted.store}.json", words, server, made)
                if not ended:
                    return None
                repeated = killed.asked - count
                print(
                    f"killed: {killed.workers} workers, {killed.nodes} nodes, {killed.drivers} drivers, {killed.pieces}"
                    f" clusters; {killed.seconds:.0f} s in all"
                )
                print(f"asked twice: {repeated} of {count}; in flight when killed: at most {killed.in_flight}")
                wrong += differing(f"{store}/killed", place)
                wrong += ["more was asked twice than in flight"] * (repeated > killed.in_flight)
    return wrong


def one_piece(
    wanted: argparse.Namespace, file: Path, words: Sequence[str], server: ScriptedServer, made: Any
) -> tuple[bool, Killed]:
    """A piece of the run that is disturbed, which goes on from the counts in a file; whether it ended the run."""
    if file.exists():
        killed = Killed(**json.loads(file.read_text()))
    else:
        rng = Random(wanted.seed)
        killed = Killed(sorted(rng.uniform(0.02, 0.95) * wanted.samples for _ in range(wanted.kills)))
    ended = disturbed(words, server, made, killed, Random(f"{wanted.seed} {killed.pieces}"), wanted.seconds)
    file.write_text(json.dumps(asdict(killed)))
    return ended, killed


def differing(store: str, place: Path) -> list[str]:
    """Merge a run in shards; what is wrong with it."""
    with TemporaryDirectory() as folder:
        merge(store, Path(folder) / "run")
        return [f"{store} differs"] * (replied(Path(folder) / "run") != replied(place / "alone"))


@contextmanager
def same(place: str) -> Iterator[str]:
    """A folder as a store."""
    yield place


if __name__ == "__main__":
    sys.exit(main())
