"""``fathom doctor`` against servers with one fault each: it finds that fault, names it, and raises no other alarm."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from doctor_server import DoctorServer, Faults, examine
from scripted_server import Act

from command_line import Call
from fathom.run.doctor import Check, Diagnosis, Plan, check_installation
from fathom.run.doctor.needles import PLACES, make_hunt
from fathom.run.doctor.window import BUDGET, Shot, limit_in, read_shots, sizes
from fathom.run.server_facts import alternatives, like, survey
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import FathomError

pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")

KEY = "sk-0123456789abcdefghij"


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key of the machine."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def diagnose(faults: Faults, model: str = "openai/tiny", path: str = "/v1", **options: object) -> Diagnosis:
    with DoctorServer(faults) as server:
        options = {"timeout": 20.0, "backoff": 0.0, "rng": Random(0), **options}
        return examine(model, model_base_url=f"{server.address}{path}", **options)


def by_name(found: Diagnosis) -> dict[str, Check]:
    return {check.name: check for check in found.checks}


def states(found: Diagnosis) -> dict[str, str]:
    """Every check that is not all right."""
    return {check.name: check.state for check in found.checks if check.state != "ok"}


# ------------------------------------------------------------------------------------------------- one fault at a time

TRUNCATED = {"window": "warning", "truncation": "warning"}
FOUND = {
    "none": (Faults(), {}, ""),
    "no window stated": (Faults(said=None), {}, ""),
    "a list without the name": (Faults(names=("other",), strict=False), {}, "lists other"),
    "no list of models": (Faults(listed=False), {}, "without a list of models"),
    "a window smaller than stated": (Faults(window=3000), {"window": "warning"}, "--window 3000"),
    "truncates left": (Faults(window=4096, over="left"), TRUNCATED, "missing: beginning"),
    "truncates the middle": (Faults(window=4096, over="middle"), TRUNCATED, "missing: middle"),
    "truncates right": (Faults(window=4096, over="right"), TRUNCATED, "missing: end"),
    "truncates, nothing stated": (
        Faults(window=4096, said=None, over="left"),
        {"truncation": "warning"},
        "missing: beginning",
    ),
    "truncates after counting": (
        Faults(window=3000, over="left", usage="before"),
        TRUNCATED,
        "not found (beginning); in shorter prompts all are. prompt_tokens counts all of it",
    ),
    "truncates, no counts": (
        Faults(window=3000, over="left", usage="none"),
        {"usage": "warning", "tokenizer": "unknown", **TRUNCATED},
        "not found (beginning)",
    ),
    "no counts": (Faults(usage="none"), {"usage": "warning", "tokenizer": "unknown"}, "are not reported"),
    "wrong counts": (Faults(usage="constant"), {"usage": "warning", "tokenizer": "unknown"}, "prompt_tokens is 112"),
    "no counts of replies": (Faults(usage="prompt"), {"usage": "warning"}, "tokens of replies are not"),
    "never equal": (Faults(equal="never"), {"determinism": "warning"}, "3 different replies to 3 equal requests"),
    "equal alone": (Faults(equal="alone"), {"determinism": "warning"}, "when requests are sent at once"),
    "cap ignored": (Faults(cap="ignored"), {"output cap": "warning"}, "where 16 were allowed"),
    "cap not marked": (Faults(cap="unmarked"), {"output cap": "warning"}, "are not marked"),
    "stop ignored": (Faults(stop="ignored"), {"stop texts": "warning"}, "not obeyed"),
    "stop refused": (
        Faults(stop="refused"),
        {"stop texts": "warning", "parameters": "warning"},
        "the server refuses stop: all requests were sent without it",
    ),
    "temperature 0 refused": (
        Faults(temperature=False),
        {"parameters": "warning"},
        "the server refuses temperature: all requests were sent without it",
    ),
    "no log-probabilities": (Faults(logprobs=False), {"log-probabilities": "absent"}, "not returned for prompts"),
    "no completions": (
        Faults(completions=False),
        {"completions": "absent", "log-probabilities": "absent"},
        "not served",
    ),
    "reasoning": (
        Faults(reasoning="field"),
        {"stop texts": "skipped", "reasoning": "warning"},
        "give --reasoning-tokens 16384",
    ),
    "reasoning in tags": (
        Faults(reasoning="tags"),
        {"stop texts": "skipped", "reasoning": "warning"},
        "give --reasoning-tokens 16384",
    ),
    "a model that finds nothing": (Faults(able=False), {}, "does not find code words in a short prompt"),
    "a model that finds nothing, no counts": (
        Faults(able=False, usage="none"),
        {"usage": "warning", "tokenizer": "unknown", "truncation": "unknown"},
        "even in a short prompt",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FOUND)
def test_a_fault_is_found_and_nothing_else(name: str) -> None:
    faults, expected, words = FOUND[name]
    found = diagnose(faults)
    assert states(found) == expected, found.checks
    assert any(words in f"{check.found} {check.consequence}" for check in found.checks), found.checks
    assert found.healthy
    assert found.command.startswith("fathom run SUITE --model openai/tiny --model-base-url http://127.0.0.1:")


FAILED = {
    "wrong name": (Faults(names=("Tiny-7B", "other")), "model name", "--model openai/Tiny-7B"),
    "a key is needed": (Faults(key=KEY), "chat", "read from OPENAI_API_KEY, which is not set"),
    "another path": (Faults(prefix="/api/v1"), "address", "/api/v1"),
    "no chat": (Faults(chat=False), "chat", "--chat-template never"),
    "the server dies": (Faults(crash=3000), "server", "no longer answers"),
    "a page": (Faults(act=Act(body=b"<html>hello</html>")), "chat", "Check the address, which usually ends in /v1"),
    "an error": (Faults(act=Act(status=500, body={"error": "boom"})), "chat", "500 - boom"),
    "too large": (Faults(act=Act(body=b'{"x": "' + b"y" * 70_000_000 + b'"}')), "chat", "larger than 64 MB"),
    "a circle": (Faults(act=Act(status=302, headers={"Location": "/v1/models"})), "address", "redirects in a circle"),
    "no HTTP": (Faults(act=Act(reset=True)), "address", "no HTTP answer"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAILED)
def test_what_makes_a_run_impossible_fails(name: str) -> None:
    faults, check, words = FAILED[name]
    found = diagnose(faults)
    assert not found.healthy
    assert [check.name for check in found.checks if check.state == "failed"] == [check], found.checks
    failed = by_name(found)[check]
    assert words in f"{failed.found} {failed.consequence}"
    if failed.options:
        assert failed.options in found.command


@pytest.mark.slow
def test_a_server_that_hangs_is_given_up() -> None:
    found = diagnose(Faults(act=Act(hang=True)), timeout=0.3)
    assert states(found) == {"address": "failed"}
    assert "no answer in time" in found.checks[0].found


@pytest.mark.slow
def test_addresses_where_no_server_is() -> None:
    for url, words in {
        "http://127.0.0.1:9/v1": "connection refused",
        "http://host.invalid/v1": "no host 'host.invalid'",
    }.items():
        (check,) = examine("openai/tiny", model_base_url=url, timeout=20).checks
        assert (check.name, check.state) == ("address", "failed")
        assert words in check.found
    with plain_server() as address:
        (check,) = examine("openai/tiny", model_base_url=f"https://{address}/v1").checks
    assert "does not speak TLS" in check.found
    assert check.consequence == f"Give --model-base-url http://{address}/v1"


@contextmanager
def plain_server() -> Iterator[str]:
    """Host and port of a server that answers a TLS handshake as HTTP servers do."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    found, _ = listening.accept()
                    with found:
                        found.recv(4096)
                        found.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.slow
