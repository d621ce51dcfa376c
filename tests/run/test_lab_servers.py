"""``fathom lab compare`` on servers that the user started: each is a setup, and its command line is recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from run_suites import make_suite
from scripted_server import ScriptedServer, completion

from fathom import api
from fathom.run import read_manifest
from fathom.types import FathomError

# Inspect calls tenacity in a way that tenacity's newest release deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")

PLAIN = "vllm serve my-model --api-key sk-plain-1"
ROPE = '{"rope_parameters": {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0}}'
YARN = f"vllm serve my-model --hf-overrides '{ROPE}'"


def compare(suite: Path, out: Path, plain: str, yarn: str, **changes: Any) -> Any:
    options: dict[str, Any] = {
        "window": 256,
        "model_base_url": plain,
        "server": {"yarn": yarn},
        "server_command": {"whole": PLAIN, "yarn": YARN},
        "repeats": 0,
        "max_output_tokens": 8,
        "on_overflow": "middle",
        **changes,
    }
    return api.lab_compare(suite, "openai/my-model", ["retrieval?top=1&passage=16"], out=out, **options)


@pytest.mark.slow
def test_each_server_is_a_setup_with_its_command_line(tmp_path: Path) -> None:
    suite = make_suite(tmp_path, 24, lengths=(256, 512))
    with (
        ScriptedServer(lambda number, before: completion("8")) as plain,
        ScriptedServer(lambda number, before: completion("9")) as yarn,
    ):
        (found,) = compare(suite, tmp_path / "lab", plain.base_url, yarn.base_url)
        assert [one.setup.name for one in found.results] == ["whole", "retrieval top=1 passage=16", "yarn"]
        assert len(plain.requests) == 48
        assert len(yarn.requests) == 24
        compare(suite, tmp_path / "lab", plain.base_url, yarn.base_url)
        assert len(yarn.requests) == 24
        with pytest.raises(FathomError, match="`server_command`"):
            compare(suite, tmp_path / "lab", plain.base_url, yarn.base_url, server_command={"yarn": "vllm serve other"})
    assert found.results[2].verdict == "better", found.results[2].reason
    manifests = {name: read_manifest(tmp_path / "lab" / "runs" / name) for name in ("whole", "yarn")}
    assert manifests["whole"]["server_command"] == "vllm serve my-model --api-key ***"
    assert manifests["yarn"]["extension"]["method"] == "yarn"
    retrieval = read_manifest(tmp_path / "lab" / "runs" / "retrieval-top-1-passage-16")
    assert retrieval["server_command"] == manifests["whole"]["server_command"]
    written = json.dumps(manifests) + (tmp_path / "lab" / "lab.json").read_text("utf-8")
    assert "sk-plain-1" not in written
    assert yarn.base_url not in (tmp_path / "lab" / "lab.json").read_text("utf-8")


def test_a_command_line_needs_its_server(tmp_path: Path) -> None:
    suite = make_suite(tmp_path, 2)
    with pytest.raises(FathomError, match="`server_command` yarm: no server has this name; there are whole and yarn"):
        compare(suite, tmp_path / "lab", "http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1", server_command={"yarm": "x"})
    assert not (tmp_path / "lab").exists()
