"""Runs in shards on a Ray cluster of three nodes on this machine, killed at random, against a server on the loopback.

    python performance/shards.py --samples 3000 --kills 20 --store folder
    python performance/shards.py --samples 3000 --kills 20 --store s3

Four runs of one suite: by one process, on the cluster, on the cluster with workers and the driver killed with
``kill -9``, and the last one merged. It prints requests per second and what was asked twice, and exits with 1 if the
merged run differs from that of one process, or if more was asked twice than was in flight when something was killed.

Needs the extras ``ray`` and, for ``--store s3``, ``cloud`` and ``moto[server]``. The server answers after ``--delay``
seconds, so that requests and not this machine limit the speed.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

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
    """What was killed, and how many requests were in flight then."""

    workers: int = 0
    drivers: int = 0
    in_flight: int = 0


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
def cluster() -> Iterator[str]:
    """The address of a cluster whose nodes are processes of this machine, each with one CPU."""
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        for _ in range(NODES - 1):
            made.add_node(num_cpus=1)
        yield str(made.address)
    finally:
        made.shutdown()


@contextmanager
def objects() -> Iterator[str]:
    """The address of a bucket of a server that speaks S3's protocol; the variables for it are set."""
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


def workers() -> list[int]:
    """Processes that run a shard, of the clusters that this process started."""
    parents, working = {}, []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(place.name)] = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            if (place / "cmdline").read_bytes().startswith(b"ray::_run"):
                working.append(int(place.name))
        except (OSError, IndexError):
            continue
    return [one for one in working if os.getpid() in _ancestors(one, parents)]


def _ancestors(process: int, parents: dict[int, int]) -> list[int]:
    found = [process]
    while (above := parents.get(found[-1], 0)) > 1:
        found.append(above)
    return found


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


def disturbed(words: Sequence[str], server: ScriptedServer, samples: int, kills: int, rng: Random) -> Killed:
    """Run a command to its end, while its workers and itself are killed at random."""
    found, before = Killed(), server.prompts.total()
    marks = sorted(rng.uniform(0.02, 0.95) * samples for _ in range(kills))
    driver = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while driver.poll() is None:
        if not marks or server.prompts.total() - before < marks[0]:
            time.sleep(0.02)
            continue
        working = workers()
        if not working:
            time.sleep(0.02)
            continue
        marks.pop(0)
        if rng.random() < 0.3:
            found.drivers, found.in_flight = found.drivers + 1, found.in_flight + len(working) * CONNECTIONS
            driver.kill()
            driver.wait()
            driver = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            until_gone(working)
        else:
            found.workers, found.in_flight = found.workers + 1, found.in_flight + CONNECTIONS
            os.kill(rng.choice(working), signal.SIGKILL)
    if driver.returncode:
        raise RuntimeError(f"the driver ended with exit code {driver.returncode}")
    return found


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
    wanted = parser.parse_args()
    count, rng = wanted.samples, Random(wanted.seed)
    wrong = []
    with TemporaryDirectory() as folder, ScriptedServer(after(wanted.delay), remembers=False) as server:
        place = Path(folder)
        suite = make_suite(place, count)
        alone = command(suite, str(place / "alone"), server, "--max-connections", str(NODES * CONNECTIONS))
        whole, asking = asked_in(alone, server, count)
        print(f"one process, {NODES * CONNECTIONS} connections: {count / asking:.0f} a second, {whole:.0f} s in all")
        expected = replied(place / "alone")
        # The store first: nodes of the cluster inherit its variables.
        with objects() if wanted.store == "s3" else same(str(place)) as store, cluster() as address:
            server.prompts.clear()
            words = command(suite, f"{store}/plain", server, *on_ray(address))
            whole, asking = asked_in(words, server, count)
            print(
                f"Ray, {NODES} tasks of {CONNECTIONS} connections: {count / asking:.0f} a second, {whole:.0f} s in all"
            )
            merge(f"{store}/plain", place / "merged-plain")
            wrong += ["the undisturbed run differs"] * (replied(place / "merged-plain") != expected)
            server.prompts.clear()
            began = time.monotonic()
            words = command(suite, f"{store}/killed", server, *on_ray(address))
            killed = disturbed(words, server, count, wanted.kills, rng)
            repeated = server.prompts.total() - count
            seconds = time.monotonic() - began
            print(f"killed: {killed.workers} workers, {killed.drivers} drivers; {seconds:.0f} s in all")
            print(f"asked twice: {repeated} of {count}; in flight when killed: at most {killed.in_flight}")
            merge(f"{store}/killed", place / "merged-killed")
            wrong += ["the disturbed run differs"] * (replied(place / "merged-killed") != expected)
            wrong += ["more was asked twice than in flight"] * (repeated > killed.in_flight)
    print("; ".join(wrong) or "the merged runs equal that of one process")
    return int(bool(wrong))


@contextmanager
def same(place: str) -> Iterator[str]:
    """A folder as a store."""
    yield place


if __name__ == "__main__":
    sys.exit(main())