def test_the_address_without_its_version_or_with_too_much_is_corrected() -> None:
    for path in ("", "/v1/chat/completions", "/v1/v1"):
        with DoctorServer() as server:
            found = examine("openai/tiny", model_base_url=f"{server.address}{path}")
        (check,) = found.checks
        assert check.options == f"--model-base-url {server.base_url}"
        assert found.command == f"fathom run SUITE --model openai/tiny --model-base-url {server.base_url}"


@pytest.mark.slow
def test_a_right_key_is_used_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    found = diagnose(Faults(key=KEY))
    assert states(found) == {}
    wrong = diagnose(Faults(key="sk-another-key-0123456789"))
    assert "OPENAI_API_KEY, which is set" in by_name(wrong)["chat"].consequence
    for diagnosis in (found, wrong):
        assert KEY not in repr(diagnosis) + json.dumps([check.found for check in diagnosis.checks])


@pytest.mark.slow
def test_the_options_of_a_run_are_those_of_the_examination() -> None:
    with DoctorServer(Faults(temperature=False)) as server:
        found = examine(
            "openai/tiny",
            model_base_url=server.base_url,
            temperature=0.7,
            max_output_tokens=50,
            generation={"top_p": 0.9},
            seed=3,
        )
    chats = [body for body in server.bodies if "messages" in body]
    assert states(found) == {}  # log-probabilities are asked for at temperature 0, and then without one
    assert {(body["temperature"], body["top_p"], body["seed"]) for body in chats} == {(0.7, 0.9, 3)}
    assert max(body.get("max_tokens") or body["max_completion_tokens"] for body in chats) == 50


