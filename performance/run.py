"""What asking a model costs beside the model: CPU, bytes written and memory per sample, for ours and for others.

    python performance/run.py            # all sizes
    python performance/run.py --quick    # a small version
    python performance/run.py --lm-eval ~/lm/bin/python   # lm-evaluation-harness from an environment of its own

A server in a process of its own answers every request at once. Each client runs in a process of its own, warms up, and
is then measured over N prompts with 32 requests in flight: user and system time of its process, bytes handed to write
calls (files only; sockets are not counted), and peak resident memory. Bare clients write one line a reply, so that none
is praised for forgetting. Ratios are to Inspect's ``get_model`` without anything around it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

CONNECTIONS = 32
MODEL = "openai/bench"
KB, MB = 1024, 1024 * 1024
SENTENCE = "The ledger of the harbour at Kessmoor lists nineteen barrels of salt under the mark of the third clerk. "
DOCUMENT_BYTES, SPAN_BYTES = 64 * KB, 4 * KB
SIZES = ((32 * KB, 1000), (MB, 200), (4 * MB, 100))
QUICK_SIZES = ((32 * KB, 100), (MB, 20))
TARGET_RATIO, TARGET_BYTES = 1.5, 6 * KB
REPLY = {
    "id": "reply",
    "object": "chat.completion",
    "created": 0,
    "model": "bench",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "nineteen"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10},
}


@dataclass(frozen=True)
class Case:
    """One measurement: ``samples`` prompts of ``size`` bytes, asked of the server at ``url``."""

    size: int
    samples: int
    url: str
    place: Path


@dataclass(frozen=True)
class Cost:
    """Milliseconds of CPU and bytes written per sample, and peak memory in MB."""

    milliseconds: float
    written: float
    peak: float


# --------------------------------------------------------------------------------------------------- the server


class Answer(asyncio.Protocol):
    """Counts the body of each request and answers at once."""

    payload = json.dumps(REPLY).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(payload)}\r\n\r\n".encode()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport
        self.start = b""
        self.missing = -1

    def data_received(self, data: bytes) -> None:
        if self.missing < 0:
            self.start += data
            if b"\r\n\r\n" not in self.start:
                return
            head, _, data = self.start.partition(b"\r\n\r\n")
            lines = (line.partition(b":") for line in head.lower().split(b"\r\n"))
            self.missing = next((int(value) for name, _, value in lines if name == b"content-length"), 0)
            self.start = b""
        self.missing -= len(data)
        if self.missing <= 0:
            self.missing = -1
            self.transport.write(self.head + self.payload)


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


# -------------------------------------------------------------------------------------------------- the clients


def prompt_of(number: int, size: int) -> str:
    """A prompt of its own for each sample."""
    start = f"[sample {number}] "
    return start + (SENTENCE * (size // len(SENTENCE) + 1))[: size - len(start)]


def measured(work: Callable[[int], None], samples: int) -> Cost:
    """Run ``work`` over a few samples to warm up, then over all of them."""
    work(4)
    before, written = resource.getrusage(resource.RUSAGE_SELF), _written()
    work(samples)
    after = resource.getrusage(resource.RUSAGE_SELF)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(seconds * 1000 / samples, (_written() - written) / samples, after.ru_maxrss / 1024)


def _written() -> int:
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["wchar"])


async def pool(samples: int, case: Case, ask: Callable[[str], Awaitable[str]]) -> None:
    """Ask for all samples, so many at once, and write a line a reply."""
    numbers = iter(range(samples))

    async def worker(log: Any) -> None:
        for number in numbers:
            # A task of its own, so that what a library keeps in the context of a request goes with it.
            text = await asyncio.create_task(one(number))
            log.write(json.dumps({"sample": number, "text": text}) + "\n")
            log.flush()

    async def one(number: int) -> str:
        return await ask(prompt_of(number, case.size))

    with (case.place / "replies.jsonl").open("w") as log:
        await asyncio.gather(*(worker(log) for _ in range(CONNECTIONS)))


def client_aiohttp(case: Case) -> Cost:
    import aiohttp

    async def main(samples: int) -> None:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=CONNECTIONS)) as session:

            async def ask(prompt: str) -> str:
                body = {"model": "bench", "messages": [{"role": "user", "content": prompt}]}
                async with session.post(f"{case.url}/chat/completions", json=body) as reply:
                    return str((await reply.json())["choices"][0]["message"]["content"])

            await pool(samples, case, ask)

    return measured(lambda samples: asyncio.run(main(samples)), case.samples)


def client_openai(case: Case) -> Cost:
    from openai import AsyncOpenAI

    async def main(samples: int) -> None:
        async with AsyncOpenAI(base_url=case.url, api_key="none", max_retries=0) as client:

            async def ask(prompt: str) -> str:
                reply = await client.chat.completions.create(
                    model="bench", messages=[{"role": "user", "content": prompt}], max_tokens=16
                )
                return reply.choices[0].message.content or ""

            await pool(samples, case, ask)

    return measured(lambda samples: asyncio.run(main(samples)), case.samples)


def client_get_model(case: Case) -> Cost:
    from inspect_ai.model import GenerateConfig, get_model

    async def main(samples: int) -> None:
        config = GenerateConfig(max_tokens=16, temperature=0.0, max_connections=CONNECTIONS, max_retries=0)
        name = "openai-api/openai/bench"
        async with get_model(name, base_url=case.url, api_key="none", config=config, memoize=False) as model:

            async def ask(prompt: str) -> str:
                return (await model.generate(prompt)).completion

            await pool(samples, case, ask)

    return measured(lambda samples: asyncio.run(main(samples)), case.samples)


def client_fathom(case: Case) -> Cost:
    from fathom.run import run
    from fathom.runfile.settings import RunSettings

    settings = RunSettings(model_base_url=case.url, max_connections=CONNECTIONS, max_output_tokens=16)

    def work(samples: int) -> None:
        suite, out = case.place / f"suite{samples}", case.place / f"run{samples}"
        run(suite, MODEL, settings, out=out)

    return measured(work, case.samples)


def write_suite(case: Case, samples: int) -> None:
    """Write ``suiteN``, a suite of N recipes: every prompt is made of spans of a few kilobytes."""
    from fathom.suites.suitefile import SampleWriter, fresh_folder, write_documents, write_manifest
    from fathom.types import Document, Part, Sample, Span

    text = (SENTENCE * (DOCUMENT_BYTES // len(SENTENCE) + 1))[:DOCUMENT_BYTES]
    documents = [Document(f"{number:064x}", text, "benchmark") for number in range(64)]
    with fresh_folder(case.place / f"suite{samples}") as fresh:
        write_documents(fresh, documents)
        with SampleWriter(fresh) as writer:
            for number in range(samples):
                start = f"[sample {number}] "
                parts: list[Part] = [start]
                for offset in range(0, case.size - len(start), SPAN_BYTES):
                    length = min(SPAN_BYTES, case.size - len(start) - offset)
                    document = documents[(number + offset // SPAN_BYTES) % len(documents)]
                    place = offset % (DOCUMENT_BYTES - SPAN_BYTES)
                    parts.append(Span(document.id, place, place + length))
                name = f"item{number}"
                tokens = case.size // 5
                writer.add(Sample(name, name, "passkey", tuple(parts), ("nineteen",), tokens, tokens))
        write_manifest(
            fresh,
            {
                "fathom": "suite",
                "suite": "benchmark",
                "tokenizer": "words",
                "fingerprint": "0",
                "lengths": [case.size // 5],
                "tasks": ["passkey"],
                "samples": {"passkey": samples},
                "notes": [],
                "left_out": [],
                "left_out_in_all": 0,
                "duplicates": 0,
                "inputs": {},
            },
        )


def client_inspect_eval(case: Case) -> Cost:
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.solver import generate

    def work(samples: int) -> None:
        dataset = [Sample(input=prompt_of(number, case.size), target="nineteen") for number in range(samples)]
        logs = eval(
            Task(dataset=dataset, solver=generate()),
            model="openai-api/openai/bench",
            model_base_url=case.url,
            log_dir=str(case.place / "logs"),
            display="none",
            max_connections=CONNECTIONS,
            max_samples=CONNECTIONS,
            max_tokens=16,
        )
        if logs[0].status != "success":
            raise RuntimeError(f"inspect eval failed: {logs[0].error}")

    os.environ["OPENAI_API_KEY"] = "none"
    return measured(work, case.samples)


def client_lm_eval(case: Case) -> Cost:
    # Not a dependency of ours, and it may live in an environment of its own.
    evaluate: Any = import_module("lm_eval").simple_evaluate
    chat: Any = import_module("lm_eval.models.openai_completions").LocalChatCompletion
    tracker: Any = import_module("lm_eval.loggers").EvaluationTracker
    model = chat(f"{case.url}/chat/completions", model="bench", num_concurrent=CONNECTIONS, max_length=10**9)

    def work(samples: int) -> None:
        data = case.place / f"lm{samples}.jsonl"
        task = {
            "task": f"bench{samples}",
            "dataset_path": "json",
            "dataset_kwargs": {"data_files": str(data)},
            "test_split": "train",
            "output_type": "generate_until",
            "doc_to_text": "{{prompt}}",
            "doc_to_target": "nineteen",
            "generation_kwargs": {"until": [], "max_gen_toks": 16},
            "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
        }
        log = tracker(output_path=str(case.place / "lm"))
        found = evaluate(
            model, tasks=[task], log_samples=True, apply_chat_template=True, evaluation_tracker=log, bootstrap_iters=0
        )
        rows = found.pop("samples")
        log.save_results_aggregated(results=found, samples=rows)
        for name, replies in rows.items():
            log.save_results_samples(task_name=name, samples=replies)

    for samples in (4, case.samples):
        with (case.place / f"lm{samples}.jsonl").open("w") as file:
            file.writelines(json.dumps({"prompt": prompt_of(n, case.size)}) + "\n" for n in range(samples))
    os.environ.update({"OPENAI_API_KEY": "none", "HF_HOME": str(case.place), "HF_DATASETS_OFFLINE": "1"})
    with redirect_stdout(sys.stderr):
        return measured(work, case.samples)


CLIENTS: dict[str, tuple[str, Callable[[Case], Cost]]] = {
    "aiohttp": ("aiohttp", client_aiohttp),
    "openai SDK": ("openai", client_openai),
    "get_model": ("inspect_ai", client_get_model),
    "fathom run": ("fathom", client_fathom),
    "inspect eval": ("inspect_ai", client_inspect_eval),
    "lm-eval": ("lm_eval", client_lm_eval),
}


# --------------------------------------------------------------------------------------------------- the table


def measure(client: str, size: int, samples: int, url: str, python: str = sys.executable) -> Cost | str:
    """Measure one client in a process of its own; the reason if it could not be."""
    if python == sys.executable and find_spec(CLIENTS[client][0]) is None:
        return "not installed"
    with tempfile.TemporaryDirectory() as place:
        if client == "fathom run":
            for count in (4, samples):
                write_suite(Case(size, samples, url, Path(place)), count)
        command = [python, __file__, "--client", client, "--size", str(size), "--samples", str(samples)]
        done = subprocess.run([*command, "--url", url, "--place", place], capture_output=True, text=True, check=False)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["failed"])[-1][:60]
    return Cost(**json.loads(done.stdout.strip().splitlines()[-1]))


def compare(sizes: tuple[tuple[int, int], ...], url: str, lm_eval: str) -> bool:
    """Print a table for each size; whether our runner meets its targets."""
    met = True
    for size, samples in sizes:
        label = f"{size // KB} KB" if size < MB else f"{size // MB} MB"
        print(f"\n{label} x {samples}, {CONNECTIONS} at once")
        print(f"{'client':<14}{'CPU ms':>10}{'ratio':>8}{'written B':>12}{'peak MB':>9}")
        pythons = {"lm-eval": lm_eval}
        costs = {name: measure(name, size, samples, url, pythons.get(name, sys.executable)) for name in CLIENTS}
        bare = costs["get_model"]
        for name, cost in costs.items():
            if isinstance(cost, str):
                print(f"{name:<14}  {cost}")
                met = met and name != "fathom run"
                continue
            ratio = cost.milliseconds / bare.milliseconds if isinstance(bare, Cost) else float("nan")
            print(f"{name:<14}{cost.milliseconds:>10.1f}{ratio:>8.2f}{cost.written:>12,.0f}{cost.peak:>9.0f}")
            if name == "fathom run":
                met = met and ratio <= TARGET_RATIO and cost.written <= TARGET_BYTES
    return met


def check_memory(size: int, samples: int, url: str) -> None:
    """Print our peak memory at N and at 4 N samples."""
    few, many = (measure("fathom run", size, count, url) for count in (samples, 4 * samples))
    if isinstance(few, Cost) and isinstance(many, Cost):
        print(f"\nmemory of fathom run, {size // KB} KB prompts: {few.peak:.0f} MB at {samples} samples, ", end="")
        print(f"{many.peak:.0f} MB at {4 * samples}")
    else:
        print(f"\nmemory of fathom run: {few}, {many}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Overhead per sample of fathom run and of others.")
    parser.add_argument("--quick", action="store_true", help="fewer and smaller prompts")
    parser.add_argument("--lm-eval", default=sys.executable, help="interpreter of an environment that has lm-eval")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--client", choices=CLIENTS, help=argparse.SUPPRESS)
    for name, kind in (("--size", int), ("--samples", int), ("--url", str), ("--place", Path)):
        parser.add_argument(name, type=kind, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        asyncio.run(serve())
    elif given.client:
        cost = CLIENTS[given.client][1](Case(given.size, given.samples, given.url, given.place))
        print(json.dumps(cost.__dict__))
    else:
        with subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True) as server:
            try:
                url = f"http://127.0.0.1:{server.stdout.readline().strip() if server.stdout else ''}/v1"
                met = compare(QUICK_SIZES if given.quick else SIZES, url, given.lm_eval)
                check_memory(*((MB, 20) if given.quick else (MB, 200)), url)
            finally:
                server.terminate()
        print(
            f"\ntargets (CPU at most {TARGET_RATIO}x get_model, {TARGET_BYTES} B written): {'met' if met else 'MISSED'}"
        )


if __name__ == "__main__":
    main()
