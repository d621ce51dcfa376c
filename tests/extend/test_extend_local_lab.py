"""``fathom lab compare`` on the model with weights written by hand: what it finds is what the rule says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from handwritten_reader import Rule, make_items, save_reader
from made_chains import make_chain_suite

from fathom.extend.methods import settled, split_name

pytest.importorskip("torch", reason="torch is not installed; make test-models runs this")
pytest.importorskip("transformers", reason="transformers is not installed; make test-models runs this")

LENGTHS = (128, 256, 512, 1024)
COUNT = 20  # fewer items give no verdict among so many setups
FACTOR = LENGTHS[-1] // 256
RULES = {
    "none": "none",
    "pi": f"pi&factor={FACTOR}",
    "ntk": f"ntk&factor={FACTOR}",
    "yarn": f"yarn&factor={FACTOR}",
    "abf": "abf",
    "rerope window=128": "rerope&window=128",
    "leaky window=128 group=16": "leaky&window=128&group=16",
    "selfextend window=128, tuned": "selfextend&window=128&group=16",
    "dca chunk=192 local=32": "dca&chunk=192&local=32",
    "streaming sinks=4 window=252": "streaming&sinks=4&window=252",
}
SETUPS = (
    *(
        "pi",
        "ntk",
        "yarn",
        "abf",
        "rerope?window=128",
        "leaky?window=128&group=16",
        "selfextend?window=128&group=16|32",
    ),
    *("dca?chunk=192&local=32", "streaming?sinks=4&window=252"),
    *("yarn+snapkv?budget=128", "yarn+recent?budget=128", "yarn+fp8"),
    *("retrieval?top=1&passage=32", "retrieval?top=4&passage=32"),
)
SCRIPT = """
import json, sys
from dataclasses import asdict
from fathom import api

plugin, suite, tuning, model, out, *setups = sys.argv[1:]
api.use_plugin(plugin)
options = {"chat_template": "never", "model_args": {"device": "cpu"}}
(found,) = api.lab_compare(suite, f"hf/{model}", setups, out=out, tuning=tuning, repeats=1, **options)
print(json.dumps([asdict(one) for one in found.results]))
"""


def compared(folder: Path, *setups: str) -> dict[str, Any]:
    """The results by the name of the setup, in a process of its own, because plugins stay loaded."""
    reader = save_reader(folder / "reader")
    for name, seed in (("suite", 0), ("tuning", 1)):
        make_chain_suite(folder / name, folder / "chain.py", LENGTHS, COUNT, seed)
    places = [folder / name for name in ("chain.py", "suite", "tuning")]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *places, reader, folder / "lab", *setups], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {one["setup"]["name"]: one for one in json.loads(done.stdout.splitlines()[-1])}


@pytest.mark.slow
@pytest.mark.timeout(1200)  # nineteen runs of 80 prompts and the times of twelve models
def test_scores_times_and_verdicts_are_those_of_the_rule(tmp_path: Path) -> None:
    found = compared(tmp_path, *SETUPS)
    assert len(found) == 1 + len(SETUPS)
    for name, query in RULES.items():
        rule = Rule(settled(split_name(f"hf/x?extend={query}")[1], 256))
        for length in LENGTHS:
            expected = sum(map(rule.right, make_items(length, COUNT))) / COUNT
            point = next(one for one in found[name]["points"] if one["length"] == length)
            if name == "pi":
                # It says nothing but the word for unknown words, which is not text: cells without any reply.
                assert point["mean"] in (None, 0.0)
            else:
                assert abs(point["mean"] - expected) <= 1 / COUNT, (name, length)
    for name in ("yarn", "rerope window=128", "dca chunk=192 local=32", "yarn + fp8", "retrieval top=1 passage=32"):
        assert found[name]["verdict"] == "better", name
    assert found["streaming sinks=4 window=252"]["verdict"] != "better"
    few, whole = (
        found[name]["points"][-1]["spent"]["tokens_in"]["mean"] for name in ("retrieval top=1 passage=32", "none")
    )
    assert whole == LENGTHS[-1]
    assert few < 0.2 * whole
    full, thin = (
        {one["length"]: one for one in found[name]["timings"]} for name in ("yarn", "yarn + snapkv budget=128")
    )
    layers, head, bytes_of_one = 2, 128, 4
    for length in LENGTHS:
        # The beginning of a timed prompt is replaced, by a few tokens less.
        read, left = divmod(full[length]["cache_bytes_prompt"], layers * 2 * head * bytes_of_one)
        assert length - 8 <= read <= length
        assert left == 0
        assert thin[length]["cache_bytes_prompt"] == min(read, 128) * layers * 2 * head * bytes_of_one
        assert full[length]["first_token_seconds"] > 0
    assert found["rerope window=128"]["setup"]["kernel"] != found["yarn"]["setup"]["kernel"] == "sdpa"
    page = (tmp_path / "lab" / "report.html").read_text("utf-8")
    assert all(name in page for name in found)