@pytest.mark.slow
def test_a_window_is_tried_up_to_its_end_if_it_is_given() -> None:
    with DoctorServer(Faults(window=20_000, said=None)) as server:
        found = examine("openai/tiny", model_base_url=server.base_url, window=20_000, rng=Random(1))
        assert states(found) == {}
        assert "one of 19," in by_name(found)["window"].found
    with DoctorServer(Faults(window=8192, said=None)) as server:
        found = examine("openai/tiny", model_base_url=server.base_url, window=20_000, rng=Random(1))
    assert states(found) == {"window": "warning"}
    assert "--window 8192" in found.command


@pytest.mark.slow
def test_by_default_few_tokens_are_sent_and_the_plan_is_an_upper_limit() -> None:
    plans: list[Plan] = []
    progress: list[tuple[int, int]] = []
    for faults in (Faults(said=100_000, window=100_000), Faults(), Faults(reasoning="field"), Faults(said=None)):
        found = diagnose(
            faults,
            confirm=lambda plan: not plans.append(plan),  # type: ignore[func-returns-value]
            progress=lambda done, most: progress.append((done, most)),
        )
        plan = plans[-1]
        assert found.requests <= plan.requests
        assert found.tokens_in <= plan.tokens_in < 2 * BUDGET
        assert all(done <= most for done, most in progress)


def test_nothing_is_sent_to_the_model_without_consent() -> None:
    with DoctorServer() as server:
        found = examine("openai/tiny", model_base_url=server.base_url, confirm=lambda plan: False)
    assert server.bodies == []
    assert found.stopped
    assert [check.name for check in found.checks] == ["address"]


def test_baselines_and_unknown_models() -> None:
    assert states(examine("fathom/lexical?window=4k")) == {}
    assert "4,096" in by_name(examine("fathom/lexical?window=4k"))["window"].found
    assert states(examine("fathom/nothing")) == {"model": "failed"}
    assert states(examine("nothing/x")) == {"model": "failed"}
    assert "OPENAI_API_KEY" in by_name(examine("openai/gpt-5"))["model"].found
    with pytest.raises(FathomError, match="`generation` temperature"):
        examine("openai/x", generation={"temperature": 1})


# --------------------------------------------------------------------------------------------------------------- parts


