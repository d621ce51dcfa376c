"""Exit codes that are no result: Ctrl-C, a closed pipe, an encoding without a character, a library that ends all."""

from __future__ import annotations

import io
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

import pytest
from run_suites import make_suite

import fathom.cli
from command_line import Call
from engine_calls import run
from fathom.cli import CLOSED_PIPE, INTERRUPTED
from fathom.cli.failures import explain
from fathom.cli.memory import LEAST, run_in_child, too_little
from fathom.models.loop import drive
from fathom.runfile import store_checks
from fathom.storage.checksums import CHECKSUM, row_checksum, with_checksum
from fathom.suites.suitefile import open_suite
from fathom.types import FathomError


async def stopped() -> None:
    raise KeyboardInterrupt


def plain() -> None:
    raise KeyboardInterrupt


def in_a_loop() -> None:
    drive(stopped())


def named_otherwise() -> None:
    try:
        drive(stopped())
    except FathomError as error:
        raise error.renamed(model="judge") from None


def in_a_library() -> None:
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        raise ValueError("the callback failed") from None


@pytest.mark.parametrize("interrupt", [plain, in_a_loop, named_otherwise, in_a_library])
def test_an_interrupt_has_its_code_wherever_it_comes(
    call: Call, monkeypatch: pytest.MonkeyPatch, interrupt: Callable[[], None]
) -> None:
    monkeypatch.setattr("fathom.run.status", lambda folder: interrupt())
    code, _, err = call("status", "run")
    assert code == INTERRUPTED
    assert err.startswith("fathom: interrupted; ")
    assert err.count("\n") == 1


def test_an_interrupt_before_the_command_is_found_has_its_code(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fathom.cli, "_run_command", plain)
    assert call("status", "run")[0] == INTERRUPTED


