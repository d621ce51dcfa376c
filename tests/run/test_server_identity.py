"""What servers state of the checkpoints that they serve is in ``run.json``, and tells runs under one name apart."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from run_suites import make_suite
from scripted_server import Act, ScriptedServer, completion
from test_run_faults import go

from fathom import api
from fathom.run import status
from fathom.runfile.manifest import read_manifest
from fathom.runfile.servers import server_words

FOLDER = "/data/checkpoints/"


class StatingServer(ScriptedServer):
    """A scripted server that states facts: bodies of GET requests by path."""

    def __init__(self, facts: Mapping[str, object], right: bool = True) -> None:
        super().__init__(lambda number, before: completion("nine" if right else "no", model="scripted"))
        self.facts, self.asked = facts, list[str]()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"GET "):
            again = asyncio.StreamReader()
            again.feed_data(head)
            size = int(head.lower().split(b"content-length: ")[1].split(b"\r")[0])
            again.feed_data(await reader.readexactly(size))
            return await super()._exchange(again, writer)
        path = head.split(b" ")[1].decode()
        self.asked.append(path)
        body = json.dumps(self.facts.get(path, {"error": "no such path"})).encode()
        code = 200 if path in self.facts else 404
        answer = f"HTTP/1.1 {code} Made\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(answer.encode() + body)
        await writer.drain()
        return True


def models(owned_by: str, **more: object) -> dict[str, object]:
    return {"object": "list", "data": [{"id": "other"}, {"id": "scripted", "owned_by": owned_by, **more}]}


def vllm(root: str, version: str = "0.11.0") -> dict[str, object]:
    return {"/v1/models": models("vllm", root=root, max_model_len=8192), "/version": {"version": version}}


def named(path: str) -> str:
    return f"{Path(path).name}#{sha256(path.encode()).hexdigest()[:8]}"


SERVERS: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "vLLM, a checkpoint": (
        vllm(FOLDER + "step-2000"),
        {"software": "vLLM", "version": "0.11.0", "model": named(FOLDER + "step-2000"), "window": 8192},
    ),
    "vLLM, a name of a hub": (
        vllm("lab/m-7b", ""),
        {"software": "vLLM", "model": "lab/m-7b", "window": 8192},
    ),
    "llama.cpp": (
        {
            "/v1/models": models("llamacpp", meta={"n_params": 135, "size": 99, "ftype": "Q4_1"}),
            "/props": {
                "build_info": "b5002-2c3f8b85",
                "model_path": "models/tiny.gguf",
                "default_generation_settings": {"n_ctx": 4096},
                "chat_template": "long",
            },
        },
        {
            "software": "llama.cpp",
            "version": "b5002-2c3f8b85",
            "model": named("models/tiny.gguf"),
            "window": 4096,
            "quantization": "Q4_1",
            "parameters": 135,
            "bytes": 99,
        },
    ),
    "SGLang": (
        {
            "/v1/models": models("sglang", root="scripted", max_model_len=4096),
            "/get_model_info": {"model_path": "lab/m", "weight_version": "step-3"},
        },
        {"software": "SGLang", "model": "lab/m", "weights": "step-3", "window": 4096},
    ),
    "Ollama": (
        {
            "/v1/models": models("library"),
            "/api/version": {"version": "0.5.1"},
            "/api/tags": {
                "models": [{"name": "other:latest"}, {"name": "scripted:latest", "digest": "0123456789abcdef"}]
            },
        },
        {"software": "Ollama", "version": "0.5.1", "weights": "0123456789ab"},
    ),
    "a gateway": ({"/v1/models": models("somebody", context_length=8000)}, {"window": 8000}),
}


def facts_of(folder: Path) -> Any:
    return (read_manifest(folder).get("observed") or {}).get("servers")


@pytest.mark.parametrize("server", SERVERS)
def test_a_run_records_what_its_server_states(tmp_path: Path, server: str) -> None:
    facts, recorded = SERVERS[server]
    with StatingServer(facts) as running:
        go(make_suite(tmp_path, 2), running, tmp_path / "run")
        assert running.asked == list(facts)  # nothing that another server would be asked
    assert facts_of(tmp_path / "run") == [recorded]
    assert status(tmp_path / "run").served == tuple(filter(None, (server_words(recorded),)))
    assert "/data" not in (tmp_path / "run" / "run.json").read_text().replace(str(tmp_path), "")


HOSTILE: list[Mapping[str, object]] = [
    {},
    {"/v1/models": [1]},
    {"/v1/models": {"data": [None, {"id": 3, "owned_by": []}]}},
    {"/v1/models": models("llamacpp", meta=7), "/props": {"model_path": 5, "default_generation_settings": []}},
    {"/v1/models": models("library"), "/api/version": [], "/api/tags": {"models": {"name": "scripted"}}},
    {"/v1/models": models("vllm", root="\x1b[2J" + "x" * 5000, max_model_len="many")},
]


@pytest.mark.parametrize("facts", HOSTILE, ids=str(len(HOSTILE)).format)
def test_no_answer_of_a_server_about_itself_stops_a_run(tmp_path: Path, facts: Mapping[str, object]) -> None:
    with StatingServer(facts) as running:
        go(make_suite(tmp_path, 2), running, tmp_path / "run")
    assert status(tmp_path / "run").counts["ok"] == 2
    for stated in facts_of(tmp_path / "run") or ():
        assert "\x1b" not in server_words(stated)
        assert len(server_words(stated)) < 300


def test_a_finished_run_records_no_server_that_answered_nothing_of_it(tmp_path: Path) -> None:
    suite = make_suite(tmp_path, 2)
    with StatingServer(vllm(FOLDER + "step-1")) as running:
        go(suite, running, tmp_path / "run")
    with StatingServer(vllm(FOLDER + "step-2")) as running:
        go(suite, running, tmp_path / "run")
    assert [facts["model"] for facts in facts_of(tmp_path / "run")] == [named(FOLDER + "step-1")]


def test_a_run_over_two_checkpoints_says_so(tmp_path: Path) -> None:
    suite = make_suite(tmp_path, 2)

    class Failing(StatingServer):
        def act(self, body: dict[str, Any], number: int, before: int) -> Act:
            return Act(status=404, body={"error": "gone"}) if number else super().act(body, number, before)

    with Failing(vllm(FOLDER + "step-1")) as running:
        go(suite, running, tmp_path / "run", retries=0)
    with StatingServer(vllm(FOLDER + "step-2")) as other:
        go(suite, other, tmp_path / "run")
    state = status(tmp_path / "run")
    assert len(state.served) == 2
    assert any("step-1" in note and "then step-2" in note for note in state.server)


@pytest.mark.slow
def test_two_checkpoints_under_one_name_are_told_apart(tmp_path: Path) -> None:
    suite = make_suite(tmp_path, 12)
    for number in (1, 2):
        with StatingServer(vllm(f"{FOLDER}step-{number}"), right=number == 1) as running:
            go(suite, running, tmp_path / "runs" / f"run-{number}")
    state = status(tmp_path / "runs" / "run-1")
    assert state.facts()["served by"] == f"vLLM 0.11.0 serves {named(FOLDER + 'step-1')}, 8,192 tokens"
    compared = api.compare([tmp_path / "runs"])
    assert (compared.a.name, compared.b.name) == ("step-1", "step-2")
    assert any("step-2#" in remark and "vLLM 0.11.0" in remark for remark in compared.remarks)
    report = api.report([tmp_path / "runs"], "-")
    assert [line["variant"] for line in report.numbers()["ranking"]] == ["step-1", "step-2"]
    assert "vLLM 0.11.0 serves step-1#" in report.text("html")


def test_a_server_is_named_in_a_line_or_not_at_all() -> None:
    assert server_words({"window": 8000}) == ""
    assert server_words({"model": "m", "window": 8000}) == "the server serves m, 8,000 tokens"
    assert server_words({"software": "Ollama", "version": "1", "weights": "ab"}) == "Ollama 1 serves ab"
    assert server_words({"software": "vLLM", "window": "8000"}) == "vLLM"
