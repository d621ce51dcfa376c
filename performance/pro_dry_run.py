"""A whole run of LongBench Pro's size, with a dead client and a dead server in its middle.

    python performance/pro_records.py --corpus BOOKS --corpus 'LEVAL?text=input' --out records.json
    python performance/pro_dry_run.py records.json --place FOLDER

Builds the suite ``pro`` from the records, asks a local server that answers after a delay three times for each, kills
the client at a third of the work and the server at two thirds (it comes back after a while), has the summaries judged
by embeddings, and makes rows, the analyses and the report. The server answers rightly or not by a hash of the question
and the number of the request; some replies have inline thoughts, some are cut inside them, some requests fail. Memory
is the peak of each process.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

MODEL = "openai/rehearsal"
PORT = 8765
REST = 5.0  # seconds without a server
FATHOM = (sys.executable, "-c", "from fathom.cli import main; main()")


# --------------------------------------------------------------------------------------------------- the server


def reply(prompt: str, times: int, answer: list[str]) -> tuple[int, str, str]:
    """Status, text and finish reason of one reply; the longer the prompt, the more often it is wrong."""
    dice = hashlib.sha256(f"{question_key(prompt)}|{times}".encode()).digest()
    luck = [byte / 256 for byte in dice[:5]]
    if luck[0] < 0.02 and times % 4 == 1:
        return 500, "", ""
    if luck[0] < 0.05:
        return 200, "<think>There are many passages, let me look at each of them once more", "length"
    right = luck[1] < 0.95 - len(prompt) / 2_500_000
    lines = answer if right else answer[: len(answer) // 2] or ["none"]
    thoughts = "<think>The notes say it.</think>\n" if luck[2] < 0.5 else ""
    marker = "" if luck[3] < 0.02 else ("[答案]\n" if "[答案]" in prompt else "[Answer]\n")
    return 200, thoughts + marker + "\n".join(lines), "stop"


class Server:
    """Answers chat completions after a delay, and counts what it was asked."""

    def __init__(self, answers: Mapping[str, list[str]], delay: float, log: Path) -> None:
        self.answers, self.delay, self.log = answers, delay, log
        self.asked: Counter[str] = Counter()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, with any number of requests."""
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                names = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
                sizes = {name.lower(): value for name, value in names.items()}
                body = await reader.readexactly(int(sizes.get(b"content-length", b"0")))
                await asyncio.sleep(self.delay)
                embeddings = b"/embeddings" in head.partition(b"\r\n")[0]
                status, payload = (embedded if embeddings else self.answer)(json.loads(body))
                line = (
                    f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(payload)}\r\n\r\n"
                )
                writer.write(line.encode() + payload)
                await writer.drain()
        writer.close()

    def answer(self, request: Mapping[str, Any]) -> tuple[int, bytes]:
        """What a request gets."""
        prompt = str(request["messages"][-1]["content"])
        key = question_key(prompt)
        self.asked[key] += 1
        status, text, finish = reply(prompt, self.asked[key], self.answers[key])
        with self.log.open("a") as stream:
            stream.write(f"{status}\n")
        if status != 200:
            return status, json.dumps({"error": {"message": "overloaded", "type": "server_error"}}).encode()
        usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": len(text) // 4 + 1, "total_tokens": 0}
        message = {"role": "assistant", "content": text}
        choices = [{"index": 0, "message": message, "finish_reason": finish}]
        found = {"id": "r", "object": "chat.completion", "created": 0, "model": "rehearsal", "choices": choices}
        return 200, json.dumps({**found, "usage": usage}).encode()


