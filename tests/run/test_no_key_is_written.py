"""Whatever a server says, no key reaches a file, a table, a page, a bundle or the terminal."""

from __future__ import annotations

import base64
import json
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from run_suites import make_suite
from scripted_server import Act, ScriptedServer, completion, refusal

from command_line import Call
from engine_calls import judge, run
from fathom.run import replies
from fathom.runfile.judgements import FILE as JUDGEMENTS
from fathom.types import FathomError, Json
from judged_runs import install_tasks, make_run, sample

pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")

ENVIRONMENT, HEADER, NESTED, PASSWORD = (
    "sk-env-4f3a9b7c2d1e",
    "gw-5522-hhhh-7711",
    "n3st3d-in-a-l1st",
    "pa55-w0rd-of-me",
)
SECRETS = (ENVIRONMENT, HEADER, NESTED, PASSWORD)
EVERYTHING = " ".join(SECRETS)
HEADERS: dict[str, Json] = {"X-Gateway-Key": HEADER}
BODY: dict[str, Json] = {"extra": [{"name": "token", "value": NESTED}, ["api-key", NESTED]]}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", ENVIRONMENT)


def echo(number: int, before: int) -> Act:
    """A server that says all keys wherever it can say anything."""
    match number % 8:
        case 0:
            return refusal(400, f"Authorization: Bearer {ENVIRONMENT} with {EVERYTHING} is not what we want")
        case 1:
            return refusal(500, f"crashed with headers {{'x': '{EVERYTHING}'}}", headers={"x-echo": ENVIRONMENT})
        case 2:
            return completion(f"nine {EVERYTHING}")
        case 3:
            return completion("nine", reasoning=f"I was called with {EVERYTHING}")
        case 4:
            return completion("nine", finish=f"stop {EVERYTHING}")
        case 5:
            return refusal(400, f"content_filter: {EVERYTHING}")
        case 6:
            return Act(body=f"<html>{EVERYTHING}</html>")
        case _:
            return completion("nine")


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(echo) as running:
        yield running


def with_password(server: ScriptedServer) -> str:
    return server.base_url.replace("http://", f"http://me:{PASSWORD}@")


def read(folder: Path) -> Iterator[tuple[str, bytes]]:
    """All bytes in all files below a folder, also those that are packed."""
    for path in filter(Path.is_file, folder.rglob("*")):
        yield str(path), path.read_bytes()
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as packed:
                yield from ((f"{path}/{name}", packed.read(name)) for name in packed.namelist())


def check_clean(folder: Path, *words: str) -> None:
    texts = [*read(folder), *((f"output {number}", word.encode()) for number, word in enumerate(words))]
    assert len(texts) > len(words)
    for name, content in texts:
        for secret in SECRETS:
            assert secret.encode() not in content, (name, secret)


@pytest.mark.slow
def test_a_server_that_echoes_keys(server: ScriptedServer, call: Call, tmp_path: Path) -> None:
    suite = make_suite(tmp_path, 8)  # one for each thing that the server says
    options = ("-M", f"default_headers={json.dumps(HEADERS)}", "-G", f"extra_body={json.dumps(BODY)}")
    limits = ("--retries", "1", "--max-connections", "1", "--max-output-tokens", "50", "--yes")
    found = call(
        "run",
        suite,
        "--model",
        "openai/m",
        "--model-base-url",
        with_password(server),
        *options,
        *limits,
        "--out",
        "run",
    )
    assert found[0] == 0, found[2]
    assert "authorization: basic" in server.headers[0].lower()
    assert HEADER in server.headers[0]
    assert NESTED in json.dumps(server.requests[0])
    outputs = [*found[1:]]
    for words in (
        ("status", "run"),
        ("rows", "run", "--out", "rows.csv"),
        ("rows", "run", "--out", "rows.parquet"),
        ("report", "run", "--out", "report.html"),
        ("board", "bundle", "run", "--out", "bundle.zip"),
    ):
        code, out, err = call(*words)
        assert code == 0, (words, err)
        outputs += [out, err]
    check_clean(tmp_path, *outputs)
    kept = {row.item: row.reply for row in replies(tmp_path / "run")}
    assert kept["item2"].text == "nine *** *** *** ***"
    assert "*** is not what we want" in kept["item0"].error
    assert kept["item7"].text == "nine"