@pytest.mark.parametrize("tokens", [100, 256, 5000])
def test_a_hunt_has_its_size_and_its_words_at_both_ends_and_in_the_middle(tokens: int) -> None:
    tokenizer = get_tokenizer()
    hunt = make_hunt(tokens, tokenizer, Random(3))
    assert abs(hunt.tokens - tokens) <= 0.03 * tokens + 4
    places = [hunt.prompt.index(word) / len(hunt.prompt) for word in hunt.words]
    assert places == sorted(places)
    if tokens == 5000:
        assert places[0] < 0.01
        assert 0.48 < places[1] < 0.52
        assert places[2] > 0.99
    assert hunt.missing(" and ".join(hunt.words).lower()) == ()
    assert hunt.missing(hunt.words[0], hunt.words[2]) == ("middle",)
    assert hunt.missing("") == PLACES
    assert make_hunt(tokens, tokenizer, Random(4)).words != hunt.words


def test_sizes_stay_within_the_budget_and_end_beyond_the_window() -> None:
    assert sizes(None, 96) == (1024, 2048, 4096, 8192, 16384)
    assert sizes(8192, 96) == (1024, 2048, 4096, 8192, 10336)
    assert sizes(500, 96) == (500, 721)
    assert sizes(8192, 2048) == (4096, 8192, 12288)
    assert sizes(131_072, 96) == (1024, 2048, 4096, 8192, 16384)
    assert sizes(131_072, 96, None)[-2:] == (131_072, 163_936)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Error code: 400 - maximum context length is 8192 tokens, you requested 10,050 (9,986 in messages)", 8192),
        ("the request exceeds the available context size (4096 tokens), try increasing it", 4096),
        ("prompt is too long: 10050 tokens > 9000 maximum", 9000),
        ("too long", None),
        ("Error code: 413 - request 20240101 is too large", None),
    ],
)
def test_a_window_is_read_from_an_error(message: str, expected: int | None) -> None:
    assert limit_in(message, 4000, 10_000) == expected


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ('num_ctx    8192\nstop  "a b"', 8192),
        ("num_ctx abc 5", None),
        ("num_ctx " + "9" * 5000, None),
        ("num_ctx 1", None),
        (None, None),
    ],
)
def test_the_window_that_ollama_states(parameters: str | None, expected: int | None) -> None:
    class Server:
        base_url = "http://127.0.0.1:11434/v1/"

        async def get(self, path: str, cast_to: type) -> object:
            return {"data": [{"id": "tiny"}]} if path == "/models" else None

        async def post(self, path: str, cast_to: type, body: object) -> object:
            return {"parameters": parameters}

    server: Any = Server()
    found = asyncio.run(survey(server, "tiny", given=Server.base_url))
    assert (found.served, found.window) == (("tiny",), expected)


def test_one_code_word_that_is_overlooked_once_is_no_alarm() -> None:
    tiny = Shot(4, "answered", 16)
    fine = [Shot(size, "answered", 12 + size) for size in (256, 1000, 2000)]
    assert not read_shots(tiny, [*fine, Shot(4000, "answered", 4012, ("beginning",))]).suspicious
    lost = [Shot(size, "answered", 12 + size, ("beginning",)) for size in (4000, 8000)]
    assert read_shots(tiny, [*fine, *lost]).suspicious
    assert not read_shots(tiny, [*fine, lost[0], Shot(8000, "answered", 8012)]).suspicious
    everything = [Shot(size, "answered", 12 + size, PLACES) for size in (4000, 8000)]
    assert not read_shots(tiny, [*fine, *everything]).suspicious


def test_similar_names_and_addresses() -> None:
    assert like("qwen3-8b", ("Qwen/Qwen3-8B", "Qwen/Qwen3-32B", "gemma"))[0] == "Qwen/Qwen3-8B"
    assert like("qwen3-8b-awq", ("gemma", "Qwen/Qwen3-8B"))[0] == "Qwen/Qwen3-8B"
    assert like("x", ("gemma",)) == []
    assert alternatives("http://h:1/v1/v1/")[0] == "http://h:1/v1"
    assert "http://h:1/v1" in alternatives("http://h:1")