def embedded(request: Mapping[str, Any]) -> tuple[int, bytes]:
    """Vectors of texts: how often each of their letters stands in them, folded to 64 numbers."""
    texts = [request["input"]] if isinstance(request["input"], str) else request["input"]
    counts = [Counter(ord(letter) % 64 for letter in text) for text in texts]
    vectors = [[float(count[place]) for place in range(64)] for count in counts]
    data = [{"object": "embedding", "index": place, "embedding": vector} for place, vector in enumerate(vectors)]
    usage = {"prompt_tokens": sum(map(len, texts)) // 4, "total_tokens": sum(map(len, texts)) // 4}
    return 200, json.dumps({"object": "list", "data": data, "model": "rehearsal", "usage": usage}).encode()


def question_key(prompt: str) -> str:
    """What tells the questions of the records apart: the end of the context and the question."""
    return hashlib.sha256(prompt[-2_000:].encode()).hexdigest()


def serve(answers: Path, delay: float, log: Path) -> None:
    """Run the server until it is killed."""

    async def run() -> None:
        server = Server(json.loads(answers.read_text()), delay, log)
        async with await asyncio.start_server(server.serve, "127.0.0.1", PORT, limit=2**20) as listening:
            await listening.serve_forever()

    asyncio.run(run())


# ------------------------------------------------------------------------------------------------------ the run


def answers_of(records: Path) -> dict[str, list[str]]:
    """The answers by ``question_key``."""
    found = {}
    for one in json.loads(records.read_text("utf-8")):
        for kind in ("question_nonthinking", "question_thinking"):
            found[question_key(f"{one['context']}\n\n\n\n{one[kind]}".strip())] = one["answer"]
    return found


def call(*words: str | Path) -> tuple[float, float]:
    """Run a command of fathom; its seconds and its peak memory in MB."""
    started = time.monotonic()
    process = subprocess.Popen([*FATHOM, *map(str, words)], stdout=subprocess.DEVNULL)
    peak = watch(process, lambda: False, every=0.05)
    if process.returncode:
        raise SystemExit(f"fathom {' '.join(map(str, words))} failed")
    return time.monotonic() - started, peak


def finished(folder: Path) -> int:
    """Replies that a run holds."""
    path = folder / "replies.sqlite"
    if not path.is_file():
        return 0
    with suppress(sqlite3.Error):
        db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            return int(db.execute("SELECT count(*) FROM replies WHERE status != 'error'").fetchone()[0])
        finally:
            db.close()
    return 0


def peak_of(pid: int) -> float:
    """Peak memory of a process in MB."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    return 0.0


def watch(process: subprocess.Popen[bytes], until: Callable[[], bool], every: float = 0.5) -> float:
    """Wait until something holds or a process ends; its peak memory in MB."""
    peak = 0.0
    while process.poll() is None and not until():
        peak = max(peak, peak_of(process.pid))
        time.sleep(every)
    return peak


def rehearse(records: Path, place: Path, delay: float, epochs: int, connections: int, tokenizer: str) -> None:
    """Build, run, kill, run on, report; print what was measured."""
    place.mkdir(parents=True, exist_ok=True)
    suite, run, log = place / "suite", place / "run", place / "server.log"
    told("build", call("build", "pro", "--data", records, "--tokenizer", tokenizer, "--out", suite, "--force", "-q"))
    answers = place / "answers.json"
    answers.write_text(json.dumps(answers_of(records)))
    total = json.loads((suite / "manifest.json").read_text())["samples"]
    wanted = sum(total.values()) * epochs
    words = [*FATHOM, "run", suite, "--model", MODEL, "--model-base-url", f"http://127.0.0.1:{PORT}/v1"]
    words += ["--thinking", "on", "--model-kind", "mixed", "--epochs", epochs, "--max-connections", connections]
    words += ["--retries", 8, "--out", run, "--yes"]
    started = time.monotonic()

    def server() -> subprocess.Popen[bytes]:
        serving = ("--serve", answers, "--delay", str(delay), "--log", log)
        return subprocess.Popen([sys.executable, __file__, *map(str, serving)])

    def client() -> subprocess.Popen[bytes]:
        return subprocess.Popen(list(map(str, words)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    serving, asking = server(), client()
    try:
        peak = watch(asking, lambda: finished(run) >= wanted // 3)
        asking.send_signal(signal.SIGKILL)
        asking.wait()
        print(f"client killed at {finished(run):,} of {wanted:,} replies, {peak:,.0f} MB", flush=True)
        asking = client()
        peak = watch(asking, lambda: finished(run) >= 2 * wanted // 3)
        serving.kill()
        serving.wait()
        print(f"server killed at {finished(run):,}, back after {REST:g} s; client {peak:,.0f} MB", flush=True)
        time.sleep(REST)
        serving = server()
        peak = watch(asking, lambda: False)
        seconds = time.monotonic() - started
        statuses = Counter(log.read_text().split())
        print(f"run: exit {asking.returncode}, {seconds:.0f} s, {peak:,.0f} MB, {finished(run):,} replies", flush=True)
        print(f"requests answered: {statuses['200']:,}, with status 500: {statuses['500']:,}; {connections} at once")
        address = f"http://127.0.0.1:{PORT}/v1"
        told("judge", call("judge", run, "--judge", "embed/rehearsal", "--judge-base-url", address, "--yes", "-q"))
    finally:
        serving.kill()
        asking.kill()
    table, page = place / "rows.parquet", place / "report.html"
    told("rows", call("rows", run, "--out", table))
    told("report", call("report", table, "--out", page, "-q"))
    for study in ("breakdown", "repeats", "neighbours"):
        told(f"analyze {study}", call("analyze", study, table))


def told(step: str, cost: tuple[float, float]) -> None:
    """Print what a step took."""
    print(f"{step}: {cost[0]:.0f} s, {cost[1]:,.0f} MB", flush=True)


def main() -> None:
    """Rehearse, or be the server."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=Path, nargs="?", help="what pro_records.py wrote")
    parser.add_argument("--place", type=Path, default=Path("rehearsal"), help="folder for everything that is made")
    parser.add_argument("--delay", type=float, default=0.5, help="seconds before each answer")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--tokenizer", default="tekken")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--log", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.serve:
        serve(chosen.serve, chosen.delay, chosen.log)
    else:
        rehearse(chosen.records, chosen.place, chosen.delay, chosen.epochs, chosen.connections, chosen.tokenizer)


if __name__ == "__main__":
    main()
