"""``fathom show``: the plain prompt of a sample, and the one that asks for thoughts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from command_line import Call
from fathom import api
from fathom.suites.suitefile import SampleWriter, write_documents, write_manifest
from fathom.types import FathomError, Json, Sample, Span
from made import make_document

MANIFEST: dict[str, Json] = {
    **{"fathom": "suite", "suite": "s", "fingerprint": "f", "tokenizer": "words", "lengths": [8192], "tasks": ["t"]},
    **{"samples": {}, "notes": [], "left_out": [], "left_out_in_all": 0, "duplicates": 0, "inputs": {}},
}


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A suite whose first sample has a prompt that asks for thoughts, and whose second has none."""
    folder = tmp_path / "suite"
    folder.mkdir()
    document = make_document(0, "en", 3)
    write_documents(folder, [document])
    with SampleWriter(folder) as writer:
        for number, (thinking, tokens) in enumerate([("\n\nThink, then say what.", 15), ("", 0)]):
            item = f"t/en/{number}"
            parts = (Span(document.id, 0, 10), "\n\nWhat?")
            sample = Sample(f"{item}@8192", item, "t", parts, ("x",), length=8192, tokens=12)
            writer.add(replace(sample, thinking=thinking, thinking_tokens=tokens))
    write_manifest(folder, MANIFEST)
    return folder


def test_the_prompt_that_asks_for_thoughts_is_shown_on_demand(call: Call, suite: Path) -> None:
    start = make_document(0, "en", 3).text[:10]
    assert call("show", suite, "t/en/0", "--text")[1] == f"{start}\n\nWhat?\n"
    assert call("show", suite, "t/en/0", "--text", "--thinking")[1] == f"{start}\n\nThink, then say what.\n"
    tokens = [json.loads(call("show", suite, "--json", *more)[1])["tokens"] for more in ([], ["--thinking"])]
    assert tokens == [12, 15]


def test_samples_without_such_a_prompt_are_refused(call: Call, suite: Path) -> None:
    code, out, err = call("show", suite, "t/en/1", "--text", "--thinking")
    assert (code, out) == (2, "")
    assert "'t/en/1@8192' has no prompt that asks for thoughts" in " ".join(err.split())
    with pytest.raises(FathomError, match="without `thinking`"):
        api.show(suite, "t/en/1", thinking=True)
    assert "prompt" not in api.show(suite, "t/en/0", thinking=True)