@pytest.mark.slow
def test_a_server_that_denies_and_echoes_the_key(call: Call, tmp_path: Path) -> None:
    def deny(number: int, before: int) -> Act:
        return refusal(401, f"Incorrect API key provided: {ENVIRONMENT}. Authorization: Bearer {ENVIRONMENT}")

    suite = make_suite(tmp_path, 2)
    with ScriptedServer(deny) as server:
        options = ("--model-base-url", server.base_url, "--max-output-tokens", "50", "--yes", "--out", "run")
        code, out, err = call("run", suite, "--model", "openai/m", *options)
        assert code == 2
        assert "Incorrect API key" in err
        check_clean(tmp_path, out, err)
        with pytest.raises(FathomError) as caught:
            run(suite, "openai/m", out=tmp_path / "again", model_base_url=server.base_url, max_output_tokens=50)
    assert ENVIRONMENT not in str(caught.value)


@pytest.mark.slow
def test_a_judge_that_echoes_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_tasks(monkeypatch)
    folder = make_run(tmp_path / "run", [(sample(number), f"it is {number}") for number in range(8)])
    with ScriptedServer(echo) as server:
        judge(
            folder,
            "openai/judge",
            model_base_url=with_password(server),
            model_args={"default_headers": HEADERS},
            generation={"extra_body": BODY},
            retries=0,
            max_connections=1,
        )
    assert (folder / JUDGEMENTS).exists()
    check_clean(folder)


def test_a_key_that_a_model_is_given_as_a_file_is_no_secret_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is no key is left as it was said: the name of a file, an amount, a short word, a stop text."""
    monkeypatch.setenv("SERVICE_KEY", "/etc/keys/service.pem")
    monkeypatch.setenv("SHORT_TOKEN", "nine")
    said = "nine /etc/keys/service.pem <|over|> Jane Austen application/json"
    suite = make_suite(tmp_path, 1)
    with ScriptedServer(lambda number, before: replace(completion(said))) as server:
        run(
            suite,
            "openai/m",
            out=tmp_path / "run",
            model_base_url=server.base_url,
            max_output_tokens=50,
            generation={
                "extra_headers": {"Accept": "application/json"},
                "extra_body": {"stop_token": "<|over|>", "author": "Jane Austen"},
            },
        )
    assert next(replies(tmp_path / "run")).reply.text == said


# As long as keys of today are, and known by its value alone.
LONG = "".join(base64.b32encode(sha256(bytes([number])).digest()).decode().strip("=") for number in range(3))
CUT = {
    "no JSON": Act(body="x" * 120 + " " + LONG),
    "no JSON, cut further back": Act(body="x" * 180 + " " + LONG),
    "a long error": Act(body={"error": {"message": f"{LONG} {'x' * 400} {LONG}"}}),
    "no choice": Act(body={"words": f"{LONG} {'x' * 400} {LONG}"}),
    "many keys": Act(status=400, body={"detail": LONG * 20}),
    "many keys and words": Act(status=400, body={"detail": f"{LONG} " * 40}),
    "a reason to stop": completion("", finish="y" * 130 + LONG),
    "a long reason to stop": completion("", finish="y" * 180 + LONG),
    "no text": completion("", choices=[{"message": {"content": {"x": "y" * 170 + LONG}}, "finish_reason": "stop"}]),
    "a part of the key": refusal(400, f"Incorrect API key provided: {LONG[:20]}..."),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CUT)
def test_no_part_of_a_key_is_left_where_a_text_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", LONG)
    with ScriptedServer(lambda number, before: CUT[name] if number == 0 else completion("nine")) as server:
        suite = make_suite(tmp_path, 2)
        address = server.base_url
        run(suite, "openai/m", out=tmp_path / "run", model_base_url=address, max_output_tokens=50, retries=0)
    errors = [row.reply.error for row in replies(tmp_path / "run") if row.reply.error]
    assert len(errors) == 1
    contents = [*read(tmp_path / "run"), ("the message", errors[0].encode())]
    for start in range(len(LONG) - 11):
        for where, content in contents:
            assert LONG[start : start + 12].encode() not in content, (where, errors[0])
