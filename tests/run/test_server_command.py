"""The command line of a server: recorded without keys, part of the settings of a run, refused where there is none."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from run_suites import make_suite
from scripted_server import ScriptedServer

from command_line import Call
from engine_calls import run
from fathom.rows import load
from fathom.run import read_manifest
from fathom.types import FathomError

pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")

YARN = (
    "vllm serve lab/m --api-key key-of-mine-1 --hf-overrides "
    '\'{"rope_parameters": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}}\''
)
PLAIN = "MY_TOKEN=token-of-mine-2 vllm serve lab/m"
SHOWN = "`server_command` = 'MY_TOKEN=*** vllm serve lab/m'"


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return make_suite(tmp_path, 2)


def ask(suite: Path, out: Path, server: ScriptedServer, command: str | None, limit: int | None = None) -> None:
    url = server.base_url
    run(suite, "openai/m", out=out, model_base_url=url, server_command=command, limit=limit, max_output_tokens=9)


def test_it_is_in_the_manifest_without_keys(suite: Path, tmp_path: Path, server: ScriptedServer, call: Call) -> None:
    options = ("--model", "openai/m", "--model-base-url", server.base_url, "--server-command", YARN)
    code, out, err = call("run", suite, *options, "--max-output-tokens", "9", "--yes", "--out", tmp_path / "run")
    assert code == 0, err
    manifest = read_manifest(tmp_path / "run")
    assert manifest["server_command"] == YARN.replace("key-of-mine-1", "***")
    assert manifest["command"]["options"]["server_command"] == manifest["server_command"]
    yarn = manifest["extension"]
    assert (yarn["method"], yarn["factor"], yarn["original"]) == ("yarn", 4.0, 4096)
    assert "key-of-mine-1" not in out + err
    for file in filter(Path.is_file, (tmp_path / "run").rglob("*")):
        assert b"key-of-mine-1" not in file.read_bytes(), file


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("dynamic", "one base for all requests"),
        ("longrope", "choose the short or the long divisors once"),
        ("yarn", ""),
    ],
)
def test_a_run_says_what_servers_do_in_another_way(
    suite: Path, tmp_path: Path, server: ScriptedServer, kind: str, told: str
) -> None:
    rope = {"rope_type": kind, "factor": 4.0, **({"long_factor": [2.0]} if kind == "longrope" else {})}
    line = f"vllm serve lab/m --hf-overrides {shlex.quote(json.dumps({'rope_parameters': rope}))}"
    summary = run(
        suite,
        "openai/m",
        out=tmp_path / "run",
        model_base_url=server.base_url,
        server_command=line,
        limit=1,
        max_output_tokens=9,
    )
    notes = read_manifest(tmp_path / "run").get("notes", [])
    assert told in " ".join(notes)
    assert bool(notes) == bool(told)
    assert set(notes) <= set(summary.hints)


@pytest.mark.slow
def test_another_command_line_is_another_run(suite: Path, tmp_path: Path, server: ScriptedServer) -> None:
    ask(suite, tmp_path / "run", server, PLAIN, limit=1)
    for other, named in ((None, "None"), (YARN, "'vllm serve lab/m --api-key \\*\\*\\* ")):
        with pytest.raises(FathomError, match=f"but `server_command` = {named}") as refused:
            ask(suite, tmp_path / "run", server, other)
        assert SHOWN in str(refused.value)
        assert "of-mine" not in str(refused.value)
    # Line breaks, blanks and keys are no settings.
    ask(suite, tmp_path / "run", server, PLAIN.replace(" serve", " \\\n  serve").replace("mine-2", "mine-3"))
    assert len(load([tmp_path / "run"])) == 2
    ask(suite, tmp_path / "untold", server, None, limit=1)
    assert "server_command" not in read_manifest(tmp_path / "untold")
    with pytest.raises(FathomError, match="with `server_command` = None, but"):
        ask(suite, tmp_path / "untold", server, PLAIN)
    ask(suite, tmp_path / "untold", server, None)
    variants = load([tmp_path / "run", tmp_path / "untold"])["variant"].unique(maintain_order=True)
    assert variants.to_list() == ["server: no other flags", "server: not told"]


@pytest.mark.parametrize("model", ["fathom/lexical", "hf/my-model"])
def test_models_without_a_server_have_none(model: str, suite: Path, tmp_path: Path) -> None:
    with pytest.raises(FathomError, match=f"`server_command`: {model} has no server, it runs in this process"):
        run(suite, model, out=tmp_path / "run", server_command=PLAIN)
    assert not (tmp_path / "run").exists()


def test_an_empty_one_is_refused(suite: Path, tmp_path: Path, server: ScriptedServer) -> None:
    with pytest.raises(FathomError, match="`server_command`: expected the command line"):
        ask(suite, tmp_path / "run", server, " ")