# -------------------------------------------------------------------------------------------------------- installation


def test_the_installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    found = check_installation(tmp_path)
    checks = by_name(found)
    assert found.healthy, found
    assert {"python", "libraries", "tokenizer", "tasks", "tables", "keys", "folder", "disk"} <= set(checks)
    assert "OPENAI_API_KEY" in checks["keys"].found
    assert KEY not in repr(found)
    assert list(tmp_path.iterdir()) == []
    extras = {check.name for check in found.checks if check.name.startswith("extra ")}
    assert {"extra hf", "extra hub", "extra board"} <= extras
    assert all("pip install" in check.consequence for check in found.checks if check.state == "absent")


def test_a_folder_that_cannot_be_written_and_a_broken_table_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "prices.toml"
    table.write_text("not toml [", "utf-8")
    monkeypatch.setenv("FATHOM_PRICES", str(table))
    found = check_installation(tmp_path / "absent")
    assert states(found)["folder"] == states(found)["tables"] == "failed"


# --------------------------------------------------------------------------------------------------------- the command


@pytest.mark.slow
def test_the_command_prints_a_table_that_fits_and_says_what_to_run(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with DoctorServer(Faults(window=4096, over="left")) as server:
        words = ("doctor", "openai/tiny", "--model-base-url", server.base_url)
        code, out, err = call(*words)
        assert (code, out) == (2, "")
        assert "give --yes" in err
        code, out, err = call(*words, "--yes")
        assert code == 0, err
        code, told, _ = call(*words, "--yes", "--json")
    assert all(len(line.rstrip()) <= 80 for line in out.splitlines() if not line.startswith("  fathom run"))
    assert "0 failed, 2 warnings. Start a run with:\n  fathom run SUITE --model openai/tiny" in out
    assert "requests" in err
    assert code == 0
    checks = {check["name"]: check for check in json.loads(told)["checks"]}
    assert checks["truncation"]["state"] == "warning"
    assert set(checks["truncation"]) == {"name", "state", "found", "consequence", "options"}


def test_the_command_fails_if_a_run_would(call: Call) -> None:
    code, out, _ = call("doctor", "openai/tiny", "--model-base-url", "http://127.0.0.1:9/v1")
    assert code == 1
    assert "connection refused" in out
    assert "1 failed, 0 warnings. A run would not work." in out


def test_the_command_alone_checks_the_installation(call: Call) -> None:
    code, out, _ = call("doctor")
    assert code == 0
    assert "tekken" in out


@pytest.mark.slow
def test_the_command_that_is_shown_has_the_options_given_and_no_secret(call: Call) -> None:
    with DoctorServer(Faults(reasoning="field")) as server:
        options = (
            "--temperature",
            "-1",
            "-G",
            "top_p=0.9",
            "-M",
            f"api_key={KEY}",
            "-M",
            "stream=false",
            "--window",
            "6k",
        )
        code, out, err = call("doctor", "openai/tiny", "--model-base-url", server.base_url, "--yes", *options)
    assert code == 0, err
    shown = out.splitlines()[-1].strip()
    assert shown == (
        f"fathom run SUITE --model openai/tiny --model-base-url {server.base_url} --temperature -1 --generation "
        "top_p=0.9 --model-arg 'api_key=\"***\"' --model-arg stream=false --window 6144 --reasoning-tokens 16384"
    )
    assert KEY not in out + err


@pytest.mark.slow
def test_hostile_names_are_made_safe(call: Call) -> None:
    with DoctorServer(Faults(names=("\x1b[31mred\x1b[0m\n\u202eevil", "x" * 5000))) as server:
        code, out, _ = call("doctor", "openai/tiny", "--model-base-url", server.base_url, "--yes")
    assert code == 1
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert max(map(len, out.splitlines())) < 300