def test_an_interrupt_while_checksums_are_computed_is_no_damage(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run(make_suite(tmp_path, 4), "fathom/lexical", out=tmp_path / "run")

    def interrupted(values: object) -> int:
        if not calls:
            calls.append(values)
            raise KeyboardInterrupt
        return row_checksum(values)  # type: ignore[arg-type]

    calls: list[object] = []
    monkeypatch.setattr(store_checks, "row_checksum", interrupted)
    code, _, err = call("status", "run")
    assert (code, "damaged" in err) == (INTERRUPTED, False)


@pytest.fixture
def closed_pipe() -> Iterator[Callable[[int], TextIO]]:
    """Makes streams that nobody reads."""
    streams = []

    def opened(buffering: int = -1) -> TextIO:
        read, write = os.pipe()
        os.close(read)
        streams.append(os.fdopen(write, "w", buffering, "utf-8"))
        return streams[-1]

    yield opened
    for stream in streams:
        with suppress(BrokenPipeError):
            stream.close()


@pytest.mark.parametrize("words", ["--help", "--version", "run --help", "list tasks", "list tasks --json", "rows new"])
def test_a_closed_pipe_has_its_code(
    call: Call, monkeypatch: pytest.MonkeyPatch, closed_pipe: Callable[[int], TextIO], tmp_path: Path, words: str
) -> None:
    if words == "rows new":
        run(make_suite(tmp_path, 4), "fathom/lexical", out=tmp_path / "new")
    for buffering in (1, -1):  # it shows at once, or at the end
        monkeypatch.setattr(sys, "stdout", closed_pipe(buffering))
        code, _, err = call(*words.split())
        assert (code, err) == (CLOSED_PIPE, "")


def test_a_gate_that_does_not_pass_into_a_closed_pipe_is_not_taken_for_one(
    call: Call, monkeypatch: pytest.MonkeyPatch, closed_pipe: Callable[[int], TextIO], tmp_path: Path
) -> None:
    suite = make_suite(tmp_path, 12)
    for model, name in (("fathom/lexical", "old"), ("fathom/guess", "new")):
        run(suite, model, out=tmp_path / name)
    monkeypatch.setattr(sys, "stdout", closed_pipe(-1))
    assert call("gate", "new", "--baseline", "old")[0] == CLOSED_PIPE


@pytest.mark.slow
def test_characters_that_the_output_cannot_have_are_escaped(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    suite, texts = make_suite(tmp_path, 12), []
    for model, name in (("fathom/lexical", "old"), ("fathom/guess", "new")):
        run(suite, model, out=tmp_path / name)
    for words in (("gate", "new", "--baseline", "old"), ("gate", "new", "--baseline", "old", "--json")):
        stream = io.TextIOWrapper(io.BytesIO(), "ascii")
        monkeypatch.setattr(sys, "stdout", stream)
        assert call(*words)[0] in (0, 1, 3)
        texts.append(stream.buffer.getvalue().decode("ascii"))
    assert "\\u2212" in texts[0]
    assert json.loads(texts[1])


def test_missing_streams_are_no_bug(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert call("list", "tasks")[0] == 0


@pytest.mark.parametrize(
    ("ending", "outcome"),
    [(lambda: os._exit(3), 3), (os.abort, "SIGABRT"), (lambda: os.kill(os.getpid(), signal.SIGSEGV), "SIGSEGV")],
    ids=["code", "abort", "fault"],
)
def test_a_child_that_a_library_ends_is_explained(ending: Callable[[], int], outcome: int | str) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    core = resource.getrlimit(resource.RLIMIT_CORE)

    def run_quietly() -> int:
        resource.setrlimit(resource.RLIMIT_CORE, (0, core[1]))
        signal.signal(signal.SIGABRT, signal.SIG_DFL)
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        return ending()

    try:
        result = run_in_child(run_quietly, 2_000_000_000)
    finally:
        signal.signal(signal.SIGINT, before[0])
        signal.signal(signal.SIGTERM, before[1])
    assert result == outcome or (f"({outcome})" in str(result) and "2,000 MB of address space" in str(result))


def test_too_little_memory_is_said_before_anything_is_loaded(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "from fathom.cli import main; main()", "rows", "run"]
    limit = 500_000_000
    done = subprocess.run(
        words,
        capture_output=True,
        check=False,
        cwd=tmp_path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert b"this shell allows 500 MB of address space" in done.stderr
    assert too_little(LEAST) == ""


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("can't start new thread"),
        ImportError("libx.so: failed to map segment from shared object"),
        OSError(12, "Cannot allocate memory"),
        type("PanicException", (BaseException,), {})("called `unwrap` on an error: Cannot allocate memory"),
    ],
)
def test_refused_memory_is_no_bug(error: BaseException) -> None:
    assert "not enough memory" in str(explain(error))


@pytest.mark.parametrize("value", [None, 5, "a", [None], [[1]], {"a": [1]}])
@pytest.mark.parametrize("field", ["samples", "lengths", "tasks", "truncate", "files", "files_of_corpus", "left_out"])
def test_a_manifest_with_fields_of_other_types_is_no_bug(tmp_path: Path, field: str, value: Any) -> None:
    suite = make_suite(tmp_path, 1)
    path = suite / "manifest.json"
    manifest = {name: entry for name, entry in json.loads(path.read_text()).items() if name != CHECKSUM}
    path.write_text(json.dumps(with_checksum({**manifest, field: value})))
    if (field, value) == ("files_of_corpus", None):
        assert open_suite(suite)
        return
    with pytest.raises(FathomError, match=rf"manifest\.json: .*{field}"):
        open_suite(suite)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (f'lengths = ["{"9" * 400}"]', "expected a whole number of"),
        ("where = [[1]]", "expected FACET=VALUE"),
        ("generation = [[1]]", "expected NAME=VALUE"),
        ("model_args = [{ a = 1 }]", "expected NAME=VALUE"),
    ],
)
def test_a_configuration_with_values_of_other_types_is_no_bug(
    call: Call, tmp_path: Path, line: str, words: str
) -> None:
    Path("run.toml").write_text(line)
    code, _, err = call("run", "suite", "--model", "fathom/guess", "--config", "run.toml")
    assert (code, words in err) == (2, True), err
